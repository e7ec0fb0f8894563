// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The glue around one requester and one responder of the core (kernel/core),
 * without memory.  Payload is only counted: the simulator of tests/userspace/core
 * checks bytes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../kernel/core/headers.h"
#include "../../kernel/core/opcode.h"
#include "../../kernel/core/requester/requester.h"
#include "../../kernel/core/responder/responder.h"
#include "node.h"

#define RD_RING		16

/* A packet that is out of order, and waits for those before it. */
struct held {
	struct held *next;
	struct shca_pkt pkt;
};

/* What one side of a queue pair keeps, by PSN. */
struct kept {
	struct held *first;
	struct held *last;
};

struct node {
	struct shca_req req;
	struct shca_resp resp;
	struct shca_rd rd[RD_RING];
	void *ring;
	struct kept kept[2];	/* [1]: responses */
	bool holds;
	uint32_t done;
	int status;
	uint64_t placed;
	uint64_t nr_held;
};

/* ---- memory that is always there ------------------------------------------ */

static enum shca_mem_status remote_check(void *ctx, u32 rkey, u64 va, u32 len,
					 u32 access)
{
	return SHCA_MEM_OK;
}

static enum shca_mem_status remote_write(void *ctx, u32 rkey, u64 va,
					 const struct shca_pkt *pkt)
{
	struct node *node = ctx;

	node->placed += pkt->paylen;
	return SHCA_MEM_OK;
}

static enum shca_mem_status local_scatter(void *ctx, const struct shca_sge *sge,
					  u32 nr, u32 off,
					  const struct shca_pkt *pkt)
{
	struct node *node = ctx;

	node->placed += pkt->paylen;
	return SHCA_MEM_OK;
}

static enum shca_mem_status local_store(void *ctx, const struct shca_sge *sge,
					u32 nr, const void *buf, u32 len)
{
	return SHCA_MEM_OK;
}

static enum shca_recv_status recv_get(void *ctx, struct shca_recv_wr *wr)
{
	wr->wr_id = 0;
	wr->num_sge = 1;
	wr->length = SHCA_MAX_MSG;
	return SHCA_RECV_OK;
}

static const struct shca_mem_ops ops = {
	.remote_check = remote_check,
	.remote_write = remote_write,
	.local_scatter = local_scatter,
	.local_store = local_store,
	.recv_get = recv_get,
};

/* -------------------------------------------------------------------------- */

static const u8 algorithms[] = {
	[NODE_WINDOW] = SHCA_CC_ALGO_WINDOW,
	[NODE_DELAY] = SHCA_CC_ALGO_DELAY,
	[NODE_DCQCN] = SHCA_CC_ALGO_DCQCN,
};

/* Parameters of all nodes: a run has one configuration. */
static struct shca_cc_params params;

static struct shca_cc_attr control_of(const struct node_config *config)
{
	struct shca_cc_attr attr = {
		.algorithm = algorithms[config->control.kind],
		.params = config->control.kind == NODE_OFF ? NULL : &params,
		.line = (u64)config->line_mbps * SHCA_CC_MBIT,
	};

	params = shca_cc_presets;
	if (config->control.kind == NODE_DCQCN) {
		params.rp_time_reset = config->control.time_reset_us;
		params.rp_ai_rate = config->control.ai_mbps;
		params.rp_hai_rate = config->control.hai_mbps;
	}
	return attr;
}

struct node *node_new(const struct node_config *config, uint32_t qpn,
		      uint32_t peer_qpn)
{
	const u32 peer = config->holds ? SHCA_PEER_OOO : 0;
	const struct shca_req_attr req_attr = {
		.mtu = config->mtu,
		.dqpn = peer_qpn,
		.pkey = 0xffff,
		.transport = SHCA_TRANSPORT_RC,
		.sqpn = qpn,
		.timeout_ns = config->timeout_ns,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = RD_RING,
		.peer = SHCA_PEER_FLUSHES_ACKS | peer,
		.ooo = config->holds,
		.ecn = true,
		.cc = control_of(config),
	};
	const struct shca_resp_attr resp_attr = {
		.mtu = config->mtu,
		.dqpn = peer_qpn,
		.pkey = 0xffff,
		.access = SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ,
		.transport = SHCA_TRANSPORT_RC,
		.peer = peer,
		.max_dest_rd_atomic = RD_RING,
		.cnp = config->control.kind != NODE_OFF,
		.cnp_interval_ns = shca_cc_presets.np_min_time_between_cnps * 1000ull,
	};
	u32 stride = shca_req_stride(1);
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->holds = config->holds;
	node->ring = calloc(config->depth, stride);
	if (!node->ring) {
		free(node);
		return NULL;
	}
	shca_req_init(&node->req, node->ring, config->depth, stride, &ops,
		      node);
	shca_resp_init(&node->resp, node->rd, RD_RING, &ops, node);
	shca_req_start(&node->req, &req_attr);
	shca_resp_start(&node->resp, &resp_attr);
	return node;
}

static void kept_drop(struct kept *kept)
{
	struct held *held = kept->first;

	kept->first = held->next;
	if (!kept->first)
		kept->last = NULL;
	free(held);
}

void node_free(struct node *node)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		while (node->kept[i].first)
			kept_drop(&node->kept[i]);
	free(node->ring);
	free(node);
}

static u8 opcode_of(enum node_op op)
{
	static const u8 opcodes[] = {
		[NODE_WRITE] = SHCA_WR_RDMA_WRITE,
		[NODE_READ] = SHCA_WR_RDMA_READ,
		[NODE_SEND] = SHCA_WR_SEND,
	};

	return opcodes[op];
}

bool node_post(struct node *node, enum node_op op, uint32_t len, uint64_t now)
{
	struct shca_send_wr *wr;

	if (node->status)
		return false;
	wr = shca_req_slot(&node->req);
	if (!wr)
		return false;
	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode_of(op);
	wr->flags = SHCA_SEND_SIGNALED;
	wr->length = len;
	wr->num_sge = 1;
	wr->sge[0].length = len;
	shca_req_post(&node->req);
	return true;
}

static void reap(struct node *node)
{
	struct shca_wc wc;

	while (shca_req_pop(&node->req, &wc)) {
		if (wc.status == SHCA_WC_SUCCESS)
			node->done++;
		else if (!node->status)
			node->status = wc.status;
	}
}

bool node_next(struct node *node, uint64_t now, struct node_packet *packet)
{
	struct shca_pkt pkt;

	static_assert(NODE_HDR_MAX >= SHCA_HDR_MAX, "headers fit");
	static_assert(NODE_EXHAUSTED == (int)SHCA_WC_RETRY_EXC_ERR, "one number");
	/* answers first, as kernel/queue has them */
	if (!shca_resp_next(&node->resp, now, &pkt) &&
	    !shca_req_next(&node->req, now, &pkt))
		return false;
	packet->hdr_len = shca_hdr_build(&pkt, packet->hdr);
	packet->body_len = pkt.paylen + pkt.pad + SHCA_ICRC_BYTES;
	return true;
}

uint32_t node_qpn(const uint8_t *hdr)
{
	return shca_bth_dqpn(hdr);
}

/* ---- packets out of order ------------------------------------------------- */

static void kept_add(struct node *node, struct kept *kept, const struct shca_pkt *pkt)
{
	struct held **at = &kept->first, *held;

	/* Most of them come in order among themselves. */
	if (kept->last && shca_psn_diff(pkt->psn, kept->last->pkt.psn) > 0)
		at = &kept->last->next;
	while (*at && shca_psn_diff((*at)->pkt.psn, pkt->psn) < 0)
		at = &(*at)->next;
	if (*at && (*at)->pkt.psn == pkt->psn)
		return;
	held = malloc(sizeof(*held));
	if (!held)
		return;
	held->pkt = *pkt;
	held->next = *at;
	*at = held;
	if (!held->next)
		kept->last = held;
	node->nr_held++;
}

static enum shca_verdict accept(struct node *node, const struct shca_pkt *pkt,
				bool is_response, uint64_t now)
{
	struct shca_resp_out out;

	return is_response ? shca_req_rx(&node->req, pkt, now) :
			     shca_resp_rx(&node->resp, pkt, now, &out);
}

/* As shca_side_queue_ooo() in kernel/path/side.h: @pkt was fed, and this became of it. */
static void feed_kept(struct node *node, const struct shca_pkt *pkt,
		      enum shca_verdict rx, bool is_response, uint64_t now)
{
	const u32 *expected = is_response ? &node->req.psn.una : &node->resp.epsn;
	bool is_ahead = rx == (is_response ? SHCA_RX_LOST_RESPONSE : SHCA_RX_OUT_OF_SEQ);
	struct kept *kept = &node->kept[is_response];
	bool asks = shca_resp_is_asked(&node->resp, pkt, rx, is_ahead, kept->first, false);
	u32 psn = pkt->psn;
	s32 ahead;

	if (is_ahead && (is_response ? shca_req_may_queue(&node->req, pkt) :
				       shca_resp_may_queue(&node->resp, pkt)))
		kept_add(node, kept, pkt);
	while (kept->first) {
		ahead = shca_psn_diff(kept->first->pkt.psn, *expected);
		if (ahead > 0)
			break;
		if (!ahead)
			accept(node, &kept->first->pkt, is_response, now);
		kept_drop(kept);
	}
	if (kept->first)
		psn = kept->first->pkt.psn;
	else if (!is_ahead)
		psn = *expected;
	if (is_response)
		shca_req_gap(&node->req, psn, pkt->psn, now);
	else
		shca_resp_gap(&node->resp, psn, pkt->psn, asks);
}

void node_rx(struct node *node, const uint8_t *hdr, uint32_t hdr_len,
	     uint32_t len, bool marked, uint64_t now)
{
	enum shca_verdict rx;
	struct shca_pkt pkt;
	bool is_response;

	memset(&pkt, 0, sizeof(pkt));
	pkt.path.ecn_ce = marked;
	if (shca_hdr_parse(&pkt, hdr, hdr_len, len) != SHCA_PARSE_OK) {
		fprintf(stderr, "a packet that the core has built does not parse\n");
		abort();
	}
	is_response = shca_opcode_info(pkt.opcode)->flags & SHCA_OPF_RESPONSE;
	rx = accept(node, &pkt, is_response, now);
	if (node->holds && rx != SHCA_RX_CNP)
		feed_kept(node, &pkt, rx, is_response, now);
	reap(node);
}

uint32_t node_done(struct node *node)
{
	uint32_t done = node->done;

	node->done = 0;
	return done;
}

int node_failed(const struct node *node)
{
	return node->status;
}

uint64_t node_placed(const struct node *node)
{
	return node->placed;
}

uint64_t node_deadline(const struct node *node)
{
	return shca_req_deadline(&node->req);
}

void node_timer(struct node *node, uint64_t now)
{
	shca_req_timer(&node->req, now);
	reap(node);
}

struct node_stats node_count(const struct node *node)
{
	return (struct node_stats){
		.tx_pkts = node->req.stats.tx_pkts + node->resp.stats.tx_pkts,
		.retransmits = node->req.stats.retransmits,
		.timeouts = node->req.stats.timeouts,
		.out_of_seq = node->resp.stats.rx[SHCA_RX_OUT_OF_SEQ],
		.cnps = node->req.stats.rx[SHCA_RX_CNP],
		.held = node->nr_held,
	};
}
