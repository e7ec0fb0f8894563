// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca explain` tells what happened to a queue pair. The kernel keeps the last
 * error of each side, also of queue pairs that are gone.
 */
#define _GNU_SOURCE
#include "explain.h"
#include "lab.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * what is asked, and what was printed so far
 * @device: "" for all; @qpn: 0 for all
 */
struct question {
	char device[64];
	unsigned int qpn;
	bool json;
	int printed;
	int healthy;
};

static double seconds_since(uint64_t when)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec - when / 1e9 + now.tv_nsec / 1e9;
}

/* ---- one error ---------------------------------------------------------------- */

/* Prints "a, b" or JSON strings of lines. */
static void print_json_lines(const char *lines)
{
	char line[512];
	const char *end;
	int nr = 0;

	putchar('[');
	for (; *lines; lines = *end ? end + 1 : end) {
		end = strchrnul(lines, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)(end - lines), lines);
		printf("%s", nr++ ? ", " : "");
		print_json_string(line);
	}
	putchar(']');
}

static void print_list(const char *title, const char *lines)
{
	const char *end;

	printf("    %s\n", title);
	for (; *lines; lines = *end ? end + 1 : end) {
		end = strchrnul(lines, '\n');
		printf("      - %.*s\n", (int)(end - lines), lines);
	}
}

/* The fact itself: "the WRITE with wr_id 0x7 completed with REM_ACCESS_ERR" */
static void print_fact(const struct shca_dump_error *error, bool sends,
		       bool psn)
{
	switch (error->what) {
	case SHCA_ERROR_COMPLETION:
		printf("the %s with wr_id %#llx completed with %s",
		       wc_opcode_name(error->opcode),
		       (unsigned long long)error->wr_id,
		       status_name(error->status));
		break;
	case SHCA_ERROR_PACKET:
		printf("the packet %s", packet_name(error->opcode));
		if (psn)
			printf(", PSN %u,", error->psn);
		printf(" was refused");
		break;
	default:
		printf("the %s queue failed", sends ? "send" : "receive");
	}
}

static void print_error(const struct shca_dump_error *error, const char *side,
			bool sends, bool psn)
{
	const struct explanation *text = explain_error(error, sends);

	printf("  %s: %.1f s ago ", side, seconds_since(error->when));
	print_fact(error, sends, psn);
	if (error->count > 1)
		printf("; %u times in all", error->count);
	printf(".\n    %s\n", text->happened);
	print_list("Usual causes:", text->causes);
	print_list("Look at:", text->look);
}

static void print_error_json(const struct shca_dump_error *error,
			     const char *side, bool sends, bool psn, int *nr)
{
	const struct explanation *text = explain_error(error, sends);

	printf("%s\n    {\"side\": \"%s\", \"seconds_ago\": %.3f, \"count\": %u",
	       (*nr)++ ? "," : "", side, seconds_since(error->when), error->count);
	if (error->what == SHCA_ERROR_COMPLETION)
		printf(", \"wr_id\": %llu, \"opcode\": \"%s\", \"status\": \"%s\"",
		       (unsigned long long)error->wr_id,
		       wc_opcode_name(error->opcode), status_name(error->status));
	if (error->what == SHCA_ERROR_PACKET)
		printf(", \"opcode\": \"%s\", \"reason\": \"%s\"",
		       packet_name(error->opcode), reason_name(error->reason));
	if (psn)
		printf(", \"psn\": %u", error->psn);
	printf(", \"check\": \"%s\", \"happened\": ",
	       check_name(error->vendor_err));
	print_json_string(text->happened);
	printf(", \"causes\": ");
	print_json_lines(text->causes);
	printf(", \"look\": ");
	print_json_lines(text->look);
	putchar('}');
}

/* ---- one queue pair ------------------------------------------------------------ */

static void read_comm(unsigned int pid, char *comm, size_t size)
{
	char path[64];
	FILE *file;

	*comm = '\0';
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = pid ? fopen(path, "r") : NULL;
	if (!file)
		return;
	if (fgets(comm, size, file))
		comm[strcspn(comm, "\n")] = '\0';
	else
		*comm = '\0';
	fclose(file);
}

static void print_address(const unsigned char *dest, char *text)
{
	struct in6_addr address;

	memcpy(&address, dest, sizeof(address));
	if (IN6_IS_ADDR_V4MAPPED(&address))
		inet_ntop(AF_INET, dest + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, dest, text, INET6_ADDRSTRLEN);
}

static void print_fate(const char *device, const struct shca_dump_fate *fate)
{
	bool gone = fate->flags & SHCA_FATE_DESTROYED;
	bool psn = !(fate->flags & SHCA_FATE_NO_PSN);
	char comm[32], address[INET6_ADDRSTRLEN];

	printf("%s/%#x: %s, %s", device, fate->qpn, qp_type_name(fate->type),
	       gone ? "destroyed; it was in " : "");
	printf("%s", qp_state_name(fate->state));
	if (fate->dest_qpn) {
		print_address(fate->dest, address);
		printf(", peer %s %#x", address, fate->dest_qpn);
	}
	read_comm(gone ? 0 : fate->pid, comm, sizeof(comm));
	text_clean(comm);
	if (fate->pid)
		printf(", process %u%s%s%s", fate->pid, *comm ? " (" : "", comm,
		       *comm ? ")" : "");
	else if (!(fate->flags & SHCA_FATE_USER))
		printf(", of the kernel");
	puts("");
	if (!gone)
		printf("  %s\n", explain_state(fate));
	if (fate->send.what)
		print_error(&fate->send, "send", true, psn);
	if (fate->recv.what)
		print_error(&fate->recv, "receive", false, psn);
	if (fate->dropped.what)
		print_error(&fate->dropped, "dropped", false, psn);
	if (!gone && qp_state_name(fate->state)[0] == 'E' && !fate->send.what &&
	    !fate->recv.what)
		puts("  No request of it has failed: its program moved it to ERR (ibv_modify_qp(), rdma_disconnect()).");
}

static void print_fate_json(const char *device,
			    const struct shca_dump_fate *fate, bool first)
{
	bool gone = fate->flags & SHCA_FATE_DESTROYED;
	bool psn = !(fate->flags & SHCA_FATE_NO_PSN);
	char comm[32], address[INET6_ADDRSTRLEN];
	int nr = 0;

	printf("%s\n  {\"device\": ", first ? "" : ",");
	print_json_string(device);
	printf(", \"qpn\": %u, \"type\": \"%s\", \"state\": \"%s\", \"destroyed\": %s",
	       fate->qpn, qp_type_name(fate->type), qp_state_name(fate->state),
	       gone ? "true" : "false");
	if (fate->dest_qpn) {
		print_address(fate->dest, address);
		printf(", \"peer\": \"%s\", \"peer_qpn\": %u", address,
		       fate->dest_qpn);
	}
	read_comm(gone ? 0 : fate->pid, comm, sizeof(comm));
	if (fate->pid)
		printf(", \"pid\": %u", fate->pid);
	if (*comm) {
		printf(", \"comm\": ");
		print_json_string(comm);
	}
	printf(", \"unfinished\": %u, \"rq_posted\": %u", fate->unfinished,
	       fate->rq_posted);
	if (!gone) {
		printf(", \"text\": ");
		print_json_string(explain_state(fate));
	}
	printf(", \"errors\": [");
	if (fate->send.what)
		print_error_json(&fate->send, "send", true, psn, &nr);
	if (fate->recv.what)
		print_error_json(&fate->recv, "receive", false, psn, &nr);
	if (fate->dropped.what)
		print_error_json(&fate->dropped, "dropped", false, psn, &nr);
	printf("]}");
}

static void read_fate(struct nlattr **attrs, void *arg)
{
	struct question *q = arg;
	struct shca_dump_fate fate = {};
	const char *device;
	size_t size;

	if (!attrs[SHCA_A_DEV_NAME] || !attrs[SHCA_A_FATE])
		return;
	device = nla_get_string(attrs[SHCA_A_DEV_NAME]);
	/* Another version's may be shorter or longer. */
	size = nla_len(attrs[SHCA_A_FATE]);
	memcpy(&fate, nla_data(attrs[SHCA_A_FATE]),
	       size < sizeof(fate) ? size : sizeof(fate));
	if ((*q->device && strcmp(device, q->device)) ||
	    (q->qpn && fate.qpn != q->qpn))
		return;
	if (!q->qpn && !fate.send.what && !fate.recv.what && !fate.dropped.what &&
	    qp_state_name(fate.state)[0] != 'E') {
		q->healthy++;
		return;
	}
	if (q->json)
		print_fate_json(device, &fate, !q->printed);
	else
		print_fate(device, &fate);
	if (!q->json)
		puts("");
	q->printed++;
}

/* ---- a device ------------------------------------------------------------------ */

static void print_counters(const char *device)
{
	const char *name, *text;
	uint64_t value;
	int i, nr = 0;

	for (i = 0; (text = explain_counter(i, &name)); i++) {
		value = rdma_counter(device, name);
		if (!value)
			continue;
		if (!nr++)
			printf("%s has counted since it was made:\n", device);
		printf("  %s %llu: %s\n", name, (unsigned long long)value, text);
	}
	if (nr)
		puts("");
}

static void print_counters_of(const char *device, void *arg)
{
	const struct question *q = arg;

	if (!*q->device || !strcmp(device, q->device))
		print_counters(device);
}

/* ---- the command --------------------------------------------------------------- */

/* DEVICE or DEVICE/QPN. Return: 0, or an exit status after a message. */
static int parse_question(const char *word, struct question *q)
{
	const char *slash = strchr(word, '/');
	struct device device;
	char name[256], *end;
	unsigned long qpn;
	int status;

	snprintf(name, sizeof(name), "%.*s",
		 slash ? (int)(slash - word) : (int)strlen(word), word);
	status = device_check_name(name) ?: device_find(name, &device);
	if (status)
		return status;
	snprintf(q->device, sizeof(q->device), "%.63s", name);
	if (!slash)
		return 0;
	qpn = strtoul(slash + 1, &end, 0);
	if (!slash[1] || *end || qpn < 1 || qpn > 0xffffff)
		return complain("explain: QPN must be 1 to 0xffffff, not '%s'", slash + 1);
	q->qpn = qpn;
	return 0;
}

static void count_device(const char *name, void *arg)
{
	(void)name;
	++*(int *)arg;
}

/* Nothing has failed here. Whoever has begun with `softhca up` may be in the wrong place. */
static void print_nothing(void)
{
	char where[256];
	int nr = 0;

	device_names(count_device, &nr);
	if (nr) {
		printf("No queue pair has failed lately.\n");
		return;
	}
	printf("This network namespace has no softhca device.\n");
	if (lab_where("softhca explain", where, sizeof(where)))
		printf("Try %s.\n", where);
}

static int explain_run(const struct call *call)
{
	struct question q = { .json = call->option[0] };
	int status = call->nr ? parse_question(call->word[0], &q) : 0;

	status = status ?: genl_open(false);
	if (status)
		return status;
	if (q.json)
		putchar('[');
	status = genl_send(genl_request(SHCA_CMD_FATE_GET, NLM_F_DUMP), "explain",
			   read_fate, &q);
	if (q.json)
		puts(q.printed ? "\n]" : "]");
	if (status)
		return status;
	if (q.qpn && !q.printed)
		return fail("explain: %s has no queue pair %#x that you may watch, and none failed lately",
			    q.device, q.qpn);
	if (q.qpn || q.json)
		return 0;
	device_names(print_counters_of, &q);
	if (!q.printed)
		print_nothing();
	if (q.healthy)
		printf("%d queue pair%s without an error ('softhca explain DEVICE/QPN' tells of one).\n",
		       q.healthy, q.healthy == 1 ? "" : "s");
	return 0;
}

const struct command explain_commands[] = {
	{
		.name = "explain",
		.pattern = "[DEVICE/QPN]",
		.summary = "tell in plain words what went wrong with queue pairs, and what usually causes it",
		.details = "DEVICE/QPN: a queue pair; DEVICE alone: all of it that have failed; nothing: those of all devices\n"
			   "A device remembers the last 64 queue pairs that were destroyed after an error.\n"
			   "A user sees the queue pairs of the user's own processes; CAP_NET_ADMIN shows all.\n"
			   "Examples: softhca explain\n"
			   "          softhca explain shca0/0x5a21f3",
		.option = { { "json", "print a JSON array of objects", NULL, 0 } },
		.run = explain_run,
	},
	{}
};
