# SPDX-License-Identifier: MIT
"""A storm of faults of S3: commands run against a service with random faults (tests/fake_s3.c), with each kind of checksum
that S3 has for the bytes that it receives.

    storm.py                CAMPAIGN_STORM faults (default 10,000) of SEED (default: a new one)
    SEED=7 STORM_FIRST=123 STORM_RUNS=1 storm.py      run 123 of that seed once more
    STORM_ROUTE=same_part STORM_KIND=none             only runs of that route, or kind

Each run has a service, a seed and a kind of its own, and takes one of ROUTES. Each command must end as it would
without faults, byte for byte, or with a clear error; it is then run again. At any time, readers must refuse the
manifest, or all of its files must be there and right. At the end, nothing else may be left, not even an unfinished
upload with parts.

The choices follow from the seed and the run's number. The order of requests does not, so a run may have to be
repeated several times."""

import collections
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), "system")]

import xxhash                                           # noqa: E402

import fake_s3                                          # noqa: E402
import jpegs                                            # noqa: E402
import readers                                          # noqa: E402
import servers                                          # noqa: E402
import trees                                            # noqa: E402
from chain import SHEAF                                 # noqa: E402
from run import scratch, setting                        # noqa: E402

AT_ONCE = 4 * (os.cpu_count() or 2)     # most of the time of a run is waiting
EACH = 30                               # number of faults in a run, about
ATTEMPTS = 12                           # largest number of attempts of a command
TIMEOUT = 600                           # seconds until a command counts as hanging
TELL = 1000                             # number of faults between two lines of progress
WRONG = 20                              # after this number of failed runs, no more runs begin

# name: (settings, rules of the bucket, faults that cannot be distinguished from a right response)
KINDS = {
    "none": (["checksum=none"], {}, ()),
    "crc32c": (["checksum=crc32c"], {}, ()),
    "crc32c of parts": (["checksum=crc32c"], {"whole": False}, ()),
    "crc64nvme": (["checksum=crc64nvme"], {}, ()),
    "content-md5": (["checksum=none", "content-md5=true"], {"md5": True}, ()),
    "crc64nvme, KMS": (["checksum=crc64nvme"], {"opaque": True}, ()),
    # The payload is signed, so it arrives unchanged. A change that the service makes afterwards cannot be detected.
    "signed, KMS": (["checksum=none"], {"opaque": True}, ("store",)),
    "mixed": ([], {}, ()),              # another kind for each command
}
WRITERS = ("pack", "plan", "commit", "convert", "append")

# In half of the runs, more bytes change, and more responses are false.
DAMAGE = {"store": 8, "lie": 8, "sent": 4, "bytes": 8, "tag": 4, "etag": 4}


class Wrong(Exception):
    """A result that must not occur."""


# ---- What is right -----------------------------------------------------------------------------

LAYOUTS = (("webdataset", "none", "14MB"), ("tfrecord", "none", "2MB"),
           ("recordio", "gzip", "4MB"), ("webdataset", "lz4", "1MB"))


def make_inputs(folder):
    """Makes trees, and the results of commands without faults."""
    chance = random.Random(1)
    files = {"%s/%02d.jpg" % (name, i): jpegs.jpeg(seed=i) for name in ("a", "b")
             for i in range(8)}
    files.update({"c/%d.bin" % i: chance.randbytes(2600000) for i in range(5)})
    trees.write(os.path.join(folder, "tree"), files)
    trees.write(os.path.join(folder, "more"), {
        "%s/more-%d.bin" % (name, i): chance.randbytes(300000) for name in "ad" for i in range(6)})
    for number, (container, codec, size) in enumerate(LAYOUTS):
        how = ["--format", container, "--codec", codec, "--shard-size", size]
        local(folder, "pack", "tree", "set-%d" % number, *how)
        shutil.copytree(os.path.join(folder, "set-%d" % number),
                        os.path.join(folder, "grown-%d" % number))
        local(folder, "append", "more", "grown-%d" % number)
        local(folder, "convert", "set-%d" % number, "other-%d" % number, "--format", "recordio")
        for what, words in (("cat", ()), ("list", ("--list",))):
            trees.write(folder, {"%s-%d" % (what, number): local(
                folder, "cat", "set-%d" % number, "--seed", "1", *words)})


def local(folder, *words):
    return subprocess.run([SHEAF, *words], cwd=folder, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def is_manifest(data):
    """Returns whether readers accept the document as a manifest: its fingerprint is right."""
    try:
        manifest = json.loads(data)
        said = manifest.pop("fingerprint")
        plain = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return said == xxhash.xxh3_128_hexdigest(plain.encode())
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


# ---- One run -----------------------------------------------------------------------------------

class Run:
    def __init__(self, seed, number, inputs, folder):
        self.chance = random.Random("%d %d" % (seed, number))
        self.inputs, self.folder, self.lines = inputs, folder, []
        self.kind = kind_of(number)
        self.settings, rules, without = KINDS[self.kind]
        self.layout = self.chance.randrange(len(LAYOUTS))
        self.ends = collections.Counter()
        self.server = fake_s3.Server("%d %d" % (seed, number))
        self.server.rules = fake_s3.Rules(lies=True, **rules)
        self.server.weigh(self.chance.choice([{}, DAMAGE]) | dict.fromkeys(without, 0))
        # The files of a source have no checksums of ours. Neither have the index files for other readers, and a few
        # words in the journal.
        self.server.checked = r"!^in/|/parts$|\.idx$"
        self.server.percent = self.chance.choice([8, 15, 22, 30])
        self.objects = self.server.buckets["bucket"].objects
        self.env = {**servers.clean_environment(), "AWS_ENDPOINT_URL": self.server.url,
                    "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "LC_ALL": "C.UTF-8",
                    "AWS_SECRET_ACCESS_KEY": "y"}

    def input(self, name):
        return os.path.join(self.inputs, name % self.layout if "%" in name else name)

    def files(self, name):
        return readers.tree_of(self.input(name))

    def put(self, prefix, name):
        for path, data in self.files(name).items():
            self.objects[prefix + path] = fake_s3.Object(data)

    def start(self, *words):
        if self.kind == "mixed" and words[0] in WRITERS:
            kind = self.chance.choice(["none", "crc32c", "crc64nvme"])
            words = [*words, "--s3", "checksum=" + kind]
        self.lines.append("sheaf " + " ".join(words))
        return subprocess.Popen([SHEAF, *words], env=self.env, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def end(self, process):
        """Returns (status, output). An error must be one line that says where it occurred."""
        try:
            output, text = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Wrong("it did not end") from None
        text = text.decode(errors="replace")
        self.lines.append("# %d %s" % (process.returncode, text[:600]))
        last = text.rstrip("\n").split("\n")[-1]
        if process.returncode not in (0, 1):
            raise Wrong("status %d" % process.returncode)
        if process.returncode == 1 and not (re.match("sheaf: .", last) and re.search(
                "s3://|http://", text)):
            raise Wrong("the error does not say where")
        self.ends["right" if process.returncode == 0 else "failed"] += 1
        return process.returncode, output

    def once(self, *words):
        return self.end(self.start(*words))

    def done(self, words, again, check):
        """Runs a command until it succeeds. `check` must hold after each attempt."""
        for attempt in range(ATTEMPTS):
            status, output = self.once(*words, *(again if attempt else ()))
            check()
            if status == 0:
                return output
            if attempt == ATTEMPTS // 2:
                self.server.percent = 4         # so that every command ends at some time
        raise Wrong("it fails again and again")

    # ---- What is there -------------------------------------------------------------------------

    def found(self, place):
        return {key[len(place) + 1:]: o.data for key, o in dict(self.objects).items()
                if key.startswith(place + "/")}

    def published(self, place, *names):
        """Checks that a data set that readers accept, if there is one, is whole and one of these data sets."""
        found = self.found(place)
        manifest = found.get("dataset.json", b"")
        if not is_manifest(manifest):
            return
        for name in names:
            files = self.files(name)
            if manifest == files["dataset.json"]:
                wrong = [n for n, data in files.items() if found.get(n) != data]
                if wrong:
                    raise Wrong("published at %s, but wrong: %s" % (place, wrong))
                return
        raise Wrong("another manifest at %s" % place)

    def whole(self, place, name):
        found, files = self.found(place), self.files(name)
        wrong = [n for n in sorted({*found, *files}) if found.get(n) != files.get(n)]
        if wrong:
            raise Wrong("success at %s, but these differ: %s" % (place, wrong))
        # An upload without parts costs nothing. If several responses about it are lost, it may stay. But an upload
        # that only tests the listing of uploads must always be removed.
        left = [u[0] for u in self.server.buckets["bucket"].uploads.values()
                if u[0].startswith(place + "/") and (u[1] or u[0].endswith("/.sheaf-probe"))]
        if left:
            raise Wrong("unfinished uploads are left: %s" % left)

    def proofs(self):
        return [word for setting_ in self.settings for word in ("--s3", setting_)]

    def how(self):
        container, codec, size = LAYOUTS[self.layout]
        return ["--format", container, "--codec", codec, "--shard-size", size]

    # ---- Routes --------------------------------------------------------------------------------

    def pack(self):
        source = self.input("tree")
        if self.chance.random() < 0.4:
            source = "s3://bucket/in"
            self.put("in/", "tree")
        self.done(["pack", source, "s3://bucket/set", *self.how(), *self.proofs()], ["--resume"],
                  lambda: self.published("set", "set-%d"))
        self.whole("set", "set-%d")

    def pack_at_once(self):
        """Runs two packers at the same time, of which one wins."""
        words = ["pack", self.input("tree"), "s3://bucket/set", *self.how(), *self.proofs()]
        both = [self.start(*words), self.start(*words)]
        for process in both:
            self.end(process)
            self.published("set", "set-%d")
        self.done([*words, "--resume"], (), lambda: self.published("set", "set-%d"))
        self.whole("set", "set-%d")

    def append(self):
        self.put("set/", "set-%d")
        self.done(["append", self.input("more"), "s3://bucket/set", *self.proofs()], ["--resume"],
                  lambda: self.published("set", "set-%d", "grown-%d"))
        self.whole("set", "grown-%d")

    def parts(self):
        """Runs three packers, two of them for the same part. A packer that fails is started again."""
        plan = self.chance.choice(["s3://bucket/plan", "plan"])
        self.done(["plan", self.input("tree"), "s3://bucket/set", "-o", plan, *self.how(),
                   *self.proofs()], ["--overwrite"], lambda: None)
        parts = ["0/2", "1/2", self.chance.choice(["0/2", "1/2"])]
        for attempt in range(ATTEMPTS):
            running = [(part, self.start("pack", "--plan", plan, "--part", part, *self.proofs()))
                       for part in parts]
            parts = [part for part, process in running if self.end(process)[0] != 0]
            self.published("set", "set-%d")
            if attempt == ATTEMPTS // 2:
                self.server.percent = 4
            if not parts:
                break
        else:
            raise Wrong("a part fails again and again")
        self.done(["commit", plan, *self.proofs()], (), lambda: self.published("set", "set-%d"))
        self.whole("set", "set-%d")

    def same_part(self):
        """Runs three packers for all shards."""
        self.done(["plan", self.input("tree"), "s3://bucket/set", "-o", "plan", *self.how(),
                   *self.proofs()], ["--overwrite"], lambda: None)
        words = ["pack", "--plan", "plan", *self.proofs()]
        running = [self.start(*words) for _ in range(3)]
        if all([self.end(process)[0] != 0 for process in running]):
            self.done(words, (), lambda: None)
        for attempt in range(ATTEMPTS):
            status, _ = self.once("commit", "plan", *self.proofs())
            self.published("set", "set-%d")
            if status == 0:
                break
            if attempt == ATTEMPTS // 2 or re.search("altered|missing", self.lines[-1]):
                self.server.percent = 0         # so that reading is not disturbed
        else:
            raise Wrong("a packer has succeeded, and shards are missing or altered")
        self.whole("set", "set-%d")

    def convert(self):
        self.put("set/", "set-%d")
        self.done(["convert", "s3://bucket/set", "s3://bucket/other", "--format", "recordio",
                   *self.proofs()], ["--resume"], lambda: self.published("other", "other-%d"))
        self.whole("other", "other-%d")

    def cat(self):
        self.put("set/", "set-%d")
        for what, words in (("cat", ()), ("list", ("--list",))):
            more = ["--cache", "cache", "--cache-size", "20MB"] if self.chance.random() < .3 else ()
            expected = readers.read(self.input(what + "-%d"))
            status, output = self.once("cat", "s3://bucket/set", "--seed", "1", *words, *more)
            if status == 0 and output != expected or not expected.startswith(output):
                raise Wrong("cat has other samples")

    def fetch(self):
        self.put("set/", "set-%d")
        expected, place = self.files("set-%d"), os.path.join(self.folder, "fetched")

        def check():
            for name, data in readers.tree_of(place).items() if os.path.isdir(place) else ():
                hidden = any(part.startswith(".") for part in name.split("/"))
                if not hidden and data != expected[name]:
                    raise Wrong("%s is fetched, but wrong" % name)
        self.done(["fetch", "s3://bucket/set/", "fetched"], (), check)
        missing = [name for name in expected if not os.path.exists(os.path.join(place, name))]
        if missing:
            raise Wrong("not fetched: %s" % missing)

    def verify(self):
        """Checks that verify accepts a right data set, and never a wrong one."""
        self.put("set/", "set-%d")
        self.done(["verify", "s3://bucket/set"], (), lambda: None)
        name = self.chance.choice(sorted(n for n in self.found("set") if n.startswith("shard-")
                                         and not n.endswith((".idx", ".lst"))))
        data = self.objects["set/" + name].data
        at = self.chance.randrange(len(data))
        self.objects["set/" + name] = fake_s3.Object(
            data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
        if self.once("verify", "s3://bucket/set")[0] == 0:
            raise Wrong("verify accepts a damaged shard")


ROUTES = (Run.pack, Run.parts, Run.append, Run.convert, Run.fetch, Run.same_part, Run.cat,
          Run.pack_at_once, Run.verify)


def route_of(number):
    return ROUTES[number // len(KINDS) % len(ROUTES)]


def kind_of(number):
    return list(KINDS)[number % len(KINDS)]


def one_run(job):
    seed, number, inputs = job
    folder = tempfile.mkdtemp(prefix="sheaf-storm-", dir=scratch())
    run, route = Run(seed, number, inputs, folder), route_of(number)
    report, counts, requests = "", {}, 0
    try:
        try:
            route(run)
        finally:
            counts, requests = run.server.counts, run.server.requests
    except Exception as wrong:                          # pylint: disable=broad-except
        what = str(wrong) if isinstance(wrong, Wrong) else traceback.format_exc()
        report = "\n".join([
            "run %d, %s with %s at %d %%: %s" % (number, route.__name__, run.kind,
                                                 run.server.percent, what),
            "  again: SEED=%d STORM_FIRST=%d STORM_RUNS=1 python3 tests/campaign/storm.py" % (seed, number),
            *("    " + line for line in run.lines)])
    finally:
        try:
            run.server.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return run.kind, counts, requests, run.ends, report


def runs(seed, inputs):
    number, count = setting("STORM_FIRST", 0), setting("STORM_RUNS", 1 << 62)
    route, kind = os.environ.get("STORM_ROUTE"), os.environ.get("STORM_KIND")
    while count:
        if route in (None, route_of(number).__name__) and kind in (None, kind_of(number)):
            yield seed, number, inputs
            count -= 1
        number += 1


def storm(seed, most, inputs):
    """Makes runs until the number of faults is reached. Returns the number of runs that were wrong."""
    started, wrong, told, requests = time.monotonic(), 0, 0, 0
    by_name, by_kind, ends = collections.Counter(), collections.Counter(), collections.Counter()
    with multiprocessing.Pool(AT_ONCE) as pool:
        jobs, waiting, count = runs(seed, inputs), collections.deque(), 0
        while True:
            while (len(waiting) < min(2 * AT_ONCE, 1 + most // EACH) and wrong < WRONG
                   and sum(by_name.values()) < most):
                job = next(jobs, None)
                if job is None:
                    break
                waiting.append(pool.apply_async(one_run, (job,)))
            if not waiting:
                break
            kind, counts, asked, ended, report = waiting.popleft().get()
            count, requests, wrong = count + 1, requests + asked, wrong + bool(report)
            by_name.update(counts)
            by_kind[kind] += sum(counts.values())
            ends.update(ended)
            if report:
                print(report, flush=True)
            if sum(by_name.values()) // TELL > told:
                told = sum(by_name.values()) // TELL
                print("  %d faults in %d runs, %d of them wrong" % (
                    sum(by_name.values()), count, wrong), flush=True)
    print("faults: " + ", ".join("%s %d" % pair for pair in by_name.most_common()))
    print("proofs: " + ", ".join("%s %d" % pair for pair in sorted(by_kind.items())))
    print("storm: %d faults in %d requests of %d runs, %d commands right and %d failed, %.0f s; "
          "%d runs wrong (SEED=%d)" % (
              sum(by_name.values()), requests, count, ends["right"], ends["failed"],
              time.monotonic() - started, wrong, seed))
    return wrong


def main():
    seed = setting("SEED", random.SystemRandom().randrange(1 << 32))
    print("SEED=%d: a storm of S3" % seed, flush=True)
    inputs = tempfile.mkdtemp(prefix="sheaf-storm-", dir=scratch())
    try:
        make_inputs(inputs)
        return 1 if storm(seed, setting("CAMPAIGN_STORM", 10000), inputs) else 0
    finally:
        shutil.rmtree(inputs, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
