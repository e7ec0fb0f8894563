/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core's state: struct shca_req, shca_resp, shca_tm.  Other files read it under the
 * lock of the side, and change it by functions.  For them its members are const, so that
 * the compiler refuses a write.  The objects are not const: the core, and the tests of
 * it, are compiled with SHCA_CORE.  The caller fills what these functions take, such as
 * struct shca_pkt and struct shca_send_wr.
 */
#ifndef SHCA_CORE_OWN_H
#define SHCA_CORE_OWN_H

#ifdef SHCA_CORE
#define SHCA_OWN
#else
#define SHCA_OWN	const
#endif

#endif
