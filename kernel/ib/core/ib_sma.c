// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The subnet management agent. An attribute is 64 bytes of a MAD. A function writes it, and for
 * some another function sets it.
 */
#include "../../core/be.h"
#include "ib_hello.h"
#include "ib_sma.h"
#include "ib_smp.h"

#define CAP_IS_SM		(1u << 1)

/* Link width 4x, link speed 2.5 Gbit/s. */
#define WIDTH			2
#define SPEED			1
#define RESP_TIME		16	/* 4.096 us * 2^16 */
#define LID_MCAST		0xc000
#define NODE_CA			1
#define PREFIX			0xfe80000000000000ull
#define PKEY_DEFAULT		0xffff
#define PHYS_LIMIT		8	/* OpenSM's default, too */
#define SECOND			1000000000ull

void shca_ib_sma_init(struct shca_ib_sma *sma, u64 guid, u8 mtu_cap)
{
	memset(sma, 0, sizeof(*sma));
	sma->port_guid = guid;
	sma->guids[0] = guid;
	sma->pkeys[0] = PKEY_DEFAULT;
	sma->state = SHCA_IB_STATE_DOWN;
	sma->phys = SHCA_IB_PHYS_POLLING;
	sma->mtu_cap = mtu_cap;
	sma->neighbor_mtu = mtu_cap;
	sma->gid_prefix = PREFIX;
	sma->down_default = SHCA_IB_PHYS_POLLING;
	sma->phys_limit = PHYS_LIMIT;
	sma->overruns.limit = PHYS_LIMIT;
	shca_ib_lanes_init(&sma->lanes, SHCA_IB_VL_CAP);
	sma->lanes_set = SHCA_IB_VL_CAP;
}

static u32 sma_set_state(struct shca_ib_sma *sma, u8 state)
{
	u8 was = sma->state;

	sma->state = state;
	if (was == state)
		return 0;
	if (was == SHCA_IB_STATE_ACTIVE) {
		shca_ib_trap_forget(&sma->traps);
		return SHCA_IB_SMA_INACTIVE;
	}
	return state == SHCA_IB_STATE_ACTIVE ? SHCA_IB_SMA_ACTIVE : 0;
}

/* Code of the largest path MTU within so many bytes; 0: none is that small. */
static u8 mtu_code(u16 bytes)
{
	return bytes < 256 ? 0 : min_t(u8, fls(bytes) - 8, 5);
}

u32 shca_ib_sma_link(struct shca_ib_sma *sma, u8 phys, bool up)
{
	u8 peer = mtu_code(sma->peer_mtu);

	sma->phys = phys;
	if (!up)
		return sma_set_state(sma, SHCA_IB_STATE_DOWN);
	/* OpenSM resets the link where it finds other values than those that it computes. */
	sma->neighbor_mtu = peer ? min_t(u8, sma->mtu_cap, peer) : sma->mtu_cap;
	sma->lanes.code = min_t(u8, sma->lanes_set, max_t(u8, sma->peer_lanes, 1));
	return sma_set_state(sma, SHCA_IB_STATE_INIT);
}

/* ---- attributes ------------------------------------------------------------- */

static void node_info(const struct shca_ib_sma *sma, u8 *data)
{
	data[0] = 1;	/* versions of the management framework, of the class */
	data[1] = 1;
	data[2] = NODE_CA;
	data[3] = 1;	/* ports */
	put_be64(data + 4, sma->port_guid);
	put_be64(data + 12, sma->port_guid);
	put_be64(data + 20, sma->port_guid);
	put_be16(data + 28, sma->partitions);
	put_be16(data + 30, sma->device);
	put_be32(data + 32, sma->revision);
	data[36] = PORT;
	put_be24(data + 37, sma->vendor);
}

/* @with_mkey: the sender may read the M_Key */
static void port_info(const struct shca_ib_sma *sma, u8 *data, bool with_mkey)
{
	put_be64(data, with_mkey ? sma->mkey.key : 0);
	put_be64(data + 8, sma->gid_prefix);
	put_be16(data + 16, sma->lid);
	put_be16(data + 18, sma->sm_lid);
	put_be32(data + 20, sma->cap_mask);
	put_be16(data + 26, sma->mkey.lease);
	data[28] = PORT;
	data[29] = WIDTH;	/* enabled, supported, active */
	data[30] = WIDTH;
	data[31] = WIDTH;
	data[32] = SPEED << 4 | sma->state;
	data[33] = sma->phys << 4 | sma->down_default;
	data[34] = sma->mkey.prot << 6 | sma->lmc;
	data[35] = SPEED << 4 | SPEED;	/* active, enabled */
	data[36] = sma->neighbor_mtu << 4 | sma->sm_sl;
	data[37] = SHCA_IB_VL_CAP << 4;
	data[38] = sma->lanes.high_limit;
	data[39] = SHCA_IB_ARB_ENTRIES;
	data[40] = SHCA_IB_ARB_ENTRIES;
	data[41] = sma->mtu_cap;
	data[42] = sma->stall_count << 5 | sma->hoq_life;
	data[43] = sma->lanes.code << 4;	/* operational */
	put_be16(data + 44, sma->mkey.violations);
	put_be16(data + 46, shca_ib_tally(&sma->bad_pkeys));
	put_be16(data + 48, shca_ib_tally(&sma->bad_qkeys));
	data[50] = SHCA_IB_GUIDS;
	data[51] = sma->subnet_timeout;
	data[52] = RESP_TIME;
	data[53] = sma->phys_limit << 4 | sma->overruns.limit;
}

bool shca_ib_state_ok(u8 now, u8 state, u8 phys)
{
	switch (state) {
	case SHCA_IB_STATE_NOP:
	case SHCA_IB_STATE_DOWN:
		return phys == 0 || phys == SHCA_IB_PHYS_POLLING ||
		       phys == SHCA_IB_PHYS_DISABLED;
	case SHCA_IB_STATE_ARMED:
		return !phys && (now == SHCA_IB_STATE_INIT ||
				 now == SHCA_IB_STATE_ARMED);
	case SHCA_IB_STATE_ACTIVE:
		return !phys && (now == SHCA_IB_STATE_ARMED ||
				 now == SHCA_IB_STATE_ACTIVE);
	default:
		return false;
	}
}

/* A field of 0 changes nothing; WIDTH and SPEED have one value, and "all supported". */
static bool port_info_ok(const struct shca_ib_sma *sma, const u8 *data)
{
	u32 lid = get_be16(data + 16), sm_lid = get_be16(data + 18);
	u8 mtu = data[36] >> 4, vls = data[43] >> 4;

	return lid < LID_MCAST && sm_lid < LID_MCAST &&
	       (!data[29] || data[29] == WIDTH || data[29] == 0xff) &&
	       (!(data[35] & 0xf) || (data[35] & 0xf) == SPEED ||
		(data[35] & 0xf) == 0xf) &&
	       (data[33] & 0xf) <= SHCA_IB_PHYS_POLLING &&
	       mtu <= sma->mtu_cap && vls <= SHCA_IB_VL_CAP &&
	       shca_ib_state_ok(sma->state, data[32] & 0xf, data[33] >> 4);
}

static u32 port_apply_state(struct shca_ib_sma *sma, u8 state, u8 phys)
{
	/* The physical state follows, once the answer has left. */
	if (phys == SHCA_IB_PHYS_DISABLED)
		return SHCA_IB_SMA_DISABLE |
		       sma_set_state(sma, SHCA_IB_STATE_DOWN);
	if (phys || state == SHCA_IB_STATE_DOWN)
		return SHCA_IB_SMA_POLL |
		       sma_set_state(sma, SHCA_IB_STATE_DOWN);
	if (state == SHCA_IB_STATE_NOP)
		return 0;
	return sma_set_state(sma, state);
}

static u32 set_port_info(struct shca_ib_sma *sma, const u8 *data)
{
	u32 lid = get_be16(data + 16), sm_lid = get_be16(data + 18);
	u8 lmc = data[34] & 7, sm_sl = data[36] & 0xf;
	u8 vls = data[43] >> 4;
	u64 prefix = get_be64(data + 8);
	u32 what = 0;

	if (lid != sma->lid || lmc != sma->lmc)
		what |= SHCA_IB_SMA_LID;
	if (sm_lid != sma->sm_lid || sm_sl != sma->sm_sl)
		what |= SHCA_IB_SMA_SM;
	if (prefix != sma->gid_prefix)
		what |= SHCA_IB_SMA_GID;
	if ((vls && vls != sma->lanes.code) ||
	    data[38] != sma->lanes.high_limit)
		what |= SHCA_IB_SMA_LANES;
	if (data[51] & 0x80)
		what |= SHCA_IB_SMA_REREGISTER;
	sma->mkey.key = get_be64(data);
	sma->gid_prefix = prefix;
	sma->lid = lid;
	sma->lmc = lmc;
	sma->sm_lid = sm_lid;
	sma->sm_sl = sm_sl;
	sma->mkey.lease = get_be16(data + 26);
	sma->mkey.prot = data[34] >> 6;
	sma->stall_count = data[42] >> 5;
	sma->hoq_life = data[42] & 0x1f;
	sma->lanes.high_limit = data[38];
	if (vls) {
		sma->lanes_set = vls;
		sma->lanes.code = vls;
	}
	sma->subnet_timeout = data[51] & 0x1f;
	if (data[33] & 0xf)
		sma->down_default = data[33] & 0xf;
	if (data[36] >> 4)
		sma->neighbor_mtu = data[36] >> 4;
	sma->phys_limit = data[53] >> 4;
	sma->overruns.limit = data[53] & 0xf;
	/* Zero resets a counter. Managers write back what they have read, too. */
	if (!get_be16(data + 44))
		sma->mkey.violations = 0;
	if (!get_be16(data + 46))
		sma->bad_pkeys.base = sma->bad_pkeys.seen;
	if (!get_be16(data + 48))
		sma->bad_qkeys.base = sma->bad_qkeys.seen;
	/* The lease begins with the next violation. */
	sma->mkey.lease_end = 0;
	return what | port_apply_state(sma, data[32] & 0xf, data[33] >> 4);
}

void shca_ib_guids_get(const u64 guids[SHCA_IB_GUIDS], u8 *data)
{
	u32 i;

	for (i = 0; i < SHCA_IB_GUIDS; i++)
		put_be64(data + 8 * i, guids[i]);
}

bool shca_ib_guids_set(u64 guids[SHCA_IB_GUIDS], const u8 *data)
{
	bool changed = false;
	u64 guid;
	u32 i;

	for (i = 1; i < SHCA_IB_GUIDS; i++) {
		guid = get_be64(data + 8 * i);
		changed |= guid != guids[i];
		guids[i] = guid;
	}
	return changed;
}

void shca_ib_pkeys_get(const u16 pkeys[SHCA_IB_PKEYS], u8 *data)
{
	u32 i;

	for (i = 0; i < SHCA_IB_PKEYS; i++)
		put_be16(data + 2 * i, pkeys[i]);
}

bool shca_ib_pkeys_set(u16 pkeys[SHCA_IB_PKEYS], u32 nr, const u8 *data)
{
	bool changed = false;
	u32 i, pkey;

	for (i = 0; i < nr && i < SHCA_IB_PKEYS; i++) {
		pkey = get_be16(data + 2 * i);
		changed |= pkey != pkeys[i];
		pkeys[i] = pkey;
	}
	return changed;
}

struct shca_ib_arb_entry *shca_ib_arb_block(struct shca_ib_lanes *lanes, u32 block)
{
	switch (block) {
	case 1:
		return lanes->arb[SHCA_IB_ARB_LOW];
	case 3:
		return lanes->arb[SHCA_IB_ARB_HIGH];
	default:
		return NULL;
	}
}

void shca_ib_arb_get(const struct shca_ib_arb_entry *entry, u8 *data)
{
	u32 i;

	for (i = 0; i < SHCA_IB_ARB_ENTRIES; i++) {
		data[2 * i] = entry[i].vl;
		data[2 * i + 1] = entry[i].weight;
	}
}

void shca_ib_arb_set(struct shca_ib_arb_entry *entry, const u8 *data)
{
	u32 i;

	for (i = 0; i < SHCA_IB_ARB_ENTRIES; i++) {
		entry[i].vl = data[2 * i] & 0xf;
		entry[i].weight = data[2 * i + 1];
	}
}

/* ---- the packet ------------------------------------------------------------- */

/* IBTA 14.2.4.1: with protection 0 and 1, everybody reads. */
static bool mkey_ok(const struct shca_ib_mkey *mkey, u8 method, u64 key)
{
	return !mkey->key || key == mkey->key ||
	       (method == METHOD_GET && mkey->prot < 2);
}

/*
 * Check the M_Key. A manager that has lost the key must get in again. A lease period after the
 * first violation everybody may therefore read the key, unless a packet with the key comes before
 * (IBTA 14.2.4.2).
 */
bool shca_ib_mkey_admit(struct shca_ib_mkey *mkey, const u8 *in, bool trusted, u64 now)
{
	u64 key = get_be64(in + SMP_MKEY);

	if (mkey->lease_end && now >= mkey->lease_end) {
		mkey->lease_end = 0;
		mkey->prot = 0;
	}
	if (trusted)
		return true;
	if (key == mkey->key)
		mkey->lease_end = 0;
	if (mkey_ok(mkey, in[MAD_METHOD], key))
		return true;
	if (mkey->violations != 0xffff)
		mkey->violations++;
	if (!mkey->lease_end && mkey->lease)
		mkey->lease_end = now + mkey->lease * SECOND;
	return false;
}

static bool admit(struct shca_ib_sma *sma, const u8 *in,
		  const struct shca_ib_smp_from *from, u32 *what)
{
	if (shca_ib_mkey_admit(&sma->mkey, in, from->trusted, from->now))
		return true;
	if (sma->state == SHCA_IB_STATE_ACTIVE &&
	    shca_ib_trap_mkey(&sma->traps, sma->lid, from->slid, in))
		*what |= SHCA_IB_SMA_TRAP;
	return false;
}

static void reply(u8 *out, u32 status)
{
	u32 direction = out[MAD_CLASS] == CLASS_DIRECTED ? STATUS_RETURNS : 0;

	out[MAD_METHOD] = METHOD_RESPONSE | METHOD_GET;
	put_be16(out + MAD_STATUS, status | direction);
}

/* Return: the status; bits are added to @what. */
static u32 attribute(struct shca_ib_sma *sma, const u8 *in, u8 *out,
		     bool with_mkey, u32 *what)
{
	bool set = in[MAD_METHOD] == METHOD_SET;
	u32 mod = get_be32(in + MAD_ATTR_MOD);
	struct shca_ib_arb_entry *arb;
	u8 *data = out + SMP_DATA;

	switch (get_be16(in + MAD_ATTR)) {
	case ATTR_NODE_DESC:
		if (set)
			return STATUS_ATTR;
		if (mod)
			return STATUS_FIELD;
		memcpy(data, sma->desc, sizeof(sma->desc));
		return 0;
	case ATTR_NODE_INFO:
		if (set)
			return STATUS_ATTR;
		if (mod)
			return STATUS_FIELD;
		memset(data, 0, SMP_DATA_BYTES);
		node_info(sma, data);
		return 0;
	case ATTR_PORT_INFO:
		if (mod > PORT || (set && !port_info_ok(sma, data)))
			return STATUS_FIELD;
		if (set)
			*what |= set_port_info(sma, data);
		memset(data, 0, SMP_DATA_BYTES);
		port_info(sma, data, with_mkey);
		return 0;
	case ATTR_GUID_INFO:
		if (mod)	/* number of the block */
			return STATUS_FIELD;
		if (set && shca_ib_guids_set(sma->guids, data))
			*what |= SHCA_IB_SMA_GID;
		shca_ib_guids_get(sma->guids, data);
		return 0;
	case ATTR_PKEY_TABLE:
		if (mod & 0xffff)	/* likewise; a switch has ports above it */
			return STATUS_FIELD;
		if (set && shca_ib_pkeys_set(sma->pkeys, sma->partitions, data))
			*what |= SHCA_IB_SMA_PKEYS;
		shca_ib_pkeys_get(sma->pkeys, data);
		return 0;
	case ATTR_SL_TO_VL:	/* the modifier has ports, of a switch */
		if (set) {
			shca_ib_sl2vl_set(&sma->lanes.sl2vl, data);
			*what |= SHCA_IB_SMA_LANES;
		}
		memset(data, 0, SMP_DATA_BYTES);
		shca_ib_sl2vl_get(&sma->lanes.sl2vl, data);
		return 0;
	case ATTR_VL_ARB:
		arb = shca_ib_arb_block(&sma->lanes, mod >> 16);
		if (!arb)
			return STATUS_FIELD;
		if (set) {
			shca_ib_arb_set(arb, data);
			*what |= SHCA_IB_SMA_LANES;
		}
		shca_ib_arb_get(arb, data);
		return 0;
	case ATTR_NOTICE:
		if (mod)
			return STATUS_FIELD;
		if (set)
			shca_ib_notice_clear(&sma->traps, data);
		shca_ib_notice_get(&sma->traps, data);
		return 0;
	default:
		return STATUS_ATTR;
	}
}

/* A TrapRepress of a trap that a process has sent from this port is for that process. */
static u32 trap_repress(struct shca_ib_sma *sma, const u8 *in,
			const struct shca_ib_smp_from *from)
{
	u32 what = SHCA_IB_SMA_CONSUMED;
	u64 tid = get_be64(in + MAD_TID);

	if (!shca_ib_trap_is_own(&sma->traps, tid))
		return 0;
	if (admit(sma, in, from, &what))
		shca_ib_trap_repress(&sma->traps, tid);
	return what;
}

u32 shca_ib_smp(struct shca_ib_sma *sma, const u8 *in, u8 *out,
		const struct shca_ib_smp_from *from)
{
	u8 class = in[MAD_CLASS], method = in[MAD_METHOD];
	u32 status, what = SHCA_IB_SMA_CONSUMED;
	bool with_mkey;

	if ((sma->cap_mask & CAP_IS_SM && get_be16(in + MAD_ATTR) == ATTR_SM_INFO) ||
	    (class != CLASS_LID_ROUTED && class != CLASS_DIRECTED))
		return 0;
	if (method == METHOD_TRAP_REPRESS)
		return trap_repress(sma, in, from);
	/* Responses, traps and reports are for processes or for a manager. */
	if (method & METHOD_RESPONSE || method == METHOD_TRAP ||
	    method == METHOD_REPORT)
		return 0;
	memcpy(out, in, SHCA_IB_MAD_BYTES);
	if (in[MAD_BASE_VERSION] != 1 || in[MAD_CLASS_VERSION] != 1) {
		status = STATUS_VERSION;
	} else if (method != METHOD_GET && method != METHOD_SET) {
		status = STATUS_METHOD;
	} else {
		if (!admit(sma, in, from, &what))
			return what;
		with_mkey = from->trusted || !sma->mkey.prot ||
			    get_be64(in + SMP_MKEY) == sma->mkey.key;
		status = attribute(sma, in, out, with_mkey, &what);
	}
	reply(out, status);
	return what | SHCA_IB_SMA_REPLY;
}

/* ---- events ----------------------------------------------------------------- */

static u32 change(struct shca_ib_sma *sma, bool desc)
{
	if (sma->state != SHCA_IB_STATE_ACTIVE)
		return 0;
	return shca_ib_trap_change(&sma->traps, sma->lid, sma->cap_mask, desc) ?
	       SHCA_IB_SMA_TRAP : 0;
}

u32 shca_ib_sma_describe(struct shca_ib_sma *sma, const u8 *desc)
{
	if (!memcmp(sma->desc, desc, sizeof(sma->desc)))
		return 0;
	memcpy(sma->desc, desc, sizeof(sma->desc));
	return change(sma, true);
}

u32 shca_ib_sma_caps(struct shca_ib_sma *sma, u32 cap_mask)
{
	if (sma->cap_mask == cap_mask)
		return 0;
	sma->cap_mask = cap_mask;
	return change(sma, false);
}

u32 shca_ib_sma_bad_key(struct shca_ib_sma *sma, enum shca_ib_trap kind,
			const struct shca_ib_bad_key *bad)
{
	return sma->state == SHCA_IB_STATE_ACTIVE &&
	       shca_ib_trap_key(&sma->traps, kind, sma->lid, bad) ?
	       SHCA_IB_SMA_TRAP : 0;
}

u32 shca_ib_sma_arrived(struct shca_ib_sma *sma, bool damaged)
{
	if (!damaged) {
		sma->phys_errors -= !!sma->phys_errors;
		return 0;
	}
	if (sma->phys_errors++ < sma->phys_limit)
		return 0;
	sma->phys_errors = 0;
	if (sma->integrity != ~0u)
		sma->integrity++;
	return sma->state == SHCA_IB_STATE_ACTIVE &&
	       shca_ib_trap_port(&sma->traps, SHCA_IB_TRAP_INTEGRITY, sma->lid, PORT) ?
	       SHCA_IB_SMA_TRAP : 0;
}

u32 shca_ib_sma_overrun(struct shca_ib_sma *sma, u64 now)
{
	u64 period = shca_ib_sma_period(now);

	if (period == sma->overruns.at)
		return 0;
	if (period != sma->overruns.at + 1)
		sma->overruns.row = 0;
	sma->overruns.at = period;
	if (++sma->overruns.row < sma->overruns.limit)
		return 0;
	sma->overruns.row = 0;
	if (sma->overruns.count != ~0u)
		sma->overruns.count++;
	return sma->state == SHCA_IB_STATE_ACTIVE &&
	       shca_ib_trap_port(&sma->traps, SHCA_IB_TRAP_OVERRUN, sma->lid, PORT) ?
	       SHCA_IB_SMA_TRAP : 0;
}

u32 shca_ib_sma_watchdog(struct shca_ib_sma *sma)
{
	return sma->state == SHCA_IB_STATE_ACTIVE &&
	       shca_ib_trap_port(&sma->traps, SHCA_IB_TRAP_WATCHDOG, sma->lid, PORT) ?
	       SHCA_IB_SMA_TRAP : 0;
}

u64 shca_ib_sma_trap_gap(const struct shca_ib_sma *sma)
{
	return 4096ull << sma->subnet_timeout;
}
