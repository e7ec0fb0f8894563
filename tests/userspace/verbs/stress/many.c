// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many objects at once: connected queue pairs with traffic, and memory regions
 * found by their keys. All must be gone afterwards.
 *
 *   many [-d DEVICE] [TEST]...
 *   many -d DEVICE hold	creates all, prints "ready", and waits to be killed
 *
 * MANY_QPS (default 500) and MANY_MRS (default 2,000) are their numbers.
 */
#include "util.h"

#include <unistd.h>

#define PART	64u

static uint32_t number(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void tell(const char *what, uint32_t nr, uint64_t start)
{
	printf("# %s: %u in %llu ms\n", what, nr,
	       (unsigned long long)(millis() - start));
}

static struct ibv_qp *make_qp(struct nic *nic, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(nic->pd, &init);

	REQUIRE(qp);
	return qp;
}

static void connect_qp(struct nic *nic, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = ACCESS_ALL,
		.path_mtu = nic->port.active_mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = path_to(nic, nic),
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	qp_to_rts(qp, &attr);
}

/* Each sends to its neighbour, and back; each writes to the place of its number. */
static void queue_pairs(void)
{
	uint32_t nr = number("MANY_QPS", 500) & ~1u, i;
	struct nic *nic = nic_a();
	uint64_t start = millis();
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_qp **qp;
	struct ibv_cq *cq;
	struct buf from, to;
	struct ibv_wc wc;

	alarm((120 + nr / 10) * slow_factor());
	qp = calloc(nr, sizeof(*qp));
	cq = ibv_create_cq(nic->ctx, 1024, NULL, NULL, 0);
	REQUIRE(qp && cq);
	from = buf_make(nic->pd, nr * PART, ACCESS_ALL);
	to = buf_make(nic->pd, nr * PART, ACCESS_ALL);
	for (i = 0; i < nr; i++)
		qp[i] = make_qp(nic, cq);
	tell("made", nr, start);
	for (i = 0; i < nr; i++)
		connect_qp(nic, qp[i], qp[i ^ 1]->qp_num);
	tell("connected", nr, start);
	for (i = 0; i < nr; i++) {
		fill(from.p + i * PART, PART, i);
		sge = sge_of(&from, i * PART, PART);
		wr = wr_rdma(i, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)to.p + i * PART, to.mr->rkey);
		REQUIRE_EQ(ibv_post_send(qp[i], &wr, &bad), 0);
		if (i % 512 == 511 || i == nr - 1) {
			uint32_t left = i % 512 + 1;

			while (left--) {
				wc = wait_wc(cq);
				REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
			}
		}
	}
	for (i = 0; i < nr; i++)
		check_fill(to.p + i * PART, PART, i);
	tell("used", nr, start);
	for (i = 0; i < nr; i++)
		REQUIRE_EQ(ibv_destroy_qp(qp[i]), 0);
	tell("destroyed", nr, start);
}

/* Regions of the same memory; peers use each of the keys. */
static void memory_regions(void)
{
	uint32_t nr = number("MANY_MRS", 2000), i;
	struct config config = config_default;
	uint64_t start = millis();
	struct ibv_mr **mrs;
	struct ibv_sge sge;
	struct end a, b;
	struct buf from, to;

	alarm((120 + nr / 50) * slow_factor());
	mrs = calloc(nr, sizeof(*mrs));
	REQUIRE(mrs);
	pair_make(&a, &b, &config);
	from = buf_make(a.nic->pd, PART, ACCESS_ALL);
	to = buf_make(b.nic->pd, 64 * PART, ACCESS_ALL);
	for (i = 0; i < nr; i++) {
		mrs[i] = ibv_reg_mr(b.nic->pd, to.p + i % 64 * PART, PART,
				    ACCESS_ALL);
		REQUIRE(mrs[i]);
	}
	tell("registered", nr, start);
	for (i = 0; i < nr; i += 1 + nr / 2000) {
		struct ibv_send_wr wr;

		fill(from.p, PART, i);
		sge = sge_of(&from, 0, PART);
		wr = wr_rdma(i, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)mrs[i]->addr, mrs[i]->rkey);
		post(&a, &wr);
		wait_status(a.scq, i, IBV_WC_SUCCESS);
		check_fill(mrs[i]->addr, PART, i);
	}
	tell("used", nr, start);
	for (i = 0; i < nr; i++)
		REQUIRE_EQ(ibv_dereg_mr(mrs[i]), 0);
	tell("deregistered", nr, start);
}

static int hold(void)
{
	uint32_t nr_qps = number("MANY_QPS", 500), nr_mrs = number("MANY_MRS", 2000);
	struct nic *nic = nic_a();
	struct ibv_cq *cq = ibv_create_cq(nic->ctx, 1024, NULL, NULL, 0);
	struct buf buf = buf_make(nic->pd, PART, ACCESS_ALL);
	struct ibv_qp *qp;

	REQUIRE(cq);
	while (nr_qps--) {
		qp = make_qp(nic, cq);
		connect_qp(nic, qp, qp->qp_num);
	}
	while (nr_mrs--)
		REQUIRE(ibv_reg_mr(nic->pd, buf.p, PART, ACCESS_ALL));
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static const struct test tests[] = {
	{ "queue_pairs", queue_pairs },
	{ "memory_regions", memory_regions },
	{}
};

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-d") && !strcmp(argv[3], "hold")) {
		options.device = argv[2];
		return hold();
	}
	return util_main(tests, argc, argv);
}
