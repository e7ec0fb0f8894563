/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a device, per CPU. This list is their only declaration: the enum, the names in
 * /sys/class/infiniband/<device>/ports/1/hw_counters and the comparison with docs/counters.md
 * are made from it.
 *
 * A QP counts in the set of its device, or in the set of the counter that it is bound to
 * (`rdma statistic qp`). The RDMA core adds the bound sets wherever it shows the port's
 * counters.
 */
#ifndef SHCA_COUNTERS_H
#define SHCA_COUNTERS_H

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* X(id, name): a counter has mlx5's name where it has the same meaning. */
#define SHCA_COUNTER_LIST(X)					\
	X(TX_PKTS,		"tx_packets")			\
	X(TX_BYTES,		"tx_bytes")			\
	X(TX_DIRECT,		"tx_direct_packets")		\
	X(RX_PKTS,		"rx_packets")			\
	X(RX_BYTES,		"rx_bytes")			\
	X(RX_SHORT,		"rx_truncated")			\
	X(RX_HEADER,		"rx_malformed")			\
	X(RX_ICRC,		"rx_icrc_errors")		\
	X(RX_NO_ICRC,		"rx_without_icrc")		\
	X(RX_VCRC,		"rx_vcrc_errors")		\
	X(RX_NO_QP,		"rx_unknown_qp")		\
	X(RX_PATH,		"rx_path_mismatch")		\
	X(RX_PKEY,		"rx_pkey_mismatch")		\
	X(RX_TRANSPORT,		"rx_transport_mismatch")	\
	X(RX_STATE,		"rx_qp_not_ready")		\
	X(RX_DUPLICATE,		"duplicate_request")		\
	X(RX_OUT_OF_SEQ,	"out_of_sequence")		\
	X(RX_RNR,		"out_of_buffer")		\
	X(RX_INVALID,		"resp_local_invalid_request")	\
	X(RX_ACCESS,		"resp_remote_access_errors")	\
	X(RX_OPERATION,		"resp_local_operation_errors")	\
	X(RX_STALE_ACK,		"rx_stale_responses")		\
	X(RX_NAK_SEQ,		"packet_seq_err")		\
	X(RX_NAK_RNR,		"rnr_nak_retry_err")		\
	X(RX_NAK_FATAL,		"req_remote_errors")		\
	X(RX_BAD_RESPONSE,	"req_bad_responses")		\
	X(RX_LOST_RESPONSE,	"implied_nak_seq_err")		\
	X(RX_LOCAL_ERR,		"req_local_errors")		\
	X(RX_CNP,		"rp_cnp_handled")		\
	X(RX_ECN_MARKED,	"np_ecn_marked_roce_packets")	\
	X(TX_CNP,		"np_cnp_sent")			\
	X(RX_DROPPED,		"rx_dropped_messages")		\
	X(RX_QKEY,		"rx_qkey_mismatch")		\
	X(RX_BACKLOG,		"rx_backlog_drops")		\
	X(TIMEOUT,		"local_ack_timeout_err")	\
	X(TX_ACK_PROBE,		"tx_ack_probes")		\
	X(TX_EARLY,		"tx_early_retransmits")		\
	X(RX_NO_MEM,		"rx_no_memory")			\
	X(TX_NO_ROUTE,		"tx_no_route")			\
	X(TX_NO_MEM,		"tx_no_memory")			\
	X(TX_DROP,		"tx_dropped_locally")		\
	X(TX_FULL,		"tx_queue_full")		\
	X(TX_CREDIT,		"tx_credit_waits")		\
	X(RX_OVERRUN,		"rx_buffer_overruns")		\
	X(RX_CREDIT,		"rx_credit_errors")		\
	X(CQ_OVERFLOW,		"cq_overflow")			\
	X(BAD_RING,		"malformed_rings")		\
	X(FAULT,		"injected_faults")

/* Optional counters: count only after `rdma statistic set`. */
#define SHCA_OPTIONAL_LIST(X)					\
	X(RX_CE,		"cc_rx_ce_pkts")		\
	X(RX_WRITES,		"rx_write_requests")		\
	X(RX_READS,		"rx_read_requests")		\
	X(RX_ATOMICS,		"rx_atomic_requests")

enum shca_counter {
#define X(id, name) SHCA_CNT_##id,
	SHCA_COUNTER_LIST(X)
	SHCA_OPTIONAL_LIST(X)
#undef X
	SHCA_CNT_NR,
	SHCA_CNT_OPTIONAL = SHCA_CNT_RX_CE,
};

struct shca_counters {
	u64 v[SHCA_CNT_NR];
};

/**
 * struct shca_bound - counters of the QPs that are bound to one RDMA core
 * counter
 * @counters:	the set
 * @rcu:	defers the free; a QP unbound a moment ago may still count
 */
struct shca_bound {
	struct shca_counters __percpu *counters;
	struct rcu_head rcu;
};

/**
 * struct shca_dev_stats - counters of a device's bound QPs, and optional ones
 * @bound:	struct shca_bound by RDMA core counter number
 * @retired:	sums of deleted sets, under the lock of @bound
 * @optional:	bitmap of enabled optional counters, from SHCA_CNT_OPTIONAL on
 */
struct shca_dev_stats {
	struct xarray bound;
	u64 retired[SHCA_CNT_NR];
	unsigned long optional;
};

struct shca_dev;

/*
 * Add to a counter of @owner, a device or a QP. READ_ONCE(): a QP may be bound to another set
 * at any time. u64: clang warns where this_cpu_add() compares a u16 with -1. Context: softirq
 * or bottom halves off if @owner is a QP.
 */
#define shca_count_n(owner, id, n) \
	this_cpu_add(READ_ONCE((owner)->counters)->v[SHCA_CNT_##id], (u64)(n))
#define shca_count(owner, id) shca_count_n(owner, id, 1)

/* Helpers of the macros below. @counters belongs to @dev or to one of its QPs. */
void __shca_count_rx(struct shca_counters __percpu *counters,
		     unsigned int verdict);
void __shca_count_ce(const struct shca_dev *dev,
		     struct shca_counters __percpu *counters);
void __shca_count_request(const struct shca_dev *dev,
			  struct shca_counters __percpu *counters, u8 opcode);
DECLARE_STATIC_KEY_FALSE(shca_optional_counters);

/*
 * shca_count_rx() - count the core's verdict on a packet (enum shca_verdict)
 * shca_count_ce() - count a received packet with a congestion mark (CE)
 * shca_count_request() - count an executed request packet with @opcode
 *
 * Context: softirq or bottom halves off.
 */
#define shca_count_rx(qp, verdict) \
	__shca_count_rx(READ_ONCE((qp)->counters), verdict)
#define shca_count_ce(qp) \
	__shca_count_ce((qp)->dev, READ_ONCE((qp)->counters))
#define shca_count_request(qp, opcode)					\
do {									\
	if (static_branch_unlikely(&shca_optional_counters))		\
		__shca_count_request((qp)->dev,				\
				     READ_ONCE((qp)->counters), opcode); \
} while (0)

/* Allocate a device's counters. Return: 0 or -ENOMEM. */
int shca_counters_init(struct shca_dev *dev);
/* Free them; also without a successful shca_counters_init(). */
void shca_counters_exit(struct shca_dev *dev);

/* Sum one counter of one set over all CPUs. */
u64 shca_counter_sum(const struct shca_counters __percpu *counters,
		     enum shca_counter id);
/* The device's count, including that of all QPs that are or were bound. */
u64 shca_counter_total(struct shca_dev *dev, enum shca_counter id);

#endif
