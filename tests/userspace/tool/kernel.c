// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See kernel.h. */
#include "kernel.h"
#include "rtnl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_netlink.h>
#include <softhca-dump.h>

uint32_t nr_qps, failing_qp = UINT32_MAX;
unsigned int nr_looks;

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	return EXIT_FAILURE;
}

bool latency_take(struct top *top)
{
	(void)top;
	return false;
}

void latency_sum(struct top_latency *to, const struct top_latency *from)
{
	to->nr += from->nr;
}

void process_comm(unsigned int pid, char *comm, size_t size)
{
	snprintf(comm, size, "p%u", pid);
}

uint32_t number_of(uint32_t i)
{
	return (i * 40503u + 17) & 0xffffff;
}

int rdma_devices(void (*each)(const char *name, uint32_t index, void *arg), void *arg)
{
	each("shca0", 3, arg);
	each("shca1", 4, arg);
	nr_looks++;
	return 0;
}

int rdma_counters(uint32_t index, void (*each)(const char *name, uint64_t value, void *arg), void *arg)
{
	(void)index;
	each("tx_direct_packets", 1, arg);
	return 0;
}

static void one_qp(uint32_t i, bool raw, void (*each)(struct nlattr *entry, void *arg), void *arg)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *entry = nla_nest_start(msg, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	struct shca_dump_qp dump = { .size = sizeof(dump), .qpn = number_of(i), .state = 3,
				     .sq_posted = i * nr_looks, .sq_fetched = i * nr_looks,
				     .errors = i == failing_qp ? nr_looks : 0 };

	if (raw) {
		nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(dump), &dump);
	} else {
		nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_LQPN, dump.qpn);
		nla_put_u8(msg, RDMA_NLDEV_ATTR_RES_TYPE, 2);
		nla_put_u8(msg, RDMA_NLDEV_ATTR_RES_STATE, 3);
		nla_put_u32(msg, RDMA_NLDEV_ATTR_RES_PID, 100 + i / QPS_OF_A_PROCESS);
	}
	nla_nest_end(msg, entry);
	each(entry, arg);
	nlmsg_free(msg);
}

int rdma_qps(uint32_t index, bool raw, void (*each)(struct nlattr *entry, void *arg), void *arg)
{
	uint32_t i;

	for (i = index - 3; i < nr_qps; i += 2)
		one_qp(i, raw, each, arg);
	return 0;
}
