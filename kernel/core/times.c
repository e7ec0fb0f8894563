// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Converts time codes of the wire to nanoseconds. */
#include "transport.h"

/* IBTA table 45, in units of 10 us; code 0 is the longest. */
static const u32 rnr_10us[32] = {
	65536,	    1,	    2,	    3,	    4,	    6,	    8,	   12,
	   16,	   24,	   32,	   48,	   64,	   96,	  128,	  192,
	  256,	  384,	  512,	  768,	 1024,	 1536,	 2048,	 3072,
	 4096,	 6144,	 8192,	12288,	16384,	24576,	32768,	49152,
};

u64 shca_rnr_ns(u8 code)
{
	return rnr_10us[code & 31] * 10000ull;
}
