// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is there net/gso.h (from 6.5 on; part of linux/netdevice.h before)?
#include <net/gso.h>

struct sk_buff *probe(struct sk_buff *skb);
struct sk_buff *probe(struct sk_buff *skb)
{
	return skb_gso_segment(skb, 0);
}
