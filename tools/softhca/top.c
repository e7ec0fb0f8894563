// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca top`: what devices, queue pairs and processes do, now and again. With
 * --once it prints one look as text or JSON.
 */
#define _GNU_SOURCE
#include "explain.h"
#include "top.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_SECONDS	1.0
/* The kernel's rings of events are emptied so often. */
#define READ_SECONDS	0.1
/* The distribution as text: from 2^10 ns, a microsecond, to half a second and beyond */
#define FIRST_OCTAVE	10
#define LAST_OCTAVE	29

/* Where lines go: the terminal's window, or standard output */
struct page {
	bool screen;
	int line;
};

static void put_line(struct page *page, int attr, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_line(struct page *page, int attr, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!page->screen) {
		puts(text);
		return;
	}
	if (page->line >= LINES)
		return;
	attron(attr);
	mvaddnstr(page->line++, 0, text, COLS);
	clrtoeol();
	attroff(attr);
}

/* "12.3k" of 12345: five characters at most */
static const char *number(double n, char *text)
{
	static const char units[] = " kMGT";
	int unit = 0;

	while (n >= 9999.5 && unit < 4) {
		n /= 1000;
		unit++;
	}
	if (unit)
		sprintf(text, "%.*f%c", n < 99.95 ? 1 : 0, n, units[unit]);
	else
		sprintf(text, n < 9.95 && n > 0 ? "%.1f" : "%.0f", n);
	return text;
}

/* "850us" of 850: six characters at most */
static const char *duration(double us, char *text)
{
	if (us < 999.5)
		sprintf(text, us < 9.95 ? "%.1fus" : "%.0fus", us);
	else if (us < 999500)
		sprintf(text, us < 9950 ? "%.1fms" : "%.0fms", us / 1e3);
	else
		sprintf(text, "%.1fs", us / 1e6);
	return text;
}

/* What @part of the requests did not take longer than; "-" if there was none */
static const char *latency_text(const struct top_latency *latency, double part, char *text)
{
	if (latency->nr)
		return duration(latency_part(latency, part), text);
	sprintf(text, "-");
	return text;
}

/* A character for each power of two; what is beyond the ends counts for these. */
static void latency_bars(const struct top_latency *latency, char *text)
{
	static const char bars[] = " .:-=+*#";
	uint64_t nr[LAST_OCTAVE + 1] = {}, most = 1;
	int i, at;

	for (i = 0; i < TOP_OCTAVES; i++) {
		at = i < FIRST_OCTAVE ? FIRST_OCTAVE : i > LAST_OCTAVE ? LAST_OCTAVE : i;
		nr[at] += latency_bucket(latency, i);
		if (nr[at] > most)
			most = nr[at];
	}
	for (i = FIRST_OCTAVE; i <= LAST_OCTAVE; i++)
		*text++ = bars[nr[i] ? 1 + nr[i] * (sizeof(bars) - 3) / most : 0];
	*text = '\0';
}

static const char *process_name(int pid, const char *comm, char *text, size_t size)
{
	if (!pid)
		snprintf(text, size, "%s", *comm ? comm : "-");
	else if (*comm)
		snprintf(text, size, "%s (%d)", comm, pid);
	else
		snprintf(text, size, "%d", pid);
	return text;
}

static void put_device(struct page *page, const struct top_device *d)
{
	char n[8][16];
	const double *r = d->rate;
	int bad = (r[TOP_TIMEOUTS] > 0 || r[TOP_ERRORS] > 0) ? A_BOLD : 0;

	put_line(page, bad, "%-16.16s %7s %7s %8.1f %8.1f %6.0f%% %8s %7s %7s %7s", d->name,
		 number(r[TOP_TX_PACKETS], n[0]), number(r[TOP_RX_PACKETS], n[1]),
		 r[TOP_TX_BYTES] / 1e6, r[TOP_RX_BYTES] / 1e6,
		 r[TOP_TX_PACKETS] > 0 ? 100 * r[TOP_DIRECT] / r[TOP_TX_PACKETS] : 0,
		 number(r[TOP_TIMEOUTS], n[2]), number(r[TOP_AGAIN], n[3]),
		 number(r[TOP_RNR], n[4]), number(r[TOP_ERRORS], n[5]));
}

/* @of: requests that completed, of which those with a completion were timed */
static void put_latency(struct page *page, const char *name, const struct top_latency *latency,
			uint64_t of)
{
	char n[4][16], bars[LAST_OCTAVE - FIRST_OCTAVE + 2];

	latency_bars(latency, bars);
	put_line(page, 0, "%-30.30s %7s %7s %7s %7s  |%s|", name, number(latency->nr, n[0]),
		 number(of, n[1]), latency_text(latency, 0.5, n[2]),
		 latency_text(latency, 0.99, n[3]), bars);
}

static void put_latencies(struct page *page, const struct top *top)
{
	char name[64];
	int i;

	if (!top->timed) {
		if (geteuid())
			put_line(page, 0, "(root sees latencies: try sudo)");
		return;
	}
	/* Those without a completion (unsignalled) have no end that could be seen. */
	put_line(page, A_REVERSE, "%-30s %7s %7s %7s %7s  %-22s", "LATENCY OF SIGNALLED REQUESTS",
		 "TIMED", "OF", "P50", "P99", "|1us  32us 1ms  32ms |");
	for (i = 0; i < top->nr_devices; i++)
		put_latency(page, top->device[i].name, &top->device[i].latency,
			    top->device[i].gained);
	for (i = 0; i < top->nr_processes; i++)
		if (top->process[i].latency.nr)
			put_latency(page, process_name(top->process[i].pid, top->process[i].comm,
						       name, sizeof(name)),
				    &top->process[i].latency, top->process[i].gained);
}

static void put_qp(struct page *page, const struct top_qp *qp)
{
	const struct top_rates *r = &qp->rate;
	char n[8][16], id[80], process[64];

	snprintf(id, sizeof(id), "%.11s/%#x", qp->device, qp->qpn);
	process_name(qp->pid, qp->comm, process, sizeof(process));
	if (!qp->known) {
		put_line(page, 0, "%-20s %-4s %-5s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %.24s",
			 id, qp_type_name(qp->type), qp_state_name(qp->state), "-", "-", "-", "-",
			 "-", "-", "-", "-", "-", "-", "-", process);
		return;
	}
	put_line(page, r->again > 0 || r->errors > 0 ? A_BOLD : 0,
		 "%-20s %-4s %-5s %6s %6s %6s %6s %6u %6u %6u %6s %6s %6s %6s %.24s%s%s", id,
		 qp_type_name(qp->type), qp_state_name(qp->state), number(r->requests, n[0]),
		 number(r->messages, n[1]), number(r->tx_bytes, n[2]), number(r->rx_bytes, n[3]),
		 qp->waiting, qp->in_flight, qp->window, number(r->again, n[4]),
		 number(r->errors, n[5]), latency_text(&qp->latency, 0.5, n[6]),
		 latency_text(&qp->latency, 0.99, n[7]), process, qp->direct ? " direct" : "",
		 qp->rnr_wait ? " RNR" : "");
}

static void put_page(struct page *page, const struct top *top, double seconds)
{
	const struct top_rates *r;
	char name[64], n[6][16];
	int i;

	put_line(page, A_BOLD, "softhca top: %d device%s, %d queue pair%s, %d process%s, over %.1f s%s",
		 top->nr_devices, top->nr_devices == 1 ? "" : "s", top->nr_qps,
		 top->nr_qps == 1 ? "" : "s", top->nr_processes,
		 top->nr_processes == 1 ? "" : "es", seconds, page->screen ? "; q ends" : "");
	put_line(page, 0, "%s", "");
	put_line(page, A_REVERSE, "%-16s %7s %7s %8s %8s %7s %8s %7s %7s %7s", "DEVICE",
		 "TX/s", "RX/s", "TX MB/s", "RX MB/s", "DIRECT", "TIMEOUT", "AGAIN", "RNR",
		 "ERRORS");
	for (i = 0; i < top->nr_devices; i++)
		put_device(page, &top->device[i]);
	put_line(page, 0, "%s", "");
	put_latencies(page, top);
	put_line(page, 0, "%s", "");
	put_line(page, A_REVERSE, "%-20s %-4s %-5s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %-20s",
		 "QUEUE PAIR", "TYPE", "STATE", "DONE/s", "MSGS/s", "TX B/s", "RX B/s", "POSTED",
		 "FLIGHT", "WINDOW", "AGAIN", "ERRORS", "P50", "P99", "PROCESS");
	for (i = 0; i < top->nr_qps && (!page->screen || page->line < LINES - 4); i++)
		put_qp(page, &top->qp[i]);
	if (top->partly)
		put_line(page, A_BOLD, "(CAP_NET_ADMIN shows what queue pairs do: try sudo)");
	put_line(page, 0, "%s", "");
	put_line(page, A_REVERSE, "%-30s %5s %7s %7s %7s %7s %7s %7s %7s", "PROCESS", "QPS", "DONE/s",
		 "MSGS/s", "TX B/s", "RX B/s", "AGAIN", "ERRORS", "POSTED");
	for (i = 0; i < top->nr_processes; i++) {
		r = &top->process[i].rate;
		put_line(page, 0, "%-30.30s %5d %7s %7s %7s %7s %7s %7s %7u",
			 process_name(top->process[i].pid, top->process[i].comm, name, sizeof(name)),
			 top->process[i].nr_qps, number(r->requests, n[0]),
			 number(r->messages, n[1]), number(r->tx_bytes, n[2]),
			 number(r->rx_bytes, n[3]), number(r->again, n[4]),
			 number(r->errors, n[5]), top->process[i].waiting);
	}
}

/* ---- JSON ------------------------------------------------------------------------- */

/* Buckets without a request before the first and behind the last one are left out. */
static void print_json_latency(const struct top_latency *latency, uint64_t of, bool timed)
{
	int i, first = TOP_OCTAVES, last = -1;

	if (!timed) {
		printf(", \"latency\": null");
		return;
	}
	for (i = 0; i < TOP_OCTAVES; i++) {
		if (!latency_bucket(latency, i))
			continue;
		first = i < first ? i : first;
		last = i;
	}
	printf(", \"latency\": {\"covers\": \"signalled requests\", \"requests\": %llu, \"of\": %llu",
	       (unsigned long long)latency->nr, (unsigned long long)of);
	if (latency->nr)
		printf(", \"p50_us\": %.3f, \"p99_us\": %.3f", latency_part(latency, 0.5),
		       latency_part(latency, 0.99));
	else
		printf(", \"p50_us\": null, \"p99_us\": null");
	printf(", \"buckets\": [");
	for (i = first; i <= last; i++)
		printf("%s{\"from_us\": %.3f, \"to_us\": %.3f, \"requests\": %llu}",
		       i == first ? "" : ", ", i ? (double)(1ull << i) / 1e3 : 0,
		       (double)(2ull << i) / 1e3,
		       (unsigned long long)latency_bucket(latency, i));
	printf("]}");
}

static void print_json_device(const struct top_device *d, bool timed)
{
	static const char *const names[TOP_NR_COUNTERS] = {
		"tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "direct_packets",
		"timeouts", "sent_again", "rnr", "errors",
	};
	int i;

	printf("{\"device\": ");
	print_json_string(d->name);
	for (i = 0; i < TOP_NR_COUNTERS; i++)
		printf(", \"%s\": %llu, \"%s_per_s\": %.1f", names[i],
		       (unsigned long long)d->value[i], names[i], d->rate[i]);
	print_json_latency(&d->latency, d->gained, timed);
	putchar('}');
}

static void print_json_rates(const struct top_rates *r)
{
	printf(", \"requests_per_s\": %.3f, \"messages_per_s\": %.3f, \"psns_per_s\": %.1f, \"tx_bytes_per_s\": %.1f, \"rx_bytes_per_s\": %.1f, \"sent_again_per_s\": %.3f, \"timeouts_per_s\": %.3f, \"errors_per_s\": %.3f",
	       r->requests, r->messages, r->psns, r->tx_bytes, r->rx_bytes, r->again,
	       r->timeouts, r->errors);
}

static void print_json_qp(const struct top_qp *qp, bool timed)
{
	printf("{\"device\": ");
	print_json_string(qp->device);
	printf(", \"qpn\": %u, \"peer_qpn\": %u, \"type\": \"%s\", \"state\": \"%s\", \"pid\": %d, \"comm\": ",
	       qp->qpn, qp->peer, qp_type_name(qp->type), qp_state_name(qp->state), qp->pid);
	print_json_string(qp->comm);
	if (qp->known) {
		print_json_rates(&qp->rate);
		printf(", \"posted\": %u, \"in_flight\": %u, \"window\": %u, \"retry_left\": %u, \"direct\": %s, \"rnr_wait\": %s",
		       qp->waiting, qp->in_flight, qp->window, qp->retry_left,
		       qp->direct ? "true" : "false", qp->rnr_wait ? "true" : "false");
	}
	print_json_latency(&qp->latency, qp->gained, timed);
	putchar('}');
}

static void print_json_process(const struct top_process *p, bool timed)
{
	printf("{\"pid\": %d, \"comm\": ", p->pid);
	print_json_string(p->comm);
	printf(", \"qps\": %d", p->nr_qps);
	print_json_rates(&p->rate);
	printf(", \"posted\": %u", p->waiting);
	print_json_latency(&p->latency, p->gained, timed);
	putchar('}');
}

static void print_json(const struct top *top, double seconds)
{
	int i;

	printf("{\"seconds\": %.6f, \"devices\": [", seconds);
	for (i = 0; i < top->nr_devices; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		print_json_device(&top->device[i], top->timed);
	}
	printf("],\n\"queue_pairs\": [");
	for (i = 0; i < top->nr_qps; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		print_json_qp(&top->qp[i], top->timed);
	}
	printf("],\n\"processes\": [");
	for (i = 0; i < top->nr_processes; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		print_json_process(&top->process[i], top->timed);
	}
	puts("]}");
}

/* ---- the command -------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/**
 * struct looks - what is compared
 * @before:	what is shown now: rates are since then
 * @last:	what the kernel said after it, if it was asked: counters must not go round unseen
 */
struct looks {
	struct top before, last;
};

static int looked(int err)
{
	return err ? fail("top: the kernel does not tell of RDMA devices: %s", strerror(-err)) : 0;
}

static const struct top *last_of(const struct looks *looks)
{
	return looks->last.when > 0 ? &looks->last : looks->before.when > 0 ? &looks->before : NULL;
}

/* Until the next look, from time to time. Errors are left to that look. */
static void count(struct looks *looks)
{
	const struct top *last = last_of(looks);
	struct top now;

	latency_read();
	if (!last || top_now() - last->when < TOP_COUNT_SECONDS)
		return;
	if (top_count(&now, last)) {
		top_free(&now);
		return;
	}
	top_free(&looks->last);
	looks->last = now;
}

static int look(struct top *top, const struct looks *looks)
{
	return looked(top_look(top, last_of(looks), looks->before.when > 0 ? &looks->before : NULL));
}

static void looks_free(struct looks *looks)
{
	top_free(&looks->before);
	top_free(&looks->last);
}

/* How long to wait now, of what is left */
static double step(double left)
{
	return left < READ_SECONDS ? left : READ_SECONDS;
}

static void pause_for(struct looks *looks, double seconds)
{
	double end = top_now() + seconds, left;
	struct timespec t;

	while (!stopped && (left = end - top_now()) > 0) {
		t = (struct timespec){ .tv_nsec = step(left) * 1e9 };
		nanosleep(&t, NULL);
		count(looks);
	}
}

static int once(double seconds, bool json)
{
	struct looks looks = {};
	struct page page = {};
	struct top after;
	int status = looked(top_look(&looks.before, NULL, NULL));

	if (status)
		return status;
	pause_for(&looks, seconds);
	status = look(&after, &looks);
	if (!status && json)
		print_json(&after, after.when - looks.before.when);
	else if (!status)
		put_page(&page, &after, after.when - looks.before.when);
	looks_free(&looks);
	top_free(&after);
	return status;
}

/* Return: a key, or ERR: none was pressed */
static int key_within(struct looks *looks, double seconds)
{
	double end = top_now() + seconds, left;
	int key = ERR;

	while (!stopped && key == ERR && (left = end - top_now()) > 0) {
		timeout(1 + (int)(step(left) * 1000));
		key = getch();
		count(looks);
	}
	return key;
}

static int watch(double seconds)
{
	struct page page = { .screen = true };
	struct looks looks = {};
	struct top after;
	int status = looked(top_look(&looks.before, NULL, NULL)), key;

	if (status)
		return status;
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin)) {
		looks_free(&looks);
		return fail("top: this terminal ($TERM) is not known ('softhca top --once' needs none)");
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	for (key = 0; key != 'q' && key != 'Q' && key != 27 && !stopped;) {
		status = look(&after, &looks);
		if (status)
			break;
		page.line = 0;
		put_page(&page, &after, after.when - looks.before.when);
		clrtobot();
		refresh();
		looks_free(&looks);
		looks.before = after;
		key = key_within(&looks, seconds);
	}
	endwin();
	looks_free(&looks);
	return status;
}

static int top_run(const struct call *call)
{
	bool single = call->option[0], json = call->option[1];
	struct sigaction action = { .sa_handler = stop };
	double seconds = DEFAULT_SECONDS;
	int status;
	char *end;

	if (call->option[2]) {
		seconds = strtod(call->value[2], &end);
		if (end == call->value[2] || *end || !(seconds >= 0.1 && seconds <= 3600))
			return complain("top: SECONDS must be 0.1 to 3600, not '%s'", call->value[2]);
	}
	if (json && !single)
		return complain("top: --json prints one look (add --once)");
	if (!single && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		return complain("top: this is no terminal (add --once)");
	/* Tracing must not go on when it has ended. */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (!call->option[3])
		latency_open();
	status = single ? once(seconds, json) : watch(seconds);
	latency_close();
	return status;
}

const struct command top_commands[] = {
	{
		.name = "top",
		.pattern = "",
		.summary = "show live what devices, queue pairs and processes do: rates, repeats, errors",
		.details = "TX/s, RX/s: packets; DIRECT: those that took the direct path; AGAIN: occasions to send again;\n"
			   "DONE/s: requests completed, signalled or not; MSGS/s: messages received; TX B/s, RX B/s: payload;\n"
			   "FLIGHT: packets not acknowledged; WINDOW: how many may be; AGAIN of a queue pair: packets.\n"
			   "P50, P99: half, and 99 of 100, signalled requests took no longer, from the ring to their\n"
			   "completion: TIMED are those, OF all that completed.\n"
			   "What queue pairs do needs CAP_NET_ADMIN, and latencies need root. The key q ends it.\n"
			   "Example: softhca top --once --json",
		.option = {
			{ "once", "look for one interval, print that, and end", NULL, 0 },
			{ "json", "with --once: print a JSON object", NULL, 0 },
			{ "interval", "time between looks, 0.1 to 3600; 1 if not given", "SECONDS", 'i' },
			{ "no-latency", "do not time requests: trace events stay off", NULL, 0 },
		},
		.run = top_run,
	},
	{}
};
