#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests that two runs at one destination do not mix, in any file system: if flock fails, and if one of them makes an
index. Files of other programs must stay."""

import os
import shutil
import unittest

import jpegs
import support
from support import Case, held, make_tree, read, released, sheaf, write

NO_LOCKS = {"NO_FLOCK": "1"}


class Places(Case):
    def setUp(self):
        super().setUp()
        self.one = make_tree(self.path("one"), {"cat/a%d.bin" % i: b"one" * 99 for i in range(6)})
        self.two = make_tree(self.path("two"), {"dog/b%d.bin" % i: b"two" * 99 for i in range(4)})
        self.dest = self.path("set")
        self.options = ("--format", "tfrecord", "--shard-count", "2")

    def keys(self):
        listed = sheaf("cat", self.dest, "--list", "--no-shuffle").stdout.decode()
        return [line.split("\t")[0] for line in listed.splitlines()]

    def without_locks(self, *words, status=0):
        """Starts a run in a file system in which flock fails."""
        return sheaf(*words, status=status, env=dict(os.environ, **NO_LOCKS,
                                                     LD_PRELOAD=support.preload(self.shared, "hold")))

    def foreign(self):
        """Makes shards without an index."""
        sheaf("pack", self.one, self.dest, *self.options, "--prefix", "foreign")
        for name in ("json", "index", "keys"):
            os.unlink(os.path.join(self.dest, "dataset." + name))

    # ---- Places without locks --------------------------------------------------------------------

    def test_taken_over_in_the_middle_of_a_call(self):
        """A run is stopped just before a file gets its name, and another run takes over. The first run must then do
        nothing."""
        for begins in ("pack", "--overwrite"):
            for end in ("shard-000000.tfrecord", "dataset.index", "dataset.keys", "dataset.json"):
                with self.subTest(begins=begins, end=end):
                    self.dest = self.path("set-%s-%s" % (begins, end))
                    more = ()
                    if begins != "pack":
                        sheaf("pack", self.two, self.dest, *self.options)
                        more = (begins,)
                    run, mark = held(self, end, "pack", self.one, self.dest, *self.options, *more,
                                     **NO_LOCKS)
                    self.without_locks("pack", self.two, self.dest, *self.options, "--overwrite")
                    code, _, errors = released(run, mark)
                    self.assertEqual(code, 1)
                    self.assertIn(b"another run", errors)
                    sheaf("verify", self.dest)
                    self.assertEqual(len(self.keys()), 4)
                    self.assertFalse(os.path.exists(os.path.join(self.dest, ".sheaf-partial")))

    def test_append_without_locks(self):
        sheaf("pack", self.one, self.dest, *self.options)
        run, mark = held(self, "dataset.json", "append", self.two, self.dest, **NO_LOCKS)
        self.without_locks("append", self.two, self.dest, status=1)
        more = make_tree(self.path("more"), {"cat/c.bin": b"c"})
        self.without_locks("append", more, self.dest, "--overwrite")
        code, _, errors = released(run, mark)
        self.assertEqual(code, 1, errors)
        sheaf("verify", self.dest)
        self.assertEqual(len(self.keys()), 7)

    # ---- Indexing --------------------------------------------------------------------------------

    def test_an_index_keeps_others_out(self):
        self.foreign()
        run, mark = held(self, "dataset.json", "index", self.dest)
        done = sheaf("pack", self.two, self.dest, *self.options, status=1)
        self.assertIn(b"another process is working there", done.stderr)
        self.assertEqual(len(self.keys()), 6)   # of the shards, which anybody may read meanwhile
        self.assertEqual(released(run, mark)[0], 0)
        sheaf("verify", self.dest)
        self.assertEqual(len(self.keys()), 6)

    def test_an_index_that_is_taken_over(self):
        self.foreign()
        run, mark = held(self, "dataset.json", "index", self.dest, **NO_LOCKS)
        self.without_locks("pack", self.two, self.dest, *self.options, status=1)
        self.without_locks("index", self.dest, status=1)
        self.without_locks("index", self.dest, "--overwrite")
        self.assertEqual(released(run, mark)[0], 1)
        sheaf("verify", self.dest)
        self.assertEqual(len(self.keys()), 6)

    def test_a_killed_index_is_made_again(self):
        self.foreign()
        run, mark = held(self, "dataset.json", "index", self.dest)
        support.killed(run, mark)
        done = sheaf("pack", self.two, self.dest, *self.options, status=1)
        self.assertIn(b"unfinished run", done.stderr)
        self.assertEqual(len(self.keys()), 6)
        sheaf("index", self.dest)
        sheaf("verify", self.dest)
        self.assertFalse(os.path.exists(os.path.join(self.dest, ".sheaf-partial")))

    def test_a_killed_table_of_keys_is_made_again(self):
        sheaf("pack", self.one, self.dest, *self.options)
        run, mark = held(self, "dataset.keys", "index", self.dest, "--keys")
        support.killed(run, mark)
        write(self.path("gone"), b"cat/a1\n")
        for words in (("append", self.two, self.dest), ("edit", self.dest, "--delete", self.path("gone"))):
            for more in ((), ("--resume",), ("--overwrite",)):
                done = sheaf(*words, *more, status=1)
                self.assertIn(b"a run of sheaf index has not finished; if it has ended, run it again", done.stderr)
        sheaf("index", self.dest, "--keys")
        sheaf("append", self.two, self.dest)
        run, mark = held(self, "dataset.json", "edit", self.dest, "--delete", self.path("gone"))
        support.killed(run, mark)
        done = sheaf("index", self.dest, "--keys", status=1)
        self.assertIn(b"sheaf edit removes with --overwrite what it has left", done.stderr)
        sheaf("edit", self.dest, "--delete", self.path("gone"), "--overwrite")
        sheaf("index", self.dest, "--keys")
        sheaf("verify", self.dest)

    def test_an_index_for_which_the_disk_is_full(self):
        """Whichever write fails, nothing is left that the next run refuses."""
        for at in range(1, 1000):
            self.dest = self.path("set-%d" % at)
            self.foreign()
            done = sheaf("index", self.dest, status=None,
                         env=dict(support.killing(self, at), FAULT_KIND="enospc"))
            if done.returncode == 0:
                break
            if not os.path.exists(os.path.join(self.dest, "dataset.json")):
                sheaf("index", self.dest)
            self.assertEqual(len(self.keys()), 6)
        self.assertGreater(at, 10)

    def test_keys_keep_others_out(self):
        sheaf("pack", self.one, self.dest, *self.options)
        run, mark = held(self, "dataset.keys", "index", self.dest, "--keys")
        sheaf("pack", self.two, self.dest, *self.options, "--overwrite", status=1)
        sheaf("append", self.two, self.dest, status=1)
        self.assertEqual(released(run, mark)[0], 0)
        sheaf("append", self.two, self.dest)
        sheaf("verify", self.dest)

    def test_keys_of_a_set_that_was_replaced(self):
        sheaf("pack", self.one, self.dest, *self.options)
        run, mark = held(self, "dataset.keys", "index", self.dest, "--keys", **NO_LOCKS)
        self.without_locks("pack", self.two, self.dest, *self.options, "--overwrite")
        self.assertEqual(released(run, mark)[0], 1)
        sheaf("verify", self.dest)
        self.assertEqual(len(self.keys()), 4)

    # ---- What stays ------------------------------------------------------------------------------

    def test_an_own_set_is_not_indexed(self):
        sheaf("pack", self.one, self.dest, *self.options)
        sheaf("append", self.two, self.dest)
        before = support.tree_of(self.dest)
        for more in ((), ("--overwrite",)):
            sheaf("index", self.dest, *more, status=1)
            self.assertEqual(support.tree_of(self.dest), before)

    def test_a_manifest_of_another_program(self):
        self.foreign()
        manifest = os.path.join(self.dest, "dataset.json")
        for text in (b'{"labels": [["a.jpg", 6]]}', b"no JSON", b"[]", b""):
            write(manifest, text)
            for words in (("index", self.dest), ("pack", self.two, self.dest, *self.options)):
                for more in ((), ("--overwrite",)):
                    with self.subTest(text=text, words=words[0], more=more):
                        sheaf(*words, *more, status=1)
                        self.assertEqual(read(manifest), text)

    def test_a_stray_report(self):
        for name in ("skipped.tsv", "converted.tsv", "dataset.keys", "dataset.index"):
            with self.subTest(name=name):
                self.dest = self.path("stray-" + name)
                stray = os.path.join(self.dest, name)
                os.makedirs(self.dest)
                write(stray, b"mine")
                for more in ((), ("--resume",)):
                    done = sheaf("pack", self.two, self.dest, *self.options, *more, status=1)
                    self.assertIn(name.encode() + b": already exists", done.stderr)
                self.assertEqual(os.listdir(self.dest), [name])
                self.assertEqual(read(stray), b"mine")
                sheaf("pack", self.two, self.dest, *self.options, "--overwrite")
                sheaf("verify", self.dest)

    def test_a_stray_file_of_an_index_or_of_a_part(self):
        self.foreign()
        write(os.path.join(self.dest, "dataset.keys"), b"mine")
        sheaf("index", self.dest, status=1)
        self.assertEqual(read(os.path.join(self.dest, "dataset.keys")), b"mine")
        sheaf("index", self.dest, "--overwrite")
        sheaf("verify", self.dest)
        own = self.path("own")
        sheaf("pack", self.one, own, *self.options)
        write(os.path.join(own, "skipped-1.tsv"), b"mine")
        sheaf("append", self.two, own, status=1)
        self.assertEqual(read(os.path.join(own, "skipped-1.tsv")), b"mine")
        sheaf("append", self.two, own, "--overwrite")
        sheaf("verify", own)

    def late_stray(self, once, name, *options):
        """Lets another program write a file between `sheaf plan` and `sheaf commit`. The data set must then become
        equal to `once` when that file has been moved away."""
        plan = self.dest + ".plan"
        stray = os.path.join(self.dest, name)
        sheaf("plan", self.one, self.dest, "-o", plan, *self.options, *options)
        write(stray, b"mine")
        sheaf("pack", "--plan", plan)
        done = sheaf("commit", plan, status=1)
        self.assertIn(name.encode() + b": already exists", done.stderr)
        self.assertIn(b"move it away", done.stderr)
        self.assertEqual(read(stray), b"mine")
        self.assertFalse(os.path.exists(os.path.join(self.dest, "dataset.json")))
        os.unlink(stray)
        sheaf("commit", plan)
        self.assert_same_tree(once, self.dest)

    def test_a_stray_file_that_appears_after_the_claim(self):
        make_tree(self.one, {"cat/bad.jpg": b"no image"})
        for case, options in (("whole", ("--exclude", "*.jpg")), ("skips", ("--on-error", "skip"))):
            once = self.path("once-" + case)
            sheaf("pack", self.one, once, *self.options, *options)
            for name in ("skipped.tsv", "converted.tsv", "dataset.keys", "dataset.index"):
                with self.subTest(case=case, name=name):
                    self.dest = self.path("late-%s-%s" % (case, name))
                    self.late_stray(once, name, *options)

    def test_a_stray_table_that_appears_between_two_files(self):
        """Another program writes a table of keys when the index is about to get its name."""
        write(self.path("gone"), b"cat/a1\n")

        def index():
            self.foreign()
            return "index", self.dest

        def edit():
            sheaf("pack", self.one, self.dest, *self.options)
            return "edit", self.dest, "--delete", self.path("gone")

        def pack():
            return "pack", self.one, self.dest, *self.options

        def append():
            sheaf("pack", self.one, self.dest, *self.options)
            return "append", self.two, self.dest

        for make, part, again in ((index, "", ()), (edit, ".e1", ("--resume",)), (pack, "", ("--resume",)),
                                  (append, "-1", ("--resume",))):
            for variables in ({}, NO_LOCKS):
                with self.subTest(command=make.__name__, variables=variables):
                    self.dest = self.path("%s-%d" % (make.__name__, len(variables)))
                    keys = "dataset%s.keys" % part
                    words = make()
                    run, mark = held(self, "dataset%s.index" % part, *words, **variables)
                    write(os.path.join(self.dest, keys), b"mine")
                    status, _, errors = released(run, mark)
                    self.assertEqual(status, 1)
                    self.assertRegex(errors, keys.encode() + b": (already exists|another process created it)")
                    self.assertEqual(read(os.path.join(self.dest, keys)), b"mine")
                    os.unlink(os.path.join(self.dest, keys))
                    sheaf(*words, *again)
                    sheaf("verify", self.dest)

    def test_a_stray_file_before_a_plan_that_overwrites(self):
        plan = self.path("plan")
        os.makedirs(self.dest)
        for name in ("skipped.tsv", "converted.tsv", "dataset.keys", "dataset.index"):
            write(os.path.join(self.dest, name), b"mine")
        sheaf("plan", self.one, self.dest, "-o", plan, *self.options, "--overwrite")
        sheaf("pack", "--plan", plan)
        sheaf("commit", plan)
        sheaf("verify", self.dest)
        self.assertFalse(os.path.exists(os.path.join(self.dest, "skipped.tsv")))

    def test_a_stray_file_at_a_resume(self):
        """A commit was killed after it had written its own files, which it must recognise. A stray file stays."""
        make_tree(self.one, {"cat/bad.jpg": b"no image"})
        words = ("pack", self.one, self.dest, *self.options, "--on-error", "skip")
        run, mark = held(self, "dataset.json", *words)
        support.killed(run, mark)
        own = read(os.path.join(self.dest, "skipped.tsv"))
        self.assertTrue(os.path.exists(os.path.join(self.dest, "dataset.keys")))
        for name in ("skipped.tsv", "converted.tsv", "dataset.keys"):
            path = os.path.join(self.dest, name)
            before = read(path) if os.path.exists(path) else None
            write(path, b"mine")
            sheaf(*words, "--resume", status=1)
            self.assertEqual(read(path), b"mine")
            os.unlink(path)
            if before is not None:
                write(path, before)
        sheaf(*words, "--resume")
        sheaf("verify", self.dest)
        self.assertEqual(read(os.path.join(self.dest, "skipped.tsv")), own)

    def test_a_report_of_a_source_that_has_changed_since(self):
        """A run was killed after it had written its report, and the source was changed. The resumed run has another
        report, or none. It recognises its own earlier reports, and a stray file stays."""
        good = jpegs.jpeg(seed=1)
        words = ("pack", self.one, self.dest, *self.options, "--on-error", "skip")
        report = os.path.join(self.dest, "skipped.tsv")
        for contents in ((b"GIF89a", good), (b"GIF89a", b"no image"), (b"GIF89a", good[:4], b"no image", good)):
            with self.subTest(contents=[content[:8] for content in contents]):
                shutil.rmtree(self.dest, ignore_errors=True)
                before, more = None, ()
                for content in contents[:-1]:
                    make_tree(self.one, {"cat/bad.jpg": content.ljust(len(good), b"-")})
                    run, mark = held(self, "dataset.json", *words, *more)
                    support.killed(run, mark)
                    self.assertNotIn(read(report), (before, b""))
                    before, more = read(report), ("--resume",)
                make_tree(self.one, {"cat/bad.jpg": contents[-1].ljust(len(good), b"-")})
                write(report, b"mine")
                self.assert_error(sheaf(*words, "--resume", status=1), "is not the report of this run")
                self.assertEqual(read(report), b"mine")
                os.truncate(report, 1 << 40)        # a stray file is not read
                self.assert_error(sheaf(*words, "--resume", status=1), "is not the report of this run")
                write(report, before)
                sheaf(*words, "--resume")
                sheaf("verify", self.dest)
                self.assertEqual(os.path.exists(report), contents[-1] != good)
                self.assertFalse(os.path.exists(os.path.join(self.dest, ".sheaf-partial")))

    def test_a_stray_table_of_keys(self):
        """`sheaf index --keys` replaces a table of keys that Sheaf has written, even if it is damaged."""
        sheaf("pack", self.one, self.dest, *self.options)
        path = os.path.join(self.dest, "dataset.keys")
        whole = read(path)
        for text in (b"mine", b"", b"SHEAF", b"another program's table of keys" * 99):
            write(path, text)
            done = sheaf("index", self.dest, "--keys", status=1)
            self.assertIn(b"dataset.keys: already exists", done.stderr)
            self.assertEqual(read(path), text)
        for text in (whole[:-8], whole[:20], None):
            os.unlink(path)
            if text is not None:
                write(path, text)
            sheaf("index", self.dest, "--keys")
            self.assertEqual(read(path), whole)

    def test_a_view_replaces_only_a_view(self):
        sheaf("pack", self.one, self.dest, *self.options)
        sheaf("pack", self.two, self.path("other"), *self.options)
        before = support.tree_of(self.dest)
        own, labels = os.path.join(self.dest, "dataset.json"), self.path("labels.json")
        write(labels, b'{"labels": []}')
        for path in (own, labels):
            sheaf("view", self.path("other"), "-o", path, "--overwrite", status=1)
        self.assertEqual((support.tree_of(self.dest), read(labels)), (before, b'{"labels": []}'))
        for _ in range(2):
            sheaf("view", self.path("other"), "-o", self.path("own.view"), "--overwrite")


if __name__ == "__main__":
    unittest.main()
