#!/bin/sh
# SPDX-License-Identifier: MIT
# count_unittest.sh LOG...: adds up the results that unittest prints at the end of each log, "Ran 5
# tests in 1.2s" and "OK" or "FAILED (failures=1, errors=2)". A log without these lines counts as a
# failure.
awk '
    function number(word) {
        return match($0, word "=[0-9]+") ? substr($0, RSTART + length(word) + 1, RLENGTH) + 0 : 0
    }
    FNR == 1        { if (NR > 1) add(); ran = 0; done = 0 }
    /^Ran [0-9]+ /  { ran = $2; bad = 0; skipped = 0 }
    /^OK/           { skipped = number("skipped"); done = 1 }
    /^FAILED \(/    { skipped = number("skipped"); bad = number("failures") + number("errors")
                      done = 1 }
    function add() {
        if (!done) { failed++; return }
        failed += bad
        if (ran - skipped > bad) passed += ran - skipped - bad
    }
    END             { add(); printf "%d passed, %d failed\n", passed, failed
                      exit failed > 0 || passed == 0 }
' "$@"
