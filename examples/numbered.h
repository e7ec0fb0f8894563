/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbered messages between two RC queue pairs, for survive-qp-fatal.c and failover.c. Both
 * ends are in one process, which connects them without a server. It uses no library, for
 * these programs are there to be read.
 */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	16	/* requests at a time */
#define SIZE	1024

/* the objects of one end */
struct end {
	struct ibv_context *device;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_gid_entry gid;
	unsigned char buffer[DEPTH][SIZE];
};

/* Ends the program on an error. */
static void check(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_end(struct end *end, const char *name)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { DEPTH, DEPTH, 1, 1, 0 } };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_pd *pd;
	int i;

	for (i = 0; list && list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	errno = ENODEV;
	check(!list || !list[i] || !(end->device = ibv_open_device(list[i])), name);
	ibv_free_device_list(list);
	/* The first GID that is an IPv4 address (::ffff:a.b.c.d) */
	for (i = 0; end->gid.gid_type != IBV_GID_TYPE_ROCE_V2 ||
	     memcmp(end->gid.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12); i++)
		check(ibv_query_gid_ex(end->device, 1, i, &end->gid, 0), "no IPv4 address");
	check(!(pd = ibv_alloc_pd(end->device)), "ibv_alloc_pd");
	check(!(end->cq = ibv_create_cq(end->device, 2 * DEPTH, NULL, NULL, 0)), "ibv_create_cq");
	check(!(end->mr = ibv_reg_mr(pd, end->buffer, sizeof(end->buffer),
				     IBV_ACCESS_LOCAL_WRITE)), "ibv_reg_mr");
	init.send_cq = init.recv_cq = end->cq;
	check(!(end->qp = ibv_create_qp(pd, &init)), "ibv_create_qp");
}

/* RESET, whatever the state was, INIT, RTR, RTS. Return: 0 or an errno. */
static int connect_to(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = 1, .min_rnr_timer = 12, .sq_psn = 1, .timeout = 14, .retry_cnt = 3,
		.rnr_retry = 7, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = peer->gid.gid, .sgid_index = end->gid.gid_index, .hop_limit = 64 } },
	};
	static const int mask[] = {
		[IBV_QPS_RESET] = 0,
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	int i, err = 0;

	for (i = IBV_QPS_RESET; i <= IBV_QPS_RTS && !err; i++) {
		attr.qp_state = i;
		err = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | mask[i]);
	}
	return err;
}

static int post_receive(struct end *b, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)b->buffer[slot], SIZE, b->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(b->qp, &wr, &bad);
}

/* Message @nr: its number, and bytes that follow from it */
static int post_send(struct end *a, unsigned int nr)
{
	unsigned char *text = a->buffer[nr % DEPTH];
	struct ibv_sge sge = { (uintptr_t)text, SIZE, a->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = nr, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	memset(text, nr * 7 + 1, SIZE);
	memcpy(text, &nr, sizeof(nr));
	return ibv_post_send(a->qp, &wr, &bad);
}

/* Return: the number of a message with the right bytes, @expected or less. Others end it. */
static unsigned int message_number(const unsigned char *text, unsigned int expected)
{
	unsigned int nr, i;

	memcpy(&nr, text, sizeof(nr));
	for (i = sizeof(nr); i < SIZE && text[i] == (unsigned char)(nr * 7 + 1); i++)
		;
	if (i == SIZE && nr <= expected)
		return nr;
	fprintf(stderr, "message %u in place of %u, byte %u wrong\n", nr, expected, i);
	exit(1);
}

#endif
