// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rules of fault injection from a file, in the words of `softhca fault add --file`
 * (tools/softhca/fault/fault_words.c). The core decides as in the kernel. A world with rules has
 * no other faults on its link, and may fail.
 */
#include <stdarg.h>
#include <errno.h>

#include "../../../tools/softhca/fault/fault_words.h"
#include "sim.h"

#define MAX_WORDS	32

/* A packet that others are to overtake waits no longer, as in kernel/inject/held.c. */
#define REORDER_NS	20000000ull

/**
 * struct sim_rule - a rule; the same for all seeds
 * @given:	bits of enum shca_fault_attr
 */
struct sim_rule {
	struct shca_fault_rule rule;
	u64 given;
	u32 at[SHCA_FAULT_LOG];
};

static struct sim_rule *rules;
static u32 nr_rules;

int complain(const char *format, ...)
{
	va_list ap;

	fputs("sim: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 2;
}

/* ---- files ------------------------------------------------------------------------ */

static u64 value_of(const void *data, size_t length)
{
	u64 value = 0;
	char *at = (char *)&value;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	at += sizeof(value) - length;
#endif
	if (length)
		memcpy(at, data, length);
	return value;
}

static bool take(int attr, const void *data, size_t length, void *arg)
{
	struct sim_rule *r = arg;
	struct shca_fault_rule *rule = &r->rule;
	u64 value;

	r->given |= 1ull << attr;
	if (attr == SHCA_FA_AT) {
		memcpy(r->at, data, length);
		rule->when.nr_at = length / sizeof(*r->at);
		return true;
	}
	value = value_of(data, length);
	switch (attr) {
	case SHCA_FA_WHAT:
		rule->what = value;
		break;
	case SHCA_FA_QPN:
		rule->qpn = value;
		break;
	case SHCA_FA_OPCODE:
		rule->opcode = value;
		break;
	case SHCA_FA_TYPE:
		rule->type = value;
		break;
	case SHCA_FA_PSN:
		rule->psn = value;
		break;
	case SHCA_FA_PSN_LAST:
		rule->psn_last = value;
		break;
	case SHCA_FA_PROBABILITY:
		rule->when.probability = value;
		break;
	case SHCA_FA_SEED:
		rule->when.seed = value;
		break;
	case SHCA_FA_EVERY:
		rule->when.every = value;
		break;
	case SHCA_FA_NTH:
		rule->when.nth = value;
		break;
	case SHCA_FA_COUNT:
		rule->when.count = value;
		break;
	case SHCA_FA_AFTER:
		rule->when.after_ns = value;
		break;
	case SHCA_FA_FOR:
		rule->when.for_ns = value;
		break;
	case SHCA_FA_DELAY:
		rule->delay_ns = value;
		break;
	case SHCA_FA_JITTER:
		rule->jitter_ns = value;
		break;
	case SHCA_FA_DIST:
		rule->dist = value;
		break;
	case SHCA_FA_VA:
		rule->va = value;
		break;
	case SHCA_FA_VA_LAST:
		rule->va_last = value;
		break;
	case SHCA_FA_RKEY:
		rule->rkey = value;
		break;
	case SHCA_FA_DISTANCE:
		rule->distance = value;
		break;
	}
	return true;
}

/* Words of rules that are not about packets; the name is that of the first one. */
static const char *strange_word(const struct sim_rule *r)
{
	const struct fault_key *key;

	for (key = fault_keys; key->name; key++) {
		switch (key->attr) {
		case SHCA_FA_MSG:
		case SHCA_FA_WR_ID:
		case SHCA_FA_CQN:
		case SHCA_FA_PID:
		case SHCA_FA_CGROUP:
		case SHCA_FA_STATUS:
		case SHCA_FA_NAK:
		case SHCA_FA_VERB:
		case SHCA_FA_ERRNO:
		case SHCA_FA_EVENT:
			if (r->given >> key->attr & 1)
				return key->name;
		}
	}
	return NULL;
}

static bool has(const struct sim_rule *r, int attr)
{
	return r->given >> attr & 1;
}

/* Return: 0, or an exit status after a message. */
static int settle(const char *where, struct sim_rule *r)
{
	struct shca_fault_rule *rule = &r->rule;
	const char *word = strange_word(r);

	if (!has(r, SHCA_FA_WHAT))
		return complain("%s: do: missing", where);
	if (rule->what >= SHCA_FAULT_NAK)
		return complain("%s: do=%s: the simulator has faults of packets only",
				where, fault_what_name(rule->what));
	if (word)
		return complain("%s: %s: the simulator has faults of packets only",
				where, word);
	if (rule->what == SHCA_FAULT_DELAY && !has(r, SHCA_FA_DELAY))
		return complain("%s: delay: missing", where);
	if (rule->what == SHCA_FAULT_REORDER && !rule->distance)
		return complain("%s: by: missing", where);
	rule->stage = shca_fault_stage_of(rule->what, has(r, SHCA_FA_RX));
	rule->has_psn = has(r, SHCA_FA_PSN);
	rule->has_va = has(r, SHCA_FA_VA);
	rule->has_rkey = has(r, SHCA_FA_RKEY);
	if (!has(r, SHCA_FA_OPCODE))
		rule->opcode = SHCA_FAULT_ANY_OPCODE;
	if (!has(r, SHCA_FA_PROBABILITY))
		rule->when.probability = SHCA_FAULT_ALWAYS;
	return 0;
}

int sim_rules_read(const char *name)
{
	char line[RULE_SIZE], where[320], *word[MAX_WORDS];
	FILE *file = fopen(name, "r");
	int number = 0, status = 0, nr;
	const char *device;

	if (!file)
		return complain("%s: %s", name, strerror(errno));
	while (!status && fgets(line, sizeof(line), file)) {
		struct fault_sink sink = { .put = take };

		snprintf(where, sizeof(where), "%.255s line %d", name, ++number);
		line[strcspn(line, "#\n")] = '\0';
		nr = fault_split(line, word, MAX_WORDS);
		if (!nr)
			continue;
		rules = realloc(rules, (nr_rules + 1) * sizeof(*rules));
		memset(&rules[nr_rules], 0, sizeof(*rules));
		sink.arg = &rules[nr_rules];
		/* Its device is any. */
		status = fault_words_read(where, word, nr, &sink, &device);
		status = status ? status : settle(where, &rules[nr_rules]);
		nr_rules++;
	}
	fclose(file);
	for (nr = 0; nr < (int)nr_rules; nr++)
		if (rules[nr].rule.when.nr_at)
			rules[nr].rule.when.at = rules[nr].at;
	if (!status && !nr_rules)
		return complain("%s: no rules", name);
	return status;
}

/* ---- worlds ----------------------------------------------------------------------- */

void sim_rules_start(struct sim_world *w)
{
	struct sim_faults *f = &w->f;
	u32 i;

	if (!nr_rules)
		return;
	w->rules = calloc(nr_rules, sizeof(*w->rules));
	for (i = 0; i < nr_rules; i++)
		shca_fault_start(&w->rules[i], w->now);
	f->is_clean = false;
	f->strict = false;
	f->rules = true;
	f->loss = 0;
	f->dup = 0;
	f->reorder = 0;
	f->corrupt = 0;
	f->ecn = 0;
	f->mutate = 0;
	f->jitter_ns = 0;
}

void sim_rules_end(struct sim_world *w)
{
	u32 i;

	for (i = 0; i < w->nr_held; i++)
		free(w->held[i].wire);
	free(w->rules);
}

/* The first rule that says so decides, as in shca_fault_ask(). */
static const struct shca_fault_rule *ask(struct sim_world *w, u8 stage, u32 qpn,
					 const struct shca_pkt *pkt, u32 *which)
{
	const struct shca_fault_at at = {
		.stage = stage,
		.qpn = qpn,
		.pkt = pkt,
	};
	u32 i;

	for (i = 0; i < nr_rules; i++) {
		if (!shca_fault_fits(&rules[i].rule, &at) ||
		    !shca_fault_due(&rules[i].rule.when, &w->rules[i], w->now))
			continue;
		*which = i;
		sim_log(w, "rule %u: %s, %s psn %06x", i + 1,
			fault_what_name(rules[i].rule.what),
			shca_opcode_info(pkt->opcode)->name, pkt->psn);
		return &rules[i].rule;
	}
	return NULL;
}

const struct shca_fault_rule *sim_rules_ask(struct sim_node *from,
					    struct sim_node *to,
					    const struct shca_pkt *pkt,
					    u64 *delay_ns)
{
	const struct shca_fault_rule *rule;
	struct sim_world *w = from->w;
	u32 which = 0;

	if (!w->rules)
		return NULL;
	rule = ask(w, SHCA_FAULT_TX, from->qpn, pkt, &which);
	if (!rule)
		rule = ask(w, SHCA_FAULT_RX, to->qpn, pkt, &which);
	if (!rule)
		return NULL;
	*delay_ns = shca_fault_wait(rule, &w->rules[which]);
	return rule;
}

/* ---- packets that others overtake ------------------------------------------------- */

bool sim_rules_hold(struct sim_node *from, struct sim_node *to,
		    struct sim_wire *wire, u32 distance)
{
	struct sim_world *w = from->w;

	if (w->nr_held == ARRAY_SIZE(w->held))
		return false;
	/* (the packet itself passes first) */
	w->held[w->nr_held++] = (struct sim_held){
		.wire = wire,
		.from = from->idx,
		.to = to->idx,
		.left = distance + 1,
		.until = w->now + REORDER_NS,
	};
	sim_push(w, w->now + REORDER_NS, SIM_EV_HELD, from->idx, 0, NULL);
	return true;
}

struct sim_wire *sim_rules_passed(struct sim_world *w, const struct sim_node *from,
				  bool passes, struct sim_node **to)
{
	struct sim_wire *wire;
	u32 i;

	for (i = 0; passes && i < w->nr_held; i++)
		w->held[i].left -= w->held[i].left && w->held[i].from == from->idx;
	for (i = 0; i < w->nr_held; i++) {
		if (w->held[i].left && w->now < w->held[i].until)
			continue;
		wire = w->held[i].wire;
		*to = &w->nodes[w->held[i].to];
		w->held[i] = w->held[--w->nr_held];
		return wire;
	}
	return NULL;
}
