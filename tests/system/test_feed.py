# SPDX-License-Identifier: MIT
"""sheaf pipe: the bytes that a reader of SageMaker's named pipes gets."""

import contextlib
import gzip
import json
import os
import random
import signal
import struct
import subprocess
import threading
import time
import unittest

from fake_s3 import Object
import servers
import support

WAIT = 100          # seconds until a command counts as hanging


def records(data):
    """Returns the payloads of RecordIO records."""
    found, at, open_record = [], 0, None
    while at < len(data):
        magic, word = struct.unpack_from("<II", data, at)
        assert magic == 0xced7230a, hex(magic)
        flag, size = word >> 29, word & (1 << 29) - 1
        part = data[at + 8:at + 8 + size]
        assert len(part) == size
        if flag in (0, 1):
            open_record = part
        else:
            open_record += b"\x0a\x23\xd7\xce" + part
        if flag in (0, 3):
            found.append(open_record)
        at += 8 + (size + 3 & ~3)
    return found


class FeedCase(support.Case):
    """A folder of objects (self.source) and a folder of pipes (self.pipes)."""

    env = None

    def setUp(self):
        super().setUp()
        self.source, self.pipes = self.path("source"), self.path("pipes")
        os.mkdir(self.source)
        self.processes = []

    def until_there(self, path):
        end = time.monotonic() + WAIT
        while not os.path.exists(path):
            if time.monotonic() > end or all(p.poll() is not None for p in self.processes):
                raise AssertionError("%s never came to be" % path)
            time.sleep(0.01)

    def slurp(self, path, most=None):
        """Returns the bytes of a pipe, to its end or up to a number of bytes."""
        self.until_there(path)
        with open(path, "rb") as file:
            return file.read() if most is None else file.read(most)

    @contextlib.contextmanager
    def feeder(self, source, *words, status=0):
        process = subprocess.Popen(
            [support.SHEAF, "pipe", source, self.pipes, *map(str, words)], env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        try:
            yield process
            out, errors = process.communicate(timeout=WAIT)
            self.said, self.complained = out.decode(), errors.decode()
            self.assertEqual(process.returncode, status, self.complained)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def pipe(self, epoch, channel="train"):
        return os.path.join(self.pipes, "%s_%d" % (channel, epoch))

    def fed(self, source, *words, epochs=1):
        """Returns the bytes of each epoch."""
        with self.feeder(source, "--epochs", epochs, *words):
            return [self.slurp(self.pipe(e)) for e in range(epochs)]

    def assert_no_pipes(self):
        self.assertEqual(os.listdir(self.pipes) if os.path.exists(self.pipes) else [], [])


class Local(FeedCase):
    def make(self, files):
        support.make_tree(self.source, files)
        return b"".join(files[name] for name in sorted(files))

    def test_three_epochs(self):
        whole = self.make({"b/%03d" % i: os.urandom(i * 1000) for i in range(100)})
        self.assertEqual(self.fed(self.source, epochs=3), [whole] * 3)
        self.assert_no_pipes()
        self.assertIn("fed 3 epochs: 300 objects", self.said)

    def test_large_objects(self):
        whole = self.make({"a": os.urandom(20 << 20), "b": b"", "c": os.urandom((8 << 20) + 1)})
        self.assertTrue(self.fed(self.source) == [whole])

    def test_first_epoch(self):
        whole = self.make({"a": b"12"})
        with self.feeder(self.source, "--epochs", 2, "--first-epoch", 41, "--channel", "train_1"):
            self.assertEqual(self.slurp(self.pipe(41, "train_1")), whole)
            self.assertEqual(self.slurp(self.pipe(42, "train_1")), whole)

    def test_next_pipe_is_there_when_one_ends(self):
        self.make({"a": b"12"})
        with self.feeder(self.source, "--epochs", 50):
            self.slurp(self.pipe(0))
            for epoch in range(1, 50):
                with open(self.pipe(epoch), "rb") as file:      # without waiting
                    self.assertEqual(file.read(), b"12")

    def test_reader_closes_early(self):
        whole = self.make({"%04d" % i: os.urandom(10000) for i in range(500)})
        with self.feeder(self.source, "--epochs", 3):
            self.assertEqual(self.slurp(self.pipe(0), 1), whole[:1])
            self.assertEqual(self.slurp(self.pipe(1), 15000), whole[:15000])
            self.assertTrue(self.slurp(self.pipe(2)) == whole)
        self.assertIn("2 closed early", self.said)
        self.assert_no_pipes()

    def test_killed_feeder_cuts_an_object(self):
        size = 1000
        self.make({"%05d" % i: os.urandom(size) for i in range(5000)})
        with self.feeder(self.source, status=-signal.SIGKILL) as process:
            self.until_there(self.pipe(0))
            with open(self.pipe(0), "rb", buffering=0) as file:
                got = len(file.read(10))
                process.kill()
                process.wait()
                while True:
                    data = file.read(1 << 20)
                    if not data:
                        break
                    got += len(data)
        self.assertLess(got, 5000 * size)
        self.assertNotEqual(got % size, 0)
        # Its pipes still exist, and the next command uses them.
        self.assertTrue(os.path.exists(self.pipe(0)))
        self.assertEqual(len(self.fed(self.source)[0]), 5000 * size)

    def test_stops_on_signals(self):
        self.make({"%04d" % i: os.urandom(10000) for i in range(1000)})
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.feeder(self.source, status=-number) as process:     # no process reads
                self.until_there(self.pipe(0))
                process.send_signal(number)
            self.assert_no_pipes()
            with self.feeder(self.source, status=-number) as process:     # a slow reader
                self.until_there(self.pipe(0))
                with open(self.pipe(0), "rb", buffering=0) as file:
                    file.read(1)
                    process.send_signal(number)
                    process.wait(WAIT)
            self.assert_no_pipes()

    def test_twenty_channels(self):
        whole = self.make({"%04d" % i: os.urandom(5000) for i in range(100)})
        names, got = ["channel%d" % i for i in range(20)], {}

        def read(name):
            got[name] = [self.slurp(self.pipe(e, name)) == whole for e in range(2)]

        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(self.feeder(self.source, "--channel", name, "--epochs", 2))
            readers = [threading.Thread(target=read, args=(name,)) for name in names]
            for thread in readers:
                thread.start()
            for thread in readers:
                thread.join(WAIT)
        self.assertEqual(got, {name: [True, True] for name in names})
        self.assert_no_pipes()

    def test_one_feeder_a_channel(self):
        self.make({"a": b"1"})
        with self.feeder(self.source, status=-signal.SIGTERM) as process:
            self.until_there(self.pipe(0))
            done = support.sheaf("pipe", self.source, self.pipes, status=1)
            self.assertIn(b"another process feeds the channel train", done.stderr)
            self.assertTrue(os.path.exists(self.pipe(0)))
            process.terminate()

    def test_something_else_in_the_way(self):
        self.make({"a": b"1"})
        support.write(self.pipe(0), b"precious")
        done = support.sheaf("pipe", self.source, self.pipes, status=1)
        self.assertIn(b"is not a named pipe", done.stderr)
        self.assertEqual(support.read(self.pipe(0)), b"precious")

    def test_record_wrapper(self):
        magic = b"\x0a\x23\xd7\xce"
        files = {"a": b"", "b": b"12345", "c": magic * 3 + b"x", "d": b"123" + magic,
                 "e": os.urandom(3 << 20)}
        self.make(files)
        [data] = self.fed(self.source, "--record-wrapper", "recordio")
        self.assertEqual(records(data), [files[name] for name in "abcde"])

    def test_record_that_is_too_large(self):
        self.make({"a": bytes(30 << 20)})
        with self.feeder(self.source, "--record-wrapper", "recordio", "--memory", "64MiB",
                         status=1):
            self.slurp(self.pipe(0))
        self.assertIn("a: ", self.complained)

    def test_gunzip(self):
        files = {"%d" % i: os.urandom(100) * 20000 * i for i in range(4)}
        self.make({name: gzip.compress(data) for name, data in files.items()})
        plain = [files[name] for name in sorted(files)]
        self.assertTrue(self.fed(self.source, "--compression", "gzip") == [b"".join(plain)])
        [data] = self.fed(self.source, "--compression", "gzip", "--record-wrapper", "recordio")
        self.assertTrue(records(data) == plain)

    def test_gunzip_of_what_is_none(self):
        good = gzip.compress(b"good" * 100)
        for bad in (b"plain text", good[:-1], support.flip(good, len(good) - 2), good + b"more"):
            self.make({"a": good, "b": bad})
            with self.feeder(self.source, "--compression", "gzip", status=1):
                self.slurp(self.pipe(0))
            self.assertIn("sheaf: b: ", self.complained)
            self.assert_no_pipes()

    def test_shuffle(self):
        files = {"%03d" % i: b"%03d," % i for i in range(200)}
        self.make(files)
        first = self.fed(self.source, "--shuffle", "--seed", 5, epochs=2)
        self.assertNotEqual(first[0], first[1])
        for data in first:
            self.assertEqual(sorted(data.split(b",")), sorted(b"".join(files.values()).split(b",")))
        self.assertEqual(self.fed(self.source, "--shuffle", "--seed", 5, epochs=2), first)
        self.assertNotEqual(self.fed(self.source, "--shuffle", "--seed", 6)[0], first[0])

    def test_sharded(self):
        self.make({"%03d" % i: b"%03d," % i for i in range(100)})
        for words in ((), ("--shuffle", "--seed", 1)):
            epochs = [self.fed(self.source, "--distribution", "sharded", "--host", host, "--hosts",
                               3, *words, epochs=2) for host in range(3)]
            for epoch in range(2):
                parts = [e[epoch].split(b",")[:-1] for e in epochs]
                self.assertEqual([len(p) for p in parts], [34, 33, 33])
                self.assertEqual(sorted(sum(parts, [])), [b"%03d" % i for i in range(100)])

    def test_more_hosts_than_objects(self):
        self.make({"a": b"1"})
        self.env = {**os.environ, "SM_HOSTS": '["algo-1", "algo-10", "algo-2"]',
                    "SM_CURRENT_HOST": "algo-2"}
        self.assertEqual(self.fed(self.source, "--distribution", "sharded", epochs=2), [b"", b""])
        self.assertIn("host 2 of 3", self.complained)

    def test_misuse(self):
        self.make({"a": b"1"})
        for words in (("--channel", "a/b"), ("--channel", ""), ("--channel", "x" * 65),
                      ("--hosts", "2"), ("--distribution", "sharded", "--host", "2"),
                      ("--distribution", "sharded", "--host", "2", "--hosts", "2"),
                      ("--seed", "1"), ("--attributes", "a"), ("--epochs", "-1")):
            support.sheaf("pipe", self.source, self.pipes, *words, status=2)
        support.sheaf("pipe", self.source, self.pipes, "--memory", "1MB", status=1)
        support.sheaf("pipe", self.path("none"), self.pipes, status=1)
        support.sheaf("pipe", "-", self.pipes, status=1)


class Ends(FeedCase):
    """Tests that no reader waits for ever or takes an incomplete epoch for a complete one, if the feeder fails, is
    ended by a signal, or ends after its last epoch. A reader may be in the middle of a pipe, or wait in open() of the
    present pipe or of the next one."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    NONE = b"\0"            # a reader gets this if nothing of the epoch was written

    def setUp(self):
        super().setUp()
        self.root = self.path("ml")
        self.pipes = os.path.join(self.root, "input", "data")
        os.makedirs(self.pipes)
        # A feeder goes on ignoring a signal that its parent ignores, as nohup makes it ignore SIGHUP.
        for number in self.SIGNALS:
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_DFL))

    def until_state(self, process, state):
        """Waits until the process has this state in /proc, such as "S" if it sleeps in a system call."""
        end = time.monotonic() + WAIT
        while True:
            with open("/proc/%d/stat" % process.pid, encoding="ascii") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(") ")
            if name == os.path.basename(process.args[0]) and rest[0] == state:
                return
            self.assertLess(time.monotonic(), end, "the process never got the state " + state)
            time.sleep(0.01)

    def waiter(self, path):
        """Starts a program that waits in open() of a pipe until there is a writer, and then reads to the end."""
        process = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.until_state(process, "S")
        return process

    def got(self, waiter):
        return waiter.communicate(timeout=WAIT)[0]

    def test_signals_in_the_middle(self):
        whole, size = os.urandom(4000000), 10000
        support.make_tree(self.source, {"%04d" % i: whole[i * size:(i + 1) * size] for i in range(400)})
        for number in self.SIGNALS:
            with self.feeder(self.source, "--epochs", 2, status=-number) as process:
                self.until_there(self.pipe(0))
                with open(self.pipe(0), "rb", buffering=0) as file:
                    got = file.read(1)
                    self.until_there(self.pipe(1))
                    waiter = self.waiter(self.pipe(1))
                    process.send_signal(number)
                    self.assertEqual(self.got(waiter), self.NONE)
                    got += file.read()
            self.assertTrue(whole.startswith(got))
            self.assertNotEqual(len(got) % size, 0)
            self.assert_no_pipes()

    def test_signals_at_the_beginning(self):
        """The feeder is stopped until both the reader and the signal are there."""
        whole, size = os.urandom(4000000), 10000
        support.make_tree(self.source, {"%04d" % i: whole[i * size:(i + 1) * size] for i in range(400)})
        for number in self.SIGNALS:
            with self.feeder(self.source, status=-number) as process:
                self.until_there(self.pipe(0))
                process.send_signal(signal.SIGSTOP)
                self.until_state(process, "T")
                waiter = self.waiter(self.pipe(0))
                process.send_signal(number)
                process.send_signal(signal.SIGCONT)
                got = self.got(waiter)
            self.assertTrue(got == self.NONE or whole.startswith(got))
            self.assertNotEqual(len(got) % size, 0)
            self.assert_no_pipes()

    def test_errors(self):
        good = os.urandom(4 << 20)          # more than the pipe and the feeder's buffer hold
        for files, expected in (({"a": good, "b": b"bad"}, good[:-1]), ({"a": b"bad"}, self.NONE)):
            support.make_tree(self.source, {name: gzip.compress(data) if data is good else data
                                            for name, data in files.items()})
            with self.feeder(self.source, "--compression", "gzip", "--epochs", 3, status=1):
                self.until_there(self.pipe(0))
                with open(self.pipe(0), "rb", buffering=0) as file:
                    got = file.read(1)
                    if data := files.get("b"):
                        self.until_there(self.pipe(1))
                        waiter = self.waiter(self.pipe(1))
                    got += file.read()
                if data:
                    self.assertEqual(self.got(waiter), self.NONE)
            self.assertTrue(got == expected, len(got))
            self.assert_no_pipes()
            os.remove(os.path.join(self.source, "a"))

    def test_last_epoch(self):
        """There is no pipe after the last epoch, and two readers that wait for one pipe share its bytes."""
        support.make_tree(self.source, {"a": b"1" * 3000000})
        os.mkfifo(self.pipe(0))
        waiters = [self.waiter(self.pipe(0)) for _ in range(2)]
        with self.feeder(self.source, "--epochs", 1):
            self.assertEqual(len(b"".join(map(self.got, waiters))), 3000000)
        self.assert_no_pipes()

    # ---- Sheaf's own reader --------------------------------------------------------------------

    def reader(self, *words):
        """Starts a reader of the channel, each of whose hosts may get no objects, so that an empty pipe is right."""
        support.write(os.path.join(self.root, "input", "config", "inputdataconfig.json"), json.dumps(
            {"train": {"TrainingInputMode": "Pipe", "S3DistributionType": "ShardedByS3Key"}}).encode())
        return subprocess.Popen([support.SHEAF, "cat", "--channel", "train", "--channel-root", self.root, "--list",
                                 "--on-corrupt", "skip", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(self, reader, number):
        out, errors = reader.communicate(timeout=WAIT)
        self.assertEqual((reader.returncode, out), (1, b""))
        self.assertIn("train_%d: the pipe ended after 1 byte, before the end of a record: its feeder failed before it "
                      "could feed this epoch" % number, errors.decode())

    def test_own_reader_of_the_present_pipe(self):
        support.write(os.path.join(self.source, "a"), b"no gzip stream")
        reader = self.reader()
        with self.feeder(self.source, "--compression", "gzip", status=1):
            self.refused(reader, 0)

    def test_own_reader_of_the_next_pipe(self):
        support.make_tree(self.source, {"a": bytes(4000000)})
        with self.feeder(self.source, status=-signal.SIGTERM) as process:
            self.until_there(self.pipe(0))
            with open(self.pipe(0), "rb", buffering=0):
                self.until_there(self.pipe(1))
                reader = self.reader("--epoch", "1")
                opened, end = "/proc/%d/fd" % reader.pid, time.monotonic() + WAIT
                while self.pipe(1) not in [os.path.realpath(os.path.join(opened, fd)) for fd in os.listdir(opened)]:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.01)
                process.terminate()
                self.refused(reader, 1)


class DataSets(FeedCase):
    """Of a data set only the shards are written, not the index, the manifest or other files beside them."""

    def make(self):
        tree = support.make_tree(self.path("tree"), {
            "c%d/%02d.txt" % (i % 3, i): os.urandom(100 * i) for i in range(30)})
        support.pack(tree, self.source, "recordio", "none", "--shard-count", "4", "--index", "mxnet")
        names = sorted(name for name in os.listdir(self.source) if name.endswith(".rec"))
        return b"".join(support.read(os.path.join(self.source, name)) for name in names)

    def where(self):
        return self.source

    def test_shards_alone(self):
        whole = self.make()
        beside = len(os.listdir(self.source)) - 4
        self.assertEqual(self.fed(self.where(), epochs=2), [whole] * 2)
        self.assertIn("fed 2 epochs: 8 objects, %d bytes" % (2 * len(whole)), self.said)
        self.assertIn("%d objects not fed, as not shards of the data set" % beside,
                      self.complained)

    def test_all_of_them(self):
        self.make()
        os.unlink(os.path.join(self.source, "shard-000002.rec"))
        done = support.sheaf("pipe", self.where(), self.pipes, status=1, env=self.env)
        self.assertIn(b"shard-000002.rec: is missing: dataset.json names it", done.stderr)

    def test_an_unfinished_one_is_refused(self):
        self.make()
        support.make_tree(self.source, {".sheaf-partial/plan": b"x"})
        done = support.sheaf("pipe", self.where(), self.pipes, status=1, env=self.env)
        self.assertIn(b"unfinished run", done.stderr)

    def test_another_program_has_a_file_of_that_name(self):
        support.make_tree(self.source, {"dataset.json": b"{}", "x": b"y"})
        self.assertEqual(self.fed(self.where()), [b"{}y"])


class RemoteDataSets(servers.S3Case, DataSets):
    def where(self):
        for name, data in support.tree_of(self.source).items():
            self.client.put(self.bucket, "set/" + name, data)
        return self.url("set")


class Remote(servers.S3Case, FeedCase):
    def test_prefix(self):
        files = {"p/%03d" % i: os.urandom(i * 300) for i in range(120)}
        files["p/large"] = os.urandom((16 << 20) + 5)
        self.client.put_tree(self.bucket, "", files)
        whole = b"".join(files[name] for name in sorted(files))
        self.assertTrue(self.fed(self.url("p"), epochs=3) == [whole] * 3)
        with self.feeder(self.url("p"), "--epochs", 2):
            self.slurp(self.pipe(0), 100)
            self.assertTrue(self.slurp(self.pipe(1)) == whole)

    def test_prefix_that_ends_within_a_name(self):
        self.client.put_tree(self.bucket, "d/", {"shard-1": b"1", "shard-2": b"2", "shar": b"x",
                                                 "dataset.json": b"x", "shard-3/4": b"3"})
        self.assertEqual(self.fed(self.url("d/shard-")), [b"123"])
        self.assertEqual(self.fed(self.url("d/shard-3")), [b"3"])
        done = self.sheaf("pipe", self.url("d/none-"), self.pipes, status=1)
        self.assertIn(b"no objects found", done.stderr)
        # The name is a directory, and there is nothing else.
        self.client.put(self.bucket, "dd", b"no")
        self.client.put(self.bucket, "ddd/1", b"no")
        self.assertEqual(self.fed(self.url("d")), [b"xx123"])

    def test_manifest(self):
        self.client.put_tree(self.bucket, "x/", {"2": b"two", "1": b"one", "sub/3": b"three"})
        self.client.put(self.bucket, "m.manifest", json.dumps(
            [{"prefix": self.url("x/")}, "2", "sub/3", "1", "2"]).encode())
        self.assertEqual(self.fed(self.url("m.manifest"), epochs=2), [b"twothreeonetwo"] * 2)
        self.client.put(self.bucket, "n.manifest", json.dumps(
            [{"prefix": self.url("x/")}, "2", "none"]).encode())
        done = self.sheaf("pipe", self.url("n.manifest"), self.pipes, status=1)
        self.assertIn(b"x/none", done.stderr)

    def test_augmented_manifest(self):
        self.client.put_tree(self.bucket, "i/", {"1.jpg": b"JPEG1", "2.jpg": b"JPEG22"})
        lines = [{"image-ref": self.url("i/1.jpg"), "is-a-cat": 1, "name": "Tom"},
                 {"image-ref": self.url("i/2.jpg"), "is-a-cat": 0, "name": ""}]
        support.write(self.path("a.manifest"), b"".join(
            json.dumps(line).encode() + b"\n" for line in lines))
        [data] = self.fed(self.path("a.manifest"), "--attributes", "image-ref,is-a-cat",
                          "--record-wrapper", "recordio")
        self.assertEqual(records(data), [b"JPEG1", b"1", b"JPEG22", b"0"])
        [data] = self.fed(self.path("a.manifest"), "--attributes", "name,image-ref")
        self.assertEqual(data, b"TomJPEG1JPEG22")
        done = self.sheaf("pipe", self.path("a.manifest"), self.pipes, status=2)
        self.assertIn(b"requires a list of attributes", done.stderr)
        done = self.sheaf("pipe", self.path("a.manifest"), self.pipes, "--attributes", "cat",
                          status=1)
        self.assertIn(b'line 1: the attribute "cat" is missing', done.stderr)


class Faults(FeedCase):
    def setUp(self):
        super().setUp()
        servers.start_fake(self)

    def test_faults_that_pass(self):
        chance = random.Random(self.server.chance.random())
        for i in range(60):
            self.objects["p/%03d" % i] = Object(chance.randbytes(chance.randrange(50000)))
        whole = b"".join(self.objects[k].data for k in sorted(self.objects))
        self.server.percent = 5
        # A storm refuses up to 40 requests in turn, and a client tries a request only 10 times.
        self.server.weigh(dict.fromkeys(("denied", "silence", "stall", "storm"), 0))
        self.assertTrue(self.fed("s3://bucket/p", epochs=3) == [whole] * 3)

    def test_object_changed_between_epochs(self):
        self.objects["p/1"], self.objects["p/2"] = Object(b"1" * 1000), Object(b"2" * 9000000)
        self.objects["p/3"] = Object(b"3" * 9000000)
        with self.feeder("s3://bucket/p", "--epochs", 9, "--memory", "48MiB", status=1):
            self.slurp(self.pipe(0), 10)
            self.objects["p/2"] = Object(b"x" * 9000000)
            sizes, whole = [], 18001000
            with contextlib.suppress(FileNotFoundError):        # the feeder has failed before this epoch
                while set(sizes) <= {whole}:
                    with open(self.pipe(len(sizes) + 1), "rb") as file:
                        sizes.append(len(file.read()))
        self.assertIn("p/2", self.complained)
        self.assertLess(sizes.count(whole), 8)
        self.assertFalse({0, 1000, 9001000} & set(sizes), sizes)
        self.assert_no_pipes()

    def test_object_that_vanishes(self):
        self.objects["p/1"] = Object(b"1" * 100)
        for i in range(2, 9):
            self.objects["p/%d" % i] = Object(b"%d" % i * 9000000)
        with self.feeder("s3://bucket/p", "--memory", "48MiB", status=1):
            self.until_there(self.pipe(0))
            with open(self.pipe(0), "rb") as file:
                got = len(file.read(50))
                del self.objects["p/8"]
                got += len(file.read())
        self.assertIn("p/8: the object was removed", self.complained.replace(
            "reading 8388608 bytes at 0: ", "").replace("reading 611392 bytes at 8388608: ", ""))
        self.assertNotEqual((got - 100) % 9000000, 0)
        self.assert_no_pipes()


if __name__ == "__main__":
    unittest.main()
