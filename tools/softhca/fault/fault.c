// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Group "fault": makes, lists, deletes, saves and replays rules of fault injection.
 */
#include "fault_rule.h"
#include "../netns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

/* @arg: where the number of the new rule goes */
static void read_added(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	uint32_t *id = arg;

	if (!attrs[SHCA_A_FAULT] ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) ||
	    !tb[SHCA_FA_ID])
		return;
	*id = nla_get_u32(tb[SHCA_FA_ID]);
}

/* Return: 0, or an exit status after a message about what is wrong with the words of a rule. */
static int check_rule(const char *where, char **word, int nr)
{
	struct nl_msg *msg = nlmsg_alloc_size(8192);
	const char *device = NULL;
	int i, status;

	if (!msg)
		return fail("out of memory");
	for (i = 0; i < nr; i++)
		if (!strncmp(word[i], "dev=", 4))
			device = word[i] + 4;
	status = device ? device_check_name(device) : 0;
	if (!status)
		status = rule_put(where, msg, word, nr, false);
	nlmsg_free(msg);
	return status;
}

/* a rule to be made; @sent: its device was found, @status says what the kernel made of it */
struct new_rule {
	const char *where;
	char **word;
	int nr;
	const char *device;
	bool held;
	uint32_t *id;
	bool sent;
	int status;
};

static void send_rule(struct new_rule *rule)
{
	struct nl_msg *msg;

	rule->sent = true;
	rule->status = genl_open(false);
	if (rule->status)
		return;
	/* Only now is the family's number known, which a request begins with. */
	msg = genl_request(SHCA_CMD_FAULT_ADD, 0);
	rule_put(rule->where, msg, rule->word, rule->nr, rule->held);
	rule->status = genl_send(msg, rule->where, read_added, rule->id);
}

static bool send_rule_here(void *arg)
{
	struct new_rule *rule = arg;

	if (rule->sent || !device_is_here(rule->device))
		return false;
	send_rule(rule);
	/* One that is held ends with its socket, which does not move. */
	return rule->held;
}

/* One rule. What is wrong with its words is said first. */
static int make_rule(const char *where, char **word, int nr, bool held, uint32_t *id)
{
	struct new_rule rule = { .where = where, .word = word, .nr = nr, .held = held, .id = id };
	int i, status = check_rule(where, word, nr);

	if (!status)
		status = genl_open(false);
	if (status)
		return status;
	for (i = 0; i < nr; i++)
		if (!strncmp(word[i], "dev=", 4))
			rule.device = word[i] + 4;
	netns_everywhere(send_rule_here, &rule);
	/* (for the message: no such device) */
	if (!rule.sent)
		send_rule(&rule);
	return rule.status;
}

/* What is printed, and how many were before */
struct listing {
	bool json;
	int nr;
};

static void print_list_begin(const struct listing *list)
{
	if (list->json)
		putchar('[');
}

static void print_list_end(const struct listing *list)
{
	if (list->json)
		printf("%s]\n", list->nr ? "\n" : "");
}

static int add_rule(const char *where, char **word, int nr, struct listing *list)
{
	char words[RULE_SIZE] = "";
	uint32_t id = 0;
	int i, status = make_rule(where, word, nr, false, &id);

	if (status)
		return status;
	/* An event has happened, and is no rule. */
	if (!list->json && id)
		printf("%u\n", id);
	if (!list->json)
		return 0;
	for (i = 0; i < nr; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s",
			 i ? " " : "", word[i]);
	printf(id ? "%s\n  {\"id\": %u, \"rule\": " : "%s\n  {\"id\": null, \"rule\": ",
	       list->nr++ ? "," : "", id);
	print_json_string(words);
	putchar('}');
	return 0;
}

int fault_make(const char *device, const char *words, uint32_t *id)
{
	char line[512], *word[MAX_WORDS];

	snprintf(line, sizeof(line), "dev=%s %s", device, words);
	*id = 0;
	return make_rule("fault recipes", word, fault_split(line, word, MAX_WORDS), true, id);
}

/* A file by its name, or if there is none one that came with the tool */
static FILE *open_file(const char *name)
{
	char path[512];
	FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;

	if (file || errno != ENOENT || strchr(name, '/'))
		return file;
	snprintf(path, sizeof(path), "%s/%s", PROFILES_DIR, name);
	return fopen(path, "r");
}

/*
 * a line of a file of rules
 * @number:	of the line
 * @word:	of @line, then those of the command. No rule has a key twice
 * @nr:		0: it has no rule
 */
struct file_rule {
	struct file_rule *next;
	int number;
	int nr;
	char *word[FAULT_KEYS];
	char line[];
};

/* Where a line is, for messages */
static const char *where_is(const char *name, int number)
{
	static char where[320];

	snprintf(where, sizeof(where), "%.255s line %d", name, number);
	return where;
}

/* '#' begins a comment. @more: @nr_more words of each rule */
static int read_rule(const char *where, struct file_rule *rule, char **more, int nr_more)
{
	int i;

	rule->line[strcspn(rule->line, "#\n")] = '\0';
	rule->nr = fault_split(rule->line, rule->word, FAULT_KEYS);
	if (!rule->nr)
		return 0;
	if (rule->nr + nr_more >= FAULT_KEYS)
		return complain("%s: more than %d words", where, FAULT_KEYS - 1);
	for (i = 0; i < nr_more; i++)
		rule->word[rule->nr++] = more[i];
	return check_rule(where, rule->word, rule->nr);
}

/* A rule a line, all with right words or none. @rules: result, even if it fails */
static int read_file(const char *command, const char *name, char **more, int nr_more,
		     struct file_rule **rules)
{
	FILE *file = open_file(name);
	char line[RULE_SIZE];
	const char *where;
	int number = 0, status = 0;
	size_t size;

	*rules = NULL;
	if (!file)
		return fail("%s: %s: %s", command, name, strerror(errno));
	while (!status && fgets(line, sizeof(line), file)) {
		where = where_is(name, ++number);
		if (!strchr(line, '\n') && !feof(file)) {
			status = complain("%s: longer than %d characters", where,
					  RULE_SIZE - 2);
			break;
		}
		size = strlen(line) + 1;
		*rules = calloc(1, sizeof(**rules) + size);
		if (!*rules) {
			status = fail("out of memory");
			break;
		}
		memcpy((*rules)->line, line, size);
		(*rules)->number = number;
		status = read_rule(where, *rules, more, nr_more);
		rules = &(*rules)->next;
	}
	if (!status && ferror(file))
		status = fail("%s: %s: %s", command, name, strerror(errno));
	if (file != stdin)
		fclose(file);
	return status;
}

/* Makes the rules of a file, unless @status says that something has failed; frees them. */
static int add_rules(const char *name, struct file_rule *rule, int status, struct listing *list)
{
	struct file_rule *next;

	for (; rule; rule = next) {
		next = rule->next;
		if (!status && rule->nr)
			status = add_rule(where_is(name, rule->number), rule->word, rule->nr, list);
		free(rule);
	}
	return status;
}

static int fault_add(const struct call *call)
{
	struct listing list = { .json = call->option[1] };
	struct file_rule *rules;
	int status;

	if (call->option[0] && strchr(call->word[0], '='))
		return complain("fault add: --file needs the name of a file before '%s'",
				call->word[0]);
	print_list_begin(&list);
	if (!call->option[0]) {
		status = add_rule("fault add", call->word, call->nr, &list);
	} else {
		status = read_file("fault add", call->word[0], call->word + 1, call->nr - 1,
				   &rules);
		status = add_rules(call->word[0], rules, status, &list);
	}
	print_list_end(&list);
	return status;
}

/* ---- what there is ------------------------------------------------------------------ */

static uint64_t get_u64(const struct nlattr *attr)
{
	return attr ? nla_get_u64(attr) : 0;
}

/* asks for all rules, for one command; @status: the first failure */
struct rules_dump {
	const char *command;
	genl_reply_fn *reply;
	void *arg;
	int status;
};

static bool dump_rules_here(void *arg)
{
	struct rules_dump *dump = arg;
	int status = genl_open(false);

	if (!status)
		status = genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP), dump->command,
				   dump->reply, dump->arg);
	dump->status = dump->status ?: status;
	return dump->status;
}

/* Calls @reply for each rule. Return: 0, or an exit status. */
static int dump_rules(const char *command, genl_reply_fn *reply, void *arg)
{
	struct rules_dump dump = { .command = command, .reply = reply, .arg = arg };

	netns_everywhere(dump_rules_here, &dump);
	return dump.status;
}

static void print_rule(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	struct listing *list = arg;
	const char *device;
	uint32_t id;

	if (!attrs[SHCA_A_FAULT] || !attrs[SHCA_A_DEV_NAME] ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) ||
	    !tb[SHCA_FA_ID] || !tb[SHCA_FA_WHAT])
		return;
	id = nla_get_u32(tb[SHCA_FA_ID]);
	device = nla_get_string(attrs[SHCA_A_DEV_NAME]);
	if (list->json) {
		printf("%s\n  {\"id\": %u, \"dev\": ", list->nr ? "," : "", id);
		print_json_string(device);
	} else {
		printf("%u: dev=%s", id, device);
	}
	list->nr++;
	rule_print(tb, list->json, true);
	printf(list->json ? ", \"seen\": %llu, \"hits\": %llu}" :
			    " seen %llu hits %llu\n",
	       (unsigned long long)get_u64(tb[SHCA_FA_SEEN]),
	       (unsigned long long)get_u64(tb[SHCA_FA_HITS]));
}

static int fault_list(const struct call *call)
{
	struct listing list = { .json = call->option[0] };
	int status = genl_open(false);

	if (status)
		return status;
	print_list_begin(&list);
	status = dump_rules("fault list", print_rule, &list);
	print_list_end(&list);
	if (!status && !list.json && !list.nr)
		netns_hint();
	return status;
}

/* ---- saving and replaying ------------------------------------------------------------ */

/*
 * A rule that hits just what this one has hit. One that has hit more than the kernel
 * remembers is saved as it is, unless time decides.
 */
static void save_rule(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	int *status = arg;
	uint64_t hits;
	bool all;

	if (!attrs[SHCA_A_FAULT] || !attrs[SHCA_A_DEV_NAME] ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) ||
	    !tb[SHCA_FA_ID] || !tb[SHCA_FA_WHAT])
		return;
	hits = get_u64(tb[SHCA_FA_HITS]);
	all = tb[SHCA_FA_LOG] &&
	      nla_len(tb[SHCA_FA_LOG]) / sizeof(uint32_t) == hits;
	if (hits && !all && (tb[SHCA_FA_AFTER] || tb[SHCA_FA_FOR]))
		*status = fail("fault save: rule %u has hit %llu times; with after= or for= at most %d can be saved",
			       nla_get_u32(tb[SHCA_FA_ID]),
			       (unsigned long long)hits, SHCA_FAULT_LOG);
	printf("%sdev=%s", hits ? "" : "# no hit: ",
	       nla_get_string(attrs[SHCA_A_DEV_NAME]));
	rule_print(tb, false, !all);
	if (all) {
		printf(" at=");
		rule_print_list(tb[SHCA_FA_LOG]);
	}
	putchar('\n');
}

static int fault_save(const struct call *call)
{
	int saved = 0, status = dump_rules("fault save", save_rule, &saved);

	(void)call;
	return status ? status : saved;
}

/* @what: for the message, or NULL */
static int end_rule(uint32_t id, const char *what)
{
	struct nl_msg *msg = genl_request(SHCA_CMD_FAULT_DEL, 0);
	struct nlattr *nest;

	if (id) {
		nest = nla_nest_start(msg, SHCA_A_FAULT | NLA_F_NESTED);
		nla_put_u32(msg, SHCA_FA_ID, id);
		nla_nest_end(msg, nest);
	}
	return genl_send(msg, what, NULL, NULL);
}

int fault_end(uint32_t id)
{
	return end_rule(id, "fault del");
}

/* @arg: an exit status */
static bool end_all_here(void *arg)
{
	int *status = arg;

	*status = genl_open(false) ?: fault_end(0);
	return *status;
}

/* @arg: the number of a rule, which is of one namespace only */
static bool end_one_here(void *arg)
{
	return !genl_open(true) && !end_rule(*(uint32_t *)arg, NULL);
}

static int fault_replay(const struct call *call)
{
	const char *name = call->word[0];
	struct listing list = {};
	struct file_rule *rules;
	int status = read_file("fault replay", name, NULL, 0, &rules);

	/* A file that cannot be replayed costs no rule. */
	if (!status)
		netns_everywhere(end_all_here, &status);
	return add_rules(name, rules, status, &list);
}

/* ---- sums ---------------------------------------------------------------------------- */

/* What happened, by device and kind. */
struct stats {
	uint64_t rules;
	uint64_t hits[SHCA_FAULT_NR];
};

static void add_stats(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	struct stats *stats = arg;
	uint8_t what;

	if (!attrs[SHCA_A_FAULT] ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) ||
	    !tb[SHCA_FA_WHAT])
		return;
	what = nla_get_u8(tb[SHCA_FA_WHAT]);
	stats->rules++;
	if (what < SHCA_FAULT_NR)
		stats->hits[what] += get_u64(tb[SHCA_FA_HITS]);
}

static int fault_stats(const struct call *call)
{
	bool json = call->option[0];
	struct stats stats = {};
	int i, status = dump_rules("fault stats", add_stats, &stats);

	if (status)
		return status;
	printf(json ? "{\"rules\": %llu" : "rules %llu\n",
	       (unsigned long long)stats.rules);
	for (i = 0; i < SHCA_FAULT_NR; i++)
		if (json || stats.hits[i])
			printf(json ? ", \"%s\": %llu" : "%s %llu\n", fault_what_name(i),
			       (unsigned long long)stats.hits[i]);
	if (json)
		puts("}");
	return 0;
}

static int fault_del(const struct call *call)
{
	const char *word = call->word[0];
	uint32_t number;
	uint64_t id = 0;
	char *end;
	int status;

	if (strcmp(word, "all") &&
	    (!fault_number(word, &id, &end) || *end || !id || id > UINT32_MAX))
		return complain("fault del: RULE must be a number of 'fault list' or 'all', not '%s'",
				word);
	number = id;
	status = genl_open(false);
	if (status)
		return status;
	if (!id)
		netns_everywhere(end_all_here, &status);
	else if (!netns_everywhere(end_one_here, &number))
		/* (once more, for the message) */
		status = genl_open(false) ?: fault_end(id);
	return status;
}

/* A rule whose hits are asked for. */
struct wanted {
	uint32_t id;
	uint64_t hits;
};

static void read_hits(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	struct wanted *wanted = arg;

	if (attrs[SHCA_A_FAULT] &&
	    !nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) &&
	    tb[SHCA_FA_ID] && nla_get_u32(tb[SHCA_FA_ID]) == wanted->id)
		wanted->hits = get_u64(tb[SHCA_FA_HITS]);
}

uint64_t fault_hits(uint32_t id)
{
	struct wanted wanted = { .id = id };

	genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP), "fault list",
		  read_hits, &wanted);
	return wanted.hits;
}

void profile_names(void (*each)(const char *name, void *arg), void *arg)
{
	folder_names(PROFILES_DIR, each, arg);
}

/* passes fault_ids()'s arguments on */
struct each_id {
	void (*each)(const char *id, void *arg);
	void *arg;
};

static void pass_id(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	const struct each_id *x = arg;
	char text[16];

	if (!attrs[SHCA_A_FAULT] ||
	    nla_parse_nested(tb, SHCA_FA_MAX, attrs[SHCA_A_FAULT], NULL) || !tb[SHCA_FA_ID])
		return;
	snprintf(text, sizeof(text), "%u", nla_get_u32(tb[SHCA_FA_ID]));
	x->each(text, x->arg);
}

void fault_ids(void (*each)(const char *id, void *arg), void *arg)
{
	struct each_id x = { each, arg };

	/* (a command that completes has no messages) */
	if (!genl_open(true))
		dump_rules(NULL, pass_id, &x);
}

const struct command fault_commands[] = {
	{
		.name = "fault add",
		.pattern = "KEY=VALUE...",
		.summary = "make a rule of fault injection; print its number",
		.details = "where: dev dir=tx|rx qpn opcode type psn msg va rkey wr_id cqn pid cgroup\n"
			   "when: prob seed every nth count after for, or at (a list)\n"
			   "what: do=, and the details that it needs: delay jitter dist by status nak verb errno event\n"
			   "with --file, the first word is the name of a file that has a rule a line, - is standard input;\n"
			   "words after it are part of each rule. bad-cable and wan come with the tool",
		.option = { { "file", "take the rules from a file" },
			    { "json", "print a JSON array of objects: numbers and rules" } },
		.run = fault_add,
	},
	{
		.name = "fault list",
		.pattern = "",
		.summary = "show the rules, how many packets or calls fitted, and how many were hit",
		.option = { { "json", "print a JSON array of objects" } },
		.run = fault_list,
	},
	{
		.name = "fault del",
		.pattern = "RULE",
		.summary = "delete a rule by its number, or with 'all' all rules",
		.run = fault_del,
	},
	{
		.name = "fault save",
		.pattern = "",
		.summary = "print rules that hit once more just what the rules have hit",
		.run = fault_save,
	},
	{
		.name = "fault replay",
		.pattern = "FILE",
		.summary = "delete all rules, and make those that 'fault save' has printed",
		.details = "FILE is - for standard input",
		.run = fault_replay,
	},
	{
		.name = "fault stats",
		.pattern = "",
		.summary = "show how many faults of each kind the rules have made happen",
		.option = { { "json", "print a JSON object" } },
		.run = fault_stats,
	},
	{
		.name = "fault recipes",
		.pattern = "[RECIPE] [DEVICE]",
		.summary = "show rules to copy; docs/faults.md says what each provokes",
		.details = "with --run, DEVICE is the first one that 'dev show' has if it is not named",
		.option = { { "run", "make the rule, provoke the fault with traffic of its own, and say what is seen" },
			    { "json", "print the rules as a JSON array of objects" } },
		.run = fault_recipes,
	},
	{}
};
