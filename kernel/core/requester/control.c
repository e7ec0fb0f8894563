// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Control of a running requester or responder: attribute changes, limits of what is handed out at
 * once, and stalls. No file outside of the core writes their members (own.h).
 */
#include "../responder/responder.h"
#include "req_internal.h"

/* ---- attributes --------------------------------------------------------- */

void shca_req_modify(struct shca_req *req, const struct shca_req_attr *attr,
		     u32 mask)
{
	if (mask & SHCA_REQ_QKEY)
		req->attr.qkey = attr->qkey;
	if (mask & SHCA_REQ_TIMEOUT)
		req->attr.timeout_ns = attr->timeout_ns;
	shca_req_set_timeout(req);
	if (mask & SHCA_REQ_RETRY_CNT)
		req->attr.retry_cnt = attr->retry_cnt;
	if (mask & SHCA_REQ_RNR_RETRY)
		req->attr.rnr_retry = attr->rnr_retry;
	if (mask & SHCA_REQ_MAX_RD_ATOMIC)
		req->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & SHCA_REQ_PEER)
		req->attr.peer |= attr->peer;
	if (mask & SHCA_REQ_ECN)
		req->attr.ecn = attr->ecn;
	if (mask & SHCA_REQ_RATE) {
		req->attr.rate_kbps = attr->rate_kbps;
		shca_req_set_rate(req);
	}
	if (mask & SHCA_REQ_APM) {
		req->attr.apm = attr->apm;
		req->migrates = false;
		req->recovery.retry_left = req->attr.retry_cnt;
	}
}

void shca_resp_modify(struct shca_resp *resp,
		      const struct shca_resp_attr *attr, u32 mask)
{
	if (mask & SHCA_RESP_ACCESS)
		resp->attr.access = attr->access;
	if (mask & SHCA_RESP_QKEY)
		resp->attr.qkey = attr->qkey;
	if (mask & SHCA_RESP_MIN_RNR_TIMER)
		resp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & SHCA_RESP_MAX_DEST_RD_ATOMIC)
		resp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & SHCA_RESP_TRANSPORT)
		resp->attr.transport = attr->transport;
	if (mask & SHCA_RESP_PEER)
		resp->attr.peer |= attr->peer;
	if (mask & SHCA_RESP_APM)
		resp->attr.apm = attr->apm;
	if (mask & SHCA_RESP_RATE) {
		resp->attr.rate_kbps = attr->rate_kbps;
		shca_rate_set(&resp->rate, attr->rate_kbps, resp->attr.mtu);
	}
}

void shca_req_drain(struct shca_req *req, bool draining)
{
	req->draining = draining;
}

/* ---- how much at once --------------------------------------------------- */

void shca_req_set_max_run(struct shca_req *req, u32 max_run)
{
	req->psn.max_run = max_run;
}

void shca_resp_set_max_run(struct shca_resp *resp, u32 max_run)
{
	resp->max_run = max_run;
}

void shca_set_reach(struct shca_req *req, struct shca_resp *resp, u32 reach)
{
	req->psn.reach = reach;
	resp->reach = reach;
}

/* ---- when --------------------------------------------------------------- */

static void req_gate(struct shca_req *req)
{
	req->gate.until = max_t(u64, req->gate.stall_ns, req->gate.rate_ns);
	req->gate.until = max_t(u64, req->gate.until, req->gate.pace_ns);
	if (req->gate.paces || req->gate.rates)
		req->gate.until = max_t(u64, req->gate.until, SHCA_GATE_OPEN);
}

void shca_req_stall(struct shca_req *req, u64 until)
{
	req->gate.stall_ns = until;
	req_gate(req);
}

void shca_req_rate(struct shca_req *req, u64 until)
{
	req->gate.rate_ns = until;
	req_gate(req);
}

void shca_req_set_rate(struct shca_req *req)
{
	shca_rate_set(&req->rate, req->attr.rate_kbps, 1u << req->psn.mtu_shift);
	req->gate.rates = req->rate.on;
	shca_req_rate(req, 0);
}

void shca_req_pace(struct shca_req *req, u64 until)
{
	req->gate.pace_ns = until;
	req_gate(req);
}

void shca_req_pause(struct shca_req *req)
{
	req->psn.paused = req->psn.next;
}

void shca_req_release(struct shca_req *req)
{
	req->psn.paused = SHCA_PSN_NONE;
	shca_req_stall(req, 0);
}

void shca_req_answer_waits(struct shca_req *req, u64 until)
{
	if (!req->recovery.deadline || shca_req_rnr_waits(req))
		return;
	req->recovery.deadline = until;
	/* No tail loss probe either, because the answer is here. */
	req->recovery.early_row = SHCA_REQ_EARLY_NEVER;
}
