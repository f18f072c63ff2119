# SPDX-License-Identifier: MIT
"""Kills a packing run at any moment, and then runs it with --resume. The bytes must be those of an uninterrupted run.
At no moment may an incomplete shard, index or manifest be visible."""

import os
import random
import shutil
import subprocess
import time

from support import (CODECS, CONTAINERS, QUICK, SHEAF, Case, image_tree, listing, make_tree, pack, read,
                     seed, sheaf, shards_of, tree_of, write)

KILLS = 10 if QUICK else 50


class Kill(Case):
    @classmethod
    def share(cls):
        files = image_tree(classes=5, images=30, size=30000)
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
        return ("--shard-size", "175kB", "--jobs", jobs)

    def check_visible(self, dest, whole):
        """Checks that all visible files are as they will be at the end."""
        found = [n for n in (os.listdir(dest) if os.path.isdir(dest) else ())
                 if not n.startswith(".")]
        for name in found:
            if os.path.isfile(os.path.join(dest, name)):
                self.assertIn(name, whole)
                self.assertTrue(read(os.path.join(dest, name)) == whole[name],
                                "%s is seen before it is whole" % name)
        if "dataset.json" in found:
            self.assertEqual(sorted(found), sorted(whole), "a manifest before the end")

    def start(self, dest, container, codec, jobs, *more):
        return subprocess.Popen([SHEAF, "pack", self.source, dest, "--format", container,
                                 "--codec", codec, *map(str, self.options(jobs)), *more],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_kill_and_resume(self):
        chance = random.Random(seed())
        killed = kept = 0
        pace = 1        # how long a run takes now, as a part of what it took before
        for round_number in range(KILLS):
            container, codec = chance.choice(CONTAINERS), chance.choice(CODECS)
            whole, dest = self.whole[container, codec], self.path("out")
            more = []
            for _ in range(chance.choice((1, 1, 1, 2, 3))):     # a resumed run may die too
                begun = time.monotonic()
                process = self.start(dest, container, codec, chance.choice((1, 2, 8)), *more)
                wait = chance.random() * self.seconds[container, codec] * pace
                self.kill_after(process, wait)
                killed += process.returncode != 0
                pace *= 1.05
                self.check_visible(dest, whole)
                if process.returncode == 0:
                    if not more:
                        pace = (time.monotonic() - begun) / self.seconds[container, codec]
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
            looks = 0
            while looks <= 2:       # it may be quicker than we are
                process = self.start(dest, container, codec, 2)
                while process.poll() is None:
                    self.check_visible(dest, self.whole[container, codec])
                    looks += 1
                self.assertEqual(process.returncode, 0, process.communicate()[1])
                process.stderr.close()
                self.assertEqual(tree_of(dest), self.whole[container, codec])
                shutil.rmtree(dest)

    def test_kill_while_a_data_set_is_replaced(self):
        """Afterwards there must be the old data set, the new one, or none, and never a mixture."""
        chance = random.Random(seed())
        old, new = self.whole["webdataset", "none"], self.whole["tfrecord", "gzip"]
        dest, seen = self.path("out"), set()
        for _ in range(KILLS // 2):
            pack(self.source, dest, "webdataset", "none", *self.options(2), "--overwrite")
            self.assertEqual(tree_of(dest), old)
            process = self.start(dest, "tfrecord", "gzip", 2, "--overwrite")
            try:
                process.wait(chance.random() * self.seconds["tfrecord", "gzip"])
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
            if os.path.exists(os.path.join(dest, "dataset.json")):
                found = {n: d for n, d in tree_of(dest).items() if not n.startswith(".")}
                self.assertIn(found, (old, new))
                seen.add(found == new)
            else:
                pack(self.source, dest, "tfrecord", "gzip", *self.options(2), "--resume")
                self.assertEqual(tree_of(dest), new)

    def test_a_reader_while_a_data_set_is_replaced(self):
        """The reader must read one data set or fail, and never mix two."""
        dest = self.path("out")
        whole = []
        for container in ("webdataset", "tfrecord"):
            pack(self.source, dest, container, "none", *self.options(2), "--overwrite")
            whole.append(sheaf("cat", dest, "--seed", 1).stdout)
        self.assertEqual(whole[0], whole[1])
        others = ("--no-shuffle", "--overwrite")
        pack(self.source, dest, "webdataset", "none", *self.options(2), *others)
        whole.append(sheaf("cat", dest, "--seed", 1).stdout)
        for turn in range(6):
            process = self.start(dest, "webdataset", "none", 2, "--overwrite",
                                 *(["--no-shuffle"] if turn % 2 else []))
            while process.poll() is None:
                done = sheaf("cat", dest, "--seed", 1, status=None)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.returncode == 0:
                    self.assertTrue(done.stdout in whole, "a mixture")
            process.communicate()

    def test_two_at_once(self):
        """Two runs pack into one destination. At least one must fail, or both must make the same data set."""
        for round_number in range(5):
            dest = self.path("out%d" % round_number)
            runs = [self.start(dest, container, "none", 2)
                    for container in ("webdataset", "tfrecord")]
            codes = [(run.communicate(), run.returncode)[1] for run in runs]
            self.assertTrue(set(codes) <= {0, 1}, codes)
            if os.path.exists(os.path.join(dest, "dataset.json")):
                found = {n: d for n, d in tree_of(dest).items() if not n.startswith(".")}
                shown = self.whole["webdataset" if codes[0] == 0 else "tfrecord", "none"]
                self.assertEqual(sorted(found), sorted(shown))
                self.assertTrue(found == shown, "a mixture")
            else:
                self.assertNotIn(0, codes)


class Replaced(Case):
    """Tests a run that is killed while it removes the shards of the existing data set."""

    OPTIONS = ("--shard-count", "300")

    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"),
                               {"a/%03d.txt" % i: b"%d" % i for i in range(300)})
        whole = os.path.join(cls.shared, "whole")
        pack(cls.source, whole, "tfrecord", "none", *cls.OPTIONS)
        cls.whole = tree_of(whole)

    def half_removed(self):
        """Leaves shards of the old data set without a manifest. Skips the test if this is not possible."""
        dest = self.path("out")
        for _ in range(100):
            shutil.rmtree(dest, ignore_errors=True)
            pack(self.source, dest, "webdataset", "none", *self.OPTIONS)
            process = subprocess.Popen([SHEAF, "pack", self.source, dest, "--format", "tfrecord",
                                        "--overwrite", *self.OPTIONS], stdout=subprocess.DEVNULL)
            while process.poll() is None and os.path.exists(os.path.join(dest, "dataset.json")):
                pass
            process.kill()
            process.wait()
            if not os.path.exists(os.path.join(dest, "dataset.json")) and \
                    any(name.endswith(".tar") for name in os.listdir(dest)):
                return dest
        self.skipTest("it was always too quick")

    def test_what_is_left_is_not_read(self):
        sheaf("cat", self.half_removed(), "--list", status=1)

    def test_it_can_be_done_again(self):
        for word in ("--overwrite", "--resume"):
            dest = self.half_removed()
            pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, word)
            self.assertEqual(tree_of(dest), self.whole)


class Resume(Case):
    @classmethod
    def share(cls):
        cls.source = make_tree(os.path.join(cls.shared, "source"), image_tree(size=100000))
        dest = os.path.join(cls.shared, "whole")
        pack(cls.source, dest, "tfrecord", "none", *cls.OPTIONS)
        cls.whole = tree_of(dest)

    OPTIONS = ("--shard-size", "100kB")

    def interrupted(self):
        """Leaves a data set of which some shards were finished when its run was killed."""
        dest = self.path("out")
        for _ in range(50):
            process = subprocess.Popen([SHEAF, "pack", self.source, dest, "--format", "tfrecord",
                                        "--jobs", "1", *self.OPTIONS], stdout=subprocess.DEVNULL)
            while process.poll() is None and not (os.path.isdir(dest) and shards_of(dest)):
                pass
            process.kill()
            process.wait()
            if shards_of(dest) and not os.path.exists(os.path.join(dest, "dataset.json")):
                return dest, self.whole
            shutil.rmtree(dest)
        self.fail("it was always too quick")

    def resume(self, dest, **how):
        return pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, "--resume", **how)

    def test_finished_shards_are_kept(self):
        dest, whole = self.interrupted()
        files = {name: os.stat(os.path.join(dest, name)).st_ino for name in shards_of(dest)}
        done = self.resume(dest)
        self.assertEqual(tree_of(dest), whole)
        self.assertIn(b" of them kept", done.stdout)
        self.assertTrue(all(os.stat(os.path.join(dest, name)).st_ino == number
                            for name, number in files.items()))

    def test_an_unfinished_data_set_is_not_read(self):
        """The shards must not be taken for foreign ones, because some are missing."""
        dest, _ = self.interrupted()
        for command in ("cat", "info", "verify", "index"):
            done = sheaf(command, dest, *(["--list"] if command == "cat" else []), status=1)
            self.assertEqual(done.stdout, b"")

    def test_without_resume_the_leftovers_are_not_taken_for_good(self):
        """A run without --resume must start afresh or refuse. It must never mix old and new shards."""
        dest, whole = self.interrupted()
        done = pack(self.source, dest, "tfrecord", "none", *self.OPTIONS, status=None)
        if done.returncode == 0:
            self.assertEqual(tree_of(dest), whole)
        else:
            self.assert_error(done, "unfinished run (process ", "--resume")

    def test_shards_of_unknown_origin_are_not_overwritten(self):
        dest = self.path("out")
        write(os.path.join(dest, "shard-000000.tfrecord"), b"mine")
        self.resume(dest, status=1)
        self.assertEqual(tree_of(dest), {"shard-000000.tfrecord": b"mine"})

    def test_resume_of_nothing_is_a_plain_run(self):
        self.resume(self.path("a"))
        self.assertEqual(tree_of(self.path("a")), self.whole)

    def test_resume_of_a_finished_run_changes_nothing(self):
        pack(self.source, self.path("a"), "tfrecord", "none", *self.OPTIONS)
        whole = tree_of(self.path("a"))
        self.resume(self.path("a"), status=None)
        self.assertEqual(tree_of(self.path("a")), whole)

    def test_killed_when_only_its_traces_were_left(self):
        """A run was killed after it had published the manifest, when some files of its journal were left. The data set
        must count as finished."""
        dest, whole = self.interrupted()
        notes = os.path.join(dest, ".sheaf-partial")
        shutil.copytree(notes, self.path("notes"))
        self.resume(dest)
        shutil.copytree(self.path("notes"), notes)
        self.assertEqual(len(listing(dest)), 60)
        times = {name: os.stat(os.path.join(dest, name)).st_ctime_ns for name in whole}
        done = self.resume(dest)
        self.assertEqual(tree_of(dest), whole)
        self.assertFalse(os.path.exists(notes))
        self.assertEqual({name: os.stat(os.path.join(dest, name)).st_ctime_ns for name in whole},
                         times)
        self.assertIn(b"%d of them kept" % len(shards_of(dest)), done.stdout)

    def test_a_damaged_finished_shard_is_not_kept(self):
        dest, whole = self.interrupted()
        name = os.path.join(dest, shards_of(dest)[0])
        data = bytearray(read(name))
        data[len(data) // 2] ^= 1
        write(name, bytes(data))
        self.resume(dest)
        self.assertEqual(tree_of(dest), whole)

    def test_damaged_notes_of_the_run_do_no_harm(self):
        """Damages or removes each file that a run keeps in order to resume."""
        for damage in ("flip", "cut", "remove"):
            dest, whole = self.interrupted()
            notes = [os.path.join(f, n) for f, _, names in os.walk(dest) for n in names
                     if os.path.basename(f).startswith(".")]
            self.assertNotEqual(notes, [])
            for path in notes:
                data = read(path)
                if damage == "remove":
                    os.unlink(path)
                else:
                    write(path, data[:-1] if damage == "cut" else
                          data[:len(data) // 2] + b"?" + data[len(data) // 2 + 1:])
            done = self.resume(dest, status=None)
            if done.returncode == 0:
                self.assertEqual(tree_of(dest), whole, damage)
            else:
                self.assert_nothing(dest)
            shutil.rmtree(dest)

    def test_a_source_that_changed_since(self):
        """The result must be the data set of the source as it is now, and never a mixture."""
        dest, _ = self.interrupted()
        path = os.path.join(self.source, "new.txt")
        write(path, b"came later")
        self.addCleanup(os.unlink, path)
        done = self.resume(dest, status=None)
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
