#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the system tests (tests/system) on BUILD. AT_ONCE modules run at the same time: four more
# than processors, because many tests wait for a server, a disk or a clock. Arguments, if any, are
# names of modules: run_system.sh test_resume. QUICK=1 makes the large tests small. SEED repeats a
# run. PYTHON must have xxhash; on Debian that is /usr/bin/python3.
set -u
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
export BUILD PYTHON PYTHONDONTWRITEBYTECODE=1
tests=$(cd "$(dirname "$0")" && pwd)
cd "$tests/system" || exit 1
for program in sheaf make_jpegs tests/fake_s3; do
    if ! [ -x "$BUILD/$program" ]; then
        echo "run_system.sh: $BUILD/$program is missing: run make compiled" >&2
        exit 1
    fi
done
# Slow modules come first, so that all modules end at about the same time.
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $({ printf 'test_%s.py\n' append s3_dialects s3 s3_parts repair memory \
                               column_parts s3_access archive s3_sources edit columns publication \
                               fetch engines scale resume ranks feed images pack_roundtrip parts \
                               corruption convert_resume s3_faults
                           printf '%s\n' test_*.py
                         } | awk '!seen[$0]++ { sub(/\.py$/, ""); print }')
# The first module that needs Ceph's radosgw starts it in this directory, for all modules.
SHARED_RADOSGW=$(mktemp -d /tmp/sheaf-rgw-XXXXXX)
export SHARED_RADOSGW
echo $$ >"$SHARED_RADOSGW/owner"
trap '"$tests/s3/radosgw.sh" stop "$SHARED_RADOSGW"; rm -rf "$SHARED_RADOSGW"' EXIT
trap 'exit 1' INT TERM
"$tests/run_modules.sh" tests/run_system.sh "${AT_ONCE:-$(($(nproc) + 4))}" "$@"
