// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Per network namespace: sockets on UDP port 4791 and the space of QP numbers.
 * The sockets receive through encap_rcv, in softirq; transmission only borrows
 * them as the socket that netfilter sees.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "net.h"

#include <linux/module.h>
#include <linux/netfilter_ipv4.h>
#include <linux/random.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "../queue/qp.h"
#include "../queue/rx.h"

static unsigned int shca_net_id;

/* All namespaces, in struct shca_net.node. */
static LIST_HEAD(shca_nets);
static DEFINE_SPINLOCK(shca_nets_lock);

/* Not 0, which is that of an empty struct shca_qp_hint. */
static atomic64_t shca_qps_changed = ATOMIC64_INIT(1);

void shca_net_note_change(void)
{
	/* Pairs with the acquire in shca_hint_holds(). */
	atomic64_inc_return_release(&shca_qps_changed);
}

u64 shca_net_changes(void)
{
	/* Pairs with the release in shca_net_note_change(). */
	return atomic64_read_acquire(&shca_qps_changed);
}

/*
 * Numbers are random already, and whoever sends packets to numbers that do not
 * exist makes no chain longer.
 */
static u32 shca_qp_hash(const void *key, u32 len, u32 seed)
{
	return *(const u32 *)key ^ seed;
}

static int shca_qp_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	return ((const struct shca_qp *)obj)->qpn != *(const u32 *)arg->key;
}

static const struct rhashtable_params shca_qp_params = {
	.hashfn = shca_qp_hash,
	.obj_cmpfn = shca_qp_cmp,
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct shca_qp, qpn),
	.head_offset = offsetof(struct shca_qp, node),
	.automatic_shrinking = true,
};

static struct socket *shca_open_socket(struct net *net, bool ipv6)
{
	struct udp_tunnel_sock_cfg tnl = {
		.encap_type = 1,
		.encap_rcv = shca_udp_rcv,
	};
	struct udp_port_cfg cfg = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.local_udp_port = htons(ROCE_V2_UDP_DPORT),
		.ipv6_v6only = ipv6,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &cfg, &sock);
	/* The words of sockets for a lack of memory, which is all it can be: no
	 * file is opened for this one.
	 */
	if (err == -ENFILE || err == -ENOBUFS)
		err = -ENOMEM;
	if (err)
		return ERR_PTR(err);
	tnl.sk_user_data = net_generic(net, shca_net_id);
	setup_udp_tunnel_sock(net, shca_tunnel_sock(sock), &tnl);
	/* Which switches this off: but members on this host are members. */
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
	/* No hook and no encap_rcv runs any longer: our code may go. */
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

/* The last that this caller does with @snet: it may be freed at once. */
static void shca_net_release(struct shca_net *snet)
{
	if (atomic_dec_and_test(&snet->refs))
		wake_up_var(&snet->refs);	/* only its address counts */
}

struct shca_net *shca_net_of(struct net *net)
{
	return net_generic(net, shca_net_id);
}

struct shca_net *shca_net_get(struct net *net)
{
	struct shca_net *snet = shca_net_of(net);
	int err = 0;

	atomic_inc(&snet->refs);
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

void shca_net_put(struct shca_net *snet)
{
	mutex_lock(&snet->lock);
	if (!--snet->users)
		shca_close_sockets(snet);
	mutex_unlock(&snet->lock);
	shca_net_release(snet);
}

static void shca_net_note_freed(struct shca_net *snet, u32 qpn)
{
	spin_lock_bh(&snet->freed_lock);
	snet->freed[snet->nr_freed++ % SHCA_FREED_QPNS] = qpn;
	spin_unlock_bh(&snet->freed_lock);
}

static bool shca_net_was_freed(struct shca_net *snet, u32 qpn)
{
	bool found = false;
	int i;

	spin_lock_bh(&snet->freed_lock);
	for (i = 0; i < SHCA_FREED_QPNS && !found; i++)
		found = snet->freed[i] == qpn;
	spin_unlock_bh(&snet->freed_lock);
	return found;
}

int shca_net_add_qp(struct shca_net *snet, struct shca_qp *qp)
{
	int tries, err;

	if (qp->type == IB_QPT_GSI) {
		qp->qpn = 1;
		spin_lock_bh(&snet->gsi_lock);
		list_add_tail_rcu(&qp->gsi_node, &snet->gsi);
		spin_unlock_bh(&snet->gsi_lock);
		return 0;
	}

	for (tries = 0; tries < 64; tries++) {
		/* Not 0 and 1 (SMI, GSI), not 0xffffff (multicast). */
		qp->qpn = 2 + get_random_u32_below(0xfffffd);
		err = rhashtable_lookup_insert_fast(&snet->qps, &qp->node,
						    shca_qp_params);
		if (err == -EEXIST)
			continue;
		/* It was noted before it could be inserted again. */
		if (err || !shca_net_was_freed(snet, qp->qpn)) {
			shca_net_note_change();
			return err;
		}
		rhashtable_remove_fast(&snet->qps, &qp->node, shca_qp_params);
		/* Who has found it must not remember it. */
		shca_net_note_change();
	}
	return -ENOSPC;
}

void shca_net_del_qp(struct shca_net *snet, struct shca_qp *qp)
{
	if (qp->type == IB_QPT_GSI) {
		spin_lock_bh(&snet->gsi_lock);
		list_del_rcu(&qp->gsi_node);
		spin_unlock_bh(&snet->gsi_lock);
		return;
	}
	shca_net_note_freed(snet, qp->qpn);
	rhashtable_remove_fast(&snet->qps, &qp->node, shca_qp_params);
	shca_net_note_change();
}

struct shca_qp *shca_net_find_gsi(struct shca_net *snet,
				  const struct sk_buff *skb, u16 *vlan)
{
	struct shca_qp *qp, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(qp, &snet->gsi, gsi_node) {
		if (qp->link->serves(qp->dev, skb, vlan) &&
		    refcount_inc_not_zero(&qp->ref)) {
			found = qp;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

struct shca_qp *shca_net_find_qp(struct shca_net *snet, u32 qpn)
{
	struct shca_qp *qp;

	rcu_read_lock();
	qp = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
	/* A QP being destroyed stays readable until a grace period is over,
	 * but gives no new reference.
	 */
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/*
 * Who sees that a QP was deleted does not find it any more.  Who does not see it
 * began before the QP's grace period did.
 */
static bool shca_hint_holds(struct shca_qp_hint *hint, struct shca_net *snet,
			    u32 qpn)
{
	u64 changed = atomic64_read_acquire(&shca_qps_changed);

	if (likely(hint->changed == changed && hint->snet == snet &&
		   hint->qpn == qpn))
		return true;
	hint->changed = changed;
	hint->snet = snet;
	hint->qpn = qpn;
	return false;
}

struct shca_qp *shca_net_peek_qp(struct shca_net *snet, u32 qpn,
				 struct shca_qp_hint *hint)
{
	if (likely(shca_hint_holds(hint, snet, qpn)))
		return hint->qp;
	rcu_read_lock();
	hint->qp = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
	rcu_read_unlock();
	return hint->qp;
}

struct shca_qp *shca_net_peek_other(const struct shca_qp *qp, u32 qpn,
				    bool (*fits)(const struct shca_qp *qp,
						 const struct shca_qp *other),
				    struct shca_qp_hint *hint)
{
	struct shca_net *snet;
	struct shca_qp *other;

	if (likely(shca_hint_holds(hint, NULL, qpn)))
		return hint->qp;
	hint->qp = NULL;
	rcu_read_lock();
	list_for_each_entry_rcu(snet, &shca_nets, node) {
		if (snet == qp->dev->snet)
			continue;
		other = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
		if (other && fits(qp, other)) {
			hint->qp = other;
			break;
		}
	}
	rcu_read_unlock();
	return hint->qp;
}

bool shca_net_has_qp(const struct shca_qp *qp, u32 qpn,
		     bool (*fits)(const struct shca_qp *qp,
				  const struct shca_qp *other))
{
	struct shca_net *snet;
	struct shca_qp *other;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(snet, &shca_nets, node) {
		other = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
		if (other && fits(qp, other)) {
			found = true;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static int __net_init shca_net_init_one(struct net *net)
{
	struct shca_net *snet = net_generic(net, shca_net_id);
	int err;

	snet->net = net;
	mutex_init(&snet->lock);
	spin_lock_init(&snet->freed_lock);
	spin_lock_init(&snet->gsi_lock);
	INIT_LIST_HEAD(&snet->gsi);
	atomic_set(&snet->refs, 0);
	err = rhashtable_init(&snet->qps, &shca_qp_params);
	if (err)
		return err;
	spin_lock(&shca_nets_lock);
	list_add_tail_rcu(&snet->node, &shca_nets);
	spin_unlock(&shca_nets_lock);
	return 0;
}

/* A grace period passes between this and the end. */
static void __net_exit shca_net_pre_exit_one(struct net *net)
{
	struct shca_net *snet = net_generic(net, shca_net_id);

	spin_lock(&shca_nets_lock);
	list_del_rcu(&snet->node);
	spin_unlock(&shca_nets_lock);
}

static void __net_exit shca_net_exit_one(struct net *net)
{
	struct shca_net *snet = net_generic(net, shca_net_id);

	/* The namespace's netdevs are gone (subsystems exit after devices), so
	 * each device here is being unregistered by the RDMA core's work.
	 */
	wait_var_event(&snet->refs, !atomic_read(&snet->refs));
	rhashtable_destroy(&snet->qps);
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
