// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See util.h. */
#include "util.h"
#include "../../../tools/softhca/fault/qp_mask.h"

#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIP	77
/* both are multiplied by slow_factor() */
#define TEST_SECONDS	60
#define WAIT_MS		10000
#define QUIET_MS	50
#define GUARD		256

struct options options = { .gid = { -1, -1 } };

/* ---- the runner --------------------------------------------------------- */

/* The child's reason to end the test, for the parent. */
static char *reason;
#define REASON_LEN	1024

static void set_reason(const char *format, va_list args)
{
	if (reason)
		vsnprintf(reason, REASON_LEN, format, args);
	else
		vfprintf(stderr, format, args);
}

static void describe(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
static void describe(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_reason(format, args);
	va_end(args);
}

void test_fail(const char *file, int line, const char *format, ...)
{
	char text[REASON_LEN - 64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	describe("%s:%d: %s", file, line, text);
	_exit(EXIT_FAILURE);
}

void test_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_reason(format, args);
	va_end(args);
	_exit(EXIT_SKIP);
}

int slow_factor(void)
{
	const char *text = getenv("SHCA_SLOW");
	int factor = text ? atoi(text) : 1;

	return factor > 0 ? factor : 1;
}

bool has_checkers(void)
{
	const char *text = getenv("SHCA_CHECKERS");

	return text && *text;
}

static int wait_ms(void)
{
	return WAIT_MS * slow_factor();
}

/* Return: false if the test failed. */
static bool run_test(const struct test *test)
{
	int status;
	pid_t pid;

	reason[0] = 0;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(EXIT_FAILURE);
	}
	if (!pid) {
		alarm(TEST_SECONDS * slow_factor());
		test->run();
		_exit(EXIT_SUCCESS);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		describe("no end within %d s",
			 TEST_SECONDS * slow_factor());
	else if (WIFSIGNALED(status))
		describe("killed by signal %d", WTERMSIG(status));

	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
		printf("skip %s # %s\n", test->name, reason);
		return true;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
		printf("ok %s\n", test->name);
		return true;
	}
	printf("# %s: %s\nnot ok %s\n", test->name, reason, test->name);
	return false;
}

static bool is_wanted(const struct test *test, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(test->name, argv[i], strlen(argv[i])))
			return true;
	return argc == 0;
}

/* Is the test, by its full name, among those that -x leaves out? */
static bool is_left_out(const struct test *test, const char *names)
{
	size_t len = strlen(test->name);
	const char *at = names;

	while (at && (at = strstr(at, test->name))) {
		if ((at == names || at[-1] == ',') &&
		    (!at[len] || at[len] == ','))
			return true;
		at += len;
	}
	return false;
}

static void usage(const struct test *tests)
{
	fputs("options: [-d DEVICE] [-p PEER] [-f 4|6] [-g GID-INDEX] "
	      "[-G GID-INDEX-OF-PEER] [-q rc|uc] [-m MAX-LENGTH] "
	      "[-x TEST,TEST...] [TEST]...\n"
	      "TEST is a name or the beginning of names; -x leaves those "
	      "out:\n", stderr);
	for (; tests->name; tests++)
		fprintf(stderr, "  %s\n", tests->name);
	exit(2);
}

const char *test_name;

int util_main(const struct test *tests, int argc, char **argv)
{
	return util_main_rc_uc(tests, NULL, argc, argv);
}

int util_main_rc_uc(const struct test *tests, const struct test *uc_tests,
		    int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "peer", required_argument, NULL, 'p' },
		{ "family", required_argument, NULL, 'f' },
		{ "max-length", required_argument, NULL, 'm' },
		{ "leave-out", required_argument, NULL, 'x' },
		{}
	};
	const char *left_out = NULL;
	int c, ran = 0, failed = 0;

	while ((c = getopt_long(argc, argv, "d:p:f:g:G:q:m:x:", longs, NULL)) >= 0) {
		switch (c) {
		case 'd':
			options.device = optarg;
			break;
		case 'p':
			options.peer = optarg;
			break;
		case 'f':
			options.family = atoi(optarg);
			break;
		case 'm':
			options.max_len = atoi(optarg);
			break;
		case 'g':
			options.gid[0] = atoi(optarg);
			break;
		case 'G':
			options.gid[1] = atoi(optarg);
			break;
		case 'q':
			if (strcmp(optarg, "rc") && strcmp(optarg, "uc"))
				usage(tests);
			options.is_uc = !strcmp(optarg, "uc");
			break;
		case 'x':
			left_out = optarg;
			break;
		default:
			usage(tests);
		}
	}
	if (options.is_uc) {
		if (!uc_tests)
			usage(tests);
		tests = uc_tests;
	}
	/* Lines of a test must survive the process of the test. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	reason = mmap(NULL, REASON_LEN, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reason == MAP_FAILED)
		return EXIT_FAILURE;
	for (; tests->name; tests++) {
		if (!is_wanted(tests, argc - optind, argv + optind) ||
		    is_left_out(tests, left_out))
			continue;
		test_name = tests->name;
		ran++;
		if (!run_test(tests))
			failed++;
	}
	if (!ran)
		fprintf(stderr, "no test has such a name\n");
	return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}

uint64_t millis(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* ---- devices ------------------------------------------------------------ */

struct ibv_context *device_open(const char *name)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int i, num;

	list = ibv_get_device_list(&num);
	if (!list || !num)
		FAIL("there are no RDMA devices");
	if (!name && num != 1)
		FAIL("there are %d devices, name one with -d", num);
	for (i = 0; i < num && !ctx; i++) {
		if (name && strcmp(ibv_get_device_name(list[i]), name))
			continue;
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			FAIL("%s: cannot be opened: %s",
			     ibv_get_device_name(list[i]), strerror(errno));
	}
	ibv_free_device_list(list);
	if (!ctx)
		FAIL("%s: no such device, or no provider for it", name);
	return ctx;
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static bool is_infiniband(const struct nic *nic)
{
	return nic->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

static enum ibv_gid_type gid_type(const struct nic *nic)
{
	return is_infiniband(nic) ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
}

/* Takes an IPv6 link-local GID only if there is no other. */
static bool find_gid(struct nic *nic, bool link_local)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < nic->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(nic->ctx, 1, i, &entry, 0))
			continue;
		if (entry.gid_type != gid_type(nic))
			continue;
		if (options.family && (options.family == 4) != is_v4(&entry.gid))
			continue;
		if (link_local != (entry.gid.raw[0] == 0xfe))
			continue;
		nic->gid = entry.gid;
		nic->gid_index = i;
		return true;
	}
	return false;
}

struct nic *nic_open(const char *name)
{
	struct nic *nic = calloc(1, sizeof(*nic));

	REQUIRE(nic);
	nic->ctx = device_open(name);
	REQUIRE_EQ(ibv_query_device(nic->ctx, &nic->attr), 0);
	REQUIRE_EQ(ibv_query_port(nic->ctx, 1, &nic->port), 0);
	if (!find_gid(nic, false) && !find_gid(nic, true))
		FAIL("no GID of the family asked for");
	nic->pd = ibv_alloc_pd(nic->ctx);
	REQUIRE(nic->pd);
	return nic;
}

/* @gid: index of a GID, or negative for the first */
static struct nic *nic_open_gid(const char *name, int gid)
{
	struct nic *nic = nic_open(name);
	struct ibv_gid_entry entry;

	if (gid < 0)
		return nic;
	REQUIRE_EQ(ibv_query_gid_ex(nic->ctx, 1, gid, &entry, 0), 0);
	REQUIRE_EQ(entry.gid_type, gid_type(nic));
	nic->gid = entry.gid;
	nic->gid_index = gid;
	return nic;
}

struct nic *nic_a(void)
{
	static struct nic *nic;

	if (!nic)
		nic = nic_open_gid(options.device, options.gid[0]);
	return nic;
}

struct nic *nic_b(void)
{
	static struct nic *nic;

	if (!options.peer)
		return nic_a();
	if (!nic)
		nic = nic_open_gid(options.peer, options.gid[1]);
	return nic;
}

uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

/* ---- memory ------------------------------------------------------------- */

#define GUARD_SEED	0x6775617264ull

struct buf buf_make(struct ibv_pd *pd, size_t len, int access)
{
	struct buf buf = { .len = len, .base_len = len + 2 * GUARD };

	buf.base = mmap(NULL, buf.base_len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(buf.base != MAP_FAILED);
	buf.p = buf.base + GUARD;
	fill(buf.base, GUARD, GUARD_SEED);
	fill(buf.p + len, GUARD, GUARD_SEED + 1);
	buf.mr = ibv_reg_mr(pd, buf.p, len, access);
	if (!buf.mr)
		FAIL("ibv_reg_mr(%zu bytes): %s", len, strerror(errno));
	return buf;
}

void buf_free(struct buf *buf)
{
	REQUIRE_EQ(ibv_dereg_mr(buf->mr), 0);
	munmap(buf->base, buf->base_len);
}

void buf_check_guards(const struct buf *buf)
{
	check_fill(buf->base, GUARD, GUARD_SEED);
	check_fill(buf->p + buf->len, GUARD, GUARD_SEED + 1);
}

/* 64 bits of pattern (the finaliser of splitmix64). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void fill(void *p, size_t len, uint64_t seed)
{
	uint8_t *out = p;
	uint64_t word;
	size_t off;

	for (off = 0; off < len; off += sizeof(word)) {
		word = mix(seed * 0x100000001ull + off);
		memcpy(out + off, &word,
		       len - off < sizeof(word) ? len - off : sizeof(word));
	}
}

bool is_same(const void *p, const void *q, size_t len)
{
	const uint8_t *a = p, *b = q;
	size_t i;

	for (i = 0; i < len && __atomic_load_n(a + i, __ATOMIC_ACQUIRE) == b[i]; i++)
		;
	return i == len;
}

void check_fill(const void *p, size_t len, uint64_t seed)
{
	const uint8_t *in = p;
	uint8_t expected[8];
	uint64_t word;
	size_t off, i, n;

	for (off = 0; off < len; off += n) {
		n = len - off < sizeof(expected) ? len - off : sizeof(expected);
		word = mix(seed * 0x100000001ull + off);
		memcpy(expected, &word, sizeof(word));
		if (!memcmp(in + off, expected, n))
			continue;
		for (i = 0; in[off + i] == expected[i]; i++)
			;
		FAIL("byte %zu of %zu is 0x%02x, expected 0x%02x", off + i, len,
		     in[off + i], expected[i]);
	}
}

void check_bytes(const void *p, size_t len, uint8_t value)
{
	const uint8_t *in = p;
	size_t i;

	for (i = 0; i < len; i++)
		if (in[i] != value)
			FAIL("byte %zu of %zu is 0x%02x, expected 0x%02x", i,
			     len, in[i], value);
}

struct ibv_sge sge_of(const struct buf *buf, size_t off, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf->p + off,
		.length = len,
		.lkey = buf->mr->lkey,
	};

	return sge;
}

/* ---- queue pairs -------------------------------------------------------- */

const struct config config_default = {
	.max_send_wr = 64,
	.max_recv_wr = 64,
	.max_send_sge = 4,
	.max_recv_sge = 4,
	.max_inline = 0,
	.sq_sig_all = 0,
	.cqe = 256,
	.qp_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr_timer = 12,
	.max_rd_atomic = 4,
	.max_dest_rd_atomic = 4,
};

static struct ibv_cq *end_make_cq(const struct end *end)
{
	const struct config *config = &end->config;
	struct ibv_cq_init_attr_ex attr;
	struct ibv_cq_ex *cqx;
	struct ibv_cq *cq;

	if (!config->cq_ex) {
		cq = ibv_create_cq(end->nic->ctx, config->cqe, NULL,
				   end->channel, 0);
		REQUIRE(cq);
		return cq;
	}
	attr = *config->cq_ex;
	attr.cqe = config->cqe;
	attr.channel = end->channel;
	cqx = ibv_create_cq_ex(end->nic->ctx, &attr);
	REQUIRE(cqx);
	return ibv_cq_ex_to_cq(cqx);
}

int qp_to(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state)
{
	attr->qp_state = state;
	return ibv_modify_qp(qp, attr, qp_mask(qp->qp_type, state));
}

void qp_to_rts(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	REQUIRE_EQ(qp_to(qp, attr, IBV_QPS_INIT), 0);
	REQUIRE_EQ(qp_to(qp, attr, IBV_QPS_RTR), 0);
	REQUIRE_EQ(qp_to(qp, attr, IBV_QPS_RTS), 0);
}

struct ibv_ah_attr path_to(const struct nic *from, const struct nic *to)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.dlid = to->port.lid,
		.port_num = 1,
		.grh = { .dgid = to->gid, .hop_limit = 64,
			 .sgid_index = from->gid_index },
	};
}

struct ibv_flow *flow_to_nobody(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow),
			  .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(flow.eth),
			 .val.dst_mac = { 2, 0, 0, 0, 0, 7 },
			 .mask.dst_mac = { 255, 255, 255, 255, 255, 255 } },
	};

	return ibv_create_flow(qp, &flow.attr);
}

struct end end_make(struct nic *nic, const struct config *config)
{
	struct end end = { .nic = nic, .config = *config };
	struct ibv_qp_init_attr_ex init = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = config->pd ? config->pd : nic->pd,
		.qp_type = options.is_uc ? IBV_QPT_UC : IBV_QPT_RC,
		.sq_sig_all = config->sq_sig_all,
		.cap.max_send_wr = config->max_send_wr,
		.cap.max_recv_wr = config->max_recv_wr,
		.cap.max_send_sge = config->max_send_sge,
		.cap.max_recv_sge = config->max_recv_sge,
		.cap.max_inline_data = config->max_inline,
	};

	if (config->events) {
		end.channel = ibv_create_comp_channel(nic->ctx);
		REQUIRE(end.channel);
	}
	end.scq = end_make_cq(&end);
	end.rcq = config->one_cq ? end.scq : end_make_cq(&end);
	init.send_cq = end.scq;
	init.recv_cq = end.rcq;
	if (config->ops) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = config->ops;
	}
	/* Without extended QPs in a device, this calls ibv_create_qp(). */
	end.qp = ibv_create_qp_ex(nic->ctx, &init);
	REQUIRE(end.qp);
	end.cap = init.cap;
	if (getrandom(&end.psn, sizeof(end.psn), 0) != sizeof(end.psn))
		FAIL("getrandom");
	end.psn &= 0xffffff;
	return end;
}

void end_destroy(struct end *end)
{
	REQUIRE_EQ(ibv_destroy_qp(end->qp), 0);
	REQUIRE_EQ(ibv_destroy_cq(end->scq), 0);
	if (end->rcq != end->scq)
		REQUIRE_EQ(ibv_destroy_cq(end->rcq), 0);
	if (end->channel)
		REQUIRE_EQ(ibv_destroy_comp_channel(end->channel), 0);
}

struct address end_address(const struct end *end)
{
	struct address address = {
		.gid = end->nic->gid,
		.qpn = end->qp->qp_num,
		.psn = end->psn,
		.mtu = end->config.mtu ? end->config.mtu :
					 end->nic->port.active_mtu,
		.lid = end->nic->port.lid,
	};

	return address;
}

int end_to_init(struct end *end)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = end->config.qp_access,
	};

	if (options.is_uc)
		attr.qp_access_flags &= IBV_ACCESS_REMOTE_WRITE;
	return qp_to(end->qp, &attr, IBV_QPS_INIT);
}

int end_to_rtr(struct end *end, const struct address *peer)
{
	struct ibv_qp_attr attr = {
		.path_mtu = end_address(end).mtu < peer->mtu ?
			    end_address(end).mtu : peer->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = end->config.max_dest_rd_atomic,
		.min_rnr_timer = end->config.min_rnr_timer,
		.ah_attr = {
			.is_global = !is_infiniband(end->nic),
			.dlid = peer->lid,
			.static_rate = end->config.rate,
			.port_num = 1,
			.grh.dgid = peer->gid,
			.grh.sgid_index = end->nic->gid_index,
			.grh.hop_limit = 64,
		},
	};

	return qp_to(end->qp, &attr, IBV_QPS_RTR);
}

int end_to_rts(struct end *end)
{
	struct ibv_qp_attr attr = {
		.timeout = end->config.timeout,
		.retry_cnt = end->config.retry_cnt,
		.rnr_retry = end->config.rnr_retry,
		.sq_psn = end->psn,
		.max_rd_atomic = end->config.max_rd_atomic,
	};

	return qp_to(end->qp, &attr, IBV_QPS_RTS);
}

int end_to(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
}

void end_connect(struct end *end, const struct address *peer)
{
	REQUIRE_EQ(end_to_init(end), 0);
	REQUIRE_EQ(end_to_rtr(end, peer), 0);
	REQUIRE_EQ(end_to_rts(end), 0);
}

void pair_connect(struct end *a, struct end *b)
{
	struct address to_a = end_address(a), to_b = end_address(b);

	/* Both must be able to receive before one can send. */
	REQUIRE_EQ(end_to_init(a), 0);
	REQUIRE_EQ(end_to_init(b), 0);
	REQUIRE_EQ(end_to_rtr(a, &to_b), 0);
	REQUIRE_EQ(end_to_rtr(b, &to_a), 0);
	REQUIRE_EQ(end_to_rts(a), 0);
	REQUIRE_EQ(end_to_rts(b), 0);
}

void pair_reconnect(struct end *a, struct end *b)
{
	REQUIRE_EQ(end_to(a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(b, IBV_QPS_RESET), 0);
	pair_connect(a, b);
}

void pair_make(struct end *a, struct end *b, const struct config *config)
{
	*a = end_make(nic_a(), config);
	*b = end_make(nic_b(), config);
	pair_connect(a, b);
}

enum ibv_qp_state end_state(const struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE_EQ(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void end_wait_state(const struct end *end, enum ibv_qp_state state)
{
	uint64_t until = millis() + wait_ms();
	enum ibv_qp_state now;

	while ((now = end_state(end)) != state) {
		if (millis() > until)
			FAIL("QP is in state %d, expected %d", now, state);
		sched_yield();
	}
}

/* ---- posting ------------------------------------------------------------ */

struct ibv_send_wr wr_send(uint64_t wr_id, struct ibv_sge *sge, int num)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return wr;
}

struct ibv_send_wr wr_rdma(uint64_t wr_id, enum ibv_wr_opcode opcode,
			   struct ibv_sge *sge, int num, uint64_t remote_addr,
			   uint32_t rkey)
{
	struct ibv_send_wr wr = wr_send(wr_id, sge, num);

	wr.opcode = opcode;
	wr.wr.rdma.remote_addr = remote_addr;
	wr.wr.rdma.rkey = rkey;
	return wr;
}

void post(struct end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(end->qp, wr, &bad);

	if (err)
		FAIL("ibv_post_send: %s", strerror(err));
}

void post_recv(struct end *end, uint64_t wr_id, struct ibv_sge *sge, int num)
{
	struct ibv_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num,
	};
	struct ibv_recv_wr *bad = NULL;
	int err = ibv_post_recv(end->qp, &wr, &bad);

	if (err)
		FAIL("ibv_post_recv: %s", strerror(err));
}

/* ---- completions -------------------------------------------------------- */

static bool poll_until(struct ibv_cq *cq, struct ibv_wc *wc, uint64_t until)
{
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		REQUIRE(n >= 0);
		if (n)
			return true;
		/* Two pollers must not starve the sender. */
		sched_yield();
	} while (millis() < until);
	return false;
}

struct ibv_wc wait_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (!poll_until(cq, &wc, millis() + wait_ms()))
		FAIL("no completion within %d ms", wait_ms());
	return wc;
}

struct ibv_wc wait_status(struct ibv_cq *cq, uint64_t wr_id,
			  enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_wc(cq);

	if (wc.status != status)
		FAIL("request %lld: %s (vendor %u), expected %s",
		     (long long)wc.wr_id, ibv_wc_status_str(wc.status),
		     wc.vendor_err, ibv_wc_status_str(status));
	REQUIRE_EQ(wc.wr_id, wr_id);
	return wc;
}

struct ibv_wc wait_ok(struct ibv_cq *cq, uint64_t wr_id,
		      enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = wait_status(cq, wr_id, IBV_WC_SUCCESS);

	REQUIRE_EQ(wc.opcode, opcode);
	return wc;
}

void require_no_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	if (n)
		FAIL("unexpected completion of request %lld: %s",
		     (long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

void require_quiet(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (poll_until(cq, &wc, millis() + QUIET_MS))
		FAIL("unexpected completion of request %lld: %s",
		     (long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

/* Port events may come at any time and concern no test. */
static bool is_of_port(enum ibv_event_type type)
{
	return type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR ||
	       type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_PKEY_CHANGE;
}

static struct ibv_async_event take_event(struct ibv_context *ctx, const char *expected)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&pfd, 1, wait_ms()) != 1)
		FAIL("no event within %d ms, expected %s", wait_ms(), expected);
	REQUIRE_EQ(ibv_get_async_event(ctx, &event), 0);
	ibv_ack_async_event(&event);
	return event;
}

void wait_event(struct ibv_context *ctx, enum ibv_event_type type)
{
	const char *expected = ibv_event_type_str(type);
	struct ibv_async_event event;

	do
		event = take_event(ctx, expected);
	while (event.event_type != type && is_of_port(event.event_type));
	if (event.event_type != type)
		FAIL("event %s, expected %s",
		     ibv_event_type_str(event.event_type), expected);
}

void wait_removal(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	do
		event = take_event(ctx, "that of the removal");
	while (is_of_port(event.event_type) ||
	       event.event_type == IBV_EVENT_QP_ACCESS_ERR);
	if (event.event_type != IBV_EVENT_DEVICE_FATAL)
		FAIL("event %s, expected that of the removal",
		     ibv_event_type_str(event.event_type));
}

void require_no_event(struct ibv_context *ctx)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&pfd, 1, 50) == 1) {
		event = take_event(ctx, "none");
		if (!is_of_port(event.event_type))
			FAIL("event %s", ibv_event_type_str(event.event_type));
	}
}

struct ibv_async_event wait_event_of_object(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	do
		event = take_event(ctx, "one of an object");
	while (is_of_port(event.event_type));
	return event;
}

/* ---- two processes ------------------------------------------------------ */

static struct addrinfo *resolve(const char *host, const char *port)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (host ? 0 : AI_PASSIVE),
		.ai_family = host ? AF_UNSPEC : AF_INET6,
	};
	struct addrinfo *info;
	int err = getaddrinfo(host, port, &hints, &info);

	if (err)
		FAIL("%s port %s: %s", host ? host : "*", port,
		     gai_strerror(err));
	return info;
}

int tcp_listen(const char *port)
{
	struct addrinfo *info = resolve(NULL, port);
	int fd, conn, on = 1;

	fd = socket(info->ai_family, info->ai_socktype, 0);
	REQUIRE(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	REQUIRE(!bind(fd, info->ai_addr, info->ai_addrlen));
	REQUIRE(!listen(fd, 1));
	conn = accept(fd, NULL, NULL);
	REQUIRE(conn >= 0);
	close(fd);
	freeaddrinfo(info);
	return conn;
}

int tcp_connect(const char *host, const char *port)
{
	struct addrinfo *info = resolve(host, port);
	uint64_t until = millis() + wait_ms();
	int fd;

	for (;;) {
		fd = socket(info->ai_family, info->ai_socktype, 0);
		REQUIRE(fd >= 0);
		if (!connect(fd, info->ai_addr, info->ai_addrlen))
			break;
		close(fd);
		if (millis() > until)
			FAIL("%s port %s: %s", host, port, strerror(errno));
		sched_yield();
	}
	freeaddrinfo(info);
	return fd;
}

struct address swap_addresses(int fd, const struct address *mine)
{
	struct address theirs;

	REQUIRE(write(fd, mine, sizeof(*mine)) == sizeof(*mine));
	REQUIRE(recv(fd, &theirs, sizeof(theirs), MSG_WAITALL) ==
		sizeof(theirs));
	return theirs;
}
