// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel's own netlink families: network devices and addresses (rtnetlink),
 * and RDMA devices. A request is answered by an errno, which libnl would
 * translate to fewer values; so messages are sent and received here.
 */
#include "rtnl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#define RDMA_TYPE(op)	RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op)

/* ---- a request and its answer ------------------------------------------------ */

static struct nl_msg *request(int type, int flags, const void *header, int size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);

	if (!msg || (header && nlmsg_append(msg, (void *)header, size, NLMSG_ALIGNTO) < 0)) {
		fail("out of memory");
		exit(EXIT_FAILURE);
	}
	return msg;
}

/* called for each message of an answer */
typedef void answer_fn(struct nlmsghdr *hdr, void *arg);

/* Return: whether that was the last message; its errno is in @err. */
static bool read_answer(struct nlmsghdr *hdr, int left, answer_fn *answer,
			void *arg, int *err)
{
	for (; nlmsg_ok(hdr, left); hdr = nlmsg_next(hdr, &left)) {
		if (hdr->nlmsg_type == NLMSG_ERROR) {
			*err = ((struct nlmsgerr *)nlmsg_data(hdr))->error;
			return true;
		}
		if (hdr->nlmsg_type == NLMSG_DONE)
			return true;
		if (answer)
			answer(hdr, arg);
		if (!(hdr->nlmsg_flags & NLM_F_MULTI) && answer)
			return true;
	}
	return false;
}

/* Sends and frees @msg. Return: 0 or a negative errno. */
static int talk(int protocol, struct nl_msg *msg, answer_fn *answer, void *arg)
{
	/* A buffer of the kernel's largest message */
	static char buffer[65536] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	ssize_t length;
	int err = 0;

	if (fd < 0) {
		nlmsg_free(msg);
		return -errno;
	}
	if (!answer)
		hdr->nlmsg_flags |= NLM_F_ACK;
	if (sendto(fd, hdr, hdr->nlmsg_len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		err = -errno;
	while (!err) {
		length = recv(fd, buffer, sizeof(buffer), 0);
		if (length < 0)
			err = -errno;
		else if (read_answer((struct nlmsghdr *)buffer, length, answer, arg,
				     &err))
			break;
	}
	nlmsg_free(msg);
	close(fd);
	return err;
}

/* ---- network devices --------------------------------------------------------- */

/* an attribute to look for, and room for it */
struct wanted {
	int attr;
	char *text;
	size_t size;
};

static void read_link(struct nlmsghdr *hdr, void *arg)
{
	struct wanted *wanted = arg;
	struct nlattr *attr = nlmsg_find_attr(hdr, sizeof(struct ifinfomsg),
					      wanted->attr);

	if (attr)
		nla_strlcpy(wanted->text, attr, wanted->size);
}

int link_alias(const char *name, char *alias, size_t size)
{
	struct wanted wanted = { IFLA_IFALIAS, alias, size };
	struct ifinfomsg info = {};
	struct nl_msg *msg = request(RTM_GETLINK, 0, &info, sizeof(info));

	*alias = '\0';
	nla_put_string(msg, IFLA_IFNAME, name);
	return talk(NETLINK_ROUTE, msg, read_link, &wanted);
}

static void read_info(struct nlmsghdr *hdr, void *arg)
{
	struct link_info *info = arg;
	struct nlattr *tb[IFLA_MAX + 1];

	if (nlmsg_parse(hdr, sizeof(struct ifinfomsg), tb, IFLA_MAX, NULL) < 0)
		return;
	if (tb[IFLA_IFNAME])
		nla_strlcpy(info->name, tb[IFLA_IFNAME], sizeof(info->name));
	if (tb[IFLA_QDISC])
		nla_strlcpy(info->qdisc, tb[IFLA_QDISC], sizeof(info->qdisc));
	if (tb[IFLA_MTU])
		info->mtu = nla_get_u32(tb[IFLA_MTU]);
	if (tb[IFLA_LINK])
		info->lower = nla_get_u32(tb[IFLA_LINK]);
	if (tb[IFLA_LINK_NETNSID])
		info->lower_netns = nla_get_u32(tb[IFLA_LINK_NETNSID]);
}

int link_read(int index, int netns, struct link_info *info)
{
	struct ifinfomsg header = { .ifi_index = index };
	struct nl_msg *msg = request(RTM_GETLINK, 0, &header, sizeof(header));

	memset(info, 0, sizeof(*info));
	info->lower_netns = -1;
	if (netns >= 0)
		nla_put_u32(msg, IFLA_TARGET_NETNSID, netns);
	return talk(NETLINK_ROUTE, msg, read_info, info);
}

/* passes link_netem()'s arguments on */
struct each_netem {
	int index;
	void (*each)(const struct link_netem *netem, void *arg);
	void *arg;
};

/* The attributes of netem follow a structure, and repeat its times in ns. */
static void read_qdisc(struct nlmsghdr *hdr, void *arg)
{
	const struct tcmsg *header = nlmsg_data(hdr);
	const struct each_netem *x = arg;
	struct nlattr *tb[TCA_MAX + 1], *more[TCA_NETEM_MAX + 1];
	struct tc_netem_qopt opt;
	struct link_netem netem = { .parent = header->tcm_parent };
	size_t skip = NLA_ALIGN(sizeof(opt));
	const double all = UINT32_MAX;

	if (header->tcm_ifindex != x->index ||
	    nlmsg_parse(hdr, sizeof(*header), tb, TCA_MAX, NULL) < 0 || !tb[TCA_KIND] ||
	    strcmp(nla_get_string(tb[TCA_KIND]), "netem") || !tb[TCA_OPTIONS] ||
	    nla_len(tb[TCA_OPTIONS]) < (int)sizeof(opt))
		return;
	memcpy(&opt, nla_data(tb[TCA_OPTIONS]), sizeof(opt));
	netem.loss = opt.loss / all;
	netem.duplicate = opt.duplicate / all;
	if (!nla_parse(more, TCA_NETEM_MAX,
		       (struct nlattr *)((char *)nla_data(tb[TCA_OPTIONS]) + skip),
		       nla_len(tb[TCA_OPTIONS]) - (int)skip, NULL)) {
		if (more[TCA_NETEM_LATENCY64])
			netem.delay = nla_get_u64(more[TCA_NETEM_LATENCY64]) / 1e3;
		netem.model = more[TCA_NETEM_LOSS];
		netem.rate = more[TCA_NETEM_RATE] && nla_get_u32(more[TCA_NETEM_RATE]);
		/* (their structures begin with it) */
		if (more[TCA_NETEM_CORRUPT])
			netem.corrupt = nla_get_u32(more[TCA_NETEM_CORRUPT]) / all;
		if (more[TCA_NETEM_REORDER])
			netem.reorder = nla_get_u32(more[TCA_NETEM_REORDER]) / all;
	}
	x->each(&netem, x->arg);
}

int link_netem(int index, void (*each)(const struct link_netem *netem, void *arg), void *arg)
{
	struct tcmsg header = { .tcm_ifindex = index };
	struct each_netem x = { index, each, arg };

	return talk(NETLINK_ROUTE, request(RTM_GETQDISC, NLM_F_DUMP, &header, sizeof(header)),
		    read_qdisc, &x);
}

/* ---- RDMA devices ------------------------------------------------------------ */

int rdma_link_add(const char *name, const char *type, const char *netdev)
{
	struct nl_msg *msg = request(RDMA_TYPE(RDMA_NLDEV_CMD_NEWLINK), 0, NULL, 0);

	nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nla_put_string(msg, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return talk(NETLINK_RDMA, msg, NULL, NULL);
}

/* an RDMA device to look for */
struct rdma_wanted {
	const char *name;
	int index;
};

static void read_rdma_device(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *name = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_DEV_NAME);
	struct nlattr *index = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_DEV_INDEX);
	struct rdma_wanted *wanted = arg;

	if (name && index && !strcmp(nla_get_string(name), wanted->name))
		wanted->index = nla_get_u32(index);
}

/* Return: the index of a device, or a negative errno. */
static int rdma_index(const char *name)
{
	struct rdma_wanted wanted = { name, -ENODEV };
	struct nl_msg *msg = request(RDMA_TYPE(RDMA_NLDEV_CMD_GET), NLM_F_DUMP, NULL,
				     0);

	return talk(NETLINK_RDMA, msg, read_rdma_device, &wanted) ?: wanted.index;
}

int rdma_link_delete(const char *name)
{
	int index = rdma_index(name);
	struct nl_msg *msg;

	if (index < 0)
		return index;
	msg = request(RDMA_TYPE(RDMA_NLDEV_CMD_DELLINK), 0, NULL, 0);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return talk(NETLINK_RDMA, msg, NULL, NULL);
}

/* passes rdma_devices()'s arguments on */
struct each_device {
	void (*each)(const char *name, uint32_t index, void *arg);
	void *arg;
};

static void read_each_device(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *name = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_DEV_NAME);
	struct nlattr *index = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_DEV_INDEX);
	const struct each_device *x = arg;

	if (name && index)
		x->each(nla_get_string(name), nla_get_u32(index), x->arg);
}

int rdma_devices(void (*each)(const char *name, uint32_t index, void *arg), void *arg)
{
	struct each_device x = { each, arg };

	return talk(NETLINK_RDMA, request(RDMA_TYPE(RDMA_NLDEV_CMD_GET), NLM_F_DUMP, NULL, 0),
		    read_each_device, &x);
}

/* passes rdma_counters()'s arguments on */
struct each_counter {
	void (*each)(const char *name, uint64_t value, void *arg);
	void *arg;
};

static void read_counters(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *all = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	struct nlattr *entry, *name, *value;
	const struct each_counter *x = arg;
	int rem;

	if (!all)
		return;
	nla_for_each_nested(entry, all, rem) {
		name = nla_find(nla_data(entry), nla_len(entry),
				RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		value = nla_find(nla_data(entry), nla_len(entry),
				 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
		if (name && value)
			x->each(nla_get_string(name), nla_get_u64(value), x->arg);
	}
}

int rdma_counters(uint32_t index, void (*each)(const char *name, uint64_t value, void *arg),
		  void *arg)
{
	struct nl_msg *msg = request(RDMA_TYPE(RDMA_NLDEV_CMD_STAT_GET), 0, NULL, 0);
	struct each_counter x = { each, arg };

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return talk(NETLINK_RDMA, msg, read_counters, &x);
}

/* a counter to look for */
struct counter_wanted {
	const char *name;
	uint64_t value;
};

static void find_counter(const char *name, uint64_t value, void *arg)
{
	struct counter_wanted *wanted = arg;

	if (!strcmp(name, wanted->name))
		wanted->value = value;
}

uint64_t rdma_counter(const char *device, const char *counter)
{
	struct counter_wanted wanted = { counter, 0 };
	int index = rdma_index(device);

	if (index >= 0)
		rdma_counters(index, find_counter, &wanted);
	return wanted.value;
}

/* passes rdma_qps()'s arguments on */
struct each_qp {
	void (*each)(struct nlattr *entry, void *arg);
	void *arg;
};

static void read_qps(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *all = nlmsg_find_attr(hdr, 0, RDMA_NLDEV_ATTR_RES_QP), *entry;
	const struct each_qp *x = arg;
	int rem;

	if (!all)
		return;
	nla_for_each_nested(entry, all, rem)
		x->each(entry, x->arg);
}

int rdma_qps(uint32_t index, bool raw, void (*each)(struct nlattr *entry, void *arg),
	     void *arg)
{
	int command = raw ? RDMA_NLDEV_CMD_RES_QP_GET_RAW : RDMA_NLDEV_CMD_RES_QP_GET;
	struct nl_msg *msg = request(RDMA_TYPE(command), NLM_F_DUMP, NULL, 0);
	struct each_qp x = { each, arg };

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return talk(NETLINK_RDMA, msg, read_qps, &x);
}

static void read_mode(struct nlmsghdr *hdr, void *arg)
{
	struct nlattr *mode = nlmsg_find_attr(hdr, 0,
					      RDMA_NLDEV_SYS_ATTR_NETNS_MODE);

	if (mode)
		*(int *)arg = nla_get_u8(mode);
}

bool rdma_is_exclusive(void)
{
	int shared = 1;

	talk(NETLINK_RDMA, request(RDMA_TYPE(RDMA_NLDEV_CMD_SYS_GET), 0, NULL, 0),
	     read_mode, &shared);
	return !shared;
}

int rdma_set_netns(const char *name, int netns)
{
	int index = rdma_index(name);
	struct nl_msg *msg;

	if (index < 0)
		return index;
	msg = request(RDMA_TYPE(RDMA_NLDEV_CMD_SET), 0, NULL, 0);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	nla_put_u32(msg, RDMA_NLDEV_NET_NS_FD, netns);
	return talk(NETLINK_RDMA, msg, NULL, NULL);
}
