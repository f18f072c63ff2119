# SPDX-License-Identifier: MIT
"""Data sets on a server: the reader's cache, and fetch."""

import os
import shutil
import threading
import time
import unittest

import sheaf
from support import Case, FileServer, pack, samples_of


class AfarTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(200), format="tfrecord")

    def setUp(self):
        super().setUp()
        self.server = FileServer(self, self.shared)
        self.url = self.server.url + "set/"

    def test_the_next_stretch_of_a_view_is_read_ahead(self):
        """Before a source begins again, what its first samples need then is asked for: how much of
        it, beside what is still read of the stretch before, the window of reads decides."""
        own = pack(self.path("own"), samples_of(200, size=20000), format="tfrecord")
        server = FileServer(self, self.folder)
        whole = sum(os.path.getsize(os.path.join(own, name)) for name in os.listdir(own)
                    if name.startswith("shard-"))
        for lanes in (1, 2):
            order = {"seed": 3, "lanes": lanes, "shuffle_buffer": 20}
            local = sheaf.View(own, weights=[1], samples=600)
            before = server.sent_bytes
            reader = sheaf.Reader(sheaf.View(server.url + "own/", weights=[1], samples=600),
                                  **order)
            keys = [next(reader).key for _ in range(120)]   # less than a batch from the end
            limit = time.monotonic() + 60
            while server.sent_bytes - before < 1.1 * whole and time.monotonic() < limit:
                time.sleep(0.01)
            self.assertGreaterEqual(server.sent_bytes - before, 1.1 * whole)
            self.assertEqual(keys + [s.key for s in reader],
                             [s.key for s in sheaf.Reader(local, **order)])

    def test_close_while_the_server_stalls(self):
        """Another thread's call ends, and so does the opening of shards."""
        for options in ({}, {"cache_directory": self.path("cache")}):
            reader = sheaf.Reader(self.url, **options)
            self.server.silent = "shard-"
            reader.epoch(1)
            raised = []

            def read(reader=reader, raised=raised):
                try:
                    for _ in reader:
                        pass
                except Exception as error:
                    raised.append(error)

            thread = threading.Thread(target=read)
            thread.start()
            self.server.asked.wait()
            reader.close()
            thread.join()
            self.assertFalse(self.server.goes_on.is_set())
            self.assertEqual([type(error) for error in raised], [sheaf.StateError])
            self.assertIn("closed", str(raised[0]))
            reader.close()
            with self.assertRaises(sheaf.StateError):
                next(reader)
            self.server.silent = ()
            self.server.asked.clear()

    def test_what_was_read_is_read_from_the_cache(self):
        whole = [s.key for s in sheaf.Reader(self.set, seed=4)]
        dataset = sheaf.Dataset(self.url)
        sent, cached = [], []
        for _ in range(2):
            before = self.server.sent_bytes
            with sheaf.Reader(dataset, seed=4, cache_directory=self.path("cache"),
                              cache_bytes=1 << 30) as reader:
                self.assertEqual([s.key for s in reader], whole)
                cached.append(reader.stats().cached_bytes)
            sent.append(self.server.sent_bytes - before)
        self.assertLess(sent[1], sent[0] / 2)
        self.assertGreater(cached[1], max(cached[0], dataset.payload_bytes / 2))
        self.assertTrue(os.listdir(self.path("cache")))

    def test_a_whole_cache_needs_no_server(self):
        """Neither do later epochs and other readers of the data set ask for anything."""
        whole = {s.key for s in sheaf.Reader(self.set)}
        dataset, cache = sheaf.Dataset(self.url), self.path("whole")
        with sheaf.Reader(dataset, seed=4, cache_directory=cache) as reader:
            self.assertEqual({s.key for s in reader}, whole)
            asked, requests = self.server.sent_bytes, reader.stats().requests
            self.server.silent = ("shard-", "dataset")      # it answers nothing any more
            self.assertEqual({s.key for s in reader}, whole)
            with sheaf.Reader(dataset, seed=5, cache_directory=cache) as other:
                self.assertEqual({s.key for s in other}, whole)
            self.assertEqual((self.server.sent_bytes, reader.stats().requests), (asked, requests))
        self.server.silent = ()

    def test_offline(self):
        """With a full cache, a data set and a view are opened and read although the server is gone."""
        whole = [s.key for s in sheaf.Reader(self.set, seed=4)]
        own = pack(self.path("other"), samples_of(60), format="tfrecord")
        server, cache = FileServer(self, self.folder), self.path("kept")
        other = server.url + "other"
        for url, epoch in ((self.url, [4]), (other, [])):
            with self.assertRaisesRegex(sheaf.UnsupportedError, "has no manifest of it"):
                sheaf.Dataset(url, cache=self.path("empty"), offline=True)
            with sheaf.Reader(url, seed=4, cache=cache) as reader:
                self.assertEqual([s.key for s in reader] == whole, bool(epoch))
        sheaf.View(self.url, where={"label": 3}).save(self.path("offline.view"))
        counts = self.server.sent_bytes, server.sent_bytes
        self.server.silent = server.silent = ("shard-", "dataset")
        for skip in ("fail", "skip"):
            with sheaf.Reader(self.url, seed=4, cache=cache, offline=True, on_corrupt=skip) as reader:
                self.assertEqual([s.key for s in reader], whole)
        both = sheaf.Dataset([self.url, other + "/dataset.json"], cache=cache, offline=True)
        self.assertEqual(len(both), 260)
        self.assertEqual(len(list(sheaf.Reader(both))), 260)
        self.assertEqual([sample.key for sample in both[198:202]], [sheaf.Dataset([self.set, own])[i].key
                                                                    for i in range(198, 202)])
        self.assertEqual(both.targets, sheaf.Dataset([self.set, own]).targets)
        self.assertEqual([sample.label for sample in sheaf.Reader(self.path("offline.view"), cache=cache,
                                                                  offline=True)][:2], [3, 3])
        for where in ({"label": 3}, lambda sample: sample.label == 3):      # a view that is not saved
            view = sheaf.View([self.url, other + "/"], where=where)
            own_view = sheaf.View([self.set, own], where=where)
            self.assertEqual([s.key for s in sheaf.Reader(view, cache=cache, offline=True, no_shuffle=True)],
                             [s.key for s in sheaf.Reader(own_view, no_shuffle=True)])
        with self.assertRaisesRegex(sheaf.UnsupportedError, "opened offline, and the table of its keys"):
            both.get(["c0/00000"])
        self.assertEqual((self.server.sent_bytes, server.sent_bytes), counts)
        for block in os.listdir(cache):             # what is missing is an error at once
            if not block.endswith(".kept") and block != "total":
                shutil.rmtree(os.path.join(cache, block))
        with self.assertRaisesRegex(sheaf.UnsupportedError, "opened offline"):
            list(sheaf.Reader(both))
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.Dataset(self.url, offline=True)
        for name in os.listdir(cache):              # a damaged manifest is not used
            if name.endswith(".kept"):
                with open(os.path.join(cache, name), "r+b") as file:
                    file.write(b"?")
        with self.assertRaisesRegex(sheaf.UnsupportedError, "has no manifest of it"):
            sheaf.Dataset(self.url, cache=cache, offline=True)
        self.assertTrue(own)
        self.server.silent = server.silent = ()

    def test_a_cache_that_cannot_be(self):
        with open(self.path("file"), "w"):
            pass
        with self.assertRaises(OSError):
            sheaf.Reader(self.url, cache_directory=self.path("file", "cache"))

    def test_fetch(self):
        result = sheaf.fetch(self.url + "shard-000001.tfrecord", self.path("there"))
        self.assertEqual((result.objects, result.fetched), (1, 1))
        with open(self.path("there", "shard-000001.tfrecord"), "rb") as one, \
                open(os.path.join(self.set, "shard-000001.tfrecord"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        with self.assertRaises(sheaf.Error):
            sheaf.fetch(self.url + "nothing", self.path("there"))


if __name__ == "__main__":
    unittest.main()
