/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Network namespaces, and the UDP sockets on port 4791 in each. */
#ifndef SHCA_NET_H
#define SHCA_NET_H

#include "../base/netns.h"

/* State of a namespace, in use or not */
struct shca_net *shca_net_of(struct net *net);

/**
 * shca_net_get() - use a namespace; opens its sockets for the first RoCE device
 * @net:	that of the device's netdev
 * @udp:	the device's packets come by UDP
 *
 * Context: may sleep.
 * Return: the namespace's state, or ERR_PTR; -EADDRINUSE if another owner has UDP port 4791,
 * which is also logged.
 */
struct shca_net *shca_net_get(struct net *net, bool udp);
/* End the use; the last RoCE device closes the sockets. Context: may sleep. */
void shca_net_put(struct shca_net *snet, bool udp);

/* Register for network namespaces, until shca_net_exit(). May sleep. Return: 0 or errno. */
int shca_net_init(void);
void shca_net_exit(void);

#endif
