/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of an InfiniBand link on the wire: routing headers, masks of the invariant CRC, the
 * variant CRC (IBTA 7.7, 7.8, 8.3). A shim carries them in Ethernet frames (docs/infiniband.md).
 * The transport headers in them are those of headers.h.
 */
#ifndef SHCA_CORE_IB_WIRE_H
#define SHCA_CORE_IB_WIRE_H

#include "../../core/be.h"
#include "../../core/headers.h"

/* From the Experimental range of IEEE 802: local experiments, not registered. */
#define SHCA_IB_ETHERTYPE	0x88b5

#define SHCA_IB_SHIM_BYTES	8
#define SHCA_IB_LRH_BYTES	8
#define SHCA_IB_GRH_BYTES	40
#define SHCA_IB_LOWER_MAX	(SHCA_IB_LRH_BYTES + SHCA_IB_GRH_BYTES)
#define SHCA_IB_VCRC_BYTES	2
/* IBTA 7.7.8: most that a packet adds to its payload, from LRH to VCRC. */
#define SHCA_IB_OVERHEAD	126

/* Smallest and largest path MTU, in bytes. */
#define SHCA_IB_MTU_MIN		256u
#define SHCA_IB_MTU_MAX		4096u

/* ---- the shim --------------------------------------------------------------- */

/* Contents of a frame behind its shim. */
enum shca_ib_frame {
	SHCA_IB_FRAME_DATA = 1,		/* a packet, from LRH to VCRC */
	SHCA_IB_FRAME_HELLO = 2,	/* struct shca_ib_hello */
	SHCA_IB_FRAME_CREDITS = 3,	/* struct shca_ib_credit_frame */
	SHCA_IB_FRAME_BATCH = 4,	/* struct shca_ib_batch */
};

/**
 * struct shca_ib_shim - first header of a frame
 * @type:	enum shca_ib_frame
 * @period:	of data, if both ends use credits (ib/core/ib_credit.h)
 * @len:	bytes that follow the shim; Ethernet pads short frames
 * @session:	number that the sender has drawn when it came up; not 0
 */
struct shca_ib_shim {
	u8 type;
	u8 period;
	u16 len;
	u32 session;
};

/* Why a frame is refused before any QP is looked up. */
enum shca_ib_parse {
	SHCA_IB_OK,
	SHCA_IB_SHORT,		/* shorter than its headers, or than its length field */
	SHCA_IB_VERSION,	/* another version of the shim, or of the LRH */
	SHCA_IB_TYPE,		/* unknown type of frame, or no session */
	SHCA_IB_RAW,		/* LNH: raw packet, without a BTH */
	SHCA_IB_LENGTH,		/* PktLen or PayLen is not the packet's length */
	SHCA_IB_GRH,		/* IP version or next header of the GRH */
	SHCA_IB_ALONE,		/* in a batch, but of a kind that has to leave alone */
};

/**
 * shca_ib_shim_parse() - decode the shim
 * @shim:	result
 * @frame:	what is behind the Ethernet header, padding included
 * @len:	bytes of that
 *
 * Context: any.
 * Return: SHCA_IB_OK, or why the frame is refused.
 */
enum shca_ib_parse shca_ib_shim_parse(struct shca_ib_shim *shim,
				      const u8 *frame, u32 len);

/* Encode SHCA_IB_SHIM_BYTES. */
void shca_ib_shim_build(const struct shca_ib_shim *shim, u8 *frame);

static inline u32 shca_ib_shim_len(const u8 *frame)
{
	return get_be16(frame + 2);
}

static inline void shca_ib_shim_set_period(u8 *frame, u8 period)
{
	frame[1] = period;
}

/* ---- LRH and GRH ------------------------------------------------------------ */

#define SHCA_IB_LID_PERMISSIVE	0xffffu
#define SHCA_IB_LID_MCAST	0xc000u
#define SHCA_IB_VL_MGMT		15

/*
 * The headers below the BTH.
 * @len:	bytes from the LRH to the ICRC, both included; a multiple of 4
 * @has_grh:	the fields from @tclass on are valid
 */
struct shca_ib_lower {
	u8 vl;
	u8 sl;
	u16 dlid;
	u16 slid;
	u32 len;
	bool has_grh;
	u8 tclass;
	u8 hop_limit;
	u32 flow_label;
	u8 sgid[16];
	u8 dgid[16];
};

static inline bool shca_ib_lrh_has_grh(const u8 *lrh)
{
	return (lrh[1] & 3) == 3;
}

static inline u32 shca_ib_lower_bytes(const struct shca_ib_lower *lower)
{
	return lower->has_grh ? SHCA_IB_LOWER_MAX : SHCA_IB_LRH_BYTES;
}

/**
 * shca_ib_lower_parse() - decode LRH and GRH
 * @lower:	result
 * @pkt:	contiguous headers
 * @avail:	bytes readable at @pkt, at most @len
 * @len:	bytes from the LRH to the VCRC, both included
 *
 * A packet that is accepted has room for a BTH and an ICRC.
 *
 * Context: any.
 * Return: SHCA_IB_OK, or why the packet is refused.
 */
enum shca_ib_parse shca_ib_lower_parse(struct shca_ib_lower *lower,
				       const u8 *pkt, u32 avail, u32 len);

/**
 * shca_ib_lower_build() - encode LRH and GRH
 * @lower:	what to encode
 * @pkt:	at least SHCA_IB_LOWER_MAX bytes
 *
 * Context: any.
 * Return: bytes written.
 */
u32 shca_ib_lower_build(const struct shca_ib_lower *lower, u8 *pkt);

/**
 * shca_ib_lower_set_len() - the same headers for a packet of another length
 * @lower:	LRH, and GRH if the LRH says so
 * @len:	bytes from BTH to ICRC; a multiple of 4
 *
 * Context: any.
 */
void shca_ib_lower_set_len(u8 *lower, u32 len);

/* ---- batches ---------------------------------------------------------------- */

/* Packets of a batch, at most: a receiver tells of credit for so many at once. */
#define SHCA_IB_BATCH_MOST	60

/**
 * struct shca_ib_batch - packets that follow each other, and differ behind their LRH and GRH only
 * @lower:	LRH and GRH of the first one
 * @unit:	bytes of each from BTH to ICRC
 * @last:	those of the last one, which may be shorter
 * @nr:		how many
 *
 * In a frame, the LRH and GRH of the first one are followed by each packet from its BTH to its ICRC.
 * There is no VCRC: such a frame does not leave Ethernet, which has a CRC, or the machine.
 */
struct shca_ib_batch {
	struct shca_ib_lower lower;
	u32 unit;
	u32 last;
	u32 nr;
};

/**
 * shca_ib_batch_parse() - find the packets of a batch
 * @batch:	result
 * @pkt:	contiguous headers
 * @avail:	bytes readable at @pkt, at most @len
 * @len:	bytes of all
 *
 * Management and multicast have no batches. So whoever splits one has checked the headers of all.
 *
 * Context: any.
 * Return: SHCA_IB_OK, or why the frame is refused.
 */
enum shca_ib_parse shca_ib_batch_parse(struct shca_ib_batch *batch, const u8 *pkt, u32 avail, u32 len);

/* ---- CRCs ------------------------------------------------------------------- */

/**
 * shca_ib_icrc_mask() - copy LRH and GRH as the invariant CRC sees them
 * @lower:	LRH, and GRH if the LRH says so
 * @masked:	result, at least SHCA_IB_LOWER_MAX bytes
 *
 * Bits that switches and routers change count as ones (IBTA 7.8.1). Those of the BTH are masked as
 * for RoCE.
 *
 * Context: any.
 * Return: bytes written, which come before the BTH in the CRC.
 */
u32 shca_ib_icrc_mask(const u8 *lower, u8 *masked);

/**
 * struct shca_ib_vcrc - tables of the variant CRC
 * @by:		[n][b]: the CRC of byte @b followed by @n zeros
 */
struct shca_ib_vcrc {
	u16 by[8][256];
};

void shca_ib_vcrc_init(struct shca_ib_vcrc *tables);

/* The state before the first byte. The VCRC is the complement of the last state. */
#define SHCA_IB_VCRC_SEED	0xffffu

/*
 * Continue a variant CRC.
 *
 * Context: any.
 * Return: the state. shca_ib_vcrc_put() puts its complement on the wire.
 */
u16 shca_ib_vcrc(const struct shca_ib_vcrc *tables, u16 state, const u8 *data,
		 u32 len);

static inline void shca_ib_vcrc_put(u16 state, u8 *vcrc)
{
	vcrc[0] = (u8)~state;
	vcrc[1] = (u8)(~state >> 8);
}

static inline bool shca_ib_vcrc_ok(u16 state, const u8 *vcrc)
{
	return (u16)~state == (vcrc[0] | vcrc[1] << 8);
}

/* ---- MTU -------------------------------------------------------------------- */

/* MTU that a netdev needs for a path MTU of @mtu bytes. */
static inline u32 shca_ib_frame_mtu(u32 mtu)
{
	return SHCA_IB_SHIM_BYTES + SHCA_IB_OVERHEAD + mtu;
}

/* Largest path MTU through a netdev with an MTU of @frame bytes; 0 if not even SHCA_IB_MTU_MIN. */
u32 shca_ib_mtu(u32 frame);

#endif
