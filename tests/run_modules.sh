#!/bin/sh
# SPDX-License-Identifier: MIT
# run_modules.sh AT-ONCE MODULE...: runs unittest modules of this directory with PYTHON, so many at a
# time, says of each whether it passed and what it skipped, shows those that fail in full, and adds
# up their tests.
set -u
here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM

at_once=$1
shift
# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -P "$at_once" -n 1 sh -c '
    if "$PYTHON" -m unittest -v "$2" >"$1/$2.log" 2>&1; then
        printf "  %-8s %s\n" PASS "$2"
        grep " ... skipped " "$1/$2.log"
    else
        printf "  %-8s %s\n" FAIL "$2"
        cat "$1/$2.log"
    fi' sh "$logs"
"$here/count_unittest.sh" "$logs"/*.log
