/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `softhca top` shows: top_data.c asks the kernel, top.c draws. */
#ifndef SOFTHCA_TOP_H
#define SOFTHCA_TOP_H

#include "softhca.h"

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

/** struct top_device - @value: of each counter, and @rate: what it gains in a second */
struct top_device {
	char name[64];
	uint32_t index;
	uint64_t value[TOP_NR_COUNTERS];
	double rate[TOP_NR_COUNTERS];
	bool ours;
};

/**
 * struct top_qp - a queue pair
 * @known:	the fields below it are known, which needs CAP_NET_ADMIN
 * @done: @psn: @msn:	requests completed, PSNs sent, messages received: they go round
 * @waiting:	requests posted and not completed
 * @in_flight:	packets sent and not acknowledged
 */
struct top_qp {
	const char *device;
	uint32_t device_index, qpn, peer;
	unsigned int type, state;
	int pid;
	char comm[32];
	bool known;
	uint32_t done, psn, msn, waiting, in_flight, retry_left;
	bool direct, rnr_wait;
	double done_rate, packet_rate, message_rate;
};

/** struct top_process - a sum over its queue pairs */
struct top_process {
	int pid;
	char comm[32];
	int nr_qps;
	uint32_t waiting;
	double done_rate, packet_rate, message_rate;
};

/** struct top - one look at all devices; the arrays are the owner's */
struct top {
	struct top_device *device;
	struct top_qp *qp;
	struct top_process *process;
	int nr_devices, nr_qps, nr_processes;
	double when;
	bool partly;	/* the kernel did not tell all: no privilege */
};

/** top_look() - ask the kernel; rates are since @before, unless NULL. 0 or a negative errno */
int top_look(struct top *top, const struct top *before);
void top_free(struct top *top);

#endif
