// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A member of a job that reduces in the network. */
#include "member.h"

#define MS			1000000ull
/* Between two questions for a place. */
#define JOIN_NS			(5 * MS)
#define JOIN_MOST_NS		(200 * MS)
/*
 * Before values are sent again: the usual time and this many times its variation (RFC 6298), and each
 * time twice as long. What is sent again for nothing takes its part of the cable.
 */
#define AGAIN_VARIATIONS	4
#define AGAIN_FIRST_NS		(100 * MS)
#define AGAIN_LEAST_NS		(20 * MS)
#define AGAIN_MOST_NS		(500 * MS)
/* So long after the oldest chunk's result the others' may come. */
#define FOLLOW_NS		(5 * MS)

void shca_reduce_member_init(struct shca_reduce_member *member)
{
	/* (one alone has no tree) */
	member->state = member->size > 1 ? SHCA_REDUCE_JOINS : SHCA_REDUCE_RUNS;
	member->join_wait = JOIN_NS;
}

static void fail(struct shca_reduce_member *member, u8 reason)
{
	member->state = SHCA_REDUCE_FAILS;
	member->reason = reason;
	member->ready = 0;
}

/* ---- datagrams out ---------------------------------------------------------- */

static u32 build_join(struct shca_reduce_member *member, u64 now, u16 *lid, u8 *data)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_JOIN, .job = member->job };
	const struct shca_reduce_join join = { .rank = member->rank, .size = member->size, .bytes = member->mtu };

	member->join_due = now + member->join_wait;
	member->join_wait = min_t(u64, 2 * member->join_wait, JOIN_MOST_NS);
	*lid = member->entry;
	shca_reduce_build(&head, data);
	shca_reduce_join_build(&join, data);
	return SHCA_REDUCE_MESSAGE;
}

void shca_reduce_member_begin(struct shca_reduce_member *member, u8 op, u8 type, const u8 *in, u8 *out, u64 len)
{
	u32 i, slot;

	if (member->size == 1) {
		memmove(out, in, len);
		return;
	}
	member->op = op;
	member->type = type;
	member->in = in;
	member->out = out;
	member->len = len;
	member->chunks = DIV_ROUND_UP(len, member->bytes);
	member->left = member->chunks;
	for (i = 0; i < member->slots && i < member->chunks; i++) {
		slot = (member->base + i) % member->slots;
		member->slot[slot] = (struct shca_reduce_out){ .chunk = member->base + i, .waits = true };
		member->ready |= 1ull << slot;
	}
}

/* Bytes of a chunk, and where they are. */
static u32 chunk_len(const struct shca_reduce_member *member, u32 chunk, u64 *offset)
{
	*offset = (u64)(chunk - member->base) * member->bytes;
	return min_t(u64, member->len - *offset, member->bytes);
}

static u64 time_out(const struct shca_reduce_member *member, u32 tries)
{
	u64 ns = AGAIN_FIRST_NS;

	if (member->rtt)
		ns = max_t(u64, member->rtt + AGAIN_VARIATIONS * member->rtt_varies, AGAIN_LEAST_NS);
	return min_t(u64, ns << min_t(u32, tries, 8), AGAIN_MOST_NS);
}

static u32 build_add(struct shca_reduce_member *member, u32 number, u64 now, u16 *lid, u8 *data)
{
	struct shca_reduce_out *slot = &member->slot[number];
	bool asks = slot->tries && !slot->is_missing;
	const struct shca_reduce_head head = {
		.kind = asks ? SHCA_REDUCE_ASK : SHCA_REDUCE_ADD,
		.op = member->op,
		.type = member->type,
		.job = member->job,
		.chunk = slot->chunk,
		.part = member->part,
		.child = member->child,
	};
	u64 offset;
	u32 len = chunk_len(member, slot->chunk, &offset);

	if (slot->tries) {
		member->again++;
		member->moved = now;
	}
	slot->sent = now;
	slot->tries += slot->tries < 0xff;
	slot->is_missing = false;
	member->ready &= ~(1ull << number);
	*lid = member->lid;
	shca_reduce_build(&head, data);
	if (asks)
		return SHCA_REDUCE_HEAD;
	shca_reduce_copy(member->type, data + SHCA_REDUCE_HEAD, member->in + offset, len);
	return SHCA_REDUCE_HEAD + len;
}

/* Of the slots that are ready, the one with the lowest chunk. */
static u32 first_ready(const struct shca_reduce_member *member)
{
	u32 first = __builtin_ctzll(member->ready), i;
	u64 rest = member->ready & (member->ready - 1);

	for (; rest; rest &= rest - 1) {
		i = __builtin_ctzll(rest);
		if ((s32)(member->slot[i].chunk - member->slot[first].chunk) < 0)
			first = i;
	}
	return first;
}

/* Of the slots that wait for results, the one with the lowest chunk. Return: NULL: none waits. */
static const struct shca_reduce_out *oldest(const struct shca_reduce_member *member)
{
	const struct shca_reduce_out *slot, *found = NULL;
	u32 i;

	for (i = 0; i < member->slots; i++) {
		slot = &member->slot[i];
		if (slot->waits && slot->tries && (!found || (s32)(slot->chunk - found->chunk) < 0))
			found = slot;
	}
	return found;
}

/*
 * When to ask for the oldest chunk. The others are not asked for: where a member is late, all of them
 * wait for it, and their results follow the first one.
 */
static u64 ask_due(const struct shca_reduce_member *member, const struct shca_reduce_out *slot)
{
	return max_t(u64, slot->sent + time_out(member, slot->tries - 1), member->moved + FOLLOW_NS);
}

static void look_for_late(struct shca_reduce_member *member, u64 now)
{
	const struct shca_reduce_out *slot = oldest(member);

	if (slot && ask_due(member, slot) <= now)
		member->ready = 1ull << (slot - member->slot);
}

u32 shca_reduce_member_next(struct shca_reduce_member *member, u64 now, u16 *lid, u8 *data)
{
	if (member->state == SHCA_REDUCE_FAILS)
		return 0;
	if (member->state == SHCA_REDUCE_JOINS)
		return now >= member->join_due ? build_join(member, now, lid, data) : 0;
	if (!member->left)
		return 0;
	if (!member->ready)
		look_for_late(member, now);
	return member->ready ? build_add(member, first_ready(member), now, lid, data) : 0;
}

u64 shca_reduce_member_deadline(const struct shca_reduce_member *member)
{
	const struct shca_reduce_out *slot;

	if (member->state == SHCA_REDUCE_FAILS)
		return ~0ull;
	if (member->state == SHCA_REDUCE_JOINS)
		return member->join_due;
	if (member->ready)
		return 0;
	slot = oldest(member);
	return slot ? ask_due(member, slot) : ~0ull;
}

u32 shca_reduce_member_leave(const struct shca_reduce_member *member, u16 *lid, u8 *data)
{
	const struct shca_reduce_head head = { .kind = SHCA_REDUCE_LEAVE, .job = member->job };

	*lid = member->entry;
	shca_reduce_build(&head, data);
	return SHCA_REDUCE_HEAD;
}

/* ---- datagrams in ----------------------------------------------------------- */

static void place_arrives(struct shca_reduce_member *member, const struct shca_reduce_head *head, const u8 *data)
{
	struct shca_reduce_ready ready;

	shca_reduce_ready_parse(&ready, data);
	if (!ready.lid || !ready.bytes || ready.bytes % 8 || ready.bytes > member->mtu || !ready.slots ||
	    ready.slots & (ready.slots - 1) || ready.slots > SHCA_REDUCE_SLOTS_MAX)
		return;
	member->lid = ready.lid;
	member->slots = ready.slots;
	member->bytes = ready.bytes;
	member->part = head->part;
	member->child = head->child;
	member->state = SHCA_REDUCE_RUNS;
}

/* (the usual time includes how long other members take) */
static void measure(struct shca_reduce_member *member, const struct shca_reduce_out *slot, u64 now)
{
	u64 rtt = now - slot->sent, difference = rtt > member->rtt ? rtt - member->rtt : member->rtt - rtt;

	if (slot->tries != 1)
		return;
	if (!member->rtt) {
		member->rtt = max_t(u64, rtt, 1);
		member->rtt_varies = rtt / 2;
		return;
	}
	member->rtt_varies = member->rtt_varies - member->rtt_varies / 4 + difference / 4;
	member->rtt = member->rtt - member->rtt / 8 + rtt / 8;
}

static void result_arrives(struct shca_reduce_member *member, const struct shca_reduce_head *head, const u8 *values,
			   u32 len, u64 now)
{
	u32 number = head->chunk % member->slots;
	struct shca_reduce_out *slot = &member->slot[number];
	u64 offset;

	if (!slot->waits || head->chunk != slot->chunk || head->op != member->op || head->type != member->type ||
	    len != chunk_len(member, slot->chunk, &offset))
		return;
	shca_reduce_copy(member->type, member->out + offset, values, len);
	measure(member, slot, now);
	if (slot == oldest(member))
		member->moved = now;
	slot->waits = false;
	member->ready &= ~(1ull << number);
	if (slot->chunk - member->base + member->slots < member->chunks) {
		*slot = (struct shca_reduce_out){ .chunk = slot->chunk + member->slots, .waits = true };
		member->ready |= 1ull << number;
	}
	if (--member->left)
		return;
	member->base += member->chunks;
	member->in = NULL;
}

/* Is this about a chunk that is under way? */
static struct shca_reduce_out *slot_of(struct shca_reduce_member *member, const struct shca_reduce_head *head)
{
	struct shca_reduce_out *slot = &member->slot[head->chunk % member->slots];

	return member->left && slot->waits && slot->chunk == head->chunk ? slot : NULL;
}

static void question_arrives(struct shca_reduce_member *member, const struct shca_reduce_head *head)
{
	struct shca_reduce_out *slot = slot_of(member, head);

	if (!slot || !slot->tries)
		return;
	slot->is_missing = true;
	member->ready |= 1ull << (slot - member->slot);
}

static void refusal_arrives(struct shca_reduce_member *member, const struct shca_reduce_head *head)
{
	/* (one of a chunk that is over means nothing) */
	if (member->state == SHCA_REDUCE_JOINS || slot_of(member, head))
		fail(member, head->op);
}

void shca_reduce_member_receive(struct shca_reduce_member *member, u16 lid, u32 qp, const u8 *data, u32 len, u64 now)
{
	u16 expected = member->state == SHCA_REDUCE_JOINS ? member->entry : member->lid;
	struct shca_reduce_head head;

	if (lid != expected || qp != SHCA_REDUCE_QP || member->state == SHCA_REDUCE_FAILS ||
	    !shca_reduce_parse(&head, data, len) || head.job != member->job)
		return;
	if (head.kind == SHCA_REDUCE_REFUSED)
		refusal_arrives(member, &head);
	else if (head.kind == SHCA_REDUCE_READY && member->state == SHCA_REDUCE_JOINS && len == SHCA_REDUCE_MESSAGE)
		place_arrives(member, &head, data);
	else if (head.kind == SHCA_REDUCE_AGAIN && member->state == SHCA_REDUCE_RUNS)
		question_arrives(member, &head);
	else if (head.kind == SHCA_REDUCE_RESULT && member->state == SHCA_REDUCE_RUNS && member->left)
		result_arrives(member, &head, data + SHCA_REDUCE_HEAD, len - SHCA_REDUCE_HEAD, now);
}
