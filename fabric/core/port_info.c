// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * PortInfo (IBTA 14.2.5.6). Some fields are those of an end port, which is port 0 of a switch,
 * others those of a port with a cable. Both are in one table of the standard.
 */
#include "agent.h"

#define RESP_TIME		16	/* 4.096 us * 2^16 */
/* Widths and speeds that a Set enables: all bits of a field are "all that are supported". */
#define WIDTHS			0xff
#define SPEEDS			0x0f
#define EXT_SPEEDS		0x1f
#define EXT2_SPEEDS		0x07
#define EXT_SPEEDS_OFF		30

static void end_get(const struct fab_end *end, bool with_mkey, u8 *data)
{
	put_be64(data, with_mkey ? end->mkey.key : 0);
	put_be64(data + 8, end->gid_prefix);
	put_be16(data + 16, end->lid);
	put_be16(data + 18, end->sm_lid);
	put_be32(data + 20, end->cap_mask);
	put_be16(data + 26, end->mkey.lease);
	data[34] = end->mkey.prot << 6 | end->lmc;
	data[36] = end->sm_sl;
	put_be16(data + 44, end->mkey.violations);
	put_be16(data + 46, end->bad_pkeys);
	put_be16(data + 48, end->bad_qkeys);
	data[50] = SHCA_IB_GUIDS;
	data[51] = end->subnet_timeout;
	data[52] = RESP_TIME;
	put_be16(data + 60, end->cap_mask2);
}

static bool is_end(const struct fab_port *port)
{
	return port->node->type != FAB_SWITCH || !port->number;
}

void fab_port_info_get(const struct fab_port *port, u8 by, bool with_mkey, u8 *data)
{
	memset(data, 0, SMP_DATA_BYTES);
	if (is_end(port))
		end_get(&port->end, with_mkey, data);
	data[28] = by;
	data[29] = port->enabled.width;
	data[30] = port->supported.width;
	data[31] = port->active.width;
	data[32] = port->supported.speed << 4 | port->state;
	data[33] = port->phys << 4 | port->down_default;
	data[35] = port->active.speed << 4 | port->enabled.speed;
	data[36] |= port->neighbor_mtu << 4;
	data[37] = SHCA_IB_VL_CAP << 4;
	data[38] = port->lanes.high_limit;
	data[39] = SHCA_IB_ARB_ENTRIES;
	data[40] = SHCA_IB_ARB_ENTRIES;
	data[41] = port->mtu_cap;
	data[42] = port->stall_count << 5 | port->hoq_life;
	data[43] = port->lanes.code << 4 | port->filters;
	data[53] = port->limits;
	data[56] = port->active.ext2 << 5 | port->supported.ext2 << 3 | port->enabled.ext2;
	data[62] = port->active.ext << 4 | port->supported.ext;
	data[63] = port->supported.ext && !port->enabled.ext ? EXT_SPEEDS_OFF : port->enabled.ext;
}

/* 0 changes nothing. */
static bool rates_ok(u8 wanted, u8 supported, u8 all)
{
	return wanted == all || !(wanted & ~supported);
}

static void rate_set(u8 *enabled, u8 wanted, u8 supported, u8 all)
{
	if (wanted)
		*enabled = wanted == all ? supported : wanted;
}

/* Extended speeds may be off: then the link has one of the others. */
static bool ext_ok(u8 wanted, u8 supported)
{
	return wanted == EXT_SPEEDS_OFF || rates_ok(wanted, supported, EXT_SPEEDS);
}

static void ext_set(u8 *enabled, u8 wanted, u8 supported)
{
	if (wanted == EXT_SPEEDS_OFF)
		*enabled = 0;
	else
		rate_set(enabled, wanted, supported, EXT_SPEEDS);
}

static bool info_ok(const struct fab_port *port, const u8 *data)
{
	u8 state = data[32] & 0xf, phys = data[33] >> 4;
	u8 mtu = data[36] >> 4, vls = data[43] >> 4;

	if (is_end(port) && (get_be16(data + 16) >= LID_MCAST || get_be16(data + 18) >= LID_MCAST))
		return false;
	/* Port 0 has no link: it stays as it is. */
	if (port->node->sw && !port->number)
		return true;
	return rates_ok(data[29], port->supported.width, WIDTHS) &&
	       rates_ok(data[35] & SPEEDS, port->supported.speed, SPEEDS) &&
	       ext_ok(data[63] & EXT_SPEEDS, port->supported.ext) &&
	       rates_ok(data[56] & EXT2_SPEEDS, port->supported.ext2, EXT2_SPEEDS) &&
	       (data[33] & 0xf) <= SHCA_IB_PHYS_POLLING && mtu <= port->mtu_cap &&
	       vls <= SHCA_IB_VL_CAP && shca_ib_state_ok(port->state, state, phys);
}

static void end_set(struct fab_end *end, const u8 *data)
{
	end->mkey.key = get_be64(data);
	end->gid_prefix = get_be64(data + 8);
	end->lid = get_be16(data + 16);
	end->sm_lid = get_be16(data + 18);
	end->mkey.lease = get_be16(data + 26);
	end->mkey.prot = data[34] >> 6;
	end->lmc = data[34] & 7;
	end->sm_sl = data[36] & 0xf;
	end->subnet_timeout = data[51] & 0x1f;
	if (!get_be16(data + 44))
		end->mkey.violations = 0;
	if (!get_be16(data + 46))
		end->bad_pkeys = 0;
	if (!get_be16(data + 48))
		end->bad_qkeys = 0;
	/* The lease begins with the next violation. */
	end->mkey.lease_end = 0;
}

static void state_set(struct fab_port *port, u8 state, u8 phys)
{
	if (phys == SHCA_IB_PHYS_DISABLED) {
		fab_link(port, phys, true);
		return;
	}
	/* The link is trained anew, which takes no time here. */
	if (phys || state == SHCA_IB_STATE_DOWN)
		fab_link(port, SHCA_IB_PHYS_LINK_UP, true);
	else if (state != SHCA_IB_STATE_NOP)
		port->state = state;
}

u32 fab_port_info_set(struct fab_port *port, const u8 *data)
{
	u8 vls = data[43] >> 4;

	if (!info_ok(port, data))
		return STATUS_FIELD;
	if (is_end(port))
		end_set(&port->end, data);
	if (port->node->sw && !port->number)
		return 0;
	rate_set(&port->enabled.width, data[29], port->supported.width, WIDTHS);
	rate_set(&port->enabled.speed, data[35] & SPEEDS, port->supported.speed, SPEEDS);
	ext_set(&port->enabled.ext, data[63] & EXT_SPEEDS, port->supported.ext);
	rate_set(&port->enabled.ext2, data[56] & EXT2_SPEEDS, port->supported.ext2, EXT2_SPEEDS);
	if (data[33] & 0xf)
		port->down_default = data[33] & 0xf;
	if (data[36] >> 4)
		port->neighbor_mtu = data[36] >> 4;
	port->lanes.high_limit = data[38];
	port->stall_count = data[42] >> 5;
	port->hoq_life = data[42] & 0x1f;
	port->filters = data[43] & 0xf;
	port->limits = data[53];
	if (vls) {
		port->lanes_set = vls;
		port->lanes.code = vls;
	}
	state_set(port, data[32] & 0xf, data[33] >> 4);
	return 0;
}
