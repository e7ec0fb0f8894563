// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The subnet management agent of a node (IBTA 14.2): a switch, or a channel adapter with one or
 * more ports.
 */
#include "agent.h"

#define LFT_BLOCK		64	/* LIDs */
#define MFT_BLOCK		32	/* groups */

/* One packet. */
struct smp {
	struct fab_port *in;
	bool set;
	bool with_mkey;
	u32 mod;
	u8 *data;
};

/* Return: the port that a modifier means; NULL: there is none. */
static struct fab_port *port_of(const struct smp *smp, u32 number)
{
	struct fab_node *node = smp->in->node;

	if (number > node->ports_nr)
		return NULL;
	/* A channel adapter answers for the port that was asked (IBTA 14.2.5.6). */
	if (!number && !node->sw)
		return smp->in;
	return &node->ports[number];
}

static u32 node_desc(const struct smp *smp)
{
	if (smp->set)
		return STATUS_METHOD;
	memcpy(smp->data, smp->in->node->desc, SHCA_IB_DESC_BYTES);
	return 0;
}

static u32 node_info(const struct smp *smp)
{
	const struct fab_node *node = smp->in->node;
	u8 *data = smp->data;

	if (smp->set)
		return STATUS_METHOD;
	memset(data, 0, SMP_DATA_BYTES);
	data[0] = 1;	/* versions of the management framework, of the class */
	data[1] = 1;
	data[2] = node->type;
	data[3] = node->ports_nr;
	put_be64(data + 4, node->system_guid);
	put_be64(data + 12, node->guid);
	put_be64(data + 20, fab_end_port(smp->in)->guid);
	put_be16(data + 28, SHCA_IB_PKEYS);
	put_be16(data + 30, node->device);
	put_be32(data + 32, node->revision);
	data[36] = smp->in->number;
	put_be24(data + 37, node->vendor);
	return 0;
}

static void switch_info_get(const struct fab_switch *sw, u8 *data)
{
	memset(data, 0, SMP_DATA_BYTES);
	put_be16(data, FAB_LFT_ENTRIES);
	put_be16(data + 4, FAB_MFT_GROUPS);
	put_be16(data + 6, sw->lft_top);
	memcpy(data + 8, sw->default_ports, 3);
	data[11] = sw->life << 3 | sw->changed << 2;
	put_be16(data + 14, SHCA_IB_PKEYS);
	data[16] = 0xc0 | sw->is_enhanced << 3;	/* both directions of partition enforcement */
	put_be16(data + 18, sw->mft_top);
}

static u32 switch_info(const struct smp *smp)
{
	struct fab_switch *sw = smp->in->node->sw;
	u8 *data = smp->data;

	if (!sw)
		return STATUS_ATTR;
	if (smp->set) {
		if (get_be16(data + 6) >= FAB_LFT_ENTRIES)
			return STATUS_FIELD;
		if (sw->lft_top != get_be16(data + 6)) {
			sw->lft_top = get_be16(data + 6);
			fab_tables_changed(smp->in->node->fabric);
		}
		memcpy(sw->default_ports, data + 8, 3);
		sw->life = data[11] >> 3;
		if (data[11] & 4)
			sw->changed = false;
		sw->mft_top = get_be16(data + 18);
	}
	switch_info_get(sw, data);
	return 0;
}

/* Of a switch only port 0 has GUIDs. */
static u32 guid_info(const struct smp *smp)
{
	struct fab_end *end = &fab_end_port(smp->in)->end;

	if (smp->mod)	/* number of the block */
		return STATUS_FIELD;
	if (smp->set)
		shca_ib_guids_set(end->guids, smp->data);
	shca_ib_guids_get(end->guids, smp->data);
	return 0;
}

static u32 port_info(const struct smp *smp)
{
	struct fab_port *port = port_of(smp, smp->mod & 0xff);
	u32 status;

	/* Bit 31: the manager knows extended speeds. */
	if (!port || smp->mod & 0x7fffff00)
		return STATUS_FIELD;
	if (smp->set) {
		/* One port of an adapter does not change another one. */
		if (!port->node->sw && port != smp->in)
			return STATUS_FIELD;
		status = fab_port_info_set(port, smp->data);
		if (status)
			return status;
	}
	fab_port_info_get(port, smp->in->number, smp->with_mkey, smp->data);
	return 0;
}

static u32 pkey_table(const struct smp *smp)
{
	struct fab_port *port = smp->in->node->sw ? port_of(smp, smp->mod >> 16) : smp->in;

	if (!port || smp->mod & 0xffff)
		return STATUS_FIELD;
	if (smp->set)
		shca_ib_pkeys_set(port->pkeys, SHCA_IB_PKEYS, smp->data);
	shca_ib_pkeys_get(port->pkeys, smp->data);
	return 0;
}

static u32 sl_to_vl(const struct smp *smp)
{
	struct fab_node *node = smp->in->node;
	u32 input = smp->mod >> 8, output = smp->mod & 0xff;
	struct shca_ib_sl2vl *map = &smp->in->lanes.sl2vl;

	if (node->sw) {
		if (input > node->ports_nr || output > node->ports_nr)
			return STATUS_FIELD;
		map = fab_sl2vl(node, input, output);
	}
	if (smp->set)
		shca_ib_sl2vl_set(map, smp->data);
	memset(smp->data, 0, SMP_DATA_BYTES);
	shca_ib_sl2vl_get(map, smp->data);
	return 0;
}

static u32 vl_arb(const struct smp *smp)
{
	struct fab_port *port = smp->in->node->sw ? port_of(smp, smp->mod & 0xffff) : smp->in;
	struct shca_ib_arb_entry *arb = port ? shca_ib_arb_block(&port->lanes, smp->mod >> 16) : NULL;

	if (!arb)
		return STATUS_FIELD;
	if (smp->set)
		shca_ib_arb_set(arb, smp->data);
	shca_ib_arb_get(arb, smp->data);
	return 0;
}

static u32 lft(const struct smp *smp)
{
	struct fab_switch *sw = smp->in->node->sw;
	bool changes = false;
	u32 i;
	u8 *block;

	if (!sw)
		return STATUS_ATTR;
	if (smp->mod >= FAB_LFT_ENTRIES / LFT_BLOCK)
		return STATUS_FIELD;
	block = sw->lft + smp->mod * LFT_BLOCK;
	for (i = 0; i < LFT_BLOCK; i++) {
		if (smp->set) {
			changes |= block[i] != (u8)(smp->data[i] + 1);
			block[i] = smp->data[i] + 1;
		}
		smp->data[i] = block[i] - 1;
	}
	if (changes)
		fab_tables_changed(smp->in->node->fabric);
	return 0;
}

static u32 mft(const struct smp *smp)
{
	struct fab_node *node = smp->in->node;
	u32 position = smp->mod >> 28, block = smp->mod & 0x1ff;
	u32 positions = fab_positions(node->ports_nr), i;
	u16 *masks;

	if (!node->sw)
		return STATUS_ATTR;
	if (position >= positions || block >= FAB_MFT_GROUPS / MFT_BLOCK || smp->mod & 0x0ffffe00)
		return STATUS_FIELD;
	masks = node->sw->mft + block * MFT_BLOCK * positions + position;
	for (i = 0; i < MFT_BLOCK; i++) {
		if (smp->set)
			masks[i * positions] = get_be16(smp->data + 2 * i);
		put_be16(smp->data + 2 * i, masks[i * positions]);
	}
	return 0;
}

static u32 notice(const struct smp *smp)
{
	struct shca_ib_traps *traps = &smp->in->node->traps;

	if (smp->mod)
		return STATUS_FIELD;
	if (smp->set)
		shca_ib_notice_clear(traps, smp->data);
	shca_ib_notice_get(traps, smp->data);
	return 0;
}

/* FDR10 is in no attribute of the standard. */
static u32 vendor_port_info(const struct smp *smp)
{
	struct fab_port *port = port_of(smp, smp->mod & 0xff);
	u8 *data = smp->data;

	if (!port)
		return STATUS_FIELD;
	if (smp->set)
		port->enabled.fdr10 = data[11] & port->supported.fdr10;
	memset(data, 0, SMP_DATA_BYTES);
	data[7] = port->supported.fdr10;
	data[11] = port->enabled.fdr10;
	data[15] = port->active.fdr10;
	return 0;
}

/* Return: status of the answer. */
static u32 attribute(u32 attr, const struct smp *smp)
{
	switch (attr) {
	case ATTR_NOTICE:
		return notice(smp);
	case ATTR_NODE_DESC:
		return node_desc(smp);
	case ATTR_NODE_INFO:
		return node_info(smp);
	case ATTR_SWITCH_INFO:
		return switch_info(smp);
	case ATTR_GUID_INFO:
		return guid_info(smp);
	case ATTR_PORT_INFO:
		return port_info(smp);
	case ATTR_PKEY_TABLE:
		return pkey_table(smp);
	case ATTR_SL_TO_VL:
		return sl_to_vl(smp);
	case ATTR_VL_ARB:
		return vl_arb(smp);
	case ATTR_LFT:
		return lft(smp);
	case ATTR_MFT:
		return mft(smp);
	case ATTR_VENDOR_PORT_INFO:
		return vendor_port_info(smp);
	default:
		return STATUS_ATTR;
	}
}

/* Return: status of the answer to what is no request of this agent. */
static u32 bad_request(const u8 *mad)
{
	if (mad[MAD_BASE_VERSION] != 1 || mad[MAD_CLASS_VERSION] != 1)
		return STATUS_VERSION;
	return mad[MAD_METHOD] == METHOD_GET || mad[MAD_METHOD] == METHOD_SET ? 0 : STATUS_METHOD;
}

enum fab_verdict fab_sma_takes(struct fab_port *in, const u8 *mad, u64 now)
{
	struct shca_ib_mkey *mkey = &fab_end_port(in)->end.mkey;
	u8 method = mad[MAD_METHOD];

	/* SMInfo, answers and traps are for a manager. */
	if (method & METHOD_RESPONSE || method == METHOD_TRAP || method == METHOD_REPORT ||
	    get_be16(mad + MAD_ATTR) == ATTR_SM_INFO)
		return FAB_ARRIVED;
	if (method == METHOD_TRAP_REPRESS) {
		if (shca_ib_mkey_admit(mkey, mad, false, now))
			fab_trap_repress(in->node, mad);
		return FAB_CONSUMED;
	}
	if (bad_request(mad) || shca_ib_mkey_admit(mkey, mad, false, now))
		return FAB_ANSWERED;
	fab_trap_mkey(fab_end_port(in), mad);
	return FAB_DROPPED;
}

void fab_sma(struct fab_port *in, u8 *mad)
{
	const struct shca_ib_mkey *mkey = &fab_end_port(in)->end.mkey;
	const struct smp smp = {
		.in = in,
		.set = mad[MAD_METHOD] == METHOD_SET,
		.with_mkey = !mkey->prot || get_be64(mad + SMP_MKEY) == mkey->key,
		.mod = get_be32(mad + MAD_ATTR_MOD),
		.data = mad + SMP_DATA,
	};
	u32 status = bad_request(mad), direction = mad[MAD_CLASS] == CLASS_DIRECTED ? STATUS_RETURNS : 0;

	if (!status)
		status = attribute(get_be16(mad + MAD_ATTR), &smp);
	mad[MAD_METHOD] = METHOD_RESPONSE | METHOD_GET;
	put_be16(mad + MAD_STATUS, status | direction);
}
