# SPDX-License-Identifier: MIT
"""Measures this machine: the library and the command, compared with the physical limit and with the usual
alternatives.

    BUILD=build python3 tools/bench/bench.py [ROW]...       (all rows)

BENCH_SIZE=quick is a short run, to try the benchmark. Ratios are printed. After a full run of all rows,
BUILD/bench/bench.json has all figures, and BUILD/bench/*.svg the charts. After a run of some rows, BUILD/bench/part
has the figures."""

import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time

import charts
import local
import packing
import remote
import views
from data import Data
from rows import CHECKS, TITLES
from run import Results, spread

ROWS = {
    1: [local.read_in_order], 2: [local.read_shuffled], 3: [local.read_records],
    4: [packing.pack_warm], 5: [packing.pack_cold], 6: [remote.read_http], 7: [remote.read_s3],
    8: [remote.pack_s3], 9: [local.read_codecs], 10: [local.memory],
    11: [local.first_sample, remote.first_sample_s3], 12: [packing.pack_small_files],
    13: [remote.read_numbers], 14: [views.read_views], 15: [remote.pack_s3_tls],
    16: [remote.read_paced], 17: [remote.small_objects], 18: [packing.pack_smaller],
    19: [local.crop_photos],
    20: [local.read_columns, remote.read_columns_s3], 21: [remote.pack_far],
}
DROP = "/proc/sys/vm/drop_caches"


class Bench:
    """The directories and programs of a benchmark, and the abilities of the machine."""

    def __init__(self, size):
        self.build = os.path.abspath(os.environ.get("BUILD", "build"))
        self.size = size
        self.data = Data(self.build, size)
        self.folder = os.path.join(self.build, "bench")

    @staticmethod
    def remove(path):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)

    def has_space(self, results, contenders, gigabytes):
        """Returns whether the disk has this much free space. If it does not, the contenders are reported as missing.
        """
        free = shutil.disk_usage(self.data.folder).free / 1e9
        if free < gigabytes:
            for name in contenders:
                results.missing[name] = "%.0f GB of disk needed, %.0f free" % (gigabytes, free)
        return free >= gigabytes

    @staticmethod
    def can_drop_caches():
        return os.access(DROP, os.W_OK) and os.geteuid() == 0

    @staticmethod
    def drop_caches():
        os.sync()
        with open(DROP, "w", encoding="ascii") as file:
            file.write("3\n")


def machine():
    model = memory = ""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = "%.0f GB" % (int(file.readline().split()[1]) / 1e6)
    return {"processor": "%d x %s" % (os.cpu_count(), model), "memory": memory,
            "kernel": platform.release(), "load": os.getloadavg()[0],
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": subprocess.run(["git", "describe", "--always", "--dirty"], check=False,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     text=True).stdout.strip()}


def judge(check, results):
    """Returns a dict with the figure of a check, or with the reason why there is none."""
    verdict = {"row": check.row, "label": check.label, "subject": check.subject,
               "base": check.base, "quantity": check.quantity,
               "least": check.least, "most": check.most}
    absent = [n for n in (check.subject, check.base) if n and n not in results.measures]
    if absent:
        verdict["missing"] = "%s: %s" % (absent[0], results.missing.get(absent[0], "not measured"))
        return verdict
    values = (results.ratios(check.subject, check.base, check.quantity) if check.base
              else results.series(check.subject, check.quantity))
    verdict["median"], verdict["low"], verdict["high"] = spread(values)
    verdict["met"] = ((check.least is None or verdict["median"] >= check.least) and
                      (check.most is None or verdict["median"] <= check.most))
    return verdict


def number(value):
    if abs(value) >= 1e6:
        return "%.2f million" % (value / 1e6)
    return "%.0f" % value if abs(value) >= 100 else "%.3g" % value


def target(verdict):
    least = verdict["least"]
    return "%s %s" % ("at least" if least is not None else "at most",
                      number(least if least is not None else verdict["most"]))


def print_verdict(verdict):
    what = "%s%s" % (verdict["label"], (" / " + verdict["base"]) if verdict["base"] else
                     ", " + verdict["quantity"])
    if "missing" in verdict:
        print("  %-58s not measured: %s" % (what, verdict["missing"]))
        return
    print("  %-58s %10s  (%s to %s)  %-18s %s" % (
        what, number(verdict["median"]), number(verdict["low"]), number(verdict["high"]),
        target(verdict), "met" if verdict["met"] else "MISSED"))


def summary(results):
    """Returns {contender: {quantity: [median, low, high]}}."""
    quantities = ("seconds", "GB/s", "items/s", "CPU s/GB", "peak MiB", "first ms")
    return {name: {q: spread([m.get(q) for m in measures]) for q in quantities}
            for name, measures in results.measures.items()}


COLUMNS = (("seconds", "%9.3f s"), ("GB/s", "%7.2f GB/s"), ("items/s", "%10.0f items/s"),
           ("CPU s/GB", "%7.3f CPU s/GB"), ("peak MiB", "%6.0f MiB"),
           ("first ms", "%8.1f ms to the first"))


def print_rates(table):
    for name, values in table.items():
        print("    %-34s%s" % (name, "".join(
            form % values[q][0] if values[q][0] > 0 else " " * len(form % 0)
            for q, form in COLUMNS).rstrip()))


def main(words):
    size = os.environ.get("BENCH_SIZE", "full")
    bench = Bench(size)
    report = {"machine": machine(), "size": size, "rows": {}}
    print("%(processor)s, %(memory)s, Linux %(kernel)s, %(date)s" % report["machine"])
    begin = time.monotonic()
    for row in [int(w) for w in words] or sorted(ROWS):
        results = Results()
        print("\n%d. %s" % (row, TITLES[row]), flush=True)
        for measure in ROWS[row]:
            measure(bench, results)
        verdicts = [judge(check, results) for check in CHECKS if check.row == row]
        table = summary(results)
        print_rates(table)
        for verdict in verdicts:
            print_verdict(verdict)
        sys.stdout.flush()
        report["rows"][row] = {"title": TITLES[row], "checks": verdicts, "contenders": table,
                               "missing": results.missing}
    report["seconds"] = time.monotonic() - begin
    folder = bench.folder if size == "full" and not words else os.path.join(bench.folder, "part")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "bench.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    charts.draw(report, folder)
    checks = [v for r in report["rows"].values() for v in r["checks"]]
    print("\n%d of %d met, %d not measured; %.0f s; %s" % (
        sum(v.get("met", False) for v in checks), len(checks),
        sum("missing" in v for v in checks), report["seconds"], path))


def end_orderly(*_):
    """Makes a signal end the program like an error, so that servers and mounts are removed."""
    sys.exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end_orderly)
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main(sys.argv[1:])
