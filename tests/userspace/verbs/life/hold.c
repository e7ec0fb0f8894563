// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Holds a device and keeps it busy until it is removed: for tests that remove
 * devices under traffic. It prints a line per phase, so that a script can wait
 * for it:
 *
 *	traffic			requests of all kinds complete, in a loop
 *	alive			after SIGUSR1: many more requests have completed
 *	silent N ms		time without a successful request before the end
 *	longest silence N ms	between two successes, when nothing ended it
 *	ended: REASON		an event, a completion or a failed call
 *
 * Then it keeps the device open until SIGTERM (or leaves at once with --leave),
 * closes it and exits with 0. Wrong data, or an end that no removal explains,
 * give 1.
 *
 *	hold -d DEVICE [-p PEER] [-f 4|6] [-u TIMEOUT] [--idle] [--leave]
 *	hold -d DEVICE --listen PORT | --connect HOST:PORT ...
 *
 * The first form has both ends in this process; the others are two processes.
 * TIMEOUT is the local ACK timeout of the queue pairs as in IBTA, default 14.
 */
#include "util.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#define SLOTS		8
#define SLOT_LEN	(64 * KIB)

static bool idle, leave;
static const char *listen_port, *connect_to;
static volatile sig_atomic_t terminated, asked;
static struct config config;
static uint64_t last_success, longest_silence;

/* One direction of traffic: slots at @from go to the same slots at @to. */
struct stream {
	struct end *end;
	struct buf *mem;
	struct address peer;
	uint64_t posted;
	uint64_t done;
};

static void on_term(int sig)
{
	(void)sig;
	terminated = 1;
}

static void on_usr1(int sig)
{
	(void)sig;
	asked = 1;
}

/* Prints the reason for the end; called once. Never returns. */
static void finish(struct end *end, const char *why)
{
	sigset_t mask, old;

	printf("silent %llu ms\n",
	       (unsigned long long)(millis() - last_success));
	printf("ended: %s\n", why);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &old);
	while (!leave && !terminated)
		sigsuspend(&old);
	/* The device is gone; closing must work nevertheless. */
	ibv_destroy_qp(end->qp);
	REQUIRE_EQ(ibv_close_device(end->nic->ctx), 0);
	printf("closed\n");
	exit(EXIT_SUCCESS);
}

static void look_for_event(struct end *end, int wait_ms)
{
	struct pollfd pfd = { .fd = end->nic->ctx->async_fd,
			      .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&pfd, 1, wait_ms) <= 0)
		return;
	if (ibv_get_async_event(end->nic->ctx, &event))
		finish(end, "the event file is closed");
	ibv_ack_async_event(&event);
	switch (event.event_type) {
	case IBV_EVENT_DEVICE_FATAL:
		finish(end, ibv_event_type_str(event.event_type));
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_COMM_EST:
	/* (as in wait_removal()) */
	case IBV_EVENT_QP_ACCESS_ERR:
		break;
	default:
		FAIL("event %s", ibv_event_type_str(event.event_type));
	}
}

/*
 * Statuses that a removal explains. The regions of a process may go before its
 * queue pairs, here and at the peer. So requests may still use a key that is no
 * longer valid.
 */
static bool is_explained(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_WR_FLUSH_ERR:
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
		return true;
	default:
		return false;
	}
}

static void post_one(struct stream *s)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	size_t off = s->posted % SLOTS * SLOT_LEN;
	struct ibv_sge sge = sge_of(s->mem, off, SLOT_LEN);
	struct ibv_send_wr wr = wr_rdma(s->posted, ops[s->posted % 3], &sge, 1,
					s->peer.va + off, s->peer.rkey);
	struct ibv_send_wr *bad;
	int err;

	err = ibv_post_send(s->end->qp, &wr, &bad);
	if (err == EIO)
		finish(s->end, "posting fails with EIO");
	REQUIRE_EQ(err, 0);
	s->posted++;
}

static void post_receive(struct stream *s, uint64_t id)
{
	struct ibv_sge sge = sge_of(s->mem, SLOTS * SLOT_LEN, SLOT_LEN);
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int err = ibv_post_recv(s->end->qp, &wr, &bad);

	if (err == EIO)
		finish(s->end, "posting fails with EIO");
	REQUIRE_EQ(err, 0);
}

static void success(void)
{
	uint64_t now = millis();

	if (last_success && now - last_success > longest_silence)
		longest_silence = now - last_success;
	last_success = now;
}

/* A request flushed on one CQ has its cause on the other CQ, maybe after we polled it. */
static enum ibv_wc_status cause(struct stream *s, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	while (status == IBV_WC_WR_FLUSH_ERR &&
	       ibv_poll_cq(s->end->scq, 1, &wc) > 0)
		if (wc.status != IBV_WC_SUCCESS)
			status = wc.status;
	return status;
}

static void poll_one(struct stream *s, struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(cq, 1, &wc) <= 0)
		return;
	if (wc.status != IBV_WC_SUCCESS) {
		wc.status = cause(s, wc.status);
		if (!is_explained(wc.status))
			FAIL("completion: %s", ibv_wc_status_str(wc.status));
		finish(s->end, ibv_wc_status_str(wc.status));
	}
	success();
	if (wc.opcode == IBV_WC_RECV)
		post_receive(s, wc.wr_id);
	else
		REQUIRE_EQ(wc.wr_id, s->done++);
}

static void run_traffic(struct stream *s, int nr)
{
	uint64_t alive_at = 0;
	bool told = false;
	unsigned int turn;
	int i;

	for (turn = 0; !terminated; turn++) {
		for (i = 0; i < nr; i++) {
			if (!idle && s[i].posted - s[i].done < SLOTS)
				post_one(&s[i]);
			poll_one(&s[i], s[i].end->scq);
			poll_one(&s[i], s[i].end->rcq);
		}
		if (!told && (idle || s[0].done > 3 * SLOTS)) {
			printf("traffic\n");
			told = true;
		}
		if (asked) {
			asked = 0;
			alive_at = s[0].done + 4 * SLOTS;
		}
		if (alive_at && s[0].done >= alive_at) {
			printf("alive\n");
			alive_at = 0;
		}
		if (idle)
			look_for_event(s[0].end, 1000);
		else if (turn % 64 == 0)
			look_for_event(s[0].end, 0);
		sched_yield();
	}
	printf("longest silence %llu ms\n",
	       (unsigned long long)longest_silence);
	printf("terminated before the device\n");
}

static struct buf memory_make(struct nic *nic)
{
	return buf_make(nic->pd, (SLOTS + 1) * SLOT_LEN, ACCESS_ALL);
}

static struct stream stream_make(struct end *end, struct buf *mem)
{
	struct stream s = { .end = end, .mem = mem };

	return s;
}

static struct address stream_address(const struct stream *s)
{
	struct address address = end_address(s->end);

	address.va = (uintptr_t)s->mem->p;
	address.rkey = s->mem->mr->rkey;
	return address;
}

static void receives(struct stream *s)
{
	uint64_t i;

	for (i = 0; i < 2 * SLOTS; i++)
		post_receive(s, i);
}

static void one_process(void)
{
	struct stream s[2];
	struct buf mem[2];
	struct end a, b;

	pair_make(&a, &b, &config);
	mem[0] = memory_make(a.nic);
	mem[1] = memory_make(b.nic);
	s[0] = stream_make(&a, &mem[0]);
	s[1] = stream_make(&b, &mem[1]);
	s[0].peer = stream_address(&s[1]);
	s[1].peer = stream_address(&s[0]);
	receives(&s[0]);
	receives(&s[1]);
	run_traffic(s, 2);
}

static void two_processes(void)
{
	struct address mine;
	struct stream s;
	struct buf mem;
	struct end end;
	char host[256], *port;
	int fd;

	/*
	 * The kernel destroys the newest objects of a dead process first. While
	 * there is a queue pair, its regions exist, too. So a peer only sees
	 * silence, and no missing region.
	 */
	mem = memory_make(nic_a());
	end = end_make(nic_a(), &config);
	s = stream_make(&end, &mem);
	if (listen_port) {
		fd = tcp_listen(listen_port);
	} else {
		snprintf(host, sizeof(host), "%s", connect_to);
		port = strrchr(host, ':');
		REQUIRE(port);
		*port++ = 0;
		fd = tcp_connect(host, port);
	}
	mine = stream_address(&s);
	s.peer = swap_addresses(fd, &mine);
	REQUIRE_EQ(end_to_init(&end), 0);
	receives(&s);
	REQUIRE_EQ(end_to_rtr(&end, &s.peer), 0);
	REQUIRE_EQ(end_to_rts(&end), 0);
	/* Neither begins before both are ready. */
	swap_addresses(fd, &mine);
	run_traffic(&s, 1);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "peer", required_argument, NULL, 'p' },
		{ "family", required_argument, NULL, 'f' },
		{ "idle", no_argument, NULL, 'i' },
		{ "leave", no_argument, NULL, 'l' },
		{ "listen", required_argument, NULL, 'L' },
		{ "connect", required_argument, NULL, 'C' },
		{}
	};
	struct sigaction action = { .sa_handler = on_term };
	int c;

	config = config_default;

	while ((c = getopt_long(argc, argv, "d:p:f:u:", longs, NULL)) >= 0) {
		switch (c) {
		case 'd':
			options.device = optarg;
			break;
		case 'p':
			options.peer = optarg;
			break;
		case 'f':
			options.family = atoi(optarg);
			break;
		case 'u':
			config.timeout = atoi(optarg);
			break;
		case 'i':
			idle = true;
			break;
		case 'l':
			leave = true;
			break;
		case 'L':
			listen_port = optarg;
			break;
		case 'C':
			connect_to = optarg;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_usr1;
	sigaction(SIGUSR1, &action, NULL);
	if (listen_port || connect_to)
		two_processes();
	else
		one_process();
	return EXIT_SUCCESS;
}
