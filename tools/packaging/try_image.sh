#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the steps of the Dockerfile without a container engine, as root: its RUN lines, in Debian 12
# systems made by debootstrap, on the last commit.  Then the command packs and reads there.
set -eu
BUILD=${BUILD:-build}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$BUILD/roots"
roots=$(cd "$BUILD/roots" && pwd)
build=$roots/image-build
image=$roots/image
"$here/../packages.sh" roots
trap '"$here/root.sh" --remove "$build"; "$here/root.sh" --remove "$image"' EXIT
CACHE=$roots/cache "$here/root.sh" bookworm "$image"
cp -a "$image" "$build"

run() {     # LINE ROOT: the RUN line of that number
    line=$(sed -n 's/^RUN //p' "$here/Dockerfile" | sed -n "$1p")
    "$here/root.sh" --in "$2" sh -c "$line >/log 2>&1 || { cat /log; exit 1; }"
}
mkdir "$build/src"
git -C "$here/../.." archive HEAD | tar -xf - -C "$build/src"
run 1 "$build"
cp -a "$build/made/." "$image"
run 2 "$image"
mkdir "$image/scratch"
cp "$here/debian/tests/command" "$image/scratch"
"$here/root.sh" --in "$image" sh -c \
    'cd scratch && AUTOPKGTEST_TMP=/scratch ./command >/log 2>&1 || { cat /log; exit 1; }'
echo "passed: the image of the Dockerfile, $(du -sm --exclude=log --exclude=scratch "$image" |
    cut -f1) MB"
