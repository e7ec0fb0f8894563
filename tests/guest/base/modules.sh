#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# kernels: 6.1 6.12 6.18 7.2 7.3
# modules: scsi_debug,sg,sr_mod,st,ses,scsi_dh_alua,scsi_dh_rdac,scsi_dh_emc
#
# Modules of the guest: those that docs/applications.md says are there, and those that it
# says need vm --modules, which scripts/check gives for the line above. Some seconds.
. "$(dirname "$0")/../lib.sh"

page=$test_programs/docs/applications.md
# What stands in backquotes of the page's part "In the guest", from one word to another.
# shellcheck disable=SC2016 # backquotes as they are
listed() { sed -n '/^## In the guest/,$p' "$page" | tr '\n' ' ' | sed -e "s/.*$1//" -e "s/$2.*//" | grep -o '`[a-z_-]*`' | tr -d '`'; }
there=$(listed 'all its consumers' 'and of SCSI')
more=$(listed 'nor what suites' 'Name those')
if [ -z "$there" ] || [ -z "$more" ]; then fail "the page has no lists"; fi
named=$(sed -n 's/^# modules: //p' "$0")
# (by hand it runs without the option)
modinfo scsi_debug >/dev/null 2>&1 || skip "needs scripts/qemu/vm --modules $named"

same_list() { diff <(echo "$more" | sort) <(tr , '\n' <<<"$named" | sort); }
check page_names_those_of_this_test same_list
for module in $there; do
	case $module in
	target) module=target_core_mod ;;
	nvme) module=nvme_core ;;
	md) module=raid1 ;;
	# (SMC has left Debian with 7.2's kernel)
	smc) [[ $(uname -r) != 7.* ]] || continue ;;
	esac
	check "there.$module" modinfo -F name "$module"
done
at_exit modprobe -r scsi_debug ses st sr_mod sg scsi_dh_alua scsi_dh_rdac scsi_dh_emc
run modprobe scsi_debug dev_size_mb=16
for module in $more; do check "more.$module" modprobe "$module"; done

disk() { find /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*:0/block -mindepth 1 -maxdepth 1 -printf '/dev/%f\n' 2>/dev/null | head -n 1; }
has_disk() { [ -b "$(disk)" ]; }
modprobe sd_mod
data() {
	local device
	wait_for 10 has_disk && device=$(disk) || return
	head -c 1M /dev/urandom >/tmp/modules-data
	dd if=/tmp/modules-data of="$device" bs=64k oflag=direct status=none &&
		dd if="$device" bs=64k count=16 iflag=direct status=none | cmp - /tmp/modules-data
}
check scsi_debug.data data
check sg.node eval 'compgen -G "/dev/sg*"'
