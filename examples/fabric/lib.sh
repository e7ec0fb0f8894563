# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shell library: a fabric of softhca-fabric, the stock OpenSM and infiniband-diags at its hosts,
# and commands for it. The scripts of this folder use it. Needs neither root nor a module.
#
#   . examples/fabric/lib.sh
#   fabric --ring=5
#   manager 'ring 0 host 1'
#   at 'ring 3 host 1' iblinkinfo
#   ask cut 'ring 1' 1
#
# UMAD2SIM is the path of libumad2sim.so (default: that of Debian's package libumad2sim0).

set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
export IBSIM_SOCKNAME=fabric$$ OSM_TMP_DIR=$work OSM_CACHE_DIR=$work
: "${UMAD2SIM:=$(ls /usr/lib/*/umad2sim/libumad2sim.so)}"
fabric='' managers=()
# (libumad2sim.so makes a folder in the working directory, and one that is killed leaves it)
cd "$work"

# leave PROCESS... : these end, if they are there yet
leave() {
	local process
	for process; do
		kill "$process" 2>"$work/why" || continue
		wait "$process" || :
	done
}

# die PROCESS : it ends without a word
die() {
	kill -9 "$1"
	wait "$1" 2>"$work/why" || :
}

# The managers first: they take leave of the fabric.
end_all() {
	# shellcheck disable=SC2086 # (numbers)
	leave "${managers[@]}" $fabric
	managers=() fabric=''
}

# What this script has started ends with it.
trap 'end_all; rm -rf "$work"' EXIT

# fabric OPTION... : a fabric takes the place of the one before
fabric() {
	end_all
	rm -rf "$work/fabric.log" "$work/files of "*
	softhca-fabric --control="$work/control" "$@" >"$work/fabric.log" 2>&1 &
	fabric=$!
	wait_for 20 grep -qx ready "$work/fabric.log" || { cat "$work/fabric.log" >&2; exit 1; }
}

# ask COMMAND NODE PORT [WORD]... : a command for the fabric
ask() { softhca-fabric --ask="$work/control" "$@"; }

# at HOST PROGRAM [ARGUMENT]... : a program runs at a node of the fabric
at() {
	local host=$1
	shift
	# (the library says on stderr at which node it is)
	SIM_HOST=$host LD_PRELOAD=$UMAD2SIM "$@" 2> >(grep -v sim_connect >&2)
}

# sweep HOST [OPTION]... : OpenSM configures all, and ends
sweep() {
	local host=$1
	shift
	at "$host" opensm -o -D 0x43 -f "$work/opensm.log" "$@" >"$work/opensm.out"
}

# begin_manager HOST [OPTION]... : OpenSM begins at a host, and stays; its process is $manager, its log $work/HOST.log
begin_manager() {
	local host=$1
	shift
	rm -f "$work/$host.log"
	# (it keeps LIDs and keys in files, which are its own)
	mkdir -p "$work/files of $host"
	SIM_HOST=$host LD_PRELOAD=$UMAD2SIM OSM_TMP_DIR="$work/files of $host" OSM_CACHE_DIR="$work/files of $host" \
		opensm -D 0x43 -d 2 -f "$work/$host.log" "$@" >"$work/$host.out" 2>&1 &
	manager=$!
	managers+=("$manager")
}

# manager HOST [OPTION]... : the same, and it has configured the fabric, or is in standby
manager() {
	begin_manager "$@"
	wait_for 20 grep -Eiq 'SUBNET UP|ENTERING STANDBY' "$work/$1.log"
}

# config NAME=VALUE... : a configuration of OpenSM
config() {
	printf '%s\n' "${@/=/ }" >"$work/opensm.conf"
	echo "$work/opensm.conf"
}

# path_sl FROM TO : the service level of the path between two hosts, as the manager says
path_sl() { at "$1" saquery PR --slid "$(value lid "$1" 1)" --dlid "$(value lid "$2" 1)" | sed -n 's/^\t\tsl\.\.*//p' | head -n 1; }

# value NAME NODE [PORT] : what a port has, or each port of a node
value() {
	local line shown
	shown=$(ask show "${@:2}")
	while read -r line; do
		[[ ! $line =~ \"$1\":\ \"?([^\",}]*) ]] || echo "${BASH_REMATCH[1]}"
	done <<<"$shown"
}

# has NAME VALUE NODE PORT : has a port this value?
has() { [ "$(value "$1" "$3" "$4")" = "$2" ]; }

# flow HOST : packets that its flow has yet to send, that it has sent, and those that have arrived
flow() {
	[[ $(ask show "$1" 1) =~ \"left\":\ ([0-9]+),\ \"sent\":\ ([0-9]+),\ \"arrived\":\ ([0-9]+) ]]
	echo "${BASH_REMATCH[@]:1}"
}
arrived() {
	local arrived
	read -r _ _ arrived < <(flow "$1")
	echo "$arrived"
}

# arrives HOST : waits until 100 more packets of its flow have arrived
arrives() {
	local wanted=$(($(arrived "$1") + 100))
	wait_for 20 has_arrived $wanted "$1"
}
has_arrived() { [ "$(arrived "$2")" -ge "$1" ]; }

# all_sent HOST, all_arrived HOST : of its flow, which has an end
all_sent() { [[ $(flow "$1") == '0 '* ]]; }
all_arrived() { [[ $(flow "$1") =~ ^0\ ([0-9]+)\ ([0-9]+)$ && ${BASH_REMATCH[1]} = "${BASH_REMATCH[2]}" ]]; }

# tell_flow HOST : what has become of it
tell_flow() {
	local sent arrived
	read -r _ sent arrived < <(flow "$1")
	echo "$sent packets sent, $arrived have arrived"
}

# wait_for SECONDS COMMAND... : until it succeeds
wait_for() {
	local until=$((SECONDS + $1))
	shift
	until "$@" 2>"$work/why"; do
		[ $SECONDS -lt $until ] || { echo "${0##*/}: never: $*" >&2; return 1; }
		sleep 0.05
	done
}
