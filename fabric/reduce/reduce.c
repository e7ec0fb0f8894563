// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Jobs of reductions in the network: how they begin and end, and what comes of their datagrams. */
#include "reduce.h"

/* ---- jobs ------------------------------------------------------------------- */

static struct fab_reduce_job *find(struct fab_reduce *reduce, u32 id, u32 qkey)
{
	u32 i;

	for (i = 0; i < FAB_REDUCE_JOBS; i++) {
		struct fab_reduce_job *job = &reduce->jobs[i];

		if (job->state != FAB_REDUCE_FREE && job->id == id && job->qkey == qkey)
			return job;
	}
	return NULL;
}

/* Return: NULL: there are as many as there can be, or as a host can have. */
static struct fab_reduce_job *begin(struct fab_reduce *reduce, u32 id, const struct fab_reduce_way *from,
				    const struct shca_reduce_join *join)
{
	struct fab_reduce_job *found = NULL;
	u32 i, same = 0;

	for (i = 0; i < FAB_REDUCE_JOBS; i++) {
		struct fab_reduce_job *job = &reduce->jobs[i];

		if (job->state == FAB_REDUCE_FREE)
			found = job;
		else
			same += job->host == from->lid;
	}
	if (!found || same >= FAB_REDUCE_HOST_JOBS)
		return NULL;
	reduce->jobs_nr++;
	*found = (struct fab_reduce_job){
		.state = FAB_REDUCE_JOINS,
		.id = id,
		.qkey = from->qkey,
		.pkey = from->pkey,
		.sl = from->sl,
		.host = from->lid,
		.size = join->size,
		.bytes = SHCA_REDUCE_BYTES_MAX,
	};
	return found;
}

/* A part has nothing to send any longer. */
static void forget(struct fab_reduce *reduce, struct fab_reduce_part *part)
{
	struct fab_reduce_node *node = &reduce->nodes[part->node];
	struct fab_reduce_part *before = NULL, *other = node->head;

	if (!part->work)
		return;
	for (; other != part; other = other->next)
		before = other;
	if (before)
		before->next = part->next;
	else
		node->head = part->next;
	if (node->tail == part)
		node->tail = before;
	part->work = 0;
}

static void end(struct fab_reduce *reduce, struct fab_reduce_job *job)
{
	u32 i;

	for (i = 0; i < job->parts_nr; i++)
		forget(reduce, &job->parts[i]);
	if (job->memory) {
		reduce->used -= job->memory_bytes;
		reduce->give(reduce, job->memory, job->memory_bytes);
	}
	job->memory = NULL;
	job->parts_nr = 0;
	job->state = FAB_REDUCE_FREE;
	reduce->jobs_nr--;
}

static u64 expiry(const struct fab_reduce_job *job)
{
	bool is_brief = job->state != FAB_REDUCE_RUNS || job->left;

	return job->heard + (is_brief ? FAB_REDUCE_BRIEF_NS : FAB_REDUCE_IDLE_NS);
}

u64 fab_reduce_advance(struct fab_reduce *reduce, u64 now)
{
	u64 deadline = ~0ull;
	u32 i;

	/* (called for each packet, and jobs are large) */
	for (i = 0; i < FAB_REDUCE_JOBS && reduce->jobs_nr; i++) {
		struct fab_reduce_job *job = &reduce->jobs[i];

		if (job->state == FAB_REDUCE_FREE)
			continue;
		if (expiry(job) <= now)
			end(reduce, job);
		else
			deadline = min_t(u64, deadline, expiry(job));
	}
	return deadline;
}

/* ---- the tree --------------------------------------------------------------- */

/* Mark the nodes between a member and the root, and count what is below each. */
static bool mark(struct fab_reduce *reduce, u16 root, u16 lid)
{
	u16 at = reduce->leaf(reduce, root, lid);
	struct fab_reduce_node *node;
	u32 hops;

	for (hops = 0; hops < FAB_REDUCE_HOPS && at < reduce->nodes_nr; hops++) {
		node = &reduce->nodes[at];
		if (node->stamp == reduce->stamp) {
			node->below++;
			return true;
		}
		node->stamp = reduce->stamp;
		node->below = 1;
		node->part = FAB_REDUCE_NONE;
		node->up = at == root ? FAB_REDUCE_NONE : reduce->up(reduce, at, root);
		if (at == root)
			return true;
		at = node->up;
	}
	return false;
}

/* The nearest node with a part, from here towards the root; FAB_REDUCE_NONE: there is none. */
static u16 first_with_part(const struct fab_reduce *reduce, u16 at)
{
	while (at != FAB_REDUCE_NONE && reduce->nodes[at].below < 2)
		at = reduce->nodes[at].up;
	return at;
}

/*
 * Where tables lead round in a circle, each node of it is marked once, and so none is the last one.
 *
 * Return: false: a node leads to none, or to a circle.
 */
static bool reaches_root(const struct fab_reduce *reduce, u16 at, u16 root)
{
	u32 hops;

	for (hops = 0; hops < FAB_REDUCE_HOPS && at != root; hops++)
		at = reduce->nodes[at].up;
	return at == root;
}

static struct fab_reduce_child *new_child(struct fab_reduce_part *part)
{
	if (part->children_nr == FAB_REDUCE_CHILDREN)
		return NULL;
	return &part->children[part->children_nr++];
}

/*
 * Make a member the child of a part, and that part the child of its parent unless it is one.
 *
 * Return: 0, or enum shca_reduce_reason
 */
static u32 plug(struct fab_reduce *reduce, struct fab_reduce_job *job, u16 rank, u16 leaf)
{
	struct fab_reduce_child add = { .index = rank }, *child;
	struct fab_reduce_node *node;
	struct fab_reduce_part *part;
	bool is_new = true;
	u16 at = leaf;

	while (is_new && (at = first_with_part(reduce, at)) != FAB_REDUCE_NONE) {
		node = &reduce->nodes[at];
		is_new = node->part == FAB_REDUCE_NONE;
		if (is_new)
			node->part = job->parts_nr++;
		part = &job->parts[node->part];
		part->job = job;
		part->node = at;
		if (is_new)
			part->parent = FAB_REDUCE_NONE;
		child = new_child(part);
		if (!child)
			return SHCA_REDUCE_TOO_WIDE;
		*child = add;
		if (add.is_part) {
			job->parts[add.index].parent = node->part;
			job->parts[add.index].number = part->children_nr - 1;
		} else {
			job->members[rank].part = node->part;
			job->members[rank].child = part->children_nr - 1;
		}
		add = (struct fab_reduce_child){ .index = node->part, .is_part = true };
		at = node->up;
	}
	return 0;
}

static u64 value_bytes(const struct fab_reduce_job *job)
{
	return (job->bytes + 63) & ~63u;
}

/* Parts, and the values of all slots. There are less parts than members, as each has two children. */
static u64 parts_bytes(const struct fab_reduce_job *job)
{
	return ((u64)job->size * sizeof(struct fab_reduce_part) + 63) & ~63ull;
}

static u64 memory_of(const struct fab_reduce_job *job)
{
	/* Each member and each part is a child once, and each part has a result. */
	u64 cells = (u64)job->size * 3;

	return parts_bytes(job) + cells * SHCA_REDUCE_SLOTS * value_bytes(job);
}

static void slots_init(struct fab_reduce_job *job)
{
	u8 *values = (u8 *)job->memory + parts_bytes(job);
	u64 bytes = value_bytes(job);
	u32 i, j;

	for (i = 0; i < job->parts_nr; i++) {
		struct fab_reduce_part *part = &job->parts[i];

		for (j = 0; j < SHCA_REDUCE_SLOTS; j++) {
			part->slots[j].chunk = j;
			part->slots[j].result = values;
			part->slots[j].values = values + bytes;
			values += bytes * (part->children_nr + 1);
		}
	}
}

/* All members have joined. Return: 0, or enum shca_reduce_reason */
static u32 start(struct fab_reduce *reduce, struct fab_reduce_job *job)
{
	u64 bytes = memory_of(job);
	u32 i, reason;
	u16 leaf;

	reduce->stamp++;
	for (i = 0; i < job->size; i++) {
		if (!mark(reduce, job->root, job->members[i].lid))
			return SHCA_REDUCE_NO_TREE;
	}
	for (i = 0; i < job->size; i++) {
		leaf = reduce->leaf(reduce, job->root, job->members[i].lid);
		if (!reaches_root(reduce, leaf, job->root))
			return SHCA_REDUCE_NO_TREE;
	}
	if (bytes > reduce->room - reduce->used)
		return SHCA_REDUCE_NO_ROOM;
	job->memory = reduce->take(reduce, bytes);
	if (!job->memory)
		return SHCA_REDUCE_NO_ROOM;
	job->memory_bytes = bytes;
	job->parts = job->memory;
	reduce->used += bytes;
	for (i = 0; i < job->size; i++) {
		leaf = reduce->leaf(reduce, job->root, job->members[i].lid);
		reason = plug(reduce, job, i, leaf);
		if (reason)
			return reason;
	}
	slots_init(job);
	job->state = FAB_REDUCE_RUNS;
	return 0;
}

/* ---- members come and go ---------------------------------------------------- */

/* An answer to the datagram with this header. */
static bool reply(const struct shca_reduce_head *head, u8 kind, u8 reason, u8 *answer)
{
	const struct shca_reduce_head reply = {
		.kind = kind,
		.op = reason,
		.job = head->job,
		.chunk = head->chunk,
		.part = head->part,
		.child = head->child,
	};

	memset(answer, 0, SHCA_REDUCE_MESSAGE);
	shca_reduce_build(&reply, answer);
	return true;
}

static bool refuse(struct fab_reduce *reduce, const struct shca_reduce_head *head, u8 reason, u8 *answer)
{
	reduce->counters.refused++;
	return reply(head, SHCA_REDUCE_REFUSED, reason, answer);
}

/* What a member is told that asks for its place. */
static bool answer_join(struct fab_reduce *reduce, const struct fab_reduce_job *job, u16 rank, u8 *answer)
{
	const struct fab_reduce_member *member = &job->members[rank];
	struct shca_reduce_head head = { .kind = SHCA_REDUCE_WAIT, .job = job->id };
	struct shca_reduce_ready ready = { 0 };

	if (job->state == FAB_REDUCE_FAILED)
		return refuse(reduce, &head, job->reason, answer);
	if (job->state == FAB_REDUCE_RUNS) {
		head.kind = SHCA_REDUCE_READY;
		head.part = (job - reduce->jobs) << 8 | member->part;
		head.child = member->child;
		ready.lid = reduce->lid(reduce, job->parts[member->part].node);
		ready.slots = SHCA_REDUCE_SLOTS;
		ready.bytes = job->bytes;
	}
	shca_reduce_build(&head, answer);
	shca_reduce_ready_build(&ready, answer);
	return true;
}

static bool is_member(const struct fab_reduce_member *member, const struct fab_reduce_way *from)
{
	return member->lid == from->lid && member->qp == from->qp;
}

/* Do both belong to one partition? (One of them may be a limited member.) */
static bool is_partition(const struct fab_reduce_job *job, const struct fab_reduce_way *from)
{
	return !((job->pkey ^ from->pkey) & 0x7fff);
}

static bool joins(struct fab_reduce *reduce, u16 node, const struct fab_reduce_way *from,
		  const struct shca_reduce_head *head, const u8 *data, u8 *answer, u64 now)
{
	struct fab_reduce_job *job = find(reduce, head->job, from->qkey);
	struct fab_reduce_member *member;
	struct shca_reduce_join join;

	shca_reduce_join_parse(&join, data);
	join.bytes = min_t(u32, join.bytes, SHCA_REDUCE_BYTES_MAX) & ~7u;
	if (!join.bytes || join.size < 2 || join.size > FAB_REDUCE_MEMBERS || join.rank >= join.size) {
		reduce->counters.bad++;
		return false;
	}
	if (!job)
		job = begin(reduce, head->job, from, &join);
	if (!job)
		return refuse(reduce, head, SHCA_REDUCE_NO_ROOM, answer);
	member = &job->members[join.rank];
	if (job->size != join.size || !is_partition(job, from) || (member->lid && !is_member(member, from)))
		return refuse(reduce, head, SHCA_REDUCE_NOT_SAME, answer);
	job->heard = now;
	if (!member->lid) {
		member->lid = from->lid;
		member->qp = from->qp;
		job->joined++;
		job->bytes = min_t(u16, job->bytes, join.bytes);
		if (!join.rank)
			job->root = node;
		if (job->joined == job->size) {
			job->reason = start(reduce, job);
			if (job->reason)
				job->state = FAB_REDUCE_FAILED;
		}
	}
	return answer_join(reduce, job, join.rank, answer);
}

/* Answers that are lost are asked for again, so a job goes on for those that have not left. */
static void leaves(struct fab_reduce *reduce, const struct fab_reduce_way *from, const struct shca_reduce_head *head,
		   u64 now)
{
	struct fab_reduce_job *job = find(reduce, head->job, from->qkey);
	u32 i;

	if (!job)
		return;
	for (i = 0; i < job->size; i++) {
		struct fab_reduce_member *member = &job->members[i];

		if (!is_member(member, from) || member->has_left)
			continue;
		member->has_left = true;
		job->left++;
		job->heard = now;
	}
	if (job->left == job->size)
		end(reduce, job);
}

/* ---- values ----------------------------------------------------------------- */

/* The part that a datagram is for. Return: NULL: there is none here. */
static struct fab_reduce_part *part_of(struct fab_reduce *reduce, u16 node, u32 qkey, const struct shca_reduce_head *head)
{
	struct fab_reduce_job *job = &reduce->jobs[(head->part >> 8) % FAB_REDUCE_JOBS];
	u32 index = head->part & 0xff;

	if (job->state != FAB_REDUCE_RUNS || job->id != head->job || job->qkey != qkey || index >= job->parts_nr ||
	    job->parts[index].node != node)
		return NULL;
	return &job->parts[index];
}

/* Is a datagram from this child? */
static bool is_child(const struct fab_reduce *reduce, const struct fab_reduce_part *part, u16 number,
		     const struct fab_reduce_way *from)
{
	const struct fab_reduce_child *child = &part->children[number];
	const struct fab_reduce_job *job = part->job;

	if (!is_partition(job, from))
		return false;
	if (!child->is_part)
		return is_member(&job->members[child->index], from);
	return from->qp == SHCA_REDUCE_QP && from->lid == reduce->lid(reduce, job->parts[child->index].node);
}

static u8 *values_of(const struct fab_reduce_part *part, const struct fab_reduce_slot *slot, u32 child)
{
	return slot->values + child * value_bytes(part->job);
}

/* A slot has something to send. */
static void wake(struct fab_reduce *reduce, struct fab_reduce_part *part, u32 slot)
{
	struct fab_reduce_node *node = &reduce->nodes[part->node];
	bool has_work = part->work;

	part->work |= 1u << slot;
	if (has_work)
		return;
	part->next = NULL;
	if (node->head)
		node->tail->next = part;
	else
		node->head = part;
	node->tail = part;
}

static u64 all_of(const struct fab_reduce_part *part)
{
	return ~0ull >> (64 - part->children_nr);
}

/* The result of a chunk is there. */
static void finish(struct fab_reduce *reduce, struct fab_reduce_part *part, struct fab_reduce_slot *slot)
{
	slot->is_full = false;
	slot->is_done = true;
	slot->asks = false;
	slot->got = 0;
	slot->send = all_of(part);
	slot->chunk += SHCA_REDUCE_SLOTS;
	wake(reduce, part, slot - part->slots);
}

/* The values of all children are there. All have the result of the chunk before, so it goes. */
static void add_up(struct fab_reduce *reduce, struct fab_reduce_part *part, struct fab_reduce_slot *slot)
{
	u32 i;

	memcpy(slot->result, slot->values, slot->len);
	for (i = 1; i < part->children_nr; i++)
		shca_reduce_apply(slot->op, slot->type, slot->result, values_of(part, slot, i), slot->len);
	slot->done_op = slot->op;
	slot->done_type = slot->type;
	slot->done_len = slot->len;
	slot->is_done = false;
	slot->send = 0;
	if (part->parent == FAB_REDUCE_NONE) {
		finish(reduce, part, slot);
		return;
	}
	slot->is_full = true;
	slot->asks = true;
	wake(reduce, part, slot - part->slots);
}

/* Values of a child for the chunk that a slot collects. */
static void collect(struct fab_reduce *reduce, struct fab_reduce_part *part, struct fab_reduce_slot *slot,
		    const struct shca_reduce_head *head, const u8 *values, u32 len)
{
	u64 bit = 1ull << head->child;

	if (slot->got && (slot->op != head->op || slot->type != head->type || slot->len != len)) {
		reduce->counters.bad++;
		return;
	}
	slot->op = head->op;
	slot->type = head->type;
	slot->len = len;
	memcpy(values_of(part, slot, head->child), values, len);
	slot->got |= bit;
	if (slot->got == all_of(part))
		add_up(reduce, part, slot);
}

/*
 * A child that has sent its values waits for long for the result of the chunk that a slot collects.
 *
 * Return: false: its values are not there.
 */
static bool look_after(struct fab_reduce *reduce, struct fab_reduce_part *part, struct fab_reduce_slot *slot, u16 child)
{
	if (!(slot->got >> child & 1))
		return false;
	reduce->counters.again++;
	/*
	 * If the datagram to the parent was lost, or the answer, no child has the result, and all of
	 * them ask. One is enough to ask the parent.
	 */
	if (slot->is_full && !child) {
		slot->asks = true;
		wake(reduce, part, slot - part->slots);
	}
	return true;
}

static bool adds(struct fab_reduce *reduce, u16 node, const struct fab_reduce_way *from,
		 const struct shca_reduce_head *head, const u8 *values, u32 len, u8 *answer, u64 now)
{
	struct fab_reduce_part *part = part_of(reduce, node, from->qkey, head);
	struct fab_reduce_slot *slot;

	if (!part)
		return refuse(reduce, head, SHCA_REDUCE_NO_JOB, answer);
	if (head->child >= part->children_nr || !is_child(reduce, part, head->child, from)) {
		reduce->counters.foreign++;
		return false;
	}
	if (head->kind == SHCA_REDUCE_ASK ? len : len > part->job->bytes || !shca_reduce_ok(head->op, head->type, len)) {
		reduce->counters.bad++;
		return false;
	}
	part->job->heard = now;
	slot = &part->slots[head->chunk % SHCA_REDUCE_SLOTS];
	if (head->chunk == slot->chunk) {
		/* (the child may be a part, whose members ask themselves) */
		if (part->job->left && !slot->is_full)
			return refuse(reduce, head, SHCA_REDUCE_LEFT, answer);
		if (look_after(reduce, part, slot, head->child))
			return false;
		if (head->kind == SHCA_REDUCE_ASK)
			return reply(head, SHCA_REDUCE_AGAIN, 0, answer);
		collect(reduce, part, slot, head, values, len);
	} else if (head->chunk == slot->chunk - SHCA_REDUCE_SLOTS && slot->is_done) {
		reduce->counters.again++;
		slot->send |= 1ull << head->child;
		wake(reduce, part, slot - part->slots);
	} else {
		reduce->counters.stale++;
	}
	return false;
}

/* Values of all, from the parent. */
static void results(struct fab_reduce *reduce, u16 node, const struct fab_reduce_way *from,
		    const struct shca_reduce_head *head, const u8 *values, u32 len)
{
	struct fab_reduce_part *part = part_of(reduce, node, from->qkey, head);
	const struct fab_reduce_job *job = part ? part->job : NULL;
	struct fab_reduce_slot *slot;

	if (!part || part->parent == FAB_REDUCE_NONE || from->qp != SHCA_REDUCE_QP ||
	    from->lid != reduce->lid(reduce, job->parts[part->parent].node) || !is_partition(job, from)) {
		reduce->counters.foreign++;
		return;
	}
	slot = &part->slots[head->chunk % SHCA_REDUCE_SLOTS];
	if (head->chunk != slot->chunk || !slot->is_full) {
		reduce->counters.stale++;
		return;
	}
	if (head->op != slot->done_op || head->type != slot->done_type || len != slot->done_len) {
		reduce->counters.bad++;
		return;
	}
	memcpy(slot->result, values, len);
	finish(reduce, part, slot);
}

bool fab_reduce_receive(struct fab_reduce *reduce, u16 node, const struct fab_reduce_way *from, const u8 *data,
			u32 len, u8 *answer, u64 now)
{
	struct shca_reduce_head head;

	if (!shca_reduce_parse(&head, data, len) || (head.kind == SHCA_REDUCE_JOIN && len != SHCA_REDUCE_MESSAGE)) {
		reduce->counters.bad++;
		return false;
	}
	data += SHCA_REDUCE_HEAD;
	len -= SHCA_REDUCE_HEAD;
	switch (head.kind) {
	case SHCA_REDUCE_JOIN:
		return joins(reduce, node, from, &head, data - SHCA_REDUCE_HEAD, answer, now);
	case SHCA_REDUCE_LEAVE:
		leaves(reduce, from, &head, now);
		return false;
	case SHCA_REDUCE_ADD:
	case SHCA_REDUCE_ASK:
		return adds(reduce, node, from, &head, data, len, answer, now);
	case SHCA_REDUCE_RESULT:
		results(reduce, node, from, &head, data, len);
		return false;
	default:
		/* Answers are for members. An aggregation node answers none, so none is answered for ever. */
		reduce->counters.bad++;
		return false;
	}
}

/* ---- datagrams out ---------------------------------------------------------- */

/* The slot whose turn it is. */
static u32 next_slot(struct fab_reduce_part *part)
{
	u32 behind = part->work & ~0u << part->turn, slot = __builtin_ctz(behind ?: part->work);

	part->turn = (slot + 1) % SHCA_REDUCE_SLOTS;
	return slot;
}

/* The part that was first has sent, and others have their turn. */
static void pass_turn(struct fab_reduce_node *node)
{
	struct fab_reduce_part *part = node->head;

	node->head = part->next;
	part->next = NULL;
	if (!part->work)
		return;
	if (node->head)
		node->tail->next = part;
	else
		node->head = part;
	node->tail = part;
}

static u16 address(const struct fab_reduce_part *part, const struct fab_reduce *reduce)
{
	return (part->job - reduce->jobs) << 8 | (part - part->job->parts);
}

static void to_part(const struct fab_reduce *reduce, const struct fab_reduce_part *part, struct fab_reduce_way *to,
		    struct shca_reduce_head *head)
{
	to->lid = reduce->lid(reduce, part->node);
	to->qp = SHCA_REDUCE_QP;
	head->part = address(part, reduce);
}

/* What a slot has to send to a child, or to the parent. */
static void address_next(const struct fab_reduce *reduce, const struct fab_reduce_part *part, struct fab_reduce_slot *slot,
			 struct fab_reduce_way *to, struct shca_reduce_head *head)
{
	const struct fab_reduce_job *job = part->job;
	const struct fab_reduce_child *child;

	if (slot->asks) {
		slot->asks = false;
		head->kind = SHCA_REDUCE_ADD;
		head->chunk = slot->chunk;
		head->child = part->number;
		to_part(reduce, &job->parts[part->parent], to, head);
		return;
	}
	child = &part->children[__builtin_ctzll(slot->send)];
	slot->send &= slot->send - 1;
	head->kind = SHCA_REDUCE_RESULT;
	head->chunk = slot->chunk - SHCA_REDUCE_SLOTS;
	if (child->is_part) {
		to_part(reduce, &job->parts[child->index], to, head);
		return;
	}
	to->lid = job->members[child->index].lid;
	to->qp = job->members[child->index].qp;
	head->part = address(part, reduce);
	head->child = job->members[child->index].child;
}

u32 fab_reduce_next(struct fab_reduce *reduce, u16 node, struct fab_reduce_way *to, u8 *data)
{
	struct fab_reduce_part *part = reduce->nodes[node].head;
	struct fab_reduce_slot *slot;
	struct shca_reduce_head head;
	u32 number;

	if (!part)
		return 0;
	number = next_slot(part);
	slot = &part->slots[number];
	head = (struct shca_reduce_head){ .op = slot->done_op, .type = slot->done_type, .job = part->job->id };
	*to = (struct fab_reduce_way){ .qkey = part->job->qkey, .pkey = part->job->pkey, .sl = part->job->sl };
	address_next(reduce, part, slot, to, &head);
	if (!slot->asks && !slot->send)
		part->work &= ~(1u << number);
	pass_turn(&reduce->nodes[node]);
	shca_reduce_build(&head, data);
	memcpy(data + SHCA_REDUCE_HEAD, slot->result, slot->done_len);
	return SHCA_REDUCE_HEAD + slot->done_len;
}
