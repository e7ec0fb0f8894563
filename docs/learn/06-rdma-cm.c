// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lesson 6: rdma_cm finds the device by an IP address and connects queue pairs.
 *
 *   06-rdma-cm              the server
 *   06-rdma-cm ADDRESS      the client
 */
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT	"7471"

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

/* An endpoint: a queue pair with its own completion queues (or a listener) */
static struct rdma_cm_id *endpoint(const char *address)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *found;
	struct rdma_cm_id *id;

	if (!address)
		hints.ai_flags = RAI_PASSIVE;
	check(rdma_getaddrinfo(address, PORT, &hints, &found), "rdma_getaddrinfo");
	check(rdma_create_ep(&id, found, NULL, &init), "rdma_create_ep");
	rdma_freeaddrinfo(found);
	return id;
}

/* One message in each direction; the server receives first. */
static void talk(struct rdma_cm_id *id, const char *text, int is_server)
{
	static char in[64], out[64];
	struct ibv_mr *in_mr = rdma_reg_msgs(id, in, sizeof(in));
	struct ibv_mr *out_mr = rdma_reg_msgs(id, out, sizeof(out));
	struct rdma_conn_param param = { .private_data = text, .private_data_len = strlen(text) + 1,
					 .rnr_retry_count = 7, .retry_count = 7 };
	struct ibv_wc wc;

	check(!in_mr || !out_mr, "rdma_reg_msgs");
	/* A receive request is there before the peer may send. */
	check(rdma_post_recv(id, NULL, in, sizeof(in), in_mr), "rdma_post_recv");
	if (is_server)
		check(rdma_accept(id, &param), "rdma_accept");
	else
		check(rdma_connect(id, &param), "rdma_connect");
	if (!is_server)
		printf("%s connected\n", text);
	strcpy(out, text);
	if (is_server)
		check(rdma_get_recv_comp(id, &wc) < 0, "rdma_get_recv_comp");
	check(rdma_post_send(id, NULL, out, sizeof(out), out_mr, IBV_SEND_SIGNALED), "rdma_post_send");
	check(rdma_get_send_comp(id, &wc) < 0, "rdma_get_send_comp");
	if (!is_server)
		check(rdma_get_recv_comp(id, &wc) < 0, "rdma_get_recv_comp");
	printf("%s has received: %s\n", text, in);
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener, *id;

	alarm(120);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		id = endpoint(argv[1]);
		talk(id, "client", 0);
		check(rdma_disconnect(id), "rdma_disconnect");
		return 0;
	}
	listener = endpoint(NULL);
	check(rdma_listen(listener, 1), "rdma_listen");
	printf("server listens on port " PORT "\n");
	check(rdma_get_request(listener, &id), "rdma_get_request");
	printf("server is asked by: %s\n", (const char *)id->event->param.conn.private_data);
	talk(id, "server", 1);
	/* The client leaves first. */
	rdma_disconnect(id);
	return 0;
}
