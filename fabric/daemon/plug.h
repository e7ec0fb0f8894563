/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Plugs: what a cable that leaves this process ends at. The edges of the fabric send and receive
 * their frames by them, whatever is behind: a file of its own for each kind.
 */
#ifndef SHCA_FABRIC_PLUG_H
#define SHCA_FABRIC_PLUG_H

#include <sys/types.h>

#include "../core/data.h"
#include "loop.h"
#include "sim.h"

struct plugs;
struct plug;

/**
 * struct plug_kind - a kind of plug
 * @form:	what its option takes, for messages
 * @size:	bytes of its struct, which begins with a struct plug
 * @open:	get ready, with a message if that fails (return false). Set @mtu of the plug, and
 *		@window and the edge's @mac if the defaults do not do. Frames pass from now on if
 *		@watch has a file, else from plug_up() on
 * @reopen:	frames could not pass for a while: give @watch a file again (return true). NULL: the
 *		kind itself calls plug_up()
 * @flush:	send what @send has kept, now that @watch is ready; NULL: it keeps nothing
 * @receive:	read a frame of up to FAB_FRAME_MAX bytes into the memory, and with @batch_mtu up to
 *		FAB_REST_MAX more into @rest. Return: its length; 0: it was nothing for the edge;
 *		-EAGAIN: there is none now; another: no frames can pass
 * @send:	a frame leaves. Return: false: it is lost
 * @close:	close what the kind has opened beside @watch, even if @open has failed; NULL: nothing
 */
struct plug_kind {
	const char *form;
	size_t size;
	bool (*open)(struct plug *plug);
	bool (*reopen)(struct plug *plug);
	void (*flush)(struct plug *plug);
	ssize_t (*receive)(struct plug *plug, u8 *frame, u8 *rest);
	bool (*send)(struct plug *plug, const u8 *frame, u32 len);
	void (*close)(struct plug *plug);
};

extern const struct plug_kind plug_tap, plug_netdev, plug_unix, plug_udp;

/**
 * struct plug - one of them
 * @kind:	its kind
 * @plugs:	all of them
 * @watch:	the file that frames pass by; -1: none can pass
 * @edge:	whose frames
 * @where:	where it is, in the words of its option
 * @mtu:	largest path MTU that its frames can carry, in bytes
 * @batch_mtu:	bytes of a frame of a batch behind its Ethernet header, or 0: none can pass
 * @window:	packets that may be in flight to it
 * @is_open:	@open has been called
 * @retry:	when to call @reopen; ~0: never
 */
struct plug {
	const struct plug_kind *kind;
	struct plugs *plugs;
	struct watch watch;
	struct fab_edge edge;
	const char *where;
	u32 mtu;
	u32 batch_mtu;
	u32 window;
	bool is_open;
	u64 retry;
};

/*
 * Begin without a plug.
 * @topo:	with buffers
 *
 * Return: NULL, with a message on stderr.
 */
struct plugs *plugs_open(struct topology *topo, struct loop *loop);

/*
 * A cable of the topology leaves the process.
 * @end:	the cable: a host, which is not simulated then, or a port of a switch, as NODE[PORT].
 *		What was at the other end is alone from now on
 * @where:	what it ends at
 *
 * Return: false, with a message on stderr.
 */
bool plugs_add(struct plugs *plugs, const struct plug_kind *kind, char *end, const char *where);

/* Programs of the fabric, for datagrams of subnet management that come by plugs. */
void plugs_set_programs(struct plugs *plugs, struct sim *sim);

/* Try again where frames cannot pass. Return: when to call it again; ~0: never. */
u64 plugs_advance(struct plugs *plugs);

/* Say goodbye at all edges. No packet may pass from now on. */
void plugs_close(struct plugs *plugs);

/* ---- for the kinds ---------------------------------------------------------- */

/* Watch another file than @watch. Return: false: no memory. */
bool plug_watch(struct plug *plug, struct watch *watch);

/* Be called when @watch has room for more bytes, too, or not any longer. */
void plug_want_room(struct plug *plug, bool wants);

/* @watch has a file: frames can pass. */
void plug_up(struct plug *plug);

/*
 * Make buffers of the socket @watch large enough for the window, or the window small enough for
 * them: more than net.core.rmem_max needs CAP_NET_ADMIN. Return: false, with errno.
 */
bool plug_size_socket(struct plug *plug);

/* Messages on stderr, with and without errno. Return: false. */
bool plug_complain(const char *where, const char *what);
bool plug_refuse(const char *where, const char *why);

#endif
