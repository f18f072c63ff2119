#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every fuzz target in $BUILD/fuzz for $FUZZ_SECONDS (5) each, one on each processor. Seeds are
# read from tests/corpus/fuzz_<name>/. New inputs go to $BUILD/fuzz-corpus/fuzz_<name>/, where the
# next run uses them. An input that fails is kept in $BUILD/fuzz-findings/, and printed with its
# cause, so that the log alone is enough to repeat the failure.
set -u
: "${BUILD:?the build directory}"
seconds=${FUZZ_SECONDS:-5}
findings=$BUILD/fuzz-findings
results=$(mktemp)
trap 'rm -f "$results"' EXIT
mkdir -p "$findings"
# So that stacks show names even if clang was installed without llvm-symbolizer.
export ASAN_OPTIONS="allow_addr2line=1:print_legend=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

# Prints a log without libFuzzer's progress: the error, the sanitizer's stack and summary. If memory
# ran out, a list of all allocations lies between them and is left out.
cause_of() {        # LOG
    sed -E -e '/^#[0-9]+\t/d' -e '/^\tNEW_FUNC\[/d' -e '/^(INFO|Base64|stat::|###### |"[^"]*" # Uses:)/d' "$1" |
        awk 'NR <= 80 { print } NR > 80 { last[NR % 12] = $0 }
             END { if (NR > 92) print "  [...]"
                   for (i = NR - 11; i <= NR; i++) if (i > 80) print last[i % 12] }'
}

# gzip compresses repetitions, so that a long input does not fill the log.
input_of() {        # LOG
    sed -n 's/.*Test unit written to //p' "$1" | while read -r input; do
        [ -f "$input" ] || continue
        echo "  alone:   $target $input"
        echo "  which is, by base64 -d | gzip -d:"
        gzip -9 -n <"$input" | base64 -w 110
    done
}

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
        # The report is printed as a whole, because another target may end at the same time.
        printf '%s\n' "$(printf '  %-8s %s\n' FAIL "$name"; cause_of "$log"; input_of "$log")"
    fi
}

running=0
for target in "$BUILD"/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    # Starts one target for each processor at a time, because all targets take the same time.
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
