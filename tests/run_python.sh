#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of the Python package (tests/python) on BUILD/python, which python/build.sh first
# builds from BUILD/libsheaf.a. AT_ONCE modules run at the same time (four more than processors).
# Arguments, if any, are names of modules. SEED repeats a run.
set -u
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
export BUILD PYTHON PYTHONDONTWRITEBYTECODE=1
"$(dirname "$0")/../python/build.sh" || exit 1
cd "$(dirname "$0")/python" || exit 1
export PYTHONPATH="$BUILD/python"
# shellcheck disable=SC2012,SC2046
[ $# -gt 0 ] || set -- $({ printf 'test_%s.py\n' readme pipe resume loader_faults habits labels
                           printf '%s\n' test_*.py
                         } | awk '!seen[$0]++ { sub(/\.py$/, ""); print }')
exec ../run_modules.sh tests/run_python.sh "${AT_ONCE:-$(($(nproc) + 4))}" "$@"
