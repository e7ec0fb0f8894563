// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// can fragments be memory of a device, which nobody may read (devmem TCP, 6.12)?
#include <linux/skbuff.h>

bool probe(const struct sk_buff *skb);
bool probe(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}
