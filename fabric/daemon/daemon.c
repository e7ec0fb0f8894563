// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* softhca-fabric: a fabric of simulated InfiniBand switches and hosts. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../topology/shape.h"
#include "aggregation.h"
#include "buffers.h"
#include "command.h"
#include "plug.h"
#include "routing.h"
#include "sim.h"

static const char usage[] =
	"Usage: softhca-fabric [OPTION]... FILE\n"
	"       softhca-fabric [OPTION]... SHAPE\n"
	"       softhca-fabric --ask=PATH COMMAND NODE PORT [WORD]...\n"
	"       softhca-fabric --ask=PATH adaptive MODE\n"
	"Simulates an InfiniBand fabric, for OpenSM and infiniband-diags.\n"
	"FILE is what ibnetdiscover prints, or a topology of ibsim; \"-\" is standard input.\n"
	"\n"
	"SHAPE is one of\n"
	"  --fat-tree=K      three levels of switches of K ports, K/2 hosts at each leaf\n"
	"  --leaf-spine=LxS  two levels: L leaves with S hosts each, all joined with S spines\n"
	"  --torus=AxB[xC]   a torus of two or three axes, a host at each switch\n"
	"  --mesh=AxB[xC]    the same without the cables that close it\n"
	"  --ring=N          N switches, a host at each\n"
	"  --dragonfly=AxH   groups of A switches, with H links to other groups and H hosts at each\n"
	"\n"
	"  -H, --hosts=N     of a SHAPE: hosts at each switch that has any\n"
	"  -R, --cable-rate=MB millions of bytes a second that each cable of a switch carries\n"
	"  -D, --cable-delay=US microseconds that a packet takes from switch to switch, with --tap\n"
	"  -A, --adaptive=MODE switches choose among ports that lead to a host, with --tap: for each\n"
	"                      flowlet or, of RC and XRC, each packet; off (default)\n"
	"  -G, --aggregate     an aggregation node at each switch, which reduces what hosts send\n"
	"  -C, --control=PATH  take commands at this socket\n"
	"  -a, --ask=PATH      send a command to the fabric that takes commands there:\n"
	"                        cut, mend NODE PORT            a cable\n"
	"                        show NODE [PORT]               state and counters, as JSON\n"
	"                        lose, damage NODE PORT N       one packet of N that leave there (0: none)\n"
	"                        rate NODE PORT MB              million bytes a second (0: no limit)\n"
	"                        delay NODE PORT US             microseconds, between switches\n"
	"                        slow HOST PORT MB              the host takes so much a second (0: no limit)\n"
	"                        send HOST PORT HOST [mb=N] [sl=N] [pkey=N] [count=N]  traffic\n"
	"                        stop HOST PORT                 no traffic\n"
	"                        adaptive MODE                  as --adaptive\n"
	"  -B, --background    go to the background once all is ready\n"
	"  -n, --name=NAME   the name that programs have in IBSIM_SOCKNAME (default: sim)\n"
	"  -r, --rate=RATE   of cables for which FILE has none, such as 4xNDR (default: 4xQDR)\n"
	"  -c, --check       read FILE, and end\n"
	"  -w, --write       print the fabric as a file, and end\n"
	"  -h, --help        this text\n"
	"\n"
	"Cables can leave the process. END is a host, which is a real port then and not simulated, or a\n"
	"port of a switch, as NODE[PORT]. May be repeated:\n"
	"  -t, --tap=END=TAP             to a TAP, and the real port on it\n"
	"  -N, --netdev=END=NETDEV       to this netdev, and the real port at the other end of its cable\n"
	"  -u, --udp=END=OWN,PEER        by UDP to another softhca-fabric; OWN and PEER are ADDRESS:PORT\n"
	"  -x, --unix=END=OWN,PEER       by a Unix socket, for the guest of a QEMU; OWN and PEER are paths:\n"
	"                                -netdev dgram,local.type=unix,local.path=PEER,\n"
	"                                        remote.type=unix,remote.path=OWN\n"
	"\n"
	"Programs need LD_PRELOAD=libumad2sim.so (Debian: package libumad2sim0), and run at the first\n"
	"node, or at the one that SIM_HOST names.\n";

#define OPTION_SHAPE	256

static const struct option options[] = {
	{ "fat-tree", required_argument, NULL, OPTION_SHAPE + SHAPE_FAT_TREE },
	{ "leaf-spine", required_argument, NULL, OPTION_SHAPE + SHAPE_LEAF_SPINE },
	{ "torus", required_argument, NULL, OPTION_SHAPE + SHAPE_TORUS },
	{ "mesh", required_argument, NULL, OPTION_SHAPE + SHAPE_MESH },
	{ "ring", required_argument, NULL, OPTION_SHAPE + SHAPE_RING },
	{ "dragonfly", required_argument, NULL, OPTION_SHAPE + SHAPE_DRAGONFLY },
	{ "hosts", required_argument, NULL, 'H' },
	{ "tap", required_argument, NULL, 't' },
	{ "netdev", required_argument, NULL, 'N' },
	{ "udp", required_argument, NULL, 'u' },
	{ "unix", required_argument, NULL, 'x' },
	{ "cable-rate", required_argument, NULL, 'R' },
	{ "cable-delay", required_argument, NULL, 'D' },
	{ "adaptive", required_argument, NULL, 'A' },
	{ "aggregate", no_argument, NULL, 'G' },
	{ "control", required_argument, NULL, 'C' },
	{ "ask", required_argument, NULL, 'a' },
	{ "background", no_argument, NULL, 'B' },
	{ "name", required_argument, NULL, 'n' },
	{ "rate", required_argument, NULL, 'r' },
	{ "check", no_argument, NULL, 'c' },
	{ "write", no_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

#define PLUGS_MAX	1024

struct args {
	struct {
		const struct plug_kind *kind;
		char *end;
		const char *where;
	} plugs[PLUGS_MAX];
	u32 plugs_nr;
	u32 cable_rate;
	u32 cable_delay;
	const char *adaptive;
	const char *name;
	const char *control;
	const char *ask;
	const char *size;
	enum shape shape;
	u32 hosts;
	bool background;
	bool check;
	bool write;
};

static int refuse(const char *why, const char *what)
{
	fprintf(stderr, "softhca-fabric: %s%s\nTry 'softhca-fabric --help'.\n", why, what);
	return 2;
}

/* Return: false, with a message on stderr. */
static bool add_plug(struct args *args, const struct plug_kind *kind, char *option)
{
	char *equals = strrchr(option, '=');

	if (args->plugs_nr == PLUGS_MAX || !equals) {
		fprintf(stderr, "softhca-fabric: %s is expected, not %s\n", kind->form, option);
		return false;
	}
	*equals = '\0';
	args->plugs[args->plugs_nr].kind = kind;
	args->plugs[args->plugs_nr].end = option;
	args->plugs[args->plugs_nr++].where = equals + 1;
	return true;
}

/* Return: false, with a message on stderr. */
static bool add_plugs(struct plugs *plugs, const struct args *args)
{
	u32 i;

	for (i = 0; i < args->plugs_nr; i++)
		if (!plugs_add(plugs, args->plugs[i].kind, args->plugs[i].end, args->plugs[i].where))
			return false;
	return true;
}

/* Return: false, with a message on stderr. */
static bool work(struct topology *topo, const struct args *args, struct loop *loop, struct plugs *plugs, struct sim *sim)
{
	u64 deadline;

	printf("ready\n");
	fflush(stdout);
	/* (where it was begun, so that the control socket's path stays what it is) */
	if (args->background && daemon(1, 0)) {
		refuse("it cannot go to the background: ", strerror(errno));
		return false;
	}
	while (!loop->ends) {
		deadline = plugs ? plugs_advance(plugs) : ~0ull;
		/* Data first: what happens to its links makes traps for programs. */
		if (topo->fabric.data)
			deadline = min_t(u64, deadline, fab_data_advance(&topo->fabric, loop_now()));
		deadline = min_t(u64, deadline, sim_advance(sim));
		loop_wait(loop, deadline);
	}
	return true;
}

/* Cables between switches have buffers at both ends, if there is data at all. */
static void set_delay(struct topology *topo, u64 ns)
{
	u32 i, j;

	for (i = 0; i < topo->nodes_nr; i++) {
		struct fab_node *node = &topo->nodes[i]->node;

		for (j = 1; j <= node->ports_nr; j++)
			if (node->ports[j].io && node->ports[j].peer && node->ports[j].peer->io)
				node->ports[j].io->delay = ns;
	}
}

static int serve(struct topology *topo, const struct args *args)
{
	struct control *control = NULL;
	struct plugs *plugs = NULL;
	struct loop loop = { 0 };
	const char *why = NULL;
	struct sim *sim = NULL;
	bool ok;

	if (!loop_open(&loop))
		return 1;
	/* (commands start traffic) */
	ok = !(args->plugs_nr || args->control) ||
	     buffers_open(topo, args->plugs_nr, args->cable_rate * 1000000ull);
	if (ok && args->plugs_nr) {
		plugs = plugs_open(topo, &loop);
		ok = plugs && add_plugs(plugs, args);
	}
	set_delay(topo, args->cable_delay * 1000ull);
	if (ok && args->adaptive)
		why = routing_set(topo, args->adaptive);
	if (why) {
		refuse("--adaptive: ", why);
		ok = false;
	}
	if (ok && topo->aggregates && topo->fabric.data)
		ok = aggregation_start(topo);
	if (ok)
		sim = sim_open(topo, args->name, &loop);
	if (sim && args->control)
		control = control_open(topo, &loop, args->control);
	ok = sim && (control || !args->control);
	if (plugs && sim)
		plugs_set_programs(plugs, sim);
	ok = ok && work(topo, args, &loop, plugs, sim);
	if (control)
		control_close(control);
	if (plugs)
		plugs_close(plugs);
	if (sim)
		sim_close(sim);
	buffers_close(topo);
	loop_close(&loop);
	return ok ? 0 : 1;
}

static int run(struct topology *topo, const struct args *args, const char *path)
{
	if (path ? !topo_read(topo, path) : !shape_make(topo, args->shape, args->size, args->hosts))
		return 1;
	if (topo->aggregates && !aggregation_add(topo))
		return 1;
	if (args->write)
		return topo_write(topo, stdout) ? 0 : 1;
	printf("%u nodes, %u cables\n", topo->nodes_nr, topo->cables_nr);
	fflush(stdout);
	return args->check ? 0 : serve(topo, args);
}

int main(int argc, char **argv)
{
	struct args args = { .name = getenv("IBSIM_SOCKNAME") };
	struct topology topo;
	int option, status;

	if (!args.name)
		args.name = "sim";
	topo_init(&topo);
	while ((option = getopt_long(argc, argv, "H:t:N:u:x:R:D:A:GC:a:Bn:r:cwh", options, NULL)) != -1) {
		switch (option) {
		case 'H':
			args.hosts = strtoul(optarg, NULL, 0);
			if (!args.hosts || args.hosts > FAB_PORTS_MAX)
				return refuse("hosts at a switch are 1 to 254, not ", optarg);
			break;
		case 't':
			if (!add_plug(&args, &plug_tap, optarg))
				return 2;
			break;
		case 'N':
			if (!add_plug(&args, &plug_netdev, optarg))
				return 2;
			break;
		case 'u':
			if (!add_plug(&args, &plug_udp, optarg))
				return 2;
			break;
		case 'x':
			if (!add_plug(&args, &plug_unix, optarg))
				return 2;
			break;
		case 'R':
			args.cable_rate = strtoul(optarg, NULL, 0);
			if (!args.cable_rate)
				return refuse("not millions of bytes a second: ", optarg);
			break;
		case 'D':
			args.cable_delay = strtoul(optarg, NULL, 0);
			if (!args.cable_delay)
				return refuse("not microseconds: ", optarg);
			break;
		case 'A':
			args.adaptive = optarg;
			break;
		case 'G':
			topo.aggregates = true;
			break;
		case 'C':
			args.control = optarg;
			break;
		case 'a':
			args.ask = optarg;
			break;
		case 'B':
			args.background = true;
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
	if (args.ask)
		return control_ask(args.ask, argv + optind);
	if (argc - optind != (args.shape ? 0 : 1))
		return refuse("", "one FILE or SHAPE is needed");
	status = run(&topo, &args, argv[optind]);
	topo_free(&topo);
	return status;
}
