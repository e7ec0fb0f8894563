/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `rdma resource show` tells of objects beyond what the RDMA core knows. */
#ifndef SHCA_RESTRACK_H
#define SHCA_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

/* struct ib_device_ops; those _raw: uapi/softhca-dump.h */
int shca_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int shca_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int shca_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int shca_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int shca_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int shca_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int shca_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int shca_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
