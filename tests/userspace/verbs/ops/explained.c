// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * softhca explain: each test makes a mistake as programs make them. Then it asks
 * the tool what went wrong, at the end that failed and at the other one.
 */
#include "util.h"

#include <sys/wait.h>
#include <unistd.h>

#define LEN	(16 * KIB)
#define QKEY	0x11111111

static struct end a, b;
static struct buf mem_a, mem_b;

static void connect_with(const struct config *config)
{
	pair_make(&a, &b, config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
}

/* Runs the tool on a queue pair. Return: its exit status, with its output in @said. */
static int ask(const char *as, const struct end *end, uint32_t qpn, char *said,
	       size_t size)
{
	char command[256];
	size_t used;
	FILE *tool;

	snprintf(command, sizeof(command), "%s softhca explain %s/%#x 2>&1", as,
		 ibv_get_device_name(end->nic->ctx->device), qpn);
	tool = popen(command, "r");
	REQUIRE(tool);
	used = fread(said, 1, size - 1, tool);
	said[used] = '\0';
	return WEXITSTATUS(pclose(tool));
}

/*
 * The tool tells of this queue pair, and the text is in what it says. It may take a
 * moment until the other end has looked at the packet.
 */
static void explains_qpn(const struct end *end, uint32_t qpn, const char *text)
{
	uint64_t until = millis() + 5000 * slow_factor();
	char said[16384];
	int status;

	do {
		status = ask("", end, qpn, said, sizeof(said));
		if (!status && strstr(said, text))
			return;
	} while (millis() < until);
	printf("# %s\n", said);
	FAIL("status %d, expected \"%s\"", status, text);
}

static void explains(const struct end *end, const char *text)
{
	explains_qpn(end, end->qp->qp_num, text);
}

static void write_to(uint64_t addr, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 64);
	struct ibv_send_wr wr = wr_rdma(7, IBV_WR_RDMA_WRITE, &sge, 1, addr, rkey);

	post(&a, &wr);
	wait_status(a.scq, 7, status);
}

/* ---- keys, rights, ranges ---------------------------------------------------- */

static void remote_key(void)
{
	connect_with(&config_default);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey ^ 0x5a5a5a00,
		 IBV_WC_REM_ACCESS_ERR);
	explains(&a, "the WRITE with wr_id 0x7 completed with REM_ACCESS_ERR");
	explains(&a, "The peer refused access to its memory.");
	explains(&a, "- the rkey is wrong");
	explains(&b, "The rkey of a request of the peer is not one of a memory region");
	explains(&b, "the packet WRITE");
}

static void remote_right(void)
{
	connect_with(&config_default);
	mem_b = buf_make(b.nic->pd, LEN, IBV_ACCESS_LOCAL_WRITE);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey, IBV_WC_REM_ACCESS_ERR);
	explains(&b, "The memory region that a request of the peer names does not allow it.");
}

static void remote_range(void)
{
	connect_with(&config_default);
	write_to((uintptr_t)mem_b.p + LEN - 63, mem_b.mr->rkey, IBV_WC_REM_ACCESS_ERR);
	explains(&b, "A request of the peer reaches outside of the memory region");
}

static void post_local(struct ibv_sge *sge, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = wr_rdma(7, opcode, sge, 1, (uintptr_t)mem_b.p,
					mem_b.mr->rkey);

	post(&a, &wr);
	wait_status(a.scq, 7, IBV_WC_LOC_PROT_ERR);
}

static void local_key(void)
{
	struct ibv_sge sge;

	connect_with(&config_default);
	sge = sge_of(&mem_a, 0, 64);
	sge.lkey ^= 0x5a5a5a00;
	post_local(&sge, IBV_WR_RDMA_WRITE);
	explains(&a, "The lkey of a segment is not one of a memory region");
	explains(&b, "It sends and receives.");
}

static void local_right(void)
{
	struct ibv_sge sge;

	connect_with(&config_default);
	mem_a = buf_make(a.nic->pd, LEN, IBV_ACCESS_REMOTE_READ);
	sge = sge_of(&mem_a, 0, 64);
	post_local(&sge, IBV_WR_RDMA_READ);
	explains(&a, "The memory region of a segment does not have the rights");
}

static void local_range(void)
{
	struct ibv_sge sge;

	connect_with(&config_default);
	sge = sge_of(&mem_a, LEN - 63, 64);
	post_local(&sge, IBV_WR_RDMA_WRITE);
	explains(&a, "A segment is not wholly inside of its memory region.");
}

/* ---- receives ---------------------------------------------------------------- */

static void send_64(struct end *end, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 64);
	struct ibv_send_wr wr = wr_send(wr_id, &sge, 1);

	post(end, &wr);
}

static void short_receive(void)
{
	struct ibv_sge to;

	connect_with(&config_default);
	to = sge_of(&mem_b, 0, 32);
	post_recv(&b, 1, &to, 1);
	send_64(&a, 7);
	wait_status(a.scq, 7, IBV_WC_REM_INV_REQ_ERR);
	explains(&a, "The peer refused the request as invalid.");
	explains(&b, "A message is longer than the receive buffer.");
}

static void receive_key(void)
{
	struct ibv_sge to;

	connect_with(&config_default);
	to = sge_of(&mem_b, 0, 64);
	to.lkey ^= 0x5a5a5a00;
	post_recv(&b, 1, &to, 1);
	send_64(&a, 7);
	wait_status(a.scq, 7, IBV_WC_REM_OP_ERR);
	explains(&a, "The peer could not execute the request for a reason of its own.");
	explains(&b, "The lkey of a receive buffer is not one of a memory region");
}

static void no_receive(void)
{
	struct config config = config_default;

	config.rnr_retry = 0;
	connect_with(&config);
	send_64(&a, 7);
	wait_status(a.scq, 7, IBV_WC_RNR_RETRY_EXC_ERR);
	explains(&a, "The peer had no receive request for this message");
	explains(&b, "A message of the peer found no receive request.");
}

static void waits_for_a_receive(void)
{
	struct config config = config_default;
	char said[16384];
	int tries;

	config.rnr_retry = 7;
	config.min_rnr_timer = 31;	/* half a second */
	connect_with(&config);
	send_64(&a, 7);
	/* It is between two waits for a moment, now and then. */
	for (tries = 0; tries < 100; tries++) {
		ask("", &a, a.qp->qp_num, said, sizeof(said));
		if (strstr(said, "It waits for the peer, which has no receive request posted"))
			return;
	}
	printf("# %s\n", said);
	FAIL("it does not wait");
}

/* ---- the connection ---------------------------------------------------------- */

static struct config hasty(void)
{
	struct config config = config_default;

	config.timeout = 12;	/* 17 ms */
	config.retry_cnt = 1;
	return config;
}

static void no_answer(void)
{
	struct config config = hasty();

	connect_with(&config);
	end_destroy(&b);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey, IBV_WC_RETRY_EXC_ERR);
	explains(&a, "The peer did not answer, and the retries are used up.");
	explains(&a, "- a firewall drops UDP port 4791");
}

/* The peer is there, and cannot be reached. */
static void firewall(void)
{
	struct config config = hasty();

	connect_with(&config);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey, IBV_WC_RETRY_EXC_ERR);
	explains(&a, "- a firewall drops UDP port 4791");
	explains(&b, "It sends and receives.");
}

static void path_mtu(void)
{
	struct config config = config_default;
	struct address address_a, address_b;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	config.mtu = IBV_MTU_1024;
	a = end_make(nic_a(), &config);
	config.mtu = IBV_MTU_512;
	b = end_make(nic_b(), &config);
	address_a = end_address(&a);
	address_b = end_address(&b);
	/* The end does not learn of the other's. */
	address_b.mtu = IBV_MTU_1024;
	end_connect(&a, &address_b);
	end_connect(&b, &address_a);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	sge = sge_of(&mem_a, 0, 4096);
	wr = wr_rdma(7, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey);
	post(&a, &wr);
	wait_status(a.scq, 7, IBV_WC_REM_INV_REQ_ERR);
	explains(&a, "- the ends have different path MTUs");
	explains(&b, "A request of the peer was invalid, and was refused with a NAK.");
	explains(&b, "- the ends have different path MTUs");
}

static void transport(void)
{
	struct config config = hasty();
	struct address address_a, address_b;

	a = end_make(nic_a(), &config);
	address_a = end_address(&a);
	options.is_uc = true;
	b = end_make(nic_b(), &config);
	address_b = end_address(&b);
	end_connect(&b, &address_a);
	options.is_uc = false;
	end_connect(&a, &address_b);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey, IBV_WC_RETRY_EXC_ERR);
	explains(&b, "A packet of another transport came, and was dropped.");
}

/* Entry 1 of the table is another partition. */
static void partition(void)
{
	struct ibv_qp_attr attr = { .pkey_index = 1 };
	struct config config = hasty();
	struct address address_a, address_b;

	a = end_make(nic_a(), &config);
	b = end_make(nic_b(), &config);
	address_a = end_address(&a);
	address_b = end_address(&b);
	end_connect(&a, &address_b);
	REQUIRE_EQ(end_to_init(&b), 0);
	attr.qp_state = IBV_QPS_INIT;
	REQUIRE_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX), 0);
	REQUIRE_EQ(end_to_rtr(&b, &address_a), 0);
	REQUIRE_EQ(end_to_rts(&b), 0);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey, IBV_WC_RETRY_EXC_ERR);
	explains(&b, "A packet of another partition came, and was dropped.");
}

static void too_early(void)
{
	struct config config = hasty();
	struct address address_b;

	a = end_make(nic_a(), &config);
	b = end_make(nic_b(), &config);
	address_b = end_address(&b);
	end_connect(&a, &address_b);
	REQUIRE_EQ(end_to_init(&b), 0);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	write_to(0, 0, IBV_WC_RETRY_EXC_ERR);
	explains(&a, "- the peer's queue pair is gone, has another number, or is not in RTR yet");
	explains(&b, "ibv_modify_qp() to RTR connects it");
	explains(&b, "A packet came while the queue pair could not receive.");
}

static void cq_too_short(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i;

	config.cqe = 1;
	connect_with(&config);
	sge = sge_of(&mem_a, 0, 8);
	for (i = 0; i < 8; i++) {
		wr = wr_rdma(i, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p,
			     mem_b.mr->rkey);
		post(&a, &wr);
	}
	end_wait_state(&a, IBV_QPS_ERR);
	explains(&a, "A completion found its completion queue full, and was lost.");
}

/* ---- datagrams --------------------------------------------------------------- */

static struct ibv_qp *make_ud(struct nic *nic, struct ibv_cq *cq, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .port_num = 1,
				    .qkey = qkey };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(nic->pd, &init);

	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	return qp;
}

/* A datagram to a queue pair of this device, by an address handle of @pd */
static enum ibv_wc_status send_ud(struct ibv_pd *pd, struct end *to, uint32_t qkey)
{
	struct ibv_ah_attr path = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};
	struct ibv_cq *cq = ibv_create_cq(nic_a()->ctx, 8, NULL, NULL, 0);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	REQUIRE(cq);
	a = b = (struct end){ .nic = nic_a() };
	a.qp = make_ud(nic_a(), cq, QKEY);
	to->qp = to == &a ? a.qp : make_ud(nic_a(), cq, QKEY);
	mem_a = buf_make(nic_a()->pd, LEN, ACCESS_ALL);
	sge = sge_of(&mem_a, 0, 64);
	wr = wr_send(7, &sge, 1);
	wr.wr.ud.ah = ibv_create_ah(pd, &path);
	REQUIRE(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
	return wait_wc(cq).status;
}

static void qkey(void)
{
	REQUIRE_EQ(send_ud(nic_a()->pd, &b, QKEY + 1), IBV_WC_SUCCESS);
	explains(&b, "A datagram with another Q_Key was dropped. Its sender does not learn of that.");
}

static void address_handle(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(nic_a()->ctx);

	REQUIRE(pd);
	REQUIRE_EQ(send_ud(pd, &a, QKEY), IBV_WC_LOC_QP_OP_ERR);
	explains(&a, "The send request is malformed, or this queue pair cannot execute it.");
}

/* ---- states ------------------------------------------------------------------ */

static void states(void)
{
	struct address address_b;

	a = end_make(nic_a(), &config_default);
	b = end_make(nic_b(), &config_default);
	address_b = end_address(&b);
	explains(&a, "It was created, and is not set up");
	REQUIRE_EQ(end_to_init(&a), 0);
	explains(&a, "ibv_modify_qp() to RTR connects it");
	REQUIRE_EQ(end_to_rtr(&a, &address_b), 0);
	explains(&a, "It receives, and does not send: that needs ibv_modify_qp() to RTS.");
	REQUIRE_EQ(end_to_rts(&a), 0);
	explains(&a, "No receive request is posted, so a SEND of the peer has to wait.");
	REQUIRE_EQ(end_to(&a, IBV_QPS_SQD), 0);
	explains(&a, "Its send queue is drained");
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	explains(&a, "It has failed, and flushes all requests");
	explains(&a, "its program moved it to ERR");
}

/* ---- life -------------------------------------------------------------------- */

static void destroyed(void)
{
	uint32_t qpn;

	remote_key();
	qpn = a.qp->qp_num;
	end_destroy(&a);
	explains_qpn(&b, qpn, "destroyed; it was in ERR");
	explains_qpn(&b, qpn, "The peer refused access to its memory.");
}

static void reset_forgets(void)
{
	remote_key();
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	explains(&a, "The peer refused access to its memory.");
	REQUIRE_EQ(end_to_init(&a), 0);
	{
		char said[16384];

		REQUIRE_EQ(ask("", &a, a.qp->qp_num, said, sizeof(said)), 0);
		REQUIRE(!strstr(said, "The peer refused"));
	}
}

/* A device remembers the last 64; neither fewer nor more. */
static void history(void)
{
	enum { KEPT = 64 };
	uint32_t qpn[KEPT + 1];
	char said[16384];
	struct ibv_sge sge;
	int i;

	for (i = 0; i <= KEPT; i++) {
		pair_make(&a, &b, &config_default);
		if (!i) {
			mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
			mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
		}
		sge = sge_of(&mem_a, 0, 64);
		sge.lkey ^= 0x5a5a5a00;
		post_local(&sge, IBV_WR_RDMA_WRITE);
		qpn[i] = a.qp->qp_num;
		end_destroy(&a);
		end_destroy(&b);
	}
	a.nic = nic_a();
	explains_qpn(&a, qpn[KEPT], "destroyed; it was in ERR");
	explains_qpn(&a, qpn[1], "destroyed; it was in ERR");
	REQUIRE_EQ(ask("", &a, qpn[0], said, sizeof(said)), 1);
	REQUIRE(strstr(said, "and none failed lately"));
}

/* Run by root: what it does is of root alone. */
static void of_another_user(void)
{
	char said[16384];
	uint32_t qpn;
	int i;

	remote_key();
	qpn = a.qp->qp_num;
	for (i = 0; i < 2; i++) {
		REQUIRE_EQ(ask("setpriv --reuid 65534 --regid 65534 --clear-groups",
			       &b, qpn, said, sizeof(said)), 1);
		REQUIRE(strstr(said, "has no queue pair"));
		if (!i)
			end_destroy(&a);
	}
}

/* A user sees no PSN of a live QP, not of an own one either: another process may be it. */
static void psn_is_hidden(void)
{
	char said[16384];

	REQUIRE_EQ(seteuid(65534), 0);
	connect_with(&config_default);
	write_to((uintptr_t)mem_b.p, mem_b.mr->rkey ^ 0x5a5a5a00,
		 IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(seteuid(0), 0);
	explains(&b, "the packet WRITE, PSN ");
	REQUIRE_EQ(ask("setpriv --reuid 65534 --regid 65534 --clear-groups", &b,
		       b.qp->qp_num, said, sizeof(said)), 0);
	REQUIRE(strstr(said, "the packet WRITE was refused"));
	REQUIRE(!strstr(said, "PSN"));
}

static const struct test tests[] = {
	{ "remote_key", remote_key },
	{ "remote_right", remote_right },
	{ "remote_range", remote_range },
	{ "local_key", local_key },
	{ "local_right", local_right },
	{ "local_range", local_range },
	{ "short_receive", short_receive },
	{ "receive_key", receive_key },
	{ "no_receive", no_receive },
	{ "waits_for_a_receive", waits_for_a_receive },
	{ "no_answer", no_answer },
	{ "path_mtu", path_mtu },
	{ "too_early", too_early },
	{ "cq_too_short", cq_too_short },
	{ "qkey", qkey },
	{ "address_handle", address_handle },
	{ "states", states },
	{ "destroyed", destroyed },
	{ "reset_forgets", reset_forgets },
	{ "history", history },
	{ "of_another_user", of_another_user },
	{ "psn_is_hidden", psn_is_hidden },
	/* packets only, and as ops/explain.sh sets them up */
	{ "transport", transport },
	{ "partition", partition },
	{ "firewall", firewall },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
