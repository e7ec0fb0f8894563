// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as a pcapng, for Wireshark and tshark
 */
#include "trace.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#define BLOCK_SECTION	0x0a0d0d0a
#define BLOCK_INTERFACE	1
#define BLOCK_PACKET	6
#define OPTION_END	0
#define OPTION_COMMENT	1
#define OPTION_IF_NAME	2
#define OPTION_TSRESOL	9
#define LINKTYPE_RAW	101
#define IP_BYTES	20
#define UDP_BYTES	8
#define BTH_BYTES	12
#define ICRC_BYTES	4
#define ROCE_PORT	4791
#define IP_MAX		65535

/* a block that grows */
struct block {
	unsigned char data[IP_MAX + 2048];
	size_t length;
};

static void block_add(struct block *b, const void *data, size_t size)
{
	if (b->length + size + 4 > sizeof(b->data))
		return;
	memcpy(b->data + b->length, data, size);
	b->length += size;
	while (b->length % 4)
		b->data[b->length++] = 0;
}

static void block_u32(struct block *b, uint32_t n) { block_add(b, &n, sizeof(n)); }

static void block_option(struct block *b, uint16_t code, const void *data, uint16_t size)
{
	uint16_t head[2] = { code, size };

	block_add(b, head, sizeof(head));
	block_add(b, data, size);
}

static void block_write(struct block *b, FILE *out, uint32_t type)
{
	uint32_t total = b->length + 12;

	fwrite(&type, 4, 1, out);
	fwrite(&total, 4, 1, out);
	fwrite(b->data, 1, b->length, out);
	fwrite(&total, 4, 1, out);
	b->length = 0;
}

static uint32_t qpn_of(const struct trace *t, int qp) { return qp < 0 ? 0 : t->qp[qp].qpn; }

static void put_be16(unsigned char *p, uint32_t n) { p[0] = n >> 8; p[1] = n; }
static void put_be24(unsigned char *p, uint32_t n) { p[0] = n >> 16; put_be16(p + 1, n); }

/* The headers, as far as they are recorded. Return: their bytes. */
static size_t packet_headers(unsigned char *p, const struct trace_event *e, uint32_t from,
			     uint32_t to, uint32_t length)
{
	unsigned char *bth = p + IP_BYTES + UDP_BYTES;
	unsigned int sum = 0, i;

	p[0] = 0x45;
	put_be16(p + 2, length);
	p[6] = 0x40;
	p[8] = 64;
	p[9] = IPPROTO_UDP;
	/* An address that tells the QP: 127 and its number */
	p[12] = p[16] = 127;
	put_be24(p + 13, from);
	put_be24(p + 17, to);
	for (i = 0; i < IP_BYTES; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put_be16(p + 10, ~(sum + (sum >> 16)));
	put_be16(p + IP_BYTES, 0xc000 | (from & 0x3fff));
	put_be16(p + IP_BYTES + 2, ROCE_PORT);
	put_be16(p + IP_BYTES + 4, length - IP_BYTES);
	if (e->hdr) {
		memcpy(bth, e->hdr, e->hdr_len);
		return IP_BYTES + UDP_BYTES + e->hdr_len;
	}
	/* another version's recording, of which the BTH can be made */
	bth[0] = e->number;
	bth[1] = 0x40 | (-e->length & 3) << 4;
	put_be16(bth + 2, 0xffff);
	put_be24(bth + 5, to);
	bth[8] = e->ackreq ? 0x80 : 0;
	put_be24(bth + 9, e->psn);
	return IP_BYTES + UDP_BYTES + BTH_BYTES;
}

/*
 * The packet. What is not recorded is zeros: Wireshark calls a packet malformed whose end it
 * does not have, since the ICRC is there. Return: whether the headers and the payload are.
 */
static bool packet_bytes(unsigned char *p, const struct trace_event *e, uint32_t from,
			 uint32_t to, uint32_t length)
{
	size_t size;

	memset(p, 0, length);
	size = packet_headers(p, e, from, to, length);
	if (size < IP_BYTES + UDP_BYTES + BTH_BYTES + trace_ext_bytes(e->number) ||
	    e->payload_len > length - size)
		return false;
	if (e->payload_len)
		memcpy(p + size, e->payload, e->payload_len);
	return e->payload_len == e->length;
}

/* Adds to the text of a comment. Words of a file may be of any length: the rest is left out. */
static void comment_add(char *comment, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void comment_add(char *comment, size_t size, const char *format, ...)
{
	size_t used = strlen(comment);
	va_list args;

	va_start(args, format);
	vsnprintf(comment + used, size - used, format, args);
	va_end(args);
}

static void pcap_packet(FILE *out, const struct trace *t, const struct trace_event *e)
{
	bool sent = e->kind == TRACE_TX;
	uint32_t peer = 0, to = sent ? e->dqpn : e->qpn, length, whole;
	const char *fate = trace_packet_text(t, e);
	const struct trace_wr *wr = e->wr < 0 ? NULL : &t->wr[e->wr];
	static unsigned char bytes[IP_MAX];
	uint64_t when = t->start_ns + e->ns;
	static struct block b;
	char comment[512];
	bool is_whole;

	if (!sent && e->conn >= 0)
		peer = qpn_of(t, t->conn[e->conn].left == e->qp ? t->conn[e->conn].right :
								  t->conn[e->conn].left);
	whole = IP_BYTES + UDP_BYTES + BTH_BYTES + trace_ext_bytes(e->number) + e->length +
		(-e->length & 3) + ICRC_BYTES;
	/* One of the direct path may be longer than a packet can be. */
	length = whole < IP_MAX ? whole : IP_MAX;
	is_whole = packet_bytes(bytes, e, sent ? e->qpn : peer, to, length);
	snprintf(comment, sizeof(comment), "%s", sent ? "sent" : e->flags & TRACE_COPY ?
		 "received, a copy of one before" : "received, the sender was not recorded");
	if (e->flags & TRACE_PROBE)
		comment_add(comment, sizeof(comment), ", an ACK probe");
	if (e->flags & TRACE_MISSING)
		comment_add(comment, sizeof(comment), ", a gap report: PSN %u to %u are missing",
			    e->psn, trace_last_psn(e));
	if (e->flags & TRACE_RETRANS)
		comment_add(comment, sizeof(comment), ", again");
	if (e->packets > 1)
		comment_add(comment, sizeof(comment), "; stands for %u PSNs", e->packets);
	if (*fate)
		comment_add(comment, sizeof(comment), "; the receiver: %s", fate);
	if (!is_whole)
		comment_add(comment, sizeof(comment), "; of its payload, %u of %u B are recorded",
			    e->payload_len, e->length);
	if (wr)
		comment_add(comment, sizeof(comment), "; for %s wr_id %#llx of %#x", wr->word,
			    (unsigned long long)wr->wr_id, wr->qpn);
	block_u32(&b, 0);
	block_u32(&b, when >> 32);
	block_u32(&b, when);
	block_u32(&b, length);
	block_u32(&b, length);
	block_add(&b, bytes, length);
	block_option(&b, OPTION_COMMENT, comment, strlen(comment));
	block_u32(&b, OPTION_END);
	block_write(&b, out, BLOCK_PACKET);
}

void trace_to_pcapng(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	static const char said[] =
		"Made from trace events of softhca. Transport headers are those of the packets.\n"
		"Of R_Keys and Q_Keys only the upper byte is there; the rest is zeros, as is the ICRC.\n"
		"IP addresses are made up: 127 and the QP number.\n"
		"Payload is zeros, but for the first 256 bytes if it was recorded with --payload.";
	const unsigned char nanoseconds = 9;
	const uint64_t unknown = ~0ull;
	const struct trace_event *e;
	static struct block b;
	int i;

	block_u32(&b, 0x1a2b3c4d);
	block_u32(&b, 1);
	block_add(&b, &unknown, sizeof(unknown));
	block_option(&b, OPTION_COMMENT, said, strlen(said));
	block_u32(&b, OPTION_END);
	block_write(&b, out, BLOCK_SECTION);
	block_u32(&b, LINKTYPE_RAW);
	block_u32(&b, 0);
	block_option(&b, OPTION_IF_NAME, "softhca", strlen("softhca"));
	block_option(&b, OPTION_TSRESOL, &nanoseconds, 1);
	block_u32(&b, OPTION_END);
	block_write(&b, out, BLOCK_INTERFACE);
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if ((e->kind == TRACE_TX || (e->kind == TRACE_RX && e->mate < 0)) &&
		    e->number >> 5 != 7 && trace_is_wanted(t, e, choice))
			pcap_packet(out, t, e);
	}
}
