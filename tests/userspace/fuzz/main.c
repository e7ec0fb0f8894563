// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Stands in for libFuzzer where there is no clang with it: runs the inputs of
 * a folder, then mutations of them, without looking at coverage.
 *
 *   PROGRAM FILE...                        run these
 *   PROGRAM -max_total_time=S FOLDER...    and mutations of those in FOLDERs
 *
 * Other options of libFuzzer are ignored. The input that fails is left in
 * crash-input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

void __sanitizer_set_death_callback(void (*callback)(void));

#define MAX_LEN		4096
#define MAX_INPUTS	4096

struct input {
	u8 *data;
	size_t len;
};

static struct input inputs[MAX_INPUTS];
static unsigned int nr_inputs;
static u64 state = 0x9e3779b97f4a7c15ull;

static u32 rnd(u32 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static void add_file(const char *name)
{
	struct input *input = &inputs[nr_inputs];
	FILE *f = fopen(name, "rb");

	if (!f || nr_inputs == MAX_INPUTS)
		exit(2);
	input->data = malloc(MAX_LEN);
	input->len = fread(input->data, 1, MAX_LEN, f);
	fclose(f);
	nr_inputs++;
}

static void add(const char *name)
{
	struct dirent *entry;
	struct stat st;
	char path[4096];
	DIR *dir;

	if (stat(name, &st))
		exit(2);
	if (!S_ISDIR(st.st_mode)) {
		add_file(name);
		return;
	}
	dir = opendir(name);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		add_file(path);
	}
	if (dir)
		closedir(dir);
}

static u8 *running;
static size_t running_len;

static void on_death(void)
{
	int fd = open("crash-input", O_CREAT | O_TRUNC | O_WRONLY, 0644);

	if (fd < 0 || write(fd, running, running_len) < 0)
		return;
	close(fd);
}

static void on_abort(int sig)
{
	on_death();
	_exit(1);
}

/* In memory of just that size, as the sanitizer then guards its end. */
static void run(const u8 *data, size_t len)
{
	running = malloc(len ?: 1);
	running_len = len;
	memcpy(running, data, len);
	LLVMFuzzerTestOneInput(running, len);
	free(running);
}

static size_t mutate(u8 *buf)
{
	const struct input *a = &inputs[rnd(nr_inputs)];
	const struct input *b = &inputs[rnd(nr_inputs)];
	u32 i, at, n, len = a->len;

	memcpy(buf, a->data, len);
	if (rnd(4) == 0 && b->len) {	/* the end of another one */
		at = rnd(b->len);
		n = min_t(u32, b->len - at, MAX_LEN - len);
		memcpy(buf + len, b->data + at, n);
		len += n;
	}
	for (i = rnd(16); i-- && len > 2; ) {
		at = rnd(len);
		switch (rnd(4)) {
		case 0:
			buf[at] ^= 1 << rnd(8);
			break;
		case 1:
			buf[at] = rnd(256);
			break;
		case 2:
			memmove(buf + at, buf + at + 1, --len - at);
			break;
		case 3:
			if (len == MAX_LEN)
				break;
			memmove(buf + at + 1, buf + at, len++ - at);
			buf[at] = rnd(256);
			break;
		}
	}
	return len;
}

int main(int argc, char **argv)
{
	static u8 buf[2 * MAX_LEN];
	unsigned long runs = 0;
	time_t end = 0;
	int i;

	signal(SIGABRT, on_abort);
	__sanitizer_set_death_callback(on_death);
	for (i = 1; i < argc; i++) {
		if (sscanf(argv[i], "-max_total_time=%ld", &end) == 1)
			end += time(NULL);
		else if (argv[i][0] != '-')
			add(argv[i]);
	}
	for (i = 0; i < (int)nr_inputs; i++)
		run(inputs[i].data, inputs[i].len);
	for (; nr_inputs && time(NULL) < end; runs++)
		run(buf, mutate(buf));
	printf("%u inputs, %lu mutations\n", nr_inputs, runs);
	return 0;
}
