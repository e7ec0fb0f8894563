// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program with rdma_cm that meets a dead peer: the client sends numbered messages. Where
 * one fails, it connects anew and sends this message again. The server sees each number at
 * least once, and in order: a message may arrive although its sender has heard nothing.
 *
 *   cc -o reconnect reconnect.c -lrdmacm -libverbs
 *   ./reconnect                   the server; ends after the last message
 *   ./reconnect ADDRESS [MESSAGES]
 */
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT	"7472"
#define TRIES	20

struct message {
	uint32_t number;
	uint32_t last;	/* the number of the last one */
};

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

static struct rdma_cm_id *endpoint(const char *address)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *found;
	struct rdma_cm_id *id;

	if (!address)
		hints.ai_flags = RAI_PASSIVE;
	check(rdma_getaddrinfo(address, PORT, &hints, &found), "rdma_getaddrinfo");
	if (rdma_create_ep(&id, found, NULL, &init))
		id = NULL;
	rdma_freeaddrinfo(found);
	return id;
}

/* ---- the client ---------------------------------------------------------------------- */

static struct message out;
static struct ibv_mr *out_mr;

/* Return: a connection, or NULL if nobody answers. */
static struct rdma_cm_id *connect_to(const char *address)
{
	/* A request is sent four times, then its peer counts as dead. */
	struct rdma_conn_param param = { .retry_count = 3, .rnr_retry_count = 7 };
	/* The first of them waits 4.096 us << 14: 67 ms. rdma_cm's own choice is a second. */
	uint8_t timeout = 14;
	struct rdma_cm_id *id = endpoint(address);

	if (!id)
		return NULL;
	check(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			      sizeof(timeout)), "rdma_set_option");
	out_mr = rdma_reg_msgs(id, &out, sizeof(out));
	check(!out_mr, "rdma_reg_msgs");
	if (!rdma_connect(id, &param))
		return id;
	rdma_dereg_mr(out_mr);
	rdma_destroy_ep(id);
	return NULL;
}

static void leave(struct rdma_cm_id *id)
{
	rdma_disconnect(id);
	rdma_dereg_mr(out_mr);
	rdma_destroy_ep(id);
}

static struct rdma_cm_id *reconnect(const char *address)
{
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < TRIES; i++) {
		id = connect_to(address);
		if (id)
			return id;
		usleep(100000);
	}
	fprintf(stderr, "client: nobody answers at %s: %s\n", address, strerror(errno));
	exit(1);
}

static int send_all(const char *address, uint32_t messages)
{
	struct rdma_cm_id *id = reconnect(address);
	unsigned int deaths = 0;
	struct ibv_wc wc;

	out.last = messages;
	out.number = 1;
	while (out.number <= messages) {
		check(rdma_post_send(id, NULL, &out, sizeof(out), out_mr, IBV_SEND_SIGNALED),
		      "rdma_post_send");
		check(rdma_get_send_comp(id, &wc) < 0, "rdma_get_send_comp");
		if (wc.status == IBV_WC_SUCCESS) {
			out.number++;
			continue;
		}
		/* Nothing more goes through this queue pair. */
		printf("client: message %u: %s\n", out.number, ibv_wc_status_str(wc.status));
		deaths++;
		leave(id);
		id = reconnect(address);
		printf("client: connected again\n");
	}
	leave(id);
	printf("client: sent %u messages, met a dead peer %u times\n", messages, deaths);
	return 0;
}

/* ---- the server ---------------------------------------------------------------------- */

static struct message in[4];

static void post_receive(struct rdma_cm_id *id, struct ibv_mr *mr, struct message *m)
{
	check(rdma_post_recv(id, m, m, sizeof(*m), mr), "rdma_post_recv");
}

/* Return: has the client gone? Its DREQ is an event, and no completion comes of it. */
static int is_gone(struct rdma_cm_id *id)
{
	struct pollfd fd[] = { { .fd = id->channel->fd, .events = POLLIN },
			       { .fd = id->recv_cq_channel->fd, .events = POLLIN } };

	check(ibv_req_notify_cq(id->recv_cq, 0), "ibv_req_notify_cq");
	check(poll(fd, 2, 10) < 0 && errno != EINTR, "poll");
	return fd[0].revents & POLLIN;
}

/* Takes what one connection brings. Return: the number received last. */
static uint32_t serve(struct rdma_cm_id *id, uint32_t last, unsigned int *twice)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, in, sizeof(in));
	struct rdma_conn_param param = { .retry_count = 3, .rnr_retry_count = 7 };
	struct message *m;
	struct ibv_wc wc;
	int i, nr, gone = 0;

	check(!mr, "rdma_reg_msgs");
	for (i = 0; i < 4; i++)
		post_receive(id, mr, &in[i]);
	check(rdma_accept(id, &param), "rdma_accept");
	do {
		nr = ibv_poll_cq(id->recv_cq, 1, &wc);
		if (!nr) {
			/* What has come before the farewell is taken first. */
			if (gone)
				break;
			gone = is_gone(id);
			continue;
		}
		if (nr < 0 || wc.status != IBV_WC_SUCCESS)
			break;
		m = (struct message *)(uintptr_t)wc.wr_id;
		if (m->number == last) {
			++*twice;
		} else if (m->number != last + 1) {
			fprintf(stderr, "server: %u after %u\n", m->number, last);
			exit(1);
		}
		last = m->number;
		post_receive(id, mr, m);
	} while (1);
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	return last;
}

static int receive_all(void)
{
	struct rdma_cm_id *listener = endpoint(NULL), *id;
	unsigned int connections = 0, twice = 0;
	uint32_t last = 0, end = 0;

	check(!listener || rdma_listen(listener, 4), "rdma_listen");
	printf("server: listens on port " PORT "\n");
	do {
		check(rdma_get_request(listener, &id), "rdma_get_request");
		connections++;
		last = serve(id, last, &twice);
		end = in[0].last;
		rdma_destroy_ep(id);
	} while (!end || last < end);
	printf("server: %u messages in order, %u of them twice, by %u connections\n", last, twice,
	       connections);
	rdma_destroy_ep(listener);
	return 0;
}

int main(int argc, char **argv)
{
	alarm(300);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 1)
		return receive_all();
	return send_all(argv[1], argc > 2 ? strtoul(argv[2], NULL, 10) : 100);
}
