/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reduction in the network: each process of a job has an array, and all get the sum (or another
 * operation) of all arrays, element by element. The switches of softhca-fabric add up
 * (fabric/README.md, "Reduction in the network"), so each host sends and receives an array once.
 *
 * A job is for one thread at a time.
 */
#ifndef SOFTHCA_REDUCE_H
#define SOFTHCA_REDUCE_H

#include <stddef.h>
#include <stdint.h>

enum softhca_reduce_type {
	SOFTHCA_REDUCE_I32 = 1,
	SOFTHCA_REDUCE_I64,
	SOFTHCA_REDUCE_F32,
	SOFTHCA_REDUCE_F64,
};

/* AND and OR are of the bits of integers. Sums of integers wrap round. */
enum softhca_reduce_op {
	SOFTHCA_REDUCE_SUM = 1,
	SOFTHCA_REDUCE_MIN,
	SOFTHCA_REDUCE_MAX,
	SOFTHCA_REDUCE_AND,
	SOFTHCA_REDUCE_OR,
};

/**
 * struct softhca_reduce_attr - a member of a job
 * @key:	a random number, the same for all members and for no other job. Who knows it can join
 * @node:	LID of any aggregation node. That of rank 0 is the root of the tree
 * @rank:	of this member, from 0 on
 * @size:	members of the job, 256 at most
 * @port:	of the device; 0: the first one
 * @pkey_index:	in the P_Key table of the port
 * @sl:		service level
 * @timeout_ms:	give up when nothing has come for so long; 0: 30 seconds
 */
struct softhca_reduce_attr {
	uint64_t key;
	uint16_t node;
	uint16_t rank;
	uint16_t size;
	uint16_t pkey_index;
	uint8_t port;
	uint8_t sl;
	uint32_t timeout_ms;
};

struct softhca_reduce;

/**
 * softhca_reduce_open() - join a job
 * @device:	name of an RDMA device, or NULL: the first one
 * @attr:	see there
 *
 * Waits until all members have joined.
 *
 * Return: the job; NULL, and errno: EINVAL: members do not agree on size or partition, or two have one
 * rank; ENOBUFS: there are too many jobs; EHOSTUNREACH: the forwarding tables have no tree; E2BIG: a
 * switch would have more than 64 members; ETIMEDOUT: somebody is missing, or there is no aggregation
 * node at the LID; others of libibverbs.
 */
struct softhca_reduce *softhca_reduce_open(const char *device, const struct softhca_reduce_attr *attr);

/**
 * softhca_reduce_all() - reduce arrays, and wait for the result
 * @job:	all members call this in one order, with equal @count, @type and @op
 * @in:		elements of this member
 * @out:	result; may be @in
 * @count:	of elements
 * @type:	enum softhca_reduce_type
 * @op:		enum softhca_reduce_op
 *
 * The result is the same at all members, to the bit, and each time, while the tree is the same: a
 * switch applies the operation to its children in the order of their lowest ranks.
 *
 * Return: 0, or an error, after which the job is of no use: EINVAL: there is no such operation of the
 * type; ECONNRESET: a member has left, or the job is gone; ETIMEDOUT: nothing has come for the time.
 */
int softhca_reduce_all(struct softhca_reduce *job, const void *in, void *out, size_t count, int type, int op);

/* Datagrams that were sent again, as they or their answers were late or lost. */
uint64_t softhca_reduce_again(const struct softhca_reduce *job);

/* Leave the job. */
void softhca_reduce_close(struct softhca_reduce *job);

#endif
