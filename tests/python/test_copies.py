# SPDX-License-Identifier: MIT
"""convert, unpack, pipe and info do what the command does, with its words; and sizes as text."""

import filecmp
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import threading
import unittest

from PIL import Image

import sheaf
from support import Case, FileServer, flip, pack, samples_of

COMMAND = os.path.join(os.environ["BUILD"], "sheaf")


def command(*words, status=0):
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == status, done
    return done.stdout if status == 0 else done.stderr.split("sheaf: ", 1)[1].split(";")[0].strip()


def interrupt_soon(case):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    case.addCleanup(timer.cancel)


class CopiesTest(Case):
    @classmethod
    def share(cls):
        cls.set = pack(os.path.join(cls.shared, "set"), samples_of(100))

    def test_files_of_a_sample_that_are_apart_are_joined(self):
        torn = self.path("torn.tar")
        with tarfile.open(torn, "w") as tar:
            for name in ("a.txt", "b.txt", "a.cap", "b.cap"):
                member = tarfile.TarInfo(name)
                member.size = len(name)
                tar.addfile(member, io.BytesIO(name.encode()))
        result = sheaf.convert(torn, self.path("whole"), format="webdataset", join=True)
        self.assertEqual(result.samples, 2)
        with sheaf.Reader(self.path("whole")) as reader:
            found = {sample.key: {name: bytes(sample[name]) for name in sample} for sample in reader}
        self.assertEqual(found, {key: {"txt": b"%s.txt" % key.encode(), "cap": b"%s.cap" % key.encode()}
                                 for key in ("a", "b")})
        with self.assertRaisesRegex(TypeError, "join"):
            sheaf.convert(sheaf.Dataset(torn), self.path("other"), format="webdataset", join=True)

    def assert_same_tree(self, one, two):
        compared = filecmp.dircmp(one, two)
        self.assertEqual((compared.left_only, compared.right_only), ([], []))
        self.assertEqual(filecmp.cmpfiles(one, two, compared.common_files, shallow=False)[1:],
                         ([], []))
        for name in compared.common_dirs:
            self.assert_same_tree(os.path.join(one, name), os.path.join(two, name))

    def test_convert(self):
        made, again = self.path("made"), self.path("again")
        steps = []
        result = sheaf.convert(self.set, made, format="tfrecord", codec="gzip", index=None,
                               memory="64MiB", progress=steps.append)
        command("convert", self.set, again, "--format", "tfrecord", "--codec", "gzip")
        self.assert_same_tree(made, again)
        self.assertEqual((result.samples, result.shards, result.shards_kept, result.corrupt),
                         (100, 4, 0, 0))
        self.assertEqual({step.stage for step in steps}, {"convert"})
        with self.assertRaises(sheaf.ExistsError) as caught:
            sheaf.convert(sheaf.Dataset(self.set), made, format="tfrecord", codec="gzip")
        self.assertTrue(str(caught.exception).startswith(command(
            "convert", self.set, made, "--format", "tfrecord", "--codec", "gzip", status=1)))
        self.assertEqual(sheaf.convert(self.set, made, format="tfrecord", codec="gzip",
                                       resume=True).samples, 100)
        with self.assertRaisesRegex(TypeError, "format"):
            sheaf.convert(self.set, made)

    def test_new_shards_and_order(self):
        one, two = (sheaf.convert(self.set, self.path(name), format="webdataset", shard_count=4,
                                  shuffle=True, seed=3, jobs=jobs)
                    for name, jobs in (("one", 1), ("two", 3)))
        self.assertEqual((one.shards, two.shards), (4, 4))
        self.assertEqual(sheaf.Dataset(self.path("one")).fingerprint,
                         sheaf.Dataset(self.path("two")).fingerprint)
        self.assertEqual(sorted(s.key for s in sheaf.Dataset(self.path("one"))),
                         sorted(s.key for s in sheaf.Dataset(self.set)))

    def test_field_map(self):
        made, again = self.path("made"), self.path("again")
        sheaf.convert(self.set, made, format="tfrecord",
                      field_map={"bin": "Other", "seg.txt": "seg"})
        command("convert", self.set, again, "--format", "tfrecord",
                "--field-map", "bin=Other,seg.txt=seg")
        self.assert_same_tree(made, again)
        with self.assertRaisesRegex(ValueError, "no sample has the field \"y\""):
            sheaf.convert(self.set, self.path("none"), format="tfrecord", field_map={"y": "label"})

    def test_append(self):
        for name in ("old/cat/a.txt", "old/dog/b.txt", "new/ant/c.txt"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(name)
        sheaf.pack(self.path("old"), self.path("set"))
        before = sheaf.Dataset(self.path("set"))
        result = sheaf.append(self.path("new"), self.path("set"))
        self.assertEqual((result.samples, result.shards), (1, 1))
        after = sheaf.Dataset(self.path("set"))
        self.assertEqual((len(before), len(after)), (2, 3))
        self.assertEqual(list(after.classes), ["cat", "dog", "ant"])
        self.assertEqual(bytes(after[2]["txt"]), b"new/ant/c.txt")
        self.assertEqual(bytes(before[1]["txt"]), bytes(after[1]["txt"]))
        with self.assertRaises(sheaf.ExistsError):
            sheaf.append(self.path("new"), self.path("set"))
        self.assertEqual(sheaf.append(self.path("new"), self.path("set"), resume=True).shards_kept,
                         1)

    def test_a_bad_record_is_told(self):
        folder = shutil.copytree(self.set, self.path("bad"))
        flip(os.path.join(folder, "shard-000001.tar"), 512)
        with self.assertRaises(sheaf.CorruptError):
            sheaf.convert(folder, self.path("a"), format="recordio")
        told = []
        result = sheaf.convert(folder, self.path("b"), format="recordio", on_corrupt="skip",
                               report=told.append)
        self.assertEqual((result.samples, result.corrupt, [p.code for p in told]),
                         (99, 1, ["CORRUPT"]))

    def test_repeated_keys_and_images(self):
        folder = self.path("twice")
        for name in ("a", "b"):
            shutil.copytree(self.set, os.path.join(folder, name))
            for other in os.listdir(os.path.join(folder, name)):
                if other.startswith("dataset"):
                    os.unlink(os.path.join(folder, name, other))
        both = [os.path.join(folder, name) for name in ("a", "b")]
        with self.assertRaises(sheaf.ExistsError):
            sheaf.convert(both, self.path("o"), format="tfrecord")
        for how, samples, skipped in (("number", 200, 0), ("drop", 100, 100)):
            result = sheaf.convert(both, self.path("o" + how), format="tfrecord",
                                   duplicate_keys=how)
            self.assertEqual((result.samples, result.skipped, result.duplicates),
                             (samples, skipped, 100))
            found = sheaf.unpack(both, self.path("u" + how), duplicate_keys=how)
            self.assertEqual((found.samples, found.duplicates), (samples, 100))
        file = io.BytesIO()
        Image.new("RGB", (40, 30)).save(file, "JPEG")
        with sheaf.Packer(self.path("large")) as packer:
            packer.append("a", {"jpg": file.getvalue()})
        result = sheaf.convert(self.path("large"), self.path("small"), format="tfrecord", resize=9)
        self.assertEqual((result.samples, result.converted, result.resized), (1, 0, 1))
        with sheaf.Reader(self.path("small")) as reader:
            self.assertEqual([Image.open(io.BytesIO(bytes(s["jpg"]))).size for s in reader],
                             [(12, 9)])

    def test_repeated_keys_by_parts(self):
        folder, plan = self.path("twice"), self.path("plan")
        os.makedirs(folder)
        for name in ("a", "b"):
            shutil.copy(os.path.join(self.set, "shard-000000.tar"), os.path.join(folder, name + ".tar"))
        sheaf.index(folder)
        with self.assertRaises(sheaf.ExistsError):
            sheaf.plan(folder, self.path("many"), plan, format="tfrecord")
        for how in ("number", "drop"):
            one, many = self.path("one-" + how), self.path("many-" + how)
            found = sheaf.convert(folder, one, format="tfrecord", duplicate_keys=how)
            made = sheaf.plan(folder, many, plan + how, format="tfrecord", duplicate_keys=how)
            self.assertEqual((made.duplicates, sheaf.info(plan + how)["duplicates"]), (found.duplicates,) * 2)
            parts = [sheaf.convert(plan=plan + how, part=part, parts=2) for part in (1, 0)]
            self.assertEqual(sum(part.duplicates for part in parts), found.duplicates)
            done = sheaf.commit(plan + how)
            self.assertEqual((done.samples, done.skipped, done.duplicates),
                             (found.samples, found.skipped, found.duplicates))
            self.assertEqual([s.key for s in sheaf.Reader(many, no_shuffle=True)],
                             [s.key for s in sheaf.Reader(one, no_shuffle=True)])

    def test_parts_of_a_plan(self):
        plan = self.path("plan")
        sheaf.plan(self.set, self.path("parts"), plan, format="recordio")
        for part in range(3):
            sheaf.convert(plan=plan, part=part, parts=3)
        self.assertEqual(sheaf.info(plan)["done_shards"], 4)
        said = json.loads(command("info", plan, "--json"))
        self.assertEqual({**said, **sheaf.info(plan)}, said)
        sheaf.commit(plan)
        sheaf.convert(self.set, self.path("whole"), format="recordio")
        self.assert_same_tree(self.path("parts"), self.path("whole"))
        files = self.path("files")
        sheaf.unpack(self.set, files)
        sheaf.plan(files, self.path("x"), self.path("plan2"))
        with self.assertRaisesRegex(sheaf.ArgumentError, "is a plan of files"):
            sheaf.convert(plan=self.path("plan2"))

    def test_unpack(self):
        made, again = self.path("made"), self.path("again")
        result = sheaf.unpack(self.set, made)
        command("unpack", self.set, again)
        self.assert_same_tree(made, again)
        self.assertEqual(result, (100, 134, result.bytes, 0, 0, 0, 0))
        with self.assertRaisesRegex(FileExistsError, "record 0: .*File exists.*resume=True"):
            sheaf.unpack(self.set, made)
        self.assertEqual(sheaf.unpack(self.set, made, resume=True), result)

    def test_pipe(self):
        folder = self.path("pipes")
        os.mkdir(folder)
        read = []
        reader = threading.Thread(target=lambda: read.append(
            [s.key for s in sheaf.Reader(os.path.join(folder, "train_0"), no_shuffle=True)]))
        with self.assertRaisesRegex(ValueError, "compression='zip': expected none or gzip"):
            sheaf.pipe(self.set, folder, compression="zip")
        os.mkfifo(os.path.join(folder, "train_0"))
        reader.start()
        result = sheaf.pipe(self.set, folder, epochs=1)
        reader.join()
        self.assertEqual((result.epochs, result.objects, result.closed_early), (1, 4, 0))
        self.assertEqual(sorted(read[0]), sorted(s.key for s in sheaf.Reader(self.set)))

    def test_info(self):
        said, found = json.loads(command("info", self.set, "--json")), sheaf.info(self.set)
        for name in ("url", "container", "codec", "manifest", "stream", "samples", "bytes",
                     "payload_bytes", "fingerprint", "label_base", "classes"):
            self.assertEqual(found[name], said[name], name)
        self.assertEqual([{**field, "lacking": field.get("lacking")} for field in said["fields"]],
                         found["fields"])
        self.assertEqual([shard["name"] for shard in found["shards"]],
                         [shard["name"] for shard in said["shards"]])

    def test_signals_end_what_waits(self):
        os.mkdir(self.path("pipes"))
        interrupt_soon(self)
        with self.assertRaises(KeyboardInterrupt):
            sheaf.pipe(self.set, self.path("pipes"))
        self.assertEqual(os.listdir(self.path("pipes")), [])
        for call, words in ((sheaf.unpack, {}), (sheaf.convert, {"format": "recordio"})):
            server = FileServer(self, self.set, silent=("shard-000002",))
            interrupt_soon(self)
            with self.assertRaises(KeyboardInterrupt):
                call(server.url, self.path(call.__name__), **words)
            server.goes_on.set()
        self.assertFalse(os.path.exists(os.path.join(self.path("convert"), "dataset.json")))

    def test_what_a_callable_raises_ends_the_call(self):
        def stop(_):
            raise ZeroDivisionError
        with self.assertRaises(ZeroDivisionError):
            sheaf.unpack(self.set, self.path("files"), progress=stop)

    def test_sizes(self):
        sheaf.unpack(self.set, self.path("files"))
        one = sheaf.pack(self.path("files"), self.path("one"), shard_size="1.5kB", memory="64MiB")
        two = sheaf.pack(self.path("files"), self.path("two"), shard_bytes=1500)
        self.assertEqual(one.shards, two.shards)
        self.assert_same_tree(self.path("one"), self.path("two"))
        for text in ("20megs", "", "-1", "1.5", " 1MB", "1.0000000001kB"):
            with self.assertRaisesRegex(ValueError, "shard_size=.*invalid size"):
                sheaf.pack(self.path("files"), self.path("x"), shard_size=text)
        self.assertEqual(sheaf.verify(self.set, memory="32MiB", part=1, parts=4).shards, 1)


if __name__ == "__main__":
    unittest.main()
