/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * State of the core's: struct shca_req, shca_resp, shca_tm.  Others read it, under the lock of
 * the side, and change it by functions: for them its members are const, so that the
 * compiler tells.  (The objects are not: the core, and tests of it, are compiled with
 * SHCA_CORE.)  What is passed by these functions, such as struct shca_pkt and struct
 * shca_send_wr, is filled by who has it.
 */
#ifndef SHCA_CORE_OWN_H
#define SHCA_CORE_OWN_H

#ifdef SHCA_CORE
#define SHCA_OWN
#else
#define SHCA_OWN	const
#endif

#endif
