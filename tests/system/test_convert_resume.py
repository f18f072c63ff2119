# SPDX-License-Identifier: MIT
"""sheaf convert that was killed or failed, and --resume: the result has the bytes of an uninterrupted conversion, or
an error says what has changed."""

import errno
import io
import os
import random
import resource
import shutil
import subprocess
import tarfile
import time

import support
from support import QUICK, SHEAF, Case, make_tree, pack, read, seed, sheaf, tree_of, write

KILLS = 6 if QUICK else 30
SAMPLES, SHARDS = 120, 12
LARGE = 4 << 20


class ConvertResume(Case):
    @classmethod
    def share(cls):
        chance = random.Random(5)
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), {
            "c%d/%03d.bin" % (i % 4, i): chance.randbytes(15000) for i in range(SAMPLES)})

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.path("source"), "set")
        pack(self.tree, self.source, "webdataset", "none", "--shard-count", SHARDS)
        self.dest = self.path("dest")

    def words(self, *sources, to="tfrecord", more=()):
        return ["convert", *(sources or (self.source,)), self.dest, "--format", to, *more]

    def whole(self, *sources, **how):
        sheaf(*self.words(*sources, **how))
        files = tree_of(self.dest)
        shutil.rmtree(self.dest)
        return files

    def shard(self, number):
        return os.path.join(self.source, "shard-%06d.tar" % number)

    def finished(self):
        return sorted(name for name in os.listdir(self.dest) if name.startswith("shard-"))

    def fail_late(self, *sources, **how):
        """Runs a conversion that meets a bad record in the last shard but one, and repairs the record. The number of
        shards that it finishes varies, but is at least two."""
        path = self.shard(SHARDS - 2)
        data, times = read(path), os.stat(path)
        write(path, support.flip(data, 5 * 512))
        for _ in range(20):
            done = sheaf(*self.words(*sources, **how), status=1)
            self.assertFalse(os.path.exists(os.path.join(self.dest, "dataset.json")))
            if len(self.finished()) > 1:
                break
            shutil.rmtree(self.dest)
        write(path, data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return done

    def test_killed(self):
        chance = random.Random(seed())
        for to in ("tfrecord", "recordio"):
            whole = self.whole(to=to, more=("--codec", "gzip"))
            for _ in range(KILLS):
                words = self.words(to=to, more=("--codec", "gzip", "--jobs", "2"))
                for more in ((), ("--resume",), ("--resume",)):
                    process = subprocess.Popen([SHEAF, *words, *more], stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL)
                    time.sleep(chance.random() * 0.1)
                    process.kill()
                    process.wait()
                if os.path.exists(os.path.join(self.dest, "dataset.json")):
                    # A run that was killed after it had published leaves only its journal.
                    self.assertEqual({name: data for name, data in tree_of(self.dest).items()
                                      if not name.startswith(".sheaf-partial/")}, whole)
                sheaf(*words, "--resume")
                self.assertEqual(tree_of(self.dest), whole)
                shutil.rmtree(self.dest)

    def test_what_is_finished_is_kept(self):
        whole = self.whole()
        self.fail_late()
        self.assert_error(sheaf(*self.words(), status=1), "unfinished run")
        done = sheaf(*self.words(), "--resume")
        kept = int(done.stdout.split(b" of them kept")[0].split()[-1])
        self.assertTrue(0 < kept < SHARDS, done.stdout)
        self.assertEqual(tree_of(self.dest), whole)

    def test_an_altered_shard_is_made_again(self):
        whole = self.whole()
        self.fail_late()
        finished = self.finished()
        path = os.path.join(self.dest, finished[-1])
        write(path, support.flip(read(path), 1000))
        done = sheaf(*self.words(), "--resume")
        self.assertIn(b", %d of them kept" % (len(finished) - 1), done.stdout)
        self.assertEqual(tree_of(self.dest), whole)

    def make_foreign(self):
        """The last shard is larger than the others."""
        for name in ("dataset.json", "dataset.index", "dataset.keys"):
            os.unlink(os.path.join(self.source, name))
        with tarfile.open(self.shard(SHARDS), "w") as tar:
            info = tarfile.TarInfo("large.bin")
            info.size = LARGE
            tar.addfile(info, io.BytesIO(bytes(LARGE)))

    def fail_at_the_large_one(self, *words):
        """The conversion fails when a file grows beyond the limit on file sizes, and names the file."""
        limit = LARGE // 2
        process = subprocess.run(
            [SHEAF, *words], stderr=subprocess.PIPE, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn(os.strerror(errno.EFBIG).encode(), process.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.dest, "dataset.json")))

    def test_foreign_shards(self):
        self.make_foreign()
        whole = self.whole()
        self.fail_at_the_large_one(*self.words())
        self.assertIn(b" of them kept", sheaf(*self.words(), "--resume").stdout)
        self.assertEqual(tree_of(self.dest), whole)

    def test_another_source_or_option(self):
        other = self.path("other")
        shutil.copytree(self.source, other)
        self.fail_late()
        for words in (self.words(other), self.words(to="recordio"),
                      self.words(more=("--codec", "lz4")),
                      self.words(more=("--on-corrupt", "skip"))):
            self.assert_error(sheaf(*words, "--resume", status=1), "another plan")
        sheaf(*self.words(), "--resume")

    def test_killed_with_foreign_shards(self):
        self.make_foreign()
        whole = self.whole()
        process = subprocess.Popen([SHEAF, *self.words()], stdout=subprocess.DEVNULL)
        while process.poll() is None and not (os.path.isdir(self.dest) and self.finished()):
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.assertIn(b" of them kept", sheaf(*self.words(), "--resume").stdout)
        self.assertEqual(tree_of(self.dest), whole)

    def test_a_foreign_source_that_changed(self):
        self.make_foreign()
        self.fail_at_the_large_one(*self.words())
        os.utime(self.shard(1))
        self.assert_error(sheaf(*self.words(), "--resume", status=1), "another plan")

    def test_nothing_to_resume(self):
        whole = self.whole()
        sheaf(*self.words(), "--resume")
        self.assertEqual(tree_of(self.dest), whole)
        sheaf(*self.words(), "--resume", "--overwrite", status=2)

    def test_a_finished_one_is_known(self):
        """It is recognised even in a copy of the data set, and with leftovers of a killed run."""
        first = sheaf(*self.words()).stdout
        whole = tree_of(self.dest)
        done = sheaf(*self.words(), "--resume")
        self.assertIn(b", %d of them kept" % SHARDS, done.stdout)
        self.assertEqual(done.stdout.split(b",")[0], first.split(b"\n")[0])
        other = self.path("other")
        shutil.copytree(self.source, other)
        sheaf(*self.words(other), "--resume")
        self.assertEqual(tree_of(self.dest), whole)
        for words in (self.words(to="recordio"), self.words(more=("--codec", "lz4")),
                      self.words(more=("--on-corrupt", "skip")), self.words(self.tree)):
            self.assertNotEqual(sheaf(*words, "--resume", status=None).returncode, 0)
        self.assertEqual(tree_of(self.dest), whole)
        shard = os.path.join(self.dest, "shard-000003.tfrecord")
        write(shard, read(shard)[:-1])
        self.assert_error(sheaf(*self.words(), "--resume", status=1), "shard-000003.tfrecord")

    def test_a_finished_foreign_one_is_known(self):
        self.make_foreign()
        whole = self.whole()
        sheaf(*self.words())
        sheaf(*self.words(), "--resume")
        self.assertEqual(tree_of(self.dest), whole)

    def test_parts_of_a_finished_one(self):
        """Commits and late parts find the finished data set. Its bytes are those of a conversion on one machine."""
        plan, whole = self.path("plan"), self.whole()
        sheaf("plan", self.source, self.dest, "-o", plan, "--format", "tfrecord")
        sheaf("convert", "--plan", plan)
        first = sheaf("commit", plan).stdout
        self.assertEqual(tree_of(self.dest), whole)
        self.assertIn(b"kept", sheaf("convert", "--plan", plan, "--part", "1/2").stdout)
        self.assertEqual(sheaf("commit", plan).stdout,
                         first.replace(b"committed", b"was committed already:", 1))
        sheaf(*self.words(), "--resume")
        self.assertEqual(tree_of(self.dest), whole)

    def test_standard_input(self):
        data = read(self.shard(0))
        sheaf("convert", "-", self.dest, "--format", "tfrecord", data=data)
        self.assert_error(sheaf("convert", "-", self.path("x"), "--format", "tfrecord", "--resume",
                                data=data, status=1), "read only once")


if __name__ == "__main__":
    support.main()
