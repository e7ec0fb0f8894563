/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Automatic path migration of a QP. The states are those of core/apm.h; here are the two
 * paths, and who exchanges them. Ports of Ethernet have none: the RDMA core refuses
 * alternate paths there.
 */
#ifndef SHCA_APM_H
#define SHCA_APM_H

#include "../queue/qp.h"
#include "side.h"

/* Without a lock: may the path be exchanged? */
static inline bool shca_apm_is_on(const struct shca_qp *qp)
{
	return READ_ONCE(qp->apm.is.state) != SHCA_APM_MIGRATED;
}

/*
 * Has the peer migrated? Then the QP does the same.
 * @pkt:	is intact, has MigReq 1, and did not come by the primary path
 * Context: softirq, no lock of the QP held.
 * Return: whether it has migrated, to the path by which the packet has come.
 */
bool shca_apm_follows(struct shca_qp *qp, const struct sk_buff *skb,
		      const struct shca_pkt *pkt);

/*
 * An intact packet with MigReq 0 has come by the primary path.
 * Context: softirq, no lock of the QP held.
 */
void shca_apm_agreed(struct shca_qp *qp);

/* Retries are exhausted; shca_sq.lock is held. */
void shca_apm_exhausted_locked(struct shca_qp *qp, struct shca_side_pending *pending);

/* Return: NULL, or why the attributes of modify_qp cannot be had. */
const char *shca_apm_attr_wrong(const struct shca_qp *qp,
				const struct ib_qp_attr *attr, int mask);

/*
 * qp->attr becomes what query_qp would report.
 * Context: attr_lock and both locks held, before attributes are saved.
 */
void shca_apm_fold_locked(struct shca_qp *qp);

/*
 * Called once qp->attr is saved; both locks held.
 * @av:		the alternate path, with IB_QP_ALT_PATH
 * Return: whether the QP has migrated: PATH_MIG is due.
 */
bool shca_apm_modify_locked(struct shca_qp *qp, const struct shca_av *av,
			    int mask);

/* There is no alternate path any more; both locks held. */
void shca_apm_reset_locked(struct shca_qp *qp);

/* Make @attr, a copy of qp->attr, what it is now; attr_lock and one side's lock held. */
void shca_apm_query_locked(const struct shca_qp *qp, struct ib_qp_attr *attr);

#endif
