// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs sanitizer: memory regions, and checksums of buffers.
 *
 * The program may have unmapped a buffer, so it is read by a system call that reports
 * EFAULT in place of a signal.
 */
#define _GNU_SOURCE	/* process_vm_readv() */
#include "lint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHCA_LINT_CHUNK		8192
#define SHCA_LINT_SUMMED	(64 * 1024)

/* ---- regions ------------------------------------------------------------- */

static struct list_head *shca_lint_mr_bucket(struct shca_lint *lint, uint32_t lkey)
{
	return &lint->mrs[(lkey >> 8 ^ lkey) % SHCA_LINT_BUCKETS];
}

struct shca_lint_mr *shca_lint_mr_find(struct shca_lint *lint, uint32_t lkey)
{
	struct shca_lint_mr *mr;

	list_for_each(shca_lint_mr_bucket(lint, lkey), mr, entry)
		if (mr->lkey == lkey)
			return mr;
	return NULL;
}

void shca_lint_mr_add(struct shca_lint *lint, struct shca_lint_mr *mr)
{
	if (!mr)
		return;
	if (mr->access & IBV_ACCESS_ZERO_BASED)
		mr->iova = 0;
	pthread_mutex_lock(&lint->lock);
	list_add(shca_lint_mr_bucket(lint, mr->lkey), &mr->entry);
	pthread_mutex_unlock(&lint->lock);
}

void shca_lint_mr_del(struct shca_lint *lint, uint32_t lkey)
{
	struct shca_lint_mr *mr;

	pthread_mutex_lock(&lint->lock);
	mr = shca_lint_mr_find(lint, lkey);
	if (mr)
		list_del(&mr->entry);
	pthread_mutex_unlock(&lint->lock);
	free(mr);
}

uint64_t shca_lint_address(struct shca_lint *lint, uint32_t lkey, uint64_t addr,
			   uint64_t length)
{
	const struct shca_lint_mr *mr = shca_lint_mr_find(lint, lkey);

	if (!mr || !mr->readable || !length || addr < mr->iova ||
	    addr - mr->iova > mr->length ||
	    length > mr->length - (addr - mr->iova))
		return 0;
	return mr->addr + (addr - mr->iova);
}

/* ---- checksums ----------------------------------------------------------- */

static uint64_t shca_lint_mix(uint64_t sum, const uint8_t *p, size_t length)
{
	uint64_t word;

	for (; length; p += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	return sum;
}

static int shca_lint_sum_part(uint64_t address, uint64_t length, uint64_t *sum)
{
	uint8_t chunk[SHCA_LINT_CHUNK];
	struct iovec from, to;
	ssize_t got;

	for (; length; address += got, length -= got) {
		size_t want = length < sizeof(chunk) ? length : sizeof(chunk);
		size_t padding = -want % sizeof(uint64_t);

		from = (struct iovec){ (void *)(uintptr_t)address, want };
		to = (struct iovec){ chunk, want };
		got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
		if (got < 0)
			return errno;
		if ((size_t)got != want)
			return EFAULT;
		memset(chunk + want, 0, padding);
		*sum = shca_lint_mix(*sum, chunk, want + padding);
	}
	return 0;
}

int shca_lint_sum(uint64_t address, uint64_t length, uint64_t *sum)
{
	int err;

	*sum = length;
	if (length <= SHCA_LINT_SUMMED)
		return shca_lint_sum_part(address, length, sum);
	err = shca_lint_sum_part(address, SHCA_LINT_SUMMED / 2, sum);
	return err ? err : shca_lint_sum_part(address + length - SHCA_LINT_SUMMED / 2,
					      SHCA_LINT_SUMMED / 2, sum);
}
