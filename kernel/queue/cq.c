// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: creation, completions, events, and the kernel consumer's poll.
 *
 * Timer: shca_cq.mod_timer, for moderation. The first completion whose event waits arms it
 * (shca_cq_hold()); shca_cq_mod_timer() raises the event. Softirq.
 * Timer: shca_cq.burst_timer, for bursts and delayed placement. The first completion that is not
 * shown arms it (shca_cq_gather()), and so do the first delayed bytes (shca_cq_keep()).
 * shca_cq_burst_timer() places the bytes, and shows the completions. Softirq.
 */
#include "cq.h"

#include <linux/delay.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/trace_steps.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "../mem/delayed.h"

/* ---- arming ---------------------------------------------------------------- */

/*
 * Return: what the consumer has armed, SHCA_CQ_ARM_* or 0, with @arm for shca_cq_disarm(). A
 * process counts its requests in its arm word; each value fires once. The barrier pairs with
 * the provider's between storing arm and polling. Either the kernel sees the new arm word here,
 * or the process sees the completion when it polls (litmus: cq-arm).
 */
static u32 shca_cq_armed(struct shca_cq *cq, u32 *arm)
{
	lockdep_assert_held(&cq->lock);
	*arm = 0;
	if (!cq->is_user)
		return cq->notify;
	if (!cq->ibcq.cq_context)
		return 0;	/* no channel, and it never gets one */
	smp_mb();	/* completion before arm, see above (litmus: cq-arm) */
	*arm = READ_ONCE(cq->index->arm);
	return *arm == cq->armed ? 0 : *arm & SHCA_CQ_ARM_KIND;
}

/* Request @arm has got its event. */
static void shca_cq_disarm(struct shca_cq *cq, u32 arm)
{
	lockdep_assert_held(&cq->lock);
	cq->held = 0;
	if (cq->is_user)
		cq->armed = arm;
	else
		cq->notify = 0;
}

/* Return: whether the event waits, for further completions to share it. */
static bool shca_cq_hold(struct shca_cq *cq)
{
	if (likely(!cq->mod_period_us) || cq->held + 1 >= cq->mod_count)
		return false;
	if (!cq->held++)
		hrtimer_start(&cq->mod_timer,
			      ns_to_ktime((u64)cq->mod_period_us *
					  NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

static bool shca_wc_is_solicited(const struct shca_wc *wc)
{
	return wc->solicited || wc->status != SHCA_WC_SUCCESS;
}

/* Return: whether a completion fires what the consumer armed. */
static inline bool shca_cq_fires(struct shca_cq *cq, bool solicited)
{
	u32 arm, kind;

	kind = shca_cq_armed(cq, &arm);
	if (!kind || (kind == SHCA_CQ_ARM_SOLICITED && !solicited))
		return false;
	if (shca_cq_hold(cq))
		return false;
	shca_cq_disarm(cq, arm);
	return true;
}

/* Run a kernel consumer's handler on the CPU of its vector, not on that of a local poster. */
static void shca_cq_schedule(struct shca_cq *cq)
{
	/* No CPU goes offline meanwhile. The work of one that does later runs on another. */
	preempt_disable();
	if (cpu_online(cq->comp_cpu))
		shca_bh_schedule_on(cq->comp_cpu, &cq->comp_bh);
	else
		shca_bh_schedule(&cq->comp_bh);
	preempt_enable();
}

/* Context: no lock held. */
static void shca_cq_notify(struct shca_cq *cq)
{
	/* Not for kernel consumers, which drain their queues, and would wait for ever. */
	if (shca_fault_is_on(to_shca_dev(cq->ibcq.device), BIT(SHCA_FAULT_NOTIFY)) &&
	    cq->is_user && shca_fault_is_silent(&cq->ibcq))
		return;
	if (cq->is_user)
		/* Only wakes up readers of the channel: fine in any context. */
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	else
		shca_cq_schedule(cq);
}

/* ---- completions ------------------------------------------------------------- */

static bool shca_wc_is_tm(const struct shca_wc *wc)
{
	return wc->opcode >= SHCA_WC_TM_ADD && wc->opcode <= SHCA_WC_TM_NO_TAG;
}

static void shca_cq_fill(struct shca_cqe *cqe, u32 qpn,
			 const struct shca_wc *wc, bool timestamp)
{
	cqe->wr_id = wc->wr_id;
	if (unlikely(timestamp))
		cqe->timestamp = ktime_get_raw_fast_ns();
	cqe->status = wc->status;
	cqe->opcode = wc->opcode;
	cqe->vendor_err = wc->vendor_err;
	cqe->byte_len = wc->byte_len;
	cqe->imm_data = wc->imm;
	cqe->qp_num = qpn;
	cqe->src_qp = wc->src_qp;
	cqe->wc_flags = wc->wc_flags;
	cqe->pkey_index = wc->pkey_index;
	cqe->port = 1;
	if (unlikely(shca_wc_is_tm(wc))) {
		cqe->tm_tag_lo = wc->tm_tag;
		cqe->tm_tag_hi = wc->tm_tag >> 32;
		cqe->tm_priv = wc->tm_priv;
		return;
	}
	/* Tag matching may have used the slot before. */
	cqe->tm_tag_lo = 0;
	cqe->tm_tag_hi = 0;
	cqe->tm_priv = 0;
	cqe->vlan = SHCA_VLAN_NONE;
	if (wc->has_path) {
		cqe->slid = wc->path.slid;
		cqe->sl = wc->path.sl;
		cqe->dlid_path_bits = wc->path.dlid_path_bits;
		cqe->vlan = wc->path.vlan;
		cqe->pkey_index = wc->path.pkey_index;
	}
}

/*
 * Only QPs write the completions of a process, in softirq or with bottom halves off. Kernel
 * consumers also poll and arm, in any context, so their lock disables interrupts.
 */
static unsigned long shca_cq_lock(struct shca_cq *cq)
	__acquires(&cq->lock)
{
	unsigned long flags = 0;

	if (cq->is_user)
		spin_lock(&cq->lock);
	else
		spin_lock_irqsave(&cq->lock, flags);
	return flags;
}

static void shca_cq_unlock(struct shca_cq *cq, unsigned long flags)
	__releases(&cq->lock)
{
	if (cq->is_user)
		spin_unlock(&cq->lock);
	else
		spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Show the completions that wait: the first one last, so that a process that polls sees all or
 * none. Return: whether they fire what the consumer armed.
 */
static bool shca_cq_show_locked(struct shca_cq *cq)
{
	bool fires;
	u32 i;

	lockdep_assert_held(&cq->lock);
	if (cq->delayed)
		shca_delayed_cq_place(cq->delayed);
	for (i = cq->prod; i != cq->shown; i--)
		/* As in shca_cq_publish() (litmus: cqe-seq) */
		smp_store_release(&cq->ring[(i - 1) & (cq->entries - 1)].seq, i);
	cq->shown = cq->prod;
	/* The next burst gets all of its time. */
	hrtimer_try_to_cancel(&cq->burst_timer);
	/* Not before they are visible: see shca_cq_armed(). */
	fires = cq->pending &&
		shca_cq_fires(cq, cq->pending == SHCA_CQ_PENDING_SOLICITED);
	cq->pending = SHCA_CQ_PENDING_NONE;
	return fires;
}

static void shca_cq_start_burst_timer(struct shca_cq *cq, u32 us)
{
	hrtimer_start(&cq->burst_timer, ns_to_ktime((u64)us * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
}

/* Completions that wait for delayed placement, at most: one critical section shows them. */
#define SHCA_CQ_WAITING		256

/* Is a burst full? Without bursts: are no bytes delayed? */
static bool shca_cq_has_waited(const struct shca_cq *cq)
{
	u32 nr = cq->prod - cq->shown;

	if (cq->burst > 1)
		return nr >= cq->burst;
	return !cq->delayed->nr || nr >= SHCA_CQ_WAITING;
}

/* A completion waits. Return: as shca_cq_show_locked(), if it is called. */
static bool shca_cq_gather(struct shca_cq *cq, const struct shca_wc *wc)
{
	bool first = !cq->pending;

	if (shca_wc_is_solicited(wc))
		cq->pending = SHCA_CQ_PENDING_SOLICITED;
	else if (first)
		cq->pending = SHCA_CQ_PENDING_SOME;
	if (shca_cq_has_waited(cq))
		return shca_cq_show_locked(cq);
	/* Delayed placement may have started the timer. */
	if (first && !hrtimer_is_queued(&cq->burst_timer))
		shca_cq_start_burst_timer(cq, cq->wait_us);
	return false;
}

/* Return: index up to which a kernel consumer can poll. */
static u32 shca_cq_visible(const struct shca_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (static_branch_unlikely(&shca_manners_on) && cq->wait_us)
		return cq->shown;
	return cq->prod;
}

static void shca_cq_disguise(const struct shca_cq *cq,
			     struct shca_cqe *cqe)
{
	const struct shca_personality *is =
		&to_shca_dev(cq->ibcq.device)->personality;

	if (cqe->status < SHCA_PERSONALITY_STATUSES &&
	    is->statuses & BIT(cqe->status))
		cqe->vendor_err = is->vendor_err[cqe->status];
}

/* Publish a completion that is written. Return: whether it fires what the consumer armed. */
static bool shca_cq_publish(struct shca_cq *cq, struct shca_cqe *cqe,
			    const struct shca_wc *wc)
{
	cq->prod++;
	if (static_branch_unlikely(&shca_manners_on)) {
		shca_cq_disguise(cq, cqe);
		if (cq->wait_us)
			return shca_cq_gather(cq, wc);
	}
	/* Pairs with the acquire load of seq in the provider's poll (litmus: cqe-seq). */
	smp_store_release(&cqe->seq, cq->prod);
	return shca_cq_fires(cq, shca_wc_is_solicited(wc));
}

bool shca_cq_post(struct shca_cq *cq, struct ib_qp *qp, u32 qpn,
		  const struct shca_wc *wc)
{
	bool fires, first;
	unsigned long flags;
	struct shca_cqe *cqe;
	u32 cons;

	flags = shca_cq_lock(cq);
	cons = cq->is_user ? READ_ONCE(cq->index->cons) : cq->cons;
	/*
	 * A process may write anything there: all it can do is overflow. The stores to a slot
	 * depend on this read, so they come after the process has read the slot (litmus:
	 * cq-cons).
	 */
	if (cq->overflow || cq->prod - cons >= cq->entries ||
	    (shca_fault_is_on(to_shca_dev(cq->ibcq.device), BIT(SHCA_FAULT_CQ)) &&
	     shca_fault_overruns(&cq->ibcq, qpn, wc->wr_id))) {
		if (cq->flags & SHCA_CQ_IGNORE_OVERRUN) {
			shca_cq_unlock(cq, flags);
			shca_count(to_shca_dev(cq->ibcq.device), CQ_OVERFLOW);
			return true;
		}
		first = !cq->overflow;
		cq->overflow = true;
		shca_cq_unlock(cq, flags);
		if (first) {
			shca_count(to_shca_dev(cq->ibcq.device), CQ_OVERFLOW);
			shca_bh_schedule(&cq->err_bh);
		}
		return false;
	}
	if (trace_shca_poll_enabled() && cq->is_user && cons != cq->cons) {
		/* for this trace event only, in a CQ of a process */
		trace_shca_poll(cq->ibcq.res.id, cons - cq->cons);
		cq->cons = cons;
	}
	cqe = &cq->ring[cq->prod & (cq->entries - 1)];
	shca_cq_fill(cqe, qpn, wc, cq->flags & SHCA_CQ_TIMESTAMPS);
	if (cq->qps)
		cq->qps[cq->prod & (cq->entries - 1)] = qp;
	fires = shca_cq_publish(cq, cqe, wc);
	shca_cq_unlock(cq, flags);

	trace_shca_complete(qpn, wc);
	if (fires)
		shca_cq_notify(cq);
	return true;
}

/* The moderation period is over. */
static enum hrtimer_restart shca_cq_mod_timer(struct hrtimer *timer)
{
	struct shca_cq *cq = container_of(timer, struct shca_cq, mod_timer);
	unsigned long flags;
	bool fires = false;
	u32 arm;

	flags = shca_cq_lock(cq);
	if (cq->held && shca_cq_armed(cq, &arm)) {
		shca_cq_disarm(cq, arm);
		fires = true;
	}
	shca_cq_unlock(cq, flags);
	if (fires)
		shca_cq_notify(cq);
	return HRTIMER_NORESTART;
}

void shca_cq_show(struct shca_cq *cq)
{
	unsigned long flags;
	bool fires;

	if (!cq->wait_us)
		return;
	local_bh_disable();
	flags = shca_cq_lock(cq);
	fires = shca_cq_show_locked(cq);
	shca_cq_unlock(cq, flags);
	if (fires)
		shca_cq_notify(cq);
	local_bh_enable();
}

static enum hrtimer_restart shca_cq_burst_timer(struct hrtimer *timer)
{
	shca_cq_show(container_of(timer, struct shca_cq, burst_timer));
	return HRTIMER_NORESTART;
}

void shca_cq_keep(struct shca_cq *cq, struct shca_mr *mr, u64 va, const u8 *bytes,
		  u32 len)
{
	unsigned long flags = shca_cq_lock(cq);

	if (cq->delayed->nr == SHCA_DELAYED_MESSAGES)
		shca_delayed_cq_place(cq->delayed);
	shca_delayed_cq_add(cq->delayed, mr, va, bytes, len);
	/* Start it here, as a READ that is not signalled has no completion. */
	if (!hrtimer_is_queued(&cq->burst_timer))
		shca_cq_start_burst_timer(cq, cq->late_us);
	shca_cq_unlock(cq, flags);
}

void shca_cq_place(struct shca_cq *cq)
{
	unsigned long flags;

	if (!cq->delayed)
		return;
	flags = shca_cq_lock(cq);
	shca_delayed_cq_place(cq->delayed);
	shca_cq_unlock(cq, flags);
}

void shca_cq_keep_order(struct shca_cq *cq, const struct shca_sge *sge, u32 nr)
{
	unsigned long flags = shca_cq_lock(cq);

	for (; nr; nr--, sge++)
		if (shca_delayed_cq_meets(cq->delayed, sge->addr, sge->length))
			shca_delayed_cq_place(cq->delayed);
	shca_cq_unlock(cq, flags);
}

void shca_cq_drain(struct shca_cq *cq)
{
	u32 turns;

	if (cq->is_user)
		return;
	hrtimer_cancel(&cq->mod_timer);
	shca_cq_mod_timer(&cq->mod_timer);
	/*
	 * The first turn of the handler that begins from here on is for what was scheduled
	 * before. It has ended when the second one begins. Other QPs may keep the CQ busy for
	 * ever (litmus: cq-turns).
	 */
	turns = smp_load_acquire(&cq->comp_turns);
	while (shca_bh_is_busy(&cq->comp_bh) &&
	       /* Pairs with shca_cq_comp(): the previous turn is visible. */
	       smp_load_acquire(&cq->comp_turns) - turns < 2)
		usleep_range(20, 100);
}

SHCA_BH_HANDLER(shca_cq_err)
{
	struct shca_cq *cq = container_of(bh, struct shca_cq, err_bh);
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

SHCA_BH_HANDLER(shca_cq_comp)
{
	struct shca_cq *cq = container_of(bh, struct shca_cq, comp_bh);

	/* For shca_cq_drain() this ends the previous turn (litmus: cq-turns). */
	smp_store_release(&cq->comp_turns, cq->comp_turns + 1);
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* ---- lifetime ---------------------------------------------------------------- */

static int shca_cq_map_user(struct shca_cq *cq, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = &rdma_udata_to_drv_context(udata,
					   struct shca_ucontext, ibuc)->ibuc;
	struct shca_create_cq_resp resp = {};
	struct shca_create_cq_req req;
	int err;

	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask ||
	    (req.flags & ~(SHCA_CQ_TIMESTAMPS | SHCA_CQ_IGNORE_OVERRUN)))
		return -EINVAL;
	if (req.flags & SHCA_CQ_TIMESTAMPS &&
	    shca_lacks(to_shca_dev(uctx->device), TIMESTAMPS))
		return -EOPNOTSUPP;
	cq->flags |= req.flags;
	err = shca_mmap_insert(uctx, cq->ring_buf, false, &cq->ring_mmap) ?:
	      shca_mmap_insert(uctx, cq->index_buf, true, &cq->index_mmap);
	if (err)
		return err;
	resp.ring_off = rdma_user_mmap_get_offset(cq->ring_mmap);
	resp.ring_len = cq->ring_buf->len;
	resp.index_off = rdma_user_mmap_get_offset(cq->index_mmap);
	resp.entries = cq->entries;
	return shca_udata_out(udata, &resp, sizeof(resp));
}

/* The flags of both interfaces end in shca_cq.flags. */
static_assert((int)SHCA_CQ_TIMESTAMPS == (int)IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION &&
	      (int)SHCA_CQ_IGNORE_OVERRUN == (int)IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN);

static void shca_cq_free(struct shca_cq *cq)
{
	rdma_user_mmap_entry_remove(cq->index_mmap);
	rdma_user_mmap_entry_remove(cq->ring_mmap);
	kvfree(cq->qps);
	kfree(cq->delayed);
	mutex_destroy(&cq->resize_lock);
	shca_buf_put(cq->index_buf);
	shca_buf_put(cq->ring_buf);
	shca_limit_put(to_shca_dev(cq->ibcq.device), SHCA_LIMIT_CQ, cq->is_user);
}

static int shca_cq_setup(struct shca_cq *cq, const struct ib_cq_init_attr *attr,
			 struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(cq->ibcq.device);
	int err = shca_fault_verb(cq->ibcq.device, SHCA_FAULT_VERB_CREATE_CQ);

	if (err)
		return err;
	err = -ENOMEM;
	if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN) ||
	    (attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION &&
	     shca_lacks(dev, TIMESTAMPS)))
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > shca_limit(dev, CQE) ||
	    attr->comp_vector >= cq->ibcq.device->num_comp_vectors)
		return -EINVAL;
	cq->comp_cpu = attr->comp_vector;
	cq->is_user = udata;
	cq->flags = attr->flags;
	if (!shca_limit_get(dev, SHCA_LIMIT_CQ, cq->is_user))
		return -ENOMEM;
	mutex_init(&cq->resize_lock);
	if (cq->is_user)	/* two classes of lock, see shca_cq_lock() */
		spin_lock_init(&cq->lock);
	else
		spin_lock_init(&cq->lock);
	shca_bh_init(&cq->comp_bh, shca_cq_comp);
	shca_bh_init(&cq->err_bh, shca_cq_err);
	hrtimer_setup(&cq->mod_timer, shca_cq_mod_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&cq->burst_timer, shca_cq_burst_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cq->burst = shca_limit(dev, BURST);
	cq->late_us = cq->is_user ? shca_limit(dev, LATE_US) : 0;
	cq->wait_us = cq->burst > 1 ? shca_limit(dev, BURST_US) : cq->late_us;
	if (cq->late_us)
		cq->delayed = kzalloc(sizeof(*cq->delayed), GFP_KERNEL_ACCOUNT);
	cq->entries = roundup_pow_of_two(attr->cqe + 1);
	cq->ibcq.cqe = cq->entries - 1;
	cq->ring_buf = shca_buf_alloc(array_size(cq->entries,
						 sizeof(struct shca_cqe)));
	cq->index_buf = shca_buf_alloc(sizeof(struct shca_cq_index));
	if (!udata)
		cq->qps = kvcalloc(cq->entries, sizeof(*cq->qps), GFP_KERNEL);
	if (cq->ring_buf && cq->index_buf && (cq->delayed || !cq->late_us) &&
	    (udata || cq->qps)) {
		cq->ring = cq->ring_buf->va;
		cq->index = cq->index_buf->va;
		err = udata ? shca_cq_map_user(cq, udata) : 0;
	}
	if (err)
		shca_cq_free(cq);
	return err;
}

int shca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	return shca_cq_setup(to_shca_cq(ibcq), attr, shca_udata_of(attrs));
}

int shca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct shca_cq *cq = to_shca_cq(ibcq);

	/* No QP uses the CQ (the RDMA core counts), but a consumer's handler may still run. */
	hrtimer_cancel(&cq->burst_timer);
	shca_cq_show(cq);
	hrtimer_cancel(&cq->mod_timer);
	shca_bh_cancel(&cq->comp_bh);
	shca_bh_cancel(&cq->err_bh);
	shca_cq_free(cq);
	return 0;
}

/* ---- change of the size --------------------------------------------------- */

/* Completions that are moved in one critical section, at most. */
#define SHCA_CQ_MOVE		256
/* Passes without the lock: more are needed only if the process goes on polling. */
#define SHCA_CQ_MOVE_PASSES	64

/* Copy completions @from to @to, which do not change until they are consumed. */
static void shca_cq_move(const struct shca_cq *cq, struct shca_cqe *ring,
			 u32 entries, u32 from, u32 to)
{
	for (; from != to; from++) {
		struct shca_cqe *cqe = &ring[from & (entries - 1)];

		/* What was consumed may be overwritten; its copy is never read. */
		*cqe = data_race(cq->ring[from & (cq->entries - 1)]);
		cqe->seq = from + 1;
	}
}

/* The ring that a resize prepares; after shca_cq_swap() the former ring, to be freed. */
struct shca_cq_ring {
	struct shca_buf *buf;
	struct rdma_user_mmap_entry *mmap;
	u32 entries;
};

/* Replace the ring of the CQ by the new one, which has all completions. */
static void shca_cq_swap(struct shca_cq *cq, struct shca_cq_ring *ring)
{
	struct shca_cq_ring old = { cq->ring_buf, cq->ring_mmap, cq->entries };

	lockdep_assert_held(&cq->lock);
	cq->ring_buf = ring->buf;
	cq->ring_mmap = ring->mmap;
	cq->entries = ring->entries;
	cq->ring = ring->buf->va;
	cq->ibcq.cqe = ring->entries - 1;
	/* All completions are visible in the new ring. */
	if (cq->delayed)
		shca_delayed_cq_place(cq->delayed);
	cq->shown = cq->prod;
	*ring = old;
}

/*
 * Move completions, while others are written: most without the lock, which is held for the last
 * few. Return: 0, or EINVAL: more than @cqe are in the CQ.
 */
static int shca_cq_replace(struct shca_cq *cq, struct shca_cq_ring *ring,
			   u32 cqe)
{
	u32 cons, from, prod, passes = 0;
	struct shca_cqe *to = ring->buf->va;

	spin_lock_bh(&cq->lock);
	from = READ_ONCE(cq->index->cons);
	for (;;) {
		prod = cq->prod;
		cons = READ_ONCE(cq->index->cons);
		/* The index of the process may also be nonsense. */
		if (prod - cons > cqe || prod - cons > cq->entries)
			goto refuse;
		if (prod - from > prod - cons)
			from = cons;	/* consumed before it was moved */
		if (prod - from <= SHCA_CQ_MOVE)
			break;
		if (++passes > SHCA_CQ_MOVE_PASSES)
			goto refuse;
		spin_unlock_bh(&cq->lock);
		shca_cq_move(cq, to, ring->entries, from, prod);
		cond_resched();
		from = prod;
		spin_lock_bh(&cq->lock);
	}
	shca_cq_move(cq, to, ring->entries, from, prod);
	shca_cq_swap(cq, ring);
	spin_unlock_bh(&cq->lock);
	return 0;

refuse:
	spin_unlock_bh(&cq->lock);
	return -EINVAL;
}

static int shca_cq_resize(struct shca_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = &rdma_udata_to_drv_context(udata,
					   struct shca_ucontext, ibuc)->ibuc;
	struct shca_resize_cq_resp resp = {};
	struct shca_cq_ring ring = {
		.entries = roundup_pow_of_two(cqe + 1),
	};
	int err;

	ring.buf = shca_buf_alloc(array_size(ring.entries,
					     sizeof(struct shca_cqe)));
	if (!ring.buf)
		return -ENOMEM;
	err = shca_mmap_insert(uctx, ring.buf, false, &ring.mmap);
	if (err)
		goto out;
	resp.ring_off = rdma_user_mmap_get_offset(ring.mmap);
	resp.ring_len = ring.buf->len;
	resp.entries = ring.entries;
	/* Before the swap, as nothing may fail after it. */
	err = shca_udata_out(udata, &resp, sizeof(resp));
	if (!err)
		err = shca_cq_replace(cq, &ring, cqe);
out:
	rdma_user_mmap_entry_remove(ring.mmap);
	shca_buf_put(ring.buf);
	return err;
}

int shca_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		   struct ib_udata *udata)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	int err = shca_fault_verb(ibcq->device, SHCA_FAULT_VERB_RESIZE_CQ);

	if (err)
		return err;
	if (!cq->is_user || !udata)
		return -EOPNOTSUPP;
	if (!cqe || (u32)cqe > shca_limit(to_shca_dev(ibcq->device), CQE))
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	err = shca_cq_resize(cq, cqe, udata);
	mutex_unlock(&cq->resize_lock);
	return err;
}

int shca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	unsigned long flags;

	local_bh_disable();
	flags = shca_cq_lock(cq);
	/* An event that waits already comes after the former period at most. */
	cq->mod_count = count;
	cq->mod_period_us = count > 1 ? period_us : 0;
	shca_cq_unlock(cq, flags);
	local_bh_enable();
	return 0;
}

/* ---- kernel consumers -------------------------------------------------------- */

/* The flags of kernel and user space differ in two bits. */
static int shca_kernel_wc_flags(u16 flags)
{
	int ib = flags & (SHCA_WC_GRH | SHCA_WC_WITH_IMM);

	if (flags & SHCA_WC_WITH_INV)
		ib |= IB_WC_WITH_INVALIDATE;
	return ib;
}

int shca_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc)
{
	bool ib = to_shca_dev(ibcq->device)->ib;
	struct shca_cq *cq = to_shca_cq(ibcq);
	const struct shca_cqe *cqe;
	unsigned long flags;
	u32 end;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	end = shca_cq_visible(cq);
	for (i = 0; i < nr && cq->cons != end; i++, wc++) {
		cqe = &cq->ring[cq->cons & (cq->entries - 1)];
		memset(wc, 0, sizeof(*wc));
		wc->wr_id = cqe->wr_id;
		wc->status = cqe->status;
		wc->opcode = cqe->opcode;
		wc->vendor_err = cqe->vendor_err;
		wc->byte_len = cqe->byte_len;
		wc->qp = cq->qps[cq->cons & (cq->entries - 1)];
		if (cqe->wc_flags & SHCA_WC_WITH_INV)
			wc->ex.invalidate_rkey = cqe->imm_data;
		else
			wc->ex.imm_data = (__force __be32)cqe->imm_data;
		wc->src_qp = cqe->src_qp;
		wc->wc_flags = shca_kernel_wc_flags(cqe->wc_flags);
		wc->pkey_index = cqe->pkey_index;
		wc->slid = cqe->slid;
		/* With RoCE @sl is the kind of packet, for processes only (shca_roce_path()). */
		wc->sl = ib ? cqe->sl : 0;
		wc->dlid_path_bits = cqe->dlid_path_bits;
		wc->port_num = cqe->port;
		if (cqe->vlan != SHCA_VLAN_NONE) {
			wc->vlan_id = cqe->vlan;
			wc->wc_flags |= IB_WC_WITH_VLAN;
		}
		cq->cons++;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (trace_shca_poll_enabled() && i)
		trace_shca_poll(ibcq->res.id, i);
	return i;
}

void shca_cq_purge(struct shca_cq *cq, const struct ib_qp *qp)
{
	u32 mask = cq->entries - 1, from, to;
	unsigned long flags;
	bool fires = false;

	if (cq->is_user)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->wait_us)
		fires = shca_cq_show_locked(cq);
	for (from = to = cq->cons; from != cq->prod; from++) {
		if (cq->qps[from & mask] == qp)
			continue;
		if (from != to) {
			cq->ring[to & mask] = cq->ring[from & mask];
			cq->ring[to & mask].seq = to + 1;
			cq->qps[to & mask] = cq->qps[from & mask];
		}
		to++;
	}
	cq->prod = to;
	cq->shown = to;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (fires)
		shca_cq_notify(cq);
}

int shca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	unsigned long irqflags;
	int missed;

	spin_lock_irqsave(&cq->lock, irqflags);
	/* A solicited request does not weaken one for any completion (IBTA 11.4.2.2). */
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		cq->notify = SHCA_CQ_ARM_NEXT;
	else if (!cq->notify)
		cq->notify = SHCA_CQ_ARM_SOLICITED;
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) &&
		 cq->cons != shca_cq_visible(cq);
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return missed;
}
