/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hosts, switches and links of ns-3: IPv4 over point-to-point links, and a queue
 * discipline at each port of a switch.  A hash over addresses and ports chooses the next
 * hop, so that the packets of one queue pair take one way.
 */
#ifndef SHCA_NS3_FABRIC_HH
#define SHCA_NS3_FABRIC_HH

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ns3/error-model.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/queue-disc.h"

/**
 * struct FabricConfig - what all links and queues have in common
 * @rate: @delay: of each link
 * @queue:	"red", which marks packets that are ECN-capable and drops others, or "fifo"
 * @packets:	that a queue holds at most
 * @min: @max: thresholds of "red", in packets
 * @loss:	part of the packets that is lost
 */
struct FabricConfig {
	uint64_t rate = 10000000000;
	ns3::Time delay = ns3::MicroSeconds(1);
	std::string queue = "red";
	uint32_t packets = 1000;
	uint32_t min = 20;
	uint32_t max = 80;
	double loss = 0;
};

/**
 * struct QueueWatch - of a switch's port
 * @area:	packets in the queue times nanoseconds
 */
struct QueueWatch {
	ns3::Ptr<ns3::QueueDisc> disc;
	uint32_t most = 0;
	uint32_t now = 0;
	uint64_t area = 0;
	int64_t since = 0;

	void changed(uint32_t before, uint32_t after);
	double mean(int64_t until) const;
};

class Fabric {
public:
	explicit Fabric(const FabricConfig &config) : m_config(config) {}

	/** addHost() addSwitch() - Return: its number */
	uint32_t addHost();
	uint32_t addSwitch();
	/** link() - between two of them */
	void link(uint32_t a, uint32_t b);
	/** finish() - all is there: addresses and next hops */
	void finish();

	/**
	 * fail() - from @at on the link between switches that has carried most until then
	 * loses everything; who routes notices after @notice
	 */
	void fail(ns3::Time at, ns3::Time notice);

	uint32_t nrHosts() const { return m_hosts.size(); }
	ns3::Ptr<ns3::Node> host(uint32_t i) const { return m_nodes[m_hosts[i]]; }
	ns3::Ipv4Address address(uint32_t i) const;
	uint64_t rate() const { return m_config.rate; }
	/** lost() - packets that links have lost */
	uint64_t lost() const { return m_lost; }

	/** queueTo() - of the switch's port at @host */
	const QueueWatch &queueTo(uint32_t host) const;
	const std::map<uint64_t, QueueWatch> &queues() const { return m_queues; }

	/** nextHops() - interfaces of @node that lead to the host at @to; for routing */
	const std::vector<uint32_t> &nextHops(uint32_t node, ns3::Ipv4Address to) const;

private:
	struct Link {
		uint32_t end[2];
		uint32_t interface[2];
		bool up;
		ns3::Ptr<ns3::RateErrorModel> cut[2];
	};

	void route();
	Link *busiest();

	void countLost(ns3::Ptr<const ns3::Packet> p) { m_lost++; }

	FabricConfig m_config;
	uint64_t m_lost = 0;
	ns3::Ipv4AddressHelper m_addresses{"10.0.0.0", "255.255.255.252"};
	std::vector<ns3::Ptr<ns3::Node>> m_nodes;
	std::vector<uint32_t> m_hosts;
	std::vector<bool> m_isHost;
	std::vector<Link> m_links;
	std::map<uint64_t, QueueWatch> m_queues;		/* node << 32 | interface */
	std::map<uint32_t, uint32_t> m_hostOf;			/* address to host */
	std::vector<std::vector<std::vector<uint32_t>>> m_next;	/* node, host, interfaces */
};

#endif
