/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs sanitizer (SOFTHCA_LINT): finds use of the verbs that the compiler accepts,
 * that often works, and that is wrong all the same. docs/lint.md has each finding.
 *
 * It is a second set of functions in the context's operations. Each calls the real one.
 * It keeps a copy of each posted request until the program has polled its completion.
 * The real rings forget a request as soon as the kernel has retired it.
 *
 *	lint.c		who is asked for it, and reports
 *	lint_memory.c	regions, and checksums of buffers
 *	lint_queue.c	posted requests, and what is wrong with them
 *	lint_verbs.c	the functions in the context's operations
 *
 * Lock: shca_lint.lock protects everything of a context. It is taken inside sq.lock,
 * rq.lock and cq.lock, and no other lock is taken inside it. It is not held over a system
 * call of the real functions.
 */
#ifndef SOFTHCA_LINT_H
#define SOFTHCA_LINT_H

#include <ccan/list.h>

#include "softhca.h"

/*
 * Findings, as F(id, level, name): the names are in docs/lint.md. An error is wrong by the rules
 * of the verbs. A hint may be meant so.
 */
#define SHCA_LINT_FINDINGS(F)						\
	F(SEND_CHANGED, ERROR, "send-changed")				\
	F(RECV_OVERWRITTEN, ERROR, "recv-overwritten")			\
	F(RECV_OVERLAP, HINT, "recv-overlap")				\
	F(UNMAPPED, ERROR, "unmapped")					\
	F(MR_IN_USE, ERROR, "mr-in-use")				\
	F(MW_IN_USE, ERROR, "mw-in-use")				\
	F(AH_IN_USE, ERROR, "ah-in-use")				\
	F(ACCESS, ERROR, "access")					\
	F(RANGE, ERROR, "range")					\
	F(NEVER_RETIRES, ERROR, "never-retires")			\
	F(CQ_SMALL, ERROR, "cq-small")					\
	F(NO_READ_DEPTH, ERROR, "no-read-depth")			\
	F(READ_DEPTH, HINT, "read-depth")				\
	F(NO_TIMEOUT, ERROR, "no-timeout")				\
	F(NO_RETRY, HINT, "no-retry")					\
	F(FIRST_PSN, ERROR, "first-psn")

enum shca_lint_finding {
#define F(id, level, name) SHCA_LINT_##id,
	SHCA_LINT_FINDINGS(F)
#undef F
	SHCA_LINT_NR_FINDINGS
};

#define SHCA_LINT_FRAMES	20
#define SHCA_LINT_BUCKETS	256

/* Marks the handle of an address handle, for 0 is one. */
#define SHCA_LINT_AH		(1ull << 32)

/* Return addresses; the first are in this library. */
struct shca_lint_stack {
	int nr;
	void *frame[SHCA_LINT_FRAMES];
};

/*
 * A memory region.
 * @iova: @length:	what requests name
 * @addr:	address of its first byte in this process
 * @readable:	this process can read it there
 */
struct shca_lint_mr {
	struct list_node entry;
	uint32_t lkey;
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint64_t addr;
	bool readable;
};

/*
 * A segment.
 * @sum:	checksum of its bytes at the time of the post, if @summed
 */
struct shca_lint_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
	uint64_t sum;
	bool summed;
};

/*
 * A posted request.
 * @index:	its place in the ring
 * @counted:	it is one of @outstanding of its CQ
 * @checked:	its buffers were compared; they may change from here on
 * @ordered:	a fence is before it, so earlier requests may change its buffers
 * @mw: @mr_lkey: @ah:	keys and handle of what it uses, or 0. @ah has SHCA_LINT_AH
 * @again_*:	receives: the part of its buffer in which an earlier receive has
 *		completed. Address, length, and checksum of what the program saw
 */
struct shca_lint_post {
	struct list_node entry;
	struct shca_lint_stack stack;
	uint64_t wr_id;
	uint32_t index;
	uint8_t opcode;
	bool signaled;
	bool counted;
	bool checked;
	bool ordered;
	uint32_t mw;
	uint32_t mr_lkey;
	uint64_t ah;
	uint64_t again_wr_id;
	uint64_t again_addr;
	uint64_t again_length;
	uint64_t again_sum;
	uint32_t nr_sge;
	struct shca_lint_sge sge[];
};

/* A CQ; @outstanding: requests that will complete there. */
struct shca_lint_cq {
	struct ibv_cq *ibcq;
	uint32_t outstanding;
	bool may_overrun;
	int (*start_poll)(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cqx);
};

/*
 * A send queue, a receive queue or an SRQ.
 * @posted:	struct shca_lint_post: what the program has not seen complete, oldest
 *		first
 * @nr:		length of @posted; @nr_signaled and @nr_reads of them are so
 * @qp:		its QP; NULL: an SRQ
 * @cq:		where its requests complete; NULL: unknown, or an SRQ
 */
struct shca_lint_queue {
	struct list_head posted;
	struct shca_lint *lint;
	struct shca_lint_qp *qp;
	struct shca_lint_cq *cq;
	struct shca_wq *wq;
	bool is_send;
	uint32_t nr;
	uint32_t nr_signaled;
	uint32_t nr_reads;
};

/* An SRQ; @used: a QP may get messages for it. */
struct shca_lint_srq {
	struct list_node entry;
	struct shca_srq *srq;
	bool used;
	struct shca_lint_queue queue;
};

/*
 * A QP.
 * @ending:	its real one is being destroyed
 * @self:	its peer is on this port
 * @rq_psn:	what the program has set
 * @psn_at:	since when requests have come, but none with @rq_psn, in ms; 0: no
 * @psn_said:	that was reported
 */
struct shca_lint_qp {
	struct list_node entry;
	struct shca_qp *qp;
	uint32_t qp_num;
	struct shca_lint_queue send;
	struct shca_lint_queue recv;
	struct shca_lint_srq *srq;
	bool ending;
	bool self;
	bool has_read_depth;
	uint8_t read_depth;
	uint32_t rq_psn;
	uint64_t psn_at;
	bool psn_said;
	int (*wr_complete)(struct ibv_qp_ex *qpx);
};

/*
 * What is known of a context.
 * @next:	the real operations
 * @psn_checked:	when first PSNs were looked at, in ms
 */
struct shca_lint {
	pthread_mutex_t lock;
	struct ibv_context *ibctx;
	struct verbs_context_ops next;
	uint64_t psn_checked;
	struct list_head qps[SHCA_LINT_BUCKETS];
	struct list_head mrs[SHCA_LINT_BUCKETS];
	struct list_head srqs;
};

/* ---- lint.c -------------------------------------------------------------- */

/* Find where the verb is called. */
void shca_lint_stack_get(struct shca_lint_stack *stack);

/* Is the finding reported at the level that was asked for? */
bool shca_lint_wants(enum shca_lint_finding finding);

/*
 * Report a finding, the first time at each place.
 * @queue: @post:	the request that it concerns; NULL: none
 * @now:	the stack of the present call if that is not the post's; NULL: none
 */
void shca_lint_say(struct shca_lint *lint, enum shca_lint_finding finding,
		   const struct shca_lint_queue *queue,
		   const struct shca_lint_post *post,
		   const struct shca_lint_stack *now, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* ---- lint_memory.c ------------------------------------------------------- */

/* Take over a description of a region; NULL: none. */
void shca_lint_mr_add(struct shca_lint *lint, struct shca_lint_mr *mr);
void shca_lint_mr_del(struct shca_lint *lint, uint32_t lkey);
/* Find a region by its key, or NULL. */
struct shca_lint_mr *shca_lint_mr_find(struct shca_lint *lint, uint32_t lkey);
/* Address of a segment in this process; 0 if it cannot be read. */
uint64_t shca_lint_address(struct shca_lint *lint, uint32_t lkey, uint64_t addr,
			   uint64_t length);

/*
 * Checksum of memory, of the first and the last 32 KiB if it is long.
 * Return: 0; EFAULT if some of it is not mapped; another errno if it cannot be read.
 */
int shca_lint_sum(uint64_t address, uint64_t length, uint64_t *sum);

/* ---- lint_queue.c -------------------------------------------------------- */

void shca_lint_queue_init(struct shca_lint_queue *queue, struct shca_lint *lint,
			  struct shca_wq *wq, bool is_send);
/* Forget what is posted; lint->lock held. */
void shca_lint_queue_clear(struct shca_lint_queue *queue);
/* What is posted completes to @cq, or with NULL nowhere; likewise. */
void shca_lint_queue_set_cq(struct shca_lint_queue *queue,
			    struct shca_lint_cq *cq);
/* Find a QP by its number, or NULL; lint->lock held. */
struct shca_lint_qp *shca_lint_qp_find(struct shca_lint *lint, uint32_t qp_num);
/* The program is about to see a completion of @qp_num. */
void shca_lint_completed(struct shca_lint *lint, uint64_t wr_id,
			 enum ibv_wc_status status, unsigned int opcode,
			 uint32_t qp_num, uint32_t byte_len);

typedef bool shca_lint_uses_fn(const struct shca_lint_post *post, uint64_t key);
/* Report each request that waits and for which @uses is true. */
void shca_lint_used(struct shca_lint *lint, enum shca_lint_finding finding,
		    shca_lint_uses_fn *uses, uint64_t key, const char *what);

static inline struct shca_lint *shca_lint_of(struct ibv_context *ibctx)
{
	return to_shca_context(ibctx)->lint;
}

#endif
