// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca fault recipes`. With --run the rule of a recipe is made. Traffic between two
 * queue pairs of the device, or a call, provokes the fault. What a program sees is printed.
 *
 * libibverbs is loaded as this runs, so the tool needs it for nothing else.
 */
#include "../explain.h"
#include "fault_words.h"
#include "qp_mask.h"
#include "../softhca.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

/* Messages of a round, and their length: four packets of an MTU of 1024 */
#define NUM		8
#define LEN		4000
/* A rule may need some rounds, one with prob=1% about three. */
#define ROUNDS		100
/* Waits for what does not come; nothing takes as long. */
#define PATIENCE_MS	60000
/* What follows from a fault has followed after this time. */
#define SETTLE_MS	300

/* ---- libibverbs ------------------------------------------------------------------- */

/* (macros of the header, which do not know pointers) */
#undef ibv_reg_mr
#undef ibv_query_port

#define FUNCTIONS(X)							\
	X(ibv_get_device_list) X(ibv_get_device_name) X(ibv_open_device) \
	X(ibv_get_async_event) X(ibv_ack_async_event) X(ibv_query_gid)	\
	X(ibv_query_port) X(ibv_alloc_pd) X(ibv_reg_mr) X(ibv_rereg_mr)	\
	X(ibv_create_cq) X(ibv_resize_cq) X(ibv_create_srq)		\
	X(ibv_modify_srq) X(ibv_query_srq) X(ibv_create_qp)		\
	X(ibv_modify_qp) X(ibv_query_qp) X(ibv_create_ah)		\
	X(ibv_attach_mcast) X(ibv_create_comp_channel)

static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} v;

static int load(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);

	if (!lib)
		return fail("fault recipes: libibverbs is not installed (try 'apt-get install libibverbs1')");
#define X(name)								\
	*(void **)&v.name = dlsym(lib, #name);				\
	if (!v.name)							\
		return fail("fault recipes: libibverbs has no %s()", #name);
	FUNCTIONS(X)
#undef X
	return 0;
}

/* ---- what is needed for traffic ----------------------------------------------------- */

/*
 * All that a fault can be injected into.
 * @a: @b:	connected with each other; @a sends
 * @a_cq: @b_cq: of each, for both of its queues
 * @ud: @on_srq:	for groups; with a shared receive queue
 * @channel:	of @a_cq
 * @armed:	its event is of interest
 * @opcode:	what @a sends
 */
struct bed {
	const char *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *a_cq;
	struct ibv_cq *b_cq;
	struct ibv_qp *a;
	struct ibv_qp *b;
	struct ibv_qp *ud;
	struct ibv_qp *on_srq;
	struct ibv_srq *srq;
	struct ibv_comp_channel *channel;
	bool armed;
	enum ibv_wr_opcode opcode;
	union ibv_gid gid;
	int gid_index;
};

static char buffer[2 * NUM * LEN] __attribute__((aligned(4096)));

static int no(const char *what)
{
	return fail("fault recipes: %s: %s", what, strerror(errno));
}

/* An IPv4 address if there is one. */
static int find_gid(struct bed *bed)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const union ibv_gid none;
	union ibv_gid gid;
	int i, found = -1;

	for (i = 0; !v.ibv_query_gid(bed->ctx, 1, i, &gid); i++) {
		if (!memcmp(&gid, &none, sizeof(gid)))
			continue;
		if (found >= 0 && memcmp(&gid, mapped, sizeof(mapped)))
			continue;
		found = i;
		bed->gid = gid;
		if (!memcmp(&gid, mapped, sizeof(mapped)))
			break;
	}
	bed->gid_index = found;
	return found < 0 ? fail("fault recipes: %s has no GID: its netdev has no address, or is down",
				bed->device) : 0;
}

static struct ibv_qp *make_qp(struct bed *bed, struct ibv_cq *cq,
			      enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .srq = srq,
		.cap = { .max_send_wr = NUM, .max_recv_wr = NUM,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return v.ibv_create_qp(bed->pd, &init);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	return v.ibv_modify_qp(qp, &attr, qp_mask(IBV_QPT_RC, IBV_QPS_INIT));
}

/* The retries last some seconds, so a network may be dead for one. */
static int connect_qp(struct bed *bed, struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = {
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.timeout = 16, .retry_cnt = 7, .rnr_retry = 3, .max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = bed->gid, .hop_limit = 1,
				      .sgid_index = bed->gid_index } },
	};
	int state, err = to_init(qp);

	for (state = IBV_QPS_RTR; state <= IBV_QPS_RTS && !err; state++) {
		attr.qp_state = state;
		err = v.ibv_modify_qp(qp, &attr, qp_mask(IBV_QPT_RC, state));
	}
	if (err)
		errno = err;
	return err;
}

static int make_bed(struct bed *bed)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_device **list = v.ibv_get_device_list(NULL);
	int status;

	while (list && *list && strcmp(v.ibv_get_device_name(*list), bed->device))
		list++;
	if (!list || !*list)
		return fail("fault recipes: libibverbs does not find %s ('softhca doctor' says why)",
			    bed->device);
	bed->ctx = v.ibv_open_device(*list);
	if (!bed->ctx)
		return no("ibv_open_device()");
	fcntl(bed->ctx->async_fd, F_SETFL, O_NONBLOCK);
	status = find_gid(bed);
	if (status)
		return status;
	bed->pd = v.ibv_alloc_pd(bed->ctx);
	if (!bed->pd)
		return no("ibv_alloc_pd()");
	bed->mr = v.ibv_reg_mr(bed->pd, buffer, sizeof(buffer),
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!bed->mr)
		return no("ibv_reg_mr()");
	bed->channel = v.ibv_create_comp_channel(bed->ctx);
	if (!bed->channel)
		return no("ibv_create_comp_channel()");
	bed->a_cq = v.ibv_create_cq(bed->ctx, 2 * NUM, NULL, bed->channel, 0);
	bed->b_cq = v.ibv_create_cq(bed->ctx, 2 * NUM, NULL, NULL, 0);
	if (!bed->a_cq || !bed->b_cq)
		return no("ibv_create_cq()");
	bed->srq = v.ibv_create_srq(bed->pd, &srq);
	if (!bed->srq)
		return no("ibv_create_srq()");
	bed->a = make_qp(bed, bed->a_cq, IBV_QPT_RC, NULL);
	bed->b = make_qp(bed, bed->b_cq, IBV_QPT_RC, NULL);
	bed->ud = make_qp(bed, bed->b_cq, IBV_QPT_UD, NULL);
	bed->on_srq = make_qp(bed, bed->b_cq, IBV_QPT_RC, bed->srq);
	if (!bed->a || !bed->b || !bed->ud || !bed->on_srq)
		return no("ibv_create_qp()");
	if (connect_qp(bed, bed->a, bed->b) || connect_qp(bed, bed->b, bed->a))
		return no("ibv_modify_qp()");
	return 0;
}

/* ---- counters -------------------------------------------------------------------------- */

#define MAX_COUNTERS	128

struct counters {
	int nr;
	struct {
		char name[64];
		unsigned long long value;
	} of[MAX_COUNTERS];
};

static void read_counters(const char *device, struct counters *counters)
{
	struct dirent *entry;
	char path[512];
	FILE *file;
	DIR *dir;

	/* The RDMA core keeps values for a moment. */
	poll(NULL, 0, 50);
	counters->nr = 0;
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%.64s/ports/1/hw_counters", device);
	dir = opendir(path);
	while (dir && counters->nr < MAX_COUNTERS && (entry = readdir(dir))) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%.64s/ports/1/hw_counters/%.64s",
			 device, entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%llu",
				   &counters->of[counters->nr].value) == 1)
			snprintf(counters->of[counters->nr++].name, 64, "%.63s",
				 entry->d_name);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
}

static void print_counters(const struct counters *before,
			   const struct counters *after)
{
	int i, j;

	printf("counters:");
	for (i = 0; i < after->nr; i++)
		for (j = 0; j < before->nr; j++)
			if (!strcmp(after->of[i].name, before->of[j].name) &&
			    after->of[i].value > before->of[j].value)
				printf(" %s +%llu", after->of[i].name,
				       after->of[i].value - before->of[j].value);
	puts("");
}

/* ---- traffic --------------------------------------------------------------------------- */

/* What a program sees. */
struct seen {
	int sends[IBV_WC_GENERAL_ERR + 1];
	int recvs[IBV_WC_GENERAL_ERR + 1];
	int nr_sends;
	int nr_recvs;
	int nr_events;
	bool failed;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static int post(struct bed *bed)
{
	struct ibv_sge sge = { .length = LEN, .lkey = bed->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &sge, .num_sge = 1, .opcode = bed->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.rkey = bed->mr->rkey,
	}, *bad;
	int i, err;

	for (i = 0; i < NUM; i++) {
		sge.addr = (uintptr_t)buffer + (NUM + i) * LEN;
		err = ibv_post_recv(bed->b, &recv, &bad_recv);
		if (err)
			return err;
	}
	for (i = 0; i < NUM; i++) {
		sge.addr = (uintptr_t)buffer + i * LEN;
		send.wr.rdma.remote_addr = (uintptr_t)buffer + (NUM + i) * LEN;
		err = ibv_post_send(bed->a, &send, &bad);
		if (err)
			return err;
	}
	return 0;
}

static void read_events(struct bed *bed, struct seen *seen)
{
	struct ibv_async_event event;

	while (!v.ibv_get_async_event(bed->ctx, &event)) {
		printf("event: %s\n", fault_event_name(event.event_type));
		v.ibv_ack_async_event(&event);
		seen->nr_events++;
	}
}

static void read_completions(struct bed *bed, struct seen *seen)
{
	struct ibv_wc wc;

	/* (the opcode of one with an error is not valid) */
	while (ibv_poll_cq(bed->a_cq, 1, &wc) > 0) {
		seen->sends[wc.status]++;
		seen->nr_sends++;
		seen->failed |= wc.status != IBV_WC_SUCCESS;
	}
	while (ibv_poll_cq(bed->b_cq, 1, &wc) > 0) {
		seen->recvs[wc.status]++;
		seen->nr_recvs++;
		seen->failed |= wc.status != IBV_WC_SUCCESS;
	}
}

/* Until all have ended, or nothing more comes after an error. */
static void wait_for_all(struct bed *bed, struct seen *seen, int nr)
{
	uint64_t end = now_ms() + PATIENCE_MS, quiet = now_ms();
	int before = 0, now;

	while (now_ms() < end && (seen->nr_sends < nr || seen->nr_recvs < nr)) {
		read_completions(bed, seen);
		read_events(bed, seen);
		now = seen->nr_sends + seen->nr_recvs + seen->nr_events;
		if (now != before)
			quiet = now_ms();
		before = now;
		if ((seen->nr_sends == nr || seen->nr_events) &&
		    now_ms() - quiet > SETTLE_MS)
			break;
		poll(NULL, 0, 1);
	}
}

static void print_completions(const char *what, const int *nr)
{
	int i;

	printf("%s:", what);
	for (i = 0; i <= IBV_WC_GENERAL_ERR; i++)
		if (nr[i])
			printf(" %d %s", nr[i], fault_status_name(i));
	puts("");
}

static const char *state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return v.ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ?
	       "?" : qp_state_name(attr.qp_state);
}

static int run_traffic(struct bed *bed, uint32_t rule)
{
	struct pollfd event = { .fd = bed->channel->fd, .events = POLLIN };
	struct seen seen = {};
	int round, err;

	if (bed->armed)
		ibv_req_notify_cq(bed->a_cq, 0);
	for (round = 1; round <= ROUNDS; round++) {
		err = post(bed);
		if (err) {
			errno = err;
			return no("posting");
		}
		wait_for_all(bed, &seen, round * NUM);
		if (seen.failed || seen.nr_sends < round * NUM || !rule ||
		    fault_hits(rule))
			break;
	}
	printf("sent: %d messages of %d bytes from QP %#x to QP %#x\n", round * NUM,
	       LEN, bed->a->qp_num, bed->b->qp_num);
	print_completions("send completions", seen.sends);
	print_completions("receive completions", seen.recvs);
	if (bed->armed)
		printf("completion event: %s\n",
		       poll(&event, 1, 0) == 1 ? "has come" : "none");
	printf("state: QP %#x is in %s, QP %#x in %s\n", bed->a->qp_num,
	       state_of(bed->a), bed->b->qp_num, state_of(bed->b));
	return 0;
}

/* An event has happened as the rule was made. */
static int run_event(struct bed *bed)
{
	struct pollfd fd = { .fd = bed->ctx->async_fd, .events = POLLIN };
	struct seen seen = {};

	poll(&fd, 1, 10000);
	read_events(bed, &seen);
	printf("state: QP %#x is in %s\n", bed->a->qp_num, state_of(bed->a));
	return seen.nr_events ? 0 : fail("fault recipes: no event came");
}

/* ---- verbs ------------------------------------------------------------------------------ */

/* Return: 0, or an errno. */
static int of_pointer(const void *object)
{
	return object ? 0 : errno;
}

static int query_port(struct bed *bed)
{
	union {
		struct ibv_port_attr attr;
		char room[256];
	} port;

	return v.ibv_query_port(bed->ctx, 1, (void *)&port);
}

static int alloc_pd(struct bed *bed)
{
	return of_pointer(v.ibv_alloc_pd(bed->ctx));
}

static int reg_mr(struct bed *bed)
{
	return of_pointer(v.ibv_reg_mr(bed->pd, buffer, LEN, 0));
}

static int rereg_mr(struct bed *bed)
{
	return v.ibv_rereg_mr(bed->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      IBV_ACCESS_LOCAL_WRITE) ? errno : 0;
}

static int alloc_mw(struct bed *bed)
{
	return of_pointer(ibv_alloc_mw(bed->pd, IBV_MW_TYPE_1));
}

static int create_cq(struct bed *bed)
{
	return of_pointer(v.ibv_create_cq(bed->ctx, 4, NULL, NULL, 0));
}

static int resize_cq(struct bed *bed)
{
	return v.ibv_resize_cq(bed->a_cq, 64);
}

static int create_srq(struct bed *bed)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return of_pointer(v.ibv_create_srq(bed->pd, &init));
}

static int modify_srq(struct bed *bed)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	return v.ibv_modify_srq(bed->srq, &attr, IBV_SRQ_LIMIT);
}

static int query_srq(struct bed *bed)
{
	struct ibv_srq_attr attr;

	return v.ibv_query_srq(bed->srq, &attr);
}

static int create_qp(struct bed *bed)
{
	return of_pointer(make_qp(bed, bed->b_cq, IBV_QPT_UD, NULL));
}

static int modify_qp(struct bed *bed)
{
	return to_init(bed->ud);
}

static int query_qp(struct bed *bed)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return v.ibv_query_qp(bed->a, &attr, IBV_QP_STATE, &init);
}

static int create_ah(struct bed *bed)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = bed->gid, .hop_limit = 1,
			 .sgid_index = bed->gid_index },
	};

	return of_pointer(v.ibv_create_ah(bed->pd, &attr));
}

static int attach_mcast(struct bed *bed)
{
	union ibv_gid gid = { .raw = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				       224, 9, 9, 9 } };

	return v.ibv_attach_mcast(bed->ud, &gid, 0);
}

static int alloc_dm(struct bed *bed)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return of_pointer(ibv_alloc_dm(bed->ctx, &attr));
}

static int open_xrcd(struct bed *bed)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return of_pointer(ibv_open_xrcd(bed->ctx, &attr));
}

static int create_wq(struct bed *bed)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1,
		.pd = bed->pd, .cq = bed->b_cq,
	};

	return of_pointer(ibv_create_wq(bed->ctx, &init));
}

/* A frame that nobody sends goes to a queue pair, which only root may make. */
static int create_flow(struct bed *bed)
{
	static struct ibv_qp *raw;
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow),
			  .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(flow.eth),
			 .val.dst_mac = { 2, 0, 0, 0, 0, 7 },
			 .mask.dst_mac = { 255, 255, 255, 255, 255, 255 } },
	};

	if (!raw)
		raw = make_qp(bed, bed->b_cq, IBV_QPT_RAW_PACKET, NULL);
	return raw ? of_pointer(ibv_create_flow(raw, &flow.attr)) : errno;
}

static int advise_mr(struct bed *bed)
{
	static struct ibv_mr *mr;
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = LEN };

	if (!mr)
		mr = v.ibv_reg_mr(bed->pd, buffer, sizeof(buffer),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return errno;
	sge.lkey = mr->lkey;
	return ibv_advise_mr(bed->pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static const struct call_row {
	const char *verb;
	int (*call)(struct bed *bed);
} calls[] = {
#define CALL(name) { "verb=" #name " ", name }
	CALL(query_port), CALL(alloc_pd), CALL(reg_mr), CALL(rereg_mr),
	CALL(alloc_mw), CALL(create_cq), CALL(resize_cq), CALL(create_srq),
	CALL(modify_srq), CALL(query_srq), CALL(create_qp), CALL(modify_qp),
	CALL(query_qp), CALL(create_ah), CALL(attach_mcast), CALL(alloc_dm),
	CALL(open_xrcd), CALL(create_wq), CALL(create_flow), CALL(advise_mr),
};

static int run_call(struct bed *bed, const char *words)
{
	const struct call_row *row;
	int i, err;

	for (row = calls; row < calls + sizeof(calls) / sizeof(*calls); row++) {
		if (!strstr(words, row->verb))
			continue;
		for (i = 0; i < 2; i++) {
			err = row->call(bed);
			printf("%s: ibv_%.*s(): %s\n", i ? "next call" : "call",
			       (int)strlen(row->verb) - 6, row->verb + 5,
			       err ? strerror(err) : "success");
		}
		return 0;
	}
	return fail("fault recipes: no call for %s", words);
}

/* ---- one recipe ------------------------------------------------------------------------- */

/* "QPN" becomes the number of the QP that sends. */
static void put_number(char *text, size_t size, const char *words, uint32_t qpn)
{
	const char *at = strstr(words, "QPN");

	if (at)
		snprintf(text, size, "%.*s%#x%s", (int)(at - words), words, qpn,
			 at + 3);
	else
		snprintf(text, size, "%s", words);
}

static int provoke(const char *device, const char *words)
{
	struct counters before, after;
	struct bed bed = {
		.device = device,
		.armed = strstr(words, "do=lose-event"),
		/* Only what names a key can lose it; receives end, too. */
		.opcode = strstr(words, "do=revoke") ?
			  IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND,
	};
	uint64_t hits = 0;
	char text[512];
	uint32_t rule;
	int status;

	status = load();
	if (!status)
		status = make_bed(&bed);
	if (status)
		return status;
	read_counters(device, &before);
	put_number(text, sizeof(text), words, strstr(words, "event=SRQ") ?
		   bed.on_srq->qp_num : bed.a->qp_num);
	/* Others use the device, too. An event that happens at once has no process. */
	if (!strstr(words, "do=event"))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " pid=%d", getpid());
	printf("rule: dev=%s %s\n", device, text);
	fflush(stdout);
	status = fault_make(device, text, &rule);
	if (!status) {
		if (strstr(words, "do=event"))
			status = run_event(&bed);
		else if (strstr(words, "do=fail"))
			status = run_call(&bed, words);
		else
			status = run_traffic(&bed, rule);
		if (rule) {
			hits = fault_hits(rule);
			fault_end(rule);
			printf("faults: %llu\n", (unsigned long long)hits);
		}
		read_counters(device, &after);
		print_counters(&before, &after);
	}
	if (!status && rule && !hits)
		status = fail("fault recipes: the fault has not happened");
	return status;
}

/* ---- the command ------------------------------------------------------------------------ */

/* docs/faults.md says what each is for. */
static const struct recipe {
	const char *name;
	const char *words;
} recipes[] = {
#include "recipes.h"
};

static int unknown_recipe(const char *name)
{
	return complain("fault recipes: unknown recipe '%s' ('softhca fault recipes' lists them)",
			name);
}

static void first_device(const char *name, void *arg)
{
	char *device = arg;

	if (!*device)
		snprintf(device, 64, "%s", name);
}

static int run_recipe(const struct call *call)
{
	char device[64] = "";
	struct device found;
	int status;
	size_t i;

	if (!call->nr)
		return complain("fault recipes: --run needs the NAME of a recipe");
	for (i = 0; i < sizeof(recipes) / sizeof(*recipes); i++)
		if (!strcmp(call->word[0], recipes[i].name))
			break;
	if (i == sizeof(recipes) / sizeof(*recipes))
		return unknown_recipe(call->word[0]);
	if (call->nr > 1)
		snprintf(device, sizeof(device), "%s", call->word[1]);
	else
		device_names(first_device, device);
	if (!*device)
		return fail("fault recipes: there is no softhca device (try 'softhca up')");
	/* (which is where its rule has to be made) */
	status = device_find(device, &found);
	if (status)
		return status;
	return provoke(device, recipes[i].words);
}

void recipe_names(void (*each)(const char *name, void *arg), void *arg)
{
	size_t i;

	for (i = 0; i < sizeof(recipes) / sizeof(*recipes); i++)
		each(recipes[i].name, arg);
}

int fault_recipes(const struct call *call)
{
	bool json = call->option[1];
	size_t i, nr = 0;

	if (call->option[0])
		return json ? complain("fault recipes: --json prints the rules, not what --run sees") :
			      run_recipe(call);
	for (i = 0; i < sizeof(recipes) / sizeof(*recipes); i++) {
		if (call->nr && strcmp(call->word[0], recipes[i].name))
			continue;
		/* (names and words need no escapes) */
		if (json)
			printf("%s\n  {\"name\": \"%s\", \"rule\": \"dev=DEV %s\"}",
			       nr ? "," : "[", recipes[i].name, recipes[i].words);
		else
			printf("%s: softhca fault add dev=DEV %s\n", recipes[i].name,
			       recipes[i].words);
		nr++;
	}
	if (!nr)
		return unknown_recipe(call->word[0]);
	if (json)
		puts("\n]");
	return 0;
}
