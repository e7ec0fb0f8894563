// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The words KEY=VALUE of a rule of fault injection. fault_keys[] is their only list: parsing,
 * printing, messages and completion follow from it. The tool makes netlink attributes of
 * them, and the simulator (tests/userspace/core) rules of its own.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include "fault_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <softhca-abi.h>

#define X(id, name) name,
static const char *const what_names[] = { SHCA_FAULT_WHATS(X) NULL };
static const char *const type_names[] = { SHCA_FAULT_TYPES(X) NULL };
static const char *const nak_names[] = { SHCA_FAULT_NAKS(X) NULL };
static const char *const dist_names[] = { SHCA_FAULT_DISTS(X) NULL };
static const char *const verb_names[] = { SHCA_FAULT_VERBS(X) NULL };
#undef X
static const char *const dir_names[] = { "tx", "rx", NULL };

#define X(id) #id,
/* (what no rule can make is not among them) */
static const char *const status_names[] = { SHCA_WC_STATUSES_BUT_TM(X) NULL };
static const char *const event_names[] = { SHCA_FAULT_EVENTS(X) NULL };
#undef X

const struct fault_key fault_keys[] = {
	{ "dev", KIND_DEVICE, 0, NULL, 0, 0 },
	{ "do", KIND_NAME, SHCA_FA_WHAT, what_names, 0, 0 },
	{ "dir", KIND_DIR, SHCA_FA_RX, dir_names, 0, 0 },
	{ "qpn", KIND_KEY, SHCA_FA_QPN, NULL, 1, 0xffffff },
	{ "opcode", KIND_U8, SHCA_FA_OPCODE, NULL, 0, 0xff },
	{ "type", KIND_NAME, SHCA_FA_TYPE, type_names, 0, 0 },
	{ "psn", KIND_PSN, SHCA_FA_PSN, NULL, 0, 0xffffff },
	{ "msg", KIND_PSN, SHCA_FA_MSG, NULL, 1, 0xffffff },
	{ "va", KIND_RANGE, SHCA_FA_VA, NULL, 0, UINT64_MAX },
	{ "rkey", KIND_KEY, SHCA_FA_RKEY, NULL, 0, UINT32_MAX },
	{ "wr_id", KIND_U64, SHCA_FA_WR_ID, NULL, 0, UINT64_MAX },
	{ "cqn", KIND_U32, SHCA_FA_CQN, NULL, 1, UINT32_MAX },
	{ "pid", KIND_U32, SHCA_FA_PID, NULL, 1, INT32_MAX },
	{ "cgroup", KIND_TEXT, SHCA_FA_CGROUP, NULL, 1, SHCA_FAULT_CGROUP_MAX - 1 },
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
	{ "dist", KIND_NAME, SHCA_FA_DIST, dist_names, 0, 0 },
	{ "by", KIND_U32, SHCA_FA_DISTANCE, NULL, 1, SHCA_FAULT_DISTANCE_MAX },
	{ "status", KIND_NAME, SHCA_FA_STATUS, status_names, 1, 0 },
	{ "nak", KIND_NAME, SHCA_FA_NAK, nak_names, 0, 0 },
	{ "verb", KIND_NAME, SHCA_FA_VERB, verb_names, 0, 0 },
	{ "errno", KIND_ERRNO, SHCA_FA_ERRNO, NULL, 0, 0 },
	{ "event", KIND_NAME, SHCA_FA_EVENT, event_names, 0, 0 },
	{ NULL, 0, 0, NULL, 0, 0 }
};

/* ---- words to values ------------------------------------------------------------- */

bool fault_number(const char *text, uint64_t *value, char **end)
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

	if (!fault_number(text, value, &end))
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

	for (i = 1; i <= SHCA_FAULT_ERRNO_MAX; i++) {
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

static int wrong_value(const char *where, const struct fault_key *key,
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
		return complain("%s: invalid value '%s' of %s (expected: %s or FIRST-LAST, %llu to 0xffffff)",
				where, value, key->name,
				key->attr == SHCA_FA_PSN ? "PSN" : "NUMBER",
				(unsigned long long)key->min);
	case KIND_RANGE:
		return complain("%s: invalid value '%s' of %s (expected: ADDRESS or FIRST-LAST)",
				where, value, key->name);
	case KIND_TEXT:
		return complain("%s: invalid value '%s' of %s (expected: a path of at most %llu characters)",
				where, value, key->name,
				(unsigned long long)key->max);
	default:
		return complain("%s: invalid value '%s' of %s (expected: %llu to %llu)",
				where, value, key->name,
				(unsigned long long)key->min,
				(unsigned long long)key->max);
	}
}

static bool give(const struct fault_sink *sink, int attr, const void *data,
		 size_t length)
{
	return sink->put(attr, data, length, sink->arg);
}

static bool give_u8(const struct fault_sink *sink, int attr, uint8_t value)
{
	return give(sink, attr, &value, sizeof(value));
}

static bool give_u32(const struct fault_sink *sink, int attr, uint32_t value)
{
	return give(sink, attr, &value, sizeof(value));
}

static bool give_u64(const struct fault_sink *sink, int attr, uint64_t value)
{
	return give(sink, attr, &value, sizeof(value));
}

/* FIRST or FIRST-LAST; the attribute of LAST follows that of FIRST. Return: false: wrong. */
static bool put_range(const struct fault_sink *sink, const struct fault_key *key,
		      const char *value)
{
	uint64_t first, last;
	char *end;

	if (!fault_number(value, &first, &end) || first < key->min ||
	    first > key->max)
		return false;
	last = first;
	if (*end == '-' && !fault_number(end + 1, &last, &end))
		return false;
	if (*end || last > key->max)
		return false;
	/* PSNs come around. */
	if (last < first && key->attr != SHCA_FA_PSN)
		return false;
	if (key->kind == KIND_RANGE)
		return give_u64(sink, key->attr, first) &&
		       give_u64(sink, key->attr + 1, last);
	return give_u32(sink, key->attr, first) &&
	       give_u32(sink, key->attr + 1, last);
}

/* Return: false: wrong. */
static bool put_list(const struct fault_sink *sink, const char *value)
{
	uint32_t list[SHCA_FAULT_LOG], nr = 0;
	uint64_t first, last = 0;
	const char *at = value;
	char *end;

	do {
		uint64_t before = last;

		if (!fault_number(at, &first, &end) || first <= before)
			return false;
		last = first;
		if (*end == '-' &&
		    (!fault_number(end + 1, &last, &end) || last < first))
			return false;
		if (last > UINT32_MAX || last - first >= SHCA_FAULT_LOG - nr)
			return false;
		while (first <= last)
			list[nr++] = first++;
		at = end + 1;
	} while (*end == ',');
	return !*end && give(sink, SHCA_FA_AT, list, nr * sizeof(*list));
}

/* Return: false: wrong. */
static bool put_value(const struct fault_sink *sink, const struct fault_key *key,
		      const char *value)
{
	uint64_t number = 0;
	int name = -1;
	char *end;

	switch (key->kind) {
	case KIND_NAME:
		name = find_name(key->names, value);
		return name >= (int)key->min &&
		       give_u8(sink, key->attr, name);
	case KIND_DIR:
		name = find_name(key->names, value);
		return name == 0 || (name > 0 && give(sink, key->attr, NULL, 0));
	case KIND_PSN:
	case KIND_RANGE:
		return put_range(sink, key, value);
	case KIND_TEXT:
		return *value && strlen(value) <= key->max &&
		       give(sink, key->attr, value, strlen(value) + 1);
	case KIND_LIST:
		return put_list(sink, value);
	case KIND_PROB:
		return read_probability(value, &number) &&
		       give_u32(sink, key->attr, number);
	case KIND_ERRNO:
		name = find_errno(value);
		return name && give_u32(sink, key->attr, name);
	case KIND_TIME:
		return read_time(value, &number) && number >= key->min &&
		       number <= key->max && give_u64(sink, key->attr, number);
	default:
		if (!fault_number(value, &number, &end) || *end ||
		    number < key->min || number > key->max)
			return false;
		if (key->kind == KIND_U8)
			return give_u8(sink, key->attr, number);
		if (key->kind == KIND_U32 || key->kind == KIND_KEY)
			return give_u32(sink, key->attr, number);
		return give_u64(sink, key->attr, number);
	}
}

const struct fault_key *fault_find_key(const char *word, size_t length)
{
	const struct fault_key *key;

	for (key = fault_keys; key->name; key++)
		if (strlen(key->name) == length && !strncmp(key->name, word, length))
			return key;
	return NULL;
}

static int wrong_key(const char *where, const char *word)
{
	const struct fault_key *key;
	char text[512];
	size_t used = 0;

	for (key = fault_keys; key->name; key++)
		used += snprintf(text + used, sizeof(text) - used, "%s%s",
				 key == fault_keys ? "" : ", ", key->name);
	return complain("%s: unknown word '%s' (expected KEY=VALUE, of: %s)",
			where, word, text);
}

int fault_words_read(const char *where, char **word, int nr,
		     const struct fault_sink *sink, const char **device)
{
	bool seen[FAULT_KEYS] = {};
	const struct fault_key *key;
	const char *equals;
	int i;

	*device = NULL;
	for (i = 0; i < nr; i++) {
		equals = strchr(word[i], '=');
		key = equals ? fault_find_key(word[i], equals - word[i]) : NULL;
		if (!key)
			return wrong_key(where, word[i]);
		if (seen[key - fault_keys])
			return complain("%s: %s: given twice", where, key->name);
		seen[key - fault_keys] = true;
		if (key->kind == KIND_DEVICE)
			*device = equals + 1;
		else if (!put_value(sink, key, equals + 1))
			return wrong_value(where, key, equals + 1);
	}
	return 0;
}

int fault_split(char *line, char **word, int max)
{
	char *rest = line, *w;
	int nr = 0;

	while ((w = strsep(&rest, " \t")))
		if (*w && nr < max)
			word[nr++] = w;
	return nr;
}

const char *fault_name_of(const char *const *names, unsigned int index)
{
	while (index && *names) {
		names++;
		index--;
	}
	return *names ? *names : "?";
}

const char *fault_what_name(unsigned int what)
{
	return fault_name_of(what_names, what);
}

const char *fault_status_name(unsigned int status)
{
	return fault_name_of(status_names, status);
}

const char *fault_event_name(unsigned int event)
{
	return fault_name_of(event_names, event);
}
