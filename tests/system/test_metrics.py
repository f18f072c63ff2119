# SPDX-License-Identifier: MIT
"""Tests --metrics FILE: Prometheus' text format, the metrics in it, and a file that cannot be written."""

import os
import re
import subprocess
import time

import servers
import support
from support import SHEAF, Case, make_tree, pack, read, sheaf

LINE = re.compile(r'(sheaf_[a-z_]+)\{command="([a-z]+)",dataset="((?:[^"\\]|\\.)*)",'
                  r'job="((?:[^"\\]|\\.)*)"(?:,stage="([a-z]+)")?\} ([0-9.]+)')


def parse(data):
    """Returns {name or (name, stage): value}. Checks that each name has one type, which is stated before the name."""
    found, types = {}, {}
    for line in data.decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types and kind in ("counter", "gauge"), line
            types[name] = kind
            continue
        name, _, _, _, stage, value = LINE.fullmatch(line).groups()
        assert name in types, line
        key = (name, stage) if stage else name
        assert key not in found, line
        found[key] = float(value)
    return found


class Metrics(Case):
    def setUp(self):
        super().setUp()
        self.files = {"k/%03d.txt" % i: b"x" * i for i in range(200)}
        self.source = make_tree(self.path("src"), self.files)
        self.file = self.path("m.prom")

    def run_with(self, *words, **how):
        sheaf(*words, "--metrics", self.file, **how)
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".tmp")], [])
        return parse(read(self.file))

    def test_each_command(self):
        total = sum(map(len, self.files.values()))
        found = self.run_with("pack", self.source, self.path("out"), "--format", "webdataset")
        self.assertEqual(found["sheaf_running"], 0)
        self.assertEqual(found["sheaf_exit_status"], 0)
        self.assertEqual(found["sheaf_samples"], 200)
        self.assertEqual(found["sheaf_payload_bytes"], total)
        self.assertEqual(found["sheaf_stage_count", "pack"], 200)
        self.assertEqual(found["sheaf_stage_bytes", "pack"], total)
        found = self.run_with("cat", self.path("out"), "--list")
        self.assertEqual(found["sheaf_samples"], 200)
        self.assertEqual(found["sheaf_payload_bytes"], total)
        for name in ("read_bytes", "stall_ns", "cached_bytes", "retries", "requests", "output_ns",
                     "decode_ns"):
            self.assertIn("sheaf_" + name, found)
        found = self.run_with("fetch", self.path("src"), self.path("copy"), status=None)
        self.assertIn("sheaf_exit_status", found)

    def test_labels(self):
        """The labels name the data set and the job. Two files in one directory must have no metric in common."""
        def labels(**how):
            sheaf("cat", self.path("out"), "--list", "--metrics", self.path("rank-0.prom"), **how)
            found = {LINE.fullmatch(line).groups()[1:4]
                     for line in read(self.path("rank-0.prom")).decode().splitlines()
                     if not line.startswith("#")}
            self.assertEqual(len(found), 1)
            return found.pop()
        pack(self.source, self.path("out"), "webdataset")
        self.assertEqual(labels(), ("cat", self.path("out"), "rank-0"))
        self.assertEqual(labels(env={**os.environ, "SHEAF_JOB": 'a"b\\c\nd'}),
                         ("cat", self.path("out"), 'a\\"b\\\\c\\nd'))
        sheaf("cat", "http://user:secret@127.0.0.1:9/set/?key=secret", "--list", "--metrics",
              self.file, status=2)
        self.assertNotIn(b"secret", read(self.file))
        self.assertIn(b'dataset="http://127.0.0.1:9/set/"', read(self.file))

    def test_a_part_is_labelled_with_the_data_set(self):
        """The data set is that of the plan. Without a plan, the label is the name that was given."""
        plan = self.path("train.plan")
        sheaf("plan", self.source, self.path("out"), "-o", plan, "--format", "tfrecord", "--shard-count", "4")
        samples = 0
        for part in ("0/2", "1/2"):
            samples += self.run_with("pack", "--plan", plan, "--part", part)["sheaf_samples"]
            self.assertIn(b'command="pack",dataset="%s",job="m"' % self.path("out").encode(), read(self.file))
        self.assertEqual(samples, 200)
        self.run_with("pack", "--plan", self.path("none"), status=1)
        self.assertIn(b'dataset="%s"' % self.path("none").encode(), read(self.file))

    def test_a_failure_is_in_it(self):
        found = self.run_with("cat", self.path("none"), "--list", status=1)
        self.assertEqual((found["sheaf_running"], found["sheaf_exit_status"]), (0, 1))

    def test_two_writers(self):
        pack(self.source, self.path("out"), "webdataset")
        both = [subprocess.Popen([SHEAF, "cat", self.path("out"), "--list", "--metrics", self.file],
                                 stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([p.wait(60) for p in both], [0, 0])
        self.assertEqual(parse(read(self.file))["sheaf_samples"], 200)

    def test_the_file_is_of_one_of_two_runs(self):
        """One run replaces the file while another run begins and ends. The file must be that of one of them."""
        pack(self.source, self.path("out"), "webdataset")
        run, mark = support.held(self, "m.prom", "cat", self.path("out"), "--list", "--metrics",
                                 self.file)
        self.assertFalse(os.path.exists(self.file))
        sheaf("cat", self.path("out"), "--list", "--limit", "7", "--metrics", self.file)
        self.assertEqual(parse(read(self.file))["sheaf_samples"], 7)
        os.unlink(mark)
        self.assertEqual((run.communicate(timeout=60)[1], run.returncode), (b"", 0))
        self.assertEqual(parse(read(self.file))["sheaf_samples"], 200)
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".tmp")], [])

    def test_what_cannot_be_written_is_found_first(self):
        for path in (self.path("no/m.prom"), self.path("src")):
            error = sheaf("pack", self.source, self.path("out"), "--format", "webdataset",
                          "--metrics", path, status=1).stderr.decode()
            self.assertIn(path, error)
            self.assertFalse(os.path.exists(self.path("out")))

    def test_what_fails_later_does_not_end_the_work(self):
        """The directory of the file is removed, so that writing fails as on a full disk. The work must go on."""
        pack(self.source, self.path("out"), "webdataset")
        os.mkdir(self.path("m"))
        read_end, write_end = os.pipe()
        process = subprocess.Popen([SHEAF, "cat", "-", "--list", "--metrics", self.path("m/x")],
                                   stdin=read_end, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        os.close(read_end)
        with open(write_end, "wb") as file:
            until = time.monotonic() + 60
            while not os.path.exists(self.path("m/x")) and time.monotonic() < until:
                time.sleep(0.01)
            os.remove(self.path("m/x"))
            os.rmdir(self.path("m"))
            file.write(read(self.path("out/shard-000000.tar")))
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(error.decode().count(self.path("m/x")), 1)


class FromS3(servers.S3Case):
    def test_requests_are_counted(self):
        pack(make_tree(self.path("src"), {"a/%d.txt" % i: b"x" for i in range(9)}),
             self.path("out"), "webdataset")
        self.client.put_tree(self.bucket, "set/", support.tree_of(self.path("out")))
        self.sheaf("cat", self.url("set/"), "--list", "--metrics", self.path("m"))
        found = parse(read(self.path("m")))
        self.assertGreater(found["sheaf_requests"], 2)
        self.assertEqual(found["sheaf_samples"], 9)


if __name__ == "__main__":
    support.unittest.main()
