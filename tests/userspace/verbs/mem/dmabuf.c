// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions made of dma-bufs. EXPORTER selects the exporter: udmabuf
 * (pages of a memfd), heap (the system heap), or module
 * (tests/kernel/exporter.c). The module also exports dma-bufs that must be
 * refused.
 */
#define _GNU_SOURCE	/* memfd_create() */
#include "util.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096ull
#define LEN	(64 * KIB)
#define HUGE	(2 * MIB)
#define ALL	(ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC)
/* Address for requests; its offset in a page is that in the dma-buf. */
#define IOVA	0x700000000000ull

/* Commands of tests/kernel/exporter.c */
enum { KIND_PLAIN = 0x5300, KIND_NO_VMAP, KIND_IOMEM, KIND_NO_ACCESS };

/* A dma-buf and its mapping; @fd is its file. */
struct dmabuf {
	int fd;
	uint8_t *p;
	size_t len;
};

static struct end a, b;
static struct buf mem;
static struct dmabuf buf;
static struct ibv_mr *mr;

/* ---- exporters ----------------------------------------------------------- */

static bool exporter_is(const char *name)
{
	const char *exporter = getenv("EXPORTER");

	return !strcmp(exporter ? exporter : "udmabuf", name);
}

static int open_exporter(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		test_skip("the kernel has no %s", path);
	REQUIRE(fd >= 0);
	return fd;
}

/* Exports @len bytes from @off on of a memfd with @flags. */
static int export_udmabuf(size_t off, size_t len, unsigned int flags)
{
	int fd, dev = open_exporter("/dev/udmabuf");
	int memfd = memfd_create("dmabuf", MFD_ALLOW_SEALING | flags);
	struct udmabuf_create create = { .offset = off, .size = len };

	REQUIRE(memfd >= 0);
	REQUIRE_EQ(ftruncate(memfd, flags ? HUGE : len), 0);
	REQUIRE_EQ(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = memfd;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(memfd);
	close(dev);
	return fd;
}

/* @mode: O_RDWR and the like */
static int export_heap(size_t len, int mode)
{
	struct dma_heap_allocation_data data = {
		.len = len,
		.fd_flags = mode | O_CLOEXEC,
	};
	int dev = open_exporter("/dev/dma_heap/system");

	REQUIRE_EQ(ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &data), 0);
	close(dev);
	return data.fd;
}

static int export_module(size_t len, int kind)
{
	int fd, dev = open_exporter("/dev/softhca_exporter");

	fd = ioctl(dev, kind, len / PAGE);
	close(dev);
	return fd;
}

static struct dmabuf map(int fd, size_t len)
{
	struct dmabuf made = { .fd = fd, .len = len };

	REQUIRE(fd >= 0);
	made.p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(made.p != MAP_FAILED);
	return made;
}

static struct dmabuf make(size_t len)
{
	if (exporter_is("heap"))
		return map(export_heap(len, O_RDWR), len);
	if (exporter_is("module"))
		return map(export_module(len, KIND_PLAIN), len);
	return map(export_udmabuf(0, len, 0), len);
}

/* ---- requests ------------------------------------------------------------ */

static struct ibv_mr *reg(uint64_t offset, size_t len, int access)
{
	return ibv_reg_dmabuf_mr(b.nic->pd, offset, len, IOVA + offset, buf.fd,
				 access);
}

/* Registers a whole dma-buf at b; a gets ordinary memory of the same size. */
static void set_up(int access)
{
	struct config config = config_default;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	pair_make(&a, &b, &config);
	mem = buf_make(a.nic->pd, LEN, ALL);
	fill(mem.p, LEN, 1);
	buf = make(LEN);
	mr = reg(0, LEN, access);
	REQUIRE(mr);
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

static void fetch_add(uint64_t addr, enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem, 0, 8);
	struct ibv_send_wr wr = wr_rdma(6, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge,
					1, 0, 0);

	wr.wr.atomic.remote_addr = addr;
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 2;
	post(&a, &wr);
	wait_status(a.scq, 6, status);
	if (status != IBV_WC_SUCCESS)
		pair_reconnect(&a, &b);
}

/* ---- the data -------------------------------------------------------------- */

static void written_and_read(void)
{
	set_up(ALL);
	rdma(IBV_WR_RDMA_WRITE, IOVA, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(buf.p, LEN, 1);
	memset(buf.p, 0, LEN);
	rdma(IBV_WR_RDMA_WRITE, IOVA + 4095, 5001, mr->rkey, IBV_WC_SUCCESS);
	check_bytes(buf.p, 4095, 0);
	check_fill(buf.p + 4095, 5001, 1);
	check_bytes(buf.p + 9096, LEN - 9096, 0);
	fill(buf.p, LEN, 2);
	rdma(IBV_WR_RDMA_READ, IOVA, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(mem.p, LEN, 2);
}

static void sent_from_and_received_into(void)
{
	struct ibv_sge in_buf, in_mem;
	struct ibv_send_wr wr;

	set_up(IBV_ACCESS_LOCAL_WRITE);
	in_buf = (struct ibv_sge){ .addr = IOVA + 77, .length = 30000,
				   .lkey = mr->lkey };
	in_mem = sge_of(&mem, 0, 30000);
	post_recv(&b, 1, &in_buf, 1);
	wr = wr_send(2, &in_mem, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	check_bytes(buf.p, 77, 0);
	check_fill(buf.p + 77, 30000, 1);
	check_bytes(buf.p + 30077, LEN - 30077, 0);
	memset(mem.p, 0, LEN);
	post_recv(&a, 3, &in_mem, 1);
	wr = wr_send(4, &in_buf, 1);
	post(&b, &wr);
	wait_ok(a.rcq, 3, IBV_WC_RECV);
	wait_ok(b.scq, 4, IBV_WC_SEND);
	check_fill(mem.p, 30000, 1);
}

static void atomics_on_it(void)
{
	uint64_t *word, got;

	set_up(ALL);
	word = (uint64_t *)(buf.p + PAGE);
	*word = 40;
	fetch_add(IOVA + PAGE, IBV_WC_SUCCESS);
	memcpy(&got, mem.p, 8);
	REQUIRE_EQ(got, 40);
	REQUIRE_EQ(__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST), 43);
	fetch_add(IOVA + PAGE, IBV_WC_SUCCESS);
	memcpy(&got, mem.p, 8);
	REQUIRE_EQ(got, 43);
	REQUIRE_EQ(*word, 45);
	fetch_add(IOVA + PAGE - 4, IBV_WC_REM_INV_REQ_ERR);
	fetch_add(IOVA + LEN, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(*word, 45);
}

static void bounds_and_rights(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_mr *part;

	set_up(IBV_ACCESS_REMOTE_READ);
	part = reg(5000, 9000, ACCESS_ALL);
	REQUIRE(part);
	rdma(IBV_WR_RDMA_WRITE, IOVA + 5000, 9000, part->rkey, IBV_WC_SUCCESS);
	check_bytes(buf.p, 5000, 0);
	check_fill(buf.p + 5000, 9000, 1);
	check_bytes(buf.p + 14000, LEN - 14000, 0);
	memset(buf.p, 0, LEN);
	rdma(IBV_WR_RDMA_WRITE, IOVA + 4999, 2, part->rkey,
	     IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_WRITE, IOVA + 5001, 9000, part->rkey,
	     IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_WRITE, IOVA, 1, part->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_WRITE, IOVA, 1, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	fetch_add(IOVA, IBV_WC_REM_ACCESS_ERR);
	check_bytes(buf.p, LEN, 0);
	sge = (struct ibv_sge){ .addr = IOVA + 13999, .length = 2,
				.lkey = part->lkey };
	wr = wr_send(7, &sge, 1);
	post(&b, &wr);
	wait_status(b.scq, 7, IBV_WC_LOC_PROT_ERR);
}

/*
 * The data must be correct, or the registration must fail: udmabuf of Linux
 * 6.12 maps such pages for the kernel in an unusable way.
 */
static void huge_page_part(size_t off, size_t len)
{
	int fd = export_udmabuf(off, len, MFD_HUGETLB);

	if (fd < 0)
		test_skip("no huge page of 2 MiB is free");
	buf = map(fd, len);
	memset(buf.p, 0, len);
	errno = 0;
	mr = reg(0, len, ALL);
	if (!mr) {
		REQUIRE_EQ(errno, EOPNOTSUPP);
		printf("# %zu bytes from %zu on: refused\n", len, off);
	} else {
		rdma(IBV_WR_RDMA_WRITE, IOVA + len / 2, len / 32, mr->rkey,
		     IBV_WC_SUCCESS);
		check_bytes(buf.p, len / 2, 0);
		check_fill(buf.p + len / 2, len / 32, 1);
		check_bytes(buf.p + len / 2 + len / 32,
			    len / 2 - len / 32, 0);
		REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	}
	munmap(buf.p, len);
	close(buf.fd);
}

static void huge_pages(void)
{
	set_up(ALL);
	huge_page_part(0, HUGE);
	huge_page_part(5 * PAGE, PAGE);
	huge_page_part(HUGE - 2 * PAGE, 2 * PAGE);
}

/* ---- refusals -------------------------------------------------------------- */

static void wrong_registrations_are_refused(void)
{
	struct ibv_pd *pd;
	int null;

	set_up(ALL);
	pd = b.nic->pd;
	null = open("/dev/null", O_RDWR);
	REQUIRE_ERRNO(ibv_reg_dmabuf_mr(pd, 0, LEN, 0, -1, ALL), EBADF);
	REQUIRE_ERRNO(ibv_reg_dmabuf_mr(pd, 0, LEN, 0, null, ALL), EINVAL);
	REQUIRE_ERRNO(reg(0, 0, ALL), EINVAL);
	REQUIRE_ERRNO(reg(0, LEN + 1, ALL), EINVAL);
	REQUIRE_ERRNO(reg(PAGE, LEN, ALL), EINVAL);
	REQUIRE_ERRNO(reg(2 * LEN, 1, ALL), EINVAL);
	REQUIRE_ERRNO(reg(-PAGE, 2 * PAGE, ALL), EINVAL);
	REQUIRE_ERRNO(reg(0, SIZE_MAX, ALL), EINVAL);
	/* addresses that wrap, or have another offset in their page */
	REQUIRE_ERRNO(ibv_reg_dmabuf_mr(pd, 0, LEN, -PAGE, buf.fd, ALL),
		      EINVAL);
	REQUIRE_ERRNO(ibv_reg_dmabuf_mr(pd, 1, PAGE, 0, buf.fd, ALL), EINVAL);
	REQUIRE_ERRNO(reg(0, LEN, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REQUIRE_ERRNO(reg(0, LEN, ALL | IBV_ACCESS_MW_BIND), EINVAL);
	REQUIRE_ERRNO(reg(0, LEN, ALL | IBV_ACCESS_ON_DEMAND), EINVAL);
	REQUIRE_ERRNO(reg(0, LEN, ALL | IBV_ACCESS_ZERO_BASED), EINVAL);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE),
		   IBV_REREG_MR_ERR_INPUT);
	/* the last word alone can be registered */
	mr = ibv_reg_dmabuf_mr(pd, LEN - 4, 4, LEN - 4, buf.fd, ALL |
			       IBV_ACCESS_RELAXED_ORDERING);
	REQUIRE(mr);
	rdma(IBV_WR_RDMA_WRITE, LEN - 4, 4, mr->rkey, IBV_WC_SUCCESS);
	check_bytes(buf.p, LEN - 4, 0);
	check_fill(buf.p + LEN - 4, 4, 1);
}

/* A region grants no more than a mapping of the file does. */
static void file_modes_are_respected(void)
{
	static const int writes[] = {
		IBV_ACCESS_LOCAL_WRITE,
		ACCESS_ALL,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	unsigned int i;
	void *p;

	set_up(ALL);
	buf.fd = export_heap(LEN, O_RDONLY);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, buf.fd, 0);
	REQUIRE(p == MAP_FAILED && errno == EACCES);
	for (i = 0; i < ARRAY_SIZE(writes); i++)
		REQUIRE_ERRNO(reg(0, LEN, writes[i]), EACCES);
	/* the heap zeroes its memory */
	mr = reg(0, LEN, IBV_ACCESS_REMOTE_READ);
	REQUIRE(mr);
	rdma(IBV_WR_RDMA_READ, IOVA, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_bytes(mem.p, LEN, 0);
	rdma(IBV_WR_RDMA_WRITE, IOVA, LEN, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				ACCESS_ALL), IBV_REREG_MR_ERR_INPUT);

	buf.fd = export_heap(LEN, O_WRONLY);
	REQUIRE_ERRNO(reg(0, LEN, 0), EACCES);
	REQUIRE_ERRNO(reg(0, LEN, ALL), EACCES);
}

static void exporters_that_are_refused(void)
{
	set_up(ALL);
	buf.fd = export_module(LEN, KIND_NO_VMAP);
	REQUIRE(buf.fd >= 0);
	REQUIRE_ERRNO(reg(0, LEN, ALL), EOPNOTSUPP);
	buf.fd = export_module(LEN, KIND_IOMEM);
	REQUIRE(buf.fd >= 0);
	REQUIRE_ERRNO(reg(0, LEN, ALL), EOPNOTSUPP);
	buf.fd = export_module(LEN, KIND_NO_ACCESS);
	REQUIRE(buf.fd >= 0);
	REQUIRE_ERRNO(reg(0, LEN, ALL), EIO);
}

/* ---- lifetimes --------------------------------------------------------------- */

/* The region holds all that it needs: file, mapping and memfd may be closed. */
static void file_is_closed_early(void)
{
	set_up(ALL);
	munmap(buf.p, LEN);
	REQUIRE_EQ(close(buf.fd), 0);
	rdma(IBV_WR_RDMA_WRITE, IOVA, LEN, mr->rkey, IBV_WC_SUCCESS);
	memset(mem.p, 0, LEN);
	rdma(IBV_WR_RDMA_READ, IOVA, LEN, mr->rkey, IBV_WC_SUCCESS);
	check_fill(mem.p, LEN, 1);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static void several_regions_of_one(void)
{
	struct ibv_mr *other;
	uint32_t rkey;

	set_up(ALL);
	other = reg(PAGE, LEN - PAGE, ALL);
	REQUIRE(other);
	rkey = mr->rkey;
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	rdma(IBV_WR_RDMA_WRITE, IOVA + PAGE, LEN - PAGE, other->rkey,
	     IBV_WC_SUCCESS);
	check_fill(buf.p + PAGE, LEN - PAGE, 1);
	rdma(IBV_WR_RDMA_WRITE, IOVA + PAGE, 1, rkey, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_dereg_mr(other), 0);
	mr = reg(0, LEN, ALL);
	REQUIRE(mr);
}

/* The child shares the memory. */
static void shared_after_fork(void)
{
	int status;
	pid_t pid;

	set_up(ALL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		memset(buf.p, 7, PAGE);
		close(buf.fd);
		_exit(EXIT_SUCCESS);
	}
	REQUIRE_EQ(waitpid(pid, &status, 0), pid);
	rdma(IBV_WR_RDMA_READ, IOVA, PAGE, mr->rkey, IBV_WC_SUCCESS);
	check_bytes(mem.p, PAGE, 7);
}

/* The device is removed (mem/device-memory.sh) while a peer writes to the memory. */
static void outlives_the_device(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint64_t n = 0;

	set_up(ALL);
	sge = sge_of(&mem, 0, LEN);
	do {
		wr = wr_rdma(5, IBV_WR_RDMA_WRITE, &sge, 1, IOVA, mr->rkey);
		/* The call itself fails after the removal. */
		if (ibv_post_send(a.qp, &wr, &(struct ibv_send_wr *){ NULL }))
			break;
		wc = wait_wc(a.scq);
		if (!n++)
			printf("traffic\n");
	} while (wc.status == IBV_WC_SUCCESS);
	wait_removal(b.nic->ctx);
	printf("# %llu writes\n", (unsigned long long)n);
	fill(buf.p, LEN, 9);
	check_fill(buf.p, LEN, 9);
	REQUIRE_ERRNO(reg(0, LEN, ALL), EIO);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(written_and_read),
	TEST(sent_from_and_received_into),
	TEST(atomics_on_it),
	TEST(bounds_and_rights),
	TEST(huge_pages),
	TEST(wrong_registrations_are_refused),
	TEST(file_modes_are_respected),
	TEST(exporters_that_are_refused),
	TEST(file_is_closed_early),
	TEST(several_regions_of_one),
	TEST(shared_after_fork),
	TEST(outlives_the_device),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
