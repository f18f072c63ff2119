# SPDX-License-Identifier: MIT
"""Faults at every call. Each command is run again and again. Each time, the next call of a kind fails (faults.c), or
the process dies before it, until every call has failed once.

Each time, the command must succeed with the right result, or fail with a message that says why. After it, `verify`
must refuse what is there, or it must be right. Then the command is run once more, with --resume or --overwrite if it
has these options. It must succeed, and leave the same bytes as a run without faults.

    faults.py [CASE...]     all cases of CASES, or the named cases
    CAMPAIGN_FAULTS=N       at most N calls of each kind in each case, chosen by SEED (0: all)"""

import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), "system")]

import jpegs                                            # noqa: E402
import readers                                          # noqa: E402
import trees                                            # noqa: E402
from chain import BUILD, SHEAF                          # noqa: E402
from run import scratch, setting                        # noqa: E402

LIBRARY = os.path.join(BUILD, "campaign", "faults.so")
MEMORY = "memory|allocate|Resource temporarily unavailable|libcrypto"
REASONS = {
    "enospc": "No space left", "eio": "Input/output error", "emfile": "Too many open files",
    "enomem": MEMORY, "crypto": MEMORY, "kill": "",
}
MOST = {"crypto": 300}      # of some thousand calls, which are all similar
TIMEOUT = 60        # seconds until a command counts as hanging
PACK = ["pack", "{in}/tree", "d"]
PLAN = ["plan", "{in}/tree", "d", "-o", "plan", "--format", "recordio", "--shard-count", "3"]
CONVERT = ["convert", "{in}/set", "d", "--format", "tfrecord", "--codec", "gzip"]


class Case:
    """before: commands that prepare the destination. sets: places of data sets that the command makes. again: options
    of the run after the fault, used in turn. after: commands after it."""

    def __init__(self, command, before=(), sets=("d",), again=((),), after=(), **more):
        self.command, self.before, self.sets = list(command), before, sets
        self.again, self.after = again, after
        self.old = more.get("old", False)           # an earlier data set may still be there
        self.anew = more.get("anew", False)         # a second run needs another place
        self.remote = more.get("remote", False)
        self.bare = more.get("bare", False)         # the shards are valid even without a manifest
        self.skips = more.get("skips", False)       # files that cannot be read are left out
        self.reports = more.get("reports", False)   # a failed command also prints what it read


RESUME = (("--resume",), ("--overwrite",))
PARTS = (["pack", "--plan", "plan"],)
CASES = {
    "pack": Case([*PACK, "--format", "webdataset", "--shard-count", "2", "--jobs", "1"],
                 again=RESUME),
    "pack-gzip": Case([*PACK, "--format", "recordio", "--codec", "gzip", "--shard-count", "2",
                       "--jobs", "2"], again=RESUME),
    "pack-split": Case([*PACK, "--format", "tfrecord", "--codec", "lz4", "--split",
                        "a=0.5,b=0.5"], sets=("d/a", "d/b"), again=RESUME),
    "pack-skip": Case([*PACK, "--format", "tfrecord", "--on-error", "skip"], again=RESUME[1:],
                      skips=True),
    "pack-over": Case([*PACK, "--format", "webdataset", "--overwrite"], again=((),), old=True,
                      before=(["pack", "{in}/other", "d", "--format", "webdataset"],)),
    "pack-csv": Case(["pack", "{in}/list.csv", "d", "--format", "tfrecord"], again=RESUME),
    "pack-jsonl": Case(["pack", "{in}/list.jsonl", "d", "--format", "recordio"], again=RESUME),
    "pack-lst": Case(["pack", "{in}/list.lst", "d", "--format", "webdataset"], again=RESUME),
    "plan": Case(PLAN, again=(("--overwrite",), ("--resume",)),
                 after=(*PARTS, ["commit", "plan"])),
    "part": Case(PARTS[0], before=(PLAN,), after=(["commit", "plan"],)),
    "commit": Case(["commit", "plan"], before=(PLAN, *PARTS)),
    "convert": Case(CONVERT, again=RESUME),
    "convert-map": Case([*CONVERT, "--field-map", "jpg=image.jpg,txt=note.txt"], again=RESUME),
    "convert-over": Case([*CONVERT, "--overwrite"], again=((),), old=True,
                         before=(["pack", "{in}/other", "d", "--format", "webdataset", "--index",
                                  "wids"],)),
    "convert-part": Case(["convert", "--plan", "plan"], before=(["plan", "{in}/set", "d", "-o",
                         "plan", "--format", "webdataset"],), after=(["commit", "plan"],)),
    "unpack": Case(["unpack", "{in}/set", "d"], sets=(), anew=True),
    "index": Case(["index", "bare"], before=(["!cp", "-r", "{in}/bare", "bare"],), sets=("bare",),
                  again=(("--overwrite",),), bare=True),
    "cat": Case(["cat", "{in}/set", "--to", "webdataset", "--seed", "3"], sets=()),
    "cat-codec": Case(["cat", "{in}/packed", "--list", "--save-position", "position", "--limit",
                       "9"], sets=()),
    "cat-cache": Case(["cat", "s3://bucket/set", "--list", "--cache", "cache"], sets=(),
                      remote=True),
    "fetch": Case(["fetch", "s3://bucket/set/", "d"], remote=True),
    "pack-from-s3": Case(["pack", "s3://bucket/tree/", "d", "--format", "webdataset"],
                         again=RESUME, remote=True),
    "pack-to-s3": Case([*PACK[:2], "s3://bucket/d", "--format", "recordio", "--overwrite"],
                       sets=(), after=(["verify", "s3://bucket/d"],), remote=True),
    "convert-s3": Case(["convert", "s3://bucket/set", "d", "--format", "tfrecord"], again=RESUME,
                       remote=True),
    "unpack-s3": Case(["unpack", "s3://bucket/set", "d"], sets=(), anew=True, remote=True),
    "verify-s3": Case(["verify", "s3://bucket/set"], sets=(), remote=True, reports=True),
}


def make_inputs(folder):
    """Makes the inputs of all cases: a tree, a second tree, and data sets of the first."""
    files = {"%s/%02d.jpg" % (name, i): jpegs.jpeg(seed=i) for name in ("a", "b")
             for i in range(6)}
    files.update({"a/%02d.txt" % i: b"text %d" % i * 50 for i in range(6)})
    files.update({"c/big.bin": bytes(range(256)) * 300, "c/none.bin": b""})
    trees.write(os.path.join(folder, "tree"), files)
    for kind in ("csv", "jsonl", "lst"):
        write_list(folder, kind, sorted(name for name in files if name.startswith("a/")))
    trees.write(os.path.join(folder, "other"), {"x/1.bin": b"1", "y/2.bin": b"2"})
    for words in (["tree", "set", "--format", "recordio"],
                  ["tree", "packed", "--format", "tfrecord", "--codec", "lz4"],
                  ["tree", "bare", "--format", "webdataset"]):
        subprocess.run([SHEAF, "pack", *words, "--shard-count", "2"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    for name in os.listdir(os.path.join(folder, "bare")):
        if not name.endswith(".tar"):
            os.unlink(os.path.join(folder, "bare", name))


def write_list(folder, kind, names):
    """Writes a list whose labels are numbers. If they were names, a label that cannot be read would create a class.
    """
    lines = {"csv": "tree/%s,%d\n", "jsonl": '{"path": "tree/%s", "label": [%d, 0.5]}\n'}
    with open(os.path.join(folder, "list." + kind), "w", encoding="ascii") as file:
        for number, name in enumerate(names):
            label = int(name[2:4])              # the same label for all files of a sample
            file.write("%d\t%d\t1\ttree/%s\n" % (number, label, name) if kind == "lst" else
                       lines[kind] % (name, label))


class Bench:
    """One case and one kind of fault, in a folder of their own."""

    def __init__(self, folder, case, kind, env):
        self.case, self.kind, self.env = case, kind, env
        self.folder, self.work = folder, os.path.join(folder, "work")
        self.template, self.log = os.path.join(folder, "template"), os.path.join(folder, "log")
        self.lines = []

    def words(self, words, **places):
        places = {"in": os.path.join(self.folder, "inputs"), **places}
        return [word.replace("{in}", places["in"]) for word in words]

    def run(self, words, at=None):
        """Runs a command in the work folder, with the fault at the given call, if any."""
        env = dict(self.env)
        if at is not None:
            env.update(LD_PRELOAD=LIBRARY, FAULT_KIND=self.kind, FAULT_AT=str(at),
                       FAULT_LOG=self.log)
        words = self.words(words)
        program = words[0][1:] if words[0].startswith("!") else SHEAF
        words = words[1:] if words[0].startswith("!") else words
        self.lines.append("%s%s %s" % (
            "FAULT_KIND=%s FAULT_AT=%d LD_PRELOAD=%s " % (self.kind, at, LIBRARY)
            if at is not None else "", os.path.basename(program), " ".join(words)))
        try:
            return subprocess.run([program, *words], cwd=self.work, env=env, timeout=TIMEOUT,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(words, 124, late.stdout or b"",
                                               (late.stderr or b"") + b"(it did not end)")

    def must(self, words):
        done = self.run(words)
        if done.returncode != 0:
            raise AssertionError("status %d: %s" % (done.returncode,
                                                    done.stderr.decode(errors="replace")[-1500:]))
        return done

    def restore(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.template, self.work, symlinks=True)
        if os.path.exists(self.log):
            os.unlink(self.log)
        self.lines = []

    def prepare(self):
        """Prepares the destination, and makes the result of a run without faults."""
        os.makedirs(self.work)
        for words in self.case.before:
            self.must(words)
        shutil.copytree(self.work, self.template)
        self.before = readers.tree_of(self.work)
        self.output = self.must(self.case.command).stdout
        self.result = self.files()
        for words in self.case.after:
            self.must(words)
        self.clean = readers.tree_of(self.work)

    def count(self):
        """Returns the number of calls."""
        self.restore()
        done = self.run(self.case.command, 0)
        with open(self.log, encoding="ascii") as file:
            text = file.read()
        assert done.returncode == 0, done.stderr
        return int(text.split()[1])

    # ---- One fault -------------------------------------------------------------------------

    def one(self, at):
        """Makes the call with this number fail. Returns a description of what is wrong, or None. Returns False if
        there was no such call."""
        self.restore()
        done = self.run(self.case.command, at)
        fault = readers.read(self.log).decode().split("\n")[0] if os.path.exists(self.log) else ""
        if fault.startswith("calls") or (not fault and self.kind != "kill"):
            return False
        try:
            self.check_end(done)
            self.check_place()
            self.check_again(at)
        except AssertionError as wrong:
            return "%s: %s\n    %s" % (fault, wrong, "\n    ".join(self.lines))
        return None

    def check_end(self, done):
        text = done.stderr.decode(errors="replace")
        if self.kind == "kill":
            assert done.returncode == -9, "status %d" % done.returncode
            return
        assert done.returncode in (0, 1, 2), "status %d: %s" % (done.returncode, text[-1500:])
        if done.returncode == 0:
            assert done.stdout == self.output or not self.case.sets == () or \
                self.case.anew, "success, with other output"
            found = self.files()
            left_out = (self.case.skips and self.kind == "eio"
                        and b"the skipped are listed in" in done.stdout)
            if not self.case.remote and not left_out:
                assert found == self.result, "success, with other files: %s" % differing(
                    found, self.result)
            return
        assert re.search(r"(?m)^sheaf: .*(%s)" % REASONS[self.kind], text), \
            "the error does not say why: %s" % text[-1500:]
        if not self.case.sets and not self.case.anew and not self.case.reports:
            assert self.output.startswith(done.stdout), "failure, after wrong output"

    def check_place(self):
        """Checks that whatever verify accepts is right, and that files that unpack leaves are whole."""
        for place in () if self.case.skips else self.case.sets:
            done = self.run(["verify", place])
            if self.case.bare and not os.path.exists(os.path.join(self.work, place,
                                                                  "dataset.json")):
                continue
            if done.returncode == 0 and not (self.case.old and self.is_as(place, self.before)):
                assert self.is_as(place, self.clean), "verify accepts %s: %s" % (
                    place, differing(readers.tree_of(self.work), self.clean))
        if self.case.anew:
            for name, data in readers.tree_of(self.work).items():
                hidden = any(part.startswith(".") for part in name.split("/"))
                assert hidden or data == self.clean.get(name), "%s is not whole" % name

    def files(self):
        """Returns the files of a place, without those of a run, which contain its time and place."""
        return {name: data for name, data in readers.tree_of(self.work).items()
                if ".sheaf-partial/" not in name}

    def is_as(self, place, files):
        """Returns whether the expected files of a place are there and the same. There may be more."""
        found = readers.tree_of(self.work)
        wanted = {n: data for n, data in files.items() if n.startswith(place + "/")}
        return bool(wanted) and all(found.get(name) == data for name, data in wanted.items())

    def check_again(self, at):
        more = self.case.again[at % len(self.case.again)]
        words = list(self.case.command)
        if self.case.anew:
            shutil.rmtree(os.path.join(self.work, "d"), ignore_errors=True)
        done = self.must(words + [word for word in more if word not in words])
        if not self.case.sets and not self.case.anew:
            assert done.stdout == self.output, "run again, it has other output"
        for words in self.case.after:
            self.must(words)
        found = readers.tree_of(self.work)
        if not self.case.sets and not self.case.anew:
            return                                      # the content of a cache is not compared
        assert found == self.clean or self.case.remote and all(
            found.get(name) == data for name, data in self.clean.items()), \
            "run again, it leaves other files: %s" % differing(found, self.clean)


def differing(found, expected):
    names = sorted(set(found) | set(expected))
    return [name for name in names if found.get(name) != expected.get(name)][:8]


def start_service(folder):
    """Starts the fake S3 service with the data set and the tree. Returns the service and its environment."""
    import fake_s3
    import servers
    server = fake_s3.Server(1)
    for name, data in readers.tree_of(os.path.join(folder, "inputs")).items():
        if name.startswith(("set/", "tree/")):
            server.buckets["bucket"].objects[name] = fake_s3.Object(data)
    return server, {**servers.clean_environment(), "AWS_ENDPOINT_URL": server.url,
                    "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}


def run_case(job):
    """Tries all calls of one kind in one case. Returns (name, kind, number of failed calls, what was wrong)."""
    name, kind, most, seed = job
    folder = tempfile.mkdtemp(prefix="sheaf-faults-", dir=scratch())
    wrong, tried, server, env = [], 0, None, os.environ
    try:
        make_inputs(os.path.join(folder, "inputs"))
        if CASES[name].remote:
            server, env = start_service(folder)
        bench = Bench(folder, CASES[name], kind, dict(env, LC_ALL="C.UTF-8"))
        bench.prepare()
        calls = bench.count()
        chosen = range(1, calls + 1)
        most = most or MOST.get(kind, 0)
        if most and calls > most:
            chosen = random.Random("%d %s %s" % (seed, name, kind)).sample(chosen, most)
        for at in chosen:
            found = bench.one(at)
            tried += found is not False
            if found:
                wrong.append("%s, %s at call %d of %d: %s" % (name, kind, at, calls, found))
    except Exception as error:                          # pylint: disable=broad-except
        wrong.append("%s, %s: %s: %s" % (name, kind, type(error).__name__, error))
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return name, kind, tried, wrong


def main():
    seed = setting("SEED", random.SystemRandom().randrange(1 << 32))
    most = setting("CAMPAIGN_FAULTS", 0)
    names = sys.argv[1:] or list(CASES)
    kinds = os.environ.get("FAULT_KINDS", " ".join(REASONS)).split()
    print("SEED=%d: faults in %s" % (seed, ", ".join(names)), flush=True)
    started, tried, failed = time.monotonic(), 0, 0
    with multiprocessing.Pool(2) as pool:
        jobs = [(name, kind, most, seed) for name in names for kind in kinds]
        for name, kind, count, wrong in pool.imap_unordered(run_case, jobs):
            tried += count
            failed += len(wrong)
            if wrong or not most:
                print("  %-10s %-6s %d calls%s" % (name, kind, count,
                                                   ", %d wrong" % len(wrong) if wrong else ""))
            for text in wrong[:5]:
                print("fault: %s" % text, flush=True)
    print("faults: %d in %.0f s, %d of them with a wrong end (SEED=%d)" %
          (tried, time.monotonic() - started, failed, seed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
