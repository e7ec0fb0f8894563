#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# softhca top: rates of devices, queue pairs and processes are those of the traffic, each request
# and byte counts, a user sees what a user may, and the window on a terminal shows the same. About 40 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

instances() { ls -d /sys/kernel/tracing/instances/softhca-* 2>/dev/null; }
modprobe -r softhca
check refused.no_module says 1 "the softhca module is not loaded" softhca top --once
run modprobe softhca
check no_device says 0 '0 devices, 0 queue pairs' softhca top --once -i 0.1
check refused.interval says 2 'SECONDS must be 0.1 to 3600' softhca top --once -i 0
check refused.json says 2 'add --once' softhca top --json
check refused.no_terminal says 2 'add --once' softhca top

make_pair 1500
start_traffic top shca_a shca_b -f 4 -u 14
softhca top --once --json -i 2 >/tmp/top.json || fail 'no JSON'
softhca top --once >/tmp/top.text
cat /tmp/top.text
sees() {
	python3 - <<-END
		import json
		top = json.load(open("/tmp/top.json"))
		devices = {d["device"]: d for d in top["devices"]}
		assert set(devices) == {"shca_a", "shca_b"}, devices
		for d in devices.values():
		    assert d["tx_packets_per_s"] > 0 and d["rx_bytes_per_s"] > 0 and d["tx_packets"] > 0, d
		qps = [q for q in top["queue_pairs"] if q["type"] == "RC" and q["state"] == "RTS"]
		busy = [q for q in qps if q["requests_per_s"] > 0]
		assert busy and all(q["comm"] == "traffic" and q["pid"] > 0 for q in busy), qps
		assert {q["peer_qpn"] for q in busy} <= {q["qpn"] for q in top["queue_pairs"]}, qps
		of_it = [q for q in top["queue_pairs"] if q["comm"] == "traffic"]
		whole = sum(p["requests_per_s"] for p in top["processes"] if p["comm"] == "traffic")
		assert abs(whole - sum(q["requests_per_s"] for q in of_it)) < 1, top
	END
}
check rates_are_there sees

# ---- latencies: a delay moves them

latencies() { # FILE CODE : of a look, with d and q of device shca_a and its busiest queue pair
	python3 - "$@" <<-END
		import json
		import sys
		top = json.load(open(sys.argv[1]))
		d = next(d["latency"] for d in top["devices"] if d["device"] == "shca_a")
		of_it = [q for q in top["queue_pairs"] if q["device"] == "shca_a" and q["comm"] == "traffic"]
		q = max((q["latency"] for q in of_it), key=lambda of: of["requests"])
		for of in d, q:
		    buckets = of["buckets"]
		    assert of["requests"] > 0 and sum(b["requests"] for b in buckets) == of["requests"], of
		    assert buckets[0]["from_us"] <= of["p50_us"] <= of["p99_us"] <= buckets[-1]["to_us"], of
		    for b in buckets:
		        assert abs(b["to_us"] / b["from_us"] - 2) < 0.01, b
		assert d["requests"] == sum(q["latency"]["requests"] for q in top["queue_pairs"] if q["device"] == "shca_a"), top
		print(sys.argv[1], "p50", d["p50_us"], "p99", d["p99_us"], "of", d["requests"], "requests")
		exec(sys.argv[2])
	END
}
check latencies latencies /tmp/top.json ''
check latencies.text eval 'grep -q -E "^shca_a  .* [0-9.]+(us|ms|s)  [|].*[.:=+*#-].*[|]$" /tmp/top.text'
# (datagrams complete without an answer, so they are as fast as before; 70 ms are in a bucket
# from 67 ms on)
run in_a softhca fault add dev=shca_a do=delay delay=70ms
sleep 0.5
softhca top --once --json -i 2 >/tmp/top.delayed
run in_a softhca fault del all
check latencies.with_a_delay latencies /tmp/top.delayed '
before = next(d["latency"] for d in json.load(open("/tmp/top.json"))["devices"] if d["device"] == "shca_a")
slowest = max(q["latency"]["p50_us"] for q in of_it if q["latency"]["requests"] >= 3)
assert d["p99_us"] >= 67000 and slowest >= 67000 and d["p50_us"] > before["p50_us"], (before, slowest, d)'
check latencies.leave_no_trace eval '! instances'
check text grep -q '^shca_a/0x.* RC  *RTS .* traffic' /tmp/top.text
a_user_sees() {
	setpriv --reuid 65534 --regid 65534 --clear-groups softhca top --once -i 0.2 >/tmp/top.user && cat /tmp/top.user &&
		grep -q 'CAP_NET_ADMIN shows' /tmp/top.user && grep -q '^shca_a ' /tmp/top.user &&
		grep -q 'root sees latencies' /tmp/top.user
}
check a_user_sees_devices a_user_sees
# (root has no need of sudo)
root_has_no_hint() { softhca top --once -i 0.2 --no-latency >/tmp/top.root && grep -q '^shca_a ' /tmp/top.root && ! grep sudo /tmp/top.root; }
check root_has_no_hint root_has_no_hint
# (tests/userspace/tool has what it looks like)
window() {
	(sleep "$slow"; printf q) | timeout $((60 * slow)) script -qec 'env TERM=xterm softhca top -i 0.3' /tmp/top.window >/dev/null
	grep -aq 'QUEUE PAIR' /tmp/top.window && grep -aq traffic /tmp/top.window
}
check window_ends_with_q window
check traffic_is_right end_traffic top

# ---- each request counts, though hardly one has a completion of its own

# It sleeps after its first look, and only then.
first_look() { grep -q "^230 " "/proc/$1/syscall"; }	# clock_nanosleep()
# during ARGUMENT... -- COMMAND... : top looks while COMMAND begins and says that it is done. A signal ends it, so
# no time is to be guessed; what it prints is /tmp/top.during.
during() {
	local arguments=() top program status=0
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	shift
	softhca top --once --json -i 600 "${arguments[@]}" >/tmp/top.during &
	top=$!
	wait_for 20 first_look $top || status=1
	: >/tmp/top.program
	"$@" >/tmp/top.program 2>&1 &
	program=$!
	wait_for 60 grep -q '^done ' /tmp/top.program || status=1
	kill -TERM $top
	wait $top || status=1
	# Each test is a process of its own.
	pkill -TERM -P $program
	wait $program || status=1
	cat /tmp/top.program
	! instances && return $status
}
counted() { # CODE : of the queue pairs q and peer, their process and the device, with the nr and len of the program
	python3 - "$@" <<-END
		import json
		import sys
		top = json.load(open("/tmp/top.during"))
		words = next(line for line in open("/tmp/top.program") if line.startswith("done ")).split()[1:]
		qpn, peer_qpn, nr, length, signalled = map(int, words)
		q, peer = (next(q for q in top["queue_pairs"] if q["qpn"] == n) for n in (qpn, peer_qpn))
		process = next(p for p in top["processes"] if p["pid"] == q["pid"])
		assert process["comm"] == q["comm"] == "unsignalled" and process["qps"] == 2, process
		def is_nr(of, name, wanted):
		    gained = of[name + "_per_s"] * top["seconds"]
		    assert abs(gained - wanted) <= 0.5 + wanted / 1000, (name, gained, wanted, of)
		print(q, peer, process, sep="\n")
		exec(sys.argv[1])
	END
}
unsignalled=$test_programs/unsignalled
check unsignalled.write during -- "$unsignalled" -d shca_a -p shca_b -f 4 WRITE
check unsignalled.write.counted counted '
for of in q, process:
    is_nr(of, "requests", nr)
    assert of["latency"]["of"] == nr and of["latency"]["covers"] == "signalled requests", of
    assert of["latency"]["requests"] == signalled == sum(b["requests"] for b in of["latency"]["buckets"]), of
# (what is sent again, where a machine is slow to answer, is sent)
if not q["sent_again_per_s"]:
    is_nr(q, "tx_bytes", nr * length)
assert q["tx_bytes_per_s"] * top["seconds"] > nr * length * 0.999, q
is_nr(peer, "rx_bytes", nr * length)
is_nr(peer, "messages", nr)
is_nr(process, "rx_bytes", nr * length)
assert q["window"] > 0 and not q["rx_bytes_per_s"] and not q["errors_per_s"], q'
check unsignalled.read during --no-latency -- "$unsignalled" -d shca_a -f 4 READ
check unsignalled.read.counted counted '
is_nr(q, "requests", nr)
is_nr(q, "rx_bytes", nr * length)
is_nr(peer, "tx_bytes", nr * length)
assert q["latency"] is None and process["latency"] is None and q["direct"], q'
# It asks each second, so it has seen what a counter that begins anew had reached.
check reset.write during --no-latency -- "$unsignalled" -d shca_a -p shca_b -f 4 reset
check reset.counted counted '
is_nr(q, "requests", nr)
is_nr(peer, "messages", nr)
is_nr(q, "psns", 3 * nr)'
run in_a softhca fault add dev=shca_a do=drop dir=tx nth=5
check lost.write during --no-latency -- "$unsignalled" -d shca_a -p shca_b -f 4 WRITE
run in_a softhca fault del all
check lost.counted counted '
is_nr(q, "requests", nr)
is_nr(peer, "rx_bytes", nr * length)
assert q["sent_again_per_s"] > 0 and process["sent_again_per_s"] > 0, q
again = q["tx_bytes_per_s"] * top["seconds"] - nr * length
assert again >= 900, again'
check refused.write during --no-latency -- "$unsignalled" -d shca_a -p shca_b -f 4 wrong_key
check refused.counted counted '
is_nr(q, "errors", 1)
# (the other packets of the message come to a queue pair that has failed)
assert 1 <= round(peer["errors_per_s"] * top["seconds"]) <= 3, peer
assert q["state"] == peer["state"] == "ERR", (q, peer)'

check after_the_traffic eval '! softhca top --once -i 0.2 | grep traffic'

# ---- devices that go while it looks

start_traffic gone shca_a shca_b -f 4 -u 14
goes_meanwhile() {
	local pid
	softhca top --once --json -i 600 >/tmp/top.gone &
	pid=$!
	wait_for 20 first_look $pid && rdma link delete shca_a && rdma link delete shca_b && kill -TERM $pid && wait $pid &&
		python3 -c 'import json; assert not json.load(open("/tmp/top.gone"))["devices"]' && ! instances
}
check devices_go_meanwhile goes_meanwhile
end_traffic gone >/dev/null || :	# (whose queue pairs have failed)
