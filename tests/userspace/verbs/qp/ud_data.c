// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Datagrams: the header delivered with each of them. */
#include "util.h"

#include <arpa/inet.h>

enum { BATCH = 24, SIZE = 100, LAST = 42, SLOT = 256 };
enum { GRH = 40, QKEY = 0x11111111 };

/* BTH, DETH and ICRC; the UDP header before them. */
enum { OVERHEAD = 12 + 8 + 4, UDP = 8 };

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static struct buf out, in;

static void set_up(void)
{
	struct ibv_qp_attr attr = { .port_num = 1,
				    .qkey = QKEY };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = BATCH, .max_recv_wr = BATCH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_ah_attr path = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};

	cq = ibv_create_cq(nic_a()->ctx, 2 * BATCH, NULL, NULL, 0);
	REQUIRE(cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(nic_a()->pd, &init);
	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	ah = ibv_create_ah(nic_a()->pd, &path);
	REQUIRE(ah);
	out = buf_make(nic_a()->pd, BATCH * SLOT, ACCESS_ALL);
	in = buf_make(nic_a()->pd, BATCH * SLOT, ACCESS_ALL);
}

static int size_of(int i)
{
	return i == BATCH - 1 ? LAST : SIZE;
}

/* All in one call, so that they can travel as one batch. */
static void send_batch(void)
{
	struct ibv_send_wr wr[BATCH], *bad_send;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_sge sge[BATCH], to;
	int i;

	for (i = 0; i < BATCH; i++) {
		to = sge_of(&in, i * SLOT, SLOT);
		recv = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &to,
					     .num_sge = 1 };
		REQUIRE_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
		fill(out.p + i * SLOT, size_of(i), i);
		sge[i] = sge_of(&out, i * SLOT, size_of(i));
		wr[i] = wr_send(100 + i, &sge[i], 1);
		wr[i].send_flags = 0;
		wr[i].next = i < BATCH - 1 ? &wr[i + 1] : NULL;
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = qp->qp_num;
		wr[i].wr.ud.remote_qkey = QKEY;
	}
	wr[BATCH - 1].send_flags = IBV_SEND_SIGNALED;
	REQUIRE_EQ(ibv_post_send(qp, wr, &bad_send), 0);
}

static uint16_t be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

/* RFC 791: the sum of a valid header with its checksum is all ones. */
static bool sum_is_good(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* The lower header before the data is that of this packet (A17.4.5.2). */
static void check_header(const uint8_t *grh, int len, int *in_batches)
{
	int udp_len = UDP + OVERHEAD + (len + 3) / 4 * 4;
	const uint8_t *ip = grh + 20;

	if (grh[0] >> 4 == 6) {
		REQUIRE_EQ(be16(grh + 4), udp_len);
		REQUIRE_EQ(grh[6], 17);
		REQUIRE(!memcmp(grh + 8, &nic_a()->gid, 16));
		REQUIRE(!memcmp(grh + 24, &nic_a()->gid, 16));
		return;
	}
	check_bytes(grh, 20, 0);
	REQUIRE_EQ(ip[0], 0x45);
	REQUIRE_EQ(be16(ip + 2), 20 + udp_len);
	REQUIRE(sum_is_good(ip));
	REQUIRE_EQ(ip[9], 17);
	REQUIRE(!memcmp(ip + 12, nic_a()->gid.raw + 12, 4));
	REQUIRE(!memcmp(ip + 16, nic_a()->gid.raw + 12, 4));
	*in_batches += be16(ip + 4) != 0;
}

static void each_of_a_batch_shows_its_header(void)
{
	int received = 0, in_batches = 0;
	const uint8_t *at;
	struct ibv_wc wc;

	set_up();
	send_batch();
	while (received < BATCH) {
		wc = wait_wc(cq);
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_SEND)
			continue;
		REQUIRE_EQ(wc.wr_id, received);
		REQUIRE_EQ(wc.byte_len, GRH + size_of(received));
		REQUIRE(wc.wc_flags & IBV_WC_GRH);
		at = in.p + received * SLOT;
		check_fill(at + GRH, size_of(received), received);
		check_header(at, size_of(received), &in_batches);
		received++;
	}
	printf("# %d of %d were behind the first of a batch\n", in_batches,
	       BATCH);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(each_of_a_batch_shows_its_header),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
