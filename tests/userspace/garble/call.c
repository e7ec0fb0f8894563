// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "garble.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads memory of the program, whose address may be invalid on purpose. */
static bool peek(void *to, uint64_t from, size_t len)
{
	struct iovec local = { to, len };
	struct iovec remote = { (void *)(uintptr_t)from, len };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
	       (ssize_t)len;
}

void call_copy(struct call *to, const struct call *from)
{
	uint32_t i;

	memcpy(to, from, offsetof(struct call, bytes) + from->len);
	for (i = 0; i < from->nr_payloads; i++)
		memcpy(&to->payload[i], &from->payload[i],
		       offsetof(struct payload, bytes) + from->payload[i].len);
}

static bool add_payload(struct call *call, uint32_t at, uint64_t from,
			uint32_t len)
{
	struct payload *p = &call->payload[call->nr_payloads];

	if (call->nr_payloads == MAX_ATTRS || len > MAX_PAYLOAD)
		return false;
	p->at = at;
	p->len = len;
	if (!peek(p->bytes, from, len))
		memset(p->bytes, 0, len);
	call->nr_payloads++;
	return true;
}

static struct ib_uverbs_ioctl_hdr *header_of(struct call *call)
{
	return (void *)call->bytes;
}

bool call_of_ioctl(struct call *call, const void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = header_of(call);
	uint32_t i;

	memset(call, 0, offsetof(struct call, bytes));
	if (!peek(hdr, (uintptr_t)arg, sizeof(*hdr)) ||
	    hdr->length < sizeof(*hdr) || hdr->length > sizeof(call->bytes) ||
	    hdr->num_attrs > MAX_ATTRS ||
	    !peek(hdr, (uintptr_t)arg, hdr->length))
		return false;
	call->len = hdr->length;
	/* An attribute of 8 bytes or less has its input in place; an output
	 * never does. So a value is a pointer if it looks like one.
	 */
	for (i = 0; i < hdr->num_attrs; i++) {
		const struct ib_uverbs_attr *attr = &hdr->attrs[i];

		if (!attr->len || (attr->len <= 8 && attr->data < PAGE * 16))
			continue;
		if (attr->len <= 8 && !peek(&(uint64_t){ 0 }, attr->data, attr->len))
			continue;
		if (!add_payload(call, (uint8_t *)&attr->data - call->bytes,
				 attr->data, attr->len))
			return false;
	}
	return true;
}

bool call_of_write(struct call *call, const void *buf, size_t len)
{
	struct ib_uverbs_cmd_hdr hdr;
	uint64_t response;
	uint32_t out;

	memset(call, 0, offsetof(struct call, bytes));
	if (len < sizeof(hdr) + sizeof(response) || len > sizeof(call->bytes) ||
	    !peek(call->bytes, (uintptr_t)buf, len))
		return false;
	call->is_write = true;
	call->len = len;
	memcpy(&hdr, call->bytes, sizeof(hdr));
	memcpy(&response, call->bytes + sizeof(hdr), sizeof(response));
	out = hdr.out_words * 4;
	if (hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED) {
		struct ib_uverbs_ex_cmd_hdr ex;

		if (len < sizeof(hdr) + sizeof(ex))
			return false;
		memcpy(&ex, call->bytes + sizeof(hdr), sizeof(ex));
		out = (hdr.out_words + ex.provider_out_words) * 8;
	}
	return !out || add_payload(call, sizeof(hdr), response, out);
}

/* Finds the input or output of an attribute, or NULL. */
static const struct ib_uverbs_attr *attr_of(const struct call *call, uint16_t id,
					    const uint8_t **bytes)
{
	const struct ib_uverbs_ioctl_hdr *hdr = (const void *)call->bytes;
	uint32_t i, j, nr = (call->len - sizeof(*hdr)) / sizeof(hdr->attrs[0]);

	for (i = 0; i < nr; i++) {
		const struct ib_uverbs_attr *attr = &hdr->attrs[i];

		if (attr->attr_id != id)
			continue;
		*bytes = (const uint8_t *)&attr->data;
		for (j = 0; j < call->nr_payloads; j++)
			if (call->payload[j].at ==
			    (uint8_t *)&attr->data - call->bytes)
				*bytes = call->payload[j].bytes;
		return attr;
	}
	return NULL;
}

static bool is_invoke_write(const struct call *call)
{
	const struct ib_uverbs_ioctl_hdr *hdr = (const void *)call->bytes;

	return !call->is_write && hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_INVOKE_WRITE;
}

uint32_t call_command(const struct call *call)
{
	const struct ib_uverbs_attr *attr;
	const uint8_t *bytes;
	uint32_t command = 0;

	if (call->is_write) {
		memcpy(&command, call->bytes, sizeof(command));
	} else if (is_invoke_write(call)) {
		attr = attr_of(call, UVERBS_ATTR_WRITE_CMD, &bytes);
		if (attr)
			command = attr->data;
	}
	return command;
}

bool call_to_write(struct call *call)
{
	static const uint16_t ids[] = { UVERBS_ATTR_CORE_IN, UVERBS_ATTR_UHW_IN,
					UVERBS_ATTR_CORE_OUT,
					UVERBS_ATTR_UHW_OUT };
	struct ib_uverbs_cmd_hdr hdr = { .command = call_command(call) };
	struct ib_uverbs_ex_cmd_hdr ex = { .response = 0 };
	bool is_ex = hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	uint32_t len[4] = { 0 }, at = sizeof(hdr), words = 4, i;
	uint8_t body[2 * MAX_PAYLOAD];

	if (!is_invoke_write(call) || !hdr.command)
		return false;
	if (is_ex) {
		at += sizeof(ex);
		words = 8;
	}
	for (i = 0; i < 4; i++) {
		const uint8_t *bytes;
		const struct ib_uverbs_attr *attr = attr_of(call, ids[i], &bytes);

		if (!attr)
			continue;
		len[i] = attr->len / words * words;
		if (len[i] > MAX_PAYLOAD / 2)
			return false;
		if (i < 2)
			memcpy(body + (i ? len[0] : 0), bytes, len[i]);
	}
	if (at + len[0] + len[1] > sizeof(call->bytes))
		return false;
	hdr.in_words = is_ex ? len[0] / 8 : (at + len[0] + len[1]) / 4;
	hdr.out_words = is_ex ? len[2] / 8 : (len[2] + len[3]) / 4;
	ex.provider_in_words = len[1] / 8;
	ex.provider_out_words = len[3] / 8;
	call->is_write = true;
	call->len = at + len[0] + len[1];
	memcpy(call->bytes, &hdr, sizeof(hdr));
	if (is_ex)
		memcpy(call->bytes + sizeof(hdr), &ex, sizeof(ex));
	memcpy(call->bytes + at, body, len[0] + len[1]);
	/* In both forms the address of the response comes first. */
	call->nr_payloads = 0;
	if (len[2] + len[3]) {
		call->payload[0].at = sizeof(hdr);
		call->payload[0].len = len[2] + len[3];
		memset(call->payload[0].bytes, 0, len[2] + len[3]);
		call->nr_payloads = 1;
	}
	return true;
}
