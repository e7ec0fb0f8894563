// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The baselines of an RDMA device in `make bench`: the same bytes moved by
 * memcpy(), by TCP and by datagrams.  These are the cheapest ones that carry as
 * much as RoCEv2 does.  Prints MiB/s as the receiver saw them.
 *
 *   baseline copy SIZE SECONDS
 *   baseline turns MICROSECONDS COUNT
 *   baseline tcp FROM_NS FROM_IP TO_NS TO_IP SIZE SECONDS
 *   baseline ceiling FROM_NS FROM_IP TO_NS TO_IP SIZE SECONDS PATH_MTU
 *
 * A namespace is a name below /run/netns, or "-" for this one.  Memory of SIZE
 * bytes is used in turn at both ends, as perftest does.
 *
 * "ceiling": one packet is a header, PATH_MTU bytes and a CRC over both.  As many
 * as fit into 64 KiB leave in one call (UDP GSO) and arrive in one (UDP GRO).  The
 * kernel copies once at each end, and each end runs the CRC once.  A window with
 * rare acknowledgements keeps the receiver's buffer from overflowing.  A packet
 * that is lost or wrong ends the run with an error.
 *
 * "turns": two processes hand each other a word in shared memory and compute for
 * MICROSECONDS before each turn, no system call among it. Prints each half round
 * trip as perftest -U does: what the machine itself does to the tail of a latency.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif
#ifndef UDP_GRO
#define UDP_GRO		104
#endif

#define MIB		(1024.0 * 1024)
/* The largest UDP payload of one IPv4 packet, so of one GSO super-packet. */
#define SUPER_MAX	65507
/* UDP_MAX_SEGMENTS of older kernels */
#define SEGMENTS_MAX	64
/* In super-packets: what may be in flight, and how often that is acknowledged */
#define WINDOW		32
#define ACK_EVERY	8

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static char *memory(size_t size)
{
	char *mem = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	if (!mem)
		err(1, "%zu bytes", size);
	memset(mem, 0x5a, size);
	return mem;
}

static void copy(size_t size, double seconds)
{
	char *from = memory(size), *to = memory(size);
	double start = now(), end;
	uint64_t bytes = 0;

	do {
		/* about as much between two looks at the clock */
		for (size_t done = 0; done < 4 << 20; done += size) {
			memcpy(to, from, size);
			__asm__ volatile("" : : : "memory");
			bytes += size;
		}
		end = now();
	} while (end - start < seconds);
	printf("%.2f\n", bytes / MIB / (end - start));
}

static void compute(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		__asm__ volatile("" : : : "memory");
}

/* compute_steps - how many take a time, as a rule; the best of some tries */
static unsigned long compute_steps(double seconds)
{
	const unsigned long steps = 100000;
	double best = 1, start;

	for (int i = 0; i < 50; i++) {
		start = now();
		compute(steps);
		if (now() - start < best)
			best = now() - start;
	}
	return seconds / best * steps;
}

static void await_turn(const atomic_uint *turn, unsigned int mine)
{
	while (atomic_load(turn) != mine)
		;
}

static void turns(double seconds, unsigned int count)
{
	unsigned long steps = compute_steps(seconds);
	double *taken = calloc(count, sizeof(*taken)), start;
	atomic_uint *turn;
	pid_t pid;

	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!taken || turn == MAP_FAILED)
		err(1, "memory");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned int i = 0; i < count; i++) {
			await_turn(turn, 2 * i + 1);
			compute(steps);
			atomic_store(turn, 2 * i + 2);
		}
		exit(0);
	}
	for (unsigned int i = 0; i < count; i++) {
		start = now();
		compute(steps);
		atomic_store(turn, 2 * i + 1);
		await_turn(turn, 2 * i + 2);
		taken[i] = now() - start;
	}
	/* the first ones wait for the other process to come up */
	for (unsigned int i = count / 10; i < count; i++)
		printf("%u, %.3f\n", i, taken[i] / 2 * 1e6);
}

/* socket_in - a socket belongs to the namespace it was made in */
static int socket_in(const char *ns, int type)
{
	char path[256];
	int fd, home;

	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		err(1, "/proc/self/ns/net");
	if (strcmp(ns, "-")) {
		snprintf(path, sizeof(path), "/run/netns/%s", ns);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET))
			err(1, "%s", path);
		close(fd);
	}
	fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(1, "socket");
	if (setns(home, CLONE_NEWNET))
		err(1, "back to the own namespace");
	close(home);
	return fd;
}

static struct sockaddr_in bind_to(int fd, const char *ip)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1)
		errx(1, "%s: not an IPv4 address", ip);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		err(1, "bind %s", ip);
	return addr;
}

static void connect_to(int fd, const struct sockaddr_in *addr)
{
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		err(1, "connect");
}

/* Nothing takes longer than this; then a packet was lost. */
static void give_up_after(int fd, int seconds)
{
	struct timeval limit = { .tv_sec = seconds };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		err(1, "SO_RCVTIMEO");
}

static void fork_sender(void (*sender)(int, size_t, double, size_t), int fd,
			size_t size, double seconds, size_t mtu)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sender(fd, size, seconds, mtu);
	exit(0);
}

static void sender_was_well(void)
{
	int status;

	if (wait(&status) < 0 || status)
		errx(1, "the sender failed");
}

static void tcp_send(int fd, size_t size, double seconds, size_t mtu)
{
	char *mem = memory(size);
	double end = now() + seconds;
	size_t done;
	ssize_t n;

	(void)mtu;
	while (now() < end) {
		for (done = 0; done < size; done += n) {
			n = send(fd, mem + done, size - done, 0);
			if (n < 0)
				err(1, "send");
		}
	}
	if (shutdown(fd, SHUT_WR))
		err(1, "shutdown");
}

static void tcp(char **arg, size_t size, double seconds)
{
	int from = socket_in(arg[0], SOCK_STREAM);
	int server = socket_in(arg[2], SOCK_STREAM);
	struct sockaddr_in addr = bind_to(server, arg[3]);
	char *mem = memory(size);
	double start, end;
	uint64_t bytes = 0;
	size_t done = 0;
	ssize_t n;
	int to;

	bind_to(from, arg[1]);
	if (listen(server, 1))
		err(1, "listen");
	connect_to(from, &addr);
	to = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	if (to < 0)
		err(1, "accept");
	give_up_after(to, 10);
	fork_sender(tcp_send, from, size, seconds, 0);
	close(from);
	/* from the first bytes to the last */
	n = recv(to, mem, 1, MSG_WAITALL);
	start = now();
	while (n > 0) {
		bytes += n;
		done = (done + n) % size;
		n = recv(to, mem + done, size - done, 0);
	}
	end = now();
	if (n < 0)
		err(1, "recv");
	sender_was_well();
	printf("%.2f\n", bytes / MIB / (end - start));
}

struct header {
	uint32_t seq;
	uint32_t pad[2];
};

/*
 * struct super - where the parts of a super-packet lie
 * @seq:	of the next packet
 * @at:		the next packet's payload in @mem
 */
struct super {
	size_t mtu, size, at;
	unsigned int segments;
	uint32_t seq;
	char *mem;
	struct header header[SEGMENTS_MAX];
	uint32_t crc[SEGMENTS_MAX];
	struct iovec iov[3 * SEGMENTS_MAX];
};

static size_t segment_bytes(const struct super *s)
{
	return sizeof(struct header) + s->mtu + sizeof(uint32_t);
}

static struct super *super_new(size_t size, size_t mtu)
{
	struct super *s = calloc(1, sizeof(*s));

	if (!s)
		err(1, "memory");
	/* whole packets only: GSO wants them to be of one size */
	s->size = size < mtu ? mtu : size / mtu * mtu;
	s->mtu = mtu;
	s->mem = memory(s->size);
	s->segments = SUPER_MAX / segment_bytes(s);
	if (s->segments > SEGMENTS_MAX)
		s->segments = SEGMENTS_MAX;
	return s;
}

/* super_lay_out - the next packets' places, which the CRCs do not move */
static void super_lay_out(struct super *s)
{
	size_t at = s->at;

	for (unsigned int i = 0; i < s->segments; i++) {
		s->iov[3 * i] = (struct iovec){ &s->header[i], sizeof(s->header[i]) };
		s->iov[3 * i + 1] = (struct iovec){ s->mem + at, s->mtu };
		s->iov[3 * i + 2] = (struct iovec){ &s->crc[i], sizeof(s->crc[i]) };
		at = (at + s->mtu) % s->size;
	}
}

static uint32_t super_crc(const struct super *s, unsigned int i)
{
	uLong crc = crc32(0, (const Bytef *)&s->header[i], sizeof(s->header[i]));

	return crc32(crc, s->iov[3 * i + 1].iov_base, s->mtu);
}

static void super_advance(struct super *s, unsigned int segments)
{
	s->at = (s->at + segments * s->mtu) % s->size;
	s->seq += segments;
}

static void ceiling_send(int fd, size_t size, double seconds, size_t mtu)
{
	struct super *s = super_new(size, mtu);
	int segment = segment_bytes(s);
	double end = now() + seconds;
	struct msghdr msg = { .msg_iov = s->iov, .msg_iovlen = 3 * s->segments };
	uint32_t acked = 0;

	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		err(1, "UDP_SEGMENT");
	while (now() < end) {
		super_lay_out(s);
		for (unsigned int i = 0; i < s->segments; i++) {
			s->header[i].seq = s->seq + i;
			s->crc[i] = super_crc(s, i);
		}
		if (sendmsg(fd, &msg, 0) != (ssize_t)(s->segments * segment))
			err(1, "sendmsg");
		super_advance(s, s->segments);
		while (s->seq - acked > WINDOW * s->segments)
			if (recv(fd, &acked, sizeof(acked), 0) != sizeof(acked))
				err(1, "waiting for an acknowledgement");
	}
	/* shorter than a packet: the end */
	if (send(fd, "", 1, 0) != 1)
		err(1, "send");
}

static void ceiling(char **arg, size_t size, double seconds, size_t mtu)
{
	int from = socket_in(arg[0], SOCK_DGRAM), to = socket_in(arg[2], SOCK_DGRAM);
	struct sockaddr_in from_addr = bind_to(from, arg[1]);
	struct sockaddr_in to_addr = bind_to(to, arg[3]);
	struct super *s = super_new(size, mtu);
	int on = 1, buffer = 2 * WINDOW * SUPER_MAX;
	struct msghdr msg = { .msg_iov = s->iov, .msg_iovlen = 3 * s->segments };
	uint32_t acked = 0;
	double start = 0, end;
	uint64_t bytes = 0;
	unsigned int got;
	ssize_t n;

	connect_to(from, &to_addr);
	connect_to(to, &from_addr);
	if (setsockopt(to, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) ||
	    setsockopt(to, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) ||
	    setsockopt(from, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer)))
		err(1, "setsockopt");
	give_up_after(from, 5);
	give_up_after(to, 5);
	fork_sender(ceiling_send, from, size, seconds, mtu);
	for (;;) {
		super_lay_out(s);
		n = recvmsg(to, &msg, 0);
		end = now();
		if (n < 0)
			err(1, "recvmsg");
		if (n < (ssize_t)segment_bytes(s))
			break;
		if (n % segment_bytes(s))
			errx(1, "%zd bytes are not whole packets", n);
		got = n / segment_bytes(s);
		for (unsigned int i = 0; i < got; i++)
			if (s->header[i].seq != s->seq + i ||
			    s->crc[i] != super_crc(s, i))
				errx(1, "packet %u is lost or wrong", s->seq + i);
		super_advance(s, got);
		if (!start)
			start = end;
		else
			bytes += got * s->mtu;
		if (s->seq - acked >= ACK_EVERY * s->segments) {
			acked = s->seq;
			if (send(to, &acked, sizeof(acked), 0) < 0)
				err(1, "send");
		}
	}
	sender_was_well();
	if (!bytes)
		errx(1, "too short a time");
	printf("%.2f\n", bytes / MIB / (end - start));
}

static size_t number(const char *word)
{
	char *end;
	unsigned long value = strtoul(word, &end, 10);

	if (!value || *end)
		errx(2, "not a number above 0: %s", word);
	return value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "copy") && argc == 4)
		copy(number(argv[2]), atof(argv[3]));
	else if (!strcmp(what, "turns") && argc == 4)
		turns(atof(argv[2]) / 1e6, number(argv[3]));
	else if (!strcmp(what, "tcp") && argc == 8)
		tcp(argv + 2, number(argv[6]), atof(argv[7]));
	else if (!strcmp(what, "ceiling") && argc == 9)
		ceiling(argv + 2, number(argv[6]), atof(argv[7]), number(argv[8]));
	else
		errx(2, "usage: baseline copy SIZE SECONDS\n"
		     "       baseline turns MICROSECONDS COUNT\n"
		     "       baseline tcp FROM_NS FROM_IP TO_NS TO_IP SIZE SECONDS\n"
		     "       baseline ceiling FROM_NS FROM_IP TO_NS TO_IP SIZE SECONDS PATH_MTU");
	return 0;
}
