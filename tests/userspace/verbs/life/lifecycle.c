// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Several threads of several processes create, use and destroy objects at
 * random. A model checks the result of each verb, and the completions. A third
 * of the processes cleans up, a third just leaves, a third is killed. The
 * device must work as before afterwards.
 *
 *	LIFECYCLE_SEED=N	default 1.  With one thread of one process the same
 *				seed gives the same calls; with more each thread's own
 *	LIFECYCLE_OPS=N		in all (default 600)
 *	LIFECYCLE_PROCESSES=N LIFECYCLE_THREADS=N	default 3 and 3
 *
 * A thread holds the lock of an object while it uses it. It only tries to take
 * locks, so no thread waits for another. Creation and destruction hold the
 * locks of the parent objects, so the model of their reference counts is exact.
 * The model does not know when a QP fails: from RTR on, it may be in ERR, or in
 * SQE if it is unreliable.
 */
#define _GNU_SOURCE	/* memfd_create() */
#include "util.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* HASH: a UD QP that spreads received datagrams over work queues. */
enum kind { PD, CQ, SRQ, DM, MR, AH, WQ, TABLE, HASH, QP, KINDS };

static const int slots_of[KINDS] = { 2, 8, 4, 4, 12, 4, 6, 3, 3, 18 };
static const char *const kind_names[KINDS] = {
	"PD", "CQ", "SRQ", "DM", "MR", "AH", "WQ", "table of WQs", "QP with WQs", "QP"
};

#define SLOTS		64	/* their sum */
#define MR_LEN		(64 * KIB)
#define MAX_MSG		(16 * KIB)
#define QP_WR		16	/* also of a WQ */
#define SRQ_WR		64
#define CQES		2048
#define PARENTS		4

/*
 * A number of 64 bits names a request: the object that posted it, the life of
 * that object, and a sequence number.
 */
#define ID_SEQ		0xffffffull
#define ID_GEN_SHIFT	24
#define ID_GEN		0xfffffull
#define ID_SLOT_SHIFT	44
#define ID_SLOT		0xfffull
#define ID_SEND		(1ull << 60)

/**
 * struct obj - a slot; empty if @p is NULL
 * @refs:	objects that use this one
 * @life:	how often the slot was filled
 * @parents:	objects that it uses; constant while it exists
 * @state: @type:	QP: type, and the state that the model knows
 * @wq_state:	WQ: the same
 * @number:	HASH: its QP number, also after its destruction
 * @sent: @received:	number of requests posted so far
 * @send_done: @recv_done:	last completed request
 * @send_mark: @recv_mark:	requests below are from before the last RESET
 * @lkey: @rkey: @base:	MR: its keys and its first address, also after its end,
 *		because requests with stale keys are wanted
 * @mem: @fd:	MR: memory for it, and the same memory as a dma-buf, or -1
 */
struct obj {
	pthread_mutex_t lock;
	enum kind kind;
	int slot;
	void *p;
	unsigned int refs;
	uint32_t life;
	struct obj *parents[PARENTS];
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	enum ibv_wq_state wq_state;
	_Atomic uint32_t number;
	_Atomic uint32_t sent, received;
	uint32_t send_done, recv_done, send_mark, recv_mark;
	_Atomic uint32_t lkey, rkey;
	_Atomic uint64_t base;
	uint8_t *mem;
	int fd;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	long ops;
	struct obj *locked[40];
	int nr_locked;
};

static struct obj objs[SLOTS];
static struct nic *nic;
static struct ibv_comp_channel *channel;
static atomic_bool stopping;
static atomic_long completions, successes, spread;

/* ---- random numbers --------------------------------------------------------- */

static uint64_t draw(struct worker *w)
{
	/* xorshift64* */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * 0x2545f4914f6cdd1dull;
}

static uint32_t below(struct worker *w, uint32_t limit)
{
	return (draw(w) >> 32) % limit;
}

static bool chance(struct worker *w, uint32_t percent)
{
	return below(w, 100) < percent;
}

/* ---- objects ---------------------------------------------------------------- */

static struct obj *slot_of(enum kind kind, int index)
{
	int first = 0;
	enum kind k;

	for (k = 0; k < kind; k++)
		first += slots_of[k];
	return &objs[first + index];
}

static bool try_lock(struct worker *w, struct obj *obj)
{
	int i;

	for (i = 0; i < w->nr_locked; i++)
		if (w->locked[i] == obj)
			return true;
	if (pthread_mutex_trylock(&obj->lock))
		return false;
	w->locked[w->nr_locked++] = obj;
	return true;
}

static void unlock_all(struct worker *w)
{
	while (w->nr_locked)
		pthread_mutex_unlock(&w->locked[--w->nr_locked]->lock);
}

/* Finds and locks an object of this kind, or a free slot; or returns NULL. */
static struct obj *pick(struct worker *w, enum kind kind, bool exists)
{
	int nr = slots_of[kind], first = below(w, nr), i;

	for (i = 0; i < nr; i++) {
		struct obj *obj = slot_of(kind, (first + i) % nr);
		int before = w->nr_locked;

		if (!try_lock(w, obj))
			continue;
		if (!!obj->p == exists)
			return obj;
		/* Not an object that this thread has locked already. */
		if (w->nr_locked > before)
			pthread_mutex_unlock(&w->locked[--w->nr_locked]->lock);
	}
	return NULL;
}

static bool lock_parents(struct worker *w, struct obj *obj)
{
	int i;

	for (i = 0; i < PARENTS; i++)
		if (obj->parents[i] && !try_lock(w, obj->parents[i]))
			return false;
	return true;
}

static void born(struct obj *obj, void *p, struct obj *const parents[PARENTS])
{
	int i;

	if (!p)
		FAIL("no %s: %s", kind_names[obj->kind], strerror(errno));
	obj->p = p;
	obj->refs = 0;
	obj->life++;
	for (i = 0; i < PARENTS; i++) {
		obj->parents[i] = parents[i];
		if (parents[i])
			parents[i]->refs++;
	}
}

static void dead(struct obj *obj)
{
	int i;

	obj->p = NULL;
	for (i = 0; i < PARENTS; i++) {
		if (obj->parents[i])
			obj->parents[i]->refs--;
		obj->parents[i] = NULL;
	}
}

static void to_state(struct obj *qp, enum ibv_qp_state to, uint32_t dest);

static void *make_qp(struct worker *w, struct obj *obj, struct obj *parents[])
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD
	};
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = QP_WR, .max_recv_wr = QP_WR,
			.max_send_sge = 2, .max_recv_sge = 2,
			.max_inline_data = 64,
		},
		.qp_type = types[below(w, ARRAY_SIZE(types))],
		.sq_sig_all = below(w, 2),
	};

	parents[1] = pick(w, CQ, true);
	parents[2] = chance(w, 50) ? parents[1] : pick(w, CQ, true);
	if (!parents[1] || !parents[2])
		return NULL;
	if (chance(w, 30))
		parents[3] = pick(w, SRQ, true);
	attr.send_cq = parents[1]->p;
	attr.recv_cq = parents[2]->p;
	attr.srq = parents[3] ? parents[3]->p : NULL;
	obj->type = attr.qp_type;
	obj->state = IBV_QPS_RESET;
	obj->sent = 0;
	obj->received = 0;
	obj->send_done = 0;
	obj->recv_done = 0;
	obj->send_mark = 0;
	obj->recv_mark = 0;
	return ibv_create_qp(parents[0]->p, &attr);
}

/* Registers memory of the process, device memory, or a dma-buf. */
static void *make_mr(struct worker *w, struct obj *obj, struct obj *parents[])
{
	static const int rights[] = {
		ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC,
		ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC,
		ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC, ACCESS_ALL,
		IBV_ACCESS_LOCAL_WRITE, 0,
	};
	int access = rights[below(w, ARRAY_SIZE(rights))];
	uint64_t base = (uintptr_t)obj->mem;
	struct ibv_pd *pd = parents[0]->p;
	struct ibv_mr *mr;

	if (chance(w, 30))
		parents[1] = pick(w, DM, true);
	if (parents[1]) {
		base = 0;
		mr = ibv_reg_dm_mr(pd, parents[1]->p, 0, MR_LEN,
				   access | IBV_ACCESS_ZERO_BASED);
	} else if (obj->fd >= 0 && chance(w, 50)) {
		mr = ibv_reg_dmabuf_mr(pd, 0, MR_LEN, base, obj->fd, access);
	} else {
		mr = ibv_reg_mr(pd, obj->mem, MR_LEN, access);
	}
	if (mr) {
		obj->base = base;
		obj->lkey = mr->lkey;
		obj->rkey = mr->rkey;
	}
	return mr;
}

static void *make_wq(struct worker *w, struct obj *obj, struct obj *parents[])
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = QP_WR, .max_sge = 1,
		.pd = parents[0]->p,
	};

	parents[2] = pick(w, CQ, true);
	if (!parents[2])
		return NULL;
	attr.cq = parents[2]->p;
	obj->wq_state = IBV_WQS_RESET;
	obj->received = 0;
	obj->recv_done = 0;
	obj->recv_mark = 0;
	return ibv_create_wq(nic->ctx, &attr);
}

/* One, two or four entries, which may name the same WQ. */
static bool make_table(struct worker *w, struct obj *parents[], void **table)
{
	struct ibv_wq *entries[PARENTS];
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = below(w, 3), .ind_tbl = entries,
	};
	int i;

	for (i = 0; i < 1 << attr.log_ind_tbl_size; i++) {
		parents[i] = pick(w, WQ, true);
		if (!parents[i])
			return false;
		entries[i] = parents[i]->p;
	}
	*table = ibv_create_rwq_ind_table(nic->ctx, &attr);
	return true;
}

static void *make_hash(struct worker *w, struct obj *obj, struct obj *parents[])
{
	static uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2 };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = parents[0]->p,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			/* The port is derived from the numbers of both QPs. */
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_PORT_UDP,
		},
	};
	struct ibv_qp *qp;

	parents[1] = pick(w, TABLE, true);
	if (!parents[1])
		return NULL;
	attr.rwq_ind_tbl = parents[1]->p;
	qp = ibv_create_qp_ex(nic->ctx, &attr);
	obj->type = IBV_QPT_UD;
	obj->state = IBV_QPS_RESET;
	if (qp)
		obj->number = qp->qp_num;
	return qp;
}

static void op_create(struct worker *w, enum kind kind)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = SRQ_WR, .max_sge = 2 },
	};
	struct ibv_alloc_dm_attr dm = { .length = MR_LEN };
	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic->gid, .sgid_index = nic->gid_index,
			 .hop_limit = 8 },
	};
	struct obj *parents[PARENTS] = {}, *obj;
	void *p = NULL;

	obj = pick(w, kind, false);
	if (!obj)
		return;
	if (kind != PD && kind != CQ && kind != DM && kind != TABLE) {
		parents[0] = pick(w, PD, true);
		if (!parents[0])
			return;
	}
	switch (kind) {
	case PD:
		p = ibv_alloc_pd(nic->ctx);
		break;
	case CQ:
		p = ibv_create_cq(nic->ctx, CQES, NULL,
				  chance(w, 50) ? channel : NULL, 0);
		break;
	case SRQ:
		p = ibv_create_srq(parents[0]->p, &srq);
		obj->received = 0;
		break;
	case DM:
		p = ibv_alloc_dm(nic->ctx, &dm);
		break;
	case MR:
		p = make_mr(w, obj, parents);
		break;
	case AH:
		p = ibv_create_ah(parents[0]->p, &ah);
		break;
	case WQ:
		p = make_wq(w, obj, parents);
		if (!parents[2])
			return;
		break;
	case TABLE:
		if (!make_table(w, parents, &p))
			return;
		break;
	case HASH:
		p = make_hash(w, obj, parents);
		if (!parents[1])
			return;
		break;
	case QP:
		p = make_qp(w, obj, parents);
		if (!parents[1] || !parents[2])
			return;
		break;
	case KINDS:
		break;
	}
	born(obj, p, parents);
	if (kind == HASH) {
		to_state(obj, IBV_QPS_INIT, 0);
		to_state(obj, IBV_QPS_RTR, 0);
	}
}

static int destroy(struct obj *obj)
{
	switch (obj->kind) {
	case PD:
		return ibv_dealloc_pd(obj->p);
	case CQ:
		return ibv_destroy_cq(obj->p);
	case SRQ:
		return ibv_destroy_srq(obj->p);
	case DM:
		return ibv_free_dm(obj->p);
	case MR:
		return ibv_dereg_mr(obj->p);
	case AH:
		return ibv_destroy_ah(obj->p);
	case WQ:
		return ibv_destroy_wq(obj->p);
	case TABLE:
		return ibv_destroy_rwq_ind_table(obj->p);
	case HASH:
	case QP:
		return ibv_destroy_qp(obj->p);
	case KINDS:
		break;
	}
	return EINVAL;
}

static void op_destroy(struct worker *w, enum kind kind)
{
	struct obj *obj = pick(w, kind, true);
	int err;

	if (!obj || !lock_parents(w, obj))
		return;
	err = destroy(obj);
	if (err != (obj->refs ? EBUSY : 0))
		FAIL("destroying a %s that %u others use: %s",
		     kind_names[kind], obj->refs, strerror(err));
	if (!err)
		dead(obj);
}

/* ---- states of queue pairs ------------------------------------------------------ */

static int modify(struct obj *qp, enum ibv_qp_state to, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.port_num = 1,
		.qkey = 0x11111111,
		.qp_access_flags = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		/* A missing peer is noticed within milliseconds. */
		.timeout = 8,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.ah_attr = path_to(nic, nic),
	};

	if (qp->type == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	/* From SQD and SQE no attributes are needed. */
	if (to == IBV_QPS_RTS && (qp->state == IBV_QPS_SQD || qp->state == IBV_QPS_SQE ||
				  qp->state == IBV_QPS_RTS))
		return ibv_modify_qp(qp->p, &attr, IBV_QP_STATE);
	return qp_to(qp->p, &attr, to);
}

static bool is_legal(const struct obj *qp, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
		return true;
	case IBV_QPS_ERR:
		return qp->state != IBV_QPS_RESET;
	case IBV_QPS_INIT:
		return qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return qp->state == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS ||
		       qp->state == IBV_QPS_SQD || qp->state == IBV_QPS_SQE;
	case IBV_QPS_SQD:
		return qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
	default:
		return false;
	}
}

/* Can the QP have reached @state without the model's knowledge? */
static bool may_have_failed(const struct obj *qp, enum ibv_qp_state state)
{
	if (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS &&
	    qp->state != IBV_QPS_SQD && qp->state != IBV_QPS_SQE)
		return false;
	return state == IBV_QPS_ERR ||
	       (state == IBV_QPS_SQE && qp->type != IBV_QPT_RC);
}

/* Queries the state; the model follows if the QP has failed. */
static void query(struct obj *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err = ibv_query_qp(qp->p, &attr, IBV_QP_STATE, &init);

	if (err)
		FAIL("query of a QP: %s", strerror(err));
	if (attr.qp_state != qp->state && !may_have_failed(qp, attr.qp_state))
		FAIL("QP in state %d, should be %d", attr.qp_state, qp->state);
	qp->state = attr.qp_state;
}

static void to_state(struct obj *qp, enum ibv_qp_state to, uint32_t dest)
{
	bool legal = is_legal(qp, to);
	int err = modify(qp, to, dest);

	if (err == EINVAL && legal) {
		/* has it failed meanwhile? */
		query(qp);
		legal = is_legal(qp, to);
	}
	if (err != (legal ? 0 : EINVAL))
		FAIL("QP of type %d from %d to %d: %s", qp->type, qp->state, to,
		     strerror(err));
	if (err)
		return;
	if (to == IBV_QPS_RESET) {
		qp->send_mark = qp->sent;
		qp->recv_mark = qp->received;
	}
	qp->state = to;
}

/*
 * Any change of state, allowed or not. RESET discards completions, so the CQs
 * are locked.
 */
static void op_modify(struct worker *w)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
	};
	struct obj *qp = pick(w, QP, true);

	if (qp && lock_parents(w, qp))
		to_state(qp, states[below(w, ARRAY_SIZE(states))],
			 ((struct ibv_qp *)qp->p)->qp_num);
}

/* Connects two QPs of a type, or one with itself: from RESET to RTS. */
static bool connect_two(struct worker *w, struct obj *ends[2])
{
	struct obj *a = pick(w, QP, true), *b;
	int i;

	if (!a)
		return false;
	b = chance(w, 80) ? pick(w, QP, true) : a;
	if (!b || b->type != a->type)
		b = a;
	ends[0] = a;
	ends[1] = b;
	if (!lock_parents(w, a) || !lock_parents(w, b))
		return false;
	for (i = 0; i < (a == b ? 1 : 2); i++) {
		struct ibv_qp *peer = ends[!i]->p;

		to_state(ends[i], IBV_QPS_RESET, 0);
		to_state(ends[i], IBV_QPS_INIT, 0);
		to_state(ends[i], IBV_QPS_RTR, peer->qp_num);
		to_state(ends[i], IBV_QPS_RTS, 0);
	}
	return true;
}

static void op_connect(struct worker *w)
{
	struct obj *ends[2];

	connect_two(w, ends);
}

/* ---- requests --------------------------------------------------------------------- */

/* Finds a region in a protection domain. */
static struct obj *region_of(struct worker *w, const struct obj *pd)
{
	int first = below(w, slots_of[MR]), i;

	for (i = 0; i < slots_of[MR]; i++) {
		struct obj *mr = slot_of(MR, (first + i) % slots_of[MR]);
		int before = w->nr_locked;

		if (!try_lock(w, mr))
			continue;
		if (mr->p && mr->parents[0] == pd)
			return mr;
		if (w->nr_locked > before)
			pthread_mutex_unlock(&w->locked[--w->nr_locked]->lock);
	}
	return NULL;
}

/* A segment of @mr, or of any memory if that is NULL, with a current or stale key. */
static struct ibv_sge any_sge(struct worker *w, const struct obj *mr,
			      uint32_t max)
{
	uint32_t len = below(w, max + 1);

	if (!mr)
		mr = slot_of(MR, below(w, slots_of[MR]));

	return (struct ibv_sge){
		.addr = mr->base + below(w, MR_LEN - len),
		.length = len, .lkey = mr->lkey,
	};
}

static uint64_t id_of(const struct obj *obj, uint32_t seq)
{
	return (uint64_t)obj->slot << ID_SLOT_SHIFT |
	       (obj->life & ID_GEN) << ID_GEN_SHIFT | (seq & ID_SEQ);
}

/* Posts a send from @local to @remote, a region or a QP with WQs. NULL: to anything. */
static void post_one_send(struct worker *w, struct obj *qp,
			  const struct obj *local, const struct obj *remote)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const struct obj *mr = remote && remote->kind == MR ? remote : NULL;
	struct ibv_send_wr wr = {}, *bad;
	struct ibv_sge sge;
	bool may_post;
	int nr, err;

	nr = qp->type == IBV_QPT_RC ? 7 : qp->type == IBV_QPT_UC ? 4 : 2;
	sge = any_sge(w, local, qp->type == IBV_QPT_UD ? 1024 : MAX_MSG);
	if (!mr)
		mr = slot_of(MR, below(w, slots_of[MR]));
	wr.opcode = opcodes[below(w, nr)];
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = chance(w, 60) ? IBV_SEND_SIGNALED : 0;
	if (chance(w, 20) && wr.opcode <= IBV_WR_SEND_WITH_IMM) {
		wr.send_flags |= IBV_SEND_INLINE;
		sge.addr = (uintptr_t)mr->mem;
		sge.length %= 65;
	}
	if (qp->type == IBV_QPT_UD) {
		struct obj *ah = pick(w, AH, true);
		struct obj *to = slot_of(QP, below(w, slots_of[QP]));

		if (!ah)
			return;
		wr.wr.ud.ah = ah->p;
		wr.wr.ud.remote_qkey = 0x11111111;
		/* Otherwise some number that may have been a QP's. */
		wr.wr.ud.remote_qpn = to == qp ?
			((struct ibv_qp *)qp->p)->qp_num : below(w, 1 << 24);
		if (remote && remote->kind == HASH)
			wr.wr.ud.remote_qpn = remote->number;
	} else if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = mr->base + 8 * below(w, 64);
		wr.wr.atomic.rkey = mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = mr->base + below(w, 4096);
		wr.wr.rdma.rkey = mr->rkey;
	}
	/* counted before it can complete */
	wr.wr_id = ID_SEND | id_of(qp, ++qp->sent);
	err = ibv_post_send(qp->p, &wr, &bad);
	may_post = qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT &&
		   qp->state != IBV_QPS_RTR;
	if (qp->state == IBV_QPS_RTR && !err) {
		query(qp);	/* it has failed, so posts are flushed */
		may_post = qp->state == IBV_QPS_ERR;
	}
	if (may_post ? err && err != ENOMEM : err != EINVAL)
		FAIL("post_send in state %d: %s", qp->state, strerror(err));
}

static void op_send(struct worker *w)
{
	struct obj *qp = pick(w, QP, true);

	if (qp)
		post_one_send(w, qp, NULL, chance(w, 30) ?
			      slot_of(HASH, below(w, slots_of[HASH])) : NULL);
}

static void post_one_recv(struct worker *w, struct obj *qp,
			  const struct obj *mr)
{
	struct ibv_sge sge = any_sge(w, mr, MAX_MSG);
	struct obj *owner;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int err;

	owner = qp->parents[3] ? qp->parents[3] : qp;
	if (!try_lock(w, owner))
		return;
	wr.wr_id = id_of(owner, ++owner->received);
	if (owner != qp) {
		err = ibv_post_srq_recv(owner->p, &wr, &bad);
		if (err && err != ENOMEM)
			FAIL("post_srq_recv: %s", strerror(err));
		return;
	}
	err = ibv_post_recv(qp->p, &wr, &bad);
	if (qp->state == IBV_QPS_RESET ? err != EINVAL : err && err != ENOMEM)
		FAIL("post_recv in state %d: %s", qp->state, strerror(err));
}

static void post_to_wq(struct worker *w, struct obj *wq, const struct obj *mr)
{
	struct ibv_sge sge = any_sge(w, mr, MAX_MSG);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int err;

	wr.wr_id = id_of(wq, ++wq->received);
	err = ibv_post_wq_recv(wq->p, &wr, &bad);
	if (wq->wq_state == IBV_WQS_RESET ? err != EINVAL : err && err != ENOMEM)
		FAIL("post_wq_recv in state %d: %s", wq->wq_state, strerror(err));
}

static void wq_to_state(struct obj *wq, enum ibv_wq_state to)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = to };
	int err = ibv_modify_wq(wq->p, &attr);
	bool legal;

	/* It may have failed, and only this result shows that. */
	if (err == EINVAL && to == IBV_WQS_RDY && wq->wq_state == IBV_WQS_RDY)
		wq->wq_state = IBV_WQS_ERR;
	legal = to == IBV_WQS_RESET ||
		(to == IBV_WQS_RDY && wq->wq_state != IBV_WQS_ERR) ||
		(to == IBV_WQS_ERR && wq->wq_state != IBV_WQS_RESET);
	if (err != (legal ? 0 : EINVAL))
		FAIL("WQ from %d to %d: %s", wq->wq_state, to, strerror(err));
	if (err)
		return;
	if (to == IBV_WQS_RESET)
		wq->recv_mark = wq->received;
	wq->wq_state = to;
}

/* Makes the WQ ready, with valid receives, from any state. */
static bool make_ready(struct worker *w, struct obj *wq)
{
	struct obj *region;
	int nr;

	if (!lock_parents(w, wq))
		return false;
	region = region_of(w, wq->parents[0]);
	if (!region)
		return false;
	wq_to_state(wq, IBV_WQS_RESET);
	wq_to_state(wq, IBV_WQS_RDY);
	for (nr = 0; nr < QP_WR; nr++)
		post_to_wq(w, wq, region);
	return true;
}

/* Changes the state, allowed or not; or makes the WQ ready; or posts other receives. */
static void op_wq(struct worker *w)
{
	static const enum ibv_wq_state states[] = {
		IBV_WQS_RESET, IBV_WQS_RDY, IBV_WQS_ERR
	};
	struct obj *wq = pick(w, WQ, true);
	int nr = 1 + below(w, 4);

	if (!wq || !lock_parents(w, wq))
		return;
	if (chance(w, 40))
		wq_to_state(wq, states[below(w, ARRAY_SIZE(states))]);
	else if (chance(w, 50))
		make_ready(w, wq);
	else
		while (nr--)
			post_to_wq(w, wq, NULL);
}

static void op_recv(struct worker *w)
{
	struct obj *qp = pick(w, QP, true);
	int nr = 1 + below(w, 4);

	while (qp && nr--)
		post_one_recv(w, qp, NULL);
}

/* Requests that succeed, unless another thread destroys something meanwhile. */
static void op_exchange(struct worker *w)
{
	struct obj *ends[2], *regions[2];
	int i, nr;

	if (!connect_two(w, ends))
		return;
	for (i = 0; i < 2; i++) {
		regions[i] = region_of(w, ends[i]->parents[0]);
		if (!regions[i])
			return;
		for (nr = 0; nr < 8; nr++)
			post_one_recv(w, ends[i], regions[i]);
	}
	for (i = 0; i < 2; i++)
		for (nr = 1 + below(w, 8); nr; nr--)
			post_one_send(w, ends[i], regions[i], regions[!i]);
}

static struct obj *pick_ud(struct worker *w)
{
	struct obj *qp;
	int i;

	for (i = 0; i < slots_of[QP]; i++) {
		int before = w->nr_locked;

		qp = slot_of(QP, i);
		if (!try_lock(w, qp))
			continue;
		if (qp->p && qp->type == IBV_QPT_UD)
			return qp;
		if (w->nr_locked > before)
			pthread_mutex_unlock(&w->locked[--w->nr_locked]->lock);
	}
	return NULL;
}

/* Sends datagrams to a QP whose work queues are ready for them. */
static void op_spread(struct worker *w)
{
	struct obj *hash = pick(w, HASH, true), *qp = pick_ud(w), *region;
	int i, nr;

	if (!hash || !qp || !lock_parents(w, hash) || !lock_parents(w, qp))
		return;
	for (i = 0; i < PARENTS; i++) {
		struct obj *wq = hash->parents[1]->parents[i];

		if (wq && (!try_lock(w, wq) || !make_ready(w, wq)))
			return;
	}
	region = region_of(w, qp->parents[0]);
	if (!region)
		return;
	to_state(qp, IBV_QPS_RESET, 0);
	to_state(qp, IBV_QPS_INIT, 0);
	to_state(qp, IBV_QPS_RTR, 0);
	to_state(qp, IBV_QPS_RTS, 0);
	for (nr = 1 + below(w, 8); nr; nr--)
		post_one_send(w, qp, region, hash);
}

/* ---- completions ---------------------------------------------------------------------- */

static bool is_status(const struct ibv_wc *wc, bool is_send)
{
	switch (wc->status) {
	case IBV_WC_SUCCESS:
	case IBV_WC_LOC_LEN_ERR:
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_QP_OP_ERR:
	case IBV_WC_WR_FLUSH_ERR:
		return true;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return is_send;
	case IBV_WC_LOC_ACCESS_ERR:
		/* the receive of a WRITE with immediate and a stale key */
		return !is_send;
	default:
		return false;
	}
}

/*
 * The completion must be of an existing QP of this CQ: destroy and RESET
 * discard others, with the CQ locked. It must follow the last completion, and
 * its request must have been posted.
 */
static void check_wc(struct obj *cq, const struct ibv_wc *wc)
{
	struct obj *obj = &objs[wc->wr_id >> ID_SLOT_SHIFT & ID_SLOT];
	bool is_send = wc->wr_id & ID_SEND;
	uint32_t life = wc->wr_id >> ID_GEN_SHIFT & ID_GEN;
	uint32_t seq = wc->wr_id & ID_SEQ;
	uint32_t *done = is_send ? &obj->send_done : &obj->recv_done;
	uint32_t mark = is_send ? obj->send_mark : obj->recv_mark;

	if (!is_status(wc, is_send))
		FAIL("completion with status %d (%s)", wc->status,
		     ibv_wc_status_str(wc->status));
	if (obj->kind == SRQ && !is_send) {
		if (seq > obj->received)
			FAIL("completion of a receive that nobody posted");
		return;
	}
	if ((obj->kind != QP && (obj->kind != WQ || is_send)) || !obj->p ||
	    (obj->life & ID_GEN) != life)
		FAIL("completion of a queue that is gone: wr_id %#llx",
		     (unsigned long long)wc->wr_id);
	if (obj->parents[is_send ? 1 : 2] != cq)
		FAIL("completion in another QP's CQ");
	if ((obj->kind == WQ ? ((struct ibv_wq *)obj->p)->wq_num :
			       ((struct ibv_qp *)obj->p)->qp_num) != wc->qp_num)
		FAIL("completion with the number of another QP");
	if (seq <= mark)
		FAIL("completion of before the RESET: %u of %u", seq, mark);
	if (seq <= *done || seq > (is_send ? obj->sent : obj->received))
		FAIL("completion %u after %u", seq, *done);
	*done = seq;
	spread += obj->kind == WQ && !wc->status;
}

static void op_poll(struct worker *w)
{
	struct obj *cq = pick(w, CQ, true);
	struct ibv_wc wc[16];
	int i, n, rounds;

	if (!cq)
		return;
	for (rounds = 0; rounds < 16; rounds++) {
		n = ibv_poll_cq(cq->p, ARRAY_SIZE(wc), wc);
		if (n < 0)
			FAIL("poll: %d", n);
		for (i = 0; i < n; i++) {
			check_wc(cq, &wc[i]);
			successes += !wc[i].status;
		}
		atomic_fetch_add(&completions, n);
		if (n < (int)ARRAY_SIZE(wc))
			break;
	}
}

/* ---- the rest -------------------------------------------------------------------------- */

static void op_notify(struct worker *w)
{
	struct obj *cq = pick(w, CQ, true);

	if (cq && ibv_req_notify_cq(cq->p, below(w, 2)))
		FAIL("req_notify_cq: %s", strerror(errno));
}

static void op_query(struct worker *w)
{
	struct obj *qp = pick(w, QP, true);

	if (qp)
		query(qp);
}

static void op_srq(struct worker *w)
{
	struct obj *srq = pick(w, SRQ, true);
	struct ibv_srq_attr attr = { .srq_limit = below(w, SRQ_WR) };
	int err;

	if (!srq)
		return;
	err = ibv_modify_srq(srq->p, &attr, IBV_SRQ_LIMIT);
	if (!err)
		err = ibv_query_srq(srq->p, &attr);
	if (err || attr.max_wr < SRQ_WR)
		FAIL("SRQ: %s, %u requests", strerror(err), attr.max_wr);
}

/* Copies device memory, while others may write to it. */
static void op_dm(struct worker *w)
{
	struct obj *dm = pick(w, DM, true);
	uint64_t off = 4 * below(w, MR_LEN / 4);
	uint32_t word = 0;
	int err;

	if (!dm)
		return;
	err = ibv_memcpy_to_dm(dm->p, off, &word, sizeof(word));
	if (!err)
		err = ibv_memcpy_from_dm(&word, dm->p, off, sizeof(word));
	if (err)
		FAIL("memcpy of device memory: %s", strerror(err));
}

static void one(struct worker *w)
{
	uint32_t what = below(w, 100);

	if (what < 6)
		op_exchange(w);
	else if (what < 10)
		op_spread(w);
	else if (what < 20)
		op_create(w, below(w, 3) ? (int)below(w, KINDS) : QP);
	else if (what < 26)
		op_destroy(w, below(w, KINDS));
	else if (what < 30)
		op_connect(w);
	else if (what < 34)
		op_modify(w);
	else if (what < 38)
		op_wq(w);
	else if (what < 57)
		op_send(w);
	else if (what < 70)
		op_recv(w);
	else if (what < 94)
		op_poll(w);
	else if (what < 96)
		op_notify(w);
	else if (what < 98)
		op_query(w);
	else if (what < 99)
		op_srq(w);
	else
		op_dm(w);
	unlock_all(w);
}

/* Creates some objects, so that there is something to use from the beginning. */
static void populate(struct worker *w)
{
	static const int nr[KINDS] = { 1, 2, 1, 2, 8, 2, 4, 2, 2, 8 };
	enum kind kind;
	int i;

	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < nr[kind]; i++) {
			op_create(w, kind);
			unlock_all(w);
		}
	}
	for (i = 0; i < 8; i++) {
		op_connect(w);
		unlock_all(w);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	long i;

	for (i = 0; i < w->ops; i++)
		one(w);
	return NULL;
}

/* Reads and acknowledges events, because destroy waits for that. */
static void *watch(void *arg)
{
	struct pollfd fds[] = {
		{ .fd = nic->ctx->async_fd, .events = POLLIN },
		{ .fd = channel->fd, .events = POLLIN },
	};
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	while (!stopping) {
		if (poll(fds, ARRAY_SIZE(fds), 20) <= 0)
			continue;
		if (!ibv_get_async_event(nic->ctx, &event))
			ibv_ack_async_event(&event);
		if (!ibv_get_cq_event(channel, &cq, &context))
			ibv_ack_cq_events(cq, 1);
	}
	return arg;
}

static void set_nonblocking(int fd)
{
	REQUIRE(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

/* Destroys all objects, in reverse order of their dependencies. */
static void clean_up(void)
{
	int slot, err;

	for (slot = SLOTS - 1; slot >= 0; slot--) {
		if (!objs[slot].p)
			continue;
		err = destroy(&objs[slot]);
		if (err)
			FAIL("at the end: a %s: %s",
			     kind_names[objs[slot].kind], strerror(err));
		dead(&objs[slot]);
	}
}

static long setting(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value && *value ? atol(value) : otherwise;
}

/* Allocates memory for regions; also as a dma-buf if the kernel has udmabuf. */
static void make_memory(struct obj *obj, bool dmabuf)
{
	int dev = dmabuf ? open("/dev/udmabuf", O_RDWR) : -1;
	int fd = memfd_create("lifecycle", MFD_ALLOW_SEALING);
	struct udmabuf_create create = { .memfd = fd, .size = MR_LEN };

	REQUIRE(fd >= 0);
	REQUIRE_EQ(ftruncate(fd, MR_LEN), 0);
	obj->mem = mmap(NULL, MR_LEN, PROT_READ | PROT_WRITE,
			dev < 0 ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	REQUIRE(obj->mem != MAP_FAILED);
	obj->base = (uintptr_t)obj->mem;
	obj->fd = -1;
	if (dev >= 0) {
		REQUIRE_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		obj->fd = ioctl(dev, UDMABUF_CREATE, &create);
		REQUIRE(obj->fd >= 0);
		close(dev);
	}
	close(fd);
}

enum ending { CLEANS_UP, LEAVES, IS_KILLED, ENDINGS };

static void process(long seed, int number, long threads, long ops)
{
	struct worker *workers = calloc(threads, sizeof(*workers));
	pthread_t watcher;
	int slot = 0, i;
	enum kind kind;

	nic = nic_open(options.device);
	channel = ibv_create_comp_channel(nic->ctx);
	REQUIRE(workers && channel);
	set_nonblocking(nic->ctx->async_fd);
	set_nonblocking(channel->fd);
	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < slots_of[kind]; i++, slot++) {
			pthread_mutex_init(&objs[slot].lock, NULL);
			objs[slot].kind = kind;
			objs[slot].slot = slot;
			if (kind == MR)
				make_memory(&objs[slot], i % 2);
		}
	}
	REQUIRE_EQ(slot, SLOTS);
	REQUIRE(!pthread_create(&watcher, NULL, watch, NULL));
	workers[0].random = seed * 1000 + number + 1;
	populate(&workers[0]);
	for (i = 0; i < threads; i++) {
		workers[i].random = (seed * 1000 + number * 100 + i + 1) *
				    0x9e3779b97f4a7c15ull;
		workers[i].ops = ops;
		REQUIRE(!pthread_create(&workers[i].thread, NULL, work,
					&workers[i]));
	}
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	if (number % ENDINGS == IS_KILLED)
		kill(getpid(), SIGKILL);
	if (number % ENDINGS == LEAVES)
		_exit(EXIT_SUCCESS);
	clean_up();
	atomic_store(&stopping, true);
	pthread_join(watcher, NULL);
	REQUIRE(!ibv_destroy_comp_channel(channel));
	REQUIRE(!ibv_dealloc_pd(nic->pd));
	REQUIRE(!ibv_close_device(nic->ctx));
	printf("# process %d: %ld completions, %ld of them successful, %ld spread over work queues\n",
	       number, completions, successes, spread);
	fflush(stdout);
	_exit(EXIT_SUCCESS);
}

static void random_life(void)
{
	long seed = setting("LIFECYCLE_SEED", 1);
	long ops = setting("LIFECYCLE_OPS", 600);
	long processes = setting("LIFECYCLE_PROCESSES", 3);
	long threads = setting("LIFECYCLE_THREADS", 3);
	int status, i;
	pid_t *pids = calloc(processes, sizeof(*pids));

	alarm((30 + ops / 20) * slow_factor());
	printf("# replay: LIFECYCLE_SEED=%ld LIFECYCLE_OPS=%ld LIFECYCLE_PROCESSES=%ld LIFECYCLE_THREADS=%ld\n",
	       seed, ops, processes, threads);
	fflush(stdout);
	for (i = 0; i < processes; i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		if (!pids[i]) {
			alarm((30 + ops / 20) * slow_factor());
			process(seed, i, threads, ops / processes / threads + 1);
		}
	}
	for (i = 0; i < processes; i++) {
		REQUIRE(waitpid(pids[i], &status, 0) == pids[i]);
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
		    i % ENDINGS == IS_KILLED)
			continue;
		if (WIFSIGNALED(status))
			FAIL("process %d: signal %d", i, WTERMSIG(status));
		if (WEXITSTATUS(status))
			_exit(EXIT_FAILURE);	/* it has printed the reason */
	}
}

/* The device must work for others as before. */
static void serves_as_before(void)
{
	struct end a, b;
	struct buf from, to;
	struct ibv_sge sge, into;
	struct ibv_send_wr wr;

	pair_make(&a, &b, &config_default);
	from = buf_make(a.nic->pd, MAX_MSG, ACCESS_ALL);
	to = buf_make(b.nic->pd, MAX_MSG, ACCESS_ALL);
	fill(from.p, from.len, 7);
	into = sge_of(&to, 0, MAX_MSG);
	post_recv(&b, 2, &into, 1);
	sge = sge_of(&from, 0, MAX_MSG);
	wr = wr_send(1, &sge, 1);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	check_fill(to.p, to.len, 7);
}

static const struct test tests[] = {
	{ "random_life", random_life },
	{ "serves_as_before", serves_as_before },
	{ NULL }
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
