// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_create_qp_ex() and the work request interface, ibv_wr_*: each builder,
 * each setter, what is refused and what aborting leaves behind.
 */
#include "util.h"

#include <arpa/inet.h>

#define LEN	(64 * KIB)

static struct end a, b;
static struct buf mem_a, mem_b;
static struct ibv_qp_ex *qx;

static void set_up(uint64_t ops, int sig_all)
{
	struct config config = config_default;

	config.max_inline = 200;
	config.qp_access = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
	config.max_send_wr = 8;
	b = end_make(nic_b(), &config);
	config.ops = ops;
	config.sq_sig_all = sig_all;
	a = end_make(nic_a(), &config);
	pair_connect(&a, &b);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, 0, LEN);
	qx = ibv_qp_to_qp_ex(a.qp);
	REQUIRE(qx);
	qx->wr_flags = IBV_SEND_SIGNALED;
}

static void set_sge(size_t off, size_t len)
{
	ibv_wr_set_sge(qx, mem_a.mr->lkey, (uintptr_t)mem_a.p + off, len);
}

static void start(uint64_t wr_id)
{
	ibv_wr_start(qx);
	qx->wr_id = wr_id;
}

static void complete(void)
{
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
}

static void rdma_write_and_read(void)
{
	set_up(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ, 0);
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 5000);
	complete();
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p, 5000, 1);

	fill(mem_b.p, 5000, 2);
	start(2);
	ibv_wr_rdma_read(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 5000);
	complete();
	wait_ok(a.scq, 2, IBV_WC_RDMA_READ);
	check_fill(mem_a.p, 5000, 2);
}

static void rdma_write_imm(void)
{
	struct ibv_wc wc;

	set_up(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, 0);
	post_recv(&b, 9, NULL, 0);
	start(1);
	ibv_wr_rdma_write_imm(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p,
			      htonl(0x12345678));
	set_sge(0, 5000);
	complete();
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	wc = wait_ok(b.rcq, 9, IBV_WC_RECV_RDMA_WITH_IMM);
	REQUIRE_EQ(ntohl(wc.imm_data), 0x12345678);
	check_fill(mem_b.p, 5000, 1);
}

static void send_and_send_imm(void)
{
	struct ibv_sge to[2];
	struct ibv_wc wc;

	set_up(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM, 0);
	to[0] = sge_of(&mem_b, 0, 3000);
	to[1] = sge_of(&mem_b, 3000, 3000);
	post_recv(&b, 10, &to[0], 1);
	post_recv(&b, 11, &to[1], 1);
	start(1);
	ibv_wr_send(qx);
	set_sge(0, 3000);
	qx->wr_id = 2;
	ibv_wr_send_imm(qx, htonl(77));
	ibv_wr_set_sge_list(qx, 2, (struct ibv_sge[]){
		sge_of(&mem_a, 3000, 1000), sge_of(&mem_a, 4000, 2000) });
	complete();
	wait_ok(a.scq, 1, IBV_WC_SEND);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	REQUIRE_EQ(wait_ok(b.rcq, 10, IBV_WC_RECV).wc_flags, 0);
	wc = wait_ok(b.rcq, 11, IBV_WC_RECV);
	REQUIRE(wc.wc_flags & IBV_WC_WITH_IMM);
	REQUIRE_EQ(ntohl(wc.imm_data), 77);
	check_fill(mem_b.p, 6000, 1);
}

static void inline_data(void)
{
	static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	struct ibv_data_buf list[] = {
		{ (void *)text, 10 }, { NULL, 0 }, { (void *)(text + 10), 15 },
	};
	char data[30];

	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	memcpy(data, text, sizeof(data));
	ibv_wr_set_inline_data(qx, data, sizeof(data));
	memset(data, 0, sizeof(data));	/* the setter has copied it */
	qx->wr_id = 2;
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + 100);
	ibv_wr_set_inline_data_list(qx, 3, list);
	complete();
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	wait_ok(a.scq, 2, IBV_WC_RDMA_WRITE);
	REQUIRE_EQ(memcmp(mem_b.p, text, 30), 0);
	REQUIRE_EQ(memcmp(mem_b.p + 100, text, 25), 0);
	check_bytes(mem_b.p + 125, 100, 0);
}

static void atomics(void)
{
	uint64_t *word, *old;

	set_up(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, 0);
	word = (uint64_t *)mem_b.p;
	old = (uint64_t *)mem_a.p;
	*word = 40;
	start(1);
	ibv_wr_atomic_fetch_add(qx, mem_b.mr->rkey, (uintptr_t)word, 2);
	set_sge(0, 8);
	complete();
	wait_ok(a.scq, 1, IBV_WC_FETCH_ADD);
	REQUIRE_EQ(*old, 40);
	start(2);
	ibv_wr_atomic_cmp_swp(qx, mem_b.mr->rkey, (uintptr_t)word, 42, 7);
	set_sge(0, 8);
	complete();
	wait_ok(a.scq, 2, IBV_WC_COMP_SWAP);
	REQUIRE_EQ(*old, 42);
	REQUIRE_EQ(*word, 7);
}

/* A peer cannot invalidate a region, and the refusal shows that the key arrived. */
static void send_inv(void)
{
	struct ibv_sge to;

	set_up(IBV_QP_EX_WITH_SEND_WITH_INV, 0);
	to = sge_of(&mem_b, 0, 100);
	post_recv(&b, 9, &to, 1);
	start(1);
	ibv_wr_send_inv(qx, mem_b.mr->rkey);
	set_sge(0, 100);
	complete();
	wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
}

#define UD_QKEY	0x11111111
#define UD_GRH	40

static void ud_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .qkey = UD_QKEY,
	};

	qp_to_rts(qp, &attr);
}

/* It sends to itself; a request without an address is in error. */
static void ud_address(void)
{
	struct nic *nic = nic_a();
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = nic->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_ah_attr ah_attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic->gid, .sgid_index = nic->gid_index,
			 .hop_limit = 64 },
	};
	struct ibv_recv_wr recv = { .wr_id = 9, .num_sge = 1 }, *bad;
	struct ibv_sge to;
	struct ibv_wc wc;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	cq = ibv_create_cq(nic->ctx, 16, NULL, NULL, 0);
	REQUIRE(cq);
	init.send_cq = ibv_create_cq(nic->ctx, 16, NULL, NULL, 0);
	init.recv_cq = cq;
	qp = ibv_create_qp_ex(nic->ctx, &init);
	REQUIRE(qp);
	ud_to_rts(qp);
	qx = ibv_qp_to_qp_ex(qp);
	mem_a = buf_make(nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(nic->pd, LEN, ACCESS_ALL);
	fill(mem_a.p, LEN, 1);
	ah = ibv_create_ah(nic->pd, &ah_attr);
	REQUIRE(ah);
	to = sge_of(&mem_b, 0, LEN);
	recv.sg_list = &to;
	REQUIRE_EQ(ibv_post_recv(qp, &recv, &bad), 0);

	qx->wr_flags = IBV_SEND_SIGNALED;
	start(1);
	ibv_wr_send_imm(qx, htonl(5));
	ibv_wr_set_ud_addr(qx, ah, qp->qp_num, UD_QKEY);
	set_sge(0, 500);
	complete();
	wait_ok(init.send_cq, 1, IBV_WC_SEND);
	wc = wait_ok(cq, 9, IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, UD_GRH + 500);
	REQUIRE_EQ(wc.src_qp, qp->qp_num);
	REQUIRE_EQ(ntohl(wc.imm_data), 5);
	check_fill(mem_b.p + UD_GRH, 500, 1);

	start(2);
	ibv_wr_send(qx);
	set_sge(0, 500);
	complete();
	wait_status(init.send_cq, 2, IBV_WC_LOC_QP_OP_ERR);
}

static void unsignalled_and_sig_all(void)
{
	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	qx->wr_flags = 0;
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	qx->wr_flags = IBV_SEND_SIGNALED;
	qx->wr_id = 2;
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	complete();
	wait_ok(a.scq, 2, IBV_WC_RDMA_WRITE);
	require_no_wc(a.scq);

	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 1);
	qx->wr_flags = 0;
	start(3);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	complete();
	wait_ok(a.scq, 3, IBV_WC_RDMA_WRITE);
}

/* An aborted section executes nothing, and its slots are free again. */
static void abort_leaves_nothing(void)
{
	unsigned int round, i;

	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	for (round = 0; round < 3; round++) {
		ibv_wr_start(qx);
		for (i = 0; i < a.cap.max_send_wr; i++) {
			qx->wr_id = 100 + i;
			ibv_wr_rdma_write(qx, mem_b.mr->rkey,
					  (uintptr_t)mem_b.p);
			set_sge(0, 100);
		}
		ibv_wr_abort(qx);
	}
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + 1000);
	set_sge(0, 100);
	complete();
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_bytes(mem_b.p, 1000, 0);
	require_no_wc(a.scq);
}

/* After an empty section, completed or aborted, posting works. */
static void empty_section(void)
{
	struct ibv_sge from;
	struct ibv_send_wr wr;

	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	ibv_wr_start(qx);
	complete();
	from = sge_of(&mem_a, 0, 100);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p,
		     mem_b.mr->rkey);
	post(&a, &wr);	/* the two ways of posting alternate */
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	start(2);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	complete();
	wait_ok(a.scq, 2, IBV_WC_RDMA_WRITE);
}

static void one_write(uint64_t wr_id, uint64_t off)
{
	qx->wr_id = wr_id;
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + off);
	set_sge(0, 100);
}

/* One request that cannot be built fails the whole section. */
static void errors_abort_the_section(void)
{
	struct ibv_sge list[64];
	char data[300] = {};
	uint64_t off = 0;
	unsigned int i;

	set_up(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ, 0);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = sge_of(&mem_a, 0, 1);

	/* too many requests */
	ibv_wr_start(qx);
	for (i = 0; i <= a.cap.max_send_wr; i++)
		one_write(i, off);
	REQUIRE_EQ(ibv_wr_complete(qx), ENOMEM);

	/* inline data that is too long, also the sum of a list */
	ibv_wr_start(qx);
	one_write(1, off);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	ibv_wr_set_inline_data(qx, data, a.cap.max_inline_data + 1);
	one_write(2, off);
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);

	ibv_wr_start(qx);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	ibv_wr_set_inline_data_list(qx, 2, (struct ibv_data_buf[]){
		{ data, a.cap.max_inline_data }, { data, 1 } });
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);

	/* too many segments; then a setter without a request */
	ibv_wr_start(qx);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	ibv_wr_set_sge_list(qx, a.cap.max_send_sge + 1, list);
	set_sge(0, 100);
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);

	/* inline data of a READ */
	ibv_wr_start(qx);
	ibv_wr_rdma_read(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	ibv_wr_set_inline_data(qx, data, 8);
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);

	/* Nothing of it was executed. */
	ibv_wr_start(qx);
	one_write(50, 1000);
	complete();
	wait_ok(a.scq, 50, IBV_WC_RDMA_WRITE);
	require_no_wc(a.scq);
	check_bytes(mem_b.p, 1000, 0);
}

static void refused_before_rts(void)
{
	struct config config = config_default;

	config.ops = IBV_QP_EX_WITH_SEND;
	a = end_make(nic_a(), &config);
	qx = ibv_qp_to_qp_ex(a.qp);
	REQUIRE_EQ(end_to_init(&a), 0);
	ibv_wr_start(qx);
	ibv_wr_send(qx);
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);
}

/* Errors of execution are completions, as for ibv_post_send(). */
static void bad_keys_complete_with_errors(void)
{
	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey ^ 0x100, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	complete();
	wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	start(2);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 100);
	complete();
	wait_status(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
}

/* Return: errno of creating a QP with these operations. */
static int try_create(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = nic_a()->pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp;

	attr.send_cq = attr.recv_cq = ibv_create_cq(nic_a()->ctx, 4, NULL,
						    NULL, 0);
	REQUIRE(attr.send_cq);
	errno = 0;
	qp = ibv_create_qp_ex(nic_a()->ctx, &attr);
	if (!qp)
		return errno;
	REQUIRE_EQ(ibv_destroy_qp(qp), 0);
	REQUIRE_EQ(ibv_destroy_cq(attr.send_cq), 0);
	return 0;
}

/* Programs choose a method by the builders that are not NULL. */
static void only_what_was_asked_for_is_there(void)
{
	set_up(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM, 0);
	REQUIRE(qx->wr_rdma_write && qx->wr_send_imm);
	REQUIRE(!qx->wr_rdma_write_imm && !qx->wr_rdma_read && !qx->wr_send);
	REQUIRE(!qx->wr_atomic_cmp_swp && !qx->wr_atomic_fetch_add);
	REQUIRE(!qx->wr_bind_mw && !qx->wr_local_inv && !qx->wr_send_inv);
	REQUIRE(!qx->wr_atomic_write);
#ifdef HAVE_FLUSH
	REQUIRE(!qx->wr_flush);
#endif
	REQUIRE(!qx->wr_set_ud_addr && !qx->wr_set_xrc_srqn);
}

/* Other adapters ignore them, too, as does ibv_post_send(). */
static void flags_without_a_meaning_are_ignored(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up(IBV_QP_EX_WITH_RDMA_WRITE, 0);
	qx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM | 1 << 20;
	start(1);
	ibv_wr_rdma_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p);
	set_sge(0, 5000);
	complete();
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p, 5000, 1);
	sge = sge_of(&mem_a, 0, 100);
	wr = wr_rdma(2, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p + 5000,
		     mem_b.mr->rkey);
	wr.send_flags |= IBV_SEND_IP_CSUM | 1 << 20;
	post(&a, &wr);
	wait_ok(a.scq, 2, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p + 5000, 100, 1);
}

static void operations_by_type(void)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV;

	REQUIRE_EQ(try_create(IBV_QPT_RC, rc), 0);
	REQUIRE_EQ(try_create(IBV_QPT_UC, uc), 0);
	REQUIRE_EQ(try_create(IBV_QPT_UD, ud), 0);
	REQUIRE_EQ(try_create(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ),
		   EOPNOTSUPP);
	REQUIRE_EQ(try_create(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE),
		   EOPNOTSUPP);
	REQUIRE_EQ(try_create(IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW), EOPNOTSUPP);
	REQUIRE_EQ(try_create(IBV_QPT_RC, IBV_QP_EX_WITH_TSO), EOPNOTSUPP);
	REQUIRE_EQ(try_create(IBV_QPT_RC, 1ull << 40), EOPNOTSUPP);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(rdma_write_and_read),
	TEST(rdma_write_imm),
	TEST(send_and_send_imm),
	TEST(inline_data),
	TEST(atomics),
	TEST(send_inv),
	TEST(ud_address),
	TEST(unsignalled_and_sig_all),
	TEST(abort_leaves_nothing),
	TEST(empty_section),
	TEST(errors_abort_the_section),
	TEST(refused_before_rts),
	TEST(bad_keys_complete_with_errors),
	TEST(only_what_was_asked_for_is_there),
	TEST(flags_without_a_meaning_are_ignored),
	TEST(operations_by_type),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
