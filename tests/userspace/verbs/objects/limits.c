// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One process can have all that the device advertises, and no more. One object
 * too many is refused with ENOMEM, and succeeds once another is destroyed.
 * Nobody else may use the device meanwhile.
 */
#include "util.h"

#include <sys/mman.h>
#include <unistd.h>

/* Longer than usual for a test: it makes hundreds of thousands of calls. */
enum { LONG_SECONDS = 1500 };

static struct ibv_cq *cq;
static uint8_t *page;

/* ---- numbers of objects --------------------------------------------------------- */

/**
 * struct kind - a kind of object
 * @make: @end:	create and destroy one; NULL with errno if refused
 * @max:	limit
 * @before:	number that this program has already
 */
struct kind {
	void *(*make)(void);
	int (*end)(void *object);
	int max;
	int before;
};

static void reach(const struct kind *kind)
{
	int nr = kind->before;
	uint64_t start = millis();
	void *last = NULL, *object;

	alarm(LONG_SECONDS);
	while ((object = kind->make())) {
		last = object;
		nr++;
		REQUIRE(nr <= kind->max);
	}
	REQUIRE_EQ(errno, ENOMEM);
	REQUIRE_EQ(nr, kind->max);
	REQUIRE_EQ(kind->end(last), 0);
	last = kind->make();
	REQUIRE(last);
	REQUIRE_ERRNO(kind->make(), ENOMEM);
	printf("# %d in %d ms\n", nr, (int)(millis() - start));
}

static void *make_pd(void)
{
	return ibv_alloc_pd(nic_a()->ctx);
}

static int end_pd(void *pd)
{
	return ibv_dealloc_pd(pd);
}

static void max_pd(void)
{
	/* nic_a() has one */
	reach(&(struct kind){ make_pd, end_pd, nic_a()->attr.max_pd, 1 });
}

static void *make_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = nic_a()->gid,
			 .sgid_index = nic_a()->gid_index },
	};

	return ibv_create_ah(nic_a()->pd, &attr);
}

static int end_ah(void *ah)
{
	return ibv_destroy_ah(ah);
}

static void max_ah(void)
{
	reach(&(struct kind){ make_ah, end_ah, nic_a()->attr.max_ah, 0 });
}

/*
 * Times the first ones: verbs/limits.sh compares drivers. The RDMA core takes most
 * of the time, because it resolves the peer's address for each.
 */
static void first_ahs(void)
{
	enum { NR = 8192 };
	struct ibv_ah *ahs[NR];
	uint64_t start = millis();
	int i;

	alarm(LONG_SECONDS);
	for (i = 0; i < NR; i++)
		REQUIRE(ahs[i] = make_ah());
	printf("# %d AHs in %d ms\n", NR, (int)(millis() - start));
	while (i--)
		REQUIRE_EQ(ibv_destroy_ah(ahs[i]), 0);
}

static void *make_mr(void)
{
	return ibv_reg_mr(nic_a()->pd, page, 64, 0);
}

static int end_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

static void max_mr(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(page != MAP_FAILED);
	reach(&(struct kind){ make_mr, end_mr, nic_a()->attr.max_mr, 0 });
}

static void *make_mw(void)
{
	return ibv_alloc_mw(nic_a()->pd, IBV_MW_TYPE_2);
}

static int end_mw(void *mw)
{
	return ibv_dealloc_mw(mw);
}

static void max_mw(void)
{
	reach(&(struct kind){ make_mw, end_mw, nic_a()->attr.max_mw, 0 });
}

static void *make_cq(void)
{
	return ibv_create_cq(nic_a()->ctx, 1, NULL, NULL, 0);
}

static int end_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void max_cq(void)
{
	reach(&(struct kind){ make_cq, end_cq, nic_a()->attr.max_cq, 0 });
}

static void *make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(nic_a()->pd, &init);
}

static int end_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void max_qp(void)
{
	cq = make_cq();
	REQUIRE(cq);
	reach(&(struct kind){ make_qp, end_qp, nic_a()->attr.max_qp, 0 });
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(nic_a()->pd, &init);
}

static int end_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static void max_srq(void)
{
	reach(&(struct kind){ make_srq, end_srq, nic_a()->attr.max_srq, 0 });
}

/* ---- sizes --------------------------------------------------------------------------- */

/* As many requests and segments as advertised can be posted, and no more. */
static void max_srq_wr(void)
{
	int max_wr = nic_a()->attr.max_srq_wr, max_sge = nic_a()->attr.max_srq_sge;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = max_wr,
						    .max_sge = max_sge } };
	struct ibv_sge sge[64] = {};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = max_sge }, *bad;
	struct ibv_srq *srq;
	int i;

	REQUIRE(max_sge <= (int)ARRAY_SIZE(sge));
	srq = ibv_create_srq(nic_a()->pd, &init);
	REQUIRE(srq);
	REQUIRE_EQ(init.attr.max_wr, max_wr);
	for (i = 0; i < max_wr; i++)
		REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = max_wr + 1;
	REQUIRE_ERRNO(ibv_create_srq(nic_a()->pd, &init), EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = max_sge + 1;
	REQUIRE_ERRNO(ibv_create_srq(nic_a()->pd, &init), EINVAL);
}

/* The advertised number of READs is answered; one more cannot even be requested. */
static void max_rd_atom(void)
{
	struct config config = config_default;
	int max = nic_a()->attr.max_qp_rd_atom, i;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct buf mem;
	struct address peer;
	struct end a, b;

	REQUIRE_EQ(nic_a()->attr.max_qp_init_rd_atom, max);
	config.max_rd_atomic = max;
	config.max_dest_rd_atomic = max;
	config.max_send_wr = 2 * max;
	config.cqe = 2 * max;
	pair_make(&a, &b, &config);
	mem = buf_make(nic_a()->pd, 4096, ACCESS_ALL);
	sge = sge_of(&mem, 0, 8);
	for (i = 0; i < 2 * max; i++) {
		wr = wr_rdma(i, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)mem.p,
			     mem.mr->rkey);
		post(&a, &wr);
	}
	for (i = 0; i < 2 * max; i++)
		wait_ok(a.scq, i, IBV_WC_RDMA_READ);
	end_destroy(&a);
	end_destroy(&b);

	if (max == UINT8_MAX)
		return;
	config.max_dest_rd_atomic = max + 1;
	a = end_make(nic_a(), &config);
	b = end_make(nic_b(), &config);
	REQUIRE_EQ(end_to_init(&a), 0);
	peer = end_address(&b);
	REQUIRE_EQ(end_to_rtr(&a, &peer), EINVAL);
}

static struct ibv_qp *make_ud(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(nic_a()->pd, &init);

	REQUIRE(qp);
	return qp;
}

static int attach(struct ibv_qp *qp, int nr)
{
	union ibv_gid mgid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239,
					[14] = nr >> 8, [15] = nr } };

	return ibv_attach_mcast(qp, &mgid, 0);
}

/* Groups, and attachments to all groups. */
static void max_mcast(void)
{
	int groups = nic_a()->attr.max_mcast_grp, nr, g;
	int total = nic_a()->attr.max_total_mcast_qp_attach;
	uint64_t start = millis();
	struct ibv_qp *qp;

	alarm(LONG_SECONDS);
	cq = make_cq();
	REQUIRE(cq && groups && total > groups);
	for (nr = 0; nr < total;) {
		qp = make_ud();
		for (g = 0; g < groups && nr < total; g++, nr++)
			REQUIRE_EQ(attach(qp, g), 0);
		if (nr == groups)
			REQUIRE_EQ(attach(qp, groups), ENOMEM);
	}
	REQUIRE_EQ(attach(make_ud(), 0), ENOMEM);
	printf("# %d of %d groups in %d ms\n", total, groups,
	       (int)(millis() - start));
}

/* Counts bytes in whole pages; a context has a limit, so it takes several. */
static void *make_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4 };

	return ibv_alloc_dm(nic_a()->ctx, &attr);
}

static int end_dm(void *dm)
{
	return ibv_free_dm(dm);
}

static void max_dm_size(void)
{
	enum { CONTEXTS = 100 };
	struct ibv_alloc_dm_attr attr = {};
	struct ibv_device_attr_ex ex;
	struct ibv_dm *dms[CONTEXTS];
	int nr = 0;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &ex), 0);
	reach(&(struct kind){ make_dm, end_dm, ex.max_dm_size / sysconf(_SC_PAGESIZE), 0 });
	attr.length = ex.max_dm_size;
	while (nr < CONTEXTS &&
	       (dms[nr] = ibv_alloc_dm(nic_open(options.device)->ctx, &attr)))
		nr++;
	REQUIRE_EQ(errno, ENOMEM);
	REQUIRE(nr && nr < CONTEXTS);
	printf("# %d contexts beside\n", nr);
	REQUIRE_EQ(ibv_free_dm(dms[--nr]), 0);
	dms[nr] = ibv_alloc_dm(nic_open(options.device)->ctx, &attr);
	REQUIRE(dms[nr]);
}

static struct ibv_wq *work_queue;

static void *make_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1,
		.pd = nic_a()->pd, .cq = cq,
	};

	return ibv_create_wq(nic_a()->ctx, &init);
}

static int end_wq(void *wq)
{
	return ibv_destroy_wq(wq);
}

static void *make_rwq_table(void)
{
	struct ibv_rwq_ind_table_init_attr init = { .ind_tbl = &work_queue };

	return ibv_create_rwq_ind_table(nic_a()->ctx, &init);
}

static int end_rwq_table(void *table)
{
	return ibv_destroy_rwq_ind_table(table);
}

/* Also of tables, each of which needs a WQ. */
static void max_wq(void)
{
	struct ibv_device_attr_ex ex;

	cq = make_cq();
	REQUIRE(cq);
	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &ex), 0);
	work_queue = make_wq();
	REQUIRE(work_queue);
	reach(&(struct kind){ make_rwq_table, end_rwq_table,
			      ex.rss_caps.max_rwq_indirection_tables, 0 });
	reach(&(struct kind){ make_wq, end_wq, ex.max_wq_type_rq, 1 });
}

/* ---- memory ------------------------------------------------------------------------------ */

/*
 * In a memory cgroup with less memory than max_cq such CQs need (mem/cgroup.sh).
 * Creation is refused, and existing CQs work on.
 */
static void full_cgroup_refuses(void)
{
	enum { MAX = 200, CQE = 65535 };	/* of 4 MiB */
	struct ibv_cq *cqs[MAX];
	int nr = 0;

	while (nr < MAX && (cqs[nr] = ibv_create_cq(nic_a()->ctx, CQE, NULL,
						   NULL, 0)))
		nr++;
	printf("# %d CQs of 4 MiB\n", nr);
	REQUIRE_EQ(errno, ENOMEM);
	REQUIRE(nr > 1 && nr < MAX);
	REQUIRE_EQ(ibv_destroy_cq(cqs[--nr]), 0);
	cqs[nr] = ibv_create_cq(nic_a()->ctx, CQE, NULL, NULL, 0);
	REQUIRE(cqs[nr]);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(max_srq_wr),
	TEST(max_rd_atom),
	TEST(max_mcast),
	TEST(max_dm_size),
	TEST(max_pd),
	TEST(first_ahs),
	TEST(max_ah),
	TEST(max_cq),
	TEST(max_qp),
	TEST(max_srq),
	TEST(max_wq),
	TEST(max_mr),
	TEST(max_mw),
	TEST(full_cgroup_refuses),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
