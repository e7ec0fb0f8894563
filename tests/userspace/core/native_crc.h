/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC-32 by the methods of kernels, for native.c: what crc32_le() and the crypto library
 * do on this CPU. Like crc32_le(), none inverts the CRC.
 */
#ifndef NATIVE_CRC_H
#define NATIVE_CRC_H

#include "../../../kernel/core/os.h"

void crc_init(void);

/* What AVX leaves in the upper halves of registers slows SSE down: clear them. */
void crc_clean(void);

/* Eight tables: crc32_le() of kernel 6.12. */
u32 crc_tables(u32 crc, const void *data, u32 len);

/* Does the CPU have carry-less multiplication? */
bool crc_has_clmul(void);

/*
 * Four vectors of 128 bits at a time: "crc32" of the crypto library of kernel 6.12. As
 * icrc.c calls it, @len is a multiple of 16.
 */
u32 crc_clmul_128(u32 crc, const void *data, u32 len);

/* Four vectors of 512 bits: crc32_le() of kernel 7.2. Without them, crc_clmul_128(). */
u32 crc_clmul_512(u32 crc, const void *data, u32 len);

/* The same, and @data is copied to @to: one pass. */
u32 crc_clmul_512_copy(u32 crc, void *to, const void *data, u32 len);

/* kernel/link/icrc.c as for kernel 6.12, and as for kernel 7.2. */
int native_icrc_init_crypto(void);
int native_icrc_init_lib(void);
u32 native_crc32_bth_crypto(u32 crc, const u8 *bth, unsigned int len);
u32 native_crc32_bth_lib(u32 crc, const u8 *bth, unsigned int len);

/* What it needs of native.c: messages, and memory that nobody frees. */
void native_debug(const char *format, ...);
void *native_zeros(size_t len);

#endif
