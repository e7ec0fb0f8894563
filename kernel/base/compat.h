/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between kernel versions. The probes in scripts/probe find them and set HAVE_*
 * in the generated shca-config.h. The rest of the module is written for the newest kernel.
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

#ifndef CONFIG_MMU_NOTIFIER
#error "softhca needs CONFIG_MMU_NOTIFIER, which CONFIG_INFINIBAND_ON_DEMAND_PAGING selects"
#endif

/* Addresses and routes of RoCEv2 are of either family; nothing here asks whether IPv6 is there. */
#if !IS_ENABLED(CONFIG_IPV6)
#error "softhca needs CONFIG_IPV6"
#endif

/* Hooks of netfilter take the packets of UDP port 4791, and those of steered flows. */
#ifndef CONFIG_NETFILTER
#error "softhca needs CONFIG_NETFILTER"
#endif

/* Kernels without it have a lock of the CPU with bottom halves that are off, on PREEMPT_RT. */
#ifndef HAVE_LOCAL_LOCK_NESTED_BH
#define local_lock_nested_bh(lock)	((void)(lock))
#define local_unlock_nested_bh(lock)	((void)(lock))
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

/*
 * rdma-core's udev rule renames a device whose parent is a PCI function, unless this flag says that
 * somebody has named it (rdma-core 56).
 */
#ifdef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
#define SHCA_NAMES_STAY		true
#else
#define SHCA_NAMES_STAY		false
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

/*
 * Operations of struct ib_device_ops whose arguments differ: the macros drop from prototypes what
 * older kernels do not pass, or replace its type.
 */
#ifndef HAVE_REG_USER_MR_DMAH
#define shca_reg_user_mr(pd, start, length, iova, access, dmah, udata) \
	shca_reg_user_mr(pd, start, length, iova, access, udata)
#ifdef HAVE_REG_USER_MR_DMABUF_ATTRS
#define shca_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, dmah, attrs) \
	shca_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, attrs)
#else
#define shca_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, dmah, attrs) \
	shca_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, struct ib_udata *udata)
#endif
#endif
#ifndef HAVE_COUNTER_BIND_QP_PORT
#define shca_counter_bind_qp(counter, qp, port)	shca_counter_bind_qp(counter, qp)
#define shca_counter_unbind_qp(qp, port)	shca_counter_unbind_qp(qp)
#endif
#ifndef HAVE_RESIZE_USER_CQ
#define resize_user_cq				resize_cq
#define shca_resize_cq(cq, nr, udata)		shca_resize_cq(cq, int cqe, udata)
#endif
#ifdef HAVE_CREATE_CQ_ATTRS
#define shca_udata_of(attrs)			((attrs) ? &(attrs)->driver_udata : NULL)
#else
#define shca_create_cq(cq, attr, attrs)		shca_create_cq(cq, attr, struct ib_udata *attrs_udata)
#define shca_udata_of(attrs)			attrs_udata
#endif

#endif
