// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC-32 by carry-less multiplication, as in Intel's "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction". The kernel's own code is assembly that is not
 * copied here; docs/performance.md says how close these come to it.
 */
#include "native_crc.h"

#include "../../../kernel/core/le.h"

#define POLY	0xedb88320u

static u32 tables[8][256];

u32 crc_tables(u32 crc, const void *data, u32 len)
{
	const u8 *p = data;
	u64 w;

	for (; len >= 8; len -= 8, p += 8) {
		w = get_le64(p) ^ crc;
		crc = tables[7][w & 0xff] ^ tables[6][w >> 8 & 0xff] ^
		      tables[5][w >> 16 & 0xff] ^ tables[4][w >> 24 & 0xff] ^
		      tables[3][w >> 32 & 0xff] ^ tables[2][w >> 40 & 0xff] ^
		      tables[1][w >> 48 & 0xff] ^ tables[0][w >> 56];
	}
	while (len--)
		crc = crc >> 8 ^ tables[0][(u8)(crc ^ *p++)];
	return crc;
}

#ifdef __x86_64__

#include <immintrin.h>

#define CLMUL_128	__attribute__((__target__("pclmul,sse4.1")))
#define CLMUL_512	__attribute__((__target__("pclmul,avx2,avx512f,avx512vl,vpclmulqdq")))

/* [i]: what folds a vector over a distance of 128 << i bits: x^(d + 32), x^(d - 32). */
static u64 fold[5][2] __attribute__((__aligned__(16)));

/* x^n modulo the generator, reflected, one bit up: what a product of reflected factors needs */
static u64 power(u32 n)
{
	u32 r = 1u << 31;

	while (n--)
		r = r >> 1 ^ (r & 1 ? POLY : 0);
	return (u64)r << 1;
}

static void init_fold(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fold); i++) {
		fold[i][0] = power((128 << i) + 32);
		fold[i][1] = power((128 << i) - 32);
	}
}

bool crc_has_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

static bool has_clmul_512(void)
{
	return crc_has_clmul() && __builtin_cpu_supports("vpclmulqdq") &&
	       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

CLMUL_128 static inline __m128i constant(u32 i)
{
	return _mm_load_si128((const __m128i *)fold[i]);
}

CLMUL_128 static inline __m128i load(const u8 *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

CLMUL_128 static inline __m128i fold_128(__m128i a, __m128i k, __m128i next)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), next),
			     _mm_clmulepi64_si128(a, k, 0x11));
}

/* The CRC of 16 bytes and @len more, fewer than 16; 16 bytes before @p may be read. */
CLMUL_128 static inline __m128i fold_rest(__m128i a, const u8 *p, u32 len)
{
	static const u8 shift[48] __attribute__((__aligned__(16))) = {
		[0 ... 15] = 0x80,
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		[32 ... 47] = 0x80,
	};
	__m128i left, next;

	/* The first @len bytes of @a go to the end, the others before the last bytes. */
	left = _mm_shuffle_epi8(a, load(shift + len));
	/* (a blend takes its second source where the mask's highest bit is set) */
	next = _mm_blendv_epi8(_mm_shuffle_epi8(a, load(shift + 16 + len)),
			       load(p + len - 16), load(shift + 16 + len));
	return fold_128(left, constant(0), next);
}

/* The CRC of 16 bytes: to 96 bits, then Barrett's reduction. */
CLMUL_128 static inline u32 reduce(__m128i a)
{
	/* the quotient of x^95 and the generator; the generator without x^32, times x^31 */
	const __m128i barrett = _mm_set_epi64x(0x1db710640, 0xb4e5b025f7011641);
	__m128i t;

	a = _mm_xor_si128(_mm_clmulepi64_si128(a, constant(0), 0x10), _mm_srli_si128(a, 8));
	t = _mm_clmulepi64_si128(a, barrett, 0x00);
	t = _mm_clmulepi64_si128(t, barrett, 0x10);
	return _mm_extract_epi32(_mm_xor_si128(a, t), 2);
}

CLMUL_128 u32 crc_clmul_128(u32 crc, const void *data, u32 len)
{
	__m128i a, b, c, d, k;
	const u8 *p = data;
	u32 n = len / 16 * 16;

	if (n < 64)
		return crc_tables(crc, p, len);
	len -= n;
	a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(crc));
	b = load(p + 16);
	c = load(p + 32);
	d = load(p + 48);
	k = constant(2);
	for (n -= 64, p += 64; n >= 64; n -= 64, p += 64) {
		a = fold_128(a, k, load(p));
		b = fold_128(b, k, load(p + 16));
		c = fold_128(c, k, load(p + 32));
		d = fold_128(d, k, load(p + 48));
	}
	k = constant(0);
	a = fold_128(fold_128(fold_128(a, k, b), k, c), k, d);
	for (; n; n -= 16, p += 16)
		a = fold_128(a, k, load(p));
	return crc_tables(reduce(a), p, len);
}

CLMUL_512 static inline __m512i constant_512(u32 i)
{
	return _mm512_broadcast_i32x4(constant(i));
}

CLMUL_512 static inline __m512i fold_512(__m512i a, __m512i k, __m512i next)
{
	/* 0x96: the sum of three */
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00), next,
					 _mm512_clmulepi64_epi128(a, k, 0x11), 0x96);
}

CLMUL_512 static inline __m256i fold_256(__m256i a, __m256i k, __m256i next)
{
	return _mm256_ternarylogic_epi64(_mm256_clmulepi64_epi128(a, k, 0x00), next,
					 _mm256_clmulepi64_epi128(a, k, 0x11), 0x96);
}

/* The next vector, which is stored at @to if there is one. */
CLMUL_512 static inline __m512i take(u8 **to, const u8 *p)
{
	__m512i v = _mm512_loadu_si512(p);

	if (*to) {
		_mm512_storeu_si512(*to, v);
		*to += 64;
	}
	return v;
}

/* Inlined, so that @to is known where there is none. */
CLMUL_512 static inline __attribute__((__always_inline__)) u32
clmul_512(u32 crc, u8 *to, const u8 *p, u32 len)
{
	__m512i a, b, c, d, k, one;
	u32 n = len / 64 * 64;
	__m256i half;
	__m128i v;

	len -= n;
	a = take(&to, p);
	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128(crc)));
	one = constant_512(2);
	if (n >= 256) {
		b = take(&to, p + 64);
		c = take(&to, p + 128);
		d = take(&to, p + 192);
		k = constant_512(4);
		for (n -= 256, p += 256; n >= 256; n -= 256, p += 256) {
			a = fold_512(a, k, take(&to, p));
			b = fold_512(b, k, take(&to, p + 64));
			c = fold_512(c, k, take(&to, p + 128));
			d = fold_512(d, k, take(&to, p + 192));
		}
		/* two and two, which do not wait for each other */
		k = constant_512(3);
		b = fold_512(b, k, d);
		a = fold_512(fold_512(a, k, c), one, b);
	} else {
		n -= 64;
		p += 64;
	}
	for (; n; n -= 64, p += 64)
		a = fold_512(a, one, take(&to, p));
	half = _mm512_extracti64x4_epi64(a, 1);
	half = fold_256(_mm512_castsi512_si256(a), _mm256_broadcastsi128_si256(constant(1)), half);
	v = fold_128(_mm256_castsi256_si128(half), constant(0), _mm256_extracti128_si256(half, 1));
	for (; len >= 16; len -= 16, p += 16) {
		if (to) {
			_mm_storeu_si128((__m128i *)to, load(p));
			to += 16;
		}
		v = fold_128(v, constant(0), load(p));
	}
	if (len) {
		if (to)
			memcpy(to, p, len);
		v = fold_rest(v, p, len);
	}
	return reduce(v);
}

__attribute__((__target__("avx"))) static void zero_upper(void)
{
	_mm256_zeroupper();
}

CLMUL_512 static u32 plain_512(u32 crc, const u8 *data, u32 len)
{
	return clmul_512(crc, NULL, data, len);
}

CLMUL_512 static u32 copy_512(u32 crc, u8 *to, const u8 *data, u32 len)
{
	return clmul_512(crc, to, data, len);
}

#else

static void init_fold(void)
{
}

bool crc_has_clmul(void)
{
	return false;
}

static bool has_clmul_512(void)
{
	return false;
}

u32 crc_clmul_128(u32 crc, const void *data, u32 len)
{
	return crc_tables(crc, data, len);
}

static u32 plain_512(u32 crc, const u8 *data, u32 len)
{
	return crc_tables(crc, data, len);
}

static u32 copy_512(u32 crc, u8 *to, const u8 *data, u32 len)
{
	memcpy(to, data, len);
	return crc_tables(crc, data, len);
}

#endif

static bool has_512;

u32 crc_clmul_512(u32 crc, const void *data, u32 len)
{
	if (len >= 64 && has_512)
		return plain_512(crc, data, len);
	return crc_has_clmul() ? crc_clmul_128(crc, data, len) : crc_tables(crc, data, len);
}

u32 crc_clmul_512_copy(u32 crc, void *to, const void *data, u32 len)
{
	if (len >= 64 && has_512)
		return copy_512(crc, to, data, len);
	memcpy(to, data, len);
	return crc_clmul_512(crc, data, len);
}

void crc_clean(void)
{
#ifdef __x86_64__
	if (has_512)
		zero_upper();
#endif
}

void crc_init(void)
{
	u32 n, b, bit, crc;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		tables[0][b] = crc;
	}
	for (n = 1; n < 8; n++)
		for (b = 0; b < 256; b++)
			tables[n][b] = tables[n - 1][b] >> 8 ^
				       tables[0][tables[n - 1][b] & 0xff];
	init_fold();
	has_512 = has_clmul_512();
}
