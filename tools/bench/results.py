# SPDX-License-Identifier: MIT
"""results.py: writes the figures of BUILD/bench (bench.json, casestudy.json and the charts) into RESULTS.md, between
its marks, so that no figure is copied by hand. If only some rows were measured (BUILD/bench/part), their figures
replace those rows, and a line says where and when they were measured."""

import json
import os
import re
import shutil

import bench
import casestudy

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
CHARTS = os.path.join(HERE, "charts")


HEAD = ["| # | what | beside | measured | to reach | |", "|---|---|---|---|---|---|"]
ROW = re.compile(r"\| \*\*(\d+)\*\* \|")
ROWS = re.compile(r"Rows? ([\d, ]+) on ")


def table(report):
    """Returns the rows of the table, with one line for each check."""
    lines = list(HEAD)
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


def machine(report, what):
    about = report["machine"]
    busy = ("; other work was going on (load average %.1f)" % about["load"]
            if about["load"] > 2 else "")
    return ["%s on %s, %s, Linux %s, %s, commit %s%s." % (
        what, about["processor"], about["memory"], about["kernel"], about["date"],
        about["commit"], busy)]


def rows_of(lines):
    """Returns {number: lines of the row} of a table."""
    rows, number = {}, None
    for line in lines[len(HEAD):]:
        found = ROW.match(line)
        number = int(found.group(1)) if found else number
        rows.setdefault(number, []).append(line)
    return rows


def rows_named(numbers):
    return "Row%s %s" % ("s" if len(numbers) > 1 else "", ", ".join(numbers))


def without(note, numbers):
    """Removes rows that were measured again from a note about single rows. Returns "" if no row is left."""
    found = ROWS.match(note)
    if not found:
        return note
    left = [n for n in found.group(1).split(", ") if int(n) not in numbers]
    return "%s on %s" % (rows_named(left), note[found.end():]) if left else ""


def merged(lines, report):
    """Returns the notes and the table of the page, with a report of single rows merged into them."""
    at = lines.index("")
    new = rows_of(table(report))
    notes = [note for note in (without(note, new) for note in lines[:at]) if note]
    notes += machine(report, rows_named([str(n) for n in sorted(new)]))
    rows = {**rows_of(lines[at + 1:]), **new}
    return [*notes, "", *HEAD, *(line for number in sorted(rows) for line in rows[number])]


def replace(text, mark, lines):
    begin, end = "<!-- %s: begin -->\n" % mark, "<!-- %s: end -->" % mark
    head, rest = text.split(begin)
    return head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def section(text, mark):
    begin, end = "<!-- %s: begin -->\n" % mark, "\n<!-- %s: end -->" % mark
    return text.split(begin)[1].split(end)[0].split("\n")


def updated(text, folder):
    """Returns the page with everything that was measured."""
    for name, mark, lines in (
            ("bench.json", "speed", lambda r: machine(r, "`make bench`") + [""] + table(r)),
            (os.path.join("part", "bench.json"), "speed",
             lambda r: merged(section(text, "speed"), r)),
            ("casestudy.json", "case study",
             lambda r: machine(r, "`make casestudy`") + [""] + casestudy.table(r))):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = replace(text, mark, lines(json.load(file)))
    return text


def main():
    folder = os.path.join(os.environ.get("BUILD", "build"), "bench")
    with open(RESULTS, encoding="utf-8") as file:
        text = updated(file.read(), folder)
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(CHARTS, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith(".svg"):
            shutil.copy(os.path.join(folder, name), CHARTS)


if __name__ == "__main__":
    main()
