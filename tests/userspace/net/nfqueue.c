// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A firewall in user space that accepts everything. It takes the packets of a
 * netfilter queue, super-packets (GSO) unsplit, and accepts each. Code after
 * the queue then runs in this process's system call.
 *
 *   nfqueue QUEUE
 *
 * Prints "ready"; at SIGTERM "packets N batches M", and ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <libnetfilter_queue/libnetfilter_queue.h>

#define QUEUE_LEN	4096
/* Room for the kernel's messages, without packet contents. */
#define RCVBUF		(8 * 1024 * 1024)

static volatile sig_atomic_t stop;
static unsigned long packets, batches;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static int on_packet(struct nfq_q_handle *queue, struct nfgenmsg *msg,
		     struct nfq_data *data, void *arg)
{
	struct nfqnl_msg_packet_hdr *hdr = nfq_get_msg_packet_hdr(data);

	(void)msg;
	(void)arg;
	if (!hdr)
		return -1;
	packets++;
	batches += !!(nfq_get_skbinfo(data) & NFQA_SKB_GSO);
	return nfq_set_verdict(queue, ntohl(hdr->packet_id), NF_ACCEPT, 0,
			       NULL);
}

int main(int argc, char **argv)
{
	/* No SA_RESTART, so that the signal ends recv(). */
	struct sigaction term = { .sa_handler = on_term };
	struct nfq_q_handle *queue;
	struct nfq_handle *nfq;
	char buf[65536];
	ssize_t n;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: nfqueue QUEUE\n");
		return EXIT_FAILURE;
	}
	sigaction(SIGTERM, &term, NULL);
	nfq = nfq_open();
	if (!nfq)
		die("nfq_open");
	queue = nfq_create_queue(nfq, atoi(argv[1]), on_packet, NULL);
	if (!queue)
		die("nfq_create_queue");
	if (nfq_set_mode(queue, NFQNL_COPY_META, 0) < 0 ||
	    nfq_set_queue_maxlen(queue, QUEUE_LEN) < 0 ||
	    nfq_set_queue_flags(queue, NFQA_CFG_F_GSO, NFQA_CFG_F_GSO) < 0)
		die("nfq_set_queue_flags");
	fd = nfq_fd(nfq);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ RCVBUF },
		   sizeof(int));
	printf("ready\n");
	fflush(stdout);
	while (!stop) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n >= 0)
			nfq_handle_packet(nfq, buf, n);
		else if (errno != EINTR && errno != ENOBUFS)
			die("recv");
	}
	printf("packets %lu batches %lu\n", packets, batches);
	return EXIT_SUCCESS;
}
