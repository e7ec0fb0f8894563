// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 3: SEND takes the receive requests of the peer, one after the other. */
#include "learn.h"

static void send_text(struct end *a, const char *text, uint32_t *immediate)
{
	struct ibv_sge from = { (uintptr_t)a->buffer, strlen(text) + 1, a->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &from, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
	}, *bad;

	/* Four bytes of the program's own travel in the header. */
	if (immediate)
		wr.imm_data = *immediate;
	strcpy(a->buffer, text);
	check(errno = ibv_post_send(a->qp, &wr, &bad), "ibv_post_send");
	printf("send:    %s\n", ibv_wc_status_str(completion(a).status));
}

static void show_receive(struct end *b)
{
	struct ibv_wc wc = completion(b);

	printf("receive: %s, request %d", ibv_wc_status_str(wc.status), (int)wc.wr_id);
	if (wc.status == IBV_WC_SUCCESS)
		printf(", %u bytes \"%s\"", wc.byte_len, b->buffer + 64 * wc.wr_id);
	if (wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_IMM)
		printf(", immediate data 0x%x", be32toh(wc.imm_data));
	printf("\n");
}

int main(int argc, char **argv)
{
	uint32_t seven = htobe32(7);
	struct end a, b;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	connect_both(&a, &b);

	/* Receive requests come first: 1, 2, 3, with 64 bytes each */
	for (int i = 1; i <= 3; i++)
		post_receive(&b, 64 * i, 64, i);
	send_text(&a, "one", NULL);
	send_text(&a, "two", &seven);
	show_receive(&b);
	show_receive(&b);

	/* The third message is longer than the third receive request. */
	send_text(&a, "a message of more than sixty-four bytes, which no receive request has room for", NULL);
	show_receive(&b);
	return 0;
}
