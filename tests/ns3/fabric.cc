// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fabric.hh. */
#include "fabric.hh"

#include <algorithm>
#include <deque>

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface-container.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-header.h"
#include "ns3/uinteger.h"

using namespace ns3;

/* Bytes of an Ethernet with jumbo frames, into which a path MTU of 4096 fits. */
static const uint16_t DEVICE_MTU = 9000;
/* Packets below the queue discipline. */
static const char *const DEVICE_QUEUE = "2p";
/* Packets of a host's queue discipline: that of Linux (txqueuelen). */
static const uint32_t HOST_PACKETS = 1000;

/* ---- queues -------------------------------------------------------------- */

void QueueWatch::changed(uint32_t before, uint32_t after)
{
	int64_t at = Simulator::Now().GetNanoSeconds();

	area += (uint64_t)before * (at - since);
	since = at;
	now = after;
	most = std::max(most, after);
}

double QueueWatch::mean(int64_t until) const
{
	return until ? (area + (double)now * (until - since)) / until : 0;
}

/* ---- next hops ------------------------------------------------------------ */

namespace {

/* IPv4 of a node: what is not for itself goes where the fabric says. */
class FabricRouting : public Ipv4RoutingProtocol {
public:
	FabricRouting(const Fabric *fabric, uint32_t node) : m_fabric(fabric), m_node(node) {}

	Ptr<Ipv4Route> RouteOutput(Ptr<Packet> p, const Ipv4Header &header, Ptr<NetDevice> oif,
				   Socket::SocketErrno &error) override
	{
		error = Socket::ERROR_NOTERROR;
		/* (a host has one link) */
		return make(header.GetDestination(), 0, error);
	}

	bool RouteInput(Ptr<const Packet> p, const Ipv4Header &header, Ptr<const NetDevice> idev,
			const UnicastForwardCallback &forward, const MulticastForwardCallback &,
			const LocalDeliverCallback &deliver, const ErrorCallback &fail) override
	{
		uint32_t iif = m_ipv4->GetInterfaceForDevice(idev);
		Socket::SocketErrno error = Socket::ERROR_NOTERROR;

		if (m_ipv4->IsDestinationAddress(header.GetDestination(), iif)) {
			deliver(p, header, iif);
			return true;
		}
		Ptr<Ipv4Route> route = make(header.GetDestination(), hash(p, header), error);
		if (route)
			forward(route, p, header);
		else
			fail(p, header, error);
		return true;
	}

	void NotifyInterfaceUp(uint32_t) override {}
	void NotifyInterfaceDown(uint32_t) override {}
	void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
	void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
	void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
	void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

private:
	/* Each switch has its own, or all would choose alike. */
	uint32_t hash(Ptr<const Packet> p, const Ipv4Header &header) const
	{
		UdpHeader udp;
		uint64_t word;

		p->PeekHeader(udp);
		word = (uint64_t)header.GetSource().Get() << 32 | header.GetDestination().Get();
		word ^= ((uint64_t)udp.GetSourcePort() << 20) + m_node;
		/* the finalizer of splitmix64 */
		word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
		word = (word ^ word >> 27) * 0x94d049bb133111ebull;
		return word ^ word >> 31;
	}

	Ptr<Ipv4Route> make(Ipv4Address to, uint32_t hash, Socket::SocketErrno &error)
	{
		const std::vector<uint32_t> &ways = m_fabric->nextHops(m_node, to);

		if (ways.empty()) {
			error = Socket::ERROR_NOROUTETOHOST;
			return nullptr;
		}
		uint32_t interface = ways[hash % ways.size()];
		Ptr<Ipv4Route> route = Create<Ipv4Route>();
		route->SetDestination(to);
		route->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
		route->SetGateway(Ipv4Address::GetZero());
		route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
		return route;
	}

	const Fabric *m_fabric;
	uint32_t m_node;
	Ptr<Ipv4> m_ipv4;
};

} // namespace

const std::vector<uint32_t> &Fabric::nextHops(uint32_t node, Ipv4Address to) const
{
	static const std::vector<uint32_t> none;
	auto host = m_hostOf.find(to.Get());

	return host == m_hostOf.end() ? none : m_next[node][host->second];
}

/* The shortest ways to each host over links that are up. */
void Fabric::route()
{
	m_next.assign(m_nodes.size(), std::vector<std::vector<uint32_t>>(m_hosts.size()));
	for (uint32_t h = 0; h < m_hosts.size(); h++) {
		std::vector<uint32_t> far(m_nodes.size(), UINT32_MAX);
		std::deque<uint32_t> todo{m_hosts[h]};

		far[m_hosts[h]] = 0;
		while (!todo.empty()) {
			uint32_t at = todo.front();

			todo.pop_front();
			for (const Link &link : m_links) {
				if (!link.up || (link.end[0] != at && link.end[1] != at))
					continue;
				uint32_t side = link.end[0] == at, other = link.end[side];

				if (far[other] == UINT32_MAX) {
					far[other] = far[at] + 1;
					/* a host forwards nothing */
					if (!m_isHost[other])
						todo.push_back(other);
				}
				if (far[other] == far[at] + 1)
					m_next[other][h].push_back(link.interface[side]);
			}
		}
	}
}

/* ---- making it ------------------------------------------------------------ */

uint32_t Fabric::addSwitch()
{
	InternetStackHelper stack;
	Ptr<Node> node = CreateObject<Node>();

	stack.SetIpv6StackInstall(false);
	stack.Install(node);
	node->GetObject<Ipv4>()->SetRoutingProtocol(CreateObject<FabricRouting>(this, m_nodes.size()));
	m_nodes.push_back(node);
	m_isHost.push_back(false);
	return m_nodes.size() - 1;
}

uint32_t Fabric::addHost()
{
	uint32_t node = addSwitch();

	m_isHost[node] = true;
	m_hosts.push_back(node);
	return node;
}

void Fabric::link(uint32_t a, uint32_t b)
{
	PointToPointHelper p2p;
	Link link = {{a, b}, {0, 0}, true, {}};
	NetDeviceContainer devices;

	p2p.SetDeviceAttribute("DataRate", DataRateValue(DataRate(m_config.rate)));
	p2p.SetDeviceAttribute("Mtu", UintegerValue(DEVICE_MTU));
	p2p.SetChannelAttribute("Delay", TimeValue(m_config.delay));
	p2p.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(DEVICE_QUEUE));
	devices = p2p.Install(m_nodes[a], m_nodes[b]);
	for (uint32_t side = 0; side < 2; side++) {
		bool isHost = m_isHost[link.end[side]];
		TrafficControlHelper control;

		if (isHost || m_config.queue == "fifo")
			control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
						 QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS,
									  isHost ? HOST_PACKETS : m_config.packets)));
		else
			/* The length itself counts, not its mean, as in switches. */
			control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize",
						 QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, m_config.packets)),
						 "MinTh", DoubleValue(m_config.min), "MaxTh", DoubleValue(m_config.max),
						 "QW", DoubleValue(1), "LInterm", DoubleValue(10),
						 "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
						 "LinkBandwidth", DataRateValue(DataRate(m_config.rate)),
						 "LinkDelay", TimeValue(m_config.delay));
		control.Install(devices.Get(side));
		/* A cut link loses all; what is lost by chance, is lost once, before its host. */
		Ptr<RateErrorModel> cut = CreateObject<RateErrorModel>();

		cut->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
		cut->SetRate(m_config.loss);
		if (m_config.loss == 0 || !isHost)
			cut->Disable();
		DynamicCast<PointToPointNetDevice>(devices.Get(side))->SetReceiveErrorModel(cut);
		devices.Get(side)->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Fabric::countLost, this));
		link.cut[side] = cut;
	}

	Ipv4InterfaceContainer interfaces = m_addresses.Assign(devices);

	m_addresses.NewNetwork();
	for (uint32_t side = 0; side < 2; side++) {
		link.interface[side] = interfaces.Get(side).second;
		if (m_isHost[link.end[side]])
			continue;
		QueueWatch &watch = m_queues[(uint64_t)link.end[side] << 32 | link.interface[side]];

		watch.disc = m_nodes[link.end[side]]->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
			devices.Get(side));
		watch.disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueWatch::changed, &watch));
	}
	m_links.push_back(link);
}

void Fabric::finish()
{
	for (uint32_t i = 0; i < m_hosts.size(); i++)
		m_hostOf[address(i).Get()] = i;
	route();
}

Ipv4Address Fabric::address(uint32_t i) const
{
	return host(i)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
}

const QueueWatch &Fabric::queueTo(uint32_t host) const
{
	for (const Link &link : m_links)
		for (uint32_t side = 0; side < 2; side++)
			if (link.end[!side] == m_hosts[host])
				return m_queues.at((uint64_t)link.end[side] << 32 | link.interface[side]);
	NS_FATAL_ERROR("a host without a link");
}

Fabric::Link *Fabric::busiest()
{
	uint64_t most = 0;
	Link *found = nullptr;

	for (Link &link : m_links) {
		uint64_t sent = 0;

		if (m_isHost[link.end[0]] || m_isHost[link.end[1]])
			continue;
		for (uint32_t side = 0; side < 2; side++)
			sent += m_queues.at((uint64_t)link.end[side] << 32 | link.interface[side]).disc->GetStats().nTotalSentPackets;
		if (sent > most) {
			most = sent;
			found = &link;
		}
	}
	return found;
}

void Fabric::fail(Time at, Time notice)
{
	Simulator::Schedule(at, [this, notice] {
		Link *link = busiest();

		if (!link)
			return;
		for (const Ptr<RateErrorModel> &cut : link->cut) {
			cut->SetRate(1);
			cut->Enable();
		}
		Simulator::Schedule(notice, [this, link] {
			link->up = false;
			route();
		});
	});
}
