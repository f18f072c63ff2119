# SPDX-License-Identifier: MIT
"""Signals, forks, other processes, threads."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import sheaf
from support import Case, FileServer, pack, samples_of


def keys_of(dataset):
    return [sample.key for sample in sheaf.Reader(dataset, seed=4)]


# Reads standard input, of which a part comes and then nothing; prints what happens.
WAITING = """
import os, signal, sys, threading
import sheaf
reader = sheaf.Reader("-", shuffle_buffer=0)
print(next(reader).key, flush=True)
try:
    for sample in reader:
        pass
    print("ended", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("handled", flush=True) if %r else None
try:
    for sample in reader:
        print(sample.key, flush=True)
except KeyboardInterrupt:
    print("interrupted again", flush=True)
os._exit(0)
"""


class SignalTest(Case):
    def begin(self, code):
        """A process whose standard input has most of a shard by now: more than is read ahead."""
        folder = pack(self.path("set"), samples_of(400, size=400000))
        with open(os.path.join(folder, "shard-000000.tar"), "rb") as file:
            shard = file.read()
        self.tail = shard[-4000000:]
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=False)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdin.write(shard[:-4000000])
        process.stdin.flush()
        return process

    def test_control_c_ends_a_wait_and_the_reader_goes_on(self):
        process = self.begin(WAITING % True)
        self.assertEqual(process.stdout.readline(), b"c0/00000\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"interrupted\n")
        self.assertEqual(process.stdout.readline(), b"handled\n")
        process.stdin.write(self.tail)
        process.stdin.close()
        rest = process.stdout.read().decode().split()
        self.assertEqual(rest[-1], "c1/00099")

    def test_a_handler_that_returns_does_not_end_the_wait(self):
        code = ("import signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('seen', "
                "flush=True))\n" + WAITING % False)
        process = self.begin(code)
        self.assertEqual(process.stdout.readline(), b"c0/00000\n")
        for _ in range(3):
            time.sleep(0.3)
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), b"seen\n")
        process.stdin.write(self.tail)
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), b"ended\n")

    def test_control_c_ends_packing(self):
        source = self.path("tree")
        os.makedirs(source)
        for i in range(3000):
            with open(os.path.join(source, "%d.txt" % i), "wb") as file:
                file.write(os.urandom(20000))
        code = ("import os, signal, sheaf\n"
                "def progress(p):\n"
                "    if p.stage == 'pack': os.kill(os.getpid(), signal.SIGINT)\n"
                "try:\n"
                "    sheaf.pack(%r, %r, codec='gzip', jobs=1, progress=progress)\n"
                "except KeyboardInterrupt: print('interrupted')\n" % (source, self.path("set")))
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60)
        self.assertEqual(done.stdout, b"interrupted\n")
        self.assertFalse(os.path.exists(self.path("set", "dataset.json")))


# Opens a data set on a server that stops answering at some file; prints what happens.
AFAR = """
import sheaf
print("begun", flush=True)
try:
    reader = sheaf.Reader(%r, shuffle_buffer=0)
    print("open", flush=True)
    for sample in reader:
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
for sample in %s:
    pass
print("ended", flush=True)
"""


class AfarTest(Case):
    """Ctrl-C while a server does not answer, and all is well if it answers later."""

    def begin(self, silent, then):
        server = FileServer(self, pack(self.path("set"), samples_of(200)), silent)
        process = subprocess.Popen([sys.executable, "-c", AFAR % (server.url, then)],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"begun\n")
        self.assertTrue(server.asked.wait(60))
        return process, server

    def test_while_a_data_set_is_opened(self):
        process, server = self.begin("dataset.json", "()")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.read(), b"interrupted\nended\n")
        self.assertEqual(process.wait(), 0)

    def test_while_a_shard_is_opened(self):
        process, server = self.begin("shard-000000.tar", "reader")
        self.assertEqual(process.stdout.readline(), b"open\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"interrupted\n")
        server.goes_on.set()
        self.assertEqual(process.stdout.read(), b"ended\n")

    def test_while_a_reader_is_opened(self):
        process, server = self.begin("dataset.index", "()")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.read(), b"interrupted\nended\n")
        self.assertEqual(process.wait(), 0)


class ProcessTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(400))

    def in_child(self, function):
        """What the function returns in a forked child, as text."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                text = function()
            except BaseException as error:
                text = "%s: %s" % (type(error).__name__, error)
            os.write(write, str(text).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            text = file.read().decode()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return text

    def test_a_forked_child_is_told(self):
        reader = sheaf.Reader(self.set, seed=4)
        first = next(reader)
        for call in (lambda: next(reader), reader.position, lambda: reader.next_batch(3),
                     lambda: iter(reader), lambda: len(reader), reader.stats):
            self.assertRegex(self.in_child(call), "StateError: the reader was opened before fork")

        def drop():
            nonlocal reader
            reader.close()
            reader = None
            return bytes(first["bin"]) == data
        data = bytes(first["bin"])
        self.assertEqual(self.in_child(drop), "True")
        self.assertEqual([first.key] + [s.key for s in reader], keys_of(self.set))

    def test_a_data_set_works_on_both_sides_of_a_fork(self):
        opened = sheaf.Dataset(self.set)
        self.assertEqual(self.in_child(lambda: keys_of(opened)), str(keys_of(opened)))

    def test_a_packer_in_a_forked_child(self):
        with sheaf.Packer(self.path("packed")) as packer:
            packer.append("a", {"x": b""})
            self.assertRegex(self.in_child(lambda: packer.append("b", {"x": b""})),
                             "StateError: the packer was opened before fork")
        self.assertEqual(len(sheaf.Dataset(self.path("packed"))), 1)

    def test_spawned_processes_open_the_data_set_again(self):
        opened = sheaf.Dataset(self.set)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(keys_of, (opened,)), keys_of(opened))
        with self.assertRaises(TypeError):
            pickle.dumps(sheaf.Reader(opened))

    def test_threads_share_a_reader(self):
        reader = sheaf.Reader(self.set)
        found = [[] for _ in range(4)]

        def take(mine, by):
            while True:
                if by == 1:
                    sample = next(reader, None)
                    if sample is None:
                        return
                    mine.append(sample.key)
                else:
                    batch = reader.next_batch(by)
                    if batch is None:
                        return
                    mine += batch.keys
                    reader.position()
        threads = [threading.Thread(target=take, args=(mine, by))
                   for mine, by in zip(found, (1, 1, 5, 3))]
        for _ in range(5):
            for mine in found:
                mine.clear()
            reader.epoch(0)
            threads = [threading.Thread(target=take, args=(mine, by))
                       for mine, by in zip(found, (1, 1, 5, 3))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(sum(found, [])), sorted(keys_of(self.set)))

    def test_other_threads_run_while_one_waits(self):
        os.mkfifo(self.path("pipe"))
        caught = []

        def wait():
            try:
                list(sheaf.Reader(self.path("pipe")))
            except sheaf.Error as error:
                caught.append(error)
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        self.assertTrue(thread.is_alive())      # this thread runs, though that one waits
        with open(self.path("pipe"), "wb"):
            pass
        thread.join()
        self.assertEqual(len(caught), 1)


if __name__ == "__main__":
    unittest.main()
