// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What `rdma resource show` reads of objects, and with which privilege. It uses
 * the RDMA core's netlink without the tool, which takes a second to start. Each
 * kind is listed plain, with the driver's details, and raw, also while objects
 * of all kinds come and go. Processes without privilege must not see the
 * progress of a QP's traffic.
 *
 * A dump that reads freed memory is seen only if freed memory is poisoned: on a
 * kernel with KASAN, or with slub_debug=FZP.
 */
#define _GNU_SOURCE	/* SCHED_IDLE, O_TMPFILE */
#include "util.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* since 6.3; older kernels return EINVAL */
#define RES_SRQ_GET_RAW	25

/* ---- netlink ------------------------------------------------------------------- */

/**
 * struct kind - a kind of object that the RDMA core lists
 * @cmd: @raw:	commands for a list, and for raw dumps of the driver; 0 for none
 * @table: @entry:	attributes of the reply: a table, its entries
 */
struct kind {
	const char *name;
	int cmd;
	int raw;
	int table;
	int entry;
};

static const struct kind qps = {
	"qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_QP_GET_RAW,
	RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY
};

static const struct kind kinds[] = {
	{ "qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_QP_GET_RAW,
	  RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY },
	{ "cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_CMD_RES_CQ_GET_RAW,
	  RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY },
	{ "mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_CMD_RES_MR_GET_RAW,
	  RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY },
	{ "srq", RDMA_NLDEV_CMD_RES_SRQ_GET, RES_SRQ_GET_RAW,
	  RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY },
	{ "pd", RDMA_NLDEV_CMD_RES_PD_GET, 0,
	  RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY },
	{ "ctx", RDMA_NLDEV_CMD_RES_CTX_GET, 0,
	  RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY },
	{ "cm_id", RDMA_NLDEV_CMD_RES_CM_ID_GET, 0,
	  RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY },
	{ "counter", RDMA_NLDEV_CMD_STAT_GET, 0,
	  RDMA_NLDEV_ATTR_STAT_COUNTER, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY },
};

enum { PLAIN, DETAILS, RAW, FORMS };

typedef void each_fn(const struct nlattr *entry, void *arg);

static int nl_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct timeval wait = { .tv_sec = 20 * slow_factor() };
	int size = 1 << 20;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	REQUIRE(fd >= 0);
	REQUIRE_EQ(bind(fd, (void *)&addr, sizeof(addr)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return fd;
}

static size_t nl_put(uint8_t *p, uint16_t type, const void *data, size_t len)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };

	memset(p, 0, NLA_ALIGN(attr.nla_len));
	memcpy(p, &attr, sizeof(attr));
	memcpy(p + NLA_HDRLEN, data, len);
	return NLA_ALIGN(attr.nla_len);
}

static size_t nl_put_u32(uint8_t *p, uint16_t type, uint32_t value)
{
	return nl_put(p, type, &value, sizeof(value));
}

static size_t attr_len(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

static const void *attr_data(const struct nlattr *attr)
{
	return (const uint8_t *)attr + NLA_HDRLEN;
}

/* The attributes in @p, one after the other; NULL at the end. */
static const struct nlattr *attr_next(const void *p, size_t len,
				      const struct nlattr *attr)
{
	const uint8_t *at = p, *end = at + len;

	if (attr)
		at = (const uint8_t *)attr + NLA_ALIGN(attr->nla_len);
	if (at + NLA_HDRLEN > end)
		return NULL;
	attr = (const struct nlattr *)at;
	if (attr->nla_len < NLA_HDRLEN || at + attr->nla_len > end)
		FAIL("a broken attribute");
	return attr;
}

static const struct nlattr *attr_find(const struct nlattr *in, int type)
{
	const struct nlattr *attr = NULL;

	while ((attr = attr_next(attr_data(in), attr_len(in), attr)))
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

/* Return: whether the attribute exists. */
static bool attr_u32(const struct nlattr *in, int type, uint32_t *value)
{
	const struct nlattr *attr = attr_find(in, type);

	if (!attr)
		return false;
	REQUIRE_EQ(attr_len(attr), sizeof(*value));
	memcpy(value, attr_data(attr), sizeof(*value));
	return true;
}

/* Finds a number of the driver by its name. Return: whether it exists. */
static bool driver_u32(const struct nlattr *entry, const char *name,
		       uint32_t *value)
{
	const struct nlattr *driver = attr_find(entry, RDMA_NLDEV_ATTR_DRIVER);
	const struct nlattr *attr = NULL;
	bool found = false;

	while (driver &&
	       (attr = attr_next(attr_data(driver), attr_len(driver), attr))) {
		int type = attr->nla_type & NLA_TYPE_MASK;

		if (found && type == RDMA_NLDEV_ATTR_DRIVER_U32) {
			memcpy(value, attr_data(attr), sizeof(*value));
			return true;
		}
		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING)
			found = !strcmp(attr_data(attr), name);
	}
	return false;
}

static void each_entry(const struct nlmsghdr *msg, const struct kind *kind,
		       each_fn *each, void *arg)
{
	const struct nlattr *table = NULL, *entry;
	const void *body = NLMSG_DATA(msg);
	size_t len = NLMSG_PAYLOAD(msg, 0);

	while ((table = attr_next(body, len, table))) {
		if ((table->nla_type & NLA_TYPE_MASK) != kind->table)
			continue;
		entry = NULL;
		while ((entry = attr_next(attr_data(table), attr_len(table),
					  entry)))
			if (each &&
			    (entry->nla_type & NLA_TYPE_MASK) == kind->entry)
				each(entry, arg);
	}
}

static uint32_t device_index(void)
{
	int index = ibv_get_device_index(nic_a()->ctx->device);

	REQUIRE(index >= 0);
	return index;
}

static void ask(int fd, uint32_t index, const struct kind *kind, int form)
{
	const int cmd = form == RAW ? kind->raw : kind->cmd;
	struct {
		struct nlmsghdr hdr;
		uint8_t attrs[64];
	} req = { .hdr = {
		/* The macro has no parentheses around its arguments. */
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd),
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	} };
	uint8_t *p = req.attrs, yes = 1;

	p += nl_put_u32(p, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	if (kind->cmd == RDMA_NLDEV_CMD_STAT_GET)
		p += nl_put_u32(p, RDMA_NLDEV_ATTR_STAT_RES,
				RDMA_NLDEV_ATTR_RES_QP);
	if (form == DETAILS)
		p += nl_put(p, RDMA_NLDEV_ATTR_DRIVER_DETAILS, &yes, 1);
	req.hdr.nlmsg_len = p - (uint8_t *)&req;
	REQUIRE(send(fd, &req, req.hdr.nlmsg_len, 0) == (ssize_t)req.hdr.nlmsg_len);
}

/* Return: 0, or the errno at its end. */
static int dump(int fd, uint32_t index, const struct kind *kind, int form,
		each_fn *each, void *arg)
{
	static _Alignas(struct nlmsghdr) uint8_t buf[1 << 17];

	ask(fd, index, kind, form);
	for (;;) {
		const struct nlmsghdr *msg = (void *)buf;
		ssize_t len = recv(fd, buf, sizeof(buf), 0);
		int32_t err = 0;

		REQUIRE(len > 0);
		for (; NLMSG_OK(msg, len);
		     msg = NLMSG_NEXT(msg, len)) {
			if (msg->nlmsg_type == NLMSG_DONE ||
			    msg->nlmsg_type == NLMSG_ERROR) {
				if (NLMSG_PAYLOAD(msg, 0) >= sizeof(err))
					memcpy(&err, NLMSG_DATA(msg), sizeof(err));
				return -err;
			}
			each_entry(msg, kind, each, arg);
		}
	}
}

/* ---- dumps of one QP ---------------------------------------------------------- */

struct seen {
	uint32_t qpn;		/* the QP to find */
	unsigned int times;
	bool has_rq_psn, has_sq_psn, has_epsn, has_msn, has_entries;
	uint32_t rq_psn, sq_psn, epsn, msn, entries, state;
	size_t raw_len;
};

static void see_qp(const struct nlattr *entry, void *arg)
{
	const struct nlattr *raw = attr_find(entry, RDMA_NLDEV_ATTR_RES_RAW);
	struct seen *seen = arg;
	uint32_t qpn;

	if (raw) {
		/* size and number come first */
		REQUIRE(attr_len(raw) >= 8);
		memcpy(&qpn, (const uint8_t *)attr_data(raw) + 4, sizeof(qpn));
		if (qpn == seen->qpn)
			seen->raw_len = attr_len(raw);
		return;
	}
	if (!attr_u32(entry, RDMA_NLDEV_ATTR_RES_LQPN, &qpn) ||
	    qpn != seen->qpn)
		return;
	seen->times++;
	seen->has_rq_psn = attr_u32(entry, RDMA_NLDEV_ATTR_RES_RQ_PSN,
				    &seen->rq_psn);
	seen->has_sq_psn = attr_u32(entry, RDMA_NLDEV_ATTR_RES_SQ_PSN,
				    &seen->sq_psn);
	seen->has_epsn = driver_u32(entry, "epsn", &seen->epsn);
	seen->has_msn = driver_u32(entry, "msn", &seen->msn);
	seen->has_entries = driver_u32(entry, "sq_entries", &seen->entries);
}

static struct seen look(uint32_t qpn, int form)
{
	struct seen seen = { .qpn = qpn };
	int fd = nl_open();

	REQUIRE_EQ(dump(fd, device_index(), &qps, form, see_qp, &seen), 0);
	close(fd);
	return seen;
}

/* ---- privilege -------------------------------------------------------------------- */

enum { START = 0xfffff0, SENT = 100 };	/* the PSN wraps */

static struct end tx, rx;

/* SENT messages from @tx to @rx; the devices' PSNs are then START + SENT. */
static void send_some(void)
{
	struct config config = config_default;
	struct address to_tx, to_rx;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct buf from, to;
	int i;

	tx = end_make(nic_a(), &config);
	rx = end_make(nic_a(), &config);
	tx.psn = START;
	rx.psn = START;
	to_tx = end_address(&tx);
	to_rx = end_address(&rx);
	end_connect(&tx, &to_rx);
	end_connect(&rx, &to_tx);
	from = buf_make(nic_a()->pd, SENT, ACCESS_ALL);
	to = buf_make(nic_a()->pd, SENT, ACCESS_ALL);
	for (i = 0; i < SENT; i++) {
		sge = sge_of(&to, i, 1);
		post_recv(&rx, i, &sge, 1);
		sge = sge_of(&from, i, 1);
		wr = wr_send(i, &sge, 1);
		post(&tx, &wr);
		wait_ok(tx.scq, i, IBV_WC_SEND);
		wait_ok(rx.rcq, i, IBV_WC_RECV);
	}
}

static uint32_t query_sq_psn(struct ibv_qp *qp, int mask)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE_EQ(ibv_query_qp(qp, &attr, mask, &init), 0);
	return attr.sq_psn;
}

/* Runs @fn in another process, as root or without privilege. */
static void in_child(bool is_root, void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		if (!is_root)
			REQUIRE_EQ(setuid(65534), 0);
		fn();
		fflush(stdout);
		_exit(EXIT_SUCCESS);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	/* it has printed the reason */
	if (status)
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

static const uint32_t after = (START + SENT) & 0xffffff;

static void require_driver(const struct seen *seen)
{
	if (!seen->has_entries)
		test_skip("the driver shows no details");
}

static void nobody_looks(void)
{
	struct seen sender, receiver;
	int fd = nl_open();

	sender = look(tx.qp->qp_num, DETAILS);
	receiver = look(rx.qp->qp_num, DETAILS);
	REQUIRE_EQ(sender.times, 1);
	REQUIRE_EQ(receiver.times, 1);
	/* Only the PSNs that it was given; other details are there. */
	REQUIRE(sender.has_sq_psn && receiver.has_rq_psn);
	REQUIRE_EQ(sender.sq_psn, START);
	REQUIRE_EQ(receiver.rq_psn, START);
	REQUIRE(sender.has_entries && receiver.has_entries);
	REQUIRE(!sender.has_epsn && !sender.has_msn);
	REQUIRE(!receiver.has_epsn && !receiver.has_msn);
	REQUIRE_EQ(dump(fd, device_index(), &qps, RAW, NULL, NULL), EPERM);
	close(fd);
}

static void progress_is_not_for_everybody(void)
{
	struct seen seen;

	send_some();
	seen = look(tx.qp->qp_num, DETAILS);
	require_driver(&seen);
	in_child(false, nobody_looks);
}

static void root_looks(void)
{
	struct seen seen;

	seen = look(tx.qp->qp_num, DETAILS);
	require_driver(&seen);
	REQUIRE_EQ(seen.times, 1);
	REQUIRE_EQ(seen.sq_psn, after);
	seen = look(rx.qp->qp_num, DETAILS);
	REQUIRE_EQ(seen.rq_psn, START);
	REQUIRE(seen.has_epsn && seen.has_msn);
	REQUIRE_EQ(seen.epsn, after);
	REQUIRE_EQ(seen.msn, SENT);
	seen = look(rx.qp->qp_num, RAW);
	REQUIRE(seen.raw_len);
}

static void progress_is_for_the_administrator(void)
{
	send_some();
	in_child(true, root_looks);
}

/* The owner without privilege sees its own QPs. */
static void owner_asks(void)
{
	struct seen seen;

	send_some();
	REQUIRE_EQ(query_sq_psn(tx.qp, IBV_QP_SQ_PSN), after);
	REQUIRE_EQ(query_sq_psn(tx.qp, IBV_QP_STATE), after);
	REQUIRE_EQ(query_sq_psn(tx.qp, 0), after);
	seen = look(rx.qp->qp_num, DETAILS);
	require_driver(&seen);
	REQUIRE(seen.has_epsn);
	REQUIRE_EQ(seen.epsn, after);
}

static void progress_is_for_the_owner(void)
{
	in_child(false, owner_asks);
}

/* ---- an object of each kind ------------------------------------------------------------ */

/** struct zoo - an object of each listed kind */
struct zoo {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp[5];
	int nr_qp;
	int cm;			/* /dev/infiniband/rdma_cm, or -1 */
	uint32_t cm_id;
};

static uint8_t memory[8192] __attribute__((aligned(4096)));

static struct ibv_qp *zoo_qp(struct zoo *zoo, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = zoo->cq,
		.recv_cq = zoo->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = zoo->pd,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		init = (struct ibv_qp_init_attr_ex){
			.qp_type = type,
			.comp_mask = IBV_QP_INIT_ATTR_XRCD,
			.xrcd = zoo->xrcd,
		};
	} else if (type == IBV_QPT_XRC_SEND) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = 0;
		init.cap.max_recv_sge = 0;
	} else if (type == IBV_QPT_RC) {
		init.srq = zoo->srq;
	}
	qp = ibv_create_qp_ex(zoo->ctx, &init);
	if (!qp)
		FAIL("ibv_create_qp_ex of type %d: %s", type, strerror(errno));
	return qp;
}

/* The QP can then be bound to a counter. */
static void zoo_init_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				 IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), 0);
}

static int cm_write(struct zoo *zoo, int cmd, void *body, size_t len, int out)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = cmd, .in = len, .out = out };
	uint8_t msg[sizeof(hdr) + 256];

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, len);
	return write(zoo->cm, msg, sizeof(hdr) + len) < 0 ? errno : 0;
}

/* Bound to the device's address, so to the device. */
static void zoo_cm_open(struct zoo *zoo)
{
	struct rdma_ucm_create_id_resp made;
	struct rdma_ucm_create_id create = {
		.response = (uintptr_t)&made,
		.ps = RDMA_PS_TCP,
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_ucm_bind_ip bind_ip = {};
	const uint8_t *gid = nic_a()->gid.raw;

	zoo->cm = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	if (zoo->cm < 0)
		return;
	REQUIRE_EQ(cm_write(zoo, RDMA_USER_CM_CMD_CREATE_ID, &create,
			    sizeof(create), sizeof(made)), 0);
	zoo->cm_id = made.id;
	bind_ip.id = made.id;
	if (gid[0]) {
		bind_ip.addr.sin6_family = AF_INET6;
		memcpy(&bind_ip.addr.sin6_addr, gid, 16);
	} else {
		struct sockaddr_in in = { .sin_family = AF_INET };

		memcpy(&in.sin_addr, gid + 12, 4);
		memcpy(&bind_ip.addr, &in, sizeof(in));
	}
	REQUIRE_EQ(cm_write(zoo, RDMA_USER_CM_CMD_BIND_IP, &bind_ip,
			    sizeof(bind_ip), 0), 0);
}

static void zoo_cm_close(struct zoo *zoo)
{
	struct rdma_ucm_destroy_id_resp gone;
	struct rdma_ucm_destroy_id destroy = {
		.response = (uintptr_t)&gone,
		.id = zoo->cm_id,
	};

	if (zoo->cm < 0)
		return;
	REQUIRE_EQ(cm_write(zoo, RDMA_USER_CM_CMD_DESTROY_ID, &destroy,
			    sizeof(destroy), sizeof(gone)), 0);
	close(zoo->cm);
}

static void zoo_open(struct zoo *zoo)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	memset(zoo, 0, sizeof(*zoo));
	zoo->ctx = ibv_open_device(nic_a()->ctx->device);
	REQUIRE(zoo->ctx);
	zoo->pd = ibv_alloc_pd(zoo->ctx);
	zoo->cq = ibv_create_cq(zoo->ctx, 16, NULL, NULL, 0);
	REQUIRE(zoo->pd && zoo->cq);
	zoo->srq = ibv_create_srq(zoo->pd, &srq);
	zoo->mr = ibv_reg_mr(zoo->pd, memory, sizeof(memory), ACCESS_ALL);
	REQUIRE(zoo->srq && zoo->mr);
	zoo->qp[zoo->nr_qp++] = zoo_qp(zoo, IBV_QPT_RC);
	zoo->qp[zoo->nr_qp++] = zoo_qp(zoo, IBV_QPT_UC);
	zoo->qp[zoo->nr_qp++] = zoo_qp(zoo, IBV_QPT_UD);
	if (nic_a()->attr.device_cap_flags & IBV_DEVICE_XRC) {
		zoo->xrcd = ibv_open_xrcd(zoo->ctx, &xrcd);
		REQUIRE(zoo->xrcd);
		zoo->qp[zoo->nr_qp++] = zoo_qp(zoo, IBV_QPT_XRC_SEND);
		zoo->qp[zoo->nr_qp++] = zoo_qp(zoo, IBV_QPT_XRC_RECV);
	}
	zoo_cm_open(zoo);
}

static void zoo_close(struct zoo *zoo)
{
	zoo_cm_close(zoo);
	while (zoo->nr_qp)
		REQUIRE_EQ(ibv_destroy_qp(zoo->qp[--zoo->nr_qp]), 0);
	if (zoo->xrcd)
		REQUIRE_EQ(ibv_close_xrcd(zoo->xrcd), 0);
	REQUIRE_EQ(ibv_dereg_mr(zoo->mr), 0);
	REQUIRE_EQ(ibv_destroy_srq(zoo->srq), 0);
	REQUIRE_EQ(ibv_destroy_cq(zoo->cq), 0);
	REQUIRE_EQ(ibv_dealloc_pd(zoo->pd), 0);
	REQUIRE_EQ(ibv_close_device(zoo->ctx), 0);
}

static void count_entry(const struct nlattr *entry, void *arg)
{
	(void)entry;
	++*(unsigned int *)arg;
}

/* Lists @kind in @form. Return: entries, or -1 if the kernel has no such dump. */
static int count(int fd, uint32_t index, const struct kind *kind, int form)
{
	unsigned int nr = 0;
	int err;

	if (form == RAW && !kind->raw)
		return -1;
	err = dump(fd, index, kind, form, count_entry, &nr);
	if (err == EINVAL && kind->raw == RES_SRQ_GET_RAW && form == RAW)
		return -1;
	if (err)
		FAIL("dump of %s, form %d: %s", kind->name, form, strerror(err));
	return nr;
}

static void each_kind_is_listed(void)
{
	uint32_t index = device_index();
	int fd = nl_open(), form, nr;
	struct zoo zoo;
	size_t i;

	zoo_open(&zoo);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i];

		for (form = 0; form < FORMS; form++) {
			nr = count(fd, index, kind, form);
			printf("# %s, form %d: %d\n", kind->name, form, nr);
			if (kind->cmd == RDMA_NLDEV_CMD_STAT_GET ||
			    (kind->cmd == RDMA_NLDEV_CMD_RES_CM_ID_GET &&
			     zoo.cm < 0))
				continue;
			if (!nr)
				FAIL("no %s in form %d", kind->name, form);
		}
	}
	zoo_close(&zoo);
}

/* ---- objects that come and go --------------------------------------------------------- */

/* Runs until the test's own process ends it. */
static void come_and_go(void)
{
	struct zoo zoo;
	int i;

	for (;;) {
		zoo_open(&zoo);
		for (i = 0; i < 16; i++) {
			struct ibv_qp *qp = zoo_qp(&zoo, IBV_QPT_UC);

			zoo_init_qp(qp);
			REQUIRE_EQ(ibv_destroy_qp(qp), 0);
			REQUIRE_EQ(ibv_rereg_mr(zoo.mr, IBV_REREG_MR_CHANGE_ACCESS,
						NULL, NULL, 0,
						i & 1 ? ACCESS_ALL : 0), 0);
		}
		zoo_close(&zoo);
	}
}

/* Binds QPs to counters by listed numbers; the QPs may be gone by then. */
static void bind_entry(const struct nlattr *entry, void *arg)
{
	struct {
		struct nlmsghdr hdr;
		uint8_t attrs[96];
	} req = { .hdr = {
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
					       RDMA_NLDEV_CMD_STAT_SET),
		.nlmsg_flags = NLM_F_REQUEST,
	} };
	uint8_t *p = req.attrs, answer[8192];
	const int *to = arg;
	uint32_t qpn;

	if (!attr_u32(entry, RDMA_NLDEV_ATTR_RES_LQPN, &qpn) || qpn < 2)
		return;
	p += nl_put_u32(p, RDMA_NLDEV_ATTR_DEV_INDEX, to[1]);
	p += nl_put_u32(p, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	p += nl_put_u32(p, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	p += nl_put_u32(p, RDMA_NLDEV_ATTR_STAT_MODE,
			RDMA_COUNTER_MODE_MANUAL);
	p += nl_put_u32(p, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	req.hdr.nlmsg_len = p - (uint8_t *)&req;
	REQUIRE(send(to[0], &req, req.hdr.nlmsg_len, 0) == (ssize_t)req.hdr.nlmsg_len);
	/* a number, or the reason for its lack */
	REQUIRE(recv(to[0], answer, sizeof(answer), 0) > 0);
}

/* All other processes have priority, so it is interrupted wherever possible. */
static void go_last(void)
{
	const struct sched_param param = {};

	REQUIRE_EQ(sched_setscheduler(0, SCHED_IDLE, &param), 0);
}

static uint32_t standing;	/* a QP that stays */

/* Dumps everything for @seconds. Return: number of QP dumps. */
static unsigned int dump_all(int seconds, bool bind)
{
	uint64_t end = millis() + seconds * 1000;
	uint32_t index = device_index();
	struct seen seen = { .qpn = standing };
	int fd = nl_open(), to[2] = { nl_open(), index }, form;
	unsigned int nr = 0;
	size_t i;

	do {
		for (form = 0; form < FORMS; form++) {
			for (i = 0; i < ARRAY_SIZE(kinds); i++)
				count(fd, index, &kinds[i], form);
			REQUIRE_EQ(dump(fd, index, &qps, form, see_qp, &seen), 0);
			nr++;
		}
		if (bind)
			REQUIRE_EQ(dump(fd, index, &qps, PLAIN, bind_entry, to), 0);
	} while (millis() < end);
	printf("# %u dumps of QPs, %u times with the one that stays\n", nr,
	       seen.times);
	REQUIRE(seen.times);
	close(fd);
	close(to[0]);
	return nr;
}

static void dump_last(void)
{
	go_last();
	for (;;)
		dump_all(1, false);
}

static void bind_last(void)
{
	go_last();
	for (;;)
		dump_all(1, true);
}

static pid_t start(void (*fn)(void))
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
	}
	return pid;
}

/* Half of the processes create QPs and related objects, the other half lists them. */
static void objects_come_and_go(void)
{
	static void (*const fns[])(void) = {
		come_and_go, come_and_go, come_and_go,
		dump_last, dump_last, bind_last,
	};
	int seconds = getenv("SHCA_SOAK") ? 60 : 6, status;
	pid_t pids[ARRAY_SIZE(fns)];
	struct zoo zoo;
	size_t i;

	zoo_open(&zoo);
	standing = zoo.qp[1]->qp_num;
	for (i = 0; i < ARRAY_SIZE(fns); i++)
		pids[i] = start(fns[i]);
	dump_all(seconds, false);
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		/* A process that has ended has found an error. */
		REQUIRE_EQ(waitpid(pids[i], &status, WNOHANG), 0);
		kill(pids[i], SIGKILL);
		REQUIRE(waitpid(pids[i], &status, 0) == pids[i]);
	}
	dump_all(0, false);
	zoo_close(&zoo);
}

static const struct test tests[] = {
	{ "each_kind_is_listed", each_kind_is_listed },
	{ "progress_is_for_the_administrator", progress_is_for_the_administrator },
	{ "progress_is_for_the_owner", progress_is_for_the_owner },
	{ "progress_is_not_for_everybody", progress_is_not_for_everybody },
	{ "objects_come_and_go", objects_come_and_go },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
