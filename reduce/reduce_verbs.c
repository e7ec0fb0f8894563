// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* libsofthca-reduce: a member of a job at a UD queue pair. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "member.h"
#include "softhca-reduce.h"

static_assert((int)SOFTHCA_REDUCE_F64 == SHCA_REDUCE_F64 && (int)SOFTHCA_REDUCE_OR == SHCA_REDUCE_OR);

#define GRH_BYTES		40
#define PACKET_BYTES		4096
#define RECV_BYTES		(GRH_BYTES + PACKET_BYTES)
/* Answers of all slots, and as many duplicates. */
#define RECVS			(4 * SHCA_REDUCE_SLOTS)
#define SENDS			SHCA_REDUCE_SLOTS_MAX
#define WR_SEND			(1ull << 32)
#define MS			1000000ull
#define TIMEOUT_MS		30000
/* (the highest bit would be that of privileged Q_Keys) */
#define QKEY_MASK		0x7fffffffu

struct softhca_reduce {
	struct shca_reduce_member member;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah[2];
	uint16_t ah_lid[2];
	uint8_t port;
	uint8_t sl;
	uint32_t qkey;
	uint64_t timeout;
	uint8_t *memory;	/* buffers of receives, then of sends */
	uint32_t unused[SENDS];	/* buffers of sends that are not in use */
	uint32_t unused_nr;
	int error;	/* the job is of no use */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* ---- packets ---------------------------------------------------------------- */

static int post_recv(struct softhca_reduce *job, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)(job->memory + i * RECV_BYTES), RECV_BYTES, job->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(job->qp, &wr, &bad);
}

/* Return: NULL, with errno. */
static struct ibv_ah *ah_of(struct softhca_reduce *job, uint16_t lid)
{
	struct ibv_ah_attr attr = { .dlid = lid, .sl = job->sl, .port_num = job->port };
	uint32_t i;

	/* (the node that is asked for a place, and the one that has it) */
	for (i = 0; i < 2; i++) {
		if (job->ah[i] && job->ah_lid[i] == lid)
			return job->ah[i];
		if (job->ah[i])
			continue;
		job->ah[i] = ibv_create_ah(job->pd, &attr);
		job->ah_lid[i] = lid;
		return job->ah[i];
	}
	errno = EPROTO;
	return NULL;
}

static uint8_t *send_buffer(struct softhca_reduce *job, uint32_t i)
{
	return job->memory + RECVS * RECV_BYTES + i * PACKET_BYTES;
}

/* The datagram in the buffer that is next leaves. */
static int post_send(struct softhca_reduce *job, uint16_t lid, uint32_t len)
{
	uint32_t i = job->unused[job->unused_nr - 1];
	struct ibv_sge sge = { (uintptr_t)send_buffer(job, i), len, job->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = WR_SEND | i, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.ud.ah = ah_of(job, lid);
	wr.wr.ud.remote_qpn = SHCA_REDUCE_QP;
	wr.wr.ud.remote_qkey = job->qkey;
	if (!wr.wr.ud.ah)
		return errno;
	job->unused_nr--;
	return ibv_post_send(job->qp, &wr, &bad);
}

static int completed(struct softhca_reduce *job, const struct ibv_wc *wc)
{
	const uint8_t *data;

	if (wc->status != IBV_WC_SUCCESS)
		return EIO;
	if (wc->wr_id & WR_SEND) {
		job->unused[job->unused_nr++] = (uint32_t)wc->wr_id;
		return 0;
	}
	data = job->memory + wc->wr_id * RECV_BYTES + GRH_BYTES;
	if (wc->byte_len > GRH_BYTES)
		shca_reduce_member_receive(&job->member, wc->slid, wc->src_qp, data, wc->byte_len - GRH_BYTES, now_ns());
	return post_recv(job, wc->wr_id);
}

/* Return: 0, an error, or -1: something has completed. */
static int poll_all(struct softhca_reduce *job)
{
	struct ibv_wc wc[16];
	int nr, i, error, any = 0;

	while ((nr = ibv_poll_cq(job->cq, 16, wc)) > 0) {
		any = -1;
		for (i = 0; i < nr; i++) {
			error = completed(job, &wc[i]);
			if (error)
				return error;
		}
	}
	return nr < 0 ? EIO : any;
}

static int send_all(struct softhca_reduce *job)
{
	uint32_t len;
	uint16_t lid;
	int error;

	while (job->unused_nr) {
		len = shca_reduce_member_next(&job->member, now_ns(), &lid, send_buffer(job, job->unused[job->unused_nr - 1]));
		if (!len)
			return 0;
		error = post_send(job, lid, len);
		if (error)
			return error;
	}
	return 0;
}

/* Wait for a completion, and for this time at most. */
static int wait_until(struct softhca_reduce *job, uint64_t until)
{
	struct pollfd fd = { .fd = job->channel->fd, .events = POLLIN };
	uint64_t now = now_ns(), ns = until > now ? until - now : 0;
	struct timespec time = { ns / (1000 * MS), ns % (1000 * MS) };
	struct ibv_cq *cq;
	void *context;
	int nr;

	/* (a completion before that request has no event, so there is another look at the CQ) */
	if (ibv_req_notify_cq(job->cq, 0))
		return EIO;
	nr = poll_all(job);
	if (nr)
		return nr < 0 ? 0 : nr;
	nr = ppoll(&fd, 1, &time, NULL);
	if (nr < 0 && errno != EINTR)
		return errno;
	if (nr <= 0)
		return 0;
	if (ibv_get_cq_event(job->channel, &cq, &context))
		return errno == EAGAIN ? 0 : errno;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static int error_of(uint8_t reason)
{
	switch (reason) {
	case SHCA_REDUCE_NOT_SAME:
		return EINVAL;
	case SHCA_REDUCE_NO_ROOM:
		return ENOBUFS;
	case SHCA_REDUCE_NO_TREE:
		return EHOSTUNREACH;
	case SHCA_REDUCE_TOO_WIDE:
		return E2BIG;
	default:
		return ECONNRESET;
	}
}

static bool is_over(const struct shca_reduce_member *member)
{
	return member->state == SHCA_REDUCE_FAILS || (member->state == SHCA_REDUCE_RUNS && !member->left);
}

/* Go on until the member has joined, or has the result. */
static int drive(struct softhca_reduce *job)
{
	struct shca_reduce_member *member = &job->member;
	uint64_t give_up = now_ns() + job->timeout, until;
	uint32_t left = member->left;
	int error, any;

	while (!is_over(member)) {
		/* Results first: otherwise a process that was not running asks for what it has. */
		any = poll_all(job);
		error = any > 0 ? any : is_over(member) ? 0 : send_all(job);
		if (error)
			return error;
		if (left != member->left) {
			left = member->left;
			give_up = now_ns() + job->timeout;
		}
		if (any || is_over(member))
			continue;
		if (now_ns() >= give_up)
			return ETIMEDOUT;
		/* (without a buffer, what is due waits for the completion of a send) */
		until = job->unused_nr ? shca_reduce_member_deadline(member) : ~0ull;
		error = wait_until(job, until < give_up ? until : give_up);
		if (error)
			return error;
	}
	return member->state == SHCA_REDUCE_FAILS ? error_of(member->reason) : 0;
}

/* ---- jobs ------------------------------------------------------------------- */

static struct ibv_context *open_device(const char *name)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int nr, i;

	list = ibv_get_device_list(&nr);
	if (!list)
		return NULL;
	errno = ENODEV;
	for (i = 0; i < nr && !context; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return context;
}

static int make_qp(struct softhca_reduce *job, const struct softhca_reduce_attr *attr)
{
	struct ibv_qp_init_attr init = {
		.send_cq = job->cq,
		.recv_cq = job->cq,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr state = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = attr->pkey_index,
		.port_num = job->port,
		.qkey = job->qkey,
	};
	int error;
	uint32_t i;

	job->qp = ibv_create_qp(job->pd, &init);
	if (!job->qp)
		return errno;
	error = ibv_modify_qp(job->qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	for (i = 0; i < RECVS && !error; i++)
		error = post_recv(job, i);
	state.qp_state = IBV_QPS_RTR;
	if (!error)
		error = ibv_modify_qp(job->qp, &state, IBV_QP_STATE);
	state.qp_state = IBV_QPS_RTS;
	if (!error)
		error = ibv_modify_qp(job->qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return error;
}

static int make_all(struct softhca_reduce *job, const char *device, const struct softhca_reduce_attr *attr)
{
	size_t bytes = RECVS * RECV_BYTES + SENDS * PACKET_BYTES;
	struct ibv_port_attr port;
	uint32_t i;

	if (!attr->size || attr->rank >= attr->size)
		return EINVAL;
	job->port = attr->port ?: 1;
	job->sl = attr->sl;
	job->qkey = attr->key & QKEY_MASK;
	job->timeout = (attr->timeout_ms ?: TIMEOUT_MS) * MS;
	job->context = open_device(device);
	if (!job->context || ibv_query_port(job->context, job->port, &port))
		return errno ?: EIO;
	job->memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!job->memory)
		return ENOMEM;
	for (i = 0; i < SENDS; i++)
		job->unused[job->unused_nr++] = i;
	job->pd = ibv_alloc_pd(job->context);
	if (!job->pd)
		return errno;
	job->mr = ibv_reg_mr(job->pd, job->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	job->channel = ibv_create_comp_channel(job->context);
	if (!job->mr || !job->channel)
		return errno;
	job->cq = ibv_create_cq(job->context, SENDS + RECVS, NULL, job->channel, 0);
	if (!job->cq)
		return errno;
	job->member = (struct shca_reduce_member){
		.job = attr->key >> 32,
		.rank = attr->rank,
		.size = attr->size,
		.mtu = ((128u << port.active_mtu) - SHCA_REDUCE_HEAD) & ~7u,
		.entry = attr->node,
	};
	shca_reduce_member_init(&job->member);
	return make_qp(job, attr);
}

static void destroy(struct softhca_reduce *job)
{
	uint32_t i;

	if (job->qp)
		ibv_destroy_qp(job->qp);
	for (i = 0; i < 2; i++)
		if (job->ah[i])
			ibv_destroy_ah(job->ah[i]);
	if (job->cq)
		ibv_destroy_cq(job->cq);
	if (job->channel)
		ibv_destroy_comp_channel(job->channel);
	if (job->mr)
		ibv_dereg_mr(job->mr);
	if (job->pd)
		ibv_dealloc_pd(job->pd);
	if (job->context)
		ibv_close_device(job->context);
	free(job->memory);
	free(job);
}

struct softhca_reduce *softhca_reduce_open(const char *device, const struct softhca_reduce_attr *attr)
{
	struct softhca_reduce *job = calloc(1, sizeof(*job));
	int error;

	if (!job)
		return NULL;
	error = make_all(job, device, attr);
	if (!error)
		error = drive(job);
	if (!error)
		return job;
	destroy(job);
	errno = error;
	return NULL;
}

int softhca_reduce_all(struct softhca_reduce *job, const void *in, void *out, size_t count, int type, int op)
{
	uint32_t size = shca_reduce_size(type);

	if (job->error)
		return job->error;
	if (!count)
		return 0;
	if (!shca_reduce_ok(op, type, size) || count > (UINT32_MAX / 2) * (size_t)64)
		return EINVAL;
	shca_reduce_member_begin(&job->member, op, type, in, out, count * size);
	job->error = drive(job);
	return job->error;
}

uint64_t softhca_reduce_again(const struct softhca_reduce *job)
{
	return job->member.again;
}

void softhca_reduce_close(struct softhca_reduce *job)
{
	uint64_t give_up = now_ns() + 1000 * MS;
	uint32_t len;
	uint16_t lid;

	/* If that datagram is lost, the job ends when nothing is heard of it for a while. */
	if (job->unused_nr && job->member.size > 1) {
		len = shca_reduce_member_leave(&job->member, &lid, send_buffer(job, job->unused[job->unused_nr - 1]));
		if (!post_send(job, lid, len))
			while (job->unused_nr < SENDS && now_ns() < give_up && poll_all(job) <= 0)
				wait_until(job, now_ns() + 10 * MS);
	}
	destroy(job);
}
