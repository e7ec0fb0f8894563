/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A simulated world for the protocol core, in virtual time.  Each endpoint is one
 * requester and one responder.  The link that joins them loses, copies, reorders,
 * delays and corrupts.  Everything follows from one seed.
 *
 *   sim.c    seeds, processes, the command line
 *   world.c  what happens when: the scenario of a seed and its event queue
 *   link.c   bytes on the wire, and faults
 *   rules.c  rules of fault injection from a file
 *   tape.c   an oracle of the ladder that softhca trace draws
 *   ways.c   the other ways of a packet: runs of them, and the fast path
 *   node.c   the glue around the core, as small as it can be
 *   queue.c   packets that wait for memory, as in kernel/path/rq.c and sq.c
 *   mem.c    regions, and the access check that the core is given
 *   model.c  what must be true, found out independently of the core
 *   packets.c what each packet must say, from the plan alone
 *   credits.c end-to-end credits, likewise
 *   unrel.c  the same for UC and UD
 */
#ifndef SHCA_SIM_H
#define SHCA_SIM_H

#include <stdio.h>
#include <stdlib.h>

#include "../../../kernel/core/fault_rule.h"
#include "../../../kernel/core/headers.h"
#include "../../../kernel/core/opcode.h"
#include "../../../kernel/core/psn.h"
#include "../../../kernel/core/requester/requester.h"
#include "../../../kernel/core/responder/responder.h"
#include "prng.h"

#define SIM_MAX_CONNS	2
#define SIM_MAX_NODES	(2 * SIM_MAX_CONNS)
#define SIM_MAX_OPS	48
#define SIM_MAX_RECVS	(SIM_MAX_OPS + SIM_MAX_OPS / 2)
#define SIM_MAX_SGE	4
#define SIM_RD_RING	16
#define SIM_GUARD	64
/* Packets that may be received as one. */
#define SIM_RUN_MAX	16
/* Bytes of one packet, where it may stand for several PSNs. */
#define SIM_PAY_MAX	16384
#define SIM_WIRE_MAX	(SHCA_HDR_MAX + 4096 + 3 + SHCA_ICRC_BYTES)

/* ---- memory -------------------------------------------------------------- */

/**
 * struct sim_region - registered memory; @mem has SIM_GUARD bytes around it
 *
 * Bytes that nobody may have written hold the background, sim_background().
 */
struct sim_region {
	u32 key;
	u64 base;
	u32 len;
	u32 used;
	u32 access;
	bool valid;
	u8 *alloc;
	u8 *mem;
};

/* ---- the plan: what one requester does ----------------------------------- */

enum sim_op_fault {
	SIM_OK,
	SIM_BAD_LKEY,		/* payload or READ target cannot be reached */
	SIM_BAD_RKEY,
	SIM_RKEY_RANGE,		/* a byte beyond the region */
	SIM_BAD_WR,		/* refused when posted */
	SIM_RECV_SHORT,		/* the receive buffer is too short */
	SIM_RECV_BAD_LKEY,
	SIM_RECV_MALFORMED,
	SIM_MISALIGNED,		/* atomic, ATOMIC WRITE */
	SIM_BAD_INV,		/* SEND with invalidate of what is not there */
	SIM_BAD_LOCAL,		/* local request that fails */
	SIM_TOO_LONG,		/* UD: more than a packet */
	SIM_BAD_QKEY,		/* UD */
	SIM_FAULT_NR
};

struct sim_op {
	u32 id;			/* seeds the pattern; wr_id carries the index */
	u8 opcode;
	u16 flags;
	u32 len;
	u32 imm;		/* as on the wire; of others a key, what to flush */
	u64 compare_add;
	u64 swap;
	u64 atomic_before;	/* value the model expects to be returned */
	enum sim_op_fault fault;
	u32 nr_sge;
	struct shca_sge sge[SIM_MAX_SGE];
	u8 *inline_data;
	u64 rem_va;
	u64 slot_va;		/* @rem_va without the fault */
	int recv_idx;		/* of the receive it consumes, -1: none */
	u32 nr_recv_sge;
	struct shca_sge recv_sge[SIM_MAX_SGE];
	u32 recv_len;
	u32 placed;		/* bytes of the response that were placed */
	u32 psn;		/* FLUSH, ATOMIC WRITE: it was sent with */
	u32 nr_left;		/* packets that have left (READ: the request) */
	u32 first_psn;		/* RC: PSNs, by the plan */
	u32 nr_psn;
	u32 nr_answered;	/* parts of its response that have left */
	u8 asked[32];		/* parts at which a READ was asked for */
	u8 asked_end[32];	/* and up to which */
	struct sim_node *target; /* UD */
	u32 qkey;		/* UD, as posted */
	bool posted;
	bool started;		/* a packet of it was sent */
	bool failed;		/* its payload could not be gathered */
	bool done;		/* known to be complete, successfully */
	bool recv_done;
	bool is_limited;	/* began without credit */
};

/* ---- receives of UC and UD ----------------------------------------------- */

/*
 * What a message will find cannot be planned where messages get lost, so the
 * receives of the unreliable transports stand on their own.
 */
struct sim_recv {
	u32 len;
	u32 nr_sge;
	struct shca_sge sge[SIM_MAX_SGE];
	enum sim_op_fault fault;
	u32 dirty;		/* bytes that messages cut short may have left */
	bool done;
	bool buried;
};

/**
 * struct sim_supply - receive requests of one node, or shared by two (SRQ)
 */
struct sim_supply {
	struct sim_region mem;
	struct sim_recv recv[SIM_MAX_RECVS];
	u32 nr;
	u32 posted;
	u32 taken;
};

/* ---- nodes --------------------------------------------------------------- */

/**
 * struct sim_queue - received packets of a side that wait, in order
 * @fetching:	memory has been asked for, and its event will come
 * @behind:	the first of them waits for an answer to leave
 * @feeds:	of those out of order: the rest is fed by an event that will come
 * @was_full:	a packet has found no place, and so was lost
 */
struct sim_queue {
	struct sim_queued *first;
	struct sim_queued *last;
	u32 nr;
	u32 max;
	bool fetching;
	bool behind;
	bool feeds;
	bool was_full;
};

enum sim_node_state {
	SIM_NODE_IDLE,
	SIM_NODE_RUN,
	SIM_NODE_ERR,
};

struct sim_node {
	struct sim_world *w;
	u32 idx;
	struct sim_node *peer;
	u32 qpn;
	enum sim_node_state state;

	struct shca_req req;
	struct shca_resp resp;
	void *req_ring;
	u32 req_entries;
	struct shca_rd rd[SIM_RD_RING];
	struct shca_req_attr req_attr;
	struct shca_resp_attr resp_attr;

	struct sim_region loc;	/* payload, READ targets, receive buffers */
	struct sim_region rem;	/* what the peer reaches */

	/* the plan of this node's requester */
	struct sim_op ops[SIM_MAX_OPS];
	u32 nr_ops;
	u32 room;		/* bytes that the plan may still take */
	bool is_greedy;		/* FLUSH and its like beyond what the peer offers */
	u32 nr_posted;
	u32 nr_done;		/* completions seen or implied */
	bool failed;		/* an error completion was seen */
	u32 recv_of[SIM_MAX_OPS]; /* receive index -> op index */
	u32 nr_consuming;
	u32 next_atomic;	/* op index of the next to execute at the peer */
	u32 next_inv;		/* likewise */
	u32 next_flush;		/* likewise */
	u64 counter_va;		/* in the peer's @rem */
	u64 counter_model;	/* as of the plan's end */

	/* receives of the peer's plan, taken here */
	u32 recv_posted;
	u32 recv_taken;
	u32 recv_done;
	bool recv_failed;

	/* what the access check allowed last */
	u64 check_va;
	u32 check_len;
	u32 check_rkey;

	u64 timer_at;		/* of the event in the queue, 0: none */
	bool pump_queued;
	u64 quiet_until;
	u32 stuck;
	u32 drops;		/* since the last progress of this requester */
	u32 last_una_psn;
	u64 faults;		/* of its packets */
	u64 tx_req;
	u64 tx_resp;
	u64 tx_probes;
	u64 early;		/* sent again before a time-out */
	u32 rnrs;		/* in a row */
	u32 held_psn;		/* where memory is waited for, if @is_held */
	bool is_held;
	u32 unasked;		/* packets since one that asks */
	u32 next_psn;		/* of a packet that follows the last one */
	u64 needed;		/* packets of the plan without any fault */
	u64 cnps;
	u32 extra_status;	/* mask of statuses the scenario excuses */
	u32 quiet;		/* in error: operations before it may have ended without a completion */
	bool is_alone;		/* the peer's QP is in error */
	bool is_refused;	/* and has said so */
	u32 srqn;		/* XRC: selected by the responder */

	/* packets.c: what has left and arrived, as requester and as responder */
	struct sim_count {
		u64 pkts;
		u64 bytes;
		u64 again;
		u64 probes;
		u64 acks;
		u64 naks;
		u64 rnrs;
		u64 rx[SHCA_RX_NR];
	} seen[2];
	bool gave_back;		/* a packet, which the core had handed out */
	/* RC, as requester */
	u32 tx_next;		/* PSN that follows */
	bool may_go_back;	/* there was a cause */
	bool is_probed;		/* nothing new has left since a tail loss probe */
	u32 probes_out;
	u32 rnr_seen;		/* RNR NAKs, attempts, time-outs since progress */
	u32 tries;
	u32 timeouts;
	/* as responder */
	u32 exp_psn;
	bool has_gap;		/* packets up to @gap_psn were ahead */
	u32 gap_psn;
	bool has_nak;
	bool ack_due;
	bool ce_seen;
	/* credits.c, as requester */
	bool has_credit;
	u32 credit;		/* messages with a receive that it was told of */

	/* UC and UD */
	struct sim_supply own_supply;
	struct sim_supply *supply;
	int held;		/* receive taken and not completed, -1: none */
	const struct sim_op *msg; /* UC: in progress here, NULL: none */
	u32 msg_part;		/* of it, expected next */
	u8 *written;		/* of @rem: bytes that the peer did write */
	enum shca_mem_status access; /* worst answer during this packet */
	bool asked;		/* the access check has sent for memory */
	struct sim_queue queue[2]; /* of the responder, of the requester */
	struct sim_queue kept[2]; /* what came out of order, by PSN: requests, responses */
	u32 tx_max;		/* first PSN that never left */
	u32 tx_last;		/* where sending stood before its last step back */
	u32 tx_rest;		/* where the farthest repair stood that was interrupted */
	u32 tx_missing[4];	/* the last packets that the peer has told to be missing */
	bool heard;		/* a packet came */
	struct shca_pkt told;	/* an acknowledgement that waits for a response */
	bool is_told;		/* there is one */
	bool is_sqe;		/* send queue in error, all else alive */
	u32 first_live;		/* operation after the last resumption */
	bool has_sent;
	u32 last_psn;
};

/* ---- the world ----------------------------------------------------------- */

/* XRC: numbers of SRQs that exist at each node */
#define SIM_SRQN	0x123400u
#define SIM_SRQS	3

/**
 * struct sim_wire - a packet under way
 * @span:	there is no header for it; where it is used there is no wire
 * @run: @unit: @stride: several packets as one, as ways.c joins them; 0: none
 * @is_sound:	its bytes are intact
 * @ids:	of tape.c, one for each packet of a run
 * @op: @part: @from: what it was when it left, whatever becomes of its bytes;
 *	@op is NULL for responses, and for what was forged
 */
struct sim_wire {
	u32 len;
	bool ecn_ce;
	const struct sim_op *op;
	u32 part;
	u32 span;
	u32 run;
	u32 unit;
	u32 stride;
	bool is_sound;
	struct sim_node *from;
	u32 from_qpn;
	u32 ids[SIM_RUN_MAX];
	u8 buf[];
};

enum sim_ev_kind {
	SIM_EV_PACKET,
	SIM_EV_TIMER,
	SIM_EV_POST,
	SIM_EV_RECV,
	SIM_EV_PUMP,
	SIM_EV_ERROR,		/* the node's QP is moved to ERR from outside */
	SIM_EV_RESET,		/* both QPs of a connection start afresh */
	SIM_EV_DEREG,
	SIM_EV_DRAIN,
	SIM_EV_PACE,
	SIM_EV_FORGE,
	SIM_EV_RESUME,		/* UC, UD: from SQE back to RTS */
	SIM_EV_FETCHED_RQ,	/* memory that a responder has asked for */
	SIM_EV_FETCHED_SQ,
	SIM_EV_FED_RQ,		/* the continuation of what was out of order */
	SIM_EV_FED_SQ,
	SIM_EV_FETCHED,		/* memory of a request that is held */
	SIM_EV_HELD,		/* what others were to overtake has waited long enough */
};

struct sim_ev {
	u64 at;
	u64 seq;
	enum sim_ev_kind kind;
	u32 node;
	u32 arg;
	struct sim_wire *wire;
};

/**
 * struct sim_faults - how bad this seed's world is, in permille
 * @is_clean:	nothing goes wrong but what the plan says
 * @strict:	everything must complete successfully: no fault that the
 *		protocol may answer with an error, losses below the retry limit
 */
struct sim_faults {
	bool is_clean;
	bool strict;
	bool hostile;
	bool holds;		/* both ends have out-of-order queues */
	bool tells;		/* each tells the other so by its marks only */
	bool keeps;		/* and responses */
	bool rules;		/* of a file, in place of the next four */
	u32 loss;
	u32 dup;
	u32 reorder;
	u32 corrupt;
	u32 mutate;
	u32 ecn;
	u32 mem_retry;
	u32 link_busy;
	u32 vanish;
	u32 locals;
	u32 runs;		/* packets that follow each other are one */
	u32 fast;		/* messages take the fast path */
	u32 budget;		/* packets per pump, 0: no limit */
	u32 together;		/* packets taken with the next one, before an answer */
	u32 turn;		/* kept packets that are fed at once, 0: no limit */
	u64 delay_ns;
	u64 jitter_ns;
	u64 byte_ns;
	u64 pump_ns;
};

#define SIM_HELD	64

/**
 * struct sim_held - a packet that @left others of its sender are to overtake
 * @from: @to:	nodes
 */
struct sim_held {
	struct sim_wire *wire;
	u32 from;
	u32 to;
	u32 left;
	u64 until;
};

struct sim_world {
	u64 seed;
	bool verbose;
	struct prng rng;
	u64 now;
	u64 seq;
	struct sim_ev *heap;
	u32 nr_ev;
	u32 max_ev;
	u64 nr_events;
	struct sim_faults f;
	/* Losses are decided as in the kernel, see sim_link_tx(). */
	struct shca_fault_rule loss_rule;
	struct shca_fault_state loss;
	struct shca_fault_state *rules;	/* of rules from a file, or NULL */
	struct sim_held held[SIM_HELD];
	u32 nr_held;
	struct sim_tape *tape;	/* or NULL */
	u32 nr_conns;
	u32 mtu;
	u8 transport;		/* SHCA_TRANSPORT_RC, _XRC, _UC or _UD */
	u32 reach;		/* PSNs that a packet may stand for */
	struct sim_node nodes[SIM_MAX_NODES];
	u64 link_free[SIM_MAX_NODES];	/* FIFO: when the last one arrives */
	u32 epochs_left[SIM_MAX_CONNS];
	u32 next_qpn;
	u32 next_op;
	u64 stat_pkts;
	u64 stat_faults;
	u64 stat_refused;	/* batches that a link refused */
	u64 stat_mixed;		/* of these with new and repeated packets */
	u64 stat_runs;
	u64 stat_fast;
	u64 stat_held;
	u64 stat_turns;
	u64 stat_lost;		/* requests and responses, where they are lost and no worse */
	u64 stat_again;		/* requests sent again for it */
	u64 stat_refusals;	/* by peers that were not ready */
	u64 stat_limited;	/* messages that began without credit */
	u8 scratch[SIM_RUN_MAX * 4096];
};

/* ---- sim.c --------------------------------------------------------------- */

void sim_fail(struct sim_world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void sim_log(struct sim_world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void sim_log_pkt(struct sim_node *n, const char *dir, const struct shca_pkt *pkt);
void sim_digest(const void *data, size_t len);
void sim_count_steps(void);

#define sim_check(w, cond, ...)						\
	do {								\
		if (!(cond))						\
			sim_fail(w, __VA_ARGS__);			\
	} while (0)

/* ---- world.c ------------------------------------------------------------- */

void sim_push(struct sim_world *w, u64 at, enum sim_ev_kind kind, u32 node,
	      u32 arg, struct sim_wire *wire);
void sim_run(struct sim_world *w);
struct sim_wire *sim_peek_packet(struct sim_node *n);
struct sim_wire *sim_pull_packet(struct sim_node *n);
void sim_plan_epoch(struct sim_node *a, struct sim_node *b);

/* ---- link.c -------------------------------------------------------------- */

void sim_link_tx(struct sim_node *from, const struct shca_pkt *pkt,
		 const u8 *payload);
struct sim_wire *sim_wire_copy(const struct sim_wire *from, u32 len);
void sim_link_rx(struct sim_node *to, struct sim_wire *wire);
void sim_link_forge(struct sim_node *to);

/* ---- rules from a file (rules.c) ------------------------------------------ */

/** sim_rules_read() - of all worlds; an exit status, after a message */
int sim_rules_read(const char *name);
/** sim_rules_start() - the world that was chosen has these faults on its link, and no other */
void sim_rules_start(struct sim_world *w);
void sim_rules_end(struct sim_world *w);
/** sim_rules_ask() - the rule that applies to a packet, or NULL; @delay_ns: of delay */
const struct shca_fault_rule *sim_rules_ask(struct sim_node *from,
					    struct sim_node *to,
					    const struct shca_pkt *pkt,
					    u64 *delay_ns);
/** sim_rules_hold() - keep a packet until others have passed; false: too many wait */
bool sim_rules_hold(struct sim_node *from, struct sim_node *to,
		    struct sim_wire *wire, u32 distance);
/**
 * sim_rules_passed() - the next packet that need not wait any more, or NULL
 * @passes:	one of @from has just passed
 * @to:		result: where it goes
 */
struct sim_wire *sim_rules_passed(struct sim_world *w, const struct sim_node *from,
				  bool passes, struct sim_node **to);
/** sim_link_release() - send what need not wait any more */
void sim_link_release(struct sim_node *from, bool passes);

/* ---- tape.c -------------------------------------------------------------- */

struct sim_tape_totals {
	u64 seeds;
	u64 events;
	u64 packets;
	u64 lost;
	u64 again;
	u64 probes;
	u64 completions;
	u64 unclear;		/* taken for an equal one */
};

/** sim_tape_on() - each world is recorded from now on, and what the tool makes of it is compared */
void sim_tape_on(void);
const struct sim_tape_totals *sim_tape_totals(void);
void sim_tape_start(struct sim_world *w);
void sim_tape_end(struct sim_world *w);
/** sim_tape_ready() - to RTS, from SQE if @again */
void sim_tape_ready(struct sim_node *n, bool again);
void sim_tape_post(struct sim_node *n, const struct shca_send_wr *wr);
/** sim_tape_tx() - a packet leaves; its number, for sim_tape_rx() */
u32 sim_tape_tx(struct sim_node *n, const struct shca_pkt *pkt);
/** sim_tape_rx() - it arrives; @ids: a number for each that was received as one */
void sim_tape_rx(struct sim_node *n, const struct shca_pkt *pkt, const u32 *ids);
void sim_tape_verdict(struct sim_node *n, const struct shca_pkt *pkt, enum shca_verdict rx);
void sim_tape_timeout(struct sim_node *n);
void sim_tape_complete(struct sim_node *n, const struct shca_wc *wc);

/* ---- ways.c -------------------------------------------------------------- */

struct sim_wire *sim_run_join(struct sim_node *n, struct sim_wire *first);
void sim_run_parsed(const struct sim_wire *wire, struct shca_pkt *pkt);
void sim_run_rx(struct sim_node *n, struct shca_pkt *pkt, bool is_response);
void sim_fast_path(struct sim_node *n);

/* ---- node.c -------------------------------------------------------------- */

void sim_node_rx(struct sim_node *n, struct shca_pkt *pkt, bool is_response);
void sim_node_pump(struct sim_node *n);
void sim_node_error(struct sim_node *n);
bool sim_node_post(struct sim_node *n);
void sim_node_timer(struct sim_node *n);
void sim_node_fetched(struct sim_node *n);
void sim_node_resume(struct sim_node *n);

enum shca_verdict sim_node_accept(struct sim_node *n, struct shca_pkt *pkt,
				  bool is_response);

/* ---- queue.c -------------------------------------------------------------- */

/* Behind the last request that has come, in order or not. */
u32 sim_queue_end(const struct sim_node *n);
void sim_queue_take(struct sim_node *n, struct shca_pkt *pkt, bool is_response);
void sim_queue_fetched(struct sim_node *n, bool is_response);
void sim_queue_fed(struct sim_node *n, bool is_response);
bool sim_queue_answered(struct sim_node *n);
void sim_queue_purge(struct sim_node *n);

/* ---- mem.c --------------------------------------------------------------- */

extern const struct shca_mem_ops sim_mem_ops;

bool sim_fast_move(struct sim_node *n, const struct shca_send_wr *wr);

static inline bool sim_is_xrc(const struct sim_world *w)
{
	return w->transport == SHCA_TRANSPORT_XRC;
}

/* Static rate of a node's path, or of a datagram's address; 0: none. */
u32 sim_rate(const struct sim_world *w, u32 idx);

/* The SRQ that an operation names, one of a few. */
static inline u32 sim_srqn(const struct sim_world *w, const struct sim_op *op)
{
	return sim_is_xrc(w) ? SIM_SRQN + op->id % SIM_SRQS : 0;
}

/* Reliable: with acknowledgements. */
static inline bool sim_is_rc(const struct sim_world *w)
{
	return w->transport == SHCA_TRANSPORT_RC || sim_is_xrc(w);
}

static inline bool sim_is_ud(const struct sim_world *w)
{
	return w->transport == SHCA_TRANSPORT_UD;
}

static inline u8 sim_background(const struct sim_region *r, u32 off)
{
	return 0x5a ^ (u8)(off * 29) ^ (u8)r->key;
}

static inline u8 sim_pattern(const struct sim_op *op, u32 off)
{
	return (u8)(op->id * 73 + off * 131 + (off >> 8) * 17 + 1);
}

void sim_region_init(struct sim_world *w, struct sim_region *r, u32 len,
		     u32 access);
void sim_region_vanish(struct sim_node *n, struct sim_region *r);
void sim_region_free(struct sim_region *r);
u64 sim_region_take(struct sim_world *w, struct sim_region *r, u32 len,
		    u32 align);
u8 *sim_region_at(struct sim_world *w, struct sim_region *r, u64 va, u32 len);
/* Byte @off of the GRH in front of a datagram. */
static inline u8 sim_grh_byte(const struct sim_wire *wire, u32 off)
{
	return (u8)(wire->from_qpn * 59 + off * 7 +
		    (wire->op ? wire->op->id * 31 : 0) + 3);
}

enum shca_mem_status sim_gather(struct sim_node *n, const struct shca_pkt *pkt,
				u8 *to);

/* ---- model.c ------------------------------------------------------------- */

void sim_model_pull(struct sim_node *n, const struct shca_pkt *pkt);
void sim_model_fast(struct sim_node *n, const struct shca_send_wr *wr);
void sim_model_tx(struct sim_node *n, const struct shca_pkt *pkt);
void sim_model_send_wc(struct sim_node *n, const struct shca_wc *wc);
void sim_model_retired(struct sim_node *n);
void sim_model_recv_wc(struct sim_node *n, const struct shca_wc *wc);
void sim_model_atomic(struct sim_node *n, const struct shca_pkt *pkt,
		      u64 before);
void sim_model_flush(struct sim_node *n, const struct shca_pkt *pkt);
void sim_model_refusal(struct sim_node *n, const struct shca_pkt *pkt);
void sim_model_bare_answer(struct sim_node *n, const struct shca_pkt *pkt);
bool sim_model_invalidate(struct sim_node *n, u32 rkey);
enum shca_wc_status sim_model_local(struct sim_node *n,
				    const struct shca_send_wr *wr);
void sim_model_epoch_end(struct sim_node *n);
void sim_check_rest(struct sim_node *n, struct sim_region *r, const u8 *cover);
void sim_cover_own(struct sim_node *n, u8 *cover);
void sim_bury(struct sim_node *n, struct sim_region *r,
	      const struct shca_sge *sge, u32 nr);

/* ---- packets.c ----------------------------------------------------------- */

void sim_packets_start(struct sim_node *n);
void sim_packet_request(struct sim_node *n, const struct sim_op *op,
			const struct shca_pkt *pkt);
void sim_packet_order(struct sim_node *n, struct sim_op *op,
		      const struct shca_pkt *pkt);
void sim_packet_executed(struct sim_node *n, const struct shca_pkt *pkt,
			 enum shca_verdict rx);
void sim_packet_answer(struct sim_node *n, const struct shca_pkt *pkt);
bool sim_may_mark(const struct sim_node *n);
void sim_packet_mark(struct sim_node *n, const struct shca_pkt *pkt);
void sim_packet_count(struct sim_node *n, const struct shca_pkt *pkt);
void sim_packet_counts_end(struct sim_node *n);
void sim_packet_answered(struct sim_node *n, const struct shca_pkt *pkt,
			 enum shca_verdict rx, u32 una, bool was_waiting);
void sim_packet_timer(struct sim_node *n, bool back, bool timeout);
void sim_packet_fast(struct sim_node *n, const struct shca_send_wr *wr);
void sim_packet_gave_up(struct sim_node *n);

/* ---- credits.c ----------------------------------------------------------- */

u8 sim_credit_syndrome(const struct sim_node *n);
void sim_credit_told(struct sim_node *n, const struct shca_pkt *pkt);
void sim_credit_used(struct sim_node *n, struct sim_op *op,
		     const struct shca_pkt *pkt);

/* ---- unrel.c ------------------------------------------------------------- */

void sim_unrel_plan_recvs(struct sim_node *n, bool has_fault);
void sim_unrel_start(struct sim_node *n);
void sim_unrel_wipe(struct sim_node *n);
void sim_unrel_tx(struct sim_node *n, const struct shca_pkt *pkt);
void sim_unrel_done(struct sim_node *n, const struct sim_op *op);
enum shca_verdict sim_unrel_rx(struct sim_node *n, const struct shca_pkt *pkt);
void sim_unrel_flush(struct sim_node *n);
void sim_unrel_epoch_end(struct sim_node *n);

#endif
