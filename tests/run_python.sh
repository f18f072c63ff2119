#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of the Python package (tests/python) on BUILD/python, which python/build.sh makes
# of BUILD/libsheaf.a first, two modules at a time.  Arguments, if any, are names of modules.  SEED
# repeats a run.
set -u
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
export BUILD PYTHON PYTHONDONTWRITEBYTECODE=1
"$(dirname "$0")/../python/build.sh" || exit 1
cd "$(dirname "$0")/python" || exit 1
export PYTHONPATH="$BUILD/python"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2012,SC2046
[ $# -gt 0 ] || set -- $(ls test_*.py | sed 's/\.py$//')
printf '%s\n' "$@" | xargs -P 2 -n 1 sh -c '
    if "$PYTHON" -m unittest -v "$2" >"$1/$2.log" 2>&1; then
        printf "  %-8s %s\n" PASS "$2"
        grep " ... skipped " "$1/$2.log"
    else
        printf "  %-8s %s\n" FAIL "$2"
        cat "$1/$2.log"
    fi' sh "$logs"
../count_unittest.sh "$logs"/*.log
