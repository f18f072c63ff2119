# SPDX-License-Identifier: MIT
"""Tests that the state of a destination is found out, or the run fails. A store that does not answer must not count as
empty. If a plan cannot be stored, nothing may be removed for it. Several commits at once must make one data set. A note
that reappears after a power loss must not lead to a removal."""

import errno
import os
import subprocess
import time
import unittest

import fake_s3
import servers
import support
from support import SHEAF, Case, make_tree, read, sheaf, tree_of, write

COMMITS = 6


def files(count=40, mark=b"x"):
    """Returns files, of which one will be skipped."""
    made = {"c%d/%03d.txt" % (i % 4, i): b"%d" % i * 50 + mark for i in range(count)}
    made["c0/bad.jpg"] = b"no image"
    return made


# ---- Six at once -------------------------------------------------------------------------------

class Commits:
    """The tests that local directories and S3 share."""

    def test_six_at_once(self):
        source = make_tree(self.path("source"), files())
        options = ("--format", "webdataset", "--shard-count", "20", "--on-error", "skip")
        one, dest, plan = self.path("one"), self.spot("many"), self.spot("plan")
        sheaf("pack", source, one, *options)
        self.run_sheaf("plan", source, dest, "-o", plan, *options)
        self.run_sheaf("pack", "--plan", plan)
        running = [subprocess.Popen([SHEAF, "commit", plan], env=self.environment(),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for _ in range(COMMITS)]
        said = []
        for process in running:
            out, errors = process.communicate()
            self.assertEqual((process.returncode, errors), (0, b""))
            said.append(out)
        first = [out for out in said if out.startswith(b"committed 40 samples")]
        late = [out for out in said if out.startswith(b"was committed already: 40 samples")]
        self.assertEqual(len(first) + len(late), COMMITS)
        self.check_first(len(first))
        self.assertIn(b"1 skipped", said[0].replace(b" file", b""))
        self.compare(one, dest)
        stamp = self.stamp(dest)
        self.assertTrue(self.run_sheaf("commit", plan).stdout.startswith(b"was committed already"))
        self.assertEqual(self.stamp(dest), stamp)

    def test_not_the_plan_s_own(self):
        """The data set of another plan has files with the same names and sizes. The manifests alone would not show
        which of the two exists."""
        options = ("--format", "webdataset", "--shard-count", "3", "--on-error", "skip")
        dest, mine, other = self.spot("many"), self.spot("mine"), self.spot("other")
        for name, mark in (("a", b"x"), ("b", b"y")):
            make_tree(self.path(name), files(mark=mark))
        self.run_sheaf("plan", self.path("a"), dest, "-o", mine, *options)
        self.run_sheaf("pack", "--plan", mine)
        self.run_sheaf("plan", self.path("b"), dest, "-o", other, *options, "--overwrite")
        self.run_sheaf("pack", "--plan", other)
        self.run_sheaf("commit", other)
        before = self.stamp(dest)
        for words in (("commit", mine), ("pack", "--plan", mine, "--part", "0/2")):
            done = self.run_sheaf(*words, status=1)
            self.assertIn(b"another plan", done.stderr)
        self.assertEqual(self.stamp(dest), before)
        for words in (("commit", other), ("pack", "--plan", other)):
            self.run_sheaf(*words)
        self.forget(dest)
        done = self.run_sheaf("commit", mine)
        self.assertTrue(done.stdout.startswith(b"was committed already"))


class LocalCommits(Commits, Case):
    def spot(self, name):
        return self.path(name)

    def run_sheaf(self, *words, **how):
        return sheaf(*words, **how)

    def environment(self):
        return None

    def check_first(self, count):
        self.assertEqual(count, 1)

    def compare(self, one, dest):
        self.assert_same_tree(one, dest)
        self.assertFalse(os.path.exists(os.path.join(dest, ".sheaf-partial")))

    def stamp(self, dest):
        return [os.stat(os.path.join(dest, name)).st_ino
                for name in ("skipped.tsv", "dataset.json", "dataset.index",
                             "dataset.keys")]

    def forget(self, dest):
        """Removes the note, as a copy or a file system without extended attributes does."""
        os.removexattr(os.path.join(dest, "dataset.json"), "user.sheaf.note")


class RemoteCommits(Commits, servers.S3Case):
    def spot(self, name):
        return self.url(name)

    def run_sheaf(self, *words, **how):
        return self.sheaf(*words, **how)

    def environment(self):
        return self.env

    def check_first(self, count):
        """In S3, several commits may do the work, because nothing can exclude those that come before the first one has
        ended."""
        self.assertGreaterEqual(count, 1)

    def compare(self, one, dest):
        self.assert_same_objects("many", one)

    def stamp(self, dest):
        return [self.client.request("HEAD", "/%s/many/%s" % (self.bucket, name))[1].getheader(
            "last-modified") for name in ("skipped.tsv", "dataset.json")]

    def forget(self, dest):
        """Removes the note, as a copy does."""
        place = "/%s/%s/dataset.json" % (self.bucket, dest.rpartition("/")[2])
        self.client.request("PUT", place, body=self.client.request("GET", place)[0])


# ---- A place that cannot be looked at ----------------------------------------------------------

class Refusals(Case):
    """Tests local calls that fail."""

    @classmethod
    def share(cls):
        cls.library = support.preload(cls.shared, "refuse")
        cls.source = make_tree(os.path.join(cls.shared, "source"), files())
        cls.other = make_tree(os.path.join(cls.shared, "other"), files(mark=b"other"))
        cls.options = ("--format", "webdataset", "--shard-count", "4", "--on-error", "skip")

    def refused(self, name, number, *words, sync=False, status=1):
        env = dict(os.environ, LD_PRELOAD=self.library, REFUSE_END=name, REFUSE_ERRNO=str(number))
        if sync:
            env["REFUSE_SYNC"] = "1"
        done = sheaf(*words, status=status, env=env)
        return done.stderr.decode()

    def test_no_answer_is_not_absence(self):
        dest, plan, beside = self.path("dest"), self.path("plan"), self.path("beside")
        sheaf("pack", self.source, dest, *self.options)
        sheaf("plan", self.source, beside, "-o", plan, *self.options)
        before = tree_of(dest)
        for name in ("dataset.json", ".sheaf-partial/plan"):
            for number in (errno.EIO, errno.EACCES):
                for words in (("pack", self.other, dest, *self.options),
                              ("pack", self.other, dest, *self.options, "--resume"),
                              ("pack", self.other, dest, *self.options, "--overwrite"),
                              ("plan", self.other, dest, "-o", self.path("new"), *self.options),
                              ("convert", beside + "-c", dest, "--format", "tfrecord",
                               "--overwrite")):
                    with self.subTest(name=name, number=number, words=words[0::3]):
                        if words[0] == "convert" and not os.path.exists(beside + "-c"):
                            sheaf("pack", self.source, beside + "-c", *self.options)
                        text = self.refused(name, number, *words, status=None)
                        if name == "dataset.json":
                            self.assertIn(os.strerror(number), text)
                        self.assertNotEqual(text, "")
                        self.assertEqual(tree_of(dest), before)
                text = self.refused(name, number, "pack", "--plan", plan)
                self.assertIn(os.strerror(number), text)
                text = self.refused(name, number, "commit", plan)
                self.assertIn(os.strerror(number), text)
        sheaf("pack", "--plan", plan)
        sheaf("commit", plan)
        self.assertEqual(tree_of(beside), before)

    def test_readers(self):
        """If nobody can say whether a manifest exists, the shards must not be taken for foreign ones."""
        dest = self.path("dest")
        sheaf("pack", self.source, dest, *self.options)
        for name in ("dataset.json", ".sheaf-partial/plan"):
            if name != "dataset.json":
                os.unlink(os.path.join(dest, "dataset.json"))
            for command in ("cat", "info", "verify", "index", "unpack"):
                for number in (errno.EIO, errno.EACCES):
                    words = (command, dest) + ((self.path("out"),) if command == "unpack" else ())
                    self.assertIn(os.strerror(number), self.refused(name, number, *words))

    def test_a_plan_that_cannot_be_stored_removes_nothing(self):
        dest = self.path("dest")
        sheaf("pack", self.source, dest, *self.options)
        before = tree_of(dest)
        plan = os.path.join(dest, "x.plan")
        with support.small_disk(self.path("full"), 1 << 20):
            write(self.path("full/fill"), b"x" * ((1 << 20) - 8192))
            with self.assertRaises(OSError):
                write(self.path("full/more"), b"x" * 65536)
            for where, status in ((self.path("full/plan"), 1), (self.path("source.txt/plan"), 1),
                                  (dest, 2)):
                write(self.path("source.txt"), b"no directory")
                done = sheaf("plan", self.other, dest, "-o", where, *self.options, "--overwrite",
                             status=status)
                self.assert_error(done)
                self.assertEqual(tree_of(dest), before)
        sheaf("plan", self.other, dest, "-o", plan, *self.options, "--overwrite")
        sheaf("pack", "--plan", plan)
        sheaf("commit", plan)
        whole = self.path("whole")
        sheaf("pack", self.other, whole, *self.options)
        self.assertEqual({n: d for n, d in tree_of(dest).items() if n != "x.plan"}, tree_of(whole))

    def test_a_directory_that_cannot_be_synced(self):
        """If the directory cannot be synced, the manifest already has its name and the data set is complete. The error
        must say so."""
        dest = self.path("dest")
        text = self.refused("dataset.json", errno.EIO, "pack", self.source, dest, *self.options,
                            sync=True)
        self.assertIn("dataset.json: is complete and in place, but may not survive a power loss",
                      text)
        sheaf("verify", dest)
        self.assertIn(b"4 of them kept", sheaf("pack", self.source, dest, *self.options,
                                               "--resume").stdout)
        sheaf("pack", self.source, self.path("whole"), *self.options)
        self.assert_same_tree(dest, self.path("whole"))
        self.assertFalse(os.path.exists(os.path.join(dest, ".sheaf-partial")))

    def test_a_note_that_comes_back(self):
        """A run records which data set it replaces. After a power loss, this record, and perhaps the claim, exist again
        beside the new data set, whose shards have the names of the old ones."""
        dest, notes = self.path("dest"), os.path.join(self.path("dest"), ".sheaf-partial")
        sheaf("pack", self.source, dest, *self.options)
        old = read(os.path.join(dest, "dataset.json"))
        sheaf("plan", self.other, dest, "-o", self.path("plan"), *self.options, "--overwrite")
        claim = read(os.path.join(notes, "plan"))
        sheaf("pack", "--plan", self.path("plan"))
        sheaf("commit", self.path("plan"))
        new = tree_of(dest)
        for with_claim in (False, True):
            for again in (("commit", self.path("plan")),
                          ("pack", self.other, dest, *self.options, "--resume"))[:2 - with_claim]:
                with self.subTest(with_claim=with_claim, again=again[0]):
                    write(os.path.join(notes, "replaced.json"), old)
                    if with_claim:
                        write(os.path.join(notes, "plan"), claim)
                    sheaf("verify", dest)
                    sheaf(*again)
                    found = {n: d for n, d in tree_of(dest).items()
                             if not n.startswith(".sheaf-partial")}
                    self.assertEqual(found, new)
                    sheaf("verify", dest)

    def test_a_part_twice_that_differs(self):
        """Two runs pack a part, and only one of them can read a certain file. The second run must use the shard of the
        first one, with the files that it has skipped, and the sum of each run must be right."""
        source = make_tree(self.path("source"), files())
        options = (*self.options, "--on-change", "skip")
        # Of the first shard: the first run has read all of it when it is held at its name.
        sheaf("pack", source, self.path("before"), *self.options)
        listed = sheaf("cat", self.path("before/shard-000000.tar"), "--list", "--limit", "1").stdout
        victim = os.path.join(source, listed.decode().split("\t")[0] + ".txt")
        data, stamp = read(victim), os.stat(victim)
        for first_lacks in (True, False):
            with self.subTest(first_lacks=first_lacks):
                dest, plan = self.path("dest"), self.path("plan")
                sheaf("plan", source, dest, "-o", plan, *options, "--overwrite")
                aside = self.path("aside")
                os.rename(victim, aside) if first_lacks else None
                first, mark = support.held(self, ".tar", "pack", "--plan", plan, "--jobs", "1")
                os.rename(aside, victim) if first_lacks else os.rename(victim, aside)
                second = subprocess.Popen([SHEAF, "pack", "--plan", plan], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE)
                time.sleep(0.3)         # it may come as far as it can, or not
                os.unlink(mark)
                for process in (first, second):
                    out, errors = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 0, (out, errors))
                if not first_lacks:
                    os.rename(aside, victim)
                said = sheaf("commit", plan).stdout
                self.assertIn(b"committed %d samples" % (40 - first_lacks), said)
                sheaf("verify", dest)
                self.assertEqual((read(victim), os.stat(victim).st_mtime_ns),
                                 (data, stamp.st_mtime_ns))

    def test_an_empty_directory_is_removed(self):
        """A run was killed after it had removed its claim, and before it removed the empty directory."""
        dest, plan = self.path("dest"), self.path("plan")
        sheaf("plan", self.source, dest, "-o", plan, *self.options)
        sheaf("pack", "--plan", plan)
        sheaf("commit", plan)
        for words in (("commit", plan), ("pack", self.source, dest, *self.options, "--resume")):
            os.mkdir(os.path.join(dest, ".sheaf-partial"))
            sheaf(*words)
            self.assertNotIn(".sheaf-partial", os.listdir(dest))

    def test_killed_between_manifest_and_shards(self):
        """A run that replaces a data set is killed. Whatever is left of the old data set must not count as a data
        set."""
        dest, whole = self.path("dest"), self.path("whole")
        sheaf("pack", self.other, whole, *self.options)
        sheaf("pack", self.source, dest, *self.options)
        before = tree_of(dest)
        replace = ("pack", self.other, dest, *self.options, "--overwrite")
        for at in support.kills(self, 7, lambda: support.restore(dest, before), *replace):
            seen = sheaf("info", dest, status=None)
            found = {n: d for n, d in tree_of(dest).items() if not n.startswith(".sheaf-partial")}
            if seen.returncode == 0:
                self.assertIn(found, (before, tree_of(whole)), at)
            if at % 2:          # refused where the old data set is there still
                sheaf("pack", self.other, dest, *self.options, "--resume", status=None)
            sheaf(*replace)
            self.assert_same_tree(dest, whole)
        self.assertGreater(at, 20)


class RemoteRefusals(Case):
    """Tests the same for S3, which answers every request with 403 or 500."""

    def setUp(self):
        super().setUp()
        self.server = fake_s3.Server(support.seed())
        self.addCleanup(self.server.stop)
        self.env = dict(servers.clean_environment(), AWS_ACCESS_KEY_ID="key",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_ENDPOINT_URL=self.server.url,
                        AWS_REGION="us-east-1")
        self.source = make_tree(self.path("source"), files())
        self.other = make_tree(self.path("other"), files(mark=b"other"))

    def refuse(self, end, fault):
        self.server.fault = lambda method, key, query: \
            fault if end and (key.endswith(end) or not key and query.get("prefix", "").endswith(
                end.rsplit("/", 1)[0] + "/")) else None

    def objects(self):
        return {k: o.data for k, o in self.server.buckets["bucket"].objects.items()}

    def test_no_answer_is_not_absence(self):
        options = ("--format", "webdataset", "--shard-count", "4", "--on-error", "skip")
        sheaf("pack", self.source, "s3://bucket/set", *options, env=self.env)
        before = self.objects()
        for end in ("set/dataset.json", "set/.sheaf-partial/plan"):
            for fault, words in (("denied", "AccessDenied"), ("500", "InternalError")):
                for more in ((), ("--resume",), ("--overwrite",)):
                    with self.subTest(end=end, fault=fault, more=more):
                        self.refuse(end, fault)
                        # A 500 is asked again for as long as this.
                        done = sheaf("pack", self.other, "s3://bucket/set", *options, *more, status=1,
                                     env=dict(self.env, SHEAF_REQUEST_TIMEOUT="4"))
                        if end.endswith("json"):
                            self.assertIn(words, done.stderr.decode())
                        self.assertEqual(self.objects(), before)
        self.refuse("", "")
        sheaf("verify", "s3://bucket/set", env=self.env)


    def test_fetch_of_another_shard(self):
        """The shard to be fetched has another size, or the same size and other bytes. The copy must not count as
        complete."""
        options = ("--format", "webdataset", "--shard-count", "4", "--on-error", "skip")
        sheaf("pack", self.source, "s3://bucket/set", *options, env=self.env)
        objects = self.server.buckets["bucket"].objects
        whole = objects["set/shard-000002.tar"]
        for number, data in enumerate((whole.data[:-512], support.flip(whole.data, 700))):
            objects["set/shard-000002.tar"] = fake_s3.Object(data)
            out = self.path("out-%d" % number)
            done = sheaf("fetch", "s3://bucket/set", out, status=1, env=self.env)
            self.assertIn(b"shard-000002.tar", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(out, "shard-000002.tar")))
        objects["set/shard-000002.tar"] = whole
        sheaf("fetch", "s3://bucket/set", out, env=self.env)
        sheaf("verify", out)


del Commits     # its tests run in the classes that say where


if __name__ == "__main__":
    unittest.main()
