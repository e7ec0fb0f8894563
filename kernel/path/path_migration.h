/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Automatic path migration of a QP: its two paths, and their exchange. core/apm.h has the
 * states. RoCE ports have no alternate paths: the RDMA core refuses them.
 */
#ifndef SHCA_APM_H
#define SHCA_APM_H

#include "../queue/qp.h"
#include "side.h"

/* May the path be exchanged? Context: any, no lock needed. */
static inline bool shca_apm_is_on(const struct shca_qp *qp)
{
	return READ_ONCE(qp->apm.is.state) != SHCA_APM_MIGRATED;
}

/*
 * Migrate, if @pkt shows that the peer has migrated.
 * @pkt:	intact, has MigReq 1, and did not come by the primary path
 * Context: softirq, no lock of the QP held.
 * Return: whether the QP has migrated to the path by which @pkt has come.
 */
bool shca_apm_follows(struct shca_qp *qp, const struct sk_buff *skb,
		      const struct shca_pkt *pkt);

/* An intact packet with MigReq 0 came by the primary path. Context: softirq, no lock held. */
void shca_apm_agreed(struct shca_qp *qp);

/* Retries are exhausted. Context: sq.lock held. */
void shca_apm_exhausted_locked(struct shca_qp *qp, struct shca_side_pending *pending);

/* Return: NULL, or why modify_qp refuses the attributes. */
const char *shca_apm_attr_wrong(const struct shca_qp *qp,
				const struct ib_qp_attr *attr, int mask);

/*
 * qp->attr becomes what query_qp would report.
 * Context: attr_lock and both locks held, before attributes are saved.
 */
void shca_apm_fold_locked(struct shca_qp *qp);

/*
 * Apply what modify_qp has saved in qp->attr. Context: both locks held.
 * @av:		the alternate path, with IB_QP_ALT_PATH
 * Return: whether the QP has migrated: PATH_MIG is due.
 */
bool shca_apm_modify_locked(struct shca_qp *qp, const struct shca_av *av,
			    int mask);

/* Forget the alternate path. Context: both locks held. */
void shca_apm_reset_locked(struct shca_qp *qp);

/* Update @attr, a copy of qp->attr. Context: attr_lock and one side's lock held. */
void shca_apm_query_locked(const struct shca_qp *qp, struct ib_qp_attr *attr);

#endif
