// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups: each attached QP gets each message once, whoever sends it;
 * other QPs get none. Also tests what the verbs refuse. With the argument
 * "member", it attaches a QP to the group of tests/guest, prints that, and
 * waits for the end of its input.
 */
#include "util.h"

#include <arpa/inet.h>
#include <unistd.h>

#define GRH		40
#define SLOT		4096
#define QKEY		0x11111111
#define MULTICAST_QPN	0xffffff
#define HOPS		3

struct side {
	struct nic *nic;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	struct buf mem;
};

static struct side side_make(struct nic *nic)
{
	struct side side = { .nic = nic };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.port_num = 1, .qkey = QKEY,
	};

	side.scq = ibv_create_cq(nic->ctx, 64, NULL, NULL, 0);
	side.rcq = ibv_create_cq(nic->ctx, 64, NULL, NULL, 0);
	REQUIRE(side.scq && side.rcq);
	init.send_cq = side.scq;
	init.recv_cq = side.rcq;
	side.qp = ibv_create_qp(nic->pd, &init);
	REQUIRE(side.qp);
	qp_to_rts(side.qp, &attr);
	side.mem = buf_make(nic->pd, 4 * SLOT, IBV_ACCESS_LOCAL_WRITE);
	return side;
}

static void recv_into(struct side *side, uint64_t wr_id, size_t off)
{
	struct ibv_sge sge = sge_of(&side->mem, off, SLOT);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	REQUIRE_EQ(ibv_post_recv(side->qp, &wr, &bad), 0);
}

static bool is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* A group of the address family of our GID. */
static union ibv_gid group(uint16_t nr)
{
	union ibv_gid gid;
	char text[40];

	if (is_v4(&nic_a()->gid))
		snprintf(text, sizeof(text), "::ffff:239.77.%d.%d", nr >> 8,
			 nr & 255);
	else
		snprintf(text, sizeof(text), "ff15::77:%x", nr);
	REQUIRE_EQ(inet_pton(AF_INET6, text, &gid), 1);
	return gid;
}

static void attach(struct side *side, union ibv_gid mgid)
{
	REQUIRE_EQ(ibv_attach_mcast(side->qp, &mgid, 0), 0);
}

static void detach(struct side *side, union ibv_gid mgid)
{
	REQUIRE_EQ(ibv_detach_mcast(side->qp, &mgid, 0), 0);
}

static void send_to(struct side *from, union ibv_gid mgid, uint64_t wr_id,
		    uint32_t len, uint32_t qkey)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = mgid, .sgid_index = from->nic->gid_index,
			 .hop_limit = HOPS },
	};
	struct ibv_sge sge = sge_of(&from->mem, 0, len);
	struct ibv_send_wr wr = wr_send(wr_id, &sge, 1), *bad;
	struct ibv_ah *ah = ibv_create_ah(from->nic->pd, &attr);

	if (!ah)
		FAIL("ibv_create_ah: %s", strerror(errno));
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(wr_id);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = MULTICAST_QPN;
	wr.wr.ud.remote_qkey = qkey;
	REQUIRE_EQ(ibv_post_send(from->qp, &wr, &bad), 0);
	wait_ok(from->scq, wr_id, IBV_WC_SEND);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
}

/* Checks source and destination in the IP header. */
static void check_grh(const uint8_t *grh, const struct side *from,
		      union ibv_gid mgid)
{
	if (is_v4(&mgid)) {
		REQUIRE(!memcmp(grh + 32, from->nic->gid.raw + 12, 4));
		REQUIRE(!memcmp(grh + 36, mgid.raw + 12, 4));
		REQUIRE_EQ(grh[28], HOPS);
	} else {
		REQUIRE(!memcmp(grh + 8, from->nic->gid.raw, 16));
		REQUIRE(!memcmp(grh + 24, mgid.raw, 16));
		REQUIRE_EQ(grh[7], HOPS);
	}
}

static void check_received(struct side *side, uint64_t wr_id, size_t off,
			   const struct side *from, union ibv_gid mgid,
			   uint32_t imm, uint32_t len, uint64_t seed)
{
	struct ibv_wc wc = wait_ok(side->rcq, wr_id, IBV_WC_RECV);

	REQUIRE_EQ(wc.byte_len, GRH + len);
	REQUIRE_EQ(wc.src_qp, from->qp->qp_num);
	REQUIRE_EQ(wc.qp_num, side->qp->qp_num);
	REQUIRE_EQ(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	REQUIRE_EQ(ntohl(wc.imm_data), imm);
	check_grh(side->mem.p + off, from, mgid);
	check_fill(side->mem.p + off + GRH, len, seed);
	buf_check_guards(&side->mem);
}

/* ---- delivery ----------------------------------------------------------------- */

static void members_get_each_message_once(void)
{
	enum { MEMBERS = 7, ROUNDS = 3 };
	struct side from = side_make(nic_a()), to[MEMBERS], other;
	union ibv_gid mgid = group(1);
	int i, round;

	other = side_make(nic_b());
	recv_into(&other, 0, 0);
	for (i = 0; i < MEMBERS; i++) {
		to[i] = side_make(nic_b());
		attach(&to[i], mgid);
	}
	for (round = 0; round < ROUNDS; round++) {
		fill(from.mem.p, 1000, round);
		for (i = 0; i < MEMBERS; i++)
			recv_into(&to[i], 100 + round, 0);
		send_to(&from, mgid, round, 1000 - round, QKEY);
		for (i = 0; i < MEMBERS; i++)
			check_received(&to[i], 100 + round, 0, &from, mgid,
				       round, 1000 - round, round);
	}
	for (i = 0; i < MEMBERS; i++)
		require_no_wc(to[i].rcq);
	require_quiet(other.rcq);
}

/* IBTA 10.5.2.2 makes no exception for the sending QP. */
static void sender_gets_its_own(void)
{
	struct side a = side_make(nic_a()), same = side_make(nic_a());
	union ibv_gid mgid = group(2);

	attach(&a, mgid);
	attach(&same, mgid);
	fill(a.mem.p, 500, 5);
	recv_into(&a, 1, SLOT);
	recv_into(&same, 2, SLOT);
	send_to(&a, mgid, 7, 500, QKEY);
	check_received(&a, 1, SLOT, &a, mgid, 7, 500, 5);
	check_received(&same, 2, SLOT, &a, mgid, 7, 500, 5);
	require_quiet(a.rcq);
}

/* Members that join after the first message get later ones. */
static void later_member_is_a_member(void)
{
	struct side a = side_make(nic_a()), late = side_make(nic_a());
	union ibv_gid mgid = group(3);

	fill(a.mem.p, 100, 1);
	recv_into(&late, 1, 0);
	send_to(&a, mgid, 1, 100, QKEY);
	require_quiet(late.rcq);
	attach(&late, mgid);
	send_to(&a, mgid, 2, 100, QKEY);
	check_received(&late, 1, 0, &a, mgid, 2, 100, 1);
	detach(&late, mgid);
	recv_into(&late, 2, 0);
	send_to(&a, mgid, 3, 100, QKEY);
	require_quiet(late.rcq);
	attach(&late, mgid);
	send_to(&a, mgid, 4, 100, QKEY);
	check_received(&late, 2, 0, &a, mgid, 4, 100, 1);
}

static void groups_are_distinct(void)
{
	enum { GROUPS = 5 };
	struct side a = side_make(nic_a()), b = side_make(nic_b());
	int i;

	for (i = 0; i < GROUPS; i++)
		if (i != 2)
			attach(&b, group(10 + i));
	for (i = 0; i < GROUPS; i++)
		recv_into(&b, i, 0);
	for (i = 0; i < GROUPS; i++)
		send_to(&a, group(10 + i), i, 10 + i, QKEY);
	for (i = 0; i < GROUPS; i++) {
		struct ibv_wc wc;

		if (i == 2)
			continue;
		wc = wait_ok(b.rcq, i < 2 ? i : i - 1, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, GRH + 10 + i);
	}
	require_quiet(b.rcq);
}

/* Each member accepts or drops a message by itself. */
static void one_member_is_no_others_business(void)
{
	struct side a = side_make(nic_a()), in_error = side_make(nic_b()),
		    without = side_make(nic_b()), small = side_make(nic_b()),
		    good = side_make(nic_b());
	struct ibv_sge sge = sge_of(&small.mem, 0, GRH + 9);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	union ibv_gid mgid = group(20);
	struct ibv_recv_wr *bad;

	attach(&in_error, mgid);
	attach(&without, mgid);
	attach(&small, mgid);
	attach(&good, mgid);
	REQUIRE_EQ(ibv_modify_qp(in_error.qp, &attr, IBV_QP_STATE), 0);
	REQUIRE_EQ(ibv_post_recv(small.qp, &wr, &bad), 0);
	recv_into(&good, 2, 0);
	fill(a.mem.p, 10, 1);
	send_to(&a, mgid, 1, 10, QKEY + 1);	/* no QP has this Q_Key */
	send_to(&a, mgid, 2, 10, QKEY);
	check_received(&good, 2, 0, &a, mgid, 2, 10, 1);
	require_no_wc(without.rcq);
	require_no_wc(in_error.rcq);
	/*
	 * the short receive completes with an error, and the next one gets the
	 * next message
	 */
	wait_status(small.rcq, 1, IBV_WC_LOC_LEN_ERR);
	wr.wr_id = 3;
	REQUIRE_EQ(ibv_post_recv(small.qp, &wr, &bad), 0);
	send_to(&a, mgid, 3, 9, QKEY);
	wait_ok(small.rcq, 3, IBV_WC_RECV);
}

/* ---- refusals ------------------------------------------------------------------ */

static void only_groups_and_only_ud(void)
{
	struct side a = side_make(nic_a());
	struct end rc = end_make(nic_a(), &config_default);
	union ibv_gid mgid = group(30), unicast = nic_a()->gid, zero = {};

	REQUIRE_EQ(ibv_attach_mcast(a.qp, &unicast, 0), EINVAL);
	REQUIRE_EQ(ibv_attach_mcast(a.qp, &zero, 0), EINVAL);
	REQUIRE_EQ(ibv_attach_mcast(rc.qp, &mgid, 0), EINVAL);
	REQUIRE_EQ(ibv_detach_mcast(a.qp, &mgid, 0), EINVAL);
	attach(&a, mgid);
	REQUIRE_EQ(ibv_destroy_qp(a.qp), EBUSY);
	/* attaching again has no effect */
	attach(&a, mgid);
	detach(&a, mgid);
	REQUIRE_EQ(ibv_detach_mcast(a.qp, &mgid, 0), EINVAL);
	REQUIRE_EQ(ibv_destroy_qp(a.qp), 0);
}

static void connection_to_a_group_is_refused(void)
{
	struct end a = end_make(nic_a(), &config_default);
	struct address peer = end_address(&a);

	peer.gid = group(31);
	REQUIRE_EQ(end_to_init(&a), 0);
	REQUIRE_EQ(end_to_rtr(&a, &peer), EINVAL);
	REQUIRE_EQ(end_state(&a), IBV_QPS_INIT);
}

/* The maximum number of QPs per group is served, and one more is refused. */
static void group_has_a_limit(void)
{
	int max = nic_b()->attr.max_mcast_qp_attach, i;
	union ibv_gid mgid = group(40);
	struct side a, *to;

	REQUIRE(max > 0 && max < 1000);
	a = side_make(nic_a());
	to = calloc(max + 1, sizeof(*to));
	REQUIRE(to);
	for (i = 0; i <= max; i++)
		to[i] = side_make(nic_b());
	for (i = 0; i < max; i++) {
		attach(&to[i], mgid);
		recv_into(&to[i], i, 0);
	}
	REQUIRE_EQ(ibv_attach_mcast(to[max].qp, &mgid, 0), ENOMEM);
	fill(a.mem.p, 700, 3);
	send_to(&a, mgid, 1, 700, QKEY);
	for (i = 0; i < max; i++)
		check_received(&to[i], i, 0, &a, mgid, 1, 700, 3);
	detach(&to[0], mgid);
	attach(&to[max], mgid);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(members_get_each_message_once),
	TEST(sender_gets_its_own),
	TEST(later_member_is_a_member),
	TEST(groups_are_distinct),
	TEST(one_member_is_no_others_business),
	TEST(only_groups_and_only_ud),
	TEST(connection_to_a_group_is_refused),
	TEST(group_has_a_limit),
	{}
};

/* ---- for tests/guest ----------------------------------------------------------- */

static void member(void)
{
	struct side side = side_make(nic_a());
	char c;

	alarm(0);
	attach(&side, group(0x0102));
	printf("attached\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static const struct test member_tests[] = { TEST(member), {} };

int main(int argc, char **argv)
{
	if (!strcmp(argv[argc - 1], "member"))
		return util_main(member_tests, argc, argv);
	return util_main(tests, argc, argv);
}
