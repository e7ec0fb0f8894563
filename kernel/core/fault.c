// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Matching and decisions of rules of fault injection. */
#include "fault.h"

#include "opcode.h"
#include "packet.h"
#include "transport.h"

u8 shca_fault_stage_of(u8 what, bool rx)
{
	switch (what) {
	case SHCA_FAULT_NAK:
		return SHCA_FAULT_RESPOND;
	case SHCA_FAULT_COMPLETE:
	case SHCA_FAULT_QP_FATAL:
		return SHCA_FAULT_SEND;
	case SHCA_FAULT_CQ_OVERRUN:
		return SHCA_FAULT_CQ;
	case SHCA_FAULT_FAIL:
		return SHCA_FAULT_VERB;
	case SHCA_FAULT_EVENT:
		return SHCA_FAULT_NOW;
	default:
		return rx ? SHCA_FAULT_RX : SHCA_FAULT_TX;
	}
}

/* splitmix64: any seed will do, 0 included. */
#define FAULT_STEP	0x9e3779b97f4a7c15ull
/* Random numbers of one fault: shca_fault_due() takes one, its caller some more. */
#define FAULT_DRAWS	4

static u64 fault_next(struct shca_fault_state *state)
{
	u64 z = state->rng += FAULT_STEP;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

u32 shca_fault_random(struct shca_fault_state *state, u32 limit)
{
	return (fault_next(state) >> 32) * limit >> 32;
}

void shca_fault_start(struct shca_fault_state *state, u64 now)
{
	*state = (struct shca_fault_state){ .since = now };
}

/* An acknowledgement and nothing else. */
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
		return pkt->opcode == SHCA_OPCODE_CNP;
	}
	return false;
}

static bool fault_fits_psn(const struct shca_fault_rule *rule, u32 psn)
{
	return shca_psn_off(psn, rule->psn) <=
	       shca_psn_off(rule->psn_last, rule->psn);
}

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
	if (!pkt)
		return true;
	if (rule->what == SHCA_FAULT_CORRUPT_PAYLOAD && !pkt->paylen)
		return false;
	if (rule->opcode != SHCA_FAULT_ANY_OPCODE && rule->opcode != pkt->opcode)
		return false;
	return fault_fits_type(rule->type, pkt) &&
	       (!rule->has_psn || fault_fits_psn(rule, pkt->psn));
}

/* @seen counts what fits, from 1 on. */
static bool fault_counts(const struct shca_fault_rule *rule, u64 seen)
{
	if (seen < rule->nth)
		return false;
	if (rule->every)
		return !((seen - rule->nth) % rule->every);
	/* An n-th one alone is one. */
	return !rule->nth || rule->count || seen == rule->nth;
}

static bool fault_is_listed(const struct shca_fault_rule *rule,
			    struct shca_fault_state *state)
{
	if (state->listed == rule->nr_at ||
	    rule->at[state->listed] != state->fitted)
		return false;
	state->listed++;
	return true;
}

bool shca_fault_due(const struct shca_fault_rule *rule,
		    struct shca_fault_state *state, u64 now)
{
	u64 age = now - state->since;
	u32 random;

	state->fitted++;
	state->rng = rule->seed + state->fitted * FAULT_DRAWS * FAULT_STEP;
	random = shca_fault_random(state, SHCA_FAULT_ALWAYS);
	if (age < rule->after_ns ||
	    (rule->for_ns && age - rule->after_ns >= rule->for_ns))
		return false;
	state->seen++;
	if ((rule->count && state->hits >= rule->count) ||
	    !fault_counts(rule, state->seen) || random >= rule->probability ||
	    (rule->at && !fault_is_listed(rule, state)))
		return false;
	state->hits++;
	return true;
}
