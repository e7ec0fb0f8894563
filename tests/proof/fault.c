// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rules of fault injection: core/fault_rule.c. All rules, also those that no administrator can make,
 * all packets, all states. Lists of a rule have up to 3 numbers: each is looked at by itself.
 */
#include "proof.h"
#include "core/fault_rule.c"
#include "core/opcode.c"

static void any_rule(struct shca_fault_rule *rule)
{
	rule->has_psn = any_bool();
	rule->has_wr_id = any_bool();
	rule->has_va = any_bool();
	rule->has_rkey = any_bool();
}

/*
 * A rule that names memory fits a packet only if that reaches it. Ranges may end at the end of
 * all addresses, and a peer's length may go beyond it.
 *
 * proof: memory quick
 * planted: core/fault_rule.c: s/last = len ? va + len - 1 : va/last = va + len/
 */
void memory(void)
{
	struct shca_fault_rule rule;
	struct shca_pkt pkt;
	u64 at = any_u64();
	u32 flags = shca_opcode_info(pkt.opcode)->flags;
	bool fits;

	any_rule(&rule);
	fits = fault_fits_memory(&rule, &pkt);
	/* @at is in the rule's range and in the packet's: without a key it fits */
	assume(flags & SHCA_OPF_RETH && rule.has_va && !rule.has_rkey && rule.va <= rule.va_last);
	assume(at >= rule.va && at <= rule.va_last);
	if (at - pkt.reth.va < pkt.reth.len && at >= pkt.reth.va)
		claim(fits);
	if (fits)
		claim(pkt.reth.va <= rule.va_last);
	if (fits && pkt.reth.len && pkt.reth.va + pkt.reth.len - 1 >= pkt.reth.va)
		claim(pkt.reth.va + pkt.reth.len - 1 >= rule.va);
}

/*
 * A range of PSNs may wrap.
 *
 * proof: psn quick
 * planted: core/fault_rule.c: s/shca_psn_off(psn, rule->psn) <=/shca_psn_off(psn, rule->psn) </
 */
void psn(void)
{
	struct shca_fault_rule rule;
	u32 psn = any_u32();
	bool in;

	assume(psn < 1u << 24 && rule.psn < 1u << 24 && rule.psn_last < 1u << 24);
	in = rule.psn <= rule.psn_last ? psn >= rule.psn && psn <= rule.psn_last :
					 psn >= rule.psn || psn <= rule.psn_last;
	claim(fault_fits_psn(&rule, psn) == in);
}

/*
 * What is due: not more often than the rule says, nothing beyond its list is read, and nothing
 * is divided by zero.
 *
 * proof: due slow
 * planted: ../uapi/softhca-fault.h: s/if (state->listed == when->nr_at ||/if (state->listed > when->nr_at ||/
 * planted: ../uapi/softhca-fault.h: s/state->hits >= when->count/state->hits > when->count/
 */
void due(void)
{
	struct shca_fault_rule rule;
	struct shca_fault_state state;
	u64 was, seen;
	bool is;

	any_rule(&rule);
	assume(rule.when.nr_at <= 3);
	rule.when.at = any_bool() ? (u32 *)any_bytes(rule.when.nr_at * sizeof(u32)) : NULL;
	assume(state.listed <= rule.when.nr_at && state.seen <= state.fitted && state.hits <= state.seen);
	assume(!rule.when.count || state.hits <= rule.when.count);
	assume(state.fitted < 1ull << 60);
	was = state.hits;
	seen = state.seen;
	is = shca_fault_due(&rule.when, &state, any_u64());
	claim(state.hits == was + is && state.seen - seen <= 1 && state.hits <= state.seen);
	claim(!rule.when.count || state.hits <= rule.when.count);
	claim(!is || state.seen >= rule.when.nth);
	claim(state.listed <= rule.when.nr_at || !rule.when.at);
}

/*
 * A delay is bounded, whatever its distribution.
 *
 * proof: wait slow
 * planted: core/fault_rule.c: s/return min_t(u64, wait, SHCA_FAULT_DELAY_MAX)/return min_t(u64, wait, SHCA_FAULT_DELAY_MAX + 1)/
 */
void wait(void)
{
	struct shca_fault_rule rule;
	struct shca_fault_state state;

	assume(rule.delay_ns <= SHCA_FAULT_DELAY_MAX && rule.jitter_ns <= SHCA_FAULT_DELAY_MAX);
	claim(shca_fault_wait(&rule, &state) <= SHCA_FAULT_DELAY_MAX);
}
