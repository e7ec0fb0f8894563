/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What `softhca trace record` and `show` share. trace_file.c reads a recording into
 * a struct trace, trace_model.c finds out what belongs together, and the other
 * files draw it.
 */
#ifndef SOFTHCA_TRACE_H
#define SOFTHCA_TRACE_H

#include "softhca.h"

/* The default file of a recording, as of trace-cmd(1) */
#define TRACE_FILE	"trace.dat"

/* Text of the marker that record writes for each QP that exists, and at its end */
#define TRACE_MARK_QP	"softhca: qp dev="
#define TRACE_MARK_LOST	"softhca: lost "

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

/**
 * struct trace_event - an event of the recording, and what the model adds
 * @ns:		since the first event
 * @number:	the opcode of a packet
 * @packets:	PSNs that a packet stands for: more than 1 on the direct path
 * @hdr:	its transport headers as on the wire, without keys; NULL: unknown
 * @payload:	its first bytes, if these are recorded; or NULL
 * @word:	opcode, as the kernel names it; what an asynchronous event or a refused
 *		verb says; "RTS to ERR"; the name of an injected fault
 * @verdict:	verdict, status or reason; "" if there is none
 * @info:	all fields as text
 * @mate:	tx: the rx of the same packet, and the other way round; verdict: its rx; or -1
 * @judged:	rx and tx: index of the verdict, or -1
 * @wr:		index of the work request, or -1
 * @conn:	index of the connection, or -1
 * @right:	it happened at the connection's second QP
 */
struct trace_event {
	uint64_t ns;
	uint64_t wr_id;
	enum trace_kind kind;
	unsigned int flags;
	unsigned int number;
	uint32_t qpn, dqpn, psn, msn, length, packets, syndrome, vendor_err;
	bool ackreq;
	const char *word;
	const char *verdict;
	const char *info;
	unsigned char *hdr, *payload;
	unsigned int hdr_len, payload_len;
	int pid;
	int mate, judged, wr, conn;
	bool right;
};

/**
 * struct trace_wr - a work request of a send queue
 * @psns:	how many PSNs it takes as far as known; 0: nothing was sent
 * @post: @done:	events, or -1
 */
struct trace_wr {
	uint32_t qpn;
	uint32_t psn, psns;
	uint64_t wr_id;
	uint32_t length;
	const char *word;
	const char *status;
	int post, done, conn;
	unsigned int retrans;
};

/**
 * struct trace_qp - a queue pair that has events
 * @device:	"" if unknown
 */
struct trace_qp {
	uint32_t qpn;
	const char *device;
	const char *comm;
	int pid;
	int conn;
	uint32_t mtu;
	bool local;
	/* the reader's own: the latest packet of the direct path, of several PSNs */
	bool has_direct;
	uint32_t direct_psn;
	/* the model's own */
	bool sent;
	uint32_t next_psn;
	int first_wr, next_wr, done_wr, current_wr, last_in, nr_wrs;
};

/** struct trace_conn - two QPs that send to each other; @left posts first */
struct trace_conn {
	uint32_t left, right;
	int nr_events, nr_wrs;
};

/**
 * struct trace - a recording
 * @nr_records:	how many events the file has; one of several packets is several here
 * @lost:	events that the kernel had no room for
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
	uint64_t start_ns;
};

/**
 * struct trace_choice - which events are to be shown
 * @qpn:	0: of all queue pairs
 * @from_ns: @to_ns:	since the first event
 * @snap:	bytes of a packet that pcapng has at most
 */
struct trace_choice {
	uint32_t qpn;
	bool has_wr_id;
	uint64_t wr_id;
	uint64_t from_ns, to_ns;
	unsigned int snap;
};

/* trace_record.c */

struct tracefs_instance;

/** trace_record_run() - `softhca trace record` */
int trace_record_run(const struct call *call);
/**
 * trace_instance() - a tracing instance of this process, with a clock for all CPUs
 *
 * What a killed process has left is removed. Return: NULL if there can be none.
 */
struct tracefs_instance *trace_instance(void);
/** trace_instance_end() - remove it; NULL is ignored */
void trace_instance_end(struct tracefs_instance *instance);

/* trace_file.c */

/** trace_read() - read a recording. Return: 0, or an exit status after a message */
int trace_read(const char *path, struct trace *trace);
/** trace_qp() - the QP with this number; NULL if there is none */
struct trace_qp *trace_qp(const struct trace *trace, uint32_t qpn);
/** trace_grow() - room for one more of @size in @array with @nr; exits when out of memory */
void *trace_grow(void *array, int nr, size_t size);
/** trace_free() - forget it all */
void trace_free(struct trace *trace);

/* trace_packet.c */

/* Bytes of the longest transport headers: BTH, XRCETH, AtomicETH */
#define TRACE_HDR_MAX	44

/** trace_ext_bytes() - bytes of the headers that follow the BTH of this opcode */
unsigned int trace_ext_bytes(unsigned int opcode);
/** trace_headers_text() - " va=0x1000 rkey=0x12??????": what @hdr has beyond the event's fields */
const char *trace_headers_text(const struct trace_event *e, char *text, size_t size);
/** trace_packet_info() - a packet's fields as text */
const char *trace_packet_info(const struct trace_event *e, char *text, size_t size);

/* trace_model.c */

/** trace_model() - fill in what belongs together */
void trace_model(struct trace *trace);
/** trace_is_wanted() - is the event to be shown? */
bool trace_is_wanted(const struct trace *trace, const struct trace_event *e,
		     const struct trace_choice *choice);
/** trace_packet_text() - what became of a packet: "ok", "lost", "rnr", or "" */
const char *trace_packet_text(const struct trace *trace, const struct trace_event *e);
/** trace_packet_name() - "SEND FIRST", without the transport; "NAK" for such an ACK */
const char *trace_packet_name(const struct trace_event *e, char *text, size_t size);
/** trace_memory_text() - what an accepted packet does to memory; "" for nothing */
const char *trace_memory_text(const struct trace *trace, const struct trace_event *e,
			      bool *right);
/** trace_qp_name() - "shca0 0x11" */
const char *trace_qp_name(const struct trace *trace, uint32_t qpn, char *text, size_t size);
/** trace_json_string() - a JSON string; safe inside a script element of HTML */
void trace_json_string(FILE *out, const char *s);

/* Each writes the recording in its form. */
typedef void trace_writer(FILE *out, const struct trace *trace,
			  const struct trace_choice *choice);
trace_writer trace_to_text;	/* trace_show.c */
trace_writer trace_to_html;	/* trace_html.c */
trace_writer trace_to_svg;	/* trace_svg.c */
trace_writer trace_to_json;	/* trace_export.c */
trace_writer trace_to_pcapng;	/* trace_export.c */

#endif
