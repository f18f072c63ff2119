#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the package in BUILD/python, with BUILD/libsheaf.a. To use the package, put this directory
# into PYTHONPATH. PYTHON needs its headers and setuptools (Debian: python3-dev,
# python3-setuptools).
set -eu
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
cd "$(dirname "$0")"
mkdir -p "$BUILD/python"
exec 9>"$BUILD/python/lock"     # two builds at once would mix their objects
flock 9
log=$BUILD/python/build.log
if ! SHEAF_BUILD=$BUILD PYTHONDONTWRITEBYTECODE=1 "$PYTHON" setup.py -q build \
        --build-base "$BUILD/python/temp" --build-lib "$BUILD/python" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
grep 'src/.*warning:' "$log" >&2 || true
