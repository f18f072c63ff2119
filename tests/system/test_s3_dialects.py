# SPDX-License-Identifier: MIT
"""Tests the dialects of S3 that other servers speak, on the tests' own server: behaviour that was observed with rclone
serve s3, gofakes3, Garage, Adobe S3Mock, s3rver and proxies. A data set is packed, replaced, read, fetched and extended
there, and no other file may be left."""

import itertools
import os
import re
import shutil
import socket
import subprocess
import threading
import unittest

import fake_s3
import servers
import support
from support import make_tree, pack

FORMAT = ("--format", "webdataset")
# What is said of a server when a destination there is opened.
LACKS = {"no_etag": "does not tell the ETag of an object",
         "no_etag_at_all": "does not tell the ETag of an object",
         "weak_etags": "tells only a weak ETag of an object (W/...)",
         "weak_etags_of_reads": "tells only a weak ETag of an object (W/...)",
         "no_conditions": "ignores If-None-Match", "no_if_match": "ignores If-Match"}


class Case(support.Case):
    LARGE = 150000      # the size of the large files

    @classmethod
    def share(cls):
        chance = support.random.Random(1)
        files = support.image_tree(2, 4, size=3000)
        files.update({"large/%d.bin" % i: chance.randbytes(cls.LARGE) for i in range(4)})
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), files)
        cls.local = os.path.join(cls.shared, "local")
        pack(cls.tree, cls.local)
        cls.expected = support.tree_of(cls.local)

    def setUp(self):
        super().setUp()
        self.server = fake_s3.Server(support.seed())
        self.addCleanup(self.server.stop)
        self.bucket = self.server.buckets["bucket"]
        self.env = dict(servers.clean_environment(), AWS_ACCESS_KEY_ID="key",
                        AWS_SECRET_ACCESS_KEY="secret", AWS_ENDPOINT_URL=self.server.url,
                        AWS_REGION="us-east-1")

    def run_sheaf(self, *words, status=0, env=None):
        done = subprocess.run([support.SHEAF, *words], env=dict(self.env, **env or {}),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def pack(self, *more, **how):
        return self.run_sheaf("pack", self.tree, "s3://bucket/set", *FORMAT, *more, **how)

    def found(self):
        return {key[len("set/"):]: o.data for key, o in self.bucket.objects.items()
                if key.startswith("set/")}

    def once(self, name, applies):
        """Makes the server produce the fault `name` for the first request for which applies(method, key, query) is
        true."""
        done = []

        def choose(method, key, query):
            if done or not applies(method, key, query):
                return None
            done.append(key)
            return name
        self.server.fault = choose
        return done


class Large(Case):
    """A test whose shard is sent in parts."""

    LARGE = 2150000


class Dialects(Large):
    def check(self, *names):
        self.server.dialects = names
        lack = [text for name, text in LACKS.items() if name in names]
        said = self.pack()
        self.assertEqual(said.count("only by looking before each write"), len(lack[:1]), said)
        self.assertIn("this server %s, so" % lack[0] if lack else "", said)
        self.assertEqual(self.found(), self.expected)
        self.pack("--overwrite")
        self.pack("--resume")
        self.assertEqual(self.found(), self.expected)
        self.run_sheaf("verify", "s3://bucket/set")
        self.run_sheaf("fetch", "s3://bucket/set/", self.path("here"))
        self.assertEqual(support.tree_of(self.path("here")), self.expected)
        for words in (("append", self.more, "s3://bucket/set"),
                      ("column", "add", "s3://bucket/set", "--name", "cap", "--from", self.values)):
            said = self.run_sheaf(*words)
            self.assertEqual(said.count("only by looking before each write"), len(lack[:1]), said)
        self.run_sheaf("verify", "s3://bucket/set", "--columns", "cap")
        self.assertFalse([key for key in self.bucket.objects if ".sheaf" in key])
        self.assertEqual(self.bucket.uploads, {})

    def setUp(self):
        super().setUp()
        self.more = make_tree(self.path("more"), {"large/new.bin": b"new"})
        keys = [line.split("\t")[0] for line in support.listing(self.local)] + ["large/new"]
        self.values = self.path("values.jsonl")
        support.write(self.values, "".join('{"key": "%s", "value": "of %s"}\n' % (key, key)
                                           for key in keys).encode())

    def test_each(self):
        for name in self.server.all_dialects:
            with self.subTest(name):
                self.bucket.objects.clear()
                self.server.clear_uploads()
                shutil.rmtree(self.path("here"), ignore_errors=True)
                self.check(name)

    def test_all_at_once(self):
        self.check(*(set(self.server.all_dialects) - {
            "head_not_implemented", "ranges_of_one_ignored", "no_upload_listing", "no_uploads_400",
            "no_uploads_404", "no_uploads_empty", "no_uploads_204", "whole_objects"}))

    def test_uploads_without_a_list_are_not_asked_for_again(self):
        counts = {}
        for name in ("no_uploads_404", "no_uploads_empty", "no_uploads_204"):
            self.server.dialects = name,
            self.bucket.objects.clear()
            self.server.rules.forget()
            self.pack()
            counts[name] = [what for what, *_ in self.server.rules.seen].count("ListMultipartUploads")
        self.assertEqual(len(set(counts.values())), 1, counts)

    def test_size_that_ranges_do_not_tell(self):
        """If a range comes without the size of the object, the size is asked for by HEAD, or by a GET of the last
        byte. Objects of one byte and empty objects have their sizes, too."""
        self.pack()
        objects = self.bucket.objects
        objects["in/1.txt"], objects["in/2.txt"] = fake_s3.Object(b""), fake_s3.Object(b"x")
        objects["list.csv"] = fake_s3.Object(b"path,label\ns3://bucket/in/1.txt,1\ns3://bucket/in/2.txt,2\n")
        expected = support.listing(self.local, "--seed", "1")
        for more in ((), ("no_head",), ("head_without_length",), ("no_etag",), ("weak_etags", "no_head")):
            self.server.dialects = ("unknown_total", *more)
            for url in "s3://bucket/set", self.server.url + "/bucket/set":
                with self.subTest((more, url)):
                    self.assertEqual(support.listing(url, "--seed", "1", env=self.env), expected)
                    self.run_sheaf("verify", url)
            self.run_sheaf("pack", "s3://bucket/list.csv", self.path("out"), *FORMAT, "--overwrite")
            self.assertEqual(len(support.listing(self.path("out"))), 2)
            self.assertEqual(support.listing(self.server.url + "/bucket/set/shard-000000.tar", "--no-shuffle",
                                             env=self.env),
                             support.listing(os.path.join(self.local, "shard-000000.tar"), "--no-shuffle"))

    def test_size_that_nothing_tells(self):
        self.pack()
        self.server.fault = lambda *_: "416" if self.server.current.get("range") == "bytes=-1" else None
        self.server.dialects = "unknown_total", "no_head"
        for url in "s3://bucket/set", self.server.url + "/bucket/set":
            before = self.server.requests
            said = self.run_sheaf("cat", url, "--null", status=1)
            self.assertIn("dataset.json", said)
            self.assertLess(self.server.requests - before, 10, said)

    def test_an_empty_object_is_a_source(self):
        objects = self.bucket.objects
        objects["in/a/1.txt"], objects["in/a/2.txt"] = fake_s3.Object(b""), fake_s3.Object(b"x")
        objects["list.csv"] = fake_s3.Object(b"path,label\ns3://bucket/in/a/1.txt,1\n"
                                             b"s3://bucket/in/a/2.txt,2\n")
        for names in ((), ("empty_206",)):
            self.server.dialects = names
            for source in ("s3://bucket/in/", "s3://bucket/list.csv"):
                self.run_sheaf("pack", source, self.path("out"), *FORMAT, "--overwrite")
                listing = support.sheaf("cat", self.path("out"), "--list").stdout.decode()
                self.assertEqual(len(listing.splitlines()), 2, listing)

    def test_the_form_of_etags_is_learned_once(self):
        """The first refused write shows that the server wants ETags without quotes."""
        self.server.dialects = "bare_etags",
        self.pack()
        sent = [headers["if-match"] for what, key, headers in self.server.rules.seen
                if "if-match" in headers and what != "GetObject" and "0" * 32 not in headers["if-match"]]
        self.assertEqual([etag.startswith('"') for etag in sent], [True] + [False] * (len(sent) - 1))
        self.assertGreater(len(sent), 2)
        self.assertEqual(self.found(), self.expected)

    def test_no_request_waits_for_100_continue(self):
        """Some servers and proxies never send this response."""
        self.server.continues = False
        self.pack()
        self.assertEqual([key for _, key, headers in self.server.rules.seen
                          if "expect" in headers], [])


class Damaged(Large):
    def test_body_that_was_damaged_on_its_way(self):
        for of_part in (False, True):
            self.bucket.objects.clear()
            done = self.once("digest", lambda method, key, query: method == "PUT" and
                             ("partNumber" in query) == of_part)
            self.pack()
            self.assertEqual(len(done), 1)
            self.assertEqual(self.found(), self.expected)


class Once(Case):
    """Tests that temporary failures are retried, on another connection if the present one is unusable."""

    def test_a_byte_too_many(self):
        self.pack()
        for kind in ("shard-", "dataset.json", "dataset.index"):
            for _ in range(3):
                done = self.once("stray", lambda method, key, query: method == "GET" and kind in key)
                self.run_sheaf("cat", "s3://bucket/set", "--seed", "1", "--null")
                self.assertEqual(len(done), 1)


class Statuses(Large):
    def test_statuses(self):
        """Statuses of proxies and content delivery networks are temporary. A server without space stays so."""
        for status in (417, 425, *range(520, 528)):
            failed = set()

            def choose(method, key, query, status=status, failed=failed):
                kind = method, key.endswith(".tar"), key == ""
                if kind in failed:
                    return None
                failed.add(kind)
                return str(status)
            self.server.fault = choose
            self.bucket.objects.clear()
            self.pack()
            self.run_sheaf("fetch", "s3://bucket/set/", self.path("here"))
            self.assertGreaterEqual(failed, {("POST", True, False), ("PUT", True, False), ("GET", True, False),
                                             ("GET", False, True)})
            self.assertEqual(support.tree_of(self.path("here")), self.expected)
            shutil.rmtree(self.path("here"))
        for status in (507, 519, 528):
            self.bucket.objects.clear()
            self.once(str(status), lambda method, key, query: method == "PUT" and key.endswith(".tar"))
            self.assertIn("HTTP status %d" % status, self.pack(status=1))

    def test_a_byte_too_many_in_a_listing(self):
        self.bucket.objects["in/a/1.txt"] = fake_s3.Object(b"1")
        done = self.once("stray", lambda method, key, query: key == "")
        self.run_sheaf("pack", "s3://bucket/in", self.path("out"), *FORMAT)
        self.assertEqual(len(done), 1)


class Ranges(Large):
    """Tests responses that contradict the requested range. They must be requested again on a new connection."""

    ONCE = ("range", "total", "no range", "whole", "long")

    def test_once(self):
        self.pack()
        expected = support.listing(self.local, "--seed", "1")
        for fault in self.ONCE:
            for kind in ("shard-", "dataset.json", "dataset.index"):
                for cache in (), ("--cache", self.path("cache")):
                    with self.subTest((fault, kind, cache)):
                        done = self.once(fault, lambda method, key, query: method == "GET" and
                                         kind in key and self.server.current.get(
                                             "range", "bytes=0-0") != "bytes=0-0")
                        self.assertEqual(support.listing("s3://bucket/set", "--seed", "1", *cache,
                                                         env=self.env), expected)
                        self.assertLessEqual(len(done), 1)
                        shutil.rmtree(self.path("cache"), ignore_errors=True)

    def test_response_that_ends_early_without_the_size(self):
        """The size of the object is unknown after the first response, and this response is incomplete."""
        self.pack()
        expected = support.listing(self.local, "--seed", "1")
        self.server.dialects = "unknown_total",
        for kind in ("dataset.json", "dataset.index", "shard-"):
            for fault in ("cut", "reset"):
                with self.subTest((kind, fault)):
                    done = self.once(fault, lambda method, key, query: method == "GET" and kind in key)
                    self.assertEqual(support.listing("s3://bucket/set", "--seed", "1", env=self.env), expected)
                    self.assertEqual(len(done), 1)

    def test_once_in_other_commands(self):
        self.pack()
        for fault in self.ONCE:
            for words in (("verify", "s3://bucket/set"), ("fetch", "s3://bucket/set/", self.path("here")),
                          ("unpack", "s3://bucket/set", self.path("files"))):
                with self.subTest((fault, words)):
                    done = self.once(fault, lambda method, key, query: method == "GET" and "shard-" in key
                                     and self.server.current.get("range", "bytes=0-0") != "bytes=0-0")
                    self.run_sheaf(*words)
                    self.assertEqual(len(done), 1)
                    shutil.rmtree(self.path("here"), ignore_errors=True)
                    shutil.rmtree(self.path("files"), ignore_errors=True)

    def test_always(self):
        """The error states the request and the response, after a few attempts."""
        self.pack()
        size = len(self.expected["shard-000000.tar"])
        for fault, text in (
                ("range", r"requested bytes 0 to (\d+), the server answered \"bytes 1-"),
                ("no range", r"requested bytes 0 to \d+, the server answered \"no Content-Range\""),
                ("total", "has %d bytes, but %d are expected" % (size + 1, size)),
                ("long", "the response is longer than the ")):
            self.server.fault = lambda method, key, query, fault=fault: (
                fault if method == "GET" and "shard-" in key else None)
            before = self.server.requests
            said = self.run_sheaf("cat", "s3://bucket/set", "--no-shuffle", "--null", status=1)
            self.assertRegex(said, text)
            self.assertLess(self.server.requests - before, 20)

    def test_large_object_without_ranges(self):
        """A server without ranges would send all of a large object for each read."""
        chance = support.random.Random(2)
        tree = make_tree(self.path("tree"), {"%d.bin" % i: chance.randbytes(3 << 20) for i in range(7)})
        self.run_sheaf("pack", tree, "s3://bucket/large", *FORMAT)
        self.server.dialects = "whole_objects",
        said = self.run_sheaf("cat", "s3://bucket/large", "--no-shuffle", "--null", status=1)
        self.assertRegex(said, r"requested bytes \d+ to \d+, the server answered with the whole object \(HTTP status "
                               r"200, Content-Length \d+\): it does not serve ranges of bytes")


class Sets(Case):
    """Data sets of several kinds, for tests of damage."""

    KINDS = (("webdataset", "none"), ("webdataset", "gzip"), ("tfrecord", "none"),
             ("recordio", "none"), ("recordio", "zstd"))
    LARGE = 1500000     # so that a shard has several blocks of the cache and of a codec

    @classmethod
    def share(cls):
        super().share()
        cls.sets = [os.path.join(cls.shared, "%s-%s" % kind) for kind in cls.KINDS]
        for kind, folder in zip(cls.KINDS, cls.sets):
            pack(cls.tree, folder, *kind)

    def put_sets(self):
        for folder in self.sets:
            name = os.path.basename(folder)
            for file, data in support.tree_of(folder).items():
                self.bucket.objects["%s/%s" % (name, file)] = fake_s3.Object(data)
            yield folder, "s3://bucket/" + name

    def damage_once(self):
        return self.once("bytes", lambda method, key, query: method == "GET" and "shard-" in key)


class Damage(Sets):
    """Tests bytes that change in transit. They must not count as damage in the store."""

    def test_record_is_read_again(self):
        for folder, url in self.put_sets():
            for order in ("--no-shuffle",), ("--seed", "1"):
                expected = support.listing(folder, *order)
                for skip in (), ("--on-corrupt", "skip"):
                    for cache in (), ("--cache", self.path("cache")):
                        with self.subTest((url, order, skip, cache)):
                            done = self.damage_once()
                            found = support.listing(url, *order, *skip, *cache, env=self.env)
                            self.assertEqual(found, expected)
                            self.assertEqual(len(done), 1)
                            shutil.rmtree(self.path("cache"), ignore_errors=True)

    def test_cache_keeps_no_damage(self):
        for folder, url in self.put_sets():
            self.damage_once()
            self.run_sheaf("cat", url, "--no-shuffle", "--null", "--cache", self.path("cache"))
            before = self.server.requests
            self.run_sheaf("cat", url, "--seed", "2", "--null", "--cache", self.path("cache"))
            asked = [key for what, key, headers in self.server.rules.seen[before:]
                     if "shard-" in key and headers.get("range") != "bytes=0-0"
                     and what == "GetObject"]
            self.assertEqual(asked, [])

    def test_foreign_shards_are_read_again(self):
        for folder, url in self.put_sets():
            key = url.removeprefix("s3://bucket/")
            shards = {name: data for name, data in support.tree_of(folder).items()
                      if name.startswith("shard-")}
            for name, data in shards.items():
                self.bucket.objects["foreign-" + key + "/" + name] = fake_s3.Object(data)
            url = "s3://bucket/foreign-%s/" % key
            if key == "recordio-none":      # has no checksums of its own
                continue
            index = [("index", url)] if key.endswith("-none") else []
            for words in (("cat", url, "--null"), ("verify", url), *index):
                with self.subTest(words):
                    done = self.once("bytes", lambda method, key, query: method == "GET" and
                                     "foreign-" in key)
                    self.run_sheaf(*words)
                    self.assertEqual(len(done), 1)

    def test_damage_in_the_store_is_told(self):
        for folder, url in self.put_sets():
            key = url.removeprefix("s3://bucket/") + "/" + next(
                name for name in support.tree_of(folder) if "shard-" in name
                and not name.endswith((".lst", ".idx")))
            data = self.bucket.objects[key].data
            middle = len(data) // 2
            self.bucket.objects[key] = fake_s3.Object(
                data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:])
            self.assertIn("record ", self.run_sheaf("cat", url, "--no-shuffle", "--null",
                                                    status=1))
            self.run_sheaf("cat", url, "--no-shuffle", "--null", "--on-corrupt", "skip",
                           "--cache", self.path("cache"))


class DamageOfParts(Sets):
    """Tests commands that read a large shard in parts."""

    LARGE = Large.LARGE

    def test_whole_shards_are_read_again(self):
        """Damage in transit makes commands that read shards from beginning to end read them again, with and without a
        manifest."""
        for folder, url in self.put_sets():
            for words in (("verify", url), ("fetch", url + "/", self.path("here"))):
                with self.subTest(words):
                    done = self.damage_once()
                    self.run_sheaf(*words)
                    self.assertEqual(len(done), 1)
            self.assertEqual(support.tree_of(self.path("here")), support.tree_of(folder))
            shutil.rmtree(self.path("here"))


class Late(Case):
    """Tests reads that get no answer, or only its beginning, while other reads get theirs. They must be requested a
    second time. The server holds the first requests until the command has ended."""

    def hold(self, which, begun):
        """Holds the requests for parts of shards whose numbers are in `which`. If `begun` is set, a part of the body is
        sent before."""
        self.held, count = [], itertools.count(1)

        def choose(method, key, query):
            if method != "GET" or self.server.current.get("range", "bytes=0-0") == "bytes=0-0" or \
                    key not in self.bucket.objects:
                return None
            number = next(count)
            if number not in which:
                return None
            self.held.append(number)
            return "stall" if begun else "silence"
        self.server.fault = choose

    def setUp(self):
        super().setUp()
        self.env["SHEAF_STALL_SECONDS"] = "1000"
        self.whole = self.path("set")
        pack(make_tree(self.path("in"), support.image_tree(2, 60, size=9000)), self.whole,
             "webdataset", "none", "--shard-count", "60")
        for name, data in support.tree_of(self.whole).items():
            self.bucket.objects["set/" + name] = fake_s3.Object(data)

    def test_asked_a_second_time(self):
        """This includes the very first read, which begins before anything is known about the server."""
        for which, begun in (({20, 25}, False), ({20, 25}, True), ({1, 30}, True)):
            self.hold(which, begun)
            done = subprocess.run([support.SHEAF, "cat", "s3://bucket/set", "--seed", "1",
                                   "--list", "--verbose"], env=self.env, capture_output=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.held, sorted(which))
            self.assertEqual(done.stdout.decode().splitlines(),
                             support.listing(self.whole, "--seed", "1"))
            repeated = re.search(rb", (\d+) of them repeated", done.stderr)
            self.assertGreaterEqual(int(repeated[1]), len(which))

    def test_one_in_ten(self):
        """One read in ten is held, for any number of reads and for each command."""
        for begun, words in ((False, ("cat", "s3://bucket/set", "--no-shuffle", "--null")),
                             (True, ("cat", "s3://bucket/set", "--seed", "1", "--null")),
                             (True, ("verify", "s3://bucket/set")),
                             (False, ("fetch", "s3://bucket/set/", self.path("here")))):
            self.hold(range(3, 1000, 10), begun)
            self.run_sheaf(*words)
            self.assertGreaterEqual(len(self.held), 6)
        self.assertEqual(support.tree_of(self.path("here")), support.tree_of(self.whole))


class Unlisted(Case):
    """Tests credentials that may get objects but not list them. A request for a missing object is then refused as
    well."""

    def test_fetch_goes_by_the_manifest(self):
        more = make_tree(self.path("more"), {"large/new.bin": b"new"})
        for container, options in (("webdataset", ("--index", "wids,energon")),
                                   ("recordio", ()), ("tfrecord", ())):
            folder, key = self.path(container), container + "/"
            pack(self.tree, folder, container, "none", *options)
            support.sheaf("append", more, folder)
            expected = support.tree_of(folder)
            for name, data in expected.items():
                self.bucket.objects[key + name] = fake_s3.Object(data)
            self.server.fault = lambda method, key, query: \
                None if key in self.bucket.objects else "denied"
            self.run_sheaf("fetch", "s3://bucket/" + key, self.path("here-" + container))
            self.assertEqual(support.tree_of(self.path("here-" + container)), expected)

    def test_no_manifest(self):
        self.server.fault = lambda *_: "denied"
        text = self.run_sheaf("fetch", "s3://bucket/set/", self.path("here"), status=1)
        self.assertIn("listing s3://bucket/set/: AccessDenied", text)


class Full(Case):
    """Tests a server that accepts no further shard. The failing write must be repeated as often as one request, and no
    other shard may be tried after it."""

    def test_one_shard_is_tried(self):
        tried = []

        def choose(method, key, query):
            if method == "PUT" and key.endswith(".tar"):
                tried.append(key)
                return "500"
            return None
        for jobs in ("1", "8"):
            tried.clear()
            self.server.fault = choose
            text = self.pack("--shard-count", "6", "--jobs", jobs, status=1,
                             env={"AWS_MAX_ATTEMPTS": "3"})
            self.assertIn("gave up after 3 attempts", text)
            self.assertEqual(tried, ["set/shard-000000.tar"] * 3)
            self.server.fault = None
            self.pack("--shard-count", "6", "--resume")
            self.run_sheaf("verify", "s3://bucket/set")
            self.bucket.objects.clear()


class AtOnce(Case):
    """Tests that requests which do not depend on each other are in progress at the same time, because each costs a
    round trip."""

    def watch(self, name):
        """Delays the requests for which name(method, target) is true. Then self.most is the largest number of them in
        progress at the same time."""
        self.server.set("slow", 0)
        self.server.fault = lambda method, key, query: "slow" if name(method, self.server.target) else None

    @property
    def most(self):
        return self.server.most_slow

    def test_looks_for_stray_files(self):
        self.watch(lambda method, target: method == "GET" and target.endswith(
            ("skipped.tsv", "converted.tsv", "dataset.index", "dataset.keys")))
        self.pack()
        self.assertGreaterEqual(self.most, 3)

    def test_notes_are_removed(self):
        self.watch(lambda method, target: method == "DELETE" and ".done" in target)
        self.pack("--shard-count", "12")
        self.assertGreaterEqual(self.most, 4)
        self.assertFalse([key for key in self.bucket.objects if ".sheaf" in key])

    def test_shards_are_removed(self):
        self.pack("--shard-count", "12")
        self.watch(lambda method, target: method == "DELETE" and ".tar" in target)
        self.pack("--overwrite", "--shard-count", "3")
        self.assertGreaterEqual(self.most, 4)
        self.run_sheaf("verify", "s3://bucket/set")
        self.assertEqual(len([key for key in self.bucket.objects if key.endswith(".tar")]), 3)

    def test_a_shard_is_looked_for_in_one_round(self):
        self.watch(lambda method, target: method == "GET" and "shard-000000.tfrecord" in target)
        self.run_sheaf("pack", self.tree, "s3://bucket/set", "--format", "tfrecord")
        self.assertGreaterEqual(self.most, 2)


    def test_destination_is_looked_at_in_one_round(self):
        self.watch(lambda method, target: method == "GET" and
                   ("list-type=2" in target or target.endswith("dataset.json")))
        self.pack()
        self.assertGreaterEqual(self.most, 4)

    def test_index_and_keys_are_published_in_one_round(self):
        self.watch(lambda method, target: method == "PUT" and
                   target.endswith(("dataset.index", "dataset.keys")))
        self.pack()
        self.assertEqual(self.most, 2)

    def test_files_of_a_finished_set_are_checked_in_one_round(self):
        self.pack("--shard-count", "6")
        self.watch(lambda method, target: method == "GET" and ".tar" in target)
        self.pack("--shard-count", "6", "--resume")
        self.assertEqual(self.most, 6)

    def test_verify_reads_many_at_once(self):
        """It had a few reads for each processor, which is slow where a round trip takes long."""
        chance = support.random.Random(1)
        tree = make_tree(self.path("tree"), {"%02d.bin" % i: chance.randbytes(4 << 20) for i in range(12)})
        self.run_sheaf("pack", tree, "s3://bucket/set", *FORMAT, "--shard-size", "30MB")
        self.server.hold = 12       # none is answered before
        self.run_sheaf("verify", "s3://bucket/set")
        self.assertGreaterEqual(self.server.asked, 12)

    def test_verify_reads_small_shards_at_once(self):
        tree = make_tree(self.path("small"), {"%03d.bin" % i: b"%d" % i for i in range(40)})
        for container in support.CONTAINERS:
            self.run_sheaf("pack", tree, "s3://bucket/" + container, "--format", container,
                           "--shard-count", "40")
        most = {}
        for container in support.CONTAINERS:
            for words in (), ("--threads", "3"):
                self.watch(lambda method, target: "shard-" in target)
                self.run_sheaf("verify", "s3://bucket/" + container, *words)
                most[container, words] = self.most
            self.assertGreaterEqual(most[container, ()], 24, most)
            self.assertLessEqual(most[container, ("--threads", "3")], 6, most)


class Budget(Case):
    """Tests the number of requests of commands that have almost nothing to send. Each request is a round trip, so a
    change that needs more of them must have a reason."""

    def requests(self, *words):
        before = self.server.requests
        self.run_sheaf(*words)
        return self.server.requests - before

    def test_small_set(self):
        tree = make_tree(self.path("small"), {"a/1.bin": b"one"})
        more = make_tree(self.path("more"), {"a/2.bin": b"two"})
        plan, options = self.path("plan"), ("--format", "tfrecord")
        for most, *words in (
                (42, "pack", tree, "s3://bucket/set", *options),
                (10, "pack", tree, "s3://bucket/set", *options, "--resume"),
                (47, "append", more, "s3://bucket/set"),
                (20, "plan", tree, "s3://bucket/other", "-o", plan, *options),
                (14, "pack", "--plan", plan),
                (47, "commit", plan)):
            with self.subTest(words[0]):
                self.assertLessEqual(self.requests(*words), most)

    def test_finished_shards_are_found_by_listing(self):
        plan = self.path("plan")
        self.run_sheaf("plan", self.tree, "s3://bucket/set", "-o", plan, "--format", "tfrecord",
                       "--shard-count", "12")
        self.run_sheaf("pack", "--plan", plan, "--part", "0/2")
        again = self.requests("pack", "--plan", plan, "--part", "0/2")
        self.assertLessEqual(again, 6 + 8)      # the entry of each shard, and some others


class Proxy(Case):
    """Tests a proxy that refuses to connect. It must be asked only once, because ten attempts with a wrong password may
    lock the account."""

    def start(self, status, headers=b""):
        """Starts the proxy. Returns the list of the requests that it refuses, and its address."""
        asked = []

        def serve(listener):
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as lines:
                    asked.append(lines.readline())
                    while lines.readline().strip():
                        pass
                    connection.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: 0\r\n\r\n" % (status, headers))
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        return asked, "http://user:wrong@127.0.0.1:%d" % listener.getsockname()[1]

    def refuse(self, status):
        asked, address = self.start(status)
        said = self.run_sheaf("cat", "s3://bucket/set", "--null", status=1, env={
            "AWS_ENDPOINT_URL": "https://127.0.0.1:9", "HTTPS_PROXY": address})
        self.assertEqual(asked, [b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n"])
        self.assertIn("the proxy refused the connection (HTTP status %s" % status[:3].decode(),
                      said)

    def test_asked_once(self):
        self.refuse(b"407 Proxy Authentication Required")
        self.refuse(b"403 Forbidden")

    def test_plain_http(self):
        """A proxy sees the requests for an http:// endpoint, and answers them like a server."""
        for status, words in (
                (b"403 Forbidden", "refused (HTTP status 403); the response has no x-amz-request-id, so it probably "
                                   "comes from the proxy (Server: squid/6.6)"),
                (b"407 Proxy Authentication Required",
                 "the proxy refused the request (HTTP status 407): check the proxy's user name and password")):
            for command in (("cat", "s3://bucket/set", "--null"),
                            ("pack", self.tree, "s3://bucket/set", *FORMAT)):
                with self.subTest((status, command)):
                    asked, address = self.start(status, b"Server: squid/6.6\r\n")
                    said = self.run_sheaf(*command, status=1, env={
                        "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "HTTP_PROXY": address})
                    self.assertIn(words, said)
                    self.assertLessEqual(len(asked), 4, asked)


class RetryAfter(Case):
    """Tests waits that a server asks for."""

    def ask(self, fault, times):
        left = [fault] * times
        self.server.fault = lambda *_: left.pop() if left else None

    def test_longer_than_a_request_may_take(self):
        self.pack()
        self.ask("503 for an hour", 99)
        text = self.run_sheaf("cat", "s3://bucket/set", "--null", status=1)
        self.assertIn("HTTP status 503; the server asks to wait for 3600 s (Retry-After), and a "
                      "request may take 900 s (SHEAF_REQUEST_TIMEOUT)", text)

    def test_a_long_one_is_told_once(self):
        self.pack()
        for seconds, told in ((5, 1), (1, 0)):
            self.ask("429 for %d s" % seconds, 1)
            text = self.run_sheaf("cat", "s3://bucket/set", "--null")
            self.assertEqual(text.count("the server asks to wait for"), told, text)


if __name__ == "__main__":
    unittest.main()
