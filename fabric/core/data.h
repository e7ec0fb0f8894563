/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets with data in a fabric. They enter and leave at edges, which are ports whose cable ends at
 * a real port (docs/infiniband.md has the frames). Between two edges they pass buffers, lanes and
 * credits of each switch. The caller has the memory, the time, and the frames.
 */
#ifndef SHCA_FABRIC_DATA_H
#define SHCA_FABRIC_DATA_H

#include "../../kernel/core/headers.h"
#include "../../kernel/ib/core/ib_credit.h"
#include "../../kernel/ib/core/ib_hello.h"
#include "fabric.h"

/* Bytes of a frame before the LRH: Ethernet header and shim. */
#define FAB_ETHER_BYTES		14
#define FAB_HEAD		(FAB_ETHER_BYTES + SHCA_IB_SHIM_BYTES)
/* The longest packet, from LRH to VCRC, and the longest frame. */
#define FAB_PACKET_MAX		(SHCA_IB_OVERHEAD + SHCA_IB_MTU_MAX)
#define FAB_FRAME_MAX		(FAB_HEAD + FAB_PACKET_MAX)
/* The longest frame of a batch, by its shim's length, and what of it is behind the longest one of a packet. */
#define FAB_BATCH_MAX		(FAB_HEAD + 0xffff)
#define FAB_REST_MAX		(FAB_BATCH_MAX - FAB_FRAME_MAX)
/* Packets that the buffer of a lane takes, at each port of a switch. */
#define FAB_LANE_PACKETS	60
/* The same of an edge, where frames of credits take longer. Its peer may have used twice its credit. */
#define FAB_EDGE_LANE_PACKETS	180
#define FAB_EDGE_PACKETS	(2 * FAB_EDGE_LANE_PACKETS)
/* Packets in flight to an edge, at most. (A softhca sends batches to a peer that takes one more.) */
#define FAB_EDGE_WINDOW		239
/* Flows of simulated hosts at a time; a power of two. */
#define FAB_SOURCES		64
/* A packet of one, from LRH to VCRC: 256 bytes of data. */
#define FAB_SOURCE_BYTES		(SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + SHCA_DETH_BYTES + 256 + SHCA_ICRC_BYTES + SHCA_IB_VCRC_BYTES)
/* Words of a set of ports: bit n is port n. */
#define FAB_SET_WORDS		4

/**
 * struct fab_packet - a packet, and its frame
 * @next:	behind it in its buffer or cable, or among those not in use
 * @arrived:	when it came to this switch, or comes to the next one
 * @outputs:	ports by which it has to leave yet
 * @flow:	of adaptive routing, or NULL
 * @len:	bytes from LRH to VCRC
 * @lane:	of the buffer in which it lies
 * @queue:	lane of the output for which a unicast packet waits there
 * @bare:	it came in a batch, and its VCRC has not been made yet
 * @frame:	its frame, whose first FAB_HEAD bytes are written when it leaves
 */
struct fab_packet {
	struct fab_packet *next;
	u64 arrived;
	u64 outputs[FAB_SET_WORDS];
	struct fab_flow *flow;
	u16 len;
	u8 lane;
	u8 queue;
	bool bare;
	u8 frame[FAB_FRAME_MAX];
};

/* From LRH to VCRC. */
static inline u8 *fab_packet_lrh(struct fab_packet *packet)
{
	return packet->frame + FAB_HEAD;
}

/**
 * struct fab_buffer - buffer of a lane at the input of a port
 * @in:		the port
 * @lane:	the lane
 * @packets:	how many it has
 * @head:	first one
 * @tail:	last one; valid with a @head
 * @out:	output that the first packet waits for; valid with a @head
 * @next:	behind it, waiting for the same output and lane
 */
struct fab_buffer {
	struct fab_port *in;
	u8 lane;
	u16 packets;
	struct fab_packet *head;
	struct fab_packet *tail;
	struct fab_port *out;
	struct fab_buffer *next;
};

/**
 * struct fab_turn - buffers whose first packet waits for a lane of an output
 * @head:	the one that is next
 * @tail:	last one; valid with a @head
 * @since:	when the first one became the first; valid with a @head
 * @expired:	packets in a row that have waited for HOQLife
 * @queued:	unicast packets in all buffers of the switch that are to leave by this lane
 * @starved:	packets that have to leave before the lane, which has lacked credit, counts as one that has it
 * @stalled:	until then each packet for the lane is dropped (IBTA 18.2.5.4)
 */
struct fab_turn {
	struct fab_buffer *head;
	struct fab_buffer *tail;
	u64 since;
	u64 stalled;
	u8 expired;
	u8 starved;
	u16 queued;
};

/**
 * struct fab_io - buffers and turns of a port of a switch
 * @input:	of each lane
 * @output:	of each lane
 * @wanted:	lanes for which a packet waits, as bits
 * @arb:	VL arbitration of the output
 * @waits:	a packet waits, and none can leave
 * @is_ready:	in the list of outputs with work
 * @is_late:	in the list of outputs whose packets wait
 * @is_paced:	since its cable was busy, a packet has waited for nothing else
 * @rate:	bytes a second that its cable carries; 0: as many as come
 * @delay:	ns that a packet takes to the switch at its other end
 * @flight:	packets that are in its cable
 * @flight_tail: last one; valid with a @flight
 * @flying:	how many, of each lane
 * @lose_each:	of packets that leave, the cable loses one of so many; 0: none
 * @damage_each: the same for packets that it damages
 * @left:	packets that have left since one of the two was set
 * @coming:	packets with a flow that wait for this output
 * @moved:	packets that adaptive routing has sent by other ports than this one of the forwarding table
 * @replaced:	those of them that had no way by this one, as a link was down
 * @eligible:	packets that congestion control could have marked
 * @marked:	those of them with a mark (FECN)
 * @busy:	until then the cable carries the last packet
 * @waits_since: when that began
 * @next_ready:	next one in the list of outputs with work
 * @next_late:	next one in the list of outputs whose packets wait
 */
struct fab_io {
	struct fab_buffer input[SHCA_IB_LANES];
	struct fab_turn output[SHCA_IB_LANES];
	u8 wanted;
	struct shca_ib_arb arb;
	bool waits;
	bool is_ready;
	bool is_late;
	bool is_paced;
	u64 rate;
	u64 delay;
	struct fab_packet *flight;
	struct fab_packet *flight_tail;
	u8 flying[SHCA_IB_LANES];
	u32 lose_each;
	u32 damage_each;
	u32 left;
	u32 coming;
	u64 moved;
	u64 replaced;
	u64 eligible;
	u64 marked;
	u64 busy;
	u64 waits_since;
	struct fab_port *next_ready;
	struct fab_port *next_late;
};

/**
 * struct fab_edge - a port whose cable ends at a real port
 * @port:	the port of a switch
 * @mac:	source address of its frames
 * @phy:	its physical layer
 * @credits:	of its link
 * @batch_mtu:	bytes behind the Ethernet header that a frame of a batch may have; 0: the edge has none
 * @turned:	when the own period began
 * @turning:	when the peer's newest one was heard of
 * @drain:	how long the peer's last packets of a period may take
 * @heard:	when the last frame of credits came
 * @asked:	when the peer was asked for credits
 * @tell_at:	when the next frame of credits leaves, at the latest
 * @by_set:	management has taken the link down
 * @bad_frames:	frames that were no frames of the peer
 * @bad_credits: frames of credits with impossible values
 * @foreign:	frames of others than the peer, as the caller counts them
 * @unsent:	frames that @send of struct fab_data did not take
 */
struct fab_edge {
	struct fab_port *port;
	u8 mac[SHCA_IB_MAC_BYTES];
	struct shca_ib_port phy;
	struct shca_ib_credits credits;
	u32 batch_mtu;
	u64 turned;
	u64 turning;
	u64 drain;
	u64 heard;
	u64 asked;
	u64 tell_at;
	bool by_set;
	u64 bad_frames;
	u64 bad_credits;
	u64 foreign;
	u64 unsent;
};

/* Words of the longest packet without its VCRC. */
#define FAB_PACKET_WORDS	((FAB_PACKET_MAX - SHCA_IB_VCRC_BYTES) / 4)

#define FAB_ICRC_STEP		8

/**
 * struct fab_source - datagrams that a simulated host sends to a LID
 * @from:	port of the host; NULL: there is no flow
 * @dlid:	destination
 * @sl:		service level
 * @pkey:	P_Key that the packets have, whatever the port's table says
 * @rate:	bytes a second at most, and not 0
 * @left:	packets that it has to send yet
 * @sent:	packets that have left the host
 * @arrived:	of those, how many have come to the host that has the LID, and fit its P_Keys
 * @due:	when the next one may leave
 * @qp:		QP at both ends, by which a packet is known as one of the flow
 * @packet:	what is sent
 */
struct fab_source {
	struct fab_port *from;
	u16 dlid;
	u8 sl;
	u16 pkey;
	u64 rate;
	u64 left;
	u64 sent;
	u64 arrived;
	u64 due;
	u32 qp;
	u8 packet[FAB_SOURCE_BYTES];
};

/**
 * struct fab_gather - packets that leave at an edge in one frame
 * @edge:	which; NULL: there are none
 * @period:	of the packets
 * @nr:		how many
 * @unit:	bytes of each from BTH to ICRC
 * @len:	bytes from LRH on
 * @bare:	the first has no VCRC behind it
 * @frame:	the frame
 */
struct fab_gather {
	struct fab_edge *edge;
	u8 period;
	u32 nr;
	u32 unit;
	u32 len;
	bool bare;
	u8 frame[FAB_BATCH_MAX];
};

/**
 * struct fab_data - what the data path of a fabric has
 * @vcrc:	tables of the VCRC
 * @icrc:	tables of the ICRC
 * @vl_crc:	by bit of the VL, and words of the packet: what that bit adds to the VCRC
 * @pool:	memory for packets, which need not be zeros
 * @pool_nr:	how many
 * @pool_used:	how many of them have been used
 * @unused:	those of them that are not in use now
 * @rest:	of the frame that fab_edge_receive() gets: bytes behind FAB_FRAME_MAX
 * @gather:	packets that leave together, while their output has its turn
 * @moves:	packets that may leave outputs yet in this call
 * @ready:	outputs with work, from this one to @ready_tail
 * @ready_tail:	valid with @ready
 * @late:	outputs whose packets wait
 * @edges:	all edges
 * @edges_nr:	how many
 * @adaptive:	adaptive routing, or NULL
 * @aggregators: reduction, or NULL
 * @mad_psn:	PSN of the next datagram
 * @sources:	traffic of simulated hosts
 * @sources_started: how many have been started
 * @arrive:	a datagram of subnet management from a real port is for a program at @mad->to, or NULL
 * @send:	a frame leaves at an edge. It must not call back. Return: false: it is lost
 */
struct fab_data {
	struct shca_ib_vcrc vcrc;
	u32 icrc[FAB_ICRC_STEP][256];
	u16 vl_crc[4][FAB_PACKET_WORDS + 1];
	struct fab_packet *pool;
	u32 pool_nr;
	u32 pool_used;
	struct fab_packet *unused;
	u8 rest[FAB_REST_MAX];
	struct fab_gather gather;
	u32 moves;
	struct fab_port *ready;
	struct fab_port *ready_tail;
	struct fab_port *late;
	struct fab_edge **edges;
	u32 edges_nr;
	struct fab_adaptive *adaptive;
	struct fab_aggregators *aggregators;
	u32 mad_psn;
	struct fab_source sources[FAB_SOURCES];
	u32 sources_started;
	void (*arrive)(struct fab_data *data, struct fab_mad *mad);
	bool (*send)(struct fab_edge *edge, const u8 *frame, u32 len);
};

/**
 * fab_data_init() - begin without edges
 * @fabric:	with nodes, none of which has buffers yet
 * @data:	zeros but for @send, @pool, @pool_nr, and @edges, which has room for all edges
 *
 * The caller then gives each port of each switch, 0 too, its @io with fab_io_init().
 */
void fab_data_init(struct fabric *fabric, struct fab_data *data);

/* Give a port of a switch buffers; @io is zeros. */
void fab_io_init(struct fab_port *port, struct fab_io *io);

/**
 * fab_edge_init() - a cable of a port ends at a real port
 * @edge:	zeros but for @mac
 * @port:	of a switch, with buffers, without a cable
 * @session:	random, not 0, other than of all other edges
 * @mtu:	largest path MTU that frames can carry, in bytes
 * @window:	packets that may be in flight to it, from 1 to FAB_EDGE_WINDOW: what lies between the
 *		peer and fab_edge_receive() has room for them
 */
void fab_edge_init(struct fab_edge *edge, struct fab_port *port, u32 session, u32 mtu, u32 window);

/*
 * Frames of batches can pass, with up to @mtu bytes behind the Ethernet header. Before the first carrier, and
 * only if the window has room for SHCA_IB_BATCH_MOST packets.
 */
void fab_edge_batches(struct fab_edge *edge, u32 mtu);

/* Frames can pass at an edge from now on, or not any longer. */
void fab_edge_carrier(struct fab_edge *edge, bool carrier, u64 now);

/* A packet to read the next frame into; NULL: there is no memory. fab_packet_put() gives it back. */
struct fab_packet *fab_packet_get(struct fab_data *data);
void fab_packet_put(struct fab_data *data, struct fab_packet *packet);

/**
 * fab_edge_receive() - a frame has come
 * @edge:	where
 * @packet:	with the frame, as far as it has room (the rest is in @rest of struct fab_data); not the
 *		caller's any longer
 * @len:	bytes of the frame, from its Ethernet header on
 * @now:	the time in ns, which never goes back
 *
 * Packets that it makes ready leave with fab_data_run().
 */
void fab_edge_receive(struct fab_edge *edge, struct fab_packet *packet, u32 len, u64 now);

/*
 * All that can leave does so. If tables lead packets round in a circle, that has no end: the rest
 * is due at once, and left for the next call.
 */
void fab_data_run(struct fabric *fabric, u64 now);

/* What is due at this time. Return: when to call it again; ~0: never. */
u64 fab_data_advance(struct fabric *fabric, u64 now);

/**
 * fab_source_start() - a simulated host begins to send
 * @from:	its port, whose cable leads to a switch with buffers
 * @wanted:	@dlid, @sl, @pkey, @rate and @left are used
 *
 * It sends while its port is Active and the switch has room for its lane. So it fills no more
 * buffers than a real port could.
 *
 * Return: NULL: there are FAB_SOURCES.
 */
struct fab_source *fab_source_start(struct fab_port *from, const struct fab_source *wanted);

/* All flows of a port end, and what they have counted is gone. */
void fab_sources_stop(struct fab_port *from);

/* The edge says goodbye. */
void fab_edge_bye(struct fab_edge *edge, u64 now);

#endif
