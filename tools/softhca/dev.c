// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * softhca dev show [NAME] [--json]
 * softhca dev set NAME path auto|wire
 */
#include "softhca.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char *const path_names[] = {
	[SHCA_PATH_AUTO] = "auto",
	[SHCA_PATH_WIRE] = "wire",
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
		printf("%s: netdev %s path %s\n", name, netdev ? netdev : "-",
		       path_name(path));
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
	printf(", \"path\": \"%s\"}", path_name(path));
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

static int dev_set(int argc, char **argv)
{
	struct nl_msg *msg;
	int status, path;

	if (argc != 4)
		return usage_error("dev set: expected NAME path auto|wire");
	if (strcmp(argv[2], "path"))
		return usage_error("dev set: unknown setting '%s' (known: path)",
				   argv[2]);
	for (path = 0; path < __SHCA_PATH_MAX; path++)
		if (!strcmp(argv[3], path_names[path]))
			break;
	if (path == __SHCA_PATH_MAX)
		return usage_error("dev set: path is auto or wire, not '%s'",
				   argv[3]);

	status = genl_open();
	if (status)
		return status;
	msg = genl_request(SHCA_CMD_DEV_SET, 0);
	NLA_PUT_STRING(msg, SHCA_A_DEV_NAME, argv[1]);
	NLA_PUT_U8(msg, SHCA_A_PATH, path);
	return genl_send(msg, argv[1], NULL, NULL);

nla_put_failure:
	return fail("%s: name too long", argv[1]);
}

int dev_command(int argc, char **argv)
{
	static const struct command verbs[] = {
		{ "show", dev_show, "[NAME] [--json]" },
		{ "set", dev_set, "NAME path auto|wire" },
		{}
	};

	return command_run(verbs, "softhca dev", argc, argv);
}
