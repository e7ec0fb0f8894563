// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Personalities of devices. A file has words KEY=VALUE, divided by blanks and ends of
 * lines; '#' begins a comment. The first line of comment that is no licence is its summary.
 * The names of keys are in uapi/softhca-personality.h.
 */
#include "personality.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>

#include <softhca-personality.h>

#include "../fault/fault_words.h"
#include "../netns.h"
#include "../rtnl.h"

/* Longest line of a file. */
#define LINE_SIZE	1024

#define X(id, name, min, max, native) { name, min, max },
static const struct {
	const char *name;
	uint64_t min;
	uint64_t max;
} limits[] = { SHCA_LIMITS(X) };
#undef X

#define X(id, name) name,
static const char *const lacks[] = { SHCA_LACKS(X) };
#undef X

/* a file that is being read: what it says so far */
struct personality {
	bool has[SHCA_LIMIT_NR];
	uint64_t limit[SHCA_LIMIT_NR];
	bool has_lacks;
	uint64_t lacks;
	bool has_all;		/* vendor_err without a status */
	bool has_err[SHCA_PERSONALITY_STATUSES];
	uint32_t vendor_err[SHCA_PERSONALITY_STATUSES];
};

static bool read_number(const char *text, uint64_t min, uint64_t max,
			uint64_t *value)
{
	char *end;

	return fault_number(text, value, &end) && !*end && *value >= min &&
	       *value <= max;
}

/* ---- words ----------------------------------------------------------------------- */

static int wrong_key(const char *where, const char *word)
{
	char text[1024];
	size_t used = 0;
	int i;

	for (i = 0; i < SHCA_LIMIT_NR; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s, ",
				 limits[i].name);
	return complain("%s: unknown word '%s' (expected KEY=VALUE, of: %swithout, vendor_err, vendor_err.STATUS)",
			where, word, text);
}

static int given_twice(const char *where, const char *key)
{
	return complain("%s: %s: given twice", where, key);
}

/* without=NAME,... */
static int read_lacks(const char *where, struct personality *p, char *names)
{
	char text[512], *name;
	size_t used = 0;
	int i;

	if (p->has_lacks)
		return given_twice(where, "without");
	p->has_lacks = true;
	while ((name = strsep(&names, ","))) {
		for (i = 0; i < SHCA_LACK_NR && strcmp(lacks[i], name); i++)
			;
		if (i < SHCA_LACK_NR) {
			p->lacks |= 1ull << i;
			continue;
		}
		for (i = 0; i < SHCA_LACK_NR; i++)
			used += snprintf(text + used, sizeof(text) - used,
					 "%s%s", i ? ", " : "", lacks[i]);
		return complain("%s: without: unknown name '%s' (expected: %s)",
				where, name, text);
	}
	return 0;
}

/* @status: its name, or NULL: of all that are given no value of their own */
static int read_vendor_err(const char *where, struct personality *p,
			   const char *status, const char *text)
{
	uint64_t value;
	int i;

	if (!read_number(text, 0, UINT16_MAX, &value))
		return complain("%s: vendor_err: invalid value '%s' (expected: 0 to 0xffff)",
				where, text);
	if (!status) {
		if (p->has_all)
			return given_twice(where, "vendor_err");
		p->has_all = true;
		for (i = 1; i < SHCA_PERSONALITY_STATUSES; i++)
			if (!p->has_err[i])
				p->vendor_err[i] = value;
		return 0;
	}
	for (i = 1; i < SHCA_PERSONALITY_STATUSES; i++)
		if (!strcmp(fault_status_name(i), status))
			break;
	if (i == SHCA_PERSONALITY_STATUSES)
		return complain("%s: vendor_err: unknown status '%s' (expected: as RETRY_EXC_ERR)",
				where, status);
	if (p->has_err[i])
		return given_twice(where, status);
	p->has_err[i] = true;
	p->vendor_err[i] = value;
	return 0;
}

static int read_word(const char *where, struct personality *p, char *word)
{
	char *value = strchr(word, '=');
	int i;

	if (!value)
		return wrong_key(where, word);
	*value++ = '\0';
	if (!strcmp(word, "without"))
		return read_lacks(where, p, value);
	if (!strcmp(word, "vendor_err"))
		return read_vendor_err(where, p, NULL, value);
	if (!strncmp(word, "vendor_err.", 11))
		return read_vendor_err(where, p, word + 11, value);
	for (i = 0; i < SHCA_LIMIT_NR && strcmp(limits[i].name, word); i++)
		;
	if (i == SHCA_LIMIT_NR)
		return wrong_key(where, word);
	if (p->has[i])
		return given_twice(where, word);
	p->has[i] = true;
	if (!read_number(value, limits[i].min, limits[i].max, &p->limit[i]))
		return complain("%s: %s: invalid value '%s' (expected: %llu to %llu)",
				where, word, value,
				(unsigned long long)limits[i].min,
				(unsigned long long)limits[i].max);
	return 0;
}

static int read_line(const char *where, struct personality *p, char *line)
{
	int status = 0;
	char *word;

	line[strcspn(line, "#\n")] = '\0';
	while (!status && (word = strsep(&line, " \t")))
		if (*word)
			status = read_word(where, p, word);
	return status;
}

/* ---- files ----------------------------------------------------------------------- */

static FILE *open_file(const char *name)
{
	char path[512];

	if (strchr(name, '/'))
		return fopen(name, "r");
	snprintf(path, sizeof(path), "%s/%s", PERSONALITIES_DIR, name);
	return fopen(path, "r");
}

static int read_file(const char *name, struct personality *p)
{
	char line[LINE_SIZE], where[320];
	int number = 0, status = 0;
	FILE *file = open_file(name);

	if (!file && errno == ENOENT && !strchr(name, '/'))
		return complain("dev set: unknown personality '%s' ('softhca dev personalities' lists them; a file of your own needs a '/')",
				name);
	if (!file)
		return fail("%s: %s", name, strerror(errno));
	while (!status && fgets(line, sizeof(line), file)) {
		snprintf(where, sizeof(where), "%.255s line %d", name, ++number);
		status = strchr(line, '\n') || feof(file) ?
				 read_line(where, p, line) :
				 complain("%s: longer than %d characters", where,
					  LINE_SIZE - 2);
	}
	if (!status && ferror(file))
		status = fail("%s: cannot be read", name);
	fclose(file);
	return status;
}

/* What devices show: letters, digits, '-', '_' and '.', as the module wants it. */
static int check_name(const char *name)
{
	const char *c = name;

	while (isalnum((unsigned char)*c) || (*c && strchr("-_.", *c)))
		c++;
	if (*name && !*c && c - name < SHCA_PERSONALITY_NAME)
		return 0;
	return complain("dev set: a personality cannot be called '%.40s' (expected: 1 to %d letters, digits, '-', '_' and '.')",
			name, SHCA_PERSONALITY_NAME - 1);
}

/* Return: 0, or an exit status after a message about the first wrong word. */
static int personality_put(struct nl_msg *msg, const char *name)
{
	const char *slash = strrchr(name, '/');
	struct nlattr *nest, *list;
	struct personality p = {};
	int status, i;

	status = check_name(slash ? slash + 1 : name) ?: read_file(name, &p);
	if (status)
		return status;
	nest = nla_nest_start(msg, SHCA_A_PERSONALITY | NLA_F_NESTED);
	nla_put_string(msg, SHCA_PA_NAME, slash ? slash + 1 : name);
	nla_put_u64(msg, SHCA_PA_LACKS, p.lacks);
	list = nla_nest_start(msg, SHCA_PA_LIMITS | NLA_F_NESTED);
	for (i = 0; i < SHCA_LIMIT_NR; i++)
		if (p.has[i])
			nla_put_u64(msg, i + 1, p.limit[i]);
	nla_nest_end(msg, list);
	list = nla_nest_start(msg, SHCA_PA_VENDOR_ERRS | NLA_F_NESTED);
	for (i = 1; i < SHCA_PERSONALITY_STATUSES; i++)
		if (p.has_all || p.has_err[i])
			nla_put_u32(msg, i, p.vendor_err[i]);
	nla_nest_end(msg, list);
	/* An empty message has room for all of them. */
	nla_nest_end(msg, nest);
	return 0;
}

/* ---- a device with it -------------------------------------------------------------- */

/* As in the kernel: the most rules of a device, and entries of its P_Key table. */
#define RULES	256
#define PKEYS	32

/* the device as it is: what it shall be like when it is back; requests that make it so */
struct kept {
	const char *device;
	char netdev[32];
	struct nl_msg *modes;
	struct nl_msg *rule[RULES];
	int nr_rules;
	uint16_t pkeys[PKEYS];
	int nr_pkeys;
};

static struct nl_msg *about(const struct kept *kept, enum shca_genl_cmd command)
{
	struct nl_msg *msg = genl_request(command, 0);

	nla_put_string(msg, SHCA_A_DEV_NAME, kept->device);
	return msg;
}

static void keep_settings(struct nlattr **attrs, void *arg)
{
	static const int modes[] = { SHCA_A_RESV8A, SHCA_A_ICRC, SHCA_A_CC, SHCA_A_CC_ALGORITHM, SHCA_A_LINT };
	struct nlattr *peers = attrs[SHCA_A_PEERS], *path = attrs[SHCA_A_PATH];
	struct kept *kept = arg;
	size_t i;

	if (attrs[SHCA_A_NETDEV_NAME])
		nla_strlcpy(kept->netdev, attrs[SHCA_A_NETDEV_NAME], sizeof(kept->netdev));
	if (attrs[SHCA_A_PKEYS])
		kept->nr_pkeys = nla_memcpy(kept->pkeys, attrs[SHCA_A_PKEYS],
					    sizeof(kept->pkeys)) / sizeof(*kept->pkeys);
	kept->modes = about(kept, SHCA_CMD_DEV_SET);
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (attrs[modes[i]])
			nla_put_u8(kept->modes, modes[i], nla_get_u8(attrs[modes[i]]));
	/* Devices that are gone cannot be trusted anew. */
	if (path && (nla_get_u8(path) != SHCA_PATH_HOST || (peers && nla_len(peers))))
		nla_put_u8(kept->modes, SHCA_A_PATH, nla_get_u8(path));
	if (path && nla_get_u8(path) == SHCA_PATH_HOST && peers && nla_len(peers))
		nla_put(kept->modes, SHCA_A_PEERS | NLA_F_NESTED, nla_len(peers),
			nla_data(peers));
}

static void keep_rule(struct nlattr **attrs, void *arg)
{
	struct nlattr *nest, *attr;
	struct kept *kept = arg;
	struct nl_msg *msg;
	int rem;

	if (!attrs[SHCA_A_FAULT] || !attrs[SHCA_A_DEV_NAME] || kept->nr_rules == RULES ||
	    strcmp(nla_get_string(attrs[SHCA_A_DEV_NAME]), kept->device))
		return;
	msg = about(kept, SHCA_CMD_FAULT_ADD);
	nest = nla_nest_start(msg, SHCA_A_FAULT | NLA_F_NESTED);
	nla_for_each_nested(attr, attrs[SHCA_A_FAULT], rem)
		switch (nla_type(attr)) {
		case SHCA_FA_PAD:
		case SHCA_FA_ID:
		case SHCA_FA_SEEN:
		case SHCA_FA_HITS:
		case SHCA_FA_LOG:
			break;
		default:
			nla_put(msg, nla_type(attr), nla_len(attr), nla_data(attr));
		}
	nla_nest_end(msg, nest);
	kept->rule[kept->nr_rules++] = msg;
}

/* The new device has them again, but for P_Keys that its table has no room for. */
static int put_back(struct kept *kept, bool ib)
{
	int i, status = genl_send(kept->modes, kept->device, NULL, NULL);
	struct device device;
	struct nl_msg *msg;

	for (i = 0; i < kept->nr_rules; i++)
		status = genl_send(kept->rule[i], kept->device, NULL, NULL) ?: status;
	/* Those of an InfiniBand port are the subnet manager's. */
	if (ib || device_find(kept->device, &device))
		return status;
	for (i = 1; i < kept->nr_pkeys && i < device.nr_pkeys; i++) {
		if (!kept->pkeys[i])
			continue;
		msg = about(kept, SHCA_CMD_DEV_SET);
		nla_put_u16(msg, SHCA_A_PKEY_INDEX, i);
		nla_put_u16(msg, SHCA_A_PKEY, kept->pkeys[i]);
		status = genl_send(msg, kept->device, NULL, NULL) ?: status;
	}
	return status;
}

/* The first line of a file in /sys or /proc; "" without one */
static void read_first(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");

	*text = '\0';
	if (f && !fgets(text, size, f))
		*text = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
}

static bool is_infiniband(const char *device)
{
	char path[160], layer[16];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/link_layer", device);
	read_first(path, layer, sizeof(layer));
	return !strcmp(layer, "InfiniBand");
}

/* processes that have a file open: what is known so far */
struct users {
	const char *device;
	char node[32];		/* of the device, as /dev/infiniband/uverbs0 */
	char pid[16];
	char text[400];
	size_t used;
	bool found;
};

static void find_node(const char *name, void *arg)
{
	struct users *users = arg;
	char path[160], device[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%.40s/ibdev", name);
	read_first(path, device, sizeof(device));
	if (!strcmp(device, users->device))
		snprintf(users->node, sizeof(users->node), "/%.30s", name);
}

/* (readlink() waits for no file system, as stat() may) */
static void look_at_file(const char *name, void *arg)
{
	struct users *users = arg;
	char path[80], file[200];
	const char *last;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%.15s/fd/%.40s", users->pid, name);
	length = readlink(path, file, sizeof(file) - 1);
	file[length < 0 ? 0 : length] = '\0';
	last = strrchr(file, '/');
	if (last && !strcmp(last, users->node))
		users->found = true;
}

static void look_at_process(const char *name, void *arg)
{
	struct users *users = arg;
	char path[80], comm[32], *c;

	if (!isdigit((unsigned char)*name))
		return;
	users->found = false;
	snprintf(users->pid, sizeof(users->pid), "%.15s", name);
	snprintf(path, sizeof(path), "/proc/%.15s/fd", name);
	folder_names(path, look_at_file, users);
	if (!users->found || users->used >= sizeof(users->text))
		return;
	snprintf(path, sizeof(path), "/proc/%.15s/comm", name);
	read_first(path, comm, sizeof(comm));
	for (c = comm; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	users->used += snprintf(users->text + users->used,
				sizeof(users->text) - users->used, "%s%s (%s)",
				users->used ? ", " : "", comm, name);
}

/* a device, and where it belongs */
struct bringing {
	const char *device;
	int here;
};

/* In the first network namespace, where older kernels make devices in exclusive mode */
static int bring(const void *arg)
{
	const struct bringing *b = arg;

	return rdma_set_netns(b->device, b->here) ? EXIT_FAILURE : 0;
}

static void bring_here(const char *device)
{
	int first = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	struct bringing b = { device, open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) };

	if (first >= 0 && b.here >= 0)
		netns_call(first, bring, &b);
	close(first);
	close(b.here);
}

int personality_set(const char *device, const char *name)
{
	struct nl_msg *next = genl_request(SHCA_CMD_DEV_SET, 0);
	struct kept kept = { .device = device };
	int err, status = personality_put(next, name);
	struct users users = { .device = device };
	bool ib = is_infiniband(device);

	if (status) {
		nlmsg_free(next);
		return status;
	}
	status = genl_send(about(&kept, SHCA_CMD_DEV_GET), device, keep_settings, &kept) ?:
		 genl_send(genl_request(SHCA_CMD_FAULT_GET, NLM_F_DUMP), device, keep_rule,
			   &kept);
	if (status)
		return status;
	folder_names("/sys/class/infiniband_verbs", find_node, &users);
	if (*users.node)
		folder_names("/proc", look_at_process, &users);
	if (users.used)
		return fail("dev set: %s is in use, end these programs first: %s", device,
			    users.text);
	status = genl_send(next, device, NULL, NULL);
	if (status)
		return status;
	err = rdma_link_delete(device);
	if (err)
		return fail("dev set: cannot delete %s: %s; the next device of this network namespace will have the personality",
			    device, strerror(-err));
	err = rdma_link_add(device, ib ? "softhca_ib" : "softhca", kept.netdev);
	if (err)
		return fail("dev set: %s is deleted, and cannot be added again: %s (see 'dmesg | tail')",
			    device, strerror(-err));
	if (rdma_is_exclusive())
		bring_here(device);
	return put_back(&kept, ib);
}

/* ---- what there is --------------------------------------------------------------- */

void personality_names(void (*each)(const char *name, void *arg), void *arg)
{
	folder_names(PERSONALITIES_DIR, each, arg);
}

/* what is listed, and how many so far */
struct listing {
	bool json;
	int nr;
};

/* The first comment after the licence, or an empty string */
static void read_summary(const char *name, char *text, size_t size)
{
	FILE *file = open_file(name);
	char line[LINE_SIZE];

	*text = '\0';
	while (file && !*text && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "# ", 2) && !strstr(line, "SPDX-"))
			snprintf(text, size, "%.*s", (int)size - 1, line + 2);
	}
	if (file)
		fclose(file);
}

static void print_personality(const char *name, void *arg)
{
	struct listing *list = arg;
	char summary[128];

	read_summary(name, summary, sizeof(summary));
	if (!list->json) {
		printf("%s: %s\n", name, summary);
	} else {
		printf("%s\n  {\"name\": ", list->nr ? "," : "");
		print_json_string(name);
		printf(", \"summary\": ");
		print_json_string(summary);
		putchar('}');
	}
	list->nr++;
}

int personality_list(bool json)
{
	struct listing list = { .json = json };

	if (json)
		putchar('[');
	personality_names(print_personality, &list);
	if (json)
		printf("%s]\n", list.nr ? "\n" : "");
	return list.nr ? 0 : fail("no personalities in %s", PERSONALITIES_DIR);
}
