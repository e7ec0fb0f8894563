// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 4: WRITE and READ move data without the peer's program. */
#include "learn.h"

static struct end a, b;

static void show(const char *what)
{
	struct ibv_wc wc = completion(&a);

	printf("%-24s %s\n", what, ibv_wc_status_str(wc.status));
	if (wc.status != IBV_WC_SUCCESS)
		exit(1);
}

/* The program of b is told nothing. */
static void show_peer(void)
{
	struct ibv_wc wc;

	printf("  b: %d completions, memory \"%s\"\n", ibv_poll_cq(b.cq, 1, &wc), b.buffer);
}

int main(int argc, char **argv)
{
	struct ibv_send_wr wr = { .num_sge = 1, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_sge local;
	struct ibv_wc wc;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	connect_both(&a, &b);
	local = (struct ibv_sge) { (uintptr_t)a.buffer, 32, a.mr->lkey };
	wr.sg_list = &local;
	/* b has told a these two. Here both are in one process. */
	wr.wr.rdma.remote_addr = (uintptr_t)b.buffer;
	wr.wr.rdma.rkey = b.mr->rkey;

	strcpy(a.buffer, "from a");
	wr.opcode = IBV_WR_RDMA_WRITE;
	check(errno = ibv_post_send(a.qp, &wr, &bad), "WRITE");
	show("WRITE:");
	show_peer();

	strcpy(b.buffer, "b has changed this");
	wr.opcode = IBV_WR_RDMA_READ;
	check(errno = ibv_post_send(a.qp, &wr, &bad), "READ");
	show("READ:");
	printf("  a: memory \"%s\"\n", a.buffer);
	show_peer();

	/* This one tells the peer, and takes a receive request for it. */
	post_receive(&b, 0, 0, 5);
	strcpy(a.buffer, "from a, and b is told");
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htobe32(42);
	check(errno = ibv_post_send(a.qp, &wr, &bad), "WRITE with immediate");
	show("WRITE with immediate:");
	wc = completion(&b);
	printf("  b: request %d, immediate data %u, memory \"%s\"\n", (int)wc.wr_id,
	       be32toh(wc.imm_data), b.buffer);
	return strcmp(b.buffer, "from a, and b is told") != 0;
}
