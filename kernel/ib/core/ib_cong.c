// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The agent of congestion control (IBTA annex A10.4), but for the attributes of switches. */
#include "../../core/be.h"
#include "ib_cong.h"
#include "ib_smp.h"

#define CLASS_VERSION		2
#define ATTR_CLASS_PORT_INFO	0x0001
#define ATTR_CONG_INFO		0x0011
#define ATTR_CONG_KEY_INFO	0x0012
#define ATTR_CA_SETTING		0x0016
#define ATTR_TABLE		0x0017
#define ATTR_TIMESTAMP		0x0018
/* 4.096 us * 2^18: answers come within a second */
#define RESP_TIME		18
#define SECOND			1000000000ull

bool shca_ib_cong_admit(struct shca_ib_cong *cong, const u8 *mad, u64 now)
{
	u64 key = get_be64(mad + SHCA_IB_CONG_KEY);
	u8 method = mad[MAD_METHOD];

	if (method & METHOD_RESPONSE || method == METHOD_TRAP || method == METHOD_REPORT ||
	    method == METHOD_TRAP_REPRESS)
		return false;
	if (cong->lease_end && now >= cong->lease_end) {
		cong->lease_end = 0;
		cong->protects = false;
	}
	if (!cong->key || key == cong->key) {
		cong->lease_end = 0;
		return true;
	}
	/* A manager that has lost the key reads it when the lease has ended. */
	if (method == METHOD_GET && get_be16(mad + MAD_ATTR) == ATTR_CONG_KEY_INFO && !cong->protects)
		return true;
	if (cong->violations != 0xffff)
		cong->violations++;
	if (!cong->lease_end && cong->lease)
		cong->lease_end = now + cong->lease * SECOND;
	return false;
}

static void class_port_info(u8 *data)
{
	data[0] = 1;
	data[1] = CLASS_VERSION;
	data[7] = RESP_TIME;
}

static void key_info_set(struct shca_ib_cong *cong, const u8 *data)
{
	cong->key = get_be64(data);
	cong->protects = data[8] >> 7;
	cong->lease = get_be16(data + 10);
	/* Zero resets a counter. Managers write back what they have read, too. */
	if (!get_be16(data + 12))
		cong->violations = 0;
	cong->lease_end = 0;
}

static void key_info_get(const struct shca_ib_cong *cong, u8 *data)
{
	put_be64(data, cong->key);
	data[8] = cong->protects << 7;
	put_be16(data + 10, cong->lease);
	put_be16(data + 12, cong->violations);
}

/* Each bit of Control_Map says that the entry of a service level counts (A10.4.3.8). */
static void ca_setting_set(struct shca_ib_cong *cong, const u8 *data)
{
	u32 i;

	cong->port_control = get_be16(data);
	cong->map = get_be16(data + 2);
	for (i = 0, data += 4; i < SHCA_CCT_SLS; i++, data += 8) {
		struct shca_cct_sl *sl = &cong->cct.sl[i];

		if (!(cong->map >> i & 1))
			continue;
		WRITE_ONCE(sl->timer, get_be16(data));
		WRITE_ONCE(sl->increase, data[2]);
		sl->trigger = data[3];
		WRITE_ONCE(sl->min, data[4]);
	}
}

static void ca_setting_get(const struct shca_ib_cong *cong, u8 *data)
{
	u32 i;

	put_be16(data, cong->port_control);
	put_be16(data + 2, cong->map);
	for (i = 0, data += 4; i < SHCA_CCT_SLS; i++, data += 8) {
		const struct shca_cct_sl *sl = &cong->cct.sl[i];

		put_be16(data, sl->timer);
		data[2] = sl->increase;
		data[3] = sl->trigger;
		data[4] = sl->min;
	}
}

static void table_set(struct shca_cct *cct, u32 block, const u8 *data)
{
	u32 i;

	for (i = 0; i < SHCA_CCT_BLOCK; i++)
		WRITE_ONCE(cct->entries[block * SHCA_CCT_BLOCK + i], get_be16(data + 4 + 2 * i));
	/* A requester that reads @limit before an entry may use the old one for a packet. */
	WRITE_ONCE(cct->limit, get_be16(data));
}

static void table_get(const struct shca_cct *cct, u32 block, u8 *data)
{
	u32 i;

	put_be16(data, cct->limit);
	for (i = 0; i < SHCA_CCT_BLOCK; i++)
		put_be16(data + 4 + 2 * i, cct->entries[block * SHCA_CCT_BLOCK + i]);
}

u32 shca_ib_cong_attribute(struct shca_ib_cong *cong, u8 *mad, bool is_ca, u64 now)
{
	u32 attr = get_be16(mad + MAD_ATTR), mod = get_be32(mad + MAD_ATTR_MOD);
	u8 method = mad[MAD_METHOD], *data = mad + SHCA_IB_CONG_DATA;
	bool set = method == METHOD_SET;

	if (mad[MAD_BASE_VERSION] != 1 || mad[MAD_CLASS_VERSION] != CLASS_VERSION)
		return STATUS_VERSION;
	if (method != METHOD_GET && !set)
		return STATUS_METHOD;
	if (is_ca ? attr > ATTR_TIMESTAMP : attr > ATTR_CONG_KEY_INFO && attr != ATTR_TIMESTAMP)
		return STATUS_ATTR;
	if (set && attr != ATTR_CONG_KEY_INFO && attr != ATTR_CA_SETTING && attr != ATTR_TABLE)
		return STATUS_ATTR;
	if (mod >= (attr == ATTR_TABLE ? SHCA_CCT_ENTRIES / SHCA_CCT_BLOCK : 1))
		return STATUS_FIELD;
	if (set && attr == ATTR_TABLE && get_be16(data) >= SHCA_CCT_ENTRIES)
		return STATUS_FIELD;
	if (set && attr == ATTR_CONG_KEY_INFO)
		key_info_set(cong, data);
	else if (set && attr == ATTR_CA_SETTING)
		ca_setting_set(cong, data);
	else if (set)
		table_set(&cong->cct, mod, data);
	memset(data, 0, SHCA_IB_CONG_DATA_BYTES);
	switch (attr) {
	case ATTR_CLASS_PORT_INFO:
		class_port_info(data);
		return 0;
	case ATTR_CONG_INFO:
		data[2] = is_ca ? SHCA_CCT_ENTRIES / SHCA_CCT_BLOCK : 0;
		return 0;
	case ATTR_CONG_KEY_INFO:
		key_info_get(cong, data);
		return 0;
	case ATTR_CA_SETTING:
		ca_setting_get(cong, data);
		return 0;
	case ATTR_TABLE:
		table_get(&cong->cct, mod, data);
		return 0;
	case ATTR_TIMESTAMP:
		/* in units of 1.024 us */
		put_be32(data, now >> 10);
		return 0;
	default:
		return STATUS_ATTR;
	}
}

void shca_ib_cong_reply(u8 *mad, u32 status)
{
	mad[MAD_METHOD] = METHOD_RESPONSE | METHOD_GET;
	put_be16(mad + MAD_STATUS, status);
}

bool shca_ib_cong_answer(struct shca_ib_cong *cong, u8 *mad, u64 now)
{
	if (!shca_ib_cong_admit(cong, mad, now))
		return false;
	shca_ib_cong_reply(mad, shca_ib_cong_attribute(cong, mad, true, now));
	return true;
}
