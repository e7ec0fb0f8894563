/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rules of fault injection: where, when and what (uapi/softhca-netlink.h). They are
 * pure, so the module, KUnit and the simulator decide alike. Same rule, seed and
 * traffic: same faults.
 */
#ifndef SHCA_CORE_FAULT_H
#define SHCA_CORE_FAULT_H

#include "os.h"
#include "../../uapi/softhca-netlink.h"

struct shca_pkt;

/* Values of a rule that fit everything. */
#define SHCA_FAULT_ANY_OPCODE	0x100
#define SHCA_FAULT_ANY_VERB	0xff

/**
 * enum shca_fault_stage - step of the data path, or call, that asks for faults
 * @SHCA_FAULT_TX: @SHCA_FAULT_RX: a packet leaves, or has arrived
 * @SHCA_FAULT_RESPOND:	a responder is about to execute the expected request
 * @SHCA_FAULT_SEND:	a work request has been taken from a send queue
 * @SHCA_FAULT_CQ:	a completion is about to be written to a CQ
 * @SHCA_FAULT_NOTIFY:	a process is about to be told of a completion
 * @SHCA_FAULT_DOORBELL: a process has rung the doorbell of a QP
 * @SHCA_FAULT_VERB:	a verb has been called
 * @SHCA_FAULT_NOW:	nothing asks: it happens as the rule is made
 */
enum shca_fault_stage {
	SHCA_FAULT_TX,
	SHCA_FAULT_RX,
	SHCA_FAULT_RESPOND,
	SHCA_FAULT_SEND,
	SHCA_FAULT_CQ,
	SHCA_FAULT_NOTIFY,
	SHCA_FAULT_DOORBELL,
	SHCA_FAULT_VERB,
	SHCA_FAULT_NOW,
};

/* Stages that look at packets; a device with such rules has no direct path. */
#define SHCA_FAULT_PACKETS	(1u << SHCA_FAULT_TX | 1u << SHCA_FAULT_RX)

/**
 * struct shca_fault_rule - a rule; constant
 * @what:	enum shca_fault_what
 * @stage:	enum shca_fault_stage
 * @opcode: @type: @psn: @psn_last: where, for packets. A range of PSNs may wrap
 * @qpn: @cqn:	0: any
 * @msg: @msg_last: messages by number, if @has_msg
 * @va: @va_last: if @has_va: requests that reach one of these remote addresses
 * @rkey:	if @has_rkey: requests that name this key
 * @wr_id:	if @has_wr_id
 * @verb:	enum shca_fault_verb, or SHCA_FAULT_ANY_VERB
 * @probability: @seed: @every: @nth: @count: @after_ns: @for_ns: when; 0 is no limit
 * @at: @nr_at:	instead of these but @seed: a list of which ones, rising; or NULL and 0
 * @delay_ns: @jitter_ns: @distance: @status: @nak: @err: @event: @dist:
 *		details of @what
 */
struct shca_fault_rule {
	u8 what;
	u8 stage;
	u8 type;
	u8 verb;
	u16 opcode;
	bool has_psn;
	bool has_wr_id;
	bool has_msg;
	bool has_va;
	bool has_rkey;
	u32 psn;
	u32 psn_last;
	u32 qpn;
	u32 cqn;
	u32 msg;
	u32 msg_last;
	u32 rkey;
	u64 va;
	u64 va_last;
	u64 wr_id;
	u32 probability;
	u32 every;
	u32 nth;
	u32 count;
	u64 seed;
	u64 after_ns;
	u64 for_ns;
	const u32 *at;
	u32 nr_at;
	u64 delay_ns;
	u64 jitter_ns;
	u32 distance;
	u32 err;
	u8 status;
	u8 nak;
	u8 event;
	u8 dist;
};

/**
 * struct shca_fault_state - what a rule has come across; its user has a lock for it
 * @rng:	state of its random numbers. They follow from the seed and @fitted, so a list
 *		of what was hit gives the same faults again
 * @fitted:	how many fitted
 * @seen:	how many of them within its time
 * @hits:	how often it happened
 * @listed:	how many of its list are past
 * @since:	its creation, in ns
 */
struct shca_fault_state {
	u64 rng;
	u64 fitted;
	u64 seen;
	u64 hits;
	u64 since;
	u32 listed;
};

/**
 * struct shca_fault_at - what a rule is compared with
 * @msg:	number of the message in its QP, from 1 on; 0: not known
 * @cqn:	number of the CQ, at the stages of requests and completions
 * @pkt:	at the stages of packets and requests, otherwise NULL
 * @owner:	opaque to the core: the process that it belongs to
 */
struct shca_fault_at {
	u8 stage;
	u8 verb;
	u32 qpn;
	u32 msg;
	u32 cqn;
	u64 wr_id;
	const struct shca_pkt *pkt;
	const void *owner;
};

/** shca_fault_stage_of() - the stage at which a rule applies; an event may wait for a packet */
u8 shca_fault_stage_of(u8 what, bool rx);

/** shca_fault_start() - a rule begins at @now */
void shca_fault_start(struct shca_fault_state *state, u64 now);

/** shca_fault_fits() - is @at where the rule applies? */
bool shca_fault_fits(const struct shca_fault_rule *rule,
		     const struct shca_fault_at *at);

/** shca_fault_due() - count what fits; does the fault happen now? */
bool shca_fault_due(const struct shca_fault_rule *rule,
		    struct shca_fault_state *state, u64 now);

/** shca_fault_wait() - for how long, in ns, a fault that is due delays; draws once */
u64 shca_fault_wait(const struct shca_fault_rule *rule,
		    struct shca_fault_state *state);

/** shca_fault_random() - the rule's next random number, below @limit; 0 if @limit is */
u32 shca_fault_random(struct shca_fault_state *state, u32 limit);

#endif
