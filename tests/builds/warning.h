/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Included into one file each of module and provider by stage_builds of
 * scripts/check, which sees what becomes of a compiler's warning.
 */
#warning on purpose
