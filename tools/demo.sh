#!/bin/sh
# SPDX-License-Identifier: MIT
# The whole of sheaf on real JPEG files: makes a tree in the manner of Caltech-256, packs it into
# each container, verifies, reads two shuffled epochs, unpacks, and compares.  Exits 1 at the
# first thing that is not as it should be.
#
#   BUILD           where the programs are, and where demo/ is made   (build)
#   DEMO_IMAGES     images; Caltech-256 itself has 30607              (3000)
#   DEMO_REPLICATE  files for each image; 50 for 1.5 million          (1)
#   DEMO_KEEP       1: leave the tree and the data sets there         (0)
set -eu
LC_ALL=C
export LC_ALL

build=${BUILD:-build}
images=${DEMO_IMAGES:-3000}
replicate=${DEMO_REPLICATE:-1}
sheaf=$build/sheaf
demo=$build/demo

say() { printf '%s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }
now() { date +%s.%N; }
rate() { awk -v n="$1" -v from="$2" -v to="$3" 'BEGIN { printf "%.0f", n / (to - from) }'; }
value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }    # NAME FILE
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f", bytes / 1e6 }'; }

rm -rf "$demo"
mkdir -p "$demo"
[ "${DEMO_KEEP:-0}" = 1 ] || trap 'rm -rf "$demo"' EXIT
trap 'exit 1' INT TERM

say "Making $images images, $replicate of each, in $demo/tree"
"$build/make_jpegs" "$demo/tree" --images "$images" --replicate "$replicate"
files=$(find "$demo/tree" -name '*.jpg' | wc -l)
say "  $files files, $(find "$demo/tree" -name '*.jpg' -printf '%s\n' |
    awk '{ sum += $1 } END { printf "%.1f MB, mean %.0f bytes", sum / 1e6, sum / NR }')"

# So that even a small tree makes several shards.
shard_size=150MB
[ "$files" -ge 30000 ] || shard_size=20MB

row='%-10s  %6s  %9s  %14s  %9s  %9s  %-6s  %s\n'
rows=$demo/rows
: >"$rows"
for format in tfrecord recordio webdataset; do
    set=$demo/$format
    say "Packing, verifying, reading and unpacking: $format"
    start=$(now)
    "$sheaf" pack "$demo/tree" "$set" --format "$format" --shard-size "$shard_size" \
        >"$demo/log" || die "pack failed"
    packed=$(rate "$files" "$start" "$(now)")
    grep -q ", 0 files skipped" "$demo/log" || die "$format: $(cat "$demo/log")"

    "$sheaf" verify "$set" >"$demo/log" || die "$format: verify failed"

    for epoch in 0 1; do
        "$sheaf" cat "$set" --list --seed 1 --epoch "$epoch" >"$demo/$format.$epoch"
        [ "$(wc -l <"$demo/$format.$epoch")" -eq "$files" ] ||
            die "$format: epoch $epoch has not $files samples"
    done
    cmp -s "$demo/$format.0" "$demo/$format.1" && die "$format: two epochs have one order"
    sort "$demo/$format.0" >"$demo/sorted.0"
    sort "$demo/$format.1" | cmp -s - "$demo/sorted.0" || die "$format: two epochs differ"
    for epoch in 0 1; do
        cmp -s "$demo/$format.$epoch" "$demo/tfrecord.$epoch" ||
            die "$format: not the order of tfrecord"
    done

    "$sheaf" cat "$set" --null --seed 1 >"$demo/log"
    samples_rate=$(value samples_per_second "$demo/log")
    bytes_rate=$(value payload_bytes_per_second "$demo/log")

    "$sheaf" unpack "$set" "$demo/unpacked" >/dev/null || die "$format: unpack failed"
    diff -r "$demo/tree" "$demo/unpacked" || die "$format: the unpacked tree differs"
    rm -rf "$demo/unpacked"

    "$sheaf" info "$set" >"$demo/log"
    # shellcheck disable=SC2059
    printf "$row" "$format" "$(value shards "$demo/log")" \
        "$(megabytes "$(value bytes "$demo/log")")" "$packed" "$samples_rate" \
        "$(megabytes "$bytes_rate")" sound equal >>"$rows"
done

report=$build/report.html
"$sheaf" report "$demo/webdataset" --verify -o "$report" >"$demo/log" || die "report failed"

say
# shellcheck disable=SC2059
printf "$row" container shards MB "files/s packed" samples/s MB/s verify unpack
cat "$rows"
say
say "Read shuffled, two epochs: the orders of the epochs differ, and each is the same in all"
say "three containers. Nothing was lost: each unpacked tree equals the first, byte for byte."
say
say "What the data set is, as a page for a browser: $report"
