# SPDX-License-Identifier: MIT
"""Data sets on a server: the reader's cache, and fetch."""

import http.server
import os
import re
import threading
import unittest

import sheaf
from support import Case, pack, samples_of


class Files(http.server.SimpleHTTPRequestHandler):
    """Files, and ranges of them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        if self.server.stalls and "/shard-" in path:
            self.server.stalled.set()
            self.server.goes_on.wait()
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted:
            first, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
            self.send_response(206)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, len(data)))
            data = data[first:last + 1]
        else:
            self.send_response(200)
        self.server.sent_bytes += len(data)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"%s"' % os.path.basename(path))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class AfarTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(200), format="tfrecord")

    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *args: Files(*args, directory=self.shared))
        self.server.sent_bytes = 0
        self.server.stalls = False
        self.server.stalled, self.server.goes_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.goes_on.set)
        self.url = "http://127.0.0.1:%d/set/" % self.server.server_address[1]

    def test_close_while_the_server_stalls(self):
        """Another thread's call ends, and so does the opening of shards."""
        for options in ({}, {"cache_directory": self.path("cache")}):
            reader = sheaf.Reader(self.url, **options)
            self.server.stalls = True
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
            self.server.stalled.wait()
            reader.close()
            thread.join()
            self.assertFalse(self.server.goes_on.is_set())
            self.assertEqual([type(error) for error in raised], [sheaf.StateError])
            self.assertIn("closed", str(raised[0]))
            reader.close()
            with self.assertRaises(sheaf.StateError):
                next(reader)
            self.server.stalls = False
            self.server.stalled.clear()

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
