// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Network namespaces, and their UDP sockets. The transmit path passes them to netfilter only. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "net.h"

#include <linux/module.h>
#include <linux/netfilter_ipv4.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../queue/qp_table.h"
#include "gro.h"
#include "udp.h"

static unsigned int shca_net_id;

static struct socket *shca_open_socket(struct net *net, bool ipv6)
{
	struct udp_tunnel_sock_cfg tnl = {
		.encap_type = 1,
		.encap_rcv = shca_udp_rcv,
		.gro_receive = shca_gro_receive,
		.gro_complete = shca_gro_complete,
	};
	struct udp_port_cfg cfg = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.local_udp_port = htons(ROCE_V2_UDP_DPORT),
		.ipv6_v6only = ipv6,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &cfg, &sock);
	/* This socket opens no file, so both errors mean a lack of memory. */
	if (err == -ENFILE || err == -ENOBUFS)
		err = -ENOMEM;
	if (err)
		return ERR_PTR(err);
	tnl.sk_user_data = net_generic(net, shca_net_id);
	setup_udp_tunnel_sock(net, shca_tunnel_sock(sock), &tnl);
	/* udp_tunnel switches this off, but local members of a group must receive, too. */
	shca_sock_set_mc_loop(sock->sk);
	return sock;
}

static void shca_release_sockets(struct shca_net *snet)
{
	if (snet->sk6)
		udp_tunnel_sock_release(shca_tunnel_sock(snet->sk6));
	if (snet->sk4)
		udp_tunnel_sock_release(shca_tunnel_sock(snet->sk4));
	snet->sk6 = NULL;
	snet->sk4 = NULL;
}

static void shca_close_sockets(struct shca_net *snet)
{
	nf_unregister_net_hooks(snet->net, snet->hooks, SHCA_NF_HOOKS);
	shca_release_sockets(snet);
	/* Wait until no hook and no encap_rcv is running, before the module may be unloaded. */
	synchronize_net();
}

static int shca_hook(struct shca_net *snet)
{
	static const u8 families[SHCA_NF_HOOKS] = {
		NFPROTO_IPV4, NFPROTO_IPV6,
	};
	int i;

	for (i = 0; i < SHCA_NF_HOOKS; i++)
		snet->hooks[i] = (struct nf_hook_ops){
			.hook = shca_nf_rcv,
			.priv = snet,
			.pf = families[i],
			.hooknum = NF_INET_LOCAL_IN,
			.priority = NF_IP_PRI_LAST,
		};
	return nf_register_net_hooks(snet->net, snet->hooks, SHCA_NF_HOOKS);
}

static int shca_open_sockets(struct shca_net *snet)
{
	int err;

	struct socket *sock;

	sock = shca_open_socket(snet->net, false);
	if (IS_ERR(sock))
		goto err;
	snet->sk4 = sock;
	sock = shca_open_socket(snet->net, true);
	if (!IS_ERR(sock))
		snet->sk6 = sock;
	else if (PTR_ERR(sock) != -EAFNOSUPPORT)
		goto err;
	err = shca_hook(snet);
	if (err)
		shca_release_sockets(snet);
	return err;

err:
	shca_release_sockets(snet);
	if (PTR_ERR(sock) == -EADDRINUSE)
		pr_err_ratelimited("UDP port 4791 (RoCEv2) is in use in this network namespace, probably by rdma_rxe: remove its devices and unload it (rmmod rdma_rxe)\n");
	else
		pr_err_ratelimited("cannot open UDP port 4791: error %ld\n",
				   PTR_ERR(sock));
	return PTR_ERR(sock);
}

/* The caller must not use @snet after this: it may be freed at once. */
static void shca_net_release(struct shca_net *snet)
{
	if (atomic_dec_and_test(&snet->refs))
		wake_up_var(&snet->refs);	/* uses the address only */
}

struct shca_net *shca_net_of(struct net *net)
{
	return net_generic(net, shca_net_id);
}

struct shca_net *shca_net_get(struct net *net, bool udp)
{
	struct shca_net *snet = shca_net_of(net);
	int err = 0;

	atomic_inc(&snet->refs);
	if (!udp)
		return snet;
	mutex_lock(&snet->lock);
	if (!snet->users)
		err = shca_open_sockets(snet);
	if (!err)
		snet->users++;
	mutex_unlock(&snet->lock);
	if (!err)
		return snet;
	shca_net_release(snet);
	return ERR_PTR(err);
}

void shca_net_put(struct shca_net *snet, bool udp)
{
	if (udp) {
		mutex_lock(&snet->lock);
		if (!--snet->users)
			shca_close_sockets(snet);
		mutex_unlock(&snet->lock);
	}
	shca_net_release(snet);
}

static int __net_init shca_net_init_one(struct net *net)
{
	struct shca_net *snet = net_generic(net, shca_net_id);

	snet->net = net;
	mutex_init(&snet->lock);
	mutex_init(&snet->groups_lock);
	atomic_set(&snet->refs, 0);
	return shca_qp_table_init(snet);
}

/* A grace period passes between this and exit. */
static void __net_exit shca_net_pre_exit_one(struct net *net)
{
	shca_qp_table_hide(net_generic(net, shca_net_id));
}

static void __net_exit shca_net_exit_one(struct net *net)
{
	struct shca_net *snet = net_generic(net, shca_net_id);

	/* The netdevs are gone, so the RDMA core is unregistering each device. */
	wait_var_event(&snet->refs, !atomic_read(&snet->refs));
	rhashtable_destroy(&snet->qps);
	kfree(snet->next);
}

static struct pernet_operations shca_net_ops = {
	.init = shca_net_init_one,
	.pre_exit = shca_net_pre_exit_one,
	.exit = shca_net_exit_one,
	.id = &shca_net_id,
	.size = sizeof(struct shca_net),
};

int shca_net_init(void)
{
	return register_pernet_subsys(&shca_net_ops);
}

void shca_net_exit(void)
{
	unregister_pernet_subsys(&shca_net_ops);
}
