#!/bin/sh
# SPDX-License-Identifier: MIT
# libraries.sh DIR
# Builds the libraries that a wheel carries as static ones in DIR/lib, with their headers in
# DIR/include and their licences in DIR/licences.  CC and AR build them; JOBS is how many at once.
#
# The sources are those of this machine's Debian archive, so that their faults are mended as
# Debian mends them, and the wheel has what the tests run with.  Compiled here, they need only the
# C library that CC targets, and have only what is called: HTTP, but no LDAP; tar, but no XML.
# OpenSSL's static libraries are Debian's own: they are position-independent, and call nothing that
# the C library has not had for long.
# What was built stays until the archive has another version of it.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
CC=${CC:-gcc}
AR=${AR:-ar}
JOBS=${JOBS:-$(nproc)}
packages="zlib lz4 libzstd xxhash libisal jansson libjpeg-turbo libpng1.6 giflib libwebp expat bzip2
          xz-utils libarchive curl"
flags="-O2 -fPIC -fvisibility=hidden"
log=$dir/log

# ---- The sources -----------------------------------------------------------------------------

# Makes a configuration of apt for sources, from the machine's own, with lists of its own.
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/source"
apt-get indextargets --format 'deb-src $(SITE) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Component: main' | sort -u >"$dir/apt/sources.list"
cat >"$dir/apt/conf" <<END
Dir::Etc::sourcelist "$dir/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache";
APT::Sandbox::User "root";
END

# The newest version of a package that the archive still has, as PACKAGE_VERSION.dsc.
fetch() {
    for version in $(apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' |
                     sort -ruV); do
        apt-get source -qq --download-only "$1=$version" >>"$log" 2>&1 || {
            echo "libraries.sh: the archive lacks $1 $version; taking an older one" >&2
            continue
        }
        echo "$1 $version"
        return
    done
    echo "libraries.sh: no source of $1" >&2
    return 1
}
: >"$log"
cd "$dir/source"
export APT_CONFIG="$dir/apt/conf"
apt-get update -qq >>"$log" 2>&1
for package in $packages; do
    fetch "$package"
done >"$dir/versions"
unset APT_CONFIG
mkdir -p "$dir/lib" "$dir/include" "$dir/licences"

# ---- Each library ----------------------------------------------------------------------------

configured() {      # OPTION...: a library with a configure script, installed into DIR
    ./configure -q --prefix="$dir" --libdir="$dir/lib" --host="$(uname -m)-linux-gnu" \
        --disable-shared --enable-static --disable-dependency-tracking \
        CC="$CC" AR="$AR" RANLIB="$AR s" CFLAGS="$flags" CPPFLAGS="-I$dir/include" \
        LDFLAGS="-L$dir/lib" "$@"
}

with_cmake() {      # OPTION...: the same for a library with cmake
    CC=$CC cmake -DCMAKE_C_FLAGS="$flags" -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$dir" \
        -DCMAKE_INSTALL_LIBDIR=lib "$@" .
}

build_zlib() {
    CC=$CC AR=$AR CFLAGS=$flags ./configure --static --prefix="$dir"
    make -j"$JOBS" libz.a
    make install
}

build_lz4() {
    make -j"$JOBS" -C lib CC="$CC" AR="$AR" CFLAGS="$flags" BUILD_SHARED=no liblz4.a
    cp lib/liblz4.a "$dir/lib"
    cp lib/lz4*.h "$dir/include"
}

build_libzstd() {
    make -j"$JOBS" -C lib CC="$CC" AR="$AR" CFLAGS="$flags" ZSTD_LEGACY_SUPPORT=0 libzstd.a
    cp lib/libzstd.a "$dir/lib"
    cp lib/zstd*.h "$dir/include"
}

build_xxhash() {
    make -j"$JOBS" CC="$CC" AR="$AR" CFLAGS="$flags" libxxhash.a
    cp libxxhash.a "$dir/lib"
    cp xxhash.h xxh3.h "$dir/include"
}

# Only the checksums are built, because nothing else is called.
build_libisal() {
    make -f Makefile.unx -j"$JOBS" units=crc CC="$CC" AR="$AR" CFLAGS_="$flags" lib isa-l.h
    cp bin/isa-l.a "$dir/lib/libisal.a"
    mkdir -p "$dir/include/isa-l"
    cp include/*.h "$dir/include/isa-l"
    cp isa-l.h "$dir/include"
}

build_jansson() {
    with_cmake -DJANSSON_BUILD_DOCS=0 -DJANSSON_WITHOUT_TESTS=1 -DJANSSON_EXAMPLES=0
    make -j"$JOBS" install
}

# Vector code gives the same bytes.
build_libjpeg_turbo() {
    with_cmake -DENABLE_SHARED=0 -DCMAKE_POSITION_INDEPENDENT_CODE=1
    make -j"$JOBS" jpeg-static
    cp libjpeg.a "$dir/lib"
    cp jconfig.h jpeglib.h jmorecfg.h jerror.h "$dir/include"
}

build_libpng1_6() {
    configured --disable-hardware-optimizations
    make -j"$JOBS" libpng16.la
    cp .libs/libpng16.a "$dir/lib/libpng.a"
    cp png.h pngconf.h pnglibconf.h "$dir/include"
}

build_giflib() {
    make -j"$JOBS" CC="$CC" AR="$AR" CFLAGS="$flags" libgif.a
    cp libgif.a "$dir/lib"
    cp gif_lib.h "$dir/include"
}

# Only the parts that decode and read files.
build_libwebp() {
    configured --disable-libwebpmux --enable-libwebpdemux --disable-png --disable-jpeg \
        --disable-tiff --disable-gif --disable-gl --disable-sdl --disable-wic
    make -j"$JOBS" -C sharpyuv
    make -j"$JOBS" -C src install
}

build_expat() {
    cd expat
    sed -i 's/^#cmakedefine XML_DTD$/#cmakedefine XML_DTD 1/' expat_config.h.cmake
    with_cmake -DEXPAT_SHARED_LIBS=0 -DEXPAT_BUILD_TOOLS=0 -DEXPAT_BUILD_EXAMPLES=0 \
        -DEXPAT_BUILD_TESTS=0 -DEXPAT_BUILD_DOCS=0
    make -j"$JOBS" install
}

build_bzip2() {
    make -j"$JOBS" CC="$CC" AR="$AR" RANLIB="$AR s" CFLAGS="$flags" libbz2.a
    cp libbz2.a "$dir/lib"
    cp bzlib.h "$dir/include"
}

build_xz_utils() {
    configured --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo \
        --disable-lzma-links --disable-scripts --disable-doc --disable-nls
    make -j"$JOBS" -C src/liblzma install
}

build_libarchive() {
    configured --disable-bsdtar --disable-bsdcat --disable-bsdcpio --disable-acl --disable-xattr \
        --without-openssl --without-nettle --without-mbedtls --without-xml2 --without-expat \
        --without-libb2 --without-cng
    make -j"$JOBS" libarchive.la
    cp .libs/libarchive.a "$dir/lib"
    cp libarchive/archive.h libarchive/archive_entry.h "$dir/include"
}

build_curl() {
    LIBS="-ldl -lpthread" configured --with-openssl --without-ca-bundle --without-ca-path \
        --enable-http --enable-proxy --enable-threaded-resolver --without-libpsl \
        --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict \
        --disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp \
        --disable-gopher --disable-mqtt --disable-manual --disable-ntlm --without-libidn2 \
        --without-nghttp2 --without-brotli --without-zstd --without-librtmp --without-libssh2 \
        --without-gssapi
    make -j"$JOBS" -C lib
    make -C lib install
    make -C include install
}

machine=$(env -u CC dpkg-architecture -qDEB_HOST_MULTIARCH)
mkdir -p "$dir/include/openssl"
cp /usr/include/openssl/*.h "/usr/include/$machine"/openssl/*.h "$dir/include/openssl"
cp "/usr/lib/$machine/libcrypto.a" "/usr/lib/$machine/libssl.a" "$dir/lib"
cp /usr/share/doc/libssl-dev/copyright "$dir/licences/openssl-$(dpkg-query -W -f '${Version}' libssl-dev).txt"

build() {           # PACKAGE VERSION
    rm -rf "$dir/build"
    dpkg-source -q --no-check --no-copy -x "$dir/source/$1_$2.dsc" "$dir/build" >/dev/null
    cd "$dir/build"
    # So that make does not run autoconf again after patching.
    find . -type f -exec touch -r debian/copyright {} +
    "build_$(echo "$1" | tr .- __)"
    rm -f "$dir/licences/$1"-[0-9]*
    cp "$dir/build/debian/copyright" "$dir/licences/$1-$2.txt"
}

while read -r package version; do
    version=${version#*:}
    [ ! -e "$dir/licences/$package-$version.txt" ] || continue
    echo "building $package $version" >&2
    build "$package" "$version" </dev/null >>"$log" 2>&1 &
    wait $! || { tail -n 30 "$log" >&2; exit 1; }
done <"$dir/versions"
rm -rf "$dir/build"
