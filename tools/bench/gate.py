# SPDX-License-Identifier: MIT
"""make bench-gate: compares the processor time of reading and packing with the last release's, in one run.

    BUILD=build python3 tools/bench/gate.py [COMMIT]

Builds COMMIT (by default the newest commit "release X.Y.Z: ...") in BUILD/gate, runs both commands in turn on
the same data, and fails if a median of this build takes more than 10 % more processor time than the release's.
GATE_ROUNDS (7) sets the number of rounds. Run it on a quiet machine."""

import os
import resource
import shutil
import statistics
import subprocess
import sys

LIMIT = 1.10
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
GATE = os.path.join(BUILD, "gate")
ROUNDS = int(os.environ.get("GATE_ROUNDS", "7"))


def run(*words, **more):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)


def processor_time(*words):
    """Returns the user and system seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def build_release(commit):
    """Returns the command of the release, which it builds unless it is there."""
    tree = os.path.join(GATE, "release")
    run("git", "worktree", "prune", cwd=ROOT)
    if not os.path.isdir(tree):
        run("git", "worktree", "add", "--detach", tree, commit, cwd=ROOT)
    run("git", "checkout", "-q", "--detach", commit, cwd=tree)
    run("make", "-s", "-j%d" % os.cpu_count(), "all", cwd=tree)
    return os.path.join(tree, "build", "sheaf")


def last_release():
    commits = subprocess.run(["git", "log", "--format=%h", "--grep=^release [0-9]"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE).stdout.decode().split()
    if not commits:
        sys.exit("gate: no commit of a release: name one")
    return commits[0]


def make_data(sheaf):
    """Makes the data with the release, since every later build reads it."""
    data = os.path.join(GATE, "data")
    shutil.rmtree(data, ignore_errors=True)
    os.makedirs(os.path.join(data, "records"))
    tree, records = os.path.join(data, "tree"), os.path.join(data, "records")
    run(os.path.join(BUILD, "make_jpegs"), tree, "--images", "6000", "--seed", "1")
    run(os.path.join(BUILD, "bench", "make_records"), records, "3000000", "100")
    run(sheaf, "index", records, "--quiet")
    for name, options in (("webdataset", ()), ("tfrecord", ()), ("recordio", ()),
                          ("gzip", ("--codec", "gzip")), ("lz4", ("--codec", "lz4"))):
        container = name if not options else "tfrecord"
        run(sheaf, "pack", tree, os.path.join(data, name), "--format", container, "--quiet", *options)
    return data


def works(data):
    """Yields a label and the arguments of each measured command; `out` is removed before each."""
    for name in ("webdataset", "tfrecord", "recordio"):
        yield "read %s in order (row 1)" % name, ("cat", os.path.join(data, name), "--no-shuffle", "--null")
    for order in ("--no-shuffle", "--seed=1"):
        yield "small records, %s (row 3)" % order, ("cat", os.path.join(data, "records"), order, "--null")
    for name in ("webdataset", "tfrecord", "recordio"):
        yield "pack %s (row 4)" % name, ("pack", os.path.join(data, "tree"), os.path.join(data, "out"),
                                         "--format", name, "--quiet")
    for name in ("gzip", "lz4"):
        yield "read %s (row 9)" % name, ("cat", os.path.join(data, name), "--no-shuffle", "--null")


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else last_release()
    release, ours = build_release(commit), os.path.join(BUILD, "sheaf")
    data = make_data(release)
    failed = 0
    for label, words in works(data):
        ratios = []
        for number in range(ROUNDS + 1):            # the first round warms up
            times = {}
            for command in (release, ours) if number % 2 else (ours, release):
                shutil.rmtree(os.path.join(data, "out"), ignore_errors=True)
                times[command] = processor_time(command, *words)
            if number:
                ratios.append(times[ours] / times[release])
        ratio = statistics.median(ratios)
        failed += ratio > LIMIT
        print("%-40s %5.2f x the processor time of %s (%.2f to %.2f)%s" % (
            label, ratio, commit, min(ratios), max(ratios), "  TOO SLOW" if ratio > LIMIT else ""), flush=True)
    shutil.rmtree(data)
    sys.exit("gate: %d slower than %.2f x" % (failed, LIMIT) if failed else 0)


if __name__ == "__main__":
    main()
