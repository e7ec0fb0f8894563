// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the protocol core costs, without memory, checksums and networks: two
 * sides handed each other's packets, encoded and decoded, payload not copied.
 * From the post to the completion; built without sanitizers.
 *
 *   bench                 a table: nanoseconds
 *   bench --json          the same, one JSON object a line
 *   bench --list          names of the cases
 *   bench --count NAME    runs one case COUNT_ROUNDS times in counted(), and
 *                         prints by what to divide; for ./instructions
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../kernel/core/headers.h"
#include "../../../kernel/core/opcode.h"
#include "../../../kernel/core/requester/requester.h"
#include "../../../kernel/core/responder/responder.h"

#define ENTRIES		128
#define COUNT_ROUNDS	100
/*
 * CPU time is taken of runs of this length, and the shortest run counts. Short runs are
 * seldom interrupted on a busy machine, and CPU time leaves out what others take.
 */
#define RUN_NS		1000000ull
#define RUN_ROUNDS	512
#define RUNS		61

/**
 * struct bench - one case
 * @batch:	messages in flight at a time
 * @per_packet:	figures are per packet, responses included; else per message
 * @silent:	none is signalled
 * @peer:	what is known of the peer
 */
struct bench {
	const char *name;
	const char *title;
	u8 transport;
	u8 opcode;
	u32 mtu;
	u32 len;
	u32 batch;
	bool per_packet;
	bool silent;
	u32 peer;
};

static const struct bench benches[] = {
	{ "send-8", "SEND 8 B, one at a time", SHCA_TRANSPORT_RC,
	  SHCA_WR_SEND, 4096, 8, 1, false, false, 0 },
	{ "send-8-x64", "SEND 8 B, 64 at a time", SHCA_TRANSPORT_RC,
	  SHCA_WR_SEND, 4096, 8, 64, false, false, 0 },
	{ "write-64k-4096", "WRITE 64 KiB, MTU 4096", SHCA_TRANSPORT_RC,
	  SHCA_WR_RDMA_WRITE, 4096, 65536, 1, true, false, 0 },
	{ "write-64k-1024", "WRITE 64 KiB, MTU 1024", SHCA_TRANSPORT_RC,
	  SHCA_WR_RDMA_WRITE, 1024, 65536, 1, true, false, 0 },
	{ "read-64k-4096", "READ 64 KiB, MTU 4096", SHCA_TRANSPORT_RC,
	  SHCA_WR_RDMA_READ, 4096, 65536, 1, true, false, 0 },
	{ "read-64k-1024", "READ 64 KiB, MTU 1024", SHCA_TRANSPORT_RC,
	  SHCA_WR_RDMA_READ, 1024, 65536, 1, true, false, 0 },
	{ "fetch-add", "FETCH_ADD, one at a time", SHCA_TRANSPORT_RC,
	  SHCA_WR_ATOMIC_FETCH_AND_ADD, 4096, 8, 1, false, false, 0 },
	{ "uc-write-64k-4096", "UC WRITE 64 KiB, MTU 4096", SHCA_TRANSPORT_UC,
	  SHCA_WR_RDMA_WRITE, 4096, 65536, 1, true, false, 0 },
	{ "silent-8", "WRITE 8 B, unsignalled, posted one at a time, softhca's peer",
	  SHCA_TRANSPORT_RC, SHCA_WR_RDMA_WRITE, 4096, 8, 1, false, true,
	  SHCA_PEER_FLUSHES_ACKS },
	{ "silent-8-unknown", "the same, another's peer",
	  SHCA_TRANSPORT_RC, SHCA_WR_RDMA_WRITE, 4096, 8, 1, false, true, 0 },
	{ "silent-8-x32", "WRITE 8 B, unsignalled, posted 32 at a time, softhca's peer",
	  SHCA_TRANSPORT_RC, SHCA_WR_RDMA_WRITE, 4096, 8, 32, false, true,
	  SHCA_PEER_FLUSHES_ACKS },
	{ "silent-8-x32-unknown", "the same, another's peer",
	  SHCA_TRANSPORT_RC, SHCA_WR_RDMA_WRITE, 4096, 8, 32, false, true, 0 },
	{ "ud-send-8-x64", "UD SEND 8 B, 64 at a time", SHCA_TRANSPORT_UD,
	  SHCA_WR_SEND, 4096, 8, 64, false, false, 0 },
};

static struct shca_req req;
static struct shca_resp resp;
static struct shca_rd rds[16];
static u64 packets;
static u64 messages;

/* ---- memory that is always there ------------------------------------------ */

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

static enum shca_mem_status remote_atomic(void *ctx, const struct shca_pkt *pkt,
					  u64 *orig)
{
	*orig = 0;
	return SHCA_MEM_OK;
}

static enum shca_mem_status local_scatter(void *ctx, const struct shca_sge *sge,
					  u32 nr, u32 off,
					  const struct shca_pkt *pkt)
{
	return SHCA_MEM_OK;
}

static enum shca_mem_status local_store(void *ctx, const struct shca_sge *sge,
					u32 nr, const void *buf, u32 len)
{
	return SHCA_MEM_OK;
}

static enum shca_mem_status grh_store(void *ctx, const struct shca_sge *sge,
				      u32 nr, const struct shca_pkt *pkt)
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

static u32 recv_count(void *ctx)
{
	return 512;
}

static const struct shca_mem_ops ops = {
	.remote_check = remote_check,
	.remote_write = remote_write,
	.remote_atomic = remote_atomic,
	.local_scatter = local_scatter,
	.local_store = local_store,
	.grh_store = grh_store,
	.recv_get = recv_get,
	.recv_count = recv_count,
};

/* ---- one round ------------------------------------------------------------- */

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

static void post(u8 opcode, u32 len, bool silent)
{
	struct shca_send_wr *wr = shca_req_slot(&req);

	if (!wr)
		abort();
	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode;
	wr->flags = silent ? 0 : SHCA_SEND_SIGNALED;
	wr->length = len;
	wr->num_sge = 1;
	wr->sge[0].length = len;
	shca_req_post(&req);
}

static void one_round(const struct bench *b)
{
	struct shca_pkt pkt;
	struct shca_wc wc;
	u32 i;

	for (i = 0; i < b->batch; i++)
		post(b->opcode, b->len, b->silent);
	for (i = 0; i < b->batch;) {
		/* Nobody waits: it is done when it has left, but for the ring. */
		if (b->silent && !shca_req_may_send(&req))
			break;
		while (shca_req_next(&req, 1, &pkt))
			carry(&pkt);
		while (shca_resp_next(&resp, 1, &pkt))
			carry(&pkt);
		while (shca_req_pop(&req, &wc)) {
			if (wc.status != SHCA_WC_SUCCESS)
				abort();
			i++;
		}
	}
	messages += b->batch;
}

static void start(const struct bench *b)
{
	const struct shca_req_attr req_attr = {
		.mtu = b->mtu, .transport = b->transport,
		.timeout_ns = 1ull << 40, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 16, .peer = b->peer,
	};
	const struct shca_resp_attr resp_attr = {
		.mtu = b->mtu, .transport = b->transport, .access = 0xf,
		.max_dest_rd_atomic = 16,
		.credits = b->transport == SHCA_TRANSPORT_RC,
	};

	shca_req_reset(&req);
	shca_resp_reset(&resp);
	shca_req_start(&req, &req_attr);
	shca_resp_start(&resp, &resp_attr);
}

static u64 units(const struct bench *b)
{
	return b->per_packet ? packets : messages;
}

/* ---- nanoseconds ------------------------------------------------------------ */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static double run_ns(const struct bench *b)
{
	u64 t = now_ns(), spent;
	u32 i;

	packets = 0;
	messages = 0;
	do {
		for (i = 0; i < RUN_ROUNDS; i++)
			one_round(b);
		spent = now_ns() - t;
	} while (spent < RUN_NS);
	return (double)spent / units(b);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(const struct bench *b, bool json)
{
	const char *unit = b->per_packet ? "packet" : "message";
	double ns[RUNS];
	char figures[128];
	u32 i;

	start(b);
	for (i = 0; i < RUNS; i++)
		ns[i] = run_ns(b);
	qsort(ns, RUNS, sizeof(*ns), compare);
	snprintf(figures, sizeof(figures),
		 "\"unit\":\"%s\",\"ns\":%.1f,\"median\":%.1f,\"max\":%.1f", unit,
		 ns[0], ns[RUNS / 2], ns[RUNS - 1]);
	if (json)
		printf("{\"bench\":\"core\",\"case\":\"%s\",\"title\":\"%s\",%s}\n",
		       b->name, b->title, figures);
	else
		printf("%-28s %8.1f ns/%s\n", b->title, ns[0], unit);
}

/* ---- instructions ------------------------------------------------------------ */

/* The tool that counts is told to count in here. */
static __attribute__((__noinline__)) void counted(const struct bench *b)
{
	u32 i;

	for (i = 0; i < COUNT_ROUNDS; i++)
		one_round(b);
}

static int count(const char *name)
{
	const struct bench *b;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(benches); i++) {
		b = &benches[i];
		if (strcmp(b->name, name))
			continue;
		start(b);
		one_round(b);	/* the first one resolves symbols */
		packets = 0;
		messages = 0;
		counted(b);
		printf("%llu %s\n", (unsigned long long)units(b),
		       b->per_packet ? "packet" : "message");
		return 0;
	}
	fprintf(stderr, "bench: no case %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	bool json = argc == 2 && !strcmp(argv[1], "--json");
	bool list = argc == 2 && !strcmp(argv[1], "--list");
	u32 stride = shca_req_stride(4), i;

	shca_req_init(&req, malloc(ENTRIES * stride), ENTRIES, stride, &ops,
		      NULL);
	shca_resp_init(&resp, rds, ARRAY_SIZE(rds), &ops, NULL);
	if (argc == 3 && !strcmp(argv[1], "--count"))
		return count(argv[2]);
	if (argc > 1 && !json && !list) {
		fprintf(stderr, "bench [--json | --list | --count NAME]\n");
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(benches); i++) {
		if (list)
			puts(benches[i].name);
		else
			measure(&benches[i], json);
	}
	return 0;
}
