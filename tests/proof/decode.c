// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests out of the rings of a process: core/requester/decode.c, core/requester/post.c. All bytes of a slot, all opcodes, all
 * transports. Bound: queues of up to 4 segments a request (and 64 bytes of inline data). Each
 * segment more goes once more around one loop.
 */
#include "proof.h"
#include "core/requester/decode.c"
#include "core/requester/post.c"
#include "core/wr_op.c"

#define SGES	4
#define INLINE	(SGES * 16)

/*
 * Nothing beyond the slot is read, and nothing beyond the segments of the copy is written. What
 * is not refused is what its operation, its transport and its queue may have.
 *
 * proof: send quick --unwind 6
 * planted: core/requester/decode.c: s/wqe->num_sge <= queue->max_sge/wqe->num_sge <= queue->max_sge + 1/
 * planted: core/requester/decode.c: s/wqe->inline_len > queue->max_inline/wqe->inline_len > queue->max_inline + 1/
 * planted: core/requester/decode.c: s/wqe->opcode >= SHCA_WR_KERNEL/wqe->opcode > SHCA_WR_KERNEL/
 * planted: core/requester/post.c: s/wr->length >= sizeof(u64)/wr->length >= sizeof(u64) - 1/
 */
void send(void)
{
	struct shca_decode queue;
	struct shca_send_wqe wqe;
	struct shca_send_wr *wr;
	struct shca_req req;
	const struct shca_wr_op *op;
	u64 length = 0;
	u8 *data;
	u32 i;

	queue.is_user = any_bool();
	queue.is_gsi = any_bool();
	queue.sig_all = any_bool();
	assume(queue.max_sge <= SGES && queue.max_inline <= INLINE);
	/* as shca_qp_alloc_rings() has it */
	i = queue.max_sge * sizeof(struct shca_sge);
	data = any_bytes(i > queue.max_inline ? i : queue.max_inline);
	wr = (void *)any_bytes(sizeof(*wr) + queue.max_sge * sizeof(struct shca_sge));
	if (!shca_send_decode(&queue, &wqe, data, wr)) {
		claim(wr->preset == SHCA_WC_LOC_QP_OP_ERR && wr->wr_id == wqe.wr_id);
		return;
	}
	claim(wr->num_sge <= queue.max_sge && wr->wr_id == wqe.wr_id);
	claim(!(wr->flags & ~SEND_FLAGS));
	claim(!queue.is_user || wr->opcode < SHCA_WR_KERNEL);
	if (wr->preset) {
		claim(wr->preset == SHCA_WC_LOC_LEN_ERR);
		return;
	}
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sge[i].length;
	if (wr->flags & SHCA_SEND_INLINE)
		claim(wr->inline_data == data && wr->length <= queue.max_inline && !wr->num_sge);
	else
		claim(wr->length == length && !wr->inline_data);

	/* then posted */
	req.attr.transport = queue.transport;
	assume(req.attr.mtu <= 65535 && req.psn.mtu_shift <= 12);
	req_validate(&req, wr);
	op = shca_wr_op(wr->opcode);
	if (wr->preset)
		return;
	claim(shca_wr_op_is_on(op, queue.transport));
	claim(wr->length <= SHCA_MAX_MSG);
	claim(op->answer != SHCA_ANSWER_ATOMIC || wr->length >= 8);
	claim(!(wr->flags & SHCA_SEND_INLINE) || op->flags & SHCA_OPS_INLINE || op->answer == SHCA_ANSWER_LOCAL);
	claim(op->form != SHCA_FORM_FLUSH || wr->flush.length <= SHCA_MAX_MSG);
	claim(queue.transport != SHCA_TRANSPORT_UD || (wr->length <= 4096 && wr->ud.remote_qpn < 1u << 24));
	claim(op->form != SHCA_FORM_BIND || wr->bind.key >> 8 == wqe.bind.mw_handle >> 8);
}

/*
 * A receive request, as above.
 *
 * proof: recv quick --unwind 6
 * planted: core/requester/decode.c: s/bool ok = wqe->num_sge <= max_sge/bool ok = wqe->num_sge <= max_sge + 1/
 * planted: core/requester/decode.c: s/wr->num_sge = ok ? wqe->num_sge : 0/wr->num_sge = wqe->num_sge/
 */
void recv(void)
{
	struct shca_recv_wqe wqe;
	struct shca_recv_wr wr;
	u32 max_sge = any_u32();
	bool ok;

	assume(max_sge <= SGES);
	ok = shca_recv_decode(max_sge, &wqe, any_bytes(max_sge * sizeof(struct shca_sge)), &wr);
	claim(wr.wr_id == wqe.wr_id && wr.length <= SHCA_MAX_MSG);
	claim(ok ? wr.num_sge == wqe.num_sge && wr.num_sge <= max_sge : !wr.num_sge && !wr.length);
}
