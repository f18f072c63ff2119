#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh build|test|wheel|deb|abi|roots|bench|interop|cross-arm64|cross-s390x...
#
# Installs the Debian packages that are needed to build (or test, measure, compare with others) and
# that are missing. If none is missing, it does nothing, and needs neither a network nor root.
set -eu

# One list for each purpose, with one package per word.
build="
    gcc libc6-dev make pkg-config
    zlib1g-dev liblz4-dev libzstd-dev libxxhash-dev libisal-dev libjansson-dev
    libjpeg62-turbo-dev libpng-dev libgif-dev libwebp-dev
    libcurl4-openssl-dev libssl-dev libexpat1-dev libarchive-dev
"
test="
    libcmocka-dev
    g++ clang libclang-rt-14-dev
    python3 python3-xxhash python3-crcmod
    python3-dev python3-setuptools python3-numpy python3-pil python3-torch
    libarchive-tools lz4 zstd tar gzip bzip2 xz-utils diffutils git
    shellcheck mandoc
    radosgw ceph-mon ceph-osd curl openssl
    fuse s3fs python3-fusepy nginx-light awscli
    slurmctld slurmd slurm-client openmpi-bin python3-yaml python3-boto3
"
wheel="
    cmake dpkg-dev nasm patch perl python3 python3-dev python3-venv
"
deb="
    dpkg-dev debhelper dh-python fakeroot lintian python3-dev python3-setuptools
"
roots="
    debootstrap
"
abi="
    abigail-tools
"
bench="
    curl nginx-light awscli s3fs radosgw ceph-mon ceph-osd openssl libeatmydata1
    lz4 tar gzip python3 python3-venv
"
interop="
    python3 python3-venv openjdk-17-jre-headless
"

wanted=
for purpose; do
    case $purpose in
    cross-arm64) wanted="$wanted gcc-aarch64-linux-gnu qemu-user" ;;
    cross-s390x) wanted="$wanted gcc-s390x-linux-gnu qemu-user" ;;
    build) wanted="$wanted $build" ;;
    test) wanted="$wanted $test" ;;
    wheel) wanted="$wanted $wheel" ;;
    deb) wanted="$wanted $deb" ;;
    abi) wanted="$wanted $abi" ;;
    roots) wanted="$wanted $roots" ;;
    bench) wanted="$wanted $bench" ;;
    interop) wanted="$wanted $interop" ;;
    *) echo "packages.sh: unknown purpose $purpose" >&2
       exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "packages.sh: not a Debian system; these must be there:$wanted" | tr -s ' \n' ' ' >&2
    echo >&2
    exit 0
fi

missing=
for package in $wanted; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "packages.sh: missing, and neither root nor sudo to install:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "installing:$missing" >&2
quietly() {     # COMMAND...: its output is shown only if it fails
    log=$(mktemp)
    if ! $as_root env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}
# The word splitting of $missing is intended.
# shellcheck disable=SC2086
if ! quietly apt-get install -qq -y --no-install-recommends $missing 2>/dev/null; then
    quietly apt-get update -qq
    quietly apt-get install -qq -y --no-install-recommends $missing
fi
