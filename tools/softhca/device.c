// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Devices by name, which most commands have as a word: whether there is one, in which namespace,
 * its network device and its GIDs.
 */
#include "softhca.h"

#include <arpa/inet.h>
#include <string.h>

#include <linux/netlink.h>

#include "netns.h"

/* The kernel's limit with the terminating zero (IB_DEVICE_NAME_MAX). */
#define NAME_SIZE	64

/* More entries than a port's table of GIDs has */
#define MAX_GIDS	256

/* What a packet has beside its payload, at most */
#define ROCE_HEADERS	96
#define IB_HEADERS	134

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

struct nl_msg *device_request(const char *name)
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
	return !genl_open(true) && !genl_send(device_request(name), NULL, NULL, NULL);
}

static bool is_here(void *arg)
{
	const struct device_wanted *wanted = arg;

	return !genl_open(true) &&
	       !genl_send(device_request(wanted->name), NULL, read_device, wanted->device);
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
	return status ?: genl_send(device_request(name), name, read_device, device);
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
		genl_send(device_request(NULL), NULL, read_name, arg);
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
		genl_send(device_request(NULL), NULL, read_netdev, &netdevs);
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
