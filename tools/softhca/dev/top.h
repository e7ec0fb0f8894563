/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `softhca top` shows: top_data.c asks the kernel, top.c draws. */
#ifndef SOFTHCA_TOP_H
#define SOFTHCA_TOP_H

#include "../softhca.h"

/* Counters that are shown, or summed up into one column */
enum top_counter {
	TOP_TX_PACKETS,
	TOP_TX_BYTES,
	TOP_RX_PACKETS,
	TOP_RX_BYTES,
	TOP_DIRECT,
	TOP_TIMEOUTS,	/* of the transport timer */
	TOP_AGAIN,	/* occasions to send again: NAKs, early repeats, time-outs */
	TOP_RNR,	/* RNR NAKs received and sent */
	TOP_ERRORS,	/* packets and requests refused or dropped */
	TOP_NR_COUNTERS
};

/* Times up to 2^TOP_OCTAVES ns, 34 s, each power of two in eight slots */
#define TOP_OCTAVES	35
#define TOP_SLOTS	(8 * TOP_OCTAVES)

/* How long requests took; @nr: how many, @slot: of each length. */
struct top_latency {
	uint64_t nr;
	uint32_t slot[TOP_SLOTS];
};

/*
 * A device.
 * @value:	of each counter, and @rate: what it gains in a second
 * @gained:	requests that its queue pairs have completed since the look before
 */
struct top_device {
	char name[64];
	uint32_t index;
	uint64_t value[TOP_NR_COUNTERS];
	double rate[TOP_NR_COUNTERS];
	bool ours;
	uint64_t gained;
	struct top_latency latency;
};

/*
 * What a queue pair or a process does in a second.
 * @requests:	completed, also those without a completion of their own (unsignalled)
 * @messages: @psns:	messages received, PSNs sent
 * @tx_bytes: @rx_bytes:	payload sent, which may be sent again, and accepted
 * @again: @timeouts: @errors:	packets sent again, time-outs; completions in error and
 *		packets refused
 */
struct top_rates {
	double requests, messages, psns, tx_bytes, rx_bytes, again, timeouts, errors;
};

/* What a queue pair has done: see struct top_rates. */
struct top_so_far {
	uint64_t requests, messages, psns;
};

/*
 * A queue pair.
 * @known:	the fields below it are known, which needs CAP_NET_ADMIN
 * @done: @psn: @msn:	requests completed, PSNs sent, messages received: they go round, and
 *		begin anew with each of @resets, PSNs at @first_psn
 * @so_far:	the same since it was seen first, which do neither
 * @tx_bytes: @rx_bytes: @again: @timeouts: @errors:	see struct top_rates
 * @waiting:	requests posted and not completed
 * @in_flight:	packets sent and not acknowledged
 * @window:	packets that may be so
 * @gained:	requests completed since the look before
 */
struct top_qp {
	const char *device;
	uint32_t device_index, qpn, peer;
	unsigned int type, state;
	int pid;
	char comm[32];
	bool known;
	uint32_t done, psn, first_psn, msn, resets, waiting, in_flight, window, retry_left, errors;
	struct top_so_far so_far;
	uint64_t tx_bytes, rx_bytes, again, timeouts;
	bool direct, rnr_wait;
	uint64_t gained;
	struct top_rates rate;
	struct top_latency latency;
};

/* A sum over its queue pairs: members as of struct top_qp. */
struct top_process {
	int pid;
	char comm[32];
	int nr_qps;
	uint32_t waiting;
	uint64_t gained;
	struct top_rates rate;
	struct top_latency latency;
};

/*
 * One look at all devices; the arrays are the owner's.
 * @qp:		sorted by device and number
 * @busy:	the same, the busiest first; of top_look() only
 */
struct top {
	struct top_device *device;
	struct top_qp *qp, **busy;
	struct top_process *process;
	int nr_devices, nr_qps, nr_processes;
	double when;
	bool partly;	/* the kernel did not tell all: no privilege */
	bool timed;	/* latencies are known */
};

/* So often top_count() is called at least: no counter goes round within it. */
#define TOP_COUNT_SECONDS	1

/*
 * Ask the kernel how far queue pairs and devices are.
 * @top:	what it says
 * @last:	what it said last, or NULL
 * Return: 0 or a negative errno.
 */
int top_count(struct top *top, const struct top *last);
/*
 * As top_count(), with rates, sums and latencies: all that is shown.
 * @top:	what it says
 * @last:	what it said last, by top_count() or top_look(), or NULL
 * @before:	rates are since then, unless NULL
 * Return: 0 or a negative errno.
 */
int top_look(struct top *top, const struct top *last, const struct top *before);
void top_free(struct top *top);
/* The time, in seconds. */
double top_now(void);

/* top_latency.c */

/* Measure from now on. Return: false: only root can, or there is no tracing. */
bool latency_open(void);
/* Empty the kernel's rings, which is to happen several times a second. */
void latency_read(void);
/* Give devices and queue pairs what was measured since the last time. */
bool latency_take(struct top *top);
/* Add the requests of @from to those of @to. */
void latency_sum(struct top_latency *to, const struct top_latency *from);
/* What @part of the requests, 0 to 1, did not take longer than, in us. */
double latency_part(const struct top_latency *latency, double part);
/* Requests that took 2^@octave ns or more, up to twice that. */
uint64_t latency_bucket(const struct top_latency *latency, int octave);
void latency_close(void);

#endif
