// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Group "fault": rules of fault injection. A rule is a list of words KEY=VALUE, on the
 * command line, in a file, and as `fault list` prints it. keys[] is the only list of
 * them: parsing, printing, help and completion follow from it.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include "softhca.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>

/* Numbers of Linux; EHWPOISON is the last one. */
#define ERRNO_MAX	133
/* Longest line of a file. */
#define LINE_SIZE	8192

enum kind {
	KIND_DEVICE,
	KIND_NAME,	/* u8: index of a name */
	KIND_DIR,	/* flag: tx, or rx */
	KIND_U8,
	KIND_U32,
	KIND_U64,
	KIND_PSN,	/* two u32: FIRST or FIRST-LAST */
	KIND_TIME,	/* u64, ns: a number with ns, us, ms or s */
	KIND_PROB,	/* u32, parts of a million: a number with % or without */
	KIND_ERRNO,
	KIND_LIST,	/* u32 each: rising numbers and ranges, with commas */
};

#define X(id, name) name,
static const char *const what_names[] = { SHCA_FAULT_WHATS(X) NULL };
static const char *const type_names[] = { SHCA_FAULT_TYPES(X) NULL };
static const char *const nak_names[] = { SHCA_FAULT_NAKS(X) NULL };
static const char *const verb_names[] = { SHCA_FAULT_VERBS(X) NULL };
#undef X
static const char *const dir_names[] = { "tx", "rx", NULL };

/* enum ibv_wc_status */
static const char *const status_names[] = {
	"SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR",
	"LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR", "BAD_RESP_ERR",
	"LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR",
	"RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",
	"REM_INV_RD_REQ_ERR", "REM_ABORT_ERR", "INV_EECN_ERR",
	"INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR",
	NULL
};

/* enum ibv_event_type */
static const char *const event_names[] = {
	"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST",
	"SQ_DRAINED", "PATH_MIG", "PATH_MIG_ERR", "DEVICE_FATAL",
	"PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE",
	"SRQ_ERR", "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED",
	"CLIENT_REREGISTER", "GID_CHANGE", NULL
};

/**
 * struct key - a key of a rule
 * @attr:	of the nest SHCA_A_FAULT
 * @names:	of KIND_NAME
 * @min: @max:	of numbers, times in nanoseconds; @min also of indexes of names
 */
struct key {
	const char *name;
	enum kind kind;
	int attr;
	const char *const *names;
	uint64_t min;
	uint64_t max;
};

static const struct key keys[] = {
	{ "dev", KIND_DEVICE, 0, NULL, 0, 0 },
	{ "do", KIND_NAME, SHCA_FA_WHAT, what_names, 0, 0 },
	{ "dir", KIND_DIR, SHCA_FA_RX, dir_names, 0, 0 },
	{ "qpn", KIND_U32, SHCA_FA_QPN, NULL, 1, 0xffffff },
	{ "opcode", KIND_U8, SHCA_FA_OPCODE, NULL, 0, 0xff },
	{ "type", KIND_NAME, SHCA_FA_TYPE, type_names, 0, 0 },
	{ "psn", KIND_PSN, SHCA_FA_PSN, NULL, 0, 0xffffff },
	{ "wr_id", KIND_U64, SHCA_FA_WR_ID, NULL, 0, UINT64_MAX },
	{ "pid", KIND_U32, SHCA_FA_PID, NULL, 1, INT32_MAX },
	{ "prob", KIND_PROB, SHCA_FA_PROBABILITY, NULL, 0, 0 },
	{ "seed", KIND_U64, SHCA_FA_SEED, NULL, 0, UINT64_MAX },
	{ "every", KIND_U32, SHCA_FA_EVERY, NULL, 1, UINT32_MAX },
	{ "nth", KIND_U32, SHCA_FA_NTH, NULL, 1, UINT32_MAX },
	{ "count", KIND_U32, SHCA_FA_COUNT, NULL, 1, UINT32_MAX },
	{ "after", KIND_TIME, SHCA_FA_AFTER, NULL, 0, UINT64_MAX },
	{ "for", KIND_TIME, SHCA_FA_FOR, NULL, 1, UINT64_MAX },
	{ "at", KIND_LIST, SHCA_FA_AT, NULL, 0, 0 },
	{ "delay", KIND_TIME, SHCA_FA_DELAY, NULL, 0, SHCA_FAULT_DELAY_MAX },
	{ "jitter", KIND_TIME, SHCA_FA_JITTER, NULL, 0, SHCA_FAULT_DELAY_MAX },
	{ "by", KIND_U32, SHCA_FA_DISTANCE, NULL, 1, SHCA_FAULT_DISTANCE_MAX },
	{ "status", KIND_NAME, SHCA_FA_STATUS, status_names, 1, 0 },
	{ "nak", KIND_NAME, SHCA_FA_NAK, nak_names, 0, 0 },
	{ "verb", KIND_NAME, SHCA_FA_VERB, verb_names, 0, 0 },
	{ "errno", KIND_ERRNO, SHCA_FA_ERRNO, NULL, 0, 0 },
	{ "event", KIND_NAME, SHCA_FA_EVENT, event_names, 0, 0 },
	{ NULL, 0, 0, NULL, 0, 0 }
};

/* ---- words to attributes --------------------------------------------------------- */

/* Return: whether @text begins with a decimal or hexadecimal number, and its end. */
static bool read_number(const char *text, uint64_t *value, char **end)
{
	int base = strncmp(text, "0x", 2) ? 10 : 16;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, end, base);
	return !errno;
}

static bool read_time(const char *text, uint64_t *value)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 },
	};
	unsigned int i;
	char *end;

	if (!read_number(text, value, &end))
		return false;
	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name))
			return !__builtin_mul_overflow(*value, units[i].ns, value);
	return false;
}

/* "1%", "0.1%" or "0.001": to parts of a million */
static bool read_probability(const char *text, uint64_t *value)
{
	double part;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	part = strtod(text, &end);
	if (*end == '%') {
		part /= 100;
		end++;
	}
	*value = part * SHCA_FAULT_ALWAYS + 0.5;
	return !*end && part <= 1 && *value >= 1;
}

static int find_name(const char *const *names, const char *word)
{
	int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], word))
			return i;
	return -1;
}

/* Return: an errno by its name, or 0. */
static int find_errno(const char *word)
{
	const char *name;
	int i;

	for (i = 1; i <= ERRNO_MAX; i++) {
		name = strerrorname_np(i);
		if (name && !strcmp(name, word))
			return i;
	}
	return 0;
}

/* Prints the names that a key has. */
static void list_names(char *text, size_t size, const char *const *names)
{
	size_t used = 0;

	for (*text = '\0'; *names && used < size; names++)
		used += snprintf(text + used, size - used, "%s%s", *names,
				 !names[1] ? "" : names[2] ? ", " : " or ");
}

static int wrong_value(const char *where, const struct key *key,
		       const char *value)
{
	char names[1024];

	switch (key->kind) {
	case KIND_NAME:
	case KIND_DIR:
		list_names(names, sizeof(names), key->names + key->min);
		return complain("%s: invalid value '%s' of %s (expected: %s)",
				where, value, key->name, names);
	case KIND_TIME:
		return complain("%s: invalid value '%s' of %s (expected: a number with ns, us, ms or s%s)",
				where, value, key->name,
				key->max == SHCA_FAULT_DELAY_MAX ?
				", at most 5s" : "");
	case KIND_PROB:
		return complain("%s: invalid value '%s' of %s (expected: 0.0001%% to 100%%, or a part of 1)",
				where, value, key->name);
	case KIND_ERRNO:
		return complain("%s: invalid value '%s' of %s (expected: a name such as ENOMEM)",
				where, value, key->name);
	case KIND_LIST:
		return complain("%s: invalid value '%s' of %s (expected: at most %d rising numbers, such as 3,7-9)",
				where, value, key->name, SHCA_FAULT_LOG);
	case KIND_PSN:
		return complain("%s: invalid value '%s' of %s (expected: PSN or FIRST-LAST, 0 to 0xffffff)",
				where, value, key->name);
	default:
		return complain("%s: invalid value '%s' of %s (expected: %llu to %llu)",
				where, value, key->name,
				(unsigned long long)key->min,
				(unsigned long long)key->max);
	}
}

/* Return: false: wrong. */
static bool put_psn(struct nl_msg *msg, const char *value)
{
	uint64_t first, last;
	char *end;

	if (!read_number(value, &first, &end) || first > 0xffffff)
		return false;
	last = first;
	if (*end == '-' && !read_number(end + 1, &last, &end))
		return false;
	if (*end || last > 0xffffff)
		return false;
	nla_put_u32(msg, SHCA_FA_PSN, first);
	nla_put_u32(msg, SHCA_FA_PSN_LAST, last);
	return true;
}

/* Return: false: wrong. */
static bool put_list(struct nl_msg *msg, const char *value)
{
	uint32_t list[SHCA_FAULT_LOG], nr = 0;
	uint64_t first, last = 0;
	const char *at = value;
	char *end;

	do {
		uint64_t before = last;

		if (!read_number(at, &first, &end) || first <= before)
			return false;
		last = first;
		if (*end == '-' &&
		    (!read_number(end + 1, &last, &end) || last < first))
			return false;
		if (last > UINT32_MAX || last - first >= SHCA_FAULT_LOG - nr)
			return false;
		while (first <= last)
			list[nr++] = first++;
		at = end + 1;
	} while (*end == ',');
	return !*end && !nla_put(msg, SHCA_FA_AT, nr * sizeof(*list), list);
}

/* Return: false: wrong. */
static bool put_value(struct nl_msg *msg, const struct key *key,
		      const char *value)
{
	uint64_t number = 0;
	int name = -1;
	char *end;

	switch (key->kind) {
	case KIND_NAME:
		name = find_name(key->names, value);
		return name >= (int)key->min &&
		       !nla_put_u8(msg, key->attr, name);
	case KIND_DIR:
		name = find_name(key->names, value);
		return name == 0 || (name > 0 && !nla_put_flag(msg, key->attr));
	case KIND_PSN:
		return put_psn(msg, value);
	case KIND_LIST:
		return put_list(msg, value);
	case KIND_PROB:
		return read_probability(value, &number) &&
		       !nla_put_u32(msg, key->attr, number);
	case KIND_ERRNO:
		name = find_errno(value);
		return name && !nla_put_u32(msg, key->attr, name);
	case KIND_TIME:
		return read_time(value, &number) && number >= key->min &&
		       number <= key->max && !nla_put_u64(msg, key->attr, number);
	default:
		if (!read_number(value, &number, &end) || *end ||
		    number < key->min || number > key->max)
			return false;
		if (key->kind == KIND_U8)
			return !nla_put_u8(msg, key->attr, number);
		if (key->kind == KIND_U32)
			return !nla_put_u32(msg, key->attr, number);
		return !nla_put_u64(msg, key->attr, number);
	}
}

static const struct key *find_key(const char *word, size_t length)
{
	const struct key *key;

	for (key = keys; key->name; key++)
		if (strlen(key->name) == length && !strncmp(key->name, word, length))
			return key;
	return NULL;
}

static int wrong_key(const char *where, const char *word)
{
	const struct key *key;
	char text[512];
	size_t used = 0;

	for (key = keys; key->name; key++)
		used += snprintf(text + used, sizeof(text) - used, "%s%s",
				 key == keys ? "" : ", ", key->name);
	return complain("%s: unknown word '%s' (expected KEY=VALUE, of: %s)",
			where, word, text);
}

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

/* Writes the words of a rule into @msg. @where: for messages. */
static int put_rule(const char *where, struct nl_msg *msg, char **word, int nr)
{
	const struct key *key, *seen[sizeof(keys) / sizeof(*keys)] = {};
	const char *device = NULL, *equals;
	struct nlattr *nest;
	int i, status = 0;

	/* The device's name comes first in the message. */
	for (i = 0; i < nr; i++)
		if (!strncmp(word[i], "dev=", 4))
			device = word[i] + 4;
	if (device)
		nla_put_string(msg, SHCA_A_DEV_NAME, device);
	nest = nla_nest_start(msg, SHCA_A_FAULT | NLA_F_NESTED);
	for (i = 0; i < nr && !status; i++) {
		equals = strchr(word[i], '=');
		key = equals ? find_key(word[i], equals - word[i]) : NULL;
		if (!key)
			status = wrong_key(where, word[i]);
		else if (seen[key - keys])
			status = complain("%s: %s: given twice", where, key->name);
		else if (key->kind != KIND_DEVICE &&
			 !put_value(msg, key, equals + 1))
			status = wrong_value(where, key, equals + 1);
		if (key)
			seen[key - keys] = key;
	}
	nla_nest_end(msg, nest);
	if (!status && !device)
		status = complain("%s: dev: missing, the name of a softhca device",
				  where);
	return status;
}

/* One rule. What is wrong with its words is said first. */
static int make_rule(const char *where, char **word, int nr, uint32_t *id)
{
	const char *device = NULL;
	struct nl_msg *msg;
	int i, status;

	for (i = 0; i < nr; i++)
		if (!strncmp(word[i], "dev=", 4))
			device = word[i] + 4;
	msg = nlmsg_alloc_size(8192);
	if (!msg)
		return fail("out of memory");
	status = device ? device_check_name(device) : 0;
	if (!status)
		status = put_rule(where, msg, word, nr);
	nlmsg_free(msg);
	if (!status)
		status = genl_open(false);
	if (status)
		return status;
	/* Only now is the family's number known, which a request begins with. */
	msg = genl_request(SHCA_CMD_FAULT_ADD, 0);
	put_rule(where, msg, word, nr);
	return genl_send(msg, where, read_added, id);
}

static int add_rule(const char *where, char **word, int nr)
{
	uint32_t id = 0;
	int status = make_rule(where, word, nr, &id);

	/* An event has happened, and is no rule. */
	if (!status && id)
		printf("%u\n", id);
	return status;
}

/* Return: how many words @line has; it is taken apart. */
static int split(char *line, char **word, int max)
{
	char *rest = line, *w;
	int nr = 0;

	while ((w = strsep(&rest, " \t")))
		if (*w && nr < max)
			word[nr++] = w;
	return nr;
}

int fault_make(const char *device, const char *words, uint32_t *id)
{
	char line[512], *word[MAX_WORDS];

	snprintf(line, sizeof(line), "dev=%s %s", device, words);
	*id = 0;
	return make_rule("fault recipes", word, split(line, word, MAX_WORDS), id);
}

/* A rule a line; '#' begins a comment. */
static int add_file(const char *name)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;
	char line[LINE_SIZE], where[320], *word[MAX_WORDS * 2];
	int nr, number = 0, status = 0;

	if (!file)
		return fail("fault add: %s: %s", name, strerror(errno));
	while (!status && fgets(line, sizeof(line), file)) {
		snprintf(where, sizeof(where), "%.255s line %d", name, ++number);
		if (!strchr(line, '\n') && !feof(file)) {
			status = complain("%s: longer than %d characters", where,
					  LINE_SIZE - 2);
			break;
		}
		line[strcspn(line, "#\n")] = '\0';
		nr = split(line, word, MAX_WORDS * 2);
		if (nr)
			status = add_rule(where, word, nr);
	}
	if (file != stdin)
		fclose(file);
	return status;
}

static int fault_add(const struct call *call)
{
	if (!call->option[0])
		return add_rule("fault add", call->word, call->nr);
	if (call->nr != 1)
		return complain("fault add: --file takes one file");
	return add_file(call->word[0]);
}

/* ---- attributes to words ----------------------------------------------------------- */

static void format_time(char *text, size_t size, uint64_t ns)
{
	if (ns % 1000)
		snprintf(text, size, "%lluns", (unsigned long long)ns);
	else if (ns % 1000000)
		snprintf(text, size, "%lluus", (unsigned long long)ns / 1000);
	else if (ns % 1000000000)
		snprintf(text, size, "%llums", (unsigned long long)ns / 1000000);
	else
		snprintf(text, size, "%llus", (unsigned long long)ns / 1000000000);
}

static const char *name_of(const char *const *names, unsigned int index)
{
	while (index && *names) {
		names++;
		index--;
	}
	return *names ? *names : "?";
}

/* Numbers, and ranges of them. */
static void format_list(char *text, size_t size, const struct nlattr *attr)
{
	const uint32_t *list = nla_data(attr);
	int nr = nla_len(attr) / sizeof(*list), i, first;
	size_t used = 0;

	*text = '\0';
	for (i = 0; i < nr && used < size; i++) {
		first = i;
		while (i + 1 < nr && list[i + 1] == list[i] + 1)
			i++;
		used += snprintf(text + used, size - used, "%s%u",
				 first ? "," : "", list[first]);
		if (i > first && used < size)
			used += snprintf(text + used, size - used, "%c%u",
					 i > first + 1 ? '-' : ',', list[i]);
	}
}

static void format_value(char *text, size_t size, const struct key *key,
			 struct nlattr **tb)
{
	const struct nlattr *attr = tb[key->attr];
	const char *name;

	switch (key->kind) {
	case KIND_NAME:
		snprintf(text, size, "%s", name_of(key->names, nla_get_u8(attr)));
		break;
	case KIND_DIR:
		snprintf(text, size, "rx");
		break;
	case KIND_U8:
		snprintf(text, size, "0x%02x", nla_get_u8(attr));
		break;
	case KIND_U32:
		snprintf(text, size, "%u", nla_get_u32(attr));
		break;
	case KIND_U64:
		snprintf(text, size, "%llu", (unsigned long long)nla_get_u64(attr));
		break;
	case KIND_TIME:
		format_time(text, size, nla_get_u64(attr));
		break;
	case KIND_PROB:
		snprintf(text, size, "%g%%",
			 nla_get_u32(attr) * 100.0 / SHCA_FAULT_ALWAYS);
		break;
	case KIND_ERRNO:
		name = strerrorname_np(nla_get_u32(attr));
		snprintf(text, size, "%s", name ? name : "?");
		break;
	case KIND_PSN:
		if (tb[SHCA_FA_PSN_LAST] &&
		    nla_get_u32(tb[SHCA_FA_PSN_LAST]) != nla_get_u32(attr))
			snprintf(text, size, "%u-%u", nla_get_u32(attr),
				 nla_get_u32(tb[SHCA_FA_PSN_LAST]));
		else
			snprintf(text, size, "%u", nla_get_u32(attr));
		break;
	case KIND_LIST:
		format_list(text, size, attr);
		break;
	case KIND_DEVICE:
		break;
	}
}

struct listing {
	bool json;
	int nr;
};

static uint64_t get_u64(const struct nlattr *attr)
{
	return attr ? nla_get_u64(attr) : 0;
}

static void print_rule(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	struct listing *list = arg;
	const struct key *key;
	const char *device;
	char text[LINE_SIZE];
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
	for (key = keys + 1; key->name; key++) {
		if (!tb[key->attr])
			continue;
		format_value(text, sizeof(text), key, tb);
		printf(list->json ? ", \"%s\": \"%s\"" : " %s=%s", key->name, text);
	}
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
	if (list.json)
		putchar('[');
	status = genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP),
			   "fault list", print_rule, &list);
	if (list.json)
		printf("%s]\n", list.nr ? "\n" : "");
	return status;
}

/* ---- saving and replaying ------------------------------------------------------------ */

/* Does the word say when, among what fits? */
static bool says_when(const struct key *key)
{
	switch (key->attr) {
	case SHCA_FA_PROBABILITY:
	case SHCA_FA_EVERY:
	case SHCA_FA_NTH:
	case SHCA_FA_COUNT:
	case SHCA_FA_AFTER:
	case SHCA_FA_FOR:
	case SHCA_FA_AT:
		return true;
	}
	return false;
}

/*
 * A rule that hits just what this one has hit. One that has hit more than the kernel
 * remembers is saved as it is, unless time decides.
 */
static void save_rule(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	char text[LINE_SIZE];
	const struct key *key;
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
	for (key = keys + 1; key->name; key++) {
		if (!tb[key->attr] || (all && says_when(key)))
			continue;
		format_value(text, sizeof(text), key, tb);
		printf(" %s=%s", key->name, text);
	}
	if (all) {
		format_list(text, sizeof(text), tb[SHCA_FA_LOG]);
		printf(" at=%s", text);
	}
	putchar('\n');
}

static int fault_save(const struct call *call)
{
	int saved = 0, status = genl_open(false);

	(void)call;
	if (!status)
		status = genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP),
				   "fault save", save_rule, &saved);
	return status ? status : saved;
}

static int fault_replay(const struct call *call)
{
	const char *name = call->word[0];
	int status;

	if (strcmp(name, "-") && access(name, R_OK))
		return fail("fault replay: %s: %s", name, strerror(errno));
	status = genl_open(false);
	if (!status)
		status = fault_end(0);
	return status ? status : add_file(name);
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
	int i, status = genl_open(false);

	if (!status)
		status = genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP),
				   "fault stats", add_stats, &stats);
	if (status)
		return status;
	printf(json ? "{\"rules\": %llu" : "rules %llu\n",
	       (unsigned long long)stats.rules);
	for (i = 0; i < SHCA_FAULT_NR; i++)
		if (json || stats.hits[i])
			printf(json ? ", \"%s\": %llu" : "%s %llu\n", what_names[i],
			       (unsigned long long)stats.hits[i]);
	if (json)
		puts("}");
	return 0;
}

int fault_end(uint32_t id)
{
	struct nl_msg *msg = genl_request(SHCA_CMD_FAULT_DEL, 0);
	struct nlattr *nest;

	if (id) {
		nest = nla_nest_start(msg, SHCA_A_FAULT | NLA_F_NESTED);
		nla_put_u32(msg, SHCA_FA_ID, id);
		nla_nest_end(msg, nest);
	}
	return genl_send(msg, "fault del", NULL, NULL);
}

static int fault_del(const struct call *call)
{
	const char *word = call->word[0];
	uint64_t id = 0;
	char *end;
	int status;

	if (strcmp(word, "all") &&
	    (!read_number(word, &id, &end) || *end || !id || id > UINT32_MAX))
		return complain("fault del: ID must be a number of 'fault list' or 'all', not '%s'",
				word);
	status = genl_open(false);
	return status ? status : fault_end(id);
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

const char *fault_status_name(unsigned int status)
{
	return name_of(status_names, status);
}

const char *fault_event_name(unsigned int event)
{
	return name_of(event_names, event);
}

/* ---- completion ------------------------------------------------------------------------ */

void fault_complete(const char *word, void (*offer)(const char *, void *),
		    void *arg)
{
	const char *equals = strchr(word, '=');
	const char *const *name;
	const struct key *key;
	char text[128];

	for (key = keys; key->name && !equals; key++) {
		snprintf(text, sizeof(text), "%s=", key->name);
		offer(text, arg);
	}
	key = equals ? find_key(word, equals - word) : NULL;
	for (name = key && key->names ? key->names + key->min : NULL;
	     name && *name; name++) {
		snprintf(text, sizeof(text), "%s=%s", key->name, *name);
		offer(text, arg);
	}
}

const struct command fault_commands[] = {
	{
		.name = "fault add",
		.pattern = "KEY=VALUE...",
		.summary = "make a rule of fault injection; print its number",
		.details = "where: dev dir=tx|rx qpn opcode type psn wr_id pid\n"
			   "when: prob seed every nth count after for, or at (a list)\n"
			   "what: do=, and the details that it needs: delay jitter by status nak verb errno event\n"
			   "with --file, KEY=VALUE is the name of a file that has a rule a line; - is standard input",
		.option = { { "file", "take the rules from a file" } },
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
		.pattern = "ID",
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
		.pattern = "[NAME] [DEVICE]",
		.summary = "show rules to copy; docs/faults.md says what each provokes",
		.details = "with --run, DEVICE is the first one of this network namespace if it is not named",
		.option = { { "run", "make the rule, provoke the fault with traffic of its own, and say what is seen" } },
		.run = fault_recipes,
	},
	{}
};
