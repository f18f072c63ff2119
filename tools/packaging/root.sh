#!/bin/sh
# SPDX-License-Identifier: MIT
# root.sh SUITE DIR [PACKAGE...]
# Makes a fresh Debian system of SUITE with these packages in DIR, by debootstrap (as root), from
# the archive that this machine uses.  The packages stay in CACHE, if that is set.
# root.sh --in DIR COMMAND...      runs a command in it
# root.sh --remove DIR             removes it
set -eu
case $1 in
--in)
    dir=$2
    shift 2
    # The command gets namespaces of its own. When it ends, all of its processes and mounts are
    # gone.
    exec unshare --mount --pid --fork --kill-child env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive DIR="$dir" sh -euc '
            mount -t proc proc "$DIR/proc"
            exec chroot "$DIR" "$@"' sh "$@" ;;
--remove)
    case $2 in /*/*) exec rm -rf --one-file-system "$2" ;; esac
    echo "root.sh: expected an absolute path, not $2" >&2
    exit 2 ;;
esac

suite=$1
dir=$2
shift 2
[ "$(id -u)" -eq 0 ] || { echo "root.sh: debootstrap must be run as root" >&2; exit 1; }
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' \
         'Component: main' | sort -u | grep -v -e -security | head -n 1)
[ -n "$mirror" ] || mirror=$(sed -n 's/^default_mirror *//p' /usr/share/debootstrap/scripts/sid)
rm -rf "$dir"
mkdir -p "$dir" ${CACHE:+"$CACHE"}
log=$dir.log
if ! debootstrap --variant=minbase ${CACHE:+--cache-dir="$CACHE"} \
        ${1:+--include="$(echo "$*" | tr ' ' ,)"} "$suite" "$dir" ${mirror:+"$mirror"} \
        >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    exit 1
fi
rm -f "$log"
cp /etc/resolv.conf "$dir/etc/resolv.conf"
echo "127.0.0.1 localhost" >"$dir/etc/hosts"
