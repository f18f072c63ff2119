#!/bin/sh
# SPDX-License-Identifier: MIT
# try_wheel.sh [SUITE...]
# Installs the wheel of BUILD/wheel (`make wheel`) in fresh Debian systems, as root (bullseye, with
# glibc 2.31, bookworm, trixie), and uses it there: the command, the package, and HTTPS with the
# certificates of the system, also where Fedora has them.  Where Python is older than the wheel's,
# the command is used, and the extension's libraries are resolved.  The roots are removed.
set -eu
BUILD=${BUILD:-build}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$BUILD/roots"
roots=$(cd "$BUILD/roots" && pwd)
wheel=$(ls "$BUILD"/wheel/sheaf-*.whl) || { echo "no wheel: make wheel" >&2; exit 1; }
"$here/../packages.sh" roots
[ $# -gt 0 ] || set -- bullseye bookworm trixie

try() {         # SUITE
    root=$roots/wheel-$1
    trap '"$here/root.sh" --remove "$root"' EXIT
    CACHE=$roots/cache "$here/root.sh" "$1" "$root" ca-certificates openssl python3-venv
    mkdir "$root/try"
    cp "$wheel" "$here/try_https.py" "$here/debian/tests/command" "$here/debian/tests/python" \
        "$root/try"
    "$here/root.sh" --in "$root" sh -euc '
        export AUTOPKGTEST_TMP=/try/scratch
        mkdir /try/scratch
        cd /try
        if python3 -c "import sys; sys.exit(sys.version_info < (3, 11))"; then
            python3 -m venv env
            env/bin/pip install -q --no-index ./*.whl
            PATH=/try/env/bin:$PATH
            python3 python
            rm -r scratch/*
        else
            python3 -m zipfile -e ./*.whl unpacked
            chmod +x unpacked/*.data/scripts/sheaf
            PATH=$(echo /try/unpacked/*.data/scripts):$PATH
        fi
        ldd -r "$(find / -name _sheaf.abi3.so)" >libraries 2>&1
        ! grep -e "not found" -e "undefined symbol: [^P_]" libraries
        ./command >log 2>&1 || { cat log; exit 1; }
        python3 try_https.py
        ldd --version | sed -n "1s/.* /passed: '"$1"', glibc /p"'
    "$here/root.sh" --remove "$root"
    trap - EXIT
}
for suite; do
    try "$suite"
done
