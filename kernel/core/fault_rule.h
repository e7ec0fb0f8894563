/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rules of fault injection: where, when and what (uapi/softhca-netlink.h). The functions are pure,
 * so the module, KUnit and the simulator decide alike: same rule, seed and traffic, same faults.
 */
#ifndef SHCA_CORE_FAULT_H
#define SHCA_CORE_FAULT_H

#include "os.h"
#include "../../uapi/softhca-fault.h"
#include "../../uapi/softhca-netlink.h"

struct shca_pkt;

/* Values of a rule that match everything. */
#define SHCA_FAULT_ANY_OPCODE	0x100
#define SHCA_FAULT_ANY_VERB	0xff

/**
 * enum shca_fault_stage - step of the data path, or call, at which rules are checked
 * @SHCA_FAULT_TX:	a packet leaves
 * @SHCA_FAULT_RX:	a packet has arrived
 * @SHCA_FAULT_RESPOND:	a responder is about to execute the expected request
 * @SHCA_FAULT_SEND:	a work request has been taken from a send queue
 * @SHCA_FAULT_CQ:	a completion is about to be written to a CQ
 * @SHCA_FAULT_NOTIFY:	a process is about to get a completion event
 * @SHCA_FAULT_DOORBELL: a process has rung the doorbell of a QP
 * @SHCA_FAULT_VERB:	a verb has been called
 * @SHCA_FAULT_NOW:	none: the fault happens when the rule is made
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

/* Stages that check packets; a device with such rules has no direct path. */
#define SHCA_FAULT_PACKETS	(1u << SHCA_FAULT_TX | 1u << SHCA_FAULT_RX)

/**
 * struct shca_fault_rule - a rule; constant
 * @what:	enum shca_fault_what
 * @stage:	enum shca_fault_stage
 * @type:	where, for packets: enum shca_fault_type
 * @verb:	where: enum shca_fault_verb, or SHCA_FAULT_ANY_VERB
 * @opcode:	where, for packets: of the BTH, or SHCA_FAULT_ANY_OPCODE
 * @has_psn:	@psn and @psn_last are valid
 * @has_wr_id:	@wr_id is valid
 * @has_va:	@va and @va_last are valid
 * @has_rkey:	@rkey is valid
 * @psn:	where, for packets: first PSN of a range, which may wrap
 * @psn_last:	last PSN of it
 * @qpn:	where: number of the QP; 0: any
 * @cqn:	where: number of the CQ; 0: any
 * @msg:	where: first message by number, from 1 on; 0: any
 * @msg_last:	last message
 * @rkey:	where: requests that name this key
 * @va:		where: requests that reach remote memory from this address on
 * @va_last:	up to here
 * @wr_id:	where: wr_id of a work request
 * @when:	which of those that match
 * @delay_ns:	detail of @what: delay of a packet
 * @jitter_ns:	random addition to @delay_ns: its mean if exponential, otherwise its maximum
 * @distance:	detail of @what: number of packets that overtake
 * @err:	detail of @what: errno, positive
 * @status:	detail of @what: enum shca_wc_status
 * @nak:	detail of @what: enum shca_fault_nak
 * @event:	detail of @what: enum ib_event_type
 * @dist:	distribution of the random addition: enum shca_fault_dist
 */
struct shca_fault_rule {
	u8 what;
	u8 stage;
	u8 type;
	u8 verb;
	u16 opcode;
	bool has_psn;
	bool has_wr_id;
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
	struct shca_fault_when when;
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
 * struct shca_fault_at - what a rule is compared with
 * @stage:	enum shca_fault_stage
 * @verb:	enum shca_fault_verb, at SHCA_FAULT_VERB
 * @qpn:	number of the QP; 0: none
 * @msg:	number of the message in its QP, from 1 on; 0: not known
 * @cqn:	number of the CQ, at the stages of requests and completions
 * @wr_id:	of the work request, at SHCA_FAULT_SEND and SHCA_FAULT_CQ
 * @pkt:	at SHCA_FAULT_TX, SHCA_FAULT_RX and SHCA_FAULT_RESPOND, otherwise NULL
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

/* The stage at which a rule applies, unless an event waits for a packet (fault_netlink.c). */
u8 shca_fault_stage_of(u8 what, bool rx);

/* Clear the state of a rule that is made at @now. */
void shca_fault_start(struct shca_fault_state *state, u64 now);

bool shca_fault_fits(const struct shca_fault_rule *rule,
		     const struct shca_fault_at *at);

/* Delay of a fault that is due, in ns; takes at most one random number. */
u64 shca_fault_wait(const struct shca_fault_rule *rule,
		    struct shca_fault_state *state);

#endif
