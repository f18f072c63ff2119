# SPDX-License-Identifier: MIT
"""kill -9 at any moment of packing, then --resume: the bytes of an uninterrupted run; and at no
moment a shard, index or manifest that is not whole."""

import os
import random
import shutil
import subprocess
import time

from support import (CODECS, CONTAINERS, QUICK, SHEAF, Case, image_tree, make_tree, pack, read,
                     seed, sheaf, shards_of, tree_of, write)

KILLS = 10 if QUICK else 50


class Kill(Case):
    @classmethod
    def share(cls):
        files = image_tree(classes=5, images=30, size=120000)
        cls.source = make_tree(os.path.join(cls.shared, "source"), files)
        cls.whole, cls.seconds = {}, {}
        for container in CONTAINERS:
            for codec in CODECS:
                dest = os.path.join(cls.shared, container + codec)
                start = time.monotonic()
                pack(cls.source, dest, container, codec, *cls.options(2))
                cls.seconds[container, codec] = time.monotonic() - start
                cls.whole[container, codec] = tree_of(dest)

    @staticmethod
    def options(jobs):
        return ("--shard-size", "700kB", "--jobs", jobs, "--index", "dali,mxnet,wids,energon")

    def check_visible(self, dest, whole):
        """Whatever can be seen is as it will be at the end."""
        found = [n for n in (os.listdir(dest) if os.path.isdir(dest) else ())
                 if not n.startswith(".")]
        for name in found:
            if os.path.isfile(os.path.join(dest, name)):
                self.assertIn(name, whole)
                self.assertTrue(read(os.path.join(dest, name)) == whole[name],
                                "%s is seen before it is whole" % name)
        if "dataset.json" in found:
            self.assertEqual(tree_of(dest), whole, "a manifest before the end")

    def start(self, dest, container, codec, jobs, *more):
        return subprocess.Popen([SHEAF, "pack", self.source, dest, "--format", container,
                                 "--codec", codec, *map(str, self.options(jobs)), *more],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_kill_and_resume(self):
        chance = random.Random(seed())
        killed = kept = 0
        for round_number in range(KILLS):
            container, codec = chance.choice(CONTAINERS), chance.choice(CODECS)
            whole, dest = self.whole[container, codec], self.path("out")
            more = []
            for _ in range(chance.choice((1, 1, 1, 2, 3))):     # a resumed run may die too
                process = self.start(dest, container, codec, chance.choice((1, 2, 8)), *more)
                wait = chance.random() * self.seconds[container, codec] * 1.1
                try:
                    process.wait(wait)
                except subprocess.TimeoutExpired:
                    process.kill()
                errors = process.communicate()[1].decode()
                self.assertIn(process.returncode, (0, -9), errors)
                killed += process.returncode != 0
                self.check_visible(dest, whole)
                if process.returncode == 0:
                    break
                more = ["--resume"]
            if process.returncode != 0:
                done = pack(self.source, dest, container, codec, *self.options(2), "--resume")
                kept += b" of them kept" in done.stdout
            self.assertEqual(tree_of(dest), whole, "round %d" % round_number)
            shutil.rmtree(dest)
        self.assertGreater(killed, KILLS // 4)
        self.assertGreater(kept, 0, "no finished shard was ever kept")

    def test_nothing_partial_is_ever_seen(self):
        for container, codec in (("webdataset", "none"), ("recordio", "gzip"),
                                 ("tfrecord", "lz4")):
            dest = self.path(container)
            process = self.start(dest, container, codec, 2)
            looks = 0
            while process.poll() is None:
                self.check_visible(dest, self.whole[container, codec])
                looks += 1
            self.assertEqual(process.returncode, 0, process.communicate()[1])
            process.stderr.close()
            self.assertGreater(looks, 2)
            self.assertEqual(tree_of(dest), self.whole[container, codec])


class Resume(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), image_tree(size=3000))

    OPTIONS = ("--shard-size", "50kB")

    def interrupted(self, keep=2):
        """A data set of which only some shards were finished."""
        dest = self.path("out")
        pack(self.source, dest, "tfrecord", "none", *self.OPTIONS)
        whole = tree_of(dest)
        os.unlink(os.path.join(dest, "dataset.json"))
        os.unlink(os.path.join(dest, "dataset.index"))
        for name in shards_of(dest)[keep:]:
            os.unlink(os.path.join(dest, name))
        return dest, whole

    def test_shards_without_manifest_and_index(self):
        dest, whole = self.interrupted()
        pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, "--resume")
        self.assertEqual(tree_of(dest), whole)

    def test_resume_of_nothing_is_a_plain_run(self):
        pack(self.source, self.path("a"), "tfrecord", "none", *self.OPTIONS)
        pack(self.source, self.path("b"), "tfrecord", "none", *self.OPTIONS, "--resume")
        self.assertEqual(tree_of(self.path("a")), tree_of(self.path("b")))

    def test_resume_of_a_finished_run_changes_nothing(self):
        pack(self.source, self.path("a"), "tfrecord", "none", *self.OPTIONS)
        whole = tree_of(self.path("a"))
        pack(self.source, self.path("a"), "tfrecord", "none", *self.OPTIONS, "--resume",
             status=None)
        self.assertEqual(tree_of(self.path("a")), whole)

    def test_a_damaged_finished_shard_is_not_kept(self):
        dest, whole = self.interrupted()
        name = os.path.join(dest, shards_of(dest)[0])
        data = bytearray(read(name))
        data[len(data) // 2] ^= 1
        write(name, bytes(data))
        pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, "--resume")
        self.assertEqual(tree_of(dest), whole)

    def test_a_source_that_changed_since(self):
        """The result is the data set of the source as it is now, never a mixture."""
        dest, _ = self.interrupted()
        path = os.path.join(self.source, "new.txt")
        write(path, b"came later")
        self.addCleanup(os.unlink, path)
        done = pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, "--resume", status=None)
        if done.returncode == 0:
            pack(self.source, self.path("fresh"), "tfrecord", "none", *self.OPTIONS)
            self.assertEqual(tree_of(dest), tree_of(self.path("fresh")))
        else:
            self.assert_nothing(dest)

    def test_other_options_since(self):
        dest, _ = self.interrupted()
        done = pack(self.source, dest, "tfrecord", "none", "--shard-size", "70kB", "--resume",
                    status=None)
        if done.returncode == 0:
            pack(self.source, self.path("fresh"), "tfrecord", "none", "--shard-size", "70kB")
            self.assertEqual(tree_of(dest), tree_of(self.path("fresh")))
        else:
            self.assert_nothing(dest)
