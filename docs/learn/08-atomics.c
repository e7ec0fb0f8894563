// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 8: the peer's device changes eight bytes in one step, and returns the old value. */
#include "learn.h"

static struct end a1, a2, b;

/* Posts one atomic operation on the first eight bytes of b's memory. */
static void post_atomic(struct end *a, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge old = { (uintptr_t)a->buffer, 8, a->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &old, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { (uintptr_t)b.buffer, compare_add, swap, b.mr->rkey },
	}, *bad;

	check(errno = ibv_post_send(a->qp, &wr, &bad), "ibv_post_send");
}

static uint64_t value_of(const char *memory)
{
	uint64_t value;

	memcpy(&value, memory, sizeof(value));
	return value;
}

static void atomic(const char *what, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_wc wc;

	post_atomic(&a1, opcode, compare_add, swap);
	wc = completion(&a1);
	printf("%s: %s, it was %lu, it is %lu\n", what, ibv_wc_status_str(wc.status),
	       value_of(a1.buffer), value_of(b.buffer));
}

int main(int argc, char **argv)
{
	struct end b2;

	open_both(argc, argv, &a1, &b);
	/* A second pair, whose atomics return to memory of its own */
	a2 = open_end(argv[1]);
	b2 = b;
	make_qp(&a1, NULL);
	make_qp(&a2, NULL);
	make_qp(&b, NULL);
	make_qp(&b2, NULL);
	connect_both(&a1, &b);
	connect_both(&a2, &b2);

	atomic("add 5", IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0);
	atomic("add 5", IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0);
	atomic("if 10 then 77", IBV_WR_ATOMIC_CMP_AND_SWP, 10, 77);
	atomic("if 10 then 88", IBV_WR_ATOMIC_CMP_AND_SWP, 10, 88);
	atomic("add -77", IBV_WR_ATOMIC_FETCH_AND_ADD, -77, 0);

	/* Two requesters add at the same time. None of their steps is lost. */
	for (int i = 0; i < 500; i++) {
		post_atomic(&a1, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
		post_atomic(&a2, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
		if (completion(&a1).status || completion(&a2).status)
			return 1;
	}
	printf("two queue pairs, 500 times 1 each: it is %lu\n", value_of(b.buffer));
	return value_of(b.buffer) != 1000;
}
