/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hello protocol: how an InfiniBand port on an Ethernet netdev finds the port at the other end,
 * and notices that it is gone (docs/infiniband.md). It replaces link training (IBTA 5.10). A state
 * machine without time, memory and locks.
 */
#ifndef SHCA_CORE_IB_HELLO_H
#define SHCA_CORE_IB_HELLO_H

#include "ib_wire.h"

#define SHCA_IB_HELLO_BYTES	16
/* Interval of hellos, if nothing changes. */
#define SHCA_IB_HELLO_NS	100000000ull
/* After this time without a hello the peer is gone. */
#define SHCA_IB_HELLO_LOST_NS	(10 * SHCA_IB_HELLO_NS)
/* Least time between two hellos, whatever is received. */
#define SHCA_IB_HELLO_GAP_NS	10000000ull
/* A link that management takes down stays up for this time, so that the answer can leave. */
#define SHCA_IB_ANSWER_NS	50000000ull

/* PortPhysicalState of PortInfo (IBTA 14.2.5.6). */
enum shca_ib_phys {
	SHCA_IB_PHYS_POLLING = 2,
	SHCA_IB_PHYS_DISABLED = 3,
	SHCA_IB_PHYS_TRAINING = 4,
	SHCA_IB_PHYS_LINK_UP = 5,
};

/**
 * struct shca_ib_hello - contents of a hello
 * @session:	of the sender; in the shim
 * @guid:	port GUID of the sender
 * @heard:	session of the port that the sender takes for its peer; 0: none
 * @mtu:	largest path MTU of the sender in bytes
 * @lanes:	code of the data lanes that the sender has; 0: one
 * @credits:	the sender takes frames of credits, and sends them (ib_credit.h)
 * @batches:	the sender takes frames of batches
 * @bye:	the sender goes away; of the other fields only @session counts
 */
struct shca_ib_hello {
	u32 session;
	u64 guid;
	u32 heard;
	u16 mtu;
	u8 lanes;
	bool credits;
	bool batches;
	bool bye;
};

/**
 * shca_ib_hello_parse() - decode what follows the shim of a hello
 * @hello:	result
 * @shim:	decoded before
 * @body:	@shim->len bytes
 *
 * Context: any.
 * Return: SHCA_IB_OK or SHCA_IB_SHORT.
 */
enum shca_ib_parse shca_ib_hello_parse(struct shca_ib_hello *hello,
				       const struct shca_ib_shim *shim,
				       const u8 *body);

/* Encode shim and body. Return: bytes written. */
u32 shca_ib_hello_build(const struct shca_ib_hello *hello, u8 *frame);

/* ---- the state machine ------------------------------------------------------ */

#define SHCA_IB_MAC_BYTES	6

/* Events for the caller: bits that these functions return. */
#define SHCA_IB_EV_UP		(1u << 0)	/* physical state became LinkUp */
#define SHCA_IB_EV_DOWN		(1u << 1)	/* it was LinkUp */

/* What management has asked of a link that is up, to be done once the answer has left. */
enum shca_ib_request {
	SHCA_IB_REQUEST_NONE,
	SHCA_IB_REQUEST_RESET,
	SHCA_IB_REQUEST_DISABLE,
};

/**
 * struct shca_ib_port - physical layer of a port, as far as frames show it
 * @guid:	own port GUID
 * @session:	own session
 * @mtu:	own largest path MTU in bytes
 * @lanes:	code of the own data lanes; 0: one
 * @credits:	frames of credits are taken and sent
 * @batches:	frames of batches are taken
 * @phys:	enum shca_ib_phys
 * @carrier:	the netdev is up and has a carrier
 * @request:	what management has asked for and waits for
 * @peer_mac:	source address of the peer; valid, as @peer and @heard_at are, if there is one
 *		(shca_ib_port_has_peer())
 * @peer:	last hello of the peer
 * @asked_at:	when management asked; valid with a @request
 * @heard_at:	time of the peer's last hello
 * @earliest:	no hello leaves before: SHCA_IB_HELLO_GAP_NS after the last one
 * @due:	when the next one leaves
 * @downed:	times that the link went down (LinkDownedCounter); saturates
 */
struct shca_ib_port {
	u64 guid;
	u32 session;
	u16 mtu;
	u8 lanes;
	bool credits;
	bool batches;
	u8 phys;
	bool carrier;
	enum shca_ib_request request;
	u8 peer_mac[SHCA_IB_MAC_BYTES];
	struct shca_ib_hello peer;
	u64 asked_at;
	u64 heard_at;
	u64 earliest;
	u64 due;
	u32 downed;
	/* private: hellos of other ports than the peer */
	u32 others;
};

static inline bool shca_ib_port_has_peer(const struct shca_ib_port *port)
{
	return port->phys >= SHCA_IB_PHYS_TRAINING;
}

/* A port without a carrier; @session is random, not 0. */
void shca_ib_port_init(struct shca_ib_port *port, u64 guid, u32 session,
		       u16 mtu);

/* The netdev went up or down. Return: SHCA_IB_EV_*. */
u32 shca_ib_port_carrier(struct shca_ib_port *port, bool carrier, u64 now);

/* Disable or enable. Return: SHCA_IB_EV_*. */
u32 shca_ib_port_disable(struct shca_ib_port *port, bool disabled, u64 now);

/*
 * Reset the link, or disable the port, once the answer has left: shca_ib_port_tick() does it. Until
 * then the port is as it was. No answer leaves by a link that is not up, so nothing waits there:
 * training goes on, and a disabled port is enabled at once. (OpenSM sends PortState Down to a port
 * without a peer. If the port obeyed later, a link that has come up meanwhile would go down.)
 *
 * Return: SHCA_IB_EV_*
 */
u32 shca_ib_port_ask(struct shca_ib_port *port, bool disable, u64 now);

/*
 * A hello was received.
 * @mac:	source address of its frame
 *
 * Return: SHCA_IB_EV_*
 */
u32 shca_ib_port_rx(struct shca_ib_port *port, const struct shca_ib_hello *hello,
		    const u8 *mac, u64 now);

/*
 * The deadline may have passed. Followed by shca_ib_port_tx(). A caller that is late by an
 * interval of hellos or more has not heard the peer meanwhile: that time is no silence.
 *
 * Return: SHCA_IB_EV_*
 */
u32 shca_ib_port_tick(struct shca_ib_port *port, u64 now);

/* Must a hello be sent now? Fills in @hello if so. */
bool shca_ib_port_tx(struct shca_ib_port *port, struct shca_ib_hello *hello,
		     u64 now);

/* The hello with which a port goes away. */
struct shca_ib_hello shca_ib_port_bye(const struct shca_ib_port *port);

/* When to call shca_ib_port_tick(); ~0: never. */
u64 shca_ib_port_deadline(const struct shca_ib_port *port);

#endif
