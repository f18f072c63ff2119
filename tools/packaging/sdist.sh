#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the source distribution for pip, BUILD/wheel/sheaf-VERSION.tar.gz. It can be built on
# systems with the packages of `tools/packages.sh build`.
set -eu
BUILD=${BUILD:-build}
mkdir -p "$BUILD/wheel"
out=$(cd "$BUILD/wheel" && pwd)
cd "$(dirname "$0")/../../python"
rm -f "$out"/sheaf-*.tar.gz
PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-/usr/bin/python3}" setup.py -q sdist -d "$out"
ls "$out"/sheaf-*.tar.gz
