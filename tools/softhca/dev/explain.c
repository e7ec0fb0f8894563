// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca explain` tells what happened to a queue pair. The kernel keeps the last
 * error of each side, also of queue pairs that are gone.
 */
#define _GNU_SOURCE
#include "../explain.h"
#include "../netns.h"
#include "../rtnl.h"
#include "obstacle.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <net/if.h>

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

/*
 * A device, and what was found out in its network namespace.
 * @obstacle:	struct obstacle
 * @counters:	what is printed of them
 * @takes:	GIDs of RoCEv2 and path MTUs that ibv_modify_qp() takes; "" of an InfiniBand port
 */
struct site {
	char device[64];
	char netdev[16];
	struct obstacle *obstacle;
	int nr_obstacles;
	char *counters;
	char *takes;
};

/* A queue pair of a device. */
struct told {
	char device[64];
	struct shca_dump_fate fate;
};

static struct site *sites;
static struct told *all_told;
static int nr_sites, nr_told;

/* Room for one more, which is all zero */
static void *grow(void *array, int nr, size_t size)
{
	array = reallocarray(array, nr + 1, size);
	if (!array)
		exit(fail("explain: out of memory"));
	memset((char *)array + nr * size, 0, size);
	return array;
}

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

/* ---- what stands in the way ------------------------------------------------------ */

/* Could a packet that did not arrive, or did so late or damaged, be the cause? */
static bool is_of_the_way(const struct shca_dump_error *error)
{
	if (error->what == SHCA_ERROR_PACKET)
		return error->reason == SHCA_REASON_ICRC || error->reason == SHCA_REASON_MESSAGE;
	return error->what == SHCA_ERROR_COMPLETION &&
	       (!strcmp(status_name(error->status), "RETRY_EXC_ERR") ||
		!strcmp(status_name(error->status), "REM_ABORT_ERR"));
}

/* The device of the peer, if it is one of those here */
static const char *peer_device(const struct shca_dump_fate *fate)
{
	int i;

	for (i = 0; i < nr_told; i++)
		if (fate->dest_qpn && all_told[i].fate.qpn == fate->dest_qpn &&
		    all_told[i].fate.dest_qpn == fate->qpn)
			return all_told[i].device;
	return NULL;
}

/*
 * Calls @each for what may have caused @error: of the device, of its peer's, and where that is
 * not known of all. A rule causes any error; the rest only lets packets go astray.
 */
static void each_obstacle(const struct told *told, const struct shca_dump_error *error,
			  void (*each)(const char *text, int nr))
{
	const char *peer = peer_device(&told->fate);
	const struct obstacle *o;
	const struct site *site;
	int i, nr = 0;

	for (site = sites; site < sites + nr_sites; site++) {
		if (peer && strcmp(site->device, told->device) && strcmp(site->device, peer))
			continue;
		for (i = 0; i < site->nr_obstacles; i++) {
			o = &site->obstacle[i];
			if (!strcmp(o->check, "faults") || is_of_the_way(error))
				each(o->text, nr++);
		}
	}
}

static void print_obstacle(const char *text, int nr)
{
	if (!nr)
		puts("    Found, and most likely the cause:");
	printf("      - %s\n", text);
}

static void print_obstacle_json(const char *text, int nr)
{
	printf("%s", nr ? ", " : "");
	print_json_string(text);
}

static void print_error(const struct told *told, const struct shca_dump_error *error,
			const char *side, bool sends, bool psn)
{
	const struct explanation *text = explain_error(error, sends);

	printf("  %s: %.1f s ago ", side, seconds_since(error->when));
	print_fact(error, sends, psn);
	if (error->count > 1)
		printf("; %u times in all", error->count);
	printf(".\n    %s\n", text->happened);
	each_obstacle(told, error, print_obstacle);
	print_list("Usual causes:", text->causes);
	print_list("Look at:", text->look);
}

static void print_error_json(const struct told *told, const struct shca_dump_error *error,
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
	printf(", \"found\": [");
	each_obstacle(told, error, print_obstacle_json);
	printf("], \"causes\": ");
	print_json_lines(text->causes);
	printf(", \"look\": ");
	print_json_lines(text->look);
	putchar('}');
}

/* ---- one queue pair ------------------------------------------------------------ */

static void print_address(const unsigned char *dest, char *text)
{
	struct in6_addr address;

	memcpy(&address, dest, sizeof(address));
	if (IN6_IS_ADDR_V4MAPPED(&address))
		inet_ntop(AF_INET, dest + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, dest, text, INET6_ADDRSTRLEN);
}

static void print_fate(const struct told *told)
{
	const struct shca_dump_fate *fate = &told->fate;
	bool gone = fate->flags & SHCA_FATE_DESTROYED;
	bool psn = !(fate->flags & SHCA_FATE_NO_PSN);
	char comm[32], address[INET6_ADDRSTRLEN];

	printf("%s/%#x: %s, %s", told->device, fate->qpn, qp_type_name(fate->type),
	       gone ? "destroyed; it was in " : "");
	printf("%s", qp_state_name(fate->state));
	if (fate->dest_qpn) {
		print_address(fate->dest, address);
		printf(", peer %s %#x", address, fate->dest_qpn);
	}
	process_comm(gone ? 0 : fate->pid, comm, sizeof(comm));
	if (fate->pid)
		printf(", process %u%s%s%s", fate->pid, *comm ? " (" : "", comm,
		       *comm ? ")" : "");
	else if (!(fate->flags & SHCA_FATE_USER))
		printf(", of the kernel");
	puts("");
	if (!gone)
		printf("  %s\n", explain_state(fate));
	if (fate->send.what)
		print_error(told, &fate->send, "send", true, psn);
	if (fate->recv.what)
		print_error(told, &fate->recv, "receive", false, psn);
	if (fate->dropped.what)
		print_error(told, &fate->dropped, "dropped", false, psn);
	if (!gone && qp_state_name(fate->state)[0] == 'E' && !fate->send.what &&
	    !fate->recv.what)
		puts("  No request of it has failed: its program moved it to ERR (ibv_modify_qp(), rdma_disconnect()).");
}

static void print_fate_json(const struct told *told, bool first)
{
	const struct shca_dump_fate *fate = &told->fate;
	bool gone = fate->flags & SHCA_FATE_DESTROYED;
	bool psn = !(fate->flags & SHCA_FATE_NO_PSN);
	char comm[32], address[INET6_ADDRSTRLEN];
	int nr = 0;

	printf("%s\n  {\"device\": ", first ? "" : ",");
	print_json_string(told->device);
	printf(", \"qpn\": %u, \"type\": \"%s\", \"state\": \"%s\", \"destroyed\": %s",
	       fate->qpn, qp_type_name(fate->type), qp_state_name(fate->state),
	       gone ? "true" : "false");
	if (fate->dest_qpn) {
		print_address(fate->dest, address);
		printf(", \"peer\": \"%s\", \"peer_qpn\": %u", address,
		       fate->dest_qpn);
	}
	process_comm(gone ? 0 : fate->pid, comm, sizeof(comm));
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
		print_error_json(told, &fate->send, "send", true, psn, &nr);
	if (fate->recv.what)
		print_error_json(told, &fate->recv, "receive", false, psn, &nr);
	if (fate->dropped.what)
		print_error_json(told, &fate->dropped, "dropped", false, psn, &nr);
	printf("]}");
}

static void read_fate(struct nlattr **attrs, void *arg)
{
	struct told *told;
	size_t size;

	(void)arg;
	if (!attrs[SHCA_A_DEV_NAME] || !attrs[SHCA_A_FATE])
		return;
	all_told = grow(all_told, nr_told, sizeof(*all_told));
	told = &all_told[nr_told++];
	snprintf(told->device, sizeof(told->device), "%s", nla_get_string(attrs[SHCA_A_DEV_NAME]));
	/* Another version's may be shorter or longer. */
	size = nla_len(attrs[SHCA_A_FATE]);
	memcpy(&told->fate, nla_data(attrs[SHCA_A_FATE]),
	       size < sizeof(told->fate) ? size : sizeof(told->fate));
}

static bool has_failed(const struct shca_dump_fate *fate)
{
	return fate->send.what || fate->recv.what || fate->dropped.what ||
	       qp_state_name(fate->state)[0] == 'E';
}

static uint64_t failed_at(const struct told *told)
{
	const struct shca_dump_error *side[] = { &told->fate.send, &told->fate.recv,
						 &told->fate.dropped };
	uint64_t at = 0;
	int i;

	for (i = 0; i < 3; i++)
		if (side[i]->what && side[i]->when > at)
			at = side[i]->when;
	return at;
}

static int newest_first(const void *a, const void *b)
{
	uint64_t x = failed_at(a), y = failed_at(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void print_told(struct question *q, const struct told *told)
{
	if ((*q->device && strcmp(told->device, q->device)) ||
	    (q->qpn && told->fate.qpn != q->qpn))
		return;
	if (!q->qpn && !has_failed(&told->fate)) {
		q->healthy++;
		return;
	}
	if (q->json)
		print_fate_json(told, !q->printed);
	else
		print_fate(told);
	if (!q->json)
		puts("");
	q->printed++;
}

/* ---- a device ------------------------------------------------------------------ */

static char *counters_of(const char *device)
{
	const char *name, *told;
	size_t size;
	uint64_t value;
	char *text;
	FILE *out = open_memstream(&text, &size);
	int i, nr = 0;

	if (!out)
		exit(fail("explain: out of memory"));
	for (i = 0; (told = explain_counter(i, &name)); i++) {
		value = rdma_counter(device, name);
		if (!value)
			continue;
		if (!nr++)
			fprintf(out, "%s has counted since it was made:\n", device);
		fprintf(out, "  %s %llu: %s\n", name, (unsigned long long)value, told);
	}
	if (nr)
		fputs("\n", out);
	fclose(out);
	return text;
}

static void take_gid(int index, const struct in6_addr *gid, void *arg)
{
	char address[INET6_ADDRSTRLEN];

	print_address(gid->s6_addr, address);
	fprintf(arg, " %d (%s)", index, address);
}

static char *takes_of(const struct site *site)
{
	struct link_info link;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		exit(fail("explain: out of memory"));
	device_gids(site->device, take_gid, out);
	fflush(out);
	if (size && !link_read(if_nametoindex(site->netdev), -1, &link))
		fprintf(out, "; path MTU up to %d", device_path_mtu(link.mtu, false));
	fclose(out);
	return text;
}

static void take_obstacle(const struct obstacle *obstacle, void *arg)
{
	struct site *site = arg;

	site->obstacle = grow(site->obstacle, site->nr_obstacles, sizeof(*obstacle));
	site->obstacle[site->nr_obstacles++] = *obstacle;
}

static void take_site(const char *device, const char *netdev, void *arg)
{
	struct site *site;

	(void)arg;
	sites = grow(sites, nr_sites, sizeof(*sites));
	site = &sites[nr_sites++];
	snprintf(site->device, sizeof(site->device), "%s", device);
	snprintf(site->netdev, sizeof(site->netdev), "%s", netdev);
}

/* @arg: an exit status */
static bool look_here(void *arg)
{
	int *status = arg, first = nr_sites, i;

	*status = genl_open(false) ?:
		  genl_send(genl_request(SHCA_CMD_FATE_GET, NLM_F_DUMP), "explain", read_fate, NULL);
	if (*status)
		return true;
	device_netdevs(take_site, NULL);
	for (i = first; i < nr_sites; i++) {
		obstacles_of(sites[i].device, take_obstacle, &sites[i]);
		sites[i].counters = counters_of(sites[i].device);
		sites[i].takes = takes_of(&sites[i]);
	}
	return false;
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

/*
 * A call that was refused leaves no trace, and is the failure that beginners see first: so it
 * is told what is taken.
 */
static void print_refusals(const struct question *q)
{
	int i, nr = 0;

	for (i = 0; i < nr_sites; i++) {
		if (!*sites[i].takes || (*q->device && strcmp(sites[i].device, q->device)))
			continue;
		if (!nr++)
			puts("If ibv_modify_qp() was refused (\"Failed to modify QP to RTR\"), one of these was not taken.\n"
			     "GIDs of both ends must be of one family, IPv4 or IPv6, and path MTUs of both must fit:");
		printf("  %s: GID index%s\n", sites[i].device, sites[i].takes);
	}
}

static void print_sites(const struct question *q)
{
	int i;

	for (i = 0; i < nr_sites; i++)
		if (!*q->device || !strcmp(sites[i].device, q->device))
			fputs(sites[i].counters, stdout);
	if (!nr_sites) {
		puts("There is no softhca device here (try 'softhca up').");
		netns_hint();
		return;
	}
	if (!q->printed)
		puts("No queue pair has failed lately.");
	if (q->healthy)
		printf("%d queue pair%s without an error ('softhca explain DEVICE/QPN' tells of one).\n",
		       q->healthy, q->healthy == 1 ? "" : "s");
	print_refusals(q);
}

static int explain_run(const struct call *call)
{
	struct question q = { .json = call->option[0] };
	int i, status = genl_open(false);

	if (status)
		return status;
	/* The question may lead into a namespace, and its peer may be elsewhere. */
	netns_everywhere(look_here, &status);
	status = status ?: call->nr ? parse_question(call->word[0], &q) : 0;
	if (status)
		return status;
	qsort(all_told, nr_told, sizeof(*all_told), newest_first);
	if (q.json)
		putchar('[');
	for (i = 0; i < nr_told; i++)
		print_told(&q, &all_told[i]);
	if (q.json)
		puts(q.printed ? "\n]" : "]");
	if (q.qpn && !q.printed)
		return fail("explain: %s has no queue pair %#x that you may watch, and none failed lately",
			    q.device, q.qpn);
	if (!q.qpn && !q.json)
		print_sites(&q);
	return 0;
}

const struct command explain_commands[] = {
	{
		.name = "explain",
		.pattern = "[DEVICE/QPN]",
		.summary = "tell in plain words what went wrong with queue pairs, and what usually causes it",
		.details = "DEVICE/QPN: a queue pair; DEVICE alone: all of it that have failed; nothing: those of all devices,\n"
			   "in the namespaces of 'softhca up', too. The newest failure comes first.\n"
			   "A device remembers the last 64 queue pairs that were destroyed after an error.\n"
			   "A user sees the queue pairs of the user's own processes; CAP_NET_ADMIN shows all.\n"
			   "Examples: softhca explain\n"
			   "          softhca explain shca0/0x5a21f3",
		.option = { { "json", "print a JSON array of objects", NULL, 0 } },
		.run = explain_run,
	},
	{}
};
