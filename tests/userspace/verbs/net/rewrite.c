// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A sender on this machine rewrites its packets while they are received: a
 * super-packet made by splice() keeps the sender's pages. The program runs in
 * the network namespace of the first device, with -f 6. An IPv4 header has an
 * identifier that splice() leaves to chance and that the ICRC covers.
 *
 * The message has four packets of UC SEND: FIRST, two MIDDLE, LAST. The second
 * MIDDLE has a P_Key that must be refused. So the message is never complete,
 * whatever the first MIDDLE becomes after its check. Both are in one piece of
 * memory, because only there a header is compared with the one before it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util.h"

#define ROCE_PORT	4791
#define MTU		1024u
#define BTH		12u
#define ICRC		4u
#define SEG		(BTH + MTU + ICRC)
#define SEGS		4u
#define PSN		77u
/* If headers were compared in place, one in some thousands would let a packet through. */
#define ROUNDS		(has_checkers() ? 3000 : 30000)
#define PAGE		4096u
/*
 * From this offset in a page, all packets but FIRST are in the next page, in
 * one piece.
 */
#define OFFSET		(PAGE - SEG / 2)

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif

static struct end a, b;
static struct buf dst;
static struct sockaddr_in6 from, to;
static uint8_t *batch;
static int sock, pipe_fds[2];
static volatile bool stop;

/* ---- packets ------------------------------------------------------------- */

static uint32_t crc32(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	int bit;

	for (; len; len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

static void put_icrc(uint8_t *bth)
{
	uint16_t len = htons(8 + SEG), ports[] = { from.sin6_port, to.sin6_port };
	uint8_t head[8 + 40 + 8], copy[BTH];
	uint32_t crc;

	/* Fields that routers change count as ones: IBTA A17.3.3. */
	memset(head, 0xff, sizeof(head));
	head[8] = 0x6f;
	memcpy(head + 12, &len, 2);
	head[14] = IPPROTO_UDP;
	memcpy(head + 16, &from.sin6_addr, 16);
	memcpy(head + 32, &to.sin6_addr, 16);
	memcpy(head + 48, ports, 4);
	memcpy(head + 52, &len, 2);
	memcpy(copy, bth, BTH);
	copy[4] = 0xff;
	crc = crc32(~0u, head, sizeof(head));
	crc = crc32(crc, copy, BTH);
	crc = ~crc32(crc, bth + BTH, MTU);
	memcpy(bth + BTH + MTU, &crc, ICRC);	/* little endian, as here */
}

static uint8_t *packet(unsigned int i)
{
	return batch + i * SEG;
}

static void make_packet(unsigned int i, uint8_t opcode, uint16_t pkey)
{
	uint32_t qpn = htonl(b.qp->qp_num), psn = htonl(PSN + i);
	uint8_t *bth = packet(i);

	memset(bth, 0, BTH);
	bth[0] = opcode;
	bth[2] = pkey >> 8;
	bth[3] = pkey;
	memcpy(bth + 4, &qpn, 4);
	memcpy(bth + 8, &psn, 4);
	fill(bth + BTH, MTU, i);
	put_icrc(bth);
}

static void make_batch(uint16_t second_pkey)
{
	make_packet(0, 0x20, 0xffff);		/* UC SEND FIRST */
	make_packet(1, 0x21, 0xffff);		/* MIDDLE */
	make_packet(2, 0x21, second_pkey);
	make_packet(3, 0x22, 0xffff);		/* LAST */
}

/* Sends the batch from its own pages. */
static void send_batch(void)
{
	struct iovec iov = { batch, SEGS * SEG };

	REQUIRE_EQ(vmsplice(pipe_fds[1], &iov, 1, 0), SEGS * SEG);
	REQUIRE_EQ(splice(pipe_fds[0], NULL, sock, NULL, SEGS * SEG, 0),
		   SEGS * SEG);
}

static void set_up(void)
{
	struct config config = config_default;
	socklen_t len = sizeof(from);
	struct ibv_sge sge;

	options.is_uc = true;
	config.mtu = IBV_MTU_1024;
	pair_make(&a, &b, &config);
	dst = buf_make(b.nic->pd, SEGS * MTU, ACCESS_ALL);
	sge = sge_of(&dst, 0, SEGS * MTU);
	post_recv(&b, 1, &sge, 1);
	batch = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(batch != MAP_FAILED);
	batch += OFFSET;

	from = to = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	memcpy(&from.sin6_addr, &a.nic->gid, 16);
	memcpy(&to.sin6_addr, &b.nic->gid, 16);
	to.sin6_port = htons(ROCE_PORT);
	sock = socket(AF_INET6, SOCK_DGRAM, 0);
	REQUIRE(sock >= 0);
	REQUIRE_EQ(bind(sock, (struct sockaddr *)&from, sizeof(from)), 0);
	REQUIRE_EQ(connect(sock, (struct sockaddr *)&to, sizeof(to)), 0);
	REQUIRE_EQ(getsockname(sock, (struct sockaddr *)&from, &len), 0);
	REQUIRE_EQ(setsockopt(sock, SOL_UDP, UDP_SEGMENT, &(int){ SEG },
			      sizeof(int)), 0);
	REQUIRE_EQ(pipe(pipe_fds), 0);
}

/* ---- tests ---------------------------------------------------------------- */

/* The packets made here are those of a device. */
static void a_batch_is_received(void)
{
	struct ibv_wc wc;

	set_up();
	make_batch(0xffff);
	send_batch();
	wc = wait_ok(b.rcq, 1, IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, SEGS * MTU);
	check_fill(dst.p + 2 * MTU, MTU, 2);
}

static void a_wrong_partition_is_refused(void)
{
	set_up();
	make_batch(0xff01);
	send_batch();
	require_quiet(b.rcq);
}

/* Changes the first MIDDLE into the second and back, at all phases. */
static void *rewrite(void *arg)
{
	volatile uint8_t *pkey = packet(1) + 3;
	unsigned int i, n = 0;

	(void)arg;
	while (!stop) {
		*pkey = 0x01;
		for (i = 0; i < n; i++)
			__asm__ volatile("");
		*pkey = 0xff;
		for (i = 0; i < n; i++)
			__asm__ volatile("");
		n = (n * 5 + 7) % 64;
	}
	return NULL;
}

static void a_rewritten_header_lets_nothing_through(void)
{
	pthread_t thread;
	struct ibv_wc wc;
	int i;

	set_up();
	make_batch(0xff01);
	REQUIRE_EQ(pthread_create(&thread, NULL, rewrite, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		send_batch();
		if (ibv_poll_cq(b.rcq, 1, &wc))
			FAIL("round %d: a packet of another partition was taken",
			     i);
	}
	stop = true;
	REQUIRE_EQ(pthread_join(thread, NULL), 0);
	/* a valid batch is still received: nothing else was in the way */
	make_batch(0xffff);
	send_batch();
	wait_ok(b.rcq, 1, IBV_WC_RECV);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(a_batch_is_received),
	TEST(a_wrong_partition_is_refused),
	TEST(a_rewritten_header_lets_nothing_through),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
