#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_rooms.py [--map]: checks the structure of the source.

Includes between rooms follow the table below. The files of a room do not include each other in a circle, and its C
files do not call each other in a circle. A row of a table (a store, a source, a codec) is named only in its own room,
and so is the scheme of S3. A function is declared in the header of its file, or in a header of its room with the same
first word. A room has at most 45 C files. Each file opens with a sentence that says what the file is. Exits 1 if a
rule is broken. With --map, prints a line for each file, from its first sentence."""

import collections
import glob
import os
import re
import sys

import closure

# Each room, and the rooms whose headers its files may include besides its own and sheaf.h.
ROOMS = {
    "base": (),
    "formats": ("base",),
    "store": ("base",),
    "store/s3": ("store", "base"),
    "image": ("formats", "base"),
    "publish": ("formats", "store", "base"),
    "packer": ("image", "publish", "packer/plan", "packer/source", "formats", "store", "base"),
    "packer/plan": ("image", "publish", "packer/source", "formats", "store", "base"),
    "packer/source": ("formats", "store", "base"),
    "reader/order": ("base",),
    "reader/dataset": ("publish", "reader/order", "formats", "store", "base"),
    "reader/load": ("reader/dataset", "reader/order", "formats", "store", "base"),
    "reader/view": ("publish", "reader/load", "reader/dataset", "reader/order", "formats", "store",
                    "base"),
    "reader": ("reader/view", "reader/load", "reader/dataset", "reader/order", "formats", "store",
               "base"),
    "reader/lookup": ("publish", "reader", "reader/load", "reader/dataset", "reader/order",
                      "formats", "store", "base"),
    "reader/pixels": ("image", "base"),
    "reader/verify": ("publish", "reader/lookup", "reader", "reader/load", "reader/dataset",
                      "reader/order", "formats", "store", "base"),
    "modes": ("packer/source", "reader", "reader/view", "reader/load", "reader/dataset",
              "reader/order", "formats", "store", "base"),
    "copy": ("packer", "packer/plan", "packer/source", "image", "publish", "reader",
             "reader/lookup", "reader/verify", "reader/dataset", "formats", "store", "base"),
    "columns": ("packer", "packer/source", "publish", "reader", "reader/lookup", "reader/dataset",
                "formats", "store", "base"),
    "tools": ("tools/crops", "tools/plan", "tools/report"),
    "tools/plan": ("tools",),
    "tools/crops": ("tools",),
    "tools/report": ("tools",),
    "python/src": (),
}
MOST_FILES = 45


def files_of(room):
    return sorted(glob.glob(room + "/*.[ch]"))


def includes(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^#include "([^"]+)"', file.read(), re.M)


def check_directions():
    """Yields a line for each include that the table does not allow."""
    for room, allowed in ROOMS.items():
        for path in files_of(room):
            for target in includes(path):
                to = os.path.dirname(target)
                if room == "tools" and to == "base" and not os.path.exists(os.path.splitext(target)[0] + ".c"):
                    continue            # an exception for inline functions, which call nothing of the library
                if target != "sheaf.h" and to not in ("", room) + allowed:
                    yield "%s includes %s: %s may include only %s" % (
                        path, target, room, ", ".join(("sheaf.h",) + allowed))


def find_circles(edges):
    """Yields circles in a graph. `edges` has the targets of each node. A circle is a list whose first node is also
    the last."""
    state = {}

    def visit(node, trail):
        state[node] = "open"
        for target in sorted(edges.get(node, ())):
            if state.get(target) == "open":
                yield trail[trail.index(target):] + [target]
            if target not in state:
                yield from visit(target, trail + [target])
        state[node] = "done"

    for node in sorted(edges):
        if node not in state:
            yield from visit(node, [node])


def check_circles():
    """Yields circles of includes among files; x.c and x.h count as one file."""
    edges = collections.defaultdict(set)
    for room in ROOMS:
        for path in files_of(room):
            stem = os.path.splitext(path)[0]
            edges[stem] |= {os.path.splitext(t)[0] for t in includes(path)} - {stem}
    for circle in find_circles(edges):
        yield "circle: " + " -> ".join(circle)


def check_calls():
    """Yields circles of calls among the C files of a room. A function whose name is only mentioned counts as called.
    Calls through tables are not followed."""
    for room in ROOMS:
        functions = {path: closure.functions_of(path) for path in glob.glob(room + "/*.c")}
        home = {name: path for path in functions for name, is_static, _ in functions[path] if not is_static}
        edges = {path: {} for path in functions}
        for path, found in functions.items():
            own = {name for name, _, _ in found}
            for _, _, body in found:
                for name in sorted(set(re.findall(r"(?<![.>\w])[a-z_]\w*", body)) - own):
                    if name in home:
                        edges[path][home[name]] = name
        for circle in find_circles(edges):
            yield "circle of calls: " + ", ".join("%s calls %s in %s" % (a, edges[a][b], b)
                                                  for a, b in zip(circle, circle[1:]))


def check_tables():
    """Yields a line for each row of a table (a store, a source, a codec) that is named outside of its room. Other
    rooms use the struct of the table."""
    texts = {path: open(path, encoding="utf-8").read() for room in ROOMS for path in files_of(room)}
    of_table = {}
    for path, text in texts.items():
        for name in re.findall(r"^const struct \w+_ops (\w+) =", text, re.M):
            of_table[name] = path.split("/")[0]
    for path, text in texts.items():
        for name in set(re.findall(r"\b\w+_ops\b", text)) & set(of_table):
            if not path.startswith(of_table[name] + "/"):
                yield "%s: names %s, which is for tables" % (path, name)


def check_schemes():
    """Yields a line for each text "s3://" or "gs://", and for each format that begins with it, outside of store/s3.
    Other rooms ask the store."""
    for room in ROOMS:
        for path in files_of(room) if room != "store/s3" else ():
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            for scheme in re.findall(r'"((?:s3|gs)://)["%]', text):
                yield '%s: has the text "%s": call store_is_s3 or store_s3_url' % (path, scheme)


def check_headers():
    """Yields a line for each function that other files call and that is not declared in the header of its file, or in
    a header of its room that begins with the same word (fetch.h for fetch_file.c)."""
    texts = {path: re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
             for room in ROOMS for path in files_of(room)}
    word = {path: re.match(r"[a-z0-9]+", os.path.basename(path)).group() for path in texts}
    for room in ROOMS:
        if room == "python/src":        # all files of one module share module.h
            continue
        declared = collections.defaultdict(list)
        for path in files_of(room):
            if path.endswith(".h"):
                for name in re.findall(r"^[a-z][^;{}()]*?\b([a-z_0-9]+)\([^;{}]*\);", texts[path], re.M):
                    declared[name].append(path)
        for path in files_of(room):
            if path.endswith(".c"):
                for name in re.findall(r"^(?!static)[a-z][^;{}()#]*?\b([a-z_0-9]+)\([^;{}]*\)\n\{",
                                       texts[path], re.M):
                    for header in declared[name]:
                        if word[header] != word[path]:
                            yield "%s: %s is declared in %s" % (path, name, header)


def first_sentence(path):
    """Returns the first sentence of the comment that a file opens with, after its licence."""
    with open(path, encoding="utf-8") as file:
        text = file.read(4000)
    comment = re.match(r"/\*(.*?)\*/", text, re.S)
    words = re.sub(r"\n \* ?", "\n", comment.group(1)) if comment else ""
    paragraphs = [" ".join(p.split()) for p in words.split("\n\n")]
    paragraphs = [p for p in paragraphs if p and not p.startswith("SPDX")]
    if not paragraphs:
        return None
    return re.split(r"(?<=[.!?])\s", paragraphs[0])[0].rstrip(":")


def draw_map():
    lines = ["# Map of the source", "",
             "A line for each file, from its own first sentence.", ""]
    for room in ROOMS:
        stems = collections.OrderedDict()
        for path in files_of(room):
            stem, suffix = os.path.splitext(os.path.basename(path))
            stems.setdefault(stem, {})[suffix] = path
        if not stems:
            continue
        lines += ["## %s/" % room, "", "| file | what it is |", "|---|---|"]
        for stem, paths in stems.items():
            path = paths.get(".h") or paths[".c"]
            suffix = ".[ch]" if len(paths) == 2 else os.path.splitext(path)[1]
            lines.append("| `%s%s` | %s |" % (stem, suffix, (first_sentence(path) or "").replace("|", "\\|")))
        lines.append("")
    return "\n".join(lines)


def problems():
    yield from check_directions()
    yield from check_circles()
    yield from check_calls()
    yield from check_tables()
    yield from check_schemes()
    yield from check_headers()
    for room in ROOMS:
        count = len(glob.glob(room + "/*.c"))
        if count > MOST_FILES:
            yield "%s: %d C files, more than %d" % (room, count, MOST_FILES)
        for path in files_of(room):
            if first_sentence(path) is None:
                yield path + ": does not open with what it is"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if sys.argv[1:] == ["--map"]:
        print(draw_map())
        return 0
    found = list(problems())
    for line in found:
        print("rooms: " + line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
