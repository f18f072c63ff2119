#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every fuzz target in $BUILD/fuzz for $FUZZ_SECONDS (5) each, one on each processor.  Seeds are read from
# tests/corpus/fuzz_<name>/, what is found goes to $BUILD/fuzz-corpus/fuzz_<name>/ and serves the
# next run; an input that fails is kept in $BUILD/fuzz-findings/.
set -u
: "${BUILD:?the build directory}"
seconds=${FUZZ_SECONDS:-5}
findings=$BUILD/fuzz-findings
results=$(mktemp)
trap 'rm -f "$results"' EXIT
mkdir -p "$findings"

fuzz_one() {        # TARGET
    target=$1
    name=$(basename "$target")
    corpus=$BUILD/fuzz-corpus/$name
    log=$findings/$name.log
    mkdir -p "$corpus"
    set -- "$corpus"
    [ -d "tests/corpus/$name" ] && set -- "$@" "tests/corpus/$name"
    if "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=16384 \
            -print_final_stats=1 -artifact_prefix="$findings/$name-" "$@" >"$log" 2>&1; then
        echo passed >>"$results"
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        printf '  %-8s %s (%s inputs)\n' PASS "$name" "$runs"
        rm -f "$log"
    else
        echo failed >>"$results"
        printf '  %-8s %s\n' FAIL "$name"
        tail -n 60 "$log"
    fi
}

running=0
for target in "$BUILD"/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    # In turns of as many as there are processors: all take the same time.
    fuzz_one "$target" &
    running=$((running + 1))
    if [ "$running" -eq "$(nproc)" ]; then
        wait
        running=0
    fi
done
wait
passed=$(grep -c passed "$results")
failed=$(grep -c failed "$results")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
