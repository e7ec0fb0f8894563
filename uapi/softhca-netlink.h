/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The generic-netlink family for all settings of softhca, between the module and
 * tools/softhca. `rdma link add` carries no attributes, and the rdma netlink family takes
 * none from drivers.
 */
#ifndef SOFTHCA_NETLINK_H
#define SOFTHCA_NETLINK_H

#define SHCA_GENL_NAME		"softhca"
#define SHCA_GENL_VERSION	1

enum shca_genl_cmd {
	SHCA_CMD_UNSPEC,
	SHCA_CMD_DEV_GET,	/* one device by name, or a dump of all */
	SHCA_CMD_DEV_SET,	/* needs CAP_NET_ADMIN over the netdev's namespace */
	SHCA_CMD_FATE_GET,	/* dump: each QP that the sender may see, and the
				 * last ones destroyed after an error
				 */
	SHCA_CMD_FAULT_ADD,	/* add a rule: SHCA_A_DEV_NAME, SHCA_A_FAULT; likewise. The
				 * answer has SHCA_FA_ID
				 */
	SHCA_CMD_FAULT_GET,	/* dump of all rules of this network namespace */
	SHCA_CMD_FAULT_DEL,	/* delete rule SHCA_FA_ID of SHCA_A_FAULT, or all rules of
				 * SHCA_A_DEV_NAME, or of this network namespace; likewise
				 */
	__SHCA_CMD_MAX,
	SHCA_CMD_MAX = __SHCA_CMD_MAX - 1
};

enum shca_genl_attr {
	SHCA_A_UNSPEC,
	SHCA_A_PAD,
	SHCA_A_DEV_NAME,	/* string: ib_device name */
	SHCA_A_NETDEV_IFINDEX,	/* u32, in the netdev's namespace; get only */
	SHCA_A_NETDEV_NAME,	/* string; get only */
	SHCA_A_PATH,		/* u8: enum shca_path */
	SHCA_A_PKEYS,		/* binary: the P_Key table, u16 each; get only */
	SHCA_A_PKEY_INDEX,	/* u16: entry of the table to set; not 0 */
	SHCA_A_PKEY,		/* u16: its new P_Key, in host order; 0 empties it */
	SHCA_A_PEERS,		/* nested: SHCA_A_DEV_NAME of each trusted device;
				 * set with SHCA_PATH_HOST only
				 */
	SHCA_A_RESV8A,		/* u8: enum shca_resv8a */
	SHCA_A_CC,		/* u8: enum shca_cc_mode */
	SHCA_A_CC_ALGORITHM,	/* u8: enum shca_cc_algo */
	SHCA_A_FATE,		/* binary: struct shca_dump_fate, softhca-dump.h */
	SHCA_A_FAULT,		/* nested: enum shca_fault_attr */
	SHCA_A_LINT,		/* u8: enum shca_lint_mode */
	SHCA_A_PERSONALITY,	/* nested: enum shca_personality_attr. Set without a device:
				 * the personality of the next device that `rdma link add`
				 * makes in this network namespace
				 */
	SHCA_A_LINT_ERRORS,	/* u32: errors that processes have reported; get only */
	SHCA_A_LINT_HINTS,	/* u32: likewise, hints */
	SHCA_A_ICRC,		/* u8: enum shca_icrc_mode */
	__SHCA_A_MAX,
	SHCA_A_MAX = __SHCA_A_MAX - 1
};

/**
 * enum shca_path - how work requests travel
 * @SHCA_PATH_AUTO:	directly if the peer is a QP of this network namespace and the route local,
 *			otherwise as packets
 * @SHCA_PATH_WIRE:	always as packets (teaching, captures, fault tests)
 * @SHCA_PATH_HOST:	as auto, and also directly to the devices of other network namespaces
 *			in SHCA_A_PEERS. They must have this path, too, and name this device.
 *			Without SHCA_A_PEERS, the last list stays
 */
enum shca_path {
	SHCA_PATH_AUTO,
	SHCA_PATH_WIRE,
	SHCA_PATH_HOST,
	/* private: */
	__SHCA_PATH_MAX,
	SHCA_PATH_MAX = __SHCA_PATH_MAX - 1
};

/**
 * enum shca_resv8a - mark by which softhca devices on different machines recognise each other
 * without ECE
 * @SHCA_RESV8A_OFF:	mark no packet, ignore marks
 * @SHCA_RESV8A_AUTO:	mark packets to a peer that has marked its own, so that a peer of
 *			unknown vendor never sees a mark
 * @SHCA_RESV8A_ON:	mark all packets of RC and XRC
 *
 * The mark is in the bits that the BTH reserves beside FECN and BECN. A QP takes the setting
 * over when it goes to RTR (for responses) and to RTS (for requests).
 */
enum shca_resv8a {
	SHCA_RESV8A_OFF,
	SHCA_RESV8A_AUTO,
	SHCA_RESV8A_ON,
	/* private: */
	__SHCA_RESV8A_MAX,
	SHCA_RESV8A_MAX = __SHCA_RESV8A_MAX - 1
};

/**
 * enum shca_icrc_mode - the invariant CRC of packets between two softhcas, RC and XRC
 * @SHCA_ICRC_ON:	each packet has one, and is dropped if it is wrong
 * @SHCA_ICRC_OFF:	between devices that both have this setting, packets have zeros in its
 *			place, and none is checked: for machines with nothing between them that
 *			could damage a packet. With all others as SHCA_ICRC_ON
 *
 * The devices learn it by their marks: all packets are marked, as by SHCA_RESV8A_ON. With
 * SHCA_RESV8A_OFF it has no effect. A QP takes the setting over as that of SHCA_A_RESV8A.
 */
enum shca_icrc_mode {
	SHCA_ICRC_ON,
	SHCA_ICRC_OFF,
	/* private: */
	__SHCA_ICRC_MAX,
	SHCA_ICRC_MAX = __SHCA_ICRC_MAX - 1
};

/**
 * enum shca_cc_mode - congestion control of RC and XRC (RoCEv2, annex A17.9)
 * @SHCA_CC_MODE_OFF:	packets are not ECN-capable, CE marks cause no CNP, and CNPs are only
 *			counted. Losses still reduce the window
 * @SHCA_CC_MODE_AUTO:	packets to another softhca are ECN-capable, CE marks cause CNPs, and
 *			CNPs reduce the sender's window or rate
 * @SHCA_CC_MODE_ON:	likewise, and packets to all peers are ECN-capable: for peers that
 *			send CNPs, as adapters do
 *
 * A QP takes the setting over as that of SHCA_A_RESV8A.
 */
enum shca_cc_mode {
	SHCA_CC_MODE_OFF,
	SHCA_CC_MODE_AUTO,
	SHCA_CC_MODE_ON,
	/* private: */
	__SHCA_CC_MODE_MAX,
	SHCA_CC_MODE_MAX = __SHCA_CC_MODE_MAX - 1
};

/*
 * enum shca_cc_algo, a QP's reaction to congestion; taken over by the change to RTS
 *	WINDOW	a congestion window that follows CNPs, as DCTCP does
 *	DELAY	the same, which also follows the round trip, as Swift does
 *	DCQCN	a rate, as adapters have it; its parameters are in sysfs, ports/1/cc_params
 */
#define SHCA_CC_ALGOS(X)				\
	X(WINDOW, "window")				\
	X(DELAY, "delay")				\
	X(DCQCN, "dcqcn")

enum shca_cc_algo {
#define X(id, name) SHCA_CC_ALGO_##id,
	SHCA_CC_ALGOS(X)
#undef X
	__SHCA_CC_ALGO_MAX,
	SHCA_CC_ALGO_MAX = __SHCA_CC_ALGO_MAX - 1
};

/**
 * enum shca_lint_mode - the verbs sanitizer of processes (docs/lint.md)
 * @SHCA_LINT_MODE_OFF:	as each process asks by SOFTHCA_LINT
 * @SHCA_LINT_MODE_ON:	report errors
 * @SHCA_LINT_MODE_HINTS:	report hints, too
 *
 * A process takes the setting over when it opens the device.
 */
enum shca_lint_mode {
	SHCA_LINT_MODE_OFF,
	SHCA_LINT_MODE_ON,
	SHCA_LINT_MODE_HINTS,
	/* private: */
	__SHCA_LINT_MODE_MAX,
	SHCA_LINT_MODE_MAX = __SHCA_LINT_MODE_MAX - 1
};

/* ---- faults ------------------------------------------------------------------- */

/* Maximum rules per device. */
#define SHCA_FAULT_RULES	256
/* Maximum entries of SHCA_FA_LOG and of SHCA_FA_AT. */
#define SHCA_FAULT_LOG		512
/* Maximum SHCA_FA_DELAY in nanoseconds, and SHCA_FA_DISTANCE in packets. */
#define SHCA_FAULT_DELAY_MAX	5000000000ull
#define SHCA_FAULT_DISTANCE_MAX	64
/* Maximum length of SHCA_FA_CGROUP, with its final 0. */
#define SHCA_FAULT_CGROUP_MAX	256

/*
 * A rule of fault injection. SHCA_FA_WHAT is the fault. The attributes up to SHCA_FA_PID, and
 * those marked "where", say where it happens; absent ones match everything.
 * SHCA_FA_PROBABILITY to SHCA_FA_FOR, and SHCA_FA_AT, say when it happens among what matches.
 */
enum shca_fault_attr {
	SHCA_FA_UNSPEC,
	SHCA_FA_PAD,
	SHCA_FA_ID,		/* u32: number of the rule; get and delete */
	SHCA_FA_WHAT,		/* u8: enum shca_fault_what */
	SHCA_FA_RX,		/* flag: received packets, not sent ones */
	SHCA_FA_QPN,		/* u32: number of the device's QP */
	SHCA_FA_OPCODE,		/* u8: opcode of the BTH */
	SHCA_FA_TYPE,		/* u8: enum shca_fault_type */
	SHCA_FA_PSN,		/* u32: first PSN of a range */
	SHCA_FA_PSN_LAST,	/* u32: last one */
	SHCA_FA_WR_ID,		/* u64: of a work request */
	SHCA_FA_PID,		/* u32: process, in the sender's PID namespace */
	SHCA_FA_PROBABILITY,	/* u32: parts of a million */
	SHCA_FA_SEED,		/* u64: of the rule's random numbers */
	SHCA_FA_EVERY,		/* u32: each n-th match */
	SHCA_FA_NTH,		/* u32: not before the n-th match, from 1 on */
	SHCA_FA_COUNT,		/* u32: maximum number of faults */
	SHCA_FA_AFTER,		/* u64: ns from the rule's creation, not before */
	SHCA_FA_FOR,		/* u64: ns from then on, not after */
	SHCA_FA_DELAY,		/* u64: ns that a packet waits */
	SHCA_FA_JITTER,		/* u64: ns, a random part more at most */
	SHCA_FA_DISTANCE,	/* u32: packets of its QP that overtake a packet */
	SHCA_FA_STATUS,		/* u8: enum ibv_wc_status of a completion */
	SHCA_FA_NAK,		/* u8: enum shca_fault_nak */
	SHCA_FA_VERB,		/* u8: enum shca_fault_verb */
	SHCA_FA_ERRNO,		/* u32: positive */
	SHCA_FA_EVENT,		/* u8: enum ibv_event_type. It happens at once, unless other
				 * attributes name the packets, 512 at most
				 */
	SHCA_FA_SEEN,		/* u64: matches within the rule's time; get only */
	SHCA_FA_HITS,		/* u64: number of faults; get only */
	SHCA_FA_AT,		/* binary: u32 each, ascending: numbers of the matches, from 1
				 * on; instead of SHCA_FA_PROBABILITY to SHCA_FA_FOR but the
				 * seed
				 */
	SHCA_FA_LOG,		/* binary: u32 each: matches that were hit, SHCA_FAULT_LOG at
				 * most, in the form of SHCA_FA_AT; get only
				 */
	SHCA_FA_MSG,		/* u32: where: number of a message of its QP, from 1 on: first */
	SHCA_FA_MSG_LAST,	/* u32: last one */
	SHCA_FA_VA,		/* u64: where: remote address of a request: first of a range */
	SHCA_FA_VA_LAST,	/* u64: last one */
	SHCA_FA_RKEY,		/* u32: where: key of a request for remote memory */
	SHCA_FA_CQN,		/* u32: where: number of a CQ, as `rdma resource` has it */
	SHCA_FA_CGROUP,		/* string: where: path of a cgroup (v2) in the sender's cgroup
				 * namespace: its processes, and those of its descendants
				 */
	SHCA_FA_DIST,		/* u8: enum shca_fault_dist: of SHCA_FA_JITTER */
	SHCA_FA_HELD,		/* flag: the rule ends when the socket that added it is closed */
	__SHCA_FA_MAX,
	SHCA_FA_MAX = __SHCA_FA_MAX - 1
};

/* enum shca_fault_what, with the name in the tool and in trace events */
#define SHCA_FAULT_WHATS(X)				\
	X(DROP, "drop")					\
	X(DUPLICATE, "duplicate")			\
	X(DELAY, "delay")				\
	X(REORDER, "reorder")				\
	X(CORRUPT_PAYLOAD, "corrupt-payload")		\
	X(CORRUPT_HEADER, "corrupt-header")		\
	X(CORRUPT_ICRC, "corrupt-icrc")			\
	X(ECN, "ecn")					\
	X(NAK, "nak")					\
	X(COMPLETE, "complete")				\
	X(QP_FATAL, "qp-fatal")				\
	X(CQ_OVERRUN, "cq-overrun")			\
	X(FAIL, "fail")					\
	X(EVENT, "event")				\
	X(REVOKE, "revoke")				\
	X(LOSE_EVENT, "lose-event")			\
	X(LOSE_DOORBELL, "lose-doorbell")		\
	X(DELAY_DOORBELL, "delay-doorbell")

enum shca_fault_what {
#define X(id, name) SHCA_FAULT_##id,
	SHCA_FAULT_WHATS(X)
#undef X
	SHCA_FAULT_NR
};

/* enum shca_fault_type, kinds of packets */
#define SHCA_FAULT_TYPES(X)				\
	X(ANY, "any")					\
	X(REQUEST, "request")				\
	X(RESPONSE, "response")				\
	X(SEND, "send")					\
	X(WRITE, "write")				\
	X(READ, "read")					\
	X(READ_RESPONSE, "read-response")		\
	X(ATOMIC, "atomic")				\
	X(ATOMIC_ACK, "atomic-ack")			\
	X(ACK, "ack")					\
	X(NAK, "nak")					\
	X(CNP, "cnp")

enum shca_fault_type {
#define X(id, name) SHCA_FAULT_TYPE_##id,
	SHCA_FAULT_TYPES(X)
#undef X
	SHCA_FAULT_TYPE_NR
};

/*
 * enum shca_fault_dist, the distribution of SHCA_FA_JITTER: uniform or roughly normal from 0
 * to it, or exponential with it as the mean.
 */
#define SHCA_FAULT_DISTS(X)				\
	X(UNIFORM, "uniform")				\
	X(NORMAL, "normal")				\
	X(EXPONENTIAL, "exponential")

enum shca_fault_dist {
#define X(id, name) SHCA_FAULT_DIST_##id,
	SHCA_FAULT_DISTS(X)
#undef X
	SHCA_FAULT_DIST_NR
};

/* enum ibv_event_type, in its order and from 0 on. No rule makes the events after these. */
#define SHCA_FAULT_EVENTS(X) \
	X(CQ_ERR) \
	X(QP_FATAL) \
	X(QP_REQ_ERR) \
	X(QP_ACCESS_ERR) \
	X(COMM_EST) \
	X(SQ_DRAINED) \
	X(PATH_MIG) \
	X(PATH_MIG_ERR) \
	X(DEVICE_FATAL) \
	X(PORT_ACTIVE) \
	X(PORT_ERR) \
	X(LID_CHANGE) \
	X(PKEY_CHANGE) \
	X(SM_CHANGE) \
	X(SRQ_ERR) \
	X(SRQ_LIMIT_REACHED) \
	X(QP_LAST_WQE_REACHED) \
	X(CLIENT_REREGISTER) \
	X(GID_CHANGE)

/* enum shca_fault_nak, the answer of a responder in place of executing a request */
#define SHCA_FAULT_NAKS(X)				\
	X(RNR, "rnr")					\
	X(INVALID, "invalid-request")			\
	X(ACCESS, "access-error")			\
	X(OPERATION, "operation-error")

enum shca_fault_nak {
#define X(id, name) SHCA_FAULT_NAK_##id,
	SHCA_FAULT_NAKS(X)
#undef X
	SHCA_FAULT_NAK_NR
};

/*
 * enum shca_fault_verb, verbs that may fail. None of them destroys an object or opens a
 * device: an error of the driver there is a warning or a leak in the RDMA core.
 */
#define SHCA_FAULT_VERBS(X)				\
	X(QUERY_PORT, "query_port")			\
	X(ALLOC_PD, "alloc_pd")				\
	X(REG_MR, "reg_mr")				\
	X(REREG_MR, "rereg_mr")				\
	X(ALLOC_MW, "alloc_mw")				\
	X(CREATE_CQ, "create_cq")			\
	X(RESIZE_CQ, "resize_cq")			\
	X(CREATE_SRQ, "create_srq")			\
	X(MODIFY_SRQ, "modify_srq")			\
	X(QUERY_SRQ, "query_srq")			\
	X(CREATE_QP, "create_qp")			\
	X(MODIFY_QP, "modify_qp")			\
	X(QUERY_QP, "query_qp")				\
	X(CREATE_AH, "create_ah")			\
	X(ATTACH_MCAST, "attach_mcast")			\
	X(ALLOC_DM, "alloc_dm")				\
	X(OPEN_XRCD, "open_xrcd")			\
	X(CREATE_WQ, "create_wq")			\
	X(CREATE_FLOW, "create_flow")			\
	X(ADVISE_MR, "advise_mr")

enum shca_fault_verb {
#define X(id, name) SHCA_FAULT_VERB_##id,
	SHCA_FAULT_VERBS(X)
#undef X
	SHCA_FAULT_VERB_NR
};

#endif
