// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams: what the receiver learns about the sender, answers made only from
 * that (ibv_create_ah_from_wc), and the errors of UD. -g and -G select the GIDs
 * of device and peer if the family is not enough. Examples are a VLAN's, and
 * that of an address that is no neighbour's.
 */
#include "doorbells.h"
#include "util.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>

#define GRH		40
#define SLOT		8192
#define QKEY		0x11223344
#define UNTOUCHED	0xa5
#define INLINE		64
#define TCLASS		0x28	/* AF11 */
#define LABEL		0x13579

struct side {
	struct nic *nic;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	struct buf mem;
};

static struct side a, b;
/* requests of a queue */
static uint32_t depth = 16;

static void to_rts(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .qkey = qkey,
	};

	qp_to_rts(qp, &attr);
}

static struct side side_make(struct nic *nic)
{
	struct side side = { .nic = nic };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth,
			 .max_send_sge = 2, .max_recv_sge = 2,
			 .max_inline_data = INLINE },
	};

	side.scq = ibv_create_cq(nic->ctx, 4 * depth, NULL, NULL, 0);
	side.rcq = ibv_create_cq(nic->ctx, 4 * depth, NULL, NULL, 0);
	REQUIRE(side.scq && side.rcq);
	init.send_cq = side.scq;
	init.recv_cq = side.rcq;
	side.qp = ibv_create_qp(nic->pd, &init);
	REQUIRE(side.qp);
	to_rts(side.qp, QKEY);
	side.mem = buf_make(nic->pd, 4 * SLOT, ACCESS_ALL);
	memset(side.mem.p, UNTOUCHED, side.mem.len);
	return side;
}

static void set_up(void)
{
	a = side_make(nic_a());
	b = side_make(nic_b());
}

static struct ibv_ah *ah_to(const struct side *from, const struct side *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.dlid = to->nic->port.lid,
		.port_num = 1,
		.grh = { .dgid = to->nic->gid, .sgid_index = from->nic->gid_index,
			 .hop_limit = 64, .traffic_class = TCLASS,
			 .flow_label = LABEL },
	};
	struct ibv_ah *ah = ibv_create_ah(from->nic->pd, &attr);

	if (!ah)
		FAIL("ibv_create_ah: %s", strerror(errno));
	return ah;
}

static struct ibv_send_wr wr_ud(uint64_t wr_id, struct ibv_sge *sge,
				struct ibv_ah *ah, const struct side *to)
{
	struct ibv_send_wr wr = wr_send(wr_id, sge, 1);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	return wr;
}

static void ud_post(struct side *side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	REQUIRE_EQ(ibv_post_send(side->qp, wr, &bad), 0);
}

static void ud_recv(struct side *side, uint64_t wr_id, size_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(&side->mem, off, len);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	REQUIRE_EQ(ibv_post_recv(side->qp, &wr, &bad), 0);
}

static enum ibv_qp_state state_of(const struct side *side)
{
	struct end end = { .qp = side->qp };

	return end_state(&end);
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/*
 * IBTA A17.4.5.2: the IP header; an IPv4 header is in the last 20 of the 40
 * bytes. The RDMA core takes the hop limit from the route, and not from the
 * handle.
 */
static void check_grh(const uint8_t *grh, const struct side *from,
		      const struct side *to, uint32_t len, bool has_imm)
{
	/* UDP, BTH, DETH, immediate data, the padded payload, ICRC */
	uint32_t udp = 8 + 12 + 8 + has_imm * 4 + ((len + 3) & ~3u) + 4;

	if (is_v4(&to->nic->gid)) {
		struct iphdr ip;

		memcpy(&ip, grh + GRH - sizeof(ip), sizeof(ip));
		REQUIRE_EQ(ip.version, 4);
		REQUIRE_EQ(ip.ihl, 5);
		REQUIRE_EQ(ip.tos, TCLASS);
		REQUIRE_EQ(ip.protocol, IPPROTO_UDP);
		REQUIRE(ip.ttl);
		REQUIRE_EQ(ntohs(ip.tot_len), sizeof(ip) + udp);
		REQUIRE(!memcmp(&ip.saddr, from->nic->gid.raw + 12, 4));
		REQUIRE(!memcmp(&ip.daddr, to->nic->gid.raw + 12, 4));
	} else {
		struct ip6_hdr ip;

		memcpy(&ip, grh, sizeof(ip));
		REQUIRE_EQ(ntohl(ip.ip6_flow), 6u << 28 | TCLASS << 20 | LABEL);
		REQUIRE_EQ(ip.ip6_nxt, IPPROTO_UDP);
		REQUIRE(ip.ip6_hlim);
		REQUIRE_EQ(ntohs(ip.ip6_plen), udp);
		REQUIRE(!memcmp(&ip.ip6_src, from->nic->gid.raw, 16));
		REQUIRE(!memcmp(&ip.ip6_dst, to->nic->gid.raw, 16));
	}
}

/* ---- answers -------------------------------------------------------------- */

/* The answer goes back to the sender, by the fields of the completion. */
static void answer_from_the_completion(void)
{
	static const uint32_t lens[] = { 0, 1, 3, 100, 511, 1024 };
	struct ibv_ah_attr attr;
	struct ibv_ah *ah, *back;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint32_t i, len;

	set_up();
	ah = ah_to(&a, &b);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i];
		memset(b.mem.p, UNTOUCHED, b.mem.len);
		fill(a.mem.p, len, i);
		ud_recv(&b, 10 + i, 4, SLOT);
		ud_recv(&a, 20 + i, SLOT, SLOT);
		sge = sge_of(&a.mem, 0, len);
		wr = wr_ud(i, &sge, ah, &b);
		wr.opcode = i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		wr.imm_data = htonl(0x10203040 + i);
		ud_post(&a, &wr);
		wait_ok(a.scq, i, IBV_WC_SEND);

		wc = wait_ok(b.rcq, 10 + i, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + len);
		REQUIRE_EQ(wc.src_qp, a.qp->qp_num);
		REQUIRE_EQ(wc.qp_num, b.qp->qp_num);
		REQUIRE_EQ(wc.wc_flags, IBV_WC_GRH | (i & 1 ? IBV_WC_WITH_IMM : 0));
		if (i & 1)
			REQUIRE_EQ(wc.imm_data, htonl(0x10203040 + i));
		check_grh(b.mem.p + 4, &a, &b, len, i & 1);
		check_fill(b.mem.p + 4 + GRH, len, i);
		check_bytes(b.mem.p + 4 + GRH + len, 100, UNTOUCHED);

		REQUIRE_EQ(ibv_init_ah_from_wc(b.nic->ctx, 1, &wc,
					       (void *)(b.mem.p + 4), &attr), 0);
		REQUIRE(attr.is_global);
		REQUIRE_EQ(attr.port_num, 1);
		REQUIRE_EQ(attr.grh.sgid_index, b.nic->gid_index);
		REQUIRE(!memcmp(&attr.grh.dgid, &a.nic->gid, sizeof(attr.grh.dgid)));
		back = ibv_create_ah_from_wc(b.nic->pd, &wc,
					     (void *)(b.mem.p + 4), 1);
		if (!back)
			FAIL("ibv_create_ah_from_wc: %s", strerror(errno));
		sge = sge_of(&b.mem, 4 + GRH, len);
		wr = wr_ud(30 + i, &sge, back, &a);
		wr.wr.ud.remote_qpn = wc.src_qp;
		ud_post(&b, &wr);
		wait_ok(b.scq, 30 + i, IBV_WC_SEND);
		wc = wait_ok(a.rcq, 20 + i, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + len);
		REQUIRE_EQ(wc.src_qp, b.qp->qp_num);
		check_fill(a.mem.p + SLOT + GRH, len, i);
		REQUIRE_EQ(ibv_destroy_ah(back), 0);
	}
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	buf_check_guards(&a.mem);
	buf_check_guards(&b.mem);
}

/* ---- dropped datagrams ------------------------------------------------------ */

/* Each is lost without a completion in either queue; the next one uses the receive. */
static void dropped_without_a_completion(void)
{
	enum { WRONG_QKEY, NOBODY, NR };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int kind;

	set_up();
	ah = ah_to(&a, &b);
	fill(a.mem.p, 1000, 3);
	for (kind = 0; kind < NR; kind++) {
		ud_recv(&b, kind, 0, GRH + 500);
		sge = sge_of(&a.mem, 0, 500);
		wr = wr_ud(kind, &sge, ah, &b);
		if (kind == WRONG_QKEY)
			wr.wr.ud.remote_qkey ^= 1;
		if (kind == NOBODY)
			wr.wr.ud.remote_qpn ^= 0x800000;
		ud_post(&a, &wr);
		wait_ok(a.scq, kind, IBV_WC_SEND);
		sge = sge_of(&a.mem, 0, 500);
		wr = wr_ud(100 + kind, &sge, ah, &b);
		ud_post(&a, &wr);
		wait_ok(a.scq, 100 + kind, IBV_WC_SEND);
		wc = wait_ok(b.rcq, kind, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + 500);
		check_fill(b.mem.p + GRH, 500, 3);
		require_quiet(b.rcq);
		REQUIRE_EQ(state_of(&b), IBV_QPS_RTS);
	}
	/* no receive at all */
	ud_post(&a, &wr);
	wait_ok(a.scq, 100 + NR - 1, IBV_WC_SEND);
	require_quiet(b.rcq);
	check_bytes(b.mem.p + GRH + 500, SLOT, UNTOUCHED);
}

/*
 * IBTA 11.6.2: a receive that is too short completes with LOC_LEN_ERR, mostly
 * because of the 40 bytes at its beginning. The sender does not learn of it,
 * and the QP continues.
 */
static void receive_too_short_is_told(void)
{
	static const struct {
		uint32_t recv, len;
	} cases[] = { { GRH - 1, 0 }, { GRH, 1 }, { 500, 500 },
		      { GRH + 499, 500 }, { 1, 1 } };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	uint32_t i;

	set_up();
	ah = ah_to(&a, &b);
	fill(a.mem.p, 1000, 3);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ud_recv(&b, i, 0, cases[i].recv);
		ud_recv(&b, 100 + i, SLOT, GRH + 500);
		sge = sge_of(&a.mem, 0, cases[i].len);
		wr = wr_ud(i, &sge, ah, &b);
		ud_post(&a, &wr);
		wait_ok(a.scq, i, IBV_WC_SEND);
		wait_status(b.rcq, i, IBV_WC_LOC_LEN_ERR);
		sge = sge_of(&a.mem, 0, 500);
		wr = wr_ud(200 + i, &sge, ah, &b);
		ud_post(&a, &wr);
		wait_ok(a.scq, 200 + i, IBV_WC_SEND);
		wc = wait_ok(b.rcq, 100 + i, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + 500);
		require_quiet(b.rcq);
		REQUIRE_EQ(state_of(&b), IBV_QPS_RTS);
	}
	check_bytes(b.mem.p, SLOT, UNTOUCHED);
}

/* ---- errors of the send queue ------------------------------------------------- */

/*
 * IBTA 10.3.1.7: a request that fails stops the send queue (SQE), and all later
 * ones are flushed. Receives continue. The queue goes from SQE back to RTS.
 */
static void send_errors_stop_the_send_queue(void)
{
	static const struct {
		const char *what;
		uint32_t lkey, len;
		enum ibv_wc_status status;
	} cases[] = {
		{ "unknown key", 0x5a5a5a00, 100, IBV_WC_LOC_PROT_ERR },
		{ "longer than the MTU", 0, 4 * SLOT, IBV_WC_LOC_LEN_ERR },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_send_wr wr, next, *bad;
	struct ibv_sge sge, good;
	struct ibv_ah *to_b, *to_a;
	uint32_t i;
	int err;

	set_up();
	to_b = ah_to(&a, &b);
	to_a = ah_to(&b, &a);
	fill(b.mem.p, 100, 9);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		printf("# %s\n", cases[i].what);
		ud_recv(&a, 50 + i, 2 * SLOT, SLOT);
		ud_recv(&b, 60 + i, SLOT, SLOT);
		good = sge_of(&a.mem, 0, 10);
		sge = sge_of(&a.mem, 0, cases[i].len);
		sge.lkey ^= cases[i].lkey;
		wr = wr_ud(1, &sge, to_b, &b);
		next = wr_ud(2, &good, to_b, &b);
		wr.next = &next;
		err = ibv_post_send(a.qp, &wr, &bad);
		/*
		 * its length may be refused by the post, like other impossible
		 * requests
		 */
		if (err && cases[i].status == IBV_WC_LOC_LEN_ERR) {
			REQUIRE_EQ(err, EINVAL);
			REQUIRE(bad == &wr);
			REQUIRE_EQ(state_of(&a), IBV_QPS_RTS);
			continue;
		}
		REQUIRE_EQ(err, 0);
		wait_status(a.scq, 1, cases[i].status);
		wait_status(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
		REQUIRE_EQ(state_of(&a), IBV_QPS_SQE);
		require_quiet(b.rcq);

		sge = sge_of(&b.mem, 0, 100);
		wr = wr_ud(3, &sge, to_a, &a);
		ud_post(&b, &wr);
		wait_ok(b.scq, 3, IBV_WC_SEND);
		wait_ok(a.rcq, 50 + i, IBV_WC_RECV);
		check_fill(a.mem.p + 2 * SLOT + GRH, 100, 9);

		REQUIRE_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
		next.next = NULL;
		ud_post(&a, &next);
		wait_ok(a.scq, 2, IBV_WC_SEND);
		wait_ok(b.rcq, 60 + i, IBV_WC_RECV);
	}
}

/* ---- errors of the receive queue ---------------------------------------------- */

static void receive_into_bad_memory(void)
{
	struct ibv_recv_wr recv = { .wr_id = 1, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge, to;
	struct ibv_ah *ah;

	set_up();
	ah = ah_to(&a, &b);
	to = sge_of(&b.mem, 0, SLOT);
	to.lkey ^= 0x5a5a5a00;
	recv.sg_list = &to;
	REQUIRE_EQ(ibv_post_recv(b.qp, &recv, &bad), 0);
	ud_recv(&b, 2, 0, SLOT);
	sge = sge_of(&a.mem, 0, 100);
	wr = wr_ud(1, &sge, ah, &b);
	ud_post(&a, &wr);
	/* the sender does not learn of it */
	wait_ok(a.scq, 1, IBV_WC_SEND);
	wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
	wait_status(b.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	REQUIRE_EQ(state_of(&b), IBV_QPS_ERR);
	REQUIRE_EQ(state_of(&a), IBV_QPS_RTS);
	check_bytes(b.mem.p, b.mem.len, UNTOUCHED);
}

static void error_flushes_both_queues(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	int i;

	set_up();
	ah = ah_to(&a, &b);
	for (i = 0; i < 5; i++)
		ud_recv(&a, i, 0, SLOT);
	REQUIRE_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	for (i = 0; i < 5; i++)
		wait_status(a.rcq, i, IBV_WC_WR_FLUSH_ERR);
	sge = sge_of(&a.mem, 0, 10);
	wr = wr_ud(9, &sge, ah, &b);
	ud_post(&a, &wr);
	wait_status(a.scq, 9, IBV_WC_WR_FLUSH_ERR);
	ud_recv(&a, 10, 0, SLOT);
	wait_status(a.rcq, 10, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(a.scq);
	require_no_wc(a.rcq);
}

/* ---- streams -------------------------------------------------------------- */

#define STREAM		512

static void stream_round(struct ibv_ah *ah)
{
	struct ibv_sge sge = sge_of(&a.mem, 0, 64);
	struct ibv_send_wr wr = wr_ud(0, &sge, ah, &b);
	int i;

	wr.send_flags = 0;
	for (i = 0; i < STREAM; i++)
		ud_recv(&b, i, 0, SLOT);
	for (i = 0; i < STREAM; i++)
		ud_post(&a, &wr);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	for (i = 0; i < STREAM; i++)
		wait_ok(b.rcq, i, IBV_WC_RECV);
	require_no_wc(a.scq);
}

/*
 * An adapter has a copy of the address when a post returns. So a program may destroy the
 * handle while datagrams have had no doorbell yet. How many have none is up to the CPUs' other
 * work, tcpdump's for instance, which path/stream judges: so there are rounds until some have none.
 */
static void streams_outlive_their_address(void)
{
	uint32_t before, least = STREAM;
	int i;

	depth = STREAM;
	set_up();
	for (i = 0; i < 20 || (i < 1000 && least == STREAM); i++) {
		before = my_doorbells;
		stream_round(ah_to(&a, &b));
		if (my_doorbells - before < least)
			least = my_doorbells - before;
	}
	if (least == STREAM)
		FAIL("each of %u datagrams had a doorbell", STREAM);
}

/* The address is shared, and each loses nothing by its end. */
static void streams_of_two_to_one_address(void)
{
	struct side other;
	struct ibv_ah *ah;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int i;

	depth = STREAM;
	set_up();
	other = side_make(nic_a());
	ah = ah_to(&a, &b);
	sge = sge_of(&other.mem, 0, 64);
	wr = wr_ud(0, &sge, ah, &b);
	wr.send_flags = 0;
	for (i = 0; i < STREAM; i++)
		ud_recv(&b, i, 0, SLOT);
	for (i = 0; i < STREAM / 2; i++) {
		ud_post(&other, &wr);
		sge = sge_of(&a.mem, 0, 64);
		ud_post(&a, &wr);
		sge = sge_of(&other.mem, 0, 64);
	}
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	for (i = 0; i < STREAM; i++)
		wait_ok(b.rcq, i, IBV_WC_RECV);
}

/* ---- sections ------------------------------------------------------------- */

/* A datagram of 64 bytes to b. Its handle ends before the section does. */
static void section_add(struct ibv_qp_ex *qx, uint64_t wr_id)
{
	struct ibv_ah *ah = ah_to(&a, &b);

	qx->wr_id = wr_id;
	ibv_wr_send(qx);
	ibv_wr_set_ud_addr(qx, ah, b.qp->qp_num, QKEY);
	ibv_wr_set_sge(qx, a.mem.mr->lkey, (uintptr_t)a.mem.p, 64);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
}

static struct ibv_qp_ex *qp_with_sections(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD, .send_cq = a.scq, .recv_cq = a.rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a.nic->pd, .send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth,
			 .max_send_sge = 2, .max_recv_sge = 2 },
	};

	REQUIRE_EQ(ibv_destroy_qp(a.qp), 0);
	a.qp = ibv_create_qp_ex(a.nic->ctx, &init);
	if (!a.qp)
		test_skip("no UD queue pairs with ibv_wr_*: %s", strerror(errno));
	to_rts(a.qp, QKEY);
	return ibv_qp_to_qp_ex(a.qp);
}

/*
 * An adapter has a copy of the address when the setter returns. So a program may destroy
 * the handle then, and whether the section completes does not matter.
 */
static void sections_outlive_their_address(void)
{
	struct ibv_qp_ex *qx;
	int i;

	set_up();
	qx = qp_with_sections();
	qx->wr_flags = IBV_SEND_SIGNALED;
	for (i = 0; i < 100; i += 2) {
		ud_recv(&b, i, 0, SLOT);
		ud_recv(&b, i + 1, 0, SLOT);
		ibv_wr_start(qx);
		section_add(qx, 1000);
		ibv_wr_abort(qx);

		ibv_wr_start(qx);
		section_add(qx, i);
		section_add(qx, i + 1);
		/* who makes a handle looks after those that wait for their end */
		REQUIRE_EQ(ibv_destroy_ah(ah_to(&a, &b)), 0);
		REQUIRE_EQ(ibv_wr_complete(qx), 0);
		wait_ok(a.scq, i, IBV_WC_SEND);
		wait_ok(a.scq, i + 1, IBV_WC_SEND);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(b.rcq, i + 1, IBV_WC_RECV);
	}
	require_no_wc(a.scq);
}

/*
 * Segments on either side, and inline data, in any order: what takes another way than
 * the one before arrives behind it.
 */
static void segments_arrive_in_order(void)
{
	enum { PLAIN, SEND_PARTS, RECV_PARTS, BOTH, IN_WR, NOTHING, KINDS };
	struct ibv_sge from[2], to[2];
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	uint8_t *at;
	int i, kind;

	set_up();
	ah = ah_to(&a, &b);
	for (i = 0; i < 14; i++) {
		kind = i % KINDS;
		at = b.mem.p + i * 1024;
		to[0] = sge_of(&b.mem, i * 1024, 60);
		to[1] = sge_of(&b.mem, i * 1024 + 512, 200);
		recv = (struct ibv_recv_wr){ .wr_id = i, .sg_list = to, .num_sge = 2 };
		if (kind != RECV_PARTS && kind != BOTH) {
			to[0].length = 200;
			recv.num_sge = 1;
		}
		REQUIRE_EQ(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
	}
	for (i = 0; i < 14; i++) {
		kind = i % KINDS;
		at = a.mem.p + i * 1024;
		fill(at, 50, i);
		memcpy(at + 600, at + 10, 40);
		from[0] = sge_of(&a.mem, i * 1024, 50);
		from[1] = sge_of(&a.mem, i * 1024 + 600, 40);
		wr = wr_ud(i, from, ah, &b);
		wr.send_flags = i == 13 ? IBV_SEND_SIGNALED : 0;
		if (kind == SEND_PARTS || kind == BOTH) {
			from[0].length = 10;
			wr.num_sge = 2;
		} else if (kind == IN_WR) {
			wr.send_flags |= IBV_SEND_INLINE;
		} else if (kind == NOTHING) {
			wr.num_sge = 0;
		}
		REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
	}
	wait_ok(a.scq, 13, IBV_WC_SEND);
	for (i = 0; i < 14; i++) {
		kind = i % KINDS;
		at = b.mem.p + i * 1024;
		wc = wait_ok(b.rcq, i, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + (kind == NOTHING ? 0 : 50));
		REQUIRE_EQ(wc.src_qp, a.qp->qp_num);
		check_grh(at, &a, &b, wc.byte_len - GRH, false);
		if (kind == NOTHING)
			continue;
		if (kind == RECV_PARTS || kind == BOTH)
			memmove(at + 60, at + 512, 30);
		check_fill(at + GRH, 50, i);
	}
	require_quiet(b.rcq);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(answer_from_the_completion),
	TEST(dropped_without_a_completion),
	TEST(receive_too_short_is_told),
	TEST(send_errors_stop_the_send_queue),
	TEST(receive_into_bad_memory),
	TEST(error_flushes_both_queues),
	TEST(streams_outlive_their_address),
	TEST(streams_of_two_to_one_address),
	TEST(sections_outlive_their_address),
	TEST(segments_arrive_in_order),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
