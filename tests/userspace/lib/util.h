/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by all programs of tests that use the verbs: verbs, garble, tests/bench. It has
 * a runner of named tests, devices, queue pairs, connected pairs of them, patterns in
 * memory, waiting for completions. Programs that people read to learn the verbs have
 * their own set-up: examples, docs/learn.
 *
 * Each test runs in a process of its own, under a time limit. It ends at the
 * first failure, and the kernel cleans up after it. So tests neither pass
 * errors upwards nor free what they made, unless they test that.
 */
#ifndef UTIL_H
#define UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define KIB		1024u
#define MIB		(1024u * 1024u)

/* ---- the runner --------------------------------------------------------- */

/** struct test - a row of a program's table; the last has no name */
struct test {
	const char *name;
	void (*run)(void);
};

/**
 * struct options - the command line
 * @device:	the first device; default: the only one
 * @peer:	the second device, default: the first
 * @family:	address family of GIDs: 4, 6, or 0 for any
 * @max_len:	longest message of tests that try many lengths; 0 for no limit
 * @gid:	GID index of each device; -1 for the first of the family
 * @is_uc:	queue pairs are UC, not RC
 */
struct options {
	const char *device;
	const char *peer;
	int family;
	uint32_t max_len;
	int gid[2];
	bool is_uc;
};
extern struct options options;

/**
 * slow_factor() - how many times slower than usual this machine is (SHCA_SLOW)
 *
 * It only scales waits that guard against waiting forever. It is measured, and
 * no verdict depends on it.
 */
int slow_factor(void);
/** has_checkers() - does the kernel have checkers, which make it slow? (SHCA_CHECKERS) */
bool has_checkers(void);

/** test_name - of the test that runs */
extern const char *test_name;

/** util_main() - run the tests that the command line names, or all */
int util_main(const struct test *tests, int argc, char **argv);

/** util_main_rc_uc() - the same; with -q uc the tests of the second table */
int util_main_rc_uc(const struct test *tests, const struct test *uc_tests,
		    int argc, char **argv);

/** test_fail() - end this test: not ok, for the given reason */
void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

/** test_skip() - end this test: it cannot run here, for the given reason */
void test_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#define FAIL(...)	test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* REQUIRE(condition): the test fails if it does not hold. */
#define REQUIRE(cond)							\
	do {								\
		if (!(cond))						\
			FAIL("%s (errno %d)", #cond, errno);		\
	} while (0)

/* REQUIRE_EQ(value, expected): both are printed. */
#define REQUIRE_EQ(value, expected)					\
	do {								\
		long long v_ = (value), e_ = (expected);		\
		if (v_ != e_)						\
			FAIL("%s is %lld, expected %s = %lld", #value,	\
			     v_, #expected, e_);			\
	} while (0)

/* REQUIRE_ERRNO(pointer, error): creation fails with that errno. */
#define REQUIRE_ERRNO(pointer, error)					\
	do {								\
		errno = 0;						\
		if (pointer)						\
			FAIL("%s: succeeded, expected %s", #pointer,	\
			     strerror(error));				\
		if (errno != (error))					\
			FAIL("%s: %s, expected %s", #pointer,		\
			     strerror(errno), strerror(error));		\
	} while (0)

/** millis() - a clock for time limits */
uint64_t millis(void);

/* ---- devices ------------------------------------------------------------ */

/**
 * struct nic - an open device with a protection domain
 * @gid: @gid_index: a RoCEv2 GID of the requested family; of an InfiniBand port any
 */
struct nic {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/** device_open() - open a device; the only one if @name is NULL */
struct ibv_context *device_open(const char *name);

/** nic_open() - open a device; the only one if @name is NULL */
struct nic *nic_open(const char *name);

/** nic_a() nic_b() - the devices of the command line, each opened once */
struct nic *nic_a(void);
struct nic *nic_b(void);

/** mtu_bytes() - IBV_MTU_1024 to 1024 */
uint32_t mtu_bytes(enum ibv_mtu mtu);

/* ---- memory ------------------------------------------------------------- */

/**
 * struct buf - registered memory between two guard zones
 *
 * The guards are outside of the region and next to it. They have a pattern.
 */
struct buf {
	uint8_t *p;
	size_t len;
	struct ibv_mr *mr;
	uint8_t *base;
	size_t base_len;
};

#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

struct buf buf_make(struct ibv_pd *pd, size_t len, int access);

/** buf_free() - deregister and unmap, for tests that need much memory */
void buf_free(struct buf *buf);

/** buf_check_guards() - fail unless the bytes around the region are unchanged */
void buf_check_guards(const struct buf *buf);

/** fill() - write a pattern that depends on @seed and on the position */
void fill(void *p, size_t len, uint64_t seed);

/** check_fill() - fail unless @p has the pattern fill(@p, @len, @seed) */
void check_fill(const void *p, size_t len, uint64_t seed);

/**
 * is_same() - is memory that somebody writes into equal to @q by now?
 *
 * It reads each byte once. memcmp() reads one that differs again, to tell which is greater: if it has
 * been written meanwhile, memcmp() says "equal" of all the bytes behind it, too.
 */
bool is_same(const void *p, const void *q, size_t len);

/** check_bytes() - fail unless all bytes are @value */
void check_bytes(const void *p, size_t len, uint8_t value);

struct ibv_sge sge_of(const struct buf *buf, size_t off, size_t len);

/* ---- queue pairs -------------------------------------------------------- */

/**
 * struct config - attributes of an end; start from config_default
 * @cqe:	size of each CQ
 * @events:	give the CQs a completion channel
 * @one_cq:	both directions use one CQ
 * @cq_ex:	not NULL: the CQs are extended ones with these attributes
 *		(except cqe and channel)
 * @ops:	not 0: the QP is an extended one, with these operations
 * @pd:		not NULL: another domain than the device's
 * @qp_access:	remote rights of the QP
 * @mtu:	0 for the smaller active MTU of the two ports
 * @rate:	static rate of the path
 */
struct config {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	int sq_sig_all;
	int cqe;
	bool events;
	bool one_cq;
	const struct ibv_cq_init_attr_ex *cq_ex;
	uint64_t ops;
	struct ibv_pd *pd;
	int qp_access;
	enum ibv_mtu mtu;
	enum ibv_rate rate;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
};
extern const struct config config_default;

/** struct end - a queue pair (RC, or UC with -q uc) and its completion queues */
struct end {
	struct nic *nic;
	struct config config;
	struct ibv_qp_cap cap;
	struct ibv_comp_channel *channel;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	uint32_t psn;
};

/** struct address - what one end must know about the other */
struct address {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint16_t mtu;
	uint16_t lid;
	uint32_t rkey;
	uint64_t va;
};

/** qp_to() - move to INIT, RTR or RTS with what the type of @qp needs; of @attr the state is set */
int qp_to(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state);
/** qp_to_rts() - through all three, which must succeed */
void qp_to_rts(struct ibv_qp *qp, struct ibv_qp_attr *attr);
/** path_to() - from one device to another */
struct ibv_ah_attr path_to(const struct nic *from, const struct nic *to);

/** flow_to_nobody() - frames to an address that nobody has go to @qp (RAW_PACKET) */
struct ibv_flow *flow_to_nobody(struct ibv_qp *qp);

/** end_make() - create a QP in RESET */
struct end end_make(struct nic *nic, const struct config *config);
void end_destroy(struct end *end);
struct address end_address(const struct end *end);

/* Each returns the result of ibv_modify_qp(). */
int end_to_init(struct end *end);
int end_to_rtr(struct end *end, const struct address *peer);
int end_to_rts(struct end *end);
int end_to(struct end *end, enum ibv_qp_state state);

/** end_connect() - move a QP from RESET to RTS, connected to @peer */
void end_connect(struct end *end, const struct address *peer);

/** pair_make() - create two connected ends, on device and peer */
void pair_make(struct end *a, struct end *b, const struct config *config);

/** pair_connect() - connect two ends in RESET */
void pair_connect(struct end *a, struct end *b);

/** pair_reconnect() - connect two ends in any state */
void pair_reconnect(struct end *a, struct end *b);

enum ibv_qp_state end_state(const struct end *end);

/** end_wait_state() - wait until the QP is in @state, at most 10 seconds */
void end_wait_state(const struct end *end, enum ibv_qp_state state);

/* ---- posting ------------------------------------------------------------ */

/** wr_send() - a signalled SEND of @num segments */
struct ibv_send_wr wr_send(uint64_t wr_id, struct ibv_sge *sge, int num);

/** wr_rdma() - a signalled WRITE or READ */
struct ibv_send_wr wr_rdma(uint64_t wr_id, enum ibv_wr_opcode opcode,
			   struct ibv_sge *sge, int num, uint64_t remote_addr,
			   uint32_t rkey);

/** post() - post, which must succeed */
void post(struct end *end, struct ibv_send_wr *wr);

/** post_recv() - post a receive, which must succeed */
void post_recv(struct end *end, uint64_t wr_id, struct ibv_sge *sge, int num);

/* ---- completions -------------------------------------------------------- */

/** wait_wc() - wait for the next completion, at most 10 seconds */
struct ibv_wc wait_wc(struct ibv_cq *cq);

/** wait_ok() - the next completion must be that of this request, successful */
struct ibv_wc wait_ok(struct ibv_cq *cq, uint64_t wr_id,
		      enum ibv_wc_opcode opcode);

/** wait_status() - the next completion must be that of this request, with this status */
struct ibv_wc wait_status(struct ibv_cq *cq, uint64_t wr_id,
			  enum ibv_wc_status status);

/** require_no_wc() - the CQ must be empty now */
void require_no_wc(struct ibv_cq *cq);

/** require_quiet() - the CQ must stay empty for a moment (negative tests only) */
void require_quiet(struct ibv_cq *cq);

/** wait_event() - the next async event of @ctx, within 10 seconds, must have this type */
void wait_event(struct ibv_context *ctx, enum ibv_event_type type);
/**
 * wait_removal() - the removal of the device is told to @ctx within 10 seconds
 *
 * The kernel ends what a process has in the reverse order of its making, and
 * its event file, which tells of the removal, last. So a peer's request may
 * find its region gone before, and the queue pair tells that.
 */
void wait_removal(struct ibv_context *ctx);
/** require_no_event() - no async event but of a port comes for a moment (negative tests) */
void require_no_event(struct ibv_context *ctx);
/** wait_event_of_object() - the next of @ctx within 10 seconds that is no port event */
struct ibv_async_event wait_event_of_object(struct ibv_context *ctx);

/* ---- two processes ------------------------------------------------------ */

/** tcp_listen() tcp_connect() - open a connection; @port is a number */
int tcp_listen(const char *port);
int tcp_connect(const char *host, const char *port);

/** swap_addresses() - send our address, receive the peer's */
struct address swap_addresses(int fd, const struct address *mine);

#endif
