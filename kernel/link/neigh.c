// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Neighbours of connected QPs after a link flap.
 *
 * A link that goes down takes the neighbour entries with it.  When it is back,
 * ARP or neighbour discovery begins anew, and if the first question or its
 * answer is lost, which is likely while both ends come up, the next is due after
 * a second: longer than retry_cnt 7 lasts with the usual time-outs.  An adapter
 * knows no such pause, since it has its peer's address in the context of the QP.
 * So has this driver (the RDMA core found it when the QP was connected, by the
 * host's own neighbour table), and for a short time after the link came up it
 * puts that where the table has nothing.  In state PROBE: the host asks this
 * very neighbour at once, and forgets the entry if there is no answer.
 *
 * Not for link-local addresses: of those the core derives the hardware address
 * from what a process says.
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

	/* Others than peers of connected QPs have a tag. */
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
