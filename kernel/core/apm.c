// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The states of automatic path migration: see apm.h. */
#include "apm.h"

const char *shca_apm_wrong(const struct shca_apm *apm, u8 to, bool loads)
{
	switch (to) {
	case SHCA_APM_MIGRATED:
		return NULL;
	case SHCA_APM_REARM:
		return apm->loaded || loads ? NULL :
		       "path_mig_state is REARM, but no alternate path is loaded";
	default:
		return "path_mig_state is neither MIGRATED nor REARM; the device enters ARMED by itself";
	}
}

enum shca_apm_step shca_apm_set(struct shca_apm *apm, u8 to)
{
	bool was_armed = apm->state == SHCA_APM_ARMED;

	apm->state = to;
	apm->refused = false;
	return was_armed && to == SHCA_APM_MIGRATED ? SHCA_APM_MIGRATE :
						      SHCA_APM_ARM;
}

enum shca_apm_step shca_apm_rx(struct shca_apm *apm, bool mig,
			       enum shca_apm_path path)
{
	if (apm->state == SHCA_APM_REARM && !mig && path == SHCA_APM_PRIMARY) {
		apm->state = SHCA_APM_ARMED;
		return SHCA_APM_ARM;
	}
	/* A late packet of the primary path: the peer sent it before it asked for REARM. */
	if (apm->state != SHCA_APM_ARMED || !mig || path == SHCA_APM_PRIMARY)
		return SHCA_APM_STAY;
	if (path == SHCA_APM_ALTERNATE) {
		apm->state = SHCA_APM_MIGRATED;
		return SHCA_APM_MIGRATE;
	}
	/* Raise PATH_MIG_ERR once: the peer sends many such packets, and other hosts may. */
	if (path != SHCA_APM_PEER || apm->refused)
		return SHCA_APM_STAY;
	apm->refused = true;
	return SHCA_APM_REFUSE;
}

enum shca_apm_step shca_apm_exhausted(struct shca_apm *apm)
{
	if (apm->state != SHCA_APM_ARMED)
		return SHCA_APM_STAY;
	apm->state = SHCA_APM_MIGRATED;
	return SHCA_APM_MIGRATE;
}
