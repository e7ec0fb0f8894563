#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# examples/: the first program prints, sends and is traced as examples/README.md says; the
# udev rule makes a device when its network device appears. About 15 s.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

examples=/usr/local/share/softhca/examples
make_pair 1500

# documented KIND : the block of README.md; numbers of queue pairs differ each time
documented() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" $examples/README.md | plain; }
plain() { sed -E 's/^ *[0-9]+ +[0-9.]+ +[0-9.]+ → [0-9.]+ +//; s/(0x|hdr=)[0-9a-f]+/N/g; s/ +/ /g; s/ $//'; }

run eval "capture /tmp/hello.pcap '-i veth_a' $examples/hello shca_a shca_b >/tmp/hello.out"
check prints diff <(documented output) <(grep -E '^(send|receive|shca_a)' /tmp/hello.out)
check capture diff <(documented capture) <(tshark -r /tmp/hello.pcap 2>/dev/null | plain)
run trace-cmd record -q -o /tmp/hello.dat -e softhca -- "$examples/hello" shca_a shca_b
# (what two CPUs do is not always told in one order)
traced() { trace-cmd report -q /tmp/hello.dat | sed -n 's/.*: \(shca_[a-z_]*: .*\)/\1/p' | grep -v '^shca_state:' | plain; }
check trace diff <(documented trace | sort) <(traced | sort)

# The rule, by udev itself, for a device of our own MAC address.
mac=02:00:5e:00:00:07
at_exit rm -f /etc/udev/rules.d/70-softhca.rules
run eval "sed 's/52:54:00:00:00:01/$mac/; s/shca0/shca_udev/' $examples/70-softhca.rules >/etc/udev/rules.d/70-softhca.rules"
run grep -q "$mac.*shca_udev" /etc/udev/rules.d/70-softhca.rules
at_exit pkill systemd-udevd
run /usr/lib/systemd/systemd-udevd --daemon
run wait_for 20 udevadm control --ping
modprobe dummy || fail "no dummy"
at_exit ip link del shca_dummy
run ip link add shca_dummy address $mac type dummy
check udev wait_for 20 eval 'rdma link show | grep -q "shca_udev/1.*netdev shca_dummy"'
run ip link del shca_dummy
check udev_gone wait_for 20 device_is_gone shca_udev
