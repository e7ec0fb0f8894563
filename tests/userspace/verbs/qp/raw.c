// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RAW_PACKET QPs and flow steering. A frame goes unchanged to the QPs whose
 * rules it matches, by priority. Also: frames without a rule, and what is
 * refused. Host stacks do not know these made-up frames. With the last argument
 * "take" or "sniff" it does that until the end of its input, for tests/guest.
 */
#include "util.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

enum { DEPTH = 64, SLOT = 2048, FRAME = 120, L3 = 14 };

struct side {
	struct nic *nic;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	struct buf mem;
	uint64_t posted;
	uint64_t done;
};

static const uint8_t mac_to[6] = { 0x02, 0x5c, 0xa0, 0, 0, 1 };
static const uint8_t mac_from[6] = { 0x02, 0x5c, 0xa0, 0, 0, 2 };
static const uint8_t mac_group[6] = { 0x03, 0x5c, 0xa0, 0, 0, 3 };

/* ---- queue pairs ----------------------------------------------------------------- */

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

static struct side side_make(struct nic *nic)
{
	struct side side = { .nic = nic };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 2,
			 .max_inline_data = 128 },
	};

	side.scq = ibv_create_cq(nic->ctx, DEPTH, NULL, NULL, 0);
	side.rcq = ibv_create_cq(nic->ctx, DEPTH, NULL, NULL, 0);
	REQUIRE(side.scq && side.rcq);
	init.send_cq = side.scq;
	init.recv_cq = side.rcq;
	side.qp = ibv_create_qp(nic->pd, &init);
	if (!side.qp && errno == EOPNOTSUPP)
		test_skip("the device has no RAW_PACKET");
	REQUIRE(side.qp);
	to_state(side.qp, IBV_QPS_INIT, IBV_QP_PORT);
	to_state(side.qp, IBV_QPS_RTR, 0);
	to_state(side.qp, IBV_QPS_RTS, 0);
	side.mem = buf_make(nic->pd, DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE);
	return side;
}

/* Posts a receive at the slot of its number. */
static void receive(struct side *side, uint32_t len)
{
	struct ibv_sge sge = sge_of(&side->mem, side->posted % DEPTH * SLOT, len);
	struct ibv_recv_wr wr = { .wr_id = side->posted++, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	REQUIRE_EQ(ibv_post_recv(side->qp, &wr, &bad), 0);
}

static struct side receiver(struct nic *nic)
{
	struct side side = side_make(nic);
	int i;

	for (i = 0; i < DEPTH / 2; i++)
		receive(&side, SLOT);
	return side;
}

/* ---- frames ---------------------------------------------------------------------- */

/* UDP over IPv4 with the options that rules match. */
static const uint8_t frame4[] = {
	0x45, 0x28, 0, FRAME - L3, 0, 1, 0x40, 0, 33, IPPROTO_UDP, 0, 0,
	192, 0, 2, 1, 198, 51, 100, 7,
	0x11, 0x22, 0x33, 0x44, 0, FRAME - L3 - 20, 0, 0,
};
static const uint8_t frame6[] = {
	0x62, 0x81, 0x23, 0x45, 0, FRAME - L3 - 40, IPPROTO_TCP, 44,
	0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	0x55, 0x66, 0x77, 0x88,
};

static void frame_make(uint8_t *p, uint16_t type, const void *l3, size_t len)
{
	fill(p, FRAME, type);
	memcpy(p, mac_to, 6);
	memcpy(p + 6, mac_from, 6);
	p[12] = type >> 8;
	p[13] = type;
	memcpy(p + L3, l3, len);
}

static void make4(uint8_t *p)
{
	frame_make(p, 0x0800, frame4, sizeof(frame4));
}

static void make6(uint8_t *p)
{
	frame_make(p, 0x86dd, frame6, sizeof(frame6));
}

static void send_frame(struct side *side, const uint8_t *frame, uint32_t len)
{
	struct ibv_sge sge = sge_of(&side->mem, 0, len);
	struct ibv_send_wr wr = wr_send(7, &sge, 1), *bad;

	memcpy(side->mem.p, frame, len);
	REQUIRE_EQ(ibv_post_send(side->qp, &wr, &bad), 0);
	wait_ok(side->scq, 7, IBV_WC_SEND);
}

static void check_frame(struct side *side, const uint8_t *frame, uint32_t len)
{
	struct ibv_wc wc = wait_ok(side->rcq, side->done, IBV_WC_RECV);
	const uint8_t *at = side->mem.p + side->done++ % DEPTH * SLOT;

	REQUIRE_EQ(wc.byte_len, len);
	REQUIRE_EQ(wc.qp_num, side->qp->qp_num);
	if (memcmp(at, frame, len))
		FAIL("frame %d differs from what was sent", (int)side->done);
	buf_check_guards(&side->mem);
}

/* Waits for a frame of the test: a sniffer gets those of the host, too. */
static const uint8_t *next_frame(struct side *side)
{
	for (;;) {
		struct ibv_wc wc = wait_wc(side->rcq);
		const uint8_t *at = side->mem.p + wc.wr_id % DEPTH * SLOT;

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.byte_len == FRAME && !memcmp(at + 6, mac_from, 6))
			return at;
	}
}

/* ---- rules ------------------------------------------------------------------------ */

struct rule {
	struct ibv_flow_attr attr;
	union {
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_ipv4_ext ipv4;
		struct ibv_flow_spec_ipv6 ipv6;
		struct ibv_flow_spec_tcp_udp l4;
		struct ibv_flow_spec_tunnel tunnel;
	} spec;
};

static struct rule rule_make(uint16_t priority, enum ibv_flow_spec_type type,
			     size_t size)
{
	struct rule rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .port = 1,
			  .priority = priority, .num_of_specs = 1,
			  .size = sizeof(rule.attr) + size },
	};

	rule.spec.eth.type = type;
	rule.spec.eth.size = size;
	return rule;
}

static struct rule rule_to_mac(uint16_t priority, const uint8_t *mac)
{
	struct rule rule = rule_make(priority, IBV_FLOW_SPEC_ETH,
				     sizeof(rule.spec.eth));

	memcpy(rule.spec.eth.val.dst_mac, mac, 6);
	memset(rule.spec.eth.mask.dst_mac, 0xff, 6);
	return rule;
}

static struct rule rule_of_type(enum ibv_flow_attr_type type)
{
	return (struct rule){
		.attr = { .type = type, .port = 1, .size = sizeof(struct ibv_flow_attr) },
	};
}

static struct ibv_flow *add(struct side *side, struct rule rule)
{
	struct ibv_flow *flow;

	flow = ibv_create_flow(side->qp, &rule.attr);
	if (!flow)
		FAIL("ibv_create_flow: %s", strerror(errno));
	return flow;
}

/* ---- frames and rules --------------------------------------------------------------- */

static void frame_arrives_as_it_was_sent(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b()),
		    other = receiver(nic_b());
	struct ibv_sge sge[2];
	struct ibv_send_wr wr, *bad;
	uint8_t frame[FRAME];
	struct ibv_flow *flow;
	uint32_t len;

	flow = add(&b, rule_to_mac(0, mac_to));
	make4(frame);
	for (len = 60; len <= FRAME; len += 15) {
		send_frame(&a, frame, len);
		check_frame(&b, frame, len);
	}
	/* in two segments, then inline */
	memcpy(a.mem.p, frame, 10);
	memcpy(a.mem.p + SLOT, frame + 10, FRAME - 10);
	sge[0] = sge_of(&a.mem, 0, 10);
	sge[1] = sge_of(&a.mem, SLOT, FRAME - 10);
	wr = wr_send(1, sge, 2);
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	check_frame(&b, frame, FRAME);
	wr.send_flags |= IBV_SEND_INLINE;
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	check_frame(&b, frame, FRAME);
	require_no_wc(other.rcq);
	REQUIRE_EQ(ibv_destroy_qp(b.qp), EBUSY);
	REQUIRE_EQ(ibv_destroy_flow(flow), 0);
	send_frame(&a, frame, FRAME);
	require_quiet(b.rcq);
	REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
}

/* A field of a specification: a rule, and a byte that makes a frame differ. */
struct field {
	const char *name;
	enum ibv_flow_spec_type type;
	bool v6;
	size_t size;		/* size of the field */
	size_t in_spec;		/* offset in val */
	size_t in_frame;
};

#define FIELD(n, t, v6, member, field, at)				\
	{ n, t, v6, sizeof(((struct rule *)0)->spec.member.val.field),	\
	  offsetof(__typeof__(((struct rule *)0)->spec.member.val), field), at }

static const struct field fields[] = {
	FIELD("destination MAC", IBV_FLOW_SPEC_ETH, 0, eth, dst_mac, 0),
	FIELD("source MAC", IBV_FLOW_SPEC_ETH, 0, eth, src_mac, 6),
	FIELD("type", IBV_FLOW_SPEC_ETH, 0, eth, ether_type, 12),
	FIELD("IPv4 source", IBV_FLOW_SPEC_IPV4_EXT, 0, ipv4, src_ip, L3 + 12),
	FIELD("IPv4 destination", IBV_FLOW_SPEC_IPV4_EXT, 0, ipv4, dst_ip, L3 + 16),
	FIELD("IPv4 protocol", IBV_FLOW_SPEC_IPV4_EXT, 0, ipv4, proto, L3 + 9),
	FIELD("IPv4 TOS", IBV_FLOW_SPEC_IPV4_EXT, 0, ipv4, tos, L3 + 1),
	FIELD("IPv4 TTL", IBV_FLOW_SPEC_IPV4_EXT, 0, ipv4, ttl, L3 + 8),
	FIELD("IPv6 source", IBV_FLOW_SPEC_IPV6, 1, ipv6, src_ip, L3 + 8),
	FIELD("IPv6 destination", IBV_FLOW_SPEC_IPV6, 1, ipv6, dst_ip, L3 + 24),
	FIELD("IPv6 next header", IBV_FLOW_SPEC_IPV6, 1, ipv6, next_hdr, L3 + 6),
	FIELD("IPv6 hop limit", IBV_FLOW_SPEC_IPV6, 1, ipv6, hop_limit, L3 + 7),
	FIELD("UDP source", IBV_FLOW_SPEC_UDP, 0, l4, src_port, L3 + 20),
	FIELD("UDP destination", IBV_FLOW_SPEC_UDP, 0, l4, dst_port, L3 + 22),
	FIELD("TCP source", IBV_FLOW_SPEC_TCP, 1, l4, src_port, L3 + 40),
	FIELD("TCP destination", IBV_FLOW_SPEC_TCP, 1, l4, dst_port, L3 + 42),
};

static size_t spec_size(enum ibv_flow_spec_type type)
{
	switch (type) {
	case IBV_FLOW_SPEC_ETH:
		return sizeof(struct ibv_flow_spec_eth);
	case IBV_FLOW_SPEC_IPV4_EXT:
		return sizeof(struct ibv_flow_spec_ipv4_ext);
	case IBV_FLOW_SPEC_IPV6:
		return sizeof(struct ibv_flow_spec_ipv6);
	default:
		return sizeof(struct ibv_flow_spec_tcp_udp);
	}
}

static uint8_t *val_of(struct rule *rule, bool mask)
{
	switch (rule->spec.eth.type) {
	case IBV_FLOW_SPEC_ETH:
		return mask ? (uint8_t *)&rule->spec.eth.mask :
			      (uint8_t *)&rule->spec.eth.val;
	case IBV_FLOW_SPEC_IPV4_EXT:
		return mask ? (uint8_t *)&rule->spec.ipv4.mask :
			      (uint8_t *)&rule->spec.ipv4.val;
	case IBV_FLOW_SPEC_IPV6:
		return mask ? (uint8_t *)&rule->spec.ipv6.mask :
			      (uint8_t *)&rule->spec.ipv6.val;
	default:
		return mask ? (uint8_t *)&rule->spec.l4.mask :
			      (uint8_t *)&rule->spec.l4.val;
	}
}

static void each_field_decides(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b());
	uint8_t frame[FRAME], other[FRAME];
	const struct field *field;
	struct ibv_flow *flow;
	struct rule rule;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		field = &fields[i];
		printf("# %s\n", field->name);
		rule = rule_make(0, field->type, spec_size(field->type));
		if (field->v6)
			make6(frame);
		else
			make4(frame);
		memcpy(val_of(&rule, false) + field->in_spec,
		       frame + field->in_frame, field->size);
		memset(val_of(&rule, true) + field->in_spec, 0xff, field->size);
		flow = add(&b, rule);
		memcpy(other, frame, FRAME);
		other[field->in_frame + field->size - 1] ^= 4;
		send_frame(&a, other, FRAME);
		send_frame(&a, frame, FRAME);
		check_frame(&b, frame, FRAME);
		require_no_wc(b.rcq);
		REQUIRE_EQ(ibv_destroy_flow(flow), 0);
		receive(&b, SLOT);
	}
}

static void vlan_tag_is_seen_and_asked_for(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b());
	struct rule rule = rule_to_mac(0, mac_to);
	uint8_t frame[FRAME];

	rule.spec.eth.val.vlan_tag = htons(5);
	rule.spec.eth.mask.vlan_tag = htons(0xfff);
	add(&b, rule);
	make4(frame);
	send_frame(&a, frame, FRAME);
	memmove(frame + 16, frame + 12, FRAME - 16);
	memcpy(frame + 12, "\x81\x00\x60\x06", 4);
	send_frame(&a, frame, FRAME);	/* VLAN 6 */
	frame[15] = 5;
	send_frame(&a, frame, FRAME);
	check_frame(&b, frame, FRAME);
	require_no_wc(b.rcq);
}

static void first_priority_takes_it(void)
{
	struct side a = side_make(nic_a()), first = receiver(nic_b()),
		    same = receiver(nic_b()), later = receiver(nic_b());
	struct ibv_flow *flow, *flow_same;
	uint8_t frame[FRAME];

	make4(frame);
	add(&later, rule_to_mac(9, mac_to));
	flow = add(&first, rule_to_mac(3, mac_to));
	flow_same = add(&same, rule_to_mac(3, mac_to));
	send_frame(&a, frame, FRAME);
	check_frame(&first, frame, FRAME);
	check_frame(&same, frame, FRAME);
	require_no_wc(later.rcq);
	REQUIRE_EQ(ibv_destroy_flow(flow), 0);
	REQUIRE_EQ(ibv_destroy_flow(flow_same), 0);
	send_frame(&a, frame, FRAME);
	check_frame(&later, frame, FRAME);
	require_no_wc(first.rcq);
}

static void dont_trap_copies(void)
{
	struct side a = side_make(nic_a()), copy = receiver(nic_b()),
		    later = receiver(nic_b());
	struct rule rule = rule_to_mac(1, mac_to);
	uint8_t frame[FRAME];

	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	add(&copy, rule);
	add(&later, rule_to_mac(2, mac_to));
	make4(frame);
	send_frame(&a, frame, FRAME);
	check_frame(&copy, frame, FRAME);
	check_frame(&later, frame, FRAME);
}

/* Each of two sniffers gets all frames, including those that a rule takes. */
static void sniffer_gets_a_copy(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b()),
		    sniffer = receiver(nic_b());
	uint8_t frame[FRAME];

	add(&sniffer, rule_of_type(IBV_FLOW_ATTR_SNIFFER));
	add(&b, rule_to_mac(0, mac_to));
	make6(frame);
	send_frame(&a, frame, FRAME);
	check_frame(&b, frame, FRAME);
	REQUIRE(!memcmp(next_frame(&sniffer), frame, FRAME));
}

static void default_rule_gets_what_nobody_wants(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b()),
		    all = receiver(nic_b()), group = receiver(nic_b());
	uint8_t frame[FRAME];

	add(&all, rule_of_type(IBV_FLOW_ATTR_ALL_DEFAULT));
	add(&group, rule_of_type(IBV_FLOW_ATTR_MC_DEFAULT));
	make4(frame);
	send_frame(&a, frame, FRAME);
	check_frame(&all, frame, FRAME);
	require_no_wc(group.rcq);
	memcpy(frame, mac_group, 6);
	send_frame(&a, frame, FRAME);
	check_frame(&all, frame, FRAME);
	check_frame(&group, frame, FRAME);
	add(&b, rule_to_mac(0, mac_group));
	send_frame(&a, frame, FRAME);
	check_frame(&b, frame, FRAME);
	require_no_wc(all.rcq);
	require_no_wc(group.rcq);
}

/* A frame costs as much as the QPs that it goes to, not as the rules that match it. */
static void many_rules_give_one_copy(void)
{
	struct side a = side_make(nic_a()), b = receiver(nic_b());
	uint8_t frame[2 * FRAME];
	int i;

	make4(frame);
	for (i = 0; i < DEPTH / 2; i++)
		add(&b, rule_to_mac(0, mac_to));
	send_frame(&a, frame, FRAME);
	check_frame(&b, frame, FRAME);
	require_quiet(b.rcq);
	/* A sniffer is of another table, so its copy is one more. */
	add(&b, rule_of_type(IBV_FLOW_ATTR_SNIFFER));
	add(&b, rule_of_type(IBV_FLOW_ATTR_SNIFFER));
	send_frame(&a, frame, FRAME);
	make6(frame + FRAME);
	send_frame(&a, frame + FRAME, FRAME);
	for (i = 0; i < 4; i++)
		REQUIRE(!memcmp(next_frame(&b), frame + i / 2 * FRAME, FRAME));
}

/* 64 QPs get a frame, those whose rules are first. */
static void copies_of_a_frame_are_bounded(void)
{
	enum { MOST = 64, NR = MOST + 3 };
	struct side a = side_make(nic_a()), b[NR];
	uint8_t frame[FRAME];
	int i;

	for (i = 0; i < NR; i++) {
		b[i] = side_make(nic_b());
		receive(&b[i], SLOT);
		add(&b[i], rule_to_mac(0, mac_to));
	}
	make4(frame);
	send_frame(&a, frame, FRAME);
	for (i = 0; i < MOST; i++)
		check_frame(&b[i], frame, FRAME);
	require_quiet(b[MOST].rcq);
	for (i = MOST; i < NR; i++)
		require_no_wc(b[i].rcq);
}

/* As in the switch of an adapter. */
static void frame_to_a_rule_of_the_same_device(void)
{
	struct side a = side_make(nic_a()), own = receiver(nic_a()),
		    b = receiver(nic_b());
	uint8_t frame[FRAME];

	if (nic_a() == nic_b())
		test_skip("needs two devices");
	add(&own, rule_to_mac(0, mac_to));
	add(&b, rule_to_mac(0, mac_to));
	make4(frame);
	send_frame(&a, frame, FRAME);
	check_frame(&own, frame, FRAME);
	require_quiet(b.rcq);
	/* a group frame goes everywhere */
	memcpy(frame, mac_group, 6);
	add(&own, rule_to_mac(0, mac_group));
	add(&b, rule_to_mac(0, mac_group));
	send_frame(&a, frame, FRAME);
	check_frame(&own, frame, FRAME);
	check_frame(&b, frame, FRAME);
}

/* ---- errors ----------------------------------------------------------------------- */

static void receive_that_is_short_is_kept(void)
{
	struct side a = side_make(nic_a()), b = side_make(nic_b());
	uint8_t frame[FRAME];

	add(&b, rule_to_mac(0, mac_to));
	make4(frame);
	send_frame(&a, frame, FRAME);	/* without a receive */
	receive(&b, 100);
	send_frame(&a, frame, FRAME);
	send_frame(&a, frame, 100);
	check_frame(&b, frame, 100);
	require_no_wc(b.rcq);
}

static void lengths_that_are_no_frames(void)
{
	static const uint32_t lens[] = { 0, 13, SLOT * 8 };
	struct side a = side_make(nic_a());
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct ibv_sge sge = sge_of(&a.mem, 0, lens[i]);
		struct ibv_send_wr wr = wr_send(i, &sge, 1), *bad;

		REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
		wait_status(a.scq, i, IBV_WC_LOC_LEN_ERR);
		to_state(a.qp, IBV_QPS_RTS, 0);
	}
}

static void only_send_is_posted(void)
{
	struct side a = side_make(nic_a());
	struct ibv_sge sge = sge_of(&a.mem, 0, 100);
	struct ibv_send_wr wr = wr_send(1, &sge, 1), *bad;

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), EINVAL);
}

static void refuse(struct side *side, struct rule rule, int err)
{
	REQUIRE_ERRNO(ibv_create_flow(side->qp, &rule.attr), err);
}

/* The room for the longest specification has room for two of the shortest. */
static_assert(sizeof(((struct rule *)0)->spec) >=
	      2 * sizeof(struct ibv_flow_spec_eth), "twice");

static void rules_that_are_refused(void)
{
	struct side b = side_make(nic_b());
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = b.scq, .recv_cq = b.rcq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct side ud = { .qp = ibv_create_qp(nic_b()->pd, &init) };
	struct rule rule = rule_to_mac(0, mac_to);

	REQUIRE(ud.qp);
	refuse(&ud, rule, EOPNOTSUPP);
	rule.attr.port = 2;
	refuse(&b, rule, EINVAL);
	rule = rule_to_mac(0, mac_to);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	refuse(&b, rule, EOPNOTSUPP);
	rule = rule_to_mac(0, mac_to);
	rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
	refuse(&b, rule, EINVAL);
	rule = rule_make(0, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(rule.spec.tunnel));
	memset(&rule.spec.tunnel.mask, 0, sizeof(rule.spec.tunnel.mask));
	refuse(&b, rule, EOPNOTSUPP);
	/* the same layer twice */
	rule = rule_to_mac(0, mac_to);
	memcpy((uint8_t *)&rule.spec + sizeof(rule.spec.eth), &rule.spec.eth,
	       sizeof(rule.spec.eth));
	rule.attr.num_of_specs = 2;
	rule.attr.size += sizeof(rule.spec.eth);
	refuse(&b, rule, EINVAL);
}

static void without_privilege(void)
{
	struct side b = side_make(nic_b());
	struct rule rule = rule_to_mac(0, mac_to);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = b.scq, .recv_cq = b.rcq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	REQUIRE_EQ(setuid(65534), 0);
	refuse(&b, rule, EPERM);
	REQUIRE_ERRNO(ibv_create_qp(b.nic->pd, &init), EPERM);
}

/* ---- memory ------------------------------------------------------------------------ */

/* No page of it has been looked up. */
static void on_demand(struct side *side)
{
	REQUIRE_EQ(ibv_dereg_mr(side->mem.mr), 0);
	side->mem.mr = ibv_reg_mr(side->nic->pd, side->mem.p, side->mem.len,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	REQUIRE(side->mem.mr);
}

/* A frame waits for its memory, at both ends, as do those after it. */
static void memory_on_demand(void)
{
	enum { NR = DEPTH / 2 };
	struct side a = side_make(nic_a()), b = side_make(nic_b());
	struct ibv_device_attr_ex attr;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	int round, i;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		test_skip("the device has no memory on demand");
	add(&b, rule_to_mac(0, mac_to));
	for (round = 0; round < 3; round++) {
		on_demand(&a);
		on_demand(&b);
		for (i = 0; i < NR; i++)
			receive(&b, SLOT);
		sge = sge_of(&a.mem, 0, FRAME);
		wr = wr_send(7, &sge, 1);
		make4(a.mem.p);
		a.mem.p[FRAME - 1] = round;
		for (i = 0; i < NR; i++)
			REQUIRE_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
		for (i = 0; i < NR; i++)
			wait_ok(a.scq, 7, IBV_WC_SEND);
		for (i = 0; i < NR; i++)
			check_frame(&b, a.mem.p, FRAME);
	}
}

/* ---- rate -------------------------------------------------------------------------- */

static int time_of_frames(struct side *a, int nr)
{
	uint64_t start = millis();
	struct ibv_sge sge = sge_of(&a->mem, 0, 1000);
	struct ibv_send_wr wr = wr_send(1, &sge, 1), *bad;
	int i;

	for (i = 0; i < nr; i++)
		REQUIRE_EQ(ibv_post_send(a->qp, &wr, &bad), 0);
	for (i = 0; i < nr; i++)
		wait_ok(a->scq, 1, IBV_WC_SEND);
	return millis() - start;
}

static void rate_is_limited(void)
{
	enum { NR = 50, KBPS = 1000 };	/* 50 times 8 ms */
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = KBPS };
	struct side a = side_make(nic_a());
	struct ibv_device_attr_ex attr;
	int ms, idle;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	REQUIRE(attr.packet_pacing_caps.supported_qpts &
		1u << IBV_QPT_RAW_PACKET);
	REQUIRE(attr.packet_pacing_caps.qp_rate_limit_min <= KBPS &&
		attr.packet_pacing_caps.qp_rate_limit_max >= KBPS);
	make4(a.mem.p);
	idle = time_of_frames(&a, NR);
	REQUIRE_EQ(ibv_modify_qp_rate_limit(a.qp, &limit), 0);
	ms = time_of_frames(&a, NR);
	printf("# %d ms of 400\n", ms);
	REQUIRE(ms >= 390);
	limit.rate_limit = 0;
	REQUIRE_EQ(ibv_modify_qp_rate_limit(a.qp, &limit), 0);
	ms = time_of_frames(&a, NR);
	printf("# %d ms without, %d ms before\n", ms, idle);
	REQUIRE(ms < 390 || ms < 2 * idle);
	limit.max_burst_sz = 1000;
	REQUIRE_EQ(ibv_modify_qp_rate_limit(a.qp, &limit), EOPNOTSUPP);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(frame_arrives_as_it_was_sent),
	TEST(each_field_decides),
	TEST(vlan_tag_is_seen_and_asked_for),
	TEST(first_priority_takes_it),
	TEST(dont_trap_copies),
	TEST(sniffer_gets_a_copy),
	TEST(default_rule_gets_what_nobody_wants),
	TEST(many_rules_give_one_copy),
	TEST(copies_of_a_frame_are_bounded),
	TEST(frame_to_a_rule_of_the_same_device),
	TEST(receive_that_is_short_is_kept),
	TEST(lengths_that_are_no_frames),
	TEST(only_send_is_posted),
	TEST(rules_that_are_refused),
	TEST(without_privilege),
	TEST(memory_on_demand),
	TEST(rate_is_limited),
	{}
};

/* ---- for tests/guest ------------------------------------------------------------------ */

/* Receives until the end of the input; prints the number and the longest. */
static void count_frames(struct side *side)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	uint32_t longest = 0, nr = 0;
	struct ibv_wc wc;

	alarm(0);
	printf("ready\n");
	fflush(stdout);
	while (!poll(&in, 1, 1)) {
		while (ibv_poll_cq(side->rcq, 1, &wc) == 1) {
			if (wc.status == IBV_WC_WR_FLUSH_ERR)
				goto gone;	/* the device is gone */
			REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
			nr++;
			if (wc.byte_len > longest)
				longest = wc.byte_len;
			receive(side, SLOT);
		}
	}
gone:
	printf("frames %u longest %u\n", nr, longest);
}

static void take(void)
{
	struct side side = receiver(nic_a());
	struct rule rule = rule_make(0, IBV_FLOW_SPEC_UDP,
				     sizeof(rule.spec.l4));

	rule.spec.l4.val.dst_port = htons(7777);
	rule.spec.l4.mask.dst_port = 0xffff;
	add(&side, rule);
	count_frames(&side);
}

static void sniff(void)
{
	struct side side = receiver(nic_a());

	add(&side, rule_of_type(IBV_FLOW_ATTR_SNIFFER));
	count_frames(&side);
}

static const struct test guest_tests[] = { TEST(take), TEST(sniff), {} };

int main(int argc, char **argv)
{
	const char *last = argv[argc - 1];

	if (!strcmp(last, "take") || !strcmp(last, "sniff"))
		return util_main(guest_tests, argc, argv);
	return util_main(tests, argc, argv);
}
