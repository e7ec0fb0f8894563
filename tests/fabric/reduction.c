// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reductions in the network by themselves, under sanitizers: members and aggregation nodes, and
 * between them a network that loses, repeats and delays datagrams. First single rules, then random
 * trees, jobs and operations, with outsiders who send what they like and members that die. Prints
 * "ok NAME" or "not ok NAME # why".
 *
 *	reduction [SEEDS [FIRST]]
 */
#include "../../fabric/reduce/reduce.h"
#include "../../reduce/member.h"
#define PROGRAM "reduction"
#include "checks.h"

#define MS			1000000ull
#define SECOND			1000000000ull
#define NODES_MAX		8
#define JOBS_MAX		4
#define MEMBERS_MAX		12
#define OPS_MAX			6
#define VALUES_MAX		8192
#define FLIGHT_MAX		8192
#define DATA_MAX		(SHCA_REDUCE_HEAD + SHCA_REDUCE_BYTES_MAX)
/* LIDs of nodes; those of members are below. */
#define NODE_LID		1000
#define PKEY			0xffff

struct datagram {
	u64 at;
	u64 order;	/* of those at one time */
	struct fab_reduce_way from;
	struct fab_reduce_way to;
	u32 len;
	u8 data[DATA_MAX];
};

/* A process of a job. */
struct user {
	struct shca_reduce_member member;
	u16 lid;
	u32 qp;
	u32 qkey;
	u32 job;	/* index */
	u32 ops;	/* done */
	u64 begins;	/* when it begins the next one */
	u64 dies;	/* then it is gone */
	bool has_left;
	u8 in[VALUES_MAX];
	u8 out[VALUES_MAX];
};

struct operation {
	u8 op;
	u8 type;
	u32 len;
};

struct job {
	struct user user[MEMBERS_MAX];
	u32 size;
	u16 root;
	u64 seed;	/* of the values */
	struct operation op[OPS_MAX];
	u32 ops;
};

struct world {
	struct fab_reduce reduce;
	struct fab_reduce_node node[NODES_MAX];
	u16 next[NODES_MAX];	/* node towards node 0 */
	u32 nodes;
	u16 at[NODE_LID];	/* node of a LID */
	struct job job[JOBS_MAX];
	u32 jobs;
	u64 now;
	/* the network: datagrams in flight, a heap by time */
	struct datagram *flight[FLIGHT_MAX];
	u32 flying;
	u64 sent;
	u32 loss;	/* one of so many is lost; 0: none */
	u32 again;	/* one of so many has a duplicate; 0: none */
	u64 delay;	/* at most */
	u64 carried;
	u32 taken;	/* blocks of memory that jobs have */
	bool no_memory;
};

static struct world *world;

static u64 random_state;

static u32 draw(u32 n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % n;
}

/* ---- the tree --------------------------------------------------------------- */

static u32 depth(u16 node)
{
	u32 hops = 0;

	for (; node; node = world->next[node])
		hops++;
	return hops;
}

static bool is_below(u16 node, u16 top)
{
	while (depth(node) > depth(top))
		node = world->next[node];
	return node == top;
}

static u16 up_of(struct fab_reduce *reduce, u16 node, u16 root)
{
	if (!is_below(root, node))
		return world->next[node];
	while (world->next[root] != node)
		root = world->next[root];
	return root;
}

static u16 lid_of(const struct fab_reduce *reduce, u16 node)
{
	return NODE_LID + node;
}

static u16 leaf_of(struct fab_reduce *reduce, u16 root, u16 lid)
{
	return lid < NODE_LID ? world->at[lid] : FAB_REDUCE_NONE;
}

static void *take(struct fab_reduce *reduce, u64 bytes)
{
	if (world->no_memory)
		return NULL;
	world->taken++;
	return zeros(bytes);
}

static void give(struct fab_reduce *reduce, void *memory, u64 bytes)
{
	world->taken--;
	free(memory);
}

static void begin(u32 nodes)
{
	u32 i;

	world = zeros(sizeof(*world));
	world->nodes = nodes;
	world->now = SECOND;
	world->delay = MS / 10;
	world->reduce.nodes = world->node;
	world->reduce.nodes_nr = nodes;
	world->reduce.room = 1ull << 30;
	world->reduce.lid = lid_of;
	world->reduce.leaf = leaf_of;
	world->reduce.up = up_of;
	world->reduce.take = take;
	world->reduce.give = give;
	for (i = 0; i < NODE_LID; i++)
		world->at[i] = FAB_REDUCE_NONE;
}

/* Nobody sends any longer, and so all jobs end. */
static void end(void)
{
	u32 i;

	for (i = 0; i < world->flying; i++)
		free(world->flight[i]);
	CHECK(fab_reduce_advance(&world->reduce, world->now + 2 * FAB_REDUCE_IDLE_NS), ~0ull);
	CHECK(world->taken, 0);
	CHECK(world->reduce.used, 0);
	for (i = 0; i < world->nodes; i++)
		CHECK(fab_reduce_pending(&world->reduce, i), false);
	free(world);
}

/* ---- the network ------------------------------------------------------------ */

static bool is_before(const struct datagram *a, const struct datagram *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void swap(u32 a, u32 b)
{
	struct datagram *one = world->flight[a];

	world->flight[a] = world->flight[b];
	world->flight[b] = one;
}

static void fly(const struct fab_reduce_way *from, const struct fab_reduce_way *to, const u8 *data, u32 len)
{
	struct datagram *new;
	u32 at, copies = world->again && !draw(world->again) ? 2 : 1;

	CHECK(len >= SHCA_REDUCE_HEAD && len <= DATA_MAX, true);
	for (; copies; copies--) {
		if (world->loss && !draw(world->loss))
			continue;
		CHECK(world->flying < FLIGHT_MAX, true);
		if (failed)
			return;
		new = zeros(sizeof(*new));
		new->at = world->now + 1 + draw(world->delay) * (u64)(draw(20) ? 1 : 30);
		new->order = world->sent++;
		new->from = *from;
		new->to = *to;
		new->len = len;
		memcpy(new->data, data, len);
		at = world->flying++;
		world->flight[at] = new;
		for (; at && is_before(world->flight[at], world->flight[(at - 1) / 2]); at = (at - 1) / 2)
			swap(at, (at - 1) / 2);
	}
}

static struct datagram *land(void)
{
	struct datagram *first = world->flight[0];
	u32 at = 0, child;

	world->flight[0] = world->flight[--world->flying];
	for (;; at = child) {
		child = 2 * at + 1;
		if (child + 1 < world->flying && is_before(world->flight[child + 1], world->flight[child]))
			child++;
		if (child >= world->flying || !is_before(world->flight[child], world->flight[at]))
			return first;
		swap(at, child);
	}
}

/* What an aggregation node has to send leaves. */
static void node_sends(u16 node)
{
	struct fab_reduce_way to, from;
	u8 data[DATA_MAX];
	u32 len;

	while (!failed && (len = fab_reduce_next(&world->reduce, node, &to, data))) {
		from = to;
		from.lid = NODE_LID + node;
		from.qp = SHCA_REDUCE_QP;
		fly(&from, &to, data, len);
	}
	CHECK(fab_reduce_pending(&world->reduce, node), false);
}

/* As exact memory, so that a sanitizer sees what is read behind it. */
static bool node_receives(u16 node, const struct fab_reduce_way *from, const u8 *data, u32 len, u8 *answer)
{
	u8 *exact = zeros(len + !len);
	bool answers;

	memcpy(exact, data, len);
	answers = fab_reduce_receive(&world->reduce, node, from, exact, len, answer, world->now);
	free(exact);
	return answers;
}

static struct user *user_at(u16 lid, u32 qp)
{
	u32 i, j;

	for (i = 0; i < world->jobs; i++)
		for (j = 0; j < world->job[i].size; j++)
			if (world->job[i].user[j].lid == lid && world->job[i].user[j].qp == qp)
				return &world->job[i].user[j];
	return NULL;
}

static bool is_dead(const struct user *user)
{
	return user->has_left || (user->dies && world->now >= user->dies);
}

static void arrive(const struct datagram *datagram)
{
	u8 answer[SHCA_REDUCE_MESSAGE];
	struct user *user;

	if (datagram->to.lid >= NODE_LID) {
		if (node_receives(datagram->to.lid - NODE_LID, &datagram->from, datagram->data, datagram->len, answer))
			fly(&datagram->to, &datagram->from, answer, sizeof(answer));
		node_sends(datagram->to.lid - NODE_LID);
		return;
	}
	user = user_at(datagram->to.lid, datagram->to.qp);
	/* (a queue pair takes packets with its Q_Key only) */
	if (!user || is_dead(user) || datagram->to.qkey != user->qkey)
		return;
	shca_reduce_member_receive(&user->member, datagram->from.lid, datagram->from.qp, datagram->data, datagram->len,
				   world->now);
}

/* ---- jobs ------------------------------------------------------------------- */

static struct job *add_job(u32 size, u16 root)
{
	struct job *job = &world->job[world->jobs];
	u32 i;

	job->size = size;
	job->root = root;
	job->seed = draw(1u << 30);
	for (i = 0; i < size; i++) {
		struct user *user = &job->user[i];

		user->job = world->jobs;
		user->lid = 1 + world->jobs * MEMBERS_MAX + i;
		user->qp = 0x100 + i;
		user->qkey = 0x1234 + world->jobs;
		user->begins = world->now;
		user->member = (struct shca_reduce_member){
			.job = 77,	/* of all: their Q_Keys differ */
			.rank = i,
			.size = size,
			.mtu = 64,
			.entry = NODE_LID + root,
		};
		shca_reduce_member_init(&user->member);
		world->at[user->lid] = draw(world->nodes);
	}
	world->jobs++;
	return job;
}

static void add_op(struct job *job, u8 op, u8 type, u32 values)
{
	job->op[job->ops++] = (struct operation){ op, type, values * shca_reduce_size(type) };
}

/* A value in the machine's order of bytes, in an array whose values have @size of them. */
static u64 load(const void *at, u32 size)
{
	u64 value;
	u32 half;

	if (size == sizeof(half)) {
		memcpy(&half, at, sizeof(half));
		return half;
	}
	memcpy(&value, at, sizeof(value));
	return value;
}

static void store(void *at, u64 value, u32 size)
{
	u32 half = value;

	memcpy(at, size == sizeof(half) ? (void *)&half : &value, size);
}

/* A value of a member, by its number in an operation. */
static u64 value_of(const struct job *job, u32 op, u32 rank, u32 i)
{
	u64 x = job->seed + op * 1000003ull + rank * 7919ull + i * 104729ull;
	float f;
	double d;

	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	/* Of magnitudes so different that the order of a sum shows. */
	d = (double)(s64)x / (1ull << (x % 61));
	switch (job->op[op].type) {
	case SHCA_REDUCE_F32:
		f = d;
		return load(&f, sizeof(f));
	case SHCA_REDUCE_F64:
		return load(&d, sizeof(d));
	default:
		return x;
	}
}

#define FLOATS(kind) do { \
	kind a_, b_; \
	\
	store(&a_, a, sizeof(a_)); \
	store(&b_, b, sizeof(b_)); \
	if (op->op == SHCA_REDUCE_SUM) \
		a_ += b_; \
	else if (op->op == SHCA_REDUCE_MIN ? b_ < a_ : b_ > a_) \
		a_ = b_; \
	a = load(&a_, sizeof(a_)); \
} while (0)

/* The operation by its definition. */
static u64 apply(const struct operation *op, u64 a, u64 b)
{
	bool is_short = op->type == SHCA_REDUCE_I32;
	s64 x = is_short ? (s64)(s32)a : (s64)a, y = is_short ? (s64)(s32)b : (s64)b;

	if (op->type == SHCA_REDUCE_F32) {
		FLOATS(float);
		return a;
	}
	if (op->type == SHCA_REDUCE_F64) {
		FLOATS(double);
		return a;
	}
	switch (op->op) {
	case SHCA_REDUCE_SUM:
		return a + b;
	case SHCA_REDUCE_MIN:
		return y < x ? b : a;
	case SHCA_REDUCE_MAX:
		return y > x ? b : a;
	case SHCA_REDUCE_AND:
		return a & b;
	default:
		return a | b;
	}
}

/* Where a member is, and the next node towards the root of its job. */
static u16 node_of(const struct job *job, u32 rank)
{
	return world->at[job->user[rank].lid];
}

/*
 * The reduction of all members below a node, in the order of reduce.h: without parts, so a node of
 * one child changes nothing.
 * @done: members that are in the result, or in that of another child
 */
static u64 reduce_at(const struct job *job, u32 op, u16 node, u32 i, u32 *done)
{
	bool any = false;
	u64 result = 0, value;
	u32 rank;
	u16 at;

	for (rank = 0; rank < job->size; rank++) {
		if (*done >> rank & 1)
			continue;
		at = node_of(job, rank);
		while (at != node && at != job->root && up_of(NULL, at, job->root) != node)
			at = up_of(NULL, at, job->root);
		if (at == node) {
			*done |= 1u << rank;
			value = value_of(job, op, rank, i);
		} else if (at != job->root) {
			value = reduce_at(job, op, at, i, done);
		} else {
			continue;	/* not below this node */
		}
		result = any ? apply(&job->op[op], result, value) : value;
		any = true;
	}
	return result;
}

static void check_result(const struct job *job, const struct user *user, u32 op)
{
	u32 size = shca_reduce_size(job->op[op].type), i, done;
	u64 wanted;

	for (i = 0; i < job->op[op].len / size; i++) {
		done = 0;
		wanted = reduce_at(job, op, job->root, i, &done);
		CHECK(done, (1u << job->size) - 1);
		CHECK(load(user->out + i * size, size), size == 4 ? (u32)wanted : wanted);
	}
}

static void begin_op(struct job *job, struct user *user)
{
	const struct operation *op = &job->op[user->ops];
	u32 size = shca_reduce_size(op->type), i;
	bool in_place = (user->member.rank + user->ops) % 2;
	u8 *in = in_place ? user->out : user->in;

	for (i = 0; i < op->len / size; i++)
		store(in + i * size, value_of(job, user->ops, user->member.rank, i), size);
	shca_reduce_member_begin(&user->member, op->op, op->type, in, user->out, op->len);
}

static void user_sends(struct user *user)
{
	struct fab_reduce_way from = { .lid = user->lid, .qp = user->qp, .qkey = user->qkey, .pkey = PKEY }, to = from;
	u8 data[DATA_MAX];
	u32 len;

	to.qp = SHCA_REDUCE_QP;
	while (!failed && (len = shca_reduce_member_next(&user->member, world->now, &to.lid, data))) {
		CHECK(len <= SHCA_REDUCE_HEAD + max_t(u32, user->member.mtu, 8), true);
		fly(&from, &to, data, len);
	}
}

static void user_leaves(struct user *user)
{
	struct fab_reduce_way from = { .lid = user->lid, .qp = user->qp, .qkey = user->qkey, .pkey = PKEY }, to = from;
	u8 data[SHCA_REDUCE_MESSAGE];
	u32 len = shca_reduce_member_leave(&user->member, &to.lid, data);

	to.qp = SHCA_REDUCE_QP;
	fly(&from, &to, data, len);
	user->has_left = true;
}

/* Return: when it has to run again. */
static u64 user_runs(struct user *user)
{
	struct job *job = &world->job[user->job];

	if (is_dead(user))
		return ~0ull;
	if (user->member.state == SHCA_REDUCE_RUNS && !user->member.left) {
		if (user->begins == ~0ull) {
			check_result(job, user, user->ops++);
			user->begins = world->now + (draw(2) ? 0 : draw(20 * MS));
		}
		if (user->ops == job->ops) {
			user_leaves(user);
			return ~0ull;
		}
		if (world->now < user->begins)
			return user->begins;
		begin_op(job, user);
		user->begins = ~0ull;
	}
	user_sends(user);
	return shca_reduce_member_deadline(&user->member);
}

/* Run until nobody has anything to do, or the time is over. */
static void run(u64 until)
{
	struct datagram *first;
	u64 next;
	u32 i, j;

	while (!failed && world->now < until) {
		steps_begin(endless);
		next = until;
		for (i = 0; i < world->jobs; i++)
			for (j = 0; j < world->job[i].size; j++)
				next = min_t(u64, next, user_runs(&world->job[i].user[j]));
		next = max_t(u64, next, world->now);
		if (world->flying)
			next = min_t(u64, next, world->flight[0]->at);
		next = min_t(u64, next, fab_reduce_advance(&world->reduce, world->now));
		world->now = max_t(u64, next, world->now);
		while (world->flying && world->flight[0]->at <= world->now && !failed) {
			first = land();
			world->carried++;
			arrive(first);
			free(first);
		}
	}
}

static bool all_done(const struct job *job)
{
	u32 i;

	for (i = 0; i < job->size; i++)
		if (!job->user[i].has_left || job->user[i].ops < job->ops)
			return false;
	return true;
}

/* ---- single rules ----------------------------------------------------------- */

static void arithmetic(void)
{
	static const struct {
		u8 op;
		u8 type;
		u64 a;
		u64 b;
		u64 is;
	} rows[] = {
		{ SHCA_REDUCE_SUM, SHCA_REDUCE_I32, 0x7fffffff, 1, 0x80000000 },
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_I32, 0xffffffff, 1, 0xffffffff },
		{ SHCA_REDUCE_MAX, SHCA_REDUCE_I32, 0xffffffff, 1, 1 },
		{ SHCA_REDUCE_AND, SHCA_REDUCE_I32, 0xf0f0f0f0, 0xff00ff00, 0xf000f000 },
		{ SHCA_REDUCE_OR, SHCA_REDUCE_I32, 0xf0f0f0f0, 0xff00ff00, 0xfff0fff0 },
		{ SHCA_REDUCE_SUM, SHCA_REDUCE_I64, ~0ull, 2, 1 },
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_I64, ~0ull, 1, ~0ull },
		{ SHCA_REDUCE_MAX, SHCA_REDUCE_I64, ~0ull, 1, 1 },
		{ SHCA_REDUCE_AND, SHCA_REDUCE_I64, 0xff00ff0012345678, 0xf0f0f0f0ffffffff, 0xf000f00012345678 },
		{ SHCA_REDUCE_OR, SHCA_REDUCE_I64, 0xff00ff0000000001, 0xf0f0f0f000000002, 0xfff0fff000000003 },
		{ SHCA_REDUCE_SUM, SHCA_REDUCE_F32, 0x3f800000, 0x40000000, 0x40400000 },	/* 1 + 2 */
		{ SHCA_REDUCE_SUM, SHCA_REDUCE_F32, 0x3f800000, 0x33000000, 0x3f800000 },	/* 1 + 2^-25 */
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_F32, 0xbf800000, 0x3f800000, 0xbf800000 },
		{ SHCA_REDUCE_MAX, SHCA_REDUCE_F32, 0xbf800000, 0x3f800000, 0x3f800000 },
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_F32, 0x7fc00001, 0x3f800000, 0x7fc00001 },	/* no number, 1 */
		{ SHCA_REDUCE_MAX, SHCA_REDUCE_F32, 0x3f800000, 0x7fc00001, 0x3f800000 },
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_F32, 0x00000000, 0x80000000, 0x00000000 },	/* 0, -0 */
		{ SHCA_REDUCE_SUM, SHCA_REDUCE_F64, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000 },
		{ SHCA_REDUCE_MIN, SHCA_REDUCE_F64, 0xbff0000000000000, 0x3ff0000000000000, 0xbff0000000000000 },
		{ SHCA_REDUCE_MAX, SHCA_REDUCE_F64, 0xbff0000000000000, 0x3ff0000000000000, 0x3ff0000000000000 },
	};
	u8 a[24] = { 0 }, b[24] = { 0 };
	u64 first, second, is;
	u32 i, j, size;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size = shca_reduce_size(rows[i].type);
		first = htole64(rows[i].a);
		second = htole64(rows[i].b);
		for (j = 0; j < 3; j++) {
			memcpy(a + j * size, &first, size);
			memcpy(b + j * size, &second, size);
		}
		/* (only two of three) */
		shca_reduce_apply(rows[i].op, rows[i].type, a, b, 2 * size);
		for (j = 0; j < 3; j++) {
			is = 0;
			memcpy(&is, a + j * size, size);
			CHECK(le64toh(is), j < 2 ? rows[i].is : rows[i].a);
		}
	}
	CHECK(shca_reduce_ok(SHCA_REDUCE_OR, SHCA_REDUCE_I64, 16), true);
	CHECK(shca_reduce_ok(SHCA_REDUCE_OR, SHCA_REDUCE_I64, 12), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_OR + 1, SHCA_REDUCE_I64, 16), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_SUM, SHCA_REDUCE_I32, 12), true);
	CHECK(shca_reduce_ok(SHCA_REDUCE_SUM, SHCA_REDUCE_I32, 0), false);
	CHECK(shca_reduce_ok(0, SHCA_REDUCE_I32, 12), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_SUM, 0, 12), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_SUM, SHCA_REDUCE_F64 + 1, 16), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_MAX, SHCA_REDUCE_F32, 4), true);
	CHECK(shca_reduce_ok(SHCA_REDUCE_AND, SHCA_REDUCE_F32, 4), false);
	CHECK(shca_reduce_ok(SHCA_REDUCE_OR, SHCA_REDUCE_F64, 8), false);
}

/* A sender by hand. */
static const struct fab_reduce_way from_1 = { .lid = 1, .qp = 0x100, .qkey = 0x1234, .pkey = PKEY };
static const struct fab_reduce_way from_2 = { .lid = 2, .qp = 0x101, .qkey = 0x1234, .pkey = PKEY };

/* What a JOIN is answered; of a refusal, the reason and 0x100. */
static u32 join(u16 node, const struct fab_reduce_way *from, u32 job, u16 rank, u16 size, u16 bytes,
		struct shca_reduce_head *head, struct shca_reduce_ready *ready)
{
	const struct shca_reduce_head ask = { .kind = SHCA_REDUCE_JOIN, .job = job };
	const struct shca_reduce_join body = { .rank = rank, .size = size, .bytes = bytes };
	u8 data[SHCA_REDUCE_MESSAGE], answer[SHCA_REDUCE_MESSAGE];

	shca_reduce_build(&ask, data);
	shca_reduce_join_build(&body, data);
	if (!node_receives(node, from, data, sizeof(data), answer))
		return 0;
	CHECK(shca_reduce_parse(head, answer, sizeof(answer)), true);
	CHECK(head->job, job);
	shca_reduce_ready_parse(ready, answer);
	return head->kind == SHCA_REDUCE_REFUSED ? 0x100 + head->op : head->kind;
}

static struct shca_reduce_head head_is;
static struct shca_reduce_ready ready_is;

static u32 joins(const struct fab_reduce_way *from, u32 job, u16 rank, u16 size)
{
	return join(0, from, job, rank, size, 64, &head_is, &ready_is);
}

/* Return: as join() does; 0: no answer. */
static u32 add(u16 node, const struct fab_reduce_way *from, u32 chunk, u16 part, u16 child, u8 op, u8 type, u32 len, u32 value)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_ADD, .op = op, .type = type, .job = 5,
					       .chunk = chunk, .part = part, .child = child };
	u8 data[DATA_MAX] = { 0 }, answer[SHCA_REDUCE_MESSAGE];

	shca_reduce_build(&head, data);
	value = htole32(value);
	memcpy(data + SHCA_REDUCE_HEAD, &value, sizeof(value));
	if (!node_receives(node, from, data, SHCA_REDUCE_HEAD + len, answer))
		return 0;
	CHECK(shca_reduce_parse(&head_is, answer, sizeof(answer)), true);
	CHECK(head_is.kind, SHCA_REDUCE_REFUSED);
	return 0x100 + head_is.op;
}

/* A child asks for a result. Return: kind of the answer, and 0x100 and the reason of a refusal; 0: no answer. */
static u32 ask(u16 node, const struct fab_reduce_way *from, u32 chunk, u16 part, u16 child, u32 len)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_ASK, .job = 5, .chunk = chunk, .part = part, .child = child };
	u8 data[SHCA_REDUCE_MESSAGE] = { 0 }, answer[SHCA_REDUCE_MESSAGE];

	shca_reduce_build(&head, data);
	if (!node_receives(node, from, data, SHCA_REDUCE_HEAD + len, answer))
		return 0;
	CHECK(shca_reduce_parse(&head_is, answer, sizeof(answer)), true);
	CHECK(head_is.chunk, chunk);
	return head_is.kind == SHCA_REDUCE_REFUSED ? 0x100 + head_is.op : head_is.kind;
}

/* The next datagram of a node is this. */
static void expect(u16 node, u8 kind, u16 lid, u32 qp, u32 chunk, u32 value)
{
	struct shca_reduce_head head = { 0 };
	struct fab_reduce_way to = { 0 };
	u8 data[DATA_MAX];
	u32 len = fab_reduce_next(&world->reduce, node, &to, data), got = 0;

	CHECK(len > SHCA_REDUCE_HEAD, true);
	if (!len)
		return;
	CHECK(shca_reduce_parse(&head, data, len), true);
	CHECK(head.kind, kind);
	CHECK(to.lid, lid);
	CHECK(to.qp, qp);
	CHECK(to.qkey, 0x1234);
	CHECK(to.pkey, PKEY);
	CHECK(head.chunk, chunk);
	memcpy(&got, data + SHCA_REDUCE_HEAD, sizeof(got));
	CHECK(le32toh(got), value);
}

static void expect_nothing(u16 node)
{
	struct fab_reduce_way to;
	u8 data[DATA_MAX];

	CHECK(fab_reduce_next(&world->reduce, node, &to, data), 0);
}

/* Two members join. Return: as join() does, of the second one. */
static u32 pair(u32 job)
{
	CHECK(joins(&from_1, job, 0, 2), SHCA_REDUCE_WAIT);
	return joins(&from_2, job, 1, 2);
}

/* Job 5 of two members at one node. */
static void begin_pair(void)
{
	begin(1);
	world->at[1] = 0;
	world->at[2] = 0;
	CHECK(joins(&from_1, 5, 0, 2), SHCA_REDUCE_WAIT);
	CHECK(joins(&from_1, 5, 0, 2), SHCA_REDUCE_WAIT);
	CHECK(joins(&from_2, 5, 1, 2), SHCA_REDUCE_READY);
	CHECK(head_is.child, 1);
	CHECK(joins(&from_1, 5, 0, 2), SHCA_REDUCE_READY);
	CHECK(head_is.child, 0);
	CHECK(ready_is.lid, NODE_LID);
	CHECK(ready_is.slots, SHCA_REDUCE_SLOTS);
	CHECK(ready_is.bytes, 64);
}

static u32 add_sum(u16 node, const struct fab_reduce_way *from, u32 chunk, u16 part, u16 child, u32 len, u32 value)
{
	return add(node, from, chunk, part, child, SHCA_REDUCE_SUM, SHCA_REDUCE_I32, len, value);
}

/* A slot: who gets what when. */
static void slots(void)
{
	u16 part;

	begin_pair();
	part = head_is.part;
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	expect_nothing(0);
	/* Again: nothing is added twice. */
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	expect_nothing(0);
	add_sum(0, &from_1, 0, part, 0, 4, 3);
	expect(0, SHCA_REDUCE_RESULT, 1, 0x100, 0, 23);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 23);
	expect_nothing(0);
	/* One has lost it. */
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 23);
	expect_nothing(0);
	/* The other one goes on, and the result is still there. */
	add_sum(0, &from_1, SHCA_REDUCE_SLOTS, part, 0, 4, 100);
	expect_nothing(0);
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 23);
	add_sum(0, &from_2, SHCA_REDUCE_SLOTS, part, 1, 4, 1000);
	expect(0, SHCA_REDUCE_RESULT, 1, 0x100, SHCA_REDUCE_SLOTS, 1100);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, SHCA_REDUCE_SLOTS, 1100);
	/* What is late by two rounds, or early, changes nothing. */
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	add_sum(0, &from_2, 3 * SHCA_REDUCE_SLOTS, part, 1, 4, 20);
	expect_nothing(0);
	CHECK(world->reduce.counters.stale, 2);
	/* Two slots have nothing to do with each other. */
	add_sum(0, &from_1, 7, part, 0, 4, 1);
	add_sum(0, &from_2, 9, part, 1, 4, 1);
	expect_nothing(0);
	end();
}

/* A member that waits asks before it sends its values again. */
static void questions(void)
{
	struct fab_reduce_way other = from_2;
	u16 part;

	begin_pair();
	part = head_is.part;
	CHECK(ask(0, &from_2, 0, part, 1, 0), SHCA_REDUCE_AGAIN);
	add_sum(0, &from_2, 0, part, 1, 4, 20);
	/* They are there, but those of the other one are not. */
	CHECK(ask(0, &from_2, 0, part, 1, 0), 0);
	CHECK(ask(0, &from_1, 0, part, 0, 0), SHCA_REDUCE_AGAIN);
	expect_nothing(0);
	add_sum(0, &from_1, 0, part, 0, 4, 3);
	expect(0, SHCA_REDUCE_RESULT, 1, 0x100, 0, 23);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 23);
	/* The result was lost. */
	CHECK(ask(0, &from_2, 0, part, 1, 0), 0);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 23);
	expect_nothing(0);
	CHECK(ask(0, &from_2, SHCA_REDUCE_SLOTS, part, 1, 0), SHCA_REDUCE_AGAIN);
	CHECK(ask(0, &from_2, 2 * SHCA_REDUCE_SLOTS, part, 1, 0), 0);
	CHECK(world->reduce.counters.stale, 1);
	/* With values, as another child, of another job. */
	CHECK(ask(0, &from_2, 0, part, 1, 4), 0);
	CHECK(world->reduce.counters.bad, 1);
	CHECK(ask(0, &from_2, 0, part, 0, 0), 0);
	CHECK(world->reduce.counters.foreign, 1);
	other.qkey++;
	CHECK(ask(0, &other, 0, part, 1, 0), 0x100 + SHCA_REDUCE_NO_JOB);
	expect_nothing(0);
	end();
}

/* What nobody who may send it sends. */
static void refusals(void)
{
	static const u8 kinds[] = { 0, SHCA_REDUCE_WAIT, SHCA_REDUCE_READY, SHCA_REDUCE_REFUSED, SHCA_REDUCE_AGAIN, SHCA_REDUCE_AGAIN + 1 };
	struct fab_reduce_way other = from_2;
	u16 part;
	u32 i;

	begin_pair();
	part = head_is.part;
	/* Another one of the same host, another host, another Q_Key, another partition. */
	other.qp++;
	CHECK(add_sum(0, &other, 0, part, 1, 4, 1), 0);
	other = from_2;
	other.lid++;
	CHECK(add_sum(0, &other, 0, part, 1, 4, 1), 0);
	other = from_2;
	other.pkey = 0x8001;
	CHECK(add_sum(0, &other, 0, part, 1, 4, 1), 0);
	CHECK(world->reduce.counters.foreign, 3);
	other = from_2;
	other.qkey++;
	CHECK(add_sum(0, &other, 0, part, 1, 4, 1), 0x100 + SHCA_REDUCE_NO_JOB);
	CHECK(add_sum(0, &from_2, 0, part + 1, 1, 4, 1), 0x100 + SHCA_REDUCE_NO_JOB);
	CHECK(add_sum(0, &from_2, 0, part ^ 0x100, 1, 4, 1), 0x100 + SHCA_REDUCE_NO_JOB);
	/* A member as another one, and as one that there is not. */
	CHECK(add_sum(0, &from_2, 0, part, 0, 4, 1), 0);
	CHECK(add_sum(0, &from_2, 0, part, 2, 4, 1), 0);
	CHECK(world->reduce.counters.foreign, 5);
	/* Wrong lengths, operations and types. */
	CHECK(add_sum(0, &from_2, 0, part, 1, 68, 1), 0);
	CHECK(add_sum(0, &from_2, 0, part, 1, 6, 1), 0);
	CHECK(add_sum(0, &from_2, 0, part, 1, 0, 1), 0);
	CHECK(add(0, &from_2, 0, part, 1, 0, SHCA_REDUCE_I32, 4, 1), 0);
	CHECK(add(0, &from_2, 0, part, 1, SHCA_REDUCE_AND, SHCA_REDUCE_F32, 4, 1), 0);
	CHECK(world->reduce.counters.bad, 5);
	add_sum(0, &from_1, 0, part, 0, 8, 1);
	/* Others than the first one had. */
	CHECK(add_sum(0, &from_2, 0, part, 1, 4, 1), 0);
	CHECK(add(0, &from_2, 0, part, 1, SHCA_REDUCE_MAX, SHCA_REDUCE_I32, 8, 1), 0);
	CHECK(add(0, &from_2, 0, part, 1, SHCA_REDUCE_SUM, SHCA_REDUCE_I64, 8, 1), 0);
	CHECK(world->reduce.counters.bad, 8);
	expect_nothing(0);
	add_sum(0, &from_2, 0, part, 1, 8, 2);
	expect(0, SHCA_REDUCE_RESULT, 1, 0x100, 0, 3);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 3);
	/* What members get, and what nobody sends. */
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct shca_reduce_head head = { .kind = kinds[i], .job = 5, .part = part };
		u8 data[SHCA_REDUCE_MESSAGE] = { 0 }, answer[SHCA_REDUCE_MESSAGE];

		shca_reduce_build(&head, data);
		CHECK(node_receives(0, &from_2, data, sizeof(data), answer), false);
	}
	CHECK(world->reduce.counters.bad, 14);
	/* JOIN: another size, a rank that another one has, no rank of the job, no job of any member. */
	CHECK(joins(&from_2, 5, 1, 3), 0x100 + SHCA_REDUCE_NOT_SAME);
	CHECK(joins(&from_2, 5, 0, 2), 0x100 + SHCA_REDUCE_NOT_SAME);
	CHECK(joins(&from_2, 6, 2, 2), 0);
	CHECK(joins(&from_2, 6, 0, 1), 0);
	CHECK(joins(&from_2, 6, 0, FAB_REDUCE_MEMBERS + 1), 0);
	CHECK(join(0, &from_2, 6, 0, 2, 7, &head_is, &ready_is), 0);
	CHECK(world->reduce.counters.bad, 18);
	other = from_1;
	other.pkey = 0x8001;
	CHECK(joins(&other, 5, 0, 2), 0x100 + SHCA_REDUCE_NOT_SAME);
	/* (a limited member of the partition) */
	other.pkey = PKEY & 0x7fff;
	CHECK(joins(&other, 5, 0, 2), SHCA_REDUCE_READY);
	/* A host begins a few jobs, and others can begin theirs. */
	for (i = 1; i < FAB_REDUCE_HOST_JOBS; i++)
		CHECK(joins(&from_1, 100 + i, 0, 2), SHCA_REDUCE_WAIT);
	CHECK(joins(&from_1, 100 + i, 0, 2), 0x100 + SHCA_REDUCE_NO_ROOM);
	CHECK(joins(&from_2, 100 + i, 0, 2), SHCA_REDUCE_WAIT);
	end();
}

static void room(void)
{
	struct fab_reduce_way from = from_1;
	u32 i;

	/* As many jobs as there can be. */
	begin(1);
	for (i = 0; i < FAB_REDUCE_JOBS; i++) {
		from.lid = 1 + i;
		CHECK(joins(&from, i, 0, 2), SHCA_REDUCE_WAIT);
	}
	/* Each is found again. */
	for (i = 0; i < FAB_REDUCE_JOBS; i++) {
		from.lid = 1 + i;
		CHECK(joins(&from, i, 0, 2), SHCA_REDUCE_WAIT);
	}
	from.lid++;
	CHECK(joins(&from, i, 0, 2), 0x100 + SHCA_REDUCE_NO_ROOM);
	/* Nobody else joins them. */
	world->now += FAB_REDUCE_BRIEF_NS - 1;
	fab_reduce_advance(&world->reduce, world->now);
	CHECK(joins(&from, i, 0, 2), 0x100 + SHCA_REDUCE_NO_ROOM);
	world->now += 1 + SECOND;
	CHECK(fab_reduce_advance(&world->reduce, world->now), ~0ull);
	CHECK(joins(&from, i, 0, 2), SHCA_REDUCE_WAIT);
	CHECK(fab_reduce_advance(&world->reduce, world->now), world->now + FAB_REDUCE_BRIEF_NS);
	end();
	/* Memory: for one, but not for two. */
	begin_pair();
	CHECK(world->reduce.used > SHCA_REDUCE_SLOTS * 3 * 64, true);
	world->reduce.room = 2 * world->reduce.used - 1;
	CHECK(pair(6), 0x100 + SHCA_REDUCE_NO_ROOM);
	CHECK(joins(&from_1, 6, 0, 2), 0x100 + SHCA_REDUCE_NO_ROOM);
	world->reduce.room++;
	CHECK(pair(7), SHCA_REDUCE_READY);
	world->reduce.room *= 2;
	world->no_memory = true;
	CHECK(pair(8), 0x100 + SHCA_REDUCE_NO_ROOM);
	end();
	/* No way to a member. */
	begin(1);
	world->at[1] = 0;
	CHECK(pair(5), 0x100 + SHCA_REDUCE_NO_TREE);
	end();
	/* More children than a node can have. */
	begin(1);
	for (i = 0; i <= FAB_REDUCE_CHILDREN; i++) {
		from.lid = 1 + i;
		world->at[from.lid] = 0;
		CHECK(joins(&from, 5, i, FAB_REDUCE_CHILDREN + 1),
		      i < FAB_REDUCE_CHILDREN ? SHCA_REDUCE_WAIT : 0x100 + SHCA_REDUCE_TOO_WIDE);
	}
	for (i = 0; i < FAB_REDUCE_CHILDREN; i++) {
		from.lid = 1 + i;
		CHECK(joins(&from, 6, i, FAB_REDUCE_CHILDREN), i + 1 < FAB_REDUCE_CHILDREN ? SHCA_REDUCE_WAIT : SHCA_REDUCE_READY);
	}
	CHECK(head_is.child, FAB_REDUCE_CHILDREN - 1);
	end();
}

static u16 in_a_circle(struct fab_reduce *reduce, u16 node, u16 root)
{
	return node == 1 ? 2 : 1;
}

static u16 to_nowhere(struct fab_reduce *reduce, u16 node, u16 root)
{
	return FAB_REDUCE_NONE;
}

/* Forwarding tables that lead nowhere. */
static void no_tree(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		begin(3);
		world->reduce.up = i ? to_nowhere : in_a_circle;
		world->at[1] = 1;
		world->at[2] = 2;
		CHECK(joins(&from_1, 5, 0, 2), SHCA_REDUCE_WAIT);
		CHECK(joins(&from_2, 5, 1, 2), 0x100 + SHCA_REDUCE_NO_TREE);
		CHECK(joins(&from_1, 5, 0, 2), 0x100 + SHCA_REDUCE_NO_TREE);
		end();
	}
}

static void leave(const struct fab_reduce_way *from)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_LEAVE, .job = 5 };
	u8 data[SHCA_REDUCE_HEAD], answer[SHCA_REDUCE_MESSAGE];

	shca_reduce_build(&head, data);
	CHECK(node_receives(0, from, data, sizeof(data), answer), false);
}

static void leaving(void)
{
	struct fab_reduce_way other = from_1;
	u16 part;

	begin_pair();
	part = head_is.part;
	add_sum(0, &from_1, 0, part, 0, 4, 1);
	add_sum(0, &from_2, 0, part, 1, 4, 2);
	expect(0, SHCA_REDUCE_RESULT, 1, 0x100, 0, 3);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 3);
	/* (of somebody else) */
	other.qp++;
	leave(&other);
	other = from_1;
	other.qkey++;
	leave(&other);
	CHECK(add_sum(0, &from_2, SHCA_REDUCE_SLOTS, part, 1, 4, 2), 0);
	leave(&from_1);
	leave(&from_1);
	/* What was lost is there yet; nothing new is begun. */
	add_sum(0, &from_2, 0, part, 1, 4, 2);
	expect(0, SHCA_REDUCE_RESULT, 2, 0x101, 0, 3);
	CHECK(add_sum(0, &from_2, 1, part, 1, 4, 2), 0x100 + SHCA_REDUCE_LEFT);
	CHECK(head_is.chunk, 1);
	CHECK(world->taken, 1);
	/* The last one may leave while there is something to send. */
	add_sum(0, &from_2, 0, part, 1, 4, 2);
	leave(&from_2);
	expect_nothing(0);
	CHECK(world->taken, 0);
	CHECK(add_sum(0, &from_2, 0, part, 1, 4, 2), 0x100 + SHCA_REDUCE_NO_JOB);
	end();
	/* One leaves, and of the other one is nothing heard. */
	begin_pair();
	leave(&from_1);
	world->now += FAB_REDUCE_BRIEF_NS;
	fab_reduce_advance(&world->reduce, world->now);
	CHECK(world->taken, 0);
	end();
	/* A job in which nobody has anything to do for long. */
	begin_pair();
	world->now += FAB_REDUCE_IDLE_NS - 1;
	CHECK(fab_reduce_advance(&world->reduce, world->now), world->now + 1);
	CHECK(world->taken, 1);
	world->now++;
	fab_reduce_advance(&world->reduce, world->now);
	CHECK(world->taken, 0);
	end();
}

/* Nodes 1 and 2 below node 0: what passes between nodes, and who asks again. */
static void levels(void)
{
	static const struct fab_reduce_way node_1 = { .lid = NODE_LID + 1, .qp = SHCA_REDUCE_QP, .qkey = 0x1234, .pkey = PKEY };
	static const struct fab_reduce_way node_2 = { .lid = NODE_LID + 2, .qp = SHCA_REDUCE_QP, .qkey = 0x1234, .pkey = PKEY };
	static const struct fab_reduce_way node_0 = { .lid = NODE_LID, .qp = SHCA_REDUCE_QP, .qkey = 0x1234, .pkey = PKEY };
	struct fab_reduce_way from[4], other;
	u8 result[SHCA_REDUCE_HEAD + 4], answer[SHCA_REDUCE_MESSAGE];
	struct shca_reduce_head head = { .kind = SHCA_REDUCE_RESULT, .op = SHCA_REDUCE_SUM, .type = SHCA_REDUCE_I32, .job = 5 };
	u32 i, value = htole32(1111);
	u16 part[4], root;

	begin(3);
	for (i = 0; i < 4; i++) {
		from[i] = from_1;
		from[i].lid = 1 + i;
		world->at[1 + i] = 1 + i % 2;	/* 0 and 2 at node 1; 1 and 3 at node 2 */
	}
	for (i = 0; i < 8; i++) {
		CHECK(join(0, &from[i % 4], 5, i % 4, 4, 200, &head_is, &ready_is),
		      i < 3 ? SHCA_REDUCE_WAIT : SHCA_REDUCE_READY);
		part[i % 4] = head_is.part;
		if (i < 4)
			continue;
		CHECK(ready_is.lid, NODE_LID + 1 + i % 2);
		CHECK(head_is.child, i % 4 / 2);
	}
	CHECK(part[0], part[2]);
	CHECK(part[1], part[3]);
	root = (part[0] & 0xff00) | 1;	/* (behind the first one below it) */
	add_sum(1, &from[2], 0, part[2], 1, 4, 100);
	add_sum(1, &from[0], 0, part[0], 0, 4, 1);
	expect(1, SHCA_REDUCE_ADD, NODE_LID, SHCA_REDUCE_QP, 0, 101);
	expect_nothing(1);
	/* It is lost. Only the first child's asking goes on, in either form. */
	CHECK(ask(1, &from[2], 0, part[2], 1, 0), 0);
	expect_nothing(1);
	CHECK(ask(1, &from[0], 0, part[0], 0, 0), 0);
	expect(1, SHCA_REDUCE_ADD, NODE_LID, SHCA_REDUCE_QP, 0, 101);
	add_sum(1, &from[2], 0, part[2], 1, 4, 100);
	expect_nothing(1);
	add_sum(1, &from[0], 0, part[0], 0, 4, 1);
	expect(1, SHCA_REDUCE_ADD, NODE_LID, SHCA_REDUCE_QP, 0, 101);
	/* Its result, from others than the parent; of another chunk, operation or length; and right. */
	head.part = part[0];
	shca_reduce_build(&head, result);
	memcpy(result + SHCA_REDUCE_HEAD, &value, 4);
	CHECK(node_receives(1, &node_2, result, sizeof(result), answer), false);
	other = node_0;
	other.qp++;
	CHECK(node_receives(1, &other, result, sizeof(result), answer), false);
	other = node_0;
	other.pkey = 0x8001;
	CHECK(node_receives(1, &other, result, sizeof(result), answer), false);
	other = node_0;
	other.qkey++;
	CHECK(node_receives(1, &other, result, sizeof(result), answer), false);
	CHECK(world->reduce.counters.foreign, 4);
	head.chunk = 1;
	shca_reduce_build(&head, result);
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	head.chunk = SHCA_REDUCE_SLOTS;
	shca_reduce_build(&head, result);
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	CHECK(world->reduce.counters.stale, 2);
	head.chunk = 0;
	head.op = SHCA_REDUCE_MAX;
	shca_reduce_build(&head, result);
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	head.op = SHCA_REDUCE_SUM;
	head.type = SHCA_REDUCE_F32;
	shca_reduce_build(&head, result);
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	head.type = SHCA_REDUCE_I32;
	shca_reduce_build(&head, result);
	CHECK(node_receives(1, &node_0, result, sizeof(result) - 4, answer), false);
	CHECK(world->reduce.counters.bad, 3);
	expect_nothing(1);
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	expect(1, SHCA_REDUCE_RESULT, 1, 0x100, 0, 1111);
	expect(1, SHCA_REDUCE_RESULT, 3, 0x100, 0, 1111);
	expect_nothing(1);
	/* Again: nothing, and the members who ask have it. */
	CHECK(node_receives(1, &node_0, result, sizeof(result), answer), false);
	expect_nothing(1);
	add_sum(1, &from[2], 0, part[2], 1, 4, 100);
	expect(1, SHCA_REDUCE_RESULT, 3, 0x100, 0, 1111);
	/* The root is part of node 0, of which both nodes are children, in the order of their ranks. */
	add_sum(0, &node_2, 0, root, 1, 4, 10);
	expect_nothing(0);
	add_sum(0, &node_1, 0, root, 1, 4, 10);
	CHECK(world->reduce.counters.foreign, 5);
	add_sum(0, &from[0], 0, root, 0, 4, 10);
	CHECK(world->reduce.counters.foreign, 6);
	add_sum(0, &node_1, 0, root, 0, 4, 1);
	expect(0, SHCA_REDUCE_RESULT, NODE_LID + 1, SHCA_REDUCE_QP, 0, 11);
	expect(0, SHCA_REDUCE_RESULT, NODE_LID + 2, SHCA_REDUCE_QP, 0, 11);
	/* A result for the root is nobody's. */
	head.part = root;
	head.chunk = SHCA_REDUCE_SLOTS;
	shca_reduce_build(&head, result);
	CHECK(node_receives(0, &node_1, result, sizeof(result), answer), false);
	CHECK(world->reduce.counters.foreign, 7);
	/* A member leaves: nothing begins at any part. What is under way at another part goes on. */
	add_sum(2, &from[1], 0, part[1], 0, 4, 1);
	add_sum(2, &from[3], 0, part[3], 1, 4, 1);
	expect(2, SHCA_REDUCE_ADD, NODE_LID, SHCA_REDUCE_QP, 0, 2);
	leave(&from[0]);
	CHECK(add_sum(2, &from[1], 0, part[1], 0, 4, 1), 0);
	expect(2, SHCA_REDUCE_ADD, NODE_LID, SHCA_REDUCE_QP, 0, 2);
	CHECK(add_sum(2, &from[1], 1, part[1], 0, 4, 1), 0x100 + SHCA_REDUCE_LEFT);
	end();
}

/* Two jobs at a node send in turn, and so do the slots of a job. */
static void turns(void)
{
	struct fab_reduce_way to;
	struct shca_reduce_head head;
	u8 data[DATA_MAX];
	u32 i, chunk;
	u16 part[2];

	begin_pair();
	part[0] = head_is.part;
	CHECK(pair(6), SHCA_REDUCE_READY);
	part[1] = head_is.part;
	for (chunk = 0; chunk < 4; chunk++)
		for (i = 0; i < 4; i++) {
			const struct shca_reduce_head adds = {
				.kind = SHCA_REDUCE_ADD, .op = SHCA_REDUCE_SUM, .type = SHCA_REDUCE_I32,
				.job = 5 + i / 2, .chunk = chunk, .part = part[i / 2], .child = i % 2,
			};

			shca_reduce_build(&adds, data);
			CHECK(node_receives(0, i % 2 ? &from_2 : &from_1, data, SHCA_REDUCE_HEAD + 4, data + 100), false);
		}
	/* Each chunk has two results, and a slot sends one at a time. */
	for (i = 0; i < 8; i++) {
		CHECK(fab_reduce_next(&world->reduce, 0, &to, data), SHCA_REDUCE_HEAD + 4);
		CHECK(shca_reduce_parse(&head, data, SHCA_REDUCE_HEAD), true);
		CHECK(head.job, 5 + i % 2);
		CHECK(head.chunk, i / 2);
		CHECK(to.lid, 1);
		/* What the first slot has again comes behind what the others have. */
		if (i == 1)
			CHECK(add_sum(0, &from_1, 0, part[0], 0, 4, 1), 0);
	}
	end();
}

/* Eight members below two nodes below one have 100 chunks, and the last member begins when it likes. */
static struct job *hundred(u64 late)
{
	struct job *job;
	u32 i;

	begin(3);
	world->delay = 1000;
	job = add_job(8, 0);
	for (i = 0; i < 8; i++) {
		world->at[job->user[i].lid] = 1 + i / 4;
		job->user[i].member.mtu = 80;
	}
	add_op(job, SHCA_REDUCE_SUM, SHCA_REDUCE_F32, 2000);
	job->user[7].begins += late;
	run(world->now + 10 * SECOND);
	CHECK(all_done(job), true);
	return job;
}

/* Of each member and both nodes one up and one down for each chunk; they join, and leave. */
#define HUNDRED_MOST	(100 * 20 + 8 * 2 * 8 + 8)

/* How many datagrams an operation takes, and that none is sent again without a loss. */
static void counts(void)
{
	const struct job *job = hundred(0);
	u32 i;

	CHECK(world->carried <= HUNDRED_MOST, true);
	for (i = 0; i < 8; i++)
		CHECK(job->user[i].member.again, 0);
	end();
}

/* Members that wait for a late one ask by one datagram at a time, and seldom. No result is sent again. */
static void late(void)
{
	const struct job *job = hundred(SECOND);
	u32 i;

	CHECK(world->carried <= HUNDRED_MOST + 7 * 4, true);
	for (i = 0; i < 7; i++)
		CHECK(job->user[i].member.again - 1 < 4, true);
	CHECK(job->user[7].member.again, 0);
	end();
}

/* Numbers of chunks begin anew after the highest one. */
static void wraps(void)
{
	struct job *job;
	u32 i, j, k;

	begin(2);
	world->delay = 1000;
	job = add_job(3, 0);
	add_op(job, SHCA_REDUCE_SUM, SHCA_REDUCE_I32, 1600);
	for (i = 0; i < 3; i++)
		job->user[i].begins = world->now + SECOND;
	run(world->now + SECOND / 2);
	for (i = 0; i < 3; i++) {
		CHECK(job->user[i].member.state, SHCA_REDUCE_RUNS);
		job->user[i].member.base = 0u - SHCA_REDUCE_SLOTS;
	}
	for (k = 0; k < FAB_REDUCE_JOBS; k++)
		for (i = 0; i < world->reduce.jobs[k].parts_nr; i++)
			for (j = 0; j < SHCA_REDUCE_SLOTS; j++)
				world->reduce.jobs[k].parts[i].slots[j].chunk = 0u - SHCA_REDUCE_SLOTS + j;
	run(world->now + 10 * SECOND);
	CHECK(all_done(job), true);
	end();
}

/* ---- random ----------------------------------------------------------------- */

/* An outsider sends what it likes: noise, and what others have sent, changed. */
static void strange(void)
{
	struct fab_reduce_way from = { .lid = 500 + draw(3), .qp = draw(2) ? SHCA_REDUCE_QP : 0x100, .qkey = 0x1234 + draw(6), .pkey = PKEY };
	u8 data[DATA_MAX], answer[SHCA_REDUCE_MESSAGE];
	const struct job *job = &world->job[draw(world->jobs)];
	const struct shca_reduce_head head = {
		.kind = draw(11), .op = draw(7), .type = draw(6), .job = draw(4) ? 77 : draw(100), .chunk = draw(300),
		.part = (draw(4) ? FAB_REDUCE_JOBS - 1 - draw(world->jobs) : draw(256)) << 8 | draw(12), .child = draw(12),
	};
	u32 len = draw(4) ? SHCA_REDUCE_HEAD + 4 * draw(18) : draw(DATA_MAX), i;
	u16 node = draw(world->nodes);
	const struct shca_reduce_join body = { .rank = draw(20), .size = draw(2) ? job->size : draw(300), .bytes = draw(5000) };

	for (i = 0; i < sizeof(data); i++)
		data[i] = draw(256);
	if (draw(8)) {
		shca_reduce_build(&head, data);
		if (head.kind == SHCA_REDUCE_JOIN) {
			shca_reduce_join_build(&body, data);
			len = SHCA_REDUCE_MESSAGE;
			/* One who knows the number and the Q_Key of a job is a member. */
			if (head.job == 77 && from.qkey < 0x1234 + world->jobs)
				return;
		}
	}
	node_receives(node, &from, data, len, answer);
	node_sends(node);
	/* And to a member. */
	shca_reduce_member_receive((struct shca_reduce_member *)&job->user[draw(job->size)].member, from.lid, from.qp, data, len,
				   world->now);
}

static void random_ops(struct job *job)
{
	u32 ops = 1 + draw(OPS_MAX), i;

	for (i = 0; i < ops; i++) {
		u8 type = SHCA_REDUCE_I32 + draw(4);
		u8 op = SHCA_REDUCE_SUM + draw(type == SHCA_REDUCE_I32 || type == SHCA_REDUCE_I64 ? 5 : 3);

		add_op(job, op, type, 1 + draw(draw(3) ? 60 : VALUES_MAX / 8));
	}
}

enum trouble {
	LOST_AND_AGAIN,
	OUTSIDERS,
	DEAD_MEMBERS,
};

static void one_random(u64 seed, enum trouble trouble)
{
	u32 jobs, i, j, dead;
	u64 until;

	random_state = seed * 1000003 + trouble;
	begin(1 + draw(NODES_MAX));
	for (i = 1; i < world->nodes; i++)
		world->next[i] = draw(i);
	jobs = 1 + draw(JOBS_MAX);
	for (i = 0; i < jobs; i++) {
		struct job *job = add_job(1 + draw(MEMBERS_MAX), draw(world->nodes));

		random_ops(job);
		for (j = 0; j < job->size; j++) {
			job->user[j].member.mtu = 64 + draw(200);
			/* Each asks any node; the root is that of rank 0. */
			if (j && draw(2))
				job->user[j].member.entry = NODE_LID + draw(world->nodes);
		}
	}
	world->loss = draw(3) ? 5 + draw(100) : 0;
	world->again = draw(3) ? 3 + draw(20) : 0;
	world->delay = 1000 + draw(2) * draw(5 * MS);
	dead = trouble == DEAD_MEMBERS ? draw(world->job[0].size) : 0;
	if (trouble == DEAD_MEMBERS)
		world->job[0].user[dead].dies = world->now + draw(300 * MS);
	until = world->now + 400 * SECOND;
	for (i = 0; trouble == OUTSIDERS && i < 300 && !failed; i++) {
		run(world->now + draw(2 * MS));
		strange();
	}
	if (trouble == DEAD_MEMBERS)
		until = world->now + 400 * SECOND;
	for (i = 0; i < 4000 && world->now < until && !failed; i++) {
		bool all = true;

		for (j = trouble == DEAD_MEMBERS ? 1 : 0; j < world->jobs; j++)
			all &= all_done(&world->job[j]);
		if (all)
			break;
		run(world->now + 100 * MS);
	}
	for (i = trouble == DEAD_MEMBERS ? 1 : 0; i < world->jobs; i++)
		CHECK(all_done(&world->job[i]), true);
	CHECK(world->reduce.used <= world->reduce.room, true);
	if (failed)
		printf("# seed %llu: %u nodes, %u jobs\n", (unsigned long long)seed, world->nodes, world->jobs);
	end();
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "arithmetic", arithmetic },
	{ "slots", slots },
	{ "questions", questions },
	{ "refusals", refusals },
	{ "room", room },
	{ "no_tree", no_tree },
	{ "leaving", leaving },
	{ "levels", levels },
	{ "turns", turns },
	{ "counts", counts },
	{ "late", late },
	{ "wraps", wraps },
};

int main(int argc, char **argv)
{
	static const char *const troubles[] = { "lost_and_again", "outsiders", "dead_members" };
	u32 seeds = argc > 1 ? strtoul(argv[1], NULL, 0) : 50, bad = 0, i;
	u64 seed, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	char name[64];

	for (i = 0; i < ARRAY_SIZE(tests) && argc < 3; i++) {
		failed = NULL;
		random_state = 1;
		tests[i].run();
		bad += tell(tests[i].name);
	}
	failed = NULL;
	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		for (seed = first; seed < first + seeds && !failed; seed++)
			one_random(seed, i);
		snprintf(name, sizeof(name), "%s%s", argc < 3 ? "" : "more.", troubles[i]);
		bad += tell(name);
		failed = NULL;
	}
	return bad ? 1 : 0;
}
