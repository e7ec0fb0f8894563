// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * softhca's doorbell, rung directly. The tests check which QPs it rings, and
 * what it returns without permission or for malformed calls. It may be rung at
 * any time of a QP's life. Other devices have no doorbell, so these tests are
 * for softhca only.
 *
 *   doorbell [-d DEVICE] [TEST]...
 *   doorbell [-d DEVICE] removed	prints "ready", then waits until the doorbell
 *				fails with EIO, which must be permanent
 */
#include "util.h"

#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../../../../uapi/softhca-abi.h"

/* ---- ringing ---------------------------------------------------------------- */

union command {
	struct ib_uverbs_ioctl_hdr hdr;
	uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
		     2 * sizeof(struct ib_uverbs_attr)];
};

static union command command_of(uint32_t qpn)
{
	union command cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.hdr.length = sizeof(cmd.hdr) + sizeof(struct ib_uverbs_attr);
	cmd.hdr.object_id = SHCA_OBJECT_DOORBELL;
	cmd.hdr.method_id = SHCA_METHOD_RING;
	cmd.hdr.driver_id = SHCA_DRIVER_ID;
	cmd.hdr.num_attrs = 1;
	cmd.hdr.attrs[0].attr_id = SHCA_ATTR_RING_QPN;
	cmd.hdr.attrs[0].len = sizeof(uint32_t);
	cmd.hdr.attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
	cmd.hdr.attrs[0].data = qpn;
	return cmd;
}

/* Return: 0 or an errno. */
static int give(int fd, const union command *cmd)
{
	return ioctl(fd, RDMA_VERBS_IOCTL, cmd) ? errno : 0;
}

static int ring(const struct ibv_context *ctx, uint32_t qpn)
{
	union command cmd = command_of(qpn);

	return give(ctx->cmd_fd, &cmd);
}

/* ---- tests ------------------------------------------------------------------ */

static struct config config;

static void in_every_state(void)
{
	struct end a, b;
	uint32_t qpn;

	pair_make(&a, &b, &config);
	qpn = a.qp->qp_num;
	REQUIRE_EQ(ring(nic_a()->ctx, qpn), 0);
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	REQUIRE_EQ(ring(nic_a()->ctx, qpn), 0);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(ring(nic_a()->ctx, qpn), 0);
	end_destroy(&a);
	REQUIRE_EQ(ring(nic_a()->ctx, qpn), EINVAL);
}

/* A number that no QP has, and one beyond 24 bits. */
static void of_no_one(void)
{
	struct nic *nic = nic_a();

	REQUIRE_EQ(ring(nic->ctx, 0), EINVAL);
	REQUIRE_EQ(ring(nic->ctx, 1), EINVAL);	/* the kernel's QP1 */
	REQUIRE_EQ(ring(nic->ctx, 0xffffff), EINVAL);
	REQUIRE_EQ(ring(nic->ctx, 0xffffffff), EINVAL);
}

/* A QP of another context is refused, although it belongs to this process. */
static void of_another(void)
{
	struct nic *other = nic_open(options.device);
	struct end mine = end_make(nic_a(), &config);
	struct end theirs = end_make(other, &config);

	REQUIRE_EQ(ring(mine.nic->ctx, theirs.qp->qp_num), EINVAL);
	REQUIRE_EQ(ring(other->ctx, mine.qp->qp_num), EINVAL);
	REQUIRE_EQ(ring(mine.nic->ctx, mine.qp->qp_num), 0);
	REQUIRE_EQ(ring(other->ctx, theirs.qp->qp_num), 0);
}

static void malformed(void)
{
	struct end end = end_make(nic_a(), &config);
	const union command good = command_of(end.qp->qp_num);
	int fd = end.nic->ctx->cmd_fd;
	union command cmd;

	REQUIRE_EQ(give(fd, &good), 0);
	cmd = good;
	cmd.hdr.attrs[0].len = 2;
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;
	cmd.hdr.attrs[0].len = 8;
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;
	cmd.hdr.num_attrs = 0;
	cmd.hdr.length = sizeof(cmd.hdr);
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;	/* a duplicate attribute */
	cmd.hdr.num_attrs = 2;
	cmd.hdr.attrs[1] = cmd.hdr.attrs[0];
	cmd.hdr.length = sizeof(cmd);
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;	/* a method of another driver */
	cmd.hdr.driver_id = 1;
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;	/* the method beside it says only 0 or 1 */
	cmd.hdr.method_id = SHCA_METHOD_FOUND;
	cmd.hdr.attrs[0].attr_id = SHCA_ATTR_FOUND_HINT;
	cmd.hdr.attrs[0].data = 2;
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	cmd = good;
	cmd.hdr.method_id = SHCA_METHOD_FOUND + 1;
	REQUIRE_EQ(give(fd, &cmd), EPROTONOSUPPORT);
	REQUIRE_EQ(give(fd, NULL), EFAULT);
	REQUIRE_EQ(give(-1, &good), EBADF);
}

/* A file without a context: opened only. */
static void without_a_context(void)
{
	struct end end = end_make(nic_a(), &config);
	union command cmd = command_of(end.qp->qp_num);
	char path[64];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", end.nic->ctx->cmd_fd);
	file = fopen(path, "r+");	/* opens the file again */
	REQUIRE(file);
	fd = fileno(file);
	REQUIRE(fd != end.nic->ctx->cmd_fd);
	REQUIRE_EQ(give(fd, &cmd), EINVAL);
	fclose(file);
}

static void send_one(struct end *a, struct end *b, struct buf *m, uint64_t id)
{
	struct ibv_sge from = sge_of(m, 0, 64), to = sge_of(m, 64, 64);
	struct ibv_send_wr wr = wr_send(id, &from, 1);

	post_recv(b, id, &to, 1);
	post(a, &wr);
	wait_ok(a->scq, id, IBV_WC_SEND);
	wait_ok(b->rcq, id, IBV_WC_RECV);
}

/* A child has the parent's file: it may ring and close it, without harm. */
static void in_a_child(void)
{
	struct end a, b;
	struct buf m;
	int status, i;
	pid_t child;

	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	for (i = 0; i < 5; i++) {
		child = fork();
		REQUIRE(child >= 0);
		if (!child) {
			if (ring(a.nic->ctx, a.qp->qp_num) ||
			    close(a.nic->ctx->cmd_fd))
				_exit(1);
			_exit(ring(a.nic->ctx, a.qp->qp_num) == EBADF ? 0 : 2);
		}
		send_one(&a, &b, &m, i);
		REQUIRE_EQ(waitpid(child, &status, 0), child);
		REQUIRE_EQ(status, 0);
	}
	send_one(&a, &b, &m, i);
}

/* ---- at any moment ---------------------------------------------------------- */

static uint32_t now_ringing;	/* QP number to ring, or 0 to end; atomic */
static uint64_t answers[2];	/* success, EINVAL */

static void *ring_for_ever(void *arg)
{
	uint32_t qpn;
	int err;

	while ((qpn = __atomic_load_n(&now_ringing, __ATOMIC_RELAXED))) {
		err = ring(nic_a()->ctx, qpn);
		if (err && err != EINVAL)
			return (void *)"another error than EINVAL";
		__atomic_fetch_add(&answers[!!err], 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* Creates, uses and destroys QPs while two threads ring for them. */
static void while_it_goes(void)
{
	uint64_t end_at = millis() + 1500, seen;
	pthread_t threads[2];
	struct end a, b;
	struct buf m = buf_make(nic_a()->pd, 128, ACCESS_ALL);
	void *why;
	int i, n;

	now_ringing = 0xffffff;
	for (i = 0; i < 2; i++)
		REQUIRE_EQ(pthread_create(&threads[i], NULL, ring_for_ever,
					  NULL), 0);
	for (n = 0; n < 3 || millis() < end_at; n++) {
		pair_make(&a, &b, &config);
		__atomic_store_n(&now_ringing, a.qp->qp_num, __ATOMIC_RELAXED);
		seen = __atomic_load_n(&answers[0], __ATOMIC_RELAXED);
		for (i = 0; i < 20 || __atomic_load_n(&answers[0],
						      __ATOMIC_RELAXED) == seen;
		     i++)
			send_one(&a, &b, &m, i);
		end_destroy(&a);
		end_destroy(&b);
	}
	seen = __atomic_load_n(&answers[1], __ATOMIC_RELAXED);
	while (__atomic_load_n(&answers[1], __ATOMIC_RELAXED) == seen)
		sched_yield();
	__atomic_store_n(&now_ringing, 0, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		REQUIRE_EQ(pthread_join(threads[i], &why), 0);
		if (why)
			FAIL("%s", (const char *)why);
	}
	REQUIRE(answers[0] && answers[1]);
}

/* ---- the device goes -------------------------------------------------------- */

static int removed(void)
{
	struct end end = end_make(nic_a(), &config);
	uint64_t limit = millis() + 20000;
	int err, i;

	printf("ready\n");
	fflush(stdout);
	while (!(err = ring(end.nic->ctx, end.qp->qp_num)))
		if (millis() > limit)
			break;
	for (i = 0; i < 100 && err == EIO; i++)
		err = ring(end.nic->ctx, end.qp->qp_num);
	printf("%s\n", err ? strerror(err) : "still there");
	return err == EIO ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct test tests[] = {
	{ "in_every_state", in_every_state },
	{ "of_no_one", of_no_one },
	{ "of_another", of_another },
	{ "malformed", malformed },
	{ "without_a_context", without_a_context },
	{ "in_a_child", in_a_child },
	{ "while_it_goes", while_it_goes },
	{}
};

int main(int argc, char **argv)
{
	config = config_default;
	if (argc > 1 && !strcmp(argv[argc - 1], "removed")) {
		if (argc == 4 && !strcmp(argv[1], "-d"))
			options.device = argv[2];
		return removed();
	}
	return util_main(tests, argc, argv);
}
