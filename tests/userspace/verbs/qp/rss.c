// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work queues, indirection tables and the QPs that use them for RSS. Frames of
 * RAW_PACKET and datagrams of UD must go to the right work queue, by a hash
 * computed here in another way than the device's. Also: states, flushing,
 * events, refusals, and the death of a process with all these objects.
 */
#include "util.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../../../../uapi/softhca-abi.h"

enum {
	WQS = 4, LOG_TABLE = 3, TABLE = 1 << LOG_TABLE, DEPTH = 64, SLOT = 512,
	FRAME = 120, L3 = 14, GRH = 40, KEY = 40, QKEY = 0x1234
};

/* The key of Microsoft's examples for this hash. */
static const uint8_t key[KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
	0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
	0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};
static const uint8_t mac_to[6] = { 0x02, 0x5c, 0xa0, 0, 0, 1 };
static const uint8_t mac_from[6] = { 0x02, 0x5c, 0xa0, 0, 0, 2 };

#define IPV4	(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IPV6	(IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP	(IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP	(IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

/* ---- the hash ---------------------------------------------------------------- */

/* The input of the hash, field after field. */
struct input {
	uint8_t bytes[36];
	unsigned int len;
};

static void put(struct input *input, bool wanted, const void *field, unsigned int len)
{
	if (!wanted)
		return;
	memcpy(input->bytes + input->len, field, len);
	input->len += len;
}

static bool key_bit(unsigned int i)
{
	return key[i / 8] & (0x80 >> i % 8);
}

/* The definition: each set bit of the input adds (XOR) the next 32 bits of the key. */
static uint32_t toeplitz(const struct input *input)
{
	uint32_t hash = 0, word;
	unsigned int i, j;

	for (i = 0; i < input->len * 8; i++) {
		if (!(input->bytes[i / 8] & (0x80 >> i % 8)))
			continue;
		for (word = 0, j = 0; j < 32; j++)
			word = word << 1 | key_bit(i + j);
		hash ^= word;
	}
	return hash;
}

/* Hash of a frame; @l3 follows its Ethernet header. */
static uint32_t hash_of(const uint8_t *l3, bool v6, uint64_t fields, bool fragment)
{
	const uint8_t *l4 = l3 + (v6 ? 40 : 20);
	unsigned int proto = l3[v6 ? 6 : 9], addr_len = v6 ? 16 : 4;
	const uint8_t *addr = l3 + (v6 ? 8 : 12);
	struct input input = {};

	put(&input, fields & (v6 ? IBV_RX_HASH_SRC_IPV6 : IBV_RX_HASH_SRC_IPV4),
	    addr, addr_len);
	put(&input, fields & (v6 ? IBV_RX_HASH_DST_IPV6 : IBV_RX_HASH_DST_IPV4),
	    addr + addr_len, addr_len);
	if (!fragment) {
		put(&input, fields & (proto == IPPROTO_TCP ? IBV_RX_HASH_SRC_PORT_TCP :
							     IBV_RX_HASH_SRC_PORT_UDP),
		    l4, 2);
		put(&input, fields & (proto == IPPROTO_TCP ? IBV_RX_HASH_DST_PORT_TCP :
							     IBV_RX_HASH_DST_PORT_UDP),
		    l4 + 2, 2);
	}
	return toeplitz(&input);
}

/* Checks the test's own hash against published examples. */
static void hash_is_that_of_the_examples(void)
{
	static const uint8_t l3[24] = {
		0x45, [9] = IPPROTO_TCP, [12] = 66, 9, 149, 187, 161, 142, 100, 80,
		2794 >> 8, 2794 & 0xff, 1766 >> 8, 1766 & 0xff,
	};

	REQUIRE_EQ(hash_of(l3, false, IPV4, false), 0x323e8fc2);
	REQUIRE_EQ(hash_of(l3, false, IPV4 | TCP, false), 0x51ccc178);
}

/* ---- objects ------------------------------------------------------------------ */

/* The receiving side: work queues, each in several entries of the table. */
struct spread {
	struct nic *nic;
	struct ibv_cq *cq[WQS];
	struct ibv_wq *wq[WQS];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct buf mem[WQS];
	uint64_t posted[WQS];
	uint64_t done[WQS];
};

static struct ibv_wq *wq_make(struct nic *nic, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = DEPTH, .max_sge = 2,
		.pd = nic->pd, .cq = cq,
	};
	struct ibv_wq *wq = ibv_create_wq(nic->ctx, &init);

	if (!wq && errno == EOPNOTSUPP)
		test_skip("the device has no work queues");
	REQUIRE(wq);
	REQUIRE(init.max_wr >= DEPTH && init.max_sge >= 2);
	REQUIRE_EQ(wq->state, IBV_WQS_RESET);
	return wq;
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static struct ibv_rwq_ind_table *table_make(struct nic *nic, struct ibv_wq **wqs, int nr,
					    int log_size)
{
	struct ibv_wq *entries[1 << 14];
	struct ibv_rwq_ind_table_init_attr init = {
		.log_ind_tbl_size = log_size, .ind_tbl = entries,
	};
	int i;

	for (i = 0; i < 1 << log_size; i++)
		entries[i] = wqs[i % nr];
	return ibv_create_rwq_ind_table(nic->ctx, &init);
}

static struct ibv_qp_init_attr_ex qp_init(struct nic *nic, enum ibv_qp_type type,
					  struct ibv_rwq_ind_table *table, uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = type,
		.pd = nic->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = KEY,
			.rx_hash_key = (uint8_t *)key,
			.rx_hash_fields_mask = fields,
		},
	};
}

static struct ibv_qp *qp_make(struct nic *nic, enum ibv_qp_type type,
			      struct ibv_rwq_ind_table *table, uint64_t fields)
{
	struct ibv_qp_init_attr_ex init = qp_init(nic, type, table, fields);
	struct ibv_qp *qp = ibv_create_qp_ex(nic->ctx, &init);

	REQUIRE(qp);
	REQUIRE_EQ(init.cap.max_send_wr, 0);
	REQUIRE_EQ(init.cap.max_recv_wr, 0);
	return qp;
}

/* Posts a receive at the slot of its number. */
static int try_receive(struct spread *s, int i, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&s->mem[i], wr_id % DEPTH * SLOT, SLOT);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_wq_recv(s->wq[i], &wr, &bad);
}

static void receive(struct spread *s, int i)
{
	REQUIRE_EQ(try_receive(s, i, s->posted[i]++), 0);
}

/* Makes work queues in RDY with receives, and a table of them; no QP yet. */
static struct spread spread_make(struct nic *nic, int access)
{
	struct spread s = { .nic = nic };
	int i, n;

	for (i = 0; i < WQS; i++) {
		s.cq[i] = i & 1 ? s.cq[i - 1] :
				  ibv_create_cq(nic->ctx, 2 * DEPTH, NULL, NULL, 0);
		REQUIRE(s.cq[i]);
		s.wq[i] = wq_make(nic, s.cq[i]);
		s.mem[i] = buf_make(nic->pd, DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE | access);
		REQUIRE_EQ(wq_to(s.wq[i], IBV_WQS_RDY), 0);
		for (n = 0; n < DEPTH; n++)
			receive(&s, i);
	}
	s.table = table_make(nic, s.wq, WQS, LOG_TABLE);
	REQUIRE(s.table);
	return s;
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = QKEY };

	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

#define UD_INIT	(IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY)

/* The sending side: an ordinary QP. */
struct side {
	struct nic *nic;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct buf mem;
};

static struct side sender(struct nic *nic, enum ibv_qp_type type)
{
	struct side side = { .nic = nic };
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	bool raw = type == IBV_QPT_RAW_PACKET;

	side.cq = init.send_cq = init.recv_cq = ibv_create_cq(nic->ctx, DEPTH, NULL, NULL, 0);
	REQUIRE(side.cq);
	side.qp = ibv_create_qp(nic->pd, &init);
	REQUIRE(side.qp);
	to_state(side.qp, IBV_QPS_INIT, raw ? IBV_QP_PORT : UD_INIT);
	to_state(side.qp, IBV_QPS_RTR, 0);
	to_state(side.qp, IBV_QPS_RTS, raw ? 0 : IBV_QP_SQ_PSN);
	side.mem = buf_make(nic->pd, SLOT, IBV_ACCESS_LOCAL_WRITE);
	return side;
}

/* ---- frames ---------------------------------------------------------------------- */

/* @nr seeds the random parts of a frame. */
static void make_frame(uint8_t *p, bool v6, uint8_t proto, unsigned int nr)
{
	uint8_t *l3 = p + L3;

	memset(p, 0, FRAME);
	memcpy(p, mac_to, 6);
	memcpy(p + 6, mac_from, 6);
	memcpy(p + 12, v6 ? "\x86\xdd" : "\x08\x00", 2);
	fill(l3, FRAME - L3, nr);
	l3[0] = v6 ? 0x60 : 0x45;
	if (v6) {
		l3[6] = proto;
		return;
	}
	l3[6] = l3[7] = 0;	/* not a fragment */
	l3[9] = proto;
}

static void send_frame(struct side *side, const uint8_t *frame)
{
	struct ibv_sge sge = sge_of(&side->mem, 0, FRAME);
	struct ibv_send_wr wr = wr_send(7, &sge, 1), *bad;

	memcpy(side->mem.p, frame, FRAME);
	REQUIRE_EQ(ibv_post_send(side->qp, &wr, &bad), 0);
	wait_ok(side->cq, 7, IBV_WC_SEND);
}

static struct ibv_flow *take_frames(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .port = 1, .num_of_specs = 1,
			  .size = sizeof(rule) },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	struct ibv_flow *flow;

	memcpy(rule.eth.val.dst_mac, mac_to, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	flow = ibv_create_flow(qp, &rule.attr);
	REQUIRE(flow);
	return flow;
}

/* The frame must come to the work queue of that entry, to its next receive. */
static const uint8_t *expect(struct spread *s, uint32_t hash, uint32_t len)
{
	int i = hash % TABLE % WQS;
	struct ibv_wc wc = wait_ok(s->cq[i], s->done[i], IBV_WC_RECV);
	const uint8_t *at = s->mem[i].p + s->done[i]++ % DEPTH * SLOT;

	REQUIRE_EQ(wc.qp_num, s->wq[i]->wq_num);
	REQUIRE_EQ(wc.byte_len, len);
	receive(s, i);
	return at;
}

static void expect_frame(struct spread *s, const uint8_t *frame, uint32_t hash)
{
	if (memcmp(expect(s, hash, FRAME), frame, FRAME))
		FAIL("the frame differs from what was sent");
}

static void require_no_more(struct spread *s)
{
	int i;

	for (i = 0; i < WQS; i++) {
		require_no_wc(s->cq[i]);
		buf_check_guards(&s->mem[i]);
	}
}

static const struct {
	const char *name;
	uint64_t fields;
	uint8_t proto;
	bool v6;
} kinds[] = {
	{ "IPv4", IPV4, IPPROTO_UDP, false },
	{ "IPv4 source", IBV_RX_HASH_SRC_IPV4, IPPROTO_TCP, false },
	{ "IPv4 destination", IBV_RX_HASH_DST_IPV4, IPPROTO_TCP, false },
	{ "IPv4, UDP", IPV4 | UDP, IPPROTO_UDP, false },
	{ "IPv4, TCP", IPV4 | TCP, IPPROTO_TCP, false },
	{ "UDP source", IBV_RX_HASH_SRC_PORT_UDP, IPPROTO_UDP, false },
	{ "TCP destination", IBV_RX_HASH_DST_PORT_TCP, IPPROTO_TCP, true },
	{ "IPv6", IPV6, IPPROTO_TCP, true },
	{ "IPv6 source, UDP destination", IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_PORT_UDP,
	  IPPROTO_UDP, true },
	{ "IPv6, TCP", IPV6 | TCP, IPPROTO_TCP, true },
	/* fields that the frames do not have */
	{ "IPv4, TCP, of UDP", IPV4 | TCP, IPPROTO_UDP, false },
	{ "IPv4, of IPv6", IPV4, IPPROTO_TCP, true },
};

static void frames_go_where_their_hash_says(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct spread s = spread_make(nic_b(), 0);
	unsigned int k, nr, seen, entries;
	struct ibv_flow *flow;
	uint8_t frame[FRAME];
	uint32_t hash;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, s.table, kinds[k].fields);
		flow = take_frames(s.qp);
		for (seen = nr = 0; nr < 24; nr++) {
			make_frame(frame, kinds[k].v6, kinds[k].proto, k << 8 | nr);
			hash = hash_of(frame + L3, kinds[k].v6, kinds[k].fields, false);
			seen |= 1u << hash % TABLE;
			send_frame(&a, frame);
			expect_frame(&s, frame, hash);
		}
		entries = __builtin_popcount(seen);
		printf("# %s: %u entries\n", kinds[k].name, entries);
		REQUIRE(kinds[k].v6 && kinds[k].fields == IPV4 ? seen == 1 : entries >= 4);
		REQUIRE_EQ(ibv_destroy_flow(flow), 0);
		REQUIRE_EQ(ibv_destroy_qp(s.qp), 0);
	}
	require_no_more(&s);
}

static void fragments_have_no_ports(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct spread s = spread_make(nic_b(), 0);
	uint8_t frame[FRAME];
	unsigned int nr;

	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, s.table, IPV4 | UDP);
	take_frames(s.qp);
	for (nr = 0; nr < 16; nr++) {
		make_frame(frame, false, IPPROTO_UDP, nr);
		if (nr & 1)
			frame[L3 + 6] = 0x20;	/* the first fragment */
		else
			frame[L3 + 7] = 8;	/* a later fragment */
		send_frame(&a, frame);
		expect_frame(&s, frame, hash_of(frame + L3, false, IPV4 | UDP, true));
	}
	/* not even IP: the hash of nothing is 0 */
	frame[12] = 0x88;
	frame[13] = 0xb5;
	send_frame(&a, frame);
	expect_frame(&s, frame, 0);
	/* after a VLAN tag */
	make_frame(frame, false, IPPROTO_UDP, nr);
	memmove(frame + 16, frame + 12, FRAME - 16);
	memcpy(frame + 12, "\x81\x00\x00\x05", 4);
	send_frame(&a, frame);
	expect_frame(&s, frame, hash_of(frame + L3 + 4, false, IPV4 | UDP, false));
	require_no_more(&s);
}

/* Without hash fields, one queue gets everything; its memory is not present yet. */
static void memory_on_demand(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct ibv_device_attr_ex attr;
	struct spread s;
	uint8_t frame[FRAME];
	unsigned int nr;

	REQUIRE_EQ(ibv_query_device_ex(nic_b()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		test_skip("the device has no memory on demand");
	s = spread_make(nic_b(), IBV_ACCESS_ON_DEMAND);
	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, table_make(s.nic, s.wq, 1, 0), 0);
	take_frames(s.qp);
	for (nr = 0; nr < DEPTH; nr++) {
		make_frame(frame, false, IPPROTO_UDP, nr);
		send_frame(&a, frame);
	}
	for (nr = 0; nr < DEPTH; nr++) {
		make_frame(frame, false, IPPROTO_UDP, nr);
		expect_frame(&s, frame, 0);
	}
}

/* ---- datagrams ----------------------------------------------------------------- */

static struct ibv_ah *ah_make(struct side *a, struct nic *to, uint32_t flow_label)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = to->gid, .sgid_index = a->nic->gid_index,
			 .hop_limit = 64, .flow_label = flow_label },
	};
	struct ibv_ah *ah = ibv_create_ah(a->nic->pd, &attr);

	REQUIRE(ah);
	return ah;
}

static void send_datagram(struct side *a, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
			  uint32_t len)
{
	struct ibv_sge sge = sge_of(&a->mem, 0, len);
	struct ibv_send_wr wr = wr_send(7, &sge, 1), *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	REQUIRE_EQ(ibv_post_send(a->qp, &wr, &bad), 0);
	wait_ok(a->cq, 7, IBV_WC_SEND);
}

/* The UDP source port comes from the flow label, as specified. */
static void datagrams_go_where_their_hash_says(void)
{
	struct side a = sender(nic_a(), IBV_QPT_UD);
	struct spread s = spread_make(nic_b(), 0);
	bool v4 = IN6_IS_ADDR_V4MAPPED((struct in6_addr *)&a.nic->gid);
	uint64_t fields = (v4 ? IPV4 : IPV6) | UDP;
	unsigned int nr, seen = 0;
	const uint8_t *at;

	s.qp = qp_make(s.nic, IBV_QPT_UD, s.table, fields);
	to_state(s.qp, IBV_QPS_INIT, UD_INIT);
	send_datagram(&a, ah_make(&a, s.nic, 1), s.qp->qp_num, QKEY, 100); /* too early */
	to_state(s.qp, IBV_QPS_RTR, 0);
	for (nr = 1; nr <= 32; nr++) {
		uint32_t label = nr * 0x54321 & 0xfffff, len = 4 * nr, hash;
		uint16_t ports[2] = { htons(0xc000 | ((label ^ label >> 14) & 0x3fff)),
				      htons(4791) };
		struct input input = {};

		put(&input, true, &a.nic->gid.raw[v4 ? 12 : 0], v4 ? 4 : 16);
		put(&input, true, &s.nic->gid.raw[v4 ? 12 : 0], v4 ? 4 : 16);
		put(&input, true, ports, sizeof(ports));
		hash = toeplitz(&input);
		seen |= 1u << hash % TABLE;
		fill(a.mem.p, len, nr);
		send_datagram(&a, ah_make(&a, s.nic, label), s.qp->qp_num, QKEY, len);
		at = expect(&s, hash, GRH + len);
		check_fill(at + GRH, len, nr);
		/* the GRH, or the IPv4 header at its end */
		REQUIRE(!memcmp(at + (v4 ? 32 : 8), &a.nic->gid.raw[v4 ? 12 : 0],
				v4 ? 4 : 16));
	}
	printf("# %d entries\n", __builtin_popcount(seen));
	REQUIRE(__builtin_popcount(seen) >= 4);
	/* a wrong Q_Key; the number of a work queue; the QP in error */
	send_datagram(&a, ah_make(&a, s.nic, 1), s.qp->qp_num, QKEY + 1, 100);
	send_datagram(&a, ah_make(&a, s.nic, 1), s.wq[0]->wq_num, QKEY, 100);
	to_state(s.qp, IBV_QPS_ERR, 0);
	send_datagram(&a, ah_make(&a, s.nic, 1), s.qp->qp_num, QKEY, 100);
	require_quiet(s.cq[0]);
	require_no_more(&s);
}

/* ---- states and errors ----------------------------------------------------------- */

static void states_of_a_work_queue(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct spread s = spread_make(nic_b(), 0);
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_RDY, .curr_wq_state = IBV_WQS_ERR,
	};
	struct ibv_wq *wq = s.wq[0];
	uint8_t frame[FRAME];
	int i;

	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, table_make(s.nic, &wq, 1, 0), 0);
	take_frames(s.qp);
	make_frame(frame, false, IPPROTO_UDP, 1);
	REQUIRE_EQ(ibv_modify_wq(wq, &attr), EINVAL);	/* it is not in ERR */
	REQUIRE_EQ(try_receive(&s, 0, 1), ENOMEM);	/* full */
	send_frame(&a, frame);
	expect_frame(&s, frame, 0);
	/* error: everything is flushed in order, also later posts; frames are lost */
	REQUIRE_EQ(wq_to(wq, IBV_WQS_ERR), 0);
	for (i = 0; i < DEPTH; i++)
		REQUIRE_EQ(wait_status(s.cq[0], s.done[0]++, IBV_WC_WR_FLUSH_ERR).qp_num,
			   wq->wq_num);
	receive(&s, 0);
	wait_status(s.cq[0], s.done[0]++, IBV_WC_WR_FLUSH_ERR);
	send_frame(&a, frame);
	REQUIRE_EQ(wq_to(wq, IBV_WQS_RDY), EINVAL);
	receive(&s, 0);
	/* RESET discards completions, and drops frames */
	REQUIRE_EQ(wq_to(wq, IBV_WQS_RESET), 0);
	require_no_wc(s.cq[0]);
	REQUIRE_EQ(try_receive(&s, 0, 1), EINVAL);
	REQUIRE_EQ(wq_to(wq, IBV_WQS_ERR), EINVAL);
	send_frame(&a, frame);
	/* it works again */
	REQUIRE_EQ(wq_to(wq, IBV_WQS_RDY), 0);
	s.done[0] = s.posted[0];
	for (i = 0; i < DEPTH; i++)
		receive(&s, 0);
	require_quiet(s.cq[0]);
	send_frame(&a, frame);
	expect_frame(&s, frame, 0);
	attr.curr_wq_state = IBV_WQS_RDY;
	attr.wq_state = IBV_WQS_RESET;
	REQUIRE_EQ(ibv_modify_wq(wq, &attr), 0);
	attr.attr_mask = IBV_WQ_ATTR_FLAGS;
	attr.flags = attr.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	REQUIRE_EQ(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
}

static void receive_into_bad_memory(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct spread s = spread_make(nic_b(), 0);
	uint8_t frame[FRAME];
	int i;

	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, table_make(s.nic, s.wq, 1, 0), 0);
	take_frames(s.qp);
	make_frame(frame, false, IPPROTO_UDP, 1);
	REQUIRE_EQ(ibv_dereg_mr(s.mem[0].mr), 0);
	send_frame(&a, frame);
	wait_status(s.cq[0], 0, IBV_WC_LOC_PROT_ERR);
	for (i = 1; i < DEPTH; i++)
		wait_status(s.cq[0], i, IBV_WC_WR_FLUSH_ERR);
	/* only this one: the others of the table continue */
	REQUIRE_EQ(try_receive(&s, 1, 0), ENOMEM);
}

/* No completion can report this error, so an event does. */
static void full_cq_is_fatal(void)
{
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct spread s = { .nic = nic_b() };
	bool cq_err = false, wq_fatal = false;
	struct ibv_async_event event;
	uint8_t frame[FRAME];
	int i;

	s.cq[0] = ibv_create_cq(s.nic->ctx, 1, NULL, NULL, 0);
	REQUIRE(s.cq[0]);
	s.wq[0] = wq_make(s.nic, s.cq[0]);
	s.mem[0] = buf_make(s.nic->pd, DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE);
	REQUIRE_EQ(wq_to(s.wq[0], IBV_WQS_RDY), 0);
	for (i = 0; i < DEPTH; i++)
		receive(&s, 0);
	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, table_make(s.nic, s.wq, 1, 0), 0);
	take_frames(s.qp);
	make_frame(frame, false, IPPROTO_UDP, 1);
	for (i = 0; i < s.cq[0]->cqe + 2; i++)
		send_frame(&a, frame);
	while (!cq_err || !wq_fatal) {	/* otherwise the alarm ends it */
		REQUIRE_EQ(ibv_get_async_event(s.nic->ctx, &event), 0);
		if (event.event_type == IBV_EVENT_CQ_ERR) {
			REQUIRE(event.element.cq == s.cq[0]);
			cq_err = true;
		} else if (event.event_type == IBV_EVENT_WQ_FATAL) {
			REQUIRE(event.element.wq == s.wq[0]);
			REQUIRE(!wq_fatal);
			wq_fatal = true;
		}
		ibv_ack_async_event(&event);
	}
	REQUIRE_EQ(wq_to(s.wq[0], IBV_WQS_RDY), EINVAL);
	REQUIRE_EQ(wq_to(s.wq[0], IBV_WQS_RESET), 0);
}

static void in_use_is_not_destroyed(void)
{
	struct spread s = spread_make(nic_b(), 0);
	struct ibv_flow *flow;
	int i;

	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, s.table, IPV4);
	flow = take_frames(s.qp);
	REQUIRE_EQ(ibv_destroy_cq(s.cq[0]), EBUSY);
	REQUIRE_EQ(ibv_destroy_wq(s.wq[0]), EBUSY);
	REQUIRE_EQ(ibv_destroy_rwq_ind_table(s.table), EBUSY);
	REQUIRE_EQ(ibv_destroy_qp(s.qp), EBUSY);
	REQUIRE_EQ(ibv_destroy_flow(flow), 0);
	REQUIRE_EQ(ibv_destroy_qp(s.qp), 0);
	REQUIRE_EQ(ibv_destroy_wq(s.wq[0]), EBUSY);
	REQUIRE_EQ(ibv_destroy_rwq_ind_table(s.table), 0);
	for (i = 0; i < WQS; i++)
		REQUIRE_EQ(ibv_destroy_wq(s.wq[i]), 0);
	for (i = 0; i < WQS; i += 2)
		REQUIRE_EQ(ibv_destroy_cq(s.cq[i]), 0);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void refuse(struct ibv_qp_init_attr_ex init, int err)
{
	REQUIRE_ERRNO(ibv_create_qp_ex(init.pd->context, &init), err);
}

static void hashes_that_are_refused(void)
{
	static const struct {
		uint64_t fields;
		int err;
	} bad[] = {
		{ 0, EINVAL },		/* and a table of several entries */
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6, EINVAL },
		{ IPV4 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP, EINVAL },
		{ IPV4 | IBV_RX_HASH_IPSEC_SPI, EOPNOTSUPP },
		{ IPV4 | IBV_RX_HASH_INNER, EOPNOTSUPP },
		{ IPV4 | 1ull << 40, EOPNOTSUPP },
	};
	struct spread s = spread_make(nic_b(), 0);
	struct ibv_qp_init_attr_ex good = qp_init(s.nic, IBV_QPT_RAW_PACKET, s.table, IPV4),
				   init;
	uint8_t long_key[64] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		init = good;
		init.rx_hash_conf.rx_hash_fields_mask = bad[i].fields;
		refuse(init, bad[i].err);
	}
	init = good;
	init.rx_hash_conf.rx_hash_function = 0;
	refuse(init, EOPNOTSUPP);
	init.rx_hash_conf.rx_hash_function = 2;
	refuse(init, EOPNOTSUPP);
	init = good;
	init.rx_hash_conf.rx_hash_key_len = KEY - 1;
	refuse(init, EINVAL);
	init.rx_hash_conf.rx_hash_key_len = 0;
	refuse(init, EINVAL);
	init.rx_hash_conf.rx_hash_key = long_key;
	init.rx_hash_conf.rx_hash_key_len = sizeof(long_key);
	refuse(init, EINVAL);
	/* only one of the two */
	init = good;
	init.comp_mask &= ~IBV_QP_INIT_ATTR_RX_HASH;
	refuse(init, EINVAL);
	init = good;
	init.comp_mask &= ~IBV_QP_INIT_ATTR_IND_TABLE;
	refuse(init, EINVAL);
	/* receives of its own; sends; another type */
	init = good;
	init.cap.max_recv_wr = 1;
	refuse(init, EINVAL);
	init = good;
	init.cap.max_send_wr = 1;
	init.send_cq = s.cq[0];
	refuse(init, EOPNOTSUPP);
	init = good;
	init.qp_type = IBV_QPT_RC;
	refuse(init, EOPNOTSUPP);
	/* the valid attributes are accepted */
	REQUIRE(ibv_create_qp_ex(s.nic->ctx, &good));
}

static void queues_and_tables_that_are_refused(void)
{
	struct nic *nic = nic_b();
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = nic->pd,
		.cq = ibv_create_cq(nic->ctx, 1, NULL, NULL, 0),
	}, bad = init;
	struct ibv_device_attr_ex attr;
	struct ibv_wq *wq = wq_make(nic, init.cq);
	int max;

	bad.max_wr = nic->attr.max_qp_wr + 1;
	REQUIRE_ERRNO(ibv_create_wq(nic->ctx, &bad), EINVAL);
	bad = init;
	bad.max_sge = nic->attr.max_sge + 1;
	REQUIRE_ERRNO(ibv_create_wq(nic->ctx, &bad), EINVAL);
	bad = init;
	bad.wq_type = 5;
	REQUIRE_ERRNO(ibv_create_wq(nic->ctx, &bad), EINVAL);
	bad = init;
	bad.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	bad.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
	REQUIRE_ERRNO(ibv_create_wq(nic->ctx, &bad), EOPNOTSUPP);

	REQUIRE_EQ(ibv_query_device_ex(nic->ctx, NULL, &attr), 0);
	REQUIRE_EQ(attr.rss_caps.supported_qpts,
		   1u << IBV_QPT_RAW_PACKET | 1u << IBV_QPT_UD);
	REQUIRE_EQ(attr.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	REQUIRE_EQ(attr.rss_caps.rx_hash_fields_mask, IPV4 | IPV6 | TCP | UDP);
	max = __builtin_ctz(attr.rss_caps.max_rwq_indirection_table_size);
	REQUIRE(table_make(nic, &wq, 1, max));
	REQUIRE_ERRNO(table_make(nic, &wq, 1, max + 1), EINVAL);
	REQUIRE_ERRNO(table_make(nic, &wq, 1, 14), EINVAL);
}

static void qp_with_work_queues_has_no_others(void)
{
	struct spread s = spread_make(nic_b(), 0);
	struct ibv_sge sge = sge_of(&s.mem[0], 0, FRAME);
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = wr_send(1, &sge, 1), *bad_send;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, s.table, IPV4);
	REQUIRE_EQ(ibv_post_send(s.qp, &send, &bad_send), EINVAL);
	REQUIRE_EQ(ibv_post_recv(s.qp, &recv, &bad_recv), EINVAL);
	REQUIRE_EQ(ibv_modify_qp(s.qp, &attr, IBV_QP_STATE | IBV_QP_PORT), EOPNOTSUPP);
	s.qp = qp_make(s.nic, IBV_QPT_UD, s.table, IPV4);
	to_state(s.qp, IBV_QPS_INIT, UD_INIT);
	to_state(s.qp, IBV_QPS_RTR, 0);
	attr.qp_state = IBV_QPS_RTS;
	REQUIRE_EQ(ibv_modify_qp(s.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), EINVAL);
	REQUIRE_EQ(ibv_post_send(s.qp, &send, &bad_send), EINVAL);
	REQUIRE_EQ(ibv_post_recv(s.qp, &recv, &bad_recv), EINVAL);
}

/* ---- the end of a process ------------------------------------------------------------ */

/* With frames in flight; no table may remain of so many. */
static void killed_with_all_of_it(void)
{
	enum { ROUNDS = 5 };
	struct side a = sender(nic_a(), IBV_QPT_RAW_PACKET);
	struct ibv_device_attr_ex attr;
	uint8_t frame[FRAME];
	int round, status, ready[2];
	uint32_t nr;
	pid_t pid;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	make_frame(frame, false, IPPROTO_UDP, 1);
	for (round = 0; round < ROUNDS; round++) {
		REQUIRE_EQ(pipe(ready), 0);
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			struct spread s = spread_make(nic_open(options.peer ?:
							       options.device), 0);

			s.qp = qp_make(s.nic, IBV_QPT_RAW_PACKET, s.table, IPV4);
			take_frames(s.qp);
			for (nr = 0; nr < attr.rss_caps.max_rwq_indirection_tables /
					  (ROUNDS - 1); nr++)
				REQUIRE(table_make(s.nic, s.wq, WQS, 2));
			REQUIRE_EQ(write(ready[1], "x", 1), 1);
			pause();
			_exit(1);
		}
		close(ready[1]);
		REQUIRE_EQ(read(ready[0], frame, 1), 1);
		make_frame(frame, false, IPPROTO_UDP, round);
		for (nr = 0; nr < DEPTH; nr++)
			send_frame(&a, frame);
		REQUIRE_EQ(kill(pid, SIGKILL), 0);
		REQUIRE_EQ(waitpid(pid, &status, 0), pid);
		REQUIRE(WIFSIGNALED(status));
		close(ready[0]);
	}
}

/*
 * The RDMA core's ioctl() method accepts a missing CQ, and passes an error
 * pointer to the driver. Only the driver can check it.
 */
static void queue_without_cq(void)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[9];
	} cmd = {
		.hdr = { .length = sizeof(cmd), .object_id = UVERBS_OBJECT_WQ,
			 .method_id = UVERBS_METHOD_WQ_CREATE,
			 .num_attrs = ARRAY_SIZE(cmd.attrs),
			 .driver_id = SHCA_DRIVER_ID },
	};
	uint32_t out[2];
	const struct ib_uverbs_attr attrs[] = {
		{ UVERBS_ATTR_CREATE_WQ_HANDLE },
		{ UVERBS_ATTR_CREATE_WQ_PD_HANDLE,
		  .data = nic_a()->pd->handle },
		{ UVERBS_ATTR_CREATE_WQ_USER_HANDLE, 8 },
		{ UVERBS_ATTR_CREATE_WQ_TYPE, 8, .data = IBV_WQT_RQ },
		{ UVERBS_ATTR_CREATE_WQ_MAX_WR, 4, .data = 1 },
		{ UVERBS_ATTR_CREATE_WQ_MAX_SGE, 4, .data = 1 },
		{ UVERBS_ATTR_CREATE_WQ_FLAGS, 8 },
		{ UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, 4,
		  .data = (uintptr_t)&out[0] },
		{ UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, 4,
		  .data = (uintptr_t)&out[1] },
	};
	unsigned int i;

	memcpy(cmd.attrs, attrs, sizeof(attrs));
	for (i = 0; i < ARRAY_SIZE(cmd.attrs); i++)
		cmd.attrs[i].flags = UVERBS_ATTR_F_MANDATORY;
	errno = 0;
	REQUIRE(ioctl(nic_a()->ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) == -1);
	REQUIRE_EQ(errno, EINVAL);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(hash_is_that_of_the_examples),
	TEST(frames_go_where_their_hash_says),
	TEST(fragments_have_no_ports),
	TEST(memory_on_demand),
	TEST(datagrams_go_where_their_hash_says),
	TEST(states_of_a_work_queue),
	TEST(receive_into_bad_memory),
	TEST(full_cq_is_fatal),
	TEST(in_use_is_not_destroyed),
	TEST(hashes_that_are_refused),
	TEST(queues_and_tables_that_are_refused),
	TEST(queue_without_cq),
	TEST(qp_with_work_queues_has_no_others),
	TEST(killed_with_all_of_it),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
