// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory and its access check, which looks at what a real one does.  It also
 * checks the calls of the core: no length of zero, nothing beyond the segments, no
 * WRITE outside of what was checked before.
 */
#include <stdarg.h>

#include "fuzz.h"

void fuzz_fail(const char *file, int line, const char *cond, const char *fmt,
	       ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: %s: ", file, line, cond);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

void fuzz_memory_init(struct fuzz_memory *memory, struct fuzz_in *in)
{
	u8 where = in_u8(in);

	memset(memory, 0, sizeof(*memory));
	memory->loc = malloc(FUZZ_MEM);
	memory->rem = malloc(FUZZ_MEM);
	memset(memory->loc, 0x11, FUZZ_MEM);
	memset(memory->rem, 0x22, FUZZ_MEM);
	memory->loc_base = 0x10000;
	/* at the end of the address space, at its start, or anywhere */
	memory->rem_base = where & 1 ? -(u64)FUZZ_MEM : where & 2 ? 0 : 0x20000;
	memory->lkey = 0x1001;
	memory->rkey = 0x2002;
	memory->access = SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ |
		       SHCA_ACCESS_REMOTE_ATOMIC;
	if (where & 4)
		memory->access &= in_u8(in);
	if (where & 8)
		memory->verdicts = in;
	shca_tm_init(&memory->tm, memory->tags, FUZZ_TAGS);
}

void fuzz_memory_exit(struct fuzz_memory *memory)
{
	free(memory->loc);
	free(memory->rem);
}

/* What the access check says in spite of all being right. */
static enum shca_mem_status whim(struct fuzz_memory *memory)
{
	if (!memory->verdicts)
		return SHCA_MEM_OK;
	switch (in_u8(memory->verdicts)) {
	case 0xf0:
		return SHCA_MEM_RETRY;
	case 0xf1:
		return SHCA_MEM_KEY;
	case 0xf2:
		return SHCA_MEM_ACCESS;
	case 0xf3:
		return SHCA_MEM_RANGE;
	default:
		return SHCA_MEM_OK;
	}
}

static bool in_region(u64 base, u64 va, u32 len)
{
	return len <= FUZZ_MEM && va - base <= FUZZ_MEM - len;
}

/* ---- segments ---------------------------------------------------------------- */

u32 fuzz_memory_sges(struct fuzz_memory *memory, struct fuzz_in *in,
		   struct shca_sge *sge, u32 *length)
{
	u32 i, nr = in_u8(in) % (FUZZ_SGE + 1), b;
	u64 total = 0;

	for (i = 0; i < nr; i++) {
		b = in_u16(in);
		sge[i].length = b >= 0xff00 ? in_u32(in) : b & 0x7ff;
		sge[i].addr = memory->loc_base + (in_u8(in) << 4);
		sge[i].lkey = memory->lkey;
		b = in_u8(in);
		if (b == 0xff)
			sge[i].lkey++;
		if (b == 0xfe)
			sge[i].addr = in_u64(in);
		/* as the glue: too long a list is refused before the core */
		if (total + sge[i].length > SHCA_MAX_MSG)
			break;
		total += sge[i].length;
	}
	*length = total;
	return i;
}

static u64 sge_total(const struct shca_sge *sge, u32 nr)
{
	u64 total = 0;

	while (nr--)
		total += sge++->length;
	return total;
}

static enum shca_mem_status sge_move(struct fuzz_memory *memory,
				     const struct shca_sge *sge, u32 nr,
				     u32 off, u8 *buf, u32 len, bool is_store)
{
	enum shca_mem_status status = whim(memory);
	u32 part;
	u8 *mem;

	fuzz_check(len, "nothing to move");
	fuzz_check((u64)off + len <= sge_total(sge, nr), "off %u len %u of %llu",
		   off, len, (unsigned long long)sge_total(sge, nr));
	if (status != SHCA_MEM_OK)
		return status;
	for (; nr && len; nr--, sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		part = min_t(u32, sge->length - off, len);
		if (sge->lkey != memory->lkey)
			return SHCA_MEM_KEY;
		if (!in_region(memory->loc_base, sge->addr + off, part))
			return SHCA_MEM_RANGE;
		mem = memory->loc + (sge->addr + off - memory->loc_base);
		if (is_store)
			memcpy(mem, buf, part);
		else
			memcpy(buf, mem, part);
		buf += part;
		len -= part;
		off = 0;
	}
	return SHCA_MEM_OK;
}

enum shca_mem_status fuzz_memory_gather(struct fuzz_memory *memory,
				      const struct shca_pkt *pkt, u8 *to)
{
	const struct shca_send_wr *wr = pkt->wr;
	enum shca_mem_status status = whim(memory);

	if (status != SHCA_MEM_OK || pkt->kind == SHCA_PAY_NONE)
		return status;
	if (pkt->kind == SHCA_PAY_REMOTE) {
		if (pkt->rkey != memory->rkey)
			return SHCA_MEM_KEY;
		if (!in_region(memory->rem_base, pkt->va, pkt->paylen))
			return SHCA_MEM_RANGE;
		memcpy(to, memory->rem + (pkt->va - memory->rem_base), pkt->paylen);
		return SHCA_MEM_OK;
	}
	fuzz_check((u64)pkt->off + pkt->paylen <= wr->length,
		   "off %u len %u of %u", pkt->off, pkt->paylen, wr->length);
	if (wr->inline_data) {
		memcpy(to, (u8 *)wr->inline_data + pkt->off, pkt->paylen);
		return SHCA_MEM_OK;
	}
	return sge_move(memory, wr->sge, wr->num_sge, pkt->off, to, pkt->paylen,
			false);
}

/* ---- the access check ---------------------------------------------------------- */

static u8 *payload(const struct shca_pkt *pkt)
{
	const struct fuzz_wire *wire = pkt->data;

	fuzz_check(pkt->data_off + pkt->paylen + SHCA_ICRC_BYTES <= wire->len,
		   "payload of %u at %u in %u bytes", pkt->paylen,
		   pkt->data_off, wire->len);
	return wire->buf + pkt->data_off;
}

static enum shca_mem_status region(struct fuzz_memory *memory, u32 rkey, u64 va,
				   u32 len, u32 access)
{
	enum shca_mem_status status = whim(memory);

	if (status != SHCA_MEM_OK)
		return status;
	if (rkey != memory->rkey)
		return SHCA_MEM_KEY;
	if ((memory->access & access) != access)
		return SHCA_MEM_ACCESS;
	if (!in_region(memory->rem_base, va, len))
		return SHCA_MEM_RANGE;
	return SHCA_MEM_OK;
}

static enum shca_mem_status door_check(void *ctx, u32 rkey, u64 va, u32 len,
				       u32 access)
{
	struct fuzz_memory *memory = ctx;
	enum shca_mem_status status;

	fuzz_check(len, "remote_check of nothing");
	status = region(memory, rkey, va, len, access);
	if (status == SHCA_MEM_OK && access == SHCA_ACCESS_REMOTE_WRITE) {
		memory->check_rkey = rkey;
		memory->check_va = va;
		memory->check_len = len;
	}
	return status;
}

static enum shca_mem_status door_write(void *ctx, u32 rkey, u64 va,
				       const struct shca_pkt *pkt)
{
	struct fuzz_memory *memory = ctx;
	enum shca_mem_status status;

	fuzz_check(pkt->paylen, "remote_write of nothing");
	fuzz_check(rkey == memory->check_rkey && pkt->paylen <= memory->check_len &&
		   va - memory->check_va <= memory->check_len - pkt->paylen,
		   "WRITE outside of what was checked");
	status = region(memory, rkey, va, pkt->paylen, SHCA_ACCESS_REMOTE_WRITE);
	if (status == SHCA_MEM_OK)
		memcpy(memory->rem + (va - memory->rem_base), payload(pkt),
		       pkt->paylen);
	return status;
}

static enum shca_mem_status door_atomic_write(void *ctx,
					      const struct shca_pkt *pkt)
{
	struct fuzz_memory *memory = ctx;
	enum shca_mem_status status;

	fuzz_check(!(pkt->reth.va & 7) && pkt->paylen == 8,
		   "misaligned ATOMIC WRITE");
	status = region(memory, pkt->reth.rkey, pkt->reth.va, 8,
			SHCA_ACCESS_REMOTE_WRITE);
	if (status == SHCA_MEM_OK)
		memcpy(memory->rem + (pkt->reth.va - memory->rem_base),
		       payload(pkt), 8);
	return status;
}

static enum shca_mem_status door_flush(void *ctx, const struct shca_pkt *pkt)
{
	fuzz_check(pkt->feth.type && pkt->feth.type < 4 && pkt->feth.level < 2,
		   "FLUSH type %u level %u", pkt->feth.type, pkt->feth.level);
	return whim(ctx);
}

static enum shca_mem_status door_atomic(void *ctx, const struct shca_pkt *pkt,
					u64 *orig)
{
	struct fuzz_memory *memory = ctx;
	enum shca_mem_status status;

	fuzz_check(!(pkt->atomic.va & 7), "misaligned atomic");
	status = region(memory, pkt->atomic.rkey, pkt->atomic.va, 8,
			SHCA_ACCESS_REMOTE_ATOMIC);
	if (status == SHCA_MEM_OK)
		*orig = memory->atomics++;
	return status;
}

static enum shca_mem_status door_scatter(void *ctx, const struct shca_sge *sge,
					 u32 nr, u32 off,
					 const struct shca_pkt *pkt)
{
	return sge_move(ctx, sge, nr, off, payload(pkt), pkt->paylen, true);
}

static enum shca_mem_status door_store(void *ctx, const struct shca_sge *sge,
				       u32 nr, const void *buf, u32 len)
{
	return sge_move(ctx, sge, nr, 0, (u8 *)buf, len, true);
}

static enum shca_mem_status door_grh(void *ctx, const struct shca_sge *sge,
				     u32 nr, const struct shca_pkt *pkt)
{
	u8 grh[SHCA_GRH_BYTES] = { 0 };

	return sge_move(ctx, sge, nr, 0, grh, sizeof(grh), true);
}

void fuzz_memory_post(struct fuzz_memory *memory, struct fuzz_in *in)
{
	struct shca_recv_wr *wr = &memory->recvs[memory->posted % FUZZ_RECVS];

	if (memory->posted - memory->taken == FUZZ_RECVS)
		return;
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = memory->posted++;
	wr->num_sge = fuzz_memory_sges(memory, in, wr->sge, &wr->length);
}

static enum shca_recv_status door_recv(void *ctx, struct shca_recv_wr *wr)
{
	struct fuzz_memory *memory = ctx;

	if (memory->taken == memory->posted)
		return SHCA_RECV_EMPTY;
	*wr = memory->recvs[memory->taken++ % FUZZ_RECVS];
	return whim(memory) == SHCA_MEM_KEY ? SHCA_RECV_BAD : SHCA_RECV_OK;
}

static u32 door_recv_count(void *ctx)
{
	struct fuzz_memory *memory = ctx;

	return memory->posted - memory->taken;
}

/* A tag, or the counts, or a tag taken back. */
void fuzz_memory_tag(struct fuzz_memory *memory, struct fuzz_in *in)
{
	struct shca_tm_entry tag = { .wr_id = FUZZ_TAG_ID };
	struct shca_sge sge[FUZZ_SGE] = {};
	u32 handle, length;
	u8 b = in_u8(in);

	if (b & 0x80) {
		shca_tm_sync(&memory->tm, b & 0x40 ? in_u8(in) :
						   memory->tm.unexpected);
		return;
	}
	if (b & 0x40) {
		shca_tm_del(&memory->tm, in_u8(in) % 3 << 16 | in_u8(in) % 6);
		return;
	}
	tag.tag = b & 3;
	tag.mask = b & 4 ? 3 : 1;
	if (fuzz_memory_sges(memory, in, sge, &length))
		tag.sge = sge[0];
	if (shca_tm_take(&memory->tm, &handle))
		shca_tm_post(&memory->tm, &tag, handle);
}

/* Headers that say something, the same whenever the packet comes. */
static void door_payload(void *ctx, const struct shca_pkt *pkt, void *buf,
			 u32 len)
{
	u32 hash = pkt->psn * 2654435761u;
	u8 hdr[SHCA_TMH_BYTES + SHCA_RVH_BYTES] = { 0 };

	fuzz_check(len && len <= pkt->paylen && len <= sizeof(hdr),
		   "%u of a payload of %u", len, pkt->paylen);
	payload(pkt);
	hdr[0] = hash >> 30 ?: SHCA_TMH_EAGER;
	hdr[15] = hash >> 28 & 3;
	hdr[31] = hash >> 20;
	hdr[28] = hash >> 12 & 0xff ? 0 : 0x90;
	memcpy(buf, hdr, len);
}

static enum shca_recv_status door_tm_get(void *ctx,
					 const struct shca_tm_msg *msg,
					 struct shca_recv_wr *wr, bool *matched)
{
	enum shca_recv_status status;
	struct fuzz_memory *memory = ctx;
	u16 slot;

	slot = shca_tm_match(&memory->tm, msg->tmh.tag);
	*matched = slot != SHCA_TM_NIL;
	if (!*matched) {
		status = door_recv(ctx, wr);
		if (status == SHCA_RECV_OK)
			memory->tm.unexpected++;
		return status;
	}
	fuzz_check(!memory->tag_held, "takes a second tag");
	memory->tag_held = FUZZ_TAG_ID + slot;
	wr->wr_id = memory->tag_held;
	wr->sge[0] = memory->tags[slot].sge;
	wr->length = wr->sge[0].length;
	wr->num_sge = wr->length ? 1 : 0;
	shca_tm_free(&memory->tm, slot);
	return SHCA_RECV_OK;
}

static void door_tm_undo(void *ctx)
{
	struct fuzz_memory *memory = ctx;

	fuzz_check(memory->tm.unexpected, "undoes what was not");
	shca_tm_undo(&memory->tm);
}

static bool door_xrc_select(void *ctx, u32 srqn)
{
	return whim(ctx) == SHCA_MEM_OK && srqn < 2;
}

static bool door_invalidate(void *ctx, u32 rkey)
{
	return whim(ctx) == SHCA_MEM_OK && rkey & 1;
}

static enum shca_wc_status door_local(void *ctx, const struct shca_send_wr *wr)
{
	return whim(ctx) == SHCA_MEM_OK ? SHCA_WC_SUCCESS :
					  SHCA_WC_MW_BIND_ERR;
}

const struct shca_mem_ops fuzz_mem_ops = {
	.remote_check = door_check,
	.remote_write = door_write,
	.remote_atomic = door_atomic,
	.remote_atomic_write = door_atomic_write,
	.remote_flush = door_flush,
	.local_scatter = door_scatter,
	.local_store = door_store,
	.grh_store = door_grh,
	.recv_get = door_recv,
	.recv_count = door_recv_count,
	.tm_get = door_tm_get,
	.tm_undo = door_tm_undo,
	.payload = door_payload,
	.xrc_select = door_xrc_select,
	.invalidate = door_invalidate,
	.local_op = door_local,
};
