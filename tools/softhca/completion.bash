# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of softhca(8): the tool prints the candidates from its table of commands.

_softhca() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		# Users choose device names, so quote them.
		printf -v word %q "$word"
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
} && complete -F _softhca softhca
