#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The tool's command line: help, man page and completions name what its table has and
# nothing else; errors come in the order that helps, each with what is allowed; bash and
# zsh complete commands, values and devices. About 15 s.
. "$(dirname "$0")/../lib.sh"

# ---- what needs no device: help, man page, version

usages() { softhca --help | sed -n 's/^  softhca //p'; }
# the man page's synopsis as plain words
synopsis() {
	sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' /usr/local/share/man/man8/softhca.8 |
		sed -e '/^\./d' -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e 's/^softhca //' | grep -v -e '^COMMAND' -e '^--'
}
same() { diff "$1" "$2" && [ -s "$1" ]; }
usages >/tmp/tool.usages
synopsis >/tmp/tool.synopsis
check man_page_has_the_commands same /tmp/tool.usages /tmp/tool.synopsis
# (a name is all words before the first value or option)
names() { sed "s/ [^ ]*[^a-z ].*//" /tmp/tool.usages | sort -u; }
# every command is explained in the page, and by its own help
explained() {
	local name
	names | while read -r name; do
		grep -q "^.fB$name.fR" /usr/local/share/man/man8/softhca.8 || { echo "the page does not explain $name"; return 1; }
		# shellcheck disable=SC2086 # one or two words
		softhca $name --help | grep -F "softhca $name" || return
	done
}
check commands_are_explained explained
options() { grep -o -e '--[a-z][a-z-]*' | sort -u; }
options_are_explained() {
	diff <(softhca --help | options) <(sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' /usr/local/share/man/man8/softhca.8 |
		sed 's/\\-/-/g' | options)
}
check man_page_has_the_options options_are_explained
completion_has_the_commands() {
	local first
	diff <(softhca --complete '' | sort) <(names | cut -d' ' -f1 | sort -u) || return
	for first in $(names | sed -n 's/ .*//p' | sort -u); do
		diff <(softhca --complete "$first" '' | sort) <(names | sed -n "s/^$first //p" | sort) || return
	done
}
check completion_has_the_commands completion_has_the_commands
completion_has_the_options() {
	local usage option
	while read -r usage; do
		for option in $(options <<<"$usage") --help; do
			# shellcheck disable=SC2086 # one or two words
			softhca --complete ${usage%% [^a-z]*} -- | grep -qxe "$option" || { echo "$usage: $option"; return 1; }
		done
	done </tmp/tool.usages
}
check completion_has_the_options completion_has_the_options
group_help() { [ "$(softhca dev --help | grep -c '^  softhca dev')" = "$(grep -c '^dev' /tmp/tool.usages)" ]; }
check help_of_a_group group_help
help_of_one() { softhca dev set shca_a --help | grep 'pkey INDEX' && ! softhca dev set --help | grep 'dev show'; }
check help_of_a_command help_of_one
run modprobe softhca
versions() { diff <(softhca --version) <(modinfo -F version softhca | sed 's/^\(.*\)$/softhca \1\nmodule \1/'); }
check version versions

# ---- errors: first the command, then the device, then the value

run ip link add dummy_a type dummy
at_exit ip link del dummy_a
run ip link set dummy_a up
add_device shca_a dummy_a
# tool_refuses STATUS TEXT WORD... : with this status, and nothing but this text and perhaps a hint
tool_refuses() {
	local status=0 want=$1 text=$2 said hint
	shift 2
	softhca "$@" >/tmp/refused 2>/tmp/refused.err || status=$?
	{ IFS= read -r said; IFS= read -r hint; } </tmp/refused.err
	echo "$said"
	[ "$status" = "$want" ] && [ ! -s /tmp/refused ] && [[ $said == "softhca: $text"* ]] &&
		[[ -z $hint || $hint == "Try 'softhca "*"--help'." ]]
}
check error.command tool_refuses 2 "unknown command 'dve' (expected: dev, up, down, run, learn, doctor, explain, fault, trace, top, compat, help, version)" dve set nonesuch path sideways
check error.second_word tool_refuses 2 "unknown command 'dev ste' (expected: show, set, personalities)" dev ste nonesuch path sideways
check error.word_missing tool_refuses 2 "dev: incomplete command (expected: show, set, personalities)" dev
check error.no_command eval '! softhca 2>/tmp/refused && grep -q "^usage: softhca" /tmp/refused'
check error.option tool_refuses 2 "dev show: unknown option '--jsno'" dev show --jsno nonesuch
check error.letter tool_refuses 2 "dev show: unknown option '-x'" dev show -xy nonesuch
check error.option_with_value tool_refuses 2 "dev show: unknown option '--json=yes'" dev show --json=yes
check error.tool_letter tool_refuses 2 "unknown option '-x'" -x
check error.tool_option tool_refuses 2 "unknown option '--jsno'" --jsno
check error.setting tool_refuses 2 "dev set: unknown word 'paht' (expected: path, pkey, resv8a, icrc, cc, cc_algorithm, lint, personality)" dev set nonesuch paht sideways
check error.too_few tool_refuses 2 "dev set: incomplete command (expected: path, pkey, resv8a, icrc, cc, cc_algorithm, lint, personality)" dev set nonesuch
check error.value_missing tool_refuses 2 "dev set: incomplete command (expected: auto|wire|host)" dev set shca_a path
check error.too_many tool_refuses 2 "dev show: unexpected word 'shca_b'" dev show shca_a shca_b
check error.too_many_of_one_form tool_refuses 2 "dev set: unexpected word '3'" dev set shca_a pkey 1 2 3
check error.device tool_refuses 1 'nonesuch: ' dev set nonesuch path sideways
check error.device_of_pkey tool_refuses 1 'nonesuch: ' dev set nonesuch pkey 99 1
check error.value tool_refuses 2 "dev set: invalid value 'sideways' (expected: auto, wire or host)" dev set shca_a path sideways
check error.part_of_a_value tool_refuses 2 "dev set: invalid value 'aut' (expected: auto" dev set shca_a path aut
for index in 0 32 70000 -1 seven 1x ''; do
	check "range.index.$index" tool_refuses 2 "dev set: INDEX must be 1 to 31, not '$index'" dev set shca_a pkey -- "$index" 1
done
for pkey in 0x10000 99999999999999999999 seven 0x; do
	check "range.pkey.$pkey" tool_refuses 2 "dev set: P_KEY must be 0 to 0xffff, not '$pkey'" dev set shca_a pkey 1 "$pkey"
done
accepted() { softhca dev set shca_a pkey "$1" "$2" && softhca dev show shca_a | grep -q "$1:$3"; }
check range.last accepted 15 0xffff 0xffff
check range.first accepted 1 010 0x000a

# ---- names of devices

long=$(printf 'x%.0s' {1..64})
check name.empty tool_refuses 2 'empty device name (expected: 1 to 63 characters)' dev show ''
check name.too_long tool_refuses 2 "device name 'xxxxxxxxxxxxxxxxxxxx...' has 64 characters (expected: 1 to 63)" dev show "$long"
check name.longest tool_refuses 1 "${long:1}: " dev show "${long:1}"
for name in 'a b' $'a\tb' a/b a%b $'a\nb'; do
	check "name.$(printf %q "$name")" tool_refuses 2 "device name '" dev set "$name" path sideways
done
check name.control_characters_are_not_shown tool_refuses 2 "device name 'a??[1mb' has a blank, a control character" dev show $'a\n\e[1mb'
check name.c1_controls tool_refuses 2 "device name 'a??1mb' has a blank, a control character" dev show $'a\xc2\x9b1mb'
check name.no_utf8 tool_refuses 2 "device name 'a?1mb' has a blank, a control character" dev show $'a\x9b1mb'
check name.letters tool_refuses 1 'gerät: ' dev show gerät
check name.of_a_peer tool_refuses 2 "device name 'a/b'" dev set shca_a path host peer shca_b,a/b
check name.of_no_peer tool_refuses 2 'empty device name' dev set shca_a path host peer shca_b,
check nothing_was_changed eval 'softhca dev show shca_a | grep -q "path auto"'
run rdma link add "${long:1}" type softhca netdev dummy_a
at_exit rdma link delete "${long:1}"
check name.longest_that_is_there softhca dev show "${long:1}"
run rdma link delete "${long:1}"
full() { ! softhca dev show >/dev/full; }
check output_that_cannot_be_written full

# ---- completion

check complete.devices offers shca_a dev show ''
check complete.prefix offers shca_a dev set sh
check complete.none offers '' dev set x
check complete.settings offers 'path personality pkey' dev set shca_a p
check complete.personalities offers 'irdma mlx5 native siw-like strict' dev set shca_a personality ''
check complete.values offers 'auto host wire' dev set shca_a path ''
check complete.peer offers peer dev set shca_a path host ''
check complete.first_peer offers shca_a dev set shca_a path host peer ''
check complete.next_peer offers shca_b,shca_a dev set shca_a path host peer shca_b,
check complete.after_an_option offers shca_a dev show --json ''
check complete.option offers --json dev show --j
check complete.tool_options offers '--help --version' -
check complete.number offers '' dev set shca_a pkey ''
check complete.profiles eval 'softhca --complete fault add --file "" | grep -x -e bad-cable -e wan | wc -l | grep -x 2'
check complete.lessons offers '1 10 11 12 2 3 4 5 6 7 8 9' learn ''
check complete.unknown offers '' nonsense ''

# bash: as somebody who types, in a shell that loads completions on demand
bash_completes() { # LINE EXPECTED [more: another word begins]
	local out
	# shellcheck disable=SC2016 # expanded by the inner shell
	out=$(bash -c '
		. /usr/share/bash-completion/bash_completion
		if declare -F _comp_load >/dev/null; then _comp_load softhca; else __load_completion softhca; fi
		[[ $(complete -p softhca) == *"-F _softhca softhca" ]] || exit
		COMP_WORDS=($1)
		[ "$2" != more ] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_softhca
		printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd" "' bash "$1" "${3-}")
	echo "$out"
	[ "$out" = "$2" ]
}
if [ -f /usr/share/bash-completion/bash_completion ]; then
	check bash.group bash_completes 'softhca de' dev
	check bash.commands bash_completes 'softhca dev' 'personalities set show' more
	check bash.devices bash_completes 'softhca dev set s' shca_a
	check bash.recipes bash_completes 'softhca fault recipes dead' 'dead-for-a-while dead-peer'
	check bash.profiles bash_completes 'softhca fault add --file bad' bad-cable
	check bash.folder bash_completes 'softhca fault replay /usr/local/sha' /usr/local/share/
	check bash.values bash_completes 'softhca dev set shca_a path' 'auto host wire' more
else
	echo "skip bash # no bash-completion"
fi
# zsh: in a terminal, with the key
cat >/tmp/tool.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
# (what is typed is echoed, too: not as the word that is waited for)
zpty -w z 'PS1=; fpath=(/usr/local/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; print RE""ADY'
zpty -r z out '*READY*' || exit 1
zpty -n -w z "$1"$'\t\C-aprint -r -- "<\C-e>"\n'
zpty -r z out $'*\n<*>*' || exit 1
print -r -- $out
END
zsh_completes() { # LINE EXPECTED : the whole line after the key
	timeout $((20 * slow)) zsh -f /tmp/tool.zsh "$1" >/tmp/tool.zsh.out
	cat -v /tmp/tool.zsh.out
	grep -aq "^<$2 *>" /tmp/tool.zsh.out
}
if command -v zsh >/dev/null; then
	check zsh.command zsh_completes 'softhca dev sh' 'softhca dev show'
	check zsh.folder zsh_completes 'softhca fault replay /usr/local/sha' 'softhca fault replay /usr/local/share/'
	check zsh.recipe zsh_completes 'softhca fault recipes dead-p' 'softhca fault recipes dead-peer'
	check zsh.device zsh_completes 'softhca dev set s' 'softhca dev set shca_a'
else
	echo "skip zsh # no zsh"
fi

# ---- without the module

rdma link delete shca_a
unloaded() { modprobe -r softhca && tool_refuses 1 "the softhca module is not loaded (try 'modprobe softhca')" dev show; }
check without_the_module unloaded
check without_the_module.completion offers '' dev show ''
check without_the_module.version eval 'softhca --version | grep -x "module not loaded"'
check without_the_module.command_first tool_refuses 2 "unknown command 'dve'" dve
