#!/bin/sh
# SPDX-License-Identifier: MIT
# run_modules.sh RUNNER AT-ONCE MODULE...: runs unittest modules of this directory with PYTHON,
# AT-ONCE at a time. For each module, it prints whether it passed, how long it took and what it
# skipped. It shows failed modules in full, with the command (RUNNER MODULE) that runs one alone,
# and adds up the tests. A shell makes its background jobs ignore SIGINT, which some tests send, so
# env resets it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM

runner=$1
at_once=$2
shift 2
# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -P "$at_once" -n 1 sh -c '
    log=$1/$3.log
    begin=$(date +%s)
    if env --default-signal=INT "$PYTHON" -m unittest -v "$3" >"$log" 2>&1; then
        printf "  %-8s %s (%d s)\n" PASS "$3" $(($(date +%s) - begin))
        [ -z "${SLOWEST:-}" ] || echo "$(($(date +%s) - begin)) $2 $3" >>"$SLOWEST"
        grep " ... skipped " "$log"
    else
        { printf "  %-8s %s\n" FAIL "$3"
          cat "$log"
          echo "  alone:   ${SEED:+SEED=$SEED }${QUICK:+QUICK=$QUICK }BUILD=$BUILD $2 $3"; } >"$log.fail"
        cat "$log.fail"
    fi' sh "$logs" "$runner"
"$here/count_unittest.sh" "$logs"/*.log
