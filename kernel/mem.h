/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Moving bytes between packets and memory regions.
 */
#ifndef SHCA_MEM_H
#define SHCA_MEM_H

#include "core/mem.h"

struct shca_qp;
struct sk_buff;

/** shca_mem_ops - the core's way to memory; the context is the struct shca_qp */
extern const struct shca_mem_ops shca_mem_ops;

/**
 * shca_mem_gather() - the payload of an outgoing packet into @dst
 * @dst:	@pkt->paylen bytes
 *
 * Context: bottom halves off.
 * Return: SHCA_MEM_OK, or why the memory cannot be had (@dst is undefined).
 */
enum shca_mem_status shca_mem_gather(struct shca_qp *qp,
				     const struct shca_pkt *pkt, u8 *dst);

#endif
