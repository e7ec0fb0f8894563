/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reduction in the network: the datagrams between the members of a job and aggregation nodes, and
 * the arithmetic. Aggregation nodes and libsofthca-reduce share this file.
 *
 * A datagram is the payload of a UD packet. Headers are big-endian, values are little-endian.
 */
#ifndef SHCA_REDUCE_WIRE_H
#define SHCA_REDUCE_WIRE_H

#include "../../kernel/core/os.h"

#define SHCA_REDUCE_VERSION	1
/* Each aggregation node receives datagrams at this QP. */
#define SHCA_REDUCE_QP		0x5cab
/* Bytes before the values, and behind them in datagrams without values. */
#define SHCA_REDUCE_HEAD	16
#define SHCA_REDUCE_BODY	8
#define SHCA_REDUCE_MESSAGE	(SHCA_REDUCE_HEAD + SHCA_REDUCE_BODY)
/* Values of a datagram at path MTU 4096. */
#define SHCA_REDUCE_BYTES_MAX	4080
/* Chunks under way, a power of two. */
#define SHCA_REDUCE_SLOTS	32

/**
 * enum shca_reduce_kind - what a datagram is
 * @SHCA_REDUCE_JOIN:	a member asks for its place in the tree, again and again
 * @SHCA_REDUCE_WAIT:	answer: other members have not joined yet
 * @SHCA_REDUCE_READY:	answer: where the member sends its values
 * @SHCA_REDUCE_REFUSED: answer: enum shca_reduce_reason
 * @SHCA_REDUCE_ADD:	values of a child
 * @SHCA_REDUCE_RESULT:	values of all
 * @SHCA_REDUCE_LEAVE:	a member adds nothing more
 * @SHCA_REDUCE_ASK:	a child has sent its values some time ago, and asks for those of all
 * @SHCA_REDUCE_AGAIN:	answer: its values are not there
 */
enum shca_reduce_kind {
	SHCA_REDUCE_JOIN = 1,
	SHCA_REDUCE_WAIT,
	SHCA_REDUCE_READY,
	SHCA_REDUCE_REFUSED,
	SHCA_REDUCE_ADD,
	SHCA_REDUCE_RESULT,
	SHCA_REDUCE_LEAVE,
	SHCA_REDUCE_ASK,
	SHCA_REDUCE_AGAIN,
};

/**
 * enum shca_reduce_reason - why a datagram is refused
 * @SHCA_REDUCE_NO_JOB:	there is no such job, or not any longer
 * @SHCA_REDUCE_NOT_SAME: members do not agree on size or partition, or two have one rank
 * @SHCA_REDUCE_NO_ROOM: too many jobs, or too little memory
 * @SHCA_REDUCE_NO_TREE: the forwarding tables do not lead from each member to the root
 * @SHCA_REDUCE_TOO_WIDE: an aggregation node would have too many children
 * @SHCA_REDUCE_LEFT:	a member has left
 */
enum shca_reduce_reason {
	SHCA_REDUCE_NO_JOB = 1,
	SHCA_REDUCE_NOT_SAME,
	SHCA_REDUCE_NO_ROOM,
	SHCA_REDUCE_NO_TREE,
	SHCA_REDUCE_TOO_WIDE,
	SHCA_REDUCE_LEFT,
};

/* Operations. Those with bits are of integers only. */
enum shca_reduce_op {
	SHCA_REDUCE_SUM = 1,
	SHCA_REDUCE_MIN,
	SHCA_REDUCE_MAX,
	SHCA_REDUCE_AND,
	SHCA_REDUCE_OR,
};

enum shca_reduce_type {
	SHCA_REDUCE_I32 = 1,
	SHCA_REDUCE_I64,
	SHCA_REDUCE_F32,
	SHCA_REDUCE_F64,
};

/**
 * struct shca_reduce_head - header of a datagram
 * @kind:	enum shca_reduce_kind
 * @op:		enum shca_reduce_op, or enum shca_reduce_reason
 * @type:	enum shca_reduce_type
 * @job:	number that the members have agreed on. The Q_Key of the packet is the other half
 * @chunk:	number of the chunk, counted from the beginning of the job. Its slot is the remainder by
 *		the number of slots, and a slot has one chunk after the other
 * @part:	the receiver's part of the job, or the sender's
 * @child:	number of the child at its parent
 */
struct shca_reduce_head {
	u8 kind;
	u8 op;
	u8 type;
	u32 job;
	u32 chunk;
	u16 part;
	u16 child;
};

/**
 * struct shca_reduce_join - body of JOIN
 * @rank:	of the member, from 0 on
 * @size:	how many members the job has
 * @bytes:	of values that a datagram of this member can have
 */
struct shca_reduce_join {
	u16 rank;
	u16 size;
	u16 bytes;
};

/**
 * struct shca_reduce_ready - body of READY
 * @lid:	of the aggregation node to which the member sends
 * @slots:	SHCA_REDUCE_SLOTS of the aggregation nodes
 * @bytes:	of values in each chunk but the last one of an operation
 */
struct shca_reduce_ready {
	u16 lid;
	u16 slots;
	u16 bytes;
};

/* Return: false: it is no datagram of this version. */
bool shca_reduce_parse(struct shca_reduce_head *head, const u8 *data, u32 len);
void shca_reduce_build(const struct shca_reduce_head *head, u8 *data);

/* Bodies, at SHCA_REDUCE_HEAD of a datagram of SHCA_REDUCE_MESSAGE bytes. */
void shca_reduce_join_parse(struct shca_reduce_join *join, const u8 *data);
void shca_reduce_join_build(const struct shca_reduce_join *join, u8 *data);
void shca_reduce_ready_parse(struct shca_reduce_ready *ready, const u8 *data);
void shca_reduce_ready_build(const struct shca_reduce_ready *ready, u8 *data);

/* Bytes of a value; 0: no such type. */
u32 shca_reduce_size(u8 type);

/* Is there this operation of this type, and has the datagram whole values of it, and any? */
bool shca_reduce_ok(u8 op, u8 type, u32 len);

/**
 * shca_reduce_apply() - add the values of a child to those of the children before
 * @op:		enum shca_reduce_op, of which shca_reduce_ok() is true
 * @type:	enum shca_reduce_type
 * @values:	as on the wire, and the result: @values[i] = @values[i] op @other[i]
 * @other:	as on the wire
 * @len:	bytes of both
 *
 * Sums of integers wrap round. The lesser, or greater, of two floating-point values is @other[i] if
 * it compares so, and @values[i] otherwise, also if one is no number.
 */
void shca_reduce_apply(u8 op, u8 type, u8 *values, const u8 *other, u32 len);

/* Copy values between memory, where they have the order of the machine, and the wire. */
void shca_reduce_copy(u8 type, u8 *to, const u8 *from, u32 len);

#endif
