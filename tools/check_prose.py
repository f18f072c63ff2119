#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_prose.py [PATH]...: rejects habits of language in comments and documents that make readers go back.

CONTRIBUTING.md ("Prose") says what to write instead. Exits 1 if a pattern is found. PENDING lists the rooms
that are still to be rewritten, and ALLOWED the single passages in which a pattern is right."""

import os
import re
import subprocess
import sys

# A pattern, and what to write instead.
EVERYWHERE = (
    (r"\b(is|are) no (?!longer\b|more\b)(?<!there is no )(?<!there are no )(?<!There is no )(?<!There are no )\w+",
     "negate the verb: \"is not a ...\""),
    (r"\b(as|so) many as\b|\bso many\b", "count with \"the number of\""),
    (r", too\.(\s|$)", "\"also\" or \"as well\", at its place in the sentence"),
    (r"\bbehind (it|them|the|a|an)\b", "\"after\""),
    (r"\bbelow (a|the) director(y|ies)\b", "\"in\" or \"under\" a directory"),
    (r"\b(SHEAF_(ERR_[A-Z_]+|END)|_(CORRUPT|LIMIT|UNSUPPORTED|EXISTS|CHANGED|ARGUMENT|NOT_FOUND)): [a-z]",
     "\"returns X if ...\""),
    (r"\bbut for\b", "\"except\""),
    (r"\bpass(es|ed)? over\b", "\"skip\""),
)
COMMENTS = (
    (r"^(What|Of|Whether|The same)\b", "start with a verb or a concrete noun"),
)
PENDING = ()
ALLOWED = (
    ("doc/train.md", "pass over"), ("sheaf.h", "pass over"), ("python/src/reading.c", "behind the"),
    ("store/file_system.h", "behind a"), ("doc/prepare.md", "behind them"),
)


def comments_of(text):
    for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', text, re.S):
        if match.group(0).startswith("/*"):
            body = " ".join(re.sub(r"^\s*/?\*+/?", "", line).strip() for line in match.group(0).splitlines())
            body = re.sub(r"\s*\*/$", "", re.sub(r"\s+", " ", body)).replace("SPDX-License-Identifier: MIT", "")
            yield text.count("\n", 0, match.start()) + 1, body.strip()


def paragraphs_of(text):
    line = 1
    for block in re.split(r"(\n\s*\n|```.*?```)", re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"),
                                                       text, flags=re.S | re.M)):
        if block:
            yield line, re.sub(r"\s+", " ", block).strip()
            line += block.count("\n")


def passages(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(".md"):
        for line, body in paragraphs_of(text):
            yield line, body, EVERYWHERE
    else:
        for line, body in comments_of(text):
            yield line, body, EVERYWHERE + COMMENTS


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    paths = sys.argv[1:] or [path for path in subprocess.run(
        ["git", "ls-files", "*.c", "*.h", "*.md"], check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")
        if path and not path.startswith(PENDING + ("tests/",)) and not path.endswith("RESULTS.md")]
    found = 0
    for path in paths:
        for line, body, patterns in passages(path):
            for pattern, instead in patterns:
                match = re.search(pattern, body)
                if match and (path, match.group(0)) not in ALLOWED:
                    print("prose: %s:%d: \"%s\": %s" % (path, line, match.group(0), instead), file=sys.stderr)
                    found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
