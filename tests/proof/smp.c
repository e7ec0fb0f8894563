// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The subnet management agent: ib/core/ib_sma.c, ib/core/ib_trap.c, ib/core/ib_lanes.c. Attribute by
 * attribute, all 64 bytes of it come to a port in any state that holds, and lead to a state that
 * holds. shca_ib_sma_init() makes such a state. The dispatch in shca_ib_smp() is left to the
 * fuzzer: as a whole it is too much for CBMC, as is VLArbitrationTable.
 */
#include "proof.h"
#include "ib/core/ib_sma.c"
#include "ib/core/ib_trap.c"
#include "ib/core/ib_lanes.c"

/* What holds of an agent between two packets. */
static bool sma_holds(const struct shca_ib_sma *s)
{
	return s->partitions <= SHCA_IB_PKEYS &&
	       s->state >= SHCA_IB_STATE_DOWN && s->state <= SHCA_IB_STATE_ACTIVE &&
	       s->mtu_cap && s->mtu_cap <= 5 && s->neighbor_mtu && s->neighbor_mtu <= s->mtu_cap &&
	       s->lid < LID_MCAST && s->sm_lid < LID_MCAST && s->lmc < 8 && s->sm_sl < SHCA_IB_SLS &&
	       s->mkey.prot < 4 && s->subnet_timeout < 32 && s->hoq_life < 32 && s->stall_count < 8 &&
	       s->phys_limit < 16 && s->overruns.limit < 16 &&
	       s->down_default && s->down_default <= SHCA_IB_PHYS_POLLING &&
	       s->lanes.code && s->lanes.code <= SHCA_IB_VL_CAP &&
	       s->lanes_set && s->lanes_set <= SHCA_IB_VL_CAP && s->peer_lanes <= SHCA_IB_VL_CAP &&
	       s->traps.nr <= SHCA_IB_NOTICES && s->traps.pending < 1u << SHCA_IB_TRAP_SLOTS;
}

/*
 * PortInfo: a port becomes active from armed only, and its end is told.
 *
 * proof: set_port slow --unwind 65
 * planted: ib/core/ib_sma.c: s/vls <= SHCA_IB_VL_CAP \&\&/vls <= SHCA_IB_VL_CAP + 1 \&\&/
 * planted: ib/core/ib_sma.c: s/now == SHCA_IB_STATE_ARMED ||$/now >= SHCA_IB_STATE_INIT ||/
 */
void set_port(void)
{
	struct shca_ib_sma sma;
	u8 data[SMP_DATA_BYTES], was;
	u32 what;

	assume(sma_holds(&sma));
	was = sma.state;
	if (!port_info_ok(&sma, data))
		return;
	what = set_port_info(&sma, data);
	claim(sma_holds(&sma));
	claim(sma.state != SHCA_IB_STATE_ACTIVE || was >= SHCA_IB_STATE_ARMED);
	claim((was == SHCA_IB_STATE_ACTIVE && sma.state != was) == !!(what & SHCA_IB_SMA_INACTIVE));
	claim((was != SHCA_IB_STATE_ACTIVE && sma.state == SHCA_IB_STATE_ACTIVE) == !!(what & SHCA_IB_SMA_ACTIVE));
}

/*
 * PortInfo is read: the key is in it for those only who may know it. Written back, it is accepted
 * but for states that only the port itself enters.
 *
 * proof: get_port slow --unwind 65
 * planted: ib/core/ib_sma.c: s/with_mkey ? sma->mkey.key : 0/sma->mkey.key/
 * planted: ib/core/ib_sma.c: s/data\[36\] = sma->neighbor_mtu << 4/data[64] = sma->neighbor_mtu << 4/
 */
void get_port(void)
{
	struct shca_ib_sma sma;
	u8 data[SMP_DATA_BYTES];
	bool with_mkey = any_bool();

	assume(sma_holds(&sma));
	port_info(&sma, data, with_mkey);
	claim(get_be64(data) == (with_mkey ? sma.mkey.key : 0));
	data[32] = data[32] & 0xf0;
	data[33] = data[33] & 0x0f;
	claim(port_info_ok(&sma, data));
}

/*
 * GUIDInfo: the first one stays.
 *
 * proof: guids quick --unwind 9
 * planted: ib/core/ib_sma.c: s/for (i = 1; i < SHCA_IB_GUIDS; i++)/for (i = 0; i < SHCA_IB_GUIDS; i++)/
 * planted: ib/core/ib_sma.c: s/for (i = 1; i < SHCA_IB_GUIDS; i++)/for (i = 1; i <= SHCA_IB_GUIDS; i++)/
 */
void guids(void)
{
	struct shca_ib_sma sma;
	u8 data[SMP_DATA_BYTES], seen[SMP_DATA_BYTES];
	u64 own = sma.guids[0];
	u32 i = any_u32();

	shca_ib_guids_set(sma.guids, data);
	shca_ib_guids_get(sma.guids, seen);
	claim(sma.guids[0] == own);
	assume(i >= 8 && i < SMP_DATA_BYTES);
	claim(seen[i] == data[i]);
}

/*
 * P_KeyTable: nothing beyond the partitions of the port.
 *
 * proof: pkeys quick --unwind 34
 * planted: ib/core/ib_sma.c: s/i < nr \&\& i < SHCA_IB_PKEYS/i <= nr/
 */
void pkeys(void)
{
	struct shca_ib_sma sma;
	u8 data[SMP_DATA_BYTES], seen[SMP_DATA_BYTES];
	u32 i = any_u32();
	u16 was;

	assume(sma.partitions <= SHCA_IB_PKEYS && i < SHCA_IB_PKEYS);
	was = sma.pkeys[i];
	shca_ib_pkeys_set(sma.pkeys, sma.partitions, data);
	shca_ib_pkeys_get(sma.pkeys, seen);
	claim(sma.pkeys[i] == (i < sma.partitions ? get_be16(data + 2 * i) : was));
	claim(get_be16(seen + 2 * i) == sma.pkeys[i]);
}

/*
 * SLtoVLMappingTable: what was set is read, and a service level takes an operational lane or none.
 *
 * proof: sl2vl slow --unwind 17
 * planted: ib/core/ib_lanes.c: s/return lane < nr ?/return lane <= nr ?/
 */
void sl2vl(void)
{
	u8 data[SMP_DATA_BYTES], seen[SMP_DATA_BYTES], sl = any_u8(), code = any_u8(), lane;
	struct shca_ib_sl2vl map;

	map.is_set = any_bool();
	assume(code && code <= SHCA_IB_VL_CAP && sl < SHCA_IB_SLS);
	if (any_bool()) {
		shca_ib_sl2vl_set(&map, data);
		shca_ib_sl2vl_get(&map, seen);
		claim(seen[sl / 2] == data[sl / 2]);
	}
	lane = shca_ib_lane_of(&map, code, sl);
	claim(lane == SHCA_IB_NO_LANE || lane < shca_ib_lanes_nr(code));
	claim(lane == SHCA_IB_NO_LANE || lane < SHCA_IB_LANES);
}

/*
 * The key: a manager without it is not admitted where it protects, and the lease ends the
 * protection. Clocks up to 2^55 ns.
 *
 * proof: key slow --unwind 65
 * planted: ib/core/ib_sma.c: s/key->prot < 2)/key->prot <= 2)/
 * planted: ib/core/ib_sma.c: s/now >= mkey->lease_end/now + 1 >= mkey->lease_end/
 */
void key(void)
{
	struct shca_ib_sma sma;
	struct shca_ib_smp_from from;
	u8 in[SMP_DATA], prot;
	u64 mkey, end;
	u32 what = 0;
	bool in_time, knows;

	from.trusted = any_bool();
	assume(sma_holds(&sma) && from.now < 1ull << 55);
	/* (the trap that it may raise is another proof) */
	assume(sma.state != SHCA_IB_STATE_ACTIVE);
	mkey = sma.mkey.key;
	prot = sma.mkey.prot;
	end = sma.mkey.lease_end;
	in_time = !end || from.now < end;
	knows = from.trusted || !mkey || get_be64(in + SMP_MKEY) == mkey;
	if (admit(&sma, in, &from, &what))
		claim(knows || (in[MAD_METHOD] == METHOD_GET && (prot < 2 || !in_time)));
	else
		claim(!knows);
	claim(sma.mkey.key == mkey && sma.mkey.prot == (in_time ? prot : 0));
	claim(!sma.mkey.lease_end || sma.mkey.lease_end == end || sma.mkey.lease_end > from.now);
}

/*
 * A port begins with a state that holds, and its link goes up and down.
 *
 * proof: link slow --unwind 65
 * planted: ib/core/ib_sma.c: s/max_t(u8, sma->peer_lanes, 1)/sma->peer_lanes/
 */
void link(void)
{
	struct shca_ib_sma sma;

	assume(sma_holds(&sma));
	shca_ib_sma_link(&sma, any_u8(), any_bool());
	claim(sma_holds(&sma));
}

/*
 * Damaged packets and overruns: what is too many is told once, and counted.
 *
 * proof: errors slow --unwind 65
 * planted: ib/core/ib_sma.c: s/sma->phys_errors++ < sma->phys_limit/sma->phys_errors++ <= sma->phys_limit/
 */
void errors(void)
{
	struct shca_ib_sma sma;
	u64 now = any_u64();

	assume(sma_holds(&sma) && sma.state != SHCA_IB_STATE_ACTIVE);
	assume(sma.phys_errors <= sma.phys_limit && sma.overruns.row <= 15 && now < 1ull << 55);
	if (any_bool())
		shca_ib_sma_arrived(&sma, any_bool());
	else
		shca_ib_sma_overrun(&sma, now);
	claim(sma_holds(&sma));
	claim(sma.phys_errors <= sma.phys_limit && sma.overruns.row <= 15);
}
