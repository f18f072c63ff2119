#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the peers from the Python registry that `make bench` compares Sheaf with: into
# BUILD/bench-peers (about 6 GB, mostly for PyTorch's GPUs), and MXNet, which needs an old NumPy,
# into BUILD/bench-peers-mxnet. Installs s5cmd, which needs Go, into BUILD/interop-s3. Programs that
# cannot be installed are named, and are not measured.
set -u
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
here=$(dirname "$0")

install() {     # VENV WORD...: with pip, into it
    into=$1
    shift
    [ -x "$into/bin/pip" ] || "$PYTHON" -m venv "$into" || exit 1
    "$into/bin/pip" install -q --disable-pip-version-check "$@" ||
        echo "peers.sh: cannot be installed here: $*" >&2
}

while read -r package; do
    case $package in '#'* | '') continue ;; esac
    install "$BUILD/bench-peers" "$package"
done <"$here/requirements.txt"
install "$BUILD/bench-peers-mxnet" 'numpy<1.24' mxnet
BUILD=$BUILD "$here/../../tests/interop/install_servers.sh" s5cmd
