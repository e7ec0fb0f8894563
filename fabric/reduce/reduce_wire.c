// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Datagrams and arithmetic of reductions in the network. */
#include "../../kernel/core/be.h"
#include "../../kernel/core/le.h"
#include "reduce_wire.h"

bool shca_reduce_parse(struct shca_reduce_head *head, const u8 *data, u32 len)
{
	if (len < SHCA_REDUCE_HEAD || data[0] != SHCA_REDUCE_VERSION)
		return false;
	*head = (struct shca_reduce_head){
		.kind = data[1],
		.op = data[2],
		.type = data[3],
		.job = get_be32(data + 4),
		.chunk = get_be32(data + 8),
		.part = get_be16(data + 12),
		.child = get_be16(data + 14),
	};
	return true;
}

void shca_reduce_build(const struct shca_reduce_head *head, u8 *data)
{
	data[0] = SHCA_REDUCE_VERSION;
	data[1] = head->kind;
	data[2] = head->op;
	data[3] = head->type;
	put_be32(data + 4, head->job);
	put_be32(data + 8, head->chunk);
	put_be16(data + 12, head->part);
	put_be16(data + 14, head->child);
}

static void three_parse(u16 *a, u16 *b, u16 *c, const u8 *body)
{
	*a = get_be16(body);
	*b = get_be16(body + 2);
	*c = get_be16(body + 4);
}

static void three_build(u16 a, u16 b, u16 c, u8 *body)
{
	put_be16(body, a);
	put_be16(body + 2, b);
	put_be16(body + 4, c);
	put_be16(body + 6, 0);
}

void shca_reduce_join_parse(struct shca_reduce_join *join, const u8 *data)
{
	three_parse(&join->rank, &join->size, &join->bytes, data + SHCA_REDUCE_HEAD);
}

void shca_reduce_join_build(const struct shca_reduce_join *join, u8 *data)
{
	three_build(join->rank, join->size, join->bytes, data + SHCA_REDUCE_HEAD);
}

void shca_reduce_ready_parse(struct shca_reduce_ready *ready, const u8 *data)
{
	three_parse(&ready->lid, &ready->slots, &ready->bytes, data + SHCA_REDUCE_HEAD);
}

void shca_reduce_ready_build(const struct shca_reduce_ready *ready, u8 *data)
{
	three_build(ready->lid, ready->slots, ready->bytes, data + SHCA_REDUCE_HEAD);
}

/* ---- arithmetic ------------------------------------------------------------- */

u32 shca_reduce_size(u8 type)
{
	switch (type) {
	case SHCA_REDUCE_I32:
	case SHCA_REDUCE_F32:
		return 4;
	case SHCA_REDUCE_I64:
	case SHCA_REDUCE_F64:
		return 8;
	default:
		return 0;
	}
}

bool shca_reduce_ok(u8 op, u8 type, u32 len)
{
	u32 size = shca_reduce_size(type);
	bool has_bits = type == SHCA_REDUCE_I32 || type == SHCA_REDUCE_I64;

	if (!size || !len || len % size)
		return false;
	return op >= SHCA_REDUCE_SUM && op <= (has_bits ? SHCA_REDUCE_OR : SHCA_REDUCE_MAX);
}

static u32 get_le32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

static void put_le32(u8 *p, u32 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	memcpy(p, &v, sizeof(v));
}

/* A value of a type from its bits, and back. */
#define VALUE(to, from) ({ to to_; __typeof__(from) from_ = (from); memcpy(&to_, &from_, sizeof(to_)); to_; })

/* One loop for each operation and type, which compilers make wide. */
#define EACH(bits, kind, expression) do { \
	for (i = 0; i < len; i += sizeof(kind)) { \
		kind a = VALUE(kind, get_le##bits(values + i)), b = VALUE(kind, get_le##bits(other + i)); \
		\
		put_le##bits(values + i, VALUE(u##bits, (kind)(expression))); \
	} \
} while (0)

/* (of signed integers, the sum may overflow: that of unsigned ones has the same bits) */
#define OPERATIONS(bits, kind, sum_kind) \
	case SHCA_REDUCE_SUM: \
		EACH(bits, sum_kind, a + b); \
		break; \
	case SHCA_REDUCE_MIN: \
		EACH(bits, kind, b < a ? b : a); \
		break; \
	case SHCA_REDUCE_MAX: \
		EACH(bits, kind, b > a ? b : a); \
		break

#define BITS(bits) \
	case SHCA_REDUCE_AND: \
		EACH(bits, u##bits, (a & b)); \
		break; \
	case SHCA_REDUCE_OR: \
		EACH(bits, u##bits, (a | b)); \
		break

static void apply_i32(u8 op, u8 *values, const u8 *other, u32 len)
{
	u32 i;

	switch (op) {
	OPERATIONS(32, s32, u32);
	BITS(32);
	}
}

static void apply_i64(u8 op, u8 *values, const u8 *other, u32 len)
{
	u32 i;

	switch (op) {
	OPERATIONS(64, s64, u64);
	BITS(64);
	}
}

static void apply_f32(u8 op, u8 *values, const u8 *other, u32 len)
{
	u32 i;

	switch (op) {
	OPERATIONS(32, float, float);
	}
}

static void apply_f64(u8 op, u8 *values, const u8 *other, u32 len)
{
	u32 i;

	switch (op) {
	OPERATIONS(64, double, double);
	}
}

void shca_reduce_apply(u8 op, u8 type, u8 *values, const u8 *other, u32 len)
{
	switch (type) {
	case SHCA_REDUCE_I32:
		apply_i32(op, values, other, len);
		break;
	case SHCA_REDUCE_I64:
		apply_i64(op, values, other, len);
		break;
	case SHCA_REDUCE_F32:
		apply_f32(op, values, other, len);
		break;
	case SHCA_REDUCE_F64:
		apply_f64(op, values, other, len);
		break;
	}
}

void shca_reduce_copy(u8 type, u8 *to, const u8 *from, u32 len)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	u32 size = shca_reduce_size(type), i, j;
	u8 value[8];

	/* (@to and @from may be one) */
	for (i = 0; i < len; i += size) {
		memcpy(value, from + i, size);
		for (j = 0; j < size; j++)
			to[i + j] = value[size - 1 - j];
	}
#else
	memmove(to, from, len);
#endif
}
