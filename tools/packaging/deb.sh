#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes Debian packages of the last commit in BUILD/deb: sheaf, libsheafABI, libsheaf-dev,
# python3-sheaf and their source package. lintian must find no error and no warning. The directory
# debian/ describes the packages. The version is that of sheaf.h. ABI is the part of the name
# libsheaf.so.ABI.
set -eu
BUILD=${BUILD:-build}
rm -rf "$BUILD/deb"
mkdir -p "$BUILD/deb"
out=$(cd "$BUILD/deb" && pwd)
cd "$(dirname "$0")/../.."
version=$(for part in MAJOR MINOR PATCH; do
              sed -n "s/^#define SHEAF_VERSION_$part //p" sheaf.h
          done | paste -sd.)

git archive --prefix="sheaf-$version/" HEAD | tar -xf - -C "$out"
cd "$out/sheaf-$version"
mv tools/packaging/debian debian
sed -i "s/@ABI@/$ABI/g" debian/control debian/libsheaf.symbols
for file in install symbols; do
    mv debian/libsheaf.$file "debian/libsheaf$ABI.$file"
done
cat >debian/changelog <<END
sheaf ($version) unstable; urgency=medium

  * NEWS has the changes.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -uR -r sheaf.h)
END
if ! dpkg-buildpackage -us -uc -j"$(nproc)" >"$out/log" 2>&1; then
    tail -n 40 "$out/log" >&2
    exit 1
fi
cd "$out"
rm -rf "sheaf-$version"
lintian --fail-on error,warning --tag-display-limit 0 ./*.changes
ls ./*.deb
