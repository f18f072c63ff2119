# SPDX-License-Identifier: MIT
"""Tests packing and unpacking in each container and codec. The result must be the same tree. The bytes must not depend
on the number of jobs, and the division of the samples into shards must not depend on the container."""

import gzip
import os
import subprocess
import tarfile

import decoders
import libsheaf
from support import (CODECS, CONTAINERS, SUFFIX, Case, expected_samples, image_tree, listing,
                     make_tree, pack, read, sheaf, shards_of, tree_of)

# Shards of several blocks of 4 MiB each, the last of them short.
OPTIONS = ("--shard-size", "6MB", "--seed", 42)


def files():
    """Returns about 12 MB of files: small images of all kinds, and a few much larger files."""
    tree = image_tree(classes=5, images=25, size=150000)
    for number, size in ((1, 3000000), (2, 1500000), (3, 0)):
        tree["003.coin/large_%d.bin" % number] = bytes(range(256)) * (size // 256)
    return tree


class RoundTrip(Case):
    @classmethod
    def share(cls):
        cls.files = files()
        cls.source = make_tree(os.path.join(cls.shared, "source"), cls.files)
        cls.samples = expected_samples(cls.files)
        cls.data_sets = {}
        for container in CONTAINERS:
            for codec in CODECS:
                dest = os.path.join(cls.shared, container + "-" + codec)
                pack(cls.source, dest, container, codec, *OPTIONS, "--jobs", 2)
                cls.data_sets[container, codec] = dest

    def each(self, check):
        """Calls check(container, codec, folder) for each data set."""
        for (container, codec), folder in self.data_sets.items():
            with self.subTest(container=container, codec=codec):
                check(container, codec, folder)

    def test_unpack_gives_the_tree_back(self):
        def check(container, codec, folder):
            out = self.path(container + codec)
            sheaf("unpack", folder, out)
            subprocess.run(["diff", "-r", self.source, out], check=True)
        self.each(check)

    def test_bytes_do_not_depend_on_jobs(self):
        def check(container, codec, folder):
            whole = tree_of(folder)
            for jobs in (1, 8):
                dest = self.path("%s%s%d" % (container, codec, jobs))
                pack(self.source, dest, container, codec, *OPTIONS, "--jobs", jobs)
                self.assertTrue(tree_of(dest) == whole, "jobs %d: other bytes" % jobs)
        self.each(check)

    def test_bytes_do_not_depend_on_place_time_or_creation_order(self):
        other = self.path("elsewhere")
        make_tree(other, dict(reversed(self.files.items())))
        for folder, _, names in os.walk(other):
            for name in names:
                os.utime(os.path.join(folder, name), (1, 1))
        pack(other, self.path("out"), "webdataset", "none", *OPTIONS, cwd=self.folder)
        self.assertTrue(tree_of(self.path("out")) ==
                        tree_of(self.data_sets["webdataset", "none"]), "other bytes")

    def test_names_of_shards(self):
        def check(container, codec, folder):
            shards = shards_of(folder)
            self.assertGreater(len(shards), 1)
            self.assertEqual(shards, ["shard-%06d%s%s" % (i, SUFFIX[container], SUFFIX[codec])
                                      for i in range(len(shards))])
        self.each(check)

    def test_independent_decoders_agree_on_every_record(self):
        def check(container, codec, folder):
            data_set = decoders.DataSet(folder)
            data_set.check(records=codec == "none")
            found = {}
            for sample in data_set.samples():
                self.assertNotIn(sample.key, found)
                found[sample.key] = sample
            self.assertEqual(sorted(found), sorted(self.samples))
            for key, fields in self.samples.items():
                self.assertEqual(sorted(found[key].fields), sorted(fields), key)
                for suffix, data in fields.items():
                    self.assertTrue(found[key].fields[suffix] == data, (key, suffix))
                self.assertEqual(found[key].labels, [float(key[:3]) - 1], key)
        self.each(check)

    def test_classes_are_in_the_manifest(self):
        def check(container, codec, folder):
            self.assertEqual(decoders.DataSet(folder).classes,
                             sorted({key.split("/")[0] for key in self.samples}))
        self.each(check)

    def test_same_samples_in_same_shards(self):
        orders = {name: [[s.key for s in shard] for shard in decoders.DataSet(path).shards()]
                  for name, path in self.data_sets.items()}
        first = orders["webdataset", "none"]
        for name, order in orders.items():
            self.assertEqual(order, first, name)
        self.assertNotEqual(sum(first, []), sorted(self.samples), "not shuffled")

    def test_same_listing_from_every_container(self):
        options = ("--seed", 9, "--epoch", 2, "--shuffle-buffer", 20)
        first = listing(self.data_sets["webdataset", "none"], *options)

        def check(container, codec, folder):
            self.assertEqual(listing(folder, *options), first)
        self.each(check)
        self.assertEqual(len(first), len(self.samples))

    def test_listing_has_key_label_and_fields(self):
        lines = listing(self.data_sets["tfrecord", "none"], "--no-shuffle")
        for line in lines:
            key, label, *fields = line.split("\t")
            self.assertEqual(label, str(int(key[:3]) - 1))
            self.assertEqual(sorted(fields), sorted("%s:%d" % (suffix.lower(), len(data))
                                                    for suffix, data in
                                                    self.samples[key].items()))

    def test_uncompressed_content_is_the_same(self):
        for container in CONTAINERS:
            plain = self.data_sets[container, "none"]
            for codec in CODECS[1:]:
                folder = self.data_sets[container, codec]
                for shard in shards_of(plain):
                    self.assertTrue(read(os.path.join(plain, shard)) == decoders.decompress(
                        read(os.path.join(folder, shard + SUFFIX[codec])), codec), shard)

    def test_the_codecs_own_tools_accept_the_shards(self):
        for codec in CODECS[1:]:
            for container in CONTAINERS:
                folder = self.data_sets[container, codec]
                for shard in shards_of(folder):
                    subprocess.run([codec, "-t", "-q", os.path.join(folder, shard)], check=True)

    def test_tar_programs_list_the_shards(self):
        paths = sorted(self.files)
        for codec in CODECS:
            folder = self.data_sets["webdataset", codec]
            for program in (["tar", "-t", "-f"], ["bsdtar", "-t", "-f"]):
                names = []
                for shard in shards_of(folder):
                    data = decoders.decompress(read(os.path.join(folder, shard)), codec)
                    done = subprocess.run(program + ["-"], input=data, check=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    self.assertEqual(done.stderr, b"")
                    names += done.stdout.decode().splitlines()
                self.assertEqual(sorted(n for n in names if not n.endswith(".cls")), paths)

    def test_verify_finds_nothing(self):
        def check(container, codec, folder):
            sheaf("verify", folder)
        self.each(check)

    def test_readers_that_stop_after_the_first_member_get_all(self):
        """A shard of several blocks is a single gzip member. webdataset must read it with tarfile."""
        folder, expected = self.data_sets["webdataset", "gzip"], set(self.files)
        found = set()
        for shard in shards_of(folder):
            path = os.path.join(folder, shard)
            with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r|gz") as members:
                for member in members:
                    data = members.extractfile(member).read()
                    if member.name in self.files:
                        self.assertTrue(data == self.files[member.name], member.name)
                        found.add(member.name)
            plain = os.path.join(self.data_sets["webdataset", "none"], shard[:-len(".gz")])
            self.assertTrue(gzip.decompress(read(path)) == read(plain), shard)
            self.assertTrue(subprocess.run(["zcat", path], check=True, stdout=subprocess.PIPE)
                            .stdout == read(plain), shard)
        self.assertEqual(found, expected)

    def test_blocks_are_unpacked_in_parallel(self):
        def check(container, codec, folder):
            first = libsheaf.samples(folder, no_shuffle=1, threads=1)
            self.assertEqual(libsheaf.samples(folder, no_shuffle=1, threads=8), first)
            if codec != "none":
                blocks = [len(s.blocks) for s in decoders.DataSet(folder).sections]
                self.assertGreater(max(blocks), 1)
        self.each(check)
