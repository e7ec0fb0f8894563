# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of softhca(8): the tool prints the candidates from its table of commands.

_softhca() {
	local word at prefix='' words=("${COMP_WORDS[@]:1:COMP_CWORD}")
	COMPREPLY=()
	# Behind "softhca run ... --" and "softhca trace record ... --" is another program with
	# its own completion.
	for ((at = 2; at < COMP_CWORD; at++)); do
		[[ ${COMP_WORDS[at]} == -- && ${COMP_WORDS[1]} =~ ^(run|trace)$ ]] || continue
		if declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset $((at + 1))
		else
			_command_offset $((at + 1))
		fi
		return
	done
	# bash takes KEY=VALUE apart, and replaces only what follows the "=".
	if [ "${words[0]}" = fault ] && [[ " ${words[*]} " == *' = '* ]]; then
		read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
		[[ ${COMP_LINE:0:COMP_POINT} != *' ' ]] || words+=('')
		words=("${words[@]:1}")
		word=${words[-1]}
		[[ $word != *=* ]] || prefix=${word%%=*}=
	fi
	while IFS= read -r word; do
		# More follows a key, and a folder.
		[[ $word != *[=/] ]] || compopt -o nospace 2>/dev/null
		word=${word#"$prefix"}
		# Users choose names, so quote them.
		case $word in
		*=) ;;
		\~/*) printf -v word '%s%q' \~/ "${word#\~/}" ;;
		*) printf -v word %q "$word" ;;
		esac
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
} && complete -F _softhca softhca
