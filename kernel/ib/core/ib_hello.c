// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The hello protocol. A port that receives a hello takes the sender for its peer, and names the
 * peer in its own hellos (Training). The link is up once two ports name each other (LinkUp).
 *
 * Where more than two ports share a netdev's segment, exactly the two that name each other come
 * up. A port that its candidate does not name changes to one that does, so no circle of ports
 * blocks itself.
 */
#include "../../core/be.h"
#include "ib_hello.h"

/* Body: port GUID, session heard, MTU, flags, lanes. */
#define HELLO_BYE	0x01
#define HELLO_CREDITS	0x02
#define HELLO_BATCHES	0x04
#define HELLO_LANES	0x0f

enum shca_ib_parse shca_ib_hello_parse(struct shca_ib_hello *hello,
				       const struct shca_ib_shim *shim,
				       const u8 *body)
{
	if (shim->len < SHCA_IB_HELLO_BYTES)
		return SHCA_IB_SHORT;
	hello->session = shim->session;
	hello->guid = get_be64(body);
	hello->heard = get_be32(body + 8);
	hello->mtu = get_be16(body + 12);
	hello->bye = body[14] & HELLO_BYE;
	hello->credits = body[14] & HELLO_CREDITS;
	hello->batches = body[14] & HELLO_BATCHES;
	hello->lanes = body[15] & HELLO_LANES;
	return SHCA_IB_OK;
}

u32 shca_ib_hello_build(const struct shca_ib_hello *hello, u8 *frame)
{
	const struct shca_ib_shim shim = {
		.type = SHCA_IB_FRAME_HELLO,
		.len = SHCA_IB_HELLO_BYTES,
		.session = hello->session,
	};
	u8 *body = frame + SHCA_IB_SHIM_BYTES;

	shca_ib_shim_build(&shim, frame);
	put_be64(body, hello->guid);
	put_be32(body + 8, hello->heard);
	put_be16(body + 12, hello->mtu);
	body[14] = (hello->bye ? HELLO_BYE : 0) |
		   (hello->credits ? HELLO_CREDITS : 0) |
		   (hello->batches ? HELLO_BATCHES : 0);
	body[15] = hello->lanes & HELLO_LANES;
	return SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES;
}

/* ---- the state machine ------------------------------------------------------ */

static bool port_is_off(const struct shca_ib_port *port)
{
	return port->phys == SHCA_IB_PHYS_DISABLED || !port->carrier;
}

/* Does the peer name this port? */
static bool port_is_named(const struct shca_ib_port *port)
{
	return port->peer.heard == port->session;
}

/* Set the physical state. To enter or leave LinkUp is an event. */
static u32 port_set(struct shca_ib_port *port, u8 phys)
{
	u8 was = port->phys;

	port->phys = phys;
	if (was == phys)
		return 0;
	if (phys == SHCA_IB_PHYS_LINK_UP)
		return SHCA_IB_EV_UP;
	if (was != SHCA_IB_PHYS_LINK_UP)
		return 0;
	if (port->downed != ~0u)
		port->downed++;
	return SHCA_IB_EV_DOWN;
}

/* Forget the peer, if there is one, and send a hello as soon as one is permitted. */
static u32 port_restart(struct shca_ib_port *port, u8 phys, u64 now)
{
	port->due = max_t(u64, now, port->earliest);
	return port_set(port, phys);
}

void shca_ib_port_init(struct shca_ib_port *port, u64 guid, u32 session,
		       u16 mtu)
{
	memset(port, 0, sizeof(*port));
	port->guid = guid;
	port->session = session;
	port->mtu = mtu;
	port->phys = SHCA_IB_PHYS_POLLING;
}

u32 shca_ib_port_carrier(struct shca_ib_port *port, bool carrier, u64 now)
{
	if (port->carrier == carrier)
		return 0;
	port->carrier = carrier;
	return port_restart(port, port->phys == SHCA_IB_PHYS_DISABLED ?
			    SHCA_IB_PHYS_DISABLED : SHCA_IB_PHYS_POLLING, now);
}

u32 shca_ib_port_disable(struct shca_ib_port *port, bool disabled, u64 now)
{
	if ((port->phys == SHCA_IB_PHYS_DISABLED) == disabled)
		return 0;
	return port_restart(port, disabled ? SHCA_IB_PHYS_DISABLED :
			    SHCA_IB_PHYS_POLLING, now);
}

u32 shca_ib_port_ask(struct shca_ib_port *port, bool disable, u64 now)
{
	if (port->phys != SHCA_IB_PHYS_LINK_UP) {
		port->request = SHCA_IB_REQUEST_NONE;
		return shca_ib_port_disable(port, disable, now);
	}
	/* Another request does not delay it. */
	if (!port->request)
		port->asked_at = now;
	port->request = disable ? SHCA_IB_REQUEST_DISABLE : SHCA_IB_REQUEST_RESET;
	return 0;
}

static u32 port_obey(struct shca_ib_port *port, u64 now)
{
	bool resets = port->request == SHCA_IB_REQUEST_RESET;
	u32 events = shca_ib_port_disable(port, true, now);

	port->request = SHCA_IB_REQUEST_NONE;
	return resets ? events | shca_ib_port_disable(port, false, now) : events;
}

static bool port_is_from_peer(const struct shca_ib_port *port,
			      const struct shca_ib_hello *hello, const u8 *mac)
{
	return shca_ib_port_has_peer(port) && port->peer.session == hello->session &&
	       !memcmp(port->peer_mac, mac, SHCA_IB_MAC_BYTES);
}

/* Does a hello come from the peer, or does its sender become the peer? */
static bool port_prefers(const struct shca_ib_port *port,
			 const struct shca_ib_hello *hello, const u8 *mac)
{
	if (!shca_ib_port_has_peer(port))
		return true;
	/* With another session the peer has started again: the earlier one never comes back. */
	if (!memcmp(port->peer_mac, mac, SHCA_IB_MAC_BYTES))
		return true;
	return !port_is_named(port) && hello->heard == port->session;
}

u32 shca_ib_port_rx(struct shca_ib_port *port, const struct shca_ib_hello *hello,
		    const u8 *mac, u64 now)
{
	u32 events = 0;
	bool known;

	/*
	 * A frame of this port that comes back is no peer. The session alone tells: the ports of a
	 * switch have one GUID, and a cable may join two of them.
	 */
	if (port_is_off(port) || hello->session == port->session)
		return 0;
	known = port_is_from_peer(port, hello, mac);
	if (hello->bye)
		return known ? port_restart(port, SHCA_IB_PHYS_POLLING, now) : 0;
	if (!port_prefers(port, hello, mac)) {
		port->others++;
		return 0;
	}
	if (!known) {
		/* Down first, so that nothing of the link before survives. */
		events = port_restart(port, SHCA_IB_PHYS_POLLING, now);
		memcpy(port->peer_mac, mac, SHCA_IB_MAC_BYTES);
	}
	port->peer = *hello;
	port->heard_at = now;
	return events | port_set(port, port_is_named(port) ? SHCA_IB_PHYS_LINK_UP :
				 SHCA_IB_PHYS_TRAINING);
}

u32 shca_ib_port_tick(struct shca_ib_port *port, u64 now)
{
	if (port->request && now - port->asked_at >= SHCA_IB_ANSWER_NS)
		return port_obey(port, now);
	if (!shca_ib_port_has_peer(port))
		return 0;
	/* A machine that stood still heard nobody. The peer is silent only while this port runs. */
	if (now >= port->due + SHCA_IB_HELLO_NS)
		port->heard_at = min_t(u64, port->heard_at + (now - port->due), now);
	if (now - port->heard_at < SHCA_IB_HELLO_LOST_NS)
		return 0;
	return port_restart(port, SHCA_IB_PHYS_POLLING, now);
}

bool shca_ib_port_tx(struct shca_ib_port *port, struct shca_ib_hello *hello,
		     u64 now)
{
	if (port_is_off(port) || now < port->due)
		return false;
	*hello = (struct shca_ib_hello){
		.session = port->session,
		.guid = port->guid,
		.heard = shca_ib_port_has_peer(port) ? port->peer.session : 0,
		.mtu = port->mtu,
		.lanes = port->lanes,
		.credits = port->credits,
		.batches = port->batches,
	};
	port->earliest = now + SHCA_IB_HELLO_GAP_NS;
	port->due = now + SHCA_IB_HELLO_NS;
	return true;
}

struct shca_ib_hello shca_ib_port_bye(const struct shca_ib_port *port)
{
	return (struct shca_ib_hello){
		.session = port->session,
		.guid = port->guid,
		.mtu = port->mtu,
		.lanes = port->lanes,
		.credits = port->credits,
		.batches = port->batches,
		.bye = true,
	};
}

u64 shca_ib_port_deadline(const struct shca_ib_port *port)
{
	u64 deadline = port->request ? port->asked_at + SHCA_IB_ANSWER_NS : ~0ull;

	if (port_is_off(port))
		return deadline;
	deadline = min_t(u64, deadline, port->due);
	if (!shca_ib_port_has_peer(port))
		return deadline;
	return min_t(u64, deadline, port->heard_at + SHCA_IB_HELLO_LOST_NS);
}
