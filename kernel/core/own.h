/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ownership of the core's state: struct shca_req, shca_resp, shca_tm. Other
 * files read it under the lock of the side, and change it through functions.
 * Its members are const for them, so the compiler refuses a write. The objects
 * are not const: the core and its tests are compiled with SHCA_CORE. The caller
 * fills the arguments of these functions, such as struct shca_pkt and struct
 * shca_send_wr.
 */
#ifndef SHCA_CORE_OWN_H
#define SHCA_CORE_OWN_H

#ifdef SHCA_CORE
#define SHCA_OWN
#else
#define SHCA_OWN	const
#endif

#endif
