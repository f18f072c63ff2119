#!/bin/sh
# SPDX-License-Identifier: MIT
# cross.sh ARCH [MODULE...]: builds everything for another of Debian's architectures, and runs the
# unit and system tests (or only these modules) under qemu-user. The libraries of that architecture
# are unpacked in BUILD/cross and not installed, so neither root nor a foreign architecture of dpkg
# is needed. A script that starts qemu takes the place of the command, so binfmt_misc is not needed.
#
# CROSS_UNIT names the unit programs to run: all by default, none if it is empty. CROSS_MIRROR and
# CROSS_SUITE say where the libraries come from: by default the archive that apt uses here.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
# shellcheck disable=SC2016
mirror=${CROSS_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' \
                             'Origin: Debian' 'Component: main' |
                         sort -u | grep -v -e -security | head -n 1)}
[ -n "$mirror" ] || { echo "cross.sh: apt knows no archive of Debian: set CROSS_MIRROR" >&2; exit 1; }
suite=${CROSS_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
arch=${1:?the architecture, such as arm64 or s390x}
shift
case $arch in
arm64) triplet=aarch64-linux-gnu qemu=qemu-aarch64 ;;
s390x) triplet=s390x-linux-gnu qemu=qemu-s390x ;;
*) echo "cross.sh: unknown architecture $arch; expected arm64 or s390x" >&2; exit 2 ;;
esac
tools/packages.sh build test "cross-$arch"
root=$BUILD/cross/$arch-root
real=$BUILD/cross/$arch
run=$BUILD/cross/$arch-run

# Runs apt with a configuration and state of its own. It then installs the dependencies for an
# architecture that has no packages yet.
own_apt() {
    apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferencesparts=/dev/null -o Dir::State="$apt/state" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o APT::Install-Recommends=0 -o Debug::NoLocking=1 "$@"
}

make_root() {
    apt=$root.new/.apt
    rm -rf "$root.new"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        >"$apt/sources.list"
    own_apt update
    # The libraries that packages.sh lists for this machine. The word splitting is intended.
    # shellcheck disable=SC2046
    own_apt install -y --download-only libcmocka-dev \
        $(sed -n '/^build="/,/^"/p' tools/packages.sh | grep -o '[a-z]*lib[^ ]*-dev')
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$root.new"
    done
    # Debian's link /lib, which no package contains.
    if [ -d "$root.new/lib" ] && ! [ -L "$root.new/lib" ]; then
        cp -a "$root.new/lib/." "$root.new/usr/lib/"
        rm -rf "$root.new/lib"
        ln -s usr/lib "$root.new/lib"
    fi
    rm -rf "$apt" "$root"
    mv "$root.new" "$root"
}

[ -d "$root" ] || make_root

# One compiler for each processor, unless make was given a number.
case ${MAKEFLAGS:-} in *-j*) jobs= ;; *) jobs=-j$(nproc) ;; esac
compiler=$triplet-gcc
! command -v ccache >/dev/null || compiler="ccache $compiler"
# shellcheck disable=SC2086
PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig \
PKG_CONFIG_SYSROOT_DIR=$root \
    make --no-print-directory $jobs BUILD="$real" CC="$compiler --sysroot=$root" LD="$triplet-ld" \
    AR="$triplet-ar" OBJCOPY="$triplet-objcopy" compiled

mkdir -p "$run/tests"
for program in "$real"/sheaf "$real"/make_* "$real"/tests/test_* "$real"/tests/serve_* \
    "$real"/tests/fake_s3; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=$run${program#"$real"}
    printf '#!/bin/sh\nexec %s -L "%s" "%s" "$@"\n' "$qemu" "$root" "$program" >"$name"
    chmod +x "$name"
done

# Tests that load the library into this machine's Python load the library of this machine. It reads
# what the other machine's command has written.
# shellcheck disable=SC2086
make --no-print-directory $jobs BUILD="$BUILD" "$BUILD/libsheaf.so"
ln -sf "$BUILD/libsheaf.so" "$run/libsheaf.so"

# These tests do not run under qemu: they load a library into the command, compile for this machine,
# or measure the memory of processes.
if [ $# -eq 0 ]; then
    alien='LD_PRELOAD|"(cc|gcc|make)"|peak_memory|VmHWM'
    # shellcheck disable=SC2046
    set -- $(cd tests/system && grep -L -E "$alien" test_*.py | sed 's/\.py$//' |
             grep -v -E '_(bench|engines)$')
fi
programs=
for name in ${CROSS_UNIT-"$run"/tests/test_*}; do
    programs="$programs $run/tests/${name##*/}"
done
# Not more tests at once than processors, because tests that wait for a server wait longer here.
export QUICK=1 UNDER_QEMU=1 AT_ONCE="${AT_ONCE:-$(nproc)}"
failed=0
# shellcheck disable=SC2086
[ -z "$programs" ] || tests/run_unit.sh $programs || failed=1
BUILD=$run tests/run_system.sh "$@" || failed=1
exit "$failed"
