# SPDX-License-Identifier: MIT
"""ShardedByS3Key: each host has some objects of a data set, and all hosts together read an epoch."""

import collections
import json
import os
import shutil
import signal
import subprocess
import unittest

import servers
import support
from order_reference import DROP, KEEP, PAD, epoch_order
from support import SHEAF, image_tree, make_tree, pack, shards_of, sheaf


def make_root(root, host, hosts):
    """Makes a platform's directory of one host, and returns the directory of the channel's data."""
    folder = os.path.join(root, "input", "config")
    support.write(os.path.join(folder, "inputdataconfig.json"), json.dumps(
        {"train": {"TrainingInputMode": "File", "S3DistributionType": "ShardedByS3Key"}}).encode())
    names = sorted("algo-%d" % (i + 1) for i in range(hosts))
    support.write(os.path.join(folder, "resourceconfig.json"), json.dumps(
        {"current_host": names[host], "hosts": names}).encode())
    return os.path.join(root, "input", "data", "train")


def of_channel(command, root, *more):
    return (command, "--channel", "train", "--channel-root", root, *more)


def give(folder, data, host, hosts, names=None):
    shutil.rmtree(data, ignore_errors=True)
    os.makedirs(data)
    for name in sorted(os.listdir(folder) if names is None else names)[host::hosts]:
        shutil.copy(os.path.join(folder, name), data)


class Hosts(support.Case):
    @classmethod
    def share(cls):
        make_tree(os.path.join(cls.shared, "tree"), image_tree(5, 40, size=3000))

    def set_of(self, container, *more, codec="none", shards=14):
        """Makes a data set and returns its directory."""
        folder = self.path("set-%s-%s-%d" % (container, codec, shards))
        pack(os.path.join(self.shared, "tree"), folder, container, codec, "--shard-count", shards,
             *more)
        return folder

    def deal(self, folder, hosts, names=None):
        """Makes the directories of all hosts, and divides all objects, or the given ones, among them as the platform
        does."""
        roots = []
        for host in range(hosts):
            root = self.path("%s-%d-%d" % (os.path.basename(folder), hosts, host))
            give(folder, make_root(root, host, hosts), host, hosts, names)
            roots.append(root)
        return roots

    @staticmethod
    def manifest(folder):
        return os.path.join(folder, "dataset.json")

    def list(self, root, folder, *more, **how):
        return sheaf(*of_channel("cat", root, "--list", "--manifest", self.manifest(folder),
                                 *more), **how).stdout.decode().splitlines()

    # ---- Every sample once ---------------------------------------------------------------------

    def test_every_sample_comes_once(self):
        """Each sample comes once, with its class, for every container, codec and number of hosts. Samples are
        repeated or left out only to give every host the same number."""
        for container, codec, numbers in (("webdataset", "none", (2, 3, 13)),
                                          ("tfrecord", "zstd", (3,)), ("recordio", "none", (2,)),
                                          ("webdataset", "gzip", (2,))):
            folder = self.set_of(container, codec=codec)
            every = sorted(support.listing(folder))
            for hosts in numbers:
                with self.subTest(container=container, codec=codec, hosts=hosts):
                    roots = self.deal(folder, hosts)
                    kept = [self.list(root, folder, "--remainder", "keep") for root in roots]
                    self.assertEqual(sorted(sum(kept, [])), every)
                    self.assertGreater(len({len(part) for part in kept}), 1)
                    padded = [self.list(root, folder) for root in roots]
                    dropped = [self.list(root, folder, "--remainder", "drop") for root in roots]
                    self.assertEqual({len(part) for part in padded}, {len(padded[0])})
                    self.assertEqual({len(part) for part in dropped}, {len(dropped[0])})
                    for own, more, less in zip(kept, padded, dropped):
                        self.assertEqual(set(more), set(own))
                        self.assertEqual(len(set(less)), len(less))
                        self.assertLessEqual(set(less), set(own))
                    self.assertLessEqual(max(map(len, kept)), len(padded[0]))
                    self.assertLessEqual(len(dropped[0]), min(map(len, kept)))

    def test_the_order_is_that_of_the_page(self):
        """The line of a host continues from its beginning, or ends early; also over local ranks."""
        folder = self.set_of("webdataset")
        counts = {shard["name"]: shard["samples"]
                  for shard in json.loads(support.read(self.manifest(folder)))["shards"]}
        hosts, sizes = 3, sorted(counts.values())
        plain = support.listing(folder, "--no-shuffle")
        starts = dict(zip(counts, (sum(list(counts.values())[:i]) for i in range(len(counts)))))
        for root in self.deal(folder, hosts):
            own = shards_of(os.path.join(root, "input", "data", "train"))
            lines = [line for name in own
                     for line in plain[starts[name]:starts[name] + counts[name]]]
            for world, lanes in ((1, 1), (2, 4)):
                length = {KEEP: None,
                          PAD: -(-sum(sizes[-(-len(sizes) // hosts) * -1:]) // lanes) * lanes,
                          DROP: sum(sizes[:len(sizes) // hosts]) // lanes * lanes}
                for remainder in (KEEP, PAD, DROP):
                    for rank in range(world):
                        expected = epoch_order([counts[name] for name in own], seed=5, epoch=2,
                                               buffer=16, lanes=lanes, remainder=remainder,
                                               rank=rank, world=world, length=length[remainder])
                        for memory in ("1GiB", "600kB"):
                            found = self.list(root, folder, "--seed", 5, "--epoch", 2,
                                              "--shuffle-buffer", 16, "--lanes", lanes,
                                              "--remainder", remainder, "--rank", rank,
                                              "--world-size", world, "--memory", memory)
                            self.assertEqual(found, [lines[n] for n in expected])

    def test_few_samples_come_many_times(self):
        """One shard is as large as all others together."""
        folder = self.path("set")
        os.makedirs(folder)
        for name, count in (("a", 90), ("b", 4)):
            images = image_tree(1, count, size=2000, magic=False)
            make_tree(self.path(name), {name + "/" + path: data for path, data in images.items()})
            pack(self.path(name), self.path(name + "-set"), "webdataset", "none", "--shard-count",
                 1)
            shutil.copy(self.path(name + "-set", "shard-000000.tar"),
                        os.path.join(folder, name + ".tar"))
        sheaf("index", folder)
        for codec in ("none", "zstd"):
            converted = self.path("set-" + codec)
            sheaf("convert", folder, converted, "--format", "tfrecord", "--codec", codec)
            for host, root in enumerate(self.deal(converted, 2, shards_of(converted))):
                for more in ((), ("--shuffle-buffer", 3), ("--memory", "700kB")):
                    found = collections.Counter(self.list(root, converted, *more))
                    self.assertEqual(sum(found.values()), 90, (host, codec, more))
                    self.assertEqual(len(found), (90, 4)[host])
                    # The repeated samples are distributed evenly.
                    self.assertLessEqual(max(found.values()) - min(found.values()), 1)

    # ---- Ranks ---------------------------------------------------------------------------------

    def test_ranks_of_all_hosts(self):
        """Two hosts with two processes each, as torchrun starts them."""
        folder = self.set_of("webdataset")
        roots, found = self.deal(folder, 2), []
        for rank in range(4):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE="4", LOCAL_RANK=str(rank % 2),
                       LOCAL_WORLD_SIZE="2")
            found.append(self.list(roots[rank // 2], folder, env=env))
        self.assertEqual({len(part) for part in found}, {len(found[0])})
        self.assertEqual(set(sum(found, [])), set(support.listing(folder)))
        env = dict(os.environ, RANK="1", WORLD_SIZE="4")
        done = sheaf(*of_channel("cat", roots[0], "--manifest", self.manifest(folder)), env=env,
                     status=None)
        self.assert_error(done, "a world of 4 on 2 hosts, but 1 process on this one")
        env = dict(os.environ, RANK="1", WORLD_SIZE="2")
        alone = self.list(roots[0], folder, "--remainder", "keep", env=env)
        self.assertEqual(sorted(alone), sorted(self.list(roots[0], folder, "--remainder", "keep")))

    def test_one_host_has_all(self):
        folder = self.set_of("webdataset")
        root, = self.deal(folder, 1)
        info = json.loads(sheaf(*of_channel("info", root, "--json")).stdout)
        self.assertEqual(info["fingerprint"],
                         json.loads(sheaf("info", folder, "--json").stdout)["fingerprint"])
        os.unlink(os.path.join(root, "input", "data", "train", "shard-000005.tar"))
        done = sheaf(*of_channel("cat", root), status=1)
        self.assert_error(done, "shard-000005.tar", "no other host")

    # ---- Resuming ------------------------------------------------------------------------------

    def test_each_host_resumes_at_its_own_position(self):
        folder = self.set_of("webdataset")
        for remainder in ("keep", "pad", "drop"):
            roots = self.deal(folder, 2)
            positions = []
            order = ("--seed", 9, "--shuffle-buffer", 30, "--lanes", 2, "--remainder", remainder)
            for host, root in enumerate(roots):
                whole = self.list(root, folder, *order)
                for stop in (0, 1, 37, len(whole) - 2, len(whole)):
                    position = self.path("position-%d" % host)
                    first = self.list(root, folder, *order, "--limit", stop, "--save-position",
                                      position) if stop else []
                    if stop:
                        rest = self.list(root, folder, "--resume-from", position)
                        self.assertEqual(first + rest, whole)
                positions.append(position)
            text = support.read(positions[0]).decode()
            self.assertIn(" host=0/2 ", text)
            done = sheaf(*of_channel("cat", roots[1], "--manifest", self.manifest(folder),
                                     "--resume-from", positions[0]), status=None)
            self.assert_error(done, "host 0 of 2", "this is host 1 of 2")
            give(folder, os.path.join(roots[1], "input", "data", "train"), 0, 2)
            done = sheaf(*of_channel("cat", roots[1], "--manifest", self.manifest(folder),
                                     "--resume-from", positions[1]), status=None)
            self.assert_error(done, "host 1 of 2 with other shards")
            for root in roots:
                shutil.rmtree(root)

    # ---- Refused ---------------------------------------------------------------------------------

    def refused(self, root, *words, more=()):
        done = sheaf(*of_channel("cat", root, "--list", *more), status=None)
        self.assertEqual(done.stdout, b"")
        self.assert_error(done, *words)

    def test_what_is_refused(self):
        folder = self.set_of("webdataset")
        roots = self.deal(folder, 3)
        data = [os.path.join(root, "input", "data", "train") for root in roots]
        with self.subTest("the manifest, or the index, is with another host"):
            owners = [os.path.exists(os.path.join(d, "dataset.json")) for d in data]
            self.assertEqual(sum(owners), 1)
            for root, owner in zip(roots, owners):
                if owner:
                    self.refused(root, "dataset.index: not found")
                else:
                    self.refused(root, "no dataset.json", "--manifest")
        more = ("--manifest", self.manifest(folder))
        with self.subTest("a shard of another data set"):
            alien = os.path.join(data[0], "alien.tar")
            shutil.copy(os.path.join(folder, "shard-000000.tar"), alien)
            self.refused(roots[0], "alien.tar: not a shard of the data set", more=more)
            os.unlink(alien)
        with self.subTest("nothing is here"):
            empty = self.path("empty")
            os.makedirs(make_root(empty, 2, 3))
            self.refused(empty, "none of the 14 shards", "host 2 of 3", more=more)
        with self.subTest("more shards than each can have"):
            full = self.path("full")
            shutil.copytree(folder, make_root(full, 1, 3))
            self.refused(full, "host 1 of 3 has 14 of 14 shards", "FullyReplicated", more=more)
            self.assertEqual(len(self.list(full, folder, "--remainder", "keep")), 200)
        with self.subTest("fewer than each has"):
            for name in shards_of(data[2])[1:]:
                os.unlink(os.path.join(data[2], name))
            self.refused(roots[2], "host 2 of 3 has 1 of 14 shards", "at least",
                         more=(*more, "--remainder", "drop"))
        with self.subTest("the hosts are not known"):
            os.unlink(os.path.join(roots[1], "input", "config", "resourceconfig.json"))
            self.refused(roots[1], "nothing lists the hosts", more=more)
        with self.subTest("a manifest where all is here"):
            done = sheaf("cat", folder, *more, status=2)
            self.assert_error(done, "--manifest require --channel")
            support.write(os.path.join(roots[0], "input", "config", "inputdataconfig.json"),
                          b'{"train": {"TrainingInputMode": "File"}}')
            self.refused(roots[0], "ShardedByS3Key", more=more)

    def test_damage_is_seen(self):
        """Every sample is checked against the index, which is in another place."""
        folder = self.set_of("webdataset")
        root = self.deal(folder, 2)[0]
        data = os.path.join(root, "input", "data", "train")
        path = os.path.join(data, shards_of(data)[2])
        content = support.read(path)
        at = content.index(b"\xff\xd9") - 5         # inside an image
        support.write(path, support.flip(content, at))
        done = sheaf(*of_channel("cat", root, "--manifest", self.manifest(folder)), status=1)
        self.assert_error(done, os.path.basename(path), "CRC")
        done = sheaf(*of_channel("cat", root, "--manifest", self.manifest(folder), "--on-corrupt",
                                 "skip", "--list"), status=None)
        self.assertIn(b"1 corrupt", done.stderr)
        support.write(path, content[:-2000])
        done = sheaf(*of_channel("cat", root, "--manifest", self.manifest(folder)), status=1)
        self.assert_error(done, os.path.basename(path), "expected")

    def test_keys_are_not_found_in_a_part(self):
        """Numbers and places count only the samples of the host."""
        folder = self.set_of("webdataset")
        root = self.deal(folder, 2)[1]
        info = json.loads(sheaf(*of_channel("info", root, "--json", "--manifest",
                                            self.manifest(folder))).stdout)
        self.assertEqual(info["host"], {"host": 1, "hosts": 2, "shards": 14})
        text = sheaf(*of_channel("info", root, "--manifest", self.manifest(folder))).stdout
        self.assertIn(b"host          1 of 2, with 7 of 14 shards\n", text)

    def test_killed(self):
        """SIGTERM saves the position of this host, and another run continues there."""
        folder = self.set_of("webdataset")
        root = self.deal(folder, 2)[0]
        position = self.path("position")
        words = of_channel("cat", root, "--list", "--manifest", self.manifest(folder), "--seed",
                           "4")
        whole = sheaf(*words).stdout
        with subprocess.Popen([SHEAF, *words, "--save-position", position, "--limit", "50"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
            first = cat.stdout.read(300)
            cat.send_signal(signal.SIGTERM)
            first += cat.stdout.read()
        rest = sheaf(*words[:8], "--resume-from", position).stdout
        self.assertEqual(first + rest, whole)


class FromS3(servers.S3Case):
    def test_manifest_and_lists_in_s3(self):
        """The manifest is in S3 at the job's prefix, and RecordIO's keys are in files beside it."""
        for container in ("webdataset", "recordio"):
            make_tree(self.path("tree"), image_tree(3, 20, size=3000))
            folder = self.path("set-" + container)
            pack(self.path("tree"), folder, container, "none", "--shard-count", 5)
            self.client.put_tree(self.bucket, container + "/", support.tree_of(folder))
            found = []
            for host in range(2):
                root = self.path("%s-%d" % (container, host))
                self.sheaf("fetch", self.url(container), make_root(root, host, 2),
                           "--distribution", "sharded", "--host", host, "--hosts", 2)
                for more in ((), ("--cache", self.path("cache"))):
                    lines = self.sheaf(*of_channel(
                        "cat", root, "--list", "--remainder", "keep", "--manifest",
                        self.url(container + "/dataset.json"), *more)).stdout.decode().splitlines()
                found += lines
            self.assertEqual(sorted(found), sorted(support.listing(folder)))


if __name__ == "__main__":
    unittest.main()
