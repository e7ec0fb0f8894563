/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The one generic-netlink family through which every knob of softhca is set:
 * `rdma link add` carries no attributes, and the rdma netlink family takes
 * none from drivers.  Used by the module and by tools/softhca.
 */
#ifndef SOFTHCA_NETLINK_H
#define SOFTHCA_NETLINK_H

#define SHCA_GENL_NAME		"softhca"
#define SHCA_GENL_VERSION	1

enum shca_genl_cmd {
	SHCA_CMD_UNSPEC,
	SHCA_CMD_DEV_GET,	/* one device by name, or a dump of all */
	SHCA_CMD_DEV_SET,	/* needs CAP_NET_ADMIN over the netdev's namespace */
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
	SHCA_A_PKEY_INDEX,	/* u16: set entry 1 or later of it ... */
	SHCA_A_PKEY,		/* u16: ... to this, in host order; 0: none */
	SHCA_A_PEERS,		/* nested: a SHCA_A_DEV_NAME for each device that is
				 * trusted with SHCA_PATH_HOST; set with that alone */
	SHCA_A_RESV8A,		/* u8: enum shca_resv8a */
	__SHCA_A_MAX,
	SHCA_A_MAX = __SHCA_A_MAX - 1
};

/**
 * enum shca_path - how work requests travel
 * @SHCA_PATH_AUTO:	directly where the peer is a QP of this kernel and the
 *			route is local, as packets otherwise
 * @SHCA_PATH_WIRE:	always as packets (teaching, captures, fault tests)
 * @SHCA_PATH_HOST:	as auto, and also directly to those devices in other network
 *			namespaces of this kernel that are named by SHCA_A_PEERS, if
 *			they are set to this, too, and name this one.  Without that
 *			attribute those that were named last
 */
enum shca_path {
	SHCA_PATH_AUTO,
	SHCA_PATH_WIRE,
	SHCA_PATH_HOST,
	__SHCA_PATH_MAX,
	SHCA_PATH_MAX = __SHCA_PATH_MAX - 1
};

/**
 * enum shca_resv8a - how softhcas on different machines may know each other where no
 * ECE is exchanged: by a mark in the bits that the BTH reserves beside FECN and BECN
 * @SHCA_RESV8A_OFF:	no packet carries it, and none is looked at for it
 * @SHCA_RESV8A_AUTO:	those to a peer carry it that has sent it before
 * @SHCA_RESV8A_ON:	all of RC and XRC carry it
 *
 * Taken over by a queue pair on its way to RTR (its answers) and to RTS (its requests).
 */
enum shca_resv8a {
	SHCA_RESV8A_OFF,
	SHCA_RESV8A_AUTO,
	SHCA_RESV8A_ON,
	__SHCA_RESV8A_MAX,
	SHCA_RESV8A_MAX = __SHCA_RESV8A_MAX - 1
};

#endif
