// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca top`: what devices, queue pairs and processes do, now and again. With
 * --once it prints one look as text or JSON.
 */
#define _GNU_SOURCE
#include "../explain.h"
#include "top.h"

#include <curses.h>
#include <errno.h>
#include <limits.h>
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

/* Pairs of colours in the window */
enum { NO_COLOUR, BAD_COLOUR, AGAIN_COLOUR };

/*
 * Where lines go: the terminal's window, or standard output
 * @columns:	that a line has room for
 * @first:	queue pair to begin with
 * @errors:	those with errors come first, not the busiest
 */
struct page {
	bool screen;
	int columns;
	int line;
	int first;
	bool errors;
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

/*
 * A column of a table.
 * @width:	negative: to the left
 * @rank:	the columns of the highest ranks go first where there is no room; 0 stays
 */
struct column {
	const char *title;
	int width;
	int rank;
};

#define MAX_COLUMNS	16
#define CELL_SIZE	64

/* Return: the highest rank of the columns that fit. */
static int rank_of(const struct page *page, const struct column *columns, int nr)
{
	int rank = MAX_COLUMNS, width, i;

	do {
		for (width = -1, i = 0; i < nr; i++)
			if (columns[i].rank <= rank)
				width += 1 + abs(columns[i].width);
	} while (width > page->columns && rank-- > 0);
	return rank < 0 ? 0 : rank;
}

/* A line of a table; @cell: NULL: the titles */
static void put_row(struct page *page, int attr, const struct column *columns, int nr,
		    char (*cell)[CELL_SIZE])
{
	int i, rank = rank_of(page, columns, nr);
	char text[512] = "";
	size_t used = 0;

	for (i = 0; i < nr; i++)
		if (columns[i].rank <= rank)
			used += snprintf(text + used, sizeof(text) - used, "%s%*s", used ? " " : "",
					 columns[i].width, cell ? cell[i] : columns[i].title);
	/* (only the last one may be longer than its column) */
	put_line(page, attr, "%s", text);
}

/* How a line with errors or repeats looks */
static int look_of(double errors, double again)
{
	if (errors > 0)
		return A_BOLD | COLOR_PAIR(BAD_COLOUR);
	return again > 0 ? A_BOLD | COLOR_PAIR(AGAIN_COLOUR) : 0;
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

static const struct column device_columns[] = {
	{ "DEVICE", -16, 0 }, { "TX/s", 7, 0 }, { "RX/s", 7, 0 }, { "TX MB/s", 8, 0 },
	{ "RX MB/s", 8, 0 }, { "DIRECT", 7, 1 }, { "TIMEOUT", 8, 0 }, { "AGAIN", 7, 0 },
	{ "RNR", 7, 2 }, { "ERRORS", 7, 0 },
};

#define NR_DEVICE_COLUMNS	((int)(sizeof(device_columns) / sizeof(*device_columns)))

static void put_device(struct page *page, const struct top_device *d)
{
	char cell[NR_DEVICE_COLUMNS][CELL_SIZE];
	const double *r = d->rate;

	snprintf(cell[0], CELL_SIZE, "%.16s", d->name);
	number(r[TOP_TX_PACKETS], cell[1]);
	number(r[TOP_RX_PACKETS], cell[2]);
	snprintf(cell[3], CELL_SIZE, "%.1f", r[TOP_TX_BYTES] / 1e6);
	snprintf(cell[4], CELL_SIZE, "%.1f", r[TOP_RX_BYTES] / 1e6);
	snprintf(cell[5], CELL_SIZE, "%.0f%%",
		 r[TOP_TX_PACKETS] > 0 ? 100 * r[TOP_DIRECT] / r[TOP_TX_PACKETS] : 0);
	number(r[TOP_TIMEOUTS], cell[6]);
	number(r[TOP_AGAIN], cell[7]);
	number(r[TOP_RNR], cell[8]);
	number(r[TOP_ERRORS], cell[9]);
	put_row(page, look_of(r[TOP_ERRORS] + r[TOP_TIMEOUTS], r[TOP_AGAIN]), device_columns,
		NR_DEVICE_COLUMNS, cell);
}

/* The name is short where the window is narrow. */
static int latency_width(const struct page *page)
{
	return page->columns >= 86 ? 30 : page->columns > 68 ? page->columns - 56 : 12;
}

/* @of: requests that completed, of which those with a completion were timed */
static void put_latency(struct page *page, const char *name, const struct top_latency *latency,
			uint64_t of)
{
	char n[4][16], bars[LAST_OCTAVE - FIRST_OCTAVE + 2];

	latency_bars(latency, bars);
	put_line(page, 0, "%-*.*s %7s %7s %7s %7s  |%s|", latency_width(page),
		 latency_width(page), name, number(latency->nr, n[0]), number(of, n[1]),
		 latency_text(latency, 0.5, n[2]), latency_text(latency, 0.99, n[3]), bars);
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
	put_line(page, A_REVERSE, "%-*.*s %7s %7s %7s %7s  %-22s", latency_width(page),
		 latency_width(page), "LATENCY OF SIGNALLED REQUESTS", "TIMED", "OF", "P50", "P99", "|1us  32us 1ms  32ms |");
	for (i = 0; i < top->nr_devices; i++)
		put_latency(page, top->device[i].name, &top->device[i].latency,
			    top->device[i].gained);
	for (i = 0; i < top->nr_processes; i++)
		if (top->process[i].latency.nr)
			put_latency(page, process_name(top->process[i].pid, top->process[i].comm,
						       name, sizeof(name)),
				    &top->process[i].latency, top->process[i].gained);
}

static const struct column qp_columns[] = {
	{ "QUEUE PAIR", -20, 0 }, { "TYPE", -4, 0 }, { "STATE", -5, 0 }, { "DONE/s", 6, 0 },
	{ "MSGS/s", 6, 0 }, { "TX B/s", 6, 1 }, { "RX B/s", 6, 2 }, { "POSTED", 6, 5 },
	{ "FLIGHT", 6, 6 }, { "WINDOW", 6, 7 }, { "AGAIN", 6, 0 }, { "ERRORS", 6, 0 },
	{ "P50", 6, 4 }, { "P99", 6, 3 }, { "PROCESS", -20, 0 },
};

#define NR_QP_COLUMNS	((int)(sizeof(qp_columns) / sizeof(*qp_columns)))

static void put_qp(struct page *page, const struct top_qp *qp)
{
	char cell[NR_QP_COLUMNS][CELL_SIZE], process[64];
	const struct top_rates *r = &qp->rate;
	int i;

	snprintf(cell[0], CELL_SIZE, "%.11s/%#x", qp->device, qp->qpn);
	snprintf(cell[1], CELL_SIZE, "%s", qp_type_name(qp->type));
	snprintf(cell[2], CELL_SIZE, "%s", qp_state_name(qp->state));
	for (i = 3; i < NR_QP_COLUMNS; i++)
		snprintf(cell[i], CELL_SIZE, "-");
	snprintf(cell[14], CELL_SIZE, "%.24s%s%s",
		 process_name(qp->pid, qp->comm, process, sizeof(process)),
		 qp->known && qp->direct ? " direct" : "", qp->known && qp->rnr_wait ? " RNR" : "");
	if (qp->known) {
		number(r->requests, cell[3]);
		number(r->messages, cell[4]);
		number(r->tx_bytes, cell[5]);
		number(r->rx_bytes, cell[6]);
		snprintf(cell[7], CELL_SIZE, "%u", qp->waiting);
		snprintf(cell[8], CELL_SIZE, "%u", qp->in_flight);
		snprintf(cell[9], CELL_SIZE, "%u", qp->window);
		number(r->again, cell[10]);
		number(r->errors, cell[11]);
		latency_text(&qp->latency, 0.5, cell[12]);
		latency_text(&qp->latency, 0.99, cell[13]);
	}
	put_row(page, look_of(r->errors, r->again), qp_columns, NR_QP_COLUMNS, cell);
}

static const struct column process_columns[] = {
	{ "PROCESS", -30, 0 }, { "QPS", 5, 0 }, { "DONE/s", 7, 0 }, { "MSGS/s", 7, 0 },
	{ "TX B/s", 7, 0 }, { "RX B/s", 7, 1 }, { "AGAIN", 7, 0 }, { "ERRORS", 7, 0 },
	{ "POSTED", 7, 2 },
};

#define NR_PROCESS_COLUMNS	((int)(sizeof(process_columns) / sizeof(*process_columns)))

static void put_process(struct page *page, const struct top_process *p)
{
	char cell[NR_PROCESS_COLUMNS][CELL_SIZE], name[CELL_SIZE];
	const struct top_rates *r = &p->rate;

	snprintf(cell[0], CELL_SIZE, "%.30s", process_name(p->pid, p->comm, name, sizeof(name)));
	snprintf(cell[1], CELL_SIZE, "%d", p->nr_qps);
	number(r->requests, cell[2]);
	number(r->messages, cell[3]);
	number(r->tx_bytes, cell[4]);
	number(r->rx_bytes, cell[5]);
	number(r->again, cell[6]);
	number(r->errors, cell[7]);
	snprintf(cell[8], CELL_SIZE, "%u", p->waiting);
	put_row(page, look_of(r->errors, r->again), process_columns, NR_PROCESS_COLUMNS, cell);
}

static int more_errors(const void *a, const void *b)
{
	const struct top_qp *x = *(const struct top_qp **)a, *y = *(const struct top_qp **)b;

	if (x->rate.errors != y->rate.errors)
		return x->rate.errors < y->rate.errors ? 1 : -1;
	if (x->rate.again != y->rate.again)
		return x->rate.again < y->rate.again ? 1 : -1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static void put_page(struct page *page, const struct top *top, double seconds)
{
	int i;

	if (page->errors && top->nr_qps)
		qsort(top->busy, top->nr_qps, sizeof(*top->busy), more_errors);
	put_line(page, A_BOLD, "softhca top: %d device%s, %d queue pair%s, %d process%s, over %.1f s",
		 top->nr_devices, top->nr_devices == 1 ? "" : "s", top->nr_qps,
		 top->nr_qps == 1 ? "" : "s", top->nr_processes,
		 top->nr_processes == 1 ? "" : "es", seconds);
	if (page->screen)
		put_line(page, 0, "q ends; d: the busiest first; e: errors first; arrows and page keys scroll");
	else
		put_line(page, 0, "%s", "");
	put_row(page, A_REVERSE, device_columns, NR_DEVICE_COLUMNS, NULL);
	for (i = 0; i < top->nr_devices; i++)
		put_device(page, &top->device[i]);
	put_line(page, 0, "%s", "");
	put_latencies(page, top);
	put_line(page, 0, "%s", "");
	put_row(page, A_REVERSE, qp_columns, NR_QP_COLUMNS, NULL);
	for (i = page->first; i < top->nr_qps && (!page->screen || page->line < LINES - 4); i++)
		put_qp(page, top->busy[i]);
	if (top->partly)
		put_line(page, A_BOLD, "(CAP_NET_ADMIN shows what queue pairs do: try sudo)");
	put_line(page, 0, "%s", "");
	put_row(page, A_REVERSE, process_columns, NR_PROCESS_COLUMNS, NULL);
	for (i = 0; i < top->nr_processes; i++)
		put_process(page, &top->process[i]);
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
		print_json_qp(top->busy[i], top->timed);
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

/*
 * What is compared.
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
	struct page page = { .columns = INT_MAX };
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

/* Return: a key, or ERR: none was pressed before @end */
static int key_until(struct looks *looks, double end)
{
	double left;
	int key = ERR;

	while (!stopped && key == ERR && (left = end - top_now()) > 0) {
		timeout(1 + (int)(step(left) * 1000));
		key = getch();
		count(looks);
	}
	return key;
}

static bool begin_screen(void)
{
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin))
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	/* (a terminal without colours has the rest: ncurses ignores pairs) */
	if (has_colors() && start_color() == OK) {
		use_default_colors();
		init_pair(BAD_COLOUR, COLOR_RED, -1);
		init_pair(AGAIN_COLOUR, COLOR_YELLOW, -1);
	}
	return true;
}

/* Return: whether it ends the window */
static bool take_key(struct page *page, int key, int nr_qps)
{
	int screenful = LINES / 2;

	switch (key) {
	case 'q': case 'Q': case 27:
		return true;
	case 'd': case 'e':
		page->errors = key == 'e';
		page->first = 0;
		break;
	case KEY_UP: case KEY_DOWN:
		page->first += key == KEY_DOWN ? 1 : -1;
		break;
	case KEY_PPAGE: case KEY_NPAGE:
		page->first += key == KEY_NPAGE ? screenful : -screenful;
		break;
	case KEY_HOME: case KEY_END:
		page->first = key == KEY_END ? nr_qps - screenful : 0;
		break;
	}
	if (page->first >= nr_qps)
		page->first = nr_qps - 1;
	if (page->first < 0)
		page->first = 0;
	return false;
}

/* Shows one look until its time is over; keys change how. Return: whether one ends it */
static bool show(struct page *page, struct looks *looks, double over, double seconds)
{
	double end = top_now() + seconds;
	int key = 0;
	bool ends = false;

	while (!ends && key != ERR && !stopped) {
		page->line = 0;
		page->columns = COLS;
		put_page(page, &looks->before, over);
		clrtobot();
		refresh();
		key = key_until(looks, end);
		ends = take_key(page, key, looks->before.nr_qps);
	}
	return ends || stopped;
}

static int watch(double seconds)
{
	struct page page = { .screen = true };
	struct looks looks = {};
	struct top after;
	int status = looked(top_look(&looks.before, NULL, NULL));
	double over;

	if (status)
		return status;
	if (!begin_screen()) {
		looks_free(&looks);
		return fail("top: this terminal ($TERM) is not known ('softhca top --once' needs none)");
	}
	do {
		status = look(&after, &looks);
		if (status)
			break;
		over = after.when - looks.before.when;
		looks_free(&looks);
		looks.before = after;
	} while (!show(&page, &looks, over, seconds));
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
	status = genl_open(false);
	if (status)
		return status;
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
			   "What queue pairs do needs CAP_NET_ADMIN, and latencies need root.\n"
			   "Keys: q ends it; e shows queue pairs with errors first, d the busiest; arrows scroll.\n"
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
