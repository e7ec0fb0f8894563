// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A malicious process. It creates CQs, SRQs, WQs and QPs through the provider.
 * Then it writes anything into all memory that it shares with the kernel, while
 * it rings doorbells and changes states. It may harm itself;
 * tests/guest/hostile/ring-scribbler.sh checks from outside that it harms nobody
 * else.
 *
 *   scribble [-d DEVICE] [-f 4|6] [-s SEED] [-t SECONDS] [MODE]...
 *
 * Each mode runs in processes of its own for its share of the time; default:
 * all. The output follows from the seed as far as threads allow.
 */
#include "util.h"

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

/* The layout of the shared memory; nothing else of the driver is used. */
#include "../../../../uapi/softhca-abi.h"

#define MAX_MAPS	128
#define ROUND_SECONDS	4	/* per process; then a new one */
#define RING		64	/* requests of each ring */
#define HANG_SECONDS	60	/* times slow_factor(): a longer call never ends */

/* memory shared with the kernel */
struct map {
	uint8_t *p;
	size_t len;
	bool writable;
};

static struct map maps[MAX_MAPS];
static int nr_maps;

static struct nic *nic;
static struct buf memory;
static struct ibv_qp *qps[12];
static struct ibv_cq *cqs[4];
static struct ibv_srq *srqs[2];
static struct ibv_wq *wqs[2];
static struct ibv_qp *spread;	/* its datagrams go to @wqs */
static struct ibv_ah *ah;
static int nr_qps;
static _Atomic bool done;

/* A region that was replaced meanwhile must not end the process. */
static __thread sigjmp_buf gone;
static __thread volatile sig_atomic_t may_go;

static void on_segv(int sig)
{
	if (may_go)
		siglongjmp(gone, 1);
	signal(sig, SIG_DFL);
}

/* ---- random numbers -------------------------------------------------------- */

/* xorshift64*; one state per thread. */
static __thread uint64_t state;

static uint64_t rnd(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (rnd() >> 32) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

/* A number that is likely to break things. */
static uint64_t odd_number(void)
{
	static const uint64_t list[] = {
		0, 1, 2, 3, 7, 8, 31, 63, 64, 65, 255, 256, 4095, 4096, 65535,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000,
		0xffff888000000000, 0xffffffff81000000, ~0ull,
	};

	if (one_in(3))
		return rnd();
	return list[below(ARRAY_SIZE(list))] + (one_in(4) ? below(64) : 0);
}

/* ---- objects ---------------------------------------------------------------- */

static void qp_connect(struct ibv_qp *qp, uint32_t dest)
{
	bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = 0x1234,
		.qp_access_flags = ud ? 0 : IBV_ACCESS_REMOTE_WRITE |
				   (rc ? IBV_ACCESS_REMOTE_READ |
					 IBV_ACCESS_REMOTE_ATOMIC : 0),
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 8,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = nic->gid, .hop_limit = 1,
				 .sgid_index = nic->gid_index },
		},
	};

	if (!qp_to(qp, &attr, IBV_QPS_INIT) && !qp_to(qp, &attr, IBV_QPS_RTR))
		qp_to(qp, &attr, IBV_QPS_RTS);
}

/* Connects a QP to its neighbour of the same type, so that they harm each other. */
static void qp_restart(int i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (ibv_modify_qp(qps[i], &attr, IBV_QP_STATE))
		return;
	qp_connect(qps[i], qps[i ^ 1]->qp_num);
}

static void wq_restart(int i)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE,
				    .wq_state = IBV_WQS_RESET };

	if (ibv_modify_wq(wqs[i], &attr))
		return;
	attr.wq_state = IBV_WQS_RDY;
	ibv_modify_wq(wqs[i], &attr);
}

/* Makes a UD QP that receives into work queues. */
static void make_wqs(void)
{
	static uint8_t key[SHCA_RX_HASH_KEY_LEN] = { 1, 2, 3 };
	struct ibv_wq_init_attr wq_init = {
		.wq_type = IBV_WQT_RQ, .max_wr = RING, .max_sge = 2,
		.pd = nic->pd, .cq = cqs[1],
	};
	struct ibv_rwq_ind_table_init_attr table_init = {
		.log_ind_tbl_size = 1, .ind_tbl = wqs,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.pd = nic->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_PORT_UDP,
		},
	};
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = 0x1234 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wqs); i++) {
		wqs[i] = ibv_create_wq(nic->ctx, &wq_init);
		REQUIRE(wqs[i]);
		wq_restart(i);
	}
	init.rwq_ind_tbl = ibv_create_rwq_ind_table(nic->ctx, &table_init);
	REQUIRE(init.rwq_ind_tbl);
	spread = ibv_create_qp_ex(nic->ctx, &init);
	REQUIRE(spread);
	REQUIRE_EQ(qp_to(spread, &attr, IBV_QPS_INIT), 0);
	REQUIRE_EQ(qp_to(spread, &attr, IBV_QPS_RTR), 0);
}

static void make_objects(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	struct ibv_srq_init_attr srq_init = {
		.attr = { .max_wr = RING, .max_sge = 2 },
	};
	struct ibv_ah_attr ah_attr = path_to(nic, nic);
	size_t i;

	memory = buf_make(nic->pd, 64 * KIB, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	ah = ibv_create_ah(nic->pd, &ah_attr);
	REQUIRE(ah);
	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		REQUIRE(cqs[i] = ibv_create_cq(nic->ctx, i ? 100 : 7, NULL, NULL, 0));
	for (i = 0; i < ARRAY_SIZE(srqs); i++)
		REQUIRE(srqs[i] = ibv_create_srq(nic->pd, &srq_init));
	for (i = 0; i < 2 * ARRAY_SIZE(types); i++) {
		struct ibv_qp_init_attr init = {
			.qp_type = types[i / 2],
			.send_cq = cqs[i % ARRAY_SIZE(cqs)],
			.recv_cq = cqs[i % 3],
			.srq = i == 2 || i == 3 || i == 7 ? srqs[i % 2] : NULL,
			.cap = { .max_send_wr = RING, .max_recv_wr = RING,
				 .max_send_sge = 3, .max_recv_sge = 2,
				 .max_inline_data = 100 },
		};

		qps[nr_qps] = ibv_create_qp(nic->pd, &init);
		REQUIRE(qps[nr_qps]);
		nr_qps++;
	}
	make_wqs();
	for (i = 0; i < (size_t)nr_qps; i++)
		qp_restart(i);
}

/* Finds all mappings of the provider: those of uverbs files. */
static void find_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], perms[5];
	int n = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "uverbs") || n == MAX_MAPS)
			continue;
		REQUIRE(sscanf(line, "%lx-%lx %4s", &from, &to, perms) == 3);
		maps[n++] = (struct map){
			.p = (uint8_t *)from,
			.len = to - from,
			.writable = perms[1] == 'w',
		};
	}
	fclose(file);
	nr_maps = n;	/* other threads read it meanwhile */
}

/* ---- scribbling -------------------------------------------------------------- */

static struct map *any_map(void)
{
	struct map *map;

	do
		map = &maps[below(nr_maps)];
	while (!map->writable);
	return map;
}

static void random_bytes(const struct map *map)
{
	size_t off = below(map->len), len = 1 + below(one_in(8) ? 4096 : 64);

	if (len > map->len - off)
		len = map->len - off;
	while (len--)
		map->p[off++] = rnd();
}

/* Writes the indices: "cons" and "arm" of a CQ, "sq_prod" and "rq_prod" of a QP. */
static void random_index(const struct map *map)
{
	uint32_t *word = (uint32_t *)(map->p + (one_in(2) ? 64 : 0));

	switch (below(5)) {
	case 0:
		*word += 1 + below(4);
		break;
	case 1:
		*word += RING;
		break;
	case 2:
		*word -= 1 + below(RING);
		break;
	case 3:
		*word = odd_number();
		break;
	case 4:
		*word ^= 1u << below(32);
		break;
	}
}

static struct shca_sge random_sge(void)
{
	struct shca_sge sge = {
		.addr = (uintptr_t)memory.p + below(memory.len),
		.length = below(2000),
		.lkey = memory.mr->lkey,
	};

	if (one_in(6))
		sge.addr = odd_number();
	if (one_in(6))
		sge.length = odd_number();
	if (one_in(6))
		sge.lkey ^= 1u << below(32);
	return sge;
}

/* Writes something similar to a request, where one may be. */
static void random_request(const struct map *map)
{
	static const uint8_t opcodes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15 };
	struct shca_send_wqe *wqe;
	struct shca_sge *sge;
	int i, num;

	if (map->len < 2 * 4096)
		return;
	wqe = (void *)(map->p + 128 + 64 * (size_t)below((map->len - 512) / 64));
	wqe->wr_id = rnd();
	wqe->opcode = one_in(6) ? rnd() : opcodes[below(ARRAY_SIZE(opcodes))];
	num = below(4);
	wqe->num_sge = one_in(8) ? below(256) : (uint32_t)num;
	wqe->flags = one_in(8) ? rnd() : below(16);
	wqe->imm_data = one_in(2) ? memory.mr->rkey : odd_number();
	wqe->inline_len = wqe->flags & SHCA_SEND_INLINE ? below(140) : 0;
	if (one_in(8))
		wqe->inline_len = odd_number();
	wqe->xrc_srqn = one_in(8) ? odd_number() : 0;
	if (one_in(3)) {
		wqe->ud.ah = one_in(3) ? odd_number() : 1 + below(8);
		wqe->ud.remote_qpn = one_in(2) ? spread->qp_num :
				     qps[below(nr_qps)]->qp_num;
		wqe->ud.remote_qkey = one_in(3) ? odd_number() : 0x1234;
	} else {
		wqe->rdma.remote_addr = one_in(4) ? odd_number() :
			(uintptr_t)memory.p + 8 * below(memory.len / 8);
		wqe->rdma.rkey = memory.mr->rkey;
		if (one_in(6))
			wqe->rdma.rkey ^= 1u << below(32);
		wqe->rdma.compare_add = odd_number();
		wqe->rdma.swap = odd_number();
	}
	sge = (struct shca_sge *)(wqe + 1);
	for (i = 0; i < num; i++)
		sge[i] = random_sge();
}

static void scribble_once(void)
{
	const struct map *map = any_map();

	if (sigsetjmp(gone, 0)) {
		may_go = 0;
		return;
	}
	may_go = 1;
	switch (below(4)) {
	case 0:
		random_bytes(map);
		break;
	case 1:
		random_index(map);
		break;
	default:
		random_request(map);
		break;
	}
	may_go = 0;
}

static void *scribbler(void *arg)
{
	state = (uintptr_t)arg | 1;
	while (!done)
		scribble_once();
	return NULL;
}

/* ---- other misuse --------------------------------------------------------------- */

/* The provider's doorbell with any handle and any count, right or wrong. */
static void ring(uint32_t handle)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} __attribute__((packed)) msg = {
		.hdr.command = IB_USER_VERBS_CMD_POST_SEND,
		.hdr.in_words = sizeof(msg) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.cmd.response = (uintptr_t)&resp,
		.cmd.qp_handle = handle,
		.cmd.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	if (one_in(64))
		msg.cmd.qp_handle = odd_number();
	if (one_in(64))
		msg.cmd.wr_count = odd_number();
	if (one_in(64))
		msg.cmd.wqe_size = odd_number();
	if (write(nic->ctx->cmd_fd, &msg, sizeof(msg)) < 0)
		return;	/* a refusal is fine */
}

static void poll_some(void)
{
	struct ibv_wc wc[8];

	if (ibv_poll_cq(cqs[below(ARRAY_SIZE(cqs))], 1 + below(8), wc) < 0)
		return;
	if (one_in(4))
		ibv_req_notify_cq(cqs[below(ARRAY_SIZE(cqs))], one_in(2));
}

static void post_something(int i)
{
	struct ibv_sge sge = sge_of(&memory, below(60000), below(4000));
	struct ibv_send_wr wr = wr_send(rnd(), &sge, 1), *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;

	if (qps[i]->srq)
		ibv_post_srq_recv(qps[i]->srq, &recv, &bad_recv);
	else
		ibv_post_recv(qps[i], &recv, &bad_recv);
	ibv_post_wq_recv(wqs[i % ARRAY_SIZE(wqs)], &recv, &bad_recv);
	if (qps[i]->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = one_in(2) ? spread->qp_num :
						  qps[i ^ 1]->qp_num;
		wr.wr.ud.remote_qkey = 0x1234;
	}
	ibv_post_send(qps[i], &wr, &bad_send);
}

static void drain_events(void)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(nic->ctx, &event))
		ibv_ack_async_event(&event);
}

static void change_state(int i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_attr srq = { .max_wr = 1 + below(2 * RING),
				    .srq_limit = below(RING) };
	struct ibv_wq_attr wq = { .attr_mask = IBV_WQ_ATTR_STATE,
				  .wq_state = IBV_WQS_ERR };

	switch (below(6)) {
	case 0:
		ibv_modify_qp(qps[i], &attr, IBV_QP_STATE);
		break;
	case 1:
		/* replaces its memory */
		ibv_modify_srq(srqs[below(2)], &srq,
			       one_in(2) ? IBV_SRQ_MAX_WR : IBV_SRQ_LIMIT);
		find_maps();
		break;
	case 2:
		ibv_modify_wq(wqs[below(ARRAY_SIZE(wqs))], &wq);
		break;
	case 3:
		wq_restart(below(ARRAY_SIZE(wqs)));
		break;
	default:
		qp_restart(i);
		break;
	}
	drain_events();
}

/* Two threads scribble, and this one uses the objects. */
static void mode_everything(uint64_t seed, uint64_t until)
{
	pthread_t threads[2];
	uint64_t n = 0, i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(!pthread_create(&threads[i], NULL, scribbler,
					(void *)(uintptr_t)(seed + 77 * i + 1)));
	while (millis() < until) {
		int qp = below(nr_qps);

		n++;
		ring(qps[qp]->handle);
		poll_some();
		if (one_in(4))
			post_something(qp);
		if (one_in(32))
			change_state(qp);
	}
	done = true;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	printf("# everything: %llu doorbells\n", (unsigned long long)n);
}

/* With one thread, so that a seed gives the same run. */
static void mode_alone(uint64_t seed, uint64_t until)
{
	uint64_t n = 0;
	int qp;

	(void)seed;
	while (millis() < until) {
		qp = below(nr_qps);
		if (one_in(8))
			post_something(qp);
		scribble_once();
		ring(qps[qp]->handle);
		poll_some();
		if (one_in(16))
			change_state(qp);
		n++;
	}
	printf("# alone: %llu doorbells\n", (unsigned long long)n);
}

/*
 * Indices of a failed QP in memory: the one that we write, the one that the
 * kernel writes.
 */
struct wheel {
	uint32_t *prod;
	const uint32_t *cons;
};

/*
 * A failed QP flushes the requests in its ring. This thread always announces
 * some more, but never too many. The doorbell must return nevertheless, and its
 * CPU must serve others.
 */
static void *feeder(void *arg)
{
	const struct wheel *wheel = arg;

	while (!done)
		__atomic_store_n(wheel->prod,
				 __atomic_load_n(wheel->cons, __ATOMIC_RELAXED) +
				 RING / 2, __ATOMIC_RELEASE);
	return NULL;
}

/* Finds the word at @off that has just grown by one, in a mapping that is @writable. */
static uint32_t *grown(const uint32_t *before, size_t off, bool writable)
{
	uint32_t *word;
	int i;

	for (i = 0; i < nr_maps; i++) {
		word = (uint32_t *)(maps[i].p + off);
		if (maps[i].writable == writable && *word == before[i] + 1)
			return word;
	}
	FAIL("no index has moved");
}

static struct wheel find_wheel(int qp)
{
	struct ibv_sge sge = sge_of(&memory, 0, 8);
	struct ibv_send_wr wr = wr_send(0x5555, &sge, 1), *bad;
	uint32_t before[MAX_MAPS];
	struct wheel wheel;
	int i;

	for (i = 0; i < nr_maps; i++)
		before[i] = *(uint32_t *)maps[i].p;
	REQUIRE_EQ(ibv_post_send(qps[qp], &wr, &bad), 0);
	wheel.prod = grown(before, 0, true);
	wheel.cons = grown(before, 0, false);
	return wheel;
}

static void mode_endless(uint64_t seed, uint64_t until)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint64_t n = 0, start, longest = 0;
	struct wheel wheel;
	pthread_t thread;
	uint32_t first;

	(void)seed;
	REQUIRE_EQ(ibv_modify_qp(qps[0], &attr, IBV_QP_STATE), 0);
	wheel = find_wheel(0);
	first = *wheel.cons;
	REQUIRE(!pthread_create(&thread, NULL, feeder, &wheel));
	while (millis() < until) {
		start = millis();
		ring(qps[0]->handle);
		poll_some();
		n++;
		if (millis() - start > longest)
			longest = millis() - start;
	}
	done = true;
	pthread_join(thread, NULL);
	printf("# endless: %u requests flushed by %llu doorbells, the longest took %llu ms\n",
	       *wheel.cons - first, (unsigned long long)n,
	       (unsigned long long)longest);
}

/* Read-only mappings stay read-only, and nothing else can be mapped. */
static void mode_mappings(uint64_t seed, uint64_t until)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uint64_t n = 0;
	void *p;
	int i;

	(void)seed;
	for (i = 0; i < nr_maps; i++) {
		if (maps[i].writable)
			continue;
		if (!mprotect(maps[i].p, maps[i].len, PROT_READ | PROT_WRITE))
			FAIL("completions or status could be made writable");
		REQUIRE_EQ(errno, EACCES);
	}
	while (millis() < until && n++ < 4000) {
		off_t off = (one_in(2) ? below(200) : rnd() >> 13) * page;

		p = mmap(NULL, page * (1 + below(6)),
			 one_in(2) ? PROT_READ : PROT_READ | PROT_WRITE,
			 one_in(4) ? MAP_PRIVATE : MAP_SHARED, nic->ctx->cmd_fd,
			 off);
		if (p == MAP_FAILED)
			continue;
		/* an existing one of ours; only unmap it */
		munmap(p, page);
	}
	printf("# mappings: %llu tried\n", (unsigned long long)n);
}

static const struct mode {
	const char *name;
	void (*run)(uint64_t seed, uint64_t until);
} modes[] = {
	{ "mappings", mode_mappings },
	{ "alone", mode_alone },
	{ "everything", mode_everything },
	{ "endless", mode_endless },
};

/* ---- processes ---------------------------------------------------------------- */

static void child(const struct mode *mode, uint64_t seed, unsigned int ms)
{
	struct sigaction segv = { .sa_handler = on_segv,
				  .sa_flags = SA_NODEFER };
	int flags;

	alarm(HANG_SECONDS * slow_factor());
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &segv, NULL);
	state = seed | 1;
	rnd();
	nic = nic_open(options.device);
	flags = fcntl(nic->ctx->async_fd, F_GETFL);
	fcntl(nic->ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	make_objects();
	find_maps();
	REQUIRE(nr_maps > 10);
	mode->run(seed, millis() + ms);
	buf_check_guards(&memory);
	fflush(NULL);
	/* The kernel cleans up the remaining objects. */
	_exit(EXIT_SUCCESS);
}

/* Return: whether it ended in an allowed way. */
static bool run_child(const struct mode *mode, uint64_t seed, unsigned int ms)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		child(mode, seed, ms);
	while (waitpid(pid, &status, 0) < 0)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	/* It may crash on its own garbage. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM) {
		printf("# %s: seed %llu: ended by its own signal %d\n",
		       mode->name, (unsigned long long)seed, WTERMSIG(status));
		return true;
	}
	printf("# %s: seed %llu: status %#x\n", mode->name,
	       (unsigned long long)seed, status);
	return false;
}

static bool is_wanted(const struct mode *mode, char **names)
{
	char **name;

	for (name = names; *name; name++)
		if (!strcmp(*name, mode->name))
			return true;
	return !*names;
}

int main(int argc, char **argv)
{
	unsigned int seconds = 8, share;
	uint64_t seed = millis(), until;
	int failed = 0, c, round = 0;
	bool ok;
	size_t i;

	while ((c = getopt(argc, argv, "d:f:s:t:")) >= 0) {
		if (c == 'd')
			options.device = optarg;
		else if (c == 'f')
			options.family = atoi(optarg);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			seconds = atoi(optarg);
		else
			return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!is_wanted(&modes[i], argv + optind))
			continue;
		share = seconds * 1000 / ARRAY_SIZE(modes);
		until = millis() + share;
		ok = true;
		do
			ok &= run_child(&modes[i], seed + round++,
					share < ROUND_SECONDS * 1000 ? share :
					ROUND_SECONDS * 1000);
		while (millis() + 100 < until);
		printf("%s %s\n", ok ? "ok" : "not ok", modes[i].name);
		failed += !ok;
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
