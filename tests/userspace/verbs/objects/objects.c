// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Objects: what their creation and destruction accept and refuse, with which
 * errno, and that advertised limits can be reached.
 */
#include "util.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096

static struct end a, b;

/* ---- queries --------------------------------------------------------------- */

static void device_tells_sane_limits(void)
{
	struct ibv_device_attr *attr = &nic_a()->attr;

	REQUIRE(attr->max_qp >= 1000);
	REQUIRE(attr->max_cq >= 1000);
	REQUIRE(attr->max_mr >= 1000);
	REQUIRE(attr->max_pd >= 1000);
	REQUIRE(attr->max_qp_wr >= 1024);
	REQUIRE(attr->max_cqe >= attr->max_qp_wr);
	REQUIRE(attr->max_sge >= 4 && attr->max_sge <= 255);
	REQUIRE(attr->max_mr_size >= 1ull << 32);
	REQUIRE(attr->page_size_cap & PAGE);
	REQUIRE(attr->max_qp_rd_atom >= 1);
	REQUIRE(attr->max_qp_init_rd_atom >= 1);
	REQUIRE_EQ(attr->phys_port_cnt, 1);
	REQUIRE(attr->max_pkeys >= 1);
	REQUIRE(attr->fw_ver[0]);
	REQUIRE(attr->node_guid);
}

static void port_tells_sane_attributes(void)
{
	struct ibv_port_attr *port = &nic_a()->port;
	struct ibv_port_attr none;
	union ibv_gid gid;
	__be16 pkey;

	REQUIRE_EQ(port->state, IBV_PORT_ACTIVE);
	REQUIRE_EQ(port->phys_state, 5);	/* LinkUp */
	REQUIRE_EQ(port->link_layer, IBV_LINK_LAYER_ETHERNET);
	REQUIRE(port->active_mtu <= port->max_mtu);
	REQUIRE(port->active_mtu >= IBV_MTU_256);
	REQUIRE(port->max_msg_sz >= 1u << 30);
	REQUIRE(port->gid_tbl_len >= 16 && port->gid_tbl_len <= 256);
	REQUIRE(port->pkey_tbl_len >= 1);
	REQUIRE(port->active_speed && port->active_width);
	REQUIRE(ibv_query_port(nic_a()->ctx, 0, &none) != 0);
	REQUIRE(ibv_query_port(nic_a()->ctx, 2, &none) != 0);

	REQUIRE_EQ(ibv_query_pkey(nic_a()->ctx, 1, 0, &pkey), 0);
	REQUIRE_EQ(pkey, 0xffff);
	REQUIRE(ibv_query_pkey(nic_a()->ctx, 1, port->pkey_tbl_len, &pkey));
	REQUIRE(ibv_query_gid(nic_a()->ctx, 1, port->gid_tbl_len, &gid));
}

/* ---- objects in use ----------------------------------------------------------- */

static void pd_in_use_is_busy(void)
{
	struct config config = config_default;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct buf buf;

	a = end_make(nic_a(), &config);
	pd = ibv_alloc_pd(nic_a()->ctx);
	REQUIRE(pd);
	buf = buf_make(pd, PAGE, ACCESS_ALL);
	REQUIRE_EQ(ibv_dealloc_pd(pd), EBUSY);
	REQUIRE_EQ(ibv_dereg_mr(buf.mr), 0);

	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	qp = ibv_create_qp(pd, &init);
	REQUIRE(qp);
	REQUIRE_EQ(ibv_dealloc_pd(pd), EBUSY);
	REQUIRE_EQ(ibv_destroy_cq(a.scq), EBUSY);
	REQUIRE_EQ(ibv_destroy_cq(a.rcq), EBUSY);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0);

	/* still in use by the first QP */
	REQUIRE_EQ(ibv_destroy_cq(a.scq), EBUSY);
	end_destroy(&a);
}

static void channel_in_use_is_busy(void)
{
	struct config config = config_default;

	config.events = true;
	a = end_make(nic_a(), &config);
	REQUIRE_EQ(ibv_destroy_comp_channel(a.channel), EBUSY);
	end_destroy(&a);
}

/* A refused destroy changes nothing. */
static void refused_destroy_leaves_all_intact(void)
{
	struct ibv_send_wr wr;

	pair_make(&a, &b, &config_default);
	REQUIRE_EQ(ibv_destroy_cq(a.scq), EBUSY);
	REQUIRE_EQ(ibv_destroy_cq(b.rcq), EBUSY);
	REQUIRE_EQ(ibv_dealloc_pd(a.nic->pd), EBUSY);
	post_recv(&b, 1, NULL, 0);
	wr = wr_send(2, NULL, 0);
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(a.scq, 2, IBV_WC_SEND);
}

/* ---- parameters ------------------------------------------------------------------ */

static void cq_parameters(void)
{
	struct ibv_context *ctx = nic_a()->ctx;
	int max = nic_a()->attr.max_cqe;
	struct ibv_cq *cq;

	REQUIRE_ERRNO(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL);
	REQUIRE_ERRNO(ibv_create_cq(ctx, -1, NULL, NULL, 0), EINVAL);
	REQUIRE_ERRNO(ibv_create_cq(ctx, max + 1, NULL, NULL, 0), EINVAL);
	REQUIRE_ERRNO(ibv_create_cq(ctx, 1, NULL, NULL, -1), EINVAL);
	REQUIRE_ERRNO(ibv_create_cq(ctx, 1, NULL, NULL,
				    ctx->num_comp_vectors), EINVAL);
	cq = ibv_create_cq(ctx, 1, &max, NULL, ctx->num_comp_vectors - 1);
	REQUIRE(cq);
	REQUIRE(cq->cqe >= 1);
	REQUIRE(cq->cq_context == &max);
	REQUIRE_EQ(ibv_destroy_cq(cq), 0);
}

static struct ibv_qp_init_attr small_qp(void)
{
	static struct ibv_cq *cq;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!cq)
		cq = ibv_create_cq(nic_a()->ctx, 16, NULL, NULL, 0);
	REQUIRE(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	return init;
}

/* QP_REFUSED(field, value): creating a valid QP fails with this one value. */
#define QP_REFUSED(field, value)					\
	do {								\
		struct ibv_qp_init_attr init_ = small_qp();		\
									\
		init_.field = (value);					\
		REQUIRE_ERRNO(ibv_create_qp(nic_a()->pd, &init_),	\
			      EINVAL);					\
	} while (0)

static void qp_parameters(void)
{
	struct ibv_device_attr *attr = &nic_a()->attr;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;

	QP_REFUSED(cap.max_send_wr, attr->max_qp_wr + 1u);
	QP_REFUSED(cap.max_recv_wr, attr->max_qp_wr + 1u);
	QP_REFUSED(cap.max_send_wr, UINT32_MAX);
	QP_REFUSED(cap.max_recv_wr, UINT32_MAX);
	QP_REFUSED(cap.max_send_sge, attr->max_sge + 1u);
	QP_REFUSED(cap.max_recv_sge, attr->max_sge + 1u);
	QP_REFUSED(cap.max_send_sge, UINT32_MAX);
	QP_REFUSED(cap.max_inline_data, 1u << 20);
	QP_REFUSED(cap.max_inline_data, UINT32_MAX);

	/* the granted limits are at least the requested ones */
	init = small_qp();
	init.cap.max_send_wr = 33;
	init.cap.max_recv_wr = 65;
	init.cap.max_send_sge = 3;
	init.cap.max_recv_sge = 2;
	init.cap.max_inline_data = 77;
	qp = ibv_create_qp(nic_a()->pd, &init);
	REQUIRE(qp);
	REQUIRE(init.cap.max_send_wr >= 33);
	REQUIRE(init.cap.max_recv_wr >= 65);
	REQUIRE(init.cap.max_send_sge >= 3);
	REQUIRE(init.cap.max_recv_sge >= 2);
	REQUIRE(init.cap.max_inline_data >= 77);
	REQUIRE(qp->qp_num > 1);
	REQUIRE_EQ(qp->state, IBV_QPS_RESET);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
}

/* A QP may have no send queue, no receive queue, or neither. */
static void qp_without_queues(void)
{
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < 3; i++) {
		init = small_qp();
		if (i != 1)
			init.cap.max_send_wr = init.cap.max_send_sge = 0;
		if (i != 0)
			init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
		qp = ibv_create_qp(nic_a()->pd, &init);
		REQUIRE(qp);
		a = (struct end){ .nic = nic_a(), .qp = qp,
				  .config = config_default };
		REQUIRE_EQ(end_to_init(&a), 0);
		if (init.cap.max_recv_wr == 0)
			REQUIRE_EQ(ibv_post_recv(qp, &recv, &bad_recv), ENOMEM);
		REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	}
}

/* Posting refuses requests that are evidently wrong. */
static void posts_that_are_refused(void)
{
	struct ibv_send_wr wr[2], *bad = NULL;
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;
	struct ibv_sge sge[64] = {};
	uint8_t data[4096];

	pair_make(&a, &b, &config_default);
	wr[0] = wr_send(1, sge, a.cap.max_send_sge + 1);
	REQUIRE(a.cap.max_send_sge < 64 && a.cap.max_recv_sge < 64);
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	REQUIRE(bad == wr);
	wr[0] = wr_send(1, sge, 1);
	sge[0] = (struct ibv_sge){ (uintptr_t)data,
				   a.cap.max_inline_data + 1, 0 };
	wr[0].send_flags |= IBV_SEND_INLINE;
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	wr[0] = wr_rdma(1, IBV_WR_RDMA_READ, sge, 1, 0, 0);
	wr[0].send_flags |= IBV_SEND_INLINE;
	sge[0].length = 0;
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	wr[0] = wr_send(1, sge, 0);
	wr[0].opcode = IBV_WR_TSO;
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	wr[0].opcode = (enum ibv_wr_opcode)99;
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	recv.sg_list = sge;
	recv.num_sge = b.cap.max_recv_sge + 1;
	REQUIRE_EQ(ibv_post_recv(b.qp, &recv, &bad_recv), EINVAL);
	REQUIRE(bad_recv == &recv);

	/* valid requests before an invalid one are posted */
	wr[0] = wr_send(1, NULL, 0);
	wr[1] = wr_send(2, sge, a.cap.max_send_sge + 1);
	wr[0].next = &wr[1];
	post_recv(&b, 3, NULL, 0);
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), EINVAL);
	REQUIRE(bad == &wr[1]);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	wait_ok(b.rcq, 3, IBV_WC_RECV);
	require_quiet(a.scq);
	REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
}

static void *map(size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

static void mr_parameters(void)
{
	struct ibv_pd *pd = nic_a()->pd;
	uint8_t *p = map(4 * PAGE, PROT_READ | PROT_WRITE);
	uint8_t *ro = map(4 * PAGE, PROT_READ);
	struct ibv_mr *mr;

	/* IBTA 11.2.8.1: remote write and atomic need local write */
	REQUIRE_ERRNO(ibv_reg_mr(pd, p, PAGE, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REQUIRE_ERRNO(ibv_reg_mr(pd, p, PAGE, IBV_ACCESS_REMOTE_ATOMIC),
		      EINVAL);
	/* memory that is not mapped, completely or partly */
	munmap(p + 2 * PAGE, 2 * PAGE);
	REQUIRE_ERRNO(ibv_reg_mr(pd, p + 2 * PAGE, PAGE, ACCESS_ALL), EFAULT);
	REQUIRE_ERRNO(ibv_reg_mr(pd, p, 3 * PAGE, ACCESS_ALL), EFAULT);
	/* it ends behind the address space of the kernel, or only behind that of the process */
	REQUIRE_ERRNO(ibv_reg_mr(pd, p, SIZE_MAX - 100, ACCESS_ALL),
		      sizeof(size_t) == 8 ? EINVAL : EFAULT);
	/* read-only memory */
	REQUIRE_ERRNO(ibv_reg_mr(pd, ro, PAGE, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	mr = ibv_reg_mr(pd, ro, PAGE, IBV_ACCESS_REMOTE_READ);
	REQUIRE(mr);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);

	/* a hint that a device may ignore */
	mr = ibv_reg_mr(pd, p, PAGE, ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING);
	REQUIRE(mr);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	/* one byte, at the end of a page */
	mr = ibv_reg_mr(pd, p + PAGE - 1, 1, ACCESS_ALL);
	REQUIRE(mr);
	REQUIRE(mr->addr == p + PAGE - 1 && mr->length == 1);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	/* the page offsets of the memory and of the address must agree */
	REQUIRE_ERRNO(ibv_reg_mr_iova(pd, p, PAGE, (uintptr_t)p + 1,
				      ACCESS_ALL), EINVAL);
}

/* ---- many --------------------------------------------------------------------------- */

static void many_pds(void)
{
	struct ibv_pd *pd[1000];
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(pd); i++)
		REQUIRE((pd[i] = ibv_alloc_pd(nic_a()->ctx)));
	for (i = 0; i < ARRAY_SIZE(pd); i++)
		REQUIRE_EQ(ibv_dealloc_pd(pd[i]), 0);
}

static int compare_u32(const void *x, const void *y)
{
	uint32_t u = *(const uint32_t *)x, v = *(const uint32_t *)y;

	return (u > v) - (u < v);
}

static void require_distinct(uint32_t *value, size_t num)
{
	size_t i;

	qsort(value, num, sizeof(*value), compare_u32);
	for (i = 1; i < num; i++)
		REQUIRE(value[i] != value[i - 1]);
}

/*
 * Keys are distinct, also without their low byte, which consumers may change.
 * They cannot be derived from the one before: with so many of them, random 24
 * bits would collide.
 */
static void many_mrs(void)
{
	enum { NUM = 20000 };
	static struct ibv_mr *mr[NUM];
	static uint32_t keys[NUM], steps[NUM - 1];
	uint8_t *p = map(PAGE, PROT_READ | PROT_WRITE);
	uint32_t i;

	for (i = 0; i < NUM; i++) {
		mr[i] = ibv_reg_mr(nic_a()->pd, p, PAGE, ACCESS_ALL);
		REQUIRE(mr[i]);
		keys[i] = mr[i]->rkey;
		if (i)
			steps[i - 1] = keys[i] - keys[i - 1];
	}
	for (i = 0; i < NUM; i++)
		keys[i] >>= 8;
	require_distinct(keys, NUM);
	qsort(steps, NUM - 1, sizeof(*steps), compare_u32);
	for (i = 0; i + 100 < NUM - 1; i++)
		if (steps[i] == steps[i + 100])
			FAIL("keys go in steps of %u", steps[i]);
	for (i = 0; i < NUM; i++)
		REQUIRE_EQ(ibv_dereg_mr(mr[i]), 0);
}

static void many_qps_and_cqs(void)
{
	enum { NUM = 300 };
	static struct end ends[NUM];
	static uint32_t numbers[NUM];
	int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < NUM; i++) {
			ends[i] = end_make(nic_a(), &config_default);
			numbers[i] = ends[i].qp->qp_num;
			REQUIRE(numbers[i] > 1 && numbers[i] < 1u << 24);
		}
		require_distinct(numbers, NUM);
		for (i = 0; i < NUM; i++)
			end_destroy(&ends[i]);
	}
}

/*
 * Random 24 bits collide among 10,000 in 19 of 20 runs, and among the 2,000 of
 * the short form in one of 9.
 */
static void numbers_are_distinct(void)
{
	int num = getenv("SHCA_SOAK") ? 10000 : 2000;
	uint32_t *numbers = calloc(num, sizeof(*numbers));
	struct ibv_qp **qps = calloc(num, sizeof(*qps));
	struct ibv_qp_init_attr init;
	int i;

	REQUIRE(numbers && qps);
	for (i = 0; i < num; i++) {
		init = small_qp();
		qps[i] = ibv_create_qp(nic_a()->pd, &init);
		REQUIRE(qps[i]);
		numbers[i] = qps[i]->qp_num;
	}
	require_distinct(numbers, num);
	for (i = 0; i < num; i++)
		REQUIRE_EQ(ibv_destroy_qp(qps[i]), 0);
	free(qps);
	free(numbers);
}

/* Creates and destroys one QP many times; its number must not come back at once. */
static void create_and_destroy_again(void)
{
	struct ibv_qp_init_attr init;
	uint32_t last = 0;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < 1000; i++) {
		init = small_qp();
		qp = ibv_create_qp(nic_a()->pd, &init);
		REQUIRE(qp);
		REQUIRE(qp->qp_num != last);
		last = qp->qp_num;
		REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	}
}

/* A process may open the device several times. */
static void several_contexts(void)
{
	struct nic *nics[20];
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(nics); i++) {
		nics[i] = nic_open(options.device);
		a = end_make(nics[i], &config_default);
		end_destroy(&a);
	}
	for (i = 0; i < ARRAY_SIZE(nics); i++) {
		REQUIRE_EQ(ibv_dealloc_pd(nics[i]->pd), 0);
		REQUIRE_EQ(ibv_close_device(nics[i]->ctx), 0);
	}
}

/* ---- limits ----------------------------------------------------------------------------- */

/* The advertised number of outstanding sends can be posted, and all are executed. */
static void max_qp_wr_is_true(void)
{
	struct config config = config_default;
	uint32_t num, i;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	num = nic_a()->attr.max_qp_wr;
	if ((uint32_t)nic_b()->attr.max_qp_wr < num)
		num = nic_b()->attr.max_qp_wr;
	config.max_send_wr = num;
	config.max_recv_wr = num;
	config.cqe = num;
	pair_make(&a, &b, &config);
	/* without receives they stay outstanding */
	for (i = 0; i < num; i++) {
		wr = wr_send(i, NULL, 0);
		post(&a, &wr);
	}
	for (i = 0; i < num; i++)
		post_recv(&b, i, NULL, 0);
	for (i = 0; i < num; i++) {
		wc = wait_wc(a.scq);
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, i);
	}
	for (i = 0; i < num; i++) {
		wc = wait_wc(b.rcq);
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, i);
	}
}

/* A CQ of the maximum size holds that many completions without a poll. */
static void max_cqe_is_true(void)
{
	enum { CHAIN = 256 };
	struct ibv_recv_wr wr[CHAIN], *bad;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = CHAIN,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int max = nic_a()->attr.max_cqe, posted, err, i, n;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	cq = ibv_create_cq(nic_a()->ctx, max, NULL, NULL, 0);
	REQUIRE(cq);
	REQUIRE(cq->cqe >= max);
	init.send_cq = cq;
	init.recv_cq = cq;
	a = (struct end){ .nic = nic_a(), .config = config_default };
	a.qp = ibv_create_qp(nic_a()->pd, &init);
	REQUIRE(a.qp);
	REQUIRE_EQ(end_to_init(&a), 0);
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	for (posted = 0; posted < max;) {
		n = max - posted < CHAIN ? max - posted : CHAIN;
		for (i = 0; i < n; i++)
			wr[i] = (struct ibv_recv_wr){
				.wr_id = posted + i,
				.next = i < n - 1 ? &wr[i + 1] : NULL,
			};
		/* full until the earlier ones are flushed */
		err = ibv_post_recv(a.qp, wr, &bad);
		REQUIRE(!err || err == ENOMEM);
		posted += err ? bad - wr : n;
		sched_yield();
	}
	for (i = 0; i < max; i++) {
		wc = wait_wc(cq);
		REQUIRE_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		REQUIRE_EQ(wc.wr_id, i);
	}
	require_no_wc(cq);
}

/* The maximum inline data is sent. */
static void max_inline_is_true(void)
{
	struct config config = config_default;
	uint32_t low = 0, high = 1u << 20, mid;
	struct ibv_qp_init_attr init;
	struct ibv_send_wr wr;
	struct ibv_sge from, to;
	struct ibv_qp *qp;
	struct buf dst;
	uint8_t *data;

	while (high - low > 1) {
		mid = (low + high) / 2;
		init = small_qp();
		init.cap.max_inline_data = mid;
		qp = ibv_create_qp(nic_a()->pd, &init);
		if (!qp) {
			high = mid;
			continue;
		}
		REQUIRE_EQ(ibv_destroy_qp(qp), 0);
		low = mid;
	}
	printf("# up to %u bytes\n", low);
	REQUIRE(low >= 64);
	config.max_inline = low;
	config.max_send_wr = 1;
	pair_make(&a, &b, &config);
	dst = buf_make(b.nic->pd, low, ACCESS_ALL);
	data = malloc(low);
	REQUIRE(data);
	fill(data, low, 1);
	from = (struct ibv_sge){ (uintptr_t)data, low, 0 };
	to = sge_of(&dst, 0, low);
	post_recv(&b, 1, &to, 1);
	wr = wr_send(2, &from, 1);
	wr.send_flags |= IBV_SEND_INLINE;
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	check_fill(dst.p, low, 1);
}

static void srq_post(struct ibv_srq *srq, uint64_t first, int num)
{
	struct ibv_recv_wr wr = {}, *bad;

	for (; num--; first++) {
		wr.wr_id = first;
		REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
}

static int srq_resize(struct ibv_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

static void srq_serve(struct end *from, struct end *to, uint64_t first, int num)
{
	struct ibv_send_wr wr;

	for (; num--; first++) {
		wr = wr_send(first, NULL, 0);
		post(from, &wr);
		wait_ok(from->scq, first, IBV_WC_SEND);
		wait_ok(to->rcq, first, IBV_WC_RECV);
	}
}

/* mlx5 accepts it; Soft-RoCE refuses it. */
static void srq_of_no_requests(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 0, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(nic_a()->pd, &init);
	struct ibv_recv_wr wr = {}, *bad;

	REQUIRE(srq);
	REQUIRE(init.attr.max_wr >= 1);
	REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
}

/* ibv_create_qp(3): with an SRQ max_recv_wr and max_recv_sge are ignored. */
static void srq_leaves_no_receive_queue(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD };
	const struct ibv_qp_cap cap = { 128, 1u << 30, 4, 10000, 0 };
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1,
							.max_sge = 1 } };
	struct ibv_qp_init_attr_ex ex = {};
	struct ibv_qp_init_attr init = {};
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int i;

	cq = ibv_create_cq(nic_a()->ctx, 8, NULL, NULL, 0);
	init.srq = ibv_create_srq(nic_a()->pd, &srq_init);
	REQUIRE(cq && init.srq);
	init.send_cq = init.recv_cq = cq;
	for (i = 0; i < 2 * ARRAY_SIZE(types); i++) {
		init.qp_type = types[i / 2];
		init.cap = cap;
		if (i % 2) {
			memcpy(&ex, &init, sizeof(init));
			ex.comp_mask = IBV_QP_INIT_ATTR_PD;
			ex.pd = nic_a()->pd;
			qp = ibv_create_qp_ex(nic_a()->ctx, &ex);
			init.cap = ex.cap;
		} else {
			qp = ibv_create_qp(nic_a()->pd, &init);
		}
		if (!qp)
			FAIL("type %d: %s", init.qp_type, strerror(errno));
		REQUIRE_EQ(init.cap.max_recv_wr, 0);
		REQUIRE_EQ(init.cap.max_recv_sge, 0);
		REQUIRE(init.cap.max_send_wr >= cap.max_send_wr);
	}
	init.srq = NULL;
	init.cap = cap;
	REQUIRE_ERRNO(ibv_create_qp(nic_a()->pd, &init), EINVAL);
}

/* Posted receives survive a resize, at each position in the ring. */
static void srq_changes_size(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 10 };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
	};
	struct end from, to;
	struct ibv_srq *srq;

	srq = ibv_create_srq(nic_b()->pd, &init);
	REQUIRE(srq);
	from = end_make(nic_a(), &config_default);
	to = end_make(nic_b(), &config_default);
	REQUIRE_EQ(ibv_destroy_qp(to.qp), 0);
	attr.send_cq = to.scq;
	attr.recv_cq = to.rcq;
	attr.srq = srq;
	to.qp = ibv_create_qp(nic_b()->pd, &attr);
	REQUIRE(to.qp);
	pair_connect(&from, &to);

	srq_post(srq, 0, 6);
	srq_serve(&from, &to, 0, 5);
	srq_post(srq, 6, 7);
	REQUIRE_EQ(srq_resize(srq, 4), EINVAL);	/* eight are posted */
	REQUIRE_EQ(srq_resize(srq, 32), 0);
	srq_post(srq, 13, 20);
	srq_serve(&from, &to, 5, 24);
	REQUIRE_EQ(srq_resize(srq, 4), 0);
	srq_serve(&from, &to, 29, 4);
	srq_post(srq, 33, 4);
	srq_serve(&from, &to, 33, 4);

	/* never below the limit that is armed */
	REQUIRE_EQ(srq_resize(srq, 16), 0);
	srq_post(srq, 37, 10);
	REQUIRE_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	REQUIRE_EQ(srq_resize(srq, 8), EINVAL);
	REQUIRE_EQ(srq_resize(srq, 12), 0);
	REQUIRE_EQ(ibv_destroy_qp(to.qp), 0);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
}

enum { RESIZES = 200 };

/*
 * Always to another size, since that makes a new ring. The pause lets the other thread in,
 * so that this one waits for it. Two threads post no more than fits.
 */
static void *srq_resize_often(void *srq)
{
	int i;

	for (i = 0; i < RESIZES; i++) {
		REQUIRE_EQ(srq_resize(srq, i % 2 ? 64 : 1024), 0);
		usleep(100);
		if (i % 8 == 0)
			srq_post(srq, i, 1);
	}
	return NULL;
}

/* Threads that resize at the same time leave one ring, and it is mapped. */
static void srq_changes_size_by_two_threads(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	pthread_t threads[2];
	struct ibv_srq *srq;
	unsigned int i;

	srq = ibv_create_srq(nic_a()->pd, &init);
	REQUIRE(srq);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(!pthread_create(&threads[i], NULL, srq_resize_often, srq));
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(!pthread_join(threads[i], NULL));
	srq_post(srq, RESIZES, 1);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
}

/* Keys of receive requests belong to the SRQ's PD (IBTA 10.2.9). */
static void srq_of_another_domain(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
	};
	struct ibv_recv_wr recv, *bad;
	struct end from, to;
	struct ibv_send_wr wr;
	struct buf src, dst, other;
	struct ibv_srq *srq;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	int i;

	pd = ibv_alloc_pd(nic_b()->ctx);
	REQUIRE(pd);
	srq = ibv_create_srq(pd, &init);
	REQUIRE(srq);
	from = end_make(nic_a(), &config_default);
	to = end_make(nic_b(), &config_default);
	REQUIRE_EQ(ibv_destroy_qp(to.qp), 0);
	attr.send_cq = to.scq;
	attr.recv_cq = to.rcq;
	attr.srq = srq;
	to.qp = ibv_create_qp(nic_b()->pd, &attr);
	REQUIRE(to.qp);
	pair_connect(&from, &to);
	src = buf_make(from.nic->pd, 64, ACCESS_ALL);
	dst = buf_make(pd, 64, ACCESS_ALL);
	other = buf_make(nic_b()->pd, 64, ACCESS_ALL);
	fill(src.p, 64, 1);

	for (i = 0; i < 4; i++) {
		memset(dst.p, 0, 64);
		/* The last one uses the QP's own PD. */
		sge = sge_of(i < 3 ? &dst : &other, 0, 64);
		recv = (struct ibv_recv_wr){
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
		};
		REQUIRE_EQ(ibv_post_srq_recv(srq, &recv, &bad), 0);
		sge = sge_of(&src, 0, 8);
		wr = wr_send(i, &sge, 1);
		post(&from, &wr);
		if (i == 3)
			break;
		wait_ok(from.scq, i, IBV_WC_SEND);
		wait_ok(to.rcq, i, IBV_WC_RECV);
		check_fill(dst.p, 8, 1);
	}
	wait_status(from.scq, 3, IBV_WC_REM_OP_ERR);
	wait_status(to.rcq, 3, IBV_WC_LOC_PROT_ERR);
	check_bytes(other.p, 64, 0);
	REQUIRE_EQ(ibv_destroy_qp(to.qp), 0);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	REQUIRE_EQ(ibv_dereg_mr(dst.mr), 0);
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(device_tells_sane_limits),
	TEST(port_tells_sane_attributes),
	TEST(pd_in_use_is_busy),
	TEST(channel_in_use_is_busy),
	TEST(refused_destroy_leaves_all_intact),
	TEST(cq_parameters),
	TEST(qp_parameters),
	TEST(qp_without_queues),
	TEST(posts_that_are_refused),
	TEST(mr_parameters),
	TEST(many_pds),
	TEST(many_mrs),
	TEST(many_qps_and_cqs),
	TEST(numbers_are_distinct),
	TEST(create_and_destroy_again),
	TEST(several_contexts),
	TEST(max_qp_wr_is_true),
	TEST(max_cqe_is_true),
	TEST(max_inline_is_true),
	TEST(srq_of_no_requests),
	TEST(srq_leaves_no_receive_queue),
	TEST(srq_changes_size),
	TEST(srq_changes_size_by_two_threads),
	TEST(srq_of_another_domain),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
