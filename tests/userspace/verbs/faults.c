// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Recipes of `softhca fault recipes`, one test each: the rule is made as a user makes
 * it, something provokes it, and what docs/faults.md promises must be seen. It needs
 * CAP_NET_ADMIN and a softhca device whose rules are nobody else's.
 */
#define _GNU_SOURCE	/* setns() */
#include "util.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#define LEN	4000u
#define NUM	8

static struct end a, b;
static struct buf mem_a, mem_b;

/* ---- the tool -------------------------------------------------------------- */

/* Rules are made in the network namespace of the device: SHCA_NETNS, if it is another. */
static void enter_netns(void)
{
	const char *name = getenv("SHCA_NETNS");
	int fd = name ? open(name, O_RDONLY) : -1;

	if (name && (fd < 0 || setns(fd, CLONE_NEWNET))) {
		perror(name);
		exit(1);
	}
}

/* Runs the tool. */
static void run_tool(const char *words)
{
	char command[1024];

	snprintf(command, sizeof(command), "exec softhca %s >/dev/null", words);
	REQUIRE_EQ(system(command), 0);
}

/* First line that the tool prints. */
static void ask_tool(const char *words, char *line, size_t size)
{
	char command[1024];
	FILE *out;

	snprintf(command, sizeof(command), "exec softhca %s", words);
	out = popen(command, "r");
	REQUIRE(out);
	if (!fgets(line, size, out))
		*line = '\0';
	REQUIRE_EQ(pclose(out), 0);
	line[strcspn(line, "\n")] = '\0';
}

#define MAX_RECIPES	256

static char recipes[MAX_RECIPES][256];

/* All recipes, once: a process takes its time in an emulated guest. */
static void read_recipes(void)
{
	FILE *out = popen("exec softhca fault recipes", "r");
	int nr = 0;

	while (out && nr < MAX_RECIPES &&
	       fgets(recipes[nr], sizeof(recipes[nr]), out)) {
		recipes[nr][strcspn(recipes[nr], "\n")] = '\0';
		nr++;
	}
	if (out)
		pclose(out);
}

/* The words of the recipe that has the name of this test. */
static char *find_recipe(void)
{
	size_t length = strlen(test_name);
	static const char separator[] = ": softhca ";
	int i;

	for (i = 0; i < MAX_RECIPES && recipes[i][0]; i++)
		if (!strncmp(recipes[i], test_name, length) &&
		    !strncmp(recipes[i] + length, separator, strlen(separator)))
			return recipes[i] + length + strlen(separator);
	FAIL("no recipe has this name");
}

/* Makes the rule of the recipe, for the QP if it wants one. */
static void make_rule(uint32_t qpn)
{
	const char *device = ibv_get_device_name(nic_a()->ctx->device);
	char words[512], *rest = find_recipe(), *word;
	size_t used;

	run_tool("fault del all");
	for (used = 0; (word = strsep(&rest, " "));) {
		if (!strcmp(word, "dev=DEV"))
			used += snprintf(words + used, sizeof(words) - used,
					 "dev=%s ", device);
		else if (!strcmp(word, "qpn=QPN"))
			used += snprintf(words + used, sizeof(words) - used,
					 "qpn=%u ", qpn);
		else
			used += snprintf(words + used, sizeof(words) - used,
					 "%s ", word);
	}
	run_tool(words);
}

static unsigned long long hits(void)
{
	char line[512], *at;

	ask_tool("fault list", line, sizeof(line));
	at = strstr(line, " hits ");
	REQUIRE(at);
	return strtoull(at + 6, NULL, 10);
}

static unsigned long long counter(const char *name)
{
	char path[256], text[32] = "";
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(nic_a()->ctx->device), name);
	fd = open(path, O_RDONLY);
	REQUIRE(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	REQUIRE(len > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}

/* ---- what goes well --------------------------------------------------------- */

static void set_up(const struct config *config)
{
	int i;

	pair_make(&a, &b, config);
	mem_a = buf_make(a.nic->pd, NUM * LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, NUM * LEN, ACCESS_ALL);
	fill(mem_a.p, NUM * LEN, 1);
	for (i = 0; i < NUM; i++) {
		struct ibv_sge sge = sge_of(&mem_b, i * LEN, LEN);

		post_recv(&b, i, &sge, 1);
	}
}

static void send_one(int i)
{
	struct ibv_sge sge = sge_of(&mem_a, i * LEN, LEN);
	struct ibv_send_wr wr = wr_send(i, &sge, 1);

	post(&a, &wr);
}

/* All messages arrive once, in order and intact, whatever befalls the packets. */
static void send_all(void)
{
	int i;

	for (i = 0; i < NUM; i++)
		send_one(i);
	for (i = 0; i < NUM; i++) {
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
	}
	check_fill(mem_b.p, NUM * LEN, 1);
	require_no_wc(a.scq);
	require_no_wc(b.rcq);
}

static void survive(void)
{
	struct config config = config_default;

	config.timeout = 15;
	set_up(&config);
	make_rule(0);
	send_all();
	REQUIRE(hits() >= 1);
	REQUIRE(counter("injected_faults") >= 1);
}

/* The same, and a counter tells. */
static void survive_counted(const char *name)
{
	unsigned long long before = counter(name);
	int i;

	survive();
	/* The RDMA core keeps values of counters for a moment. */
	for (i = 0; i < 1000 && counter(name) == before; i++)
		poll(NULL, 0, 10);
	REQUIRE(counter(name) > before);
}

static void lost_packet(void) { survive(); }
static void out_of_sequence(void) { survive_counted("out_of_sequence"); }
static void duplicate(void) { survive_counted("duplicate_request"); }
static void damaged(void) { survive_counted("rx_icrc_errors"); }
static void marked(void) { survive_counted("np_ecn_marked_roce_packets"); }
static void rnr_once(void) { survive_counted("rnr_nak_retry_err"); }

/* Loss of 1 % needs packets. */
static void lossy(void)
{
	struct config config = config_default;
	int i, j;

	config.timeout = 15;
	set_up(&config);
	make_rule(0);
	for (i = 0; i < 40 && (i < 8 || !hits()); i++) {
		send_all();
		for (j = 0; j < NUM; j++) {
			struct ibv_sge sge = sge_of(&mem_b, j * LEN, LEN);

			post_recv(&b, j, &sge, 1);
		}
	}
	REQUIRE(hits() >= 1);
}

static void dead_for_a_while(void)
{
	struct config config = config_default;
	uint64_t began;

	config.timeout = 17;
	set_up(&config);
	make_rule(0);
	began = millis();
	send_all();
	REQUIRE(millis() - began < 60000);
	REQUIRE(hits() >= 1);
}

static void slow(void)
{
	struct config config = config_default;
	uint64_t began;

	set_up(&config);
	make_rule(0);
	began = millis();
	send_one(0);
	wait_ok(a.scq, 0, IBV_WC_SEND);
	wait_ok(b.rcq, 0, IBV_WC_RECV);
	/* There and back. */
	REQUIRE(millis() - began >= 3);
	REQUIRE(hits() >= 2);
}

/* ---- what goes wrong ---------------------------------------------------------- */

/* The first of three sends ends with @status; the others are flushed. */
static void send_fails(enum ibv_wc_status status)
{
	int i;

	for (i = 0; i < 3; i++)
		send_one(i);
	wait_status(a.scq, 0, status);
	for (i = 1; i < 3; i++)
		wait_status(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(a.scq);
	end_wait_state(&a, IBV_QPS_ERR);
	REQUIRE(hits() >= 1);
}

static struct config short_config(void)
{
	struct config config = config_default;

	config.timeout = 8;
	config.retry_cnt = 1;
	config.rnr_retry = 1;
	config.min_rnr_timer = 1;
	return config;
}

static void dead_peer(void)
{
	struct config config = short_config();

	set_up(&config);
	make_rule(0);
	send_fails(IBV_WC_RETRY_EXC_ERR);
	/* The peer has heard nothing. */
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

static void rnr_for_ever(void)
{
	struct config config = short_config();

	set_up(&config);
	make_rule(0);
	send_fails(IBV_WC_RNR_RETRY_EXC_ERR);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

/* The responder refuses: its receive fails, too, and its QP. */
static void refused(enum ibv_wc_status here, enum ibv_wc_status there)
{
	struct config config = config_default;
	int i;

	set_up(&config);
	make_rule(0);
	send_fails(here);
	wait_status(b.rcq, 0, there);
	for (i = 1; i < NUM; i++)
		wait_status(b.rcq, i, IBV_WC_WR_FLUSH_ERR);
	end_wait_state(&b, IBV_QPS_ERR);
}

static void remote_invalid(void) { refused(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR); }
static void remote_access(void) { refused(IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR); }
static void remote_operation(void) { refused(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR); }
static void receive_qp_op(void) { refused(IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR); }

/* The request never leaves: the peer waits on. */
static void send_status(void)
{
	static const struct {
		const char *name;
		enum ibv_wc_status status;
	} rows[] = {
		{ "send-loc-len-err", IBV_WC_LOC_LEN_ERR },
		{ "send-loc-qp-op-err", IBV_WC_LOC_QP_OP_ERR },
		{ "send-loc-prot-err", IBV_WC_LOC_PROT_ERR },
		{ "send-mw-bind-err", IBV_WC_MW_BIND_ERR },
		{ "send-bad-resp-err", IBV_WC_BAD_RESP_ERR },
		{ "send-loc-access-err", IBV_WC_LOC_ACCESS_ERR },
		{ "send-rem-inv-req-err", IBV_WC_REM_INV_REQ_ERR },
		{ "send-rem-access-err", IBV_WC_REM_ACCESS_ERR },
		{ "send-rem-op-err", IBV_WC_REM_OP_ERR },
		{ "send-retry-exc-err", IBV_WC_RETRY_EXC_ERR },
		{ "send-rnr-retry-exc-err", IBV_WC_RNR_RETRY_EXC_ERR },
		{ "send-rem-abort-err", IBV_WC_REM_ABORT_ERR },
		{ "send-fatal-err", IBV_WC_FATAL_ERR },
		{ "send-general-err", IBV_WC_GENERAL_ERR },
	};
	struct config config = config_default;
	size_t i;

	set_up(&config);
	make_rule(0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	send_fails(rows[i].status);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

static void qp_fatal(void)
{
	struct config config = config_default;
	struct ibv_async_event event;

	set_up(&config);
	make_rule(0);
	send_one(0);
	event = wait_event_of_object(a.nic->ctx);
	REQUIRE_EQ(event.event_type, IBV_EVENT_QP_FATAL);
	REQUIRE(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	wait_status(a.scq, 0, IBV_WC_WR_FLUSH_ERR);
	end_wait_state(&a, IBV_QPS_ERR);
	REQUIRE_EQ(hits(), 1);
}

static void cq_overrun(void)
{
	struct config config = config_default;
	struct ibv_async_event event;
	int i;

	set_up(&config);
	make_rule(0);
	send_one(0);
	/* The QP whose completion found no room fails, too. */
	for (i = 0; i < 3; i++) {
		event = wait_event_of_object(a.nic->ctx);
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_CQ_ERR)
			break;
		REQUIRE_EQ(event.event_type, IBV_EVENT_QP_FATAL);
	}
	REQUIRE_EQ(event.event_type, IBV_EVENT_CQ_ERR);
	REQUIRE_EQ(hits(), 1);
}

/* ---- events ------------------------------------------------------------------- */

static void event_of_device(void)
{
	static const struct {
		const char *name;
		enum ibv_event_type type;
	} rows[] = {
		{ "event-device-fatal", IBV_EVENT_DEVICE_FATAL },
		{ "event-port-err", IBV_EVENT_PORT_ERR },
		{ "event-port-active", IBV_EVENT_PORT_ACTIVE },
		{ "event-lid-change", IBV_EVENT_LID_CHANGE },
		{ "event-pkey-change", IBV_EVENT_PKEY_CHANGE },
		{ "event-sm-change", IBV_EVENT_SM_CHANGE },
		{ "event-client-reregister", IBV_EVENT_CLIENT_REREGISTER },
	};
	size_t i;

	nic_a();
	make_rule(0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	wait_event(nic_a()->ctx, rows[i].type);
}

static void event_of_qp(void)
{
	static const struct {
		const char *name;
		enum ibv_event_type type;
	} rows[] = {
		{ "event-comm-est", IBV_EVENT_COMM_EST },
		{ "event-sq-drained", IBV_EVENT_SQ_DRAINED },
		{ "event-path-mig", IBV_EVENT_PATH_MIG },
		{ "event-path-mig-err", IBV_EVENT_PATH_MIG_ERR },
		{ "event-qp-req-err", IBV_EVENT_QP_REQ_ERR },
		{ "event-qp-access-err", IBV_EVENT_QP_ACCESS_ERR },
		{ "event-qp-last-wqe-reached", IBV_EVENT_QP_LAST_WQE_REACHED },
	};
	struct config config = config_default;
	struct ibv_async_event event;
	size_t i;

	set_up(&config);
	make_rule(a.qp->qp_num);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	event = wait_event_of_object(a.nic->ctx);
	REQUIRE_EQ(event.event_type, rows[i].type);
	REQUIRE(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	/* It is forged: nothing has happened to the QP. */
	REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
}

/* ---- verbs ---------------------------------------------------------------------- */

static struct ibv_qp *make_ud(void)
{
	struct ibv_cq *cq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return cq ? ibv_create_qp(nic_a()->pd, &init) : NULL;
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(nic_a()->pd, &init);
}

/* The first call fails with @error; the next one does not. */
#define FAILS_AS_POINTER(call, error)					\
	do {								\
		make_rule(0);					\
		REQUIRE_ERRNO(call, error);				\
		REQUIRE(call);						\
		REQUIRE_EQ(hits(), 1);					\
	} while (0)

#define FAILS_AS_NUMBER(call, error)					\
	do {								\
		make_rule(0);					\
		REQUIRE_EQ(call, error);				\
		REQUIRE_EQ(call, 0);					\
		REQUIRE_EQ(hits(), 1);					\
	} while (0)

static void fail_query_port(void)
{
	struct ibv_port_attr attr;

	FAILS_AS_NUMBER(ibv_query_port(nic_a()->ctx, 1, &attr), EIO);
}

static void fail_alloc_pd(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_alloc_pd(nic_a()->ctx), ENOMEM);
}

static char page[8192] __attribute__((aligned(4096)));

static void fail_reg_mr(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_reg_mr(nic_a()->pd, page, 4096, 0), EFAULT);
}

static void fail_rereg_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(nic_a()->pd, page, 4096, 0);

	REQUIRE(mr);
	make_rule(0);
	REQUIRE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE));
	REQUIRE_EQ(hits(), 1);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE), 0);
}

static void fail_alloc_mw(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_alloc_mw(nic_a()->pd, IBV_MW_TYPE_1), ENOMEM);
}

static void fail_create_cq(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0), ENOMEM);
}

static void fail_resize_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);

	REQUIRE(cq);
	FAILS_AS_NUMBER(ibv_resize_cq(cq, 64), ENOMEM);
}

static void fail_create_srq(void)
{
	nic_a();
	FAILS_AS_POINTER(make_srq(), ENOMEM);
}

static void fail_modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq = make_srq();

	REQUIRE(srq);
	FAILS_AS_NUMBER(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
}

static void fail_query_srq(void)
{
	struct ibv_srq *srq = make_srq();
	struct ibv_srq_attr attr;

	REQUIRE(srq);
	FAILS_AS_NUMBER(ibv_query_srq(srq, &attr), EIO);
}

static void fail_create_qp(void)
{
	nic_a();
	FAILS_AS_POINTER(make_ud(), ENOMEM);
}

static void fail_modify_qp(void)
{
	struct config config = config_default;
	struct end end = end_make(nic_a(), &config);

	FAILS_AS_NUMBER(end_to_init(&end), ETIMEDOUT);
}

static void fail_query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp = make_ud();

	REQUIRE(qp);
	FAILS_AS_NUMBER(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), EIO);
}

static void fail_create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};

	FAILS_AS_POINTER(ibv_create_ah(nic_a()->pd, &attr), EHOSTUNREACH);
}

static void fail_attach_mcast(void)
{
	union ibv_gid gid = { .raw = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				       224, 9, 9, 9 } };
	struct ibv_qp *qp = make_ud();

	REQUIRE(qp);
	make_rule(0);
	REQUIRE_EQ(ibv_attach_mcast(qp, &gid, 0), ENOMEM);
	REQUIRE_EQ(hits(), 1);
}

static void fail_alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	nic_a();
	FAILS_AS_POINTER(ibv_alloc_dm(nic_a()->ctx, &attr), ENOSPC);
}

static void fail_open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	nic_a();
	FAILS_AS_POINTER(ibv_open_xrcd(nic_a()->ctx, &attr), ENOMEM);
}

/* ---- the table ------------------------------------------------------------------- */

static const struct test tests[] = {
	{ "loss-1-percent", lossy },
	{ "loss-of-one", out_of_sequence },
	{ "loss-of-ack", lost_packet },
	{ "loss-on-arrival", out_of_sequence },
	{ "dead-peer", dead_peer },
	{ "dead-for-a-while", dead_for_a_while },
	{ "duplicate-request", duplicate },
	{ "duplicate-ack", lost_packet },
	{ "duplicate-on-arrival", duplicate },
	{ "slow-path", slow },
	{ "slow-path-on-arrival", slow },
	{ "jitter", lost_packet },
	{ "overtaken-request", out_of_sequence },
	{ "overtaken-on-arrival", out_of_sequence },
	{ "bad-payload", damaged },
	{ "bad-header", damaged },
	{ "bad-icrc", damaged },
	{ "bad-payload-on-arrival", damaged },
	{ "bad-icrc-on-arrival", damaged },
	{ "congested-switch", marked },
	{ "congestion-on-arrival", marked },
	{ "one-rnr-nak", rnr_once },
	{ "rnr-for-ever", rnr_for_ever },
	{ "remote-invalid-request", remote_invalid },
	{ "remote-access-error", remote_access },
	{ "remote-operation-error", remote_operation },
	{ "receive-qp-operation-error", receive_qp_op },
	{ "send-loc-len-err", send_status },
	{ "send-loc-qp-op-err", send_status },
	{ "send-loc-prot-err", send_status },
	{ "send-mw-bind-err", send_status },
	{ "send-bad-resp-err", send_status },
	{ "send-loc-access-err", send_status },
	{ "send-rem-inv-req-err", send_status },
	{ "send-rem-access-err", send_status },
	{ "send-rem-op-err", send_status },
	{ "send-retry-exc-err", send_status },
	{ "send-rnr-retry-exc-err", send_status },
	{ "send-rem-abort-err", send_status },
	{ "send-fatal-err", send_status },
	{ "send-general-err", send_status },
	{ "qp-fatal", qp_fatal },
	{ "cq-overrun", cq_overrun },
	{ "event-device-fatal", event_of_device },
	{ "event-port-err", event_of_device },
	{ "event-port-active", event_of_device },
	{ "event-lid-change", event_of_device },
	{ "event-pkey-change", event_of_device },
	{ "event-sm-change", event_of_device },
	{ "event-client-reregister", event_of_device },
	{ "event-comm-est", event_of_qp },
	{ "event-sq-drained", event_of_qp },
	{ "event-path-mig", event_of_qp },
	{ "event-path-mig-err", event_of_qp },
	{ "event-qp-req-err", event_of_qp },
	{ "event-qp-access-err", event_of_qp },
	{ "event-qp-last-wqe-reached", event_of_qp },
	{ "fail-query-port", fail_query_port },
	{ "fail-alloc-pd", fail_alloc_pd },
	{ "fail-reg-mr", fail_reg_mr },
	{ "fail-rereg-mr", fail_rereg_mr },
	{ "fail-alloc-mw", fail_alloc_mw },
	{ "fail-create-cq", fail_create_cq },
	{ "fail-resize-cq", fail_resize_cq },
	{ "fail-create-srq", fail_create_srq },
	{ "fail-modify-srq", fail_modify_srq },
	{ "fail-query-srq", fail_query_srq },
	{ "fail-create-qp", fail_create_qp },
	{ "fail-modify-qp", fail_modify_qp },
	{ "fail-query-qp", fail_query_qp },
	{ "fail-create-ah", fail_create_ah },
	{ "fail-attach-mcast", fail_attach_mcast },
	{ "fail-alloc-dm", fail_alloc_dm },
	{ "fail-open-xrcd", fail_open_xrcd },
	{}
};

int main(int argc, char **argv)
{
	enter_netns();
	read_recipes();
	return util_main(tests, argc, argv);
}
