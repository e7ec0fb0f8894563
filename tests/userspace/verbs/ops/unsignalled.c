// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Does what tests/guest/ops/top.sh compares with `softhca top`: NR requests of LEN bytes, of
 * which one in EACH is signalled, or one that the peer refuses. It keeps its queue pairs until
 * SIGTERM. It prints
 *
 *	done QPN PEER-QPN NR LEN SIGNALLED
 *
 *   unsignalled -d DEVICE [-p PEER] WRITE|READ|reset|wrong_key
 */
#include "util.h"

#include <signal.h>
#include <unistd.h>

#define NR	3200
#define LEN	3000
#define EACH	64

static struct end a, b;
static struct buf mem_a, mem_b;

static void hold_them(uint32_t nr, uint32_t signalled)
{
	sigset_t mask;
	int sig;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	printf("done %u %u %u %u %u\n", a.qp->qp_num, b.qp->qp_num, nr, LEN, signalled);
	fflush(stdout);
	sigwait(&mask, &sig);
}

static void set_up(void)
{
	struct config config = config_default;

	config.max_send_wr = 2 * EACH;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
}

static void requests(enum ibv_wr_opcode opcode, enum ibv_wc_opcode done, uint32_t nr)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, LEN);
	struct ibv_send_wr wr;
	uint32_t i;

	for (i = 1; i <= nr; i++) {
		wr = wr_rdma(i, opcode, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey);
		if (i % EACH)
			wr.send_flags &= ~IBV_SEND_SIGNALED;
		post(&a, &wr);
		if (i % EACH == 0)
			wait_ok(a.scq, i, done);
	}
}

static void writes(void)
{
	set_up();
	requests(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, NR);
	hold_them(NR, NR / EACH);
}

static void reads(void)
{
	set_up();
	requests(IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, NR);
	hold_them(NR, NR / EACH);
}

/* Both queue pairs begin anew meanwhile, after a time in which somebody can look. */
static void writes_and_reset(void)
{
	set_up();
	requests(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, NR);
	sleep(4);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	requests(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, NR);
	hold_them(2 * NR, 2 * NR / EACH);
}

/* The peer refuses the request, so each end has an error. */
static void wrong_key(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up();
	sge = sge_of(&mem_a, 0, LEN);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey + 1);
	post(&a, &wr);
	wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	hold_them(1, 1);
}

static const struct test tests[] = {
	{ "WRITE", writes },
	{ "READ", reads },
	{ "reset", writes_and_reset },
	{ "wrong_key", wrong_key },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
