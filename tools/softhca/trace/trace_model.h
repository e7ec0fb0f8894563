/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a recording is, and what belongs together in it. It needs no library, so that
 * the simulator of the core can ask the model, too (tests/userspace/core/tape.c).
 */
#ifndef SOFTHCA_TRACE_MODEL_H
#define SOFTHCA_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* trace_qp.dev of a queue pair that is not of this machine */
#define TRACE_ELSEWHERE	UINT32_MAX

enum trace_kind {
	TRACE_POST,
	TRACE_TX,
	TRACE_RX,
	TRACE_VERDICT,
	TRACE_REFUSED_RX,
	TRACE_TIMEOUT,
	TRACE_COMPLETE,
	TRACE_STATE,
	TRACE_EVENT,
	TRACE_REFUSED,
	TRACE_INJECTED,
	TRACE_NR_KINDS
};

/* struct trace_event.flags */
#define TRACE_RETRANS	(1u << 0)	/* this PSN was sent before */
#define TRACE_LOST	(1u << 1)	/* sent to a QP in the recording, and never received */
#define TRACE_RNR	(1u << 2)	/* says that no receive was posted */
#define TRACE_FAULT	(1u << 3)	/* an error, or what only comes after one */
#define TRACE_RESPONSE	(1u << 4)	/* a packet from responder to requester */
#define TRACE_GAP	(1u << 5)	/* events before this one are lost */
#define TRACE_PROBE	(1u << 6)	/* asks what has arrived (kernel/core/requester/requester.c) */
#define TRACE_MISSING	(1u << 7)	/* a gap report: says which packets are missing */
#define TRACE_COPY	(1u << 8)	/* the network has copied what arrived before */
#define TRACE_SIGNALED	(1u << 9)	/* the request asks for a completion */

/*
 * An event of the recording, and what the model adds.
 * @ns:		since the first event
 * @number:	the opcode of a packet
 * @packets:	PSNs that a packet stands for: more than 1 on the direct path
 * @hdr:	its transport headers as on the wire, without keys; NULL: unknown
 * @payload:	its first bytes, if these are recorded; or NULL
 * @word:	opcode, as the kernel names it; what an asynchronous event or a refused
 *		verb says; "RTS to ERR"; the name of an injected fault
 * @verdict:	verdict, status or reason; "" if there is none
 * @info:	all fields as text
 * @dev:	of the device where it happened, 1 and more; 0: a recording that does not say
 * @qp:		index of the queue pair where it happened, or -1
 * @peer:	tx: index of the one that it goes to, or -1
 * @mate:	tx: the rx of the same packet, and the other way round; verdict: its rx; or -1
 * @judged:	rx and tx: index of the verdict, or -1
 * @wr:		index of the work request, or -1
 * @conn:	index of the connection, or -1
 * @nth:	its PSN, counted from the first request of its direction; INT32_MIN: has none
 * @right:	it happened at the connection's second QP
 */
struct trace_event {
	uint64_t ns;
	uint64_t wr_id;
	enum trace_kind kind;
	unsigned int flags;
	unsigned int number;
	uint32_t dev, qpn, dqpn, psn, msn, length, packets, syndrome, vendor_err;
	bool ackreq;
	const char *word;
	const char *verdict;
	const char *info;
	unsigned char *hdr, *payload;
	unsigned int hdr_len, payload_len;
	int pid;
	int qp, peer, mate, judged, wr, conn;
	int32_t nth;
	bool right;
};

/*
 * A work request of a send queue.
 * @qp:		index of the queue pair
 * @psns:	how many PSNs it takes as far as known; 0: nothing was sent
 * @post: @done:	events, or -1
 */
struct trace_wr {
	uint32_t qpn;
	uint32_t psn, psns;
	uint64_t wr_id;
	int qp;
	bool signaled, answered;
	uint32_t length;
	const char *word;
	const char *status;
	int post, done, conn;
	unsigned int retrans;
};

/*
 * A queue pair that has events, or that packets go to.
 * @dev:	as of an event; TRACE_ELSEWHERE: of another machine
 * @device:	"" if unknown
 */
struct trace_qp {
	uint32_t qpn, dev;
	const char *device;
	const char *comm;
	int pid;
	int conn;
	uint32_t mtu;
	bool local;
	/* the reader's own: the latest packet of the direct path, of several PSNs */
	bool has_direct;
	uint32_t direct_psn;
	/* PSN of its first request; [1]: of the first that came to it, if nobody is known there */
	uint32_t first_psn[2];
	bool has_first[2];
	/* the model's own */
	bool sent, heard, failed;
	uint32_t next_psn, una;
	int next_wr, done_wr, current_wr, last_in, before;
};

/*
 * Two QPs that send to each other.
 * @left: @right:	indices; @left posts first; @right is -1 if nobody is known
 */
struct trace_conn {
	int left, right;
	int nr_events, nr_wrs;
};

/*
 * A recording.
 * @nr_records:	how many events the file has; one of several packets is several here
 * @lost:	events that the kernel had no room for
 * @zero_ns:	of the first post, from which times count; of the first event, if there is none
 */
struct trace {
	struct trace_event *event;
	int nr_events;
	struct trace_wr *wr;
	int nr_wrs;
	struct trace_qp *qp;
	int nr_qps;
	struct trace_conn *conn;
	int nr_conns;
	unsigned long long lost;
	int nr_records;
	uint64_t start_ns, zero_ns;
};

/*
 * Which events are to be shown.
 * @qpn:	0: of all queue pairs
 * @from_ns: @to_ns:	since the first post; events before it are at less than 0
 */
struct trace_choice {
	uint32_t qpn;
	bool has_wr_id;
	uint64_t wr_id;
	int64_t from_ns, to_ns;
};

/* Find the QP @qpn of device @dev; NULL if there is none. */
struct trace_qp *trace_qp(const struct trace *trace, uint32_t dev, uint32_t qpn);
/* The same, which may be new. */
struct trace_qp *trace_take_qp(struct trace *trace, uint32_t dev, uint32_t qpn);
/* Make room for one more of @size in @array with @nr; exits when out of memory. */
void *trace_grow(void *array, int nr, size_t size);
/* Fill in what belongs together. */
void trace_model(struct trace *trace);
/* The last PSN that a packet is about: of several in one, or that are missing. */
uint32_t trace_last_psn(const struct trace_event *e);

/* trace_psn.c */

/* Fill in trace_event.nth, when trace_model() has found connections. */
void trace_number(struct trace *trace);

/* trace_words.c */

/* Is the event to be shown? */
bool trace_is_wanted(const struct trace *trace, const struct trace_event *e,
		     const struct trace_choice *choice);
/* What became of a packet: "ok", "lost", "rnr", or "". */
const char *trace_packet_text(const struct trace *trace, const struct trace_event *e);
/* "SEND FIRST", without the transport; "NAK", "GAP REPORT" for such an ACK. */
const char *trace_packet_name(const struct trace_event *e, char *text, size_t size);
/* What an accepted packet does to memory; "" for nothing. */
const char *trace_memory_text(const struct trace *trace, const struct trace_event *e);
/* "shca0 0x11" of the QP with this index. */
const char *trace_qp_name(const struct trace *trace, int qp, char *text, size_t size);
/* "195.6 µs", "-1.579 ms", "2.621000 s". */
const char *trace_time_text(int64_t ns, char *text, size_t size);

#endif
