// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Transport headers of a recorded packet, as text (IBTA 9.2 to 9.6, A14, A17, A19). */
#include "trace.h"

#include <stdarg.h>
#include <string.h>

#define BTH_BYTES	12
#define OPCODE_CNP	0x81

/* The headers after the BTH, in the order in which they follow it */
#define H_XRCETH	(1u << 0)
#define H_DETH		(1u << 1)
#define H_FETH		(1u << 2)
#define H_RETH		(1u << 3)
#define H_ATOMICETH	(1u << 4)
#define H_AETH		(1u << 5)
#define H_ATOMICACKETH	(1u << 6)
#define H_RESERVED	(1u << 7)
#define H_IMM		(1u << 8)
#define H_IETH		(1u << 9)

static const struct {
	unsigned int flag, bytes;
} headers[] = {
	{ H_XRCETH, 4 }, { H_DETH, 8 }, { H_FETH, 4 }, { H_RETH, 16 }, { H_ATOMICETH, 28 },
	{ H_AETH, 4 }, { H_ATOMICACKETH, 8 }, { H_RESERVED, 16 }, { H_IMM, 4 }, { H_IETH, 4 },
};

static unsigned int headers_of(unsigned int opcode)
{
	static const unsigned short of_op[32] = {
		[3] = H_IMM, [5] = H_IMM, [6] = H_RETH, [9] = H_IMM, [10] = H_RETH,
		[11] = H_RETH | H_IMM, [12] = H_RETH, [13] = H_AETH, [15] = H_AETH,
		[16] = H_AETH, [17] = H_AETH, [18] = H_AETH | H_ATOMICACKETH,
		[19] = H_ATOMICETH, [20] = H_ATOMICETH, [22] = H_IETH, [23] = H_IETH,
		[28] = H_FETH | H_RETH, [29] = H_RETH,
	};
	unsigned int transport = opcode >> 5, op = opcode & 31;

	if (opcode == OPCODE_CNP)
		return H_RESERVED;
	if (transport == 3)
		return of_op[op] | H_DETH;
	/* the XRCETH is of requests */
	return of_op[op] | (transport == 5 && (op < 13 || op > 18) ? H_XRCETH : 0);
}

unsigned int trace_ext_bytes(unsigned int opcode)
{
	unsigned int flags = headers_of(opcode), bytes = 0, i;

	for (i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		bytes += flags & headers[i].flag ? headers[i].bytes : 0;
	return bytes;
}

static uint64_t get_be(const unsigned char *p, int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

/* text that grows up to its end */
struct words {
	char *at;
	size_t left;
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *format, ...)
{
	va_list args;
	int used;

	va_start(args, format);
	used = vsnprintf(w->at, w->left, format, args);
	va_end(args);
	if (used < 0 || (size_t)used >= w->left)
		used = w->left ? w->left - 1 : 0;
	w->at += used;
	w->left -= used;
}

/* The kernel has left the upper byte. */
static void say_key(struct words *w, const char *name, const unsigned char *p)
{
	say(w, " %s=0x%02x??????", name, *p);
}

static void say_header(struct words *w, unsigned int flag, const unsigned char *p)
{
	static const char *const levels[] = { "range", "mr", "2", "3" };

	switch (flag) {
	case H_XRCETH:
		say(w, " srqn=%#x", (unsigned int)get_be(p + 1, 3));
		break;
	case H_DETH:
		say_key(w, "qkey", p);
		say(w, " sqpn=%#x", (unsigned int)get_be(p + 5, 3));
		break;
	case H_FETH:
		say(w, " flush=%s%s level=%s", p[3] & 1 ? "global" : "", p[3] & 2 ? "persistent" : "",
		    levels[p[3] >> 4 & 3]);
		break;
	case H_RETH:
		say(w, " va=%#llx", (unsigned long long)get_be(p, 8));
		say_key(w, "rkey", p + 8);
		say(w, " dmalen=%u", (unsigned int)get_be(p + 12, 4));
		break;
	case H_ATOMICETH:
		say(w, " va=%#llx", (unsigned long long)get_be(p, 8));
		say_key(w, "rkey", p + 8);
		say(w, " swap_or_add=%#llx compare=%#llx", (unsigned long long)get_be(p + 12, 8),
		    (unsigned long long)get_be(p + 20, 8));
		break;
	case H_ATOMICACKETH:
		say(w, " original=%#llx", (unsigned long long)get_be(p, 8));
		break;
	case H_IMM:
		say(w, " imm=0x%08x", (unsigned int)get_be(p, 4));
		break;
	case H_IETH:
		say_key(w, "invalidates", p);
		break;
	default:
		break;
	}
}

const char *trace_headers_text(const struct trace_event *e, char *text, size_t size)
{
	unsigned int flags = headers_of(e->number), i;
	const unsigned char *p = e->hdr;
	struct words w = { .at = text, .left = size };

	*text = '\0';
	if (e->hdr_len < BTH_BYTES)
		return text;
	say(&w, " pkey=%#x", (unsigned int)get_be(p + 2, 2));
	if (p[1] & 0x80)
		say(&w, " solicited");
	if (e->hdr_len < BTH_BYTES + trace_ext_bytes(e->number))
		return text;
	p += BTH_BYTES;
	for (i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		if (!(flags & headers[i].flag))
			continue;
		say_header(&w, headers[i].flag, p);
		p += headers[i].bytes;
	}
	return text;
}

const char *trace_packet_info(const struct trace_event *e, char *text, size_t size)
{
	struct words w = { .at = text, .left = size };

	say(&w, "qpn=%#x", e->qpn);
	if (e->kind != TRACE_VERDICT)
		say(&w, " dqpn=%#x", e->dqpn);
	say(&w, " psn=%u opcode=%s", e->psn, e->word);
	if (e->kind == TRACE_VERDICT) {
		say(&w, " verdict=%s", e->verdict);
		return text;
	}
	say(&w, " ackreq=%d syndrome=%#x msn=%u len=%u packets=%u", e->ackreq, e->syndrome, e->msn,
	    e->length, e->packets);
	trace_headers_text(e, w.at, w.left);
	return text;
}
