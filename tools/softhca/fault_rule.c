// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A rule of fault injection as words KEY=VALUE and as netlink attributes. keys[] is the
 * only list of the words: parsing, printing, messages and completion follow from it.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include "fault_rule.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of Linux; EHWPOISON is the last one. */
#define ERRNO_MAX	133

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

bool rule_number(const char *text, uint64_t *value, char **end)
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

	if (!rule_number(text, value, &end))
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

	if (!rule_number(value, &first, &end) || first > 0xffffff)
		return false;
	last = first;
	if (*end == '-' && !rule_number(end + 1, &last, &end))
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

		if (!rule_number(at, &first, &end) || first <= before)
			return false;
		last = first;
		if (*end == '-' &&
		    (!rule_number(end + 1, &last, &end) || last < first))
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
		if (!rule_number(value, &number, &end) || *end ||
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

int rule_put(const char *where, struct nl_msg *msg, char **word, int nr)
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

void rule_print(struct nlattr **tb, bool json, bool when)
{
	char text[RULE_SIZE];
	const struct key *key;

	for (key = keys + 1; key->name; key++) {
		if (!tb[key->attr] || (!when && says_when(key)))
			continue;
		format_value(text, sizeof(text), key, tb);
		printf(json ? ", \"%s\": \"%s\"" : " %s=%s", key->name, text);
	}
}

void rule_print_list(const struct nlattr *attr)
{
	char text[RULE_SIZE];

	format_list(text, sizeof(text), attr);
	fputs(text, stdout);
}

const char *rule_what_name(unsigned int what)
{
	return name_of(what_names, what);
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
