// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The protocol core once more, for the test module: it has no dependence on
 * softhca.ko, and none of its symbols need to be exported.
 */
#include <linux/module.h>

#include "../../kernel/core/crc_fold.c"
#include "../../kernel/core/apm.c"
#include "../../kernel/core/opcode.c"
#include "../../kernel/core/headers.c"
#undef ROW	/* opcode.c's */
#include "../../kernel/core/ib_wire.c"
#include "../../kernel/core/ib_hello.c"
#include "../../kernel/core/ib_credit.c"
#include "../../kernel/core/ib_lanes.c"
#include "../../kernel/core/ib_sample.c"
#include "../../kernel/core/ib_sma.c"
#include "../../kernel/core/ib_trap.c"
#include "../../kernel/core/wr_op.c"
#include "../../kernel/core/times.c"
#include "../../kernel/core/decode.c"
#include "../../kernel/core/post.c"
#include "../../kernel/core/requester.c"
#include "../../kernel/core/completer.c"
#include "../../kernel/core/recovery.c"
#include "../../kernel/core/credit.c"
#include "../../kernel/core/responder.c"
#include "../../kernel/core/executor.c"
#include "../../kernel/core/answers.c"
#include "../../kernel/core/control.c"
#include "../../kernel/core/dcqcn.c"
#include "../../kernel/core/window.c"
#include "../../kernel/core/cc.c"
#include "../../kernel/core/fast.c"
#include "../../kernel/core/fault.c"
#include "../../kernel/core/tm.c"
#include "../../kernel/core/unreliable.c"

MODULE_DESCRIPTION("KUnit suites of the softhca protocol core");
MODULE_LICENSE("Dual BSD/GPL");
