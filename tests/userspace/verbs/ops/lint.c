// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The findings of SOFTHCA_LINT (docs/lint.md): each test does something wrong, and reads
 * exactly the expected reports; the last ones do nothing wrong. They need a softhca.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define LEN	(16 * KIB)
#define QKEY	0x11223344

static struct end a, b;
static struct buf mem_a, mem_b;
static char report[64 * KIB], path[64];

/* ---- the report ----------------------------------------------------------- */

/* Before the device is opened. */
static void lint(const char *words)
{
	char value[128];
	int fd;

	snprintf(path, sizeof(path), "/tmp/lint-XXXXXX");
	fd = mkstemp(path);
	REQUIRE(fd >= 0);
	close(fd);
	snprintf(value, sizeof(value), "%s,file=%s", words, path);
	REQUIRE_EQ(setenv("SOFTHCA_LINT", value, 1), 0);
}

static void read_report(void)
{
	FILE *file = fopen(path, "r");
	size_t length;

	REQUIRE(file);
	length = fread(report, 1, sizeof(report) - 1, file);
	report[length] = '\0';
	fclose(file);
	unlink(path);
}

static unsigned int count_of(const char *text)
{
	unsigned int nr = 0;
	const char *p;

	for (p = report; (p = strstr(p, text)); p += strlen(text))
		nr++;
	return nr;
}

/*
 * The report has this finding @nr times and no other: of this request (NULL: of none),
 * with these words.
 */
static void expect_nr(unsigned int nr, const char *finding, const char *request,
		      const char *has)
{
	char text[200];
	const char *p;

	read_report();
	if (count_of("softhca lint: error: ") + count_of("softhca lint: hint: ") != nr)
		FAIL("not %u of %s, but: %s", nr, finding, report);
	snprintf(text, sizeof(text), ": %s: %s", finding,
		 ibv_get_device_name(a.nic->ctx->device));
	p = strstr(report, text);
	if (!p)
		FAIL("%s is not in: %s", text, report);
	if (request) {
		snprintf(text, sizeof(text), " %s: ", request);
		p = strstr(p, text);
		if (!p || p > strchr(report, '\n'))
			FAIL("'%s' is not in: %s", text, report);
		if (!strstr(p, "softhca lint:   posted at\nsofthca lint:     #0 "))
			FAIL("no stack of the post in: %s", report);
	}
	if (!strstr(report, has))
		FAIL("'%s' is not in: %s", has, report);
	/* The first frame is this program's. */
	p = strstr(report, "#0 ");
	if (!p || !strstr(p, "/lint+0x") || strstr(p, "/lint+0x") > strchr(p, '\n'))
		FAIL("the stack does not begin here: %s", report);
}

static void expect(const char *finding, const char *request, const char *has)
{
	expect_nr(1, finding, request, has);
}

static void expect_nothing(void)
{
	read_report();
	if (*report)
		FAIL("reported: %s", report);
}

/* ---- requests ------------------------------------------------------------- */

static void set_up_config(const char *words, const struct config *config)
{
	lint(words);
	pair_make(&a, &b, config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	fill(mem_a.p, LEN, 1);
}

static void set_up(const char *words)
{
	set_up_config(words, &config_default);
}

/* It waits until the peer posts a receive. */
static void post_send(uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 1000);
	struct ibv_send_wr wr = wr_send(wr_id, &sge, 1);

	wr.send_flags = flags;
	post(&a, &wr);
}

static void post_read(uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 100);
	struct ibv_send_wr wr = wr_rdma(wr_id, IBV_WR_RDMA_READ, &sge, 1,
					(uintptr_t)mem_b.p, mem_b.mr->rkey);

	post(&a, &wr);
}

static void receive(uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&mem_b, 0, 1000);

	post_recv(&b, wr_id, &sge, 1);
}

/* ---- buffers --------------------------------------------------------------- */

static void send_buffer_changed(void)
{
	set_up("errors");
	post_send(7, IBV_SEND_SIGNALED);
	mem_a.p[999] ^= 1;
	receive(1);
	wait_ok(a.scq, 7, IBV_WC_SEND);
	expect("send-changed", "SEND wr_id 0x7", "segment 0, 1000 bytes");
}

static void unsignalled_send_buffer_changed(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	set_up("errors");
	sge = sge_of(&mem_a, 5000, 10);
	wr = wr_rdma(7, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p,
		     mem_b.mr->rkey);
	wr.send_flags = 0;
	post_send(6, IBV_SEND_SIGNALED);
	post(&a, &wr);
	mem_a.p[5000] ^= 1;
	post_send(8, IBV_SEND_SIGNALED);
	receive(1);
	receive(2);
	wait_ok(a.scq, 6, IBV_WC_SEND);
	wait_ok(a.scq, 8, IBV_WC_SEND);
	expect("send-changed", "RDMA_WRITE wr_id 0x7", "segment 0, 10 bytes");
}

static void send_buffer_of_extended_interface_changed(void)
{
	struct ibv_cq_init_attr_ex cq_attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct config config = config_default;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_cq_ex *cqx;
	struct ibv_qp_ex *qpx;
	uint64_t end;

	config.ops = IBV_QP_EX_WITH_SEND;
	config.cq_ex = &cq_attr;
	set_up_config("errors", &config);
	qpx = ibv_qp_to_qp_ex(a.qp);
	cqx = (struct ibv_cq_ex *)a.scq;
	ibv_wr_start(qpx);
	qpx->wr_id = 7;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, mem_a.mr->lkey, (uintptr_t)mem_a.p, 100);
	REQUIRE_EQ(ibv_wr_complete(qpx), 0);
	mem_a.p[0] ^= 1;
	receive(1);
	for (end = millis() + 10000 * slow_factor(); ibv_start_poll(cqx, &poll);)
		REQUIRE(millis() < end);
	REQUIRE_EQ(cqx->wr_id, 7);
	ibv_end_poll(cqx);
	expect("send-changed", "SEND wr_id 0x7", "segment 0, 100 bytes");
}

static void send_buffer_unmapped(void)
{
	set_up("errors");
	post_send(7, IBV_SEND_SIGNALED);
	REQUIRE_EQ(munmap(mem_a.base, mem_a.base_len), 0);
	receive(1);
	wait_ok(a.scq, 7, IBV_WC_SEND);
	expect("unmapped", "SEND wr_id 0x7", "was unmapped between");
}

static void receive_buffer_unmapped(void)
{
	set_up("errors");
	receive(1);
	REQUIRE_EQ(munmap(mem_b.base, mem_b.base_len), 0);
	post_send(7, IBV_SEND_SIGNALED);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	a.nic = b.nic;
	expect("unmapped", "RECV wr_id 0x1", "was unmapped between");
}

static void receive_buffer_overwritten(void)
{
	set_up("errors");
	receive(1);
	receive(2);
	post_send(7, IBV_SEND_SIGNALED);
	wait_ok(a.scq, 7, IBV_WC_SEND);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	mem_a.p[500] ^= 1;
	post_send(8, IBV_SEND_SIGNALED);
	wait_ok(a.scq, 8, IBV_WC_SEND);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	a.nic = b.nic;
	expect("recv-overwritten", "RECV wr_id 0x2", "the receive with wr_id 0x1");
}

static void receive_buffer_posted_twice(void)
{
	set_up("hints");
	receive(1);
	receive(2);
	a.nic = b.nic;
	expect("recv-overlap", "RECV wr_id 0x2", "wr_id 0x1");
}

/* ---- regions, windows, address handles --------------------------------------- */

static void region_of_a_send_deregistered(void)
{
	set_up("errors");
	post_send(7, IBV_SEND_SIGNALED);
	REQUIRE_EQ(ibv_dereg_mr(mem_a.mr), 0);
	expect("mr-in-use", "SEND wr_id 0x7", "softhca lint:   found at");
}

static void region_of_a_receive_deregistered(void)
{
	set_up("errors");
	receive(1);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
	a.nic = b.nic;
	expect("mr-in-use", "RECV wr_id 0x1", "softhca lint:   found at");
}

static void region_of_a_shared_receive_deregistered(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .num_sge = 1 };
	struct ibv_sge sge;

	set_up("errors");
	init.srq = ibv_create_srq(b.nic->pd, &attr);
	REQUIRE(init.srq);
	init.send_cq = b.scq;
	init.recv_cq = b.rcq;
	b.qp = ibv_create_qp(b.nic->pd, &init);
	REQUIRE(b.qp);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	sge = sge_of(&mem_b, 0, 100);
	wr.sg_list = &sge;
	REQUIRE_EQ(ibv_post_srq_recv(init.srq, &wr, &bad), 0);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
	a.nic = b.nic;
	expect("mr-in-use", "SRQ RECV wr_id 0x5", "softhca lint:   found at");
}

static void region_of_a_receive_not_writable(void)
{
	struct ibv_sge sge;

	set_up("errors");
	mem_b = buf_make(b.nic->pd, LEN, 0);
	sge = sge_of(&mem_b, 0, 100);
	post_recv(&b, 3, &sge, 1);
	a.nic = b.nic;
	expect("access", "RECV wr_id 0x3", "IBV_ACCESS_LOCAL_WRITE");
}

static void region_of_a_read_not_writable(void)
{
	set_up("errors");
	mem_a = buf_make(a.nic->pd, LEN, 0);
	post_read(3);
	expect("access", "RDMA_READ wr_id 0x3", "IBV_ACCESS_LOCAL_WRITE");
}

static void segment_longer_than_its_region(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	set_up("errors");
	sge = sge_of(&mem_a, LEN - 10, 10);
	sge.length = 11;
	wr = wr_send(3, &sge, 1);
	post(&a, &wr);
	expect("range", "SEND wr_id 0x3", "11 bytes");
}

/* The program makes descriptor 2, and then all others, files of its own. */
static void other_files_of_the_program_get_nothing(void)
{
	char mine[] = "/tmp/mine-XXXXXX";
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct stat own;
	int fd, i;

	lint("errors");
	fd = open(path, O_WRONLY);
	REQUIRE(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
	REQUIRE_EQ(setenv("SOFTHCA_LINT", "errors", 1), 0);
	pair_make(&a, &b, &config_default);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	fd = mkstemp(mine);
	REQUIRE(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	sge = sge_of(&mem_a, LEN - 10, 10);
	sge.length = 11;
	wr = wr_send(3, &sge, 1);
	post(&a, &wr);
	REQUIRE_EQ(fstat(fd, &own), 0);
	REQUIRE_EQ(own.st_size, 0);
	expect("range", "SEND wr_id 0x3", "11 bytes");

	/* (another finding; those of the same place are told once) */
	for (i = STDERR_FILENO; i < 64; i++)
		if (i != fd && fstat(i, &own) == 0 && S_ISREG(own.st_mode))
			REQUIRE_EQ(dup2(fd, i), i);
	sge.length = 12;
	post(&a, &wr);
	unlink(mine);
	REQUIRE_EQ(fstat(fd, &own), 0);
	REQUIRE_EQ(own.st_size, 0);
}

static void window_deallocated(void)
{
	struct ibv_mw_bind bind = { .wr_id = 9, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;

	set_up("errors");
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(a.nic->pd, IBV_MW_TYPE_1);
	REQUIRE(mw);
	bind.bind_info.mr = mem_a.mr;
	bind.bind_info.addr = (uintptr_t)mem_a.p;
	bind.bind_info.length = LEN;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	/* The bind waits behind a SEND that waits for a receive. */
	post_send(7, IBV_SEND_SIGNALED);
	REQUIRE_EQ(ibv_bind_mw(a.qp, mw, &bind), 0);
	ibv_dealloc_mw(mw);
	expect("mw-in-use", "BIND_MW wr_id 0x9", "softhca lint:   found at");
}

static void address_handle_destroyed(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
				    .grh.hop_limit = 64 };
	struct ibv_qp_attr qp_attr = { .port_num = 1, .qkey = QKEY };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_qp *qp;

	set_up("errors");
	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	qp = ibv_create_qp(a.nic->pd, &init);
	REQUIRE(qp);
	qp_to_rts(qp, &qp_attr);
	attr.grh.dgid = b.nic->gid;
	attr.grh.sgid_index = a.nic->gid_index;
	ah = ibv_create_ah(a.nic->pd, &attr);
	REQUIRE(ah);
	sge = sge_of(&mem_a, 0, 100);
	wr = wr_send(4, &sge, 1);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xfffffe;
	wr.wr.ud.remote_qkey = QKEY;
	a.qp = qp;
	post(&a, &wr);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	expect("ah-in-use", "SEND wr_id 0x4", "softhca lint:   found at");
}

/* ---- queues ------------------------------------------------------------------ */

static void queue_full_of_unsignalled(void)
{
	struct config config = config_default;
	char request[32];
	unsigned int i;

	config.max_send_wr = 8;
	set_up_config("errors", &config);
	for (i = 1; i <= a.cap.max_send_wr; i++)
		post_send(i, 0);
	snprintf(request, sizeof(request), "SEND wr_id 0x%x", i - 1);
	expect("never-retires", request, "none of them is signalled");
}

static void completion_queue_too_small(void)
{
	struct config config = config_default;
	int i;

	config.cqe = 7;
	set_up_config("errors", &config);
	REQUIRE(b.rcq->cqe < 64);
	for (i = 0; i < b.rcq->cqe; i++)
		receive(i);
	receive(100);
	a.nic = b.nic;
	expect("cq-small", "RECV wr_id 0x64", "entries");
}

static void read_with_max_rd_atomic_0(void)
{
	struct config config = config_default;

	config.max_rd_atomic = 0;
	set_up_config("errors", &config);
	post_read(3);
	expect("no-read-depth", "RDMA_READ wr_id 0x3", "max_rd_atomic 0");
}

static void more_reads_than_max_rd_atomic(void)
{
	unsigned int i;

	set_up("hints");
	for (i = 1; i <= config_default.max_rd_atomic + 1u; i++)
		post_read(i);
	expect("read-depth", "RDMA_READ wr_id 0x5", "max_rd_atomic, 4");
}

static void timeout_0(void)
{
	struct config config = config_default;

	config.timeout = 0;
	set_up_config("errors", &config);
	/* of each end */
	expect_nr(2, "no-timeout", NULL, "timeout is 0");
}

static void retry_0(void)
{
	struct config config = config_default;

	config.retry_cnt = 0;
	set_up_config("hints", &config);
	expect_nr(2, "no-retry", NULL, "retry_cnt is 0");
}

/* ---- first PSNs ---------------------------------------------------------------- */

/* a's sq_psn is b's rq_psn and @by more. */
static void set_up_psn(int by)
{
	struct config config = config_default;
	struct address to_b;

	config.timeout = 8;
	config.retry_cnt = 1;
	set_up_config("errors", &config);
	to_b = end_address(&b);
	a.psn = (a.psn + by) & 0xffffff;
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	end_connect(&a, &to_b);
	receive(1);
	post_send(7, IBV_SEND_SIGNALED);
}

static void expect_psn(int by)
{
	char has[100];

	snprintf(has, sizeof(has), "the first request has PSN %u, but rq_psn is %u,",
		 a.psn, (a.psn - by) & 0xffffff);
	a.nic = b.nic;
	expect("first-psn", NULL, has);
}

static bool is_reported(void)
{
	struct stat st;

	REQUIRE_EQ(stat(path, &st), 0);
	return st.st_size;
}

/* A program that waits for a message hears of it. */
static void first_psn_too_high(void)
{
	uint64_t end;
	struct ibv_wc wc;

	set_up_psn(5);
	for (end = millis() + 20000 * slow_factor(); !is_reported();) {
		REQUIRE(millis() < end);
		REQUIRE_EQ(ibv_poll_cq(b.rcq, 1, &wc), 0);
	}
	expect_psn(5);
}

/* Its requests look like old ones. It is reported at the latest as the QP ends. */
static void first_psn_too_low(void)
{
	uint64_t end;
	struct ibv_wc wc;

	set_up_psn(-5);
	for (end = millis() + 20000 * slow_factor(); !ibv_poll_cq(a.scq, 1, &wc);)
		REQUIRE(millis() < end);
	REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
	expect_psn(-5);
}

/* ---- nothing is wrong ---------------------------------------------------------- */

static void no_timeout_to_itself(void)
{
	struct config config = config_default;

	options.peer = options.device;
	config.timeout = 0;
	config.retry_cnt = 0;
	set_up_config("hints", &config);
	expect_nothing();
}

static void hints_are_not_errors(void)
{
	unsigned int i;

	set_up("errors");
	for (i = 1; i <= config_default.max_rd_atomic + 1u; i++)
		post_read(i);
	receive(1);
	receive(2);
	for (i = 1; i <= config_default.max_rd_atomic + 1u; i++)
		wait_ok(a.scq, i, IBV_WC_RDMA_READ);
	expect_nothing();
}

/* A fence orders the SEND after the READ into its buffer. */
static void buffer_of_a_fenced_send_changed(void)
{
	set_up("hints");
	fill(mem_b.p, LEN, 2);
	post_read(1);
	post_send(2, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	receive(1);
	wait_ok(a.scq, 1, IBV_WC_RDMA_READ);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	expect_nothing();
}

/* The rules of the verbs are kept, many times around the rings. */
static void orderly_program(void)
{
	struct ibv_sge sge;
	unsigned int i;

	set_up("hints");
	for (i = 0; i < 300; i++) {
		sge = sge_of(&mem_b, i % 16 * KIB, 1000);
		post_recv(&b, i, &sge, 1);
		post_send(i, i % 8 ? 0 : IBV_SEND_SIGNALED);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		if (i % 8)
			continue;
		wait_ok(a.scq, i, IBV_WC_SEND);
		fill(mem_a.p, LEN, i);
	}
	post_send(i, IBV_SEND_SIGNALED);
	receive(i);
	wait_ok(a.scq, i, IBV_WC_SEND);
	wait_ok(b.rcq, i, IBV_WC_RECV);
	REQUIRE_EQ(ibv_dereg_mr(mem_a.mr), 0);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
	end_destroy(&a);
	end_destroy(&b);
	expect_nothing();
}

static const struct test tests[] = {
	{ "send_buffer_changed", send_buffer_changed },
	{ "unsignalled_send_buffer_changed", unsignalled_send_buffer_changed },
	{ "send_buffer_of_extended_interface_changed",
	  send_buffer_of_extended_interface_changed },
	{ "send_buffer_unmapped", send_buffer_unmapped },
	{ "receive_buffer_unmapped", receive_buffer_unmapped },
	{ "receive_buffer_overwritten", receive_buffer_overwritten },
	{ "receive_buffer_posted_twice", receive_buffer_posted_twice },
	{ "region_of_a_send_deregistered", region_of_a_send_deregistered },
	{ "region_of_a_receive_deregistered", region_of_a_receive_deregistered },
	{ "region_of_a_shared_receive_deregistered",
	  region_of_a_shared_receive_deregistered },
	{ "region_of_a_receive_not_writable", region_of_a_receive_not_writable },
	{ "region_of_a_read_not_writable", region_of_a_read_not_writable },
	{ "segment_longer_than_its_region", segment_longer_than_its_region },
	{ "other_files_of_the_program_get_nothing",
	  other_files_of_the_program_get_nothing },
	{ "window_deallocated", window_deallocated },
	{ "address_handle_destroyed", address_handle_destroyed },
	{ "queue_full_of_unsignalled", queue_full_of_unsignalled },
	{ "completion_queue_too_small", completion_queue_too_small },
	{ "read_with_max_rd_atomic_0", read_with_max_rd_atomic_0 },
	{ "more_reads_than_max_rd_atomic", more_reads_than_max_rd_atomic },
	{ "timeout_0", timeout_0 },
	{ "retry_0", retry_0 },
	{ "first_psn_too_high", first_psn_too_high },
	{ "first_psn_too_low", first_psn_too_low },
	{ "no_timeout_to_itself", no_timeout_to_itself },
	{ "hints_are_not_errors", hints_are_not_errors },
	{ "buffer_of_a_fenced_send_changed", buffer_of_a_fenced_send_changed },
	{ "orderly_program", orderly_program },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
