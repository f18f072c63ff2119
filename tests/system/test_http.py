# SPDX-License-Identifier: MIT
"""Data sets on a plain web server."""

import gzip
import os
import re
import shutil
import subprocess
import unittest

import servers
import support
from support import make_tree, pack, read


class Http(support.Case):
    @classmethod
    def share(cls):
        cls.root = os.path.join(cls.shared, "www")
        tree = make_tree(os.path.join(cls.shared, "tree"), support.image_tree(4, 40))
        pack(tree, os.path.join(cls.root, "set"), "webdataset", "none", "--shard-size", "150kB")
        pack(tree, os.path.join(cls.root, "packed"), "recordio", "gzip", "--shard-size", "150kB")
        os.makedirs(os.path.join(cls.root, "foreign"))
        for name in support.shards_of(os.path.join(cls.root, "set")):
            shutil.copy(os.path.join(cls.root, "set", name), os.path.join(cls.root, "foreign"))
            data = read(os.path.join(cls.root, "set", name))
            support.write(os.path.join(cls.root, "foreign.gz", name + ".gz"), gzip.compress(data))
        cls.names = support.shards_of(os.path.join(cls.root, "foreign"))
        cls.server = servers.Nginx(cls.root)
        cls.addClassCleanup(cls.server.stop)
        cls.env = servers.clean_environment()

    def url(self, path):
        return "%s/%s" % (self.server.url, path)

    def same(self, remote, local, *options):
        self.assertEqual(support.listing(*remote, *options, env=self.env),
                         support.listing(*local, *options))
        self.assertTrue(support.sheaf("cat", *remote, *options, env=self.env).stdout ==
                        support.sheaf("cat", *local, *options).stdout)

    def test_data_sets(self):
        for name in ("set", "packed"):
            with self.subTest(name=name):
                self.same([self.url(name)], [os.path.join(self.root, name)], "--seed", "3")
                support.sheaf("verify", self.url(name), env=self.env)
                support.sheaf("unpack", self.url(name + "/dataset.json"), self.path(name),
                              env=self.env)
                self.assert_same_tree(self.path(name), os.path.join(self.shared, "tree"))

    def test_info_reads_the_index_of_chosen_shards(self):
        """To describe a view, nothing is read of the other shards."""
        view = self.path("some.view")
        support.sheaf("view", self.url("set/"), "-o", view, "--where", "range=0..3", env=self.env)
        before = len(self.server.requests())
        said = support.sheaf("info", view, env=self.env).stdout
        asked = [line.split('"') for line in self.server.requests()[before:]]
        bytes_ = sum(int(answer.split()[1]) for _, request, answer, *_ in asked
                     if "dataset.index" in request)
        whole = os.path.getsize(os.path.join(self.root, "set", "dataset.index"))
        self.assertLess(bytes_, whole / 2)
        local = self.path("local.view")
        support.sheaf("view", os.path.join(self.root, "set"), "-o", local, "--where", "range=0..3")
        self.assertIn(b"chosen", said)
        self.assertEqual([line for line in said.splitlines() if line.startswith(b"  chosen")],
                         [line for line in support.sheaf("info", local).stdout.splitlines()
                          if line.startswith(b"  chosen")])

    def test_foreign_shards(self):
        last = len(self.names) - 1
        local = [os.path.join(self.root, "foreign")]
        pattern = self.url("foreign/shard-{000000..%06d}.tar" % last)
        self.same([pattern], local, "--no-shuffle")
        self.same([self.url("foreign/" + n) for n in self.names], local, "--no-shuffle")
        support.write(self.path("list"), "\n".join(
            self.url("foreign/" + n) for n in self.names).encode())
        self.same(["@" + self.path("list")], local, "--no-shuffle")
        support.write(os.path.join(self.root, "list.txt"), read(self.path("list")))
        self.same(["@" + self.url("list.txt")], local, "--no-shuffle")
        pattern = self.url("foreign.gz/shard-{000000..%06d}.tar.gz" % last)
        self.same([pattern], [os.path.join(self.root, "foreign.gz")], "--no-shuffle")

    def test_query(self):
        """A URL with a query names one file, and no message shows the query."""
        name = self.names[0]
        url, local = self.url("foreign/%s?token=SECRET" % name), os.path.join(self.root, "foreign")
        before = len(self.server.requests())
        self.same([url], [os.path.join(local, name)], "--no-shuffle")
        for line in self.server.requests()[before:]:
            self.assertIn("/foreign/%s?token=SECRET " % name, line)
        for words in (["info", url], ["info", "--json", url], ["verify", url]):
            done = support.sheaf(*words, env=self.env)
            self.assertNotIn(b"SECRET", done.stdout + done.stderr)
        done = support.sheaf("info", url, env=self.env)
        self.assertIn(self.url("foreign/" + name).encode(), done.stdout)
        for words in (["cat", self.url("none.tar?token=SECRET"), "--list"],
                      ["cat", url.replace("http://", "http://me:SECRET@"), "--list"],
                      ["cat", self.url("set/dataset.json?token=SECRET"), "--list"],
                      ["info", self.url("foreign?token=SECRET")]):
            done = support.sheaf(*words, env=self.env, status=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"http://", done.stderr)
            self.assertNotIn(b"SECRET", done.stdout + done.stderr)

    def test_converted(self):
        last = len(self.names) - 1
        support.sheaf("convert", self.url("foreign/shard-{000000..%06d}.tar" % last),
                      self.path("out"), "--format", "tfrecord", env=self.env)
        support.sheaf("convert", os.path.join(self.root, "foreign"), self.path("local"),
                      "--format", "tfrecord")
        # As a stream, the source does not state its number of samples, so it counts as another source.
        for name in ("out", "local"):
            os.unlink(self.path(name, "dataset.keys"))      # it contains the fingerprint
            path = self.path(name, "dataset.json")
            support.write(path, re.sub(rb'"(plan|fingerprint)": "[0-9a-f]{32}"', b"", support.read(path)))
        self.assert_same_tree(self.path("out"), self.path("local"))

    def test_directories_cannot_be_listed(self):
        done = support.sheaf("cat", self.url("foreign/"), "--list", env=self.env, status=1)
        self.assert_error(done, "listing over HTTP is not possible")
        done = support.sheaf("cat", self.url("foreign"), "--list", env=self.env, status=1)
        self.assert_error(done, "cannot be listed")

    def test_what_is_not_there(self):
        done = support.sheaf("cat", self.url("none.tar"), "--list", env=self.env, status=1)
        self.assert_error(done, "none.tar", "404")
        done = support.sheaf("cat", self.url("none-{0..3}.tar"), "--list", env=self.env, status=1)
        self.assert_error(done, "none-0.tar", "404")
        done = support.sheaf("pack", self.url("set/"), self.path("out"), "--format", "webdataset",
                             env=self.env, status=1)
        self.assert_error(done, "HTTP")
        done = support.sheaf("pack", os.path.join(self.shared, "tree"), self.url("new"),
                             "--format", "webdataset", env=self.env, status=1)
        self.assert_error(done, "writing over HTTP is not possible")

    def test_cache(self):
        source, cache = self.url("set"), self.path("cache")
        local = support.listing(os.path.join(self.root, "set"), "--seed", "1")

        def read_it(*options):
            before = self.requested("/set/shard-")
            self.assertEqual(support.listing(source, "--seed", "1", "--cache", cache, *options,
                                             env=self.env), local)
            return self.requested("/set/shard-") - before

        first, second = read_it(), read_it()
        self.assertGreater(first, second)
        done = support.sheaf("cat", source, "--null", "--cache", cache, env=self.env)
        stats = dict(line.split() for line in done.stdout.decode().splitlines())
        self.assertGreaterEqual(int(stats["cached_bytes"]), int(stats["read_bytes"]))
        self.assertGreater(int(stats["read_bytes"]), int(stats["payload_bytes"]))
        for folder, _, names in os.walk(cache):
            for name in names:
                if name != "total":
                    path = os.path.join(folder, name)
                    support.write(path, support.flip(read(path), os.path.getsize(path) // 2))
        self.assertEqual(read_it(), first)
        self.assertEqual(read_it(), second)
        processes = [subprocess.Popen([support.SHEAF, "cat", source, "--list", "--seed", "1",
                                       "--cache", self.path("shared"), "--cache-size", size],
                                      env=self.env, stdout=subprocess.PIPE)
                     for size in ["2MB"] * 4]
        for process in processes:
            self.assertEqual(process.communicate()[0].decode().splitlines(), local)
        held = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(self.path("shared")) for name in names)
        self.assertLessEqual(held, 2000000 + 8)
        last = len(self.names) - 1
        pattern = self.url("foreign.gz/shard-{000000..%06d}.tar.gz" % last)
        one = support.listing(pattern, "--cache", cache, env=self.env)
        before = self.sent("/foreign.gz/")
        self.assertEqual(support.listing(pattern, "--cache", cache, env=self.env), one)
        self.assertLess(self.sent("/foreign.gz/") - before, 5000 * (last + 1))

    def test_cache_of_one_pass(self):
        cache = ("--cache", self.path("cache"))
        support.sheaf("convert", self.url("set"), self.path("converted"), "--format", "recordio",
                      *cache, env=self.env)
        before = self.requested("/set/shard-")
        support.sheaf("unpack", self.url("set"), self.path("out"), *cache, env=self.env)
        self.assert_same_tree(self.path("out"), os.path.join(self.shared, "tree"))
        self.assertLess(self.sent_since(before, "/set/shard-"), 5000)

    def test_cache_that_cannot_be(self):
        done = support.sheaf("cat", self.url("set"), "--list", "--cache", "/proc/none/x",
                             env=self.env, status=1)
        self.assert_error(done, "/proc/none/x")
        done = support.sheaf("cat", self.url("set"), "--list", "--cache", self.path("c"),
                             "--memory", "10MiB", env=self.env, status=1)
        self.assert_error(done, "cache", "memory")

    def sent(self, word):
        """Returns the bytes of bodies, which the log has after the status."""
        return sum(int(line.split('" ')[1].split()[1]) for line in self.server.requests()
                   if word in line)

    def sent_since(self, count, word):
        """Returns the bytes of bodies of the requests after the first `count`."""
        return sum(int(line.split('" ')[1].split()[1])
                   for line in [r for r in self.server.requests() if word in r][count:])

    def requested(self, word):
        return sum(word in line for line in self.server.requests())

    def test_few_requests(self):
        """A shard that is read as a stream is read with large requests."""
        chance = support.random.Random(1)
        make_tree(self.path("tree"), {"%04d.bin" % i: chance.randbytes(50000) for i in range(400)})
        pack(self.path("tree"), os.path.join(self.root, "large"), "webdataset", "none",
             "--shard-count", "1")
        before = len(self.server.requests())
        support.sheaf("cat", self.url("large/shard-000000.tar"), "--null", env=self.env)
        self.assertLess(len(self.server.requests()) - before, 20)


if __name__ == "__main__":
    unittest.main()
