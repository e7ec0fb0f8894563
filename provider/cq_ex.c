// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Polling by iterator: ibv_start_poll(), ibv_next_poll(), ibv_end_poll(), and
 * the fields of the current completion.
 *
 * Fields are read in place. The kernel does not reuse the slot before
 * ibv_end_poll() publishes the index. cq.lock is held from start to end.
 */
#include "softhca.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cq.h"
#include "ring.h"

static inline struct shca_cq *to_shca_cq_ex(struct ibv_cq_ex *cqx)
{
	return container_of(cqx, struct shca_cq, vcq.cq_ex);
}

/* Return: 0 at the next live completion; ENOENT if there is none. */
static int shca_cq_step(struct shca_cq *cq)
{
	const struct shca_cqe *cqe;

	while ((cqe = shca_cq_peek(cq, cq->cons))) {
		if (likely(!cq->nr_dead) || !shca_cq_is_dead(cq, cq->cons)) {
			cq->cur = cqe;
			cq->vcq.cq_ex.wr_id = cqe->wr_id;
			cq->vcq.cq_ex.status = cqe->status;
			return 0;
		}
		shca_cq_clear_dead(cq, cq->cons++);
	}
	cq->cur = NULL;
	return ENOENT;
}

/* Reading a clock takes far less than this, unless it is interrupted. */
#define SHCA_CLOCK_NS		10000
#define SHCA_CLOCK_TRIES	5

static int64_t shca_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/*
 * Offset of the wall clock from the completions' clock. It is sampled once per
 * batch, so that timestamps keep the order of completions. The clocks cannot be
 * read at the same time, so the least interrupted of a few tries counts.
 */
static void shca_cq_sample_wallclock(struct shca_cq *cq)
{
	int64_t before, wall, after, best = INT64_MAX;
	unsigned int tries;

	for (tries = 0; tries < SHCA_CLOCK_TRIES && best > SHCA_CLOCK_NS; tries++) {
		before = shca_ns(CLOCK_MONOTONIC_RAW);
		wall = shca_ns(CLOCK_REALTIME);
		after = shca_ns(CLOCK_MONOTONIC_RAW);
		if (after - before >= best)
			continue;
		best = after - before;
		cq->wall_offset = wall - (before + best / 2);
	}
}

static int shca_start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct shca_cq *cq = to_shca_cq_ex(cqx);
	uint32_t cons;
	int err;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	shca_lock(&cq->lock);
	cons = cq->cons;
	err = unlikely(cq->lost) ? cq->lost : shca_cq_step(cq);
	if (unlikely(err)) {
		if (cons != cq->cons)	/* polling has skipped dead ones */
			shca_cq_publish_cons(cq->index, cq->cons);
		shca_unlock(&cq->lock);
		return err;
	}
	if (cq->wallclock)
		shca_cq_sample_wallclock(cq);
	return 0;
}

static int shca_next_poll(struct ibv_cq_ex *cqx)
{
	struct shca_cq *cq = to_shca_cq_ex(cqx);

	if (likely(cq->cur))
		cq->cons++;
	return shca_cq_step(cq);
}

static void shca_end_poll(struct ibv_cq_ex *cqx)
{
	struct shca_cq *cq = to_shca_cq_ex(cqx);

	if (cq->cur)
		cq->cons++;
	cq->cur = NULL;
	shca_cq_publish_cons(cq->index, cq->cons);
	shca_unlock(&cq->lock);
}

/* ---- fields -------------------------------------------------------------- */

static enum ibv_wc_opcode shca_read_opcode(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->opcode;
}

static uint32_t shca_read_vendor_err(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->vendor_err;
}

static uint32_t shca_read_byte_len(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->byte_len;
}

/* Also ibv_wc_read_invalidated_rkey(): the key has the same place. */
static __be32 shca_read_imm_data(struct ibv_cq_ex *cqx)
{
	return (__force __be32)to_shca_cq_ex(cqx)->cur->imm_data;
}

static uint32_t shca_read_qp_num(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->qp_num;
}

static uint32_t shca_read_src_qp(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->src_qp;
}

static unsigned int shca_read_wc_flags(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->wc_flags;
}

static uint32_t shca_read_slid(struct ibv_cq_ex *cqx)
{
	const struct shca_cqe *cqe = to_shca_cq_ex(cqx)->cur;

	return shca_cqe_is_tm(cqe) ? 0 : cqe->slid;
}

static uint8_t shca_read_sl(struct ibv_cq_ex *cqx)
{
	const struct shca_cqe *cqe = to_shca_cq_ex(cqx)->cur;

	return shca_cqe_is_tm(cqe) ? 0 : cqe->sl;
}

static uint8_t shca_read_dlid_path_bits(struct ibv_cq_ex *cqx)
{
	const struct shca_cqe *cqe = to_shca_cq_ex(cqx)->cur;

	return shca_cqe_is_tm(cqe) ? 0 : cqe->dlid_path_bits;
}

static uint64_t shca_read_completion_ts(struct ibv_cq_ex *cqx)
{
	return to_shca_cq_ex(cqx)->cur->timestamp;
}

static uint64_t shca_read_completion_wallclock_ns(struct ibv_cq_ex *cqx)
{
	const struct shca_cq *cq = to_shca_cq_ex(cqx);

	return cq->cur->timestamp + cq->wall_offset;
}

/* Zero without a tag. */
static uint16_t shca_read_cvlan(struct ibv_cq_ex *cqx)
{
	const struct shca_cqe *cqe = to_shca_cq_ex(cqx)->cur;

	if (shca_cqe_is_tm(cqe) || cqe->vlan == SHCA_VLAN_NONE)
		return 0;
	return cqe->vlan;
}

/* Zero if the message got no tagged buffer; its header is in the buffer then. */
static void shca_read_tm_info(struct ibv_cq_ex *cqx,
			      struct ibv_wc_tm_info *info)
{
	const struct shca_cqe *cqe = to_shca_cq_ex(cqx)->cur;

	memset(info, 0, sizeof(*info));
	if (!shca_cqe_is_tm(cqe))
		return;
	info->tag = (uint64_t)cqe->tm_tag_hi << 32 | cqe->tm_tag_lo;
	info->priv = cqe->tm_priv;
}

/* ---- creation ------------------------------------------------------------ */

/*
 * Set up a CQ's iterator and the fields that the program wants.
 * @wc_flags:	enum ibv_create_cq_wc_flags, a subset of SHCA_CQ_EX_WC_FLAGS
 */
void shca_cq_ex_init(struct shca_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;

	cqx->start_poll = shca_start_poll;
	cqx->next_poll = shca_next_poll;
	cqx->end_poll = shca_end_poll;
	cqx->read_opcode = shca_read_opcode;
	cqx->read_vendor_err = shca_read_vendor_err;
	cqx->read_wc_flags = shca_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cqx->read_byte_len = shca_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cqx->read_imm_data = shca_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cqx->read_qp_num = shca_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cqx->read_src_qp = shca_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cqx->read_slid = shca_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cqx->read_sl = shca_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cqx->read_dlid_path_bits = shca_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cqx->read_completion_ts = shca_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) {
		cqx->read_completion_wallclock_ns =
			shca_read_completion_wallclock_ns;
		cq->wallclock = true;
	}
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		cqx->read_cvlan = shca_read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		cqx->read_tm_info = shca_read_tm_info;
}

/* Read the clock of completions. The unit is the device's, as in ibv_wc_read_completion_ts(). */
int shca_query_rt_values(struct ibv_context *ibctx,
			 struct ibv_values_ex *values)
{
	uint32_t given = 0;

	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = shca_ns(CLOCK_MONOTONIC_RAW);
		given = IBV_VALUES_MASK_RAW_CLOCK;
	}
	values->comp_mask = given;
	return 0;
}
