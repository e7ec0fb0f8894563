/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One ib_device on one Ethernet netdev, and the limits that it advertises */
#ifndef SHCA_DEV_H
#define SHCA_DEV_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/netfilter.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../core/requester/dcqcn.h"
#include "../../uapi/softhca-abi.h"
#include "../../uapi/softhca-netlink.h"
#include "bh.h"
#include "counters.h"
#include "event.h"
#include "personality.h"

/**
 * struct shca_faults - fault injection of a device
 * @rules:	struct shca_fault; read under RCU. Changed by the netlink family, one request
 *		at a time, and on removal of the device
 * @nr:		number of rules
 * @stages:	enum shca_fault_stage of all rules, one bit each; read without a lock for each
 *		packet
 * @lock:	protects the members below
 * @held:	delayed packets, in the order of their times
 * @nr_held:	number of them
 * @timer:	for the first of @held
 * @stopped:	the device is being removed: no packet is delayed any more
 */
struct shca_faults {
	struct list_head rules;
	u32 nr;
	unsigned long stages;
	spinlock_t lock;
	struct list_head held;
	u32 nr_held;
	struct hrtimer timer;
	bool stopped;
};

struct shca_history;
struct shca_ib_link;
struct shca_link_ops;
struct shca_net;
struct shca_trust;

/**
 * struct shca_ahs - address handles (queue/ah.c)
 * @table:	by handle
 * @next:	next handle to try
 * @tag:	tag of the last one
 */
struct shca_ahs {
	struct xarray table;
	u32 next;
	atomic_t tag;
};

/**
 * struct shca_xrc_srqs - SRQs of XRC domains (queue/xrc.c)
 * @table:	struct shca_xrc_target by number
 * @next:	next number to try
 */
struct shca_xrc_srqs {
	struct xarray table;
	u32 next;
};

/**
 * struct shca_cc_setting - congestion control of QPs that are connected later
 * @mode:	enum shca_cc_mode; read without a lock as a QP is connected
 * @algo:	enum shca_cc_algo; likewise
 * @params:	read without a lock at each use
 */
struct shca_cc_setting {
	u8 mode;
	u8 algo;
	struct shca_cc_params params;
};

/**
 * struct shca_lint - the verbs sanitizer (docs/lint.md)
 * @mode:	enum shca_lint_mode; read without a lock as a context is made
 * @errors:	errors that processes have reported; wraps around
 * @hints:	likewise, hints
 */
struct shca_lint {
	u8 mode;
	atomic_t errors;
	atomic_t hints;
};

/**
 * struct shca_port - the port (device/port.c, ib/ib_link.c)
 * @up:		last state dispatched; written under RTNL only
 * @mbps:	rate at the last query (the RDMA core queries the port at each event), or 0 if
 *		the netdev has none. Read without a lock when a path is made
 * @up_at:	jiffies of the last change to up, or 0; written under RTNL only, read without
 *		a lock for each packet
 * @downed:	how often it went down; any context
 */
struct shca_port {
	bool up;
	u32 mbps;
	unsigned long up_at;
	atomic_t downed;
};

/**
 * struct shca_flows - flow steering, and frames from a device to itself (verbs/flow.c)
 * @rules:	rules of flow steering
 * @nr:		number of them
 * @hook:	netfilter hook that applies them to received frames
 * @loop:	frames from this device to itself
 * @loop_bh:	delivers them
 * @loop_frame:	offers a frame that a QP sends; consumes it and returns true if it goes to QPs
 *		of this device only. @skb->data is the Ethernet header. Context: softirq or
 *		bottom halves off
 */
struct shca_flows {
	struct list_head rules;
	u32 nr;
	struct nf_hook_ops hook;
	struct sk_buff_head loop;
	struct shca_bh loop_bh;
	bool (*loop_frame)(struct shca_dev *dev, struct sk_buff *skb);
};

/**
 * struct shca_mcast - multicast groups (verbs/mcast.c), under the namespace's @groups_lock
 * @nr_groups:	groups; read without a lock for each packet to one
 * @nr_attached: attached QPs of all groups
 */
struct shca_mcast {
	u32 nr_groups;
	u32 nr_attached;
};

/**
 * struct shca_dev - a device
 * @ibdev:	the RDMA core's part
 * @ndev:	netdev; the RDMA core holds a reference until the device is unregistered, and
 *		no QP exists after that
 * @link:	operations below the transport header; constant
 * @ib:		the port of an InfiniBand link (ib/ib_link.h), or NULL; constant
 * @snet:	sockets and QP numbers of the netdev's network namespace
 * @counters:	counters of the device and of its unbound QPs
 * @path:	enum shca_path; read without a lock for each packet
 * @removing:	the RDMA core is removing the device from its consumers (device.c)
 * @mrs:	memory regions by key index
 * @trust:	devices trusted with path host (trust.h), or NULL; read under RCU; written
 *		under shca_genl_lock
 * @port:	the port
 * @mcast:	multicast groups
 * @pkeys:	P_Key table, read for each packet; entry 0 is always the default P_Key
 * @personality: constant once the device is registered
 * @ahs:	address handles
 * @xrc_srqs:	SRQs of XRC domains
 * @flows:	flow steering
 * @cc:		congestion control of later connections
 * @lint:	verbs sanitizer
 * @resv8a:	enum shca_resv8a; read without a lock as a QP is connected
 * @icrc:	enum shca_icrc_mode; likewise
 * @gone:	the netdev went away before registration; under shca_dev_lock
 * @node:	in shca_dev_list, protected by shca_dev_lock
 * @id:		unique; never used again
 * @rescan:	work that makes the core rescan a loopback netdev's GIDs (lo.c)
 * @nr:		objects of processes, by the enum shca_limit that limits them; SHCA_LIMIT_DM:
 *		bytes of device memory
 * @backlog_bytes:	bytes in backlogs (wire/pkt_queue.c)
 * @ooo_bytes:	bytes in out-of-order queues
 * @qp_serial:	serial of the last QP, see struct shca_accessor
 * @stats:	counters of bound QPs, and optional ones
 * @history:	last errors of destroyed QPs (queue/last_error.c)
 * @faults:	see inject/fault.h and inject/held.c
 * @events:	asynchronous events of port and device
 */
struct shca_dev {
	struct ib_device ibdev;
	/* Members up to @pkeys are read for each packet and seldom written. */
	struct net_device *ndev;
	const struct shca_link_ops *link;
	struct shca_ib_link *ib;
	struct shca_net *snet;
	struct shca_counters __percpu *counters;
	u8 path;
	bool removing;
	struct rhashtable mrs;
	struct shca_trust __rcu *trust;
	struct shca_port port;
	struct shca_mcast mcast;
	u16 pkeys[SHCA_LIM_PKEYS];
	struct shca_personality personality;
	struct shca_ahs ahs;
	struct shca_xrc_srqs xrc_srqs;
	struct shca_flows flows;
	struct shca_cc_setting cc;
	struct shca_lint lint;
	u8 resv8a;
	u8 icrc;
	bool gone;
	struct list_head node;
	u64 id;
	struct work_struct rescan;
	atomic_t nr[SHCA_LIMIT_NR];
	atomic_long_t backlog_bytes;
	atomic_long_t ooo_bytes;
	atomic64_t qp_serial;
	struct shca_dev_stats stats;
	struct shca_history *history;
	struct shca_faults faults;
	struct shca_events events;
};

static inline struct shca_dev *to_shca_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct shca_dev, ibdev);
}

/**
 * shca_limit_get() - count one object of a limited kind
 * @dev:	its device
 * @kind:	the limit of the device's personality
 * @is_user:	belongs to a process; kernel consumers' objects are not counted
 *
 * Return: false if the limit is reached. Otherwise the caller owes shca_limit_put().
 */
static inline bool shca_limit_get(struct shca_dev *dev, enum shca_limit kind,
				  bool is_user)
{
	if (!is_user ||
	    atomic_inc_return(&dev->nr[kind]) <= (int)dev->personality.limit[kind])
		return true;
	atomic_dec(&dev->nr[kind]);
	return false;
}

/* Undo shca_limit_get() when the object is destroyed. */
static inline void shca_limit_put(struct shca_dev *dev, enum shca_limit kind,
				  bool is_user)
{
	if (is_user)
		atomic_dec(&dev->nr[kind]);
}

/* IBTA 10.9.3: same partition, which is not 0, and at least one full member */
static inline bool shca_pkey_match(u16 a, u16 b)
{
	return a & 0x7fff && !((a ^ b) & 0x7fff) && (a | b) & 0x8000;
}

/* Index of the entry that matches @pkey, or -1. Context: any. */
static inline int shca_pkey_find(const struct shca_dev *dev, u16 pkey)
{
	int i;

	for (i = 0; i < (int)shca_limit(dev, PKEYS); i++)
		if (shca_pkey_match(pkey, READ_ONCE(dev->pkeys[i])))
			return i;
	return -1;
}

/**
 * struct shca_ucontext - a process's verbs context
 * @ibuc:	the RDMA core's part
 * @features:	SHCA_FEATURE_* granted to it
 * @dm_bytes:	device memory that it has allocated
 * @last_qpn:	the number of its last QP (queue/qp_table.c)
 */
struct shca_ucontext {
	struct ib_ucontext ibuc;
	u64 features;
	atomic_t dm_bytes;
	atomic_t last_qpn;
};

/* Fill in the driver's description of a context. */
static inline void shca_ucontext_resp(const struct shca_ucontext *uctx,
				      struct shca_alloc_ucontext_resp *resp)
{
	*resp = (struct shca_alloc_ucontext_resp){
		.features = uctx->features,
		.max_inline = shca_limit(to_shca_dev(uctx->ibuc.device), INLINE),
	};
}

struct shca_xrcd {
	struct ib_xrcd ibxrcd;
};

struct shca_pd {
	struct ib_pd ibpd;
	bool is_user;
};

#endif
