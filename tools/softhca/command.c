// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Matches the command line with the table of commands, and prints errors, help
 * texts and completions.
 *
 * Errors are checked in the order that helps most: the command's name, its
 * words, the device, the values.
 */
#include "softhca.h"

#include <ctype.h>
#include <dirent.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dev/personality.h"
#include "lab/lab.h"
#include "netns.h"

/* a row's pattern, split into tokens */
struct pattern {
	char text[256];
	char *token[MAX_WORDS];
	bool may_end[MAX_WORDS + 1];	/* after this many tokens */
	int nr;
};

/*
 * The row after @c in the whole table. The first row for NULL; NULL after the
 * last row.
 */
static const struct command *command_next(const struct command *c)
{
	const struct command *const *group, *row;
	bool take = !c;

	for (group = command_groups; *group; group++)
		for (row = *group; row->name; row++) {
			if (take)
				return row;
			take = row == c;
		}
	return NULL;
}

#define for_each_command(c) \
	for (c = command_next(NULL); c; c = command_next(c))

static void pattern_parse(struct pattern *p, const char *text)
{
	char *token, *rest = p->text, *end;

	memset(p, 0, sizeof(*p));
	snprintf(p->text, sizeof(p->text), "%s", text);
	/* A command line may end before the part in brackets, and at the end. */
	while ((token = strsep(&rest, " ")) && p->nr < MAX_WORDS) {
		if (!*token)
			continue;
		if (*token == '[') {
			p->may_end[p->nr] = true;
			token++;
		}
		end = strchr(token, ']');
		if (end)
			*end = '\0';
		/* getopt_long() takes it. */
		if (!strcmp(token, "--"))
			continue;
		p->token[p->nr++] = token;
	}
	p->may_end[p->nr] = true;
}

/* Is the token a word to type as it is, and not a value? */
static bool is_keyword(const char *token)
{
	return islower((unsigned char)*token) && !strchr(token, '|');
}

/* Are the token and all words that follow a program and its arguments? */
static bool is_program(const char *token)
{
	return !strcmp(token, "COMMAND...");
}

/* Do the token and all words that follow it make a rule of fault injection? */
static bool is_rule(const char *token)
{
	return !strcmp(token, "KEY=VALUE...");
}

/* Does the row take a program and its arguments? */
static bool has_program(const struct command *c)
{
	return strstr(c->pattern, "COMMAND...");
}

/* May a command line that fits the row end after @nr words? */
static bool pattern_may_end(const struct pattern *p, int nr)
{
	if (p->nr && nr >= p->nr && is_program(p->token[p->nr - 1]))
		return true;
	if (p->nr && nr >= p->nr && is_rule(p->token[p->nr - 1]))
		return true;
	return nr <= p->nr && p->may_end[nr];
}

/* Return: how many of @nr words fit the row. */
static int pattern_match(const struct pattern *p, char **word, int nr)
{
	int i;

	for (i = 0; i < nr && i < p->nr; i++)
		if (is_program(p->token[i]) || is_rule(p->token[i]))
			return nr;
		else if (is_keyword(p->token[i]) && strcmp(p->token[i], word[i]))
			break;
	return i;
}

/* Return: how many words of the command line are the row's name; 0 if it is another. */
static int name_match(const struct command *c, int argc, char **argv)
{
	const char *space = strchr(c->name, ' ');
	size_t first = space ? (size_t)(space - c->name) : strlen(c->name);

	if (argc < 1 || strlen(argv[0]) != first ||
	    strncmp(argv[0], c->name, first))
		return 0;
	if (!space)
		return 1;
	return argc > 1 && !strcmp(argv[1], space + 1) ? 2 : 0;
}

int choice_index(const char *choices, const char *word)
{
	size_t length = strlen(word);
	int i;

	for (i = 0; choices; i++) {
		if (!strncmp(choices, word, length) &&
		    (!choices[length] || choices[length] == '|'))
			return i;
		choices = strchr(choices, '|');
		if (choices)
			choices++;
	}
	return -1;
}

/* ---- help ------------------------------------------------------------------ */

static void print_usage(FILE *out, const struct command *c)
{
	const struct option_row *o;

	const char *words = c->pattern;

	fprintf(out, "softhca %s", c->name);
	if (!has_program(c) && *words)
		fprintf(out, " %s", words);
	for (o = c->option; o->name; o++)
		fprintf(out, o->value ? " [--%s %s]" : " [--%s]", o->name, o->value);
	if (has_program(c))
		fprintf(out, " %s", words);
	fputc('\n', out);
}

static void print_option(FILE *out, const struct option_row *o)
{
	fputs("      ", out);
	if (o->letter)
		fprintf(out, "-%c, ", o->letter);
	fprintf(out, "--%s", o->name);
	if (o->value)
		fprintf(out, " %s", o->value);
	fprintf(out, "  %s\n", o->summary);
}

static void print_lines(FILE *out, const char *indent, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		fprintf(out, "%s%.*s\n", indent, (int)length, text);
		text += length + (text[length] == '\n');
	}
}

/* Prints the rows whose name begins with these words. */
static void help_of(FILE *out, const char *words, bool details)
{
	const struct command *c;
	const struct option_row *o;
	size_t length = strlen(words);

	for_each_command(c) {
		if (strncmp(c->name, words, length) ||
		    (length && c->name[length] && c->name[length] != ' '))
			continue;
		fputs("  ", out);
		print_usage(out, c);
		print_lines(out, "      ", c->summary);
		if (!details)
			continue;
		if (c->details)
			print_lines(out, "      ", c->details);
		for (o = c->option; o->name; o++)
			print_option(out, o);
	}
}

void command_help(FILE *out)
{
	fputs("usage: softhca COMMAND...\n"
	      "       softhca COMMAND --help\n"
	      "       softhca --version | --help\n"
	      "\ncommands:\n",
	      out);
	help_of(out, "", false);
	fputs("\nexit status: 0 success; 1 failure, with the reason; 2 wrong command line\n"
	      "see also: softhca(8), softhca(7), rdma-link(8)\n",
	      out);
}

/* ---- errors ----------------------------------------------------------------- */

/* a list of words without duplicates */
struct words {
	char text[512];
	int nr;
};

static void words_add(struct words *w, const char *word)
{
	char search[sizeof(w->text) + 2], item[256];
	size_t used = strlen(w->text);

	snprintf(search, sizeof(search), " %s,", w->text);
	snprintf(item, sizeof(item), " %s,", word);
	if (strstr(search, item))
		return;
	snprintf(w->text + used, sizeof(w->text) - used, "%s%s",
		 w->nr++ ? ", " : "", word);
}

static int hint(const char *words)
{
	fprintf(stderr, "Try 'softhca %s%s--help'.\n", words, *words ? " " : "");
	return EXIT_USAGE;
}

/* No row has this name. Finds the misspelt word. */
static int unknown_command(int argc, char **argv)
{
	const struct command *c;
	struct words first = {}, second = {};
	char word[64];

	for_each_command(c) {
		size_t length = strcspn(c->name, " ");

		snprintf(word, sizeof(word), "%.*s", (int)length, c->name);
		words_add(&first, word);
		if (!strcmp(word, argv[0]) && c->name[length])
			words_add(&second, c->name + length + 1);
	}
	if (!second.nr) {
		complain("unknown command '%s' (expected: %s)", argv[0], first.text);
		return hint("");
	}
	if (argc < 2)
		complain("%s: incomplete command (expected: %s)", argv[0], second.text);
	else
		complain("unknown command '%s %s' (expected: %s)", argv[0], argv[1],
			 second.text);
	return hint(argv[0]);
}

/* No row of @name fits; @fits is the number of words that fit the best row. */
static int wrong_words(const char *name, int fits, int nr, char **word)
{
	const struct command *c;
	struct words expected = {};
	struct pattern p;

	for_each_command(c) {
		if (strcmp(c->name, name))
			continue;
		pattern_parse(&p, c->pattern);
		if (pattern_match(&p, word, nr) == fits && fits < p.nr)
			words_add(&expected, p.token[fits]);
	}
	if (fits == nr)
		complain("%s: incomplete command (expected: %s)", name, expected.text);
	else if (expected.nr)
		complain("%s: unknown word '%s' (expected: %s)", name,
			 word[fits], expected.text);
	else
		complain("%s: unexpected word '%s'", name, word[fits]);
	return hint(name);
}

/* "one, two or three" of "one|two|three" */
static void print_choices(char *text, size_t size, const char *choices)
{
	size_t used = 0;

	for (; *choices && used < size; choices++) {
		const char *more = strchr(choices, '|');
		int length = more ? (int)(more - choices) : (int)strlen(choices);

		used += snprintf(text + used, size - used, "%.*s%s", length, choices,
				 !more ? "" : strchr(more + 1, '|') ? ", " : " or ");
		choices += length;
		if (!*choices)
			break;
	}
}

/* Checks values by the kinds in the pattern: devices first. */
static int check_values(const struct call *call, const struct pattern *p)
{
	char choices[256];
	struct device device;
	int i, status;

	for (i = 0; i < call->nr && i < p->nr; i++) {
		if (strcmp(p->token[i], "DEVICE"))
			continue;
		status = device_check_name(call->word[i]) ?:
			 device_find(call->word[i], &device);
		if (status)
			return status;
	}
	for (i = 0; i < call->nr && i < p->nr; i++) {
		if (!strchr(p->token[i], '|') ||
		    choice_index(p->token[i], call->word[i]) >= 0)
			continue;
		print_choices(choices, sizeof(choices), p->token[i]);
		complain("%s: invalid value '%s' (expected: %s)",
			 call->command->name, call->word[i], choices);
		return hint(call->command->name);
	}
	return 0;
}

/* ---- run -------------------------------------------------------------------- */

const char *unknown_option(char **argv)
{
	static char letter[3] = "-";

	/* Within a cluster of letters, optind has not advanced yet. */
	if (optopt <= 0 || optopt >= 256)
		return argv[optind - 1];
	letter[1] = optopt;
	return letter;
}

/* Takes the value of an option. Return: 0, or an exit status. */
static int take_value(struct call *call, int nr, const char *value)
{
	const struct option_row *o = &call->command->option[nr];
	char choices[256];

	call->option[nr] = true;
	call->value[nr] = value;
	if (!o->value || !strchr(o->value, '|') ||
	    choice_index(o->value, value) >= 0)
		return 0;
	print_choices(choices, sizeof(choices), o->value);
	complain("%s: invalid value '%s' of --%s (expected: %s)",
		 call->command->name, value, o->name, choices);
	return hint(call->command->name);
}

/*
 * Options may stand anywhere after the name, but before a program, which has
 * its own. All rows of a command take the same options. Return: 0, an exit
 * status, or -1 after --help.
 */
static int parse_options(struct call *call, int argc, char **argv)
{
	const struct option_row *o = call->command->option;
	struct option options[MAX_OPTIONS + 2] = {};
	char letters[2 * MAX_OPTIONS + 4];
	int c, i, status, used;

	used = sprintf(letters, "%s:h", has_program(call->command) ? "+" : "");
	for (i = 0; o[i].name; i++) {
		options[i] = (struct option){ o[i].name,
			o[i].value ? required_argument : no_argument, NULL, 256 + i };
		if (o[i].letter)
			used += sprintf(letters + used, "%c%s", o[i].letter,
					o[i].value ? ":" : "");
	}
	options[i] = (struct option){ "help", no_argument, NULL, 'h' };
	optind = 0;
	while ((c = getopt_long(argc, argv, letters, options, NULL)) >= 0) {
		if (c == 'h')
			return -1;
		if (c == '?' || c == ':') {
			complain(c == ':' ? "%s: option '%s' needs a value" :
					    "%s: unknown option '%s'",
				 call->command->name, unknown_option(argv));
			return hint(call->command->name);
		}
		for (i = 0; c < 256; i++)
			if (o[i].letter == c)
				c = 256 + i;
		status = take_value(call, c - 256, optarg);
		if (status)
			return status;
	}
	return 0;
}

/* Is --help all that the user asks of a group or command? */
static bool asks_help(int argc, char **argv, int at)
{
	return argc > at &&
	       (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h"));
}

int command_run(int argc, char **argv)
{
	const struct command *c, *row = NULL, *best = NULL;
	struct call call = {};
	struct pattern p;
	int named = 0, fits = -1, status;

	for_each_command(c) {
		if (asks_help(argc, argv, 1) &&
		    !strncmp(c->name, argv[0], strlen(argv[0])) &&
		    c->name[strlen(argv[0])] == ' ') {
			help_of(stdout, argv[0], true);
			return EXIT_SUCCESS;
		}
		if (!best && name_match(c, argc, argv))
			best = c;
	}
	if (!best)
		return unknown_command(argc, argv);
	named = name_match(best, argc, argv);
	call.command = best;
	/* getopt_long() takes the last word of the name for the program's name. */
	status = parse_options(&call, argc - named + 1, argv + named - 1);
	if (status < 0) {
		help_of(stdout, best->name, true);
		return EXIT_SUCCESS;
	}
	if (status)
		return status;
	call.word = argv + named - 1 + optind;
	call.nr = argc - (named - 1 + optind);

	for_each_command(c) {
		int matched;

		if (strcmp(c->name, best->name))
			continue;
		pattern_parse(&p, c->pattern);
		matched = pattern_match(&p, call.word, call.nr);
		if (matched == call.nr && pattern_may_end(&p, matched) && !row)
			row = c;
		fits = matched > fits ? matched : fits;
	}
	if (!row)
		return wrong_words(best->name, fits, call.nr, call.word);
	call.command = row;
	pattern_parse(&p, row->pattern);
	return check_values(&call, &p) ?: row->run(&call);
}

/* ---- completion ------------------------------------------------------------- */

/* candidates printed so far, so that each is printed once */
struct completion {
	const char *word;	/* incomplete */
	const char *prefix;	/* what comes before it: names with commas, a folder */
	char **printed;
	int nr;
};

static void offer(const char *candidate, void *arg)
{
	struct completion *x = arg;
	int i;

	if (strncmp(candidate, x->word, strlen(x->word)))
		return;
	for (i = 0; i < x->nr; i++)
		if (!strcmp(x->printed[i], candidate))
			return;
	x->printed = reallocarray(x->printed, x->nr + 1, sizeof(*x->printed));
	if (!x->printed)
		exit(EXIT_FAILURE);
	x->printed[x->nr++] = strdup(candidate);
	printf("%s%s\n", x->prefix, candidate);
}

/* @folder: "" or with its "/". A folder in it ends with "/", for more of the path may follow. */
static void offer_file(const char *name, const char *folder, struct completion *x)
{
	char path[4096 + 256];
	struct stat file;

	if (strncmp(name, x->word, strlen(x->word)))
		return;
	snprintf(path, sizeof(path), "%s%s", folder, name);
	printf("%s%s%s\n", x->prefix, name, !stat(path, &file) && S_ISDIR(file.st_mode) ? "/" : "");
}

static void offer_files(struct completion *x)
{
	const char *word = x->word, *slash = strrchr(word, '/'), *home = getenv("HOME");
	char prefix[2048], folder[4096];
	struct dirent **entry;
	int i, nr;

	snprintf(prefix, sizeof(prefix), "%.*s", slash ? (int)(slash + 1 - word) : 0, word);
	if (home && !strncmp(prefix, "~/", 2))
		snprintf(folder, sizeof(folder), "%.2000s%s", home, prefix + 1);
	else
		snprintf(folder, sizeof(folder), "%s", prefix);
	x->prefix = prefix;
	x->word = slash ? slash + 1 : word;
	nr = scandir(*folder ? folder : ".", &entry, NULL, alphasort);
	for (i = 0; i < nr; i++) {
		/* Hidden ones only if they are asked for */
		if (*entry[i]->d_name != '.' ||
		    (*x->word == '.' && strcmp(entry[i]->d_name, ".") && strcmp(entry[i]->d_name, "..")))
			offer_file(entry[i]->d_name, folder, x);
		free(entry[i]);
	}
	if (nr >= 0)
		free(entry);
	x->prefix = "";
	x->word = word;
}

static void offer_choices(const char *choices, struct completion *x)
{
	char words[256], *word, *rest = words;

	if (!strchr(choices, '|'))
		return;
	snprintf(words, sizeof(words), "%s", choices);
	while ((word = strsep(&rest, "|")))
		offer(word, x);
}

/* A key, a name after it, or a device after "dev=". */
static void offer_rule(struct completion *x)
{
	fault_complete(x->word, offer, x);
	if (strncmp(x->word, "dev=", 4))
		return;
	x->prefix = "dev=";
	x->word += 4;
	device_names(offer, x);
	x->prefix = "";
	x->word -= 4;
}

static void offer_token(const char *token, struct completion *x)
{
	char prefix[1024];
	const char *comma;

	if (!strcmp(token, "DEVICE") || !strcmp(token, "DEVICE/QPN")) {
		device_names(offer, x);
	} else if (is_rule(token)) {
		offer_rule(x);
	} else if (!strcmp(token, "PERSONALITY")) {
		personality_names(offer, x);
		if (strchr(x->word, '/'))
			offer_files(x);
	} else if (!strcmp(token, "TOPOLOGY")) {
		topology_names(offer, x);
		offer_files(x);
	} else if (!strcmp(token, "FILE") || !strcmp(token, "OUT")) {
		offer_files(x);
	} else if (!strcmp(token, "RECIPE")) {
		recipe_names(offer, x);
	} else if (!strcmp(token, "LESSON")) {
		lesson_numbers(offer, x);
	} else if (!strcmp(token, "RULE")) {
		fault_ids(offer, x);
		offer("all", x);
	} else if (!strcmp(token, "NAMESPACE")) {
		netns_names(offer, x);
	} else if (!strcmp(token, "DEVICE,...")) {
		comma = strrchr(x->word, ',');
		snprintf(prefix, sizeof(prefix), "%.*s",
			 comma ? (int)(comma + 1 - x->word) : 0, x->word);
		x->prefix = prefix;
		if (comma)
			x->word = comma + 1;
		device_names(offer, x);
		x->prefix = "";
	} else if (strchr(token, '|')) {
		offer_choices(token, x);
	} else if (is_keyword(token)) {
		offer(token, x);
	}
}

/* Return: the option that takes the word after @word as its value, or NULL. */
static const struct option_row *takes_value(const struct command *c,
					    const char *word)
{
	const struct option_row *o;

	for (o = c->option; o->name; o++)
		if (o->value && *word == '-' &&
		    (word[1] == '-' ? !strcmp(word + 2, o->name) :
				      word[1] == o->letter && !word[2]))
			return o;
	return NULL;
}

/* Do the words so far ask for a file of rules, whose name comes first? */
static bool wants_rules(const struct pattern *p, int nr, int argc, char **argv)
{
	bool file = false;
	int i;

	for (i = 0; i < argc; i++)
		file |= !strcmp(argv[i], "--file");
	return file && p->nr && is_rule(p->token[p->nr - 1]) && !nr;
}

static void offer_options(const struct command *c, struct completion *x)
{
	char text[64];
	int i;

	for (i = 0; c && c->option[i].name; i++) {
		snprintf(text, sizeof(text), "--%s", c->option[i].name);
		offer(text, x);
	}
	offer("--help", x);
	if (!c)
		offer("--version", x);
}

int command_complete(int argc, char **argv)
{
	const struct command *c;
	struct completion x = { .prefix = "" };
	char *word[MAX_WORDS], name[64];
	int i, named, nr;

	if (argc < 1)
		return EXIT_USAGE;
	if (argc > 1 && !strcmp(argv[0], "help"))
		return command_complete(argc - 1, argv + 1);
	x.word = argv[argc - 1];
	if (argc == 1 && *x.word == '-')
		offer_options(NULL, &x);
	for_each_command(c) {
		size_t first = strcspn(c->name, " ");

		named = name_match(c, argc - 1, argv);
		if (named && argc - 1 > named &&
		    takes_value(c, argv[argc - 2])) {
			offer_token(takes_value(c, argv[argc - 2])->value, &x);
			continue;
		}
		if (named && *x.word == '-') {
			offer_options(c, &x);
			continue;
		}
		if (named) {
			struct pattern p;

			pattern_parse(&p, c->pattern);
			for (i = named, nr = 0; i < argc - 1 && nr < MAX_WORDS; i++)
				if (takes_value(c, argv[i]))
					i++;
				else if (*argv[i] != '-')
					word[nr++] = argv[i];
			if (wants_rules(&p, nr, argc - 1, argv)) {
				profile_names(offer, &x);
				offer_files(&x);
				continue;
			}
			if (p.nr && is_rule(p.token[p.nr - 1]) && nr >= p.nr)
				nr = p.nr - 1;
			if (nr < p.nr && pattern_match(&p, word, nr) == nr)
				offer_token(p.token[nr], &x);
			continue;
		}
		/* a word of the name itself */
		snprintf(name, sizeof(name), "%.*s", (int)first, c->name);
		if (argc == 1)
			offer(name, &x);
		else if (argc == 2 && !strcmp(name, argv[0]) && c->name[first])
			offer(c->name + first + 1, &x);
		if (argc == 2 && !strcmp(name, argv[0]) && *x.word == '-')
			offer("--help", &x);
	}
	return EXIT_SUCCESS;
}
