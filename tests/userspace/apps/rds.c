// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDS over the RDMA transport: datagrams of many sizes in both directions, and
 * RDMA WRITE and READ between the two sockets' memory. Each byte is compared.
 *
 *   rds ADDRESS ADDRESS     two addresses of this machine (or one, twice)
 *
 * Prints "ok NAME", or "not ok NAME # why" at the first failure, and ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/rds.h>

#ifndef SOL_RDS
#define SOL_RDS		276
#endif
#ifndef PF_RDS
#define PF_RDS		21
#endif

#define LARGEST		(1 << 20)
#define GUARD		4096

struct end {
	int fd;
	struct sockaddr_in address;
	uint8_t *buffer;	/* LARGEST bytes, with a guard on each side */
};

static void verdict(const char *name, size_t size, const char *why)
{
	char text[64];

	snprintf(text, sizeof(text), size ? "%s.%zu" : "%s", name, size);
	if (!why) {
		printf("ok %s\n", text);
		return;
	}
	/* later tests would wait as long */
	printf("not ok %s # %s (%s)\n", text, why, strerror(errno));
	exit(1);
}

static void fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++) {
		seed = seed * 1103515245 + 12345;
		bytes[i] = seed >> 16;
	}
}

/* Maximum wait in ms; it only guards against waiting forever. */
static int patience(void)
{
	const char *slow = getenv("SHCA_SLOW");

	return 30000 * (slow ? atoi(slow) : 1);
}

static bool is_right(const uint8_t *bytes, size_t size, unsigned int seed)
{
	uint8_t *expected = malloc(size);
	bool right;

	fill(expected, size, seed);
	right = !memcmp(bytes, expected, size);
	free(expected);
	return right;
}

static void make_end(struct end *end, const char *address, int port)
{
	int transport = RDS_TRANS_IB, size = 4 * LARGEST;

	end->fd = socket(PF_RDS, SOCK_SEQPACKET, 0);
	end->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	end->buffer = mmap(NULL, LARGEST + 2 * GUARD, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* RDS must not use TCP instead. */
	if (end->fd < 0 || end->buffer == MAP_FAILED ||
	    inet_pton(AF_INET, address, &end->address.sin_addr) != 1 ||
	    setsockopt(end->fd, SOL_RDS, SO_RDS_TRANSPORT, &transport, sizeof(transport)) ||
	    setsockopt(end->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(end->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(end->fd, (void *)&end->address, sizeof(end->address)))
		verdict("bind", 0, "no RDS socket on this address");
}

static bool ready(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, patience()) == 1;
}

/* Return: NULL, or the error. */
static const char *datagram(struct end *from, struct end *to, size_t size)
{
	struct sockaddr_in source = {};
	socklen_t length = sizeof(source);
	uint8_t *bytes = malloc(size);
	const char *why = NULL;
	ssize_t n;

	fill(bytes, size, size);
	memset(to->buffer, 0xee, LARGEST + 2 * GUARD);
	if (sendto(from->fd, bytes, size, 0, (void *)&to->address, sizeof(to->address)) != (ssize_t)size)
		why = "sendto";
	else if (!ready(to->fd, POLLIN))
		why = "nothing arrives";
	free(bytes);
	if (why)
		return why;
	n = recvfrom(to->fd, to->buffer, LARGEST + GUARD, 0, (void *)&source, &length);
	if (n != (ssize_t)size)
		return "another length";
	if (memcmp(&source, &from->address, sizeof(source)))
		return "another sender";
	if (!is_right(to->buffer, size, size) || to->buffer[size] != 0xee)
		return "other data";
	return NULL;
}

/* Many at a time, in order. */
static const char *stream(struct end *from, struct end *to)
{
	uint8_t bytes[3000];
	unsigned int sent = 0, got = 0;

	while (got < 500) {
		fill(bytes, sizeof(bytes), sent);
		if (sent < 500 &&
		    sendto(from->fd, bytes, 1 + sent * 5, MSG_DONTWAIT, (void *)&to->address,
			   sizeof(to->address)) > 0) {
			sent++;
			continue;
		}
		if (sent < 500 && errno != EAGAIN && errno != ENOBUFS)
			return "sendto";
		if (!ready(to->fd, POLLIN))
			return "nothing arrives";
		if (recv(to->fd, to->buffer, LARGEST, 0) != 1 + got * 5)
			return "another length, or out of order";
		if (!is_right(to->buffer, 1 + got * 5, got))
			return "other data";
		got++;
	}
	return NULL;
}

/* Reads the notification of an RDMA operation. Return: NULL, or the error. */
static const char *notified(int fd, uint64_t token)
{
	char control[256];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	const struct rds_rdma_notify *notify;
	struct cmsghdr *c;

	if (!ready(fd, POLLIN | POLLERR))
		return "no notification";
	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0)
		return "recvmsg";
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		notify = (void *)CMSG_DATA(c);
		if (c->cmsg_type == RDS_CMSG_RDMA_STATUS && notify->user_token == token)
			return notify->status ? "a status other than success" : NULL;
	}
	return "a message without the notification";
}

/* Sends a datagram with a control message. Return: whether it was sent. */
static bool send_control(struct end *from, struct end *to, int type, const void *data, size_t size)
{
	char control[256] = {}, note[] = "note";
	struct iovec iov = { note, sizeof(note) };
	struct msghdr msg = {
		.msg_name = &to->address,
		.msg_namelen = sizeof(to->address),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(size),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	return sendmsg(from->fd, &msg, 0) == sizeof(note);
}

/* Reads the memory cookie from a datagram of send_control(). */
static bool receive_cookie(int fd, rds_rdma_cookie_t *cookie)
{
	char control[256], note[16];
	struct iovec iov = { note, sizeof(note) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	if (!ready(fd, POLLIN) || recvmsg(fd, &msg, 0) < 0)
		return false;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_type == RDS_CMSG_RDMA_DEST) {
			memcpy(cookie, CMSG_DATA(c), sizeof(*cookie));
			return true;
		}
	return false;
}

/*
 * @write:	the initiator writes to the owner's memory; otherwise it reads.
 *		Fast registration belongs to a connection. So a datagram
 *		announces the memory, and RDS_GET_MR is refused.
 */
static const char *rdma(struct end *initiator, struct end *owner, size_t size, bool write)
{
	struct end *source = write ? initiator : owner, *sink = write ? owner : initiator;
	rds_rdma_cookie_t own_cookie = 0;
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)owner->buffer + GUARD, size },
		.cookie_addr = (uintptr_t)&own_cookie,
		.flags = RDS_RDMA_READWRITE,
	};
	struct rds_iovec local = { (uintptr_t)initiator->buffer + GUARD, size };
	struct rds_rdma_args args = {
		.remote_vec = { 0, size },
		.local_vec_addr = (uintptr_t)&local,
		.nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME | (write ? RDS_RDMA_READWRITE : 0),
		.user_token = size,
	};
	struct rds_free_mr_args free_args = { .flags = RDS_RDMA_INVALIDATE };
	const char *why;
	char note[16];

	memset(sink->buffer, 0xee, LARGEST + 2 * GUARD);
	fill(source->buffer + GUARD, size, size + write);
	if (!send_control(owner, initiator, RDS_CMSG_RDMA_MAP, &map, sizeof(map)))
		return "sendmsg with RDMA_MAP";
	if (!receive_cookie(initiator->fd, &args.cookie))
		return "no cookie arrives";
	if (!send_control(initiator, owner, RDS_CMSG_RDMA_ARGS, &args, sizeof(args)))
		return "sendmsg with RDMA_ARGS";
	why = notified(initiator->fd, size);
	if (why)
		return why;
	/* the datagram that came with it */
	if (!ready(owner->fd, POLLIN) || recv(owner->fd, note, sizeof(note), 0) <= 0)
		return "no datagram";
	if (!is_right(sink->buffer + GUARD, size, size + write) ||
	    sink->buffer[GUARD - 1] != 0xee || sink->buffer[GUARD + size] != 0xee)
		return "other data";
	free_args.cookie = own_cookie;
	if (setsockopt(owner->fd, SOL_RDS, RDS_FREE_MR, &free_args, sizeof(free_args)))
		return "RDS_FREE_MR";
	return NULL;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 1, 100, 4095, 4096, 4097, 65536, 300001, LARGEST };
	static const size_t rdma_sizes[] = { 8, 4096, 10001, 65536, LARGEST };
	struct end a, b;
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: rds ADDRESS ADDRESS\n");
		return 2;
	}
	make_end(&a, argv[1], 4000);
	make_end(&b, argv[2], 4001);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		verdict("to", sizes[i], datagram(&a, &b, sizes[i]));
		verdict("fro", sizes[i], datagram(&b, &a, sizes[i]));
	}
	verdict("stream", 0, stream(&a, &b));
	for (i = 0; i < sizeof(rdma_sizes) / sizeof(*rdma_sizes); i++) {
		verdict("rdma_write", rdma_sizes[i], rdma(&a, &b, rdma_sizes[i], true));
		verdict("rdma_read", rdma_sizes[i], rdma(&a, &b, rdma_sizes[i], false));
	}
	return 0;
}
