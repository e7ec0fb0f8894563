/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a device, per CPU.  Declared once: the list makes the enum, the
 * names in /sys/class/infiniband/<device>/ports/1/hw_counters and the test
 * that compares both with docs/counters.md.
 */
#ifndef SHCA_COUNTERS_H
#define SHCA_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

/* X(id, name): the names are those of mlx5 where the meaning is the same. */
#define SHCA_COUNTER_LIST(X)					\
	X(TX_PKTS,		"tx_packets")			\
	X(TX_BYTES,		"tx_bytes")			\
	X(TX_DIRECT,		"tx_direct_packets")		\
	X(RX_PKTS,		"rx_packets")			\
	X(RX_BYTES,		"rx_bytes")			\
	X(RX_SHORT,		"rx_truncated")			\
	X(RX_HEADER,		"rx_malformed")			\
	X(RX_ICRC,		"rx_icrc_errors")		\
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
	X(RX_DROPPED,		"rx_dropped_messages")		\
	X(RX_QKEY,		"rx_qkey_mismatch")		\
	X(RX_STEERED,		"rx_steered")			\
	X(RX_BACKLOG,		"rx_backlog_drops")		\
	X(TIMEOUT,		"local_ack_timeout_err")	\
	X(TX_NO_ROUTE,		"tx_no_route")			\
	X(TX_NO_MEM,		"tx_no_memory")			\
	X(TX_DROP,		"tx_dropped_locally")		\
	X(CQ_OVERFLOW,		"cq_overflow")			\
	X(BAD_RING,		"malformed_rings")

enum shca_counter {
#define X(id, name) SHCA_CNT_##id,
	SHCA_COUNTER_LIST(X)
#undef X
	SHCA_CNT_NR
};

struct shca_counters {
	u64 v[SHCA_CNT_NR];
};

struct shca_dev;
struct ib_device;

/* Per CPU, so no lock and no shared line; a reader sums.  Any context. */
#define shca_count_n(dev, id, n) \
	this_cpu_add((dev)->counters->v[SHCA_CNT_##id], n)
#define shca_count(dev, id) shca_count_n(dev, id, 1)

/**
 * shca_count_rx() - count the core's verdict on a packet (enum shca_rx)
 *
 * Context: softirq or bottom halves off.
 */
void shca_count_rx(const struct shca_dev *dev, unsigned int verdict);

/** shca_counter_sum() - of all CPUs; a counter may move meanwhile */
u64 shca_counter_sum(const struct shca_dev *dev, enum shca_counter id);

/* struct ib_device_ops */
struct rdma_hw_stats *shca_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port);
int shca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index);

#endif
