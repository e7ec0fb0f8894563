// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rules of fault injection over generic netlink. A rule belongs to its device: it survives
 * the process that made it, and ends with the device; with SHCA_FA_HELD it ends with the
 * socket of the request. shca_genl_lock serialises these requests. Each refusal names the
 * wrong word of the tool.
 */
#include "fault_netlink.h"

#include <linux/cgroup.h>
#include <linux/errno.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "../base/trace.h"
#include "../core/psn.h"
#include "../core/wr.h"
#include "../inject/fault.h"
#include "../inject/held.h"
#include "../queue/qp.h"
#include "../queue/qp_event.h"
#include "../queue/qp_table.h"
#include "../queue/srq.h"
#include "../../uapi/softhca-netlink.h"
#include "device.h"
#include "netlink.h"

static const struct nla_policy shca_fault_policy[SHCA_FA_MAX + 1] = {
	[SHCA_FA_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_WHAT] = NLA_POLICY_MAX(NLA_U8, SHCA_FAULT_NR - 1),
	[SHCA_FA_RX] = { .type = NLA_FLAG },
	[SHCA_FA_QPN] = { .type = NLA_U32 },
	[SHCA_FA_OPCODE] = { .type = NLA_U8 },
	[SHCA_FA_TYPE] = NLA_POLICY_MAX(NLA_U8, SHCA_FAULT_TYPE_NR - 1),
	[SHCA_FA_PSN] = { .type = NLA_U32 },
	[SHCA_FA_PSN_LAST] = { .type = NLA_U32 },
	[SHCA_FA_WR_ID] = { .type = NLA_U64 },
	[SHCA_FA_PID] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_PROBABILITY] = { .type = NLA_U32 },
	[SHCA_FA_SEED] = { .type = NLA_U64 },
	[SHCA_FA_EVERY] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_NTH] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_COUNT] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_AFTER] = { .type = NLA_U64 },
	[SHCA_FA_FOR] = { .type = NLA_U64 },
	[SHCA_FA_DELAY] = { .type = NLA_U64 },
	[SHCA_FA_JITTER] = { .type = NLA_U64 },
	[SHCA_FA_DISTANCE] = NLA_POLICY_RANGE(NLA_U32, 1,
					      SHCA_FAULT_DISTANCE_MAX),
	[SHCA_FA_STATUS] = NLA_POLICY_RANGE(NLA_U8, 1, SHCA_WC_GENERAL_ERR),
	[SHCA_FA_NAK] = NLA_POLICY_MAX(NLA_U8, SHCA_FAULT_NAK_NR - 1),
	[SHCA_FA_VERB] = NLA_POLICY_MAX(NLA_U8, SHCA_FAULT_VERB_NR - 1),
	[SHCA_FA_ERRNO] = NLA_POLICY_RANGE(NLA_U32, 1, SHCA_FAULT_ERRNO_MAX),
	[SHCA_FA_EVENT] = NLA_POLICY_MAX(NLA_U8, IB_EVENT_GID_CHANGE),
	[SHCA_FA_AT] = { .type = NLA_BINARY,
			 .len = SHCA_FAULT_LOG * sizeof(u32) },
	[SHCA_FA_MSG] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_MSG_LAST] = { .type = NLA_U32 },
	[SHCA_FA_VA] = { .type = NLA_U64 },
	[SHCA_FA_VA_LAST] = { .type = NLA_U64 },
	[SHCA_FA_RKEY] = { .type = NLA_U32 },
	[SHCA_FA_CQN] = NLA_POLICY_MIN(NLA_U32, 1),
	[SHCA_FA_CGROUP] = { .type = NLA_NUL_STRING,
			     .len = SHCA_FAULT_CGROUP_MAX - 1 },
	[SHCA_FA_DIST] = NLA_POLICY_MAX(NLA_U8, SHCA_FAULT_DIST_NR - 1),
	[SHCA_FA_HELD] = { .type = NLA_FLAG },
};

/* ---- which words go together ------------------------------------------------------ */

#define SHCA_OF(what)	BIT(SHCA_FAULT_##what)
#define SHCA_OF_PACKETS	(SHCA_OF(DROP) | SHCA_OF(DUPLICATE) | SHCA_OF(DELAY) | \
			 SHCA_OF(REORDER) | SHCA_OF(CORRUPT_PAYLOAD) |	\
			 SHCA_OF(CORRUPT_HEADER) | SHCA_OF(CORRUPT_ICRC) | \
			 SHCA_OF(ECN))
#define SHCA_OF_WRS	(SHCA_OF(COMPLETE) | SHCA_OF(QP_FATAL) | \
			 SHCA_OF(CQ_OVERRUN))
#define SHCA_OF_ALL	(BIT(SHCA_FAULT_NR) - 1)
/* An event of the port may wait for a packet. */
#define SHCA_OF_MOMENTS	(SHCA_OF_PACKETS | SHCA_OF(EVENT))
/* The responder asks, for a request that it is about to execute. */
#define SHCA_OF_REQUESTS	(SHCA_OF(NAK) | SHCA_OF(REVOKE))
/* Faults that look at headers, and at messages */
#define SHCA_OF_HEADERS	(SHCA_OF_MOMENTS | SHCA_OF_REQUESTS)
#define SHCA_OF_MSGS	(SHCA_OF_PACKETS | SHCA_OF_REQUESTS | SHCA_OF(COMPLETE) | \
			 SHCA_OF(QP_FATAL))
#define SHCA_OF_DELAYS	(SHCA_OF(DELAY) | SHCA_OF(DELAY_DOORBELL))

/*
 * @may, @must: faults that may or must have @attr (bits of enum shca_fault_what)
 * @offset, @size: integer of struct shca_fault_rule that it sets; @size 0: none
 * @zero: 0 is a value, and not the default, which is not listed
 * @private: listed to administrators only (docs/security.md)
 */
struct shca_fault_word {
	u8 attr;
	u8 offset;
	u8 size;
	bool zero;
	bool private;
	u32 may;
	u32 must;
	const char *alien;
	const char *missing;
};

#define SHCA_WORD(a, m, word, ...)					\
	{ .attr = SHCA_FA_##a, .may = m, .alien = word ": not with this do=", \
	  ##__VA_ARGS__ }
#define SHCA_NEEDED(a, m, n, word, ...)					\
	SHCA_WORD(a, m, word, .must = n,				\
		  .missing = word ": missing, this do= needs it", __VA_ARGS__)
#define SHCA_SETS(field)						\
	.offset = offsetof(struct shca_fault_rule, field),		\
	.size = sizeof_field(struct shca_fault_rule, field)

static_assert(sizeof(struct shca_fault_rule) <= U8_MAX && SHCA_FA_MAX < 64);

/*
 * What a process has chosen, or was given, for its memory and its requests is private: it is
 * enough to build a packet that reaches the memory.
 */
static const struct shca_fault_word shca_fault_words[] = {
	SHCA_WORD(WHAT, SHCA_OF_ALL, "do", SHCA_SETS(what), .zero = true),
	SHCA_WORD(RX, SHCA_OF_MOMENTS, "dir"),
	SHCA_WORD(QPN, SHCA_OF_ALL & ~(SHCA_OF(FAIL) | SHCA_OF(LOSE_EVENT)), "qpn", SHCA_SETS(qpn)),
	SHCA_WORD(OPCODE, SHCA_OF_HEADERS, "opcode"),
	SHCA_WORD(TYPE, SHCA_OF_HEADERS, "type", SHCA_SETS(type)),
	SHCA_WORD(PSN, SHCA_OF_HEADERS, "psn", SHCA_SETS(psn), .zero = true),
	SHCA_WORD(PSN_LAST, SHCA_OF_HEADERS, "psn", SHCA_SETS(psn_last), .zero = true),
	SHCA_WORD(MSG, SHCA_OF_MSGS, "msg", SHCA_SETS(msg)),
	SHCA_WORD(MSG_LAST, SHCA_OF_MSGS, "msg", SHCA_SETS(msg_last)),
	SHCA_WORD(VA, SHCA_OF_HEADERS, "va", SHCA_SETS(va), .zero = true, .private = true),
	SHCA_WORD(VA_LAST, SHCA_OF_HEADERS, "va",
		  SHCA_SETS(va_last), .zero = true, .private = true),
	SHCA_WORD(RKEY, SHCA_OF_HEADERS, "rkey", SHCA_SETS(rkey), .zero = true, .private = true),
	SHCA_WORD(WR_ID, SHCA_OF_WRS, "wr_id", SHCA_SETS(wr_id), .zero = true, .private = true),
	SHCA_WORD(CQN, SHCA_OF_WRS | SHCA_OF(LOSE_EVENT), "cqn", SHCA_SETS(cqn)),
	SHCA_WORD(PID, SHCA_OF_ALL & ~SHCA_OF(EVENT), "pid"),
	SHCA_WORD(CGROUP, SHCA_OF_ALL & ~SHCA_OF(EVENT), "cgroup"),
	SHCA_WORD(PROBABILITY, SHCA_OF_ALL, "prob", SHCA_SETS(when.probability)),
	SHCA_WORD(SEED, SHCA_OF_ALL, "seed", SHCA_SETS(when.seed)),
	SHCA_WORD(EVERY, SHCA_OF_ALL, "every", SHCA_SETS(when.every)),
	SHCA_WORD(NTH, SHCA_OF_ALL, "nth", SHCA_SETS(when.nth)),
	SHCA_WORD(COUNT, SHCA_OF_ALL, "count", SHCA_SETS(when.count)),
	SHCA_WORD(AFTER, SHCA_OF_ALL, "after", SHCA_SETS(when.after_ns)),
	SHCA_WORD(FOR, SHCA_OF_ALL, "for", SHCA_SETS(when.for_ns)),
	SHCA_WORD(AT, SHCA_OF_ALL, "at"),
	SHCA_NEEDED(DELAY, SHCA_OF_DELAYS, SHCA_OF_DELAYS, "delay", SHCA_SETS(delay_ns)),
	SHCA_WORD(JITTER, SHCA_OF_DELAYS, "jitter", SHCA_SETS(jitter_ns)),
	SHCA_WORD(DIST, SHCA_OF_DELAYS, "dist", SHCA_SETS(dist)),
	SHCA_NEEDED(DISTANCE, SHCA_OF(REORDER), SHCA_OF(REORDER), "by", SHCA_SETS(distance)),
	SHCA_NEEDED(STATUS, SHCA_OF(COMPLETE) | SHCA_OF(NAK), SHCA_OF(COMPLETE), "status",
		    SHCA_SETS(status)),
	SHCA_NEEDED(NAK, SHCA_OF(NAK), SHCA_OF(NAK), "nak", SHCA_SETS(nak), .zero = true),
	SHCA_NEEDED(VERB, SHCA_OF(FAIL), SHCA_OF(FAIL), "verb", SHCA_SETS(verb), .zero = true),
	SHCA_NEEDED(ERRNO, SHCA_OF(FAIL), SHCA_OF(FAIL), "errno", SHCA_SETS(err)),
	SHCA_NEEDED(EVENT, SHCA_OF(EVENT), SHCA_OF(EVENT), "event", SHCA_SETS(event)),
};

#define for_each_shca_fault_word(word)					\
	for (word = shca_fault_words;					\
	     word < shca_fault_words + ARRAY_SIZE(shca_fault_words); word++)

static int shca_fault_check_words(struct nlattr **tb,
				  struct netlink_ext_ack *extack)
{
	const struct shca_fault_word *word;
	const char *why = NULL;
	u32 what;

	if (!tb[SHCA_FA_WHAT])
		return shca_genl_refuse(extack, NULL, -EINVAL,
					"do: missing, it says what shall happen");
	what = BIT(nla_get_u8(tb[SHCA_FA_WHAT]));
	for_each_shca_fault_word(word) {
		if (tb[word->attr] && !(word->may & what))
			why = word->alien;
		else if (!tb[word->attr] && word->must & what)
			why = word->missing;
		if (why)
			return shca_genl_refuse(extack, tb[word->attr], -EINVAL, why);
	}
	return 0;
}

/* Default of the receive request's status */
static u8 shca_fault_recv_status(u8 nak)
{
	switch (nak) {
	case SHCA_FAULT_NAK_INVALID:
		return SHCA_WC_LOC_LEN_ERR;
	case SHCA_FAULT_NAK_ACCESS:
		return SHCA_WC_LOC_ACCESS_ERR;
	default:
		return SHCA_WC_LOC_PROT_ERR;
	}
}

/* Attributes that a list (SHCA_FA_AT) replaces */
static bool shca_fault_has_when(struct nlattr **tb)
{
	return tb[SHCA_FA_PROBABILITY] || tb[SHCA_FA_EVERY] ||
	       tb[SHCA_FA_NTH] || tb[SHCA_FA_COUNT] || tb[SHCA_FA_AFTER] ||
	       tb[SHCA_FA_FOR];
}

/* Is it an event that waits for a packet? */
static bool shca_fault_waits(struct nlattr **tb)
{
	return nla_get_u8(tb[SHCA_FA_WHAT]) == SHCA_FAULT_EVENT &&
	       (shca_fault_has_when(tb) || tb[SHCA_FA_AT] || tb[SHCA_FA_RX] ||
		tb[SHCA_FA_TYPE] || tb[SHCA_FA_OPCODE] || tb[SHCA_FA_PSN] ||
		tb[SHCA_FA_VA] || tb[SHCA_FA_RKEY]);
}

static const struct shca_fault_rule shca_fault_defaults = {
	.verb = SHCA_FAULT_ANY_VERB,
	.opcode = SHCA_FAULT_ANY_OPCODE,
	.when.probability = SHCA_FAULT_ALWAYS,
};

static void shca_fault_parse(struct nlattr **tb, struct shca_fault *fault)
{
	struct shca_fault_rule *rule = &fault->rule;
	const struct shca_fault_word *word;

	*rule = shca_fault_defaults;
	for_each_shca_fault_word(word) {
		if (!tb[word->attr])
			continue;
		fault->given |= BIT_ULL(word->attr);
		nla_memcpy((void *)rule + word->offset, tb[word->attr], word->size);
	}
	rule->stage = shca_fault_stage_of(rule->what, tb[SHCA_FA_RX]);
	if (shca_fault_waits(tb))
		rule->stage = tb[SHCA_FA_RX] ? SHCA_FAULT_RX : SHCA_FAULT_TX;
	if (tb[SHCA_FA_OPCODE])
		rule->opcode = nla_get_u8(tb[SHCA_FA_OPCODE]);
	rule->has_psn = tb[SHCA_FA_PSN];
	rule->has_va = tb[SHCA_FA_VA];
	rule->has_rkey = tb[SHCA_FA_RKEY];
	rule->has_wr_id = tb[SHCA_FA_WR_ID];
	if (!tb[SHCA_FA_PSN_LAST])
		rule->psn_last = rule->psn;
	if (!tb[SHCA_FA_MSG_LAST])
		rule->msg_last = rule->msg;
	if (!tb[SHCA_FA_VA_LAST])
		rule->va_last = rule->va;
	if (rule->what == SHCA_FAULT_NAK && !tb[SHCA_FA_STATUS]) {
		rule->status = shca_fault_recv_status(rule->nak);
		fault->given |= BIT_ULL(SHCA_FA_STATUS);
	}
}

static int shca_fault_check(struct nlattr **tb, const struct shca_fault_rule *rule,
			    struct netlink_ext_ack *extack)
{
	if (tb[SHCA_FA_PSN_LAST] && !tb[SHCA_FA_PSN])
		return shca_genl_refuse(extack, tb[SHCA_FA_PSN_LAST], -EINVAL,
					"psn: a range needs its first PSN");
	if (rule->msg > rule->msg_last || rule->msg_last > SHCA_PSN_MASK)
		return shca_genl_refuse(extack, tb[SHCA_FA_MSG], -ERANGE,
					"msg: numbers from 1 to 0xffffff, the first one first");
	if (rule->msg && tb[SHCA_FA_RX])
		return shca_genl_refuse(extack, tb[SHCA_FA_MSG], -EINVAL,
					"msg: not with dir=rx, where messages are not told apart yet");
	if (rule->va > rule->va_last)
		return shca_genl_refuse(extack, tb[SHCA_FA_VA], -ERANGE,
					"va: the first address comes first");
	if (tb[SHCA_FA_DIST] && !rule->jitter_ns)
		return shca_genl_refuse(extack, tb[SHCA_FA_DIST], -EINVAL,
					"jitter: missing, dist is about it");
	/* Policies have limits of 16 bits only. */
	if (tb[SHCA_FA_QPN] && (!rule->qpn || rule->qpn > SHCA_PSN_MASK))
		return shca_genl_refuse(extack, tb[SHCA_FA_QPN], -ERANGE,
					"qpn: a number from 1 to 0xffffff");
	if (rule->psn > SHCA_PSN_MASK || rule->psn_last > SHCA_PSN_MASK)
		return shca_genl_refuse(extack, tb[SHCA_FA_PSN], -ERANGE,
					"psn: a PSN has 24 bits");
	if (!rule->when.probability || rule->when.probability > SHCA_FAULT_ALWAYS)
		return shca_genl_refuse(extack, tb[SHCA_FA_PROBABILITY], -ERANGE,
					"prob: parts of a million, from 1 on");
	/* One by one, because the sum may wrap. */
	if (rule->delay_ns > SHCA_FAULT_DELAY_MAX ||
	    rule->jitter_ns > SHCA_FAULT_DELAY_MAX - rule->delay_ns)
		return shca_genl_refuse(extack, tb[SHCA_FA_DELAY], -ERANGE,
					"delay: more than 5 seconds, jitter included");
	return 0;
}

/* Copy the list of a rule; @fault has room for it. */
static int shca_fault_read_list(struct nlattr **tb, struct shca_fault *fault,
				struct netlink_ext_ack *extack)
{
	struct nlattr *attr = tb[SHCA_FA_AT];
	u32 nr, i, last = 0;

	if (!attr)
		return 0;
	nr = nla_len(attr) / sizeof(u32);
	if (shca_fault_has_when(tb))
		return shca_genl_refuse(extack, attr, -EINVAL,
					"at: not with prob, every, nth, count, after or for");
	nla_memcpy(fault->at, attr, nr * sizeof(u32));
	for (i = 0; i < nr; i++) {
		if (fault->at[i] <= last)
			break;
		last = fault->at[i];
	}
	if (!nr || i < nr || nla_len(attr) % sizeof(u32))
		return shca_genl_refuse(extack, attr, -EINVAL,
					"at: 1 to 512 rising numbers, from 1 on");
	fault->rule.when.at = fault->at;
	fault->rule.when.nr_at = nr;
	return 0;
}

/* ---- events ------------------------------------------------------------------------ */

/* Events of a QP; all others are of the port or the device. */
static bool shca_fault_is_qp_event(u8 event)
{
	switch (event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_COMM_EST:
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_PATH_MIG_ERR:
	case IB_EVENT_QP_LAST_WQE_REACHED:
	case IB_EVENT_SRQ_ERR:		/* of its SRQ */
	case IB_EVENT_SRQ_LIMIT_REACHED:
		return true;
	default:
		return false;
	}
}

/* Events use memory until a process reads them, and packets are many. */
static bool shca_fault_ends(const struct shca_fault_when *when)
{
	if (when->at || (when->nth && !when->every && !when->count))
		return true;
	return when->count && when->count <= SHCA_FAULT_LOG;
}

static int shca_fault_check_event(const struct shca_fault_rule *rule,
				  struct netlink_ext_ack *extack)
{
	bool of_qp = shca_fault_is_qp_event(rule->event);

	/* The RDMA core passes no GID_CHANGE on. */
	if (rule->event == IB_EVENT_CQ_ERR || rule->event == IB_EVENT_GID_CHANGE)
		return shca_genl_refuse(extack, NULL, -EOPNOTSUPP,
					"event: not to be had so; do=cq-overrun makes CQ_ERR, a new address makes GID_CHANGE");
	if (of_qp && rule->stage != SHCA_FAULT_NOW)
		return shca_genl_refuse(extack, NULL, -EINVAL,
					"event: one that concerns a QP happens at once, without a word that says when");
	if (rule->stage != SHCA_FAULT_NOW && !shca_fault_ends(&rule->when))
		return shca_genl_refuse(extack, NULL, -EINVAL,
					"count: from 1 to 512, or nth or at: events that come with packets must end");
	if (of_qp && !rule->qpn)
		return shca_genl_refuse(extack, NULL, -EINVAL,
					"qpn: missing, this event concerns a QP");
	if (!of_qp && rule->qpn && rule->stage == SHCA_FAULT_NOW)
		return shca_genl_refuse(extack, NULL, -EINVAL,
					"qpn: this event concerns no QP");
	return 0;
}

static int shca_fault_event_now(struct shca_dev *dev,
				const struct shca_fault_rule *rule,
				struct netlink_ext_ack *extack)
{
	struct shca_qp *qp;
	bool of_srq;
	int err = 0;

	if (!shca_fault_is_qp_event(rule->event)) {
		shca_fault_port_event(dev, rule->event);
		return 0;
	}
	qp = shca_net_find_qp(dev->snet, rule->qpn);
	if (qp && qp->dev != dev) {
		shca_qp_put(qp);
		qp = NULL;
	}
	if (!qp)
		return shca_genl_refuse(extack, NULL, -ENOENT,
					"qpn: the device has no such QP");
	of_srq = rule->event == IB_EVENT_SRQ_ERR ||
		 rule->event == IB_EVENT_SRQ_LIMIT_REACHED;
	if (of_srq && !qp->rq.srq) {
		err = shca_genl_refuse(extack, NULL, -EINVAL, "qpn: this QP has no SRQ");
	} else {
		local_bh_disable();
		if (of_srq)
			shca_event(&qp->rq.srq->events, rule->event);
		else
			shca_qp_event(qp, rule->event);
		local_bh_enable();
	}
	shca_qp_put(qp);
	return err;
}

/* ---- requests ------------------------------------------------------------------------ */

static int shca_fault_reply(struct genl_info *info, u32 id)
{
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlattr *nest;
	void *hdr;

	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_put_reply(msg, info, &shca_genl_family, 0,
				SHCA_CMD_FAULT_ADD);
	nest = hdr ? nla_nest_start(msg, SHCA_A_FAULT) : NULL;
	if (!nest || nla_put_u32(msg, SHCA_FA_ID, id)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

/* Find the processes that the rule is limited to, in the caller's namespaces. */
static int shca_fault_find_owner(struct nlattr **tb, struct shca_fault *fault,
				 struct netlink_ext_ack *extack)
{
	if (tb[SHCA_FA_PID]) {
		/* Finds no process outside of the caller's PID namespace. */
		fault->pid = find_get_pid(nla_get_u32(tb[SHCA_FA_PID]));
		if (!fault->pid)
			return shca_genl_refuse(extack, tb[SHCA_FA_PID], -ESRCH,
						"pid: there is no such process");
	}
	if (!tb[SHCA_FA_CGROUP])
		return 0;
#ifdef CONFIG_CGROUPS
	fault->cgroup_path = nla_strdup(tb[SHCA_FA_CGROUP], GFP_KERNEL_ACCOUNT);
	if (!fault->cgroup_path)
		return -ENOMEM;
	/* The path begins at the root of the caller's cgroup namespace. */
	fault->cgroup = cgroup_get_from_path(fault->cgroup_path);
	if (!IS_ERR(fault->cgroup))
		return 0;
	fault->cgroup = NULL;
	return shca_genl_refuse(extack, tb[SHCA_FA_CGROUP], -ENOENT,
				"cgroup: there is none at this path");
#else
	return shca_genl_refuse(extack, tb[SHCA_FA_CGROUP], -EOPNOTSUPP,
				"cgroup: this kernel has none");
#endif
}

static struct shca_fault *shca_fault_make(struct nlattr **tb,
					  struct netlink_ext_ack *extack)
{
	struct nlattr *list = tb[SHCA_FA_AT];
	struct shca_fault *fault;
	int err;

	/* Charged to the caller, although the device has it. */
	fault = kzalloc(struct_size(fault, at,
				    list ? nla_len(list) / sizeof(u32) : 0),
			GFP_KERNEL_ACCOUNT);
	if (!fault)
		return ERR_PTR(-ENOMEM);
	shca_fault_parse(tb, fault);
	err = shca_fault_check(tb, &fault->rule, extack);
	if (!err)
		err = shca_fault_read_list(tb, fault, extack);
	if (!err)
		err = shca_fault_find_owner(tb, fault, extack);
	if (err) {
		shca_fault_free(fault);
		return ERR_PTR(err);
	}
	return fault;
}

static u32 shca_fault_ids;	/* under shca_genl_lock */

static int shca_fault_add_to(struct shca_dev *dev, struct nlattr **tb,
			     struct genl_info *info)
{
	struct shca_fault *fault = shca_fault_make(tb, info->extack);
	u32 id = 0;
	int err;

	if (IS_ERR(fault))
		return PTR_ERR(fault);
	err = fault->rule.what == SHCA_FAULT_EVENT ?
	      shca_fault_check_event(&fault->rule, info->extack) : 0;
	if (err) {
		shca_fault_free(fault);
	} else if (fault->rule.stage == SHCA_FAULT_NOW) {
		err = shca_fault_event_now(dev, &fault->rule, info->extack);
		shca_fault_free(fault);
	} else {
		/* Unique unless they wrap after 2^32. */
		if (!++shca_fault_ids)
			shca_fault_ids = 1;
		id = shca_fault_ids;
		fault->id = id;
		if (tb[SHCA_FA_HELD]) {
			fault->net = genl_info_net(info);
			fault->portid = info->snd_portid;
		}
		err = shca_fault_add(dev, fault);
		if (err) {
			shca_genl_refuse(info->extack, NULL, err,
					 "the device has 256 rules, which is the maximum");
			shca_fault_free(fault);
		} else {
			/* Invalidate cached decisions about the direct path. */
			shca_net_note_change();
		}
	}
	/* Without memory for the answer, the rule exists, and `list` shows its number. */
	return err ?: shca_fault_reply(info, id);
}

int shca_fault_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[SHCA_FA_MAX + 1];
	struct shca_dev *dev;
	int err;

	if (!info->attrs[SHCA_A_FAULT])
		return shca_genl_refuse(info->extack, NULL, -EINVAL,
					"do: missing, it says what shall happen");
	err = nla_parse_nested(tb, SHCA_FA_MAX, info->attrs[SHCA_A_FAULT],
			       shca_fault_policy, info->extack);
	err = err ?: shca_fault_check_words(tb, info->extack);
	if (err)
		return err;
	dev = shca_genl_dev(info);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	mutex_lock(&shca_genl_lock);
	err = shca_fault_add_to(dev, tb, info);
	mutex_unlock(&shca_genl_lock);
	ib_device_put(&dev->ibdev);
	return err;
}

/* Rules to delete: of one device, or of all in a namespace; one, or all with @id 0 */
struct shca_fault_deletion {
	struct shca_dev *only;
	struct net *net;
	u32 id;
	u32 nr;		/* deleted so far */
};

static int shca_fault_del_one(struct shca_dev *dev, int idx, void *arg)
{
	struct shca_fault_deletion *del = arg;

	if (del->only ? dev == del->only : net_eq(dev_net(dev->ndev), del->net))
		del->nr += shca_fault_del(dev, del->id, NULL, 0);
	return 0;
}

int shca_fault_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct shca_fault_deletion del = { .net = genl_info_net(info) };
	struct nlattr *tb[SHCA_FA_MAX + 1] = {};
	int err;

	if (info->attrs[SHCA_A_FAULT]) {
		err = nla_parse_nested(tb, SHCA_FA_MAX, info->attrs[SHCA_A_FAULT],
				       shca_fault_policy, info->extack);
		if (err)
			return err;
		if (!tb[SHCA_FA_ID])
			return shca_genl_refuse(info->extack, NULL, -EINVAL,
						"ID: missing");
		del.id = nla_get_u32(tb[SHCA_FA_ID]);
	}
	if (info->attrs[SHCA_A_DEV_NAME]) {
		del.only = shca_genl_dev(info);
		if (IS_ERR(del.only))
			return PTR_ERR(del.only);
	}
	mutex_lock(&shca_genl_lock);
	shca_dev_walk(0, shca_fault_del_one, &del);
	mutex_unlock(&shca_genl_lock);
	if (del.only)
		ib_device_put(&del.only->ibdev);
	shca_net_note_change();
	if (del.id && !del.nr)
		return shca_genl_refuse(info->extack, NULL, -ENOENT,
					"ID: no rule has this number here");
	return 0;
}

static int shca_fault_released(struct shca_dev *dev, int idx, void *arg)
{
	const struct netlink_notify *notify = arg;

	if (shca_fault_del(dev, 0, notify->net, notify->portid))
		shca_net_note_change();
	return 0;
}

/* A generic netlink socket was closed. Without rules, do not wait for the lock. */
static int shca_fault_notify(struct notifier_block *nb, unsigned long event,
			     void *arg)
{
	const struct netlink_notify *notify = arg;

	if (event != NETLINK_URELEASE || notify->protocol != NETLINK_GENERIC ||
	    !static_key_enabled(&shca_faults_on))
		return NOTIFY_DONE;
	mutex_lock(&shca_genl_lock);
	shca_dev_walk(0, shca_fault_released, arg);
	mutex_unlock(&shca_genl_lock);
	return NOTIFY_DONE;
}

static struct notifier_block shca_fault_nb = {
	.notifier_call = shca_fault_notify,
};

int shca_fault_init(void)
{
	return netlink_register_notifier(&shca_fault_nb);
}

void shca_fault_exit(void)
{
	netlink_unregister_notifier(&shca_fault_nb);
}

/* ---- listing --------------------------------------------------------------------------- */

/* The words of a rule that set an integer. Defaults are left out. */
static int shca_fault_put_words(struct sk_buff *msg, const struct shca_fault *fault,
				bool all)
{
	const struct shca_fault_word *word;
	const void *value;
	int err = 0;

	for_each_shca_fault_word(word) {
		value = (const void *)&fault->rule + word->offset;
		if (!(fault->given & BIT_ULL(word->attr)) || (word->private && !all) ||
		    (!word->zero && !memcmp(value, (const void *)&shca_fault_defaults +
						   word->offset, word->size)))
			continue;
		err = word->size == sizeof(u64) ?
		      nla_put_64bit(msg, word->attr, word->size, value, SHCA_FA_PAD) :
		      nla_put(msg, word->attr, word->size, value);
		if (err)
			break;
	}
	return err;
}

/* A path names others' services, so it is private, too. */
static int shca_fault_put_others(struct sk_buff *msg, const struct shca_fault *fault,
				 bool all)
{
	const struct shca_fault_rule *rule = &fault->rule;
	/* 0, and left out, for a process that the reader cannot see */
	u32 pid = pid_vnr(fault->pid);

	return (rule->stage == SHCA_FAULT_RX && nla_put_flag(msg, SHCA_FA_RX)) ||
	       (rule->opcode != SHCA_FAULT_ANY_OPCODE &&
		nla_put_u8(msg, SHCA_FA_OPCODE, rule->opcode)) ||
	       (fault->net && nla_put_flag(msg, SHCA_FA_HELD)) ||
	       (pid && nla_put_u32(msg, SHCA_FA_PID, pid)) ||
	       (all && fault->cgroup_path &&
		nla_put_string(msg, SHCA_FA_CGROUP, fault->cgroup_path)) ||
	       (rule->when.at && nla_put(msg, SHCA_FA_AT, rule->when.nr_at * sizeof(u32),
					 rule->when.at));
}

static int shca_fault_put_counts(struct sk_buff *msg, struct shca_fault *fault)
{
	int err;

	spin_lock_irq(&fault->lock);
	err = nla_put_u64_64bit(msg, SHCA_FA_SEEN, fault->state.seen,
				SHCA_FA_PAD) ||
	      nla_put_u64_64bit(msg, SHCA_FA_HITS, fault->state.hits,
				SHCA_FA_PAD) ||
	      (fault->nr_log &&
	       nla_put(msg, SHCA_FA_LOG, fault->nr_log * sizeof(u32),
		       fault->log));
	spin_unlock_irq(&fault->lock);
	return err;
}

/* Continues at the indexes @device and @rule. @all: the reader may see keys and addresses. */
struct shca_fault_dump {
	struct sk_buff *msg;
	struct net *net;
	bool all;
	u32 portid;
	u32 seq;
	long *device;
	long *rule;
};

static int shca_fault_fill(const struct shca_fault_dump *dump,
			   struct shca_dev *dev, struct shca_fault *fault)
{
	struct sk_buff *msg = dump->msg;
	struct nlattr *nest;
	void *hdr;

	hdr = genlmsg_put(msg, dump->portid, dump->seq, &shca_genl_family,
			  NLM_F_MULTI, SHCA_CMD_FAULT_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(msg, SHCA_A_DEV_NAME, dev->ibdev.name))
		goto full;
	nest = nla_nest_start(msg, SHCA_A_FAULT);
	if (!nest || nla_put_u32(msg, SHCA_FA_ID, fault->id) ||
	    shca_fault_put_words(msg, fault, dump->all) ||
	    shca_fault_put_others(msg, fault, dump->all) ||
	    shca_fault_put_counts(msg, fault))
		goto full;
	nla_nest_end(msg, nest);
	genlmsg_end(msg, hdr);
	return 0;

full:
	genlmsg_cancel(msg, hdr);
	return -EMSGSIZE;
}

static int shca_fault_dump_dev(struct shca_dev *dev, int idx, void *arg)
{
	struct shca_fault_dump *dump = arg;
	struct shca_fault *fault;
	long nr = 0;
	int err = 0;

	if (idx != *dump->device)
		*dump->rule = 0;
	*dump->device = idx;
	if (!net_eq(dev_net(dev->ndev), dump->net))
		return 0;
	rcu_read_lock();
	list_for_each_entry_rcu(fault, &dev->faults.rules, node) {
		if (nr++ < *dump->rule)
			continue;
		err = shca_fault_fill(dump, dev, fault);
		if (err)
			break;
		*dump->rule = nr;
	}
	rcu_read_unlock();
	return err;
}

int shca_fault_get_start(struct netlink_callback *cb)
{
	/* A rule with all its lists must fit into one message. */
	cb->min_dump_alloc = 2 * SHCA_FAULT_LOG * sizeof(u32) +
			     SHCA_FAULT_CGROUP_MAX + 1024;
	return 0;
}

int shca_fault_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct shca_fault_dump dump = {
		.msg = skb,
		.net = sock_net(skb->sk),
		/* as for adding rules (GENL_UNS_ADMIN_PERM) */
		.all = netlink_ns_capable(cb->skb, sock_net(skb->sk)->user_ns,
					  CAP_NET_ADMIN),
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.device = &cb->args[0],
		.rule = &cb->args[1],
	};

	shca_dev_walk(cb->args[0], shca_fault_dump_dev, &dump);
	return skb->len;
}
