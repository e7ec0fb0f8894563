// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The protocol core on many hosts at a time, in ns-3: its packets are the payload of UDP
 * packets between ns-3's IPv4 stacks, with their ECN bits, over links and queues of
 * ns-3.  Hosts send what the core hands out at once, as the module does.
 *
 *   scale [OPTION]... SCENARIO...     scale --list
 *
 * prints the results of each scenario, and "ok NAME" or "not ok NAME # why".  Each flow
 * must end within the time of the scenario.  It ends with all of its bytes placed or with
 * its retries exhausted, which can happen to a core without control of congestion.  With
 * --bars no flow may exhaust them, and the results must meet the bars of the scenario.
 * --fairer compares controls: each shares more fairly than the next one.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

#include "ns3/command-line.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/udp-socket-factory.h"

#include "fabric.hh"
#include "node.h"

using namespace ns3;

static const uint16_t ROCE_PORT = 4791;
/* Source ports, one for each queue pair, from here on (annex A17.9.2 of RoCEv2). */
static const uint16_t FIRST_PORT = 0xc000;
static const uint8_t ECT_0 = 2, CE = 3, ECN_MASK = 3;

static struct {
	uint32_t mtu = 4096;
	uint32_t message = 65536;
	uint32_t depth = 16;
	uint32_t timeout = 14;
	uint32_t seed = 1;
	std::string queue = "red";
	std::string op = "WRITE";
	std::string control = "off";
	bool holds = true;
	bool bars = false;
} setting;

static node_control control()
{
	const std::string &name = setting.control;
	node_control c{};

	if (name == "window")
		c.kind = NODE_WINDOW;
	else if (name == "delay")
		c.kind = NODE_DELAY;
	else if (sscanf(name.c_str(), "%u/%u/%u", &c.time_reset_us, &c.ai_mbps, &c.hai_mbps) == 3)
		c.kind = NODE_DCQCN;
	else if (name != "off")
		NS_FATAL_ERROR("--control is off, window, delay or TIME_RESET/AI/HAI, not " << name);
	return c;
}

/* The core takes 0 for "never". */
static uint64_t now()
{
	return Simulator::Now().GetNanoSeconds() + 1000000000;
}

/* ---- flows and hosts ------------------------------------------------------- */

/* Of a flow that goes on. */
static const uint32_t ENDLESS = UINT32_MAX;
/* Shares that are equal on average may be far apart at any time. */
static const uint32_t PERIOD_MS = 10;

/**
 * struct Flow - messages from one host to another
 * @half:	done after half of the time of a scenario that ends by the clock
 * @before:	done when the last of its periods began (PERIOD_MS)
 */
struct Flow {
	uint32_t messages;
	uint32_t posted = 0;
	uint32_t done = 0;
	uint32_t half = 0;
	uint32_t before = 0;
	Time finished;
	struct node *requester = nullptr;
	struct node *responder = nullptr;

	bool isDone() const { return done == messages; }
};

class Host {
public:
	Host(Ptr<Node> node, Ipv4Address address) : m_node(node), m_address(address)
	{
		m_rx = socket(ROCE_PORT);
		m_rx->SetIpRecvTos(true);
		m_rx->SetRecvCallback(MakeCallback(&Host::receive, this));
	}

	/* The numbers of queue pairs are their indices. */
	uint32_t nextQpn() const { return m_qps.size(); }

	struct node *connect(const struct node_config &config, uint32_t peerQpn, Ipv4Address peer, Flow *flow)
	{
		auto qp = std::make_unique<Qp>();
		uint32_t qpn = nextQpn();

		qp->node = node_new(&config, qpn, peerQpn);
		qp->peer = peer;
		qp->flow = flow;
		qp->tx = socket(FIRST_PORT + qpn);
		if (config.control.kind != NODE_OFF)
			qp->tx->SetIpTos(ECT_0);
		m_qps.push_back(std::move(qp));
		return m_qps.back()->node;
	}

	void start(uint32_t qpn) { pump(*m_qps[qpn]); }

	node_stats stats() const
	{
		node_stats sum = {};

		for (const auto &qp : m_qps) {
			node_stats one = node_count(qp->node);

			sum.tx_pkts += one.tx_pkts;
			sum.retransmits += one.retransmits;
			sum.timeouts += one.timeouts;
			sum.out_of_seq += one.out_of_seq;
			sum.cnps += one.cnps;
			sum.held += one.held;
		}
		return sum;
	}

private:
	struct Qp {
		struct node *node = nullptr;
		Ipv4Address peer;
		Ptr<Socket> tx;
		Flow *flow = nullptr;	/* of a requester */
		EventId timer;
		uint64_t timerAt = NODE_NEVER;

		~Qp() { node_free(node); }
	};

	Ptr<Socket> socket(uint16_t port)
	{
		Ptr<Socket> socket = Socket::CreateSocket(m_node, UdpSocketFactory::GetTypeId());

		socket->Bind(InetSocketAddress(m_address, port));
		return socket;
	}

	static enum node_op op()
	{
		return setting.op == "READ" ? NODE_READ : setting.op == "SEND" ? NODE_SEND : NODE_WRITE;
	}

	/* What a queue pair does after each event. */
	void pump(Qp &qp)
	{
		Flow *flow = qp.flow;
		struct node_packet packet;

		while (flow && flow->posted < flow->messages && node_post(qp.node, op(), setting.message, now()))
			flow->posted++;
		while (node_next(qp.node, now(), &packet)) {
			Ptr<Packet> p = Create<Packet>(packet.hdr, packet.hdr_len);

			p->AddPaddingAtEnd(packet.body_len);
			qp.tx->SendTo(p, 0, InetSocketAddress(qp.peer, ROCE_PORT));
		}
		arm(qp);
	}

	void arm(Qp &qp)
	{
		uint64_t at = node_deadline(qp.node);

		if (at == qp.timerAt && qp.timer.IsPending())
			return;
		qp.timer.Cancel();
		qp.timerAt = at;
		if (at == NODE_NEVER)
			return;
		qp.timer = Simulator::Schedule(NanoSeconds(at > now() ? at - now() : 0), [this, &qp] {
			node_timer(qp.node, now());
			settle(qp);
		});
	}

	void settle(Qp &qp)
	{
		if (qp.flow && !qp.flow->isDone()) {
			qp.flow->done += node_done(qp.node);
			if (qp.flow->isDone())
				qp.flow->finished = Simulator::Now();
		}
		pump(qp);
	}

	void receive(Ptr<Socket> socket)
	{
		uint8_t hdr[NODE_HDR_MAX];
		SocketIpTosTag tos;
		Ptr<Packet> p;

		while ((p = socket->Recv())) {
			uint32_t copied = p->CopyData(hdr, sizeof(hdr));
			bool marked = p->PeekPacketTag(tos) && (tos.GetTos() & ECN_MASK) == CE;
			Qp &qp = *m_qps.at(node_qpn(hdr));

			node_rx(qp.node, hdr, copied, p->GetSize(), marked, now());
			settle(qp);
		}
	}

	Ptr<Node> m_node;
	Ipv4Address m_address;
	Ptr<Socket> m_rx;
	std::vector<std::unique_ptr<Qp>> m_qps;
};

/* ---- scenarios ------------------------------------------------------------- */

/**
 * struct Run - a fabric with hosts and flows
 * @bottlenecks: links whose rates together bound the goodput
 * @watched:	host whose switch port is looked at; -1: of all ports, the fullest
 * @shares:	Jain's index of each period in the second half of a scenario that ends by the clock
 */
struct Run {
	FabricConfig config;
	std::unique_ptr<Fabric> fabric;
	std::vector<std::unique_ptr<Host>> hosts;
	std::vector<std::unique_ptr<Flow>> flows;
	uint32_t bottlenecks = 1;
	int watched = -1;
	std::vector<double> shares;

	void makeFabric()
	{
		config.queue = setting.queue;
		fabric = std::make_unique<Fabric>(config);
	}

	void makeHosts()
	{
		fabric->finish();
		for (uint32_t i = 0; i < fabric->nrHosts(); i++)
			hosts.push_back(std::make_unique<Host>(fabric->host(i), fabric->address(i)));
	}

	void addFlow(uint32_t from, uint32_t to, uint32_t messages)
	{
		struct node_config config = {};
		auto flow = std::make_unique<Flow>();
		/* The data goes from @from to @to, so a READ is asked for by @to. */
		uint32_t asks = setting.op == "READ" ? to : from, answers = from + to - asks;
		uint32_t a = hosts[asks]->nextQpn(), b = hosts[answers]->nextQpn();

		config.mtu = setting.mtu;
		config.timeout_ns = setting.timeout ? 4096ull << setting.timeout : 0;
		config.depth = setting.depth;
		config.line_mbps = fabric->rate() / 1000000;
		config.holds = setting.holds;
		config.control = control();
		flow->messages = messages;
		flow->requester = hosts[asks]->connect(config, b, fabric->address(answers), flow.get());
		flow->responder = hosts[answers]->connect(config, a, fabric->address(asks), nullptr);
		/* within 10 us of each other: nobody begins at one instant */
		Simulator::Schedule(NanoSeconds(m_random() % 10000), [this, asks, a] { hosts[asks]->start(a); });
		flows.push_back(std::move(flow));
	}

	std::mt19937 m_random{setting.seed};
};

/**
 * struct Scenario
 * @seconds:	that it has; if @timed, that it lasts, and the second half counts
 * @loses:	links lose packets, or it is not what it says
 * @least:	with --bars: part of the bottlenecks' rate
 * @fair:	with --bars: Jain's index
 */
struct Scenario {
	const char *name;
	const char *title;
	std::function<void(Run &)> make;
	double seconds;
	double least;
	double fair;
	bool timed = false;
	bool loses = false;
};

/* All send to host 0. */
static void incast(Run &run, uint32_t senders, uint32_t messages)
{
	run.makeFabric();
	uint32_t hub = run.fabric->addSwitch();

	for (uint32_t i = 0; i <= senders; i++)
		run.fabric->link(run.fabric->addHost(), hub);
	run.makeHosts();
	run.watched = 0;
	for (uint32_t i = 1; i <= senders; i++)
		run.addFlow(i, 0, messages);
}

/* Pairs through one switch, some packets lost. */
static void pairs(Run &run, uint32_t nr, double loss, uint32_t messages)
{
	run.config.loss = loss;
	run.makeFabric();
	uint32_t hub = run.fabric->addSwitch();

	for (uint32_t i = 0; i < 2 * nr; i++)
		run.fabric->link(run.fabric->addHost(), hub);
	run.makeHosts();
	run.bottlenecks = nr;
	for (uint32_t i = 0; i < nr; i++)
		run.addFlow(2 * i, 2 * i + 1, messages);
}

/*
 * A fat tree of switches with @k ports: k pods, k^3/4 hosts.  Each host sends to one and
 * receives from one, in no order.
 */
static void fatTree(Run &run, uint32_t k, uint32_t messages)
{
	uint32_t half = k / 2;
	std::vector<uint32_t> cores, order;

	run.makeFabric();
	for (uint32_t i = 0; i < half * half; i++)
		cores.push_back(run.fabric->addSwitch());
	for (uint32_t pod = 0; pod < k; pod++) {
		std::vector<uint32_t> upper;

		for (uint32_t i = 0; i < half; i++) {
			upper.push_back(run.fabric->addSwitch());
			for (uint32_t c = 0; c < half; c++)
				run.fabric->link(upper[i], cores[i * half + c]);
		}
		for (uint32_t e = 0; e < half; e++) {
			uint32_t edge = run.fabric->addSwitch();

			for (uint32_t at : upper)
				run.fabric->link(edge, at);
			for (uint32_t h = 0; h < half; h++)
				run.fabric->link(run.fabric->addHost(), edge);
		}
	}
	run.makeHosts();
	run.bottlenecks = run.fabric->nrHosts();
	order.resize(run.bottlenecks);
	std::iota(order.begin(), order.end(), 0);
	std::shuffle(order.begin(), order.end(), run.m_random);
	/* one ring through all of them: nobody sends to itself */
	for (uint32_t i = 0; i < order.size(); i++)
		run.addFlow(order[i], order[(i + 1) % order.size()], messages);
}

static const Scenario scenarios[] = {
	{"incast8", "8 to 1, 1 MiB each", [](Run &run) { incast(run, 8, 16); }, 5, 0.5, 0.8},
	{"incast64", "64 to 1, 1 MiB each", [](Run &run) { incast(run, 64, 16); }, 20, 0.5, 0.8},
	{"incast256", "256 to 1, 256 KiB each", [](Run &run) { incast(run, 256, 4); }, 20, 0.5, 0.8},
	{"share16", "16 to 1 for 100 ms", [](Run &run) { incast(run, 16, ENDLESS); }, 0.1, 0.8, 0.9, true},
	{"share8", "8 to 1 for 4 s", [](Run &run) { incast(run, 8, ENDLESS); }, 4, 0.8, 0.9, true},
	{"permutation", "fat tree of 128 hosts, 2 MiB each", [](Run &run) { fatTree(run, 8, 32); }, 20, 0.3, 0.8},
	{"lossless", "8 pairs, 16 MiB each", [](Run &run) { pairs(run, 8, 0, 256); }, 20, 0.9, 0.95},
	{"loss-small", "2 pairs, 4 MiB each, 1% lost", [](Run &run) { pairs(run, 2, 0.01, 64); }, 20, 0.5, 0.9, false, true},
	{"loss1", "8 pairs, 16 MiB each, 1% lost", [](Run &run) { pairs(run, 8, 0.01, 256); }, 20, 0.6, 0.9, false, true},
	{"failed-link", "fat tree of 16 hosts, 16 MiB each, the busiest link cut at 2 ms, noticed 20 ms later",
	 [](Run &run) {
		 fatTree(run, 4, 256);
		 run.fabric->fail(MilliSeconds(2), MilliSeconds(20));
	 }, 20, 0.2, 0.5, false, true},
};

/* ---- what came out ---------------------------------------------------------- */

static double percentile(const std::vector<double> &sorted, double part)
{
	return sorted.empty() ? NAN : sorted[std::min<size_t>(sorted.size() * part, sorted.size() - 1)];
}

static double jain(const std::vector<double> &values)
{
	double sum = 0, squares = 0;

	for (double value : values) {
		sum += value;
		squares += value * value;
	}
	return squares ? sum * sum / (values.size() * squares) : 0;
}

/* The port that is looked at. */
static const QueueWatch &queueOf(const Run &run)
{
	const QueueWatch *most;

	if (run.watched >= 0)
		return run.fabric->queueTo(run.watched);
	most = &run.fabric->queues().begin()->second;
	for (const auto &[port, watch] : run.fabric->queues())
		if (watch.most > most->most)
			most = &watch;
	return *most;
}

static void beginPeriod(Run &run)
{
	for (const auto &flow : run.flows)
		flow->before = flow->done;
	Simulator::Schedule(MilliSeconds(PERIOD_MS), [&run] {
		std::vector<double> rates;

		for (const auto &flow : run.flows)
			rates.push_back(flow->done - flow->before);
		run.shares.push_back(jain(rates));
		beginPeriod(run);
	});
}

/* @fairness: Jain's index; if the clock ends the scenario, the mean of its periods */
static bool judge(const Scenario &scenario, const Run &run, double &fairness)
{
	uint32_t unfinished = 0, exhausted = 0, wrong = 0, misplaced = 0;
	std::vector<double> times, rates;
	uint64_t bytes = 0, dropped = 0, marked = 0;
	node_stats stats = {};
	Time last;

	for (const auto &flow : run.flows) {
		uint64_t size = (uint64_t)setting.message * (flow->done - flow->half);
		struct node *target = setting.op == "READ" ? flow->requester : flow->responder;
		bool done = flow->isDone();
		Time took = done ? flow->finished : Simulator::Now();

		if (scenario.timed)
			took = Seconds(scenario.seconds / 2);
		else
			unfinished += !done && !node_failed(flow->requester);
		exhausted += node_failed(flow->requester) == NODE_EXHAUSTED;
		wrong += node_failed(flow->requester) && node_failed(flow->requester) != NODE_EXHAUSTED;
		misplaced += node_placed(target) < (uint64_t)setting.message * flow->done;
		bytes += size;
		times.push_back(took.GetSeconds());
		rates.push_back(size / took.GetSeconds());
		last = std::max(last, took);
	}
	std::sort(times.begin(), times.end());
	for (const auto &host : run.hosts) {
		node_stats one = host->stats();

		stats.tx_pkts += one.tx_pkts;
		stats.retransmits += one.retransmits;
		stats.timeouts += one.timeouts;
		stats.cnps += one.cnps;
		stats.held += one.held;
	}
	for (const auto &[port, watch] : run.fabric->queues()) {
		const QueueDisc::Stats &counts = watch.disc->GetStats();

		dropped += counts.nTotalDroppedPackets;
		marked += counts.nTotalMarkedPackets;
	}
	const QueueWatch &queue = queueOf(run);
	double goodput = bytes * 8 / last.GetSeconds();
	double part = goodput / (run.bottlenecks * (double)run.fabric->rate());

	fairness = jain(rates);
	if (!run.shares.empty())
		fairness = std::accumulate(run.shares.begin(), run.shares.end(), 0.0) / run.shares.size();
	printf("# %s: %s\n", scenario.name, scenario.title);
	printf("#   goodput %.3f Gbit/s, %.3f of the bottleneck; Jain %.3f; completion ms p50 %.2f p99 %.2f max %.2f\n",
	       goodput / 1e9, part, fairness, percentile(times, 0.5) * 1e3, percentile(times, 0.99) * 1e3,
	       times.back() * 1e3);
	printf("#   queue: mean %.1f, most %u packets; %llu dropped, %llu marked, %llu CNPs; links lost %llu\n",
	       queue.mean((scenario.timed ? Simulator::Now() : last).GetNanoSeconds()), queue.most, (unsigned long long)dropped,
	       (unsigned long long)marked, (unsigned long long)stats.cnps, (unsigned long long)run.fabric->lost());
	printf("#   packets: %llu, %llu of them again, %llu kept, %llu time-outs; flows: %zu, of %u retries exhausted\n",
	       (unsigned long long)stats.tx_pkts, (unsigned long long)stats.retransmits,
	       (unsigned long long)stats.held, (unsigned long long)stats.timeouts, run.flows.size(), exhausted);
	if (scenario.loses != (run.fabric->lost() > 0)) {
		printf("not ok %s # links have lost %llu packets\n", scenario.name, (unsigned long long)run.fabric->lost());
		return false;
	}
	if (unfinished || wrong || misplaced) {
		printf("not ok %s # of %zu flows %u unfinished, %u in error, %u with bytes missing\n", scenario.name,
		       run.flows.size(), unfinished, wrong, misplaced);
		return false;
	}
	if (setting.bars && (exhausted || part < scenario.least || fairness < scenario.fair)) {
		printf("not ok %s # %.3f of the bottleneck (bar %.2f), Jain %.3f (bar %.2f), %u exhausted\n",
		       scenario.name, part, scenario.least, fairness, scenario.fair, exhausted);
		return false;
	}
	printf("ok %s\n", scenario.name);
	return true;
}

static bool runOne(const Scenario &scenario, double &fairness)
{
	bool ok;

	/* What a scenario is does not depend on those before it. */
	RngSeedManager::SetSeed(setting.seed);
	RngSeedManager::ResetNextStreamIndex();
	{
		Run run;

		scenario.make(run);
		/* Ends as soon as all has completed. */
		std::function<void()> look = [&] {
			for (const auto &flow : run.flows)
				if (!flow->isDone() && !node_failed(flow->requester)) {
					Simulator::Schedule(MicroSeconds(100), look);
					return;
				}
			Simulator::Stop();
		};
		Simulator::Schedule(MicroSeconds(100), look);
		if (scenario.timed)
			Simulator::Schedule(Seconds(scenario.seconds / 2), [&run] {
				for (const auto &flow : run.flows)
					flow->half = flow->done;
				beginPeriod(run);
			});
		Simulator::Stop(Seconds(scenario.seconds));
		Simulator::Run();
		ok = judge(scenario, run, fairness);
		Simulator::Destroy();
	}
	fflush(stdout);
	return ok;
}

/* By each of @controls, in several worlds: shares get less equal from one to the next. */
static bool compare(const Scenario &scenario, const std::string &controls)
{
	const uint32_t seeds = 3, first = setting.seed;
	std::stringstream words(controls);
	std::string name, before;
	double least = 1;
	bool ok = true;

	while (std::getline(words, name, ',')) {
		double sum = 0, one;

		setting.control = name;
		for (setting.seed = first; setting.seed < first + seeds; setting.seed++) {
			ok &= runOne(scenario, one);
			sum += one;
		}
		setting.seed = first;
		printf("# %s by %s: Jain %.4f\n", scenario.name, name.c_str(), sum / seeds);
		if (!before.empty() && sum / seeds >= least) {
			printf("not ok %s-fairer # %s is not fairer than %s\n", scenario.name, before.c_str(), name.c_str());
			ok = false;
		}
		least = sum / seeds;
		before = name;
	}
	if (ok)
		printf("ok %s-fairer\n", scenario.name);
	return ok;
}

int main(int argc, char **argv)
{
	bool list = false, ok = true;
	std::string fairer;
	double fairness;
	CommandLine cmd;

	cmd.AddValue("list", "only name the scenarios", list);
	cmd.AddValue("bars", "compare with what the scenarios demand", setting.bars);
	cmd.AddValue("seed", "of all that is random", setting.seed);
	cmd.AddValue("mtu", "path MTU", setting.mtu);
	cmd.AddValue("message", "bytes of a message", setting.message);
	cmd.AddValue("depth", "requests outstanding, a power of two", setting.depth);
	cmd.AddValue("timeout", "code of the acknowledgement time-out", setting.timeout);
	cmd.AddValue("queue", "of switches: red, which marks, or fifo", setting.queue);
	cmd.AddValue("op", "WRITE, READ or SEND", setting.op);
	cmd.AddValue("control", "of congestion: off, window, delay, or DCQCN by rp_time_reset/rp_ai_rate/rp_hai_rate",
		     setting.control);
	cmd.AddValue("holds", "both ends keep what is behind a gap, and know it", setting.holds);
	cmd.AddValue("fairer", "controls, with commas between: each is to share more fairly than the next", fairer);
	/* ns-3 takes words without dashes for its own: they are ours */
	std::vector<char *> options{argv[0]};
	std::vector<std::string> names;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--", 2))
			options.push_back(argv[i]);
		else
			names.push_back(argv[i]);
	}
	cmd.Parse(options.size(), options.data());
	for (const Scenario &scenario : scenarios) {
		bool wanted = names.empty() || std::find(names.begin(), names.end(), scenario.name) != names.end();

		if (list)
			printf("%-12s %s\n", scenario.name, scenario.title);
		else if (wanted)
			ok &= fairer.empty() ? runOne(scenario, fairness) : compare(scenario, fairer);
	}
	return !ok;
}
