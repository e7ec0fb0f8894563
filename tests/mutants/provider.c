// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which places of the provider run: linked with its objects, which are compiled with
 * -fsanitize-coverage=trace-pc (coverage.c tells more). All processes set bytes of one
 * shared file, so that what is killed is counted, too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (1UL << 20)

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static uint8_t *map;

void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
	uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__ehdr_start;

	if (map && at < SIZE && !map[at])
		map[at] = 1;
}

__attribute__((constructor, no_sanitize_coverage)) static void open_map(void)
{
	int fd = open("/run/softhca-provider.map", O_RDWR | O_CLOEXEC);
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		map = at;
}
