# SPDX-License-Identifier: MIT
"""Tests Pipe mode, which has a named pipe for each epoch. The platform that feeds the pipes is late, stops, or goes
away."""

import gzip
import json
import os
import signal
import subprocess
import time
import unittest

import jpegs
import libsheaf
import writers
from feeder import Feeder
from support import CONTAINERS, SHEAF, Case, image_tree, make_tree, pack, read, sheaf, shards_of

WAIT = ("--channel-wait", "60")


def shard_bytes(folder):
    return b"".join(read(os.path.join(folder, name)) for name in shards_of(folder))


class PipeCase(Case):
    @classmethod
    def share(cls):
        tree = os.path.join(cls.shared, "tree")
        make_tree(tree, image_tree(4, 10, size=8000))
        cls.data, cls.order = {}, {}
        for container in CONTAINERS:
            folder = os.path.join(cls.shared, container)
            pack(tree, folder, container, "none", "--shard-count", 3)
            cls.data[container] = shard_bytes(folder)

    def setUp(self):
        super().setUp()
        self.root = self.path("ml")
        self.configure({"train": {"TrainingInputMode": "Pipe",
                                  "S3DistributionType": "FullyReplicated"}})

    def configure(self, channels):
        folder = os.path.join(self.root, "input", "config")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "inputdataconfig.json"), "w", encoding="ascii") as file:
            json.dump(channels, file)

    def feed(self, *epochs, channel="train", **how):
        feeder = Feeder(self.root, channel, epochs, **how)
        self.addCleanup(feeder.stop)
        return feeder

    def words(self, *more, channel="train"):
        return ["cat", "--channel", channel, "--channel-root", self.root, *WAIT, *more]

    def lines(self, *more, **how):
        return sheaf(*self.words("--list", *more), **how).stdout.decode().splitlines()

    def straight(self, data):
        """Reads the same bytes from standard input, in their order."""
        return sheaf("cat", "-", "--list", "--no-shuffle", data=data).stdout.decode().splitlines()


class Epochs(PipeCase):
    def test_a_late_pipe_of_each_container(self):
        for container in CONTAINERS:
            with self.subTest(container):
                feeder = self.feed(self.data[container], late=0.5)
                done = sheaf(*self.words("--list", "--no-shuffle"))
                feeder.wait()
                lines = done.stdout.decode().splitlines()
                self.assertEqual(len(lines), 40)
                # made-up keys have the name of what is read
                plain = [l.split("\t", 1)[1] for l in lines]
                self.assertEqual(plain, [l.split("\t", 1)[1]
                                         for l in self.straight(self.data[container])])
                self.assertEqual(done.stderr.count(b"\n"), 1)
                self.assertIn(b"channel train: pipes " + self.root.encode(), done.stderr)

    def test_a_pipe_that_never_comes(self):
        done = sheaf("cat", "--channel", "train", "--channel-root", self.root, "--channel-wait", 0,
                     "--list", status=1)
        self.assertIn("train_0: this pipe did not appear", done.stderr.decode())
        self.assertEqual(read(os.path.join(self.root, "output", "failure")),
                         done.stderr.splitlines()[-1][len("sheaf: "):])
        os.makedirs(os.path.join(self.root, "input", "data"))
        os.mkfifo(os.path.join(self.root, "input", "data", "train_0"))
        done = sheaf("cat", "--channel", "train", "--channel-root", self.root, "--channel-wait", 0,
                     "--list", status=1)
        self.assertIn("no writer wrote", done.stderr.decode())

    def test_a_long_wait_is_told_of(self):
        """A long wait is reported once. It is not an error, because the writer may come late."""
        pipe, data = self.path("pipe.tar"), self.data["webdataset"]
        os.mkfifo(pipe)
        runs = [subprocess.Popen([SHEAF, "cat", *words, "--list"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
                for words in ((pipe,), self.words()[1:])]
        said = [run.stderr.readline().decode() for run in runs]
        self.assertIn("pipe.tar: waiting for a writer: nothing has been written", said[0])
        while "waiting" not in said[1]:         # after where the channel was found
            said[1] = runs[1].stderr.readline().decode()
        self.assertIn("train_0: waiting for this pipe to appear, up to 60 s", said[1])
        feeder = self.feed(data)
        with open(pipe, "wb") as file:
            file.write(data)
        for run in runs:
            out, rest = run.communicate()
            self.assertEqual((run.returncode, len(out.splitlines()), rest), (0, 40, b""))
        feeder.wait()

    def test_three_epochs_in_one_reader(self):
        data = self.data["webdataset"]
        feeder = self.feed(data, data, data)
        orders = []
        with libsheaf.Channel("train", self.root) as channel, \
                libsheaf.Reader(channel, shuffle_buffer=8, seed=3) as reader:
            for epoch in range(3):
                if epoch:
                    reader.begin_epoch(epoch)
                orders.append([s.key for s in reader])
        feeder.wait()
        self.assertEqual(feeder.closed_early, [])
        keys = [l.split("\t")[0] for l in self.straight(data)]
        for order in orders:
            self.assertNotEqual(order, keys)
            self.assertEqual(sorted(order), sorted(keys))
        self.assertEqual(len({tuple(o) for o in orders}), 3)
        # the buffer's part of the order is the order's own, whatever feeds it
        with libsheaf.DataSet(self.shard("x.tar.gz", gzip.compress(data))) as data_set, \
                libsheaf.Reader(data_set, shuffle_buffer=8, seed=3, epoch=1) as reader:
            self.assertEqual(orders[1], [s.key for s in reader])

    def shard(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_closed_early(self):
        data = self.data["webdataset"] * 40     # more than a pipe holds
        feeder = self.feed(data, self.data["webdataset"])
        with libsheaf.Channel("train", self.root) as channel, \
                libsheaf.Reader(channel, no_shuffle=1) as reader:
            first = next(reader).key
            reader.begin_epoch(1)
            second = [s.key for s in reader]
        feeder.wait()
        self.assertEqual(feeder.closed_early, [0])
        self.assertEqual(len(second), 40)
        self.assertEqual(first, second[0])

    def test_a_reader_that_is_taken_elsewhere_uses_no_pipe_up(self):
        data = self.data["webdataset"]
        feeder = self.feed(data, data)
        with libsheaf.Channel("train", self.root) as channel, \
                libsheaf.Reader(channel) as reader:
            reader.begin_epoch(1)
            reader.begin_epoch(0)
            self.assertEqual(len(list(reader)), 40)
        self.assertEqual(len(self.lines("--epoch", "1")), 40)
        feeder.wait()
        self.assertEqual(feeder.closed_early, [])

    def test_one_process_an_epoch(self):
        data = self.data["tfrecord"]
        feeder = self.feed(data, data, data)
        lines = [self.lines("--epoch", str(epoch)) for epoch in range(3)]
        feeder.wait()
        self.assertEqual(len({tuple(l) for l in lines}), 3)
        self.assertEqual(len({tuple(sorted(l)) for l in lines}), 1)

    def test_the_numbers_of_the_platform_are_its_own(self):
        """In a new container, the platform's numbers begin at 0. If the pipes have gone on, a new program must find the
        present number."""
        data = self.data["webdataset"]
        for first, epoch in ((0, 5), (4, 0)):
            feeder = self.feed(data, data, first=first)
            with libsheaf.Channel("train", self.root) as channel, \
                    libsheaf.Reader(channel, epoch=epoch, shuffle_buffer=8) as reader:
                count = len(list(reader))
                reader.begin_epoch(epoch + 1)
                count += len(list(reader))
            feeder.wait()
            self.assertEqual(count, 80)

    def test_an_empty_pipe(self):
        feeder = self.feed(b"", b"")
        done = sheaf(*self.words("--list"), status=1)
        self.assertIn("without a byte", done.stderr.decode())
        self.configure({"train": {"TrainingInputMode": "Pipe",
                                  "S3DistributionType": "ShardedByS3Key"}})
        self.assertEqual(self.lines(), [])
        feeder.wait()

    def test_ranks_take_turns(self):
        data = self.data["webdataset"]
        whole = self.straight(data)
        found = []
        for rank in range(3):
            feeder = self.feed(data)
            found.append(self.lines("--no-shuffle", "--rank", str(rank), "--world-size", "3"))
            feeder.wait()
        self.assertEqual([len(f) for f in found], [14, 13, 13])
        self.assertEqual([found[i % 3][i // 3] for i in range(40)], whole)
        feeder = self.feed(data)        # lanes are for sources that can be read in several places
        self.assertEqual(self.lines("--no-shuffle", "--lanes", "8"), whole)
        feeder.wait()
        self.assertIn("cannot share", sheaf(*self.words("--list", "--workers", "2"),
                                            status=1).stderr.decode())


class Content(PipeCase):
    def test_gzip_that_the_platform_left_in(self):
        for container in CONTAINERS:
            data = self.data[container]
            half = len(data) // 2
            feeder = self.feed(gzip.compress(data[:half]) + gzip.compress(data[half:]))
            self.assertEqual(len(self.lines("--no-shuffle")), 40)
            feeder.wait()

    def test_files_wrapped_as_records(self):
        images = [data for path, data in sorted(image_tree(2, 6).items())
                  if path.lower().endswith("jpg")]
        feeder = self.feed(writers.recordio(images))
        with libsheaf.Channel("train", self.root) as channel, \
                libsheaf.Reader(channel, no_shuffle=1) as reader:
            samples = list(reader)
        feeder.wait()
        self.assertEqual([s.fields for s in samples], [{"jpg": data} for data in images])
        self.assertEqual(samples[3].key, "train/00000003")

    def attributes(self, data, names, **options):
        feeder = self.feed(data)
        try:
            with libsheaf.Channel("train", self.root, attributes=names) as channel, \
                    libsheaf.Reader(channel, no_shuffle=1, **options) as reader:
                return [(s.fields, s.labels) for s in reader]
        finally:
            feeder.wait()

    def test_augmented_manifests(self):
        images = [data for path, data in sorted(image_tree(2, 6).items())
                  if path.lower().endswith("jpg")]
        labels = [b"3", b"[1, 0, 2.5]", b"cat"]
        records = []
        for i, image in enumerate(images):
            records += [image, labels[i % 3], b'{"w": %d}' % i, b"\x89PNG\r\n\x1a\nmask"]
        data = writers.recordio(records)
        names = "source-ref,label,size,mask-ref"
        expected = []
        for i, image in enumerate(images):
            fields = {"jpg": image, "size": b'{"w": %d}' % i, "png": records[3]}
            if i % 3 == 2:
                fields["label"] = b"cat"
            expected.append((fields, [[3.0], [1.0, 0.0, 2.5], []][i % 3]))
        self.assertEqual(self.attributes(data, names), expected)
        # the names may be in the platform's configuration, too
        self.configure({"train": {"TrainingInputMode": "Pipe", "DataSource": {"S3DataSource": {
            "S3DataType": "AugmentedManifestFile", "S3Uri": "s3://b/m.jsonl",
            "AttributeNames": names.split(",")}}}})
        self.assertEqual(self.attributes(data, None), expected)
        # of two objects with one suffix
        found = self.attributes(writers.recordio([images[0], images[1]]), "a-ref,b-ref")
        self.assertEqual(found, [({"jpg": images[0], "b.jpg": images[1]}, [])])

    def test_records_without_names_are_told_of(self):
        """If the platform does not say that the records are attributes, each record would be a sample. This must be
        reported."""
        hint = b"of an augmented manifest each attribute is a record"
        for wrapper, more, is_told in (("RecordIO", (), True), ("None", (), False),
                                       ("RecordIO", ("--attributes", "a-ref,b"), False)):
            self.configure({"train": {"TrainingInputMode": "Pipe", "RecordWrapperType": wrapper}})
            done = sheaf("cat", "--channel", "train", "--channel-root", self.root,
                         "--channel-wait", 0, "--list", *more, status=1)
            self.assertEqual(hint in done.stderr, is_told)

    def test_attributes_that_do_not_come_out_even(self):
        image = jpegs.jpeg(8, 8)
        data = writers.recordio([image, b"1", image])
        for options in ({}, {"on_corrupt": libsheaf.SKIP, "max_corrupt": 0}):
            with self.assertRaises(libsheaf.Error) as caught:
                self.attributes(data, "source-ref,label", **options)
            self.assertEqual(caught.exception.name, "TRUNCATED")
            self.assertIn("after 1 of a sample's 2 attributes", caught.exception.message)
        broken = bytearray(writers.recordio([image, b"1"] * 5))
        at = bytes(broken).index(writers.MAGIC, len(broken) // 2)
        broken[at] ^= 1
        with self.assertRaises(libsheaf.Error) as caught:       # though bad records are skipped
            self.attributes(bytes(broken), "source-ref,label", on_corrupt=libsheaf.SKIP)
        self.assertIn("unknown which attribute", caught.exception.message)

    def test_names_of_attributes(self):
        for names in ("", "a,,b", "a,a", ",".join("abcdefghijklmnopq"), "a/b"):
            with self.assertRaises(libsheaf.Error) as caught:
                libsheaf.Channel("train", self.root, attributes=names or ",")
            self.assertEqual(caught.exception.name, "ARGUMENT")
        feeder = self.feed(self.data["webdataset"])
        self.assertIn("but this is webdataset", sheaf(
            *self.words("--list", "--attributes", "a-ref,b"), status=1).stderr.decode())
        feeder.wait()

    def test_a_data_set_fed_with_all_its_files(self):
        folder = os.path.join(self.shared, "webdataset")
        for name in ("dataset.index", "dataset.json", "dataset.keys"):
            feeder = self.feed(read(os.path.join(folder, name)) + self.data["webdataset"])
            done = sheaf(*self.words("--list"), status=1)
            self.assertIn("give the feeder the shards alone", done.stderr.decode())
            feeder.wait()

    def test_a_feeder_killed_in_the_middle_of_a_record(self):
        for container in CONTAINERS:
            with self.subTest(container):
                data = self.data[container]
                feeder = self.feed(data[:len(data) * 2 // 3])
                done = sheaf(*self.words("--list", "--no-shuffle"), status=1)
                feeder.wait()
                self.assertTrue(0 < done.stdout.count(b"\n") < 40)
                self.assertIn(b"train_0: offset", done.stderr)
                self.assertIn(b"ends", done.stderr)

    def test_a_damaged_record_is_skipped_as_asked(self):
        data = bytearray(self.data["tfrecord"])
        data[len(data) // 2] ^= 1
        feeder = self.feed(bytes(data), bytes(data))
        done = sheaf(*self.words("--list", "--on-corrupt", "skip"))
        self.assertEqual(done.stdout.count(b"\n"), 39)
        self.assertEqual(done.stderr.count(b"skipped:"), 1)
        sheaf(*self.words("--list", "--epoch", "1"), status=1)
        feeder.wait()


class Processes(PipeCase):
    def start(self, *words):        # unbuffered, so that communicate() gets all that is left
        return subprocess.Popen([SHEAF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                bufsize=0)

    def test_a_second_reader_is_refused(self):
        feeder = self.feed(self.data["webdataset"] * 100)
        with libsheaf.Channel("train", self.root) as channel, \
                libsheaf.Reader(channel, no_shuffle=1) as reader:
            count = len([next(reader)])
            done = sheaf(*self.words("--list"), status=1)
            count += len(list(reader))
        self.assertIn("another process reads this pipe", done.stderr.decode())
        self.assertEqual(count, 4000)
        feeder.wait()

    def test_terminated_and_started_again(self):
        """Each epoch has the same objects in the same order, so a restarted job must repeat nothing."""
        data = self.data["webdataset"] * 50
        order = ("--seed", "5", "--shuffle-buffer", "64", "--to", "tfrecord")
        feeder = self.feed(data, data, data)
        whole = sheaf(*self.words(*order)).stdout
        process = self.start(*self.words(*order, "--save-position", self.path("position")))
        head = process.stdout.read(1)
        process.send_signal(signal.SIGTERM)
        head += process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertFalse(os.path.exists(os.path.join(self.root, "output", "failure")))
        # the feeder has given that pipe up before the next program starts
        deadline = time.monotonic() + 60
        while os.path.exists(feeder.path(1)) and time.monotonic() < deadline:
            time.sleep(0.01)
        tail = sheaf(*self.words("--to", "tfrecord", "--resume-from",
                                 self.path("position"))).stdout
        feeder.wait()
        self.assertTrue(0 < len(self.straight(head)) < 2000)
        self.assertEqual(self.straight(head + tail), self.straight(whole))

    def test_what_the_platform_shuffles_has_no_positions(self):
        self.configure({"train": {"TrainingInputMode": "Pipe", "ShuffleConfig": {"Seed": 3}}})
        feeder = self.feed(self.data["webdataset"])
        done = sheaf(*self.words("--list", "--save-position", self.path("position")), status=1)
        self.assertEqual(done.stdout, b"")
        self.assertIn("platform", done.stderr.decode())
        self.assertEqual(len(self.lines()), 40)
        feeder.wait()

    def test_twenty_channels_at_once(self):
        names = ["c.%d" % i if i % 2 else "c_%d" % i for i in range(20)]
        self.configure({name: {"TrainingInputMode": "Pipe"} for name in names})
        feeders = [self.feed(self.data[CONTAINERS[i % 3]] * 5, channel=name)
                   for i, name in enumerate(names)]
        processes = [self.start(*self.words("--list", channel=name)) for name in names]
        for process in processes:
            out, errors = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out.count(b"\n")), (0, 200), errors)
        for feeder in feeders:
            feeder.wait()

    def test_waiting_can_be_interrupted(self):
        process = self.start("cat", "--channel", "train", "--channel-root", self.root, "--list")
        process.stderr.readline()
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
