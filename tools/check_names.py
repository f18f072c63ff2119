#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_names.py: finds names for which a search finds too many places.

A tag of a struct, enum or union is defined once in the library. Two files of different rooms do not have the same
name. A header has functions that are named after it. A static function's name is defined in one file of the library
and the command, so that a search finds the function. Exits 1 if a name breaks a rule. FILES and HEADERS list the
exceptions from the time when the rules were made; these lists may only become shorter."""

import collections
import os
import re
import subprocess
import sys

ROOMS = ("base", "formats", "image", "store", "publish", "packer", "reader", "modes", "copy", "columns", "python/src")
COMMAND = ("tools",)            # only its static functions are checked, except those of programs that stand alone:
ALONE = ("tools/bench", "tools/generate")
DEFINITION = re.compile(r"^(?:static |const |extern )*(?:struct|enum|union) (\w+) \{", re.M)
FUNCTION = re.compile(r"^(?:static inline |SHEAF_API |SHEAF_CALL )?[A-Za-z][\w ]*?[ *]+(\w+)\(", re.M)
STATIC = re.compile(r"^static (?!inline)[^;{}()=]*?\b(\w+)\([^;{}]*\)\n\{", re.M)

# The binding's files are named after the library's objects that they show to Python.
FILES = ("plan.c", "unpack.c", "view.c", "view.h", "warm.c")
HEADERS = (
    "base/bytes.h",                 # load16, store32, ...: the usual names
    "base/error.h",                 # err_...
    "python/src/packing.h",         # packed_...: packed.c reads what packing.c writes
    "python/src/process.h",         # forks_..., thread_start
    "reader/dataset/probe.h",       # look_...
)


def tracked(rooms):
    names = subprocess.run(["git", "ls-files", "*.c", "*.h"], capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\n")
            if name.startswith(tuple(room + "/" for room in rooms)) and not name.startswith(ALONE)]


def without_comments(name):
    with open(name, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def words_of(name):
    """Returns the words that show that a function belongs to a header."""
    stem = os.path.basename(name)[:-2]
    return {stem, *stem.split("_")} | {word[:-1] for word in stem.split("_") if word.endswith("s")}


def main():
    files = tracked(ROOMS)
    tags, statics, bases, faults = (collections.defaultdict(list) for _ in range(4))
    for name in files:
        text = without_comments(name)
        if not name.startswith("python/"):
            bases[os.path.basename(name)].append(name)
        for tag in DEFINITION.findall(text):
            tags[tag].append(name)
        if name.endswith(".h"):
            functions = [function for function in FUNCTION.findall(text) if not function.isupper()]
            words = words_of(name)
            if functions and not any(words & set(function.split("_")) or function.startswith(tuple(words))
                                     for function in functions) and name not in HEADERS:
                faults[name] = functions[:3]
    for name in files + tracked(COMMAND):
        for function in set(STATIC.findall(without_comments(name))):
            statics[function].append(name)
    count = 0
    for tag, names in sorted(tags.items()):
        if len(names) > 1:
            print("names: %s is defined in %s" % (tag, ", ".join(names)))
            count += 1
    for base, names in sorted(bases.items()):
        if len(names) > 1 and base not in FILES:
            print("names: %s" % " and ".join(names))
            count += 1
    for name, functions in sorted(faults.items()):
        print("names: no function of %s has its name: %s" % (name, ", ".join(functions)))
        count += 1
    for function, names in sorted(statics.items()):
        if len(names) > 1:
            print("names: the static function %s is in %s" % (function, ", ".join(names)))
            count += 1
    return count != 0


if __name__ == "__main__":
    sys.exit(main())
