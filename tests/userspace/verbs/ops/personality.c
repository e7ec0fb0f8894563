// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a personality does to a device (docs/personalities.md): sizes one above a limit are
 * refused, what it is without is answered by EOPNOTSUPP, and manners. limits.c has the
 * numbers of objects. tests/guest/ops/personality.sh names the tests that fit.
 *
 *	EXPECT_VENDOR_ERR	of a WRITE that the peer refuses (has_vendor_err)
 */
#include "util.h"

#include <fcntl.h>
#include <unistd.h>

#define LEN	8192u

static struct ibv_cq *cq;

static struct ibv_cq *a_cq(void)
{
	if (!cq)
		cq = ibv_create_cq(nic_a()->ctx, 16, NULL, NULL, 0);
	REQUIRE(cq);
	return cq;
}

static struct ibv_qp_init_attr init_of(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_type = type,
		.send_cq = a_cq(),
		.recv_cq = a_cq(),
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

static struct ibv_device_attr_ex query(void)
{
	struct ibv_device_attr_ex ex;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &ex), 0);
	return ex;
}

/* ---- sizes ------------------------------------------------------------------------ */

/* With @init one can be had, and with one more of @member none. */
static void one_above(struct ibv_qp_init_attr *init, uint32_t *member,
		      uint32_t max)
{
	struct ibv_qp *qp;

	*member = max;
	qp = ibv_create_qp(nic_a()->pd, init);
	REQUIRE(qp);
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	*member = max + 1;
	REQUIRE_ERRNO(ibv_create_qp(nic_a()->pd, init), EINVAL);
	*member = 1;
}

static void qp_sizes(void)
{
	const struct ibv_device_attr *attr = &nic_a()->attr;
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);

	one_above(&init, &init.cap.max_send_wr, attr->max_qp_wr);
	init = init_of(IBV_QPT_RC);
	one_above(&init, &init.cap.max_recv_wr, attr->max_qp_wr);
	init = init_of(IBV_QPT_RC);
	one_above(&init, &init.cap.max_send_sge, attr->max_sge);
	init = init_of(IBV_QPT_RC);
	one_above(&init, &init.cap.max_recv_sge, attr->max_sge);
}

/* The limit is in no attribute: EXPECT_INLINE has it. */
static void qp_inline(void)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	const char *max = getenv("EXPECT_INLINE");

	REQUIRE(max);
	one_above(&init, &init.cap.max_inline_data, atoi(max));
	/* Rounding up does not lead beyond it. */
	init = init_of(IBV_QPT_RC);
	init.cap.max_inline_data = 1;
	REQUIRE(ibv_create_qp(nic_a()->pd, &init));
	REQUIRE(init.cap.max_inline_data <= (uint32_t)atoi(max));
}

static void cq_sizes(void)
{
	struct ibv_context *ctx = nic_a()->ctx;
	struct ibv_cq *big;

	big = ibv_create_cq(ctx, nic_a()->attr.max_cqe, NULL, NULL, 0);
	REQUIRE(big);
	REQUIRE_EQ(ibv_destroy_cq(big), 0);
	REQUIRE_ERRNO(ibv_create_cq(ctx, nic_a()->attr.max_cqe + 1, NULL, NULL, 0),
		      EINVAL);
	REQUIRE(ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors - 1));
	REQUIRE_ERRNO(ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors),
		      EINVAL);
}

static void srq_sizes(void)
{
	struct ibv_srq_init_attr init = {};

	init.attr.max_wr = nic_a()->attr.max_srq_wr;
	init.attr.max_sge = nic_a()->attr.max_srq_sge;
	REQUIRE(ibv_create_srq(nic_a()->pd, &init));
	init.attr.max_wr = nic_a()->attr.max_srq_wr + 1;
	REQUIRE_ERRNO(ibv_create_srq(nic_a()->pd, &init), EINVAL);
	init.attr.max_wr = 1;
	init.attr.max_sge = nic_a()->attr.max_srq_sge + 1;
	REQUIRE_ERRNO(ibv_create_srq(nic_a()->pd, &init), EINVAL);
}

/* Refused before any page is looked at, so there need not be any. */
static void mr_size(void)
{
	static char memory[4096];

	REQUIRE(ibv_reg_mr(nic_a()->pd, memory, sizeof(memory), 0));
	REQUIRE_ERRNO(ibv_reg_mr(nic_a()->pd, memory,
				 nic_a()->attr.max_mr_size + 1, 0), EINVAL);
}

static void rd_atom(void)
{
	struct config config = config_default;
	struct address peer;
	struct end a, b;

	config.max_rd_atomic = nic_a()->attr.max_qp_init_rd_atom + 1;
	config.max_dest_rd_atomic = nic_a()->attr.max_qp_rd_atom;
	a = end_make(nic_a(), &config);
	config.max_dest_rd_atomic++;
	b = end_make(nic_b(), &config);
	REQUIRE_EQ(end_to_init(&a), 0);
	REQUIRE_EQ(end_to_init(&b), 0);
	peer = end_address(&b);
	REQUIRE_EQ(end_to_rtr(&a, &peer), 0);
	REQUIRE_EQ(end_to_rts(&a), EINVAL);
	peer = end_address(&a);
	REQUIRE_EQ(end_to_rtr(&b, &peer), EINVAL);
}

static void pkeys_and_gids(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	int max = nic_a()->attr.max_pkeys, mask;
	struct ibv_qp *qp = ibv_create_qp(nic_a()->pd, &init);
	union ibv_gid gid;
	__be16 pkey;

	REQUIRE(qp);
	REQUIRE_EQ(nic_a()->port.pkey_tbl_len, max);
	REQUIRE_EQ(ibv_query_pkey(nic_a()->ctx, 1, max - 1, &pkey), 0);
	REQUIRE(ibv_query_pkey(nic_a()->ctx, 1, max, &pkey));
	REQUIRE_EQ(ibv_query_gid(nic_a()->ctx, 1, nic_a()->port.gid_tbl_len - 1,
				 &gid), 0);
	REQUIRE(ibv_query_gid(nic_a()->ctx, 1, nic_a()->port.gid_tbl_len, &gid));
	mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	attr.pkey_index = max;
	REQUIRE_EQ(ibv_modify_qp(qp, &attr, mask), EINVAL);
	attr.pkey_index = max - 1;
	REQUIRE_EQ(ibv_modify_qp(qp, &attr, mask), 0);
}

/* ---- what it is without ----------------------------------------------------------- */

static void no_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = init_of(type);

	REQUIRE_ERRNO(ibv_create_qp(nic_a()->pd, &init), EOPNOTSUPP);
}

static void no_uc(void)
{
	no_qp(IBV_QPT_UC);
}

static void no_ud(void)
{
	no_qp(IBV_QPT_UD);
}

static void no_raw_packet(void)
{
	struct ibv_device_attr_ex attr;

	no_qp(IBV_QPT_RAW_PACKET);
	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	REQUIRE_EQ(attr.raw_packet_caps, 0);
	REQUIRE_EQ(attr.packet_pacing_caps.supported_qpts, 0);
	REQUIRE_EQ(attr.rss_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET, 0);
}

static void no_xrc(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	REQUIRE_EQ(nic_a()->attr.device_cap_flags & IBV_DEVICE_XRC, 0);
	REQUIRE_ERRNO(ibv_open_xrcd(nic_a()->ctx, &init), EOPNOTSUPP);
}

static struct ibv_qp *rc(void)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	struct ibv_qp *qp = ibv_create_qp(nic_a()->pd, &init);

	REQUIRE(qp);
	return qp;
}

static void no_flow(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule),
			  .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	REQUIRE_EQ(nic_a()->attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING, 0);
	REQUIRE_ERRNO(ibv_create_flow(rc(), &rule.attr), EOPNOTSUPP);
}

static void no_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	REQUIRE_EQ(nic_a()->attr.max_srq, 0);
	REQUIRE_ERRNO(ibv_create_srq(nic_a()->pd, &init), EOPNOTSUPP);
}

static void no_resize_cq(void)
{
	REQUIRE_EQ(ibv_resize_cq(a_cq(), 32), EOPNOTSUPP);
}

static void no_modify_cq(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 2, .cq_period = 2 },
	};

	REQUIRE_EQ(ibv_modify_cq(a_cq(), &attr), EOPNOTSUPP);
}

static void no_rereg_mr(void)
{
	struct buf buf = buf_make(nic_a()->pd, 64, 0);

	errno = 0;
	REQUIRE(ibv_rereg_mr(buf.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE));
	REQUIRE_EQ(errno, EOPNOTSUPP);
}

static void no_mw(void)
{
	REQUIRE_EQ(nic_a()->attr.max_mw, 0);
	REQUIRE_ERRNO(ibv_alloc_mw(nic_a()->pd, IBV_MW_TYPE_1), EOPNOTSUPP);
}

static void no_odp(void)
{
	static char memory[4096];

	REQUIRE_EQ(query().odp_caps.general_caps, 0);
	REQUIRE_ERRNO(ibv_reg_mr(nic_a()->pd, memory, sizeof(memory),
				 IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
}

static void no_advise_mr(void)
{
	struct buf buf = buf_make(nic_a()->pd, 64, 0);
	struct ibv_sge sge = sge_of(&buf, 0, 64);

	REQUIRE_EQ(ibv_advise_mr(nic_a()->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
				 &sge, 1), EOPNOTSUPP);
}

static void no_dmabuf(void)
{
	REQUIRE_ERRNO(ibv_reg_dmabuf_mr(nic_a()->pd, 0, 4096, 0, STDIN_FILENO, 0),
		      EOPNOTSUPP);
}

static void no_device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };

	REQUIRE_EQ(query().max_dm_size, 0);
	REQUIRE_ERRNO(ibv_alloc_dm(nic_a()->ctx, &attr), EOPNOTSUPP);
}

static void no_mcast(void)
{
	union ibv_gid mgid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239 } };

	REQUIRE_EQ(nic_a()->attr.max_mcast_grp, 0);
	REQUIRE_EQ(ibv_attach_mcast(rc(), &mgid, 0), EOPNOTSUPP);
}

static void no_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1,
		.pd = nic_a()->pd, .cq = a_cq(),
	};

	REQUIRE_EQ(query().max_wq_type_rq, 0);
	REQUIRE_ERRNO(ibv_create_wq(nic_a()->ctx, &init), EOPNOTSUPP);
}

static void no_tm(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = nic_a()->pd,
		.cq = a_cq(),
		.tm_cap = { .max_num_tags = 8, .max_ops = 8 },
	};

	REQUIRE_EQ(query().tm_caps.max_num_tags, 0);
	REQUIRE_ERRNO(ibv_create_srq_ex(nic_a()->ctx, &init), EOPNOTSUPP);
}

/* A request for one is refused as it is posted. */
static void no_atomics(void)
{
	static uint64_t word;
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD }, *bad;
	struct end a, b;

	REQUIRE_EQ(nic_a()->attr.atomic_cap, IBV_ATOMIC_NONE);
	REQUIRE_ERRNO(ibv_reg_mr(nic_a()->pd, &word, sizeof(word),
				 IBV_ACCESS_LOCAL_WRITE |
				 IBV_ACCESS_REMOTE_ATOMIC), EOPNOTSUPP);
	pair_make(&a, &b, &config_default);
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), EINVAL);
}

static void no_timestamps(void)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 1,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	REQUIRE_EQ(query().completion_timestamp_mask, 0);
	REQUIRE_ERRNO(ibv_create_cq_ex(nic_a()->ctx, &init), EOPNOTSUPP);
}

#ifdef HAVE_FLUSH
static void no_op(uint64_t op)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = a_cq(),
		.recv_cq = a_cq(),
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = nic_a()->pd,
		.send_ops_flags = op,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	REQUIRE_ERRNO(ibv_create_qp_ex(nic_a()->ctx, &init), EOPNOTSUPP);
}

static void no_flush(void)
{
	no_op(IBV_QP_EX_WITH_FLUSH);
}

static void no_atomic_write(void)
{
	no_op(IBV_QP_EX_WITH_ATOMIC_WRITE);
}
#endif

/* ---- manners ---------------------------------------------------------------------- */

static struct end a, b;
static struct buf from, to;

static void make(void)
{
	struct config config = config_default;

	config.max_rd_atomic = 4;
	config.max_dest_rd_atomic = 4;
	pair_make(&a, &b, &config);
	from = buf_make(nic_a()->pd, LEN, ACCESS_ALL);
	to = buf_make(nic_b()->pd, LEN, ACCESS_ALL);
}

static void write_all(uint64_t wr_id, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge sge = sge_of(&from, 0, len);
	struct ibv_send_wr wr = wr_rdma(wr_id, opcode, &sge, 1,
					(uintptr_t)to.p, to.mr->rkey);

	post(&a, &wr);
}

/*
 * Writes, and waits for the last byte and nothing else. Return: whether the first one was
 * there, too.
 */
static bool poll_last_byte(uint32_t len, uint8_t value)
{
	volatile uint8_t *last = to.p + len - 1, *first = to.p;
	uint64_t start = millis();
	bool whole;

	memset(from.p, value, len);
	write_all(value, IBV_WR_RDMA_WRITE, len);
	while (*last != value)
		REQUIRE(millis() - start < 10000);
	whole = *first == value;
	wait_ok(a.scq, value, IBV_WC_RDMA_WRITE);
	/* In the end all is there, without a completion on this side. */
	while (*first != value)
		REQUIRE(millis() - start < 10000);
	check_bytes(to.p, len, value);
	return whole;
}

static int nr_whole(void)
{
	static const uint32_t lens[] = { 2, 63, 64, 65, 100, 1024, 4096, LEN };
	uint8_t value = 0;
	unsigned int i;
	int whole = 0;

	make();
	for (value = 1; value <= 32; value++)
		for (i = 0; i < ARRAY_SIZE(lens); i++)
			whole += poll_last_byte(lens[i], 4 * value + i % 4);
	printf("# whole when the last byte came: %d of %d\n", whole,
	       32 * (int)ARRAY_SIZE(lens));
	return whole;
}

/* What works here fails elsewhere. */
static void last_byte_is_enough(void)
{
	REQUIRE_EQ(nr_whole(), 256);
}

/* A program that is interrupted may look late enough, but not often. */
static void last_byte_is_not_enough(void)
{
	REQUIRE(nr_whole() < 128);
}

/* What a program may depend on is there: IBTA o9-20 has the list. */
static void completions_bring_all(void)
{
	struct ibv_sge none = {}, sge;
	struct ibv_send_wr wr;
	struct buf back;
	uint8_t value;
	uint32_t len;

	make();
	back = buf_make(nic_a()->pd, LEN, ACCESS_ALL);
	for (value = 1; value <= 60; value++) {
		len = value % 3 ? 64 * value : LEN;
		memset(from.p, value, len);
		post_recv(&b, value, &none, 0);
		if (value % 2) {	/* a SEND after it */
			write_all(value, IBV_WR_RDMA_WRITE, len);
			wr = wr_send(value, NULL, 0);
			post(&a, &wr);
		} else {		/* immediate data with it */
			write_all(value, IBV_WR_RDMA_WRITE_WITH_IMM, len);
		}
		wait_wc(b.rcq);
		check_bytes(to.p, len, value);
		wait_wc(a.scq);
		if (value % 2)
			wait_wc(a.scq);
		/* and a READ after it, of what the peer sees */
		memset(from.p, value + 100, len);
		write_all(value, IBV_WR_RDMA_WRITE, len);
		sge = sge_of(&back, 0, len);
		wr = wr_rdma(0, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)to.p,
			     to.mr->rkey);
		post(&a, &wr);
		wait_ok(a.scq, value, IBV_WC_RDMA_WRITE);
		wait_ok(a.scq, 0, IBV_WC_RDMA_READ);
		check_bytes(back.p, len, value + 100);
	}
}

/* A region that is deregistered has all that was acknowledged. */
static void deregistration_brings_all(void)
{
	uint8_t value;

	make();
	for (value = 1; value <= 20; value++) {
		memset(from.p, value, LEN);
		write_all(value, IBV_WR_RDMA_WRITE, LEN);
		wait_ok(a.scq, value, IBV_WC_RDMA_WRITE);
		REQUIRE_EQ(ibv_dereg_mr(to.mr), 0);
		check_bytes(to.p, LEN, value);
		to.mr = ibv_reg_mr(nic_b()->pd, to.p, LEN, ACCESS_ALL);
		REQUIRE(to.mr);
	}
}

/* Return: how many completions the first poll that finds any finds. */
static int first_poll(int nr)
{
	struct ibv_wc wc[16];
	uint64_t start = millis();
	int i, n, first;

	for (i = 0; i < nr; i++)
		write_all(i, IBV_WR_RDMA_WRITE, 8);
	do {
		n = ibv_poll_cq(a.scq, ARRAY_SIZE(wc), wc);
		REQUIRE(n >= 0 && millis() - start < 10000);
	} while (!n);
	first = n;
	for (; n < nr; n++)
		wait_wc(a.scq);
	require_no_wc(a.scq);
	return first;
}

/* EXPECT_BURST at a time, or fewer after a while; in order; with an event. */
static void completions_in_bursts(void)
{
	const char *text = getenv("EXPECT_BURST");
	int burst = text ? atoi(text) : 1, i, together = 0;
	struct config config = config_default;
	struct ibv_cq *event_cq;
	void *context;

	REQUIRE(burst > 1 && burst <= 16);
	config.events = true;
	pair_make(&a, &b, &config);
	from = buf_make(nic_a()->pd, LEN, ACCESS_ALL);
	to = buf_make(nic_b()->pd, LEN, ACCESS_ALL);
	/* The timer ends one early where a machine is very slow. */
	for (i = 0; i < 50; i++)
		together += first_poll(burst) == burst;
	printf("# %d of 50 bursts\n", together);
	REQUIRE(together >= 25);
	for (i = 1; i < burst; i++)
		first_poll(i);
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	write_all(7, IBV_WR_RDMA_WRITE, 8);
	REQUIRE_EQ(ibv_get_cq_event(a.channel, &event_cq, &context), 0);
	wait_ok(a.scq, 7, IBV_WC_RDMA_WRITE);
	ibv_ack_cq_events(event_cq, 1);
	/* A QP that is destroyed leaves none behind that appears later. */
	write_all(8, IBV_WR_RDMA_WRITE, 8);
	REQUIRE_EQ(ibv_destroy_qp(a.qp), 0);
	require_quiet(a.scq);
}

static void has_vendor_err(void)
{
	const char *expected = getenv("EXPECT_VENDOR_ERR");
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	REQUIRE(expected);
	make();
	sge = sge_of(&from, 0, 8);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)to.p,
		     to.mr->rkey ^ 1);
	post(&a, &wr);
	wc = wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(wc.vendor_err, strtol(expected, NULL, 0));
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(qp_sizes),
	TEST(qp_inline),
	TEST(cq_sizes),
	TEST(srq_sizes),
	TEST(mr_size),
	TEST(rd_atom),
	TEST(pkeys_and_gids),
	TEST(no_uc),
	TEST(no_ud),
	TEST(no_xrc),
	TEST(no_raw_packet),
	TEST(no_flow),
	TEST(no_srq),
	TEST(no_resize_cq),
	TEST(no_modify_cq),
	TEST(no_rereg_mr),
	TEST(no_mw),
	TEST(no_odp),
	TEST(no_advise_mr),
	TEST(no_dmabuf),
	TEST(no_device_memory),
	TEST(no_mcast),
	TEST(no_wq),
	TEST(no_tm),
	TEST(no_atomics),
	TEST(no_timestamps),
#ifdef HAVE_FLUSH
	TEST(no_flush),
	TEST(no_atomic_write),
#endif
	TEST(last_byte_is_enough),
	TEST(last_byte_is_not_enough),
	TEST(completions_bring_all),
	TEST(deregistration_brings_all),
	TEST(completions_in_bursts),
	TEST(has_vendor_err),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
