// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Group "dev": devices and their settings. Its rows of the table are at the
 * end.
 */
#include "../softhca.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <softhca-personality.h>

#include "../netns.h"
#include "personality.h"

/* in the order of enum shca_path */
#define PATHS		"auto|wire|host"

static const char *const path_names[] = {
	[SHCA_PATH_AUTO] = "auto",
	[SHCA_PATH_WIRE] = "wire",
	[SHCA_PATH_HOST] = "host",
};

_Static_assert(sizeof(path_names) / sizeof(*path_names) == __SHCA_PATH_MAX,
	       "a name for each path");

/* in the order of enum shca_resv8a */
#define RESV8A		"off|auto|on"

static const char *const resv8a_names[] = {
	[SHCA_RESV8A_OFF] = "off",
	[SHCA_RESV8A_AUTO] = "auto",
	[SHCA_RESV8A_ON] = "on",
};

_Static_assert(sizeof(resv8a_names) / sizeof(*resv8a_names) == __SHCA_RESV8A_MAX,
	       "a name for each mode");

/* In the order of enum shca_icrc_mode. */
#define ICRC		"on|off"

static const char *const icrc_names[] = {
	[SHCA_ICRC_ON] = "on",
	[SHCA_ICRC_OFF] = "off",
};

_Static_assert(sizeof(icrc_names) / sizeof(*icrc_names) == __SHCA_ICRC_MAX,
	       "a name for each mode");

/* In the order of enum shca_cc_mode. */
#define CC		"off|auto|on"
/* In the order of enum shca_cc_algo. */
#define CC_ALGORITHMS	"window|delay|dcqcn"

static const char *const cc_names[] = {
	[SHCA_CC_MODE_OFF] = "off",
	[SHCA_CC_MODE_AUTO] = "auto",
	[SHCA_CC_MODE_ON] = "on",
};

_Static_assert(sizeof(cc_names) / sizeof(*cc_names) == __SHCA_CC_MODE_MAX,
	       "a name for each mode");

#define X(id, name) name,
static const char *const cc_algorithm_names[] = { SHCA_CC_ALGOS(X) };
#undef X

/* In the order of enum shca_lint_mode. */
#define LINT		"off|on|hints"

static const char *const lint_names[] = {
	[SHCA_LINT_MODE_OFF] = "off",
	[SHCA_LINT_MODE_ON] = "on",
	[SHCA_LINT_MODE_HINTS] = "hints",
};

_Static_assert(sizeof(lint_names) / sizeof(*lint_names) == __SHCA_LINT_MODE_MAX,
	       "a name for each mode");

/*
 * A setting that has a name for each value.
 * @key: in JSON and in text
 */
struct mode {
	int attr;
	const char *key;
	const char *const *names;
	uint8_t nr;
};

static const struct mode modes[] = {
	{ SHCA_A_RESV8A, "resv8a", resv8a_names, __SHCA_RESV8A_MAX },
	{ SHCA_A_ICRC, "icrc", icrc_names, __SHCA_ICRC_MAX },
	{ SHCA_A_CC, "cc", cc_names, __SHCA_CC_MODE_MAX },
	{ SHCA_A_CC_ALGORITHM, "cc_algorithm", cc_algorithm_names,
	  __SHCA_CC_ALGO_MAX },
	{ SHCA_A_LINT, "lint", lint_names, __SHCA_LINT_MODE_MAX },
};

/*
 * output format, and number of devices printed so far
 * @name: NULL: all
 */
struct listing {
	bool json;
	int nr;
	const char *name;
	int status;
};

static const char *path_name(uint8_t path)
{
	return path < __SHCA_PATH_MAX ? path_names[path] : "?";
}

/* Settings that the module has, if their values are known. */
static void print_modes(struct nlattr **attrs, bool json)
{
	const struct mode *mode;
	uint8_t value;

	for (mode = modes; mode < modes + sizeof(modes) / sizeof(*modes); mode++) {
		if (!attrs[mode->attr])
			continue;
		value = nla_get_u8(attrs[mode->attr]);
		if (value < mode->nr)
			printf(json ? ", \"%s\": \"%s\"" : " %s %s", mode->key,
			       mode->names[value]);
	}
}

/* What the verbs sanitizer has found, if anything; --json says it always. */
static void print_findings(struct nlattr **attrs, bool json)
{
	uint32_t errors, hints;

	if (!attrs[SHCA_A_LINT_ERRORS] || !attrs[SHCA_A_LINT_HINTS])
		return;
	errors = nla_get_u32(attrs[SHCA_A_LINT_ERRORS]);
	hints = nla_get_u32(attrs[SHCA_A_LINT_HINTS]);
	if (json)
		printf(", \"lint_errors\": %u, \"lint_hints\": %u", errors, hints);
	else if (errors || hints)
		printf(" lint_errors %u lint_hints %u", errors, hints);
}

/* Prints used entries as INDEX:P_KEY. */
static void print_pkeys(struct nlattr *attr, bool json)
{
	const uint16_t *pkeys = nla_data(attr);
	int i, nr = nla_len(attr) / sizeof(*pkeys), printed = 0;

	printf(json ? ", \"pkeys\": {" : " pkeys ");
	for (i = 0; i < nr; i++) {
		if (!pkeys[i])
			continue;
		printf("%s", printed++ ? json ? ", " : "," : "");
		printf(json ? "\"%d\": %u" : "%d:0x%04x", i, pkeys[i]);
	}
	if (json)
		putchar('}');
}

/* Prints the trusted devices of path host, if there are any. */
static void print_peers(struct nlattr *attr, bool json)
{
	struct nlattr *peer;
	int rem, printed = 0;

	nla_for_each_nested(peer, attr, rem) {
		if (!printed++)
			printf(json ? ", \"peers\": [" : " peer ");
		else
			printf(json ? ", " : ",");
		if (json)
			print_json_string(nla_get_string(peer));
		else
			printf("%s", nla_get_string(peer));
	}
	if (json && printed)
		putchar(']');
}

/* An older module has none. */
static void print_personality(struct nlattr *attr, bool json)
{
	struct nlattr *tb[SHCA_PA_MAX + 1];

	if (!attr || nla_parse_nested(tb, SHCA_PA_MAX, attr, NULL) ||
	    !tb[SHCA_PA_NAME])
		return;
	printf(json ? ", \"personality\": \"%s\"" : " personality %s",
	       nla_get_string(tb[SHCA_PA_NAME]));
}

static void print_dev(struct nlattr **attrs, void *arg)
{
	struct listing *list = arg;
	const char *name = "?", *netdev = NULL;
	uint32_t ifindex = 0;
	uint8_t path = __SHCA_PATH_MAX;

	if (attrs[SHCA_A_DEV_NAME])
		name = nla_get_string(attrs[SHCA_A_DEV_NAME]);
	if (attrs[SHCA_A_NETDEV_NAME])
		netdev = nla_get_string(attrs[SHCA_A_NETDEV_NAME]);
	if (attrs[SHCA_A_NETDEV_IFINDEX])
		ifindex = nla_get_u32(attrs[SHCA_A_NETDEV_IFINDEX]);
	if (attrs[SHCA_A_PATH])
		path = nla_get_u8(attrs[SHCA_A_PATH]);

	if (!list->json) {
		printf("%s: netdev %s path %s", name, netdev ? netdev : "-",
		       path_name(path));
		if (attrs[SHCA_A_PEERS])
			print_peers(attrs[SHCA_A_PEERS], false);
		print_modes(attrs, false);
		print_findings(attrs, false);
		print_personality(attrs[SHCA_A_PERSONALITY], false);
		if (attrs[SHCA_A_PKEYS])
			print_pkeys(attrs[SHCA_A_PKEYS], false);
		putchar('\n');
		list->nr++;
		return;
	}
	printf("%s\n  {\"name\": ", list->nr++ ? "," : "");
	print_json_string(name);
	if (netdev) {
		printf(", \"netdev\": ");
		print_json_string(netdev);
		printf(", \"ifindex\": %u", ifindex);
	}
	printf(", \"path\": \"%s\"", path_name(path));
	if (attrs[SHCA_A_PEERS])
		print_peers(attrs[SHCA_A_PEERS], true);
	print_modes(attrs, true);
	print_findings(attrs, true);
	print_personality(attrs[SHCA_A_PERSONALITY], true);
	if (attrs[SHCA_A_PKEYS])
		print_pkeys(attrs[SHCA_A_PKEYS], true);
	putchar('}');
}

static bool show_here(void *arg)
{
	struct listing *list = arg;

	list->status = genl_open(false) ?:
		       genl_send(device_request(list->name), list->name ?: "dev show", print_dev, list);
	/* check_values() has found the one with a name, and is where it is. */
	return list->name || list->status;
}

static int dev_show(const struct call *call)
{
	struct listing list = { .json = call->option[0], .name = call->nr ? call->word[0] : NULL };

	/* Without the module there is no list. */
	list.status = genl_open(false);
	if (list.status)
		return list.status;
	if (list.json)
		putchar('[');
	netns_everywhere(show_here, &list);
	if (list.json)
		printf("%s]\n", list.nr ? "\n" : "");
	else if (!list.nr && !list.status)
		netns_hint();
	return list.status;
}

/* Return: whether @text is a decimal or hexadecimal number from @min to @max. */
static bool parse_number(const char *text, unsigned int min, unsigned int max,
			 unsigned int *value)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	number = strtoul(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	*value = number;
	return !*end && number >= min && number <= max;
}

/* Adds names separated by commas. Return: 0, or an exit status. */
static int put_peers(struct nl_msg *msg, char *names)
{
	struct nlattr *nest = nla_nest_start(msg, SHCA_A_PEERS | NLA_F_NESTED);
	char *name, *rest = names;
	int status = 0;

	while (nest && !status && (name = strsep(&rest, ","))) {
		status = device_check_name(name);
		if (!status && nla_put_string(msg, SHCA_A_DEV_NAME, name))
			nest = NULL;
	}
	if (!nest)
		return fail("dev set: too many devices after 'peer'");
	nla_nest_end(msg, nest);
	return status;
}

/* Makes a request that sets something of the command's device. */
static struct nl_msg *set_request(const struct call *call)
{
	struct nl_msg *msg = genl_request(SHCA_CMD_DEV_SET, 0);

	nla_put_string(msg, SHCA_A_DEV_NAME, call->word[0]);
	return msg;
}

/* DEVICE path PATH [peer DEVICE,...] */
static int dev_set_path(const struct call *call)
{
	int path = choice_index(PATHS, call->word[2]), status;
	struct nl_msg *msg;

	if (call->nr > 3 && path != SHCA_PATH_HOST)
		return complain("dev set: path %s has no peers, only path host has",
				call->word[2]);
	msg = set_request(call);
	nla_put_u8(msg, SHCA_A_PATH, path);
	status = call->nr > 3 ? put_peers(msg, call->word[4]) : 0;
	if (status) {
		nlmsg_free(msg);
		return status;
	}
	return genl_send(msg, call->word[0], NULL, NULL);
}

/* DEVICE KEY VALUE, for a row of modes[]; the pattern has checked the words */
static int dev_set_mode(const struct call *call)
{
	struct nl_msg *msg = set_request(call);
	const struct mode *mode = modes;
	uint8_t value = 0;

	while (strcmp(mode->key, call->word[1]))
		mode++;
	while (strcmp(mode->names[value], call->word[2]))
		value++;
	nla_put_u8(msg, mode->attr, value);
	return genl_send(msg, call->word[0], NULL, NULL);
}

/* DEVICE personality NAME */
static int dev_set_personality(const struct call *call)
{
	return personality_set(call->word[0], call->word[2]);
}

static int dev_personalities(const struct call *call)
{
	return personality_list(call->option[0]);
}

/* DEVICE pkey INDEX P_KEY */
static int dev_set_pkey(const struct call *call)
{
	unsigned int index, pkey;
	struct device device;
	struct nl_msg *msg;
	int status = device_find(call->word[0], &device);

	if (status)
		return status;
	if (!parse_number(call->word[2], 1, device.nr_pkeys - 1, &index))
		return complain("dev set: INDEX must be 1 to %d, not '%s' (entry 0 is the default partition)",
				device.nr_pkeys - 1, call->word[2]);
	if (!parse_number(call->word[3], 0, UINT16_MAX, &pkey))
		return complain("dev set: P_KEY must be 0 to 0xffff, not '%s'",
				call->word[3]);
	msg = set_request(call);
	nla_put_u16(msg, SHCA_A_PKEY_INDEX, index);
	nla_put_u16(msg, SHCA_A_PKEY, pkey);
	return genl_send(msg, call->word[0], NULL, NULL);
}

const struct command dev_commands[] = {
	{
		.name = "dev show",
		.pattern = "[DEVICE]",
		.summary = "show the network device and the settings of one device or all",
		.option = { { "json", "print a JSON array of objects" } },
		.run = dev_show,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE path " PATHS " [peer DEVICE,...]",
		.summary = "set how requests travel",
		.details = "auto: directly (RC, XRC, UC, UD) if the peer is in the same network namespace, otherwise as packets\n"
			   "wire: always as packets\n"
			   "host: as auto, and directly (RC, XRC, UC) to the named devices of other network namespaces",
		.run = dev_set_path,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE pkey INDEX P_KEY",
		.summary = "set an entry of the P_Key table",
		.details = "INDEX: 1 or more; entry 0 is always the default partition\n"
			   "P_KEY: 0 to 0xffff; 0 empties the entry",
		.run = dev_set_pkey,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE resv8a " RESV8A,
		.summary = "set how softhca devices on two machines recognise each other without ECE",
		.details = "off: mark no packets, ignore marks; a mark is in reserved bits of the BTH\n"
			   "auto: mark packets to a peer that has marked its own\n"
			   "on: mark all packets of RC and XRC",
		.run = dev_set_mode,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE icrc " ICRC,
		.summary = "whether RC and XRC packets between softhca devices have an ICRC",
		.details = "off: they have none, and none is checked, if both devices have this setting; marks all packets\n"
			   "on: all have one",
		.run = dev_set_mode,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE cc " CC,
		.summary = "congestion control of RC and XRC by ECN",
		.details = "auto: packets to another softhca are ECN-capable, and CNPs slow their sender down\n"
			   "on: packets to all peers are ECN-capable; off: none are, and CNPs are ignored",
		.run = dev_set_mode,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE cc_algorithm " CC_ALGORITHMS,
		.summary = "what a queue pair does about congestion",
		.details = "window: a congestion window that follows CNPs\n"
			   "delay: the same, which follows the round trip, too\n"
			   "dcqcn: a rate; its parameters are in /sys/class/infiniband/DEVICE/ports/1/cc_params",
		.run = dev_set_mode,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE lint " LINT,
		.summary = "report wrong use of the verbs by programs, on their standard error",
		.details = "on: errors; hints: also what may be meant so; docs/lint.md has the list\n"
			   "It holds for processes that open the device later. SOFTHCA_LINT asks for one process",
		.run = dev_set_mode,
	},
	{
		.name = "dev set",
		.pattern = "DEVICE personality PERSONALITY",
		.summary = "delete and add the device, with less than softhca has: as another adapter, or strict",
		.details = "PERSONALITY: one of 'softhca dev personalities', or a path of your own with a '/'\n"
			   "native: all that softhca has. No program may have the device open; its name,\n"
			   "settings and faults stay; docs/personalities.md has the words of a file",
		.run = dev_set_personality,
	},
	{
		.name = "dev personalities",
		.pattern = "",
		.summary = "list the personalities that came with the tool",
		.option = { { "json", "print a JSON array of objects" } },
		.run = dev_personalities,
	},
	{}
};
