// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What one operation costs, in instructions of the whole machine: both ends, user
 * space and kernel.  Only for a guest whose clock counts them, one a nanosecond
 * (SHCA_VM_ACCEL=icount of scripts/qemu/vm); bench.py calls this there.
 *
 *   count DEVICE GID-INDEX PEER GID-INDEX OPERATION SIZE MTU REPETITIONS
 *
 * prints one figure per repetition.  Nobody spins here, for that would be counted:
 * who has nothing to do sleeps on a completion channel.  The clock skips the time
 * in which nobody has anything to do, so such time appears as instructions; there
 * is none as long as nobody waits for a timer.
 */
#include <pthread.h>
#include <time.h>

#include "util.h"

#define DEPTH		128
#define RECV_DEPTH	512
/* As perftest: a completion per so many requests. */
#define SIGNAL_EACH	64
#define POLL_BATCH	16
#define LIST		16

/**
 * struct op - an operation
 * @list:	work requests in one post
 * @round_trip:	two threads send to each other, one message at a time
 */
struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	int list;
	bool round_trip;
};

static const struct op ops[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE, 1, false },
	{ "READ", IBV_WR_RDMA_READ, 1, false },
	{ "SEND", IBV_WR_SEND, 1, false },
	{ "WRITE_LIST16", IBV_WR_RDMA_WRITE, LIST, false },
	{ "SEND_LIST16", IBV_WR_SEND, LIST, false },
	{ "ATOMIC_FA", IBV_WR_ATOMIC_FETCH_AND_ADD, 1, false },
	{ "SEND_EVENT", IBV_WR_SEND, 1, true },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Return: completions, all of which must be successes. */
static int reap(struct ibv_cq *cq)
{
	struct ibv_wc wc[POLL_BATCH];
	int i, n;

	n = ibv_poll_cq(cq, POLL_BATCH, wc);
	REQUIRE(n >= 0);
	for (i = 0; i < n; i++)
		REQUIRE_EQ(wc[i].status, IBV_WC_SUCCESS);
	return n;
}

static void sleep_on(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	REQUIRE_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	REQUIRE_EQ(ibv_req_notify_cq(cq, 0), 0);
}

/* ---- one direction ------------------------------------------------------- */

struct stream {
	const struct op *op;
	struct end *a;
	struct end *b;
	struct ibv_sge recv_sge;
	struct ibv_send_wr wr[LIST];
	bool is_send;
	int each;	/* requests per completion */
	int left;	/* until the next one */
};

static void stream_post(struct stream *s)
{
	struct ibv_send_wr *bad;
	int i;

	for (i = 0; i < s->op->list; i++) {
		s->wr[i].send_flags = --s->left ? 0 : IBV_SEND_SIGNALED;
		if (!s->left)
			s->left = s->each;
	}
	REQUIRE_EQ(ibv_post_send(s->a->qp, s->wr, &bad), 0);
}

/* All that there is: what is sent faster than this meets no receive request. */
static bool stream_receive(struct stream *s)
{
	bool any = false;
	int i, n;

	while ((n = reap(s->b->rcq))) {
		for (i = 0; i < n; i++)
			post_recv(s->b, 0, &s->recv_sge, 1);
		any = true;
	}
	return any;
}

/* @n: a multiple of @s->each */
static void stream_run(struct stream *s, int n)
{
	int posted = 0, done = 0, got;
	bool idle;

	while (done < n) {
		while (posted < n && posted - done + s->op->list <= DEPTH) {
			stream_post(s);
			posted += s->op->list;
		}
		got = reap(s->a->scq);
		done += got * s->each;
		idle = !got;
		if (s->is_send && stream_receive(s))
			idle = false;
		if (idle)
			sleep_on(s->a->channel);
	}
	if (s->is_send)
		stream_receive(s);
}

static void stream_init(struct stream *s, const struct op *op, struct end *a,
			struct end *b, struct buf *from, struct buf *to,
			uint32_t size)
{
	static struct ibv_sge sge;
	int i;

	*s = (struct stream){
		.op = op,
		.a = a,
		.b = b,
		.recv_sge = sge_of(to, 0, size),
		.is_send = op->opcode == IBV_WR_SEND,
		.each = op->list > 1 ? LIST : SIGNAL_EACH,
	};
	s->left = s->each;
	sge = sge_of(from, 0, size);
	for (i = 0; i < op->list; i++) {
		if (s->is_send)
			s->wr[i] = wr_send(0, &sge, 1);
		else
			s->wr[i] = wr_rdma(0, op->opcode, &sge, 1,
					   (uintptr_t)to->p, to->mr->rkey);
		if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			s->wr[i].wr.atomic.remote_addr = (uintptr_t)to->p;
			s->wr[i].wr.atomic.rkey = to->mr->rkey;
			s->wr[i].wr.atomic.compare_add = 1;
		}
		s->wr[i].next = i + 1 < op->list ? &s->wr[i + 1] : NULL;
	}
	for (i = 0; s->is_send && i < RECV_DEPTH; i++)
		post_recv(b, 0, &s->recv_sge, 1);
	REQUIRE_EQ(ibv_req_notify_cq(a->scq, 0), 0);
}

/* ---- round trips --------------------------------------------------------- */

struct player {
	struct end *end;
	struct ibv_sge send_sge;
	struct ibv_sge recv_sge;
	bool serves;
	int n;
};

static void *player_run(void *arg)
{
	struct player *p = arg;
	struct ibv_send_wr wr = wr_send(0, &p->send_sge, 1);
	int i;

	for (i = 0; i < p->n; i++) {
		if (p->serves)
			post(p->end, &wr);
		while (!reap(p->end->rcq))
			sleep_on(p->end->channel);
		post_recv(p->end, 0, &p->recv_sge, 1);
		if (!p->serves)
			post(p->end, &wr);
		/* of what was sent before, as a rule */
		reap(p->end->scq);
	}
	return NULL;
}

static void round_trips(struct player *players, int n)
{
	pthread_t thread;

	players[0].n = n;
	players[1].n = n;
	REQUIRE_EQ(pthread_create(&thread, NULL, player_run, &players[1]), 0);
	player_run(&players[0]);
	REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

static void player_init(struct player *p, struct end *end, struct buf *buf,
			uint32_t size, bool serves)
{
	int i;

	*p = (struct player){
		.end = end,
		.send_sge = sge_of(buf, 0, size),
		.recv_sge = sge_of(buf, size, size),
		.serves = serves,
	};
	for (i = 0; i < DEPTH; i++)
		post_recv(end, 0, &p->recv_sge, 1);
	REQUIRE_EQ(ibv_req_notify_cq(end->rcq, 0), 0);
}

/* -------------------------------------------------------------------------- */

static enum ibv_mtu mtu_of(int bytes)
{
	return bytes == 4096 ? IBV_MTU_4096 :
	       bytes == 1024 ? IBV_MTU_1024 : 0;
}

static const struct op *op_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	FAIL("no operation %s\n", name);
}

int main(int argc, char **argv)
{
	struct config config = config_default;
	struct player players[2];
	struct stream stream;
	struct buf from, to;
	const struct op *op;
	struct end a, b;
	uint32_t size;
	uint64_t start;
	int i, n, reps;

	if (argc != 9) {
		fputs("usage: count DEVICE GID PEER GID OPERATION SIZE MTU REPETITIONS\n",
		      stderr);
		return 2;
	}
	options.device = argv[1];
	options.gid[0] = atoi(argv[2]);
	options.peer = argv[3];
	options.gid[1] = atoi(argv[4]);
	op = op_of(argv[5]);
	size = atoi(argv[6]);
	reps = atoi(argv[8]);
	config.max_send_wr = DEPTH;
	config.max_recv_wr = RECV_DEPTH;
	config.cqe = 2 * RECV_DEPTH;
	config.events = true;
	config.mtu = mtu_of(atoi(argv[7]));
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	config.sq_sig_all = 0;
	pair_make(&a, &b, &config);
	from = buf_make(a.nic->pd, 2 * size, ACCESS_ALL);
	to = buf_make(b.nic->pd, 2 * size,
		      ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);

	n = size > KIB ? 2 * SIGNAL_EACH : 16 * SIGNAL_EACH;
	if (op->round_trip) {
		player_init(&players[0], &a, &from, size, true);
		player_init(&players[1], &b, &to, size, false);
		round_trips(players, n / 4);
	} else {
		stream_init(&stream, op, &a, &b, &from, &to, size);
		stream_run(&stream, n);
	}
	for (i = 0; i < reps; i++) {
		start = now();
		if (op->round_trip)
			round_trips(players, n);
		else
			stream_run(&stream, n);
		printf("%.0f\n", (double)(now() - start) / n);
	}
	return 0;
}
