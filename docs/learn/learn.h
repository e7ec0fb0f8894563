/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the lessons share: the objects of one end of a connection. Lesson 1 explains
 * the queue pair, lesson 2 the memory region, lesson 5 the completion queue. It uses no
 * library, for a reader wants to see each call.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE	8192
#define RIGHTS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct ibv_context *device;
	struct ibv_gid_entry gid;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char *buffer;	/* SIZE bytes, which mr covers */
	int timeout, retry_cnt, rnr_retry;
};

static inline void check(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Opens the device and makes everything of one end, but the queue pair. */
static inline struct end open_end(const char *name)
{
	struct end e = { .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	alarm(120);	/* no lesson waits for ever */
	check(!list, "ibv_get_device_list");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	errno = ENODEV;
	check(!list[i], name);
	check(!(e.device = ibv_open_device(list[i])), "ibv_open_device");
	/* The first GID that is an IPv4 address (::ffff:a.b.c.d) */
	for (i = 0; e.gid.gid_type != IBV_GID_TYPE_ROCE_V2 ||
	     memcmp(e.gid.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12); i++)
		check(ibv_query_gid_ex(e.device, 1, i, &e.gid, 0), "no IPv4 address");
	check(!(e.pd = ibv_alloc_pd(e.device)), "ibv_alloc_pd");
	check(!(e.channel = ibv_create_comp_channel(e.device)), "ibv_create_comp_channel");
	check(!(e.cq = ibv_create_cq(e.device, 256, NULL, e.channel, 0)), "ibv_create_cq");
	check(!(e.buffer = calloc(1, SIZE)), "calloc");
	check(!(e.mr = ibv_reg_mr(e.pd, e.buffer, SIZE, RIGHTS)), "ibv_reg_mr");
	return e;
}

static inline void make_qp(struct end *e, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = e->cq, .recv_cq = e->cq, .srq = srq,
		.cap = { 64, srq ? 0 : 64, 1, 1, 0 },
	};

	check(!(e->qp = ibv_create_qp(e->pd, &init)), "ibv_create_qp");
}

/* Takes the queue pair of @e from any state to RTS, with @peer as its peer. */
static inline void connect_to(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .qp_access_flags = RIGHTS, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num, .rq_psn = 100, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .sq_psn = 100, .timeout = e->timeout,
		.retry_cnt = e->retry_cnt, .rnr_retry = e->rnr_retry, .max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = peer->gid.gid, .sgid_index = e->gid.gid_index, .hop_limit = 64 } },
	};
	static const struct { enum ibv_qp_state state; int mask; } step[] = {
		{ IBV_QPS_RESET, 0 },
		{ IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
	};

	for (int i = 0; i < 4; i++) {
		attr.qp_state = step[i].state;
		check(errno = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | step[i].mask),
		      "ibv_modify_qp");
	}
}

/* Both ends: from the command line, DEVICE [PEER] */
static inline void open_both(int argc, char **argv, struct end *a, struct end *b)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s DEVICE [PEER]\n", argv[0]);
		exit(2);
	}
	*a = open_end(argv[1]);
	*b = open_end(argv[argc > 2 ? 2 : 1]);
}

static inline void connect_both(struct end *a, struct end *b)
{
	connect_to(a, b);
	connect_to(b, a);
}

/* Posts a request of @from: @length bytes, between @at of its buffer and of @to's. */
static inline void post(struct end *from, const struct end *to, enum ibv_wr_opcode opcode,
			int at, int length, uint64_t wr_id, int flags)
{
	struct ibv_sge sge = { (uintptr_t)from->buffer + at, length, from->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)to->buffer + at, to->mr->rkey },
	}, *bad;

	check(errno = ibv_post_send(from->qp, &wr, &bad), "ibv_post_send");
}

static inline void post_receive(struct end *e, int at, int length, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer + at, length, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(errno = ibv_post_recv(e->qp, &wr, &bad), "ibv_post_recv");
}

/* A counter of the device; 0 where it has none of this name */
static inline long counter(struct end *e, const char *name)
{
	char path[512];
	long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/ports/1/hw_counters/%s", e->device->device->ibdev_path, name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* Waits for the next completion. */
static inline struct ibv_wc completion(struct end *e)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(e->cq, 1, &wc))
		;
	return wc;
}
