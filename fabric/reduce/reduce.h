/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reduction in the network: jobs, and their parts at aggregation nodes. Datagrams in, datagrams
 * out. All aggregation nodes of a fabric are in one process, so a job is known to all of them, but
 * values pass between them in packets only. The caller has the packets, the forwarding tables, and
 * the memory: some for each job when it begins, and none for a datagram.
 *
 * The order of a reduction: an aggregation node applies the operation to the values of its children
 * from the first one to the last one, ((c0 op c1) op c2) op ..., in whatever order they come. Its
 * children are members and aggregation nodes, ordered by the lowest rank that is a child or below
 * it. A node with one child has no part: its child is that of the next one on the way to the root.
 */
#ifndef SHCA_FABRIC_REDUCE_H
#define SHCA_FABRIC_REDUCE_H

#include "reduce_wire.h"

#define FAB_REDUCE_JOBS		64
/* Jobs that the hosts with one LID can have begun. */
#define FAB_REDUCE_HOST_JOBS	8
#define FAB_REDUCE_MEMBERS	256
#define FAB_REDUCE_CHILDREN	64
/* Switches between a member and the root. */
#define FAB_REDUCE_HOPS		64
/* A job ends when none of its members has sent anything for so long: before all have joined, or after one has left; and otherwise. */
#define FAB_REDUCE_BRIEF_NS	20000000000ull
#define FAB_REDUCE_IDLE_NS	300000000000ull
#define FAB_REDUCE_NONE		0xffff

/**
 * struct fab_reduce_way - where a datagram comes from, or goes
 * @lid:	of the other end
 * @qp:		of the other end
 * @qkey:	Q_Key
 * @pkey:	P_Key as the packet has it, or as its receiver's table has it
 * @sl:		service level
 */
struct fab_reduce_way {
	u16 lid;
	u32 qp;
	u32 qkey;
	u16 pkey;
	u8 sl;
};

/**
 * struct fab_reduce_slot - one chunk of a part after the other
 * @chunk:	number of the one that is collected now
 * @got:	children whose values are there
 * @send:	children to which the result of the chunk before has to be sent yet
 * @op:		of @chunk; valid with one in @got
 * @type:	the same
 * @len:	bytes of its values
 * @done_op:	of what is in @result
 * @done_type:	the same
 * @done_len:	the same
 * @is_full:	values of all children are in @result, and those of the parent are awaited
 * @is_done:	@result has those of the chunk before, for children that ask again
 * @asks:	@result has to be sent to the parent yet
 * @values:	of each child
 * @result:	see @is_full and @is_done
 */
struct fab_reduce_slot {
	u32 chunk;
	u64 got;
	u64 send;
	u8 op;
	u8 type;
	u16 len;
	u8 done_op;
	u8 done_type;
	u16 done_len;
	bool is_full;
	bool is_done;
	bool asks;
	u8 *values;
	u8 *result;
};

/* A member or a part, as the child of a part. */
struct fab_reduce_child {
	u16 index;
	bool is_part;
};

/**
 * struct fab_reduce_part - part of a job at an aggregation node
 * @job:	its job
 * @node:	where
 * @parent:	index of the next part towards the root; FAB_REDUCE_NONE: it is the root
 * @number:	of this child at @parent
 * @children_nr: how many
 * @children:	by number
 * @work:	slots with something to send, as bits
 * @turn:	slot that is next
 * @next:	next part with work of the same node
 * @slots:	by chunk
 */
struct fab_reduce_part {
	struct fab_reduce_job *job;
	u16 node;
	u16 parent;
	u16 number;
	u16 children_nr;
	struct fab_reduce_child children[FAB_REDUCE_CHILDREN];
	u32 work;
	u32 turn;
	struct fab_reduce_part *next;
	struct fab_reduce_slot slots[SHCA_REDUCE_SLOTS];
};

/**
 * struct fab_reduce_member - member of a job
 * @lid:	its port; 0: it has not joined
 * @qp:		its queue pair
 * @part:	index of the part whose child it is
 * @child:	its number there
 * @has_left:	it adds nothing more
 */
struct fab_reduce_member {
	u16 lid;
	u32 qp;
	u16 part;
	u16 child;
	bool has_left;
};

enum fab_reduce_state {
	FAB_REDUCE_FREE,
	FAB_REDUCE_JOINS,
	FAB_REDUCE_RUNS,
	FAB_REDUCE_FAILED,
};

/**
 * struct fab_reduce_job - a job
 * @state:	enum fab_reduce_state
 * @reason:	why it has failed
 * @id:		number that its members have agreed on
 * @qkey:	the same
 * @pkey:	of its packets
 * @sl:		the same
 * @host:	LID of the member that began it
 * @root:	node that rank 0 has asked
 * @size:	members
 * @joined:	how many have joined
 * @left:	how many have left
 * @bytes:	values of a chunk
 * @heard:	when a member has sent something last
 * @memory:	of all parts, and how much
 * @memory_bytes: the same
 * @parts:	the first one is none's child
 * @parts_nr:	how many
 * @members:	by rank
 */
struct fab_reduce_job {
	u8 state;
	u8 reason;
	u32 id;
	u32 qkey;
	u16 pkey;
	u8 sl;
	u16 host;
	u16 root;
	u16 size;
	u16 joined;
	u16 left;
	u16 bytes;
	u64 heard;
	void *memory;
	u64 memory_bytes;
	struct fab_reduce_part *parts;
	u16 parts_nr;
	struct fab_reduce_member members[FAB_REDUCE_MEMBERS];
};

/**
 * struct fab_reduce_node - an aggregation node
 * @head:	parts with something to send
 * @tail:	last one; valid with a @head
 * @stamp:	the last tree that this node was looked at for
 * @below:	of that tree: members and nodes whose next node it is
 * @up:		of that tree: next node towards the root
 * @part:	of that tree: its part
 */
struct fab_reduce_node {
	struct fab_reduce_part *head;
	struct fab_reduce_part *tail;
	u64 stamp;
	u16 below;
	u16 up;
	u16 part;
};

/**
 * struct fab_reduce_counters - datagrams that changed nothing
 * @bad:	none of this version, or with impossible values
 * @foreign:	from a sender that is not the child, or not the parent, that it says it is
 * @stale:	of a chunk that is over, or has not begun
 * @again:	that had come before
 * @refused:	answered with a refusal
 */
struct fab_reduce_counters {
	u64 bad;
	u64 foreign;
	u64 stale;
	u64 again;
	u64 refused;
};

/**
 * struct fab_reduce - all jobs of a fabric; zeros but for what is said to be the caller's
 * @nodes:	aggregation nodes; the caller's
 * @nodes_nr:	how many; the caller's
 * @room:	bytes that jobs can have in all; the caller's
 * @lid:	LID of a node; the caller's
 * @leaf:	the node of the switch that a member's LID is plugged into, as seen from a root;
 *		FAB_REDUCE_NONE: there is none; the caller's
 * @up:		the node of the next switch from @node towards @root; the caller's
 * @take:	memory with zeros for a job, or NULL; the caller's
 * @give:	a job does not need it any longer; the caller's
 * @used:	bytes that jobs have
 * @stamp:	of the last tree
 * @jobs_nr:	jobs that there are
 * @jobs:	by number
 * @counters:	see there
 */
struct fab_reduce {
	struct fab_reduce_node *nodes;
	u32 nodes_nr;
	u64 room;
	u16 (*lid)(const struct fab_reduce *reduce, u16 node);
	u16 (*leaf)(struct fab_reduce *reduce, u16 root, u16 lid);
	u16 (*up)(struct fab_reduce *reduce, u16 node, u16 root);
	void *(*take)(struct fab_reduce *reduce, u64 bytes);
	void (*give)(struct fab_reduce *reduce, void *memory, u64 bytes);
	u64 used;
	u64 stamp;
	u32 jobs_nr;
	struct fab_reduce_job jobs[FAB_REDUCE_JOBS];
	struct fab_reduce_counters counters;
};

/**
 * fab_reduce_receive() - a datagram has come to an aggregation node
 * @reduce:	all jobs
 * @node:	which
 * @from:	its sender
 * @data:	payload of the packet
 * @len:	bytes of that
 * @answer:	result, of SHCA_REDUCE_MESSAGE bytes: a datagram for the sender
 * @now:	the time in ns
 *
 * Return: is there an answer? Whether or not, fab_reduce_next() may have datagrams then.
 */
bool fab_reduce_receive(struct fab_reduce *reduce, u16 node, const struct fab_reduce_way *from, const u8 *data,
			u32 len, u8 *answer, u64 now);

/**
 * fab_reduce_next() - the next datagram that an aggregation node sends
 * @reduce:	all jobs
 * @node:	which
 * @to:		result: its receiver
 * @data:	result, of SHCA_REDUCE_HEAD + SHCA_REDUCE_BYTES_MAX bytes at most
 *
 * Return: bytes of the datagram; 0: there is none.
 */
u32 fab_reduce_next(struct fab_reduce *reduce, u16 node, struct fab_reduce_way *to, u8 *data);

/* Has it one? */
static inline bool fab_reduce_pending(const struct fab_reduce *reduce, u16 node)
{
	return reduce->nodes[node].head;
}

/* End jobs of which nothing is heard any longer. Return: when to call it again; ~0: never. */
u64 fab_reduce_advance(struct fab_reduce *reduce, u64 now);

#endif
