// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Group "dev": devices and their settings. Its rows of the table are at the
 * end.
 */
#include "../softhca.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netlink.h>

#include <softhca-personality.h>

#include "../netns.h"
#include "personality.h"

/* The kernel's limit with the terminating zero (IB_DEVICE_NAME_MAX). */
#define NAME_SIZE	64

/* More entries than a port's table of GIDs has */
#define MAX_GIDS	256

/* What a packet has beside its payload, at most */
#define ROCE_HEADERS	96
#define IB_HEADERS	134

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

/*
 * Users choose names, so print them in a way that cannot break the syntax: JSON is UTF-8, and
 * a name may be any bytes.
 */
void print_json_string(const char *s)
{
	size_t length;

	putchar('"');
	while (*s) {
		length = text_length(s);
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (length)
			fwrite(s, 1, length, stdout);
		else if (text_is_c1(s))
			printf("\\u%04x", (unsigned char)s[1]);
		else if ((unsigned char)*s < 0x80)
			printf("\\u%04x", *s);
		else
			fputs("\\ufffd", stdout);
		s += length ? length : text_is_c1(s) ? 2u : 1u;
	}
	putchar('"');
}

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

/* ---- devices by name ---------------------------------------------------------- */

int device_check_name(const char *name)
{
	size_t length = strlen(name);
	char shown[NAME_SIZE];

	if (!length)
		return complain("empty device name (expected: 1 to %d characters)",
				NAME_SIZE - 1);
	if (length >= NAME_SIZE)
		return complain("device name '%.20s...' has %zu characters (expected: 1 to %d)",
				name, length, NAME_SIZE - 1);
	/* An invalid name must not send control characters to the terminal. */
	memcpy(shown, name, length + 1);
	text_clean(shown);
	if (strcmp(shown, name) || strpbrk(name, " /%"))
		return complain("device name '%s' has a blank, a control character, '/' or '%%'",
				shown);
	return 0;
}

static void read_device(struct nlattr **attrs, void *arg)
{
	struct device *device = arg;

	if (attrs[SHCA_A_PKEYS])
		device->nr_pkeys = nla_len(attrs[SHCA_A_PKEYS]) / sizeof(uint16_t);
}

/* Makes a request about one device, or about all. */
static struct nl_msg *get_request(const char *name)
{
	struct nl_msg *msg = genl_request(SHCA_CMD_DEV_GET,
					  name ? 0 : NLM_F_DUMP);

	/* An empty message has room for the longest name. */
	if (name)
		nla_put_string(msg, SHCA_A_DEV_NAME, name);
	return msg;
}

/* what device_find() looks for */
struct device_wanted {
	const char *name;
	struct device *device;
};

bool device_is_here(const char *name)
{
	return !genl_open(true) && !genl_send(get_request(name), NULL, NULL, NULL);
}

static bool is_here(void *arg)
{
	const struct device_wanted *wanted = arg;

	return !genl_open(true) &&
	       !genl_send(get_request(wanted->name), NULL, read_device, wanted->device);
}

int device_find(const char *name, struct device *device)
{
	struct device_wanted wanted = { name, device };
	int status = genl_open(false);

	memset(device, 0, sizeof(*device));
	if (status || netns_everywhere(is_here, &wanted))
		return status;
	/* (once more, for the message) */
	status = genl_open(false);
	return status ?: genl_send(get_request(name), name, read_device, device);
}

/* passes device_names()'s arguments to the callback */
struct names {
	void (*each)(const char *name, void *arg);
	void *arg;
};

static void read_name(struct nlattr **attrs, void *arg)
{
	const struct names *names = arg;

	if (attrs[SHCA_A_DEV_NAME])
		names->each(nla_get_string(attrs[SHCA_A_DEV_NAME]), names->arg);
}

static bool names_here(void *arg)
{
	/* Quiet: an error message would appear between the typed words. */
	if (!genl_open(true))
		genl_send(get_request(NULL), NULL, read_name, arg);
	return false;
}

void device_names(void (*each)(const char *name, void *arg), void *arg)
{
	struct names names = { each, arg };

	netns_everywhere(names_here, &names);
}

/* passes device_netdevs()'s arguments to the callback */
struct netdevs {
	void (*each)(const char *name, const char *netdev, void *arg);
	void *arg;
};

static void read_netdev(struct nlattr **attrs, void *arg)
{
	const struct netdevs *netdevs = arg;

	if (attrs[SHCA_A_DEV_NAME] && attrs[SHCA_A_NETDEV_NAME])
		netdevs->each(nla_get_string(attrs[SHCA_A_DEV_NAME]),
			      nla_get_string(attrs[SHCA_A_NETDEV_NAME]),
			      netdevs->arg);
}

void device_netdevs(void (*each)(const char *name, const char *netdev, void *arg),
		    void *arg)
{
	struct netdevs netdevs = { each, arg };

	if (!genl_open(true))
		genl_send(get_request(NULL), NULL, read_netdev, &netdevs);
}

void file_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	*line = '\0';
	if (!file)
		return;
	if (fgets(line, size, file))
		line[strcspn(line, "\n")] = '\0';
	else
		*line = '\0';
	fclose(file);
}

void process_comm(unsigned int pid, char *comm, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	*comm = '\0';
	if (pid)
		file_line(path, comm, size);
	text_clean(comm);
}

void device_gids(const char *name, void (*each)(int index, const struct in6_addr *gid, void *arg),
		 void *arg)
{
	char path[192], line[64];
	struct in6_addr gid;
	int i;

	for (i = 0; i < MAX_GIDS; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.63s/ports/1/gids/%d", name, i);
		file_line(path, line, sizeof(line));
		if (!*line)
			break;
		if (inet_pton(AF_INET6, line, &gid) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid))
			continue;
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.63s/ports/1/gid_attrs/types/%d",
			 name, i);
		file_line(path, line, sizeof(line));
		if (strstr(line, "v2"))
			each(i, &gid, arg);
	}
}

int device_path_mtu(int mtu, bool infiniband)
{
	int path_mtu = 4096;

	while (path_mtu >= 256 && path_mtu + (infiniband ? IB_HEADERS : ROCE_HEADERS) > mtu)
		path_mtu /= 2;
	return path_mtu >= 256 ? path_mtu : 0;
}

/* ---- commands ----------------------------------------------------------------- */

static bool show_here(void *arg)
{
	struct listing *list = arg;

	list->status = genl_open(false) ?:
		       genl_send(get_request(list->name), list->name ?: "dev show", print_dev, list);
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
