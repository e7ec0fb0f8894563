/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A queue pair of the protocol core, as ns-3 sees it: bytes of packets in and out, the
 * time, and messages that complete.  Everything else of the core is in node.c, which is
 * the only file here that is compiled with its headers.
 */
#ifndef SHCA_NS3_NODE_H
#define SHCA_NS3_NODE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest run of transport headers. */
#define NODE_HDR_MAX	64
/* "Not now" as a deadline. */
#define NODE_NEVER	0
/* IBV_WC_RETRY_EXC_ERR, a status */
#define NODE_EXHAUSTED	12

/** enum node_op - what a requester posts */
enum node_op { NODE_WRITE, NODE_READ, NODE_SEND };

/** enum node_control_kind - algorithms of the core; with all but OFF packets are ECN-capable */
enum node_control_kind { NODE_OFF, NODE_WINDOW, NODE_DELAY, NODE_DCQCN };

/**
 * struct node_control - control of congestion, by the names of mlx5's parameters
 * @time_reset_us: rp_time_reset; @ai_mbps: rp_ai_rate; @hai_mbps: rp_hai_rate: DCQCN
 */
struct node_control {
	enum node_control_kind kind;
	uint32_t time_reset_us;
	uint32_t ai_mbps;
	uint32_t hai_mbps;
};

/**
 * struct node_config - what a queue pair is made with
 * @mtu:	path MTU in bytes
 * @timeout_ns:	local ACK timeout
 * @depth:	requests that may be outstanding, a power of two
 * @line_mbps:	rate of the port
 * @holds:	both ends have out-of-order queues, and know it of each other
 */
struct node_config {
	uint32_t mtu;
	uint64_t timeout_ns;
	uint32_t depth;
	uint32_t line_mbps;
	bool holds;
	struct node_control control;
};

/** struct node_stats - of both sides of a queue pair */
struct node_stats {
	uint64_t tx_pkts;
	uint64_t retransmits;
	uint64_t timeouts;
	uint64_t out_of_seq;
	uint64_t cnps;		/* received */
	uint64_t held;		/* packets that came out of order and were kept */
};

/**
 * struct node_packet - one that is to leave
 * @hdr:	transport headers, @hdr_len bytes
 * @body_len:	payload, padding and ICRC, whose bytes nobody looks at
 */
struct node_packet {
	uint8_t hdr[NODE_HDR_MAX];
	uint32_t hdr_len;
	uint32_t body_len;
};

struct node;


/** node_new() - a queue pair, connected with number @peer_qpn of another host */
struct node *node_new(const struct node_config *config, uint32_t qpn,
		      uint32_t peer_qpn);
void node_free(struct node *node);

/** node_post() - a message of @len bytes; false: no room, or in error */
bool node_post(struct node *node, enum node_op op, uint32_t len, uint64_t now);

/** node_next() - the next packet to leave; false: none now */
bool node_next(struct node *node, uint64_t now, struct node_packet *packet);

/**
 * node_rx() - a packet of @len bytes from the BTH to the ICRC, of which @hdr has the first
 * @marked:	it carries a mark of congestion
 */
void node_rx(struct node *node, const uint8_t *hdr, uint32_t hdr_len,
	     uint32_t len, bool marked, uint64_t now);

/** node_qpn() - to which queue pair a packet goes */
uint32_t node_qpn(const uint8_t *hdr);

/** node_done() - messages that have completed since the last call */
uint32_t node_done(struct node *node);

/** node_failed() - a request has ended in error: its status, 0: none */
int node_failed(const struct node *node);

/** node_placed() - bytes that the peer's requests, or READs here, have put into memory */
uint64_t node_placed(const struct node *node);

/** node_deadline() - when to call node_timer(), and then node_next() */
uint64_t node_deadline(const struct node *node);
void node_timer(struct node *node, uint64_t now);

struct node_stats node_count(const struct node *node);

#ifdef __cplusplus
}
#endif
#endif
