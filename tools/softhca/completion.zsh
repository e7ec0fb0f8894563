#compdef softhca
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of softhca(8): the tool prints the candidates from its table of commands.

local -a candidates more
integer at=${words[(i)--]}
# Behind "softhca run ... --" and "softhca trace record ... --" is another program with its
# own completion.
if [[ ${words[2]} == (run|trace) ]] && ((at < CURRENT)); then
	shift $at words
	((CURRENT -= at))
	_normal
	return
fi
candidates=(${(f)"$(${words[1]} --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
# More follows a key, and a folder.
more=(${(M)candidates:#*[=/]})
candidates=(${candidates:#*[=/]})
compadd -S '' -a more
compadd -a candidates
