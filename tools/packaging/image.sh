#!/bin/sh
# SPDX-License-Identifier: MIT
# image.sh build SRC OUT      in a fresh Debian 12: compiles SRC, and puts the image's files into OUT
# image.sh finish             in the image, with OUT in it: installs the libraries that it needs
# These are the steps of the Dockerfile, which try_image.sh runs in a root made by debootstrap.
set -eu
export DEBIAN_FRONTEND=noninteractive
case $1 in
build)
    "$2/tools/packages.sh" build
    make -s -C "$2" BUILD=/tmp/build LIBRARY=/tmp/build/libsheaf.so -j"$(nproc)" \
        DESTDIR="$3" PREFIX=/usr install
    rm -rf "$3/usr/include" "$3/usr/lib/pkgconfig" "$3/usr/lib/libsheaf.a"
    mkdir -p "$3/usr/share/sheaf"
    cp "$0" "$2/LICENSE" "$3/usr/share/sheaf" ;;
finish)
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends ca-certificates libarchive13 libcurl4 \
        libexpat1 libgif7 libisal2 libjansson4 libjpeg62-turbo liblz4-1 libpng16-16 libssl3 \
        libwebp7 libwebpdemux2 libxxhash0 libzstd1 zlib1g
    rm -rf /var/lib/apt/lists/*
    ldconfig
    sheaf --version ;;
esac
