/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A member of a job that reduces in the network: what it sends, and what comes of answers. Datagrams
 * and time in, datagrams and deadlines out; no memory, packets or clock. What is lost is sent again
 * after a time-out: first a question, as other members may be late, and values if they are missing.
 */
#ifndef SHCA_REDUCE_MEMBER_H
#define SHCA_REDUCE_MEMBER_H

#include "../fabric/reduce/reduce_wire.h"

#define SHCA_REDUCE_SLOTS_MAX	64

enum shca_reduce_state {
	SHCA_REDUCE_JOINS,
	SHCA_REDUCE_RUNS,
	SHCA_REDUCE_FAILS,
};

/**
 * struct shca_reduce_out - the chunk of a slot that is under way
 * @chunk:	its number
 * @waits:	its result is awaited
 * @is_missing:	the aggregation node does not have the values
 * @tries:	how often it was sent
 * @sent:	when it was sent last, or asked for
 */
struct shca_reduce_out {
	u32 chunk;
	bool waits;
	bool is_missing;
	u8 tries;
	u64 sent;
};

/**
 * struct shca_reduce_member - a member
 * @job:	number of the job
 * @rank:	of the member
 * @size:	members of the job
 * @mtu:	bytes of values that a datagram of this member can have
 * @entry:	LID of the aggregation node that is asked for a place
 * @state:	enum shca_reduce_state
 * @reason:	of SHCA_REDUCE_FAILS: enum shca_reduce_reason
 * @lid:	aggregation node to which values are sent
 * @part:	its part of the job
 * @child:	number of the member there
 * @slots:	chunks that can be under way, a power of two
 * @bytes:	of values in a chunk
 * @join_due:	when the member asks again
 * @join_wait:	how long it waits after that
 * @base:	number of the first chunk of the operation, or of the next one
 * @op:		enum shca_reduce_op
 * @type:	enum shca_reduce_type
 * @in:		values of the member; NULL: there is no operation
 * @out:	result, which may be @in
 * @len:	bytes of each
 * @chunks:	of the operation
 * @left:	chunks whose results are not there yet
 * @moved:	when the oldest chunk under way changed, or was asked for
 * @ready:	slots whose chunk is to be sent now, as bits
 * @slot:	by number
 * @rtt:	smoothed time from sending to the result; 0: not measured
 * @rtt_varies: how much that varies
 * @again:	datagrams that were sent again
 */
struct shca_reduce_member {
	u32 job;
	u16 rank;
	u16 size;
	u16 mtu;
	u16 entry;
	u8 state;
	u8 reason;
	u16 lid;
	u16 part;
	u16 child;
	u16 slots;
	u16 bytes;
	u64 join_due;
	u64 join_wait;
	u32 base;
	u8 op;
	u8 type;
	const u8 *in;
	u8 *out;
	u64 len;
	u32 chunks;
	u32 left;
	u64 moved;
	u64 ready;
	struct shca_reduce_out slot[SHCA_REDUCE_SLOTS_MAX];
	u64 rtt;
	u64 rtt_varies;
	u64 again;
};

/**
 * shca_reduce_member_init() - begin to join
 * @member:	zeros but for @job, @rank, @size, @mtu and @entry
 */
void shca_reduce_member_init(struct shca_reduce_member *member);

/**
 * shca_reduce_member_begin() - begin an operation
 * @member:	runs, and has no operation
 * @op:		enum shca_reduce_op, which @type must have (shca_reduce_ok())
 * @type:	enum shca_reduce_type
 * @in:		values, as in memory
 * @out:	for the result; may be @in
 * @len:	bytes of each; not 0, whole values
 *
 * All members begin the same operations, of one length, in
 * one order. It is over when @left is 0.
 */
void shca_reduce_member_begin(struct shca_reduce_member *member, u8 op, u8 type, const u8 *in, u8 *out, u64 len);

/**
 * shca_reduce_member_next() - the next datagram that is due
 * @member:	whose
 * @now:	the time in ns
 * @lid:	result: of the aggregation node, whose QP is SHCA_REDUCE_QP
 * @data:	result, of SHCA_REDUCE_HEAD + @mtu bytes
 *
 * Return: bytes of the datagram; 0: none is due.
 */
u32 shca_reduce_member_next(struct shca_reduce_member *member, u64 now, u16 *lid, u8 *data);

/* When to ask that; ~0: never, unless something is received or begun before. */
u64 shca_reduce_member_deadline(const struct shca_reduce_member *member);

/**
 * shca_reduce_member_receive() - a datagram has come
 * @member:	for which
 * @lid:	of its sender
 * @qp:		of its sender
 * @data:	payload of the packet
 * @len:	bytes of that
 * @now:	the time in ns
 */
void shca_reduce_member_receive(struct shca_reduce_member *member, u16 lid, u32 qp, const u8 *data, u32 len, u64 now);

/* The datagram by which the member leaves. Return: its bytes */
u32 shca_reduce_member_leave(const struct shca_reduce_member *member, u16 *lid, u8 *data);

#endif
