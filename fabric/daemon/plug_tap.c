// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Plugs of TAP devices: the netdev of a real port. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plug.h"

static bool tap_send(struct plug *plug, const u8 *frame, u32 len)
{
	/* A TAP that is not up has EIO: frames are lost then, as on a cable that is not plugged in. */
	return write(plug->watch.fd, frame, len) == (ssize_t)len;
}

static ssize_t tap_receive(struct plug *plug, u8 *frame, u8 *rest)
{
	const struct iovec parts[] = { { frame, FAB_FRAME_MAX }, { rest, FAB_REST_MAX } };
	ssize_t len = readv(plug->watch.fd, parts, 2);

	return len < 0 ? -errno : len;
}

/* The largest MTU of a TAP. */
#define TAP_MTU		65521

/* Make a new TAP ready for use. */
static bool set_up(int sock, struct ifreq *request)
{
	request->ifr_mtu = TAP_MTU;
	if (ioctl(sock, SIOCSIFMTU, request))
		return false;
	if (ioctl(sock, SIOCGIFFLAGS, request))
		return false;
	request->ifr_flags |= IFF_UP;
	return !ioctl(sock, SIOCSIFFLAGS, request);
}

/* Return: the file; -1. */
static int attach(const char *name, struct ifreq *request)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	*request = (struct ifreq){ .ifr_flags = IFF_TAP | IFF_NO_PI };
	memcpy(request->ifr_name, name, strlen(name) + 1);
	if (fd < 0 || !ioctl(fd, TUNSETIFF, request))
		return fd;
	close(fd);
	return -1;
}

/* A TAP that is not there is made; it goes with the process. One that is there stays as it is. */
static bool tap_open(struct plug *plug)
{
	bool is_new = !if_nametoindex(plug->where);
	struct ifreq request;
	int sock;

	if (strlen(plug->where) >= IFNAMSIZ)
		return plug_refuse(plug->where, "this name is too long for a TAP");
	plug->watch.fd = attach(plug->where, &request);
	if (plug->watch.fd < 0)
		return plug_complain(plug->where, "TAP");
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || (is_new && !set_up(sock, &request)) || ioctl(sock, SIOCGIFMTU, &request))
		return plug_complain(plug->where, "MTU of the TAP");
	close(sock);
	plug->mtu = shca_ib_mtu(request.ifr_mtu);
	plug->batch_mtu = request.ifr_mtu;
	return true;
}

/* It has been deleted, and is back. */
static bool tap_reopen(struct plug *plug)
{
	struct ifreq request;

	if (!if_nametoindex(plug->where))
		return false;
	plug->watch.fd = attach(plug->where, &request);
	return plug->watch.fd >= 0;
}

const struct plug_kind plug_tap = {
	.form = "END=TAP",
	.size = sizeof(struct plug),
	.open = tap_open,
	.reopen = tap_reopen,
	.receive = tap_receive,
	.send = tap_send,
};
