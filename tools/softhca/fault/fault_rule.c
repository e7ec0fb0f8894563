// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A rule of fault injection as netlink attributes; its words are fault_words.c's. */
#define _GNU_SOURCE	/* strerrorname_np() */
#include "fault_rule.h"

#include <string.h>

/* ---- words to attributes --------------------------------------------------------- */

static bool put_attr(int attr, const void *data, size_t length, void *arg)
{
	return !nla_put(arg, attr, length, data);
}

int rule_put(const char *where, struct nl_msg *msg, char **word, int nr, bool held)
{
	const struct fault_sink sink = { .put = put_attr, .arg = msg };
	const char *device = NULL;
	struct nlattr *nest;
	int i, status;

	/* The device's name comes first in the message. */
	for (i = 0; i < nr; i++)
		if (!strncmp(word[i], "dev=", 4))
			device = word[i] + 4;
	if (device)
		nla_put_string(msg, SHCA_A_DEV_NAME, device);
	nest = nla_nest_start(msg, SHCA_A_FAULT | NLA_F_NESTED);
	status = fault_words_read(where, word, nr, &sink, &device);
	if (held)
		nla_put_flag(msg, SHCA_FA_HELD);
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

static void format_value(char *text, size_t size, const struct fault_key *key,
			 struct nlattr **tb)
{
	const struct nlattr *attr = tb[key->attr];
	const struct nlattr *last = key->attr < SHCA_FA_MAX ? tb[key->attr + 1] : NULL;
	const char *name;

	switch (key->kind) {
	case KIND_NAME:
		snprintf(text, size, "%s", fault_name_of(key->names, nla_get_u8(attr)));
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
		if (last && nla_get_u32(last) != nla_get_u32(attr))
			snprintf(text, size, "%u-%u", nla_get_u32(attr),
				 nla_get_u32(last));
		else
			snprintf(text, size, "%u", nla_get_u32(attr));
		break;
	case KIND_RANGE:
		if (last && nla_get_u64(last) != nla_get_u64(attr))
			snprintf(text, size, "%#llx-%#llx",
				 (unsigned long long)nla_get_u64(attr),
				 (unsigned long long)nla_get_u64(last));
		else
			snprintf(text, size, "%#llx",
				 (unsigned long long)nla_get_u64(attr));
		break;
	case KIND_KEY:
		snprintf(text, size, "%#x", nla_get_u32(attr));
		break;
	case KIND_TEXT:
		snprintf(text, size, "%s", nla_get_string(attr));
		text_clean(text);
		break;
	case KIND_LIST:
		format_list(text, size, attr);
		break;
	case KIND_DEVICE:
		break;
	}
}

/* Does the word say when, among what fits? */
static bool says_when(const struct fault_key *key)
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
	const struct fault_key *key;

	for (key = fault_keys + 1; key->name; key++) {
		if (!tb[key->attr] || (!when && says_when(key)))
			continue;
		format_value(text, sizeof(text), key, tb);
		printf(json ? ", \"%s\": " : " %s=", key->name);
		if (json)
			print_json_string(text);
		else
			fputs(text, stdout);
	}
}

void rule_text(struct nlattr **tb, char *words, size_t size)
{
	char text[RULE_SIZE];
	const struct fault_key *key;
	size_t used = 0;

	*words = '\0';
	for (key = fault_keys + 1; key->name && used < size; key++) {
		if (!tb[key->attr])
			continue;
		format_value(text, sizeof(text), key, tb);
		used += snprintf(words + used, size - used, "%s%s=%s", used ? " " : "",
				 key->name, text);
	}
}

void rule_print_list(const struct nlattr *attr)
{
	char text[RULE_SIZE];

	format_list(text, sizeof(text), attr);
	fputs(text, stdout);
}

/* ---- completion ------------------------------------------------------------------------ */

void fault_complete(const char *word, void (*offer)(const char *, void *),
		    void *arg)
{
	const char *equals = strchr(word, '=');
	const char *const *name;
	const struct fault_key *key;
	char text[128];

	for (key = fault_keys; key->name && !equals; key++) {
		snprintf(text, sizeof(text), "%s=", key->name);
		offer(text, arg);
	}
	key = equals ? fault_find_key(word, equals - word) : NULL;
	for (name = key && key->names ? key->names + key->min : NULL;
	     name && *name; name++) {
		snprintf(text, sizeof(text), "%s=%s", key->name, *name);
		offer(text, arg);
	}
}
