#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the packages of BUILD/deb (`make deb`) in a fresh Debian 12 system, as root. Runs their
# tests (debian/tests), completes a command in bash, zsh and fish, and reads a manual page. Purges
# the packages, after which none of their files may be left. The root is removed.
set -eu
BUILD=${BUILD:-build}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$BUILD/roots"
root=$(cd "$BUILD/roots" && pwd)/deb
[ -n "$(ls "$BUILD"/deb/sheaf_*.deb 2>/dev/null)" ] || { echo "no packages: make deb" >&2; exit 1; }
"$here/../packages.sh" roots
trap '"$here/root.sh" --remove "$root"' EXIT
inside() { "$here/root.sh" --in "$root" "$@"; }
# Documentation is also installed here, because `man` reads it.
CACHE=${root%/*}/cache "$here/root.sh" bookworm "$root" \
    ca-certificates bash-completion zsh fish man-db gcc libc6-dev pkg-config

mkdir "$root/deb"
cp "$BUILD"/deb/*.deb "$root/deb"
rm -f "$root"/deb/*-dbgsym_*
cp -r "$here/debian/tests" "$root/deb"
inside sh -c 'dpkg-query -W -f "\${Package}\n" >/deb/before'
inside sh -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends \
    libarchive13 /deb/*.deb >/deb/log 2>&1 || { cat /deb/log; exit 1; }'
for test in command library python; do
    inside sh -c "mkdir /deb/scratch && AUTOPKGTEST_TMP=/deb/scratch /deb/tests/$test >/deb/log 2>&1 ||
        { cat /deb/log; exit 1; }; rm -r /deb/scratch"
    echo "passed: $test"
done
inside bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader sheaf
    COMP_WORDS=(sheaf pack --codec l); COMP_CWORD=3; _sheaf; [ "${COMPREPLY[*]}" = lz4 ]'
inside fish -c 'test (complete -C "sheaf pack --codec l") = lz4'
inside zsh -fc 'autoload -U compinit; compinit -u; (( $+_comps[sheaf] ))'
inside sh -c 'man -w sheaf-pack >/dev/null'
echo "passed: completion of bash, fish and zsh, manual pages"
inside sh -c "apt-get purge -qq -y sheaf 'libsheaf0*' libsheaf-dev python3-sheaf >/dev/null 2>&1 &&
    ! find / -xdev -path /deb -prune -o -iname '*sheaf*' -print | grep ."
echo "passed: purged"
