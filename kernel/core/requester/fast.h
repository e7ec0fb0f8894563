/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fast path: a message of one packet between a requester and a responder, both locked and
 * idle. It applies the changes of the request packet and the answer at once, without either.
 *
 * Caller, both sides' locks held:
 *	if (!shca_fast_ready(req, resp)) use packets
 *	while ((wr = shca_fast_next(req, resp)))
 *		check keys, and if shca_fast_takes_recv(wr) call
 *			shca_fast_recv(); on any error use packets, which find the error
 *			again and handle it
 *		move the payload
 *		shca_fast_resp_done(), write its completion
 *		shca_fast_req_done()
 */
#ifndef SHCA_CORE_FAST_H
#define SHCA_CORE_FAST_H

#include "../responder/responder.h"
#include "../wr_op.h"
#include "requester.h"

/* Are both sides idle? They remain so after each message of the fast path. */
bool shca_fast_ready(const struct shca_req *req, const struct shca_resp *resp);

/*
 * The next request, if it may take the fast path: a SEND, WRITE (with or without immediate data) or
 * READ of one PSN that the responder permits.
 */
const struct shca_send_wr *shca_fast_next(const struct shca_req *req,
					   const struct shca_resp *resp);

/* Does @wr complete a receive request? */
static inline bool shca_fast_takes_recv(const struct shca_send_wr *wr)
{
	return shca_wr_op(wr->opcode)->flags & SHCA_OPS_RECV;
}

/*
 * Take a receive request into @resp->wr. If it is not used, the next message uses it, on any path.
 *
 * Return: false if there is none, or it is malformed.
 */
bool shca_fast_recv(struct shca_resp *resp);

/*
 * @wr was executed and answered.
 * @wc:		the receive completion, if shca_fast_takes_recv()
 */
void shca_fast_resp_done(struct shca_resp *resp, const struct shca_send_wr *wr,
			  struct shca_wc *wc);

/* @wr, from shca_fast_next(), was answered. */
void shca_fast_req_done(struct shca_req *req, const struct shca_send_wr *wr);

/*
 * Datagrams (UD), likewise. They have no answer, and each names its peer:
 *	while ((wr = shca_fast_datagram(req)))
 *		if (!shca_fast_takes_datagram(req, resp, wr) ||
 *		    !shca_fast_recv(resp)) use packets
 *		check keys and lengths, move GRH and payload
 *		shca_fast_datagram_done(), write its completion
 */

/* The next request, if it is a datagram and may leave now. */
const struct shca_send_wr *shca_fast_datagram(const struct shca_req *req);

/* Does @resp take datagrams, and this one by its Q_Key? */
bool shca_fast_takes_datagram(const struct shca_req *req, const struct shca_resp *resp,
			      const struct shca_send_wr *wr);

/*
 * @wr has been sent, and its payload has been placed.
 * @path:	as of a packet that has come the same way
 * @wc:		the receive completion
 */
void shca_fast_datagram_done(struct shca_req *req, struct shca_resp *resp,
			     const struct shca_send_wr *wr,
			     const struct shca_path_info *path, struct shca_wc *wc);

#endif
