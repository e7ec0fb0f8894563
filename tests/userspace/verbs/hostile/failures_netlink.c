// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Netlink requests with their first failure, their second, and so on
 * (failing.h): devices are created and removed, settings are read and set.
 *
 *   [NETDEV=NAME] failures_netlink [-d DEVICE] [TEST]...
 *
 * add_link creates and removes a device on NETDEV. settings must run in the
 * network namespace of the device.
 */
#include "util.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_netlink.h>

#include "failing.h"
#include "../../../../uapi/softhca-netlink.h"

/* ---- devices --------------------------------------------------------------------------- */

struct request {
	struct nlmsghdr hdr;
	uint8_t attrs[256];
};

static int netlink_fd = -1;

static struct request request_of(int command)
{
	return (struct request){
		.hdr.nlmsg_len = sizeof(struct nlmsghdr),
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.hdr.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
}

static void put(struct request *req, int type, const void *data, int len)
{
	struct nlattr *attr = (void *)((uint8_t *)req + req->hdr.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = sizeof(*attr) + len;
	memcpy(attr + 1, data, len);
	req->hdr.nlmsg_len += NLA_ALIGN(attr->nla_len);
}

/* Return: 0 or the errno of the reply. */
static int ask(const struct request *req)
{
	static struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		uint8_t rest[4096];
	} answer;
	ssize_t len;

	if (netlink_fd < 0) {
		netlink_fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
		REQUIRE(netlink_fd >= 0);
	}
	if (send(netlink_fd, req, req->hdr.nlmsg_len, 0) < 0)
		return errno;
	len = recv(netlink_fd, &answer, sizeof(answer), MSG_DONTWAIT);
	REQUIRE(len > 0 && answer.hdr.nlmsg_type == NLMSG_ERROR);
	return -answer.err.error;
}

#define LINK_NAME	"shca_fails"
#define LINK_PATH	"/sys/class/infiniband/" LINK_NAME

static void *make_link(void)
{
	struct request req = request_of(RDMA_NLDEV_CMD_NEWLINK);
	const char *netdev = getenv("NETDEV");

	put(&req, RDMA_NLDEV_ATTR_DEV_NAME, LINK_NAME, sizeof(LINK_NAME));
	put(&req, RDMA_NLDEV_ATTR_LINK_TYPE, "softhca", sizeof("softhca"));
	put(&req, RDMA_NLDEV_ATTR_NDEV_NAME, netdev, strlen(netdev) + 1);
	return outcome(ask(&req));
}

static int end_link(void *object)
{
	struct request req = request_of(RDMA_NLDEV_CMD_DELLINK);
	uint32_t index = 0;
	FILE *file;

	(void)object;
	/* The RDMA core numbers devices; only this command shows the index. */
	file = popen("rdma dev show " LINK_NAME, "r");
	REQUIRE(file && fscanf(file, "%u", &index) == 1);
	pclose(file);
	put(&req, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	return ask(&req);
}

/* The script has limited the failures to our own code. */
static void add_link(void)
{
	int failures;

	if (!getenv("NETDEV"))
		test_skip("NETDEV names no network device");
	failures = fail_make(&(struct verb){ make_link, end_link });
	REQUIRE(failures > 5);
	printf("# %d failures, and %d of the end\n", failures,
	       fail_end(&(struct verb){ make_link, end_link }));
	REQUIRE(access(LINK_PATH, F_OK));
}

/* ---- settings -------------------------------------------------------------------------- */

static int family, settings_fd = -1;

static struct request settings_of(int type, int command)
{
	struct request req = request_of(0);
	struct genlmsghdr genl = { .cmd = command, .version = 1 };

	req.hdr.nlmsg_type = type;
	memcpy(req.attrs, &genl, sizeof(genl));
	req.hdr.nlmsg_len += sizeof(genl);
	return req;
}

/* Return: 0 or an errno; @buf gets the first message. */
static int ask_settings(const struct request *req, void *buf, size_t len)
{
	struct nlmsghdr *hdr = buf;
	ssize_t got;

	if (send(settings_fd, req, req->hdr.nlmsg_len, 0) < 0)
		return errno == ENOBUFS ? ENOMEM : errno;
	got = recv(settings_fd, buf, len, MSG_DONTWAIT);
	if (got < 0)	/* no memory for the reply: it is lost, and the socket reports that */
		return errno == EAGAIN || errno == ENOBUFS ? ENOMEM : errno;
	/* the acknowledgement after a reply */
	while (recv(settings_fd, (uint8_t *)buf + len / 2, len / 2,
		    MSG_DONTWAIT) > 0)
		;
	if (hdr->nlmsg_type == NLMSG_ERROR)
		return -((struct nlmsgerr *)(hdr + 1))->error;
	return 0;
}

static void find_family(void)
{
	struct request req = settings_of(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	static uint8_t buf[16384] __attribute__((aligned(8)));
	const struct nlattr *attr;
	uint32_t at;

	settings_fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	put(&req, CTRL_ATTR_FAMILY_NAME, SHCA_GENL_NAME,
	    sizeof(SHCA_GENL_NAME));
	REQUIRE_EQ(ask_settings(&req, buf, sizeof(buf)), 0);
	for (at = NLMSG_HDRLEN + GENL_HDRLEN; !family; at += attr->nla_len) {
		at = NLA_ALIGN(at);
		attr = (void *)(buf + at);
		REQUIRE(at < sizeof(buf) / 2 && attr->nla_len);
		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			family = *(uint16_t *)(attr + 1);
	}
}

static void *setting(int command, int flags)
{
	static uint8_t buf[16384] __attribute__((aligned(8)));
	const char *name = ibv_get_device_name(nic_a()->ctx->device);
	struct request req = settings_of(family, command);
	uint8_t path = SHCA_PATH_AUTO;

	req.hdr.nlmsg_flags |= flags;
	put(&req, SHCA_A_DEV_NAME, name, strlen(name) + 1);
	if (command == SHCA_CMD_DEV_SET)
		put(&req, SHCA_A_PATH, &path, sizeof(path));
	return outcome(ask_settings(&req, buf, sizeof(buf)));
}

static void *get_setting(void)
{
	return setting(SHCA_CMD_DEV_GET, 0);
}

static void *dump_settings(void)
{
	return setting(SHCA_CMD_DEV_GET, NLM_F_DUMP);
}

static void *dump_fates(void)
{
	return setting(SHCA_CMD_FATE_GET, NLM_F_DUMP);
}

static void *set_setting(void)
{
	return setting(SHCA_CMD_DEV_SET, 0);
}

/* Must run in the device's network namespace. */
static void settings(void)
{
	int get, dump, fates, set;

	find_family();
	get = fail_make(&(struct verb){ get_setting, NULL });
	dump = fail_make(&(struct verb){ dump_settings, NULL });
	fates = fail_make(&(struct verb){ dump_fates, NULL });
	set = fail_make(&(struct verb){ set_setting, NULL });
	printf("# %d, %d, %d and %d failures\n", get, dump, fates, set);
	REQUIRE(get > 2 && dump > 2 && fates > 2 && set > 2);
}

static const struct test tests[] = {
	{ "add_link", add_link },
	{ "settings", settings },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
