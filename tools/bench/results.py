# SPDX-License-Identifier: MIT
"""results.py: puts the figures of BUILD/bench (bench.json, casestudy.json and the charts) into
RESULTS.md, between its marks, so that no figure is copied by hand."""

import json
import os
import shutil

import bench
import casestudy

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
CHARTS = os.path.join(HERE, "charts")


def table(report):
    """The twelve rows; a line a check."""
    lines = ["| # | what | beside | measured | to reach | |", "|---|---|---|---|---|---|"]
    for number in sorted(report["rows"], key=int):
        row = report["rows"][number]
        lines.append("| **%s** | **%s** | | | | |" % (number, row["title"]))
        for v in row["checks"]:
            measured = ("%s (%s to %s)" % tuple(bench.number(v[k]) for k in (
                "median", "low", "high")) if "median" in v else "not measured")
            lines.append("| | %s%s | %s | %s | %s | %s |" % (
                v["label"], "" if v["base"] else ", " + v["quantity"], v["base"] or "-",
                measured, bench.target(v),
                "" if "median" not in v else "met" if v["met"] else "missed"))
    return lines


def machine(report, command):
    about = report["machine"]
    busy = ("; other work was going on (load average %.1f)" % about["load"]
            if about["load"] > 2 else "")
    return ["`%s` on %s, %s, Linux %s, %s, commit %s%s." % (
        command, about["processor"], about["memory"], about["kernel"], about["date"],
        about["commit"], busy)]


def replace(text, mark, lines):
    begin, end = "<!-- %s: begin -->\n" % mark, "<!-- %s: end -->" % mark
    head, rest = text.split(begin)
    return head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def main():
    folder = os.path.join(os.environ.get("BUILD", "build"), "bench")
    with open(RESULTS, encoding="utf-8") as file:
        text = file.read()
    for name, mark, command, lines in (("bench.json", "speed", "make bench", table),
                                       ("casestudy.json", "case study", "make casestudy",
                                        casestudy.table)):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        text = replace(text, mark, machine(report, command) + [""] + lines(report))
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(CHARTS, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith(".svg"):
            shutil.copy(os.path.join(folder, name), CHARTS)


if __name__ == "__main__":
    main()
