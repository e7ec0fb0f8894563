// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A FUSE file system with one file, "file", which can be opened and mapped. Its
 * contents never come: a page fault in it ends when the file system does.
 *
 *	neverfs FOLDER [N [ERRNO]]
 *
 * With N, the first N reads of a page are answered, and no more; with ERRNO,
 * they fail. Prints "mounted", "failed" for each read that does, and "reading"
 * when a process waits. SIGTERM ends it, and all that wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE	2
#define FOREVER		(1ull << 40)

static const char *folder;
static int dev, nr_answers, error;

static void end(int sig)
{
	(void)sig;
	close(dev);	/* all that wait get an error */
	umount2(folder, MNT_DETACH);
	_exit(0);
}

static void respond(const struct fuse_in_header *in, int err, const void *p,
		    size_t len)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + len,
		.error = -err,
		.unique = in->unique,
	};
	struct iovec iov[] = {
		{ &out, sizeof(out) },
		{ (void *)p, len },
	};

	/* The reader may have been interrupted meanwhile. */
	if (writev(dev, iov, 2) < 0 && errno != ENOENT)
		perror("neverfs: writev");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? 1ull << 30 : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void serve(const struct fuse_in_header *in)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_write = 4096,
	};
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.attr_valid = FOREVER,
		.entry_valid = FOREVER,
		.attr = attr_of(FILE_NODE),
	};
	struct fuse_attr_out attr = {
		.attr_valid = FOREVER,
		.attr = attr_of(in->nodeid),
	};
	static const uint8_t page[4096];
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	/* Otherwise the next open waits for the pages that are being read. */
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		respond(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp((const char *)(in + 1), "file"))
			respond(in, ENOENT, NULL, 0);
		else
			respond(in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		respond(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		respond(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		/* A page at a time: there is no read-ahead. */
		if (nr_answers > 0 && read_in->size <= sizeof(page)) {
			nr_answers--;
			if (error)
				puts("failed");
			respond(in, error, page, error ? 0 : read_in->size);
		} else {
			puts("reading");
		}
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_RELEASE:
		respond(in, 0, NULL, 0);
		break;
	default:
		respond(in, ENOSYS, NULL, 0);
		break;
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[64 * 1024];
	char options[100];
	ssize_t len;

	if (argc < 2 || argc > 4)
		return 2;
	if (argc > 2)
		nr_answers = atoi(argv[2]);
	if (argc > 3)
		error = atoi(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	folder = argv[1];
	dev = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", dev);
	if (dev < 0 || mount("neverfs", folder, "fuse", MS_NOSUID | MS_NODEV,
			     options)) {
		perror("neverfs");
		return 1;
	}
	signal(SIGTERM, end);
	puts("mounted");
	while ((len = read(dev, request, sizeof(request))) > 0 ||
	       errno == EINTR || errno == ENOENT)
		if (len > 0)
			serve((const struct fuse_in_header *)request);
	return 0;
}
