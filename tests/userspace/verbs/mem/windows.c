// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows of type 1 and 2B (IBTA 10.6.7): the access that they grant,
 * the QPs that have it, and how long. SEND with invalidate, by which a peer
 * closes one.
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

static struct ibv_mw *mw_make(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.nic->pd, type);

	REQUIRE(mw);
	return mw;
}

static struct ibv_mw_bind_info bind_info(struct ibv_mr *mr, uint64_t addr,
					 uint64_t length, int access)
{
	return (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = addr,
		.length = length,
		.mw_access_flags = access,
	};
}

/* A bind from byte @off of b's memory on. */
static struct ibv_mw_bind_info bind_at(size_t off, size_t len, int access)
{
	return bind_info(mem_b.mr, (uintptr_t)mem_b.p + off, len, access);
}

static struct ibv_send_wr wr_bind(uint64_t wr_id, struct ibv_mw *mw,
				  struct ibv_mw_bind_info info)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = info,
		},
	};
}

static struct ibv_send_wr wr_local_inv(uint64_t wr_id, uint32_t rkey)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};
}

/* Binds on @end, for both types. */
static void bind_on(struct end *end, struct ibv_mw *mw,
		    struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = {
		.wr_id = 77,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = info,
	};
	struct ibv_send_wr wr = wr_bind(77, mw, info);

	if (mw->type == IBV_MW_TYPE_1) {
		REQUIRE_EQ(ibv_bind_mw(end->qp, mw, &bind), 0);
	} else {
		post(end, &wr);
		mw->rkey = wr.bind_mw.rkey;
	}
	wait_ok(end->scq, 77, IBV_WC_BIND_MW);
}

static uint32_t bind_window(struct ibv_mw *mw)
{
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	return mw->rkey;
}

/* Executes a WRITE or READ of @len bytes from @from's end with this result. */
static void rdma_from(struct end *from, enum ibv_wr_opcode opcode,
		      uint64_t addr, size_t len, uint32_t rkey,
		      enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, len);
	struct ibv_send_wr wr = wr_rdma(5, opcode, &sge, 1, addr, rkey);

	post(from, &wr);
	wait_status(from->scq, 5, status);
}

static void write_ok(struct ibv_mw *mw, size_t off, size_t len)
{
	memset(mem_b.p, 0, LEN);
	rdma_from(&a, IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p + off, len,
		  mw->rkey, IBV_WC_SUCCESS);
	check_bytes(mem_b.p, off, 0);
	check_fill(mem_b.p + off, len, 1);
	check_bytes(mem_b.p + off + len, LEN - off - len, 0);
}

/* Ends the connection of a and b. */
static void refused(enum ibv_wr_opcode opcode, size_t off, size_t len,
		    uint32_t rkey)
{
	memset(mem_b.p, 0, LEN);
	rdma_from(&a, opcode, (uintptr_t)mem_b.p + off, len, rkey,
		  IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
	end_wait_state(&b, IBV_QPS_ERR);
}

/* Then a and b are reset and connected again. */
static void reconnect(void)
{
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
}

/* ---- access through a window --------------------------------------------- */

static void opens_for_its_range_only(enum ibv_mw_type type)
{
	static const struct {
		int off, len;
	} outside[] = {
		{ 999, 1 }, { 3001, 1 }, { 999, 2 }, { 3000, 2 }, { 0, LEN },
	};
	struct ibv_mw *mw;
	unsigned int i;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	for (i = 0; i < ARRAY_SIZE(outside); i++) {
		mw = mw_make(type);
		bind_on(&b, mw, bind_at(1000, 2001, IBV_ACCESS_REMOTE_WRITE));
		write_ok(mw, 1000, 2001);
		write_ok(mw, 1000, 1);
		write_ok(mw, 3000, 1);
		refused(IBV_WR_RDMA_WRITE, outside[i].off, outside[i].len,
			mw->rkey);
		reconnect();
		REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
	}
}

static void type1_opens_for_its_range_only(void)
{
	opens_for_its_range_only(IBV_MW_TYPE_1);
}

static void type2_opens_for_its_range_only(void)
{
	opens_for_its_range_only(IBV_MW_TYPE_2);
}

static void rights_are_those_of_the_window(void)
{
	struct ibv_mw *mw;
	int type;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = mw_make(type);
		bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_READ));
		memset(mem_b.p, 0, LEN);
		rdma_from(&a, IBV_WR_RDMA_READ, (uintptr_t)mem_b.p, 100,
			  mw->rkey, IBV_WC_SUCCESS);
		check_bytes(mem_a.p, 100, 0);
		fill(mem_a.p, LEN, 1);
		refused(IBV_WR_RDMA_WRITE, 0, 100, mw->rkey);
		reconnect();

		mw = mw_make(type);
		bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
		refused(IBV_WR_RDMA_READ, 0, 100, mw->rkey);
		check_fill(mem_a.p, 100, 1);
		reconnect();
	}
}

/* The region grants nothing to peers, so the window alone does. */
static void atomic_through_a_window(void)
{
	struct config config = config_default;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	uint64_t *word;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	word = (uint64_t *)(mem_b.p + 64);
	*word = 40;
	mw = mw_make(IBV_MW_TYPE_2);
	bind_on(&b, mw, bind_at(64, 8, IBV_ACCESS_REMOTE_ATOMIC));
	sge = sge_of(&mem_a, 0, 8);
	wr = wr_send(1, &sge, 1);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = mw->rkey;
	wr.wr.atomic.compare_add = 2;
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_FETCH_ADD);
	REQUIRE_EQ(*word, 42);
	REQUIRE_EQ(*(uint64_t *)mem_a.p, 40);
}

static void zero_based_window_counts_from_its_start(void)
{
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_on(&b, mw, bind_at(5000, 6000, IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_ZERO_BASED));
	memset(mem_b.p, 0, LEN);
	rdma_from(&a, IBV_WR_RDMA_WRITE, 0, 6000, mw->rkey, IBV_WC_SUCCESS);
	check_bytes(mem_b.p, 5000, 0);
	check_fill(mem_b.p + 5000, 6000, 1);
	check_bytes(mem_b.p + 11000, LEN - 11000, 0);
	memset(mem_b.p, 0, LEN);
	rdma_from(&a, IBV_WR_RDMA_WRITE, 1, 6000, mw->rkey,
		  IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
}

/* The key is for peers only. */
static void rkey_of_a_window_is_no_lkey(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_1);
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ));
	sge = sge_of(&mem_b, 0, 100);
	sge.lkey = mw->rkey;
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_a.p,
		     mem_a.mr->rkey);
	post(&b, &wr);
	wait_status(b.scq, 1, IBV_WC_LOC_PROT_ERR);
}

/* ---- QPs with access ----------------------------------------------------- */

static void type1_is_for_every_qp_of_its_pd(void)
{
	struct end c, d;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_make(&c, &d, &config_default);
	mw = mw_make(IBV_MW_TYPE_1);
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	write_ok(mw, 0, 5000);
	rdma_from(&c, IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p + 6000, 100,
		  mw->rkey, IBV_WC_SUCCESS);
	check_fill(mem_b.p + 6000, 100, 1);
}

static void type2_is_for_the_qp_that_has_bound_it(void)
{
	struct end c, d;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_make(&c, &d, &config_default);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	memset(mem_b.p, 0, LEN);
	rdma_from(&c, IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p, 100, mw->rkey,
		  IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
	write_ok(mw, 0, 100);
}

/* The PDs of @a2 and @b2 differ from those of a and b. */
static void pair_of_other_pds(struct end *a2, struct end *b2)
{
	struct ibv_pd *pd_a = a.nic->pd, *pd_b = b.nic->pd;

	a.nic->pd = ibv_alloc_pd(a.nic->ctx);
	REQUIRE(a.nic->pd);
	if (b.nic != a.nic)
		b.nic->pd = ibv_alloc_pd(b.nic->ctx);
	REQUIRE(b.nic->pd);
	pair_make(a2, b2, &config_default);
	a.nic->pd = pd_a;
	b.nic->pd = pd_b;
}

static void other_pd_has_nothing_of_a_window(void)
{
	struct ibv_send_wr wr;
	struct buf mem_c;
	struct ibv_pd *pd;
	struct end c, d;
	struct ibv_mw *mw;
	struct ibv_sge sge;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_of_other_pds(&c, &d);
	mw = mw_make(IBV_MW_TYPE_1);
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	pd = c.qp->pd;
	mem_c = buf_make(pd, 100, ACCESS_ALL);
	sge = sge_of(&mem_c, 0, 100);
	memset(mem_b.p, 0, LEN);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p,
		     mw->rkey);
	post(&c, &wr);
	wait_status(c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
	write_ok(mw, 0, 100);
}

/* ---- lifetime ------------------------------------------------------------ */

static void type1_is_moved_and_closed_by_binding(void)
{
	struct ibv_mw *mw;
	uint32_t old;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_1);
	refused(IBV_WR_RDMA_WRITE, 0, 100, mw->rkey);
	reconnect();
	bind_on(&b, mw, bind_at(0, 1000, IBV_ACCESS_REMOTE_WRITE));
	write_ok(mw, 0, 1000);
	old = mw->rkey;
	bind_on(&b, mw, bind_at(2000, 1000, IBV_ACCESS_REMOTE_WRITE));
	REQUIRE(mw->rkey != old);
	write_ok(mw, 2000, 1000);
	refused(IBV_WR_RDMA_WRITE, 0, 100, old);
	reconnect();
	refused(IBV_WR_RDMA_WRITE, 0, 100, mw->rkey);
	reconnect();
	bind_on(&b, mw, bind_at(0, 0, 0));
	refused(IBV_WR_RDMA_WRITE, 2000, 100, mw->rkey);
	reconnect();
	/* Closing a closed window is no error. */
	bind_on(&b, mw, bind_info(NULL, 0, 0, 0));
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	write_ok(mw, 0, LEN);
}

static void type2_is_closed_by_local_inv(void)
{
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	uint32_t old;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	old = bind_window(mw);
	write_ok(mw, 0, 100);
	wr = wr_local_inv(1, old);
	post(&b, &wr);
	wait_ok(b.scq, 1, IBV_WC_LOCAL_INV);
	bind_window(mw);
	write_ok(mw, 0, 100);
	refused(IBV_WR_RDMA_WRITE, 0, 100, old);
}

/* Requests without data: programs set the flag on all their requests. */
static void inline_means_nothing_without_data(void)
{
	struct ibv_send_wr wr;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	wr = wr_bind(1, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
	wr.send_flags |= IBV_SEND_INLINE;
	post(&b, &wr);
	mw->rkey = wr.bind_mw.rkey;
	wait_ok(b.scq, 1, IBV_WC_BIND_MW);
	write_ok(mw, 0, 100);
	wr = wr_local_inv(2, mw->rkey);
	wr.send_flags |= IBV_SEND_INLINE;
	post(&b, &wr);
	wait_ok(b.scq, 2, IBV_WC_LOCAL_INV);
	wr = wr_rdma(3, IBV_WR_RDMA_READ, NULL, 0, (uintptr_t)mem_a.p,
		     mem_a.mr->rkey);
	wr.send_flags |= IBV_SEND_INLINE;
	post(&b, &wr);
	wait_ok(b.scq, 3, IBV_WC_RDMA_READ);
}

static void dealloc_closes(void)
{
	struct ibv_mw *mw;
	uint32_t rkey;
	int type;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = mw_make(type);
		rkey = bind_window(mw);
		write_ok(mw, 0, 100);
		REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
		refused(IBV_WR_RDMA_WRITE, 0, 100, rkey);
		reconnect();
	}
}

/* A list: requests after the bind may already use the window. */
static void bind_is_in_order_with_what_follows(void)
{
	struct ibv_sge sge, to;
	struct ibv_send_wr bind, send, inv;
	struct ibv_mw *mw;
	int i;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	for (i = 0; i < 50; i++) {
		to = sge_of(&mem_a, 8000, 4);
		post_recv(&a, 1, &to, 1);
		bind = wr_bind(2, mw, bind_at(100, 5000,
					      IBV_ACCESS_REMOTE_WRITE));
		bind.send_flags = 0;
		bind.next = &send;
		memcpy(mem_b.p, &bind.bind_mw.rkey, 4);
		sge = sge_of(&mem_b, 0, 4);
		send = wr_send(3, &sge, 1);
		post(&b, &bind);
		mw->rkey = bind.bind_mw.rkey;
		wait_ok(a.rcq, 1, IBV_WC_RECV);
		REQUIRE(!memcmp(mem_a.p + 8000, &mw->rkey, 4));
		wait_ok(b.scq, 3, IBV_WC_SEND);
		write_ok(mw, 100, 5000);
		inv = wr_local_inv(4, mw->rkey);
		inv.send_flags |= IBV_SEND_FENCE;
		post(&b, &inv);
		wait_ok(b.scq, 4, IBV_WC_LOCAL_INV);
	}
}

static void region_under_a_window_cannot_go(void)
{
	struct ibv_mw *mw;
	int type;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = mw_make(type);
		bind_window(mw);
		REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), EBUSY);
		REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS,
					NULL, NULL, 0, ACCESS_ALL),
			   IBV_REREG_MR_ERR_CMD);
		write_ok(mw, 0, LEN);
		REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
	}
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

/* Its windows belong to nobody, and hold their region until they are deallocated. */
static void windows_of_a_qp_that_is_gone(void)
{
	struct end c, d;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_make(&c, &d, &config_default);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_window(mw);
	REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
	memset(mem_b.p, 0, LEN);
	rdma_from(&c, IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p, 100, mw->rkey,
		  IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), EBUSY);
	REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

/* ---- refusals ------------------------------------------------------------ */

/* The bind fails, the queue is flushed, and the window is unchanged. */
static void bind_fails(struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr after = wr_send(2, NULL, 0);
	struct ibv_send_wr wr = wr_bind(1, mw, info);

	wr.next = &after;
	post(&b, &wr);
	wait_status(b.scq, 1, IBV_WC_MW_BIND_ERR);
	wait_status(b.scq, 2, IBV_WC_WR_FLUSH_ERR);
	end_wait_state(&b, IBV_QPS_ERR);
	reconnect();
	refused(IBV_WR_RDMA_WRITE, 0, 100, wr.bind_mw.rkey);
	reconnect();
}

static void what_cannot_be_bound(void)
{
	const int write = IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mw_bind_info info[16];
	uint64_t addr;
	struct ibv_mw *mw;
	struct buf other;
	int i, nr = 0, type;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	addr = (uintptr_t)mem_b.p;
	info[nr++] = bind_at(0, LEN + 1, write);
	info[nr++] = bind_at(LEN, 1, write);
	info[nr++] = bind_info(mem_b.mr, addr - 1, 2, write);
	info[nr++] = bind_info(mem_b.mr, addr, UINT64_MAX, write);
	info[nr++] = bind_info(mem_b.mr, UINT64_MAX, 2, write);
	/* of a region without IBV_ACCESS_MW_BIND */
	other = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	info[nr++] = bind_info(other.mr, (uintptr_t)other.p, LEN, write);
	/* of one without local write */
	other = buf_make(b.nic->pd, LEN, IBV_ACCESS_MW_BIND);
	info[nr++] = bind_info(other.mr, (uintptr_t)other.p, LEN, write);
	info[nr++] = bind_info(other.mr, (uintptr_t)other.p, LEN,
			       IBV_ACCESS_REMOTE_ATOMIC);
	/* of another PD's */
	other = buf_make(ibv_alloc_pd(b.nic->ctx), LEN,
			 ACCESS_ALL | IBV_ACCESS_MW_BIND);
	info[nr++] = bind_info(other.mr, (uintptr_t)other.p, LEN, write);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		for (i = 0; i < nr; i++) {
			mw = mw_make(type);
			bind_fails(mw, info[i]);
			bind_window(mw);
			write_ok(mw, 0, 100);
		}
	}
	bind_fails(mw_make(IBV_MW_TYPE_2), bind_at(0, 0, write));
	bind_fails(mw_make(IBV_MW_TYPE_1),
		   bind_at(0, LEN, write | IBV_ACCESS_ZERO_BASED));
}

static void open_window_of_type_2_is_not_moved(void)
{
	struct ibv_send_wr wr;
	struct end c, d;
	struct ibv_mw *mw;
	uint32_t key;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_make(&c, &d, &config_default);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_window(mw);
	key = mw->rkey;
	wr = wr_bind(1, mw, bind_at(0, 100, IBV_ACCESS_REMOTE_WRITE));
	post(&d, &wr);
	wait_status(d.scq, 1, IBV_WC_MW_BIND_ERR);
	/* The library stored the new key as it posted; the window still has the old one. */
	mw->rkey = key;
	write_ok(mw, 0, LEN);
}

/* Neither a region, nor a window of type 1, nor one of another QP. */
static void local_inv_of_what_is_not_its_own(void)
{
	struct ibv_send_wr wr;
	struct end c, d;
	struct ibv_mw *mw, *type1;
	uint32_t keys[4];
	int i;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_window(mw);
	type1 = mw_make(IBV_MW_TYPE_1);
	bind_window(type1);
	keys[0] = mem_b.mr->rkey;
	keys[1] = type1->rkey;
	keys[2] = mw->rkey;
	keys[3] = mw->rkey ^ 1;
	for (i = 0; i < 4; i++) {
		pair_make(&c, &d, &config_default);
		wr = wr_local_inv(1, keys[i]);
		post(&d, &wr);
		wait_status(d.scq, 1, IBV_WC_MW_BIND_ERR);
	}
	write_ok(mw, 0, LEN);
	write_ok(type1, 0, LEN);
}

static void peer_cannot_close_what_is_not_its_own(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge from, to;
	struct ibv_mw *mw, *type1;
	struct end c, d;
	uint32_t keys[3];
	int i;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_window(mw);
	type1 = mw_make(IBV_MW_TYPE_1);
	bind_window(type1);
	keys[0] = type1->rkey;
	keys[1] = mw->rkey;
	keys[2] = mw->rkey ^ 1;
	for (i = 0; i < 3; i++) {
		pair_make(&c, &d, &config_default);
		to = sge_of(&mem_b, 0, 100);
		post_recv(&d, 1, &to, 1);
		from = sge_of(&mem_a, 0, 100);
		wr = wr_send_inv(2, &from, keys[i]);
		post(&c, &wr);
		wait_status(c.scq, 2, IBV_WC_REM_ACCESS_ERR);
		REQUIRE(wait_wc(d.rcq).status != IBV_WC_SUCCESS);
	}
	write_ok(mw, 0, LEN);
	write_ok(type1, 0, LEN);
}

/*
 * The upper 24 bits belong to the device. Adapters use the low byte of the key
 * in a bind, and programs pass any number.
 */
static void low_byte_of_the_key_is_the_programs(void)
{
	const uint32_t keys[] = { 0x5a, 1024 + 7, 0xffffff11 };
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	uint32_t key;
	size_t i;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		mw = mw_make(IBV_MW_TYPE_2);
		wr = wr_bind(77, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE));
		wr.bind_mw.rkey = keys[i];
		key = (mw->rkey & ~0xffu) | (keys[i] & 0xff);
		post(&b, &wr);
		REQUIRE_EQ(mw->rkey, key);
		wait_ok(b.scq, 77, IBV_WC_BIND_MW);
		write_ok(mw, 0, 100);
		refused(IBV_WR_RDMA_WRITE, 0, 100, mw->rkey ^ 0x80);
		reconnect();
	}
}

/* A QP with builders, and a window of type 2. */
static struct ibv_qp_ex *set_up_builder(struct ibv_mw **mw)
{
	struct config config = config_default;

	config.ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	pair_make(&a, &b, &config);
	*mw = mw_make(IBV_MW_TYPE_2);
	return ibv_qp_to_qp_ex(b.qp);
}

/* The same by ibv_wr_bind_mw(), when its section is complete. */
static void builder_tells_the_new_key(void)
{
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	struct ibv_qp_ex *qx = set_up_builder(&mw);
	uint32_t key = (mw->rkey & ~0xffu) | 0xba;

	info = bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE);
	ibv_wr_start(qx);
	qx->wr_id = 1;
	qx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qx, mw, 0xba, &info);
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
	REQUIRE_EQ(mw->rkey, key);
	wait_ok(b.scq, 1, IBV_WC_BIND_MW);
	write_ok(mw, 0, 100);

	/* Two binds in one section: the last one counts. */
	ibv_wr_start(qx);
	qx->wr_id = 2;
	ibv_wr_local_inv(qx, key);
	qx->wr_id = 3;
	ibv_wr_bind_mw(qx, mw, 0xbb, &info);
	qx->wr_id = 4;
	ibv_wr_local_inv(qx, key + 1);
	qx->wr_id = 5;
	ibv_wr_bind_mw(qx, mw, 0xbc, &info);
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
	REQUIRE_EQ(mw->rkey, key + 2);
	wait_ok(b.scq, 2, IBV_WC_LOCAL_INV);
	wait_ok(b.scq, 3, IBV_WC_BIND_MW);
	wait_ok(b.scq, 4, IBV_WC_LOCAL_INV);
	wait_ok(b.scq, 5, IBV_WC_BIND_MW);
	write_ok(mw, 0, 100);
	refused(IBV_WR_RDMA_WRITE, 0, 100, key);
}

/* Nothing was posted, so the window that is open stays open by its key. */
static void builder_keeps_the_key_of_an_aborted_bind(void)
{
	struct ibv_sge too_many[64] = {};
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	struct ibv_qp_ex *qx = set_up_builder(&mw);
	uint32_t key = bind_window(mw);

	REQUIRE_EQ(mw->rkey, key);
	info = bind_at(0, 100, IBV_ACCESS_REMOTE_READ);
	ibv_wr_start(qx);
	ibv_wr_bind_mw(qx, mw, key + 1, &info);
	ibv_wr_abort(qx);
	REQUIRE_EQ(mw->rkey, key);

	ibv_wr_start(qx);
	ibv_wr_bind_mw(qx, mw, key + 1, &info);
	ibv_wr_set_sge_list(qx, 64, too_many);
	REQUIRE_EQ(ibv_wr_complete(qx), EINVAL);
	REQUIRE_EQ(mw->rkey, key);
	write_ok(mw, 0, LEN);
}

/* Adapters read the rights of peers only. */
static void other_flags_of_a_bind_are_ignored(void)
{
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	bind_on(&b, mw, bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_MW_BIND |
				IBV_ACCESS_RELAXED_ORDERING | 1 << 19));
	write_ok(mw, 0, 100);
	refused(IBV_WR_RDMA_READ, 0, 100, mw->rkey);
}

static void wrong_calls_are_refused_at_once(void)
{
	struct ibv_mw_bind bind = {};
	struct ibv_send_wr wr, *bad;
	struct ibv_mw *mw;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	REQUIRE_ERRNO(ibv_alloc_mw(b.nic->pd, 3), EINVAL);
	mw = mw_make(IBV_MW_TYPE_2);
	bind.bind_info = bind_at(0, LEN, IBV_ACCESS_REMOTE_WRITE);
	REQUIRE(ibv_bind_mw(b.qp, mw, &bind));
	wr = wr_bind(1, mw, bind_info(NULL, 0, LEN, 0));
	REQUIRE_EQ(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	REQUIRE(bad == &wr);
	require_no_wc(b.scq);
	bind_window(mw);
	write_ok(mw, 0, 100);
}

static void device_tells_of_windows(void)
{
	struct nic *nic = nic_a();

	REQUIRE(nic->attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	REQUIRE(nic->attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	REQUIRE(!(nic->attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A));
	REQUIRE(nic->attr.max_mw > 0);
}

/* ---- SEND with invalidate ------------------------------------------------ */

static void peer_invalidates_a_window(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;

	set_up(ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = mw_make(IBV_MW_TYPE_2);
	rkey = bind_window(mw);

	/* The window is open: data passes through it. */
	from = sge_of(&mem_a, 0, 5000);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p, rkey);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p, 5000, 1);

	/* A message of several packets closes it, and arrives completely. */
	to = sge_of(&mem_b, 8000, 5000);
	post_recv(&b, 2, &to, 1);
	wr = wr_send_inv(3, &from, rkey);
	post(&a, &wr);
	wc = wait_ok(b.rcq, 2, IBV_WC_RECV);
	/* rxe reports it with the kernel's bit, 1 << 2 */
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

/* A peer cannot invalidate a region: the request is refused, and the region stays. */
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
	TEST(device_tells_of_windows),
	TEST(type1_opens_for_its_range_only),
	TEST(type2_opens_for_its_range_only),
	TEST(rights_are_those_of_the_window),
	TEST(atomic_through_a_window),
	TEST(zero_based_window_counts_from_its_start),
	TEST(rkey_of_a_window_is_no_lkey),
	TEST(type1_is_for_every_qp_of_its_pd),
	TEST(type2_is_for_the_qp_that_has_bound_it),
	TEST(other_pd_has_nothing_of_a_window),
	TEST(type1_is_moved_and_closed_by_binding),
	TEST(type2_is_closed_by_local_inv),
	TEST(inline_means_nothing_without_data),
	TEST(dealloc_closes),
	TEST(bind_is_in_order_with_what_follows),
	TEST(region_under_a_window_cannot_go),
	TEST(windows_of_a_qp_that_is_gone),
	TEST(what_cannot_be_bound),
	TEST(open_window_of_type_2_is_not_moved),
	TEST(local_inv_of_what_is_not_its_own),
	TEST(peer_cannot_close_what_is_not_its_own),
	TEST(low_byte_of_the_key_is_the_programs),
	TEST(builder_tells_the_new_key),
	TEST(builder_keeps_the_key_of_an_aborted_bind),
	TEST(other_flags_of_a_bind_are_ignored),
	TEST(wrong_calls_are_refused_at_once),
	TEST(peer_invalidates_a_window),
	TEST(peer_cannot_invalidate_a_region),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
