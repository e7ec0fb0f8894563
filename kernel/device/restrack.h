/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Details of objects for `rdma resource show`, beyond those of the RDMA core. */
#ifndef SHCA_RESTRACK_H
#define SHCA_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

/* operations in struct ib_device_ops; for *_raw see uapi/softhca-dump.h */
int shca_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int shca_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int shca_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int shca_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int shca_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int shca_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int shca_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int shca_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
