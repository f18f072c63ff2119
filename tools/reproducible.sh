#!/bin/sh
# SPDX-License-Identifier: MIT
# reproducible.sh: builds the last commit in two directories of different length and depth, in
# different orders, and compares the command and the libraries byte by byte.
set -eu
cd "$(dirname "$0")/.."
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
trap 'exit 1' INT TERM
one=$where/one
two=$where/another/directory/two

for tree in "$one" "$two"; do
    mkdir -p "$tree"
    git archive HEAD | tar -xf - -C "$tree"
done
# With ccache, the second build would get the results of the first.
CCACHE_DISABLE=1 make --no-print-directory -s -j "$(nproc)" -C "$one" BUILD=build
CCACHE_DISABLE=1 make --no-print-directory -s -j 1 -C "$two" BUILD=build
status=0
for made in sheaf libsheaf.a libsheaf.so; do
    if cmp "$one/build/$made" "$two/build/$made"; then
        sha256sum "$one/build/$made" | sed "s|$where/one/||"
    else
        status=1
    fi
done
exit $status
