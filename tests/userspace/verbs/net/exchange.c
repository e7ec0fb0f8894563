// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two machines that need not be alike: each operation of each transport, first in one
 * direction and then in the other, each byte compared with what it should be. The same
 * program runs on both, with the same tests. One listens, the other one names it.
 *
 *   exchange [-d DEVICE] [-f 4|6] [TEST]...
 *   exchange [-d DEVICE] [-f 4|6] -p HOST [TEST]...
 */
#include "util.h"

#include <arpa/inet.h>
#include <unistd.h>

#define PORT	"7471"
#define LEN	(1 * MIB)
/* Where messages begin: at no boundary of a page or of a word, whatever its size. */
#define OFF	5003
#define ACCESS	(ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
#define IMM	0x12345678u
#define QKEY	0x11111111u
#define GRH	40

/* The connection of both processes: where each waits for the other, and learns its keys. */
static int fd;
static struct end end;
static struct buf mem;
static struct address peer;
static uint64_t seed;
/* of the memory of this test, besides ACCESS */
static int access_more;

/* Waits until the peer is here, too. @mine: what it shall know, or NULL */
static struct address meet(const struct address *mine)
{
	struct address nothing = {};

	return swap_addresses(fd, mine ? mine : &nothing);
}

static void open_connection(void)
{
	fd = options.peer ? tcp_connect(options.peer, PORT) : tcp_listen(PORT);
}

static void make_memory(struct ibv_pd *pd)
{
	struct address mine;

	mem = buf_make(pd, LEN + 2 * OFF, ACCESS | access_more);
	mine = (struct address){ .rkey = mem.mr->rkey, .va = (uintptr_t)mem.p };
	peer = meet(&mine);
}

/* A connected queue pair. */
static void set_up(uint64_t ops)
{
	struct config config = config_default;
	struct address mine, theirs;

	open_connection();
	config.qp_access = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC |
			   (access_more & ~IBV_ACCESS_ON_DEMAND);
	config.max_inline = 256;
	config.timeout = 17;
	config.ops = ops;
	end = end_make(nic_a(), &config);
	mine = end_address(&end);
	theirs = meet(&mine);
	end_connect(&end, &theirs);
	make_memory(end.nic->pd);
}

/* Runs @test with this process as the requester, and with the peer. */
static void both_directions(void (*test)(bool is_requester))
{
	bool first = options.peer;

	test(first);
	test(!first);
	meet(NULL);
	buf_check_guards(&mem);
}

/* ---- connected ------------------------------------------------------------------- */

static const uint32_t lengths[] = { 1, 8, 1023, 1025, 4096, 16385, 65536 + 3, LEN };

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_opcode completion_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

/* Also tells the responder that what was posted before it has arrived. */
static void request(enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge sge = sge_of(&mem, OFF, len);
	struct ibv_send_wr wr = wr_rdma(1, opcode, &sge, 1, peer.va + OFF, peer.rkey);
	struct ibv_send_wr then = wr_send(2, NULL, 0);

	if (len <= end.cap.max_inline_data && opcode != IBV_WR_RDMA_READ)
		wr.send_flags |= IBV_SEND_INLINE;
	if (has_imm(opcode))
		wr.imm_data = htonl(IMM);
	post(&end, &wr);
	wait_ok(end.scq, 1, completion_of(opcode));
	post(&end, &then);
	wait_ok(end.scq, 2, IBV_WC_SEND);
}

/* The receive of a message of @opcode. */
static void received(enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_wc wc;

	wc = wait_ok(end.rcq, 1, completion_of(opcode) == IBV_WC_SEND ? IBV_WC_RECV :
		     IBV_WC_RECV_RDMA_WITH_IMM);
	REQUIRE_EQ(wc.byte_len, len);
	REQUIRE_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), has_imm(opcode));
	if (has_imm(opcode))
		REQUIRE_EQ(ntohl(wc.imm_data), IMM);
}

static void message(bool is_requester, enum ibv_wr_opcode opcode, uint32_t len)
{
	bool is_read = opcode == IBV_WR_RDMA_READ;
	bool takes_recv = !is_read && opcode != IBV_WR_RDMA_WRITE;
	bool is_source = is_requester != is_read;
	struct ibv_sge sge = sge_of(&mem, OFF, LEN);

	seed++;
	memset(mem.p, 0, LEN + 2 * OFF);
	if (is_source)
		fill(mem.p + OFF, len, seed);
	if (!is_requester && takes_recv)
		post_recv(&end, 1, &sge, 1);
	if (!is_requester)
		post_recv(&end, 2, NULL, 0);
	meet(NULL);
	if (is_requester) {
		request(opcode, len);
	} else {
		if (takes_recv)
			received(opcode, len);
		wait_ok(end.rcq, 2, IBV_WC_RECV);
	}
	check_fill(mem.p + OFF, len, seed);
	check_bytes(mem.p, OFF, 0);
	check_bytes(mem.p + OFF + len, LEN + OFF - len, 0);
}

static void messages(bool is_requester, const enum ibv_wr_opcode *opcodes, size_t nr)
{
	size_t i, j;

	for (i = 0; i < nr; i++)
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			message(is_requester, opcodes[i], lengths[j]);
}

static void messages_of_rc(bool is_requester)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	};

	messages(is_requester, opcodes, ARRAY_SIZE(opcodes));
}

static void rc(void)
{
	set_up(0);
	both_directions(messages_of_rc);
}

static void rc_on_demand(void)
{
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		test_skip("the device has no on-demand paging");
	access_more = IBV_ACCESS_ON_DEMAND;
	rc();
}

static void messages_of_uc(bool is_requester)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	messages(is_requester, opcodes, ARRAY_SIZE(opcodes));
}

/* (on a network that loses nothing) */
static void uc(void)
{
	options.is_uc = true;
	set_up(0);
	both_directions(messages_of_uc);
}

/* ---- one word ---------------------------------------------------------------------- */

static uint64_t word_at(size_t off)
{
	uint64_t word;

	memcpy(&word, mem.p + off, sizeof(word));
	return word;
}

static void atomic_request(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = sge_of(&mem, 0, 8);
	struct ibv_send_wr wr = wr_send(1, &sge, 1);

	wr.opcode = opcode;
	wr.wr.atomic.remote_addr = peer.va + 8;
	wr.wr.atomic.rkey = peer.rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	post(&end, &wr);
	wait_ok(end.scq, 1, opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
}

static void atomics_of(bool is_requester)
{
	const uint64_t before = 0x0123456789abcdef, add = 0xfedcba9876543210, swap = 0x8877665544332211;

	memset(mem.p, 0, 64);
	memcpy(mem.p + 8, &before, 8);
	meet(NULL);
	if (is_requester) {
		atomic_request(IBV_WR_ATOMIC_FETCH_AND_ADD, add, 0);
		REQUIRE_EQ(word_at(0), before);
		atomic_request(IBV_WR_ATOMIC_CMP_AND_SWP, 1, 2);
		REQUIRE_EQ(word_at(0), before + add);
		atomic_request(IBV_WR_ATOMIC_CMP_AND_SWP, before + add, swap);
		REQUIRE_EQ(word_at(0), before + add);
	}
	meet(NULL);
	REQUIRE_EQ(word_at(8), is_requester ? before : swap);
	check_bytes(mem.p + 16, 48, 0);
}

static void atomics(void)
{
	set_up(0);
	both_directions(atomics_of);
}

#ifdef HAVE_FLUSH
static void atomic_write_of(bool is_requester)
{
	const uint64_t word = 0x0123456789abcdef;
	struct ibv_qp_ex *qx = ibv_qp_to_qp_ex(end.qp);

	memset(mem.p, 0, 64);
	meet(NULL);
	if (is_requester) {
		qx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_start(qx);
		qx->wr_id = 1;
		ibv_wr_atomic_write(qx, peer.rkey, peer.va + 8, &word);
		qx->wr_id = 2;
		ibv_wr_flush(qx, peer.rkey, peer.va, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		REQUIRE_EQ(ibv_wr_complete(qx), 0);
		wait_ok(end.scq, 1, IBV_WC_ATOMIC_WRITE);
		wait_ok(end.scq, 2, IBV_WC_FLUSH);
	}
	meet(NULL);
	REQUIRE_EQ(word_at(8), is_requester ? 0 : word);
	check_bytes(mem.p + 16, 48, 0);
}

static void atomic_write_and_flush(void)
{
	access_more = IBV_ACCESS_FLUSH_GLOBAL;
	set_up(IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH);
	both_directions(atomic_write_of);
}
#endif

/* ---- windows ----------------------------------------------------------------------- */

/* The requester writes through the responder's window, and invalidates it by a SEND. */
static void window_of(bool is_requester)
{
	struct address mine = { .va = (uintptr_t)mem.p + OFF }, window;
	struct ibv_sge sge = sge_of(&mem, OFF, 9001);
	struct ibv_send_wr wr = wr_send(1, NULL, 0);
	struct ibv_mw *mw = ibv_alloc_mw(end.nic->pd, IBV_MW_TYPE_2);
	struct ibv_wc wc;

	REQUIRE(mw);
	seed++;
	memset(mem.p, 0, LEN);
	if (is_requester) {
		fill(mem.p + OFF, 9001, seed);
	} else {
		mine.rkey = ibv_inc_rkey(mw->rkey);
		wr.opcode = IBV_WR_BIND_MW;
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = mine.rkey;
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
			.mr = mem.mr, .addr = mine.va, .length = 9001,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		};
		post(&end, &wr);
		wait_ok(end.scq, 1, IBV_WC_BIND_MW);
		post_recv(&end, 1, NULL, 0);
	}
	window = meet(&mine);
	if (is_requester) {
		wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, window.va, window.rkey);
		post(&end, &wr);
		wait_ok(end.scq, 1, IBV_WC_RDMA_WRITE);
		wr = wr_send(2, NULL, 0);
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = window.rkey;
		post(&end, &wr);
		wait_ok(end.scq, 2, IBV_WC_SEND);
	} else {
		wc = wait_ok(end.rcq, 1, IBV_WC_RECV);
		REQUIRE(wc.wc_flags & IBV_WC_WITH_INV);
		REQUIRE_EQ(wc.invalidated_rkey, mine.rkey);
	}
	check_fill(mem.p + OFF, 9001, seed);
	check_bytes(mem.p, OFF, 0);
	REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
}

static void windows(void)
{
	set_up(0);
	both_directions(window_of);
}

/* ---- datagrams --------------------------------------------------------------------- */

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static uint32_t peer_qpn;

/* @theirs: as ibv_modify_qp() and ibv_create_ah() want the way there */
static struct ibv_ah_attr way_to(const struct address *theirs)
{
	struct nic there = { .gid = theirs->gid, .port.lid = theirs->lid };

	return path_to(nic_a(), &there);
}

/* What the peer has to know of @qpn. */
static struct address tell(uint32_t qpn)
{
	struct address mine = {
		.gid = nic_a()->gid, .lid = nic_a()->port.lid,
		.mtu = nic_a()->port.active_mtu, .qpn = qpn,
	};

	return meet(&mine);
}

static void datagram(bool is_requester, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge sge = sge_of(&mem, OFF, is_requester ? len : LEN);
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = wr_send(1, &sge, 1), *bad;
	struct ibv_wc wc;

	seed++;
	memset(mem.p, 0, LEN);
	if (is_requester)
		fill(mem.p + OFF, len, seed);
	else
		REQUIRE_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
	meet(NULL);
	if (is_requester) {
		wr.opcode = opcode;
		wr.imm_data = htonl(IMM);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer_qpn;
		wr.wr.ud.remote_qkey = QKEY;
		REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
		wait_ok(cq, 1, IBV_WC_SEND);
		return;
	}
	wc = wait_ok(cq, 1, IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, GRH + len);
	REQUIRE_EQ(wc.src_qp, peer_qpn);
	REQUIRE_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), has_imm(opcode));
	if (has_imm(opcode))
		REQUIRE_EQ(ntohl(wc.imm_data), IMM);
	check_fill(mem.p + OFF + GRH, len, seed);
	check_bytes(mem.p + OFF + GRH + len, 1000, 0);
}

static void datagrams(bool is_requester)
{
	/* (of the smaller MTU, which RC would choose) */
	const uint32_t sizes[] = { 1, 7, 256, mtu_bytes(peer.mtu) };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		datagram(is_requester, IBV_WR_SEND, sizes[i]);
		datagram(is_requester, IBV_WR_SEND_WITH_IMM, sizes[i]);
	}
}

static void ud(void)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = QKEY };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_ah_attr way;
	struct address theirs;
	uint16_t mtu = nic_a()->port.active_mtu;

	open_connection();
	cq = ibv_create_cq(nic_a()->ctx, 16, NULL, NULL, 0);
	REQUIRE(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(nic_a()->pd, &init);
	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	theirs = tell(qp->qp_num);
	peer_qpn = theirs.qpn;
	way = way_to(&theirs);
	ah = ibv_create_ah(nic_a()->pd, &way);
	REQUIRE(ah);
	make_memory(nic_a()->pd);
	peer.mtu = theirs.mtu < mtu ? theirs.mtu : mtu;
	both_directions(datagrams);
}

/* ---- XRC --------------------------------------------------------------------------- */

static struct ibv_srq *srq;
static struct ibv_cq *srq_cq;
static uint32_t peer_srq;

static void xrc_message(bool is_requester, enum ibv_wr_opcode opcode, uint32_t len)
{
	bool takes_recv = opcode != IBV_WR_RDMA_WRITE && opcode != IBV_WR_RDMA_READ;
	bool is_source = is_requester != (opcode == IBV_WR_RDMA_READ);
	struct ibv_sge sge = sge_of(&mem, OFF, is_requester ? len : LEN);
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = wr_rdma(1, opcode, &sge, 1, peer.va + OFF, peer.rkey), *bad;
	struct ibv_wc wc;

	seed++;
	memset(mem.p, 0, LEN);
	if (is_source)
		fill(mem.p + OFF, len, seed);
	if (!is_requester && takes_recv)
		REQUIRE_EQ(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	meet(NULL);
	if (is_requester) {
		wr.qp_type.xrc.remote_srqn = peer_srq;
		if (has_imm(opcode))
			wr.imm_data = htonl(IMM);
		REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
		wait_ok(cq, 1, completion_of(opcode));
	} else if (takes_recv) {
		wc = wait_wc(srq_cq);
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.byte_len, len);
	}
	meet(NULL);
	check_fill(mem.p + OFF, len, seed);
	check_bytes(mem.p, OFF, 0);
}

static void xrc_messages(bool is_requester)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		xrc_message(is_requester, opcodes[i], 1);
		xrc_message(is_requester, opcodes[i], 20001);
	}
}

static void xrc_connect(struct ibv_qp *of, const struct address *theirs)
{
	uint16_t mtu = nic_a()->port.active_mtu;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = ACCESS_ALL,
		.path_mtu = theirs->mtu < mtu ? theirs->mtu : mtu,
		.dest_qp_num = theirs->qpn,
		.timeout = 17,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.ah_attr = way_to(theirs),
	};

	qp_to_rts(of, &attr);
}

static void xrc(void)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct ibv_srq_init_attr_ex srq_init = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct address to_initiator, to_target, their_srq;
	struct ibv_qp *target;
	uint32_t number;

	if (!(nic_a()->attr.device_cap_flags & IBV_DEVICE_XRC))
		test_skip("the device has no XRC");
	open_connection();
	init.xrcd = ibv_open_xrcd(nic_a()->ctx, &domain);
	cq = ibv_create_cq(nic_a()->ctx, 16, NULL, NULL, 0);
	srq_cq = ibv_create_cq(nic_a()->ctx, 16, NULL, NULL, 0);
	REQUIRE(init.xrcd && cq && srq_cq);
	srq_init.pd = nic_a()->pd;
	srq_init.xrcd = init.xrcd;
	srq_init.cq = srq_cq;
	srq = ibv_create_srq_ex(nic_a()->ctx, &srq_init);
	REQUIRE(srq);
	REQUIRE_EQ(ibv_get_srq_num(srq, &number), 0);
	target = ibv_create_qp_ex(nic_a()->ctx, &init);
	REQUIRE(target);
	init = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = nic_a()->pd,
	};
	qp = ibv_create_qp_ex(nic_a()->ctx, &init);
	REQUIRE(qp);
	to_initiator = tell(qp->qp_num);
	to_target = tell(target->qp_num);
	their_srq = tell(number);
	peer_srq = their_srq.qpn;
	xrc_connect(target, &to_initiator);
	xrc_connect(qp, &to_target);
	make_memory(nic_a()->pd);
	both_directions(xrc_messages);
}

static const struct test tests[] = {
	{ "rc", rc },
	{ "on_demand", rc_on_demand },
	{ "uc", uc },
	{ "ud", ud },
	{ "xrc", xrc },
	{ "atomics", atomics },
#ifdef HAVE_FLUSH
	{ "atomic_write_and_flush", atomic_write_and_flush },
#endif
	{ "windows", windows },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
