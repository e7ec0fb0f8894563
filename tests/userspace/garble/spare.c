// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defects of the RDMA core that this fuzzer has found. Each ends a guest with
 * panic_on_warn. They are not softhca's; README.md says how to show them.
 * Only a call that triggers one is changed here.
 */
#include "garble.h"

#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define MODIFY_WQ	(IB_USER_VERBS_CMD_FLAG_EXTENDED | \
			 IB_USER_VERBS_EX_CMD_MODIFY_WQ)
#define NR_WQ_STATES	(IBV_WQS_ERR + 1)

/*
 * ib_uverbs_ex_modify_wq() leaves the WQ locked and referenced after an invalid
 * state: WARNING in __uverbs_cleanup_ufile() when the file closes.
 */
static void spare_modify_wq(uint8_t *bytes)
{
	struct ib_uverbs_ex_modify_wq cmd;

	memcpy(&cmd, bytes, sizeof(cmd));
	if (cmd.attr_mask & IBV_WQ_ATTR_CURR_STATE)
		cmd.curr_wq_state %= NR_WQ_STATES;
	if (cmd.attr_mask & IBV_WQ_ATTR_STATE)
		cmd.wq_state %= NR_WQ_STATES;
	memcpy(bytes, &cmd, sizeof(cmd));
}

/* Finds the input of an INVOKE_WRITE; without memory of its own it has length 0. */
static uint8_t *core_in(struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)call->bytes;
	uint32_t i, j;

	for (i = 0; i < (call->len - sizeof(*hdr)) / sizeof(hdr->attrs[0]); i++) {
		struct ib_uverbs_attr *attr = &hdr->attrs[i];

		if (attr->attr_id != UVERBS_ATTR_CORE_IN)
			continue;
		for (j = 0; j < call->nr_payloads; j++)
			if (call->payload[j].at ==
			    (uint8_t *)&attr->data - call->bytes)
				return call->payload[j].bytes;
		attr->len = 0;
	}
	return NULL;
}

/*
 * ib_uverbs_open_qp() does not initialise the mutex that ATTACH_MCAST and
 * DETACH_MCAST take for any QP. The handles of opened QPs are not known here.
 * So neither is executed in a process that has opened one.
 */
static bool has_opened_qp;

/*
 * A context that is refused, as the second one of a file is, is freed but for its reference to
 * the process. A pointer that is left somewhere may hide such a leak from kmemleak, until
 * some later scan finds it.
 */
static bool is_get_context(const struct call *call)
{
	const struct ib_uverbs_ioctl_hdr *hdr = (const void *)call->bytes;

	return !call->is_write && hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
}

enum spare call_spare_the_core(struct call *call)
{
	uint8_t *in;

	if (getenv("GARBLE_DEFECTS"))
		return SPARE_NOTHING;
	if (getenv("GARBLE_NO_CONTEXT") && is_get_context(call))
		return SPARE_SKIP;
	switch (call_command(call)) {
	case MODIFY_WQ:
		in = call->is_write ? call->bytes +
				      sizeof(struct ib_uverbs_cmd_hdr) +
				      sizeof(struct ib_uverbs_ex_cmd_hdr) :
				      core_in(call);
		if (in)
			spare_modify_wq(in);
		return SPARE_EXACT;
	case IB_USER_VERBS_CMD_OPEN_QP:
		has_opened_qp = true;
		break;
	case IB_USER_VERBS_CMD_ATTACH_MCAST:
	case IB_USER_VERBS_CMD_DETACH_MCAST:
		if (has_opened_qp)
			return SPARE_SKIP;
	}
	return SPARE_NOTHING;
}
