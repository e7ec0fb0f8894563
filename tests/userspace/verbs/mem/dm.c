// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device memory: copies to and from it, regions under each operation, bounds,
 * refusals. Also the end of its region, use by another process, and removal of
 * the device.
 */
#include "util.h"

#include <sys/wait.h>
#include <unistd.h>

#define LEN	(64 * KIB)
#define ALL	(ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED)

/* Bits of device_cap_flags_ex that no user header names. */
#define CAP_FLUSH_GLOBAL	(1ull << 38)

static struct end a, b;
static struct buf mem;
static struct ibv_dm *dm;
static struct ibv_mr *mr;

static struct ibv_dm *alloc_dm(struct ibv_context *ctx, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(ctx, &attr);
}

static struct ibv_device_attr_ex query(void)
{
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_b()->ctx, NULL, &attr), 0);
	return attr;
}

/* Allocates device memory and a region of it at b, and ordinary memory at a. */
static void set_up_with(const struct config *config, int access)
{
	b = end_make(nic_b(), config);
	a = end_make(nic_a(), config);
	pair_connect(&a, &b);
	mem = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	fill(mem.p, LEN, 1);
	dm = alloc_dm(b.nic->ctx, LEN);
	REQUIRE(dm);
	mr = ibv_reg_dm_mr(b.nic->pd, dm, 0, LEN, access);
	REQUIRE(mr);
}

static void set_up(int access)
{
	struct config config = config_default;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	set_up_with(&config, access);
}

static void rdma(enum ibv_wr_opcode opcode, uint64_t addr, size_t len,
		 uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem, 0, len);
	struct ibv_send_wr wr = wr_rdma(5, opcode, &sge, 1, addr, rkey);

	post(&a, &wr);
	wait_status(a.scq, 5, status);
	if (status != IBV_WC_SUCCESS)
		pair_reconnect(&a, &b);
}

static void atomic(enum ibv_wr_opcode opcode, uint64_t addr, uint32_t rkey,
		   uint64_t compare_add, uint64_t swap,
		   enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem, 0, 8);
	struct ibv_send_wr wr = wr_rdma(6, opcode, &sge, 1, 0, 0);

	wr.wr.atomic.remote_addr = addr;
	wr.wr.atomic.rkey = rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	post(&a, &wr);
	wait_status(a.scq, 6, status);
	if (status != IBV_WC_SUCCESS)
		pair_reconnect(&a, &b);
}

/* Reads [@off, @off + @len) of the device memory; both are multiples of four. */
static uint8_t *content(uint64_t off, size_t len)
{
	static uint8_t copy[LEN];

	REQUIRE_EQ(ibv_memcpy_from_dm(copy, dm, off, len), 0);
	return copy;
}

static void clear(void)
{
	static const uint8_t zeros[LEN];

	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 0, zeros, LEN), 0);
}

/* ---- without a region ---------------------------------------------------- */

static void copies_in_and_out(void)
{
	uint8_t data[8192], back[8192];

	dm = alloc_dm(nic_b()->ctx, 10000);
	REQUIRE(dm);
	/* no data of the previous owner */
	check_bytes(content(0, 10000), 10000, 0);
	fill(data, sizeof(data), 3);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 1808, data, sizeof(data)), 0);
	memset(back, 0xff, sizeof(back));
	REQUIRE_EQ(ibv_memcpy_from_dm(back, dm, 1808, sizeof(back)), 0);
	REQUIRE(!memcmp(data, back, sizeof(data)));
	check_bytes(content(0, 1808), 1808, 0);
	REQUIRE_EQ(ibv_memcpy_from_dm(back, dm, 10000, 0), 0);
	/* beyond its length, although within its last page */
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 1812, data, sizeof(data)), EFAULT);
	REQUIRE_EQ(ibv_memcpy_from_dm(back, dm, 1812, sizeof(back)), EFAULT);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 10000, data, 4), EFAULT);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, UINT64_MAX - 3, data, 8), EFAULT);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 0, data, SIZE_MAX - 3), EFAULT);
	/* only whole words, as with adapters */
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 2, data, 4), EINVAL);
	REQUIRE_EQ(ibv_memcpy_from_dm(back, dm, 4, 6), EINVAL);
	REQUIRE_EQ(ibv_free_dm(dm), 0);
}

static void wrong_allocations_are_refused(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 13 };
	struct ibv_context *ctx = nic_b()->ctx;
	uint64_t max = query().max_dm_size;

	REQUIRE_ERRNO(ibv_alloc_dm(ctx, &attr), EINVAL);
	attr.log_align_req = UINT32_MAX;
	REQUIRE_ERRNO(ibv_alloc_dm(ctx, &attr), EINVAL);
	attr.log_align_req = 12;
	dm = ibv_alloc_dm(ctx, &attr);
	REQUIRE(dm);
	REQUIRE_EQ(ibv_free_dm(dm), 0);
	attr.comp_mask = 1;
	REQUIRE_ERRNO(ibv_alloc_dm(ctx, &attr), EINVAL);
	REQUIRE_ERRNO(alloc_dm(ctx, 0), EINVAL);
	REQUIRE_ERRNO(alloc_dm(ctx, max + 1), ENOMEM);
	REQUIRE_ERRNO(alloc_dm(ctx, SIZE_MAX), ENOMEM);
	dm = alloc_dm(ctx, max);
	REQUIRE(dm);
	REQUIRE_EQ(ibv_free_dm(dm), 0);
}

/* ---- regions ------------------------------------------------------------- */

static void wrong_regions_are_refused(void)
{
	struct ibv_pd *pd;

	set_up(ALL);
	pd = b.nic->pd;
	/* addresses always begin with zero */
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN, ACCESS_ALL), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN + 1, ALL), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 1, LEN, ALL), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, LEN + 1, 0, ALL), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, UINT64_MAX, 2, ALL), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN, IBV_ACCESS_ZERO_BASED |
				    IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN, ALL | 1 << 19), EINVAL);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN, ALL |
				    IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	REQUIRE_ERRNO(ibv_reg_dm_mr(pd, dm, 0, LEN, ALL | IBV_ACCESS_HUGETLB),
		      EOPNOTSUPP);
	mr = ibv_reg_dm_mr(pd, dm, 0, LEN, ALL | IBV_ACCESS_RELAXED_ORDERING);
	REQUIRE(mr);
	/* Such a region cannot be changed. */
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_CMD);
	REQUIRE_EQ(errno, EINVAL);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(content(0, LEN), LEN, 1);
}

static void written_and_read(void)
{
	set_up(ALL);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(content(0, LEN), LEN, 1);
	clear();
	rdma(IBV_WR_RDMA_WRITE, 4095, 5001, mr->rkey, IBV_WC_SUCCESS);
	check_bytes(content(0, 4092), 4092, 0);
	check_fill(content(4092, 8192) + 3, 5001, 1);
	check_bytes(content(9096, LEN - 9096), LEN - 9096, 0);

	fill(mem.p, LEN, 2);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 0, mem.p, LEN), 0);
	memset(mem.p, 0, LEN);
	rdma(IBV_WR_RDMA_READ, 0, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(mem.p, LEN, 2);
}

static void sent_from_and_received_into(void)
{
	struct ibv_sge in_dm = { .length = LEN };
	struct ibv_sge in_mem;
	struct ibv_send_wr wr;

	set_up(ALL);
	in_dm.lkey = mr->lkey;
	in_mem = sge_of(&mem, 0, LEN);
	post_recv(&b, 1, &in_dm, 1);
	wr = wr_send(2, &in_mem, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	check_fill(content(0, LEN), LEN, 1);

	memset(mem.p, 0, LEN);
	in_mem = sge_of(&mem, 0, 20000);
	in_dm = (struct ibv_sge){ .addr = 333, .length = 20000,
				  .lkey = mr->lkey };
	post_recv(&a, 3, &in_mem, 1);
	wr = wr_send(4, &in_dm, 1);
	post(&b, &wr);
	wait_ok(a.rcq, 3, IBV_WC_RECV);
	wait_ok(b.scq, 4, IBV_WC_SEND);
	REQUIRE(!memcmp(mem.p, content(0, LEN) + 333, 20000));
}

/* For a region in the middle of the device memory. */
static void bounds_are_those_of_the_region(void)
{
	struct ibv_sge sge = { .length = 101 };
	struct ibv_send_wr wr;
	struct ibv_mr *part;

	set_up(ALL);
	part = ibv_reg_dm_mr(b.nic->pd, dm, 5000, 9000, ALL);
	REQUIRE(part);
	REQUIRE_EQ(part->length, 9000);
	rdma(IBV_WR_RDMA_WRITE, 0, 9000, part->rkey, IBV_WC_SUCCESS);
	check_bytes(content(0, 5000), 5000, 0);
	check_fill(content(5000, 9000), 9000, 1);
	check_bytes(content(14000, LEN - 14000), LEN - 14000, 0);
	clear();
	rdma(IBV_WR_RDMA_WRITE, 1, 9000, part->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_WRITE, 9000, 1, part->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_WRITE, -1, 2, part->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, 8999, 2, part->rkey, IBV_WC_REM_ACCESS_ERR);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 9000, part->rkey, 1, 0,
	       IBV_WC_REM_ACCESS_ERR);
	check_bytes(content(0, LEN), LEN, 0);
	sge.lkey = part->lkey;
	sge.addr = 8900;
	wr = wr_send(7, &sge, 1);
	post(&b, &wr);
	wait_status(b.scq, 7, IBV_WC_LOC_PROT_ERR);
	/* a stale key */
	pair_reconnect(&a, &b);
	REQUIRE_EQ(ibv_dereg_mr(part), 0);
	rdma(IBV_WR_RDMA_WRITE, 0, 4, sge.lkey, IBV_WC_REM_ACCESS_ERR);
}

static void rights_are_those_of_the_region(void)
{
	struct ibv_sge sge = { .length = 100 }, from;
	struct ibv_send_wr wr;
	struct ibv_pd *pd;
	struct ibv_mr *other;

	set_up(IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ);
	rdma(IBV_WR_RDMA_READ, 0, 100, mr->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, 0, 100, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, mr->rkey, 1, 0,
	       IBV_WC_REM_ACCESS_ERR);
	sge.lkey = mr->lkey;
	from = sge_of(&mem, 0, 100);
	post_recv(&b, 1, &sge, 1);
	wr = wr_send(2, &from, 1);
	post(&a, &wr);
	wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
	wait_status(a.scq, 2, IBV_WC_REM_OP_ERR);
	pair_reconnect(&a, &b);
	check_bytes(content(0, LEN), LEN, 0);
	pd = ibv_alloc_pd(b.nic->ctx);
	REQUIRE(pd);
	other = ibv_reg_dm_mr(pd, dm, 0, LEN, ALL);
	REQUIRE(other);
	rdma(IBV_WR_RDMA_WRITE, 0, 100, other->rkey, IBV_WC_REM_ACCESS_ERR);
}

static void atomics_on_it(void)
{
	uint64_t word = 40, got;
	struct ibv_mr *odd;

	set_up(ALL);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 4096, &word, 8), 0);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 4096, mr->rkey, 2, 0,
	       IBV_WC_SUCCESS);
	memcpy(&got, mem.p, 8);
	REQUIRE_EQ(got, 40);
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 4096, mr->rkey, 42, 77,
	       IBV_WC_SUCCESS);
	memcpy(&got, mem.p, 8);
	REQUIRE_EQ(got, 42);
	memcpy(&got, content(4096, 8), 8);
	REQUIRE_EQ(got, 77);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 4100, mr->rkey, 1, 0,
	       IBV_WC_REM_INV_REQ_ERR);
	/* Aligned for the requester, but not in memory: in two words, or two pages. */
	odd = ibv_reg_dm_mr(b.nic->pd, dm, 4092, LEN - 4092, ALL);
	REQUIRE(odd);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, odd->rkey, 1, 0,
	       IBV_WC_REM_ACCESS_ERR);
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 8, odd->rkey, 0, 1,
	       IBV_WC_REM_ACCESS_ERR);
	memcpy(&got, content(4096, 8), 8);
	REQUIRE_EQ(got, 77);
}

/* READ data and results of atomics can go to device memory. */
static void results_into_it(void)
{
	struct ibv_sge sge = { .addr = 4000, .length = 5000 };
	struct ibv_mr *target;
	struct ibv_send_wr wr;
	uint64_t got;

	set_up(ALL);
	target = ibv_reg_mr(a.nic->pd, mem.p, LEN, ACCESS_ALL |
			    IBV_ACCESS_REMOTE_ATOMIC);
	REQUIRE(target);
	sge.lkey = mr->lkey;
	wr = wr_rdma(1, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)mem.p,
		     target->rkey);
	post(&b, &wr);
	wait_ok(b.scq, 1, IBV_WC_RDMA_READ);
	check_fill(content(4000, 5000), 5000, 1);
	memset(mem.p, 0x11, 8);
	sge.addr = 12;
	sge.length = 8;
	wr = wr_rdma(2, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, 0, 0);
	wr.wr.atomic.remote_addr = (uintptr_t)mem.p;
	wr.wr.atomic.rkey = target->rkey;
	wr.wr.atomic.compare_add = 1;
	post(&b, &wr);
	wait_ok(b.scq, 2, IBV_WC_FETCH_ADD);
	memcpy(&got, content(12, 8), 8);
	REQUIRE_EQ(got, 0x1111111111111111ll);
}

static void flushed(void)
{
#ifdef HAVE_FLUSH
	struct config config = config_default;
	struct ibv_qp_ex *qx;

	if (!(query().device_cap_flags_ex & CAP_FLUSH_GLOBAL))
		test_skip("the RDMA core of this kernel has no FLUSH");
	config.qp_access |= IBV_ACCESS_FLUSH_GLOBAL;
	config.ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH;
	set_up_with(&config, ALL | IBV_ACCESS_FLUSH_GLOBAL);
	qx = ibv_qp_to_qp_ex(a.qp);
	qx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(qx);
	qx->wr_id = 1;
	ibv_wr_rdma_write(qx, mr->rkey, 0);
	ibv_wr_set_sge(qx, mem.mr->lkey, (uintptr_t)mem.p, LEN);
	qx->wr_id = 2;
	ibv_wr_flush(qx, mr->rkey, 0, LEN, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	wait_ok(a.scq, 2, IBV_WC_FLUSH);
	check_fill(content(0, LEN), LEN, 1);
	ibv_wr_start(qx);
	qx->wr_id = 3;
	ibv_wr_flush(qx, mr->rkey, 1, LEN, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
	wait_status(a.scq, 3, IBV_WC_REM_ACCESS_ERR);
#else
	test_skip("this libibverbs has no FLUSH");
#endif
}

/* A region of length 0 is valid, but grants access to nothing. */
static void region_of_no_length(void)
{
	struct ibv_mr *none;

	set_up(ALL);
	none = ibv_reg_dm_mr(b.nic->pd, dm, LEN, 0, ALL);
	REQUIRE(none);
	rdma(IBV_WR_RDMA_WRITE, 0, 0, none->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, 0, 1, none->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, 0, 1, none->rkey, IBV_WC_REM_ACCESS_ERR);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, none->rkey, 1, 0,
	       IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_dereg_mr(none), 0);
}

static void window_onto_it(void)
{
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = {
		.wr_id = 9,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .addr = 4096, .length = 4096,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	set_up(ALL | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(b.nic->pd, IBV_MW_TYPE_1);
	REQUIRE(mw);
	bind.bind_info.mr = mr;
	REQUIRE_EQ(ibv_bind_mw(b.qp, mw, &bind), 0);
	wait_ok(b.scq, 9, IBV_WC_BIND_MW);
	rdma(IBV_WR_RDMA_WRITE, 4096, 4096, mw->rkey, IBV_WC_SUCCESS);
	check_bytes(content(0, 4096), 4096, 0);
	check_fill(content(4096, 4096), 4096, 1);
	check_bytes(content(8192, LEN - 8192), LEN - 8192, 0);
	rdma(IBV_WR_RDMA_WRITE, 4097, 4096, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_dereg_mr(mr), EBUSY);
	REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

/* ---- lifetimes ------------------------------------------------------------- */

static void stays_while_it_has_regions(void)
{
	struct ibv_mr *more;

	set_up(ALL);
	more = ibv_reg_dm_mr(b.nic->pd, dm, 0, 4, ALL);
	REQUIRE(more);
	REQUIRE_EQ(ibv_free_dm(dm), EBUSY);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(content(0, LEN), LEN, 1);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	REQUIRE_EQ(ibv_free_dm(dm), EBUSY);
	REQUIRE_EQ(ibv_dereg_mr(more), 0);
	REQUIRE_EQ(ibv_free_dm(dm), 0);
	/* Its size no longer counts against the limit. */
	dm = alloc_dm(b.nic->ctx, query().max_dm_size);
	REQUIRE(dm);
}

static void child_imports(int fd)
{
	struct ibv_context *ctx = ibv_import_device(fd);
	struct ibv_dm *imported;
	uint32_t word = 5;

	REQUIRE(ctx);
	REQUIRE_ERRNO(ibv_import_dm(ctx, 0x7fffffff), ENOENT);
	/* a handle of another kind of object */
	REQUIRE(b.nic->pd->handle != dm->handle);
	REQUIRE(!ibv_import_dm(ctx, b.nic->pd->handle));
	imported = ibv_import_dm(ctx, dm->handle);
	REQUIRE(imported);
	REQUIRE_EQ(imported->handle, dm->handle);
	REQUIRE(imported->context == ctx);
	REQUIRE_EQ(ibv_memcpy_from_dm(&word, imported, 100, 4), 0);
	REQUIRE_EQ(word, 0x12345678);
	word = 0x87654321;
	REQUIRE_EQ(ibv_memcpy_to_dm(imported, 104, &word, 4), 0);
	REQUIRE_EQ(ibv_memcpy_to_dm(imported, LEN, &word, 4), EFAULT);
	ibv_unimport_dm(imported);
	REQUIRE_EQ(ibv_close_device(ctx), 0);
}

static void import_in_another_process(void)
{
	uint32_t word = 0x12345678;
	int fd, status;
	pid_t pid;

	set_up(ALL);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 100, &word, 4), 0);
	fd = dup(b.nic->ctx->cmd_fd);
	REQUIRE(fd >= 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		child_imports(fd);
		_exit(EXIT_SUCCESS);
	}
	REQUIRE_EQ(waitpid(pid, &status, 0), pid);
	REQUIRE(WIFEXITED(status));
	REQUIRE_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
	/* The imported object is gone; the memory is not. */
	memcpy(&word, content(104, 4), 4);
	REQUIRE_EQ(word, 0x87654321);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(content(0, LEN), LEN, 1);
}

/*
 * The device is removed (mem/device-memory.sh) while a peer writes to the
 * memory. Copies still work, although nobody else sees the memory.
 */
static void outlives_the_device(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint64_t n = 0;
	int err;

	set_up(ALL);
	sge = sge_of(&mem, 0, LEN);
	do {
		wr = wr_rdma(5, IBV_WR_RDMA_WRITE, &sge, 1, 0, mr->rkey);
		/* The call itself fails after the removal. */
		if (ibv_post_send(a.qp, &wr, &(struct ibv_send_wr *){ NULL }))
			break;
		wc = wait_wc(a.scq);
		if (!n++)
			printf("traffic\n");
	} while (wc.status == IBV_WC_SUCCESS);
	wait_removal(b.nic->ctx);
	printf("# %llu writes\n", (unsigned long long)n);
	clear();
	check_bytes(content(0, LEN), LEN, 0);
	REQUIRE_EQ(ibv_memcpy_to_dm(dm, 0, mem.p, LEN), 0);
	check_fill(content(0, LEN), LEN, 1);
	err = ibv_free_dm(dm);
	REQUIRE(!err || err == EIO);
	REQUIRE_ERRNO(alloc_dm(b.nic->ctx, 64), EIO);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(copies_in_and_out),
	TEST(wrong_allocations_are_refused),
	TEST(wrong_regions_are_refused),
	TEST(written_and_read),
	TEST(sent_from_and_received_into),
	TEST(bounds_are_those_of_the_region),
	TEST(rights_are_those_of_the_region),
	TEST(atomics_on_it),
	TEST(results_into_it),
	TEST(flushed),
	TEST(region_of_no_length),
	TEST(window_onto_it),
	TEST(stays_while_it_has_regions),
	TEST(import_in_another_process),
	TEST(outlives_the_device),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
