#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Prometheus: node_exporter's infiniband collector reads our ports without an error line,
# and their counters are those of sysfs; each expression of examples/grafana-dashboard.json
# is valid for promtool and returns data of both devices. About 20 s.
#
# timeout: 300
# kernels: 6.12
. "$(dirname "$0")/../lib.sh"

examples=/usr/local/share/softhca/examples
for program in prometheus promtool prometheus-node-exporter; do
	command -v $program >/dev/null || skip "$program is not installed"
done

at_exit softhca down
run softhca up
run ip link set lo up
mkdir -p /tmp/textfile
metrics() { $examples/softhca-metrics >/tmp/textfile/softhca.prom.new && mv /tmp/textfile/softhca.prom.new /tmp/textfile/softhca.prom; }
check metrics metrics
check metrics.are_valid promtool check metrics --extended </tmp/textfile/softhca.prom
# each counter of sysfs of each device, and nothing else
expected() {
	local file value
	for file in /sys/class/infiniband/shca?/ports/1/hw_counters/*; do
		read -r value <"$file"
		[ "${file##*/}" = lifespan ] || echo "${file##*/} $(cut -d/ -f5 <<<"$file") $value"
	done | sort
}
written() { sed -n 's/^softhca_\(.*\)_total{device="\([^"]*\)",port="1"} \(.*\)/\1 \2 \3/p' /tmp/textfile/softhca.prom | sort; }
check metrics.are_all diff <(expected) <(written)

# Neither needs a privilege; as root the exporter warns.
unprivileged() { exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
mkdir -m 777 /tmp/tsdb
unprivileged prometheus-node-exporter --collector.disable-defaults --collector.infiniband --collector.textfile \
	--collector.textfile.directory=/tmp/textfile --web.listen-address=127.0.0.1:9100 >/tmp/exporter.log 2>&1 &
at_exit kill $!
run wait_for 60 scraped
cat >/tmp/prometheus.yml <<-END
	global: { scrape_interval: 2s, scrape_timeout: 2s }
	scrape_configs: [ { job_name: node, static_configs: [ { targets: [ '127.0.0.1:9100' ] } ] } ]
END
unprivileged prometheus --config.file=/tmp/prometheus.yml --storage.tsdb.path=/tmp/tsdb --web.listen-address=127.0.0.1:9090 \
	>/tmp/prometheus.log 2>&1 &
at_exit kill $!

# Traffic, so that the port's counters move
run eval 'softhca learn 4 >/tmp/learn.out'
run metrics
run scraped
success() { grep -x 'node_scrape_collector_success{collector="infiniband"} 1' /tmp/scraped; }
check exporter.infiniband success
# port NAME METRIC FACTOR : they are the same, and not 0
port() {
	local device want got
	for device in shca0 shca1; do
		read -r want <"/sys/class/infiniband/$device/ports/1/counters/$1"
		got=$(sed -n "s/^node_infiniband_$2{device=\"$device\",port=\"1\"} //p" /tmp/scraped)
		echo "$device: $1 $want, $2 $got"
		[ "$want" -gt 0 ] && [ "$(printf %.0f "${got:-0}")" = $((want * $3)) ] || return
	done
}
check exporter.sent port port_xmit_data port_data_transmitted_bytes_total 4
check exporter.received port port_rcv_data port_data_received_bytes_total 4
check exporter.packets_sent port port_xmit_packets port_packets_transmitted_total 1
check exporter.packets_received port port_rcv_packets port_packets_received_total 1
active() { [ "$(grep -c '^node_infiniband_state_id{device="shca[01]",port="1"} 4$' /tmp/scraped)" = 2 ]; }
check exporter.active active
quiet() { cat /tmp/exporter.log; ! grep -i -E 'level=(error|warn)' /tmp/exporter.log; }
check exporter.no_error_line quiet

# expressions of the dashboard, with what Grafana puts in for its variables
# shellcheck disable=SC2016 # Grafana's
sed -n 's/^ *"expr": "\(.*\)",$/\1/p' $examples/grafana-dashboard.json |
	sed 's/\\"/"/g; s/\$instance/.*/; s/\$device/.*/; s/\$__rate_interval/1m/' >/tmp/expressions
rules() {
	echo 'groups: [ { name: dashboard, rules: ['
	awk '{ printf "  { record: dashboard:%d, expr: \x27%s\x27 },\n", NR, $0 }' /tmp/expressions
	echo '] } ]'
}
rules >/tmp/rules.yml
check promtool eval 'wc -l </tmp/expressions; [ -s /tmp/expressions ] && promtool check rules --lint=none /tmp/rules.yml'
cat >/tmp/ask.py <<-END
	import json, sys, urllib.parse, urllib.request
	bad = 0
	for line in open("/tmp/expressions"):
	    query = urllib.parse.urlencode({"query": line.strip()})
	    data = json.load(urllib.request.urlopen("http://127.0.0.1:9090/api/v1/query?" + query))
	    devices = sorted(one["metric"].get("device", "") for one in data["data"]["result"])
	    if devices != ["shca0", "shca1"]:
	        bad = 1
	        print(line.strip(), devices)
	sys.exit(bad)
END
# (a rate needs two samples)
returned() { wait_for 60 python3 /tmp/ask.py || { python3 /tmp/ask.py; cat /tmp/prometheus.log; return 1; }; }
check expressions_return_data returned
