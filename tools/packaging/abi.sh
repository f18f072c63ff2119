#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh [--store]
#
# Compares the ABI of BUILD/libsheaf.so with the ABI of the last release, abi.xml.gz in this
# directory. Fails if a program that was compiled for the release could not run with this library.
# New functions, and new members at the end of structs and enums (abi_grown.py), are allowed.
#
# --store: stores the present ABI, with which later releases are compared.
set -eu
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
here=$(cd "$(dirname "$0")" && pwd)
"$here/../packages.sh" abi
cd "$here/../.."
now=$BUILD/abi.xml
last=$BUILD/abi-last.xml
abidw --header-file sheaf.h --drop-private-types --drop-undefined-syms --no-show-locs \
    --no-elf-needed --no-comp-dir-path --no-corpus-path --no-parameter-names \
    --type-id-style hash --out-file "$now" "$BUILD/libsheaf.so"
if [ "${1:-}" = --store ]; then
    gzip -9nc "$now" >"$here/abi.xml.gz"
    exit
fi
gzip -dc "$here/abi.xml.gz" >"$last"
# A library of another name is not loaded by programs of the last release, so the names may differ.
soname() { sed -n "s/^<abi-corpus .*soname='\([^']*\)'.*/\1/p" "$1"; }
sed -i "s/soname='$(soname "$last")'/soname='$(soname "$now")'/" "$last"
"${PYTHON:-/usr/bin/python3}" "$here/abi_grown.py" "$last" "$now" >"$BUILD/abi-same.xml"
abidiff --harmless --no-added-syms "$last" "$BUILD/abi-same.xml"
echo "the ABI is that of the last release, or an extension of it"
