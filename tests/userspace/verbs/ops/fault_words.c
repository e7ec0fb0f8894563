// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Words of a rule that say where it applies: each hits what it names, and nothing else. It
 * needs the tool and CAP_NET_ADMIN, as faults does.
 */
#include "fault_tool.h"

#include <stdarg.h>
#include <unistd.h>

#define LEN	512u
#define NUM	6

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(void)
{
	struct config config = config_default;

	/* (nothing is sent again, on a slow machine either: hits are exact) */
	config.timeout = 20;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, NUM * LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, NUM * LEN, ACCESS_ALL);
}

static void more(const char *text)
{
	char words[512];

	snprintf(words, sizeof(words), "fault add dev=%s %s",
		 ibv_get_device_name(nic_a()->ctx->device), text);
	fault_tool(words);
}

/* One rule, and no other. */
static void rule(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static void rule(const char *format, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fault_tool("fault del all");
	more(text);
}

static void write_one(int i)
{
	struct ibv_sge sge = sge_of(&mem_a, i * LEN, LEN);
	struct ibv_send_wr wr = wr_rdma(i, IBV_WR_RDMA_WRITE, &sge, 1,
					(uintptr_t)mem_b.p + i * LEN,
					mem_b.mr->rkey);

	post(&a, &wr);
	wait_ok(a.scq, i, IBV_WC_RDMA_WRITE);
}

/* The same traffic for each word. Return: how often the rule was hit. */
static int hits_of_writes(void)
{
	int i;

	for (i = 0; i < NUM; i++)
		write_one(i);
	return fault_hits();
}

/* The number counts requests of this queue, those before the rule, too. */
static void message(void)
{
	set_up();
	write_one(0);
	rule("do=duplicate type=request msg=3-4");
	REQUIRE_EQ(hits_of_writes(), 2);
	rule("do=duplicate type=request msg=3-4");
	REQUIRE_EQ(hits_of_writes(), 0);
	rule("do=complete status=LOC_PROT_ERR msg=%d", 2 * NUM + 3);
	write_one(0);
	post(&a, &(struct ibv_send_wr){ .wr_id = 9, .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED });
	wait_status(a.scq, 9, IBV_WC_LOC_PROT_ERR);
	REQUIRE_EQ(fault_hits(), 1);
}

/* What is answered names the message. */
static void message_of_an_answer(void)
{
	set_up();
	rule("do=duplicate type=ack msg=2");
	REQUIRE_EQ(hits_of_writes(), 1);
}

/* The responder counts those that it has executed. */
static void message_of_the_responder(void)
{
	set_up();
	write_one(0);
	write_one(1);
	rule("do=nak nak=access-error msg=3");
	post(&a, &(struct ibv_send_wr){ .wr_id = 3, .opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED });
	wait_status(a.scq, 3, IBV_WC_REM_ACCESS_ERR);
}

static void address(void)
{
	unsigned long long at;

	set_up();
	at = (uintptr_t)mem_b.p;
	rule("do=duplicate va=%#llx-%#llx", at + 2 * LEN, at + 4 * LEN - 1);
	REQUIRE_EQ(hits_of_writes(), 2);
	/* One byte is enough, its last or its first. */
	rule("do=duplicate dir=rx va=%#llx-%#llx", at + 2 * LEN - 1, at + 2 * LEN);
	REQUIRE_EQ(hits_of_writes(), 2);
	rule("do=duplicate va=%#llx", at + NUM * LEN);
	REQUIRE_EQ(hits_of_writes(), 0);
}

static void key(void)
{
	set_up();
	rule("do=duplicate rkey=%#x", mem_b.mr->rkey);
	REQUIRE_EQ(hits_of_writes(), NUM);
	rule("do=duplicate rkey=%#x", mem_b.mr->rkey ^ 1);
	REQUIRE_EQ(hits_of_writes(), 0);
}

/* The key of one region goes, that of the other does not. */
static void revoke_of_a_key(void)
{
	struct buf other;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up();
	other = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	sge = sge_of(&mem_a, 0, LEN);
	rule("do=revoke rkey=%#x", other.mr->rkey);
	REQUIRE_EQ(hits_of_writes(), 0);
	wr = wr_rdma(7, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)other.p, other.mr->rkey);
	post(&a, &wr);
	wait_status(a.scq, 7, IBV_WC_REM_ACCESS_ERR);
}

/* In the middle of a message: what came before it is there. */
static void revoke_within_a_message(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	config.mtu = IBV_MTU_256;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, 8 * 256, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, 8 * 256, ACCESS_ALL);
	fill(mem_a.p, 8 * 256, 3);
	memset(mem_b.p, 0x55, 8 * 256);
	/* 0x07: a middle packet of a WRITE. (The other rule is about packets, so there are.) */
	rule("do=revoke opcode=0x07 nth=2");
	more("do=drop qpn=0xffffff");
	sge = sge_of(&mem_a, 0, 8 * 256);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey);
	post(&a, &wr);
	wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	/* The first packet and one middle packet. */
	REQUIRE(!memcmp(mem_a.p, mem_b.p, 2 * 256));
	check_bytes(mem_b.p + 2 * 256, 6 * 256, 0x55);
}

/* As `rdma resource show cq` has it: the number of the CQ of @entries entries, of this process. */
static unsigned int number_of_cq(int entries)
{
	FILE *out = popen("exec rdma resource show cq", "r");
	unsigned int number = 0;
	char line[512];

	REQUIRE(out);
	while (fgets(line, sizeof(line), out)) {
		const char *cqe = strstr(line, " cqe "), *pid = strstr(line, " pid ");
		const char *cqn = strstr(line, " cqn ");

		if (cqe && pid && cqn && atoi(cqe + 5) == entries &&
		    atoi(pid + 5) == getpid())
			number = atoi(cqn + 5);
	}
	pclose(out);
	return number;
}

static void completion_queue(void)
{
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct config config = config_default;
	unsigned int number;

	b = end_make(nic_b(), &config);
	config.cqe = 200;
	config.one_cq = true;
	a = end_make(nic_a(), &config);
	pair_connect(&a, &b);
	number = number_of_cq(a.scq->cqe);
	REQUIRE(number);
	rule("do=complete status=LOC_PROT_ERR cqn=%u", number + 1000);
	more("do=lose-event cqn=1000000");
	post_recv(&b, 0, NULL, 0);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	REQUIRE_EQ(fault_hits(), 0);
	rule("do=complete status=LOC_PROT_ERR cqn=%u", number);
	wait_ok(b.rcq, 0, IBV_WC_RECV);
	post_recv(&a, 0, NULL, 0);
	post(&b, &wr);
	wait_ok(b.scq, 1, IBV_WC_SEND);
	REQUIRE_EQ(fault_hits(), 0);
	wait_ok(a.rcq, 0, IBV_WC_RECV);
	post(&a, &wr);
	wait_status(a.scq, 1, IBV_WC_LOC_PROT_ERR);
	REQUIRE_EQ(fault_hits(), 1);
}

static void process(void)
{
	set_up();
	rule("do=duplicate type=request pid=%d", getpid());
	REQUIRE_EQ(hits_of_writes(), NUM);
	rule("do=duplicate type=request pid=1");
	REQUIRE_EQ(hits_of_writes(), 0);
}

/* SHCA_CGROUP: the path of one that this process is not in */
static void cgroup(void)
{
	const char *other = getenv("SHCA_CGROUP");

	set_up();
	rule("do=duplicate type=request cgroup=/");
	REQUIRE_EQ(hits_of_writes(), NUM);
	if (!other)
		test_skip("SHCA_CGROUP is not set");
	rule("do=duplicate type=request cgroup=%s", other);
	REQUIRE_EQ(hits_of_writes(), 0);
}

static const struct test tests[] = {
	{ "message", message },
	{ "message_of_an_answer", message_of_an_answer },
	{ "message_of_the_responder", message_of_the_responder },
	{ "address", address },
	{ "key", key },
	{ "revoke_of_a_key", revoke_of_a_key },
	{ "revoke_within_a_message", revoke_within_a_message },
	{ "completion_queue", completion_queue },
	{ "process", process },
	{ "cgroup", cgroup },
	{}
};

int main(int argc, char **argv)
{
	fault_enter_netns();
	return util_main(tests, argc, argv);
}
