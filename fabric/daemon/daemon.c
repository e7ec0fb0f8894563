// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* softhca-fabric: a fabric of simulated InfiniBand switches and hosts. */
#include <getopt.h>
#include <stdlib.h>

#include "sim.h"

static const char usage[] =
	"Usage: softhca-fabric [OPTION]... FILE\n"
	"Simulates the InfiniBand fabric that FILE describes, for OpenSM and infiniband-diags.\n"
	"FILE is what ibnetdiscover prints, or a topology of ibsim; \"-\" is standard input.\n"
	"\n"
	"  -n, --name=NAME   the name that programs have in IBSIM_SOCKNAME (default: sim)\n"
	"  -r, --rate=RATE   of cables for which FILE has none, such as 4xNDR (default: 4xQDR)\n"
	"  -c, --check       read FILE, and end\n"
	"  -h, --help        this text\n"
	"\n"
	"Programs need LD_PRELOAD=libumad2sim.so (Debian: package libumad2sim0), and run on the first\n"
	"node of FILE, or on the one that SIM_HOST names.\n";

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },
	{ "rate", required_argument, NULL, 'r' },
	{ "check", no_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

static int refuse(const char *why, const char *what)
{
	fprintf(stderr, "softhca-fabric: %s%s\nTry 'softhca-fabric --help'.\n", why, what);
	return 2;
}

int main(int argc, char **argv)
{
	const char *name = getenv("IBSIM_SOCKNAME");
	bool check = false;
	struct topology topo;
	struct sim *sim;
	int option;

	if (!name)
		name = "sim";
	topo_init(&topo);
	while ((option = getopt_long(argc, argv, "n:r:ch", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			name = optarg;
			break;
		case 'r':
			if (!topo_rate(optarg, &topo.rate))
				return refuse("no rate: ", optarg);
			break;
		case 'c':
			check = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return refuse("", "what is meant?");
		}
	}
	if (optind + 1 != argc)
		return refuse("", "one FILE is needed");
	if (!topo_read(&topo, argv[optind])) {
		topo_free(&topo);
		return 1;
	}
	printf("%u nodes, %u cables\n", topo.nodes_nr, topo.cables_nr);
	fflush(stdout);
	if (!check) {
		sim = sim_open(&topo, name);
		if (!sim)
			return 1;
		printf("ready\n");
		fflush(stdout);
		sim_run(sim);
		sim_close(sim);
	}
	topo_free(&topo);
	return 0;
}
