// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The table of uapi/softhca-ops.h, by opcode. */
#include "wr_op.h"

#include "opcode.h"

#define ROW(name_, verb_, feature_, on_, form_, length_, answer_, flags_,	\
	    completion_, ...)							\
	[SHCA_WR_##name_] = {							\
		.on = SHCA_ON_##on_,						\
		.form = SHCA_FORM_##form_,					\
		.length = SHCA_LENGTH_##length_,				\
		.answer = SHCA_ANSWER_##answer_,				\
		.flags = flags_,						\
		.completion = SHCA_WC_##completion_,				\
	},

#define PACKETS(name_, verb_, feature_, on_, form_, length_, answer_, flags_,	\
		completion_, first_, middle_, last_, only_)			\
	[SHCA_WR_##name_] = {							\
		{ SHCA_OP_##middle_, SHCA_OP_##last_ },				\
		{ SHCA_OP_##first_, SHCA_OP_##only_ },				\
	},

const struct shca_wr_op shca_wr_ops[256] = {
	SHCA_SEND_OPS(ROW)
	SHCA_KERNEL_OPS(ROW)
};

const u8 shca_wr_packets[256][2][2] = {
	SHCA_SEND_OPS(PACKETS)
	SHCA_KERNEL_OPS(PACKETS)
};
