# SPDX-License-Identifier: MIT
"""The same program reads the same data set in every way in which a platform can provide it."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import time
import unittest

import faultfs
import support
from servers import S3Case
from support import CONTAINERS, SHEAF, image_tree, make_tree, pack, shards_of


@contextlib.contextmanager
def s3fs(server, bucket, folder):
    """Mounts the bucket as a read-only file system, as in FastFile mode."""
    if not shutil.which("s3fs"):
        raise unittest.SkipTest("no s3fs here (Debian package s3fs)")
    os.makedirs(folder)
    keys = folder + ".keys"
    with open(keys, "w", encoding="ascii") as file:
        file.write("%s:%s" % (server.client.access, server.client.secret))
    os.chmod(keys, 0o600)
    done = subprocess.run(
        ["s3fs", bucket, folder, "-o", "url=" + server.plain, "-o", "use_path_request_style",
         "-o", "passwd_file=" + keys, "-o", "ro"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=120)
    if done.returncode != 0:
        raise unittest.SkipTest("no FUSE here: %s" % done.stdout.decode())
    deadline = time.monotonic() + 60
    while not os.path.ismount(folder):
        if time.monotonic() > deadline:
            raise RuntimeError("%s is not mounted" % folder)
        time.sleep(0.02)
    try:
        yield
    finally:
        subprocess.run(["fusermount", "-u", "-z", folder], check=True)


class EveryMode(S3Case):
    @classmethod
    def share(cls):
        tree = os.path.join(cls.shared, "tree")
        files = image_tree(4, 15, size=9000)
        # Each sample has a class file of its own, so that the samples are the same with and without a manifest.
        files.update({path.split(".jp")[0].split(".JP")[0] + ".cls": b"%d" % (i % 4)
                      for i, path in enumerate(sorted(files)) if path.lower().endswith("jpg")})
        make_tree(tree, files)
        for container in CONTAINERS:
            pack(tree, os.path.join(cls.shared, container), container, "none",
                 "--shard-count", 3)

    def setUp(self):
        super().setUp()
        self.roots = 0

    def root(self, **entry):
        """Makes a platform's directory with one channel."""
        self.roots += 1
        root = self.path("ml-%d" % self.roots)
        os.makedirs(os.path.join(root, "input", "data"))
        support.write(os.path.join(root, "input", "config", "inputdataconfig.json"),
                      json.dumps({"train": entry, "other": {"TrainingInputMode": "File"}}).encode())
        return root

    def program(self, root, says, *more):
        """Runs the program of a training job, which is the same in every mode. Returns its output."""
        done = self.sheaf("cat", "--channel", "train", "--channel-root", root, "--seed", 7,
                          "--epoch", 2, "--shuffle-buffer", 16, *more)
        first = done.stderr.decode().splitlines()[0]
        self.assertTrue(first.startswith("sheaf: channel train: "), first)
        self.assertIn(says, first)
        return done.stdout

    def in_directory(self, container, mode):
        root = self.root(TrainingInputMode=mode, S3DistributionType="FullyReplicated")
        shutil.copytree(os.path.join(self.shared, container),
                        os.path.join(root, "input", "data", "train"))
        return self.program(root, "(local, mode File)")

    def in_fuse(self, container):
        root = self.root(TrainingInputMode="FastFile")
        mount = os.path.join(self.folder, "bucket-" + container)
        with s3fs(self.server, self.bucket, mount):
            os.symlink(os.path.join(mount, container),
                       os.path.join(root, "input", "data", "train"))
            return self.program(root, "(FUSE, mode FastFile): read ahead, in large reads")

    def in_slow_directory(self, container):
        root = self.root(TrainingInputMode="File")
        mount = os.path.join(root, "input", "data", "train")
        with faultfs.mounted(os.path.join(self.shared, container), mount, latency=0.01):
            return self.program(root, "(FUSE, mode File)")

    def from_s3(self, container, *more):
        root = self.root(TrainingInputMode="File", DataSource={"S3DataSource": {
            "S3DataType": "S3Prefix", "S3Uri": self.url(container),
            "S3DataDistributionType": "FullyReplicated"}})
        return self.program(root, "read directly", *more)

    def from_manifest(self, container, *more):
        """Lists the objects of the data set in a manifest file."""
        names = sorted(os.listdir(os.path.join(self.shared, container)))
        self.client.put(self.bucket, container + ".manifest", json.dumps(
            [{"prefix": self.url(container + "/")}, *names]).encode())
        root = self.root(TrainingInputMode="FastFile", DataSource={"S3DataSource": {
            "S3DataType": "ManifestFile", "S3Uri": self.url(container + ".manifest")}})
        return self.program(root, "read directly", *more)

    def from_pipe(self, container, *more):
        root = self.root(TrainingInputMode="Pipe")
        shards = shards_of(os.path.join(self.shared, container))
        manifest = self.path("shards.manifest")
        with open(manifest, "w", encoding="ascii") as file:
            json.dump([{"prefix": self.url(container + "/")}, *shards], file)
        with subprocess.Popen([SHEAF, "pipe", manifest, os.path.join(root, "input", "data"),
                               "--channel", "train", "--epochs", "1"], env=self.env,
                              stdout=subprocess.DEVNULL) as feeder:
            found = self.program(root, "pipes ", *more)
            self.assertEqual(feeder.wait(timeout=60), 0)
        return found

    @staticmethod
    def samples(data, with_keys):
        """Returns the key and the fields of each sample of a tar, in order."""
        found = {}
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                folder, _, name = member.name.rpartition("/")
                stem, _, suffix = name.partition(".")
                found.setdefault(folder + "/" + stem, []).append(
                    (suffix, tar.extractfile(member).read()))
        return [(key if with_keys else "", sorted(fields)) for key, fields in found.items()]

    def test_every_mode(self):
        for container in CONTAINERS:
            with self.subTest(container):
                for name, data in self.local(os.path.join(self.shared, container)).items():
                    self.client.put(self.bucket, container + "/" + name, data)
                whole = self.in_directory(container, "File")
                self.assertEqual(len(self.samples(whole, True)), 60)
                self.assertEqual(self.in_fuse(container), whole)
                self.assertEqual(self.in_slow_directory(container), whole)
                self.assertEqual(self.from_s3(container), whole)
                self.assertEqual(self.from_manifest(container), whole)
                for _ in range(2):
                    self.assertEqual(self.from_s3(container, "--cache", self.path("cache")),
                                     whole)
                # RecordIO's keys are in files beside the shards, which a pipe does not have.
                with_keys = container != "recordio"
                self.assertEqual(sorted(self.samples(self.from_pipe(container), with_keys)),
                                 sorted(self.samples(whole, with_keys)))
                # The order is that of the program that writes the pipe.
                line = self.sheaf("cat", self.url(container), "--no-shuffle").stdout
                self.assertEqual(self.samples(self.from_pipe(container, "--no-shuffle"),
                                              with_keys), self.samples(line, with_keys))


class Lineage(support.Case):
    def test_lineage(self):
        """The lineage that a job records agrees with the samples that the reader returns."""
        make_tree(self.path("tree"), image_tree(2, 5))
        root = self.path("ml")
        folder = os.path.join(root, "input", "data", "train")
        os.makedirs(os.path.dirname(folder))
        pack(self.path("tree"), folder, "tfrecord")
        support.write(os.path.join(root, "input", "config", "inputdataconfig.json"),
                      b'{"train": {"TrainingInputMode": "File", "ShuffleConfig": {"Seed": 4}}}')
        support.write(os.path.join(root, "input", "config", "resourceconfig.json"),
                      b'{"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]}')
        info = json.loads(support.sheaf("info", folder, "--json").stdout)
        text = support.sheaf("info", "--channel", "train", "--channel-root", root, "--lineage",
                             "--seed", 7, "--epoch", 2).stdout.decode()
        self.assertEqual(text.count("\n"), 1)
        found = json.loads(text)
        self.assertEqual(found["fingerprint"], info["fingerprint"])
        self.assertEqual(found["source"], folder)
        self.assertEqual((found["container"], found["samples"], found["shards"]),
                         ("tfrecord", 10, 1))
        self.assertEqual(found["channel"], {
            "name": "train", "kind": "directory", "file_system": "local", "mode": "File",
            "distribution": None, "shuffle_seed": 4})
        self.assertEqual(found["order"], {
            "seed": 7, "epoch": 2, "shuffle": True, "shuffle_buffer": 10000, "lanes": 2,
            "rank": 1, "world_size": 2, "worker": 0, "workers": 1, "remainder": "pad"})

    def test_a_place_for_the_position_is_looked_for_first(self):
        make_tree(self.path("tree"), image_tree(1, 2))
        pack(self.path("tree"), self.path("set"))
        done = support.sheaf("cat", self.path("set"), "--save-position",
                             self.path("none", "position"), status=1)
        self.assertEqual(done.stdout, b"")
        self.assertIn("No such file", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
