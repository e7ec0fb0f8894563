/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The static rate of a path (IBTA 9.11): packets leave no faster.
 *
 * Each packet takes its time at that rate, one after the other. Packets may leave up to
 * SHCA_RATE_BURST_NS ahead of it, so that not each needs a timer. Then nothing leaves until the
 * rate has caught up. A half that is woken late, or was idle, makes up for SHCA_RATE_BURST_NS at
 * most. In a time t there leaves at most what the rate carries in t + 2 * SHCA_RATE_BURST_NS, and
 * one packet.
 */
#ifndef SHCA_CORE_RATE_H
#define SHCA_CORE_RATE_H

#include "../headers.h"
#include "../opcode.h"
#include "../packet.h"

#define SHCA_RATE_BURST_NS	100000ull
/* Bytes outside of BTH to ICRC: Ethernet header and FCS, IPv6, UDP; other links have less. */
#define SHCA_RATE_LOWER		66

/*
 * The static rate of a half.
 * @due_ns:	when the rate has carried what has left
 * @until_ns:	nothing leaves before; 0: no limit
 * @run:	packets that the rate carries in SHCA_RATE_BURST_NS, at least 1
 * @on:		there is a rate
 */
struct shca_rate {
	u64 due_ns;
	u64 until_ns;
	u32 run;
	bool on;
};

/* From now on the rate is @kbps, for packets of @mtu; 0: none. */
static inline void shca_rate_set(struct shca_rate *rate, u32 kbps, u32 mtu)
{
	u64 bytes = div64_u64(kbps * SHCA_RATE_BURST_NS, 8 * 1000000);

	memset(rate, 0, sizeof(*rate));
	rate->on = kbps;
	rate->run = max_t(u64, 1, div64_u64(bytes, mtu + SHCA_RATE_LOWER));
}

/* May a packet leave now? Return: 0, or the time when it may. */
static inline u64 shca_rate_until(struct shca_rate *rate, u64 now)
{
	if (now >= rate->until_ns)
		rate->until_ns = 0;
	if (!rate->until_ns && rate->due_ns > now + SHCA_RATE_BURST_NS)
		rate->until_ns = rate->due_ns;
	return rate->until_ns;
}

/* @pkt, which stands for span + 1 packets, leaves at @kbps. */
static inline void shca_rate_sent(struct shca_rate *rate, u32 kbps,
				  const struct shca_pkt *pkt, u64 now)
{
	u32 each = SHCA_RATE_LOWER + shca_opcode_info(pkt->opcode)->hdr_len +
		   SHCA_ICRC_BYTES;
	u64 bits = 8 * ((u64)each * (pkt->span + 1) + pkt->paylen + pkt->pad);
	u64 from = now > SHCA_RATE_BURST_NS ? now - SHCA_RATE_BURST_NS : 0;

	rate->due_ns = max_t(u64, rate->due_ns, from) +
		       div64_u64(bits * 1000000 + kbps - 1, kbps);
}

#endif
