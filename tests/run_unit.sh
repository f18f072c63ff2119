#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the CMocka programs given as arguments, AT_ONCE at a time (two more than processors, because
# many wait for a server or a clock), and adds up their tests. Only failures are shown in full, with
# the command that runs the program alone. The programs themselves read SEED and QUICK. If a program
# lacks something (the package of a server), it exits with status 77. This is not a failure, but it
# is reported.
set -u
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2016
printf '%s\n' "$@" | xargs -P "${AT_ONCE:-$(($(nproc) + 2))}" -n 1 sh -c '
    name=$(basename "$2")
    log=$1/$name.log
    count() {   # WORD: cmocka, "[  WORD  ] n test(s)"
        sed -n "s/^\[  $1  \] \([0-9]*\) test(s).*/\1/p" "$log" | head -n 1
    }
    begin=$(date +%s)
    timeout -k 5 1200 "$2" >"$log" 2>&1     # one that hangs has failed
    status=$?
    good=$(count PASSED)
    bad=$(count FAILED)
    # A program that dies, or that reports success and exits with another status, counts as one
    # failure.
    if [ $status -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then bad=1; fi
    if [ $status -eq 0 ] && [ -z "$good" ]; then bad=1; fi
    if [ $status -eq 77 ]; then
        echo "0 0 1" >"$1/$name.sum"
        printf "  %-8s %s: %s\n" SKIP "$name" "$(tail -n 1 "$log")"
    elif [ "${bad:-0}" -eq 0 ]; then
        echo "$good 0 0" >"$1/$name.sum"
        printf "  %-8s %s (%d, %d s)\n" PASS "$name" "$good" $(($(date +%s) - begin))
        [ -z "${SLOWEST:-}" ] || echo "$(($(date +%s) - begin)) $2" >>"$SLOWEST"
    else
        echo "${good:-0} $bad 0" >"$1/$name.sum"
        { printf "  %-8s %s (status %d)\n" FAIL "$name" $status
          cat "$log"
          echo "  alone:   ${SEED:+SEED=$SEED }${QUICK:+QUICK=$QUICK }$2"; } >"$log.fail"
        cat "$log.fail"
    fi' sh "$logs"
cat "$logs"/*.sum 2>/dev/null | awk -v programs=$# '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        failed += programs - NR     # one without a sum was ended from outside
        if (skipped) print skipped " program(s) skipped"
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }'
