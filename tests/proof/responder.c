// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The responder of RC and XRC: core/responder/responder.c, executor.c, answers.c. From any state for which
 * resp_ok() holds, any packet, and any other call, leads to one for which it holds. So all
 * sequences do. In addition, each proof claims what the IBTA specification says of its packets.
 *
 * Memory and receive queues are functions that check what they are given, and that return any
 * status. Bounds: a ring of 2 records, so each is the first or the last one. A descriptor stands
 * for 1024 packets at most, which is 256 KiB in pieces of 256 bytes: no more come at once on the
 * direct path. Where an MTU is given, others are left out, and so are static rates, what the fast
 * path changes, a larger ring in place of this one, and UC, UD, RAW.
 */
#include "proof.h"
#include "core/responder/answers.c"
#include "core/requester/control.c"
#include "core/responder/credit.c"
#include "core/responder/executor.c"
#include "core/opcode.c"
#include "core/responder/responder.c"
#include "core/tag_list.c"

#define RDS	2

static struct shca_rd rds[RDS], rds_was[RDS];
static struct shca_resp resp, was;
static struct shca_resp_out out;
static struct shca_pkt pkt;
static u32 flags;

/* What the functions below have been called for. */
static u32 touched;	/* memory that is changed, or may be */
static u32 done;	/* ... and was */
static u32 taken;	/* receive requests */
static struct {
	u64 va;
	u32 rkey;
	u32 len;
	u32 access;
} granted;		/* by the last check of a key */

/* ---- memory ----------------------------------------------------------------- */

static enum shca_mem_status any_status(void)
{
	return any_u8() % (SHCA_MEM_RETRY + 1);
}

static enum shca_mem_status touch(void)
{
	enum shca_mem_status status = any_status();

	touched++;
	done += status == SHCA_MEM_OK;
	return status;
}

static enum shca_mem_status remote_check(void *ctx, u32 rkey, u64 va, u32 len, u32 access)
{
	claim(len && len <= SHCA_MAX_MSG);
	claim(access == SHCA_ACCESS_REMOTE_READ || access == SHCA_ACCESS_REMOTE_WRITE);
	/* (a READ that was accepted is answered again, whatever the QP permits now) */
	claim(resp.attr.access & access || pkt.psn != resp.epsn);
	granted.access = 0;
	if (any_bool())
		return 1 + any_u8() % SHCA_MEM_RETRY;
	granted.va = va;
	granted.rkey = rkey;
	granted.len = len;
	granted.access = access;
	return SHCA_MEM_OK;
}

/* Each byte lies where the check of its message was for. */
static enum shca_mem_status remote_write(void *ctx, u32 rkey, u64 va, const struct shca_pkt *data)
{
	claim(resp.attr.access & SHCA_ACCESS_REMOTE_WRITE);
	claim(granted.access == SHCA_ACCESS_REMOTE_WRITE && granted.rkey == rkey);
	claim(data->paylen && data->paylen <= granted.len);
	claim(va - granted.va <= granted.len - data->paylen);
	return touch();
}

static enum shca_mem_status remote_atomic(void *ctx, const struct shca_pkt *data, u64 *orig)
{
	claim(resp.attr.access & SHCA_ACCESS_REMOTE_ATOMIC);
	claim(!(data->atomic.va & 7));
	*orig = any_u64();
	return touch();
}

static enum shca_mem_status remote_atomic_write(void *ctx, const struct shca_pkt *data)
{
	claim(resp.attr.access & SHCA_ACCESS_REMOTE_WRITE);
	claim(data->paylen == 8 && data->reth.len == 8 && !(data->reth.va & 7));
	return touch();
}

static enum shca_mem_status remote_flush(void *ctx, const struct shca_pkt *data)
{
	claim(!(data->feth.type & SHCA_FLUSH_GLOBAL) || resp.attr.access & SHCA_ACCESS_FLUSH_GLOBAL);
	claim(!(data->feth.type & SHCA_FLUSH_PERSISTENT) ||
	      resp.attr.access & SHCA_ACCESS_FLUSH_PERSISTENT);
	return touch();
}

static enum shca_mem_status local_scatter(void *ctx, const struct shca_sge *sge, u32 nr, u32 off,
					  const struct shca_pkt *data)
{
	claim(resp.recv == SHCA_RECV_OK && sge == resp.wr.sge && nr == resp.wr.num_sge && nr <= SHCA_MAX_SGE);
	claim(data->paylen && off <= resp.wr.length && data->paylen <= resp.wr.length - off);
	return touch();
}

static enum shca_mem_status grh_store(void *ctx, const struct shca_sge *sge, u32 nr,
				      const struct shca_pkt *data)
{
	claim(false);
	return SHCA_MEM_OK;
}

static enum shca_recv_status recv_get(void *ctx, struct shca_recv_wr *wr)
{
	enum shca_recv_status status = any_u8() % (SHCA_RECV_BROKEN + 1);

	/* (or one that was taken would be lost) */
	claim(wr == &resp.wr && resp.recv == SHCA_RECV_EMPTY);
	if (status == SHCA_RECV_EMPTY || status == SHCA_RECV_BROKEN)
		return status;
	taken++;
	wr->wr_id = any_u64();
	wr->num_sge = any_u8() % (SHCA_MAX_SGE + 1);
	wr->length = any_u32();
	assume(wr->length <= SHCA_MAX_MSG);
	return status;
}

static u32 recv_count(void *ctx)
{
	return any_u32();
}

static enum shca_recv_status tm_get(void *ctx, const struct shca_tm_msg *msg,
				    struct shca_recv_wr *wr, bool *matched)
{
	*matched = any_bool();
	return recv_get(ctx, wr);
}

static void tm_undo(void *ctx)
{
}

/* (a variable without a value is any header) */
static void payload(void *ctx, const struct shca_pkt *data, void *buf, u32 len)
{
	claim(len && len <= data->paylen && __CPROVER_w_ok(buf, len));
}

static bool xrc_select(void *ctx, u32 srqn)
{
	claim(resp.attr.transport == SHCA_TRANSPORT_XRC);
	return any_bool();
}

static bool invalidate(void *ctx, u32 rkey)
{
	touched++;
	return any_bool();
}

static const struct shca_mem_ops ops = {
	.remote_check = remote_check,
	.remote_write = remote_write,
	.remote_atomic = remote_atomic,
	.remote_atomic_write = remote_atomic_write,
	.remote_flush = remote_flush,
	.local_scatter = local_scatter,
	.grh_store = grh_store,
	.recv_get = recv_get,
	.recv_count = recv_count,
	.tm_get = tm_get,
	.tm_undo = tm_undo,
	.payload = payload,
	.xrc_select = xrc_select,
	.invalidate = invalidate,
};

/* (RC and XRC do not come here) */
enum shca_verdict shca_resp_rx_uc(struct shca_resp *side, const struct shca_pkt *data,
				  struct shca_resp_out *result)
{
	claim(false);
	return SHCA_RX_DROPPED;
}

enum shca_verdict shca_resp_rx_ud(struct shca_resp *side, const struct shca_pkt *data,
				  struct shca_resp_out *result)
{
	return shca_resp_rx_uc(side, data, result);
}

enum shca_verdict shca_resp_rx_raw(struct shca_resp *side, const struct shca_pkt *data,
				   struct shca_resp_out *result)
{
	return shca_resp_rx_uc(side, data, result);
}

/* ---- the invariant ---------------------------------------------------------- */

static bool psn_ok(u32 psn)
{
	return psn <= SHCA_PSN_MASK;
}

static bool psn_or_none(u32 psn)
{
	return psn_ok(psn) || psn == SHCA_PSN_NONE;
}

/* @idx: of the ring, where @rd is */
static bool rd_ok(const struct shca_rd *rd, u32 idx)
{
	/* a READ of 2^31 bytes in packets of 256 */
	if (!psn_ok(rd->first_psn) || !psn_ok(rd->msn) || rd->len > SHCA_MAX_MSG)
		return false;
	/* as many PSNs as its length has packets, and one if it has none */
	if (rd->nr_psn != (rd->len ? (rd->len - 1) / resp.attr.mtu + 1 : 1))
		return false;
	/* what is not a READ is answered by one packet without data of the region */
	if (rd->bare && (rd->bare & ~(SHCA_OPF_FLUSH | SHCA_OPF_ATOMIC_WRITE) || rd->is_atomic))
		return false;
	if ((rd->is_atomic || rd->bare) && rd->len)
		return false;
	/* what is being sent is a part of the response, and the next packet is in it */
	if (rd->send_start > rd->send_idx || rd->send_idx > rd->send_end ||
	    rd->send_start >= rd->send_end || rd->send_end > rd->nr_psn)
		return false;
	/* the first response ends where the READ does; what is replayed was answered */
	if (!rd->replay && rd->send_end != rd->nr_psn)
		return false;
	if (rd->replay && !rd->answered)
		return false;
	/* what was not answered is being sent */
	if (!rd->answered && rd->send_idx == rd->send_end)
		return false;
	/* and what is being sent is not behind the record from which it goes on */
	return resp.state == SHCA_SIDE_ERR || rd->send_idx == rd->send_end ||
	       (s32)(idx - resp.reads.send) >= 0;
}

static bool ring_ok(void)
{
	u32 i, nr = resp.reads.tail - resp.reads.head;

	/* the storage is the caller's; what may be used of it is no more */
	if (resp.reads.rd != rds || resp.reads.mask != RDS - 1 || resp.attr.max_dest_rd_atomic > RDS)
		return false;
	/* no more records than room, and the one that is sent is among them, or behind */
	if (nr > RDS || resp.reads.send - resp.reads.head > nr)
		return false;
	for (i = 0; i < RDS; i++)
		if (i < nr && !rd_ok(&rds[(resp.reads.head + i) % RDS], resp.reads.head + i))
			return false;
	return true;
}

/* The receive request that was taken, by a message or before it. */
static bool recv_ok(void)
{
	/* the result of looking ahead waits for a message; nobody looks where tags match */
	if ((u32)resp.recv > SHCA_RECV_BROKEN ||
	    (resp.attr.recvs == SHCA_RECVS_TM && resp.recv > SHCA_RECV_EMPTY && resp.state != SHCA_SIDE_ERR))
		return false;
	/* as it was decoded */
	if (resp.recv == SHCA_RECV_OK &&
	    (resp.wr.num_sge > SHCA_MAX_SGE || resp.wr.length > SHCA_MAX_MSG))
		return false;
	/* nothing has a kind without tag matching and a request; a rendezvous ends with its packet */
	if (resp.attr.recvs != SHCA_RECVS_TM || resp.recv != SHCA_RECV_OK)
		return resp.tm_kind == SHCA_TM_NONE;
	return (u32)resp.tm_kind < SHCA_TM_RNDV;
}

/* The message in progress; an error ends it. */
static bool message_ok(void)
{
	switch (resp.msg.op) {
	case 0:
		return true;
	case SHCA_OPF_SEND:
		/* it has a receive request, and has not gone beyond that */
		return resp.state == SHCA_SIDE_ERR ||
		       (resp.recv == SHCA_RECV_OK && resp.msg.off <= resp.wr.length);
	case SHCA_OPF_WRITE:
		/* more is to come, or it would have ended; no more than the longest message */
		return resp.msg.left && resp.msg.left <= SHCA_MAX_MSG && resp.msg.off <= SHCA_MAX_MSG - resp.msg.left;
	}
	return false;
}

static bool answer_ok(void)
{
	return (u32)resp.ack.owed <= SHCA_ACK_NAK && (u32)resp.ack.sent <= SHCA_ACK_NAK &&
	       psn_ok(resp.ack.psn) && psn_ok(resp.ack.msn) &&
	       /* a gap ends ahead of the expected PSN, or would have been filled */
	       (u32)resp.stands <= SHCA_STANDS_RNR &&
	       (resp.stands != SHCA_STANDS_GAP || shca_psn_diff(resp.gap.dropped, resp.epsn) >= 0) &&
	       psn_ok(resp.gap.dropped) && psn_or_none(resp.gap.reported) && psn_or_none(resp.gap.unreported) &&
	       resp.gap.quiet <= SHCA_RESP_QUIET &&
	       /* the code of a wait is computed from it, and has five bits */
	       psn_or_none(resp.not_yet_psn) && resp.not_yet <= 31;
}

static bool resp_ok(void)
{
	if (resp.mem != &ops || !psn_ok(resp.epsn) || !psn_ok(resp.msn))
		return false;
	if (resp.attr.mtu < 256 || resp.attr.mtu > 4096 || resp.attr.mtu & (resp.attr.mtu - 1))
		return false;
	if (resp.attr.transport != SHCA_TRANSPORT_RC && resp.attr.transport != SHCA_TRANSPORT_XRC)
		return false;
	if (resp.state != SHCA_SIDE_READY && resp.state != SHCA_SIDE_ERR)
		return false;
	return ring_ok() && recv_ok() && message_ok() && answer_ok();
}

/* Any state for which it holds. (bool has two values, which CBMC must be told.) */
static void any_resp(void)
{
	struct shca_resp any;
	u32 i;

	any.mem = &ops;
	any.reads.rd = rds;
	any.reads.mask = RDS - 1;
#ifdef MTU
	any.attr.mtu = MTU;
#endif
	any.attr.cnp = any_bool();
	any.attr.credits = any_bool();
	any.ack.unsaid = any_bool();
	any.comm_est = any_bool();
	any.cnp_due = any_bool();
	any.rate.on = false;
	resp = any;
	for (i = 0; i < RDS; i++) {
		struct shca_rd rd;

		rd.is_atomic = any_bool();
		rd.answered = any_bool();
		rd.replay = any_bool();
		rds[i] = rd;
	}
	assume(resp_ok());
	/* (its key was checked when it began) */
	if (resp.msg.op == SHCA_OPF_WRITE) {
		granted.va = resp.msg.va;
		granted.rkey = resp.msg.rkey;
		granted.len = resp.msg.off + resp.msg.left;
		granted.access = SHCA_ACCESS_REMOTE_WRITE;
	}
	was = resp;
	memcpy(rds_was, rds, sizeof(rds));
}

/* Any packet that a link or a QP of this machine may hand over. */
static void any_packet(void)
{
	struct shca_pkt any;

	any.path.ecn_ce = any_bool();
	any.se = any_bool();
	any.ackreq = any_bool();
	assume(psn_ok(any.psn) && any.pad <= 3 && any.span < 1024);
	pkt = any;
	flags = shca_opcode_info(pkt.opcode)->flags;
	/* (only payload is put together) */
	assume(!pkt.span || flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE));
}

/* ---- what packets do -------------------------------------------------------- */

/* Nothing was executed, and nothing that decides about the next packets has changed. */
static bool is_as_before(void)
{
	return !touched && !taken && resp.state == was.state && resp.epsn == was.epsn &&
	       resp.msn == was.msn && resp.msg.op == was.msg.op && resp.msg.off == was.msg.off &&
	       resp.msg.va == was.msg.va && resp.msg.rkey == was.msg.rkey && resp.msg.left == was.msg.left &&
	       resp.recv == was.recv && resp.msg.xrc_srqn == was.msg.xrc_srqn &&
	       resp.reads.head == was.reads.head && resp.reads.tail == was.reads.tail && !out.has_wc;
}

static bool answer_is_as_before(void)
{
	return resp.ack.owed == was.ack.owed && resp.ack.psn == was.ack.psn && resp.ack.msn == was.ack.msn &&
	       resp.ack.syndrome == was.ack.syndrome;
}



/*
 * Before the expected PSN (IBTA 9.7.5.1.3, C9-105): never executed again, and acknowledged up to
 * what was executed. Only the part of a record that is sent may change.
 */
static void claim_behind(enum shca_verdict rx)
{
	u32 i;

	claim(rx == SHCA_RX_DUPLICATE || (rx == SHCA_RX_RETRY && flags & SHCA_OPF_READ));
	claim(is_as_before());
	claim(resp.stands == was.stands);
	if (was.ack.owed == SHCA_ACK_NAK)
		claim(answer_is_as_before());
	else if (flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE) && pkt.ackreq)
		claim(resp.ack.owed == SHCA_ACK_ACK);
	if (!answer_is_as_before() && resp.ack.owed == SHCA_ACK_ACK)
		claim(shca_psn_diff(resp.ack.psn, resp.epsn) < 0);
	/* the first response loses no packet by it */
	for (i = 0; i < resp.reads.tail - resp.reads.head && i < RDS; i++)
		claim(resp_rd(&resp, resp.reads.head + i)->answered ||
		      resp_rd(&resp, resp.reads.head + i)->send_idx <=
			      rds_was[(resp.reads.head + i) % RDS].send_idx);
}

/* Ahead of it (9.7.5.1.2): one NAK for the expected one, and no more until that comes. */
static void claim_ahead(enum shca_verdict rx)
{
	claim(rx == SHCA_RX_OUT_OF_SEQ);
	claim(is_as_before());
	if (was.stands != SHCA_STANDS_NOTHING || was.attr.peer & SHCA_PEER_OOO) {
		claim(answer_is_as_before() && resp.stands == was.stands);
		return;
	}
	claim(resp.stands == SHCA_STANDS_GAP);
	claim(resp.ack.owed == SHCA_ACK_NAK && resp.ack.syndrome == NAK_SEQ_SYNDROME);
	claim(resp.ack.psn == was.epsn && resp.ack.msn == was.msn);
}

/* PSNs that an accepted packet stands for: those of its answer, if that is a READ's. */
static u32 packet_psns(void)
{
	if (flags & SHCA_OPF_READ)
		return pkt.reth.len ? (pkt.reth.len - 1) / resp.attr.mtu + 1 : 1;
	return pkt.span + 1;
}

/* Does it follow the one before (9.7.4.1.2)? */
static bool packet_follows(void)
{
	if (!(flags & SHCA_OPF_REQUEST))
		return false;
	return flags & SHCA_OPF_START ? !was.msg.op : was.msg.op && flags & was.msg.op;
}

/* Has it the length of its place in the message (9.7.4.1.6)? */
static bool packet_fits(void)
{
	u32 most = (pkt.span + 1) * resp.attr.mtu;

	if (!(flags & SHCA_OPF_PAYLOAD))
		return !pkt.paylen && !pkt.pad;
	if (!(flags & SHCA_OPF_END))
		return pkt.paylen == most;
	return pkt.paylen <= most && (pkt.paylen || flags & SHCA_OPF_START);
}

/* Has the QP the right (9.7.5.2.4)? */
static bool packet_permitted(void)
{
	u32 right = flags & (SHCA_OPF_WRITE | SHCA_OPF_ATOMIC_WRITE) ? SHCA_ACCESS_REMOTE_WRITE :
		    flags & SHCA_OPF_READ			     ? SHCA_ACCESS_REMOTE_READ :
		    flags & SHCA_OPF_ATOMIC			     ? SHCA_ACCESS_REMOTE_ATOMIC :
								       0;

	return (resp.attr.access & right) == right;
}

/* Only a request that an answer of its own follows has a record. */
static void claim_record(void)
{
	const struct shca_rd *rd = resp_rd(&resp, was.reads.tail);

	claim(resp.reads.tail == was.reads.tail + 1);
	claim(rd->first_psn == pkt.psn && rd->nr_psn == packet_psns() && rd->msn == resp.msn);
	claim(!rd->answered && !rd->send_start && rd->send_end == rd->nr_psn);
	if (rd->len)
		claim(granted.access == SHCA_ACCESS_REMOTE_READ && granted.len == rd->len &&
		      granted.va == rd->va && granted.rkey == rd->rkey);
}

static void claim_executed(void)
{
	u32 last = shca_psn_add(was.epsn, packet_psns() - 1);
	u32 class = flags & (SHCA_OPF_SEND | SHCA_OPF_WRITE);

	claim(packet_follows() && packet_fits() && packet_permitted());
	claim(resp.state == SHCA_SIDE_READY && done <= 1 && taken <= 1);
	claim(resp.epsn == shca_psn_add(last, 1));
	claim(resp.msn == shca_psn_add(was.msn, !!(flags & SHCA_OPF_END)));
	claim(resp.msg.op == (flags & SHCA_OPF_END ? 0 : class));
	/* the gap before it is filled: a NAK that stands is for a later one */
	claim(resp.stands != SHCA_STANDS_RNR);
	claim(resp.stands == SHCA_STANDS_NOTHING ||
	      (resp.ack.owed == SHCA_ACK_NAK && resp.ack.psn == resp.epsn));
	claim(resp.ack.owed != SHCA_ACK_NAK || resp.stands == SHCA_STANDS_GAP);
	claim(!pkt.ackreq || !class || resp.ack.owed != SHCA_ACK_NONE);
	/* acknowledged up to here at most, and before what has an answer of its own */
	if (!answer_is_as_before() && resp.ack.owed == SHCA_ACK_ACK)
		claim(shca_psn_diff(resp.ack.psn, class ? last : shca_psn_add(pkt.psn, -1)) <= 0);
	/* a receive request completes at the end of a SEND, or by immediate data */
	claim(out.has_wc == (flags & SHCA_OPF_END && flags & (SHCA_OPF_SEND | SHCA_OPF_IMM)));
	if (out.has_wc) {
		claim(out.wc.is_recv && out.wc.status == SHCA_WC_SUCCESS);
		claim(resp.recv == SHCA_RECV_EMPTY);
		claim(out.wc.wr_id == resp.wr.wr_id && out.wc.byte_len <= SHCA_MAX_MSG);
	}
	if (class)
		claim(resp.reads.tail == was.reads.tail);
	else
		claim_record();
}

/* A NAK at its PSN, no next request, and somebody hears of it. */
static void claim_refused(enum shca_verdict rx)
{
	u8 nak = rx == SHCA_RX_INVALID ? SHCA_NAK_INVALID :
		 rx == SHCA_RX_ACCESS  ? SHCA_NAK_ACCESS :
					 SHCA_NAK_OPERATION;

	claim(rx == SHCA_RX_INVALID || rx == SHCA_RX_ACCESS || rx == SHCA_RX_OPERATION);
	claim(resp.state == SHCA_SIDE_ERR && !resp_has_wr(&resp));
	claim(resp.ack.owed == SHCA_ACK_NAK && resp.ack.syndrome == (SHCA_AETH_NAK | nak));
	claim(resp.ack.psn == pkt.psn && resp.ack.msn == was.msn);
	claim(out.has_wc ? out.wc.is_recv && out.wc.status != SHCA_WC_SUCCESS :
			   out.events & (SHCA_EV_REQ_ERR | SHCA_EV_ACCESS_ERR | SHCA_EV_FATAL));
	/* (a SEND is refused after its data if there is nothing to invalidate) */
	claim(!done || flags & SHCA_OPF_INV);
}

static void claim_expected(enum shca_verdict rx)
{
	/* a record makes way only if it was answered */
	claim(resp.reads.head == was.reads.head ||
	      (resp.reads.head == was.reads.head + 1 && rds_was[was.reads.head % RDS].answered));
	if (!packet_follows() || !packet_fits() || !packet_permitted())
		claim(rx == SHCA_RX_INVALID && !touched && !taken);
	if (rx == SHCA_RX_OK) {
		claim_executed();
		return;
	}
	claim(resp.epsn == was.epsn && resp.msn == was.msn && resp.msg.op == was.msg.op);
	claim(resp.reads.tail == was.reads.tail);
	if (rx == SHCA_RX_RNR) {
		claim(!touched && !taken && !out.has_wc && resp.state == SHCA_SIDE_READY);
		claim(resp.stands == SHCA_STANDS_RNR && resp.ack.owed == SHCA_ACK_NAK && resp.ack.psn == pkt.psn);
		claim((resp.ack.syndrome & SHCA_AETH_TYPE) == SHCA_AETH_RNR);
	} else if (shca_rx_is_later(rx)) {
		claim(!done && !out.has_wc && resp.state == SHCA_SIDE_READY);
		claim(answer_is_as_before());
	} else {
		claim_refused(rx);
	}
}

/*
 * One that was executed before, of any MTU.
 *
 * proof: behind slow --unwind 3
 * planted: core/responder/responder.c: s/if (resp->ack.owed == SHCA_ACK_NAK)$/if (false)/
 * planted: core/responder/responder.c: s/pkt->reth.len > rd->len - byte/pkt->reth.len > rd->len/
 * planted: core/responder/responder.c: s/end = max_t(u32, end, rd->send_end);/end = rd->send_end;/
 */
void behind(void)
{
	any_resp();
	any_packet();
	assume(resp.state == SHCA_SIDE_READY && shca_psn_diff(pkt.psn, resp.epsn) < 0);
	claim_behind(resp_duplicate(&resp, &pkt));
	claim(resp_ok());
}

/*
 * The expected one, of any MTU.
 *
 * proof: expected slow --unwind 3
 * planted: core/responder/executor.c: s/return !resp->msg.op;/return true;/
 * planted: core/responder/executor.c: s/return resp->msg.op \&\& resp->msg.op == class/return resp->msg.op/
 * planted: core/responder/executor.c: s/return access \& SHCA_ACCESS_REMOTE_READ;/return true;/
 * planted: core/responder/executor.c: s/return pkt->paylen == most/return pkt->paylen <= most/
 * planted: core/responder/executor.c: s/pkt->paylen >= resp->msg.left)/pkt->paylen > resp->msg.left)/
 * planted: core/responder/executor.c: s/body->paylen > resp->wr.length - resp->msg.off/body->paylen > resp->wr.length/
 * planted: core/responder/executor.c: s/if (!resp_rd(resp, resp->reads.head)->answered)/if (false)/
 * planted: core/responder/executor.c: s/(len - 1) \/ resp->attr.mtu + 1/len \/ resp->attr.mtu + 1/
 * planted: core/responder/executor.c: s/shca_psn_add(last_psn, -has_response)/last_psn/
 */
void expected(void)
{
	any_resp();
	any_packet();
	assume(resp.state == SHCA_SIDE_READY && pkt.psn == resp.epsn);
	claim_expected(shca_resp_execute(&resp, &pkt, &out));
	claim(resp_ok());
}

/*
 * Any packet. The longest READs have the most PSNs with this MTU; others are above.
 *
 * proof: packet slow --unwind 3 -DMTU=256
 * planted: core/responder/responder.c: s/if (diff < 0)/if (diff < -1)/
 * planted: core/responder/responder.c: s/if (resp->stands == SHCA_STANDS_RNR ||/if (/
 * planted: core/responder/responder.c: s/	if (resp->stands != SHCA_STANDS_GAP) {/	if (true) {/
 */
void packet(void)
{
	enum shca_verdict rx;
	s32 ahead;

	any_resp();
	any_packet();
	ahead = shca_psn_diff(pkt.psn, resp.epsn);
	rx = shca_resp_rx(&resp, &pkt, any_u64(), &out);
	claim(resp_ok());
	if (was.state == SHCA_SIDE_ERR || (pkt.opcode & SHCA_TRANSPORT_MASK) != was.attr.transport)
		claim(rx == SHCA_RX_STATE && is_as_before() && answer_is_as_before());
	else if (ahead < 0)
		claim_behind(rx);
	else if (ahead > 0)
		claim_ahead(rx);
	else
		claim_expected(rx);
}

/*
 * A run of middle packets is as its parts, one after the other: none of them would be refused
 * but by memory. Bound: 3 of them.
 *
 * proof: run quick --unwind 4 -DMTU=256
 * planted: core/responder/responder.c: s/return pkt->paylen < resp->msg.left;/return true;/
 * planted: core/responder/responder.c: s/resp->msg.op != (flags/!(flags/
 */
void run(void)
{
	struct shca_resp parts;
	struct shca_pkt part;
	u32 i, off, left;

	any_resp();
	any_packet();
	/* as a link joins them, which knows neither side */
	assume(pkt.span < 3 && flags & SHCA_OPF_PAYLOAD && !(flags & (SHCA_OPF_START | SHCA_OPF_END)));
	assume(pkt.unit && pkt.unit <= 65535 && pkt.paylen == (pkt.span + 1) * pkt.unit && !pkt.pad);
	assume(resp.attr.transport == SHCA_TRANSPORT_RC);
	/* what was dropped is not so long ago that it seems to be ahead */
	assume(shca_psn_diff(resp.gap.dropped, resp.epsn) > -(s32)SHCA_PSN_WINDOW + 3);
	if (!shca_resp_takes_run(&resp, &pkt))
		return;
	claim(resp_opcode_follows(&resp, flags) && resp_length_fits(&resp, &pkt, flags));
	parts = resp;
	off = resp.msg.off;
	left = resp.msg.left;
	for (i = 0; i <= pkt.span; i++) {
		part = shca_pkt_part(&pkt, i);
		claim(part.psn == parts.epsn && resp_length_fits(&parts, &part, flags));
		claim(resp.msg.op == SHCA_OPF_SEND ? part.paylen <= resp.wr.length - off : part.paylen < left);
		off += part.paylen;
		left -= part.paylen;
		resp_accept(&parts, &part, flags, part.span + 1);
	}
	resp_accept(&resp, &pkt, flags, pkt.span + 1);
	claim(parts.epsn == resp.epsn && parts.msn == resp.msn && parts.msg.op == resp.msg.op);
	claim(off == resp.msg.off + pkt.paylen && (resp.msg.op != SHCA_OPF_WRITE || left));
	claim(parts.stands == resp.stands);
	claim(parts.ack.owed == resp.ack.owed);
	if (parts.ack.owed == SHCA_ACK_NAK)
		claim(parts.ack.psn == resp.ack.psn && parts.ack.syndrome == resp.ack.syndrome);
}

/*
 * Gap reports, where the responder has an out-of-order queue: up to 32 PSNs from the expected
 * one on, all before the packet that arrived. A gap is reported once, and again if one asks.
 *
 * proof: gap quick --unwind 3
 * planted: core/responder/responder.c: s/nr = min_t(u32, nr, SHCA_AETH_VALUE + 1);//
 * planted: core/responder/responder.c: s/if (knows \&\& (!asks ||/if (knows \&\& (asks ||/
 */
void gap(void)
{
	u32 psn = any_u32(), cause = any_u32(), nr;
	bool asks = any_bool();

	any_resp();
	assume(psn_ok(psn) && psn_ok(cause));
	nr = shca_psn_off(psn, resp.epsn);
	assume(nr <= SHCA_OOO_PSNS);
	shca_resp_gap(&resp, psn, cause, asks);
	claim(resp_ok());
	claim(is_as_before());
	if (!answer_is_as_before()) {
		claim(nr && was.state == SHCA_SIDE_READY && was.stands != SHCA_STANDS_RNR);
		claim(resp.ack.owed == SHCA_ACK_NAK && resp.ack.psn == resp.epsn && resp.ack.msn == cause);
		claim((resp.ack.syndrome & SHCA_AETH_TYPE) == SHCA_AETH_MISSING);
		claim((resp.ack.syndrome & SHCA_AETH_VALUE) < nr);
		claim(shca_psn_diff(resp.gap.reported, psn) <= 0);
		was = resp;
		shca_resp_gap(&resp, psn, any_u32() & SHCA_PSN_MASK, false);
		claim(answer_is_as_before());
	}
}

/*
 * The next packet that leaves: of a response it is a part, in its PSNs and in its bytes.
 *
 * proof: answer slow --unwind 4 -DMTU=256
 * planted: core/responder/answers.c: s/return min_t(u32, resp->max_run, left - 1)/return resp->max_run/
 * planted: core/responder/answers.c: s/(!rd || shca_psn_diff(rd->first_psn, resp->ack.psn) > 0)/true/
 */
void answer(void)
{
	const struct shca_rd *rd;
	struct shca_pkt next;
	u32 off, i;

	any_resp();
	assume(resp.reach && resp.reach <= 1024 && resp.max_run <= 1024);
	if (!shca_resp_next(&resp, any_u64(), &next)) {
		claim(resp.ack.owed == SHCA_ACK_NONE && resp.reads.send == resp.reads.tail && !resp.cnp_due);
		claim(resp_ok());
		return;
	}
	claim(resp_ok());
	claim(is_as_before());
	claim(next.out_seq == was.out_seq && resp.out_seq == was.out_seq + 1);
	if (next.opcode == SHCA_OPCODE_CNP) {
		claim(was.cnp_due && !resp.cnp_due);
		return;
	}
	claim((next.opcode & SHCA_TRANSPORT_MASK) == resp.attr.transport);
	i = resp.reads.send;
	rd = resp_rd(&resp, i);
	if (was.ack.owed != SHCA_ACK_NONE && resp.ack.owed == SHCA_ACK_NONE) {
		claim(next.psn == was.ack.psn && next.aeth.msn == was.ack.msn && !next.paylen);
		/* what was requested before it has left */
		claim(i == resp.reads.tail || shca_psn_diff(rd->first_psn, was.ack.psn) > 0);
		return;
	}
	claim(answer_is_as_before() && i != resp.reads.tail);
	off = shca_psn_off(next.psn, rd->first_psn);
	claim(off < rd->nr_psn && next.span < rd->nr_psn - off);
	claim(off + next.span + 1 == rd->send_idx);
	if (rd->is_atomic)
		return;
	off *= resp.attr.mtu;
	claim(off <= rd->len && next.paylen <= rd->len - off);
	claim(next.va == rd->va + off && next.rkey == rd->rkey);
	claim(next.rest == rd->len - off - next.paylen);
	/* only the last packet may be shorter */
	claim(rd->send_idx == rd->nr_psn ? !next.rest : next.paylen == (next.span + 1) * resp.attr.mtu);
}

/*
 * It begins with a state that holds, also after a reset.
 *
 * proof: begin quick --unwind 3
 * planted: core/responder/responder.c: s/min_t(u32, attr->max_dest_rd_atomic, resp->reads.mask + 1)/attr->max_dest_rd_atomic/
 * planted: core/responder/responder.c: s/resp->epsn = attr->rq_psn \& SHCA_PSN_MASK/resp->epsn = attr->rq_psn/
 */
void begin(void)
{
	struct shca_resp_attr attr;

	attr.cnp = any_bool();
	assume(attr.mtu >= 256 && attr.mtu <= 4096 && !(attr.mtu & (attr.mtu - 1)));
	assume(attr.transport == SHCA_TRANSPORT_RC || attr.transport == SHCA_TRANSPORT_XRC);
	if (any_bool()) {
		shca_resp_init(&resp, rds, RDS, &ops, NULL);
	} else {
		any_resp();
		shca_resp_reset(&resp);
	}
	claim(resp.state == SHCA_SIDE_RESET);
	claim(shca_resp_rx(&resp, &pkt, any_u64(), &out) == SHCA_RX_STATE);
	shca_resp_start(&resp, &attr);
	claim(resp_ok());
	claim(resp.state == SHCA_SIDE_READY && resp.epsn == (attr.rq_psn & SHCA_PSN_MASK));
}

/*
 * All other calls, with any arguments. What has not left is owed again, and no error is undone.
 *
 * proof: call quick --unwind 4 -DMTU=256
 * planted: core/responder/answers.c: s/		rd->send_end = rd->nr_psn;//
 * planted: core/responder/answers.c: s/		if (!rd->replay)/		if (true)/
 * planted: core/responder/responder.c: s/resp->not_yet = min_t(u32, resp->not_yet + 1, 31)/resp->not_yet++/
 */
void call(void)
{
	struct shca_resp_attr attr;
	struct shca_wc wc;
	u32 psn = any_u32();

	any_resp();
	any_packet();
	assume(psn_ok(psn) && attr.max_dest_rd_atomic <= RDS);
	switch (any_u8()) {
	case 0:
		shca_resp_not_yet(&resp, psn);
		claim(is_as_before());
		break;
	case 1:
		shca_resp_link_full(&resp, &pkt);
		claim(is_as_before());
		break;
	case 2:
		shca_resp_gather_failed(&resp, &pkt, 1 + any_u8() % SHCA_MEM_RETRY, &out);
		claim(resp.epsn == was.epsn && resp.msn == was.msn && !touched && !taken);
		break;
	case 3:
		if (shca_resp_flush_acks(&resp))
			claim(resp.ack.owed != SHCA_ACK_NONE);
		claim(is_as_before());
		break;
	case 4:
		if (shca_resp_flush(&resp, &wc))
			claim(resp_has_wr(&was));
		claim(resp.state == was.state);
		claim(resp_has_wr(&resp) == (resp_has_wr(&was) && was.state == SHCA_SIDE_READY));
		break;
	case 5:
		shca_resp_fail(&resp);
		claim(resp.state == SHCA_SIDE_ERR);
		break;
	case 6:
		shca_resp_modify(&resp, &attr, any_u32() & ~(SHCA_RESP_TRANSPORT | SHCA_RESP_RATE));
		claim(is_as_before());
		break;
	default:
		assume(shca_resp_is_next(&resp, &pkt));
		shca_resp_forge(&resp, &pkt, any_u8() % SHCA_FAULT_NAK_NR, SHCA_WC_GENERAL_ERR, &out);
		claim(resp.epsn == was.epsn && resp.msn == was.msn && !touched);
		claim(resp.ack.owed == SHCA_ACK_NAK && resp.ack.psn == pkt.psn);
		break;
	}
	claim(resp_ok());
	claim(was.state == SHCA_SIDE_READY || resp.state == was.state);
}
