// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does setup_udp_tunnel_sock() take a struct sock (else: a struct socket)?
#include <net/udp_tunnel.h>

void probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg);
void probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk, cfg);
}
