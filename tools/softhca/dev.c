// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * softhca dev show [NAME] [--json]
 * softhca dev set NAME path auto|wire|host [peer DEVICE,...]
 * softhca dev set NAME pkey INDEX P_KEY
 */
#include "softhca.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const path_names[] = {
	[SHCA_PATH_AUTO] = "auto",
	[SHCA_PATH_WIRE] = "wire",
	[SHCA_PATH_HOST] = "host",
};

_Static_assert(sizeof(path_names) / sizeof(*path_names) == __SHCA_PATH_MAX,
	       "a name for each path");

/* How devices are printed, and how many have been. */
struct listing {
	bool json;
	int nr;
};

/* Names come from users: print them so that they cannot break the syntax. */
static void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static const char *path_name(uint8_t path)
{
	return path < __SHCA_PATH_MAX ? path_names[path] : "?";
}

/* Entries that are in use, as INDEX:P_KEY. */
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

/* Devices that are trusted with path host; nothing where there are none. */
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
	if (attrs[SHCA_A_PKEYS])
		print_pkeys(attrs[SHCA_A_PKEYS], true);
	putchar('}');
}

static int dev_show(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{}
	};
	struct listing list = {};
	const char *name = NULL;
	struct nl_msg *msg;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "j", options, NULL)) >= 0) {
		if (c != 'j')
			return usage_error("dev show: unknown option '%s'",
					   argv[optind - 1]);
		list.json = true;
	}
	if (optind < argc)
		name = argv[optind++];
	if (optind < argc)
		return usage_error("dev show: '%s' is too much", argv[optind]);

	status = genl_open();
	if (status)
		return status;
	msg = genl_request(SHCA_CMD_DEV_GET, name ? 0 : NLM_F_DUMP);
	if (name)
		NLA_PUT_STRING(msg, SHCA_A_DEV_NAME, name);
	if (list.json)
		putchar('[');
	status = genl_send(msg, name ? name : "dev show", print_dev, &list);
	if (list.json)
		printf("%s]\n", list.nr ? "\n" : "");
	return status;

nla_put_failure:
	return fail("%s: name too long", name);
}

/* A number of 16 bits, decimal or hexadecimal. Return: whether it is one. */
static bool parse_u16(const char *text, uint16_t *value)
{
	unsigned long number;
	char *end;

	number = strtoul(text, &end, 0);
	*value = number;
	return *text >= '0' && *text <= '9' && !*end && number <= UINT16_MAX;
}

/* Names, with commas between them. Return: 0, or the exit status. */
static int put_peers(struct nl_msg *msg, char *names)
{
	struct nlattr *nest = nla_nest_start(msg, SHCA_A_PEERS | NLA_F_NESTED);
	char *name, *rest = names;

	if (!nest)
		goto nla_put_failure;
	while ((name = strsep(&rest, ",")))
		NLA_PUT_STRING(msg, SHCA_A_DEV_NAME, name);
	nla_nest_end(msg, nest);
	return 0;

nla_put_failure:
	return fail("dev set: too many devices, or too long names, after 'peer'");
}

/* Return: 0, or the exit status of a wrong command line. */
static int put_path(struct nl_msg *msg, int argc, char **argv)
{
	int path;

	if (argc != 4 && (argc != 6 || strcmp(argv[3], "host") ||
			  strcmp(argv[4], "peer")))
		return usage_error("dev set: expected NAME path auto|wire|host [peer DEVICE,...]; peers are of path host");
	for (path = 0; path < __SHCA_PATH_MAX; path++)
		if (!strcmp(argv[3], path_names[path]))
			break;
	if (path == __SHCA_PATH_MAX)
		return usage_error("dev set: path is auto, wire or host, not '%s'",
				   argv[3]);
	if (nla_put_u8(msg, SHCA_A_PATH, path))
		return fail("dev set: message too long");
	return argc == 6 ? put_peers(msg, argv[5]) : 0;
}

static int put_pkey(struct nl_msg *msg, int argc, char **argv)
{
	uint16_t index, pkey;

	if (argc != 5 || !parse_u16(argv[3], &index) ||
	    !parse_u16(argv[4], &pkey))
		return usage_error("dev set: expected NAME pkey INDEX P_KEY, numbers of 16 bits");
	return nla_put_u16(msg, SHCA_A_PKEY_INDEX, index) ?:
	       nla_put_u16(msg, SHCA_A_PKEY, pkey);
}

static int dev_set(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*put)(struct nl_msg *msg, int argc, char **argv);
	} settings[] = { { "path", put_path }, { "pkey", put_pkey } };
	struct nl_msg *msg;
	size_t i;
	int status;

	if (argc < 4)
		return usage_error("dev set: expected NAME path auto|wire|host [peer DEVICE,...], or NAME pkey INDEX P_KEY");
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strcmp(argv[2], settings[i].name))
			break;
	if (i == sizeof(settings) / sizeof(*settings))
		return usage_error("dev set: unknown setting '%s' (known: path, pkey)",
				   argv[2]);
	status = genl_open();
	if (status)
		return status;
	msg = genl_request(SHCA_CMD_DEV_SET, 0);
	NLA_PUT_STRING(msg, SHCA_A_DEV_NAME, argv[1]);
	status = settings[i].put(msg, argc, argv);
	if (status)
		return status;
	return genl_send(msg, argv[1], NULL, NULL);

nla_put_failure:
	return fail("%s: name too long", argv[1]);
}

int dev_command(int argc, char **argv)
{
	static const struct command verbs[] = {
		{ "show", dev_show, "[NAME] [--json]" },
		{ "set", dev_set, "NAME path auto|wire|host [peer DEVICE,...] | pkey INDEX P_KEY" },
		{}
	};

	return command_run(verbs, "softhca dev", argc, argv);
}
