// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls each verb with its first allocation, or copy from or to the process,
 * failing. Repeats that with its second one, and so on until none is left
 * (failing.h). The device must work after each verb. kmemleak checks that
 * nothing leaks.
 */
#define _GNU_SOURCE
#include "util.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing.h"

#define PAGE		4096u

static struct end a, b;
static struct buf buf;

/* Sends a message, which must arrive. */
static void device_works(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	sge = sge_of(&buf, 0, 64);
	post_recv(&b, 1, &sge, 1);
	wr = wr_send(2, &sge, 1);
	post(&a, &wr);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
}

static void prepare(void)
{
	struct config config = config_default;

	config.pd = nic_a()->pd;
	pair_make(&a, &b, &config);
	buf = buf_make(nic_a()->pd, 16 * PAGE, ACCESS_ALL);
	device_works();
}

static void each(const struct verb *verb)
{
	int makes, ends = 0;

	makes = fail_make(verb);
	if (verb->end)
		ends = fail_end(verb);
	device_works();
	printf("# %d failures, and %d of the end\n", makes, ends);
}

/* ---- the verbs -------------------------------------------------------------------- */

#define ENDING(name, type, call)					\
	static int name(void *object)					\
	{								\
		type *p = object;					\
									\
		errno = 0;						\
		return call ? errno : 0;				\
	}

ENDING(end_context, struct ibv_context, ibv_close_device(p))
ENDING(end_pd, struct ibv_pd, ibv_dealloc_pd(p))
ENDING(end_channel, struct ibv_comp_channel, ibv_destroy_comp_channel(p))
ENDING(end_cq, struct ibv_cq, ibv_destroy_cq(p))
ENDING(end_qp, struct ibv_qp, ibv_destroy_qp(p))
ENDING(end_srq, struct ibv_srq, ibv_destroy_srq(p))
ENDING(end_ah, struct ibv_ah, ibv_destroy_ah(p))
ENDING(end_mr, struct ibv_mr, ibv_dereg_mr(p))
ENDING(end_mw, struct ibv_mw, ibv_dealloc_mw(p))
ENDING(end_xrcd, struct ibv_xrcd, ibv_close_xrcd(p))
ENDING(end_wq, struct ibv_wq, ibv_destroy_wq(p))
ENDING(end_table, struct ibv_rwq_ind_table, ibv_destroy_rwq_ind_table(p))
ENDING(end_dm, struct ibv_dm, ibv_free_dm(p))
ENDING(end_flow, struct ibv_flow, ibv_destroy_flow(p))

/* libibverbs reports the errno of its last attempt. */
static void *make_context(void)
{
	struct ibv_context *ctx = ibv_open_device(nic_a()->ctx->device);

	if (!ctx)
		errno = ENOMEM;
	return ctx;
}

static void *query_device(void)
{
	struct ibv_device_attr_ex attr;

	return outcome(ibv_query_device_ex(nic_a()->ctx, NULL, &attr));
}

static void *query_port(void)
{
	struct ibv_port_attr attr;

	return outcome(ibv_query_port(nic_a()->ctx, 1, &attr));
}

static void *query_gid(void)
{
	struct ibv_gid_entry entry;

	return outcome(ibv_query_gid_ex(nic_a()->ctx, 1, nic_a()->gid_index,
					&entry, 0));
}

static void *make_pd(void)
{
	return ibv_alloc_pd(nic_a()->ctx);
}

static void *make_channel(void)
{
	return ibv_create_comp_channel(nic_a()->ctx);
}

static void *make_cq(void)
{
	return ibv_create_cq(nic_a()->ctx, 200, NULL, NULL, 0);
}

static void *make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 200,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(nic_a()->ctx, &init);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static void *resize_cq(void)
{
	static int cqe = 300;

	cqe ^= 1024;
	return outcome(ibv_resize_cq(a.scq, cqe));
}

static void *notify_cq(void)
{
	return outcome(ibv_req_notify_cq(a.scq, 0));
}

static enum ibv_qp_type qp_type;
static struct ibv_srq *srq;
static struct ibv_xrcd *xrcd;

static void *make_qp(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = nic_a()->pd,
		.send_cq = a.scq,
		.recv_cq = a.scq,
		.srq = srq,
		.cap = { .max_send_wr = 64, .max_send_sge = 2,
			 .max_recv_wr = 64, .max_recv_sge = 2 },
	};

	if (qp_type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
		init.pd = NULL;
		init.send_cq = init.recv_cq = NULL;
		memset(&init.cap, 0, sizeof(init.cap));
	}
	if (qp_type == IBV_QPT_XRC_SEND)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	return ibv_create_qp_ex(nic_a()->ctx, &init);
}

static void create_qp_of_each_type(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET,
		IBV_QPT_XRC_SEND,
	};
	unsigned int i;

	prepare();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		qp_type = types[i];
		printf("# type %d\n", qp_type);
		each(&(struct verb){ make_qp, end_qp });
	}
}

static void *make_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(nic_a()->ctx, &attr);
}

static void create_xrc_recv(void)
{
	prepare();
	xrcd = make_xrcd();
	REQUIRE(xrcd);
	qp_type = IBV_QPT_XRC_RECV;
	each(&(struct verb){ make_qp, end_qp });
}

static struct end changing;

/* Moves a QP from RESET to RTS; a failed step is repeated. */
static void *connect_qp(void)
{
	struct address peer = end_address(&changing);

	if (!outcome(end_to(&changing, IBV_QPS_RESET)) ||
	    !outcome(end_to_init(&changing)) ||
	    !outcome(end_to_rtr(&changing, &peer)) ||
	    !outcome(end_to_rts(&changing)))
		return NULL;
	return &changing;
}

static void modify_qp(void)
{
	prepare();
	changing = end_make(nic_a(), &config_default);
	each(&(struct verb){ connect_qp, NULL });
}

static void *query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return outcome(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init));
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 100, .max_sge = 2 },
	};

	return ibv_create_srq(nic_a()->pd, &init);
}

static void *make_srq_tm(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 100, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = nic_a()->pd,
		.cq = a.scq,
		.tm_cap = { .max_num_tags = 32, .max_ops = 8 },
	};

	return ibv_create_srq_ex(nic_a()->ctx, &init);
}

static void *make_srq_xrc(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 100, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC,
		.pd = nic_a()->pd,
		.cq = a.scq,
		.xrcd = xrcd,
	};

	return ibv_create_srq_ex(nic_a()->ctx, &init);
}

static void *resize_srq(void)
{
	struct ibv_srq_attr attr = { 0 };
	static uint32_t max_wr = 300;

	attr.max_wr = max_wr ^= 1024;
	return outcome(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
}

static void *query_srq(void)
{
	struct ibv_srq_attr attr;

	return outcome(ibv_query_srq(srq, &attr));
}

static void *add_tag(void)
{
	struct ibv_sge sge = sge_of(&buf, 0, 64);
	struct ibv_ops_wr *bad, wr = {
		.opcode = IBV_WR_TAG_ADD,
		.tm.add = { .sg_list = &sge, .num_sge = 1, .tag = 5,
			    .mask = UINT64_MAX },
	};
	static struct ibv_ops_wr added;

	if (!outcome(ibv_post_srq_ops(srq, &wr, &bad)))
		return NULL;
	added = wr;
	return &added;
}

static int del_tag(void *object)
{
	const struct ibv_ops_wr *added = object;
	struct ibv_ops_wr *bad, wr = {
		.opcode = IBV_WR_TAG_DEL,
		.tm.handle = added->tm.handle,
	};

	return ibv_post_srq_ops(srq, &wr, &bad);
}

static void tags(void)
{
	prepare();
	srq = make_srq_tm();
	REQUIRE(srq);
	each(&(struct verb){ add_tag, del_tag });
}

static void *make_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = nic_a()->gid,
			 .sgid_index = nic_a()->gid_index, .hop_limit = 64 },
	};
	struct ibv_ah *ah = ibv_create_ah(nic_a()->pd, &attr);

	/* the errno of neighbour entries, which the RDMA core passes on */
	if (!ah && errno == ENOBUFS)
		errno = ENOMEM;
	return ah;
}

static void *make_mr(void)
{
	return ibv_reg_mr(nic_a()->pd, buf.p, 8 * PAGE, ACCESS_ALL);
}

static void *make_mr_on_demand(void)
{
	return ibv_reg_mr(nic_a()->pd, buf.p, 8 * PAGE,
			  ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
}

static void *make_mr_null(void)
{
	return ibv_alloc_null_mr(nic_a()->pd);
}

static struct ibv_mr *mr;

static void *change_mr(void)
{
	static int access = ACCESS_ALL;

	access ^= IBV_ACCESS_REMOTE_READ;
	return outcome(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS |
				    IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				    buf.p, 4 * PAGE, access) ? errno : 0);
}

static void rereg_mr(void)
{
	prepare();
	mr = make_mr();
	REQUIRE(mr);
	each(&(struct verb){ change_mr, NULL });
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static void *advise(void)
{
	struct ibv_sge sge = { (uintptr_t)buf.p, 8 * PAGE, mr->lkey };

	return outcome(ibv_advise_mr(nic_a()->pd,
				     IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
}

static void advise_mr(void)
{
	prepare();
	mr = make_mr_on_demand();
	REQUIRE(mr);
	each(&(struct verb){ advise, NULL });
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static int dmabuf_fd;

static void *make_mr_dmabuf(void)
{
	return ibv_reg_dmabuf_mr(nic_a()->pd, 0, 4 * PAGE, 0, dmabuf_fd,
				 ACCESS_ALL);
}

static void reg_dmabuf_mr(void)
{
	struct udmabuf_create create = { .size = 4 * PAGE };
	int dev = open("/dev/udmabuf", O_RDWR);

	if (dev < 0)
		test_skip("the kernel has no /dev/udmabuf");
	create.memfd = memfd_create("failures", MFD_ALLOW_SEALING);
	REQUIRE_EQ(ftruncate(create.memfd, 4 * PAGE), 0);
	REQUIRE_EQ(fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	dmabuf_fd = ioctl(dev, UDMABUF_CREATE, &create);
	REQUIRE(dmabuf_fd >= 0);
	prepare();
	each(&(struct verb){ make_mr_dmabuf, end_mr });
}

static struct ibv_dm *dm;

static void *make_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 2 * PAGE };

	return ibv_alloc_dm(nic_a()->ctx, &attr);
}

static void *make_mr_dm(void)
{
	return ibv_reg_dm_mr(nic_a()->pd, dm, 0, PAGE,
			     ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
}

static void reg_dm_mr(void)
{
	prepare();
	dm = make_dm();
	REQUIRE(dm);
	each(&(struct verb){ make_mr_dm, end_mr });
}

static void *make_mw(void)
{
	return ibv_alloc_mw(nic_a()->pd, IBV_MW_TYPE_2);
}

static void create_srq_xrc(void)
{
	prepare();
	xrcd = make_xrcd();
	REQUIRE(xrcd);
	each(&(struct verb){ make_srq_xrc, end_srq });
}

static void modify_srq(void)
{
	prepare();
	srq = make_srq();
	REQUIRE(srq);
	each(&(struct verb){ resize_srq, NULL });
	each(&(struct verb){ query_srq, NULL });
}

static struct ibv_wq *wq;
static struct ibv_rwq_ind_table *table;

static void *make_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 64,
		.max_sge = 1,
		.pd = nic_a()->pd,
		.cq = a.scq,
	};

	return ibv_create_wq(nic_a()->ctx, &init);
}

static void *change_wq(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE };
	static bool ready;

	ready = !ready;
	attr.wq_state = ready ? IBV_WQS_RDY : IBV_WQS_RESET;
	return outcome(ibv_modify_wq(wq, &attr));
}

static void *make_table(void)
{
	/* A list of one is padded. The RDMA core checks that the padding is 0,
	 * and treats a failure there as wrong padding.
	 */
	struct ibv_wq *wqs[] = { wq, wq };
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1,
						    .ind_tbl = wqs };

	return ibv_create_rwq_ind_table(nic_a()->ctx, &init);
}

static void *make_qp_rss(void)
{
	static uint8_t key[40] = { 1 };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = nic_a()->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key,
				  IBV_RX_HASH_SRC_IPV4 },
	};

	return ibv_create_qp_ex(nic_a()->ctx, &init);
}

static void work_queues(void)
{
	prepare();
	each(&(struct verb){ make_wq, end_wq });
	wq = make_wq();
	REQUIRE(wq);
	each(&(struct verb){ change_wq, NULL });
	each(&(struct verb){ make_table, end_table });
	table = make_table();
	REQUIRE(table);
	each(&(struct verb){ make_qp_rss, end_qp });
}

static struct ibv_qp *qp;

static void *join(void)
{
	static union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 0x77 } };

	return outcome(ibv_attach_mcast(qp, &group, 0)) ? &group : NULL;
}

static int leave(void *group)
{
	return ibv_detach_mcast(qp, group, 0);
}

static void multicast(void)
{
	prepare();
	qp_type = IBV_QPT_UD;
	qp = make_qp();
	REQUIRE(qp);
	each(&(struct verb){ join, leave });
}

static void *make_flow(void)
{
	return flow_to_nobody(qp);
}

static void flows(void)
{
	prepare();
	qp_type = IBV_QPT_RAW_PACKET;
	qp = make_qp();
	REQUIRE(qp);
	each(&(struct verb){ make_flow, end_flow });
}

static void drain(struct ibv_cq *cq)
{
	uint64_t until = millis() + 100;
	struct ibv_wc wc;

	while (millis() < until)
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
}

/*
 * Exchanges a message, with the doorbell and all allocations of sending it. If
 * only the doorbell failed, the next one sends the request.
 */
static void *exchange(void)
{
	struct ibv_sge sge = sge_of(&buf, 0, 8 * PAGE);
	struct ibv_send_wr *bad, wr = wr_send(2, &sge, 1);
	int err;

	post_recv(&b, 1, &sge, 1);
	err = ibv_post_send(a.qp, &wr, &bad);
	if (!err) {
		wait_ok(a.scq, 2, IBV_WC_SEND);
		wait_ok(b.rcq, 1, IBV_WC_RECV);
		return outcome(0);
	}
	post_recv(&b, 1, &sge, 1);
	post(&a, &wr);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	drain(a.scq);
	drain(b.rcq);
	return outcome(err);
}

/* ---- simple rows -------------------------------------------------------------------- */

#define ROW(name, maker, ender)						\
	static void name(void)						\
	{								\
		prepare();						\
		each(&(struct verb){ maker, ender });			\
	}

ROW(open_device, make_context, end_context)
ROW(queries_device, query_device, NULL)
ROW(queries_port, query_port, NULL)
ROW(queries_gid, query_gid, NULL)
ROW(alloc_pd, make_pd, end_pd)
ROW(create_channel, make_channel, end_channel)
ROW(create_cq, make_cq, end_cq)
ROW(create_cq_ex, make_cq_ex, end_cq)
ROW(resizes_cq, resize_cq, NULL)
ROW(notifies_cq, notify_cq, NULL)
ROW(queries_qp, query_qp, NULL)
ROW(create_srq, make_srq, end_srq)
ROW(create_srq_tm, make_srq_tm, end_srq)
ROW(create_ah, make_ah, end_ah)
ROW(reg_mr, make_mr, end_mr)
ROW(reg_mr_on_demand, make_mr_on_demand, end_mr)
ROW(alloc_null_mr, make_mr_null, end_mr)
ROW(alloc_mw, make_mw, end_mw)
ROW(alloc_dm, make_dm, end_dm)
ROW(open_xrcd, make_xrcd, end_xrcd)
ROW(exchanges, exchange, NULL)

static const struct test tests[] = {
	{ "open_device", open_device },
	{ "query_device", queries_device },
	{ "query_port", queries_port },
	{ "query_gid", queries_gid },
	{ "alloc_pd", alloc_pd },
	{ "create_channel", create_channel },
	{ "create_cq", create_cq },
	{ "create_cq_ex", create_cq_ex },
	{ "resize_cq", resizes_cq },
	{ "notify_cq", notifies_cq },
	{ "create_qp_of_each_type", create_qp_of_each_type },
	{ "create_xrc_recv", create_xrc_recv },
	{ "modify_qp", modify_qp },
	{ "query_qp", queries_qp },
	{ "create_srq", create_srq },
	{ "create_srq_tm", create_srq_tm },
	{ "create_srq_xrc", create_srq_xrc },
	{ "modify_srq", modify_srq },
	{ "tags", tags },
	{ "create_ah", create_ah },
	{ "reg_mr", reg_mr },
	{ "reg_mr_on_demand", reg_mr_on_demand },
	{ "reg_dmabuf_mr", reg_dmabuf_mr },
	{ "reg_dm_mr", reg_dm_mr },
	{ "rereg_mr", rereg_mr },
	{ "advise_mr", advise_mr },
	{ "alloc_null_mr", alloc_null_mr },
	{ "alloc_mw", alloc_mw },
	{ "alloc_dm", alloc_dm },
	{ "open_xrcd", open_xrcd },
	{ "work_queues", work_queues },
	{ "multicast", multicast },
	{ "flows", flows },
	{ "exchange", exchanges },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
