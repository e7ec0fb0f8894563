// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Neighbours of connected QPs after a link flap.
 *
 * A link that goes down loses its neighbour entries, and ARP or neighbour discovery begins
 * again when it is back. The first request or its answer is often lost while both ends come
 * up, and the next one is due after a second. That is longer than retry_cnt 7 lasts with the
 * usual time-outs. An adapter has no such pause, because its QP context has the peer's
 * address.
 *
 * This driver has it, too: the RDMA core resolved it by the host's neighbour table when the
 * QP was connected. For a short time after the link came up, the driver fills missing entries
 * with it, in state PROBE: the host asks this neighbour at once, and drops the entry without
 * an answer.
 *
 * Link-local addresses are excluded: for these the RDMA core derives the hardware address
 * from the process's attributes.
 */
#include "neigh.h"

#include <linux/etherdevice.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <net/neighbour.h>

void shca_neigh_restore(const struct shca_av *av, struct dst_entry *dst)
{
	const void *addr = av->roce.ipv4 ? &av->roce.daddr.s6_addr32[3] :
					   av->roce.daddr.s6_addr32;
	struct net_device *ndev = dst->dev;
	struct neighbour *n;

	/* Address vectors of connected QPs have no tag; those of address handles have one. */
	if (av->tag || ndev->type != ARPHRD_ETHER ||
	    ndev->flags & (IFF_LOOPBACK | IFF_NOARP) ||
	    !is_valid_ether_addr(av->roce.dmac) ||
	    ipv6_addr_type(&av->roce.daddr) & IPV6_ADDR_LINKLOCAL)
		return;
	n = dst_neigh_lookup(dst, addr);
	if (IS_ERR_OR_NULL(n))
		return;
	if (!(READ_ONCE(n->nud_state) & NUD_VALID))
		neigh_update(n, av->roce.dmac, NUD_PROBE, 0, 0);
	neigh_release(n);
}
