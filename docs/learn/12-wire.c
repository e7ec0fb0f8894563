// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 12: one request of each kind. A capture shows the packets of each. */
#include "learn.h"

static struct end a, b;

/* How many packets the device has sent: the standard counter of any adapter's port */
static long sent(struct end *e)
{
	char path[512];
	long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/ports/1/counters/port_xmit_packets",
		 e->device->device->ibdev_path);
	file = fopen(path, "r");
	check(!file, path);
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* One request on an otherwise quiet wire */
static void show(const char *what, enum ibv_wr_opcode opcode, int length)
{
	long from_a = sent(&a), from_b = sent(&b);
	enum ibv_wc_status status;

	post(&a, &b, opcode, 0, length, 0, IBV_SEND_SIGNALED);
	status = completion(&a).status;
	if (opcode == IBV_WR_SEND)
		completion(&b);
	printf("%-13s %4d bytes  %s, a sends %ld, b sends %ld\n", what, length,
	       ibv_wc_status_str(status), sent(&a) - from_a, sent(&b) - from_b);
}

static void show_atomic(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { (uintptr_t)b.buffer, 1, 0, b.mr->rkey },
	}, *bad;
	long from_a = sent(&a), from_b = sent(&b);

	check(errno = ibv_post_send(a.qp, &wr, &bad), "ibv_post_send");
	printf("%-13s %4d bytes  %s, a sends %ld, b sends %ld\n", "FETCH AND ADD", 8,
	       ibv_wc_status_str(completion(&a).status), sent(&a) - from_a, sent(&b) - from_b);
}

int main(int argc, char **argv)
{
	int i;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	connect_both(&a, &b);
	for (i = 0; i < 4; i++)	/* one more than are sent: the last question is why */
		post_receive(&b, 0, SIZE, 0);
	show("SEND", IBV_WR_SEND, 100);
	show("SEND", IBV_WR_SEND, 1024);
	show("SEND", IBV_WR_SEND, 2049);
	show("WRITE", IBV_WR_RDMA_WRITE, 3072);
	show("READ", IBV_WR_RDMA_READ, 2500);
	show_atomic();
	printf("a is queue pair 0x%x, b is 0x%x; the first PSN is 100\n", a.qp->qp_num, b.qp->qp_num);
	return 0;
}
