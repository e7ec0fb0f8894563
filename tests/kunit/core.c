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
#include "../../kernel/ib/core/ib_wire.c"
#include "../../kernel/ib/core/ib_hello.c"
#include "../../kernel/ib/core/ib_credit.c"
#include "../../kernel/ib/core/ib_lanes.c"
#include "../../kernel/ib/core/ib_sample.c"
#include "../../kernel/ib/core/ib_sma.c"
#include "../../kernel/ib/core/ib_trap.c"
#include "../../kernel/core/wr_op.c"
#include "../../kernel/core/times.c"
#include "../../kernel/core/requester/decode.c"
#include "../../kernel/core/requester/post.c"
#include "../../kernel/core/requester/requester.c"
#include "../../kernel/core/requester/completer.c"
#include "../../kernel/core/requester/recovery.c"
#include "../../kernel/core/requester/req_credit.c"
#include "../../kernel/core/responder/credit.c"
#include "../../kernel/core/responder/responder.c"
#include "../../kernel/core/responder/executor.c"
#include "../../kernel/core/responder/answers.c"
#include "../../kernel/core/requester/control.c"
#include "../../kernel/core/requester/dcqcn.c"
#include "../../kernel/core/requester/window.c"
#include "../../kernel/core/requester/cc.c"
#include "../../kernel/core/requester/fast.c"
#include "../../kernel/core/fault_rule.c"
#include "../../kernel/core/tag_list.c"
#include "../../kernel/core/responder/unreliable.c"

MODULE_DESCRIPTION("KUnit suites of the softhca protocol core");
MODULE_LICENSE("Dual BSD/GPL");
