#!/bin/sh
# SPDX-License-Identifier: MIT
# release.sh [--keep] VERSION: dates NEWS, sets the version in sheaf.h (the only file that has it),
# commits and tags this, and makes BUILD/release/sheaf-VERSION.tar.gz and .tar.xz with their SHA-256
# sums. An archive contains the tagged files, and its bytes are the same on every machine. If the
# tag exists already, only the archives are made. Nothing is pushed.
#
# --keep: commits the files of the release in BUILD with which later releases are compared: data
# sets that it writes, and its ABI.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
keep=
if [ "${1:-}" = --keep ]; then
    keep=1
    shift
fi
version=${1:?the version, such as 0.2.0}
tag=v$version

refuse() { echo "release.sh: $*" >&2; exit 1; }

# The line in NEWS has 0.2 for version 0.2.0.
case $version in
*[!0-9.]*|.*|*.|*..*|*.*.*.*) refuse "version $version, expected three numbers, such as 0.2.0" ;;
*.*.0) title=${version%.0} ;;
*.*.*) title=$version ;;
*) refuse "version $version, expected three numbers, such as 0.2.0" ;;
esac

keep() {
    has=$("$BUILD/sheaf" --version)
    [ "$has" = "sheaf $version" ] || refuse "$BUILD has \"$has\", expected version $version"
    archive=tests/corpus/release-$title.tar.xz
    [ ! -e "$archive" ] || refuse "$archive exists"
    "${PYTHON:-/usr/bin/python3}" tests/corpus/make_release.py "$BUILD/sheaf" "$archive"
    BUILD=$BUILD tools/packaging/abi.sh --store
    git add "$archive" tools/packaging/abi.xml.gz
    git commit -q -m "tests: what release $version writes, and its ABI"
    ls "$archive" tools/packaging/abi.xml.gz
}

if [ -n "$keep" ]; then
    keep
    exit
fi

prepare() {
    [ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
    [ "$(head -n 1 NEWS)" = "release $title (not yet released)" ] ||
        refuse "NEWS begins with \"$(head -n 1 NEWS)\", expected \"release $title (not yet released)\""
    part=0
    for name in MAJOR MINOR PATCH; do
        part=$((part + 1))
        number=$(echo "$version" | cut -d . -f $part)
        sed -i "s/^#define SHEAF_VERSION_$name .*/#define SHEAF_VERSION_$name $number/" sheaf.h
    done
    sed -i "1s/.*/release $title ($(date -u +%F))/" NEWS
    git commit -q -m "release $version" NEWS sheaf.h
    git tag -a -m "sheaf $version" "$tag"
}

git rev-parse -q --verify "refs/tags/$tag" >/dev/null || prepare

out=$BUILD/release
mkdir -p "$out"
rm -f "$out/sheaf-$version".tar.*
git archive --format=tar --prefix="sheaf-$version/" "$tag" >"$out/sheaf-$version.tar"
gzip -9 -n -k "$out/sheaf-$version.tar"
xz -6 -T 1 "$out/sheaf-$version.tar"
cd "$out"
sha256sum "sheaf-$version.tar.gz" "sheaf-$version.tar.xz" | tee "sheaf-$version.sha256"
