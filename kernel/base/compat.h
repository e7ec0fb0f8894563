/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between kernel versions. The probes in scripts/probe find them and set HAVE_*
 * in the generated shca-config.h. The rest of the module is written for the newest kernel,
 * and has #if only at prototypes of operations.
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
#include <rdma/iter.h>	/* before: part of ib_umem.h and ib_verbs.h */
#endif

#ifndef CONFIG_64BIT
#error "softhca keeps kernel addresses of pinned pages: it needs a 64-bit kernel"
#endif

#ifndef CONFIG_INFINIBAND_VIRT_DMA
#error "softhca needs CONFIG_INFINIBAND_VIRT_DMA"
#endif

/*
 * Disabled bottom halves alone protect per-CPU data and objects that are about to be freed.
 * Whether that is enough on PREEMPT_RT, which can preempt bottom halves, is not known.
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
 * Marks a large local variable of the data path that need not be zeroed: each
 * field is written before it is read. With CONFIG_INIT_STACK_ALL_ZERO the
 * kernel zeroes all others.
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

/* Since devmem TCP, fragments may be memory of a device. */
#ifndef HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* rdma-core's udev rule does not rename a device without a parent, so this flag may be missing. */
#ifndef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* Older UDP tunnel functions take a struct socket, newer ones a struct sock. */
#ifdef HAVE_UDP_TUNNEL_SOCK
#define shca_tunnel_sock(socket) ((socket)->sk)
#else
#define shca_tunnel_sock(socket) (socket)
#endif

/* Socket flags became bits with accessors. */
static inline void shca_sock_set_mc_loop(struct sock *sk)
{
#ifdef inet_set_bit
	inet_set_bit(MC_LOOP, sk);
#else
	inet_sk(sk)->mc_loop = 1;
#endif
}

/* Without FLUSH access flags in the RDMA core, no region can be flushed. */
#ifdef HAVE_IB_FLUSH
#define SHCA_FEATURES_LACKED	0
#else
#define SHCA_FEATURES_LACKED	SHCA_FEATURE_FLUSH
#define IB_DEVICE_FLUSH_GLOBAL	0
#define IB_DEVICE_ATOMIC_WRITE	0
#endif

/* Older kernels also return VMAs, which nobody needs. */
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

#ifndef HAVE_PAGE_PGMAP
static inline struct dev_pagemap *page_pgmap(const struct page *page)
{
	return page->pgmap;
}
#endif

#ifdef HAVE_IB_UMEM_GET_VA
#define ib_umem_get ib_umem_get_va
#endif

#endif
