/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What all suites share: KUnit or its stand-in, and one requester and one
 * responder over a memory that does as it is told and counts its calls.
 */
#ifndef SHCA_KUNIT_FIXTURE_H
#define SHCA_KUNIT_FIXTURE_H

#ifdef __KERNEL__
#include <kunit/test.h>
#else
#include "kunit_shim.h"
#endif

#include "../../kernel/core/headers.h"
#include "../../kernel/core/opcode.h"
#include "../../kernel/core/psn.h"
#include "../../kernel/core/requester/requester.h"
#include "../../kernel/core/responder/responder.h"
#include "../../kernel/core/tag_list.h"

#define FX_MTU		256
#define FX_ENTRIES	16
#define FX_RDS		8
#define FX_STRIDE	256
#define FX_MS		1000000ull
#define FX_TIMEOUT	(100 * FX_MS)
/* first PSN of either direction */
#define FX_SQ_PSN	0x000100u
#define FX_RQ_PSN	0x000200u
/* XRC: SRQs that exist, this and the next */
#define FX_SRQN		0x000300u
/* tags that a list has */
#define FX_TAGS		7

/* syndromes of an AETH */
#define ACK		(SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE)
#define NAK(code)	(SHCA_AETH_NAK | (code))
#define RNR(code)	(SHCA_AETH_RNR | (code))

/**
 * struct fx - the fixture
 * @check: ... @local: what memory answers to each kind of call
 * @recvs:	receive requests that are posted
 * @payload:	of whatever packet
 */
struct fx {
	struct shca_req req;
	struct shca_resp resp;
	struct shca_rd rd[FX_RDS];
	u64 ring[FX_ENTRIES * FX_STRIDE / 8];
	struct shca_tm tm;
	struct shca_tm_entry tags[FX_TAGS];
	u8 payload[SHCA_TMH_BYTES + SHCA_RVH_BYTES];

	enum shca_mem_status check;
	enum shca_mem_status write;
	enum shca_mem_status atomic;
	enum shca_mem_status scatter;
	enum shca_mem_status bare;	/* FLUSH, ATOMIC WRITE */
	enum shca_mem_status store;
	enum shca_recv_status recv;
	u32 recvs;
	u32 recv_len;
	u64 atomic_value;
	bool inv_ok;
	bool srq_gone;			/* XRC: there is no SRQ */
	enum shca_wc_status local;

	u32 nr_check;
	u32 nr_write;
	u32 nr_atomic;
	u32 nr_scatter;
	u32 nr_flush;
	u32 nr_atomic_write;
	u32 nr_store;
	u32 nr_recv;
	u32 nr_inv;
	u32 nr_local;
	u32 nr_grh;
	u32 nr_select;
	u32 last_srqn;
	u64 last_va;
	u32 last_len;
	u32 last_off;
	u32 last_data_off;
	u32 last_rkey;
	u32 last_access;
	u64 last_stored;

	u64 now;
	struct shca_pkt pkt;		/* last one sent */
	struct shca_wc wc;		/* last one popped */
	struct shca_resp_out out;	/* last one of the responder */
};

int fx_init(struct kunit *test);

/* ---- requester ------------------------------------------------------------ */

void fx_req_attr(struct shca_req_attr *attr);
void fx_req_start(struct fx *fx, const struct shca_req_attr *attr);

/* Post one request, signalled; wr_id counts from 0. */
struct shca_send_wr *fx_post(struct fx *fx, u8 opcode, u32 len);
struct shca_send_wr *fx_post_flags(struct fx *fx, u8 opcode, u32 len,
				   u16 flags);

/* The next request packet into fx->pkt; false: none. */
bool fx_next(struct fx *fx);
/* Send all that may be sent; how many. */
u32 fx_drain(struct fx *fx);
/* The next completion into fx->wc. */
bool fx_pop(struct fx *fx);

enum shca_verdict fx_ack(struct fx *fx, u32 psn, u8 syndrome);
enum shca_verdict fx_read_resp(struct fx *fx, u8 opcode, u32 psn, u32 len);
enum shca_verdict fx_atomic_ack(struct fx *fx, u32 psn, u64 value);
/* Let time pass up to the deadline, and fire. */
void fx_timeout(struct fx *fx);

/* ---- responder ------------------------------------------------------------ */

void fx_resp_attr(struct shca_resp_attr *attr);
void fx_resp_start(struct fx *fx, const struct shca_resp_attr *attr);

/* A request packet with sound fields; @len bytes of payload, or of the READ. */
void fx_request(struct shca_pkt *pkt, u8 opcode, u32 psn, u32 len);
enum shca_verdict fx_rx(struct fx *fx, const struct shca_pkt *pkt);
enum shca_verdict fx_rx_op(struct fx *fx, u8 opcode, u32 psn, u32 len);
/* The same, and it asks for an acknowledgement. */
enum shca_verdict fx_rx_asking(struct fx *fx, u8 opcode, u32 psn, u32 len);
/* The next answer into fx->pkt; false: none. */
bool fx_answer(struct fx *fx);
/* All that is answered is one acknowledge packet, or nothing. */
void fx_expect_ack(struct kunit *test, u32 psn, u8 syndrome);
void fx_expect_silence(struct kunit *test);

#endif
