#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the interoperability tests (tests/interop): what the peers' own programs read of ours and
# we of theirs.  They come from the Python registry into BUILD/interop (some 8 GB, mostly for
# PyTorch's GPUs) and stay there; MXNet, which needs an old NumPy, into BUILD/interop-mxnet.  What
# cannot be installed is named, and its tests are skipped.  Arguments, if any, are names of
# modules; or --bench, which measures instead (tools/bench/python_read.py).
set -u
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
export BUILD PYTHONDONTWRITEBYTECODE=1
here=$(cd "$(dirname "$0")" && pwd)
venv=$BUILD/interop
mxnet=$BUILD/interop-mxnet

install() {     # VENV WORD...: with pip, into it; only once
    stamp=$1/installed-$(printf '%s ' "$@" | cksum | tr ' ' -)
    [ -e "$stamp" ] && return
    into=$1
    shift
    [ -x "$into/bin/pip" ] || "$PYTHON" -m venv "$into" || exit 1
    if "$into/bin/pip" install -q --disable-pip-version-check "$@" >"$into/log" 2>&1; then
        touch "$stamp"
    else
        echo "run_interop.sh: cannot be installed here: $*" >&2
        tail -n 3 "$into/log" >&2
    fi
}

PYTHON=$PYTHON "$here/../python/build.sh" || exit 1
install "$venv" -r "$here/interop/requirements.txt"
install "$venv" nvidia-dali-cuda120
install "$venv" megatron-energon
install "$venv" pyspark
# wids left webdataset's package after this version.
install "$venv" --no-deps --target "$venv/wids" webdataset==0.2.111
install "$mxnet" 'numpy<1.24' mxnet

export PYTHONPATH="$BUILD/python:$here/python"
export MXNET_PYTHON="$mxnet/bin/python" WIDS="$venv/wids"
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
cd "$here/interop" || exit 1
if [ "${1:-}" = --bench ]; then
    exec "$venv/bin/python" -W ignore ../../tools/bench/python_read.py
fi
# shellcheck disable=SC2012,SC2046
[ $# -gt 0 ] || set -- $(ls test_*.py | sed 's/\.py$//') test_torch test_shared test_readme
PYTHON=$venv/bin/python PYTHONWARNINGS=ignore exec "$here/run_modules.sh" tests/run_interop.sh 1 "$@"
