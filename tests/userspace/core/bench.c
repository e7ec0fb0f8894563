// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the protocol core costs, without memory, checksums and networks: two
 * sides handed each other's packets, encoded and decoded, payload not copied.
 * Prints nanoseconds per packet and per message; build without sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../kernel/core/headers.h"
#include "../../../kernel/core/opcode.h"
#include "../../../kernel/core/rc.h"

#define ENTRIES		128

static struct shca_req req;
static struct shca_resp resp;
static struct shca_rd rds[16];
static u64 packets;

static enum shca_mem_status remote_check(void *ctx, u32 rkey, u64 va, u32 len,
					 u32 access)
{
	return SHCA_MEM_OK;
}

static enum shca_mem_status remote_write(void *ctx, u32 rkey, u64 va,
					 const struct shca_pkt *pkt)
{
	return SHCA_MEM_OK;
}

static enum shca_mem_status local_scatter(void *ctx, const struct shca_sge *sge,
					  u32 nr, u32 off,
					  const struct shca_pkt *pkt)
{
	return SHCA_MEM_OK;
}

static enum shca_recv_status recv_get(void *ctx, struct shca_recv_wr *wr)
{
	wr->num_sge = 1;
	wr->length = SHCA_MAX_MSG;
	return SHCA_RECV_OK;
}

static const struct shca_mem_ops ops = {
	.remote_check = remote_check,
	.remote_write = remote_write,
	.local_scatter = local_scatter,
	.recv_get = recv_get,
};

static void carry(struct shca_pkt *pkt)
{
	u32 paylen = pkt->paylen, len;
	u8 buf[SHCA_HDR_MAX];
	struct shca_pkt in;

	len = shca_hdr_build(pkt, buf);
	memset(&in.path, 0, sizeof(in.path));
	if (shca_hdr_parse(&in, buf, len,
			   len + paylen + pkt->pad + SHCA_ICRC_BYTES))
		abort();
	packets++;
	if (shca_opcode_info(in.opcode)->flags & SHCA_OPF_RESPONSE) {
		shca_req_rx(&req, &in, 1);
	} else {
		struct shca_resp_out out;

		shca_resp_rx(&resp, &in, 1, &out);
	}
}

static void post(u8 opcode, u32 len)
{
	struct shca_send_wr *wr = shca_req_slot(&req);

	if (!wr)
		abort();
	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode;
	wr->flags = SHCA_SEND_SIGNALED;
	wr->length = len;
	wr->num_sge = 1;
	wr->sge[0].length = len;
	shca_req_post(&req);
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* @batch messages are in flight at a time. */
static void run(const char *name, u8 opcode, u32 len, u32 batch, u32 rounds)
{
	struct shca_pkt pkt;
	struct shca_wc wc;
	u32 i, r, done = 0;
	u64 t, spent;

	packets = 0;
	t = now_ns();
	for (r = 0; r < rounds; r++) {
		for (i = 0; i < batch; i++)
			post(opcode, len);
		for (i = 0; i < batch;) {
			while (shca_req_next(&req, 1, &pkt))
				carry(&pkt);
			while (shca_resp_next(&resp, 1, &pkt))
				carry(&pkt);
			while (shca_req_pop(&req, &wc)) {
				if (wc.status != SHCA_WC_SUCCESS)
					abort();
				i++;
				done++;
			}
		}
	}
	spent = now_ns() - t;
	printf("%-28s %8.1f ns/packet %10.1f ns/message\n", name,
	       (double)spent / packets, (double)spent / done);
}

int main(void)
{
	const struct shca_req_attr req_attr = {
		.mtu = 4096, .timeout_ns = 1ull << 40, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 16,
	};
	const struct shca_resp_attr resp_attr = {
		.mtu = 4096, .access = 0xf, .max_dest_rd_atomic = 16,
	};
	u32 stride = shca_req_stride(4);

	shca_req_init(&req, malloc(ENTRIES * stride), ENTRIES, stride, &ops,
		      NULL);
	shca_resp_init(&resp, rds, 16, &ops, NULL);
	shca_req_start(&req, &req_attr);
	shca_resp_start(&resp, &resp_attr);
	run("SEND 8 B, one at a time", SHCA_WR_SEND, 8, 1, 1000000);
	run("SEND 8 B, 64 at a time", SHCA_WR_SEND, 8, 64, 20000);
	run("WRITE 1 MiB", SHCA_WR_RDMA_WRITE, 1 << 20, 1, 4000);
	run("READ 1 MiB", SHCA_WR_RDMA_READ, 1 << 20, 1, 4000);
	return 0;
}
