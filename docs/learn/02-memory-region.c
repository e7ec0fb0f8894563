// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 2: what a memory region, its keys and its rights allow. */
#include "learn.h"

/* A WRITE of 8 bytes into the peer's memory: how does it end? */
static void try_write(struct end *a, struct end *b, const char *what, char *address, uint32_t rkey)
{
	struct ibv_sge from = { (uintptr_t)a->buffer, 8, a->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { (uintptr_t)address, rkey },
	}, *bad;

	/* After an error both queue pairs have to begin again. */
	connect_both(a, b);
	check(errno = ibv_post_send(a->qp, &wr, &bad), "ibv_post_send");
	printf("%-28s %s\n", what, ibv_wc_status_str(completion(a).status));
}

int main(int argc, char **argv)
{
	struct ibv_mr *open, *closed;
	struct end a, b;
	uint32_t rkey;
	char *memory;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	memory = aligned_alloc(4096, 8192);
	check(!memory, "aligned_alloc");

	/* The first page may be written by the peer, the second may not. */
	open = ibv_reg_mr(b.pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	closed = ibv_reg_mr(b.pd, memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	check(!open || !closed, "ibv_reg_mr");
	printf("open:   4096 bytes, lkey 0x%x, rkey 0x%x\n", open->lkey, open->rkey);
	printf("closed: 4096 bytes, lkey 0x%x, rkey 0x%x\n", closed->lkey, closed->rkey);
	if (!ibv_reg_mr(b.pd, memory, 4096, IBV_ACCESS_REMOTE_WRITE))
		printf("the peer may write, its owner may not: %s\n", strerror(errno));

	strcpy(a.buffer, "written");
	try_write(&a, &b, "first bytes:", memory, open->rkey);
	printf("memory: %s\n", memory);
	try_write(&a, &b, "last bytes:", memory + 4096 - 8, open->rkey);
	try_write(&a, &b, "one byte beyond the end:", memory + 4096 - 7, open->rkey);
	try_write(&a, &b, "another region's key:", memory, closed->rkey);
	try_write(&a, &b, "region without the right:", memory + 4096, closed->rkey);
	rkey = open->rkey;
	check(errno = ibv_dereg_mr(open), "ibv_dereg_mr");
	try_write(&a, &b, "region that is gone:", memory, rkey);
	return 0;
}
