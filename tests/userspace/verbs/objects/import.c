// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Import of a context and its objects, and attributes of a device or QP. */
#include "util.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN	(64 * KIB)

static struct ibv_context *import_context(const struct ibv_context *ctx)
{
	struct ibv_context *imported;
	int fd = dup(ctx->cmd_fd);

	REQUIRE(fd >= 0);
	imported = ibv_import_device(fd);
	REQUIRE(imported);
	return imported;
}

/* Opens the device of @nic again, as an imported context with an imported domain. */
static struct nic import_nic(const struct nic *nic)
{
	struct nic imported = *nic;

	imported.ctx = import_context(nic->ctx);
	imported.pd = ibv_import_pd(imported.ctx, nic->pd->handle);
	REQUIRE(imported.pd);
	return imported;
}

/* Writes the first half of @mem to the second half, between two QPs of @nic. */
static void write_within(struct nic *nic, const struct buf *mem, uint64_t seed)
{
	struct end a = end_make(nic, &config_default);
	struct end b = end_make(nic, &config_default);
	struct ibv_sge from = sge_of(mem, 0, LEN / 2);
	struct ibv_send_wr wr;

	pair_connect(&a, &b);
	fill(mem->p, LEN / 2, seed);
	wr = wr_rdma(seed, IBV_WR_RDMA_WRITE, &from, 1,
		     (uintptr_t)mem->p + LEN / 2, mem->mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, seed, IBV_WC_RDMA_WRITE);
	end_destroy(&a);
	end_destroy(&b);
}

static void import_all(void)
{
	struct nic *nic = nic_a(), imported;
	struct buf mem = buf_make(nic->pd, LEN, ACCESS_ALL), mem_i = mem;
	struct ibv_device_attr attr;

	imported = import_nic(nic);
	REQUIRE_EQ(ibv_query_device(imported.ctx, &attr), 0);
	REQUIRE_EQ(memcmp(&attr, &nic->attr, sizeof(attr)), 0);
	mem_i.mr = ibv_import_mr(imported.pd, mem.mr->handle);
	REQUIRE(mem_i.mr);
	REQUIRE_EQ(mem_i.mr->lkey, mem.mr->lkey);
	REQUIRE_EQ(mem_i.mr->rkey, mem.mr->rkey);
	REQUIRE_EQ(mem_i.mr->length, mem.mr->length);
	write_within(&imported, &mem_i, 5);
	check_fill(mem.p + LEN / 2, LEN / 2, 5);

	/* The imported objects go; the originals stay. */
	ibv_unimport_mr(mem_i.mr);
	ibv_unimport_pd(imported.pd);
	REQUIRE_EQ(ibv_close_device(imported.ctx), 0);
	write_within(nic, &mem, 6);
	check_fill(mem.p + LEN / 2, LEN / 2, 6);
	REQUIRE_EQ(ibv_dereg_mr(mem.mr), 0);
}

/* Another process uses the region of this one, in its domain. */
static void import_in_another_process(void)
{
	struct nic *nic = nic_a(), imported;
	struct buf mem = { .len = LEN };
	int status;
	pid_t pid;

	mem.p = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(mem.p != MAP_FAILED);
	mem.mr = ibv_reg_mr(nic->pd, mem.p, LEN, ACCESS_ALL);
	REQUIRE(mem.mr);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		imported = import_nic(nic);
		mem.mr = ibv_import_mr(imported.pd, mem.mr->handle);
		REQUIRE(mem.mr);
		write_within(&imported, &mem, 7);
		_exit(EXIT_SUCCESS);
	}
	REQUIRE_EQ(waitpid(pid, &status, 0), pid);
	REQUIRE(WIFEXITED(status));
	REQUIRE_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
	check_fill(mem.p + LEN / 2, LEN / 2, 7);
	write_within(nic, &mem, 8);
	check_fill(mem.p + LEN / 2, LEN / 2, 8);
}

static void import_of_nothing(void)
{
	struct nic *nic = nic_a();
	struct ibv_context *ctx = import_context(nic->ctx);
	struct ibv_cq *cq = ibv_create_cq(nic->ctx, 4, NULL, NULL, 0);

	REQUIRE(cq);
	REQUIRE_ERRNO(ibv_import_pd(ctx, 0x7fffffff), ENOENT);
	/* a handle of another kind of object */
	REQUIRE(cq->handle != nic->pd->handle);
	REQUIRE(!ibv_import_pd(ctx, cq->handle));
	REQUIRE_ERRNO(ibv_import_mr(nic->pd, 0x7fffffff), ENOENT);
	REQUIRE(!ibv_import_device(STDIN_FILENO));
}

/* Within a message, data may become visible in any order. */
static void no_order_within_data(void)
{
	struct end a = end_make(nic_a(), &config_default);

	REQUIRE_EQ(ibv_query_qp_data_in_order(a.qp, IBV_WR_RDMA_WRITE, 0), 0);
#ifdef HAVE_IN_ORDER_CAPS
	REQUIRE_EQ(ibv_query_qp_data_in_order(a.qp, IBV_WR_SEND,
			IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS), 0);
#endif
}

/* The ECE options say that both ends are softhca. */
static void connection_options(void)
{
	struct end a = end_make(nic_a(), &config_default);
	struct ibv_ece ece = { .vendor_id = 5, .options = 5, .comp_mask = 5 };
	uint32_t offer;

	REQUIRE_EQ(ibv_query_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.vendor_id, 0xffffff);
	REQUIRE_EQ(ece.options, 0x53480003);
	REQUIRE_EQ(ece.comp_mask, 0);
	offer = ece.options;
	/* options of a later release with one more: the answer drops it */
	ece.options = offer | 1 << 15;
	REQUIRE_EQ(ibv_set_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.options, offer);
	REQUIRE_EQ(ibv_query_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.options, offer);
	/* another vendor's options: none is accepted */
	ece.vendor_id = 0x15b3;
	REQUIRE_EQ(ibv_set_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.vendor_id, 0x15b3);
	REQUIRE_EQ(ece.options, 0);
	REQUIRE_EQ(ibv_query_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.vendor_id, 0xffffff);
	REQUIRE_EQ(ece.options, 0);
	/* nor options without the vendor */
	ece.options = 1;
	REQUIRE_EQ(ibv_set_ece(a.qp, &ece), 0);
	REQUIRE_EQ(ece.options, 0);
	REQUIRE_EQ(ibv_set_ece(a.qp, &ece), 0);
	ece.comp_mask = 1;
	REQUIRE_EQ(ibv_set_ece(a.qp, &ece), EINVAL);
}

/* Both queries agree, and advertise nothing that is missing. */
static void device_attributes(void)
{
	struct nic *nic = nic_a();
	struct ibv_device_attr_ex ex;

	memset(&ex, 0xff, sizeof(ex));
	REQUIRE_EQ(ibv_query_device_ex(nic->ctx, NULL, &ex), 0);
	REQUIRE_EQ(memcmp(&ex.orig_attr, &nic->attr, sizeof(nic->attr)), 0);
	REQUIRE_EQ(ex.phys_port_cnt_ex, 1);
	REQUIRE_EQ(ex.hca_core_clock, 1000000);
	REQUIRE_EQ(ex.completion_timestamp_mask, -1ll);
	REQUIRE_EQ(ex.device_cap_flags_ex & 0xffffffff,
		   nic->attr.device_cap_flags);
	REQUIRE_EQ(ex.tso_caps.max_tso, 0);
	REQUIRE_EQ(ex.tm_caps.flags, IBV_TM_CAP_RC);
	REQUIRE_EQ(ex.pci_atomic_caps.fetch_add, 0);
	REQUIRE_EQ(ex.pci_atomic_caps.compare_swap, 0);
	REQUIRE_EQ(ex.orig_attr.max_ee, 0);
	REQUIRE_EQ(ex.orig_attr.max_rdd, 0);
	REQUIRE_EQ(ex.orig_attr.max_raw_ipv6_qp, 0);
	REQUIRE_EQ(ex.orig_attr.max_fmr, 0);
	REQUIRE(!(ex.orig_attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG));
	REQUIRE_EQ(ex.orig_attr.atomic_cap, IBV_ATOMIC_GLOB);
	REQUIRE_EQ(ex.orig_attr.max_res_rd_atom,
		   ex.orig_attr.max_qp_rd_atom * ex.orig_attr.max_qp);
	REQUIRE(ex.orig_attr.node_guid);
	REQUIRE(ex.orig_attr.fw_ver[0]);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(import_all),
	TEST(import_in_another_process),
	TEST(import_of_nothing),
	TEST(no_order_within_data),
	TEST(connection_options),
	TEST(device_attributes),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
