#!/bin/sh
# SPDX-License-Identifier: MIT
# The rules of CONTRIBUTING.md that a machine can check.  Exits 1 if any is broken.
set -u
bad=0
complain() { echo "style: $*" >&2; bad=1; }

rooms=$(sed -n 's/^ROOMS *= *//p' Makefile)
# shellcheck disable=SC2086
files=$(find $rooms tools tests python sheaf.h -name '*.[ch]' 2>/dev/null | sort)
# shellcheck disable=SC2086
library=$(find $rooms -name '*.[ch]' 2>/dev/null | sort)
for f in $files; do
    awk -v f="$f" '
        length($0) > 100 { print f ":" FNR ": longer than 100 columns"; bad = 1 }
        /\t/             { print f ":" FNR ": tab"; bad = 1 }
        / $/             { print f ":" FNR ": blank at the end of the line"; bad = 1 }
        /^[ ]*\/\// { print f ":" FNR ": // comment"; bad = 1 }
        # a function body starts with a brace in column one and ends with another
        /^{/ { start = FNR }
        /^}/ { if (start && FNR - start - 1 > 100) {
                   print f ":" start ": function longer than 100 lines"; bad = 1 }
               start = 0 }
        # the public header is also the manual, and may be as long as that needs to be
        END { if (FNR > 900 && f != "sheaf.h") { print f ": longer than 900 lines"; bad = 1 }; exit bad }
    ' "$f" >&2 || bad=1
    head -n 1 "$f" | grep -q 'SPDX-License-Identifier: MIT' || complain "$f: no SPDX line first"
done
# Functions without bounds checks, and functions that a library must not call.
if grep -nE '(^|[^a-z_])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|tmpnam)\(' $files; then
    complain "a banned call (above)"
fi
if grep -nE '(^|[^a-z_>.])(printf|puts|exit|abort|perror)\(' \
        $library; then
    complain "the library must not print or exit (above)"
fi
# shellcheck disable=SC2046
if grep -nE 'pthread_cond_timedwait' \
        $(echo "$library" | grep -v '/timed_wait.h$'); then
    complain "timed waits are those of base/timed_wait.h, on the monotonic clock (above)"
fi
# shellcheck disable=SC2046
if grep -nE '(^|[^a-z_])json_(loads|loadb|loadf|load_file|load_fd|dumps|dumpb|dumpf|dump_file|dump_fd)\(' \
        $(echo "$library" | grep -v '^base/json.c$'); then
    complain "JSON is parsed and written by base/json.h, which notices that memory is exhausted (above)"
fi
# Options of other programs may be named, and comments may name options of the command.
if grep -nE '"[^"]*--[a-z]{3}' $library |
        grep -vE 'aws (configure|sso login)|^[^:]*:[0-9]*:( |/)\*'; then
    complain "the library's messages must not name options (above): tools/advice.c does"
fi
scripts=$(find tools tests python .ci -name '*.sh' -o -path .ci/run | sort)
for f in $scripts; do
    [ -x "$f" ] || complain "$f: not executable"
done
installed() {   # COMMAND WHAT: returns whether COMMAND is installed; if not, says that WHAT is unchecked
    command -v "$1" >/dev/null && return
    echo "style: $1 is not installed, so it has not checked $2" >&2
    return 1
}
# shellcheck disable=SC2086
if installed shellcheck 'the shell scripts'; then
    shellcheck -S warning $scripts >&2 || complain "shellcheck (above)"
fi
if installed mypy 'the Python package'; then
    mypy --no-error-summary --ignore-missing-imports python/sheaf >&2 || complain "mypy (above)"
fi
exit $bad
