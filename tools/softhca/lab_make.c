// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes the namespaces, network devices and RDMA devices of a topology, and takes back
 * what it has made if it fails. A link of two ends is a veth pair. A switch is a bridge in
 * a namespace of its own, with a veth pair to each end:
 *
 *   .--------- a ---------.      .-------- switch --------.      .--------- b ---------.
 *   |  shca0 on veth0     |      |         br0            |      |     shca1 on veth1  |
 *   |  10.0.0.1/24        | <--> |  port0        port1    | <--> |     10.0.0.2/24     |
 *   '---------------------'      '------------------------'      '---------------------'
 *
 * Each network device has an alias that names both ends of its cable. So a device of
 * another topology is told from one that is there already.
 */
#include "topology.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6_route.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BRIDGE	"br0"
/* How long `up` waits for a port and its GIDs, which come by themselves */
#define READY_SECONDS	20
#define ALIAS_SIZE	128

/* What is being made. Children, which run in the namespaces, write to it, too. */
static struct topology *topology;

#define for_each_end(e) \
	for (e = topology->end; e < topology->end + topology->nr_ends; e++)
#define for_each_link(l) \
	for (l = topology->link; l < topology->link + topology->nr_links; l++)
#define for_each_netns(n) \
	for (n = topology->netns; n < topology->netns + topology->nr_netns; n++)

static struct lab_netns *netns_of(const struct lab_end *e)
{
	return &topology->netns[e->netns];
}

static struct lab_link *link_of(const struct lab_end *e)
{
	return &topology->link[e->link];
}

/* Return: whether modprobe succeeded; otherwise it has said why, unless @quiet. */
static bool modprobe(const char *module, bool quiet)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		execlp("modprobe", "modprobe", quiet ? "-q" : "--", module, NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && !status;
}

/* Loads the module, so that modprobe says what is wrong with it. */
static int load_modules(void)
{
	struct lab_link *l;

	/* Programs that use rdma_cm need it. Mostly udev has loaded it. */
	if (access("/dev/infiniband/rdma_cm", F_OK))
		modprobe("rdma_ucm", true);
	/* A subnet manager needs it. */
	for_each_link(l)
		if (l->infiniband && access("/sys/module/ib_umad", F_OK))
			modprobe("ib_umad", true);
	if (!access("/sys/module/softhca", F_OK) || modprobe("softhca", false))
		return 0;
	return fail("up: the softhca module cannot be loaded (try 'softhca doctor')");
}

/* ---- cables ---------------------------------------------------------------------- */

/* The number of an end's port at the switch */
static int port_of(const struct lab_end *e)
{
	return e - &topology->end[link_of(e)->first];
}

static void port_name(const struct lab_end *e, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "port%d", port_of(e));
}

/* The alias of the network device: both ends of its cable, as NAMESPACE/NETDEV */
static void cable_alias(const struct lab_end *e, char alias[ALIAS_SIZE])
{
	const struct lab_link *l = link_of(e);
	const struct lab_end *first = &topology->end[l->first], *second = first + 1;

	if (l->netns < 0)
		snprintf(alias, ALIAS_SIZE, "%s/%s %s/%s", netns_of(first)->name,
			 first->netdev, netns_of(second)->name, second->netdev);
	else
		snprintf(alias, ALIAS_SIZE, "%s/port%d %s/%s", topology->netns[l->netns].name,
			 port_of(e), netns_of(e)->name, e->netdev);
}

/* exit status of find_cable() */
enum cable {
	CABLE_IS_THERE,
	CABLE_IS_MISSING,
	CABLE_IS_ANOTHER,
};

/* In the namespace of an end */
static int find_cable(const void *arg)
{
	const struct lab_end *e = arg;
	char alias[ALIAS_SIZE + 1], wanted[ALIAS_SIZE];

	if (link_alias(e->netdev, alias, sizeof(alias)))
		return CABLE_IS_MISSING;
	cable_alias(e, wanted);
	/* A cable that was made by hand has no alias. */
	if (!*alias || !strcmp(alias, wanted))
		return CABLE_IS_THERE;
	fail("up: namespace %s has a %s already, at another cable (%s); 'softhca down' removes it",
	     netns_of(e)->name, e->netdev, alias);
	return CABLE_IS_ANOTHER;
}

/* In the namespace of the first of two ends */
static int join_ends(const void *arg)
{
	const struct lab_end *e = arg, *other = e + 1;
	int err = link_add_veth(e->netdev, other->netdev, netns_of(other)->fd);

	return err ? fail("up: cannot join the namespaces by %s and %s: %s",
			  e->netdev, other->netdev, strerror(-err)) : 0;
}

/* In the namespace of the switch */
static int plug_in(const void *arg)
{
	const struct lab_end *e = arg;
	char port[IFNAMSIZ];
	int err;

	port_name(e, port);
	err = link_add_veth(port, e->netdev, netns_of(e)->fd);
	return err ? fail("up: cannot join the switch %s and namespace %s by %s and %s: %s",
			  link_of(e)->name, netns_of(e)->name, port, e->netdev,
			  strerror(-err)) : 0;
}

/* In the namespace of the switch */
static int set_up_port(const void *arg)
{
	const struct lab_end *e = arg;
	const struct lab_link *l = link_of(e);
	char port[IFNAMSIZ];
	int err;

	port_name(e, port);
	err = link_add_bridge(BRIDGE) ?: link_set(BRIDGE, true, NULL);
	if (!err && l->mtu)
		err = link_set_mtu(port, l->mtu);
	err = err ?: link_set_bridge(port, BRIDGE);
	err = err ?: link_set(port, true, NULL);
	return err ? fail("up: switch %s: cannot set up %s: %s", l->name, port, strerror(-err)) : 0;
}

/* A cable, or the port of a switch and a cable to it, where it is missing */
static int make_cable(struct lab_end *e)
{
	const struct lab_link *l = link_of(e);
	int at_switch = l->netns < 0 ? -1 : topology->netns[l->netns].fd;
	int status;

	/* The first of two ends joins both. */
	if (at_switch < 0 && port_of(e))
		return netns_call(netns_of(e)->fd, find_cable, e) == CABLE_IS_ANOTHER;
	status = netns_call(netns_of(e)->fd, find_cable, e);
	if (status == CABLE_IS_ANOTHER)
		return EXIT_FAILURE;
	if (status == CABLE_IS_MISSING) {
		status = at_switch < 0 ? netns_call(netns_of(e)->fd, join_ends, e) :
					 netns_call(at_switch, plug_in, e);
		if (status)
			return status;
		e->made_netdev = true;
	}
	return at_switch < 0 ? 0 : netns_call(at_switch, set_up_port, e);
}

/* ---- ends ------------------------------------------------------------------------ */

/* a device that is looked for */
struct device_wanted {
	const struct lab_end *end;
	bool found;
};

static void read_netdev(const char *name, const char *netdev, void *arg)
{
	struct device_wanted *wanted = arg;

	if (!strcmp(name, wanted->end->device) && !strcmp(netdev, wanted->end->netdev))
		wanted->found = true;
}

/* Has this namespace the device, on the right network device? */
static bool has_device(const struct lab_end *e)
{
	struct device_wanted wanted = { .end = e };

	device_netdevs(read_netdev, &wanted);
	return wanted.found;
}

static int set_up_netdev(const struct lab_end *e)
{
	char alias[ALIAS_SIZE];
	int i, err = 0;

	cable_alias(e, alias);
	if (link_of(e)->mtu)
		err = link_set_mtu(e->netdev, link_of(e)->mtu);
	err = err ?: link_set(e->netdev, true, alias);
	for (i = 0; i < e->nr_addresses && !err; i++)
		err = address_add(e->netdev, e->address[i].family, e->address[i].bytes,
				  e->address[i].prefix);
	return err;
}

/* In the namespace: everything but the cable, where it is missing */
static int set_up_end(const void *arg)
{
	struct lab_end *e = (struct lab_end *)arg;
	const char *netns = netns_of(e)->name;
	int err = set_up_netdev(e);

	if (err)
		return fail("up: namespace %s: cannot set up %s: %s", netns, e->netdev,
			    strerror(-err));
	if (has_device(e))
		return 0;
	err = rdma_link_add(e->device, link_of(e)->infiniband ? "softhca_ib" : "softhca",
			    e->netdev);
	if (err == -EEXIST)
		return fail("up: an RDMA device %s exists already (see 'rdma link show', 'rdma link delete %s')",
			    e->device, e->device);
	if (err)
		return fail("up: namespace %s: cannot add the device %s to %s: %s (see 'dmesg | tail')",
			    netns, e->device, e->netdev, strerror(-err));
	e->made_device = true;
	return 0;
}

/* In exclusive mode older kernels make devices in the first namespace. */
static int bring_device(const struct lab_end *e)
{
	int err = rdma_set_netns(e->device, netns_of(e)->fd);

	/* It is not in this namespace: it is in its own. */
	if (!err || err == -ENODEV)
		return 0;
	return fail("up: cannot move %s to namespace %s: %s", e->device, netns_of(e)->name,
		    strerror(-err));
}

/* ---- until it is ready ----------------------------------------------------------- */

/* The first line of a file of the port, "" if there is none */
static void read_port(const struct lab_end *e, const char *file, char *text, size_t size)
{
	char path[192];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s", e->device, file);
	f = fopen(path, "r");
	if (!f || !fgets(text, size, f))
		*text = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
}

/* Return: the index of the RoCEv2 GID of the address, or -1 if there is none yet. */
static int find_gid(const struct lab_end *e, const struct lab_address *a)
{
	char file[32], text[64], wanted[64];
	int i, used = 0;

	for (i = 0; i < 16; i += 2)
		used += sprintf(wanted + used, "%s%02x%02x", i ? ":" : "", a->gid[i],
				a->gid[i + 1]);
	for (i = 0; i < 256; i++) {
		snprintf(file, sizeof(file), "gids/%d", i);
		read_port(e, file, text, sizeof(text));
		if (!*text)
			return -1;
		if (strcmp(text, wanted))
			continue;
		snprintf(file, sizeof(file), "gid_attrs/types/%d", i);
		read_port(e, file, text, sizeof(text));
		if (strstr(text, "v2"))
			return i;
	}
	return -1;
}

/* Takes the last 16 digits of the first GID, which are the port's GUID. */
static void read_guid(struct lab_end *e)
{
	char text[64], *c;
	int used = 0;

	read_port(e, "gids/0", text, sizeof(text));
	for (c = text + strlen(text) / 2; *c && used < 16; c++)
		if (*c != ':')
			e->guid[used++] = *c;
	e->guid[used] = '\0';
}

/*
 * An InfiniBand port is ready when the link is up. It is Initializing then, until a subnet
 * manager makes it Active.
 */
static bool is_ready_port(struct lab_end *e)
{
	char state[32];

	read_port(e, "state", state, sizeof(state));
	snprintf(e->state, sizeof(e->state), "%s",
		 strstr(state, "INIT") ? "Initializing" :
		 strstr(state, "ARMED") ? "Armed" :
		 strstr(state, "ACTIVE") ? "Active" : "");
	read_guid(e);
	return *e->state && *e->guid;
}

/* Has the kernel a route of its own to the address? Then it takes packets for it. */
static bool is_local(const struct in6_addr *route, const char *netdev, const struct lab_end *e,
		     const struct lab_address *a)
{
	return !strcmp(netdev, e->netdev) &&
	       (a ? !memcmp(route, a->bytes, sizeof(*route)) : IN6_IS_ADDR_LINKLOCAL(route));
}

/*
 * @a: an IPv6 address, or NULL for a link-local one, without which the kernel asks for no
 * neighbour. The GID is there before: a work item does the rest once the link is up.
 */
static bool takes_packets(const struct lab_end *e, const struct lab_address *a)
{
	char line[256], netdev[IFNAMSIZ];
	unsigned int length, flags;
	struct in6_addr route;
	bool found = false;
	FILE *f;
	int i;

	f = fopen("/proc/self/net/ipv6_route", "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		for (i = 0; i < 16 && sscanf(line + 2 * i, "%2hhx", &route.s6_addr[i]) == 1; i++)
			;
		found = i == 16 &&
			sscanf(line + 32, "%x %*s %*s %*s %*s %*s %*s %x %15s", &length, &flags,
			       netdev) == 3 &&
			length == 128 && flags & RTF_LOCAL && is_local(&route, netdev, e, a);
	}
	if (f)
		fclose(f);
	return found;
}

static bool is_ready(struct lab_end *e)
{
	char state[32];
	int i;

	if (link_of(e)->infiniband)
		return is_ready_port(e);
	read_port(e, "state", state, sizeof(state));
	if (!strstr(state, "ACTIVE") || !link_is_up(e->netdev))
		return false;
	for (i = 0; i < e->nr_addresses; i++) {
		const struct lab_address *a = &e->address[i];

		e->address[i].gid_index = find_gid(e, a);
		if (a->gid_index < 0)
			return false;
		if (a->family == AF_INET6 && !(takes_packets(e, a) && takes_packets(e, NULL)))
			return false;
	}
	return true;
}

/* In the namespace of the end */
static int wait_until_ready(const void *arg)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct lab_end *e = (struct lab_end *)arg;
	time_t end = time(NULL) + READY_SECONDS;
	bool infiniband = link_of(e)->infiniband;
	char layer[32];
	int fd;

	/* /sys of this namespace, in which an exclusive device is, too */
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || netns_enter(fd))
		return fail("up: cannot see /sys of namespace %s", netns_of(e)->name);
	read_port(e, "link_layer", layer, sizeof(layer));
	if (*layer && infiniband != !strcmp(layer, "InfiniBand"))
		return fail("up: %s exists already and is no device of the type %s ('softhca down' removes it)",
			    e->device, infiniband ? "softhca_ib" : "softhca");
	while (!is_ready(e)) {
		if (time(NULL) >= end)
			return fail("up: %s did not become ready in %d seconds (try 'softhca run -n %s -- softhca doctor')",
				    e->device, READY_SECONDS, netns_of(e)->name);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* ---- the whole ------------------------------------------------------------------- */

static int make_netns(struct lab_netns *n)
{
	if (n->owner == NETNS_OURS)
		return 0;
	n->fd = netns_make(n->name);
	if (n->fd == -EEXIST)
		return fail("up: a file /run/netns/%s exists already (see 'ip netns')",
			    n->name);
	if (n->fd < 0)
		return fail("up: cannot make the network namespace %s: %s", n->name,
			    strerror(-n->fd));
	n->owner = NETNS_OURS;
	n->made = true;
	return 0;
}

static int make_all(void)
{
	bool exclusive = rdma_is_exclusive();
	struct lab_netns *n;
	struct lab_end *e;
	int status = 0;

	for_each_netns(n)
		status = status ?: make_netns(n);
	for_each_end(e)
		status = status ?: make_cable(e);
	for_each_end(e) {
		status = status ?: netns_call(netns_of(e)->fd, set_up_end, e);
		if (!status && exclusive)
			status = bring_device(e);
	}
	for_each_end(e)
		status = status ?: netns_call(netns_of(e)->fd, wait_until_ready, e);
	return status;
}

static void delete_device(const char *name, const char *netdev, void *arg)
{
	(void)arg;
	(void)netdev;
	rdma_link_delete(name);
}

/*
 * In a namespace. Its RDMA devices go first, and one after the other, so that their names
 * are free at once.
 */
static int empty_namespace(const void *arg)
{
	struct if_nameindex *list, *i;

	(void)arg;
	device_netdevs(delete_device, NULL);
	list = if_nameindex();
	for (i = list; i && i->if_name; i++)
		if (strcmp(i->if_name, "lo"))
			link_delete(i->if_name);
	if (list)
		if_freenameindex(list);
	return 0;
}

void topology_remove_netns(const char *name, int fd)
{
	/* A device of exclusive mode that was not moved is found from outside only. */
	netns_call(fd, empty_namespace, NULL);
	netns_remove(name);
}

/* In a namespace that was there before */
static int undo_end(const void *arg)
{
	const struct lab_end *e = arg;

	if (e->made_device)
		rdma_link_delete(e->device);
	if (e->made_netdev)
		link_delete(e->netdev);
	return 0;
}

int topology_make(struct topology *t)
{
	struct lab_netns *n;
	struct lab_end *e;
	int status;

	topology = t;
	for_each_netns(n)
		n->owner = netns_owner(n->name, &n->fd);
	for_each_netns(n)
		if (n->owner == NETNS_OTHER)
			return fail("up: a network namespace '%s' exists that 'softhca up' has not made (see 'ip netns'); nothing was changed",
				    n->name);
	status = load_modules() ?: make_all();
	if (!status)
		return 0;
	for_each_end(e)
		if (!netns_of(e)->made && (e->made_device || e->made_netdev))
			netns_call(netns_of(e)->fd, undo_end, e);
	for_each_netns(n)
		if (n->made)
			topology_remove_netns(n->name, n->fd);
	return status;
}
