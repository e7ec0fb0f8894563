// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tag matching (IBV_SRQT_TM): which buffer a message gets, fields of
 * completions, counts of unexpected messages. Rendezvous, in which the adapter
 * itself reads the data. And the failures of each.
 */
#include "util.h"

#include <endian.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <infiniband/tm_types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../../../../uapi/softhca-abi.h"

enum {
	DEPTH = 64,
	SLOT = 32768,		/* size of a receive, and of a tag's buffer: some packets */
	HDR = sizeof(struct ibv_tmh),
	RNDV_HDR = sizeof(struct ibv_tmh) + sizeof(struct ibv_rvh),
	RECV_ID = 1000,		/* first wr_id of each kind */
	TAG_ID = 2000,
	OP_ID = 3000,
	PRIV = 0x12345678,
	MATCH = IBV_WC_TM_MATCH,
	VALID = IBV_WC_TM_DATA_VALID,
};

static struct ibv_tm_caps caps;
static struct ibv_pd *srq_pd;	/* of the SRQ, its memory and its tags */
static struct ibv_cq_ex *tm_cq;
static struct ibv_srq *srq;
static struct end rx, tx;
static struct buf to, from, plain;	/* buffers of tags, of sends, of receives */
static uint32_t handled;	/* unexpected messages */

/* ---- objects ------------------------------------------------------------------- */

static void query_caps(void)
{
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	caps = attr.tm_caps;
	if (!(caps.flags & IBV_TM_CAP_RC))
		test_skip("the device has no tag matching");
}

static struct ibv_srq *create_srq(uint32_t tags, uint32_t ops)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = srq_pd,
		.cq = ibv_cq_ex_to_cq(tm_cq),
		.tm_cap = { .max_num_tags = tags, .max_ops = ops },
	};

	return ibv_create_srq_ex(nic_a()->ctx, &attr);
}

static void make_srq(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4096,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};

	query_caps();
	if (!srq_pd)
		srq_pd = nic_a()->pd;
	tm_cq = ibv_create_cq_ex(nic_a()->ctx, &attr);
	REQUIRE(tm_cq);
	srq = create_srq(caps.max_num_tags, DEPTH);
	REQUIRE(srq);
}

/* The receiver's own CQs are smaller than the number of tag completions. */
static void make_rx(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.srq = srq,
		.cap = { .max_send_wr = 2, .max_send_sge = 1 },
	};

	rx = (struct end){ .nic = nic_a(), .config = config_default };
	rx.scq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);
	rx.rcq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);
	REQUIRE(rx.scq && rx.rcq);
	init.send_cq = rx.scq;
	init.recv_cq = rx.rcq;
	rx.qp = ibv_create_qp(nic_a()->pd, &init);
	REQUIRE(rx.qp);
	rx.cap = init.cap;
	rx.psn = 0xfffff0;	/* the PSN wraps */
}

static void make_memory(int access)
{
	to = buf_make(srq_pd, 4 * MIB, access);
	plain = buf_make(srq_pd, DEPTH * SLOT, ACCESS_ALL);
	from = buf_make(nic_b()->pd, 4 * MIB, ACCESS_ALL);
}

static void set_up(void)
{
	make_srq();
	make_rx();
	tx = end_make(nic_b(), &config_default);
	pair_connect(&rx, &tx);
	make_memory(ACCESS_ALL);
}

/* ---- operations ---------------------------------------------------------------- */

static int try_op(struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int err = ibv_post_srq_ops(srq, wr, &bad);

	if (err)
		REQUIRE(bad == wr);
	return err;
}

static struct ibv_ops_wr op_add(uint64_t tag, uint64_t mask, struct ibv_sge *sge)
{
	return (struct ibv_ops_wr){
		.wr_id = OP_ID + tag,
		.opcode = IBV_WR_TAG_ADD,
		.tm.add = { .recv_wr_id = TAG_ID + tag, .sg_list = sge,
			    .num_sge = sge ? 1 : 0, .tag = tag, .mask = mask },
	};
}

/* Adds a tag, unsignalled. Return: its handle. */
static uint32_t add_mask(uint64_t tag, uint64_t mask, size_t off, size_t len)
{
	struct ibv_sge sge = sge_of(&to, off, len);
	struct ibv_ops_wr wr = op_add(tag, mask, len ? &sge : NULL);

	REQUIRE_EQ(try_op(&wr), 0);
	return wr.tm.handle;
}

static uint32_t add(uint64_t tag, size_t off, size_t len)
{
	return add_mask(tag, UINT64_MAX, off, len);
}

/* ---- completions --------------------------------------------------------------- */

struct tm_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t byte_len;
	uint32_t qp_num;
	__be32 imm;
	struct ibv_wc_tm_info info;
};

static bool poll_tm(struct tm_wc *wc)
{
	struct ibv_poll_cq_attr attr = {};

	if (ibv_start_poll(tm_cq, &attr))
		return false;
	*wc = (struct tm_wc){
		.wr_id = tm_cq->wr_id,
		.status = tm_cq->status,
		.opcode = ibv_wc_read_opcode(tm_cq),
		.flags = ibv_wc_read_wc_flags(tm_cq),
		.byte_len = ibv_wc_read_byte_len(tm_cq),
		.qp_num = ibv_wc_read_qp_num(tm_cq),
		.imm = ibv_wc_read_imm_data(tm_cq),
	};
	ibv_wc_read_tm_info(tm_cq, &wc->info);
	/* Tag fields are not taken for a path. */
	REQUIRE_EQ(ibv_wc_read_slid(tm_cq), 0);
	REQUIRE_EQ(ibv_wc_read_sl(tm_cq), 0);
	ibv_end_poll(tm_cq);
	return true;
}

static struct tm_wc next_wc(void)
{
	uint64_t end = millis() + 10000 * slow_factor();
	struct tm_wc wc;

	while (!poll_tm(&wc))
		if (millis() > end)
			FAIL("no completion");
	return wc;
}

static struct tm_wc expect(uint64_t wr_id, enum ibv_wc_opcode opcode,
			   unsigned int flags)
{
	struct tm_wc wc = next_wc();

	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	REQUIRE_EQ(wc.wr_id, wr_id);
	REQUIRE_EQ(wc.opcode, opcode);
	REQUIRE_EQ(wc.flags, flags);
	return wc;
}

/* A message has matched the tag added with @wr_id. */
static void expect_tag(uint64_t wr_id, uint64_t tag)
{
	struct tm_wc wc = expect(wr_id, IBV_WC_TM_RECV, MATCH | VALID);

	REQUIRE_EQ(wc.info.tag, tag);
}

static void expect_error(uint64_t wr_id, enum ibv_wc_status status)
{
	struct tm_wc wc = next_wc();

	REQUIRE_EQ(wc.status, status);
	REQUIRE_EQ(wc.wr_id, wr_id);
}

static void expect_none(void)
{
	struct tm_wc wc;

	require_quiet(rx.scq);
	REQUIRE(!poll_tm(&wc));
}

static void sync_count(void)
{
	struct ibv_ops_wr wr = {
		.wr_id = OP_ID,
		.opcode = IBV_WR_TAG_SYNC,
		.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
		.tm.unexpected_cnt = handled,
	};

	REQUIRE_EQ(try_op(&wr), 0);
	expect(OP_ID, IBV_WC_TM_SYNC, 0);
}

/* ---- messages ------------------------------------------------------------------ */

static void receive(unsigned int slot)
{
	struct ibv_sge sge = sge_of(&plain, slot * SLOT, SLOT);
	struct ibv_recv_wr wr = { .wr_id = RECV_ID + slot, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void write_tmh(void *p, enum ibv_tmh_op op, uint64_t tag)
{
	struct ibv_tmh tmh = { .opcode = op, .app_ctx = htobe32(PRIV),
			       .tag = htobe64(tag) };

	memcpy(p, &tmh, sizeof(tmh));
}

/* Posts a message at @off of @from: header and @len bytes of fill(seed = @tag). */
static void post_msg(enum ibv_tmh_op op, uint64_t tag, size_t off, size_t len)
{
	struct ibv_sge sge = sge_of(&from, off, HDR + len);
	struct ibv_send_wr wr = wr_send(tag, &sge, 1);

	write_tmh(from.p + off, op, tag);
	fill(from.p + off + HDR, len, tag);
	post(&tx, &wr);
}

static void send_msg(enum ibv_tmh_op op, uint64_t tag, size_t len)
{
	post_msg(op, tag, 0, len);
	wait_ok(tx.scq, tag, IBV_WC_SEND);
}

/* The whole message is in a receive buffer. */
static void check_plain(unsigned int slot, enum ibv_tmh_op op, uint64_t tag,
			size_t len)
{
	uint8_t tmh[HDR];

	write_tmh(tmh, op, tag);
	REQUIRE(!memcmp(plain.p + slot * SLOT, tmh, HDR));
	check_fill(plain.p + slot * SLOT + HDR, len, tag);
}

static void expect_matched(uint64_t tag, size_t off, size_t len)
{
	struct tm_wc wc = expect(TAG_ID + tag, IBV_WC_TM_RECV, MATCH | VALID);

	REQUIRE_EQ(wc.byte_len, len);
	REQUIRE_EQ(wc.qp_num, rx.qp->qp_num);
	REQUIRE_EQ(wc.info.tag, tag);
	REQUIRE_EQ(wc.info.priv, PRIV);
	check_fill(to.p + off, len, tag);
}

static void expect_unexpected(unsigned int slot, uint64_t tag, size_t len)
{
	struct tm_wc wc = expect(RECV_ID + slot, IBV_WC_TM_RECV, 0);

	REQUIRE_EQ(wc.byte_len, HDR + len);
	REQUIRE_EQ(wc.info.tag, 0);
	check_plain(slot, IBV_TMH_EAGER, tag, len);
	handled++;
}

/* Posts a rendezvous request about @len bytes at @off, from memory of its own. */
static void post_rndv(uint64_t tag, size_t hdr_off, size_t hdr_len, size_t off,
		      uint32_t len, uint32_t rkey)
{
	struct ibv_rvh rvh = { .va = htobe64((uintptr_t)from.p + off),
			       .rkey = htobe32(rkey), .len = htobe32(len) };
	struct ibv_sge sge = sge_of(&from, hdr_off, hdr_len);
	struct ibv_send_wr wr = wr_send(tag, &sge, 1);

	memset(from.p + hdr_off, 0, 128);
	write_tmh(from.p + hdr_off, IBV_TMH_RNDV, tag);
	memcpy(from.p + hdr_off + HDR, &rvh, sizeof(rvh));
	post(&tx, &wr);
}

static void send_rndv(uint64_t tag, size_t off, uint32_t len)
{
	post_rndv(tag, 0, RNDV_HDR, off, len, from.mr->rkey);
	wait_ok(tx.scq, tag, IBV_WC_SEND);
}

static void expect_rndv_begin(uint64_t tag)
{
	struct tm_wc wc = expect(TAG_ID + tag, IBV_WC_TM_RECV, MATCH);

	REQUIRE_EQ(wc.info.tag, tag);
	REQUIRE_EQ(wc.info.priv, PRIV);
}

static void expect_rndv_data(uint64_t tag, size_t off, uint32_t len)
{
	struct tm_wc wc = expect(TAG_ID + tag, IBV_WC_TM_RECV, VALID);

	REQUIRE_EQ(wc.byte_len, len);
	check_fill(to.p + off, len, tag);
}

/* The sender learns that its data was read. */
static void post_fin(uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&from, 2 * MIB + wr_id * 64, 64);

	post_recv(&tx, wr_id, &sge, 1);
}

static void expect_fin(uint64_t wr_id, uint64_t tag)
{
	struct ibv_wc wc = wait_ok(tx.rcq, wr_id, IBV_WC_RECV);
	uint8_t tmh[HDR];

	write_tmh(tmh, IBV_TMH_FIN, tag);
	REQUIRE_EQ(wc.byte_len, HDR);
	REQUIRE(!memcmp(from.p + 2 * MIB + wr_id * 64, tmh, HDR));
}

/* ---- creation and operations ----------------------------------------------------- */

static void limits_are_checked(void)
{
	make_srq();
	REQUIRE(caps.max_num_tags && caps.max_ops && caps.max_sge);
	REQUIRE(caps.max_rndv_hdr_size >= RNDV_HDR);
	REQUIRE_ERRNO(create_srq(0, 1), EINVAL);
	REQUIRE_ERRNO(create_srq(caps.max_num_tags + 1, 1), EINVAL);
	REQUIRE_ERRNO(create_srq(1, caps.max_ops + 1), EINVAL);
	/* The CQ is in use. */
	REQUIRE_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(tm_cq)), EBUSY);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	srq = create_srq(1, caps.max_ops);
	REQUIRE(srq);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	REQUIRE_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(tm_cq)), 0);
}

/* As many tags as advertised; the SRQ is destroyed with all of them. */
static void list_can_be_full(void)
{
	struct ibv_ops_wr wr = op_add(1, 1, NULL), del;
	uint32_t i, handle = 0;

	make_srq();
	for (i = 0; i < caps.max_num_tags; i++) {
		wr = op_add(i, UINT64_MAX, NULL);
		REQUIRE_EQ(try_op(&wr), 0);
		if (i == 7)
			handle = wr.tm.handle;
	}
	wr.flags = IBV_OPS_SIGNALED;
	REQUIRE_EQ(try_op(&wr), ENOMEM);
	del = (struct ibv_ops_wr){ .opcode = IBV_WR_TAG_DEL,
				   .tm.handle = handle };
	REQUIRE_EQ(try_op(&del), 0);
	REQUIRE_EQ(try_op(&wr), 0);
	expect(wr.wr_id, IBV_WC_TM_ADD, 0);
	REQUIRE(wr.tm.handle != handle);
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
}

/*
 * Calls the method as the provider does, but @handle may be invalid. Return: 0
 * or an errno.
 */
static int raw_op(const struct shca_srq_op *op, void *handle)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
			     3 * sizeof(struct ib_uverbs_attr)];
	} cmd = { .hdr = {
		.length = sizeof(cmd),
		.object_id = UVERBS_OBJECT_SRQ,
		.method_id = SHCA_METHOD_SRQ_OP,
		.driver_id = SHCA_DRIVER_ID,
		.num_attrs = 3,
	} };
	struct ib_uverbs_attr *attrs = cmd.hdr.attrs;

	attrs[0] = (struct ib_uverbs_attr){
		.attr_id = SHCA_ATTR_SRQ_OP_SRQ,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = srq->handle,
	};
	attrs[1] = (struct ib_uverbs_attr){
		.attr_id = SHCA_ATTR_SRQ_OP_OP,
		.len = sizeof(*op),
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)op,
	};
	attrs[2] = (struct ib_uverbs_attr){
		.attr_id = SHCA_ATTR_SRQ_OP_HANDLE,
		.len = sizeof(uint32_t),
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)handle,
	};
	return ioctl(nic_a()->ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

/* The tag is then not in the list, and there is no completion. */
static void handle_that_cannot_be_told_adds_nothing(void)
{
	struct shca_srq_op op = { .wr_id = 1, .flags = SHCA_OP_SIGNALED };
	struct shca_srq_op del = { .opcode = SHCA_OP_TAG_DEL };
	uint32_t handle, i;
	struct tm_wc wc;
	void *page;

	make_srq();
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	srq = create_srq(2, 1);
	REQUIRE(srq);
	if (raw_op(&op, &handle))
		test_skip("the device is not of softhca");
	expect(op.wr_id, IBV_WC_TM_ADD, 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(page != MAP_FAILED);
	for (i = 0; i < 4; i++)
		REQUIRE_EQ(raw_op(&op, page), EFAULT);
	/* A deletion that fails in this way has no effect. */
	del.handle = handle;
	REQUIRE_EQ(raw_op(&del, page), EFAULT);
	REQUIRE_EQ(munmap(page, 4096), 0);
	REQUIRE_EQ(raw_op(&op, page), EFAULT);
	REQUIRE(!poll_tm(&wc));
	/* One of two is in use, as before. */
	REQUIRE_EQ(raw_op(&op, &handle), 0);
	expect(op.wr_id, IBV_WC_TM_ADD, 0);
	REQUIRE_EQ(raw_op(&op, &handle), ENOMEM);
	REQUIRE_EQ(raw_op(&del, &handle), 0);
	REQUIRE_EQ(raw_op(&op, &handle), 0);
	expect(op.wr_id, IBV_WC_TM_ADD, 0);
}

static void malformed_operations_are_refused(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_sge sge[2] = { { .length = 1 }, { .length = 1 } };
	struct ibv_ops_wr wr = op_add(1, 1, sge);
	struct tm_wc wc;

	make_srq();
	wr.flags = IBV_OPS_SIGNALED;
	wr.tm.add.num_sge = caps.max_sge + 1;
	REQUIRE_EQ(try_op(&wr), EINVAL);
	wr.tm.add.num_sge = -1;
	REQUIRE_EQ(try_op(&wr), EINVAL);
	wr.tm.add.num_sge = 1;
	wr.flags = 1 << 7;
	REQUIRE_EQ(try_op(&wr), EINVAL);
	wr.flags = IBV_OPS_SIGNALED;
	wr.opcode = 77;
	REQUIRE_EQ(try_op(&wr), EINVAL);
	sge[0].length = 0x80000001;
	wr.opcode = IBV_WR_TAG_ADD;
	REQUIRE_EQ(try_op(&wr), EINVAL);
	REQUIRE(!poll_tm(&wc));
	/* The first invalid operation of a list is reported; those before it are done. */
	{
		struct ibv_ops_wr second = { .opcode = 77 }, *bad = NULL;
		struct ibv_ops_wr first = op_add(2, 1, NULL);

		first.next = &second;
		first.flags = IBV_OPS_SIGNALED;
		REQUIRE_EQ(ibv_post_srq_ops(srq, &first, &bad), EINVAL);
		REQUIRE(bad == &second);
		expect(first.wr_id, IBV_WC_TM_ADD, 0);
	}
	srq = ibv_create_srq(nic_a()->pd, &init);
	REQUIRE(srq);
	wr = op_add(1, 1, NULL);
	REQUIRE_EQ(try_op(&wr), EINVAL);
}

static void other_transports_are_refused(void)
{
	enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	unsigned int i;

	make_srq();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibv_qp_init_attr init = {
			.qp_type = types[i],
			.srq = srq,
			.send_cq = ibv_cq_ex_to_cq(tm_cq),
			.recv_cq = ibv_cq_ex_to_cq(tm_cq),
			.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		};

		REQUIRE_ERRNO(ibv_create_qp(nic_a()->pd, &init), EINVAL);
	}
}

static void deleted_tag_matches_nothing(void)
{
	struct ibv_ops_wr del = { .wr_id = OP_ID, .opcode = IBV_WR_TAG_DEL,
				  .flags = IBV_OPS_SIGNALED };
	uint32_t gone, taken;

	set_up();
	receive(0);
	gone = add(5, 0, SLOT);
	taken = add(6, SLOT, SLOT);
	del.tm.handle = gone;
	REQUIRE_EQ(try_op(&del), 0);
	expect(OP_ID, IBV_WC_TM_DEL, 0);
	send_msg(IBV_TMH_EAGER, 5, 100);
	expect_unexpected(0, 5, 100);
	sync_count();
	send_msg(IBV_TMH_EAGER, 6, 100);
	expect_matched(6, SLOT, 100);
	/* Not twice, not a matched tag, not one that never existed ... */
	REQUIRE_EQ(try_op(&del), 0);
	expect_error(OP_ID, IBV_WC_TM_ERR);
	del.tm.handle = taken;
	REQUIRE_EQ(try_op(&del), 0);
	expect_error(OP_ID, IBV_WC_TM_ERR);
	del.tm.handle = 0xffffffff;
	REQUIRE_EQ(try_op(&del), 0);
	expect_error(OP_ID, IBV_WC_TM_ERR);
	/* ... nor the next user of its slot. Unsignalled, nothing is reported. */
	add(7, SLOT, SLOT);
	add(8, 0, SLOT);
	del.flags = 0;
	del.tm.handle = gone;
	REQUIRE_EQ(try_op(&del), 0);
	del.tm.handle = taken;
	REQUIRE_EQ(try_op(&del), 0);
	send_msg(IBV_TMH_EAGER, 7, 100);
	expect_matched(7, SLOT, 100);
	send_msg(IBV_TMH_EAGER, 8, 100);
	expect_matched(8, 0, 100);
	expect_none();
}

/* ---- eager messages ------------------------------------------------------------------- */

static void each_message_gets_its_tag(void)
{
	static const uint32_t lens[] = { 0, 1, 8, 1000, 1024, 4080, 4081, 30000 };
	unsigned int i, n = ARRAY_SIZE(lens);

	set_up();
	for (i = 0; i < n; i++)
		add(i, i * SLOT, lens[i]);
	/* In another order than the list's; none needs a receive. */
	for (i = n; i--;) {
		send_msg(IBV_TMH_EAGER, i, lens[i]);
		expect_matched(i, i * SLOT, lens[i]);
	}
	buf_check_guards(&to);
	expect_none();
	require_no_wc(rx.rcq);
}

/* Header and data of a message may be in any segments. */
static void message_of_segments(void)
{
	struct ibv_sge sge[4];
	struct ibv_send_wr wr;

	set_up();
	add(9, 0, SLOT);
	write_tmh(from.p, IBV_TMH_EAGER, 9);
	fill(from.p + 5000, 9000, 9);
	sge[0] = sge_of(&from, 0, 7);
	sge[1] = sge_of(&from, 7, HDR - 7);
	sge[2] = sge_of(&from, 5000, 3);
	sge[3] = sge_of(&from, 5003, 8997);
	wr = wr_send(1, sge, 4);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htobe32(77);
	post(&tx, &wr);
	wait_ok(tx.scq, 1, IBV_WC_SEND);
	{
		struct tm_wc wc = expect(TAG_ID + 9, IBV_WC_TM_RECV,
					 MATCH | VALID | IBV_WC_WITH_IMM);

		REQUIRE_EQ(be32toh(wc.imm), 77);
		REQUIRE_EQ(wc.byte_len, 9000);
		REQUIRE_EQ(wc.info.tag, 9);
	}
	check_fill(to.p, 9000, 9);
}

static void first_that_fits_is_taken(void)
{
	set_up();
	add_mask(0x100, 0xf00, 0, SLOT);	/* 1xx */
	add(0x123, SLOT, SLOT);
	add_mask(0, 0, 2 * SLOT, SLOT);		/* any */
	send_msg(IBV_TMH_EAGER, 0x123, 50);
	expect_tag(TAG_ID + 0x100, 0x123);
	check_fill(to.p, 50, 0x123);
	send_msg(IBV_TMH_EAGER, 0x123, 50);
	expect_matched(0x123, SLOT, 50);
	send_msg(IBV_TMH_EAGER, 0x123, 50);
	expect_tag(TAG_ID, 0x123);
	check_fill(to.p + 2 * SLOT, 50, 0x123);
}

/* Whole messages, including what may be their header. */
static void messages_without_a_tag_are_received(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	unsigned int i;

	set_up();
	add_mask(0, 0, 0, SLOT);	/* not even this one matches */
	for (i = 0; i < 3; i++)
		receive(i);
	send_msg(IBV_TMH_NO_TAG, 5, 10000);
	REQUIRE_EQ(expect(RECV_ID, IBV_WC_TM_NO_TAG, 0).byte_len, HDR + 10000);
	check_plain(0, IBV_TMH_NO_TAG, 5, 10000);
	send_msg(IBV_TMH_FIN, 5, 0);
	expect(RECV_ID + 1, IBV_WC_TM_NO_TAG, 0);
	check_plain(1, IBV_TMH_FIN, 5, 0);
	/* shorter than a header */
	sge = sge_of(&from, 0, 5);
	wr = wr_send(5, &sge, 1);
	post(&tx, &wr);
	REQUIRE_EQ(expect(RECV_ID + 2, IBV_WC_TM_NO_TAG, 0).byte_len, 5);
	wait_ok(tx.scq, 5, IBV_WC_SEND);
	/* They do not count as unexpected. */
	send_msg(IBV_TMH_EAGER, 0, 10);
	expect_matched(0, 0, 10);
}

/* A message for a new tag may be in flight already. */
static void tags_wait_until_counts_agree(void)
{
	struct ibv_ops_wr wr;
	struct ibv_sge sge;

	set_up();
	receive(0);
	receive(1);
	add(1, 0, SLOT);
	send_msg(IBV_TMH_EAGER, 2, 4000);
	expect_unexpected(0, 2, 4000);
	sge = sge_of(&to, SLOT, SLOT);
	wr = op_add(2, UINT64_MAX, &sge);
	wr.flags = IBV_OPS_SIGNALED;
	REQUIRE_EQ(try_op(&wr), 0);
	expect(wr.wr_id, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ);
	/* An older tag is not concerned. */
	send_msg(IBV_TMH_EAGER, 1, 100);
	expect_matched(1, 0, 100);
	send_msg(IBV_TMH_EAGER, 2, 200);
	expect_unexpected(1, 2, 200);
	sync_count();
	send_msg(IBV_TMH_EAGER, 2, 300);
	expect_matched(2, SLOT, 300);
	/* An operation may carry the count. */
	receive(2);
	send_msg(IBV_TMH_EAGER, 3, 20);
	expect_unexpected(2, 3, 20);
	wr = op_add(3, UINT64_MAX, &sge);
	wr.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
	wr.tm.unexpected_cnt = handled;
	REQUIRE_EQ(try_op(&wr), 0);
	expect(wr.wr_id, IBV_WC_TM_ADD, 0);
	send_msg(IBV_TMH_EAGER, 3, 30);
	expect_matched(3, SLOT, 30);
}

/* A message without tag and receive waits, and is matched again. */
static void message_waits_for_a_tag(void)
{
	set_up();
	post_msg(IBV_TMH_EAGER, 4, 0, 5000);
	require_quiet(tx.scq);
	add(4, 0, SLOT);
	expect_matched(4, 0, 5000);
	wait_ok(tx.scq, 4, IBV_WC_SEND);
}

static void other_operations_are_as_without_tags(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up();
	sge = sge_of(&from, 0, 64);
	fill(from.p, 64, 3);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)to.p,
		     to.mr->rkey);
	post(&tx, &wr);
	wait_ok(tx.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(to.p, 64, 3);
	receive(0);
	wr = wr_rdma(2, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 1,
		     (uintptr_t)to.p + 64, to.mr->rkey);
	post(&tx, &wr);
	wait_ok(tx.scq, 2, IBV_WC_RDMA_WRITE);
	expect(RECV_ID, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM);
	check_fill(to.p + 64, 64, 3);
}

/* ---- rendezvous ------------------------------------------------------------------- */

static void rendezvous(void)
{
	static const uint32_t lens[] = { 0, 1, 8, 1024, 5000, 1000001 };
	unsigned int i;

	set_up();
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		post_fin(i);
		add(i, 0, 1 * MIB);
		fill(from.p + 1000, lens[i], i);
		send_rndv(i, 1000, lens[i]);
		expect_rndv_begin(i);
		expect_rndv_data(i, 0, lens[i]);
		expect_fin(i, i);
	}
	buf_check_guards(&to);
	expect_none();	/* nor are there completions in the receiver's send CQ */
	require_no_wc(rx.rcq);
}

/* More than the outstanding READs, and more than the QP's send requests. */
static void many_rendezvous(void)
{
	enum { NR = 48, LEN = 20000 };
	bool begun[NR] = {}, done[NR] = {};
	unsigned int i;
	uint64_t tag;
	struct tm_wc wc;

	set_up();
	for (i = 0; i < NR; i++) {
		post_fin(i);
		add(i, i * SLOT, SLOT);
		fill(from.p + i * SLOT, LEN, i);
	}
	for (i = 0; i < NR; i++)
		post_rndv(i, 3 * MIB + i * 128, RNDV_HDR, i * SLOT, LEN,
			  from.mr->rkey);
	for (i = 0; i < 2 * NR; i++) {
		wc = next_wc();
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.opcode, IBV_WC_TM_RECV);
		tag = wc.wr_id - TAG_ID;
		REQUIRE(tag < NR);
		if (wc.flags == MATCH) {
			REQUIRE(!begun[tag]);
			begun[tag] = true;
			continue;
		}
		REQUIRE_EQ(wc.flags, VALID);
		REQUIRE(begun[tag] && !done[tag]);
		done[tag] = true;
		check_fill(to.p + tag * SLOT, LEN, tag);
	}
	for (i = 0; i < NR; i++) {
		wait_ok(tx.scq, i, IBV_WC_SEND);
		expect_fin(i, i);
	}
	/* All slots are free again. */
	for (i = 0; i < caps.max_num_tags; i++)
		add(i, 0, 1);
}

/* The receiver's own requests continue, and their ring stays correct. */
static void rendezvous_among_own_requests(void)
{
	enum { ROUNDS = 40 };
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	unsigned int i;

	set_up();
	sge = sge_of(&to, 3 * MIB, 8);
	for (i = 0; i < ROUNDS; i++) {
		add(i, 0, SLOT);
		fill(from.p + 1000, 9000, i);
		post_rndv(i, 0, RNDV_HDR, 1000, 9000, from.mr->rkey);
		wr = wr_rdma(i, IBV_WR_RDMA_READ, &sge, 1,
			     (uintptr_t)from.p + 64, from.mr->rkey);
		wr.send_flags = i % 2 ? IBV_SEND_SIGNALED : 0;
		post_fin(i % 8);
		post(&rx, &wr);
		if (i % 2)
			wait_ok(rx.scq, i, IBV_WC_RDMA_READ);
		wait_ok(tx.scq, i, IBV_WC_SEND);
		expect_rndv_begin(i);
		expect_rndv_data(i, 0, 9000);
		expect_fin(i % 8, i);
	}
}

static void unexpected_rendezvous_is_received(void)
{
	set_up();
	receive(0);
	send_rndv(3, 1000, 500);
	REQUIRE_EQ(expect(RECV_ID, IBV_WC_TM_RECV, 0).byte_len, RNDV_HDR);
	REQUIRE_EQ(plain.p[0], IBV_TMH_RNDV);
	handled++;
	sync_count();
	expect_none();
}

/* The receive belongs to the SRQ, and so do its keys. */
static void keys_are_of_the_srqs_domain(void)
{
	srq_pd = ibv_alloc_pd(nic_a()->ctx);
	REQUIRE(srq_pd);
	set_up();
	post_fin(0);
	add(1, 0, SLOT);
	add(2, SLOT, SLOT);
	send_msg(IBV_TMH_EAGER, 1, 8);
	expect_matched(1, 0, 8);
	fill(from.p + 1000, 8, 2);
	send_rndv(2, 1000, 8);
	expect_rndv_begin(2);
	expect_rndv_data(2, SLOT, 8);
	expect_fin(0, 2);
}

static void tags_on_demand(void)
{
	struct ibv_device_attr_ex attr;

	query_caps();
	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.per_transport_caps.rc_odp_caps &
	      IBV_ODP_SUPPORT_SRQ_RECV))
		test_skip("no on-demand paging of receives");
	make_srq();
	make_rx();
	tx = end_make(nic_b(), &config_default);
	pair_connect(&rx, &tx);
	make_memory(ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	post_fin(0);
	/* untouched pages */
	add(1, 1 * MIB, SLOT);
	add(2, 2 * MIB, 1 * MIB);
	send_msg(IBV_TMH_EAGER, 1, 30000);
	expect_matched(1, 1 * MIB, 30000);
	fill(from.p + 1000, 300000, 2);
	send_rndv(2, 1000, 300000);
	expect_rndv_begin(2);
	expect_rndv_data(2, 2 * MIB, 300000);
	expect_fin(0, 2);
}

/* ---- what goes wrong -------------------------------------------------------------- */

static void refused(uint64_t tag, enum ibv_wc_status at_sender)
{
	wait_status(tx.scq, tag, at_sender);
	end_wait_state(&rx, IBV_QPS_ERR);
}

static void message_longer_than_its_tag(void)
{
	set_up();
	add(1, 0, 99);
	post_msg(IBV_TMH_EAGER, 1, 0, 100);
	expect_error(TAG_ID + 1, IBV_WC_LOC_LEN_ERR);
	refused(1, IBV_WC_REM_INV_REQ_ERR);
	check_bytes(to.p + 99, 100, 0);
}

static void rendezvous_longer_than_its_tag(void)
{
	set_up();
	add(1, 0, 99);
	post_rndv(1, 0, RNDV_HDR, 1000, 100, from.mr->rkey);
	expect_error(TAG_ID + 1, IBV_WC_LOC_LEN_ERR);
	refused(1, IBV_WC_REM_INV_REQ_ERR);
	expect_none();
}

static void tag_with_a_bad_key(void)
{
	struct ibv_sge sge;
	struct ibv_ops_wr wr;

	set_up();
	sge = sge_of(&to, 0, SLOT);
	sge.lkey ^= 0x5500;
	wr = op_add(1, UINT64_MAX, &sge);
	REQUIRE_EQ(try_op(&wr), 0);
	post_msg(IBV_TMH_EAGER, 1, 0, 100);
	expect_error(TAG_ID + 1, IBV_WC_LOC_PROT_ERR);
	refused(1, IBV_WC_REM_OP_ERR);
}

/* The first completion is valid, and the second reports that there is no data. */
static void rendezvous_fails(void)
{
	expect_rndv_begin(1);
	expect_error(TAG_ID + 1, IBV_WC_TM_RNDV_INCOMPLETE);
	end_wait_state(&rx, IBV_QPS_ERR);
	require_no_wc(rx.scq);
}

static void rendezvous_into_a_bad_key(void)
{
	struct ibv_sge sge;
	struct ibv_ops_wr wr;

	set_up();
	sge = sge_of(&to, 0, SLOT);
	sge.lkey ^= 0x5500;
	wr = op_add(1, UINT64_MAX, &sge);
	REQUIRE_EQ(try_op(&wr), 0);
	send_rndv(1, 1000, 100);
	rendezvous_fails();
}

static void rendezvous_of_a_bad_key(void)
{
	set_up();
	add(1, 0, SLOT);
	post_rndv(1, 0, RNDV_HDR, 1000, 100, from.mr->rkey ^ 0x5500);
	rendezvous_fails();
	end_wait_state(&tx, IBV_QPS_ERR);
}

static void malformed_rendezvous_is_refused(void)
{
	set_up();
	add(1, 0, SLOT);
	post_rndv(1, 0, RNDV_HDR - 1, 1000, 100, from.mr->rkey);
	refused(1, IBV_WC_REM_INV_REQ_ERR);
	expect_none();
}

static void long_request_for_a_rendezvous_is_refused(void)
{
	set_up();
	add(1, 0, SLOT);
	post_rndv(1, 0, caps.max_rndv_hdr_size, 1000, 100, from.mr->rkey);
	post_fin(0);
	wait_ok(tx.scq, 1, IBV_WC_SEND);
	expect_rndv_begin(1);
	expect(TAG_ID + 1, IBV_WC_TM_RECV, VALID);
	expect_fin(0, 1);
	add(1, 0, SLOT);
	post_rndv(1, 0, caps.max_rndv_hdr_size + 1, 1000, 100, from.mr->rkey);
	refused(1, IBV_WC_REM_INV_REQ_ERR);
	expect_none();
}

/* A receiver in RTR gets a rendezvous request, which it cannot begin. */
static void set_up_begun(void)
{
	struct address a, b;

	make_srq();
	make_rx();
	rx.config.retry_cnt = 1;
	rx.config.timeout = 12;
	tx = end_make(nic_b(), &config_default);
	a = end_address(&rx);
	b = end_address(&tx);
	REQUIRE_EQ(end_to_init(&rx), 0);
	REQUIRE_EQ(end_to_rtr(&rx, &b), 0);
	end_connect(&tx, &a);
	make_memory(ACCESS_ALL);
	add(1, 0, SLOT);
	post_fin(0);
	fill(from.p + 1000, 10000, 1);
	send_rndv(1, 1000, 10000);
	expect_rndv_begin(1);
	expect_none();
}

/* Its slot is free again. */
static void list_is_empty(void)
{
	uint32_t i;

	for (i = 0; i < caps.max_num_tags; i++)
		add(i, 0, 1);
}

static void rendezvous_waits_for_rts(void)
{
	set_up_begun();
	REQUIRE_EQ(end_to_rts(&rx), 0);
	expect_rndv_data(1, 0, 10000);
	expect_fin(0, 1);
}

static void sender_dies_before_it_is_read(void)
{
	set_up_begun();
	REQUIRE_EQ(ibv_destroy_qp(tx.qp), 0);
	REQUIRE_EQ(end_to_rts(&rx), 0);
	expect_error(TAG_ID + 1, IBV_WC_TM_RNDV_INCOMPLETE);
	end_wait_state(&rx, IBV_QPS_ERR);
	require_no_wc(rx.scq);
	list_is_empty();
}

static void error_ends_a_rendezvous(void)
{
	set_up_begun();
	REQUIRE_EQ(end_to(&rx, IBV_QPS_ERR), 0);
	expect_error(TAG_ID + 1, IBV_WC_TM_RNDV_INCOMPLETE);
	expect_none();
	list_is_empty();
}

static void reset_forgets_a_rendezvous(void)
{
	set_up_begun();
	REQUIRE_EQ(end_to(&rx, IBV_QPS_RESET), 0);
	expect_none();
	list_is_empty();
}

static void destruction_forgets_a_rendezvous(void)
{
	struct tm_wc wc;

	set_up_begun();
	REQUIRE_EQ(ibv_destroy_srq(srq), EBUSY);
	REQUIRE_EQ(ibv_destroy_qp(rx.qp), 0);
	REQUIRE(!poll_tm(&wc));
	list_is_empty();
	REQUIRE_EQ(ibv_destroy_srq(srq), 0);
	REQUIRE_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(tm_cq)), 0);
}

#define T(name) { #name, name }
static const struct test tests[] = {
	T(limits_are_checked),
	T(list_can_be_full),
	T(handle_that_cannot_be_told_adds_nothing),
	T(malformed_operations_are_refused),
	T(other_transports_are_refused),
	T(deleted_tag_matches_nothing),
	T(each_message_gets_its_tag),
	T(message_of_segments),
	T(first_that_fits_is_taken),
	T(messages_without_a_tag_are_received),
	T(tags_wait_until_counts_agree),
	T(message_waits_for_a_tag),
	T(other_operations_are_as_without_tags),
	T(rendezvous),
	T(many_rendezvous),
	T(rendezvous_among_own_requests),
	T(unexpected_rendezvous_is_received),
	T(keys_are_of_the_srqs_domain),
	T(tags_on_demand),
	T(message_longer_than_its_tag),
	T(rendezvous_longer_than_its_tag),
	T(tag_with_a_bad_key),
	T(rendezvous_into_a_bad_key),
	T(rendezvous_of_a_bad_key),
	T(malformed_rendezvous_is_refused),
	T(long_request_for_a_rendezvous_is_refused),
	T(rendezvous_waits_for_rts),
	T(sender_dies_before_it_is_read),
	T(error_ends_a_rendezvous),
	T(reset_forgets_a_rendezvous),
	T(destruction_forgets_a_rendezvous),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
