/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Objects of the provider, and its functions, grouped by file.
 *
 * Locks: sq.lock and rq.lock of a QP protect posting, cq.lock protects polling.
 * Arming takes no lock. No two are held together. None is held over a system call, except
 * the lock of a CQ or SRQ while its size changes.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ccan/list.h>
#include <infiniband/driver.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <util/util.h>

#include "softhca_abi_drv.h"

#define SHCA_ALWAYS_INLINE	inline __attribute__((always_inline))

/*
 * A spinlock, or none.
 * @unused:	the program has promised to use one thread at a time, see
 *		ibv_alloc_parent_domain() and IBV_CREATE_CQ_ATTR_SINGLE_THREADED
 */
struct shca_lock {
	pthread_spinlock_t spin;
	bool unused;
};

static inline void shca_lock_init(struct shca_lock *lock, bool unused)
{
	pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
	lock->unused = unused;
}

static inline void shca_lock_destroy(struct shca_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

static inline void shca_lock(struct shca_lock *lock)
{
	if (likely(!lock->unused))
		pthread_spin_lock(&lock->spin);
}

static inline void shca_unlock(struct shca_lock *lock)
{
	if (likely(!lock->unused))
		pthread_spin_unlock(&lock->spin);
}

struct shca_device {
	struct verbs_device vdev;
};

/*
 * Address handles that live on (ah.c).
 * @lock:	held over doorbells and the end of handles
 * @qps:	the context's UD queue pairs, @nr_qps of them
 * @late:	handles that the program has destroyed
 */
struct shca_ahs {
	pthread_mutex_t lock;
	struct list_head qps;
	unsigned int nr_qps;
	struct list_head late;
};

/*
 * An open device.
 * @page_size:	size of the pages with indices and status
 * @features:	features granted by the kernel
 * @poller:	rings the doorbell in place of posts (poller.h), or NULL
 * @lint:	what the sanitizer knows (lint.h), or NULL
 * @ahs:	what UD queue pairs and address handles know of each other
 */
struct shca_context {
	struct verbs_context vctx;
	size_t page_size;
	uint64_t features;
	struct shca_poller *poller;
	struct shca_lint *lint;
	struct shca_ahs ahs;
};

/* A thread domain; @users: parent domains that use it. */
struct shca_td {
	struct ibv_td td;
	atomic_int users;
};

/*
 * A protection domain, or a parent domain.
 * @base:	parent domain: its protection domain; otherwise NULL
 * @td:		parent domain: its thread domain, or NULL
 * @users:	protection domain: its parent domains; parent domain: its queues
 *		(the kernel counts the others)
 */
struct shca_pd {
	struct ibv_pd pd;
	struct shca_pd *base;
	struct shca_td *td;
	atomic_int users;
};

/*
 * An address handle.
 * @handle:	for shca_send_wqe.ud.ah
 * @pd_handle:	its protection domain; @ah.pd may be a parent domain that is gone
 * @qpn:	the first QP that posted to it (shca_ah_used()), 0: none yet
 * @shared:	others have, too
 */
struct shca_ah {
	struct ibv_ah ah;
	uint32_t handle;
	uint32_t pd_handle;
	uint32_t qpn;
	bool shared;
};

/*
 * A completion queue.
 * @ring:	completions that the kernel writes; mapped read-only
 * @index:	indices that the kernel reads
 * @told:	@index->arm when an event was last read; atomic, without the lock
 * @cons:	next completion to poll; @index->cons is its published copy
 * @cur: @wallclock: @wall_offset: polling by iterator, see cq_ex.c
 * @domain:	parent domain in which it was created, or NULL
 * @lost:	errno if mapping a new ring failed; polling then fails until
 *		another resize succeeds
 * @dead:	bitmap of slots whose completions polling skips, see
 *		shca_cq_purge(); @nr_dead bits are set
 * @lint:	what the sanitizer knows of it, or NULL
 */
struct shca_cq {
	struct verbs_cq vcq;
	struct shca_lock lock;
	const struct shca_cqe *ring;
	size_t ring_len;
	struct shca_cq_index *index;
	uint32_t told;
	uint32_t mask;
	uint32_t cons;		/* lock protects it and all below */
	bool wallclock;
	int lost;
	const struct shca_cqe *cur;
	int64_t wall_offset;
	struct shca_pd *domain;
	uint32_t nr_dead;
	uint8_t *dead;
	struct shca_lint_cq *lint;
};

/*
 * A ring of requests: sends or receives of a QP, an SRQ, a WQ.
 * @slots:	@mask + 1 slots of @stride bytes
 * @max_wr:	requests that may be outstanding, at most @mask + 1
 * @prod:	next slot to write
 * @cons:	retired by the kernel, cached value
 * @lint:	what the sanitizer knows of it; only lint_*.c use it
 */
struct shca_wq {
	struct shca_lock lock;
	uint8_t *slots;
	uint32_t mask;
	uint32_t stride;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t prod;		/* protected by lock */
	uint32_t cons;		/* protected by lock */
	struct shca_lint_queue *lint;
};

/*
 * Called when the requests up to @prod are in the ring, and the kernel does not see them yet.
 * Functions that post have it as a constant argument, so NULL costs nothing.
 * Context: wq->lock held.
 */
typedef void shca_watch_fn(struct shca_wq *wq, uint32_t prod);

/* The doorbell's command, with its one attribute. */
union shca_doorbell {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
		     sizeof(struct ib_uverbs_attr)];
};

/*
 * A queue pair.
 * @index:	head of the request region, read-write; the slots follow
 * @status:	state written by the kernel, mapped read-only. @status and
 *		@index are NULL if there are no rings: XRC responders, QPs with
 *		work queues
 * @domain:	parent domain in which it was created, or NULL
 * @opcodes:	send opcodes of this type of QP, one bit each
 * @ex:		section from ibv_wr_start() to its end: current request, next
 *		slot, first error; under sq.lock. Outside of a section there is
 *		no current request. The end of a handle reads both without the lock
 * @slot:	its slot of the poller, or NULL if the poller does not serve it
 * @ah_entry:	UD: in struct shca_ahs
 */
struct shca_qp {
	struct verbs_qp vqp;
	struct shca_wq sq;
	struct shca_wq rq;
	struct shca_qp_index *index;
	size_t region_len;
	const struct shca_qp_status *status;
	struct shca_pd *domain;
	uint32_t opcodes;
	uint32_t max_inline;
	bool sig_all;
	bool streams;
	bool ece_is_set;
	uint32_t ece;
	struct {
		struct shca_send_wqe *wqe;
		uint32_t prod;
		int err;
	} ex;
	union shca_doorbell doorbell;
	struct shca_poller_slot *slot;
	struct list_node ah_entry;
};

/*
 * A work queue; members as in struct shca_qp.
 * @ring:	ring of receive requests
 */
struct shca_rwq {
	struct ibv_wq wq;
	struct shca_wq ring;
	struct shca_qp_index *index;
	size_t region_len;
	const struct shca_qp_status *status;
	struct shca_pd *domain;
	union shca_doorbell doorbell;
};

/*
 * A shared receive queue.
 * @wq:		its ring, mapped at the offset in @status
 * @index:	head of the request region, read-write
 * @start:	offset of the slots
 * @lost:	errno if mapping a new ring failed; posting then fails until
 *		another resize succeeds
 */
struct shca_srq {
	struct verbs_srq vsrq;
	struct shca_pd *domain;
	struct shca_wq wq;
	struct shca_qp_index *index;
	size_t region_len;
	uint32_t start;
	int lost;
	const struct shca_srq_status *status;
};

/*
 * Device memory.
 * @map: @map_len: its mapping; the first @length bytes are device memory
 */
struct shca_dm {
	struct verbs_dm vdm;
	uint8_t *map;
	size_t map_len;
	uint64_t length;
};

static inline struct shca_context *to_shca_context(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct shca_context, vctx.context);
}

static inline struct shca_pd *to_shca_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct shca_pd, pd);
}

/* Count a new queue of @pd, if that is a parent domain. */
static inline struct shca_pd *shca_domain_get(struct ibv_pd *ibpd)
{
	struct shca_pd *pd = ibpd ? to_shca_pd(ibpd) : NULL;

	if (!pd || !pd->base)
		return NULL;
	atomic_fetch_add(&pd->users, 1);
	return pd;
}

/* Undo shca_domain_get(); @domain may be NULL. */
static inline void shca_domain_put(struct shca_pd *domain)
{
	if (domain)
		atomic_fetch_sub(&domain->users, 1);
}

static inline struct shca_ah *to_shca_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct shca_ah, ah);
}

static inline struct shca_cq *to_shca_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct shca_cq, vcq.cq);
}

static inline struct shca_qp *to_shca_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct shca_qp, vqp.qp);
}

static inline struct shca_rwq *to_shca_rwq(struct ibv_wq *wq)
{
	return container_of(wq, struct shca_rwq, wq);
}

static inline struct shca_srq *to_shca_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct shca_srq, vsrq.srq);
}

/* Does @opcode send data, which the request may then carry? */
static inline bool shca_op_may_inline(unsigned int opcode)
{
#define SHCA_OP_INLINE(name, verb, feature, on, form, length, answer, flags, ...) \
	| (SHCA_OPS_INLINE & (flags) ? 1u << SHCA_WR_##name : 0)
	const uint32_t ops = 0 SHCA_SEND_OPS(SHCA_OP_INLINE);
#undef SHCA_OP_INLINE

	return ops & (1u << opcode);
}

/* ah.c */
struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int shca_destroy_ah(struct ibv_ah *ibah);

void shca_ahs_init(struct shca_ahs *ahs);

/* The context is at its end, and so are all handles. */
void shca_ahs_uninit(struct shca_ahs *ahs);

/* @qp, a UD queue pair with rings, may use handles. */
void shca_ahs_add_qp(struct shca_ahs *ahs, struct shca_qp *qp);

/* The requests of @qp are gone. */
void shca_ahs_empty_qp(struct shca_ahs *ahs, struct shca_qp *qp);

/* @qp is gone, and still mapped. */
void shca_ahs_del_qp(struct shca_ahs *ahs, struct shca_qp *qp);

/*
 * The protection domain is about to go: its handles go.
 * Return: false: it has a queue of datagrams yet, and nothing has changed.
 */
bool shca_ahs_del_pd(struct shca_ahs *ahs, uint32_t pd_handle);

/* cq.c */
struct ibv_cq *shca_create_cq(struct ibv_context *ibctx, int cqe,
			      struct ibv_comp_channel *channel,
			      int comp_vector);
struct ibv_cq_ex *shca_create_cq_ex(struct ibv_context *ibctx,
				    struct ibv_cq_init_attr_ex *attr);
int shca_resize_cq(struct ibv_cq *ibcq, int cqe);
int shca_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int shca_destroy_cq(struct ibv_cq *ibcq);
int shca_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int shca_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void shca_cq_event(struct ibv_cq *ibcq);
void shca_cq_purge(struct ibv_cq *ibcq, uint32_t qp_num);

/* cq_ex.c */
#define SHCA_CQ_EX_WC_FLAGS \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | \
	 IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_TM_INFO)
void shca_cq_ex_init(struct shca_cq *cq, uint64_t wc_flags);
int shca_query_rt_values(struct ibv_context *ibctx,
			 struct ibv_values_ex *values);

/* dm.c */
struct ibv_dm *shca_alloc_dm(struct ibv_context *ibctx,
			     struct ibv_alloc_dm_attr *attr);
int shca_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *shca_import_dm(struct ibv_context *ibctx, uint32_t handle);
void shca_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *shca_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			      uint64_t offset, size_t length,
			      unsigned int access);

/* fault.c */

/*
 * Verbs of a context fail by the rules of SOFTHCA_FAULTS, if it is set.
 * @ops:	the operations, to be replaced
 * Return: 0, or an errno after a message on stderr: the file or a rule is wrong.
 */
int shca_fault_start(struct verbs_context_ops *ops);

/* lint.c */

/*
 * Watch the use of @ctx, if SOFTHCA_LINT is set.
 * @ops:	the operations, to be replaced
 * Return: 0, or an errno, after a message on stderr if a word is wrong.
 */
int shca_lint_start(struct shca_context *ctx, struct verbs_context_ops *ops);
void shca_lint_stop(struct shca_context *ctx);

/* lint_queue.c */
shca_watch_fn shca_lint_posted;

/* lint_verbs.c */
void shca_lint_set_ops(struct verbs_context_ops *ops);

/* pd.c */
struct ibv_pd *shca_alloc_pd(struct ibv_context *ibctx);
struct ibv_td *shca_alloc_td(struct ibv_context *ibctx,
			     struct ibv_td_init_attr *attr);
int shca_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *shca_import_pd(struct ibv_context *ibctx, uint32_t handle);
void shca_unimport_pd(struct ibv_pd *ibpd);
int shca_dealloc_pd(struct ibv_pd *ibpd);

/* qp.c */
struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *shca_create_qp_ex(struct ibv_context *ibctx,
				 struct ibv_qp_init_attr_ex *attr);
int shca_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int shca_modify_qp_rate_limit(struct ibv_qp *ibqp,
			      struct ibv_qp_rate_limit_attr *attr);
int shca_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr);
int shca_destroy_qp(struct ibv_qp *ibqp);
int shca_query_ece(struct ibv_qp *ibqp, struct ibv_ece *ece);
int shca_set_ece(struct ibv_qp *ibqp, struct ibv_ece *ece);
int shca_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr);
int shca_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr);
/* The same, watched by the sanitizer. */
int shca_lint_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr);
int shca_lint_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);

/* A bind of @mw, which keeps its key until shca_mw_set_key(). */
void shca_fill_bind(struct shca_send_wqe *wqe, const struct ibv_mw *mw,
		    const struct ibv_mw_bind_info *info, uint32_t rkey);

/* The low byte is the program's, as in the kernel (path/sq.c). */
static inline void shca_mw_set_key(struct ibv_mw *mw, uint32_t rkey)
{
	mw->rkey = (mw->rkey & ~0xffu) | (rkey & 0xff);
}

/* qp_ex.c */
int shca_qp_ex_check(uint32_t opcodes, uint64_t flags);
void shca_qp_ex_init(struct shca_qp *qp, uint64_t flags);

struct shca_qp *shca_qp_alloc(bool unlocked);
void shca_qp_free(struct shca_qp *qp);

/* mr.c */
struct ibv_mr *shca_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			   uint64_t iova, int access);
struct ibv_mr *shca_alloc_null_mr(struct ibv_pd *pd);
struct ibv_mr *shca_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access);
#ifndef LIBIBVERBS_LACKS_DMAH
struct ibv_mr *shca_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
#endif
int shca_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
int shca_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		  void *addr, size_t length, int access);
int shca_dereg_mr(struct verbs_mr *vmr);

#ifndef LIBIBVERBS_LACKS_DMAH
/* dmah.c */
struct ibv_dmah *shca_alloc_dmah(struct ibv_context *ibctx,
				 struct ibv_dmah_init_attr *attr);
int shca_dealloc_dmah(struct ibv_dmah *ibdmah);
#endif

/* mw.c */
struct ibv_mw *shca_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shca_dealloc_mw(struct ibv_mw *mw);
int shca_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		 struct ibv_mw_bind *mw_bind);

/* srq.c */
struct ibv_srq *shca_create_srq(struct ibv_pd *pd,
				struct ibv_srq_init_attr *attr);
struct ibv_srq *shca_create_srq_ex(struct ibv_context *ibctx,
				   struct ibv_srq_init_attr_ex *attr);
int shca_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask);
int shca_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int shca_destroy_srq(struct ibv_srq *ibsrq);
int shca_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr);
int shca_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr);
int shca_lint_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr);

/* wq.c */
struct ibv_wq *shca_create_wq(struct ibv_context *ibctx,
			      struct ibv_wq_init_attr *attr);
int shca_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int shca_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *
shca_create_rwq_ind_table(struct ibv_context *ibctx,
			  struct ibv_rwq_ind_table_init_attr *attr);
int shca_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* xrc.c */
struct ibv_xrcd *shca_open_xrcd(struct ibv_context *ibctx,
				struct ibv_xrcd_init_attr *attr);
int shca_close_xrcd(struct ibv_xrcd *ibxrcd);
int shca_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);
struct ibv_qp *shca_open_qp(struct ibv_context *ibctx,
			    struct ibv_qp_open_attr *attr);

/* verbs.c */
struct ibv_flow *shca_create_flow(struct ibv_qp *qp,
				  struct ibv_flow_attr *attr);
int shca_destroy_flow(struct ibv_flow *flow);
int shca_query_device_ex(struct ibv_context *ibctx,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size);
int shca_query_port(struct ibv_context *ibctx, uint8_t port,
		    struct ibv_port_attr *attr);
struct ibv_mr *shca_import_mr(struct ibv_pd *pd, uint32_t handle);
void shca_unimport_mr(struct ibv_mr *mr);

#endif
