// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Plugs of netdevs, by AF_PACKET: the port is at the other end of a veth or of a network adapter's
 * cable. A port sends single packets to a peer whose window is smaller than all: no batch, which such
 * a socket could not send on, comes here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plug.h"

static bool netdev_send(struct plug *plug, const u8 *frame, u32 len)
{
	return send(plug->watch.fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static ssize_t netdev_receive(struct plug *plug, u8 *frame, u8 *rest)
{
	ssize_t len = recv(plug->watch.fd, frame, FAB_FRAME_MAX, MSG_DONTWAIT);

	/* ENETDOWN: it has been taken down, or deleted. */
	return len < 0 ? -errno : len;
}

/* Return: 1; 0: it is down, and can be used later; -1, with errno. */
static int attach(struct plug *plug, struct ifreq *request)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(SHCA_IB_ETHERTYPE),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	if (fd < 0)
		return -1;
	*request = (struct ifreq){ 0 };
	memcpy(request->ifr_name, plug->where, strlen(plug->where) + 1);
	address.sll_ifindex = if_nametoindex(plug->where);
	plug->watch.fd = fd;
	/* What it sends itself does not come. (It comes to other sockets, of captures.) */
	if (!address.sll_ifindex || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    !plug_size_socket(plug) || ioctl(fd, SIOCGIFFLAGS, request))
		return -1;
	if (!(request->ifr_flags & IFF_UP))
		return 0;
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : 1;
}

static void detach(struct plug *plug)
{
	if (plug->watch.fd >= 0)
		close(plug->watch.fd);
	plug->watch.fd = -1;
}

static bool netdev_open(struct plug *plug)
{
	struct ifreq request;
	int status;

	if (strlen(plug->where) >= IFNAMSIZ)
		return plug_refuse(plug->where, "this name is too long for a netdev");
	status = attach(plug, &request);
	if (status < 0 || ioctl(plug->watch.fd, SIOCGIFHWADDR, &request))
		return plug_complain(plug->where, "netdev");
	if (request.ifr_hwaddr.sa_family != 1)
		return plug_refuse(plug->where, "this netdev is no Ethernet");
	/* An adapter passes on what is for its own address. */
	memcpy(plug->edge.mac, request.ifr_hwaddr.sa_data, SHCA_IB_MAC_BYTES);
	if (ioctl(plug->watch.fd, SIOCGIFMTU, &request))
		return plug_complain(plug->where, "netdev");
	plug->mtu = shca_ib_mtu(request.ifr_mtu);
	if (!status)
		detach(plug);
	return true;
}

static bool netdev_reopen(struct plug *plug)
{
	struct ifreq request;

	if (attach(plug, &request) == 1)
		return true;
	detach(plug);
	return false;
}

const struct plug_kind plug_netdev = {
	.form = "END=NETDEV",
	.size = sizeof(struct plug),
	.open = netdev_open,
	.reopen = netdev_reopen,
	.receive = netdev_receive,
	.send = netdev_send,
};
