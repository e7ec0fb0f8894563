// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Measures what a stream brings to its destination over a network that loses,
 * delays or reorders.  Checks that every byte of it is right.  Alternatively
 * measures how long round trips take.
 *
 *   goodput [OPTION]... DEVICE GID-INDEX PEER GID-INDEX
 *
 *   -o WRITE|READ|SEND|ROUND   what; ROUND: two threads send to each other, in turns
 *   -s BYTES  -m PATH-MTU      of a message (65536), of a packet (1024)
 *   -q QPS  -D DEPTH           queue pairs, requests outstanding on each
 *   -t SECONDS  -w SECONDS     how long it is counted (1), how long it runs before that (0.2)
 *   -n MESSAGES                no longer than this takes, of each queue pair; round trips
 *   -T CODE                    of the acknowledgement time-out (14: 67 ms)
 *
 * prints one line of JSON.  "bytes" are those of whole messages, counted where the
 * data is wanted.  That is the requester of a WRITE (acknowledged) and of a READ,
 * and the receiver of a SEND.  Each message is a piece of one random text.  It
 * begins elsewhere in it than the message that was in the same memory before.  Each
 * is compared with what it should be, and "wrong" counts those that differ.  A
 * completion in error ends its queue pair, and "error" names it.
 *
 * All threads sleep on completion channels, so that the CPUs are there for the packets.
 * "median_us" and "p99_us" are of half a round trip, as perftest has them.
 */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "util.h"

/* Where messages may begin in the text: a prime, in steps of 8 bytes. */
#define STARTS		1021
/* Receives for each request that may be outstanding: nobody waits for one. */
#define RECV_FACTOR	4
#define POLL_BATCH	16
/* Nothing comes for so long: look at the clock. */
#define NAP_MS		50
/* Time limit of the requests that are outstanding at the end. */
#define DRAIN_SECONDS	2
#define MAX_SAMPLES	2000000

enum what { WRITE, READ, SEND, ROUND };

static const char *const names[] = { "WRITE", "READ", "SEND", "ROUND" };

static struct {
	enum what what;
	uint32_t size;
	int mtu;
	int qps;
	int depth;
	double seconds;
	double warm;
	uint64_t messages;
	uint8_t timeout;
} setting = {
	.size = 65536,
	.mtu = 1024,
	.qps = 1,
	.depth = 64,
	.seconds = 1,
	.warm = 0.2,
	.messages = UINT64_MAX,
	.timeout = 14,
};

/* CLOCK_MONOTONIC in nanoseconds: counted from @begin to @end. */
static uint64_t begin, end;

/**
 * struct flow - one queue pair's stream
 * @text:	what is sent: at the requester, of a READ at the responder
 * @slots:	where it arrives, one message beside the other
 * @posted:	requests
 * @done:	of them completed
 * @received:	messages of SEND
 * @bytes:	of those that were counted
 * @wrong:	messages that were not what they should be
 * @stopped:	when the last of the messages arrived that were to be counted, 0: not yet
 * @error:	status of the first completion in error, of one that was not flushed if
 *		there is one
 */
struct flow {
	struct end a;
	struct end b;
	struct buf text;
	struct buf slots;
	uint64_t posted;
	uint64_t done;
	uint64_t received;
	uint64_t bytes;
	uint64_t wrong;
	atomic_ullong stopped;
	atomic_int error;
	pthread_t requester;
	pthread_t receiver;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint32_t nr_slots(void)
{
	return setting.what == SEND ? setting.depth * RECV_FACTOR :
				      setting.depth;
}

static size_t start_of(uint64_t message)
{
	return message % STARTS * 8;
}

static size_t slot_of(uint64_t message)
{
	return message % nr_slots() * setting.size;
}

static bool is_over(const struct flow *f, uint64_t at)
{
	return at >= end || f->stopped;
}

/* Message @nr has arrived. */
static void arrived(struct flow *f, uint64_t nr)
{
	uint64_t at = now();

	if (memcmp(f->slots.p + slot_of(nr), f->text.p + start_of(nr),
		   setting.size)) {
		if (!f->wrong++)
			fprintf(stderr, "message %llu of QP %u is wrong\n",
				(unsigned long long)nr, f->b.qp->qp_num);
	}
	if (at < begin || is_over(f, at))
		return;
	f->bytes += setting.size;
	if (f->bytes / setting.size == setting.messages)
		f->stopped = at;
}

static void failed(struct flow *f, const struct ibv_wc *wc)
{
	int before = IBV_WC_WR_FLUSH_ERR, none = IBV_WC_SUCCESS;

	if (!atomic_compare_exchange_strong(&f->error, &none, wc->status))
		atomic_compare_exchange_strong(&f->error, &before, wc->status);
}

/* Until something may have completed to @cq, or for a moment. */
static void nap(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *of;
	void *context;

	if (poll(&fd, 1, NAP_MS) <= 0)
		return;
	REQUIRE_EQ(ibv_get_cq_event(channel, &of, &context), 0);
	ibv_ack_cq_events(of, 1);
	REQUIRE_EQ(ibv_req_notify_cq(cq, 0), 0);
}

static void post_message(struct flow *f)
{
	uint64_t nr = f->posted++;
	size_t start = start_of(nr), slot = slot_of(nr);
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (setting.what == READ) {
		sge = sge_of(&f->slots, slot, setting.size);
		wr = wr_rdma(nr, IBV_WR_RDMA_READ, &sge, 1,
			     (uintptr_t)f->text.p + start, f->text.mr->rkey);
	} else {
		sge = sge_of(&f->text, start, setting.size);
		if (setting.what == SEND)
			wr = wr_send(nr, &sge, 1);
		else
			wr = wr_rdma(nr, IBV_WR_RDMA_WRITE, &sge, 1,
				     (uintptr_t)f->slots.p + slot,
				     f->slots.mr->rkey);
	}
	post(&f->a, &wr);
}

static void post_slot(struct flow *f, uint64_t nr)
{
	struct ibv_sge sge = sge_of(&f->slots, slot_of(nr), setting.size);

	post_recv(&f->b, nr, &sge, 1);
}

static void *request(void *arg)
{
	struct flow *f = arg;
	struct ibv_wc wc[POLL_BATCH];
	uint64_t at;
	int i, n;

	REQUIRE_EQ(ibv_req_notify_cq(f->a.scq, 0), 0);
	while ((at = now()) < end + DRAIN_SECONDS * 1000000000ull &&
	       !f->error) {
		while (!is_over(f, at) &&
		       f->posted - f->done < (uint64_t)setting.depth)
			post_message(f);
		n = ibv_poll_cq(f->a.scq, POLL_BATCH, wc);
		REQUIRE(n >= 0);
		for (i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				failed(f, &wc[i]);
			else if (setting.what != SEND)
				arrived(f, f->done);
			f->done++;
		}
		if (n)
			continue;
		if (is_over(f, at) && f->done == f->posted)
			break;
		nap(f->a.channel, f->a.scq);
	}
	return NULL;
}

static void *receive(void *arg)
{
	struct flow *f = arg;
	struct ibv_wc wc[POLL_BATCH];
	uint64_t at;
	int i, n;

	REQUIRE_EQ(ibv_req_notify_cq(f->b.rcq, 0), 0);
	while (!is_over(f, at = now()) && !f->error) {
		n = ibv_poll_cq(f->b.rcq, POLL_BATCH, wc);
		REQUIRE(n >= 0);
		for (i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS) {
				failed(f, &wc[i]);
				continue;
			}
			arrived(f, f->received);
			post_slot(f, f->received++);
		}
		if (!n)
			nap(f->b.channel, f->b.rcq);
	}
	return NULL;
}

static void flow_make(struct flow *f, const struct config *config, int nr)
{
	size_t text_len = setting.size + STARTS * 8;
	bool is_read = setting.what == READ;
	uint32_t i;

	pair_make(&f->a, &f->b, config);
	f->text = buf_make(is_read ? f->b.nic->pd : f->a.nic->pd, text_len,
			   ACCESS_ALL);
	f->slots = buf_make(is_read ? f->a.nic->pd : f->b.nic->pd,
			    (size_t)nr_slots() * setting.size, ACCESS_ALL);
	fill(f->text.p, text_len, nr + 1);
	for (i = 0; setting.what == SEND && i < nr_slots(); i++)
		post_slot(f, i);
}

static void streams(const struct config *config)
{
	struct flow *flows = calloc(setting.qps, sizeof(*flows));
	int i, error = IBV_WC_SUCCESS;
	uint64_t bytes = 0, wrong = 0, last = 0;

	REQUIRE(flows);
	for (i = 0; i < setting.qps; i++)
		flow_make(&flows[i], config, i);
	begin = now() + setting.warm * 1e9;
	end = begin + setting.seconds * 1e9;
	for (i = 0; i < setting.qps; i++) {
		struct flow *f = &flows[i];

		REQUIRE_EQ(pthread_create(&f->requester, NULL, request, f), 0);
		if (setting.what == SEND)
			REQUIRE_EQ(pthread_create(&f->receiver, NULL, receive,
						  f), 0);
	}
	for (i = 0; i < setting.qps; i++) {
		struct flow *f = &flows[i];

		REQUIRE_EQ(pthread_join(f->requester, NULL), 0);
		if (setting.what == SEND)
			REQUIRE_EQ(pthread_join(f->receiver, NULL), 0);
		bytes += f->bytes;
		wrong += f->wrong;
		if (error == IBV_WC_SUCCESS || error == IBV_WC_WR_FLUSH_ERR)
			error = f->error ? f->error : error;
		if (!f->stopped)
			f->stopped = end;
		if (f->stopped > last)
			last = f->stopped;
	}
	printf("{\"bytes\": %llu, \"seconds\": %g, \"wrong\": %llu, \"error\": \"%s\", \"flows\": [",
	       (unsigned long long)bytes, (last - begin) / 1e9,
	       (unsigned long long)wrong,
	       error ? ibv_wc_status_str(error) : "");
	for (i = 0; i < setting.qps; i++)
		printf("%s%llu", i ? ", " : "",
		       (unsigned long long)flows[i].bytes);
	puts("]}");
}

/* ---- round trips --------------------------------------------------------- */

struct player {
	struct end *end;
	struct buf buf;
	const char *error;
	bool is_flushed;
};

static atomic_bool over;

/* What is known of why a request of @p has failed. */
static void look_at(struct player *p, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS && (!p->error || p->is_flushed)) {
		p->error = ibv_wc_status_str(wc->status);
		p->is_flushed = wc->status == IBV_WC_WR_FLUSH_ERR;
	}
}

static void reap_sends(struct player *p)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(p->end->scq, 1, &wc) > 0)
		look_at(p, &wc);
}

/* Return: false: it is over. */
static bool wait_message(struct player *p)
{
	struct ibv_sge sge = sge_of(&p->buf, setting.size, setting.size);
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(p->end->rcq, 1, &wc))) {
		if (over)
			return false;
		nap(p->end->channel, p->end->rcq);
	}
	REQUIRE(n >= 0);
	if (wc.status != IBV_WC_SUCCESS) {
		look_at(p, &wc);
		reap_sends(p);
		over = true;
		return false;
	}
	post_recv(p->end, 0, &sge, 1);
	return true;
}

static void send_message(struct player *p)
{
	struct ibv_sge sge = sge_of(&p->buf, 0, setting.size);
	struct ibv_send_wr wr = wr_send(0, &sge, 1);

	/* a place in the send queue, of what has been answered long ago */
	reap_sends(p);
	post(p->end, &wr);
}

static void *answer(void *arg)
{
	struct player *p = arg;

	while (wait_message(p))
		send_message(p);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct player player_make(struct end *of)
{
	struct player p = {
		.end = of,
		.buf = buf_make(of->nic->pd, 2 * setting.size, ACCESS_ALL),
	};
	struct ibv_sge sge = sge_of(&p.buf, setting.size, setting.size);
	int i;

	for (i = 0; i < setting.depth; i++)
		post_recv(of, 0, &sge, 1);
	REQUIRE_EQ(ibv_req_notify_cq(of->rcq, 0), 0);
	return p;
}

static void round_trips(const struct config *config)
{
	uint32_t *samples = calloc(MAX_SAMPLES, sizeof(*samples));
	struct player asks, answers;
	struct end a, b;
	uint64_t before, at;
	pthread_t thread;
	size_t n = 0;

	REQUIRE(samples);
	pair_make(&a, &b, config);
	asks = player_make(&a);
	answers = player_make(&b);
	REQUIRE_EQ(pthread_create(&thread, NULL, answer, &answers), 0);
	begin = now() + setting.warm * 1e9;
	end = begin + setting.seconds * 1e9;
	while ((before = now()) < end && n < MAX_SAMPLES &&
	       n < setting.messages) {
		send_message(&asks);
		if (!wait_message(&asks))
			break;
		at = now();
		if (before >= begin)
			samples[n++] = (at - before) / 2;
	}
	over = true;
	pthread_join(thread, NULL);
	qsort(samples, n, sizeof(*samples), compare);
	printf("{\"samples\": %zu, \"median_us\": %.3f, \"p99_us\": %.3f, \"max_us\": %.3f, \"wrong\": 0, \"error\": \"%s\"}\n",
	       n, n ? samples[n / 2] / 1e3 : 0,
	       n ? samples[n - 1 - n / 100] / 1e3 : 0,
	       n ? samples[n - 1] / 1e3 : 0,
	       asks.error ? asks.error : answers.error ? answers.error : "");
}

/* -------------------------------------------------------------------------- */

static enum what what_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return i;
	FAIL("no operation %s\n", name);
}

static enum ibv_mtu mtu_of(int bytes)
{
	return bytes == 4096 ? IBV_MTU_4096 : bytes == 2048 ? IBV_MTU_2048 :
	       bytes == 1024 ? IBV_MTU_1024 : 0;
}

int main(int argc, char **argv)
{
	struct config config = config_default;
	int c;

	while ((c = getopt(argc, argv, "o:s:m:q:D:t:w:n:T:")) >= 0) {
		switch (c) {
		case 'o':
			setting.what = what_of(optarg);
			break;
		case 's':
			setting.size = atoi(optarg);
			break;
		case 'm':
			setting.mtu = atoi(optarg);
			break;
		case 'q':
			setting.qps = atoi(optarg);
			break;
		case 'D':
			setting.depth = atoi(optarg);
			break;
		case 't':
			setting.seconds = atof(optarg);
			break;
		case 'w':
			setting.warm = atof(optarg);
			break;
		case 'n':
			setting.messages = atoll(optarg);
			break;
		case 'T':
			setting.timeout = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 4 || setting.qps < 1 || setting.depth < 1) {
		fputs("usage: goodput [OPTION]... DEVICE GID PEER GID\n",
		      stderr);
		return 2;
	}
	options.device = argv[optind];
	options.gid[0] = atoi(argv[optind + 1]);
	options.peer = argv[optind + 2];
	options.gid[1] = atoi(argv[optind + 3]);
	config.max_send_wr = setting.depth;
	config.max_recv_wr = setting.depth * RECV_FACTOR;
	config.cqe = 2 * setting.depth * RECV_FACTOR;
	config.events = true;
	config.mtu = mtu_of(setting.mtu);
	config.timeout = setting.timeout;
	/* as many READs as both can, or the depth would not be reached */
	config.max_rd_atomic = setting.depth < 128 ? setting.depth : 128;
	config.max_dest_rd_atomic = config.max_rd_atomic;
	if (setting.what == ROUND)
		round_trips(&config);
	else
		streams(&config);
	return 0;
}
