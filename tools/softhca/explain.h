/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `softhca explain` says of an error: explain_text.c has the texts. */
#ifndef SOFTHCA_EXPLAIN_H
#define SOFTHCA_EXPLAIN_H

#include <softhca-dump.h>

#include "softhca.h"

/*
 * What is told of one kind of error.
 * @happened:	one sentence
 * @causes:	what usually causes it, the most frequent first; lines
 * @look:	what to look at, commands mostly; lines
 */
struct explanation {
	const char *happened;
	const char *causes;
	const char *look;
};

/* Explain @error; @sends: it happened to the send side; never NULL. */
const struct explanation *explain_error(const struct shca_dump_error *error,
					bool sends);

/* What a QP without an error can do, and what it waits for. */
const char *explain_state(const struct shca_dump_fate *fate);

/* What a counter of refused packets tells, for @i from 0 on; NULL at the end. */
const char *explain_counter(int i, const char **counter);

/* Names as the specification has them; "?" for an unknown number */
const char *status_name(unsigned int status);
const char *wc_opcode_name(unsigned int opcode);
const char *reason_name(unsigned int reason);
const char *check_name(unsigned int vendor_err);
const char *packet_name(unsigned int opcode);
const char *qp_type_name(unsigned int type);
const char *qp_state_name(unsigned int state);

#endif
