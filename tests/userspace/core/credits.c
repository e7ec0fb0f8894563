// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * End-to-end credits (IBTA 9.7.7.2), found out from the plan.  An answer tells how many
 * receive requests of the peer's plan are posted.  A requester has no more messages
 * outstanding that need one than it was told of, and one.
 */
#include "sim.h"

/* IBTA table 48: receive requests of each code. */
static const u16 credits[] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

static u32 last_psn(const struct sim_op *op)
{
	return shca_psn_add(op->first_psn, op->nr_psn - 1);
}

/* The syndrome of an answer of @n that acknowledges. */
u8 sim_credit_syndrome(const struct sim_node *n)
{
	u32 nr = n->recv_posted - n->recv_done;
	u8 code = 0;

	if (!n->resp_attr.credits || n->resp.reach > 1)
		return SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE;
	while (code < SHCA_AETH_CREDIT_NONE - 1u && credits[code + 1] <= nr)
		code++;
	return SHCA_AETH_ACK | code;
}

/* An answer was taken at @n. */
void sim_credit_told(struct sim_node *n, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags, nr = 0, i;
	u8 code = pkt->aeth.syndrome & SHCA_AETH_VALUE;

	if (!(flags & SHCA_OPF_AETH) ||
	    (pkt->aeth.syndrome & ~SHCA_AETH_VALUE) != SHCA_AETH_ACK)
		return;
	if (code == SHCA_AETH_CREDIT_NONE) {
		n->has_credit = false;
		return;
	}
	for (i = 0; i < n->nr_ops; i++)
		nr += n->ops[i].recv_idx >= 0 &&
		      shca_psn_diff(last_psn(&n->ops[i]), pkt->psn) <= 0;
	nr += credits[code];
	n->credit = n->has_credit ? max_t(u32, n->credit, nr) : nr;
	n->has_credit = true;
}

/* A packet of @op leaves @n for the first time. */
void sim_credit_used(struct sim_node *n, struct sim_op *op,
		     const struct shca_pkt *pkt)
{
	const struct sim_op *before;
	u32 idx = op->recv_idx;

	if (op->recv_idx < 0 || !n->has_credit || idx < n->credit ||
	    n->w->f.hostile)
		return;
	if (pkt->psn != op->first_psn) {
		/* (one that began before the peer told of credits goes on) */
		sim_check(n->w, !op->is_limited || op->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM ||
			  shca_psn_diff(n->req.psn.una, op->first_psn) > 0,
			  "node %u: op %u has no credit, and psn %06x leaves",
			  n->idx, (u32)(op - n->ops), pkt->psn);
		return;
	}
	n->w->stat_limited++;
	/* (what is handed over is not cut: nothing is lost by a refusal) */
	op->is_limited = n->req.psn.reach == 1;
	before = idx ? &n->ops[n->recv_of[idx - 1]] : NULL;
	sim_check(n->w, idx == n->credit || !before ||
		  shca_psn_diff(last_psn(before), n->req.psn.una) < 0,
		  "node %u: op %u leaves, %u messages have credit", n->idx,
		  (u32)(op - n->ops), n->credit);
}
