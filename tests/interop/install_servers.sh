#!/bin/sh
# SPDX-License-Identifier: MIT
# install_servers.sh [NAME]...: installs the S3 servers that test_s3_servers.py runs the command
# against, and s5cmd, with which tools/bench compares it. Each comes from the registry of its
# language, and is installed in BUILD/interop-s3: about 2 GB while they are built, and 500 MB
# afterwards. They are kept there. Programs that cannot be installed are named, and their tests are
# skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
into=${BUILD:-build}
case $into in /*) ;; *) into=$PWD/$into ;; esac
into=$into/interop-s3
PYTHON=${PYTHON:-/usr/bin/python3}
mkdir -p "$into/bin"

# NAME MODULE VERSION PACKAGE [FILE]: installs a Go program in bin, and removes what the compiler has
# downloaded. The program is the package, or consists of FILE. A module may require exactly this
# version of Go, so that no other is downloaded.
go_program() {
    mkdir -p "$into/go/here" &&
        printf 'module here\n\nrequire %s %s\n' "$2" "$3" >"$into/go/here/go.mod" &&
        if [ $# -gt 4 ]; then
            cp "$5" "$into/go/here/here.go"
        else
            printf 'package here\n\nimport _ "%s"\n' "$4" >"$into/go/here/here.go"
        fi &&
        (cd "$into/go/here" &&
         GOPATH=$into/go GOCACHE=$into/go/cache GOFLAGS='-mod=mod -modcacherw -buildvcs=false' \
             go build -o "$into/bin/$1" "$4") && rm -rf "$into/go"
}

moto() {
    "$PYTHON" -m venv "$into/moto" &&
        "$into/moto/bin/pip" install -q --disable-pip-version-check 'moto[server,s3]==5.2.5'
}

s3proxy() {
    mvn -q -B -f "$here/s3proxy.xml" dependency:copy-dependencies \
        -DoutputDirectory="$into/s3proxy"
}

s3s_fs() {
    CARGO_HOME=$into/cargo cargo install -q --locked --root "$into" --features binary \
        s3s-fs@0.14.1 && rm -rf "$into/cargo"
}

versitygw() {
    go_program versitygw github.com/versity/versitygw v1.8.0 \
        github.com/versity/versitygw/cmd/versitygw
}

minio() {
    go_program minio github.com/minio/minio v0.0.0-20260212201848-7aac2a2c5b7c github.com/minio/minio
}

# Only what serving a directory needs: all of rclone takes ten times as long to build. A module that
# no part of it uses is replaced by an empty one, because a registry may lack the version that is
# required.
rclone() {
    mkdir -p "$into/go/shiny" &&
        printf 'module golang.org/x/exp/shiny\n' >"$into/go/shiny/go.mod" &&
        go_program rclone github.com/rclone/rclone 'v1.76.0

replace golang.org/x/exp/shiny => ../shiny' . "$here/rclone_s3.go"
}

# Needs Node.js and npm, which Debian has as the packages nodejs and npm.
s3rver() {
    npm install --silent --no-audit --no-fund --prefix "$into/s3rver" s3rver@3.7.1
}

s5cmd() { go_program s5cmd github.com/peak/s5cmd/v2 v2.3.0 github.com/peak/s5cmd/v2; }

[ $# -gt 0 ] || set -- moto s3proxy versitygw s3s_fs minio rclone s3rver
for name; do
    stamp=$into/installed-$name
    [ -e "$stamp" ] && continue
    if "$name" >"$into/log" 2>&1 </dev/null; then
        touch "$stamp"
    else
        echo "install_servers.sh: cannot be installed here: $name" >&2
        tail -n 3 "$into/log" >&2
    fi
done
