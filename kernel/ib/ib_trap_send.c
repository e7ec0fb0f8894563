// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends traps: a work item takes the next one from ib/core/ib_trap.c, and an agent at the
 * RDMA core sends it from QP0. Responses (TrapRepress) come by shca_ib_process_smp().
 */
#include "ib_trap_send.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "ib_link.h"

static void shca_ib_trap_sent(struct ib_mad_agent *agent,
			      struct ib_mad_send_wc *wc)
{
	rdma_destroy_ah(wc->send_buf->ah, 0);
	ib_free_send_mad(wc->send_buf);
}

/* Without memory, the trap is lost, and repeated as any other. */
static void shca_ib_trap_send(struct shca_ib_link *link, const u8 *mad, u16 lid,
			      u8 sl)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };
	struct ib_mad_agent *agent = link->agent;
	struct ib_mad_send_buf *buf;
	struct ib_ah *ah;

	rdma_ah_set_dlid(&attr, lid);
	rdma_ah_set_sl(&attr, sl);
	rdma_ah_set_port_num(&attr, 1);
	buf = ib_create_send_mad(agent, 0, 0, 0, IB_MGMT_MAD_HDR,
				 IB_MGMT_MAD_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		return;
	ah = rdma_create_ah(agent->qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		goto err_buf;
	buf->ah = ah;
	memcpy(buf->mad, mad, SHCA_IB_MAD_BYTES);
	if (!ib_post_send_mad(buf, NULL))
		return;
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
err_buf:
	ib_free_send_mad(buf);
}

/* Under the lock: is there a subnet manager to send to? */
static bool shca_ib_trap_can_go(const struct shca_ib_link *link)
{
	return link->running && link->agent && link->sma.sm_lid &&
	       link->sma.state == SHCA_IB_STATE_ACTIVE;
}

void shca_ib_trap_arm(struct shca_ib_link *link)
{
	u64 deadline, now = ktime_get_ns();

	lockdep_assert_held(&link->lock);
	deadline = shca_ib_trap_deadline(&link->sma.traps,
					 shca_ib_sma_trap_gap(&link->sma));
	if (deadline == ~0ull || !shca_ib_trap_can_go(link))
		return;
	mod_delayed_work(system_highpri_wq, &link->trap,
			 deadline > now ?
			 nsecs_to_jiffies(deadline - now) + 1 : 0);
}

static void shca_ib_trap_work(struct work_struct *work)
{
	struct shca_ib_link *link = container_of(to_delayed_work(work),
						 struct shca_ib_link, trap);
	u8 mad[SHCA_IB_MAD_BYTES];
	bool send = false;
	u16 lid;
	u8 sl;

	spin_lock_bh(&link->lock);
	if (shca_ib_trap_can_go(link))
		send = shca_ib_trap_next(&link->sma.traps,
					 shca_ib_sma_trap_gap(&link->sma),
					 ktime_get_ns(), mad);
	lid = link->sma.sm_lid;
	sl = link->sma.sm_sl;
	shca_ib_trap_arm(link);
	spin_unlock_bh(&link->lock);
	if (send)
		shca_ib_trap_send(link, mad, lid, sl);
}

void shca_ib_trap_init_dev(struct shca_ib_link *link)
{
	INIT_DELAYED_WORK(&link->trap, shca_ib_trap_work);
	link->sma.traps.tid = get_random_u64();
}

void shca_ib_trap_start(struct shca_ib_link *link)
{
	struct ib_mad_agent *agent;

	agent = ib_register_mad_agent(&link->dev->ibdev, 1, IB_QPT_SMI, NULL, 0,
				      shca_ib_trap_sent, NULL, link, 0);
	if (IS_ERR(agent)) {
		ibdev_warn(&link->dev->ibdev,
			   "no traps will be sent to the subnet manager: error %ld\n",
			   PTR_ERR(agent));
		return;
	}
	spin_lock_bh(&link->lock);
	link->agent = agent;
	shca_ib_trap_arm(link);
	spin_unlock_bh(&link->lock);
}

void shca_ib_trap_stop(struct shca_ib_link *link)
{
	struct ib_mad_agent *agent = link->agent;

	/* @running is false, so the work is not queued again. */
	cancel_delayed_work_sync(&link->trap);
	link->agent = NULL;
	if (agent)
		ib_unregister_mad_agent(agent);
}
