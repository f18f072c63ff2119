#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""closure.py [--list] [FUNCTION [DIRECTORY...]]: prints how many functions of the source a function can reach.

A call is the name of a function of the source, followed by a bracket. A function whose name is assigned counts as
called later (the jobs of threads). Calls through a table (containers, codecs, stores) are not followed. FUNCTION is
sheaf_reader_next by default, and the directories are those of the reader. Prints functions, files and the longest
chain of calls; with --list, each function."""

import collections
import glob
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CALL = re.compile(r"(?<![.>\w])([a-z_]\w*)(?=\()|(?<= = )([a-z_]\w*)(?=[;,])")
FUNCTION = re.compile(r"^((?:static |inline |const )*[A-Za-z_][\w ]*[ *]+)([a-z_]\w*)\(([^;{}]*)\)\n\{\n(.*?)^\}", re.M | re.S)


def functions_of(path):
    """Returns (name, whether it is static, body) of each function in a file."""
    with open(path, encoding="utf-8") as file:
        text = STRING.sub('""', COMMENT.sub("", file.read()))
    return [(name, "static" in head, body) for head, name, _, body in FUNCTION.findall(text)]


def main():
    words = [word for word in sys.argv[1:] if word != "--list"]
    start = words[0] if words else "sheaf_reader_next"
    rooms = words[1:] or ["reader"]
    bodies, public = {}, {}
    own = collections.defaultdict(dict)
    for room in rooms:
        for path in sorted(glob.glob(room + "/**/*.[ch]", recursive=True)):
            for name, is_static, body in functions_of(path):
                bodies[path, name] = body
                own[path][name] = (path, name)
                if not is_static or path.endswith(".h"):
                    public[name] = (path, name)
    if start not in public:
        sys.exit("closure.py: no function %s in %s" % (start, ", ".join(rooms)))
    depth = {public[start]: 1}
    left = [public[start]]
    while left:
        at = left.pop(0)
        for name in {call or job for call, job in CALL.findall(bodies[at])}:
            to = own[at[0]].get(name) or public.get(name)
            if to is not None and to not in depth:
                depth[to] = depth[at] + 1
                left.append(to)
    files = {path for path, _ in depth}
    print("%s: %d functions in %d files, up to %d calls deep" % (start, len(depth), len(files),
                                                                 max(depth.values())))
    if "--list" in sys.argv:
        for path, name in sorted(depth):
            print("%s: %s" % (path, name))


if __name__ == "__main__":
    main()
