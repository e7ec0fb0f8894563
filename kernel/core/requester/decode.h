/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes requests from the rings into private copies. Whatever the process writes there, and
 * whenever, nothing beyond the slot is read.
 */
#ifndef SHCA_CORE_DECODE_H
#define SHCA_CORE_DECODE_H

#include "../wr.h"

/**
 * struct shca_decode - what the requests of a send queue may be
 * @max_sge:	segments that a slot has room for
 * @max_inline:	bytes of inline data that it has room for
 * @transport:	SHCA_TRANSPORT_*
 * @is_user:	a process writes them; the other ones are of kernel consumers
 * @is_gsi:	QP1, whose datagrams name their P_Key
 * @sig_all:	each request is signalled
 */
struct shca_decode {
	u32 max_sge;
	u32 max_inline;
	u8 transport;
	bool is_user;
	bool is_gsi;
	bool sig_all;
};

/**
 * shca_send_decode() - a send request
 * @queue:	what its requests may be
 * @wqe:	a private copy of the slot's beginning
 * @data:	the rest of the slot: segments, each word read once, or inline data, which stays
 *		there
 * @wr:		room for @max_sge segments; all but what is below "progress" is written
 *
 * Return: false: malformed, and @preset says so. True, for UD: the caller finds the address.
 */
bool shca_send_decode(const struct shca_decode *queue,
		      const struct shca_send_wqe *wqe, const void *data,
		      struct shca_send_wr *wr);

void shca_send_refuse(struct shca_send_wr *wr);

/*
 * Decode a receive request; arguments as in shca_send_decode().
 *
 * Return: false: malformed, and without segments.
 */
bool shca_recv_decode(u32 max_sge, const struct shca_recv_wqe *wqe,
		      const void *data, struct shca_recv_wr *wr);

#endif
