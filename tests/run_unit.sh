#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the CMocka programs given as arguments, one after another, and adds up their tests.  Only
# what fails is shown in full.  SEED and QUICK are the programs' own to read.  Status 77 says that a
# program has not what it needs here (a server's package): that is no failure, but said.
set -u
passed=0
failed=0
skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count() {   # WORD: cmocka's "[  WORD  ] n test(s)"
    sed -n "s/^\[  $1  \] \([0-9]*\) test(s).*/\1/p" "$log" | head -n 1
}

for program in "$@"; do
    timeout -k 5 1200 "$program" >"$log" 2>&1      # one that hangs has failed
    status=$?
    if [ $status -eq 77 ]; then
        skipped=$((skipped + 1))
        printf '  %-8s %s: %s\n' SKIP "$(basename "$program")" "$(tail -n 1 "$log")"
        continue
    fi
    good=$(count PASSED)
    bad=$(count FAILED)
    # One that dies, or says that all is well and exits otherwise, has failed once at least.
    if [ $status -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then bad=1; fi
    if [ $status -eq 0 ] && [ -z "$good" ]; then bad=1; fi
    passed=$((passed + ${good:-0}))
    failed=$((failed + ${bad:-0}))
    if [ "${bad:-0}" -eq 0 ]; then
        printf '  %-8s %s (%d)\n' PASS "$(basename "$program")" "$good"
    else
        printf '  %-8s %s (status %d)\n' FAIL "$(basename "$program")" $status
        cat "$log"
    fi
done
if [ $skipped -gt 0 ]; then
    echo "$skipped program(s) skipped"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
