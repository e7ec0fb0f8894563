// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SEND with invalidate.  From user space only memory windows can be invalidated
 * by a peer (IBTA 10.6.7), so there are two tests, each for a peer of its kind:
 * one that has windows of type 2, and one that has none and must refuse.
 */
#include "util.h"

#define LEN	(16 * KIB)

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(int access_b)
{
	pair_make(&a, &b, &config_default);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, access_b);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, 0, LEN);
}

static struct ibv_send_wr wr_send_inv(uint64_t wr_id, struct ibv_sge *sge,
				      uint32_t rkey)
{
	struct ibv_send_wr wr = wr_send(wr_id, sge, 1);

	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = rkey;
	return wr;
}

static uint32_t bind_window(struct ibv_mw *mw)
{
	struct ibv_send_wr wr = {
		.wr_id = 77,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = mem_b.mr,
				.addr = (uintptr_t)mem_b.p,
				.length = LEN,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	uint32_t rkey = wr.bind_mw.rkey;

	post(&b, &wr);
	wait_ok(b.scq, 77, IBV_WC_BIND_MW);
	mw->rkey = rkey;
	return rkey;
}

static void peer_invalidates_a_window(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(b.nic->pd, IBV_MW_TYPE_2);
	REQUIRE(mw);
	rkey = bind_window(mw);

	/* The window is open: data comes through it. */
	from = sge_of(&mem_a, 0, 5000);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p, rkey);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p, 5000, 1);

	/* A message of several packets closes it, and arrives itself. */
	to = sge_of(&mem_b, 8000, 5000);
	post_recv(&b, 2, &to, 1);
	wr = wr_send_inv(3, &from, rkey);
	post(&a, &wr);
	wc = wait_ok(b.rcq, 2, IBV_WC_RECV);
	/* rxe says it with the kernel's bit, 1 << 2 */
	REQUIRE(wc.wc_flags & (IBV_WC_WITH_INV | 1 << 2));
	REQUIRE_EQ(wc.invalidated_rkey, rkey);
	REQUIRE_EQ(wc.byte_len, 5000);
	check_fill(mem_b.p + 8000, 5000, 1);
	wait_ok(a.scq, 3, IBV_WC_SEND);

	memset(mem_b.p, 0, LEN);
	wr = wr_rdma(4, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p, rkey);
	post(&a, &wr);
	wait_status(a.scq, 4, IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
}

/* A region is its owner's: the request is refused, and the region stays. */
static void peer_cannot_invalidate_a_region(void)
{
	struct end c, d;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;

	set_up(ACCESS_ALL);
	pair_make(&c, &d, &config_default);
	from = sge_of(&mem_a, 0, 100);
	to = sge_of(&mem_b, 0, 100);
	post_recv(&b, 1, &to, 1);
	wr = wr_send_inv(2, &from, mem_b.mr->rkey);
	post(&a, &wr);
	wait_status(a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	REQUIRE(wait_wc(b.rcq).status != IBV_WC_SUCCESS);
	end_wait_state(&b, IBV_QPS_ERR);

	wr = wr_rdma(3, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p + 200,
		     mem_b.mr->rkey);
	post(&c, &wr);
	wait_ok(c.scq, 3, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p + 200, 100, 1);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(peer_invalidates_a_window),
	TEST(peer_cannot_invalidate_a_region),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
