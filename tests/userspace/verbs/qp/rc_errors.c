// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Errors over RC. Each kind of wrong request ends with the status that the
 * specification requires (IBTA 9.9, 11.6.2), at the right end. All requests
 * after it are flushed in order, and no byte goes to a wrong place. With -q uc:
 * errors of UC, where the requester only learns of its own.
 */
#include "util.h"

#define LEN		(16 * KIB)
#define UNTOUCHED	0xa5

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(const struct config *config)
{
	pair_make(&a, &b, config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, UNTOUCHED, LEN);
}

static void set_up_for_atomics(void)
{
	struct config config = config_default;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, UNTOUCHED, LEN);
}

/* It would change the word, whatever its value. */
static struct ibv_send_wr wr_atomic(int swap, struct ibv_sge *sge, uint64_t va,
				    uint32_t rkey)
{
	struct ibv_send_wr wr = wr_send(0, sge, 1);

	wr.opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP :
			   IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = va;
	wr.wr.atomic.rkey = rkey;
	wr.wr.atomic.compare_add = swap ? 0x0101010101010101ull * UNTOUCHED : 1;
	wr.wr.atomic.swap = 1;
	return wr;
}

/* Each posted receive is flushed, in order; the CQ has nothing else. */
static void expect_flushed_receives(struct end *end, uint64_t first, int num)
{
	int i;

	for (i = 0; i < num; i++)
		wait_status(end->rcq, first + i, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(end->rcq);
}

/* IBTA 10.3.1.7: only the send queue has stopped, and can be restarted. */
static void expect_sqe(void)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 8);
	struct ibv_send_wr wr = wr_send(300, NULL, 0);

	REQUIRE_EQ(end_state(&a), IBV_QPS_SQE);
	post(&b, &wr);
	wait_ok(a.rcq, 200, IBV_WC_RECV);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RTS), 0);
	wr = wr_rdma(301, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p,
		     mem_b.mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, 301, IBV_WC_RDMA_WRITE);
	wait_ok(b.scq, 300, IBV_WC_SEND);
}

/*
 * Posts @bad between valid requests: those before it succeed, and it gets
 * @status. Those after it are flushed, signalled or not. So are receives of
 * this side, except on UC.
 */
static void expect_send_error(struct ibv_send_wr *bad,
			      enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 8);
	struct ibv_send_wr good[3];
	int i;

	for (i = 0; i < 3; i++)
		good[i] = wr_rdma(100 + i, IBV_WR_RDMA_WRITE, &sge, 1,
				  (uintptr_t)mem_b.p, mem_b.mr->rkey);
	good[1].send_flags = 0;
	good[0].next = bad;
	bad->wr_id = 7;
	bad->next = &good[1];
	good[1].next = &good[2];
	post_recv(&a, 200, NULL, 0);
	post_recv(&a, 201, NULL, 0);
	post(&a, good);
	wait_ok(a.scq, 100, IBV_WC_RDMA_WRITE);
	wait_status(a.scq, 7, status);
	wait_status(a.scq, 101, IBV_WC_WR_FLUSH_ERR);
	wait_status(a.scq, 102, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(a.scq);
	if (options.is_uc) {
		expect_sqe();
	} else {
		expect_flushed_receives(&a, 200, 2);
		REQUIRE_EQ(end_state(&a), IBV_QPS_ERR);
	}
	buf_check_guards(&mem_a);
	buf_check_guards(&mem_b);
}

/* ---- the requester's own memory ------------------------------------------ */

/* reasons to refuse a segment */
enum bad_segment {
	SEG_UNKNOWN_KEY,
	SEG_FOREIGN_PD,
	SEG_DEREGISTERED,
	SEG_PAST_END,
	SEG_BEFORE_START,
	SEG_WRAPS,
	SEG_NO_RIGHT,		/* in a region without local write */
	NR_BAD_SEGMENTS
};

static const char *const bad_segment_names[] = {
	"unknown key", "foreign PD", "deregistered", "past end",
	"before start", "wraps", "no right",
};

static struct ibv_sge bad_segment(enum bad_segment kind, struct nic *nic)
{
	struct buf other;
	struct ibv_sge sge;
	struct ibv_pd *pd;

	switch (kind) {
	case SEG_UNKNOWN_KEY:
		other = buf_make(nic->pd, LEN, ACCESS_ALL);
		sge = sge_of(&other, 0, 64);
		sge.lkey ^= 0x5a5a5a00;
		return sge;
	case SEG_FOREIGN_PD:
		pd = ibv_alloc_pd(nic->ctx);
		REQUIRE(pd);
		other = buf_make(pd, LEN, ACCESS_ALL);
		return sge_of(&other, 0, 64);
	case SEG_DEREGISTERED:
		other = buf_make(nic->pd, LEN, ACCESS_ALL);
		sge = sge_of(&other, 0, 64);
		REQUIRE_EQ(ibv_dereg_mr(other.mr), 0);
		return sge;
	case SEG_PAST_END:
		other = buf_make(nic->pd, LEN, ACCESS_ALL);
		return sge_of(&other, LEN - 63, 64);
	case SEG_BEFORE_START:
		other = buf_make(nic->pd, LEN, ACCESS_ALL);
		return sge_of(&other, (size_t)-1, 64);
	case SEG_WRAPS:
		other = buf_make(nic->pd, LEN, ACCESS_ALL);
		sge = sge_of(&other, 0, 64);
		sge.addr = UINT64_MAX - 31;
		return sge;
	case SEG_NO_RIGHT:
	case NR_BAD_SEGMENTS:
		break;
	}
	other = buf_make(nic->pd, LEN, IBV_ACCESS_REMOTE_READ);
	return sge_of(&other, 0, 64);
}

/* Each reason (a new pair for each), in the first or the second segment. */
static void local_segment_errors(enum ibv_wr_opcode opcode, int num_kinds)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr wr;
	int kind, second;

	for (kind = 0; kind < num_kinds; kind++) {
		for (second = 0; second < 2; second++) {
			printf("# %s, segment %d\n", bad_segment_names[kind],
			       second);
			set_up(&config_default);
			sge[0] = sge_of(&mem_a, 64, 64);
			sge[second] = bad_segment(kind, a.nic);
			wr = wr_rdma(0, opcode, sge, second + 1,
				     (uintptr_t)mem_b.p + 64, mem_b.mr->rkey);
			post_recv(&b, 1, NULL, 0);
			expect_send_error(&wr, IBV_WC_LOC_PROT_ERR);
			/* the peer has noticed nothing */
			REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
			require_no_wc(b.rcq);
			end_destroy(&a);
			end_destroy(&b);
		}
	}
}

static void send_from_bad_local_memory(void)
{
	local_segment_errors(IBV_WR_SEND, SEG_NO_RIGHT);
}

static void write_from_bad_local_memory(void)
{
	local_segment_errors(IBV_WR_RDMA_WRITE, SEG_NO_RIGHT);
}

/* A READ also needs local write access. */
static void read_into_bad_local_memory(void)
{
	local_segment_errors(IBV_WR_RDMA_READ, NR_BAD_SEGMENTS);
}

/* The old value of an atomic needs exactly one segment. */
static void atomic_into_bad_local_memory(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int kind, op;

	for (kind = 0; kind < NR_BAD_SEGMENTS; kind++) {
		for (op = 0; op < 2; op++) {
			printf("# %s\n", bad_segment_names[kind]);
			set_up_for_atomics();
			sge = bad_segment(kind, a.nic);
			if (kind == SEG_PAST_END)
				sge.addr += 57;
			sge.length = 8;
			wr = wr_atomic(op, &sge, (uintptr_t)mem_b.p + 64,
				       mem_b.mr->rkey);
			expect_send_error(&wr, IBV_WC_LOC_PROT_ERR);
			REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
			end_destroy(&a);
			end_destroy(&b);
		}
	}
}

/* ---- the responder's receive buffers --------------------------------------- */

static void receive_into_bad_memory(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int kind;

	for (kind = 0; kind < NR_BAD_SEGMENTS; kind++) {
		printf("# %s\n", bad_segment_names[kind]);
		set_up(&config_default);
		from = sge_of(&mem_a, 0, 64);
		to = bad_segment(kind, b.nic);
		post_recv(&b, 1, &to, 1);
		post_recv(&b, 2, NULL, 0);
		wr = wr_send(0, &from, 1);
		expect_send_error(&wr, IBV_WC_REM_OP_ERR);
		wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
		expect_flushed_receives(&b, 2, 1);
		REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
		end_destroy(&a);
		end_destroy(&b);
	}
}

/* The receive buffer is too short by one byte, or has length 0. */
static void send_longer_than_the_receive_buffer(void)
{
	static const struct { uint32_t sent, room; } cases[] = {
		{ 1, 0 }, { 65, 64 }, { 5000, 4999 }, { 9000, 100 },
		{ LEN, 4096 },
	};
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		printf("# %u into %u\n", cases[i].sent, cases[i].room);
		set_up(&config_default);
		from = sge_of(&mem_a, 0, cases[i].sent);
		to = sge_of(&mem_b, 8, cases[i].room);
		post_recv(&b, 1, &to, 1);
		post_recv(&b, 2, &to, 1);
		wr = wr_send(0, &from, 1);
		expect_send_error(&wr, IBV_WC_REM_INV_REQ_ERR);
		wait_status(b.rcq, 1, IBV_WC_LOC_LEN_ERR);
		expect_flushed_receives(&b, 2, 1);
		REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
		require_no_event(b.nic->ctx);
		check_bytes(mem_b.p + 8 + cases[i].room,
			    LEN - 8 - cases[i].room, UNTOUCHED);
		end_destroy(&a);
		end_destroy(&b);
	}
}

/* ---- the responder's regions ------------------------------------------------ */

enum bad_target {
	TARGET_UNKNOWN_KEY,
	TARGET_FOREIGN_PD,
	TARGET_DEREGISTERED,
	TARGET_PAST_END,
	TARGET_BEFORE_START,
	TARGET_WRAPS,
	TARGET_NO_RIGHT,
	NR_BAD_TARGETS
};

static const char *const bad_target_names[] = {
	"unknown key", "foreign PD", "deregistered", "past end",
	"before start", "wraps", "no right",
};

struct target {
	uint64_t va;
	uint32_t rkey;
};

static struct target bad_target(enum bad_target kind, struct nic *nic,
				enum ibv_wr_opcode opcode)
{
	bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	int all = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
	int right = is_atomic ? IBV_ACCESS_REMOTE_ATOMIC :
		    opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ :
						 IBV_ACCESS_REMOTE_WRITE;
	struct ibv_pd *pd = nic->pd;
	struct target target;
	struct buf other;

	if (kind == TARGET_FOREIGN_PD) {
		pd = ibv_alloc_pd(nic->ctx);
		REQUIRE(pd);
	}
	other = buf_make(pd, LEN, kind == TARGET_NO_RIGHT ? all & ~right : all);
	target = (struct target){ (uintptr_t)other.p, other.mr->rkey };
	switch (kind) {
	case TARGET_UNKNOWN_KEY:
		target.rkey ^= 0x5a5a5a00;
		break;
	case TARGET_DEREGISTERED:
		REQUIRE_EQ(ibv_dereg_mr(other.mr), 0);
		break;
	case TARGET_PAST_END:
		/* an atomic must be aligned; otherwise 99 of 100 bytes */
		target.va += is_atomic ? LEN : LEN - 99;
		break;
	case TARGET_BEFORE_START:
		target.va -= is_atomic ? 8 : 1;
		break;
	case TARGET_WRAPS:
		target.va = UINT64_MAX - 31;
		break;
	case TARGET_FOREIGN_PD:
	case TARGET_NO_RIGHT:
	case NR_BAD_TARGETS:
		break;
	}
	return target;
}

static void remote_access_errors(enum ibv_wr_opcode opcode)
{
	struct target target;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int kind;

	for (kind = 0; kind < NR_BAD_TARGETS; kind++) {
		printf("# %s\n", bad_target_names[kind]);
		set_up_for_atomics();
		target = bad_target(kind, b.nic, opcode);
		sge = sge_of(&mem_a, 64, 100);
		wr = wr_rdma(0, opcode, &sge, 1, target.va, target.rkey);
		if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			sge.length = 8;
			wr = wr_atomic(0, &sge, target.va, target.rkey);
		}
		post_recv(&b, 1, NULL, 0);
		post_recv(&b, 2, NULL, 0);
		expect_send_error(&wr, IBV_WC_REM_ACCESS_ERR);
		/* a READ has placed no data */
		check_fill(mem_a.p, LEN, 1);
		/* The receive that it would have completed reports the error. */
		if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
			wait_status(b.rcq, 1, IBV_WC_LOC_ACCESS_ERR);
			require_no_event(b.nic->ctx);
		} else {
			wait_event(b.nic->ctx, IBV_EVENT_QP_ACCESS_ERR);
			wait_status(b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
		}
		expect_flushed_receives(&b, 2, 1);
		REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
		end_destroy(&a);
		end_destroy(&b);
	}
}

static void write_to_bad_remote_memory(void)
{
	remote_access_errors(IBV_WR_RDMA_WRITE);
}

static void write_imm_to_bad_remote_memory(void)
{
	remote_access_errors(IBV_WR_RDMA_WRITE_WITH_IMM);
}

static void read_from_bad_remote_memory(void)
{
	remote_access_errors(IBV_WR_RDMA_READ);
}

static void atomic_on_bad_remote_memory(void)
{
	remote_access_errors(IBV_WR_ATOMIC_FETCH_AND_ADD);
}

/* The eight bytes that it brings back must have room; more room than that is fine. */
static void atomic_with_a_short_result(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int op;

	for (op = 0; op < 2; op++) {
		set_up_for_atomics();
		sge = sge_of(&mem_a, 64, 16);
		wr = wr_atomic(op, &sge, (uintptr_t)mem_b.p + 64,
			       mem_b.mr->rkey);
		post(&a, &wr);
		wait_ok(a.scq, 0, op ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
		check_bytes(mem_a.p + 64, 8, UNTOUCHED);
		memset(mem_b.p, UNTOUCHED, LEN);
		sge.length = 7;
		wr = wr_atomic(op, &sge, (uintptr_t)mem_b.p + 64,
			       mem_b.mr->rkey);
		expect_send_error(&wr, IBV_WC_LOC_LEN_ERR);
		check_bytes(mem_b.p + 64, LEN - 64, UNTOUCHED);
		end_destroy(&a);
		end_destroy(&b);
	}
}

/* IBTA 9.4.5: the address of an atomic is a multiple of eight. */
static void atomic_at_an_odd_address(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int op, off;

	for (op = 0; op < 2; op++) {
		for (off = 1; off < 8; off += 3) {
			set_up_for_atomics();
			sge = sge_of(&mem_a, 64, 8);
			post_recv(&b, 1, NULL, 0);
			wr = wr_atomic(op, &sge, (uintptr_t)mem_b.p + 64 + off,
				       mem_b.mr->rkey);
			expect_send_error(&wr, IBV_WC_REM_INV_REQ_ERR);
			check_fill(mem_a.p, LEN, 1);
			check_bytes(mem_b.p + 64, LEN - 64, UNTOUCHED);
			wait_event(b.nic->ctx, IBV_EVENT_QP_REQ_ERR);
			expect_flushed_receives(&b, 1, 1);
			REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
			end_destroy(&a);
			end_destroy(&b);
		}
	}
}

/* A WRITE of several packets beyond its region: no byte is written. */
static void long_write_past_the_end_writes_nothing(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up(&config_default);
	sge = sge_of(&mem_a, 0, LEN);
	wr = wr_rdma(0, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p + 64,
		     mem_b.mr->rkey);
	expect_send_error(&wr, IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p + 64, LEN - 64, UNTOUCHED);
}

/* The region allows it, the queue pair does not. */
static void qp_without_the_right(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		int right;
	} cases[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
	};
	const int all = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
	struct config config = config_default;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		config.qp_access = all & ~cases[i].right;
		set_up(&config);
		mem_b = buf_make(b.nic->pd, LEN, all);
		memset(mem_b.p, UNTOUCHED, LEN);
		sge = sge_of(&mem_a, 64, 104);
		post_recv(&b, 1, NULL, 0);
		wr = wr_rdma(1, cases[i].opcode, &sge, 1, (uintptr_t)mem_b.p,
			     mem_b.mr->rkey);
		if (cases[i].right == IBV_ACCESS_REMOTE_ATOMIC) {
			sge.length = 8;
			wr = wr_atomic(0, &sge, (uintptr_t)mem_b.p,
				       mem_b.mr->rkey);
		}
		post(&a, &wr);
		/* HCAs differ here: both statuses mean that the remote end refused */
		wc = wait_wc(a.scq);
		REQUIRE(wc.status == IBV_WC_REM_INV_REQ_ERR ||
			wc.status == IBV_WC_REM_ACCESS_ERR);
		expect_flushed_receives(&b, 1, 1);
		check_bytes(mem_b.p, LEN, UNTOUCHED);
		check_fill(mem_a.p, LEN, 1);
		REQUIRE_EQ(end_state(&a), IBV_QPS_ERR);
		REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
		end_destroy(&a);
		end_destroy(&b);
	}
}

/* ---- time-outs ---------------------------------------------------------------- */

static void receiver_not_ready(enum ibv_wr_opcode opcode)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int rnr_retry;

	for (rnr_retry = 0; rnr_retry < 3; rnr_retry++) {
		printf("# rnr_retry %d\n", rnr_retry);
		config.rnr_retry = rnr_retry;
		config.min_rnr_timer = 1;
		set_up(&config);
		sge = sge_of(&mem_a, 0, 5000);
		wr = wr_rdma(0, opcode, &sge, 1, (uintptr_t)mem_b.p + 8,
			     mem_b.mr->rkey);
		expect_send_error(&wr, IBV_WC_RNR_RETRY_EXC_ERR);
		REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
		require_no_wc(b.rcq);
		end_destroy(&a);
		end_destroy(&b);
	}
}

static void send_without_a_receive(void)
{
	receiver_not_ready(IBV_WR_SEND);
}

static void write_imm_without_a_receive(void)
{
	receiver_not_ready(IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* rnr_retry 7 waits forever: here, until a receive is posted after a while. */
static void rnr_retry_7_waits_for_the_receive(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge from, to;
	uint64_t until;

	set_up(&config_default);
	from = sge_of(&mem_a, 0, 9000);
	to = sge_of(&mem_b, 0, 9000);
	wr = wr_send(1, &from, 1);
	post(&a, &wr);
	for (until = millis() + 300; millis() < until;)
		require_no_wc(a.scq);
	post_recv(&b, 2, &to, 1);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	check_fill(mem_b.p, 9000, 1);
}

/* Code 10 is 4.194 ms; the requester retries with a responder that does not exist. */
static void no_such_peer(enum ibv_wr_opcode opcode, int retry_cnt)
{
	struct config config = config_default;
	struct address nobody;
	struct ibv_send_wr wr[2];
	uint64_t start, took;
	struct ibv_sge sge;

	config.timeout = 10;
	config.retry_cnt = retry_cnt;
	a = end_make(nic_a(), &config);
	b = end_make(nic_b(), &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	nobody = end_address(&b);
	end_destroy(&b);
	end_connect(&a, &nobody);
	sge = sge_of(&mem_a, 0, 8);
	wr[0] = wr_rdma(1, opcode, &sge, 1, 0x1000, 1);
	wr[1] = wr_rdma(2, opcode, &sge, 1, 0x1000, 1);
	wr[0].next = &wr[1];
	post_recv(&a, 3, NULL, 0);
	start = millis();
	post(&a, wr);
	wait_status(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	took = millis() - start;
	printf("# retry_cnt %d: %llu ms\n", retry_cnt,
	       (unsigned long long)took);
	/* This clock counts whole milliseconds. IBTA: up to four times each. */
	REQUIRE(took + 1 >= (retry_cnt + 1) * 4u);
	REQUIRE(took < 2000);
	wait_status(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_flushed_receives(&a, 3, 1);
	REQUIRE_EQ(end_state(&a), IBV_QPS_ERR);
	end_destroy(&a);
}

static void peer_that_does_not_exist(void)
{
	no_such_peer(IBV_WR_SEND, 0);
	no_such_peer(IBV_WR_RDMA_WRITE, 1);
	no_such_peer(IBV_WR_RDMA_READ, 2);
	no_such_peer(IBV_WR_SEND, 7);
}

/* A peer that does not receive: in RESET, INIT, ERR. */
static void peer_that_does_not_answer(void)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_ERR,
	};
	struct config config = config_default;
	struct address to_b;
	struct ibv_send_wr wr;
	uint32_t i;

	config.timeout = 10;
	config.retry_cnt = 1;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		a = end_make(nic_a(), &config);
		b = end_make(nic_b(), &config);
		to_b = end_address(&b);
		end_connect(&a, &to_b);
		if (states[i] != IBV_QPS_RESET)
			REQUIRE_EQ(end_to_init(&b), 0);
		if (states[i] == IBV_QPS_ERR)
			REQUIRE_EQ(end_to(&b, IBV_QPS_ERR), 0);
		wr = wr_send(1, NULL, 0);
		post(&a, &wr);
		wait_status(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
		REQUIRE_EQ(end_state(&b), states[i]);
		end_destroy(&a);
		end_destroy(&b);
	}
}

/* The peer is destroyed while it gets data. */
static void peer_destroyed_under_traffic(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	int posted, i;

	config.timeout = 12;
	config.retry_cnt = 2;
	set_up(&config);
	sge = sge_of(&mem_a, 0, LEN);
	for (posted = 0; posted < 32; posted++) {
		wr = wr_rdma(posted, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)mem_b.p, mem_b.mr->rkey);
		post(&a, &wr);
	}
	end_destroy(&b);
	wr.wr_id = posted++;
	post(&a, &wr);
	for (i = 0; i < posted; i++) {
		wc = wait_wc(a.scq);
		REQUIRE_EQ(wc.wr_id, i);
		if (wc.status != IBV_WC_SUCCESS)
			break;
	}
	REQUIRE(i < posted);
	REQUIRE_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	for (i++; i < posted; i++)
		wait_status(a.scq, i, IBV_WC_WR_FLUSH_ERR);
}

/*
 * The last messages did not request an ACK. Their receiver ends, in each
 * possible way, as soon as it has them. The executed messages must not fail.
 */
static void peer_that_leaves_has_acknowledged(void)
{
	static const enum ibv_qp_state ways[] = {
		IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET,
	};
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t n;
	uint32_t i;

	config.timeout = 10;
	config.retry_cnt = 1;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		set_up(&config);
		sge = sge_of(&mem_a, 0, 8);
		for (n = 1; n <= 5; n++)
			post_recv(&b, n, NULL, 0);
		for (n = 1; n <= 5; n++) {
			wr = n == 3 ? wr_rdma(n, IBV_WR_RDMA_WRITE, &sge, 1,
					      (uintptr_t)mem_b.p,
					      mem_b.mr->rkey) :
				      wr_send(n, NULL, 0);
			wr.send_flags = 0;
			post(&a, &wr);
		}
		for (n = 1; n <= 4; n++)
			wait_ok(b.rcq, n, IBV_WC_RECV);
		if (ways[i] == IBV_QPS_RTS)
			end_destroy(&b);
		else
			REQUIRE_EQ(end_to(&b, ways[i]), 0);
		wr = wr_send(6, NULL, 0);
		post(&a, &wr);
		wait_status(a.scq, 6, IBV_WC_RETRY_EXC_ERR);
		end_destroy(&a);
	}
}

/* ---- the error state ------------------------------------------------------------ */

/* Sends wait for receives of the peer; a change to ERR flushes them all. */
static void modify_to_error_flushes_in_order(void)
{
	struct ibv_send_wr wr;
	int i;

	set_up(&config_default);
	for (i = 0; i < 20; i++) {
		post_recv(&a, 100 + i, NULL, 0);
		wr = wr_send(i, NULL, 0);
		if (i % 2)
			wr.send_flags = 0;
		post(&a, &wr);
	}
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	for (i = 0; i < 20; i++)
		wait_status(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(a.scq);
	expect_flushed_receives(&a, 100, 20);
	REQUIRE_EQ(end_state(&a), IBV_QPS_ERR);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
}

/* Single posts and chains; both queues; from INIT and from RTS. */
static void posts_after_error_are_flushed(void)
{
	struct ibv_send_wr wr[3];
	int i, round;

	set_up(&config_default);
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	for (round = 0; round < 100; round++) {
		post_recv(&a, round, NULL, 0);
		for (i = 0; i < 3; i++) {
			wr[i] = wr_send(round * 3 + i, NULL, 0);
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		post(&a, wr);
		for (i = 0; i < 3; i++)
			wait_status(a.scq, round * 3 + i, IBV_WC_WR_FLUSH_ERR);
		wait_status(a.rcq, round, IBV_WC_WR_FLUSH_ERR);
	}
	end_destroy(&a);
	end_destroy(&b);

	a = end_make(nic_a(), &config_default);
	REQUIRE_EQ(end_to_init(&a), 0);
	post_recv(&a, 1, NULL, 0);
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	expect_flushed_receives(&a, 1, 1);
	post_recv(&a, 2, NULL, 0);
	expect_flushed_receives(&a, 2, 1);
}

/* Unpolled completions of the first life must not appear in the second. */
static void reset_discards_the_past(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int life, i;

	set_up(&config_default);
	from = sge_of(&mem_a, 0, 3000);
	to = sge_of(&mem_b, 0, 3000);
	for (life = 0; life < 20; life++) {
		for (i = 0; i < 10; i++) {
			post_recv(&b, 1000 * life + i, &to, 1);
			wr = wr_send(1000 * life + i, &from, 1);
			post(&a, &wr);
		}
		for (i = 0; i < 5; i++) {
			wait_ok(b.rcq, 1000 * life + i, IBV_WC_RECV);
			wait_ok(a.scq, 1000 * life + i, IBV_WC_SEND);
		}
		if (life % 2)
			REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
		REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
		REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
		require_no_wc(a.scq);
		require_no_wc(b.rcq);
		a.psn = (a.psn + 12345) & 0xffffff;
		pair_connect(&a, &b);
	}
	require_quiet(a.scq);
	require_quiet(b.rcq);
}

static void destroy_discards_unpolled_completions(void)
{
	struct end other_a, other_b;
	struct ibv_qp_init_attr init = {
		.qp_type = options.is_uc ? IBV_QPT_UC : IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_send_wr wr;
	int i;

	/* two pairs on the same CQs, with interleaved completions */
	set_up(&config_default);
	other_a = a;
	other_b = b;
	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	other_a.qp = ibv_create_qp(a.nic->pd, &init);
	init.send_cq = b.scq;
	init.recv_cq = b.rcq;
	other_b.qp = ibv_create_qp(b.nic->pd, &init);
	REQUIRE(other_a.qp && other_b.qp);
	pair_connect(&other_a, &other_b);
	for (i = 0; i < 8; i++) {
		post_recv(i % 2 ? &other_b : &b, i, NULL, 0);
		wr = wr_send(i, NULL, 0);
		post(i % 2 ? &other_a : &a, &wr);
	}
	for (i = 0; i < 8; i++)
		wait_wc(b.rcq);
	REQUIRE_EQ(ibv_destroy_qp(other_a.qp), 0);
	for (i = 0; i < 8; i += 2)
		wait_ok(a.scq, i, IBV_WC_SEND);
	require_quiet(a.scq);
}

/* ---- UC: errors of the responder -------------------------------------------------- */

/*
 * IBTA 9.8.2: the message is dropped, as if it had been lost. @wr succeeds; the
 * next message uses the receive.
 */
static void expect_dropped(struct ibv_send_wr *wr)
{
	struct ibv_sge from = sge_of(&mem_a, 0, 40);
	struct ibv_sge to = sge_of(&mem_b, 64, 64);
	struct ibv_send_wr next;

	check_bytes(mem_b.p, LEN, UNTOUCHED);
	post_recv(&b, 1, &to, 1);
	wr->wr_id = 5;
	post(&a, wr);
	wait_status(a.scq, 5, IBV_WC_SUCCESS);
	next = wr_send(6, &from, 1);
	post(&a, &next);
	wait_ok(a.scq, 6, IBV_WC_SEND);
	REQUIRE_EQ(wait_ok(b.rcq, 1, IBV_WC_RECV).byte_len, 40);
	check_fill(mem_b.p + 64, 40, 1);
	check_bytes(mem_b.p, 64, UNTOUCHED);
	check_bytes(mem_b.p + 128, LEN - 128, UNTOUCHED);
	require_no_wc(b.rcq);
	REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	end_destroy(&a);
	end_destroy(&b);
}

/* IBTA 11.6.2: the receive completes with LOC_LEN_ERR; the next message uses another. */
static void message_longer_than_the_receive_is_told(void)
{
	static const uint32_t lens[] = { 65, 5000, LEN };
	struct ibv_send_wr wr, next;
	struct ibv_sge sge, from, to;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		set_up(&config_default);
		to = sge_of(&mem_b, 64, 64);
		post_recv(&b, 1, &to, 1);
		post_recv(&b, 2, &to, 1);
		sge = sge_of(&mem_a, 0, lens[i]);
		wr = wr_send(5, &sge, 1);
		post(&a, &wr);
		wait_ok(a.scq, 5, IBV_WC_SEND);
		wait_status(b.rcq, 1, IBV_WC_LOC_LEN_ERR);
		check_bytes(mem_b.p, LEN, UNTOUCHED);
		from = sge_of(&mem_a, 0, 40);
		next = wr_send(6, &from, 1);
		post(&a, &next);
		wait_ok(a.scq, 6, IBV_WC_SEND);
		REQUIRE_EQ(wait_ok(b.rcq, 2, IBV_WC_RECV).byte_len, 40);
		check_fill(mem_b.p + 64, 40, 1);
		require_no_wc(b.rcq);
		REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
		end_destroy(&a);
		end_destroy(&b);
	}
}

static void write_to_bad_remote_memory_is_dropped(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct target target;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int kind, op;

	for (kind = 0; kind < NR_BAD_TARGETS; kind++) {
		for (op = 0; op < 2; op++) {
			printf("# %s\n", bad_target_names[kind]);
			set_up(&config_default);
			target = bad_target(kind, b.nic, opcodes[op]);
			sge = sge_of(&mem_a, 64, 100);
			wr = wr_rdma(0, opcodes[op], &sge, 1, target.va,
				     target.rkey);
			expect_dropped(&wr);
		}
	}
}

static void write_without_the_right_of_the_qp_is_dropped(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	config.qp_access = 0;
	set_up(&config);
	sge = sge_of(&mem_a, 64, 100);
	wr = wr_rdma(0, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p,
		     mem_b.mr->rkey);
	expect_dropped(&wr);
}

/* A message without a receive is lost completely; the next one is not. */
static void message_without_a_receive_is_dropped(void)
{
	static const uint32_t lens[] = { 4, 5000, LEN };
	struct ibv_sge sge, to;
	struct ibv_send_wr wr;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		set_up(&config_default);
		sge = sge_of(&mem_a, 0, lens[i]);
		wr = wr_send(0, &sge, 1);
		post(&a, &wr);
		wait_ok(a.scq, 0, IBV_WC_SEND);
		require_quiet(b.rcq);
		check_bytes(mem_b.p, LEN, UNTOUCHED);
		to = sge_of(&mem_b, 0, LEN);
		post_recv(&b, 1, &to, 1);
		post(&a, &wr);
		wait_ok(a.scq, 0, IBV_WC_SEND);
		REQUIRE_EQ(wait_ok(b.rcq, 1, IBV_WC_RECV).byte_len, lens[i]);
		check_fill(mem_b.p, lens[i], 1);
		end_destroy(&a);
		end_destroy(&b);
	}
}

static void uc_receive_into_bad_memory(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int kind;

	for (kind = 0; kind < NR_BAD_SEGMENTS; kind++) {
		printf("# %s\n", bad_segment_names[kind]);
		set_up(&config_default);
		from = sge_of(&mem_a, 0, 64);
		to = bad_segment(kind, b.nic);
		post_recv(&b, 1, &to, 1);
		post_recv(&b, 2, NULL, 0);
		wr = wr_send(0, &from, 1);
		post(&a, &wr);
		wait_ok(a.scq, 0, IBV_WC_SEND);
		wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
		expect_flushed_receives(&b, 2, 1);
		REQUIRE_EQ(end_state(&b), IBV_QPS_ERR);
		REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
		end_destroy(&a);
		end_destroy(&b);
	}
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(send_from_bad_local_memory),
	TEST(write_from_bad_local_memory),
	TEST(read_into_bad_local_memory),
	TEST(atomic_into_bad_local_memory),
	TEST(receive_into_bad_memory),
	TEST(send_longer_than_the_receive_buffer),
	TEST(write_to_bad_remote_memory),
	TEST(write_imm_to_bad_remote_memory),
	TEST(read_from_bad_remote_memory),
	TEST(atomic_on_bad_remote_memory),
	TEST(atomic_with_a_short_result),
	TEST(atomic_at_an_odd_address),
	TEST(long_write_past_the_end_writes_nothing),
	TEST(qp_without_the_right),
	TEST(send_without_a_receive),
	TEST(write_imm_without_a_receive),
	TEST(rnr_retry_7_waits_for_the_receive),
	TEST(peer_that_does_not_exist),
	TEST(peer_that_does_not_answer),
	TEST(peer_destroyed_under_traffic),
	TEST(peer_that_leaves_has_acknowledged),
	TEST(modify_to_error_flushes_in_order),
	TEST(posts_after_error_are_flushed),
	TEST(reset_discards_the_past),
	TEST(destroy_discards_unpolled_completions),
	{}
};

static const struct test uc_tests[] = {
	TEST(send_from_bad_local_memory),
	TEST(write_from_bad_local_memory),
	TEST(message_longer_than_the_receive_is_told),
	TEST(write_to_bad_remote_memory_is_dropped),
	TEST(write_without_the_right_of_the_qp_is_dropped),
	TEST(message_without_a_receive_is_dropped),
	TEST(uc_receive_into_bad_memory),
	TEST(posts_after_error_are_flushed),
	TEST(reset_discards_the_past),
	TEST(destroy_discards_unpolled_completions),
	{}
};

int main(int argc, char **argv)
{
	return util_main_rc_uc(tests, uc_tests, argc, argv);
}
