// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "garble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Each piece of a call has two pages, followed by an absent one. */
#define SLOT		(3 * PAGE)
#define SLOT_ROOM	(2 * PAGE)
#define SLOTS		(1 + MAX_ATTRS)

static int log_fd = -1;
static struct stats {
	uint64_t calls, done;
	uint64_t refused[134];	/* by errno */
} *stats;
static struct {
	void *addr;
	size_t len;
} mapping;

void send_log(int fd)
{
	log_fd = fd;
}

void send_count(int fd)
{
	void *p = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	if (p != MAP_FAILED)
		stats = p;
}

/* Many processes count there. */
static void count(long result, int error)
{
	if (!stats)
		return;
	__atomic_fetch_add(&stats->calls, 1, __ATOMIC_RELAXED);
	if (result >= 0)
		__atomic_fetch_add(&stats->done, 1, __ATOMIC_RELAXED);
	else if (error < 134)
		__atomic_fetch_add(&stats->refused[error], 1, __ATOMIC_RELAXED);
}

void note_mapping(void *addr, size_t len)
{
	mapping.addr = addr;
	mapping.len = len;
}

bool arena_make(struct arena *arena)
{
	void *base = mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t i;

	if (base == MAP_FAILED)
		return false;
	for (i = 0; i < SLOTS; i++)
		mprotect((uint8_t *)base + i * SLOT + SLOT_ROOM, PAGE, PROT_NONE);
	arena->base = base;
	arena->can_flip = false;
	return true;
}

void arena_flip(struct rng *rng, struct arena *arena)
{
	uint8_t bit = 1 << below(rng, 8);
	uint8_t *p = arena->base + below(rng, 4) * SLOT + below(rng, 128);
	struct iovec local = { &bit, 1 }, remote = { p, 1 };

	/* The page may be read-only by now, which must not end this process. */
	if (__atomic_load_n(&arena->can_flip, __ATOMIC_RELAXED))
		process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

/* ---- good memory and bad ---------------------------------------------------------- */

static uint64_t wild_pointer(struct rng *rng)
{
	static const uint64_t wild[] = {
		0, 1, 4096, 0xffff888000000000, 0xffffffff81000000,
		0x0000800000000000, 0x00007ffffffff000, 0x8000000000000000,
		UINT64_MAX, UINT64_MAX - 7,
	};

	if (mapping.addr && one_in(rng, 2))
		return (uintptr_t)mapping.addr + below(rng, mapping.len);
	return wild[below(rng, ARRAY_SIZE(wild))];
}

struct place {
	uint64_t addr;
	bool read_only;
};

/* Mostly good memory, because otherwise nothing gets further than the first copy. */
static struct place place(struct rng *rng, struct arena *arena, uint32_t slot,
			  const uint8_t *bytes, uint32_t len, bool may_be_wild)
{
	uint8_t *base = arena->base + slot * SLOT, *at = base;
	struct place result = { .read_only = false };

	if (rng) {
		switch (below(rng, 24)) {
		case 0:
			if (may_be_wild) {
				result.addr = wild_pointer(rng);
				return result;
			}
			break;
		case 1:	/* cut off */
			at = base + SLOT_ROOM - below(rng, len + 1);
			break;
		case 2:
			result.read_only = true;
			break;
		case 3:	/* odd */
			at = base + below(rng, 16);
			break;
		default:
			if (one_in(rng, 2))	/* ends at the end of the mapping */
				at = base + SLOT_ROOM - len;
		}
	}
	memset(base, 0, PAGE);
	if (at + len > base + SLOT_ROOM)
		len = base + SLOT_ROOM - at;
	memcpy(at, bytes, len);
	if (result.read_only)
		mprotect(base, SLOT_ROOM, PROT_READ);
	result.addr = (uintptr_t)at;
	return result;
}

/* ---- telling ------------------------------------------------------------------------ */

static size_t put_hex(char *line, size_t at, size_t room, const uint8_t *bytes,
		      uint32_t len)
{
	for (; len && at + 4 < room; len--, bytes++)
		at += sprintf(line + at, "%02x", *bytes);
	return at;
}

static void tell(int fd, const struct call *call)
{
	char line[8192];
	size_t at;
	uint32_t i;

	at = sprintf(line, "%d %ld fd %d %s ", getpid(), syscall(SYS_gettid),
		     fd, call->is_write ? "write" : "ioctl");
	at = put_hex(line, at, 5000, call->bytes, call->len);
	for (i = 0; i < call->nr_payloads && at < 6000; i++) {
		at += sprintf(line + at, " %u:", call->payload[i].at);
		at = put_hex(line, at, at + 300, call->payload[i].bytes,
			     call->payload[i].len);
	}
	line[at++] = '\n';
	if (syscall(SYS_write, log_fd, line, at) < 0)
		log_fd = -1;
}

/* ---- execution ------------------------------------------------------------------------ */

void send_call(struct rng *rng, struct arena *arena, int fd,
	       const struct call *garbled)
{
	static __thread struct call call;
	struct place places[SLOTS];
	uint32_t i;
	long result;

	call_copy(&call, garbled);
	switch (call_spare_the_core(&call)) {
	case SPARE_SKIP:
		return;
	case SPARE_EXACT:
		rng = NULL;
		break;
	case SPARE_NOTHING:
		break;
	}
	if (log_fd >= 0)
		tell(fd, &call);
	for (i = 0; i < call.nr_payloads; i++) {
		const struct payload *p = &call.payload[i];

		places[i + 1] = place(rng, arena, i + 1, p->bytes, p->len, true);
		if (p->at + sizeof(uint64_t) <= call.len)
			memcpy(call.bytes + p->at, &places[i + 1].addr,
			       sizeof(uint64_t));
	}
	places[0] = place(rng, arena, 0, call.bytes, call.len, true);
	__atomic_store_n(&arena->can_flip, rng && !call_command(&call),
			 __ATOMIC_RELAXED);
	/* The system calls, because the C library's functions are intercepted. */
	if (call.is_write)
		result = syscall(SYS_write, fd, places[0].addr, (size_t)call.len);
	else
		result = syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, places[0].addr);
	count(result, errno);
	__atomic_store_n(&arena->can_flip, false, __ATOMIC_RELAXED);
	for (i = 0; i <= call.nr_payloads; i++)
		if (places[i].read_only)
			mprotect(arena->base + i * SLOT, SLOT_ROOM,
				 PROT_READ | PROT_WRITE);
}
