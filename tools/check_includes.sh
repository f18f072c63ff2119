#!/bin/sh
# SPDX-License-Identifier: MIT
# Includes run one way: tools, python -> sheaf.h; packer, reader -> formats, store, base;
# formats, store -> base.  Exits 1 if any include goes elsewhere.
set -u
bad=0
allow() {   # FOLDER 'REGEX of what it may include of this project'
    found=$(grep -nE '^#include "' $(find "$1" -name '*.[ch]') /dev/null 2>/dev/null |
            grep -vE "#include \"($2)\"")
    if [ -n "$found" ]; then
        echo "includes: $1 may include only: $2" >&2
        echo "$found" >&2
        bad=1
    fi
}
allow base    'sheaf\.h|base/[a-z0-9_]+\.h'
allow formats 'sheaf\.h|(base|formats)/[a-z0-9_]+\.h'
allow store   'sheaf\.h|(base|store)/[a-z0-9_]+\.h'
allow packer  'sheaf\.h|(base|formats|store|packer)/[a-z0-9_]+\.h'
allow reader  'sheaf\.h|(base|formats|store|reader)/[a-z0-9_]+\.h'
allow tools   'sheaf\.h|tools/[a-z0-9_/]+\.h'
allow python  '[a-z]+\.h'      # its own; sheaf.h comes as <sheaf.h>
exit $bad
