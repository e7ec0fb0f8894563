// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Data over RC, or with -q uc over UC. Requests of each operation, size and
 * shape arrive unchanged at their place and nowhere else. They complete once
 * and in order.
 */
#include "util.h"

#include <sched.h>
#include <unistd.h>

#define BIG		(8 * MIB)
#define UNTOUCHED	0xa5

/* Both ends; each has a region to send from and one to receive into. */
static struct end a, b;
static struct buf src_a, src_b, dst_a, dst_b;

static void set_up(const struct config *config, size_t len)
{
	pair_make(&a, &b, config);
	src_a = buf_make(a.nic->pd, len, ACCESS_ALL);
	dst_a = buf_make(a.nic->pd, len, ACCESS_ALL);
	src_b = buf_make(b.nic->pd, len, ACCESS_ALL);
	dst_b = buf_make(b.nic->pd, len, ACCESS_ALL);
}

static void check_all_guards(void)
{
	buf_check_guards(&src_a);
	buf_check_guards(&src_b);
	buf_check_guards(&dst_a);
	buf_check_guards(&dst_b);
}

/*
 * Sizes around the packet boundaries of @mtu, around pages, and large ones, up
 * to BIG or the command line's limit. Return: their number.
 */
static int sizes(uint32_t mtu, uint32_t *out)
{
	const uint32_t list[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65,
		mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1,
		3 * mtu + 2, 4095, 4096, 4097, 16 * mtu, 16 * mtu + 3,
		65535, 65536, 65537, 300007, MIB - 1, MIB, MIB + 1, BIG,
	};
	int i, num = 0;

	for (i = 0; i < (int)ARRAY_SIZE(list); i++)
		if (!options.max_len || list[i] <= options.max_len)
			out[num++] = list[i];
	return num;
}

#define MAX_SIZES	40

/* The bytes of @buf around [@off, @off + @len) must be unchanged. */
static void check_around(const struct buf *buf, size_t off, size_t len)
{
	size_t from = off > 4096 ? off - 4096 : 0;
	size_t to = off + len + 4096 < buf->len ? off + len + 4096 : buf->len;

	check_bytes(buf->p + from, off - from, UNTOUCHED);
	check_bytes(buf->p + off + len, to - off - len, UNTOUCHED);
	buf_check_guards(buf);
}

/* UC completes what has left; nothing shows that a WRITE has arrived. */
static void wait_equal(const void *p, const void *q, size_t len)
{
	uint64_t until = millis() + 10000u * slow_factor();

	while (!is_same(p, q, len) && millis() < until)
		sched_yield();
}

/* Sends one message of @len bytes from @from's region to @to's. */
static void one_message(enum ibv_wr_opcode opcode, struct end *from,
			struct buf *src, struct end *to, struct buf *dst,
			uint32_t len, uint64_t seed)
{
	/* odd offsets, if the region has room for them */
	size_t src_off = len < src->len - 16 ? seed % 13 : 0;
	size_t dst_off = len < dst->len - 16 ? seed % 7 : 0;
	struct ibv_sge from_sge = sge_of(src, src_off, len);
	struct ibv_sge to_sge = sge_of(dst, dst_off, len);
	bool has_imm = opcode == IBV_WR_SEND_WITH_IMM ||
		       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool is_send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
	struct ibv_send_wr wr = wr_rdma(seed, opcode, &from_sge, 1, to_sge.addr,
					dst->mr->rkey);
	struct ibv_wc wc;

	fill(src->p + src_off, len, seed);
	memset(dst->p, UNTOUCHED, dst->len < len + 8192 ? dst->len : len + 8192);
	wr.imm_data = seed * 0x01010101u;
	if (is_send)
		post_recv(to, seed + 1, &to_sge, 1);
	else if (has_imm)
		post_recv(to, seed + 1, NULL, 0);
	post(from, &wr);
	if (is_send || has_imm) {
		wc = wait_ok(to->rcq, seed + 1, is_send ? IBV_WC_RECV :
			     IBV_WC_RECV_RDMA_WITH_IMM);
		REQUIRE_EQ(wc.byte_len, len);
		REQUIRE_EQ(wc.qp_num, to->qp->qp_num);
		REQUIRE_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), has_imm);
		if (has_imm)
			REQUIRE_EQ(wc.imm_data, (uint32_t)(seed * 0x01010101u));
		/* data arrives before the sender's completion */
		check_fill(dst->p + dst_off, len, seed);
	}
	wc = wait_ok(from->scq, seed, is_send ? IBV_WC_SEND :
		     IBV_WC_RDMA_WRITE);
	REQUIRE_EQ(wc.qp_num, from->qp->qp_num);
	if (options.is_uc)
		wait_equal(dst->p + dst_off, src->p + src_off, len);
	check_fill(dst->p + dst_off, len, seed);
	check_fill(src->p + src_off, len, seed);
	check_around(dst, dst_off, len);
}

/* Reads @len bytes of @to's region. */
static void one_read(struct end *from, struct buf *dst, struct end *to,
		     struct buf *src, uint32_t len, uint64_t seed)
{
	size_t src_off = len < src->len - 16 ? seed % 13 : 0;
	size_t dst_off = len < dst->len - 16 ? seed % 7 : 0;
	struct ibv_sge to_sge = sge_of(dst, dst_off, len);
	struct ibv_send_wr wr = wr_rdma(seed, IBV_WR_RDMA_READ, &to_sge, 1,
					(uintptr_t)src->p + src_off,
					src->mr->rkey);
	struct ibv_wc wc;

	fill(src->p + src_off, len, seed);
	memset(dst->p, UNTOUCHED, dst->len < len + 8192 ? dst->len : len + 8192);
	post(from, &wr);
	wc = wait_ok(from->scq, seed, IBV_WC_RDMA_READ);
	REQUIRE_EQ(wc.byte_len, len);
	REQUIRE_EQ(wc.qp_num, from->qp->qp_num);
	check_fill(dst->p + dst_off, len, seed);
	check_fill(src->p + src_off, len, seed);
	check_around(dst, dst_off, len);
	require_no_wc(to->rcq);
}

static void all_sizes(enum ibv_wr_opcode opcode, enum ibv_mtu mtu)
{
	struct config config = config_default;
	uint32_t list[MAX_SIZES];
	uint64_t seed = 1;
	int i, num;

	config.mtu = mtu;
	set_up(&config, BIG);
	num = sizes(mtu_bytes(mtu), list);
	for (i = 0; i < num; i++, seed += 4) {
		if (opcode == IBV_WR_RDMA_READ) {
			one_read(&a, &dst_a, &b, &src_b, list[i], seed);
			one_read(&b, &dst_b, &a, &src_a, list[i], seed + 2);
		} else {
			one_message(opcode, &a, &src_a, &b, &dst_b, list[i],
				    seed);
			one_message(opcode, &b, &src_b, &a, &dst_a, list[i],
				    seed + 2);
		}
	}
	check_all_guards();
}

static enum ibv_mtu full_mtu(void)
{
	enum ibv_mtu of_a = nic_a()->port.active_mtu;
	enum ibv_mtu of_b = nic_b()->port.active_mtu;

	return of_a < of_b ? of_a : of_b;
}

/* Many small packets, or as few as the netdev allows. */
#define ALL_SIZES(name, opcode)						\
	static void name##_of_all_sizes_at_mtu_256(void)		\
	{								\
		all_sizes(opcode, IBV_MTU_256);				\
	}								\
	static void name##_of_all_sizes_at_full_mtu(void)		\
	{								\
		all_sizes(opcode, full_mtu());				\
	}

ALL_SIZES(send, IBV_WR_SEND)
ALL_SIZES(send_imm, IBV_WR_SEND_WITH_IMM)
ALL_SIZES(write, IBV_WR_RDMA_WRITE)
ALL_SIZES(write_imm, IBV_WR_RDMA_WRITE_WITH_IMM)
ALL_SIZES(read, IBV_WR_RDMA_READ)

/* ---- atomics ------------------------------------------------------------- */

static struct buf atomic_target(struct nic *nic, size_t len)
{
	return buf_make(nic->pd, len, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
}

static struct ibv_send_wr wr_atomic(uint64_t wr_id, enum ibv_wr_opcode opcode,
				    struct ibv_sge *sge, const uint64_t *word,
				    const struct buf *target,
				    uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr wr = wr_send(wr_id, sge, 1);

	wr.opcode = opcode;
	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = target->mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	return wr;
}

/* Executes one atomic; the old value goes to an odd place of @back. */
static void one_atomic(struct end *from, struct buf *back, const uint64_t *word,
		       struct buf *target, enum ibv_wr_opcode opcode,
		       uint64_t compare_add, uint64_t swap, uint64_t seed)
{
	struct ibv_sge sge = sge_of(back, 8 + seed % 9, 8);
	struct ibv_send_wr wr = wr_atomic(seed, opcode, &sge, word, target,
					  compare_add, swap);
	uint64_t before = *word, after, got;
	struct ibv_wc wc;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		after = before + compare_add;
	else
		after = before == compare_add ? swap : before;
	memset(back->p, UNTOUCHED, back->len);
	post(from, &wr);
	wc = wait_ok(from->scq, seed, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ?
		     IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP);
	REQUIRE_EQ(wc.byte_len, 8);
	memcpy(&got, back->p + 8 + seed % 9, sizeof(got));
	REQUIRE_EQ(got, before);
	REQUIRE_EQ(__atomic_load_n(word, __ATOMIC_SEQ_CST), after);
	check_around(back, 8 + seed % 9, 8);
}

/* The word has the CPU's byte order; its neighbours do not change. */
static void atomics_both_ways(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 0xff, 0x100, 1ull << 32, 0x0123456789abcdefull,
		1ull << 63, UINT64_MAX,
	};
	struct end *from[2] = { &a, &b };
	struct buf *back[2] = { &dst_a, &dst_b };
	struct config config = config_default;
	struct buf target[2];
	uint64_t seed = 1, *word;
	size_t i, k;
	int side;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	set_up(&config, 4 * KIB);
	target[0] = atomic_target(b.nic, 4 * KIB);
	target[1] = atomic_target(a.nic, 4 * KIB);
	for (side = 0; side < 2; side++) {
		/* buf_make keeps addresses a multiple of eight */
		word = (uint64_t *)(target[side].p + 40);
		memset(target[side].p, UNTOUCHED, target[side].len);
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			for (k = 0; k < ARRAY_SIZE(values); k++, seed++) {
				*word = values[i];
				one_atomic(from[side], back[side], word,
					   &target[side],
					   IBV_WR_ATOMIC_FETCH_AND_ADD,
					   values[k], 0, seed);
				*word = values[i];
				one_atomic(from[side], back[side], word,
					   &target[side],
					   IBV_WR_ATOMIC_CMP_AND_SWP,
					   values[k], ~values[k], seed);
			}
		}
		check_around(&target[side], 40, 8);
	}
	check_all_guards();
}

/*
 * Posts more of them than may be outstanding, among READs of the same word. Each sees
 * the effect of those before it, and an atomic not that of those behind it.
 */
static void chain_of_atomics(void)
{
	enum { NUM = 60 };
	struct config config = config_default;
	uint64_t expected, *word, *got;
	struct ibv_send_wr wr[NUM];
	struct ibv_sge sge[NUM];
	struct buf target;
	int round, i;

	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	set_up(&config, 4 * KIB);
	target = atomic_target(b.nic, 4 * KIB);
	word = (uint64_t *)(target.p + 64);
	got = (uint64_t *)dst_a.p;
	for (round = 0; round < 20; round++) {
		*word = round;
		memset(dst_a.p, UNTOUCHED, dst_a.len);
		for (i = 0; i < NUM; i++) {
			sge[i] = sge_of(&dst_a, i * 8, 8);
			if (i % 4 == 2)
				wr[i] = wr_rdma(i, IBV_WR_RDMA_READ, &sge[i], 1,
						(uintptr_t)word,
						target.mr->rkey);
			else if (i % 4 == 3)
				/* never the current value, so nothing is swapped */
				wr[i] = wr_atomic(i, IBV_WR_ATOMIC_CMP_AND_SWP,
						  &sge[i], word, &target,
						  UINT64_MAX, 5);
			else
				wr[i] = wr_atomic(i,
						  IBV_WR_ATOMIC_FETCH_AND_ADD,
						  &sge[i], word, &target, 3, 0);
			wr[i].next = i < NUM - 1 ? &wr[i + 1] : NULL;
		}
		post(&a, wr);
		for (expected = round, i = 0; i < NUM; i++) {
			wait_status(a.scq, i, IBV_WC_SUCCESS);
			/*
			 * A READ whose response was late is executed again (IBTA C9-105), after
			 * the atomics that were outstanding beside it: here two more adds.
			 */
			if (i % 4 == 2 && got[i] != expected)
				REQUIRE(got[i] == expected + 3 || got[i] == expected + 6);
			else
				REQUIRE_EQ(got[i], expected);
			if (i % 4 < 2)
				expected += 3;
		}
		REQUIRE_EQ(*word, expected);
	}
	require_no_wc(a.scq);
	check_all_guards();
	buf_check_guards(&target);
}

/* The post copies inline data, and ignores the lkey. */
static void inline_data_is_copied_by_the_post(void)
{
	struct config config = config_default;
	uint8_t data[1024];
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	uint32_t len, max;
	int op;

	config.max_inline = 64;
	set_up(&config, 64 * KIB);
	max = a.cap.max_inline_data;
	REQUIRE(max >= 64);
	if (max > sizeof(data))
		max = sizeof(data);
	for (op = 0; op < 2; op++) {
		for (len = 0; len <= max; len += len < 8 ? 1 : 7) {
			from = (struct ibv_sge){ (uintptr_t)data, len, 0xbad };
			to = sge_of(&dst_b, 3, len);
			wr = wr_rdma(len, op ? IBV_WR_RDMA_WRITE_WITH_IMM :
				     IBV_WR_SEND, &from, 1, to.addr,
				     dst_b.mr->rkey);
			wr.send_flags |= IBV_SEND_INLINE;
			memset(dst_b.p, UNTOUCHED, dst_b.len);
			fill(data, len, len);
			post_recv(&b, 1, &to, 1);
			post(&a, &wr);
			memset(data, 0, len);
			REQUIRE_EQ(wait_wc(b.rcq).byte_len, len);
			wait_ok(a.scq, len, op ? IBV_WC_RDMA_WRITE :
				IBV_WC_SEND);
			check_fill(dst_b.p + 3, len, len);
			check_around(&dst_b, 3, len);
		}
	}
}

static void inline_of_several_segments(void)
{
	struct config config = config_default;
	struct ibv_sge from[4], to;
	struct ibv_send_wr wr;
	uint8_t data[64];

	config.max_inline = sizeof(data);
	set_up(&config, 4 * KIB);
	fill(data, sizeof(data), 1);
	from[0] = (struct ibv_sge){ (uintptr_t)data, 1, 0 };
	from[1] = (struct ibv_sge){ (uintptr_t)data + 1, 0, 0 };
	from[2] = (struct ibv_sge){ (uintptr_t)data + 1, 60, 0 };
	from[3] = (struct ibv_sge){ (uintptr_t)data + 61, 3, 0 };
	wr = wr_send(1, from, 4);
	wr.send_flags |= IBV_SEND_INLINE;
	to = sge_of(&dst_b, 0, 64);
	post_recv(&b, 2, &to, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	check_fill(dst_b.p, sizeof(data), 1);
}

/*
 * Cuts @total bytes into @num pieces of uneven length with gaps between them.
 * Some pieces are empty. Even seeds begin with a small piece, odd ones with an
 * empty piece.
 */
static void cut(struct ibv_sge *sge, int num, const struct buf *buf,
		uint32_t total, uint32_t seed)
{
	size_t off = seed % 5;
	uint32_t len;
	int i;

	for (i = 0; i < num; i++) {
		if (i == num - 1)
			len = total;
		else if ((i + seed) % 3 == 1)
			len = 0;
		else
			len = total / (num - i) + (i + seed) % 2;
		if (len > total)
			len = total;
		sge[i] = sge_of(buf, off, len);
		off += len + 3;
		total -= len;
	}
}

static void fill_cut(const struct ibv_sge *sge, int num, uint64_t seed,
		     uint32_t total)
{
	uint8_t *flat = malloc(total + 1), *p = flat;
	int i;

	REQUIRE(flat);
	fill(flat, total, seed);
	for (i = 0; i < num; i++) {
		memcpy((void *)(uintptr_t)sge[i].addr, p, sge[i].length);
		p += sge[i].length;
	}
	free(flat);
}

static void check_cut(const struct buf *buf, const struct ibv_sge *sge, int num,
		      uint64_t seed, uint32_t total)
{
	uint8_t *flat = malloc(total + 1), *p = flat;
	size_t end = 0, off;
	int i;

	REQUIRE(flat);
	for (i = 0; i < num; i++) {
		off = sge[i].addr - (uintptr_t)buf->p;
		/* the gap before this piece */
		check_bytes(buf->p + end, off - end, UNTOUCHED);
		memcpy(p, buf->p + off, sge[i].length);
		p += sge[i].length;
		end = off + sge[i].length;
	}
	check_bytes(buf->p + end, buf->len - end, UNTOUCHED);
	check_fill(flat, total, seed);
	free(flat);
}

static void gather_and_scatter(void)
{
	static const uint32_t totals[] = { 1, 17, 1024, 4099, 20011, 200003 };
	struct ibv_sge from[32], to[32];
	struct config config = config_default;
	struct ibv_send_wr wr;
	uint32_t seed = 0, t;
	int max, num;

	max = nic_a()->attr.max_sge;
	if (nic_b()->attr.max_sge < max)
		max = nic_b()->attr.max_sge;
	if (max > 32)
		max = 32;
	config.max_send_sge = max;
	config.max_recv_sge = max;
	set_up(&config, 256 * KIB);
	for (t = 0; t < ARRAY_SIZE(totals); t++) {
		for (num = 1; num <= max; num += num < 5 ? 1 : 9, seed++) {
			memset(dst_b.p, UNTOUCHED, dst_b.len);
			cut(from, num, &src_a, totals[t], seed);
			cut(to, max + 1 - num, &dst_b, totals[t], seed + 1);
			fill_cut(from, num, seed, totals[t]);
			post_recv(&b, seed, to, max + 1 - num);
			wr = wr_send(seed, from, num);
			post(&a, &wr);
			wait_ok(b.rcq, seed, IBV_WC_RECV);
			wait_ok(a.scq, seed, IBV_WC_SEND);
			check_cut(&dst_b, to, max + 1 - num, seed, totals[t]);

			/* READ the same pieces back */
			fill(src_b.p, totals[t], seed + 7);
			memset(dst_a.p, UNTOUCHED, dst_a.len);
			cut(to, num, &dst_a, totals[t], seed);
			wr = wr_rdma(seed, IBV_WR_RDMA_READ, to, num,
				     (uintptr_t)src_b.p, src_b.mr->rkey);
			post(&a, &wr);
			wait_ok(a.scq, seed, IBV_WC_RDMA_READ);
			check_cut(&dst_a, to, num, seed + 7, totals[t]);
		}
	}
	check_all_guards();
}

/* Only the last of ten requests a completion, and only it gets one. */
static void unsignalled_sends_complete_silently(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int round, i;

	set_up(&config_default, 4 * KIB);
	from = sge_of(&src_a, 0, 100);
	to = sge_of(&dst_b, 0, 100);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 10; i++)
			post_recv(&b, i, &to, 1);
		for (i = 0; i < 10; i++) {
			wr = wr_send(round * 10 + i, &from, 1);
			if (i < 9)
				wr.send_flags = 0;
			post(&a, &wr);
		}
		for (i = 0; i < 10; i++)
			wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, round * 10 + 9, IBV_WC_SEND);
		require_no_wc(a.scq);
	}
}

static void sig_all_signals_all(void)
{
	struct config config = config_default;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int i;

	config.sq_sig_all = 1;
	set_up(&config, 4 * KIB);
	from = sge_of(&src_a, 0, 100);
	to = sge_of(&dst_b, 0, 100);
	for (i = 0; i < 20; i++) {
		post_recv(&b, i, &to, 1);
		wr = wr_send(i, &from, 1);
		wr.send_flags = 0;
		post(&a, &wr);
	}
	for (i = 0; i < 20; i++)
		wait_ok(a.scq, i, IBV_WC_SEND);
}

/* One post of many requests of all kinds: each completes once, in order. */
static void chain_of_mixed_requests(void)
{
	enum { NUM = 60, LEN = 5000 };
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	static const enum ibv_wc_opcode done[] = {
		IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
		IBV_WC_SEND, IBV_WC_RDMA_WRITE,
	};
	struct ibv_send_wr wr[NUM];
	struct ibv_sge local[NUM], to[NUM];
	int round, i;

	set_up(&config_default, NUM * LEN);
	for (round = 0; round < 10; round++) {
		memset(dst_a.p, UNTOUCHED, dst_a.len);
		memset(dst_b.p, UNTOUCHED, dst_b.len);
		for (i = 0; i < NUM; i++) {
			bool is_read = ops[i % 5] == IBV_WR_RDMA_READ;

			local[i] = sge_of(is_read ? &dst_a : &src_a, i * LEN,
					  LEN - i);
			to[i] = sge_of(&dst_b, i * LEN, LEN - i);
			fill(src_a.p + i * LEN, LEN, round * 100 + i);
			fill(src_b.p + i * LEN, LEN, round * 100 + i);
			wr[i] = wr_rdma(i, ops[i % 5], &local[i], 1, is_read ?
					(uintptr_t)src_b.p + i * LEN :
					to[i].addr, is_read ?
					src_b.mr->rkey : dst_b.mr->rkey);
			wr[i].imm_data = i;
			wr[i].next = i < NUM - 1 ? &wr[i + 1] : NULL;
			if (i % 5 == 0 || i % 5 == 3)
				post_recv(&b, i, &to[i], 1);
			if (i % 5 == 4)
				post_recv(&b, i, NULL, 0);
		}
		post(&a, wr);
		for (i = 0; i < NUM; i++)
			wait_ok(a.scq, i, done[i % 5]);
		for (i = 0; i < NUM; i++)
			if (i % 5 != 1 && i % 5 != 2)
				wait_status(b.rcq, i, IBV_WC_SUCCESS);
		for (i = 0; i < NUM; i++)
			check_fill((ops[i % 5] == IBV_WR_RDMA_READ ? dst_a.p :
				    dst_b.p) + i * LEN, LEN - i,
				   round * 100 + i);
	}
	require_no_wc(a.scq);
	require_no_wc(b.rcq);
	check_all_guards();
}

/* A ring with few slots wraps many times, as do the CQs. */
static void small_rings_wrap(void)
{
	enum { ROUNDS = 3000 };
	struct config config = config_default;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int i;

	config.max_send_wr = 2;
	config.max_recv_wr = 3;
	config.cqe = 4;
	set_up(&config, 4 * KIB);
	to = sge_of(&dst_b, 0, 8);
	for (i = 0; i < ROUNDS; i++) {
		fill(src_a.p, 8, i);
		from = sge_of(&src_a, 0, 8);
		post_recv(&b, i, &to, 1);
		wr = wr_send(i, &from, 1);
		post(&a, &wr);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
		check_fill(dst_b.p, 8, i);
	}
}

/* The peer has posted no receive, so nothing leaves the send queue. */
static void full_send_queue_refuses(void)
{
	struct ibv_send_wr wr[4], *bad = NULL;
	struct ibv_sge from, to;
	uint32_t i, posted;

	set_up(&config_default, 4 * KIB);
	from = sge_of(&src_a, 0, 8);
	to = sge_of(&dst_b, 0, 8);
	for (posted = 0; posted < a.cap.max_send_wr; posted++) {
		wr[0] = wr_send(posted, &from, 1);
		post(&a, wr);
	}
	REQUIRE(posted >= config_default.max_send_wr);
	wr[0] = wr_send(posted, &from, 1);
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	REQUIRE(bad == wr);

	/* All accepted requests complete, and there is room again. */
	for (i = 0; i < posted; i++) {
		post_recv(&b, i, &to, 1);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
	}
	for (i = 0; i < a.cap.max_send_wr - 2; i++) {
		wr[0] = wr_send(i, &from, 1);
		post(&a, wr);
	}

	/* The requests of a chain that fit are accepted; bad_wr is the next one. */
	for (i = 0; i < 4; i++) {
		wr[i] = wr_send(1000 + i, &from, 1);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	REQUIRE_EQ(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	REQUIRE(bad == &wr[2]);
}

static void full_receive_queue_refuses(void)
{
	struct ibv_recv_wr wr = {}, *bad = NULL;
	struct ibv_sge from, to;
	struct ibv_send_wr send;
	uint32_t i;

	set_up(&config_default, 4 * KIB);
	to = sge_of(&dst_b, 0, 8);
	from = sge_of(&src_a, 0, 8);
	for (i = 0; i < b.cap.max_recv_wr; i++)
		post_recv(&b, i, &to, 1);
	wr.wr_id = i;
	REQUIRE_EQ(ibv_post_recv(b.qp, &wr, &bad), ENOMEM);
	REQUIRE(bad == &wr);
	for (i = 0; i < b.cap.max_recv_wr; i++) {
		send = wr_send(i, &from, 1);
		post(&a, &send);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
	}
	post_recv(&b, 0, &to, 1);
}

/* A fenced SEND sends the data that the READ before it has fetched. */
static void fence_waits_for_reads(void)
{
	enum { LEN = 100000 };
	struct ibv_sge mid, to;
	struct ibv_send_wr wr[2];
	int i;

	set_up(&config_default, LEN);
	mid = sge_of(&dst_a, 0, LEN);
	to = sge_of(&dst_b, 0, LEN);
	for (i = 0; i < 20; i++) {
		fill(src_b.p, LEN, i);
		post_recv(&b, i, &to, 1);
		wr[0] = wr_rdma(0, IBV_WR_RDMA_READ, &mid, 1,
				(uintptr_t)src_b.p, src_b.mr->rkey);
		wr[1] = wr_send(1, &mid, 1);
		wr[1].send_flags |= IBV_SEND_FENCE;
		wr[0].next = &wr[1];
		post(&a, wr);
		wait_ok(a.scq, 0, IBV_WC_RDMA_READ);
		wait_ok(a.scq, 1, IBV_WC_SEND);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		check_fill(dst_b.p, LEN, i);
	}
}

/* Data written before a SEND is there when the SEND is received. */
static void writes_precede_the_send(void)
{
	enum { LEN = 50000 };
	struct ibv_send_wr wr[3];
	struct ibv_sge w, s;
	int i;

	set_up(&config_default, 2 * LEN);
	for (i = 0; i < 50; i++) {
		fill(src_a.p, 2 * LEN, i);
		w = sge_of(&src_a, 0, LEN);
		s = sge_of(&src_a, LEN, 1);
		wr[0] = wr_rdma(0, IBV_WR_RDMA_WRITE, &w, 1,
				(uintptr_t)dst_b.p, dst_b.mr->rkey);
		wr[0].send_flags = 0;
		wr[1] = wr_rdma(1, IBV_WR_RDMA_WRITE, &w, 1,
				(uintptr_t)dst_b.p + LEN, dst_b.mr->rkey);
		wr[1].send_flags = 0;
		wr[2] = wr_send(2, &s, 0);
		wr[0].next = &wr[1];
		wr[1].next = &wr[2];
		post_recv(&b, i, NULL, 0);
		post(&a, wr);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		check_fill(dst_b.p, LEN, i);
		check_fill(dst_b.p + LEN, LEN, i);
		wait_ok(a.scq, 2, IBV_WC_SEND);
	}
}

/* IBTA C9-88: without data the key is not checked. */
static void zero_length_rdma_ignores_the_rkey(void)
{
	struct ibv_send_wr wr;

	set_up(&config_default, 4 * KIB);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, NULL, 0, 0x1234, 0xdeadbeef);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	wr = wr_rdma(2, IBV_WR_RDMA_READ, NULL, 0, 0x1234, 0xdeadbeef);
	post(&a, &wr);
	wait_ok(a.scq, 2, IBV_WC_RDMA_READ);
	post_recv(&b, 3, NULL, 0);
	wr = wr_rdma(3, IBV_WR_RDMA_WRITE_WITH_IMM, NULL, 0, 0, 0xdeadbeef);
	post(&a, &wr);
	wait_ok(b.rcq, 3, IBV_WC_RECV_RDMA_WITH_IMM);
	wait_ok(a.scq, 3, IBV_WC_RDMA_WRITE);
}

/* More READs than may be outstanding: the queue waits, and nothing is refused. */
static void more_reads_than_outstanding(void)
{
	enum { NUM = 48, LEN = 9001 };
	struct config config = config_default;
	struct ibv_send_wr wr[NUM];
	struct ibv_sge to[NUM];
	int depth, i;

	for (depth = 1; depth <= 4; depth++) {
		config.max_rd_atomic = depth;
		config.max_dest_rd_atomic = depth;
		set_up(&config, NUM * LEN);
		fill(src_b.p, src_b.len, depth);
		for (i = 0; i < NUM; i++) {
			to[i] = sge_of(&dst_a, i * LEN, LEN);
			wr[i] = wr_rdma(i, IBV_WR_RDMA_READ, &to[i], 1,
					(uintptr_t)src_b.p + i * LEN,
					src_b.mr->rkey);
			wr[i].next = i < NUM - 1 ? &wr[i + 1] : NULL;
		}
		post(&a, wr);
		for (i = 0; i < NUM; i++)
			wait_ok(a.scq, i, IBV_WC_RDMA_READ);
		check_fill(dst_a.p, dst_a.len, depth);
		check_all_guards();
	}
}

/* The region's address may differ from the process's. */
static void region_with_an_own_base_address(void)
{
	const uint64_t iova = 0x7000000000000ull;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_mr *mr;
	size_t page_off;

	set_up(&config_default, 16 * KIB);
	page_off = (uintptr_t)dst_b.p & 4095;
	mr = ibv_reg_mr_iova(b.nic->pd, dst_b.p, dst_b.len, iova + page_off,
			     ACCESS_ALL);
	REQUIRE(mr);
	fill(src_a.p, 10000, 1);
	from = sge_of(&src_a, 0, 10000);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &from, 1, iova + page_off + 5,
		     mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(dst_b.p + 5, 10000, 1);

	to = (struct ibv_sge){ iova + page_off + 7, 10000, mr->lkey };
	post_recv(&b, 2, &to, 1);
	wr = wr_send(2, &from, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	check_fill(dst_b.p + 7, 10000, 1);
}

/* A queue pair may be its own peer. */
static void qp_connected_to_itself(void)
{
	struct address self;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct buf src, dst;

	a = end_make(nic_a(), &config_default);
	self = end_address(&a);
	end_connect(&a, &self);
	src = buf_make(a.nic->pd, 100000, ACCESS_ALL);
	dst = buf_make(a.nic->pd, 100000, ACCESS_ALL);
	one_message(IBV_WR_SEND, &a, &src, &a, &dst, 90001, 2);
	one_message(IBV_WR_RDMA_WRITE, &a, &src, &a, &dst, 90001, 4);
	one_read(&a, &dst, &a, &src, 90001, 6);
	from = sge_of(&src, 0, 10);
	to = sge_of(&dst, 0, 10);
	post_recv(&a, 9, &to, 1);
	wr = wr_send(8, &from, 1);
	post(&a, &wr);
	wait_ok(a.scq, 8, IBV_WC_SEND);
	wait_ok(a.rcq, 9, IBV_WC_RECV);
}

/* Completions of many queue pairs in one CQ name their QP. */
static void many_qps_share_a_cq(void)
{
	enum { QPS = 16, EACH = 20 };
	struct ibv_qp_init_attr init = {
		.qp_type = options.is_uc ? IBV_QPT_UC : IBV_QPT_RC,
		.cap = { .max_send_wr = EACH, .max_recv_wr = EACH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct end from[QPS], to[QPS];
	int sent[QPS] = {}, received[QPS] = {};
	struct ibv_sge from_sge, to_sge;
	struct ibv_send_wr wr;
	struct buf src, dst;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	int i, n;

	cq = ibv_create_cq(nic_a()->ctx, 2 * QPS * EACH, NULL, NULL, 0);
	REQUIRE(cq);
	src = buf_make(nic_a()->pd, 4 * KIB, ACCESS_ALL);
	dst = buf_make(nic_a()->pd, 4 * KIB, ACCESS_ALL);
	init.send_cq = cq;
	init.recv_cq = cq;
	for (i = 0; i < QPS; i++) {
		from[i] = (struct end){ .nic = nic_a(), .config = config_default };
		to[i] = from[i];
		from[i].qp = ibv_create_qp(nic_a()->pd, &init);
		to[i].qp = ibv_create_qp(nic_a()->pd, &init);
		REQUIRE(from[i].qp && to[i].qp);
		pair_connect(&from[i], &to[i]);
	}
	from_sge = sge_of(&src, 0, 100);
	to_sge = sge_of(&dst, 0, 100);
	for (n = 0; n < EACH; n++) {
		for (i = 0; i < QPS; i++) {
			post_recv(&to[i], n, &to_sge, 1);
			wr = wr_send(n, &from_sge, 1);
			post(&from[i], &wr);
		}
	}
	for (n = 0; n < 2 * QPS * EACH; n++) {
		wc = wait_wc(cq);
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		for (i = 0; i < QPS; i++) {
			if (wc.qp_num == from[i].qp->qp_num) {
				REQUIRE_EQ(wc.opcode, IBV_WC_SEND);
				REQUIRE_EQ(wc.wr_id, sent[i]++);
				break;
			}
			if (wc.qp_num == to[i].qp->qp_num) {
				REQUIRE_EQ(wc.opcode, IBV_WC_RECV);
				REQUIRE_EQ(wc.wr_id, received[i]++);
				break;
			}
		}
		REQUIRE(i < QPS);
	}
	require_no_wc(cq);
}

/* Only a receive with immediate data has it: no send, and no plain receive. */
static void only_receives_carry_immediate_data(void)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	set_up(&config_default, 4 * KIB);
	post_recv(&b, 1, NULL, 0);
	wr = wr_send(1, NULL, 0);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = 0x12345678;
	post(&a, &wr);
	wc = wait_ok(b.rcq, 1, IBV_WC_RECV);
	REQUIRE_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	wc = wait_ok(a.scq, 1, IBV_WC_SEND);
	REQUIRE_EQ(wc.wc_flags, 0);

	post_recv(&b, 2, NULL, 0);
	wr.opcode = IBV_WR_SEND;
	wr.wr_id = 2;
	post(&a, &wr);
	wc = wait_ok(b.rcq, 2, IBV_WC_RECV);
	REQUIRE_EQ(wc.wc_flags, 0);
}

/* Both ends send and receive at the same time, as much as the window allows. */
static void both_ways_at_once(void)
{
	enum { NUM = 400, SLOT = 20000, DEPTH = 16 };
	struct end *from[2] = { &a, &b }, *to[2] = { &b, &a };
	struct buf *src[2] = { &src_a, &src_b }, *dst[2] = { &dst_b, &dst_a };
	int posted[2] = {}, sent[2] = {}, received[2] = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	uint64_t until;
	int side, slot;

	set_up(&config_default, SLOT * DEPTH);
	until = millis() + 50000 * slow_factor();
	while (received[0] < NUM || received[1] < NUM || sent[0] < NUM ||
	       sent[1] < NUM) {
		if (millis() > until)
			FAIL("stuck: sent %d %d, received %d %d", sent[0],
			     sent[1], received[0], received[1]);
		for (side = 0; side < 2; side++) {
			while (posted[side] < NUM &&
			       posted[side] - sent[side] < DEPTH &&
			       posted[side] - received[side] < DEPTH) {
				int n = posted[side]++;

				slot = n % DEPTH * SLOT;
				sge = sge_of(dst[side], slot, SLOT);
				post_recv(to[side], n, &sge, 1);
				fill(src[side]->p + slot, SLOT, n * 2 + side);
				sge = sge_of(src[side], slot, n * 97 % SLOT);
				wr = wr_send(n, &sge, 1);
				post(from[side], &wr);
			}
			while (ibv_poll_cq(to[side]->rcq, 1, &wc)) {
				int n = received[side]++;

				REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
				REQUIRE_EQ(wc.wr_id, n);
				REQUIRE_EQ(wc.byte_len, n * 97 % SLOT);
				check_fill(dst[side]->p + n % DEPTH * SLOT,
					   n * 97 % SLOT / 8 * 8, n * 2 + side);
			}
			while (ibv_poll_cq(from[side]->scq, 1, &wc)) {
				REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
				REQUIRE_EQ(wc.wr_id, sent[side]++);
			}
		}
	}
	check_all_guards();
}

/*
 * A peer that sees the last request and ends has executed it. The requester
 * must not resend it until the retries are used up, signalled or not. The first
 * request lets the second come without a pause. A peer in software may be
 * stopped between its write and its ACK. That is tolerated if it is rare.
 */
static void last_words_of_a_peer(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	uint64_t limit;
	int round, i, unheard = 0;

	config.timeout = 10;	/* 4 ms */
	config.retry_cnt = 1;
	for (round = 0; round < 10; round++) {
		set_up(&config, 4096);
		memset(dst_b.p, 0, 8);
		for (i = 1; i <= 2; i++) {
			src_a.p[i] = i;
			sge = sge_of(&src_a, i, 1);
			wr = wr_rdma(i, IBV_WR_RDMA_WRITE, &sge, 1,
				     (uintptr_t)dst_b.p, dst_b.mr->rkey);
			wr.send_flags = 0;
			REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
		}
		limit = millis() + 5000 * slow_factor();
		while (__atomic_load_n(dst_b.p, __ATOMIC_ACQUIRE) != 2)
			if (millis() > limit)
				FAIL("the second request has not arrived");
		usleep(100);
		REQUIRE_EQ(end_to(&b, IBV_QPS_ERR), 0);
		usleep(50000 * slow_factor());
		unheard += end_state(&a) != IBV_QPS_RTS;
	}
	if (unheard > 5)
		FAIL("%d of %d peers were not heard", unheard, round);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(send_of_all_sizes_at_mtu_256),
	TEST(send_of_all_sizes_at_full_mtu),
	TEST(send_imm_of_all_sizes_at_mtu_256),
	TEST(send_imm_of_all_sizes_at_full_mtu),
	TEST(write_of_all_sizes_at_mtu_256),
	TEST(write_of_all_sizes_at_full_mtu),
	TEST(write_imm_of_all_sizes_at_mtu_256),
	TEST(write_imm_of_all_sizes_at_full_mtu),
	TEST(read_of_all_sizes_at_mtu_256),
	TEST(read_of_all_sizes_at_full_mtu),
	TEST(atomics_both_ways),
	TEST(chain_of_atomics),
	TEST(inline_data_is_copied_by_the_post),
	TEST(inline_of_several_segments),
	TEST(gather_and_scatter),
	TEST(unsignalled_sends_complete_silently),
	TEST(sig_all_signals_all),
	TEST(chain_of_mixed_requests),
	TEST(small_rings_wrap),
	TEST(full_send_queue_refuses),
	TEST(full_receive_queue_refuses),
	TEST(fence_waits_for_reads),
	TEST(writes_precede_the_send),
	TEST(zero_length_rdma_ignores_the_rkey),
	TEST(more_reads_than_outstanding),
	TEST(region_with_an_own_base_address),
	TEST(qp_connected_to_itself),
	TEST(many_qps_share_a_cq),
	TEST(only_receives_carry_immediate_data),
	TEST(both_ways_at_once),
	TEST(last_words_of_a_peer),
	{}
};

/* Tests without READ, atomics, and a wait for the peer. */
static const struct test uc_tests[] = {
	TEST(send_of_all_sizes_at_mtu_256),
	TEST(send_of_all_sizes_at_full_mtu),
	TEST(send_imm_of_all_sizes_at_mtu_256),
	TEST(send_imm_of_all_sizes_at_full_mtu),
	TEST(write_of_all_sizes_at_mtu_256),
	TEST(write_of_all_sizes_at_full_mtu),
	TEST(write_imm_of_all_sizes_at_mtu_256),
	TEST(write_imm_of_all_sizes_at_full_mtu),
	TEST(inline_data_is_copied_by_the_post),
	TEST(inline_of_several_segments),
	TEST(unsignalled_sends_complete_silently),
	TEST(sig_all_signals_all),
	TEST(small_rings_wrap),
	TEST(full_receive_queue_refuses),
	TEST(writes_precede_the_send),
	TEST(many_qps_share_a_cq),
	TEST(only_receives_carry_immediate_data),
	{}
};

int main(int argc, char **argv)
{
	return util_main_rc_uc(tests, uc_tests, argc, argv);
}
