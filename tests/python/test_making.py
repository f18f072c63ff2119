# SPDX-License-Identifier: MIT
"""sheaf.pack with a transform, and of samples."""

import importlib.util
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

import making
import sheaf
from support import Case, to_reach

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import fake_s3                          # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))


def tree(root, classes=3, files=60, size=3000):
    for c in range(classes):
        os.makedirs(os.path.join(root, "class%d" % c))
        for i in range(files):
            with open(os.path.join(root, "class%d" % c, "%03d.bin" % i), "wb") as file:
                file.write(b"%d %d." % (c, i) * (size // 5))
    return root


def read(source):
    with sheaf.Reader(source, no_shuffle=True) as reader:
        return [(s.key, s.to_bytes(), s.labels, s.class_name) for s in reader]


def files_of(directory):
    found = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            found[name] = file.read()
    return found


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class TransformTest(Case):
    """Of files."""

    def setUp(self):
        super().setUp()
        self.tree = tree(self.path("tree"))

    def pack(self, name, **options):
        if "shard_count" not in options:
            options = {"shard_size": "50kB", **options}
        options = {"version": "1", "transform": making.twice, **options}
        return sheaf.pack(self.tree, self.path(name), **options)

    def test_what_it_returns_is_packed_in_the_order_of_the_plan(self):
        result = self.pack("set", jobs=2)
        plain = self.path("plain")
        sheaf.pack(self.tree, plain)
        wanted = []
        for key, fields, labels, class_name in read(plain):
            number, data = int(key[-3:]), fields["bin"]
            if number % 7 == 0:
                continue
            if number % 5 == 0:
                wanted += [(key + "-%d" % i, {"bin": data[i:], "n.json": b"%d" % i}, labels,
                            class_name) for i in (0, 1)]
            else:
                wanted.append((key, {"bin": data[::-1], "txt": class_name.encode()}, labels,
                               class_name))
        self.assertEqual(read(self.path("set")), wanted)
        self.assertEqual(result.samples, len(wanted))
        self.assertGreater(result.shards, 5)
        self.assertEqual(sheaf.Dataset(self.path("set")).classes, ["class0", "class1", "class2"])
        self.assertEqual(list(sheaf.verify(self.path("set")).problems), [])

    def test_the_same_bytes_however_many_processes(self):
        self.pack("one", jobs=1)
        for options in ({"jobs": 3}, {"jobs": 2, "start_method": "forkserver"},
                        {"jobs": 2, "start_method": "spawn"}):
            self.pack("other", overwrite=True, **options)
            self.assertEqual(files_of(self.path("one")), files_of(self.path("other")), options)

    def test_options_of_packing_are_as_without(self):
        self.pack("set", shard_count=4, seed=3, format="tfrecord", codec="gzip", label_base=1,
                  exclude="class1/", transform=lambda sample: sample, jobs=2)
        sheaf.pack(self.tree, self.path("plain"), shard_count=4, seed=3, format="tfrecord",
                   codec="gzip", label_base=1, exclude="class1/")
        self.assertEqual(read(self.path("set")), read(self.path("plain")))
        self.assertEqual([s.samples for s in sheaf.Dataset(self.path("set")).shards],
                         [s.samples for s in sheaf.Dataset(self.path("plain")).shards])

    def test_an_exception_names_the_first_key(self):
        for jobs in (1, 3):
            with self.assertRaisesRegex(sheaf.TransformError, "^sample 'class0/003': transform: "
                                        "ValueError: too blue$") as caught:
                self.pack("set", transform=making.bad, jobs=jobs, no_shuffle=True)
            self.assertIn("in bad", str(caught.exception.__cause__))
            self.assertFalse(os.path.exists(self.path("set", "dataset.json")))
        self.assertRaises(RuntimeError, self.pack, "set", transform=making.bad, overwrite=True)

    def test_what_is_no_sample_is_refused_with_its_key(self):
        for value, words in ((7, "expected a sample, several or None, not 7"),
                             (b"x", "not b'x'"), ([1], "expected samples, not 1"),
                             (("a",), "a tuple of 1"), (("a", 5), "a mapping, not"),
                             ({"x": object()}, "the field 'x' is a object"),
                             (("class0/000", {}, "cat"), "has the class 'cat': name all classes|the class 'cat' is none")):
            with self.assertRaisesRegex(sheaf.Error, "class0/000.*" + words):
                self.pack("set", transform=lambda sample, value=value: value, no_shuffle=True,
                          jobs=1)

    def test_much_is_made_of_little(self):
        """Results in parts, more of them than what is held of other processes' results."""
        def much(number):
            for i in range(10):
                yield "%03d-%d" % (number, i), {"bin": bytes([i]) * 10000}

        with mock.patch("sheaf._pool.HELD_BYTES", 100000), \
                mock.patch("sheaf._making.PART_BYTES", 500000):
            sheaf.pack(range(300), self.path("set"), transform=much, jobs=3)
        self.assertEqual([key for key, *_ in read(self.path("set"))],
                         ["%03d-%d" % (n, i) for n in range(300) for i in range(10)])

    def test_what_is_not_callable_or_iterable(self):
        self.assertRaisesRegex(TypeError, "transform must be callable", self.pack, "x", transform=5)
        self.assertRaisesRegex(TypeError, "source must be", sheaf.pack, 5, self.path("x"))

    def test_a_process_that_dies_is_named(self):
        with self.assertRaisesRegex(sheaf.TransformError, r"killed by signal 9 \(SIGKILL\)"):
            self.pack("set", transform=making.killed, jobs=2)

    def test_what_cannot_be_sent_to_processes_is_told(self):
        with self.assertRaisesRegex(sheaf.ArgumentError, 'start_method="fork"'):
            self.pack("set", transform=lambda sample: sample, start_method="spawn", jobs=1)
        with self.assertRaisesRegex(sheaf.ArgumentError, "start_method='thread': expected fork"):
            self.pack("set", start_method="thread")

    def test_bad_files_are_skipped_or_end_it(self):
        problems = []
        for c in range(2):
            os.chmod(os.path.join(self.tree, "class%d" % c, "001.bin"), 0)
            os.unlink(os.path.join(self.tree, "class%d" % c, "002.bin"))
            os.symlink("nowhere", os.path.join(self.tree, "class%d" % c, "002.bin"))
        with self.assertRaisesRegex(sheaf.Error, "class0/002.bin"):
            self.pack("set", no_shuffle=True)
        result = self.pack("set", on_error="skip", report=problems.append)
        self.assertIn(result.skipped, (2, 4))           # root reads all
        self.assertEqual(len(problems), result.skipped)
        self.assertEqual({p.where for p in problems} - {"class0/001.bin", "class1/001.bin"},
                         {"class0/002.bin", "class1/002.bin"})

    def test_a_dry_run_plans(self):
        shards = []
        self.pack("set", dry_run=True, plan=shards.append)
        self.assertEqual(sum(shard.samples for shard in shards), 180)
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))

    def test_options_that_make_no_sense_are_refused_by_name(self):
        for words, options in (("split", {"split": "a=0.5,b=0.5"}),
                               ("version", {"transform": None}),
                               ("start_method", {"transform": None, "version": None,
                                                 "start_method": "fork"})):
            with self.assertRaisesRegex(sheaf.ArgumentError, "^" + words):
                self.pack("set", **options)


class ResumeTest(Case):
    def setUp(self):
        super().setUp()
        self.tree = tree(self.path("tree"))
        self.log = self.path("log")

    def run_program(self, dest, *options):
        return subprocess.run([sys.executable, os.path.join(HERE, "making.py"), self.tree,
                               self.path(dest), self.log, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)

    def logged(self):
        with open(self.log) as file:
            lines = [line.split(" ") for line in file.read().splitlines()]
        os.unlink(self.log)
        return [int(pid) for pid, _ in lines], [key for _, key in lines]

    def assert_no_orphans(self, pids):
        until = time.monotonic() + 30
        while any(map(is_alive, pids)):
            self.assertLess(time.monotonic(), until, "processes are left")
            time.sleep(0.05)

    def test_a_killed_run_goes_on_behind_its_last_shard(self):
        self.run_program("whole", "jobs=2")
        _, order = self.logged()
        for start_method in ("fork", "spawn"):
            ended = self.run_program("set", "stop=120", "jobs=1", "start_method=" + start_method)
            self.assertEqual(ended.returncode, -9)
            pids, before = self.logged()
            self.assert_no_orphans(set(pids))
            self.assertFalse(os.path.exists(self.path("set", "dataset.json")))
            ended = self.run_program("set", "resume=1", "jobs=2", "start_method=" + start_method)
            self.assertEqual((ended.returncode, ended.stdout), (0, ""))
            _, after = self.logged()
            self.assertEqual(files_of(self.path("whole")), files_of(self.path("set")))
            self.assertEqual(set(order), set(before) | set(after))
            for name in os.listdir(self.path("set")):
                os.unlink(self.path("set", name))
        with self.subTest("finished"):
            ended = self.run_program("whole", "resume=1")
            self.assertEqual((ended.returncode, ended.stdout), (0, ""))
            self.assertFalse(os.path.exists(self.log))

    def test_work_on_finished_shards_is_not_done_again(self):
        """Some 16 samples are a shard, and the transform fails at the last."""
        seen = []

        def fails(sample):
            if sample.key == "class2/059":
                raise ValueError("the last")
            return sample

        options = {"shard_size": "50kB", "jobs": 1, "no_shuffle": True, "version": "a"}
        fails.__qualname__ = "f"
        with self.assertRaisesRegex(sheaf.TransformError, "the last"):
            sheaf.pack(self.tree, self.path("set"), transform=fails, **options)

        def works(sample):
            with open(self.log, "a") as log:
                log.write("%d %s\n" % (os.getpid(), sample.key))
            return sample

        works.__qualname__ = "f"
        result = sheaf.pack(self.tree, self.path("set"), transform=works, resume=True, **options)
        _, seen = self.logged()
        self.assertEqual(result.samples, 180)
        self.assertGreater(result.shards_kept, 5)
        self.assertLess(len(seen), 40)
        sheaf.pack(self.tree, self.path("plain"), transform=works, **options)
        self.assertEqual(files_of(self.path("plain")), files_of(self.path("set")))

    def test_another_transform_or_version_is_refused(self):
        self.assertEqual(self.run_program("set", "stop=120").returncode, -9)
        ended = self.run_program("set", "resume=1", "version=2")
        self.assertIn("the name or version of transform", ended.stdout)
        self.assertEqual(self.run_program("set", "resume=1").returncode, 0)
        ended = self.run_program("set", "resume=1", "version=2")
        self.assertIn("sheaf.ExistsError", ended.stdout)

    def test_ctrl_c_ends_it_with_its_processes(self):
        ended = self.run_program("set", "stop=50", "jobs=2", "how=SIGINT")
        self.assertIn("KeyboardInterrupt", ended.stdout)
        self.assertEqual(ended.stdout.count("Traceback"), 1, ended.stdout)
        self.assert_no_orphans(set(self.logged()[0]))
        self.assertEqual(self.run_program("set", "resume=1").returncode, 0)


class S3Test(Case):
    def test_from_s3_to_s3(self):
        """With faults, and a kept connection of the program that its processes must not use."""
        server = fake_s3.Server(1)
        self.addCleanup(server.stop)
        local = tree(self.path("tree"))
        objects = server.buckets["bucket"].objects
        for folder, _, names in os.walk(local):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    objects["tree/" + os.path.relpath(file.name, local)] = fake_s3.Object(file.read())
        options = {"transform": making.twice, "shard_size": "50kB", "version": "1"}
        sheaf.pack(local, self.path("local"), **options)
        with to_reach(server):
            # A storm refuses up to 40 requests in turn, and a client tries a request only 10 times.
            server.weigh(dict.fromkeys(("denied", "412", "silence", "stall", "storm"), 0))
            server.percent = 5
            for start_method in ("fork", "forkserver"):
                sheaf.pack("s3://bucket/tree/", "s3://bucket/set-%s/" % start_method, jobs=2,
                           start_method=start_method, **options)
                self.assertEqual(read("s3://bucket/set-%s/" % start_method),
                                 read(self.path("local")))
            with self.assertRaises(sheaf.ExistsError):
                sheaf.pack("s3://bucket/tree/", "s3://bucket/set-fork/", **options)
            self.assertEqual(sheaf.pack("s3://bucket/tree/", "s3://bucket/set-fork/", resume=True,
                                        **options).samples, len(read(self.path("local"))))


class SamplesTest(Case):
    """Of iterables and data sets."""

    def test_every_form_of_a_sample(self):
        made = sheaf.pack([("a", {"txt": "one", "cls.txt": b"x"}), ("b", {"txt": "two"}, 1),
                           ("c", {"txt": "three"}, None, "dog"), {"meta": [1, {"x": None}]},
                           {"__key__": "e", "bin": bytearray(b"12"), "cls": 1, "json": "{}"}],
                          self.path("set"), classes=["cat", "dog"])
        self.assertEqual(made.samples, 5)
        self.assertEqual(read(self.path("set")), [
            ("a", {"txt": b"one", "cls.txt": b"x"}, (), None),
            ("b", {"txt": b"two"}, (1,), "dog"), ("c", {"txt": b"three"}, (1,), "dog"),
            ("000000003", {"meta.json": b'[1, {"x": null}]'}, (), None),
            ("e", {"bin": b"12", "cls": b"1", "json": b"{}"}, (1,), "dog")])

    def test_a_transform_gets_what_the_iterable_gives(self):
        sheaf.pack(iter(range(300)), self.path("set"), jobs=2,
                   transform=lambda n: ("%05d" % n, {"txt": str(n)}) if n % 3 else None)
        self.assertEqual([key for key, *_ in read(self.path("set"))],
                         ["%05d" % n for n in range(300) if n % 3])
        with self.assertRaisesRegex(sheaf.TransformError, "sample '000000007': .*ZeroDivision"):
            sheaf.pack(range(300), self.path("other"), transform=lambda n: {"x": b"%d" % (1 / (7 - n))
                                                                            if n == 7 else b""})

    def test_a_data_set(self):
        first = self.path("first")
        sheaf.pack(tree(self.path("tree")), first, label_base=1)
        result = sheaf.pack(sheaf.Dataset(first), self.path("second"), jobs=2, format="recordio",
                            shard_size="100kB", transform=lambda sample: sample)
        self.assertEqual(result.samples, 180)
        self.assertEqual(read(first), read(self.path("second")))
        self.assertEqual(sheaf.Dataset(self.path("second")).classes, sheaf.Dataset(first).classes)

    def samples(self, count, log, fails=0):
        for i in range(count):
            log.append(i)
            if fails and i == fails:
                raise ValueError("no more")
            yield "%04d" % i, {"bin": b"%d" % i * 1000}, i % 2

    def test_an_iterable_resumes_by_its_version(self):
        options = {"shard_size": "50kB", "classes": ["even", "odd"], "version": "v"}
        with self.assertRaisesRegex(ValueError, "no more"):
            sheaf.pack(self.samples(200, [], 150), self.path("set"), **options)
        with self.assertRaisesRegex(sheaf.ArgumentError, "resume=True needs version"):
            sheaf.pack(self.samples(200, []), self.path("set"), shard_size="50kB", resume=True)
        with self.assertRaisesRegex(sheaf.ChangedError, "version of transform"):
            sheaf.pack(self.samples(200, []), self.path("set"), **{**options, "version": "w"},
                       resume=True)
        result = sheaf.pack(self.samples(200, []), self.path("set"), **options, resume=True)
        self.assertGreater(result.shards_kept, 5)
        sheaf.pack(self.samples(200, []), self.path("whole"), **options)
        self.assertEqual(files_of(self.path("whole")), files_of(self.path("set")))

    def test_a_key_of_a_finished_shard_is_not_packed_again(self):
        options = {"shard_size": "50kB", "classes": ["even", "odd"], "version": "v"}
        with self.assertRaisesRegex(ValueError, "no more"):
            sheaf.pack(self.samples(200, [], 150), self.path("set"), **options)
        later = [*self.samples(199, []), ("0003", {"bin": b"again"}, 1)]
        with self.assertRaisesRegex(sheaf.ExistsError, "0003"):
            sheaf.pack(iter(later), self.path("set"), **options, resume=True)

    def test_options_of_files_are_refused_by_name(self):
        for options in ({"shard_count": 2}, {"split": "a=1,b=1"}, {"dry_run": True},
                        {"include": "*"}, {"exclude": "*"}, {"root": "."}, {"plan": print},
                        {"field_alias": {"a": "b"}}, {"key_end": "last-dot"},
                        {"start_method": "fork"}):
            with self.assertRaisesRegex(sheaf.ArgumentError, "^" + list(options)[0]):
                sheaf.pack(iter([]), self.path("set"), **options)
        with self.assertRaisesRegex(sheaf.ArgumentError, "name all classes"):
            sheaf.pack(iter([("a", {"x": b""}, 0, "cat")]), self.path("set"))


class Table(sheaf.sources._Source):
    """A source without another library."""

    def __init__(self, table, **options):
        super().__init__(options.pop("key", None), options.pop("label", None),
                         options.pop("fields", None))
        self.table, self.samples, self.begun = table, len(table), []
        self.identity = "a table"

    def rows(self, first):
        self.begun.append(first)
        return iter(self.table[first:])


class SourcesTest(Case):
    """What tests/interop does with other libraries' files is not repeated here."""

    TABLE = [{"id": n, "name": "ab"[n % 2], "x": b"%d" % n * 500, "text": "t", "list": [n, None],
              "none": None} for n in range(300)]

    def test_columns(self):
        sheaf.pack(Table(self.TABLE, key="id", label="name"), self.path("set"), classes=["a", "b"])
        self.assertEqual(read(self.path("set"))[7], ("7", {
            "x": b"7" * 500, "text": b"t", "list.json": b"[7, null]"}, (1,), "b"))
        sheaf.pack(Table(self.TABLE, fields={"x": "bin", "text": "caption"}), self.path("other"))
        self.assertEqual(read(self.path("other"))[7],
                         ("000000007", {"bin": b"7" * 500, "caption.txt": b"t"}, (), None))
        self.assertEqual([s.key for s in Table(self.TABLE, fields=["x"], label="id")[-2:]],
                         ["000000298", "000000299"])
        for option in ("key", "label"):
            with self.assertRaisesRegex(sheaf.ArgumentError, "no column 'no', but 'id', 'name'"):
                sheaf.pack(Table(self.TABLE, **{option: "no"}), self.path("none"))
        with self.assertRaisesRegex(sheaf.ArgumentError, "no column 'no', but"):
            sheaf.pack(Table(self.TABLE, fields=["no"]), self.path("none"))
        with self.assertRaisesRegex(sheaf.ArgumentError, "fields='x': expected names"):
            Table(self.TABLE, fields="x")

    def test_a_source_is_not_read_again_from_its_start(self):
        def fails(sample):
            if sample.number == 250:
                raise ValueError("here")
            return {"x": sample["x"]}

        def works(sample):
            return {"x": sample["x"]}

        fails.__qualname__ = works.__qualname__ = "f"
        options = {"shard_size": "50kB", "jobs": 2}
        with self.assertRaisesRegex(sheaf.TransformError, "sample '250': .*here"):
            sheaf.pack(Table(self.TABLE, key="id"), self.path("set"), transform=fails, **options)
        source = Table(self.TABLE, key="id")
        sheaf.pack(source, self.path("set"), transform=works, resume=True, **options)
        self.assertGreater(source.begun[0], 150)
        sheaf.pack(source, self.path("whole"), transform=works, **options)
        self.assertEqual(files_of(self.path("set")), files_of(self.path("whole")))

    @unittest.skipIf(importlib.util.find_spec("pyarrow"), "pyarrow is there")
    def test_a_library_that_is_missing_is_named(self):
        with self.assertRaisesRegex(ImportError, "needs the package pyarrow, pip install pyarrow"):
            sheaf.sources.parquet("x")


if __name__ == "__main__":
    unittest.main()
