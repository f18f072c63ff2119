# SPDX-License-Identifier: MIT
"""Help, invalid options, streams for pipes, valid JSON, and conversions that equal packing again."""

import gzip
import json
import os
import re
import subprocess

import decoders
import writers
from support import (CODECS, CONTAINERS, SHEAF, Case, expected_samples, image_tree, listing,
                     make_tree, pack, read, sheaf, shards_of, tree_of, write)

COMMANDS = ("pack", "cat", "info", "verify", "index", "view", "unpack", "convert", "plan", "commit",
            "fetch", "pipe", "advise")


class Manners(Case):
    def test_help_is_on_standard_output(self):
        for words in ([], *([c] for c in COMMANDS)):
            done = sheaf(*words, "--help")
            self.assertEqual(done.stderr, b"")
            self.assertTrue(done.stdout.startswith(b"Usage: sheaf"))
            for line in done.stdout.decode().splitlines():
                self.assertLessEqual(len(line), 80)

    def test_help_has_an_example_of_its_own_options(self):
        for command in COMMANDS:
            text = sheaf(command, "--help").stdout.decode()
            example = text.split("\nExample:\n")[1].split("\n\n")[0]
            self.assertRegex(example, r"^  sheaf %s [a-z]" % command)
            for option in re.findall(r"--[a-z0-9-]+", example):
                self.assertRegex(text, r"(?m)^  %s\b" % option)

    def test_help_names_every_command(self):
        text = sheaf("--help").stdout.decode()
        for command in COMMANDS:
            self.assertIn("  %s " % command, text)

    def test_version(self):
        self.assertRegex(sheaf("--version").stdout.decode(), r"^sheaf \d+\.\d+\.\d+\n$")

    def test_short_forms(self):
        self.assertEqual(sheaf("-V").stdout, sheaf("--version").stdout)
        tree = self.path("short")
        make_tree(tree, {"a/1.txt": b"one"})
        for name, container, jobs in (("wds", "webdataset", ["-j", "2"]),
                                      ("rec", "recordio", ["-j2"]),
                                      ("tfrecords", "tfrecord", ["--jobs=2"])):
            out = self.path("short-" + name)
            sheaf("pack", tree, out, "--format", name, *jobs)
            self.assertIn(b'"container": "%s"' % container.encode(),
                          sheaf("info", out, "--json").stdout)

    def test_misuse(self):
        for words in ([], ["nonsense"], ["pack"], ["pack", "a"], ["pack", "a", "b"],
                      ["pack", "a", "b", "--format", "zip"], ["pack", "a", "b", "--format"],
                      ["cat"], ["cat", "x", "--nonsense"], ["cat", "x", "--seed", "-1"],
                      ["cat", "x", "--seed", "99999999999999999999"], ["cat", "x", "-z"],
                      ["cat", "x", "--list", "--null"], ["cat", "x", "--limit", "1k"],
                      ["unpack", "x"], ["verify"], ["info"], ["index"], ["convert", "x", "y"],
                      ["pack", "a", "--format", "tfrecord"],
                      ["pack", "a", "b", "--format", "tfrecord", "--shard-size", "1XB"],
                      ["pack", "a", "b", "--format", "tfrecord", "--shard-size", "0"],
                      ["pack", "a", "b", "--format", "tfrecord", "--label-base", "2"],
                      ["cat", "x", "--list=yes"], ["cat", "x", "--channel-root", "/r"],
                      ["info", "x", "--attributes", "a"], ["cat", "s3://"],
                      ["cat", "s3://bucket/x"]):
            with self.subTest(words=words):
                done = sheaf(*words, status=None, cwd=self.folder)
                self.assertEqual(done.stdout, b"")
                self.assertRegex(done.stderr.decode(), r"^sheaf: .*\n$")
                if words != ["cat", "s3://bucket/x"]:
                    self.assertEqual(done.returncode, 2)

    def test_failure(self):
        for words in (["cat", "missing", "--list"], ["info", "missing"], ["verify", "missing"],
                      ["unpack", "missing", "out"], ["index", "missing"],
                      ["convert", "missing", "out", "--format", "tfrecord"],
                      ["pack", "missing", "out", "--format", "tfrecord"]):
            with self.subTest(words=words):
                done = sheaf(*words, status=1, cwd=self.folder)
                self.assertEqual(done.stdout, b"")
                self.assertRegex(done.stderr.decode(), r"^sheaf: .*missing.*\n$")

    def test_a_malformed_configuration_is_a_failure(self):
        write(self.path("input", "config", "inputdataconfig.json"), b"{")
        done = sheaf("cat", "--channel", "train", "--channel-root", self.folder, status=1)
        self.assertIn(b"inputdataconfig.json: line 1", done.stderr)

    def test_fewer_shards_than_asked_for_are_said(self):
        make_tree(self.path("s"), {"a/%d.txt" % i: b"1" for i in range(10)})
        for count, split, said in ((100, "x=1", b"100 shards: making 10"), (10, "x=1", b""),
                                   (7, "x=0.5,y=0.5", b"14 shards: making 10")):
            done = sheaf("pack", self.path("s"), self.path("out"), "--format", "tfrecord",
                         "--shard-count", count, "--split", split, "--dry-run")
            self.assertEqual(said in done.stderr, True)
            self.assertEqual(done.stderr == b"", said == b"")

    def test_an_option_is_taken_with_and_without_equals_sign(self):
        make_tree(self.path("s"), {"a/1.txt": b"1"})
        sheaf("pack", "--format=tfrecord", self.path("s"), "--shard-count=1", "--",
              self.path("out"))
        self.assertTrue(os.path.exists(self.path("out", "dataset.json")))


class OnADataSet(Case):
    @classmethod
    def share(cls):
        cls.files = image_tree(classes=3, images=20, size=8000)
        cls.samples = expected_samples(cls.files)
        cls.source = make_tree(os.path.join(cls.shared, "source"), cls.files)
        cls.data_sets = {}
        for container in CONTAINERS:
            cls.data_sets[container] = os.path.join(cls.shared, container)
            pack(cls.source, cls.data_sets[container], container, "none",
                 "--shard-size", "30kB", "--seed", 3)


class Cat(OnADataSet):
    def test_a_tar_that_tar_reads(self):
        for folder in self.data_sets.values():
            stream = sheaf("cat", folder, "--seed", 4).stdout
            names = subprocess.run(["tar", "-t"], input=stream, stdout=subprocess.PIPE,
                                   check=True).stdout.decode().splitlines()
            keys = list(dict.fromkeys(decoders.split_name(n)[0] for n in names))
            self.assertEqual(keys, [l.split("\t")[0] for l in listing(folder, "--seed", 4)])
            self.assertEqual({n for n in names if not n.endswith(".cls")}, set(self.files))

    def test_the_same_stream_from_every_container(self):
        for to in CONTAINERS:
            streams = {sheaf("cat", folder, "--to", to, "--seed", 4).stdout
                       for folder in self.data_sets.values()}
            self.assertEqual(len(streams), 1, to)

    def test_other_containers_in_the_stream(self):
        folder = self.data_sets["webdataset"]
        expected = [l.split("\t")[0] for l in listing(folder, "--seed", 4)]
        stream = sheaf("cat", folder, "--to", "tfrecord", "--seed", 4).stdout
        found = [decoders.tfrecord_sample(p) for _, p in decoders.tfrecord_frames(stream)]
        self.assertEqual([s.key for s in found], expected)
        for sample in found:
            self.assertEqual(sample.fields, self.samples[sample.key])
        stream = sheaf("cat", folder, "--to", "recordio", "--seed", 4).stdout
        self.assertEqual(len(list(decoders.recordio_frames(stream))), len(expected))

    def test_a_stream_can_be_read_again(self):
        folder = self.data_sets["recordio"]
        for to in ("webdataset", "tfrecord"):
            stream = sheaf("cat", folder, "--to", to, "--seed", 4).stdout
            lines = sheaf("cat", "-", "--list", "--no-shuffle", data=stream).stdout.decode()
            self.assertEqual([l.split("\t")[:2] for l in lines.splitlines()],
                             [l.split("\t")[:2] for l in listing(folder, "--seed", 4)])

    def test_limit(self):
        folder = self.data_sets["tfrecord"]
        whole = listing(folder, "--seed", 1)
        for limit in (0, 1, 7, 64, 65, 10 ** 9):
            self.assertEqual(listing(folder, "--seed", 1, "--limit", limit), whole[:limit])
        stream = sheaf("cat", folder, "--limit", 2).stdout
        subprocess.run(["tar", "-t"], input=stream, stdout=subprocess.DEVNULL, check=True)

    def test_a_reader_of_the_pipe_that_goes_away(self):
        make_tree(self.path("s"), {"a/%d.bin" % i: bytes(1 << 20) for i in range(8)})
        pack(self.path("s"), self.path("d"), "tfrecord")
        process = subprocess.Popen([SHEAF, "cat", self.path("d")], bufsize=0,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertNotEqual(process.wait(30), 0)
        self.assertLessEqual(errors.count(b"\n"), 1)

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for words in (["--list"], [], ["--null"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([SHEAF, "cat", self.data_sets["tfrecord"], *words],
                                      stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"No space left", done.stderr)

    def test_null(self):
        text = sheaf("cat", self.data_sets["recordio"], "--null").stdout.decode()
        found = dict(line.split() for line in text.splitlines())
        self.assertEqual(int(found["samples"]), len(self.samples))
        self.assertEqual(int(found["payload_bytes"]), sum(map(len, self.files.values())))
        self.assertLessEqual(int(found["memory_peak_bytes"]), 1 << 30)
        for name in ("seconds", "samples_per_second", "stall_seconds", "resident_peak_bytes"):
            float(found[name])

    def test_peak_is_that_of_the_process(self):
        """Not of the program that started it, whose peak Linux passes on to getrusage()."""
        large = bytearray(b"x") * (300 << 20)
        text = sheaf("cat", self.data_sets["recordio"], "--null").stdout.decode()
        del large
        found = dict(line.split() for line in text.splitlines())
        self.assertLess(int(found["resident_peak_bytes"]), 200 << 20)

    def test_a_data_set_is_known_by_its_manifest_too(self):
        folder = self.data_sets["tfrecord"]
        self.assertEqual(listing(os.path.join(folder, "dataset.json")), listing(folder))
        self.assertEqual(listing(".", cwd=folder), listing(folder))

    def test_memory_that_cannot_be_enough_is_refused_with_numbers(self):
        done = sheaf("cat", self.data_sets["tfrecord"], "--list", "--memory", 1000, status=None)
        self.assertIn(done.returncode, (1, 2))
        self.assertRegex(done.stderr.decode(), r"1000.*\d{4,}|\d{4,}.*1000")


class Info(OnADataSet):
    def test_json(self):
        for container, folder in self.data_sets.items():
            info = json.loads(sheaf("info", folder, "--json").stdout)
            manifest = json.loads(read(os.path.join(folder, "dataset.json")))
            self.assertEqual(info["container"], container)
            self.assertEqual(info["codec"], "none")
            self.assertTrue(info["manifest"])
            self.assertEqual(info["samples"], len(self.samples))
            self.assertEqual(info["payload_bytes"], sum(map(len, self.files.values())))
            self.assertEqual(info["bytes"], sum(
                os.path.getsize(os.path.join(folder, n)) for n in shards_of(folder)))
            self.assertEqual([s["name"] for s in info["shards"]], shards_of(folder))
            self.assertEqual(info["fingerprint"], manifest["fingerprint"])
            self.assertEqual(info["classes"], decoders.DataSet(folder).classes)

    def test_text(self):
        text = sheaf("info", self.data_sets["recordio"]).stdout.decode()
        for word in ("recordio", "none", str(len(self.samples)), "001.ak47",
                     "shard-000000.rec"):
            self.assertIn(word, text)

    def test_strange_names_are_still_json(self):
        make_tree(self.path("s"), {"q\"\\ü/1.txt": b"1", "\U0001f600/2.txt": b"2"})
        pack(self.path("s"), self.path("d\"\\"), "tfrecord")
        info = json.loads(sheaf("info", self.path("d\"\\"), "--json").stdout)
        self.assertEqual(info["classes"], ["q\"\\ü", "\U0001f600"])
        self.assertEqual(info["url"], self.path("d\"\\"))


class Verify(OnADataSet):
    def test_sound(self):
        for folder in self.data_sets.values():
            result = json.loads(sheaf("verify", folder, "--json").stdout)
            self.assertEqual((result["sound"], result["problems"]), (True, []))
            self.assertEqual(result["samples"], len(self.samples))

    def test_not_sound(self):
        folder = self.path("copy")
        subprocess.run(["cp", "-r", self.data_sets["webdataset"], folder], check=True)
        for name in shards_of(folder)[:2]:
            path = os.path.join(folder, name)
            data = bytearray(read(path))
            data[700] ^= 4
            write(path, bytes(data))
        done = sheaf("verify", folder, "--json", status=1)
        result = json.loads(done.stdout)
        self.assertFalse(result["sound"])
        self.assertEqual({p["where"].split("/")[-1] for p in result["problems"]},
                         set(shards_of(folder)[:2]))
        done = sheaf("verify", folder, status=1)
        self.assertIn("shard-000001.tar", done.stderr.decode())


class Convert(OnADataSet):
    def test_it_equals_packing_directly(self):
        for source in CONTAINERS:
            for dest in CONTAINERS:
                for codec in CODECS:
                    with self.subTest(source=source, dest=dest, codec=codec):
                        out, fresh = self.path(source + dest + codec), self.path(dest + codec)
                        sheaf("convert", self.data_sets[source], out, "--format", dest,
                              "--codec", codec)
                        if not os.path.exists(fresh):
                            pack(self.source, fresh, dest, codec, "--shard-size", "30kB",
                                 "--seed", 3)
                        one, two = tree_of(out), tree_of(fresh)
                        manifests = [json.loads(t.pop("dataset.json")) for t in (one, two)]
                        for tree in (one, two):     # the manifest contains its name
                            del tree["dataset.keys"]
                        self.assertTrue(one == two, "other bytes")
                        for manifest in manifests:
                            del manifest["options"], manifest["fingerprint"]
                        self.assertEqual(*manifests)

    def test_there_and_back(self):
        folder = self.data_sets["webdataset"]
        for number, to in enumerate(("recordio", "tfrecord", "webdataset")):
            sheaf("convert", folder, self.path(str(number)), "--format", to, "--codec", "lz4")
            folder = self.path(str(number))
        sheaf("unpack", folder, self.path("out"))
        self.assert_same_tree(self.source, self.path("out"))

    def test_foreign_shards(self):
        members = [("k%d.txt" % i, b"%d" % i) for i in range(5)]
        write(self.path("x.tar"), writers.tar(members))
        for to in CONTAINERS:
            sheaf("convert", self.path("x.tar"), self.path(to), "--format", to)
            self.assertEqual(listing(self.path(to), "--no-shuffle"),
                             ["k%d\t\ttxt:1" % i for i in range(5)])
            sheaf("verify", self.path(to))
        sheaf("convert", "-", self.path("stdin"), "--format", "tfrecord",
              data=writers.tar(members))
        self.assertEqual(listing(self.path("stdin")), listing(self.path("tfrecord")))

    def test_a_damaged_source_leaves_no_data_set(self):
        folder = self.path("copy")
        subprocess.run(["cp", "-r", self.data_sets["tfrecord"], folder], check=True)
        path = os.path.join(folder, shards_of(folder)[-1])
        write(path, read(path)[:-1])
        sheaf("convert", folder, self.path("out"), "--format", "recordio", status=1)
        self.assert_nothing(self.path("out"))


class Advice(Case):
    """The command that can help gives the advice."""

    def test_what_to_do(self):
        tree = make_tree(self.path("tree"), {"a.txt": b"x"})
        done, begun, plan = self.path("done"), self.path("begun"), self.path("plan")
        again = "--overwrite replaces it"
        stored = "sheaf %s --plan PLAN packs it and sheaf commit PLAN publishes it; --overwrite starts again"
        sheaf("pack", tree, done, "--format", "tfrecord")
        sheaf("plan", tree, begun, "-o", plan, "--format", "tfrecord")
        for words, advice in (
                (("pack", tree, done, "--format", "tfrecord"), again),
                (("convert", done, done + "/", "--format", "recordio"), None),
                (("plan", tree, done, "-o", self.path("p"), "--format", "tfrecord"), again),
                (("pack", tree, begun, "--format", "tfrecord"), stored % "pack"),
                (("convert", done, begun, "--format", "tfrecord"), stored % "convert"),
                (("convert", "--plan", plan, "--part", "0/1"), "use sheaf pack --plan"),
                (("cat", begun), "the command that was packing it continues with --resume, and "
                 "sheaf commit publishes the parts of a plan")):
            with self.subTest(words=words):
                error = sheaf(*words, status=None).stderr.decode()
                self.assertEqual(error.count("\n"), 1)
                if advice is None:
                    self.assertNotIn("; ", error)
                else:
                    self.assertTrue(error.endswith("; %s\n" % advice), error)


class Index(Case):
    def test_foreign_shards_become_a_data_set(self):
        shards = {
            "tar": lambda i: writers.tar([("s%d/%d.txt" % (i, j), b"%d" % j) for j in range(9)]),
            "tfrecord": lambda i: writers.tfrecord(
                [writers.example({"__key__": [b"s%d/%d" % (i, j)], "txt": [b"%d" % j]})
                 for j in range(9)]),
            "rec": lambda i: writers.recordio([writers.image_record(b"\xff\xd8%d" % j, float(j))
                                               for j in range(9)]),
        }
        for suffix, make in shards.items():
            with self.subTest(suffix=suffix):
                folder = self.path(suffix)
                for i in range(3):
                    write(os.path.join(folder, "x-%d.%s" % (i, suffix)), make(i))
                before = tree_of(folder)
                plain = listing(folder, "--no-shuffle")
                sheaf("index", folder)
                after = tree_of(folder)
                self.assertEqual({n: after[n] for n in before}, before)
                self.assertEqual({n for n in set(after) - set(before) if not n.endswith(".idx")},
                                 {"dataset.json", "dataset.index", "dataset.keys"})
                info = json.loads(sheaf("info", folder, "--json").stdout)
                self.assertEqual((info["manifest"], info["samples"]), (True, 27))
                sheaf("verify", folder)
                self.assertEqual(listing(folder, "--no-shuffle"), plain)
                self.assertNotEqual(listing(folder), plain)
                sheaf("index", folder, status=1)
                sheaf("index", folder, "--overwrite")
                self.assertEqual(tree_of(folder), after)
                self.check_damage(folder)

    def check_damage(self, folder):
        shard = os.path.join(folder, shards_of(folder)[1])
        data = bytearray(read(shard))
        data[len(data) // 2] ^= 1
        write(shard, bytes(data))
        sheaf("verify", folder, status=1)

    def test_shards_that_others_compressed_are_to_be_converted(self):
        data = writers.tar([("a.txt", b"1")])
        for suffix, compress in ((".gz", gzip.compress), (".lz4", writers.lz4),
                                 (".zst", writers.zstd)):
            write(self.path(suffix, "x.tar" + suffix), compress(data))
            done = sheaf("index", self.path(suffix), status=1)
            self.assert_error(done, "compressed", "convert")
            self.assertEqual(os.listdir(self.path(suffix)), ["x.tar" + suffix])

    def test_damaged_shards_are_not_indexed(self):
        write(self.path("d", "x.tar"), writers.tar([("a.txt", b"1")])[:1024])
        sheaf("index", self.path("d"), status=1)
        self.assertEqual(os.listdir(self.path("d")), ["x.tar"])


class Peers(OnADataSet):
    """Index files of other readers, checked by their own rules."""

    READERS = {"webdataset": "dali,wids,energon", "tfrecord": "dali", "recordio": "dali,mxnet"}

    def test_what_a_reader_cannot_read_is_refused(self):
        for container, codec, reader in (
                ("tfrecord", "none", "mxnet"), ("recordio", "none", "wids"),
                ("webdataset", "gzip", "dali"), ("tfrecord", "none", "nonsense"),
                ("tfrecord", "none", "dali,"), ("webdataset", "lz4", "energon")):
            done = pack(self.source, self.path("out"), container, codec, "--index", reader,
                        status=2)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertFalse(os.path.exists(self.path("out")))

    @classmethod
    def share(cls):
        super().share()
        for container, readers in cls.READERS.items():
            cls.data_sets[container] += "-peers"
            pack(cls.source, cls.data_sets[container], container, "none", "--shard-size", "30kB",
                 "--seed", 3, "--index", readers)

    def frames(self, container):
        data_set = decoders.DataSet(self.data_sets[container])
        for number, shard in enumerate(data_set.manifest["shards"]):
            yield shard["name"], read(os.path.join(data_set.folder, shard["name"])), \
                data_set.frame_bounds(number)

    def test_dali_tfrecord(self):
        for name, _, bounds in self.frames("tfrecord"):
            path = os.path.join(self.data_sets["tfrecord"], name[:-len(".tfrecord")] + ".idx")
            rows = [tuple(map(int, l.split(" "))) for l in read(path).decode().splitlines()]
            self.assertEqual(rows, [(a, b - a) for a, b in zip(bounds, bounds[1:])])

    def test_mxnet(self):
        """Record numbers and offsets, with one file for each shard."""
        for name, data, bounds in self.frames("recordio"):
            path = os.path.join(self.data_sets["recordio"], name[:-len(".rec")] + ".idx")
            rows = [tuple(map(int, l.split("\t"))) for l in read(path).decode().splitlines()]
            self.assertEqual([offset for _, offset in rows], bounds[:-1])

    def test_dali_webdataset(self):
        for name, data, bounds in self.frames("webdataset"):
            path = os.path.join(self.data_sets["webdataset"], name[:-len(".tar")] + ".idx")
            head, *rows = read(path).decode().splitlines()
            self.assertEqual(head, "v1.2 %d" % len(rows))
            self.assertEqual(len(rows), len(bounds) - 1)
            for row, first, last in zip(rows, bounds, bounds[1:]):
                words = row.split(" ")
                self.assertEqual(len(words) % 4, 0)
                for ext, offset, size, member in zip(*[iter(words)] * 4):
                    self.assertTrue(first < int(offset) <= last - int(size))
                    key, suffix = decoders.split_name(member)
                    self.assertEqual(suffix.lower(), ext.lower())
                    if suffix != "cls":
                        self.assertEqual(data[int(offset):int(offset) + int(size)],
                                         self.samples[key][suffix])

    def test_wids(self):
        index = json.loads(read(os.path.join(self.data_sets["webdataset"], "shardindex.json")))
        self.assertEqual((index["__kind__"], index["wids_version"]), ("wids-shard-index-v1", 1))
        self.assertEqual([(s["url"], s["nsamples"]) for s in index["shardlist"]],
                         [(name, len(bounds) - 1) for name, _, bounds in
                          self.frames("webdataset")])

    def test_energon(self):
        for name, data, bounds in self.frames("webdataset"):
            path = os.path.join(self.data_sets["webdataset"], name + ".idx")
            index = read(path)
            offsets = [int.from_bytes(index[i:i + 8], "little") for i in range(0, len(index), 8)]
            self.assertEqual(offsets, bounds)
        counts = json.loads(read(os.path.join(self.data_sets["webdataset"], ".nv-meta",
                                              ".info.json")))
        self.assertEqual(counts["shard_counts"], {name: len(bounds) - 1 for name, _, bounds in
                                                  self.frames("webdataset")})

    def test_they_do_not_disturb(self):
        for container, folder in self.data_sets.items():
            sheaf("verify", folder)
            self.assertEqual(listing(folder), listing(folder[:-len("-peers")]))
            out = self.path(container)
            sheaf("unpack", folder, out)
            self.assert_same_tree(self.source, out)
