// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* softhca-fabric: a fabric of simulated InfiniBand switches and hosts. */
#include <getopt.h>
#include <stdlib.h>

#include "shape.h"
#include "sim.h"

static const char usage[] =
	"Usage: softhca-fabric [OPTION]... FILE\n"
	"       softhca-fabric [OPTION]... SHAPE\n"
	"Simulates an InfiniBand fabric, for OpenSM and infiniband-diags.\n"
	"FILE is what ibnetdiscover prints, or a topology of ibsim; \"-\" is standard input.\n"
	"\n"
	"SHAPE is one of\n"
	"  --fat-tree=K      three levels of switches of K ports, K/2 hosts at each leaf\n"
	"  --torus=AxB[xC]   a torus of two or three axes, a host at each switch\n"
	"  --mesh=AxB[xC]    the same without the cables that close it\n"
	"  --ring=N          N switches, a host at each\n"
	"  --dragonfly=AxH   groups of A switches, with H links to other groups and H hosts at each\n"
	"\n"
	"  -H, --hosts=N     of a SHAPE: hosts at each switch that has any\n"
	"  -n, --name=NAME   the name that programs have in IBSIM_SOCKNAME (default: sim)\n"
	"  -r, --rate=RATE   of cables for which FILE has none, such as 4xNDR (default: 4xQDR)\n"
	"  -c, --check       read FILE, and end\n"
	"  -w, --write       print the fabric as a file, and end\n"
	"  -h, --help        this text\n"
	"\n"
	"Programs need LD_PRELOAD=libumad2sim.so (Debian: package libumad2sim0), and run at the first\n"
	"node, or at the one that SIM_HOST names.\n";

#define OPTION_SHAPE	256

static const struct option options[] = {
	{ "fat-tree", required_argument, NULL, OPTION_SHAPE + SHAPE_FAT_TREE },
	{ "torus", required_argument, NULL, OPTION_SHAPE + SHAPE_TORUS },
	{ "mesh", required_argument, NULL, OPTION_SHAPE + SHAPE_MESH },
	{ "ring", required_argument, NULL, OPTION_SHAPE + SHAPE_RING },
	{ "dragonfly", required_argument, NULL, OPTION_SHAPE + SHAPE_DRAGONFLY },
	{ "hosts", required_argument, NULL, 'H' },
	{ "name", required_argument, NULL, 'n' },
	{ "rate", required_argument, NULL, 'r' },
	{ "check", no_argument, NULL, 'c' },
	{ "write", no_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

struct args {
	const char *name;
	const char *size;
	enum shape shape;
	u32 hosts;
	bool check;
	bool write;
};

static int refuse(const char *why, const char *what)
{
	fprintf(stderr, "softhca-fabric: %s%s\nTry 'softhca-fabric --help'.\n", why, what);
	return 2;
}

static int serve(struct topology *topo, const char *name)
{
	struct sim *sim = sim_open(topo, name);

	if (!sim)
		return 1;
	printf("ready\n");
	fflush(stdout);
	sim_run(sim);
	sim_close(sim);
	return 0;
}

static int run(struct topology *topo, const struct args *args, const char *path)
{
	if (path ? !topo_read(topo, path) : !shape_make(topo, args->shape, args->size, args->hosts))
		return 1;
	if (args->write)
		return topo_write(topo, stdout) ? 0 : 1;
	printf("%u nodes, %u cables\n", topo->nodes_nr, topo->cables_nr);
	fflush(stdout);
	return args->check ? 0 : serve(topo, args->name);
}

int main(int argc, char **argv)
{
	struct args args = { .name = getenv("IBSIM_SOCKNAME") };
	struct topology topo;
	int option, status;

	if (!args.name)
		args.name = "sim";
	topo_init(&topo);
	while ((option = getopt_long(argc, argv, "H:n:r:cwh", options, NULL)) != -1) {
		switch (option) {
		case 'H':
			args.hosts = strtoul(optarg, NULL, 0);
			if (!args.hosts || args.hosts > FAB_PORTS_MAX)
				return refuse("hosts at a switch are 1 to 254, not ", optarg);
			break;
		case 'n':
			args.name = optarg;
			break;
		case 'r':
			if (!topo_rate(optarg, &topo.rate))
				return refuse("no rate: ", optarg);
			break;
		case 'c':
			args.check = true;
			break;
		case 'w':
			args.write = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case '?':
			return refuse("", "what is meant?");
		default:
			args.shape = option - OPTION_SHAPE;
			args.size = optarg;
		}
	}
	if (argc - optind != (args.shape ? 0 : 1))
		return refuse("", "one FILE or SHAPE is needed");
	status = run(&topo, &args, argv[optind]);
	topo_free(&topo);
	return status;
}
