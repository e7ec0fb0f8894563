/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `softhca up` makes, as a file says it: links, and what is at their ends. */
#ifndef SOFTHCA_TOPOLOGY_H
#define SOFTHCA_TOPOLOGY_H

#include "lab.h"

#define TOPOLOGY_ENDS		64
/* A link has two ends at least; it may have a namespace of its own. */
#define TOPOLOGY_LINKS		(TOPOLOGY_ENDS / 2)
#define TOPOLOGY_NETNS		(TOPOLOGY_ENDS + TOPOLOGY_LINKS)
#define TOPOLOGY_ADDRESSES	4
/* Sizes of names, each with its end */
#define TOPOLOGY_DEVICE_SIZE	64
#define TOPOLOGY_NETDEV_SIZE	16

/**
 * struct lab_address - an IP address of an end
 * @text:	as the file has it, with the prefix
 * @gid:	the GID of RoCEv2 that it makes
 * @gid_index:	of the port; known once the end is ready
 */
struct lab_address {
	char text[64];
	int family;
	unsigned char bytes[16];
	unsigned char gid[16];
	int prefix;
	int gid_index;
};

/**
 * struct lab_end - an RDMA device on a network device
 * @netns:	index of the namespace
 * @link:	index of the link
 * @line:	of the file
 * @made_netdev: @made_device: by this call of the tool
 * @state:	of an InfiniBand port, once the end is ready
 * @guid:	likewise
 */
struct lab_end {
	int netns;
	int link;
	int line;
	char device[TOPOLOGY_DEVICE_SIZE];
	char netdev[TOPOLOGY_NETDEV_SIZE];
	struct lab_address address[TOPOLOGY_ADDRESSES];
	int nr_addresses;
	bool made_netdev;
	bool made_device;
	char state[16];
	char guid[24];
};

/**
 * struct lab_link - a cable of two ends, or a switch with more
 * @infiniband:	RDMA devices of the type softhca_ib
 * @mtu:	of the network devices; 0: as they are
 * @first: @nr:	the ends
 * @netns:	index of the switch's namespace, which has the link's name; -1: a cable
 */
struct lab_link {
	char name[NETNS_NAME_SIZE];
	bool infiniband;
	int mtu;
	int first;
	int nr;
	int netns;
	int line;
};

/**
 * struct lab_netns - a network namespace
 * @owner: @fd:	of netns_owner()
 * @made:	by this call of the tool
 */
struct lab_netns {
	char name[NETNS_NAME_SIZE];
	enum netns_owner owner;
	int fd;
	bool made;
};

/** struct topology - all of a file */
struct topology {
	struct lab_netns netns[TOPOLOGY_NETNS];
	struct lab_link link[TOPOLOGY_LINKS];
	struct lab_end end[TOPOLOGY_ENDS];
	int nr_netns;
	int nr_links;
	int nr_ends;
};

/* topology.c */

/**
 * topology_read() - read a file
 * @t:		all zero
 * @name:	one that came with the tool, or a path, or "-"; NULL: the one built in
 *
 * Return: 0, or an exit status after a message about the first mistake.
 */
int topology_read(struct topology *t, const char *name);

/* lab_make.c */

/**
 * topology_make() - make what is missing of a topology, and wait until it is ready
 * @t:		in memory that child processes share
 *
 * Return: 0, or an exit status after a message; then nothing that it has made is left.
 */
int topology_make(struct topology *t);

/** topology_remove_netns() - remove a namespace and what is in it; @fd: of it, stays open */
void topology_remove_netns(const char *name, int fd);

#endif
