#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""abi_grown.py LAST NOW: writes the ABI description NOW without the members that structs and enums have gained at
their end since LAST. Programs of the last release do not notice such members, because they pass the size of a struct
to the library, or read a struct that the library allocated. abidiff could suppress these changes itself, but it would
then suppress every change of a type."""

import sys
import xml.etree.ElementTree as ET


def types(tree):
    """(kind and name, element) of each type that is defined; a type may be there once for each file that has it."""
    return [((kind, t.get("name")), t) for kind in ("class-decl", "enum-decl")
            for t in tree.iter(kind) if t.get("name") and len(t)]


def main():
    last, now = (ET.parse(path) for path in sys.argv[1:])
    old = dict(types(last))
    for name, new in types(now):
        if name not in old or old[name].get("is-anonymous"):
            continue
        if name[0] == "enum-decl":
            known = {e.get("name") for e in old[name].iter("enumerator")}
            gained = [e for e in new.findall("enumerator") if e.get("name") not in known]
        else:
            end = int(old[name].get("size-in-bits", 0))
            gained = [m for m in new.findall("data-member")
                      if int(m.get("layout-offset-in-bits", 0)) >= end]
            if gained:
                new.set("size-in-bits", str(end))
        for child in gained:
            new.remove(child)
    now.write(sys.stdout.buffer)


if __name__ == "__main__":
    main()
