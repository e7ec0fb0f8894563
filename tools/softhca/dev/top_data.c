// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What `softhca top` shows, from rdma netlink: counters of devices, and the driver's
 * dump of each queue pair. Devices and queue pairs may go at any time between two
 * questions.
 */
#define _GNU_SOURCE
#include "../rtnl.h"
#include "top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <netlink/attr.h>
#include <rdma/rdma_netlink.h>
#include <softhca-dump.h>

static const struct {
	const char *name;
	enum top_counter to;
} counters[] = {
	{ "tx_packets", TOP_TX_PACKETS },
	{ "tx_bytes", TOP_TX_BYTES },
	{ "rx_packets", TOP_RX_PACKETS },
	{ "rx_bytes", TOP_RX_BYTES },
	{ "tx_direct_packets", TOP_DIRECT },
	{ "local_ack_timeout_err", TOP_TIMEOUTS },
	{ "local_ack_timeout_err", TOP_AGAIN },
	{ "tx_early_retransmits", TOP_AGAIN },
	{ "packet_seq_err", TOP_AGAIN },
	{ "implied_nak_seq_err", TOP_AGAIN },
	{ "rnr_nak_retry_err", TOP_AGAIN },
	{ "rnr_nak_retry_err", TOP_RNR },
	{ "out_of_buffer", TOP_RNR },
	{ "rx_truncated", TOP_ERRORS },
	{ "rx_malformed", TOP_ERRORS },
	{ "rx_icrc_errors", TOP_ERRORS },
	{ "rx_vcrc_errors", TOP_ERRORS },
	{ "rx_path_mismatch", TOP_ERRORS },
	{ "rx_pkey_mismatch", TOP_ERRORS },
	{ "rx_transport_mismatch", TOP_ERRORS },
	{ "rx_qkey_mismatch", TOP_ERRORS },
	{ "resp_local_invalid_request", TOP_ERRORS },
	{ "resp_remote_access_errors", TOP_ERRORS },
	{ "resp_local_operation_errors", TOP_ERRORS },
	{ "req_remote_errors", TOP_ERRORS },
	{ "req_bad_responses", TOP_ERRORS },
	{ "req_local_errors", TOP_ERRORS },
	{ "rx_dropped_messages", TOP_ERRORS },
	{ "rx_backlog_drops", TOP_ERRORS },
	{ "tx_no_route", TOP_ERRORS },
	{ "tx_no_memory", TOP_ERRORS },
	{ "tx_dropped_locally", TOP_ERRORS },
	{ "cq_overflow", TOP_ERRORS },
	{ "malformed_rings", TOP_ERRORS },
};

/* Room for one more, which is all zero. It doubles at powers of two: moving costs little. */
static void *grow(void *array, int nr, size_t size)
{
	if (!(nr & (nr - 1)))
		array = reallocarray(array, nr ? 2 * (size_t)nr : 1, size);
	if (!array)
		exit(fail("top: out of memory"));
	memset((char *)array + nr * size, 0, size);
	return array;
}

double top_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- devices ------------------------------------------------------------------ */

static void take_device(const char *name, uint32_t index, void *arg)
{
	struct top *top = arg;
	struct top_device *d;

	top->device = grow(top->device, top->nr_devices, sizeof(*d));
	d = &top->device[top->nr_devices++];
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->index = index;
}

static void take_counter(const char *name, uint64_t value, void *arg)
{
	struct top_device *d = arg;
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (!strcmp(counters[i].name, name))
			d->value[counters[i].to] += value;
	/* Other drivers have no counter of this name. */
	d->ours |= !strcmp(name, "tx_direct_packets");
}

static void keep_ours(struct top *top)
{
	int i, nr = 0;

	for (i = 0; i < top->nr_devices; i++)
		if (top->device[i].ours)
			top->device[nr++] = top->device[i];
	top->nr_devices = nr;
}

/* ---- queue pairs ---------------------------------------------------------------- */

/* the dump that is being read */
struct qps {
	struct top *top;
	const struct top_device *device;
};

static uint32_t get_u32(struct nlattr *entry, int attr)
{
	struct nlattr *found = nla_find(nla_data(entry), nla_len(entry), attr);

	return found ? nla_get_u32(found) : 0;
}

static unsigned int get_u8(struct nlattr *entry, int attr)
{
	struct nlattr *found = nla_find(nla_data(entry), nla_len(entry), attr);

	return found ? nla_get_u8(found) : 0;
}

static void take_qp(struct nlattr *entry, void *arg)
{
	const struct qps *qps = arg;
	struct top *top = qps->top;
	struct nlattr *kernel;
	struct top_qp *qp;

	top->qp = grow(top->qp, top->nr_qps, sizeof(*qp));
	qp = &top->qp[top->nr_qps++];
	qp->device = qps->device->name;
	qp->device_index = qps->device->index;
	qp->qpn = get_u32(entry, RDMA_NLDEV_ATTR_RES_LQPN);
	qp->peer = get_u32(entry, RDMA_NLDEV_ATTR_RES_RQPN);
	qp->type = get_u8(entry, RDMA_NLDEV_ATTR_RES_TYPE);
	qp->state = get_u8(entry, RDMA_NLDEV_ATTR_RES_STATE);
	qp->pid = get_u32(entry, RDMA_NLDEV_ATTR_RES_PID);
	/* Its queue pairs follow each other mostly. */
	if (qp->pid && top->nr_qps > 1 && qp[-1].pid == qp->pid)
		memcpy(qp->comm, qp[-1].comm, sizeof(qp->comm));
	else
		process_comm(qp->pid, qp->comm, sizeof(qp->comm));
	kernel = nla_find(nla_data(entry), nla_len(entry), RDMA_NLDEV_ATTR_RES_KERN_NAME);
	if (kernel)
		snprintf(qp->comm, sizeof(qp->comm), "[%.24s]", nla_get_string(kernel));
}

static int by_number(const void *a, const void *b)
{
	const struct top_qp *x = a, *y = b;

	if (x->device_index != y->device_index)
		return x->device_index < y->device_index ? -1 : 1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static struct top_qp *find_qp(const struct top *top, uint32_t device_index, uint32_t qpn)
{
	const struct top_qp wanted = { .device_index = device_index, .qpn = qpn };

	return top->nr_qps ? bsearch(&wanted, top->qp, top->nr_qps, sizeof(wanted), by_number) : NULL;
}

static void take_dump(struct nlattr *entry, void *arg)
{
	struct nlattr *raw = nla_find(nla_data(entry), nla_len(entry),
				      RDMA_NLDEV_ATTR_RES_RAW);
	const struct qps *qps = arg;
	struct shca_dump_qp dump = {};
	struct top_qp *qp;

	if (!raw)
		return;
	/* Another version's may be shorter or longer. */
	memcpy(&dump, nla_data(raw), nla_len(raw) < (int)sizeof(dump) ?
	       (size_t)nla_len(raw) : sizeof(dump));
	qp = find_qp(qps->top, qps->device->index, dump.qpn);
	if (!qp)
		return;
	qp->known = true;
	/* (as it was when the counters were) */
	qp->state = dump.state;
	qp->waiting = dump.sq_posted - dump.sq_fetched + dump.req_end - dump.req_una;
	qp->done = dump.sq_posted - qp->waiting;
	qp->psn = dump.max_psn;
	qp->msn = dump.msn;
	qp->resets = dump.resets;
	qp->first_psn = dump.first_psn;
	qp->in_flight = (dump.psn - dump.una_psn) & 0xffffff;
	qp->retry_left = dump.retry_left;
	qp->direct = dump.flags & SHCA_DUMP_QP_DIRECT;
	qp->rnr_wait = dump.flags & SHCA_DUMP_QP_RNR_WAIT;
	qp->window = dump.window;
	qp->errors = dump.errors;
	qp->tx_bytes = dump.tx_bytes;
	qp->rx_bytes = dump.rx_bytes;
	qp->again = dump.sent_again;
	qp->timeouts = dump.timeouts;
}

/* ---- rates and sums --------------------------------------------------------------- */

/* The same queue pair in the look before, or NULL: it is new, or its number was another's. */
static const struct top_qp *qp_before(const struct top *before, const struct top_qp *qp)
{
	const struct top_qp *was = find_qp(before, qp->device_index, qp->qpn);

	return was && was->pid == qp->pid && was->tx_bytes <= qp->tx_bytes &&
	       was->rx_bytes <= qp->rx_bytes && was->again <= qp->again &&
	       was->timeouts <= qp->timeouts ? was : NULL;
}

/* More PSNs than can be outstanding: they went back, since what was not sent is taken back */
#define PSN_WENT_BACK	(1u << 23)

/* @was is the look before, or NULL: a new one has done since then all that it ever did. */
static void count_qp(struct top_qp *qp, const struct top_qp *was)
{
	static const struct top_qp none;
	bool sent;
	uint32_t psns;
	int32_t done;

	if (!qp->known)
		return;
	if (was && was->known)
		qp->so_far = was->so_far;
	if (!was || !was->known || was->resets != qp->resets)
		was = &none;
	sent = was->state >= IBV_QPS_RTS;
	/* (less by one where the adapter has a request of its own, a READ of tag matching) */
	done = qp->done - was->done;
	if (was == &none && done < 0)
		done = 0;
	qp->so_far.requests += done;
	qp->so_far.messages += (qp->msn - was->msn) & 0xffffff;
	psns = (qp->psn - (sent ? was->psn : qp->first_psn)) & 0xffffff;
	if (qp->state >= IBV_QPS_RTS && psns < PSN_WENT_BACK)
		qp->so_far.psns += psns;
}

static uint64_t gain(uint64_t now, uint64_t was)
{
	return now > was ? now - was : 0;
}

static void find_qp_rates(struct top_qp *qp, const struct top_qp *was, double seconds)
{
	static const struct top_qp none;

	if (!qp->known || (was && !was->known))
		return;
	was = was ?: &none;
	qp->gained = gain(qp->so_far.requests, was->so_far.requests);
	qp->rate = (struct top_rates){
		.requests = qp->gained / seconds,
		.messages = gain(qp->so_far.messages, was->so_far.messages) / seconds,
		.psns = gain(qp->so_far.psns, was->so_far.psns) / seconds,
		.tx_bytes = (qp->tx_bytes - was->tx_bytes) / seconds,
		.rx_bytes = (qp->rx_bytes - was->rx_bytes) / seconds,
		.again = (qp->again - was->again) / seconds,
		.timeouts = (qp->timeouts - was->timeouts) / seconds,
		.errors = (qp->errors - (qp->errors < was->errors ? 0 : was->errors)) / seconds,
	};
}

static void find_rates(struct top *top, const struct top *before)
{
	double seconds = top->when - before->when;
	const struct top_device *old;
	struct top_device *d;
	struct top_qp *qp;
	int i, j, k;

	if (seconds <= 0)
		return;
	for (i = 0; i < top->nr_devices; i++)
		for (d = &top->device[i], j = 0; j < before->nr_devices; j++) {
			old = &before->device[j];
			if (old->index != d->index || strcmp(old->name, d->name))
				continue;
			for (k = 0; k < TOP_NR_COUNTERS; k++)
				d->rate[k] = d->value[k] < old->value[k] ? 0 :
					     (d->value[k] - old->value[k]) / seconds;
		}
	for (i = 0; i < top->nr_qps; i++) {
		qp = &top->qp[i];
		find_qp_rates(qp, qp_before(before, qp), seconds);
		for (j = 0; j < top->nr_devices; j++)
			if (top->device[j].index == qp->device_index)
				top->device[j].gained += qp->gained;
	}
}

static void add_rates(struct top_rates *to, const struct top_rates *from)
{
	to->requests += from->requests;
	to->messages += from->messages;
	to->psns += from->psns;
	to->tx_bytes += from->tx_bytes;
	to->rx_bytes += from->rx_bytes;
	to->again += from->again;
	to->timeouts += from->timeouts;
	to->errors += from->errors;
}

/* Those of one process behind each other */
static int by_process(const void *a, const void *b)
{
	const struct top_qp *x = *(const struct top_qp **)a, *y = *(const struct top_qp **)b;

	return x->pid < y->pid ? -1 : x->pid > y->pid ? 1 : strcmp(x->comm, y->comm);
}

/* @top->busy is in any order */
static void sum_processes(struct top *top)
{
	const struct top_qp *qp;
	struct top_process *p = NULL;
	int i;

	if (top->nr_qps)
		qsort(top->busy, top->nr_qps, sizeof(*top->busy), by_process);
	for (i = 0; i < top->nr_qps; i++) {
		qp = top->busy[i];
		if (!p || p->pid != qp->pid || strcmp(p->comm, qp->comm)) {
			top->process = grow(top->process, top->nr_processes, sizeof(*p));
			p = &top->process[top->nr_processes++];
			p->pid = qp->pid;
			snprintf(p->comm, sizeof(p->comm), "%s", qp->comm);
		}
		p->nr_qps++;
		p->waiting += qp->waiting;
		p->gained += qp->gained;
		add_rates(&p->rate, &qp->rate);
		latency_sum(&p->latency, &qp->latency);
	}
}

static int busier_qp(const void *a, const void *b)
{
	const struct top_qp *x = *(const struct top_qp **)a, *y = *(const struct top_qp **)b;
	double p = x->rate.requests + x->rate.messages, q = y->rate.requests + y->rate.messages;

	if (p == q)
		return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
	return p < q ? 1 : -1;
}

static int busier_process(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;
	double p = x->rate.requests + x->rate.messages, q = y->rate.requests + y->rate.messages;

	if (p == q)
		return x->pid < y->pid ? -1 : x->pid > y->pid;
	return p < q ? 1 : -1;
}

int top_count(struct top *top, const struct top *last)
{
	struct qps qps = { .top = top };
	int i, err;

	memset(top, 0, sizeof(*top));
	err = rdma_devices(take_device, top);
	if (err)
		return err;
	for (i = 0; i < top->nr_devices; i++)
		rdma_counters(top->device[i].index, take_counter, &top->device[i]);
	keep_ours(top);
	top->when = top_now();
	for (i = 0; i < top->nr_devices; i++) {
		qps.device = &top->device[i];
		rdma_qps(top->device[i].index, false, take_qp, &qps);
	}
	if (top->nr_qps)
		qsort(top->qp, top->nr_qps, sizeof(*top->qp), by_number);
	for (i = 0; i < top->nr_devices; i++) {
		qps.device = &top->device[i];
		if (rdma_qps(top->device[i].index, true, take_dump, &qps) == -EPERM)
			top->partly = true;
	}
	for (i = 0; i < top->nr_qps; i++)
		count_qp(&top->qp[i], last ? qp_before(last, &top->qp[i]) : NULL);
	return 0;
}

int top_look(struct top *top, const struct top *last, const struct top *before)
{
	int i, err = top_count(top, last);

	if (err)
		return err;
	top->timed = latency_take(top);
	if (before)
		find_rates(top, before);
	for (i = 0; i < top->nr_qps; i++) {
		top->busy = grow(top->busy, i, sizeof(*top->busy));
		top->busy[i] = &top->qp[i];
	}
	sum_processes(top);
	if (top->nr_qps)
		qsort(top->busy, top->nr_qps, sizeof(*top->busy), busier_qp);
	if (top->nr_processes)
		qsort(top->process, top->nr_processes, sizeof(*top->process), busier_process);
	return 0;
}

void top_free(struct top *top)
{
	free(top->device);
	free(top->qp);
	free(top->busy);
	free(top->process);
	memset(top, 0, sizeof(*top));
}
