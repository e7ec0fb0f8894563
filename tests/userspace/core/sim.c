// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The simulator's command line: many seeds on several processes, or one seed
 * told at length.  Each seed runs in the same process as others, so a failure
 * ends the process and names the seed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"
#include "steps.h"

/* So many seeds must have tried everything. */
#define ENOUGH	5000

static struct sim_world *current;
static bool digests;
static uint64_t digest;

/* FNV-1a, over what is the same on every machine */
void sim_digest(const void *data, size_t len)
{
	const u8 *p = data;

	for (; digests && len; len--)
		digest = (digest ^ *p++) * 0x100000001b3ull;
}

void sim_log(struct sim_world *w, const char *fmt, ...)
{
	char line[200];
	va_list ap;

	if (!w->verbose && !digests)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	sim_digest(&(__be64){ htobe64(w->now) }, sizeof(w->now));
	sim_digest(line, strlen(line));
	if (w->verbose)
		printf("# %12.3f us %s\n", w->now / 1000.0, line);
}

void sim_fail(struct sim_world *w, const char *fmt, ...)
{
	va_list ap;

	printf("not ok sim seed %" PRIu64 ": ", w->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n# replay: ./sim --seed %" PRIu64 " --verbose\n", w->seed);
	fflush(stdout);
	_exit(1);
}

/* Called by the sanitizers before they end the process. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	if (current)
		fprintf(stderr, "not ok sim seed %" PRIu64 ": sanitizer\n",
			current->seed);
}

static void endless(void)
{
	sim_fail(current, "a loop of the core that never ends: more than %llu steps",
		 STEPS_MAX);
}

/* Before each event: its steps are bounded. */
void sim_count_steps(void)
{
	steps_begin(endless);
}

struct totals {
	uint64_t packets;
	uint64_t faults;
	uint64_t events;
	uint64_t refused;
	uint64_t mixed;
	uint64_t runs;
	uint64_t fast;
	uint64_t held;
	uint64_t turns;
	uint64_t limited;
	uint64_t lost[2];		/* and repaired, without and with holding */
	uint64_t again[2];
	uint64_t seeds[3];		/* RC, UC, UD */
	struct sim_tape_totals tape;
};

static void add(struct totals *sum, const struct totals *part)
{
	unsigned int i;

	sum->packets += part->packets;
	sum->faults += part->faults;
	sum->events += part->events;
	sum->refused += part->refused;
	sum->mixed += part->mixed;
	sum->runs += part->runs;
	sum->fast += part->fast;
	sum->held += part->held;
	sum->turns += part->turns;
	sum->limited += part->limited;
	for (i = 0; i < 2; i++) {
		sum->lost[i] += part->lost[i];
		sum->again[i] += part->again[i];
	}
	for (i = 0; i < 3; i++)
		sum->seeds[i] += part->seeds[i];
	sum->tape.seeds += part->tape.seeds;
	sum->tape.events += part->tape.events;
	sum->tape.packets += part->tape.packets;
	sum->tape.lost += part->tape.lost;
	sum->tape.again += part->tape.again;
	sum->tape.probes += part->tape.probes;
	sum->tape.completions += part->tape.completions;
	sum->tape.unclear += part->tape.unclear;
}

static void run_seed(uint64_t seed, bool verbose, struct totals *sum)
{
	struct sim_world *w = calloc(1, sizeof(*w));

	w->seed = seed;
	w->verbose = verbose;
	current = w;
	digest = 0xcbf29ce484222325ull;
	sim_run(w);
	current = NULL;
	if (digests)
		printf("# seed %" PRIu64 " %016" PRIx64 "\n", seed, digest);
	sum->packets += w->stat_pkts;
	sum->faults += w->stat_faults;
	sum->events += w->nr_events;
	sum->refused += w->stat_refused;
	sum->mixed += w->stat_mixed;
	sum->runs += w->stat_runs;
	sum->fast += w->stat_fast;
	sum->held += w->stat_held;
	sum->turns += w->stat_turns;
	sum->limited += w->stat_limited;
	/* what else delays or refuses packets makes them come again, too */
	if (sim_is_rc(w) && w->f.strict && w->reach == 1 && !w->f.dup &&
	    !w->f.reorder && !w->f.mem_retry && !w->f.link_busy && !w->f.jitter_ns &&
	    !w->stat_refusals) {
		sum->lost[w->f.holds] += w->stat_lost;
		sum->again[w->f.holds] += w->stat_again;
	}
	sum->seeds[sim_is_rc(w) ? 0 : sim_is_ud(w) ? 2 : 1]++;
	free(w);
}

static void run_share(uint64_t first, uint64_t nr, unsigned int share,
		      unsigned int shares, int out)
{
	struct totals sum = { 0 };
	uint64_t i;

	for (i = share; i < nr; i += shares)
		run_seed(first + i, false, &sum);
	sum.tape = *sim_tape_totals();
	if (write(out, &sum, sizeof(sum)) != sizeof(sum))
		_exit(2);
}

static int run_many(uint64_t first, uint64_t nr, unsigned int jobs)
{
	struct totals sum = { 0 }, part;
	int status, bad = 0, fd[2];
	unsigned int i;

	if (pipe(fd))
		return 2;
	fflush(stdout);
	for (i = 0; i < jobs; i++) {
		if (fork() == 0) {
			run_share(first, nr, i, jobs, fd[1]);
			fflush(stdout);
			exit(0);
		}
	}
	for (i = 0; i < jobs; i++) {
		wait(&status);
		bad |= status;
	}
	close(fd[1]);
	while (read(fd[0], &part, sizeof(part)) == sizeof(part))
		add(&sum, &part);
	printf("# %" PRIu64 " packets, %" PRIu64 " faults, %" PRIu64 " events\n",
	       sum.packets, sum.faults, sum.events);
	printf("# seeds of RC %" PRIu64 ", UC %" PRIu64 ", UD %" PRIu64
	       "; batches refused %" PRIu64 ", half repeated %" PRIu64
	       "; runs received %" PRIu64 ", fast paths %" PRIu64
	       "; held out of order %" PRIu64 ", in turns %" PRIu64 ", messages without credit %" PRIu64 "\n",
	       sum.seeds[0], sum.seeds[1], sum.seeds[2], sum.refused,
	       sum.mixed, sum.runs, sum.fast, sum.held, sum.turns,
	       sum.limited);
	if (sum.tape.seeds)
		printf("# ladders of %" PRIu64 " seeds: %" PRIu64 " events, %" PRIu64 " packets, lost %"
		       PRIu64 ", sent again %" PRIu64 ", probes %" PRIu64 ", completions %" PRIu64
		       "; taken for an equal one %" PRIu64 "\n",
		       sum.tape.seeds, sum.tape.events, sum.tape.packets, sum.tape.lost,
		       sum.tape.again, sum.tape.probes, sum.tape.completions, sum.tape.unclear);
	printf("# sent again per loss: %.2f, and %.2f with out-of-order queues\n",
	       (double)sum.again[0] / (sum.lost[0] ? sum.lost[0] : 1),
	       (double)sum.again[1] / (sum.lost[1] ? sum.lost[1] : 1));
	if (!bad && nr >= ENOUGH &&
	    2 * sum.again[1] * sum.lost[0] > sum.again[0] * sum.lost[1]) {
		printf("not ok sim repair # what is held comes again\n");
		return 1;
	}
	if (!bad && nr >= ENOUGH && (!sum.seeds[0] || !sum.seeds[1] ||
				     !sum.seeds[2] || !sum.mixed ||
				     !sum.runs || !sum.fast || !sum.held || !sum.turns ||
				     !sum.limited)) {
		printf("not ok sim coverage # something was never tried\n");
		return 1;
	}
	if (!bad)
		printf("ok sim %" PRIu64 " seeds from %" PRIu64 "\n", nr, first);
	return bad ? 1 : 0;
}

static int usage(void)
{
	fprintf(stderr,
		"sim --seeds N [--first N] [--jobs N]   run seeds\n"
		"sim --seed N [--verbose]               run one, tell its story\n"
		"    --digest                           of the packets, times and completions of each seed\n"
		"    --ladder                           compare what softhca trace makes of them\n"
		"    --faults FILE                      the link's faults are these rules\n");
	return 2;
}

int main(int argc, char **argv)
{
	uint64_t seeds = 1000, first = 1, seed = 0;
	bool verbose = false, one = false;
	struct totals sum = { 0 };
	const char *rules = NULL;
	unsigned int jobs = 2;
	int i;

	for (i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "--verbose")) {
			verbose = true;
		} else if (!strcmp(argv[i], "--digest")) {
			digests = true;
			setlinebuf(stdout);	/* the jobs share it */
		} else if (!strcmp(argv[i], "--ladder")) {
			sim_tape_on();
		} else if (!strcmp(argv[i], "--seeds") && more) {
			seeds = strtoull(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--first") && more) {
			first = strtoull(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--faults") && more) {
			rules = argv[++i];
		} else if (!strcmp(argv[i], "--jobs") && more) {
			jobs = strtoul(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--seed") && more) {
			one = true;
			seed = strtoull(argv[++i], NULL, 0);
		} else {
			return usage();
		}
	}
	if (rules && sim_rules_read(rules))
		return 2;
	if (!one)
		return run_many(first, seeds, jobs ? jobs : 1);
	run_seed(seed, verbose, &sum);
	printf("ok sim seed %" PRIu64 "\n", seed);
	return 0;
}
