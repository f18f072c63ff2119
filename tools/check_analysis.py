#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_analysis.py PLIST...: compares the warnings of clang's static analyzer with the list of wrong warnings.

Each PLIST is the analyzer's result for one source file. tools/analyzer/wrong.list names the wrong warnings, and says
why they are wrong. Exits 1 if a warning is not in the list. Also exits 1 if a line of the list has no warning, so that
the list does not hide a later fault in the same function."""

import plistlib
import sys

LIST = "tools/analyzer/wrong.list"


def read_list():
    """Returns the number of the line for each (file, function, checker) in the list."""
    lines = {}
    with open(LIST, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#"):
                continue
            words = line.split(None, 3)
            if len(words) < 4 or tuple(words[:3]) in lines:
                sys.exit("%s:%d: expected FILE FUNCTION CHECKER REASON, which is not in an earlier line"
                         % (LIST, number))
            lines[tuple(words[:3])] = number
    return lines


def warnings_of(plist):
    """Yields the (file, function, checker) of each warning, and the lines that describe it."""
    with open(plist, "rb") as file:
        result = plistlib.load(file)

    def place(location):
        return "%s:%d" % (result["files"][location["file"]].removeprefix("./"), location["line"])

    for found in result["diagnostics"]:
        at = place(found["location"])
        warning = (at.rsplit(":", 1)[0], found["issue_context"], found["check_name"])
        yield warning, ["analyze: %s: %s: %s (%s)" % (at, warning[1], found["description"], warning[2])] + [
            "    %s: %s" % (place(step["location"]), step["message"])
            for step in found["path"] if step["kind"] == "event"]


def main():
    listed = read_list()
    seen, told = set(), set()
    for plist in sys.argv[1:]:
        for warning, lines in warnings_of(plist):
            seen.add(warning)
            if warning not in listed and lines[0] not in told:      # a warning in a header may come several times
                told.add(lines[0])
                print("\n".join(lines))
    for warning in sorted(listed.keys() - seen):
        print("analyze: %s:%d: this warning no longer occurs: %s" % (LIST, listed[warning], " ".join(warning)))
    return bool(told or listed.keys() - seen)


if __name__ == "__main__":
    sys.exit(main())
