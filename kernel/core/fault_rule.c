// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Matching and decisions of rules of fault injection. */
#include "fault_rule.h"

#include "opcode.h"
#include "packet.h"
#include "transport.h"

u8 shca_fault_stage_of(u8 what, bool rx)
{
	switch (what) {
	case SHCA_FAULT_NAK:
	case SHCA_FAULT_REVOKE:
		return SHCA_FAULT_RESPOND;
	case SHCA_FAULT_COMPLETE:
	case SHCA_FAULT_QP_FATAL:
		return SHCA_FAULT_SEND;
	case SHCA_FAULT_CQ_OVERRUN:
		return SHCA_FAULT_CQ;
	case SHCA_FAULT_LOSE_EVENT:
		return SHCA_FAULT_NOTIFY;
	case SHCA_FAULT_LOSE_DOORBELL:
	case SHCA_FAULT_DELAY_DOORBELL:
		return SHCA_FAULT_DOORBELL;
	case SHCA_FAULT_FAIL:
		return SHCA_FAULT_VERB;
	case SHCA_FAULT_EVENT:
		return SHCA_FAULT_NOW;
	default:
		return rx ? SHCA_FAULT_RX : SHCA_FAULT_TX;
	}
}

/* A sum of four uniform numbers, which is nearly normal, from 0 to @limit. */
static u32 fault_normal(struct shca_fault_state *state, u32 limit)
{
	u64 random = shca_fault_next(state);
	u32 sum = (random & 0xffff) + (random >> 16 & 0xffff) +
		  (random >> 32 & 0xffff) + (random >> 48);

	return (u64)sum * limit >> 18;
}

/*
 * -ln of a random number below 1, times @mean. The highest set bit is the integer part of log2;
 * a parabola, whose error is below 0.01, is its fraction.
 */
static u32 fault_exponential(struct shca_fault_state *state, u32 mean)
{
	u32 random = (u32)(shca_fault_next(state) >> 32) | 1;
	u32 places = 32 - fls(random), part;
	u64 log;

	/* The bits below the highest set one are the fraction. */
	part = (u32)((u64)random << (places + 1)) >> 16;
	part += ((u64)part * (65536 - part) >> 16) * 22525 >> 16;
	log = (places + 1) * 65536 - part;
	/* -ln(x) is -log2(x) * 0.693 */
	return mean * (log * 45426 >> 16) >> 16;
}

u64 shca_fault_wait(const struct shca_fault_rule *rule,
		    struct shca_fault_state *state)
{
	/* In microseconds, because their number fits into 32 bits. */
	u32 jitter = div64_u64(rule->jitter_ns, 1000), us;
	u64 wait;

	if (!rule->jitter_ns)
		return rule->delay_ns;
	if (rule->dist == SHCA_FAULT_DIST_NORMAL)
		us = fault_normal(state, jitter + 1);
	else if (rule->dist == SHCA_FAULT_DIST_EXPONENTIAL)
		us = fault_exponential(state, jitter);
	else
		us = shca_fault_random(state, jitter + 1);
	wait = rule->delay_ns + us * 1000ull;
	return min_t(u64, wait, SHCA_FAULT_DELAY_MAX);
}

void shca_fault_start(struct shca_fault_state *state, u64 now)
{
	*state = (struct shca_fault_state){ .since = now };
}

/* Is it the opcode Acknowledge, which ACKs and NAKs have? */
static bool fault_is_ack(u32 flags)
{
	return (flags & (SHCA_OPF_AETH | SHCA_OPF_READ |
			 SHCA_OPF_ATOMICACKETH)) == SHCA_OPF_AETH;
}

static bool fault_is_nak(const struct shca_pkt *pkt)
{
	return (pkt->aeth.syndrome & SHCA_AETH_TYPE) != SHCA_AETH_ACK;
}

static bool fault_fits_type(u8 type, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	bool response = flags & SHCA_OPF_RESPONSE;

	switch (type) {
	case SHCA_FAULT_TYPE_ANY:
		return true;
	case SHCA_FAULT_TYPE_REQUEST:
		return flags & SHCA_OPF_REQUEST;
	case SHCA_FAULT_TYPE_RESPONSE:
		return response;
	case SHCA_FAULT_TYPE_SEND:
		return flags & SHCA_OPF_SEND;
	case SHCA_FAULT_TYPE_WRITE:
		return flags & SHCA_OPF_WRITE;
	case SHCA_FAULT_TYPE_READ:
		return flags & SHCA_OPF_READ && !response;
	case SHCA_FAULT_TYPE_READ_RESPONSE:
		return flags & SHCA_OPF_READ && response;
	case SHCA_FAULT_TYPE_ATOMIC:
		return flags & SHCA_OPF_ATOMICETH;
	case SHCA_FAULT_TYPE_ATOMIC_ACK:
		return flags & SHCA_OPF_ATOMICACKETH;
	case SHCA_FAULT_TYPE_ACK:
		return fault_is_ack(flags) && !fault_is_nak(pkt);
	case SHCA_FAULT_TYPE_NAK:
		return fault_is_ack(flags) && fault_is_nak(pkt);
	case SHCA_FAULT_TYPE_CNP:
		return shca_opcode_is_cnp(pkt->opcode);
	}
	return false;
}

static bool fault_fits_psn(const struct shca_fault_rule *rule, u32 psn)
{
	return shca_psn_off(psn, rule->psn) <=
	       shca_psn_off(rule->psn_last, rule->psn);
}

/* Does the packet name the remote memory of the rule? */
static bool fault_fits_memory(const struct shca_fault_rule *rule,
			      const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;
	u64 va, len, last;
	u32 rkey;

	if (!rule->has_va && !rule->has_rkey)
		return true;
	if (flags & SHCA_OPF_RETH) {
		va = pkt->reth.va;
		len = pkt->reth.len;
		rkey = pkt->reth.rkey;
	} else if (flags & SHCA_OPF_ATOMICETH) {
		va = pkt->atomic.va;
		len = sizeof(u64);
		rkey = pkt->atomic.rkey;
	} else {
		return false;
	}
	if (rule->has_rkey && rule->rkey != rkey)
		return false;
	/* A peer may name a range that wraps; an empty one counts as one byte. */
	last = len ? va + len - 1 : va;
	if (last < va)
		last = ~0ull;
	return !rule->has_va || (va <= rule->va_last && last >= rule->va);
}

/* Requests that name a key, and the later packets of a WRITE. */
#define FAULT_KEYED	(SHCA_OPF_RETH | SHCA_OPF_ATOMICETH | SHCA_OPF_WRITE)

bool shca_fault_fits(const struct shca_fault_rule *rule,
		     const struct shca_fault_at *at)
{
	const struct shca_pkt *pkt = at->pkt;

	if (rule->stage != at->stage || (rule->qpn && rule->qpn != at->qpn))
		return false;
	if (at->stage == SHCA_FAULT_VERB)
		return rule->verb == SHCA_FAULT_ANY_VERB || rule->verb == at->verb;
	if (rule->has_wr_id && rule->wr_id != at->wr_id)
		return false;
	if (rule->cqn && rule->cqn != at->cqn)
		return false;
	if (rule->msg && (at->msg < rule->msg || at->msg > rule->msg_last))
		return false;
	if (!pkt)
		return true;
	if (rule->what == SHCA_FAULT_CORRUPT_PAYLOAD && !pkt->paylen)
		return false;
	/* A message is refused at its first packet. */
	if (rule->what == SHCA_FAULT_NAK &&
	    !(shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_START))
		return false;
	if (rule->what == SHCA_FAULT_REVOKE &&
	    !(shca_opcode_info(pkt->opcode)->flags & FAULT_KEYED))
		return false;
	if (rule->opcode != SHCA_FAULT_ANY_OPCODE && rule->opcode != pkt->opcode)
		return false;
	return fault_fits_type(rule->type, pkt) && fault_fits_memory(rule, pkt) &&
	       (!rule->has_psn || fault_fits_psn(rule, pkt->psn));
}
