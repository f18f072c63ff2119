#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the interoperability tests (tests/interop): what the peers' own programs read of ours and
# we of theirs, and the training frameworks around our loader.  They come from the Python registry
# into BUILD/interop (some 9 GB, mostly for PyTorch's GPUs) and stay there; Composer, which needs an
# older PyTorch, into BUILD/interop-composer (6 GB), and MXNet, which needs an old NumPy, into
# BUILD/interop-mxnet.  The S3 servers come from several registries (interop/install_servers.sh).  What
# cannot be installed is named, and its tests are skipped.
# Arguments, if any, are names of modules (of test_s3_servers alone only the servers are installed); or --bench, which measures instead
# (tools/bench/python_read.py, python_pixels.py, python_loader.py), by the interpreter BENCH_PYTHON if that is set;
# nothing is installed then.
set -u
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
PYTHON=${PYTHON:-/usr/bin/python3}
export BUILD PYTHONDONTWRITEBYTECODE=1
here=$(cd "$(dirname "$0")" && pwd)
venv=$BUILD/interop
composer=$BUILD/interop-composer
mxnet=$BUILD/interop-mxnet

install() {     # VENV WORD...: with pip, into it; only once
    stamp=$1/installed-$(printf '%s ' "$@" | cksum | tr ' ' -)
    [ -e "$stamp" ] && return
    into=$1
    shift
    [ -x "$into/bin/pip" ] || "$PYTHON" -m venv "$into" || exit 1
    if "$into/bin/pip" install -q --disable-pip-version-check "$@" \
            >"$into/log" 2>&1 </dev/null; then
        touch "$stamp"
    else
        echo "run_interop.sh: cannot be installed here: $*" >&2
        tail -n 3 "$into/log" >&2
    fi
}

install_peers() {
    # shellcheck disable=SC2086
    while read -r words; do
        case $words in '#'*) ;; *) install "$venv" $words ;; esac
    done <"$here/interop/requirements.txt"
    install "$composer" mosaicml==0.32.1
    # wids left webdataset's package after this version.
    install "$venv" --no-deps --target "$venv/wids" webdataset==0.2.111
    install "$mxnet" 'numpy<1.24' mxnet==1.9.1
}

PYTHON=$PYTHON "$here/../python/build.sh" || exit 1
case " $* " in '  ' | *' test_s3_servers'*) "$here/interop/install_servers.sh" ;; esac
case "$* ${BENCH_PYTHON:-}" in
test_s3_servers*) ;;
'--bench '?*) PYTHON=$BENCH_PYTHON ;;
*) install_peers
   PYTHON=$venv/bin/python ;;
esac

export PYTHONPATH="$BUILD/python:$here/python"
export COMPOSER_PYTHON="$composer/bin/python" MXNET_PYTHON="${MXNET_PYTHON:-$mxnet/bin/python}" WIDS="$venv/wids"
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
cd "$here/interop" || exit 1
if [ "${1:-}" = --bench ]; then
    "$PYTHON" -W ignore ../../tools/bench/python_read.py || exit 1
    "$PYTHON" -W ignore ../../tools/bench/python_pixels.py || exit 1
    exec "$PYTHON" -W ignore ../../tools/bench/python_loader.py
fi
# shellcheck disable=SC2012,SC2046
[ $# -gt 0 ] || set -- $(ls test_*.py | sed 's/\.py$//') test_torch test_shared test_readme
export PYTHON
PYTHONWARNINGS=ignore exec "$here/run_modules.sh" tests/run_interop.sh 1 "$@"
