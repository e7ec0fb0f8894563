// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What one operation costs, in instructions of the whole machine: both ends, user
 * space and kernel.  That is in a guest whose clock counts them, one a nanosecond
 * (SHCA_VM_ACCEL=icount of scripts/qemu/vm).  In other guests it is nanoseconds.
 * bench.py calls this in both.
 *
 *   count DEVICE GID-INDEX PEER GID-INDEX OPERATION SIZE MTU OBJECTS REPETITIONS
 *
 * prints one figure per repetition.  OBJECTS is the number of queue pairs or
 * regions. QP_WRITE uses the queue pairs in turn.  QP_LIFE makes one more,
 * connects, uses and destroys it.  QP_BYTES is the memory of one idle queue pair,
 * not instructions.  MR_LIFE registers one more region, uses and deregisters it.
 *
 * Nobody spins here, for that would be counted: a thread with nothing to do sleeps
 * on a completion channel.  The clock skips the time in which nobody has anything
 * to do, so such time appears as instructions.  There is none as long as nobody
 * waits for a timer.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "util.h"

#define DEPTH		128
#define RECV_DEPTH	512
/* As perftest: a completion per so many requests. */
#define SIGNAL_EACH	64
#define POLL_BATCH	16
#define LIST		16

struct scale;

/**
 * struct op - an operation
 * @list:	work requests in one post
 * @round_trip:	two threads send to each other, one message at a time
 * @ud:		between UD queue pairs
 * @scale:	one of a number of objects; how many instructions, or bytes
 */
struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	int list;
	bool round_trip;
	bool ud;
	double (*scale)(struct scale *s);
};

static double qp_write(struct scale *s);
static double qp_life(struct scale *s);
static double qp_bytes(struct scale *s);
static double mr_life(struct scale *s);

static const struct op ops[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE, 1, false },
	{ "READ", IBV_WR_RDMA_READ, 1, false },
	{ "SEND", IBV_WR_SEND, 1, false },
	{ "WRITE_LIST16", IBV_WR_RDMA_WRITE, LIST, false },
	{ "SEND_LIST16", IBV_WR_SEND, LIST, false },
	{ "ATOMIC_FA", IBV_WR_ATOMIC_FETCH_AND_ADD, 1, false },
	{ "UD_SEND", IBV_WR_SEND, 1, false, .ud = true },
	{ "SEND_EVENT", IBV_WR_SEND, 1, true },
	{ "QP_WRITE", .scale = qp_write },
	{ "QP_LIFE", .scale = qp_life },
	{ "QP_BYTES", .scale = qp_bytes },
	{ "MR_LIFE", .scale = mr_life },
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

/* ---- datagrams ----------------------------------------------------------- */

#define UD_QKEY		0x1234

/* The queue pair of @end gives way to one of UD. */
static void ud_make(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = end->scq,
		.recv_cq = end->rcq,
		.cap = end->cap,
	};
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = UD_QKEY,
	};

	REQUIRE_EQ(ibv_destroy_qp(end->qp), 0);
	end->qp = ibv_create_qp(end->nic->pd, &init);
	REQUIRE(end->qp);
	qp_to_rts(end->qp, &attr);
}

static struct ibv_ah *ud_path(struct nic *from, struct nic *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.grh.dgid = to->gid,
		.grh.sgid_index = from->gid_index,
		.grh.hop_limit = 64,
		.port_num = 1,
	};
	struct ibv_ah *ah = ibv_create_ah(from->pd, &attr);

	REQUIRE(ah);
	return ah;
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
	/* (in front of a datagram lies its GRH) */
	if (op->ud)
		s->recv_sge.length += 40;
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
		if (op->ud) {
			s->wr[i].wr.ud.ah = ud_path(a->nic, b->nic);
			s->wr[i].wr.ud.remote_qpn = b->qp->qp_num;
			s->wr[i].wr.ud.remote_qkey = UD_QKEY;
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

/* ---- numbers of objects ---------------------------------------------------- */

/* How many lives are counted. */
#define LIVES	64

/**
 * struct scale - objects of one device; queue pairs send to themselves
 * @cq:		of all queue pairs
 * @objects:	how many
 */
struct scale {
	struct nic *nic;
	struct config config;
	struct ibv_cq *cq;
	struct buf buf;
	int objects;
	struct end *ends;
	struct ibv_mr **mrs;
};

static struct end scale_end(struct scale *s)
{
	struct end end = { .nic = s->nic, .config = s->config };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap.max_send_wr = 16,
		.cap.max_recv_wr = 16,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
	};
	struct address address;

	end.qp = ibv_create_qp(s->nic->pd, &init);
	REQUIRE(end.qp);
	end.psn = end.qp->qp_num;
	address = end_address(&end);
	end_connect(&end, &address);
	return end;
}

/* A WRITE by @end to @mr, and its completion. */
static void scale_write(struct scale *s, struct end *end, struct ibv_mr *mr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf.p,
		.length = 8,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = wr_rdma(0, IBV_WR_RDMA_WRITE, &sge, 1,
					sge.addr + 8, mr->rkey);

	post(end, &wr);
	while (!reap(s->cq))
		sleep_on(s->ends[0].channel);
}

static double qp_write(struct scale *s)
{
	int i, n = s->objects < 1024 ? 1024 : s->objects;
	uint64_t start;

	for (i = 0; i < s->objects; i++)
		scale_write(s, &s->ends[i], s->buf.mr);
	start = now();
	for (i = 0; i < n; i++)
		scale_write(s, &s->ends[i % s->objects], s->buf.mr);
	return (double)(now() - start) / n;
}

/*
 * Each queue pair maps its rings, and the cost of a mapping depends on the others of
 * the process.  The node of the kernel's tree of mappings may be full.  Then each
 * mapping splits it and each unmapping joins it again (a third of a life).  Three
 * more mappings give the tree another shape, so that one of some repetitions shows
 * the cost without.
 */
static void another_shape(void)
{
	static const int protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(protections); i++)
		REQUIRE(mmap(NULL, 4096, protections[i], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
			MAP_FAILED);
}

static double qp_life(struct scale *s)
{
	struct end end;
	uint64_t start;
	int i;

	another_shape();
	start = now();
	for (i = 0; i < LIVES; i++) {
		end = scale_end(s);
		scale_write(s, &end, s->buf.mr);
		REQUIRE_EQ(ibv_destroy_qp(end.qp), 0);
	}
	return (double)(now() - start) / LIVES;
}

static double mr_life(struct scale *s)
{
	uint64_t start = now();
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < LIVES; i++) {
		mr = ibv_reg_mr(s->nic->pd, s->buf.p, s->buf.len, ACCESS_ALL);
		REQUIRE(mr);
		scale_write(s, &s->ends[0], mr);
		REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	}
	return (double)(now() - start) / LIVES;
}

/* In bytes, and of the whole machine, so that nothing is forgotten. */
static long free_memory(void)
{
	char line[100];
	long kib = -1;
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	REQUIRE(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld", &kib);
	fclose(f);
	REQUIRE(kib > 0);
	return kib * KIB;
}

static double qp_bytes(struct scale *s)
{
	long before = free_memory();
	int i;

	/* They stay: memory that was freed would count as none next time. */
	for (i = 0; i < s->objects; i++)
		scale_end(s);
	return (double)(before - free_memory()) / s->objects;
}

static void scale_run(const struct op *op, struct config *config, int objects,
		      int reps)
{
	bool regions = op->scale == mr_life;
	struct scale s = {
		.nic = nic_a(),
		.config = *config,
		.objects = objects,
	};
	int i, nr = regions || op->scale == qp_bytes ? 1 : objects;

	s.ends = calloc(nr, sizeof(*s.ends));
	s.mrs = calloc(objects, sizeof(*s.mrs));
	s.buf = buf_make(s.nic->pd, 4096, ACCESS_ALL);
	s.ends[0].channel = ibv_create_comp_channel(s.nic->ctx);
	s.cq = ibv_create_cq(s.nic->ctx, 1000, NULL, s.ends[0].channel, 0);
	REQUIRE(s.cq);
	REQUIRE_EQ(ibv_req_notify_cq(s.cq, 0), 0);
	for (i = 0; i < nr; i++) {
		struct ibv_comp_channel *channel = s.ends[i].channel;

		s.ends[i] = scale_end(&s);
		s.ends[i].channel = channel;
	}
	for (i = 0; regions && i < objects - 1; i++) {
		s.mrs[i] = ibv_reg_mr(s.nic->pd, s.buf.p, 64, ACCESS_ALL);
		REQUIRE(s.mrs[i]);
	}
	op->scale(&s);
	for (i = 0; i < reps; i++)
		printf("%.0f\n", op->scale(&s));
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

	if (argc != 10) {
		fputs("usage: count DEVICE GID PEER GID OPERATION SIZE MTU OBJECTS REPETITIONS\n",
		      stderr);
		return 2;
	}
	options.device = argv[1];
	options.gid[0] = atoi(argv[2]);
	options.peer = argv[3];
	options.gid[1] = atoi(argv[4]);
	op = op_of(argv[5]);
	size = atoi(argv[6]);
	reps = atoi(argv[9]);
	config.max_send_wr = DEPTH;
	config.max_recv_wr = RECV_DEPTH;
	config.cqe = 2 * RECV_DEPTH;
	config.events = true;
	config.mtu = mtu_of(atoi(argv[7]));
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	config.sq_sig_all = 0;
	if (op->scale) {
		scale_run(op, &config, atoi(argv[8]), reps);
		return 0;
	}
	pair_make(&a, &b, &config);
	if (op->ud) {
		ud_make(&a);
		ud_make(&b);
	}
	from = buf_make(a.nic->pd, 2 * size, ACCESS_ALL);
	to = buf_make(b.nic->pd, 2 * size + 40,
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
