// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Any bytes through the header codec: what it accepts it builds again. */
#include "fuzz.h"

/*
 * Bits that are reserved, or not kept: FECN and BECN in byte 4 (CNPs have BECN), seven
 * bits of byte 8, all of a FETH but the lower six.
 */
static void canonical(u8 *buf, u32 flags)
{
	buf[4] = (buf[4] & 0x3f) | (flags & SHCA_OPF_CNP ? 0x40 : 0);
	buf[8] &= 0x80;
	if (flags & SHCA_OPF_XRCETH)
		buf[SHCA_BTH_BYTES] = 0;
	if (flags & SHCA_OPF_FETH) {
		u8 *feth = buf + SHCA_BTH_BYTES +
			   (flags & SHCA_OPF_XRCETH ? SHCA_XRCETH_BYTES : 0);

		memset(feth, 0, 3);
		feth[3] &= 0x33;
	}
	if (flags & SHCA_OPF_DETH)
		buf[SHCA_BTH_BYTES + 4] = 0;
	if (flags & SHCA_OPF_CNP)
		memset(buf + SHCA_BTH_BYTES, 0, SHCA_CNP_BYTES);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct shca_pkt pkt = { .opcode = 0 }, again = { .opcode = 0 };
	u8 buf[SHCA_HDR_MAX], *copy;
	enum shca_parse parse;
	u32 len = size, avail, flags, head;

	if (!size || size > FUZZ_WIRE_MAX)
		return 0;
	/* exactly what may be read is there */
	avail = min_t(u32, len, SHCA_HDR_MAX);
	copy = malloc(avail);
	memcpy(copy, data, avail);
	parse = shca_hdr_parse(&pkt, copy, avail, len);
	if (parse == SHCA_PARSE_OK) {
		flags = shca_opcode_info(pkt.opcode)->flags;
		fuzz_check(pkt.data_off + pkt.paylen + pkt.pad +
			   SHCA_ICRC_BYTES == len, "lengths");
		head = shca_hdr_build(&pkt, buf);
		fuzz_check(head == pkt.data_off && head <= avail, "head");
		canonical(copy, flags);
		fuzz_check(!memcmp(copy, buf, head), "opcode %02x differs",
			   pkt.opcode);
		fuzz_check(shca_hdr_parse(&again, buf, head, len) ==
			   SHCA_PARSE_OK, "not again");
	}
	/* fewer bytes are at hand than the packet has */
	free(copy);
	avail = min_t(u32, avail, data[size - 1]);
	copy = malloc(avail ?: 1);
	memcpy(copy, data, avail);
	parse = shca_hdr_parse(&again, copy, avail, len);
	fuzz_check(parse != SHCA_PARSE_OK || again.data_off <= avail, "short");
	free(copy);
	return 0;
}
