// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets that wait for memory whose page fault does not end. The memory is a
 * file of a file system in user space (FUSE). This process serves it, and
 * answers READs only when the test says so. Packets that wait must not delay
 * anything else. The program needs root for the mount, and packets (path wire).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util.h"

#define PAGE	4096
#define PART	64u
#define NODE	2
/* Time after which a page comes anyway. */
#define PATIENCE_MS	(10000u * slow_factor())

static struct end a, b;

/* ---- the file system ------------------------------------------------------ */

/* @read: a READ waits; @answered: it has been answered. @lock protects all. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;
	bool read;
	bool answered;
	uint64_t unique;
	uint32_t size;
} fs = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void reply(uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + len,
		.error = -error,
		.unique = unique,
	};
	struct iovec iov[] = {
		{ &out, sizeof(out) },
		{ (void *)data, len },
	};

	/* The requester may be gone. */
	if (writev(fs.fd, iov, len ? 2 : 1) < 0 && errno != ENOENT)
		FAIL("reply: errno %d", errno);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = PAGE,
		.mode = node == NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
		.nlink = 1,
		.blksize = PAGE,
	};
}

/* Answers the pending READ, if there is one. Context: @fs.lock held. */
static void answer(void)
{
	static const uint8_t zeros[PAGE];

	if (!fs.read || fs.answered)
		return;
	fs.answered = true;
	reply(fs.unique, 0, zeros, fs.size < PAGE ? fs.size : PAGE);
}

static void *answer_late(void *arg)
{
	(void)arg;
	usleep(PATIENCE_MS * 1000);
	pthread_mutex_lock(&fs.lock);
	answer();
	pthread_mutex_unlock(&fs.lock);
	return NULL;
}

static void serve_one(const struct fuse_in_header *in)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = PAGE,
	};
	struct fuse_entry_out entry = {
		.nodeid = NODE,
		.attr = attr_of(NODE),
	};
	struct fuse_attr_out attr = { .attr = attr_of(in->nodeid) };
	struct fuse_open_out open_out = {};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(in->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		pthread_mutex_lock(&fs.lock);
		fs.unique = in->unique;
		fs.size = read_in->size;
		fs.read = true;
		pthread_cond_broadcast(&fs.changed);
		pthread_mutex_unlock(&fs.lock);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;	/* need no answer */
	default:
		reply(in->unique, ENOSYS, NULL, 0);
	}
}

static void *serve(void *arg)
{
	static uint64_t buf[FUSE_MIN_READ_BUFFER];

	(void)arg;
	while (read(fs.fd, buf, sizeof(buf)) > 0 || errno == ENOENT ||
	       errno == EINTR)
		serve_one((const void *)buf);
	return NULL;
}

/* Maps a page of memory that is absent until answer(). */
static uint8_t *map_absent(void)
{
	char dir[] = "/tmp/absent.XXXXXX", path[64], options_[64];
	pthread_t thread;
	uint8_t *p;
	int fd;

	fs.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fs.fd < 0 && (errno == ENOENT || errno == ENODEV))
		test_skip("the kernel has no FUSE");
	REQUIRE(fs.fd >= 0);
	REQUIRE(mkdtemp(dir));
	snprintf(options_, sizeof(options_),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", fs.fd);
	REQUIRE_EQ(mount("absent", dir, "fuse", MS_NOSUID | MS_NODEV, options_),
		   0);
	REQUIRE_EQ(pthread_create(&thread, NULL, serve, NULL), 0);
	snprintf(path, sizeof(path), "%s/page", dir);
	fd = open(path, O_RDWR);
	REQUIRE(fd >= 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	REQUIRE(p != MAP_FAILED);
	/* At the end of the process nobody would answer a FLUSH. */
	REQUIRE_EQ(close(fd), 0);
	/* The mount goes with this process, whatever happens. */
	REQUIRE_EQ(umount2(dir, MNT_DETACH), 0);
	rmdir(dir);
	/*
	 * A pending fault blocks all mappings, also of a stack, so create the
	 * thread now.
	 */
	REQUIRE_EQ(pthread_create(&thread, NULL, answer_late, NULL), 0);
	return p;
}

static void wait_for_read(void)
{
	pthread_mutex_lock(&fs.lock);
	while (!fs.read)
		pthread_cond_wait(&fs.changed, &fs.lock);
	pthread_mutex_unlock(&fs.lock);
}

/* ---- tests ---------------------------------------------------------------- */

/*
 * A receive of three segments: pinned memory, a page that is fetched at once, a
 * page that does not come. When the packet waits for the last one, it has been
 * checked twice. The pinned region can be deregistered nevertheless.
 */
static void a_segment_can_be_deregistered(void)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	struct config config = config_default;
	struct ibv_mr *soon, *late;
	struct ibv_send_wr wr;
	struct ibv_sge sge[3];
	struct buf src, first;
	uint8_t *p[2];

	config.max_recv_sge = ARRAY_SIZE(sge);
	pair_make(&a, &b, &config);
	src = buf_make(a.nic->pd, 3 * PART, ACCESS_ALL);
	first = buf_make(b.nic->pd, PART, ACCESS_ALL);
	p[0] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(p[0] != MAP_FAILED);
	p[1] = map_absent();
	soon = ibv_reg_mr(b.nic->pd, p[0], PAGE, access);
	late = ibv_reg_mr(b.nic->pd, p[1], PAGE, access);
	if (!soon && errno == EOPNOTSUPP)
		test_skip("the device has no on-demand paging");
	REQUIRE(soon && late);
	sge[0] = sge_of(&first, 0, PART);
	sge[1] = (struct ibv_sge){ (uintptr_t)p[0], PART, soon->lkey };
	sge[2] = (struct ibv_sge){ (uintptr_t)p[1], PART, late->lkey };
	post_recv(&b, 1, sge, ARRAY_SIZE(sge));
	sge[0] = sge_of(&src, 0, 3 * PART);
	wr = wr_send(2, sge, 1);
	post(&a, &wr);
	wait_for_read();
	REQUIRE_EQ(ibv_dereg_mr(first.mr), 0);
	pthread_mutex_lock(&fs.lock);
	if (fs.answered)
		FAIL("it waited for a page of another region");
	answer();
	pthread_mutex_unlock(&fs.lock);
	/* now that key is invalid */
	wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
	wait_status(a.scq, 2, IBV_WC_REM_OP_ERR);
}

/* Reads a counter of the device. */
static long counted(const char *name)
{
	char path[200];
	long value;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(b.nic->ctx->device), name);
	f = fopen(path, "r");
	if (!f)
		test_skip("the device has no counter %s", name);
	REQUIRE_EQ(fscanf(f, "%ld", &value), 1);
	fclose(f);
	return value;
}

/* Waits until no more packets have come for a while. */
static void wait_for_last_packet(void)
{
	long before, now = counted("rx_packets");

	do {
		before = now;
		usleep(200000);
		now = counted("rx_packets");
	} while (now != before);
}

static long free_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[100];
	long kib = -1;

	REQUIRE(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld kB", &kib);
	fclose(f);
	REQUIRE(kib >= 0);
	return kib * 1024;
}

enum { PAIRS = 48, WRITES = 256 };
static struct end from[PAIRS], to[PAIRS];

/* Each QP writes the page @src WRITES times to @va. */
static void write_from_all(const struct buf *src, uint64_t va, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(src, 0, PAGE);
	struct ibv_send_wr wr;
	int i, j;

	for (i = 0; i < PAIRS; i++) {
		for (j = 0; j < WRITES; j++) {
			wr = wr_rdma(j, IBV_WR_RDMA_WRITE, &sge, 1, va, rkey);
			if (j < WRITES - 1)
				wr.send_flags &= ~IBV_SEND_SIGNALED;
			post(&from[i], &wr);
		}
		wait_ok(from[i].scq, WRITES - 1, IBV_WC_RDMA_WRITE);
	}
}

/*
 * Many UC queue pairs send to the page that does not come. Their packets wait
 * in kernel memory up to a limit. Further packets are lost and counted. Once
 * the page is there, the waiting packets are executed, and all that memory is
 * free again.
 */
static void bytes_that_wait_are_bounded(void)
{
	struct config config = config_default;
	/* SLACK allows for other activity of the machine meanwhile. */
	enum { SEED = 7, BOUND = 16 * MIB, SLACK = 8 * MIB };
	long sent, lost, kept, mtu, before, used;
	struct buf src, there;
	struct ibv_mr *late;
	uint64_t end;
	uint8_t *p;
	int i;

	options.is_uc = true;
	config.max_send_wr = WRITES;
	config.sq_sig_all = 0;
	for (i = 0; i < PAIRS; i++)
		pair_make(&from[i], &to[i], &config);
	b = to[0];
	mtu = mtu_bytes(b.nic->port.active_mtu);
	src = buf_make(from[0].nic->pd, PAGE, ACCESS_ALL);
	there = buf_make(b.nic->pd, PAGE, ACCESS_ALL);
	fill(src.p, PAGE, SEED);
	/* Allocations of ordinary traffic have been made. */
	write_from_all(&src, (uintptr_t)there.p, there.mr->rkey);
	wait_for_last_packet();
	p = map_absent();
	late = ibv_reg_mr(b.nic->pd, p, PAGE, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	if (!late && errno == EOPNOTSUPP)
		test_skip("the device has no on-demand paging");
	REQUIRE(late);
	lost = counted("rx_backlog_drops");
	sent = counted("rx_packets");
	before = free_bytes();
	write_from_all(&src, (uintptr_t)p, late->rkey);
	wait_for_read();
	wait_for_last_packet();
	lost = counted("rx_backlog_drops") - lost;
	sent = counted("rx_packets") - sent;
	kept = (sent - lost) * mtu;
	used = before - free_bytes();
	printf("# packets: %ld came, %ld lost; %ld KiB of memory\n", sent, lost,
	       used / 1024);
	pthread_mutex_lock(&fs.lock);
	if (fs.answered)
		FAIL("the page came meanwhile");
	/* Otherwise the test would show nothing. */
	REQUIRE(sent * mtu > 2 * BOUND);
	REQUIRE(kept > 0);
	if (kept > BOUND)
		FAIL("%ld KiB of payload wait", kept / 1024);
	/* Checkers keep freed memory, and records of it. */
	if (!has_checkers() && used > BOUND + SLACK)
		FAIL("they take %ld KiB", used / 1024);
	answer();
	pthread_mutex_unlock(&fs.lock);
	end = millis() + 10000u * slow_factor();
	while (!has_checkers() && before - free_bytes() > SLACK)
		if (millis() > end)
			FAIL("%ld KiB are not given back",
			     (before - free_bytes()) / 1024);
	/* (this process may see the page before the packets are executed) */
	while (!is_same(p, src.p, PAGE) && millis() < end)
		usleep(1000);
	check_fill(p, PAGE, SEED);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(a_segment_can_be_deregistered),
	TEST(bytes_that_wait_are_bounded),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
