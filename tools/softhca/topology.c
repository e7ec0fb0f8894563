// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Files of topologies for `softhca up`. A line begins a link, or adds an end to it:
 *
 *   link NAME [type=softhca|softhca_ib] [mtu=MTU]
 *   end ns=NAMESPACE dev=DEVICE [netdev=NETDEV] [addr=ADDRESS/PREFIX,...]
 *
 * '#' begins a comment. Everything that a file alone can show to be wrong is told here,
 * with its line, before anything is made.
 */
#include "topology.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fault_words.h"
#include "topology_pair.h"

#define LINE_SIZE	1024
#define LINE_WORDS	16
/* Limits of network devices, and what carries a path MTU of 256 on an InfiniBand link */
#define MTU_MIN		68
#define MTU_MAX		65535
#define MTU_MIN_IB	390
#define MTU_MIN_IPV6	1280

/**
 * struct reader - a file that is being read
 * @file:	its name, for messages
 * @line:	number of the line
 * @where:	both, at the beginning of a message
 */
struct reader {
	struct topology *t;
	const char *file;
	char where[320];
	int line;
};

static void set_line(struct reader *r, int line)
{
	snprintf(r->where, sizeof(r->where), "%.255s line %d", r->file, line);
}

/* a word KEY=VALUE that a line may have */
struct key {
	const char *name;
	int (*read)(struct reader *r, char *value);
};

/* Reads @nr words by the keys of @keys, each of which may be given once. */
static int read_words(struct reader *r, const char *kind, const struct key *keys, char **word,
		      int nr)
{
	unsigned int given = 0;
	char *equals;
	int i, k, status = 0;

	for (i = 0; i < nr && !status; i++) {
		equals = strchr(word[i], '=');
		for (k = 0; keys[k].name; k++)
			if (equals && strlen(keys[k].name) == (size_t)(equals - word[i]) &&
			    !strncmp(keys[k].name, word[i], equals - word[i]))
				break;
		if (!keys[k].name) {
			char list[64] = "";

			for (k = 0; keys[k].name; k++) {
				strcat(list, k ? ", " : "");
				strcat(list, keys[k].name);
			}
			return complain("%s: unknown word '%s' of %s (expected KEY=VALUE, of: %s)",
					r->where, word[i], kind, list);
		}
		if (given & 1u << k)
			return complain("%s: %s: given twice", r->where, keys[k].name);
		given |= 1u << k;
		status = keys[k].read(r, equals + 1);
	}
	return status;
}

/* ---- links ----------------------------------------------------------------------- */

static struct lab_link *last_link(struct reader *r)
{
	return &r->t->link[r->t->nr_links - 1];
}

static int wrong_name(const struct reader *r, const char *what, const char *name)
{
	return complain("%s: %s: invalid name '%s' (expected: 1 to %d letters, digits, '-', '_' and '.', a letter or digit first)",
			r->where, what, name, NETNS_NAME_SIZE - 1);
}

static int read_type(struct reader *r, char *value)
{
	if (choice_index("softhca|softhca_ib", value) < 0)
		return complain("%s: type: unknown type '%s' (expected: softhca or softhca_ib)",
				r->where, value);
	last_link(r)->infiniband = !strcmp(value, "softhca_ib");
	return 0;
}

static int read_mtu(struct reader *r, char *value)
{
	uint64_t mtu;
	char *end;

	if (!fault_number(value, &mtu, &end) || *end || mtu < MTU_MIN || mtu > MTU_MAX)
		return complain("%s: mtu: invalid value '%s' (expected: %d to %d)", r->where, value,
				MTU_MIN, MTU_MAX);
	last_link(r)->mtu = mtu;
	return 0;
}

static int find_netns(const struct topology *t, const char *name)
{
	int i;

	for (i = 0; i < t->nr_netns && strcmp(t->netns[i].name, name); i++)
		;
	return i;
}

/* Return: index of the namespace, which is new if it is not there. */
static int add_netns(struct topology *t, const char *name)
{
	int i = find_netns(t, name);

	if (i == t->nr_netns)
		snprintf(t->netns[t->nr_netns++].name, NETNS_NAME_SIZE, "%s", name);
	return i;
}

/* The link that ends before this line, or with the file */
static int check_link(struct reader *r)
{
	struct topology *t = r->t;
	struct lab_link *link;
	int i;

	if (!t->nr_links)
		return 0;
	link = last_link(r);
	set_line(r, link->line);
	if (link->nr < 2)
		return complain("%s: link %s has %d end%s (expected: 2 of a cable, or more of a switch)",
				r->where, link->name, link->nr, link->nr == 1 ? "" : "s");
	if (link->infiniband && link->nr > 2)
		return complain("%s: link %s has %d ends, and there are no InfiniBand switches (expected: 2)",
				r->where, link->name, link->nr);
	if (link->infiniband && link->mtu && link->mtu < MTU_MIN_IB)
		return complain("%s: mtu: %d is too small for an InfiniBand link (expected: %d to %d)",
				r->where, link->mtu, MTU_MIN_IB, MTU_MAX);
	for (i = link->first; i < link->first + link->nr; i++) {
		struct lab_end *end = &t->end[i];
		int a;

		for (a = 0; a < end->nr_addresses; a++)
			if (link->mtu && link->mtu < MTU_MIN_IPV6 &&
			    end->address[a].family == AF_INET6)
				return complain("%s: mtu: %d is too small for %s (expected with IPv6: %d to %d)",
						r->where, link->mtu, end->address[a].text,
						MTU_MIN_IPV6, MTU_MAX);
	}
	return 0;
}

static int read_link(struct reader *r, char **word, int nr)
{
	static const struct key keys[] = { { "type", read_type }, { "mtu", read_mtu }, {} };
	struct topology *t = r->t;
	int i, status = check_link(r);
	struct lab_link *link;

	if (status)
		return status;
	set_line(r, r->line);
	if (nr < 2 || strchr(word[1], '='))
		return complain("%s: link: missing its name (expected: link NAME [type=TYPE] [mtu=MTU])",
				r->where);
	if (!netns_valid_name(word[1]))
		return wrong_name(r, "link", word[1]);
	for (i = 0; i < t->nr_links; i++)
		if (!strcmp(t->link[i].name, word[1]))
			return complain("%s: link %s is in line %d already", r->where, word[1],
					t->link[i].line);
	if (t->nr_links == TOPOLOGY_LINKS)
		return complain("%s: too many links (expected: up to %d)", r->where, TOPOLOGY_LINKS);
	link = &t->link[t->nr_links++];
	snprintf(link->name, sizeof(link->name), "%s", word[1]);
	link->first = t->nr_ends;
	link->line = r->line;
	return read_words(r, "link", keys, word + 2, nr - 2);
}

/* ---- ends ------------------------------------------------------------------------ */

static struct lab_end *new_end(struct reader *r)
{
	return &r->t->end[r->t->nr_ends];
}

static int read_ns(struct reader *r, char *value)
{
	if (!netns_valid_name(value))
		return wrong_name(r, "ns", value);
	new_end(r)->netns = add_netns(r->t, value);
	return 0;
}

/* Names that the kernel takes: no blank, control character or other @banned one */
static bool valid_name(const char *name, size_t size, const char *banned)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isgraph((unsigned char)*c) || strchr(banned, *c))
			return false;
	return c > name && c < name + size && strcmp(name, ".") && strcmp(name, "..");
}

static int read_dev(struct reader *r, char *value)
{
	int i;

	if (!valid_name(value, TOPOLOGY_DEVICE_SIZE, "/%"))
		return complain("%s: dev: invalid name '%s' (expected: 1 to %d characters, without '/' and '%%')",
				r->where, value, TOPOLOGY_DEVICE_SIZE - 1);
	for (i = 0; i < r->t->nr_ends; i++)
		if (!strcmp(r->t->end[i].device, value))
			return complain("%s: dev: %s is in line %d already", r->where, value,
					r->t->end[i].line);
	strcpy(new_end(r)->device, value);
	return 0;
}

static int read_netdev(struct reader *r, char *value)
{
	if (!valid_name(value, TOPOLOGY_NETDEV_SIZE, "/%:") || !strcmp(value, "lo"))
		return complain("%s: netdev: invalid name '%s' (expected: 1 to %d characters, without '/', ':' and '%%', and not lo)",
				r->where, value, TOPOLOGY_NETDEV_SIZE - 1);
	strcpy(new_end(r)->netdev, value);
	return 0;
}

static bool is_host(const struct lab_address *a)
{
	static const unsigned char zero[16];
	struct in6_addr v6;

	if (a->family == AF_INET)
		return a->bytes[0] && a->bytes[0] != 127 && a->bytes[0] < 224;
	memcpy(&v6, a->bytes, sizeof(v6));
	return memcmp(a->bytes, zero, 15) && !IN6_IS_ADDR_MULTICAST(&v6) &&
	       !IN6_IS_ADDR_V4MAPPED(&v6);
}

static int read_address(struct reader *r, struct lab_address *a, const char *text)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	uint64_t prefix;
	char *end;

	a->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (!slash || slash - text >= (int)sizeof(address) || strlen(text) >= sizeof(a->text))
		goto wrong;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	if (inet_pton(a->family, address, a->bytes) != 1 || !is_host(a) ||
	    !fault_number(slash + 1, &prefix, &end) || *end || !prefix ||
	    prefix > (a->family == AF_INET ? 32 : 128))
		goto wrong;
	a->prefix = prefix;
	strcpy(a->text, text);
	/* An IPv4 address is in a GID as ::ffff:a.b.c.d. */
	if (a->family == AF_INET6) {
		memcpy(a->gid, a->bytes, 16);
	} else {
		a->gid[10] = a->gid[11] = 0xff;
		memcpy(a->gid + 12, a->bytes, 4);
	}
	return 0;
wrong:
	return complain("%s: addr: invalid address '%s' (expected: that of a host with its prefix, as 10.0.0.1/24 or fd00::1/64)",
			r->where, text);
}

static int read_addresses(struct reader *r, char *value)
{
	struct lab_end *end = new_end(r);
	int status = 0;
	char *text;

	while (!status && (text = strsep(&value, ","))) {
		if (end->nr_addresses == TOPOLOGY_ADDRESSES)
			return complain("%s: addr: too many addresses (expected: up to %d)",
					r->where, TOPOLOGY_ADDRESSES);
		status = read_address(r, &end->address[end->nr_addresses++], text);
	}
	return status;
}

/* Does an end have what another one has that it can meet? Both may be the same. */
static int check_pair_of_ends(struct reader *r, const struct lab_end *e, const struct lab_end *o)
{
	int i, k;

	if (e != o && e->netns == o->netns && *e->netdev && !strcmp(e->netdev, o->netdev))
		return complain("%s: netdev: %s of namespace %s is in line %d already", r->where,
				e->netdev, r->t->netns[e->netns].name, o->line);
	if (e->netns != o->netns && e->link != o->link)
		return 0;
	for (i = 0; i < e->nr_addresses; i++)
		for (k = 0; k < (e == o ? i : o->nr_addresses); k++)
			if (!memcmp(e->address[i].gid, o->address[k].gid, 16))
				return complain("%s: addr: %s is in line %d already", r->where,
						e->address[i].text, o->line);
	return 0;
}

static int read_end(struct reader *r, char **word, int nr)
{
	static const struct key keys[] = {
		{ "ns", read_ns }, { "dev", read_dev }, { "netdev", read_netdev },
		{ "addr", read_addresses }, {}
	};
	struct topology *t = r->t;
	struct lab_end *end = new_end(r);
	int i, status;

	if (!t->nr_links)
		return complain("%s: end: no line 'link NAME' is before it", r->where);
	if (t->nr_ends == TOPOLOGY_ENDS)
		return complain("%s: too many ends (expected: up to %d)", r->where, TOPOLOGY_ENDS);
	end->netns = -1;
	end->link = t->nr_links - 1;
	end->line = r->line;
	status = read_words(r, "end", keys, word + 1, nr - 1);
	if (status)
		return status;
	if (end->netns < 0)
		return complain("%s: ns: missing, the network namespace of the end", r->where);
	if (!*end->device)
		return complain("%s: dev: missing, the RDMA device of the end", r->where);
	if (!end->nr_addresses && !last_link(r)->infiniband)
		return complain("%s: addr: missing, which only an InfiniBand port can be without",
				r->where);
	for (i = 0; i <= t->nr_ends && !status; i++)
		status = check_pair_of_ends(r, end, &t->end[i]);
	t->nr_ends++;
	last_link(r)->nr++;
	return status;
}

/* ---- the whole ------------------------------------------------------------------- */

/* A switch is a namespace with the link's name, so no end may be there. */
static int place_switches(struct reader *r)
{
	struct topology *t = r->t;
	int i, nr = t->nr_netns;

	for (i = 0; i < t->nr_links; i++) {
		struct lab_link *link = &t->link[i];

		link->netns = -1;
		if (link->nr == 2)
			continue;
		link->netns = add_netns(t, link->name);
		set_line(r, link->line);
		if (link->netns < nr)
			return complain("%s: link %s: a switch has a namespace of this name, and so has an end (choose another name)",
					r->where, link->name);
	}
	return 0;
}

/* Names of network devices that the file does not name: veth0 and so on */
static void name_netdevs(struct topology *t)
{
	int i, k, next = 0;

	for (i = 0; i < t->nr_ends; i++) {
		while (!*t->end[i].netdev) {
			char name[TOPOLOGY_NETDEV_SIZE];

			snprintf(name, sizeof(name), "veth%d", next++);
			for (k = 0; k < t->nr_ends && strcmp(t->end[k].netdev, name); k++)
				;
			if (k == t->nr_ends)
				strcpy(t->end[i].netdev, name);
		}
	}
}

static int read_line(struct reader *r, char *line)
{
	char *word[LINE_WORDS];
	int nr;

	line[strcspn(line, "#\r\n")] = '\0';
	nr = fault_split(line, word, LINE_WORDS);
	if (!nr)
		return 0;
	if (!strcmp(word[0], "link"))
		return read_link(r, word, nr);
	if (!strcmp(word[0], "end"))
		return read_end(r, word, nr);
	return complain("%s: unknown word '%s' (expected: link or end)", r->where, word[0]);
}

void topology_names(void (*each)(const char *name, void *arg), void *arg)
{
	folder_names(TOPOLOGIES_DIR, each, arg);
}

static void add_name(const char *name, void *arg)
{
	char *list = arg;

	if (strlen(list) + strlen(name) < 200) {
		strcat(list, *list ? ", " : "");
		strcat(list, name);
	}
}

/* One that came with the tool goes first, whatever is in the working directory. */
static FILE *open_file(const char *name)
{
	char path[512];
	FILE *file;

	if (!name)
		return fmemopen((void *)topology_pair, strlen(topology_pair), "r");
	if (!strcmp(name, "-"))
		return stdin;
	if (!strchr(name, '/')) {
		snprintf(path, sizeof(path), TOPOLOGIES_DIR "/%s", name);
		file = fopen(path, "r");
		if (file)
			return file;
	}
	return fopen(name, "r");
}

int topology_read(struct topology *t, const char *name)
{
	struct reader r = { .t = t, .file = name ?: "pair" };
	char line[LINE_SIZE], names[256] = "";
	FILE *file = open_file(name);
	int status = 0;

	if (!file) {
		status = errno;
		topology_names(add_name, names);
		return fail("up: %s: %s (a path, or one of: %s)", name, strerror(status), names);
	}
	while (!status && fgets(line, sizeof(line), file)) {
		set_line(&r, ++r.line);
		status = strchr(line, '\n') || feof(file) ?
				 read_line(&r, line) :
				 complain("%s: longer than %d characters", r.where,
					  LINE_SIZE - 2);
	}
	if (!status && ferror(file))
		status = fail("up: %s: %s", r.file, strerror(errno));
	if (file != stdin)
		fclose(file);
	status = status ?: check_link(&r);
	status = status ?: place_switches(&r);
	if (!status && !t->nr_links)
		status = complain("%s: no link (expected: a line 'link NAME', and 'end' for each of its ends)",
				  r.file);
	name_netdevs(t);
	return status;
}
