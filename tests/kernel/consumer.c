// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A kernel consumer of verbs: tests what no process can see. Loading the module
 * runs the tests on the device and GID of its parameters, with one line in the
 * log each. It uses only the RDMA core, so it tests any RDMA device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

static char *device = "shca_a";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "the device to be tested");

static int gid_index;
module_param(gid_index, int, 0444);
MODULE_PARM_DESC(gid_index, "a RoCEv2 GID of it");

static int burst;
module_param(burst, int, 0444);
MODULE_PARM_DESC(burst, "completions that the device shows at a time, 16 at most; 0: one by one");
static int burst_us;
module_param(burst_us, int, 0444);
MODULE_PARM_DESC(burst_us, "after which it shows fewer");

#define WAIT_MS		10000
#define ROUNDS		200

/* REQUIRE(): the test fails and ends here if the condition does not hold. */
#define REQUIRE(cond)							\
	do {								\
		if (!(cond)) {						\
			pr_err("line %d: %s\n", __LINE__, #cond);	\
			return -EINVAL;					\
		}							\
	} while (0)

/**
 * struct end - a QP with its queues, and results of its event handler
 * @cq:	for both directions
 * @qp:	the queue pair
 * @srq:	its SRQ, or NULL
 * @events:	bits IB_EVENT_*
 * @came:	completed by each event
 * @gone:	the QP was destroyed: no more events may come
 * @within:	events raised inside our own call of a verb
 * @late:	events that came after the end
 */
struct end {
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_srq *srq;
	unsigned long events;
	struct completion came;
	bool gone;
	int within;
	int late;
};

static struct ib_device *dev;
static struct ib_pd *pd;
static union ib_gid gid;
static struct end a, b;
/* of the queues that are made next */
static int vector;

/* The task that calls a verb, as a consumer would hold a lock. */
static struct task_struct *caller;

#define IN_CALL(call)							\
	({								\
		int ret_;						\
									\
		WRITE_ONCE(caller, current);				\
		ret_ = (call);						\
		WRITE_ONCE(caller, NULL);				\
		ret_;							\
	})

static void saw(struct end *end, enum ib_event_type event)
{
	/* A softirq that interrupts the call is not inside it. */
	if (in_task() && READ_ONCE(caller) == current)
		end->within++;
	if (READ_ONCE(end->gone))
		end->late++;
	set_bit(event, &end->events);
	complete(&end->came);
}

static void on_qp_event(struct ib_event *event, void *context)
{
	saw(context, event->event);
}

static void on_srq_event(struct ib_event *event, void *context)
{
	saw(context, event->event);
}

static bool wait_event_of(struct end *end, enum ib_event_type event)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);

	while (!test_and_clear_bit(event, &end->events))
		if (time_after(jiffies, until) ||
		    !wait_for_completion_timeout(&end->came,
						 msecs_to_jiffies(WAIT_MS)))
			return false;
	return true;
}

/* ---- two ends ------------------------------------------------------------- */

static int end_make(struct end *end, bool with_srq)
{
	struct ib_srq_init_attr srq_init = {
		.event_handler = on_srq_event,
		.srq_context = end,
		.attr = { .max_wr = 8, .max_sge = 1 },
	};
	struct ib_qp_init_attr init = {
		.event_handler = on_qp_event,
		.qp_context = end,
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	memset(end, 0, sizeof(*end));
	init_completion(&end->came);
	end->cq = ib_alloc_cq(dev, NULL, 64, vector, IB_POLL_DIRECT);
	if (IS_ERR(end->cq))
		return PTR_ERR(end->cq);
	if (with_srq) {
		end->srq = ib_create_srq(pd, &srq_init);
		if (IS_ERR(end->srq))
			return PTR_ERR(end->srq);
	}
	init.srq = end->srq;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(pd, &init);
	return PTR_ERR_OR_ZERO(end->qp);
}

static void end_destroy(struct end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->srq))
		ib_destroy_srq(end->srq);
	WRITE_ONCE(end->gone, true);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	end->qp = NULL;
	end->srq = NULL;
	end->cq = NULL;
}

static int to_state(struct end *end, enum ib_qp_state state,
		    const struct end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.path_mtu = IB_MTU_1024,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};
	int mask = IB_QP_STATE;

	switch (state) {
	case IB_QPS_INIT:
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
		break;
	case IB_QPS_RTR:
		attr.dest_qp_num = peer->qp->qp_num;
		attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
		rdma_ah_set_port_num(&attr.ah_attr, 1);
		rdma_ah_set_grh(&attr.ah_attr, &gid, 0, gid_index, 1, 0);
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			IB_QP_MIN_RNR_TIMER;
		break;
	case IB_QPS_RTS:
		mask |= IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
		break;
	case IB_QPS_SQD:
		attr.en_sqd_async_notify = 1;
		mask |= IB_QP_EN_SQD_ASYNC_NOTIFY;
		break;
	default:
		break;
	}
	return IN_CALL(ib_modify_qp(end->qp, &attr, mask));
}

/* a goes to RTS, and b to RTR, so that the first packet raises an event at b. */
static int pair_make(bool with_srq)
{
	REQUIRE(!end_make(&a, false) && !end_make(&b, with_srq));
	REQUIRE(!to_state(&a, IB_QPS_INIT, &b) &&
		!to_state(&b, IB_QPS_INIT, &a));
	REQUIRE(!to_state(&a, IB_QPS_RTR, &b) && !to_state(&b, IB_QPS_RTR, &a));
	REQUIRE(!to_state(&a, IB_QPS_RTS, &b));
	return 0;
}

static int post(struct end *end, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return IN_CALL(ib_post_send(end->qp, wr, &bad));
}

static int post_recv(struct end *end)
{
	struct ib_recv_wr wr = {};
	const struct ib_recv_wr *bad;

	return end->srq ? ib_post_srq_recv(end->srq, &wr, &bad) :
			  ib_post_recv(end->qp, &wr, &bad);
}

/* Return: status of the next completion, or -ETIMEDOUT. */
static int completion(struct end *end)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);
	struct ib_wc wc;

	while (ib_poll_cq(end->cq, 1, &wc) < 1) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		usleep_range(50, 200);
	}
	return wc.status;
}

/* ---- events ----------------------------------------------------------------- */

static int qp_events_come_outside_of_calls(void)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED };

	REQUIRE(!pair_make(false) && !post_recv(&b));
	REQUIRE(!post(&a, &wr));
	REQUIRE(wait_event_of(&b, IB_EVENT_COMM_EST));
	REQUIRE(completion(&a) == IB_WC_SUCCESS);
	REQUIRE(!to_state(&a, IB_QPS_SQD, &b));
	REQUIRE(wait_event_of(&a, IB_EVENT_SQ_DRAINED));
	REQUIRE(!a.within && !b.within);
	return 0;
}

static int srq_events_come_outside_of_calls(void)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED };
	struct ib_srq_attr attr = { .srq_limit = 2 };

	REQUIRE(!pair_make(true));
	REQUIRE(!post_recv(&b) && !post_recv(&b));
	REQUIRE(!IN_CALL(ib_modify_srq(b.srq, &attr, IB_SRQ_LIMIT)));
	REQUIRE(!post(&a, &wr));
	REQUIRE(wait_event_of(&b, IB_EVENT_SRQ_LIMIT_REACHED));
	REQUIRE(completion(&a) == IB_WC_SUCCESS);
	REQUIRE(!to_state(&b, IB_QPS_ERR, &a));
	REQUIRE(wait_event_of(&b, IB_EVENT_QP_LAST_WQE_REACHED));
	REQUIRE(!a.within && !b.within);
	return 0;
}

/* Destroys a QP while an event is in flight: it comes before the end, or never. */
static int no_event_after_destruction(void)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		REQUIRE(!pair_make(i & 1) && !post_recv(&b));
		REQUIRE(!post(&a, &wr));
		end_destroy(&b);
		udelay(20);
		REQUIRE(!b.late);
		end_destroy(&a);
	}
	return 0;
}

/* ---- ends ------------------------------------------------------------------- */

static int turns_begun, turns_ended;

static void slow_handler(struct ib_cq *cq, void *context)
{
	WRITE_ONCE(turns_begun, turns_begun + 1);
	mdelay(5);
	WRITE_ONCE(turns_ended, turns_ended + 1);
}

struct ending {
	struct work_struct work;
	bool within, after;
};

/* Destroys the QP while its CQ's handler runs, on another CPU if there is one. */
static void destroy_in_handler(struct work_struct *work)
{
	struct ending *ending = container_of(work, struct ending, work);
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);

	while (!READ_ONCE(turns_begun) && !time_after(jiffies, until))
		cond_resched();
	ending->within = !READ_ONCE(turns_ended);
	ib_destroy_qp(a.qp);
	a.qp = NULL;
	ending->after = READ_ONCE(turns_ended) == 1;
}

/*
 * A workqueue that serves reclaim may end queues, as IPoIB's does: the kernel warns of
 * one that waits for another kind of workqueue. The handler is done then.
 */
static int queues_end_within_reclaim(void)
{
	struct workqueue_struct *wq =
		alloc_workqueue("softhca_consumer", WQ_MEM_RECLAIM | WQ_UNBOUND, 1);
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE,
				 .wr.send_flags = IB_SEND_SIGNALED };
	struct ending ending;
	int i, within = 0, err = 0;

	REQUIRE(wq);
	INIT_WORK_ONSTACK(&ending.work, destroy_in_handler);
	for (i = 0; i < 20 && !err; i++) {
		turns_begun = 0;
		turns_ended = 0;
		err = pair_make(false);
		if (err)
			break;
		a.cq->comp_handler = slow_handler;
		ib_req_notify_cq(a.cq, IB_CQ_NEXT_COMP);
		queue_work(wq, &ending.work);
		err = post(&a, &wr.wr);
		flush_work(&ending.work);
		if (!ending.after)
			err = -EINVAL;
		within += ending.within;
		end_destroy(&a);
		end_destroy(&b);
	}
	destroy_work_on_stack(&ending.work);
	destroy_workqueue(wq);
	pr_info("%d of %d within a handler\n", within, i);
	REQUIRE(!err);
	return 0;
}

/* ---- completion vectors --------------------------------------------------- */

#ifdef HAVE_WQ_BH
static const bool has_softirq_of_cpu = true;
#else
static const bool has_softirq_of_cpu;	/* before 6.9 */
#endif
static int handler_cpu;

static void cpu_handler(struct ib_cq *cq, void *context)
{
	WRITE_ONCE(handler_cpu, smp_processor_id());
	complete(&a.came);
}

/* Wherever a request is posted; where that CPU is offline, on another. */
static int handlers_run_on_their_vectors_cpu(void)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE,
				 .wr.send_flags = IB_SEND_SIGNALED };
	int wrong = 0, nr = 0;

	REQUIRE(dev->num_comp_vectors == num_possible_cpus());
	for (vector = 0; vector < dev->num_comp_vectors; vector++) {
		if (pair_make(false))
			break;
		a.cq->comp_handler = cpu_handler;
		ib_req_notify_cq(a.cq, IB_CQ_NEXT_COMP);
		if (post(&a, &wr.wr) ||
		    !wait_for_completion_timeout(&a.came, msecs_to_jiffies(WAIT_MS)))
			break;
		wrong += has_softirq_of_cpu && cpu_online(vector) &&
			 READ_ONCE(handler_cpu) != vector;
		nr++;
		end_destroy(&a);
		end_destroy(&b);
	}
	vector = 0;
	REQUIRE(!wrong && nr == dev->num_comp_vectors);
	return 0;
}

/* ---- bursts ----------------------------------------------------------------- */

/*
 * Return: how many completions of @nr requests the first poll that finds any finds.
 * @timely: it did so before the timer of bursts could have ended one
 */
static int first_poll(int nr, bool *timely)
{
	/* (an RDMA request is read as one, whatever it has) */
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_WRITE,
					 .send_flags = IB_SEND_SIGNALED } };
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);
	ktime_t begin = ktime_get();
	struct ib_wc wc[16];
	int i, n, first;

	for (i = 0; i < nr; i++)
		if (post(&a, &wr.wr))
			return -EIO;
	do {
		n = ib_poll_cq(a.cq, ARRAY_SIZE(wc), wc);
		/* (a device may need ksoftirqd, on this CPU) */
		cond_resched();
	} while (!n && !time_after(jiffies, until));
	first = n;
	*timely = ktime_us_delta(ktime_get(), begin) < burst_us;
	for (; n < nr; n++)
		if (completion(&a) != IB_WC_SUCCESS)
			return -EIO;
	return first;
}

/* @burst at a time, or fewer after @burst_us. */
static int completions_come_in_bursts(void)
{
	int i, first, together = 0;
	bool timely;

	REQUIRE(burst <= 16 && !pair_make(false));
	for (i = 0; i < 50; i++) {
		first = first_poll(burst ?: 8, &timely);
		REQUIRE(first > 0);
		REQUIRE(!burst || !timely || first == burst);
		together += first == (burst ?: 8);
	}
	pr_info("%d of 50 bursts\n", together);
	REQUIRE(!burst || together);
	for (i = 1; i < 8; i++)
		REQUIRE(first_poll(i, &timely) > 0);
	/* What waits does not hang, and what is of a QP goes with it. */
	ib_drain_sq(a.qp);
	first_poll(3, &timely);
	ib_destroy_qp(a.qp);
	a.qp = NULL;
	REQUIRE(ib_poll_cq(a.cq, 1, &(struct ib_wc){}) == 0);
	return 0;
}

/* ---- memory operations ------------------------------------------------------ */

static struct ib_mr *mr;
static struct scatterlist *sg;
static int nr_mapped;
static struct page *page;

/* All @nr segments are the same page, because only the list is tested. */
static int memory_make(int nr)
{
	int i;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	sg = kvcalloc(nr, sizeof(*sg), GFP_KERNEL);
	REQUIRE(page && sg);
	sg_init_table(sg, nr);
	for (i = 0; i < nr; i++)
		sg_set_page(&sg[i], page, PAGE_SIZE, 0);
	return 0;
}

static void memory_free(void)
{
	if (!IS_ERR_OR_NULL(mr))
		ib_dereg_mr(mr);
	if (nr_mapped)
		ib_dma_unmap_sg(dev, sg, nr_mapped, DMA_BIDIRECTIONAL);
	nr_mapped = 0;
	kvfree(sg);
	if (page)
		__free_page(page);
	mr = NULL;
	sg = NULL;
	page = NULL;
}

/* Posts and waits. Return: status of the completion. */
static int do_reg(u32 key)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = key,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};

	REQUIRE(!post(&a, &wr.wr));
	return completion(&a);
}

static int do_inv(u32 key)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV,
				 .send_flags = IB_SEND_SIGNALED,
				 .ex.invalidate_rkey = key };

	REQUIRE(!post(&a, &wr));
	return completion(&a);
}

static int do_rdma(enum ib_wr_opcode opcode, u64 addr, u32 rkey, u64 *data)
{
	struct ib_sge sge = { .length = sizeof(*data),
			      .lkey = pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SIGNALED },
		.remote_addr = addr,
		.rkey = rkey,
	};
	int status;

	sge.addr = ib_dma_map_single(dev, data, sizeof(*data), DMA_TO_DEVICE);
	REQUIRE(!ib_dma_mapping_error(dev, sge.addr));
	REQUIRE(!post(&a, &wr.wr));
	status = completion(&a);
	ib_dma_unmap_single(dev, sge.addr, sizeof(*data), DMA_TO_DEVICE);
	return status;
}

static int region_make(int nr)
{
	REQUIRE(!memory_make(nr));
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, nr);
	REQUIRE(!IS_ERR(mr));
	nr_mapped = ib_dma_map_sg(dev, sg, nr, DMA_BIDIRECTIONAL);
	REQUIRE(nr_mapped == nr);
	REQUIRE(ib_map_mr_sg(mr, sg, nr, NULL, PAGE_SIZE) == nr);
	return 0;
}

/* The longest advertised page list is registered and accessed. */
static int fast_registration_of_most_pages(void)
{
	int max = dev->attrs.max_fast_reg_page_list_len;
	u64 *data = kmalloc(sizeof(*data), GFP_KERNEL);
	struct ib_mr *more;
	int status;

	REQUIRE(data);
	*data = 0x0123456789abcdefull;
	more = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, max + 1);
	REQUIRE(more == ERR_PTR(-EINVAL) || more == ERR_PTR(-ENOMEM));
	REQUIRE(!pair_make(false) && !region_make(max));
	REQUIRE(do_reg(mr->rkey) == IB_WC_SUCCESS);
	status = do_rdma(IB_WR_RDMA_WRITE,
			 mr->iova + (max - 1) * PAGE_SIZE + 16, mr->rkey, data);
	kfree(data);
	REQUIRE(status == IB_WC_SUCCESS);
	REQUIRE(((u64 *)page_address(page))[2] == 0x0123456789abcdefull);
	REQUIRE(do_inv(mr->rkey) == IB_WC_SUCCESS);
	return 0;
}

/* IBTA 11.6.2: a memory management operation fails, not the queue. */
static int failed_registration_is_bind_error(void)
{
	REQUIRE(!pair_make(false) && !region_make(2));
	REQUIRE(do_reg(mr->rkey) == IB_WC_SUCCESS);
	REQUIRE(do_reg(mr->rkey) == IB_WC_MW_BIND_ERR);
	return 0;
}

static int failed_invalidation_is_bind_error(void)
{
	REQUIRE(!pair_make(false) && !region_make(2));
	REQUIRE(do_reg(mr->rkey) == IB_WC_SUCCESS);
	REQUIRE(do_inv(mr->rkey ^ 1) == IB_WC_MW_BIND_ERR);
	return 0;
}

#ifdef HAVE_IB_FLUSH

static int atomic_write_writes_one_word(void)
{
	u64 *data = kmalloc(sizeof(*data), GFP_KERNEL);
	int status, odd;

	REQUIRE(data);
	*data = 0x0123456789abcdefull;
	REQUIRE(!pair_make(false) && !region_make(1));
	REQUIRE(do_reg(mr->rkey) == IB_WC_SUCCESS);
	status = do_rdma(IB_WR_ATOMIC_WRITE, mr->iova + 16, mr->rkey, data);
	odd = do_rdma(IB_WR_ATOMIC_WRITE, mr->iova + 28, mr->rkey, data);
	kfree(data);
	REQUIRE(status == IB_WC_SUCCESS);
	REQUIRE(((u64 *)page_address(page))[2] == 0x0123456789abcdefull);
	REQUIRE(((u64 *)page_address(page))[3] == 0);
	REQUIRE(odd == IB_WC_REM_INV_REQ_ERR);
	return 0;
}

/* The RDMA core has no struct for what to flush, so FLUSH is refused. */
static int flush_is_refused(void)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_FLUSH };

	REQUIRE(!pair_make(false));
	REQUIRE(post(&a, &wr.wr) == -EINVAL);
	return 0;
}

#endif

/* ---- the table -------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
#define TEST(name) { #name, name }
	TEST(qp_events_come_outside_of_calls),
	TEST(srq_events_come_outside_of_calls),
	TEST(no_event_after_destruction),
	TEST(queues_end_within_reclaim),
	TEST(handlers_run_on_their_vectors_cpu),
	TEST(completions_come_in_bursts),
	TEST(fast_registration_of_most_pages),
	TEST(failed_registration_is_bind_error),
	TEST(failed_invalidation_is_bind_error),
#ifdef HAVE_IB_FLUSH
	TEST(atomic_write_writes_one_word),
	TEST(flush_is_refused),
#endif
};

static int run_tests(void)
{
	int i, err, failed = 0;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		err = tests[i].run();
		failed += !!err;
		end_destroy(&a);
		end_destroy(&b);
		memory_free();
		pr_info("%s %s\n", err ? "not ok" : "ok", tests[i].name);
	}
	ib_dealloc_pd(pd);
	return failed ? -EINVAL : 0;
}

/* A client, because devices cannot be looked up by name from Linux 7.2 on. */
static int consumer_add(struct ib_device *ibdev)
{
	if (!strcmp(dev_name(&ibdev->dev), device) && ib_device_try_get(ibdev))
		dev = ibdev;
	return 0;
}

static struct ib_client consumer_client = {
	.name = "softhca_consumer",
	.add = consumer_add,
};

static int __init consumer_init(void)
{
	int err;

	err = ib_register_client(&consumer_client);
	if (err)
		return err;
	ib_unregister_client(&consumer_client);
	if (!dev)
		return -ENODEV;
	err = rdma_query_gid(dev, 1, gid_index, &gid);
	if (!err)
		err = run_tests();
	ib_device_put(dev);
	return err;
}

static void __exit consumer_exit(void)
{
}

module_init(consumer_init);
module_exit(consumer_exit);

MODULE_AUTHOR("The softhca developers");
MODULE_DESCRIPTION("Tests of an RDMA device through the kernel's verbs");
MODULE_LICENSE("Dual BSD/GPL");
