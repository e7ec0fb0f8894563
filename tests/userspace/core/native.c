// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What bytes cost on this CPU, without a guest: the ICRC as the module computes it
 * (kernel/link/icrc.c), the VCRC, copies and headers, beside memcpy() and the CRC-32 of
 * zlib and isa-l. Built with the kernel's flags; this file is not. bench.c has the
 * protocol. `make bench BENCH=native` runs both.
 *
 *   native --check               each method agrees with zlib at every size and alignment
 *   native [--reps N] [ISAL.so]  JSON lines; isa-l only where its library is given
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zlib.h>

#include "../../../kernel/core/crc_fold.h"
#include "../../../kernel/core/headers.h"
#include "../../../kernel/core/opcode.h"
#include "../../../kernel/ib/core/ib_wire.h"
#include "native_crc.h"

/* Payload; before it is a BTH, which all methods read or copy, too. */
static const u32 sizes[] = { 64, 256, 512, 1024, 2048, 4096 };
/* Bytes from a cache line: none, and a BTH behind the headers of Ethernet, IPv4 and UDP. */
static const u32 offsets[] = { 0, 14 + 20 + 8 };
/* Source and destination together; half of a small L2, and four times a large L3. */
static const struct {
	const char *name;
	size_t bytes;
} places[] = { { "L2", 256 << 10 }, { "memory", 128 << 20 } };

#define SLOT		(4096 + 128)
#define REPS		41
/* A sample has this many bytes at least, or this many packets. */
#define SAMPLE_BYTES	(1 << 20)
#define SAMPLE_PACKETS	512

static struct shca_ib_vcrc vcrc_tables;
static u32 (*isal)(u32 crc, const u8 *data, u64 len);
static u8 *from, *to;

/* ---- what icrc.c needs ------------------------------------------------------ */

void native_debug(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("# icrc.c: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
}

void *native_zeros(size_t len)
{
	return calloc(1, len);
}

/* ---- methods ---------------------------------------------------------------- */

static u32 by_memcpy(u8 *dst, const u8 *src, u32 len)
{
	memcpy(dst, src, len);
	return 0;
}

/* The kernel's memcpy() of a CPU with FSRM. */
static u32 by_copy(u8 *dst, const u8 *src, u32 len)
{
#ifdef __x86_64__
	size_t n = len;

	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
#else
	memcpy(dst, src, len);
#endif
	return 0;
}

static u32 by_zlib(u8 *dst, const u8 *src, u32 len)
{
	return crc32_z(0, src, len);
}

static u32 by_isal(u8 *dst, const u8 *src, u32 len)
{
	return isal(0, src, len);
}

static u32 by_tables(u8 *dst, const u8 *src, u32 len)
{
	return ~crc_tables(~0u, src, len);
}

static u32 by_shifts(u8 *dst, const u8 *src, u32 len)
{
	struct shca_fold fold = { .w = { ~0u } };
	u8 rest[2 * SHCA_FOLD_BYTES];
	u32 n;

	if (len < SHCA_FOLD_BYTES)
		return by_tables(dst, src, len);
	n = len / SHCA_FOLD_BYTES * SHCA_FOLD_BYTES - SHCA_FOLD_BYTES;
	shca_fold(&fold, src, n);
	shca_fold_end(&fold, src + n, rest);
	n += SHCA_FOLD_BYTES;
	memcpy(rest + SHCA_FOLD_BYTES, src + n, len - n);
	return ~crc_tables(0, rest, SHCA_FOLD_BYTES + len - n);
}

static u32 by_clmul(u8 *dst, const u8 *src, u32 len)
{
	return ~crc_clmul_128(~0u, src, len);
}

static u32 by_clmul_512(u8 *dst, const u8 *src, u32 len)
{
	return ~crc_clmul_512(~0u, src, len);
}

static u32 by_one_pass(u8 *dst, const u8 *src, u32 len)
{
	return ~crc_clmul_512_copy(~0u, dst, src, len);
}

static u32 by_icrc_crypto(u8 *dst, const u8 *src, u32 len)
{
	return ~native_crc32_bth_crypto(~0u, src, len);
}

static u32 by_icrc_lib(u8 *dst, const u8 *src, u32 len)
{
	return ~native_crc32_bth_lib(~0u, src, len);
}

static u32 by_packet_crypto(u8 *dst, const u8 *src, u32 len)
{
	by_copy(dst, src, len);
	return by_icrc_crypto(NULL, dst, len);
}

static u32 by_packet_lib(u8 *dst, const u8 *src, u32 len)
{
	by_copy(dst, src, len);
	return by_icrc_lib(NULL, dst, len);
}

static u32 by_vcrc(u8 *dst, const u8 *src, u32 len)
{
	return shca_ib_vcrc(&vcrc_tables, 0xffff, src, len);
}

static u32 by_headers(u8 *dst, const u8 *src, u32 len)
{
	struct shca_pkt in, out = {
		.opcode = SHCA_OP_WRITE_ONLY, .paylen = len, .psn = 5,
		.reth = { .va = (uintptr_t)src, .rkey = 7, .len = len },
	};
	u32 n = shca_hdr_build(&out, dst);

	memset(&in, 0, sizeof(in));
	return shca_hdr_parse(&in, dst, n, n + len + out.pad + SHCA_ICRC_BYTES);
}

/**
 * struct method - one way over the bytes of a packet
 * @bth:	the data is a BTH and more, of which a byte counts as ones
 * @copies:	at the end @dst is @src
 * @crc:	the result is a CRC-32
 */
static const struct method {
	const char *name;
	u32 (*go)(u8 *dst, const u8 *src, u32 len);
	bool bth;
	bool copies;
	bool crc;
} methods[] = {
	{ "memcpy", by_memcpy, false, true, false },
	{ "rep-movsb", by_copy, false, true, false },
	{ "zlib", by_zlib, false, false, true },
	{ "isa-l", by_isal, false, false, true },
	{ "tables", by_tables, false, false, true },
	{ "shifts", by_shifts, false, false, true },
	{ "clmul", by_clmul, false, false, true },
	{ "clmul-512", by_clmul_512, false, false, true },
	{ "icrc-crypto", by_icrc_crypto, true, false, true },
	{ "icrc-library", by_icrc_lib, true, false, true },
	{ "packet-crypto", by_packet_crypto, true, true, true },
	{ "packet-library", by_packet_lib, true, true, true },
	{ "one-pass", by_one_pass, false, true, true },
	{ "vcrc", by_vcrc, false, false, false },
	{ "headers", by_headers, false, false, false },
};

static bool present(const struct method *m)
{
	return m->go != by_isal || isal;
}

/* ---- time ------------------------------------------------------------------- */

/* CPU time: on a busy machine it leaves out what others take. Reading it takes 0.3 us. */
static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static u32 sink;

/* Packets one after the other, from @at on; nanoseconds of one. */
static double sample(const struct method *m, u32 len, u32 offset, size_t bytes, size_t *at)
{
	u32 stride = (len + offset + 63) / 64 * 64, n = SAMPLE_BYTES / len, i;
	size_t end = bytes / 2 - stride;
	u64 start;

	if (n < SAMPLE_PACKETS)
		n = SAMPLE_PACKETS;
	crc_clean();
	start = now_ns();
	for (i = 0; i < n; i++) {
		WRITE_ONCE(sink, m->go(to + *at, from + *at + offset, len));
		*at += stride;
		if (*at > end)
			*at = 0;
	}
	return (double)(now_ns() - start) / n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* All methods in turn, in each second repetition the other way round. */
static void measure(u32 size, u32 offset, u32 place, u32 reps)
{
	u32 len = SHCA_BTH_BYTES + size;
	double *ns[ARRAY_SIZE(methods)];
	u32 rep, i, k, last = ARRAY_SIZE(methods) - 1;
	size_t at[ARRAY_SIZE(methods)] = { 0 };

	for (i = 0; i <= last; i++)
		ns[i] = malloc(reps * sizeof(**ns));
	/* the first one warms up */
	for (rep = 0; rep <= reps; rep++)
		for (k = 0; k <= last; k++) {
			i = rep % 2 ? last - k : k;
			if (!present(&methods[i]))
				continue;
			ns[i][rep ? rep - 1 : 0] = sample(&methods[i], len, offset,
							  places[place].bytes, &at[i]);
		}
	for (i = 0; i <= last; i++) {
		if (present(&methods[i])) {
			qsort(ns[i], reps, sizeof(**ns), compare);
			printf("{\"bench\":\"native\",\"who\":\"%s\",\"size\":%u,",
			       methods[i].name, size);
			printf("\"offset\":%u,\"where\":\"%s\",\"reps\":%u,",
			       offset, places[place].name, reps);
			printf("\"median\":%.2f,\"min\":%.2f,\"max\":%.2f}\n",
			       ns[i][reps / 2], ns[i][0], ns[i][reps - 1]);
		}
		free(ns[i]);
	}
}

/* ---- agreement ---------------------------------------------------------------- */

static u16 vcrc_bits(const u8 *p, u32 len)
{
	u16 crc = 0xffff;
	u32 bit;

	for (; len; len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xd008 : 0);
	}
	return crc;
}

static bool agrees(const struct method *m, u32 len, u32 offset)
{
	const u8 *src = from + offset;
	u8 *dst = to + offset % 7;
	u32 got, want;

	if (m->go == by_headers)
		return !m->go(dst, src, len);
	if (m->bth && len < SHCA_BTH_BYTES)
		return true;
	memset(dst, 0x5a, len + 64);
	got = m->go(dst, src, len);
	if (m->copies && (memcmp(dst, src, len) || dst[len] != 0x5a))
		return false;
	if (m->go == by_vcrc)
		return got == vcrc_bits(src, len);
	if (!m->crc)
		return true;
	if (m->bth) {
		want = crc32_z(0, src, 4);
		want = crc32_z(want, (const u8 *)"\xff", 1);
		want = crc32_z(want, src + 5, len - 5);
	} else {
		want = crc32_z(0, src, len);
	}
	return got == want;
}

static int check(void)
{
	u32 i, len, offset, n;
	int status = 0;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!present(&methods[i]))
			continue;
		n = 0;
		for (offset = 0; offset < 64; offset++)
			for (len = 0; len <= 4096 + 64;
			     len += len < 320 ? 1 : len < 4000 ? 149 : 1 + offset % 3) {
				n++;
				if (agrees(&methods[i], len, offset))
					continue;
				printf("not ok native-%s # %u bytes, offset %u\n",
				       methods[i].name, len, offset);
				status = 1;
				goto next;
			}
		printf("ok native-%s # %u packets\n", methods[i].name, n);
next:;
	}
	return status;
}

/* Memory that is neither zero nor one page. */
static u8 *buffer(size_t bytes, u32 seed)
{
	u8 *p = aligned_alloc(4096, bytes);
	size_t i;

	if (!p)
		abort();
	for (i = 0; i < bytes; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = seed >> 24;
	}
	return p;
}

int main(int argc, char **argv)
{
	bool checks = argc == 2 && !strcmp(argv[1], "--check");
	size_t bytes = checks ? 2 * SLOT : places[1].bytes;
	u32 reps = REPS, place, o, s;
	void *lib;

	if (argc > 2 && !strcmp(argv[1], "--reps")) {
		reps = strtoul(argv[2], NULL, 10);
		argc -= 2;
		argv += 2;
	}
	if (argc > 2 || !reps || (argc == 2 && argv[1][0] == '-' && !checks)) {
		fprintf(stderr, "native [--check | [--reps N] [ISAL.so]]\n");
		return 2;
	}
	if (argc == 2 && !checks) {
		lib = dlopen(argv[1], RTLD_NOW);
		if (lib)
			*(void **)&isal = dlsym(lib, "crc32_gzip_refl");
		if (!isal) {
			fprintf(stderr, "native: no isa-l: %s\n", dlerror());
			return 1;
		}
	}
	crc_init();
	shca_ib_vcrc_init(&vcrc_tables);
	native_icrc_init_crypto();
	native_icrc_init_lib();
	from = buffer(bytes / 2, 1);
	to = buffer(bytes / 2, 2);
	if (checks)
		return check();
	for (place = 0; place < ARRAY_SIZE(places); place++)
		for (o = 0; o < ARRAY_SIZE(offsets); o++)
			for (s = 0; s < ARRAY_SIZE(sizes); s++)
				measure(sizes[s], offsets[o], place, reps);
	return 0;
}
