/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between kernels, found by the probes in scripts/probe and told
 * by HAVE_* in the generated shca-config.h.  The rest of the module is written
 * for the newest spelling; the only #if elsewhere are prototypes of ops.
 */
#ifndef SHCA_COMPAT_H
#define SHCA_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif
#include <net/inet_sock.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#ifdef HAVE_RDMA_ITER_H
#include <rdma/iter.h>	/* was part of ib_umem.h and ib_verbs.h */
#endif

#ifndef CONFIG_64BIT
#error "softhca keeps kernel addresses of pinned pages: it needs a 64-bit kernel"
#endif

#ifndef CONFIG_INFINIBAND_VIRT_DMA
#error "softhca needs CONFIG_INFINIBAND_VIRT_DMA"
#endif

/*
 * Per-CPU data, and objects that are about to go, are kept by disabled bottom
 * halves alone, and nobody has shown that this is enough where those can be preempted.
 */
#ifdef CONFIG_PREEMPT_RT
#error "softhca does not support real-time kernels (CONFIG_PREEMPT_RT): use one without, e.g. linux-image-amd64 in place of linux-image-rt-amd64"
#endif

#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}

static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/*
 * A local variable that need not be cleared, where the kernel has that done to all
 * (CONFIG_INIT_STACK_ALL_ZERO): each of its fields is written before it is read.
 * For the large ones of the data path only.
 */
#ifndef __uninitialized
#define __uninitialized		__attribute__((__uninitialized__))
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* The longest GSO packet that @ndev takes over IPv4. */
static inline unsigned int shca_gso_max_size4(const struct net_device *ndev)
{
#ifdef HAVE_GSO_IPV4_MAX_SIZE
	return READ_ONCE(ndev->gso_ipv4_max_size);
#else
	return READ_ONCE(ndev->gso_max_size);
#endif
}

/* Where it lacks nothing keeps rdma-core's udev rule from renaming, but a
 * device without a parent is not renamed anyway.
 */
#ifndef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* The UDP tunnel's functions take a struct sock, no longer a struct socket. */
#ifdef HAVE_UDP_TUNNEL_SOCK
#define shca_tunnel_sock(socket) ((socket)->sk)
#else
#define shca_tunnel_sock(socket) (socket)
#endif

/* Flags of sockets became bits, which have accessors. */
static inline void shca_sock_set_mc_loop(struct sock *sk)
{
#ifdef inet_set_bit
	inet_set_bit(MC_LOOP, sk);
#else
	inet_sk(sk)->mc_loop = 1;
#endif
}

/* Where the core has no right for it, no region is ever flushed. */
#ifdef HAVE_IB_FLUSH
#define SHCA_FEATURES_BY_CORE	SHCA_FEATURE_FLUSH
#else
#define SHCA_FEATURES_BY_CORE	0
#define IB_DEVICE_FLUSH_GLOBAL	0
#define IB_DEVICE_ATOMIC_WRITE	0
#endif

/* Pages of @mm as they are; nobody wants to know the areas that they are in. */
static inline long shca_gup_remote(struct mm_struct *mm, unsigned long start,
				   unsigned long nr, unsigned int flags,
				   struct page **pages)
{
#ifdef HAVE_GUP_WITHOUT_VMAS
	return get_user_pages_remote(mm, start, nr, flags, pages, NULL);
#else
	return get_user_pages_remote(mm, start, nr, flags, pages, NULL, NULL);
#endif
}

#ifdef HAVE_IB_UMEM_GET_VA
#define ib_umem_get ib_umem_get_va
#endif

#endif
