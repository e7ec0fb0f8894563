/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Automatic path migration (IBTA 17.2.8): when a connection leaves its path for the alternate one.
 *
 * Each end has a state, and reports it by the bit MigReq of the BTH.
 *
 *   MIGRATED  packets have MigReq 1. The program loads an alternate path, and asks for REARM
 *   REARM     packets have MigReq 0. The peer's first packet with MigReq 0 leads to ARMED
 *   ARMED     packets have MigReq 0. It migrates when retries are exhausted, when the program
 *             asks for MIGRATED, or when a packet with MigReq 1 arrives by the alternate path
 *
 * A migration exchanges the two paths. The path that was left is the alternate one then, so the
 * program may ask for REARM again without loading another.
 *
 * The caller has the paths, and compares packets with them.
 */
#ifndef SHCA_CORE_APM_H
#define SHCA_CORE_APM_H

#include "os.h"

/* State of an end, by the numbers of the verbs: enum ib_mig_state. */
enum shca_apm_state {
	SHCA_APM_MIGRATED,
	SHCA_APM_REARM,
	SHCA_APM_ARMED,
};

/**
 * enum shca_apm_path - the path by which a received packet has arrived
 * @SHCA_APM_PRIMARY:	the path in use
 * @SHCA_APM_ALTERNATE:	the alternate path
 * @SHCA_APM_PEER:	neither of the two, but its source is that of one of them
 * @SHCA_APM_STRANGE:	neither of the two
 */
enum shca_apm_path {
	SHCA_APM_PRIMARY,
	SHCA_APM_ALTERNATE,
	SHCA_APM_PEER,
	SHCA_APM_STRANGE,
};

/**
 * enum shca_apm_step - what the caller does after an event
 * @SHCA_APM_STAY:	nothing
 * @SHCA_APM_ARM:	copy the new state to requester and responder
 * @SHCA_APM_MIGRATE:	the same; exchange the paths, and raise PATH_MIG
 * @SHCA_APM_REFUSE:	the peer has migrated to a path that is not the alternate one:
 *			raise PATH_MIG_ERR
 */
enum shca_apm_step {
	SHCA_APM_STAY,
	SHCA_APM_ARM,
	SHCA_APM_MIGRATE,
	SHCA_APM_REFUSE,
};

/**
 * struct shca_apm - one end of a connection
 * @state:	enum shca_apm_state
 * @loaded:	there is an alternate path
 * @refused:	a migration of the peer was refused since the program asked for REARM
 */
struct shca_apm {
	u8 state;
	bool loaded;
	bool refused;
};

/*
 * May a program ask for the state @to?
 * @loads:	the same call loads an alternate path
 *
 * Return: NULL, or why not.
 */
const char *shca_apm_wrong(const struct shca_apm *apm, u8 to, bool loads);

/* Enter the state @to, which shca_apm_wrong() has accepted. */
enum shca_apm_step shca_apm_set(struct shca_apm *apm, u8 to);

/*
 * An intact packet with MigReq @mig has arrived by @path.
 *
 * The caller drops a packet of another path than the primary one, unless this migrates.
 */
enum shca_apm_step shca_apm_rx(struct shca_apm *apm, bool mig,
			       enum shca_apm_path path);

enum shca_apm_step shca_apm_exhausted(struct shca_apm *apm);

#endif
