# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of softhca(8): the tool itself tells from its table of commands what fits.

_softhca() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		# (names of devices are what somebody gave them)
		printf -v word %q "$word"
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
} && complete -F _softhca softhca
