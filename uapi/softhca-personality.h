/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Personalities: how a device can be restricted (docs/personalities.md). The module and
 * tools/softhca use these lists. New rows go to the end of a list, because their numbers are
 * attributes of the generic-netlink family.
 */
#ifndef SOFTHCA_PERSONALITY_H
#define SOFTHCA_PERSONALITY_H

/* Longest name, with the terminating zero. */
#define SHCA_PERSONALITY_NAME	32
/* The personality of a new device: no restriction. */
#define SHCA_PERSONALITY_NATIVE	"native"

/* Limits that are sizes of arrays. */
#define SHCA_LIM_SGE		30
#define SHCA_LIM_PKEYS		32
#define SHCA_LIM_TAGS		512	/* per SRQ; matching is a linear search */

/*
 * enum shca_limit: name in files, smallest and largest value, native value. The test
 * tests/userspace/verbs/objects/limits.c reaches each native value. Limits apply to objects
 * of processes; kernel consumers are neither counted nor refused.
 *
 * One process can have all queues within the default of vm.max_map_count (65530), at two
 * mappings each. The number of READs and atomics equals rxe's, because perftest asks for its
 * peer's number and not for its own device's.
 */
#define SHCA_LIMITS(X)								\
	X(QP, "max_qp", 1, 16384, 16384)					\
	X(QP_WR, "max_qp_wr", 1, 16384, 16384)					\
	X(SEND_SGE, "max_send_sge", 1, SHCA_LIM_SGE, SHCA_LIM_SGE)		\
	X(RECV_SGE, "max_recv_sge", 1, SHCA_LIM_SGE, SHCA_LIM_SGE)		\
	X(INLINE, "max_inline", 0, 960, 960)					\
	X(CQ, "max_cq", 1, 16384, 16384)					\
	X(CQE, "max_cqe", 1023, 1048575, 1048575)					\
	X(MR, "max_mr", 1, 1048576, 1048576)					\
	X(MW, "max_mw", 0, 1048576, 1048576)					\
	X(MR_SIZE, "max_mr_size", 4096, 1ull << 46, 1ull << 46)			\
	X(PAGE_SIZES, "page_size_cap", 4096, 0xfffff000, 0xfffff000)		\
	X(PD, "max_pd", 1, 65536, 65536)					\
	X(RD_ATOM, "max_qp_rd_atom", 0, 128, 128)				\
	X(INIT_RD_ATOM, "max_qp_init_rd_atom", 0, 128, 128)			\
	X(AH, "max_ah", 1, 65536, 65536)					\
	X(SRQ, "max_srq", 0, 16384, 16384)					\
	X(SRQ_WR, "max_srq_wr", 1, 32768, 32768)				\
	X(SRQ_SGE, "max_srq_sge", 1, SHCA_LIM_SGE, SHCA_LIM_SGE)		\
	X(PKEYS, "max_pkeys", 1, SHCA_LIM_PKEYS, SHCA_LIM_PKEYS)		\
	X(GIDS, "gid_tbl_len", 4, 128, 128)					\
	X(MCAST_GRP, "max_mcast_grp", 0, 2048, 2048)				\
	X(MCAST_QP, "max_mcast_qp_attach", 0, 240, 240)				\
	X(MCAST_TOTAL, "max_total_mcast_qp_attach", 0, 16384, 16384)		\
	X(FAST_PAGES, "max_fast_reg_page_list_len", 1, 512, 512)		\
	X(DM, "max_dm_size", 0, 1048576, 1048576)				\
	X(WQ, "max_wq", 0, 16384, 16384)					\
	X(RWQ_TBL, "max_rwq_indirection_tables", 0, 64, 64)			\
	X(RWQ_TBL_SIZE, "max_rwq_indirection_table_size", 1, 2048, 2048)	\
	X(TAGS, "max_num_tags", 1, SHCA_LIM_TAGS, SHCA_LIM_TAGS)		\
	X(FLOW, "max_flow", 0, 4096, 4096)					\
	X(VECTORS, "comp_vectors", 1, 65536, 65536)				\
	X(ATOMIC_CAP, "atomic_cap", 0, 2, 2)					\
	X(ACK_DELAY, "local_ca_ack_delay", 0, 31, 15)				\
	X(VENDOR_ID, "vendor_id", 0, 0xffffffff, 0xffffff)			\
	X(VENDOR_PART_ID, "vendor_part_id", 0, 0xffffffff, 0)			\
	X(LATE_US, "late_us", 0, 100000, 0)					\
	X(BURST, "burst", 1, 64, 1)						\
	X(BURST_US, "burst_us", 1, 10000, 100)

enum shca_limit {
#define X(id, name, min, max, native) SHCA_LIMIT_##id,
	SHCA_LIMITS(X)
#undef X
	SHCA_LIMIT_NR
};

/* enum shca_lack: what a device may be without, with its name in files */
#define SHCA_LACKS(X)					\
	X(UC, "uc")					\
	X(UD, "ud")					\
	X(XRC, "xrc")					\
	X(RAW_PACKET, "raw_packet")			\
	X(FLOW, "flow")					\
	X(SRQ, "srq")					\
	X(RESIZE_CQ, "resize_cq")			\
	X(MODIFY_CQ, "modify_cq")			\
	X(REREG_MR, "rereg_mr")				\
	X(MW, "mw")					\
	X(ODP, "odp")					\
	X(ADVISE_MR, "advise_mr")			\
	X(DMABUF, "dmabuf")				\
	X(DM, "dm")					\
	X(MCAST, "mcast")				\
	X(WQ, "wq")					\
	X(TM, "tm")					\
	X(ATOMICS, "atomics")				\
	X(TIMESTAMPS, "timestamps")			\
	X(FLUSH, "flush")				\
	X(ATOMIC_WRITE, "atomic_write")

enum shca_lack {
#define X(id, name) SHCA_LACK_##id,
	SHCA_LACKS(X)
#undef X
	SHCA_LACK_NR
};

/* Completions with a status below this can have a vendor_err of their own. */
#define SHCA_PERSONALITY_STATUSES	24

/**
 * enum shca_personality_attr - SHCA_A_PERSONALITY; absent attributes are native
 * @SHCA_PA_UNSPEC:	not used
 * @SHCA_PA_PAD: likewise
 * @SHCA_PA_NAME:	string; get only
 * @SHCA_PA_LIMITS:	nested: u64, its type is enum shca_limit + 1
 * @SHCA_PA_LACKS:	u64: bits of enum shca_lack
 * @SHCA_PA_VENDOR_ERRS:	nested: u32 (16 bits are used), its type is enum ibv_wc_status
 */
enum shca_personality_attr {
	SHCA_PA_UNSPEC,
	SHCA_PA_PAD,
	SHCA_PA_NAME,
	SHCA_PA_LIMITS,
	SHCA_PA_LACKS,
	SHCA_PA_VENDOR_ERRS,
	/* private: */
	__SHCA_PA_MAX,
	SHCA_PA_MAX = __SHCA_PA_MAX - 1
};

#endif
