// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "garble.h"

#include <string.h>

/* Handles count from 0; file descriptors nearly do. */
static uint64_t some_handle(struct rng *rng)
{
	static const uint64_t odd[] = { UINT32_MAX, 1ull << 31, 1ull << 32,
					UINT64_MAX, 1000, 1ull << 63 };

	if (one_in(rng, 6))
		return odd[below(rng, ARRAY_SIZE(odd))];
	return below(rng, one_in(rng, 3) ? 64 : 8);
}

static uint64_t some_number(struct rng *rng)
{
	switch (below(rng, 6)) {
	case 0:
		return below(rng, 256);
	case 1:
		return 1ull << below(rng, 64);
	case 2:
		return (1ull << below(rng, 64)) - 1;
	case 3:
		return -(uint64_t)below(rng, 64);
	case 4:
		return below(rng, 8);
	default:
		return rng_next(rng);
	}
}

static uint32_t some_length(struct rng *rng, uint32_t len)
{
	static const uint16_t odd[] = { 0, 1, 3, 4, 7, 8, 9, 12, 16, 24, 32, 64,
					4096, 0x7fff, 0xffff };

	switch (below(rng, 3)) {
	case 0:
		return odd[below(rng, ARRAY_SIZE(odd))];
	case 1:
		return len + below(rng, 17) - 8;
	default:
		return len + (below(rng, 5) - 2) * 8;
	}
}

static void flip_bit(struct rng *rng, uint8_t *bytes, uint32_t len)
{
	if (len)
		bytes[below(rng, len)] ^= 1 << below(rng, 8);
}

/* Changes an aligned field of 1, 2, 4 or 8 bytes. */
static void set_field(struct rng *rng, uint8_t *bytes, uint32_t len)
{
	uint32_t size = 1u << below(rng, 4);
	uint64_t value = one_in(rng, 2) ? some_handle(rng) : some_number(rng);

	if (len < size)
		return;
	memcpy(bytes + below(rng, len / size) * size, &value, size);
}

static void change_bytes(struct rng *rng, uint8_t *bytes, uint32_t len)
{
	if (one_in(rng, 2))
		flip_bit(rng, bytes, len);
	else
		set_field(rng, bytes, len);
}

static void change_payload(struct rng *rng, struct call *call)
{
	struct payload *p;

	if (!call->nr_payloads)
		return;
	p = &call->payload[below(rng, call->nr_payloads)];
	change_bytes(rng, p->bytes, p->len);
}

/* ---- ioctl -------------------------------------------------------------------- */

static uint32_t nr_attrs(const struct call *call)
{
	return (call->len - sizeof(struct ib_uverbs_ioctl_hdr)) /
	       sizeof(struct ib_uverbs_attr);
}

static void set_nr_attrs(struct call *call, uint32_t nr)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;

	call->len = sizeof(*hdr) + nr * sizeof(hdr->attrs[0]);
	hdr->length = call->len;
	hdr->num_attrs = nr;
}

static void drop_attr(struct rng *rng, struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;
	uint32_t nr = nr_attrs(call), i;

	if (!nr)
		return;
	/* The last one replaces it; only the address of its memory is left. */
	i = below(rng, nr);
	hdr->attrs[i] = hdr->attrs[nr - 1];
	set_nr_attrs(call, nr - 1);
}

static void add_attr(struct rng *rng, struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;
	uint32_t nr = nr_attrs(call);
	struct ib_uverbs_attr *attr;

	if (nr == MAX_ATTRS)
		return;
	attr = &hdr->attrs[nr];
	if (nr && one_in(rng, 2)) {
		*attr = hdr->attrs[below(rng, nr)];
	} else {
		memset(attr, 0, sizeof(*attr));
		attr->attr_id = below(rng, 16) | one_in(rng, 3) << 12;
		attr->flags = below(rng, 2);
		if (one_in(rng, 2))
			attr->data = some_handle(rng);
		else
			attr->len = some_length(rng, 8);
	}
	set_nr_attrs(call, nr + 1);
}

static void change_attr(struct rng *rng, struct ib_uverbs_attr *attr)
{
	switch (below(rng, 8)) {
	case 0:
		attr->attr_id = below(rng, 16) | one_in(rng, 3) << 12;
		break;
	case 1:
	case 2:
		attr->len = some_length(rng, attr->len);
		break;
	case 3:
		attr->flags ^= 1 << below(rng, 16);
		break;
	case 4:
		attr->attr_data.reserved = some_number(rng);
		break;
	default:
		attr->data = attr->len ? some_number(rng) : some_handle(rng);
	}
}

static void change_header(struct rng *rng, struct ib_uverbs_ioctl_hdr *hdr)
{
	switch (below(rng, 10)) {
	case 0:
		hdr->length = some_length(rng, hdr->length);
		break;
	case 1:
		hdr->num_attrs = some_length(rng, hdr->num_attrs);
		break;
	case 2:
		hdr->driver_id = some_number(rng);
		break;
	case 3:
		if (one_in(rng, 2))
			hdr->reserved1 = some_number(rng);
		else
			hdr->reserved2 = some_number(rng);
		break;
	case 4:
	case 5:
		hdr->object_id = below(rng, 20) | one_in(rng, 4) << 12;
		break;
	default:
		hdr->method_id = below(rng, 8) | one_in(rng, 4) << 12;
	}
}

/* Sends the same bytes to another command with another structure. */
static void change_command(struct rng *rng, struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;
	uint32_t i;

	for (i = 0; i < nr_attrs(call); i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_WRITE_CMD)
			hdr->attrs[i].data = below(rng, 64) |
				(uint64_t)one_in(rng, 2) << 31;
}

static void garble_ioctl(struct rng *rng, struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;
	uint32_t nr = nr_attrs(call);

	switch (below(rng, 16)) {
	case 0:
		flip_bit(rng, call->bytes, call->len);
		break;
	case 1:
		change_header(rng, hdr);
		break;
	case 2:
		drop_attr(rng, call);
		break;
	case 3:
		add_attr(rng, call);
		break;
	case 4:
		if (call_command(call))
			change_command(rng, call);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		if (nr)
			change_attr(rng, &hdr->attrs[below(rng, nr)]);
		break;
	default:
		if (call->nr_payloads)
			change_payload(rng, call);
		else if (nr)
			change_attr(rng, &hdr->attrs[below(rng, nr)]);
	}
}

/* ---- write ---------------------------------------------------------------------- */

static void garble_write(struct rng *rng, struct call *call)
{
	struct ib_uverbs_cmd_hdr hdr;

	memcpy(&hdr, call->bytes, sizeof(hdr));
	switch (below(rng, 12)) {
	case 0:
		flip_bit(rng, call->bytes, sizeof(hdr));
		break;
	case 1:
		hdr.command = below(rng, 64) | (uint32_t)one_in(rng, 2) << 31;
		memcpy(call->bytes, &hdr, sizeof(hdr));
		break;
	case 2:
		hdr.in_words = some_length(rng, hdr.in_words);
		memcpy(call->bytes, &hdr, sizeof(hdr));
		break;
	case 3:
		hdr.out_words = some_length(rng, hdr.out_words);
		memcpy(call->bytes, &hdr, sizeof(hdr));
		break;
	case 4:	/* longer or shorter, with a matching length */
		call->len = some_length(rng, call->len) & 0xffc;
		if (call->len < sizeof(hdr))
			call->len = sizeof(hdr);
		hdr.in_words = call->len / 4;
		memcpy(call->bytes, &hdr, sizeof(hdr));
		break;
	case 5:
		call->len = some_length(rng, call->len) & 0xfff;
		break;
	default:
		change_bytes(rng, call->bytes + sizeof(hdr),
			     call->len - sizeof(hdr));
	}
	if (call->len < sizeof(hdr))
		call->len = sizeof(hdr);
}

void garble(struct rng *rng, struct call *call)
{
	int times = 1 + below(rng, 4);

	if (!call->is_write && one_in(rng, 4))
		call_to_write(call);
	while (times--) {
		if (call->is_write)
			garble_write(rng, call);
		else
			garble_ioctl(rng, call);
	}
}
