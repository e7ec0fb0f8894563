// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Garbled requests to the two netlink families for RDMA devices: softhca's
 * generic one, and the RDMA core's, whose dumps reach the driver.
 *
 *   garble_netlink -s SEED -t SECONDS [-d DEVICE] [-r] [-n RULES] [-b RULES] [-w MS]
 *
 * It runs without privileges, beside programs that create and destroy objects.
 * It also sends requests that need privileges. With -r it has CAP_NET_ADMIN, and sends
 * rules of fault injection only; -n ends it after so many have been made. -b: so many are
 * in force together for -w milliseconds, and are deleted then. Otherwise the first few
 * that hit everything would keep the others from being asked.
 *
 * The same seed sends the same requests. "requests ...: HASH" at the end shows it.
 */
#include "garble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "../../../uapi/softhca-netlink.h"

/**
 * struct message - a request as bytes
 * @len:	its true length; the header may have another
 */
struct message {
	uint32_t len;
	uint8_t bytes[2048] __attribute__((aligned(8)));
};

static struct rng rng;
static bool rules;
static const char *device = "shca_a";

static void begin(struct message *msg, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *hdr = (void *)msg->bytes;

	memset(msg, 0, sizeof(*msg));
	msg->len = sizeof(*hdr);
	hdr->nlmsg_type = type;
	hdr->nlmsg_flags = NLM_F_REQUEST | flags;
	hdr->nlmsg_seq = below(&rng, 1000);
}

static void put(struct message *msg, uint16_t type, const void *data,
		uint16_t len)
{
	struct nlattr attr = { .nla_len = sizeof(attr) + len, .nla_type = type };

	if (msg->len + sizeof(attr) + NLA_ALIGN(len) > sizeof(msg->bytes))
		return;
	memcpy(msg->bytes + msg->len, &attr, sizeof(attr));
	memcpy(msg->bytes + msg->len + sizeof(attr), data, len);
	msg->len += sizeof(attr) + NLA_ALIGN(len);
}

static void put_u32(struct message *msg, uint16_t type, uint32_t value)
{
	put(msg, type, &value, sizeof(value));
}

static void finish(struct message *msg)
{
	((struct nlmsghdr *)msg->bytes)->nlmsg_len = msg->len;
}

/* ---- sockets --------------------------------------------------------------------------- */

static int open_socket(int protocol)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, protocol);
	int on = 1;

	if (fd < 0 || bind(fd, (void *)&addr, sizeof(addr))) {
		perror("netlink");
		exit(1);
	}
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	/* With strict checks, some dumps parse their attributes. */
	if (one_in(&rng, 2))
		setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on,
			   sizeof(on));
	if (one_in(&rng, 4)) {
		int small = 1024;

		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	}
	return fd;
}

static unsigned long answers, errors, made;

/* FNV-1a. The number of softhca's family, which differs between boots, does not count. */
static void hash_requests(uint64_t *hash, const struct message *msg, int family)
{
	struct nlmsghdr hdr;
	uint32_t i;

	memcpy(&hdr, msg->bytes, sizeof(hdr));
	if (hdr.nlmsg_type == family)
		hdr.nlmsg_type = 0;
	for (i = 0; i < msg->len; i++) {
		uint8_t byte = i < sizeof(hdr) ? ((uint8_t *)&hdr)[i] : msg->bytes[i];

		*hash = (*hash ^ byte) * 0x100000001b3ull;
	}
}

/* Not always to the end: closing the socket frees unread dumps. */
static void drain(int fd)
{
	static uint8_t buf[32768];
	ssize_t len;

	/* (rules are counted, so all answers to them are read) */
	while ((rules || !one_in(&rng, 64)) && (len = recv(fd, buf, sizeof(buf), 0)) > 0) {
		const struct nlmsghdr *hdr = (void *)buf;

		const struct genlmsghdr *genl = (void *)(hdr + 1);

		if (hdr->nlmsg_type == NLMSG_ERROR)
			errors++;
		else
			answers++;
		if (hdr->nlmsg_type >= NLMSG_MIN_TYPE &&
		    genl->cmd == SHCA_CMD_FAULT_ADD)
			made++;
	}
}

static int find_family(int fd)
{
	struct message msg;
	uint8_t buf[4096];
	struct genlmsghdr genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	ssize_t len, at;

	begin(&msg, GENL_ID_CTRL, 0);
	memcpy(msg.bytes + msg.len, &genl, sizeof(genl));
	msg.len += sizeof(genl);
	put(&msg, CTRL_ATTR_FAMILY_NAME, SHCA_GENL_NAME, sizeof(SHCA_GENL_NAME));
	finish(&msg);
	if (send(fd, msg.bytes, msg.len, 0) < 0)
		return 0;
	len = recv(fd, buf, sizeof(buf), 0);
	for (at = sizeof(struct nlmsghdr) + sizeof(genl); at + 4 < len;) {
		const struct nlattr *attr = (void *)(buf + at);

		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)(attr + 1);
		at += NLA_ALIGN(attr->nla_len);
		if (attr->nla_len < sizeof(*attr))
			break;
	}
	return 0;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* What a kind of fault needs, if it needs anything, with a value that is good. */
static void put_needed(struct message *nest, uint64_t what)
{
	uint64_t delay = below(&rng, 3000000);
	uint32_t distance = 1 + below(&rng, 64), error = 1 + below(&rng, 133);
	uint8_t status = 1 + below(&rng, 21), nak = below(&rng, SHCA_FAULT_NAK_NR);
	uint8_t verb = below(&rng, SHCA_FAULT_VERB_NR), event = below(&rng, 19);

	switch (what) {
	case SHCA_FAULT_DELAY:
	case SHCA_FAULT_DELAY_DOORBELL:
		put(nest, SHCA_FA_DELAY, &delay, sizeof(delay));
		break;
	case SHCA_FAULT_REORDER:
		put_u32(nest, SHCA_FA_DISTANCE, distance);
		break;
	case SHCA_FAULT_NAK:
		put(nest, SHCA_FA_NAK, &nak, 1);
		break;
	case SHCA_FAULT_COMPLETE:
		put(nest, SHCA_FA_STATUS, &status, 1);
		break;
	case SHCA_FAULT_FAIL:
		put(nest, SHCA_FA_VERB, &verb, 1);
		put_u32(nest, SHCA_FA_ERRNO, error);
		break;
	case SHCA_FAULT_EVENT:
		put(nest, SHCA_FA_EVENT, &event, 1);
		break;
	}
}

/* Numbers that mostly rise. */
static void put_at(struct message *nest)
{
	uint32_t list[80], nr = below(&rng, ARRAY_SIZE(list)), i, last = 0;

	for (i = 0; i < nr; i++)
		list[i] = last += below(&rng, 64) + !one_in(&rng, 64);
	put(nest, SHCA_FA_AT, list, nr * sizeof(*list));
}

/* A rule of plausible attributes; without CAP_NET_ADMIN it is refused late or early. */
static void put_rule(struct message *msg)
{
	struct message nest = {};
	uint64_t value;
	uint32_t i;
	/* Lengths of the attributes, by enum shca_fault_attr; 0: a flag */
	static const uint8_t lengths[SHCA_FA_MAX + 1] = {
		[SHCA_FA_ID] = 4, [SHCA_FA_WHAT] = 1, [SHCA_FA_RX] = 0,
		[SHCA_FA_QPN] = 4, [SHCA_FA_OPCODE] = 1, [SHCA_FA_TYPE] = 1,
		[SHCA_FA_PSN] = 4, [SHCA_FA_PSN_LAST] = 4, [SHCA_FA_WR_ID] = 8,
		[SHCA_FA_PID] = 4, [SHCA_FA_PROBABILITY] = 4, [SHCA_FA_SEED] = 8,
		[SHCA_FA_EVERY] = 4, [SHCA_FA_NTH] = 4, [SHCA_FA_COUNT] = 4,
		[SHCA_FA_AFTER] = 8, [SHCA_FA_FOR] = 8, [SHCA_FA_DELAY] = 8,
		[SHCA_FA_JITTER] = 8, [SHCA_FA_DISTANCE] = 4,
		[SHCA_FA_STATUS] = 1, [SHCA_FA_NAK] = 1, [SHCA_FA_VERB] = 1,
		[SHCA_FA_ERRNO] = 4, [SHCA_FA_EVENT] = 1, [SHCA_FA_SEEN] = 8,
		[SHCA_FA_HITS] = 8, [SHCA_FA_AT] = 8, [SHCA_FA_LOG] = 8,
		[SHCA_FA_MSG] = 4, [SHCA_FA_MSG_LAST] = 4, [SHCA_FA_VA] = 8,
		[SHCA_FA_VA_LAST] = 8, [SHCA_FA_RKEY] = 4, [SHCA_FA_CQN] = 4,
		[SHCA_FA_CGROUP] = 2, [SHCA_FA_DIST] = 1,
	};

	value = one_in(&rng, 16) ? SHCA_FAULT_NR : below(&rng, SHCA_FAULT_NR);
	put(&nest, SHCA_FA_WHAT, &value, 1);
	if (!one_in(&rng, 8))
		put_needed(&nest, value);
	if (one_in(&rng, 6))
		put_at(&nest);
	/* Most end soon: the first of those that last decides for the others. */
	if (!one_in(&rng, 8))
		put_u32(&nest, SHCA_FA_COUNT, 1 + below(&rng, 16));
	for (i = one_in(&rng, 2) ? 0 : below(&rng, 5); i; i--) {
		uint16_t attr = 1 + below(&rng, SHCA_FA_MAX + 1);

		value = one_in(&rng, 3) ? rng_next(&rng) : below(&rng, 64);
		/* (the root, which there is always) */
		if (attr == SHCA_FA_CGROUP && one_in(&rng, 2))
			value = '/';
		put(&nest, attr, &value,
		    attr <= SHCA_FA_MAX && !one_in(&rng, 8) ? lengths[attr] :
		    below(&rng, 9));
	}
	put(msg, SHCA_A_FAULT | NLA_F_NESTED, nest.bytes, nest.len);
}

static void make_genl(struct message *msg, int family)
{
	struct genlmsghdr genl = {
		.cmd = one_in(&rng, 8) ? below(&rng, 256) :
					 1 + below(&rng, SHCA_CMD_MAX),
		.version = SHCA_GENL_VERSION,
	};
	uint16_t u16 = below(&rng, 130);
	uint8_t u8 = below(&rng, 5);

	begin(msg, family, one_in(&rng, 2) ? NLM_F_DUMP : NLM_F_ACK);
	memcpy(msg->bytes + msg->len, &genl, sizeof(genl));
	msg->len += sizeof(genl);
	if (!one_in(&rng, 4))
		put(msg, SHCA_A_DEV_NAME, device, strlen(device) + 1);
	if (one_in(&rng, 2))
		put(msg, SHCA_A_PATH, &u8, sizeof(u8));
	if (one_in(&rng, 2))
		put(msg, SHCA_A_PKEY_INDEX, &u16, sizeof(u16));
	if (!one_in(&rng, 3))
		put_rule(msg);
	if (one_in(&rng, 2))
		put(msg, SHCA_A_PKEY, &u16, sizeof(u16));
	finish(msg);
}

/* Rules only, of one who may make them: some of them are good. */
static void make_rule(struct message *msg, int family)
{
	struct genlmsghdr genl = {
		.cmd = one_in(&rng, 20) ? SHCA_CMD_FAULT_DEL :
		       one_in(&rng, 20) ? SHCA_CMD_FAULT_GET : SHCA_CMD_FAULT_ADD,
		.version = SHCA_GENL_VERSION,
	};

	begin(msg, family, genl.cmd == SHCA_CMD_FAULT_GET ? NLM_F_DUMP : NLM_F_ACK);
	memcpy(msg->bytes + msg->len, &genl, sizeof(genl));
	msg->len += sizeof(genl);
	if (genl.cmd == SHCA_CMD_FAULT_ADD || one_in(&rng, 2))
		put(msg, SHCA_A_DEV_NAME, device, strlen(device) + 1);
	if (genl.cmd == SHCA_CMD_FAULT_ADD)
		put_rule(msg);
	finish(msg);
}

/* All rules of the device go. */
static void delete_rules(int fd, int family)
{
	struct genlmsghdr genl = {
		.cmd = SHCA_CMD_FAULT_DEL,
		.version = SHCA_GENL_VERSION,
	};
	struct message msg;

	begin(&msg, family, NLM_F_ACK);
	memcpy(msg.bytes + msg.len, &genl, sizeof(genl));
	msg.len += sizeof(genl);
	put(&msg, SHCA_A_DEV_NAME, device, strlen(device) + 1);
	finish(&msg);
	send(fd, msg.bytes, msg.len, 0);
	drain(fd);
}

static void make_rdma(struct message *msg)
{
	uint32_t op = below(&rng, RDMA_NLDEV_NUM_OPS + 1), i;
	uint32_t client = one_in(&rng, 32) ? below(&rng, 8) : RDMA_NL_NLDEV;

	/* A HELLO to iw_cm that requests a dump deadlocks, and blocks the
	 * socket forever. That is a defect of the RDMA core, see
	 * README.md.
	 */
	if (client == RDMA_NL_IWCM && !getenv("GARBLE_DEFECTS"))
		client = RDMA_NL_NLDEV;

	begin(msg, RDMA_NL_GET_TYPE(client, op),
	      one_in(&rng, 3) ? NLM_F_ACK : NLM_F_DUMP);
	if (!one_in(&rng, 8))
		put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, below(&rng, 4));
	if (!one_in(&rng, 3))
		put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, below(&rng, 3));
	/* Attributes that name an object of one kind or another. */
	for (i = below(&rng, 4); i; i--) {
		static const uint16_t ids[] = {
			RDMA_NLDEV_ATTR_RES_LQPN, RDMA_NLDEV_ATTR_RES_CQN,
			RDMA_NLDEV_ATTR_RES_MRN, RDMA_NLDEV_ATTR_RES_PDN,
			RDMA_NLDEV_ATTR_RES_CM_IDN, RDMA_NLDEV_ATTR_RES_CTXN,
			RDMA_NLDEV_ATTR_RES_SRQN, RDMA_NLDEV_ATTR_STAT_MODE,
			RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
			RDMA_NLDEV_ATTR_CHARDEV_TYPE, RDMA_NLDEV_NET_NS_FD,
			RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK,
		};

		put_u32(msg, ids[below(&rng, ARRAY_SIZE(ids))],
			below(&rng, one_in(&rng, 4) ? 1 << 24 : 32));
	}
	if (one_in(&rng, 8))
		put(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 7);
	finish(msg);
}

static void garble_message(struct message *msg)
{
	struct nlmsghdr *hdr = (void *)msg->bytes;
	int times;

	for (times = below(&rng, 4); times; times--) {
		switch (below(&rng, 6)) {
		case 0:
			hdr->nlmsg_len += below(&rng, 33) - 16;
			break;
		case 1:
			hdr->nlmsg_flags ^= 1 << below(&rng, 16);
			break;
		case 2:
			msg->len = sizeof(*hdr) +
				   below(&rng, msg->len - sizeof(*hdr) + 1);
			break;
		default:
			if (msg->len > sizeof(*hdr))
				msg->bytes[sizeof(*hdr) +
					   below(&rng, msg->len - sizeof(*hdr))] ^=
					1 << below(&rng, 8);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long sent = 0, enough = ~0ul, batch = ~0ul, begun = 0;
	int seconds = 10, wait_ms = 0, opt, family, genl, rdma;
	uint64_t hash = 0xcbf29ce484222325ull;
	struct message msg;
	time_t end;

	while ((opt = getopt(argc, argv, "s:t:d:rn:b:w:")) > 0) {
		switch (opt) {
		case 's':
			rng.state = strtoull(optarg, NULL, 0);
			break;
		case 't':
			seconds = atoi(optarg);
			break;
		case 'd':
			device = optarg;
			break;
		case 'r':
			rules = true;
			break;
		case 'n':
			enough = strtoul(optarg, NULL, 0);
			break;
		case 'b':
			batch = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			wait_ms = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	genl = open_socket(NETLINK_GENERIC);
	rdma = open_socket(NETLINK_RDMA);
	family = find_family(genl);
	for (end = time(NULL) + seconds; time(NULL) < end && made < enough;
	     sent++) {
		int fd = rules || (family && one_in(&rng, 3)) ? genl : rdma;

		if (rules)
			make_rule(&msg, family);
		else if (fd == genl)
			make_genl(&msg, family);
		else
			make_rdma(&msg);
		if (!rules || one_in(&rng, 4))
			garble_message(&msg);
		hash_requests(&hash, &msg, family);
		send(fd, msg.bytes, msg.len, 0);
		drain(fd);
		if (made - begun >= batch) {
			usleep(wait_ms * 1000);
			delete_rules(genl, family);
			begun = made;
		}
		if (one_in(&rng, 200)) {
			close(genl);
			close(rdma);
			genl = open_socket(NETLINK_GENERIC);
			rdma = open_socket(NETLINK_RDMA);
		}
	}
	printf("garble_netlink: family %d, %lu answers, %lu refusals, %lu rules\n",
	       family, answers, errors, made);
	printf("requests %lu: %016llx\n", sent, (unsigned long long)hash);
	return answers && (enough == ~0ul || made >= enough) ? 0 : 1;
}
