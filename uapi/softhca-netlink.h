/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The generic-netlink family for all settings of softhca. `rdma link add`
 * carries no attributes, and the rdma netlink family takes none from drivers.
 * The module and tools/softhca use it.
 */
#ifndef SOFTHCA_NETLINK_H
#define SOFTHCA_NETLINK_H

#define SHCA_GENL_NAME		"softhca"
#define SHCA_GENL_VERSION	1

enum shca_genl_cmd {
	SHCA_CMD_UNSPEC,
	SHCA_CMD_DEV_GET,	/* one device by name, or a dump of all */
	SHCA_CMD_DEV_SET,	/* needs CAP_NET_ADMIN over the netdev's namespace */
	SHCA_CMD_FATE_GET,	/* dump: each QP that the sender may watch, and
				 * the last ones destroyed after an error
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
	SHCA_A_PKEY_INDEX,	/* u16: entry of the table to set, from 1 on */
	SHCA_A_PKEY,		/* u16: its new P_Key, in host order; 0 empties it */
	SHCA_A_PEERS,		/* nested: SHCA_A_DEV_NAME of each trusted
				 * device; set with SHCA_PATH_HOST only
				 */
	SHCA_A_RESV8A,		/* u8: enum shca_resv8a */
	SHCA_A_CC,		/* u8: enum shca_cc_mode */
	SHCA_A_CC_ALGORITHM,	/* u8: enum shca_cc_algo */
	SHCA_A_FATE,		/* binary: struct shca_dump_fate, softhca-dump.h */
	__SHCA_A_MAX,
	SHCA_A_MAX = __SHCA_A_MAX - 1
};

/**
 * enum shca_path - how work requests travel
 * @SHCA_PATH_AUTO:	directly if the peer is a QP of this kernel and the
 *		route is local, otherwise as packets
 * @SHCA_PATH_WIRE:	always as packets (teaching, captures, fault tests)
 * @SHCA_PATH_HOST:	as auto, and also directly to the devices of other
 *		network namespaces in SHCA_A_PEERS. They must have this path,
 *		too, and name this device. Without SHCA_A_PEERS, the devices
 *		named last are kept
 */
enum shca_path {
	SHCA_PATH_AUTO,
	SHCA_PATH_WIRE,
	SHCA_PATH_HOST,
	__SHCA_PATH_MAX,
	SHCA_PATH_MAX = __SHCA_PATH_MAX - 1
};

/**
 * enum shca_resv8a - mark by which softhca devices on different machines
 *		recognise each other without ECE
 * @SHCA_RESV8A_OFF:	mark no packet, ignore marks
 * @SHCA_RESV8A_AUTO:	mark packets to a peer that has marked its own
 * @SHCA_RESV8A_ON:	mark all packets of RC and XRC
 *
 * The mark is in the bits that the BTH reserves beside FECN and BECN. A QP takes
 * the setting over when it goes to RTR (for its answers) and to RTS (for its
 * requests).
 */
enum shca_resv8a {
	SHCA_RESV8A_OFF,
	SHCA_RESV8A_AUTO,
	SHCA_RESV8A_ON,
	__SHCA_RESV8A_MAX,
	SHCA_RESV8A_MAX = __SHCA_RESV8A_MAX - 1
};

/**
 * enum shca_cc_mode - congestion control of RC and XRC (RoCEv2, annex A17.9)
 * @SHCA_CC_MODE_OFF:	packets are not ECN-capable, marks draw no CNP, and CNPs are
 *			counted only; a loss makes the window smaller all the same
 * @SHCA_CC_MODE_AUTO:	packets to another softhca are ECN-capable; marks draw CNPs, and
 *			CNPs slow their sender down
 * @SHCA_CC_MODE_ON:	the same, and packets to all others are ECN-capable, too: for
 *			peers that answer marks with CNPs, as adapters do
 *
 * Taken over by a queue pair as SHCA_A_RESV8A is.
 */
enum shca_cc_mode {
	SHCA_CC_MODE_OFF,
	SHCA_CC_MODE_AUTO,
	SHCA_CC_MODE_ON,
	__SHCA_CC_MODE_MAX,
	SHCA_CC_MODE_MAX = __SHCA_CC_MODE_MAX - 1
};

/**
 * enum shca_cc_algo - what a queue pair does about congestion
 * @SHCA_CC_ALGO_WINDOW: a congestion window that follows CNPs, as DCTCP does
 * @SHCA_CC_ALGO_DELAY:	the same, which also follows the round trip, as Swift does
 * @SHCA_CC_ALGO_DCQCN:	a rate, as adapters have it; its parameters are in sysfs,
 *			ports/1/cc_params
 *
 * Taken over by a queue pair on its way to RTS.
 */
enum shca_cc_algo {
	SHCA_CC_ALGO_WINDOW,
	SHCA_CC_ALGO_DELAY,
	SHCA_CC_ALGO_DCQCN,
	__SHCA_CC_ALGO_MAX,
	SHCA_CC_ALGO_MAX = __SHCA_CC_ALGO_MAX - 1
};

#endif
