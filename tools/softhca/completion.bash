# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of softhca(8): the tool prints the candidates from its table of commands.

_softhca() {
	local word at
	COMPREPLY=()
	# Behind "softhca run ... --" is another program with its own completion.
	for ((at = 2; at < COMP_CWORD; at++)); do
		[ "${COMP_WORDS[1]} ${COMP_WORDS[at]}" = 'run --' ] || continue
		if declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset $((at + 1))
		else
			_command_offset $((at + 1))
		fi
		return
	done
	while IFS= read -r word; do
		# Users choose device names, so quote them.
		printf -v word %q "$word"
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
} && complete -F _softhca softhca
