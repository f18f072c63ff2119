# SPDX-License-Identifier: MIT
"""ShardedByS3Key from Python: each host has some shards, and all ranks of all hosts together read each
sample once, in equally many steps."""

import collections
import json
import os
import pickle
import shutil
import socket
import unittest
from unittest import mock

import sheaf
from programs import Program
from sheaf import _member
from support import Case, flip, samples_of

try:
    import torch
    import sheaf.torch
except ImportError:
    torch = None

CLASSES = ["class %d" % i for i in range(7)]
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_", "OMPI_", "SLURM_", "SM_")

RANK = """
import json, sys
import torch, torch.distributed
import sheaf.torch

torch.distributed.init_process_group("gloo")
channel = sheaf.Channel("train", sys.argv[1], manifest=sys.argv[2])
loader = sheaf.torch.DataLoader(channel, 8, int(sys.argv[4]), seed=3, shuffle_buffer=50,
                                decode=lambda s: (s.key, s.repeated), collate_fn=list)
read = []
for batch in loader:
    torch.distributed.all_reduce(torch.ones(1))     # a rank with fewer batches would hang here
    read += batch
torch.distributed.barrier()
with open(sys.argv[3], "w", encoding="ascii") as file:
    json.dump(read, file)
"""


def key_of(sample):
    return sample.key, sample.repeated


class HostCase(Case):
    @classmethod
    def share(cls):
        """15 shards of 1 to 29 samples."""
        cls.set = os.path.join(cls.shared, "set")
        cls.every = samples_of(225)
        with sheaf.Packer(cls.set, classes=CLASSES) as packer:
            samples = iter(cls.every)
            for shard in range(15):
                packer.cut()
                for _ in range(1 + 2 * (shard * 4 % 15)):
                    key, fields, label = next(samples)
                    packer.append(key, fields, labels=label)
        cls.manifest = os.path.join(cls.set, "dataset.json")

    def setUp(self):
        super().setUp()
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in list(os.environ):
            if name.startswith(VARIABLES):
                del os.environ[name]

    def channels(self, hosts, manifest=None):
        """Those of all hosts."""
        found = []
        for host in range(hosts):
            root = self.path("%d-%d" % (hosts, host))
            config = os.path.join(root, "input", "config")
            data = os.path.join(root, "input", "data", "train")
            shutil.rmtree(root, ignore_errors=True)
            os.makedirs(config)
            os.makedirs(data)
            names = ["algo-%02d" % i for i in range(hosts)]
            for name, content in (
                    ("resourceconfig.json", {"current_host": names[host], "hosts": names}),
                    ("inputdataconfig.json", {"train": {
                        "TrainingInputMode": "File", "S3DistributionType": "ShardedByS3Key"}})):
                with open(os.path.join(config, name), "w", encoding="ascii") as file:
                    json.dump(content, file)
            for name in sorted(os.listdir(self.set))[host::hosts]:
                shutil.copy(os.path.join(self.set, name), data)
            found.append(sheaf.Channel("train", root, manifest=manifest or self.manifest))
        return found


class Parts(HostCase):
    def test_a_host_has_its_part(self):
        channels = self.channels(3)
        parts = [sheaf.Dataset(channel) for channel in channels]
        self.assertEqual(sum(len(part) for part in parts), 225)
        seen = {}
        for host, part in enumerate(parts):
            self.assertEqual((part.host, part.world, part.classes), ((host, 3), (0, 1), CLASSES))
            again = pickle.loads(pickle.dumps(part))
            self.assertEqual(again.fingerprint, part.fingerprint)
            self.assertEqual(sheaf.verify(channels[host]).problems, [])
            for sample in part[:]:
                seen[sample.key] = (dict(sample.to_bytes()), sample.label, sample.class_name)
            with self.assertRaisesRegex(sheaf.UnsupportedError, "cannot be found by key"):
                part["c0/00000"]                # pylint: disable=pointless-statement
        self.assertEqual(seen, {key: (fields, label, CLASSES[label])
                                for key, fields, label in self.every})
        self.assertEqual(len({part.fingerprint for part in parts}), 3)
        self.assertIsNone(sheaf.Dataset(self.set).host)

    def test_a_reader_marks_what_comes_again(self):
        for hosts in (2, 3, 13):
            lengths, own = set(), collections.Counter()
            for channel in self.channels(hosts):
                reader = sheaf.Reader(channel, seed=1, shuffle_buffer=20)
                samples = [key_of(sample) for sample in reader]
                lengths.add((len(samples), len(reader)))
                own.update(key for key, repeated in samples if not repeated)
                self.assertEqual(reader.stats().repeated, sum(mark for _, mark in samples))
            self.assertEqual(len(lengths), 1)
            self.assertEqual(own, collections.Counter(key for key, _, _ in self.every))

    def test_damage(self):
        channel = self.channels(2)[0]
        data = os.path.join(channel.root, "input", "data", "train")
        name = [name for name in sorted(os.listdir(data)) if name.endswith(".tar")][1]
        flip(os.path.join(data, name), 512 + 3)
        self.assertNotEqual(sheaf.verify(channel).problems, [])
        with self.assertRaisesRegex(sheaf.CorruptError, name):
            list(sheaf.Reader(channel))

    def test_no_manifest(self):
        for channel in self.channels(3):
            with self.assertRaisesRegex(sheaf.NotFoundError, "dataset.json|dataset.index"):
                sheaf.Dataset(channel._replace(manifest=None))


@unittest.skipIf(torch is None, "no PyTorch here")
class Loaders(HostCase):
    def loader(self, channel, workers=0, **options):
        options.setdefault("seed", 5)
        return sheaf.torch.DataLoader(channel, 8, workers, shuffle_buffer=20, decode=key_of,
                                      collate_fn=list, **options)

    def test_every_sample_once(self):
        """In the same batches with workers and without, and equally many on every host."""
        for hosts in (2, 3, 13):
            for remainder in ("auto", "drop", "keep"):
                lengths, own = set(), collections.Counter()
                for host, channel in enumerate(self.channels(hosts)):
                    loader = self.loader(channel, remainder=remainder)
                    batches = list(loader)
                    self.assertEqual(len(batches), len(loader))
                    lengths.add(tuple(map(len, batches)))
                    own.update(key for batch in batches for key, again in batch if not again)
                    if host == 0 and hosts == 3:
                        loader.close()
                        loader = self.loader(channel, 2, remainder=remainder)
                        self.assertEqual(list(loader), batches)
                    loader.close()
                self.assertEqual(len(lengths) == 1, remainder != "keep")
                self.assertLessEqual(max(own.values()), 1)
                if remainder != "drop":
                    self.assertEqual(sum(own.values()), 225)

    def test_ranks_of_hosts(self):
        """Two hosts with two ranks each, who wait for each other at every step."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        script, out, ranks = self.path("rank.py"), [], []
        with open(script, "w", encoding="ascii") as file:
            file.write(RANK)
        for rank, channel in enumerate(self.channels(2) * 2):
            host, local = rank % 2, rank // 2
            out.append(self.path("out-%d" % rank))
            ranks.append(Program(
                script, channel.root, self.manifest, out[-1], str(local),
                env=dict(os.environ, RANK=str(2 * host + local), WORLD_SIZE="4",
                         LOCAL_RANK=str(local), LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                         MASTER_PORT=port)))
        try:
            for rank in ranks:
                errors = rank.communicate()[1]
                self.assertEqual(rank.returncode, 0, errors)
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        read = [json.load(open(path, encoding="ascii")) for path in out]
        self.assertEqual(len({len(part) for part in read}), 1)
        self.assertEqual(sorted(key for part in read for key, again in part if not again),
                         sorted(key for key, _, _ in self.every))

    def test_a_state_is_that_of_its_host(self):
        channels = self.channels(3)
        for remainder in ("pad", "drop", "keep"):
            whole = list(self.loader(channels[1], remainder=remainder))
            for stop in (1, len(whole) // 2, len(whole) - 1):
                loader = self.loader(channels[1], remainder=remainder)
                passing = iter(loader)
                first = [next(passing) for _ in range(stop)]
                state = json.loads(json.dumps(loader.state_dict()))
                self.assertEqual(state["host"], [1, 3])
                loader.close()
                again = self.loader(channels[1], 2, remainder=remainder)
                again.load_state_dict(state)
                self.assertEqual(first + list(again), whole)
                again.close()
                other = self.loader(channels[2], remainder=remainder)
                with self.assertRaisesRegex(sheaf.ChangedError, "host 1 of 3.* this is host 2 of 3"):
                    other.load_state_dict(state)
        self.assertNotIn("host", self.loader(self.set).state_dict())

    def test_what_is_refused(self):
        channel = self.channels(3)[0]
        for name in os.listdir(self.set):
            shutil.copy(os.path.join(self.set, name),
                        os.path.join(channel.root, "input", "data", "train"))
        with self.assertRaisesRegex(sheaf.UnsupportedError, "has 15 of 15 shards"):
            len(self.loader(channel))
        self.assertEqual(sum(map(len, self.loader(channel, remainder="keep"))), 225)
        channel = self.channels(2)[0]
        with mock.patch.object(_member, "_distributed", lambda: (1, 4)):
            with self.assertRaisesRegex(ValueError, "torch.distributed has 4, expected 2 or 1"):
                self.loader(channel)
            with self.assertRaisesRegex(ValueError, "LOCAL_WORLD_SIZE"):
                self.loader(channel, rank=3, world_size=4)
            self.loader(channel, rank=1, world_size=2)

    def test_pipes(self):
        """The counts of other hosts are not known, and so not those of this one."""
        channel = self.channels(2)[0]._replace(manifest=None)
        data = os.path.join(channel.root, "input", "data")
        shutil.rmtree(os.path.join(data, "train"))
        os.mkfifo(os.path.join(data, "train_0"))
        with self.assertRaisesRegex(ValueError, "only remainder=\"keep\" is possible"):
            self.loader(channel)
        self.loader(channel, remainder="keep")


if __name__ == "__main__":
    unittest.main()
