// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SMC-R: a TCP connection whose data uses RDMA. The distribution has no
 * smc-tools.
 *
 *   smc pnet PNETID NETDEV DEVICE   assigns network and RDMA device to each other;
 *                                   "-" for neither (RDMA devices in the initial
 *                                   namespace only)
 *   smc eid EID                     a peer with the same EID may use SMC-R version 2
 *   smc server PORT                 echoes the data of one connection until it ends
 *   smc client ADDRESS PORT BYTES   sends, and compares the echo; fails if the
 *                                   connection fell back to TCP
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#ifndef AF_SMC
#define AF_SMC		43
#endif

static int die(const char *what)
{
	fprintf(stderr, "smc: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- settings, over generic netlink ------------------------------------------ */

static struct nl_sock *sock;

static struct nl_msg *request(const char *family, int version, int command)
{
	struct nl_msg *msg = nlmsg_alloc();
	int id;

	sock = nl_socket_alloc();
	if (!sock || !msg || genl_connect(sock) < 0)
		die("netlink");
	id = genl_ctrl_resolve(sock, family);
	if (id < 0)
		die("this kernel has no SMC (modprobe smc)");
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, id, 0, NLM_F_ACK, command, version);
	return msg;
}

static int answer(struct nl_msg *msg)
{
	int err = nl_send_sync(sock, msg);

	if (err < 0)
		fprintf(stderr, "smc: %s\n", nl_geterror(err));
	return err < 0;
}

static int set_pnet(char **argv)
{
	struct nl_msg *msg = request(SMCR_GENL_FAMILY_NAME, SMCR_GENL_FAMILY_VERSION, SMC_PNETID_ADD);

	nla_put_string(msg, SMC_PNETID_NAME, argv[0]);
	if (strcmp(argv[1], "-"))
		nla_put_string(msg, SMC_PNETID_ETHNAME, argv[1]);
	if (strcmp(argv[2], "-")) {
		nla_put_string(msg, SMC_PNETID_IBNAME, argv[2]);
		nla_put_u8(msg, SMC_PNETID_IBPORT, 1);
	}
	return answer(msg);
}

static int set_eid(const char *eid)
{
	struct nl_msg *msg = request(SMC_GENL_FAMILY_NAME, SMC_GENL_FAMILY_VERSION, SMC_NETLINK_ADD_UEID);
	char padded[SMC_MAX_EID_LEN + 1];

	/* capital letters and digits, with blanks to the full length */
	snprintf(padded, sizeof(padded), "%-*s", SMC_MAX_EID_LEN, eid);
	nla_put_string(msg, SMC_NLA_EID_TABLE_ENTRY, padded);
	return answer(msg);
}

/* ---- mode of a connection ----------------------------------------------------- */

/* Return: mode of the connected SMC socket with this local port, or -1. */
static int mode_of(int port, uint32_t *reason)
{
	struct {
		struct nlmsghdr hdr;
		struct smc_diag_req req;
	} ask = {
		.hdr = { sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
		.req = { .diag_family = AF_SMC, .diag_ext = 1 << (SMC_DIAG_FALLBACK - 1) },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG), mode = -1;
	char buffer[32768];

	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) < 0)
		die("sock_diag");
	for (;;) {
		int n = recv(fd, buffer, sizeof(buffer), 0);
		struct nlmsghdr *h = (void *)buffer;

		if (n <= 0)
			die("sock_diag");
		for (; NLMSG_OK(h, (unsigned int)n); h = NLMSG_NEXT(h, n)) {
			const struct smc_diag_msg *m = NLMSG_DATA(h);
			struct nlattr *attr;

			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				close(fd);
				return mode;
			}
			if (ntohs(m->id.idiag_sport) != port || !m->id.idiag_dport)
				continue;
			mode = m->diag_mode;
			attr = nlmsg_find_attr(h, sizeof(*m), SMC_DIAG_FALLBACK);
			if (attr && (size_t)nla_len(attr) >= sizeof(*reason))
				memcpy(reason, nla_data(attr), sizeof(*reason));
		}
	}
}

/* ---- data --------------------------------------------------------------------- */

static int server(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_SMC, SOCK_STREAM, 0), peer, on = 1;
	static char buffer[200000];
	ssize_t n, done, part;

	if (fd < 0)
		die("socket(AF_SMC)");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (void *)&address, sizeof(address)) || listen(fd, 1))
		die("listen");
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		die("accept");
	while ((n = recv(peer, buffer, sizeof(buffer), 0)) > 0)
		for (done = 0; done < n; done += part) {
			part = send(peer, buffer + done, n - done, MSG_NOSIGNAL);
			if (part <= 0)
				die("send");
		}
	return n < 0 ? die("recv") : 0;
}

static uint8_t byte_at(uint64_t at)
{
	return (at * 2654435761u) >> 13 ^ at;
}

static int client(const char *host, int port, uint64_t bytes)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_SMC, SOCK_STREAM, 0), mode;
	static uint8_t buffer[150000];
	uint64_t sent = 0, got = 0;
	uint32_t reason = 0;
	ssize_t n, i;

	if (fd < 0)
		die("socket(AF_SMC)");
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
	    connect(fd, (void *)&address, sizeof(address)))
		die("connect");
	getsockname(fd, (void *)&address, &length);
	while (got < bytes) {
		struct pollfd p = { .fd = fd, .events = POLLIN | (sent < bytes ? POLLOUT : 0) };

		if (poll(&p, 1, 60000) != 1)
			die("poll");
		if (p.revents & POLLOUT) {
			/* various sizes */
			size_t size = 1 + sent * 7 % sizeof(buffer);

			if (size > bytes - sent)
				size = bytes - sent;
			for (i = 0; i < (ssize_t)size; i++)
				buffer[i] = byte_at(sent + i);
			n = send(fd, buffer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				die("send");
			sent += n > 0 ? n : 0;
		}
		n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN))
			die("recv");
		for (i = 0; i < n; i++)
			if (buffer[i] != byte_at(got + i)) {
				fprintf(stderr, "smc: byte %llu is wrong\n", (unsigned long long)(got + i));
				return 1;
			}
		got += n > 0 ? n : 0;
	}
	mode = mode_of(ntohs(address.sin_port), &reason);
	close(fd);
	if (mode != SMC_DIAG_MODE_SMCR) {
		fprintf(stderr, "smc: not SMC-R but mode %d (1: TCP, reason 0x%08x)\n", mode, reason);
		return 1;
	}
	printf("right: %llu bytes to and fro by SMC-R\n", (unsigned long long)bytes);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "pnet"))
		return set_pnet(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "eid"))
		return set_eid(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "server"))
		return server(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "client"))
		return client(argv[2], atoi(argv[3]), strtoull(argv[4], NULL, 0));
	fprintf(stderr, "usage: smc pnet PNETID NETDEV DEVICE | eid EID | server PORT | client ADDRESS PORT BYTES\n");
	return 2;
}
