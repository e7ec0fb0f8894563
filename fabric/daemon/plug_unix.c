// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Plugs of Unix sockets: a frame is a datagram, and the peer is a QEMU (-netdev dgram), the port of
 * its guest, or another process of this machine. Nothing is lost while both run: the peer waits
 * where its buffer is full, and what the peer does not take is kept here. QEMU reads no more than its
 * guest takes, so that is no more than the guest has given credit for.
 *
 * There is no connection that could end within a frame (-netdev stream sends the rest of it in the
 * next connection, and its guest's queue stands still if it waited).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local_socket.h"
#include "plug.h"

/* A window (that of a softhca is one more), hellos and management. */
#define KEPT_MAX		(FAB_EDGE_WINDOW + 61)

struct kept {
	u32 len;
	u8 frame[FAB_FRAME_MAX];
};

/*
 * @own:	path of this end, in memory of its own, with @peer behind it
 * @peer:	path of the other end
 * @first:	of the frames that are kept, of which there are @kept_nr
 */
struct local {
	struct plug plug;
	char *own;
	const char *peer;
	u32 first;
	u32 kept_nr;
	struct kept kept[KEPT_MAX];
};

static struct local *local_of(struct plug *plug)
{
	return (struct local *)((char *)plug - offsetof(struct local, plug));
}

/* Return: 0, or a negative errno. */
static int try_to_send(struct local *local, const u8 *frame, u32 len)
{
	int fd = local->plug.watch.fd;

	if (send(fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
		return 0;
	if (errno == EAGAIN)
		return -EAGAIN;
	/*
	 * The peer has not been there yet, or is another process now. A socket that is connected hears its
	 * peer alone, and the peer may then send as much as its own buffer takes.
	 */
	if (!local_connect(fd, local->peer) ||
	    send(fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		return -errno;
	return 0;
}

static bool local_send(struct plug *plug, const u8 *frame, u32 len)
{
	struct local *local = local_of(plug);
	struct kept *kept = &local->kept[(local->first + local->kept_nr) % KEPT_MAX];
	int error;

	if (!local->kept_nr) {
		error = try_to_send(local, frame, len);
		if (error != -EAGAIN)
			return !error;
		plug_want_room(plug, true);
	}
	if (local->kept_nr == KEPT_MAX)
		return false;
	kept->len = len;
	memcpy(kept->frame, frame, len);
	local->kept_nr++;
	return true;
}

static void local_flush(struct plug *plug)
{
	struct local *local = local_of(plug);
	const struct kept *kept;

	if (!local->kept_nr)
		return;
	/* (what cannot be sent at all is lost) */
	for (; local->kept_nr; local->kept_nr--) {
		kept = &local->kept[local->first];
		if (try_to_send(local, kept->frame, kept->len) == -EAGAIN)
			return;
		local->first = (local->first + 1) % KEPT_MAX;
	}
	plug_want_room(plug, false);
}

/* A longer datagram is none of a port, which the edge sees. */
static ssize_t local_receive(struct plug *plug, u8 *frame, u8 *rest)
{
	ssize_t len = recv(plug->watch.fd, frame, FAB_FRAME_MAX, MSG_DONTWAIT);

	/* Other errors tell of a peer that has gone. */
	if (len < 0)
		return errno == EAGAIN ? -EAGAIN : 0;
	return len;
}

static bool local_open(struct plug *plug)
{
	struct local *local = local_of(plug);
	char *comma;

	local->own = strdup(plug->where);
	if (!local->own)
		return plug_complain(plug->where, "memory");
	comma = strchr(local->own, ',');
	if (!comma || comma == local->own || !comma[1])
		return plug_refuse(plug->where, "not two paths, as OWN,PEER");
	*comma = '\0';
	local->peer = comma + 1;
	plug->watch.fd = local_listen(local->own, SOCK_DGRAM, 0);
	return plug->watch.fd >= 0 || plug_complain(plug->where, "socket");
}

static void local_close(struct plug *plug)
{
	struct local *local = local_of(plug);

	if (plug->watch.fd >= 0)
		unlink(local->own);
	free(local->own);
}

const struct plug_kind plug_unix = {
	.form = "END=OWN,PEER",
	.size = sizeof(struct local),
	.open = local_open,
	.flush = local_flush,
	.receive = local_receive,
	.send = local_send,
	.close = local_close,
};
