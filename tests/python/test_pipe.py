# SPDX-License-Identifier: MIT
"""Pipe mode under sheaf.torch.DataLoader: one process of a host reads the pipe, whichever asks.  Needs
torch (Debian: python3-torch)."""

import json
import os
import socket
import subprocess
import sys
import threading
import unittest

import sheaf
from support import Case, pack, samples_of

try:
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

RANK = """
import json, sys
import sheaf, sheaf.torch
root, workers, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
loader = sheaf.torch.DataLoader(sheaf.Channel("train", root, 60), 8, workers, seed=3,
                                shuffle_buffer=50, decode=lambda s: s.key, collate_fn=list)
with open(out, "w", encoding="ascii") as file:
    json.dump([list(loader) for _ in range(2)], file)
"""


class PipeTest(Case):
    @classmethod
    def share(cls):
        cls.samples = samples_of(203)
        cls.keys = sorted(key for key, _, _ in cls.samples)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)

    def feed(self, root):
        """Two epochs, each a pipe that is made when the one before was read."""
        shards = sorted(name for name in os.listdir(self.set) if name.endswith(".tar"))
        for epoch in range(2):
            name = os.path.join(root, "input", "data", "train_%d" % epoch)
            os.mkfifo(name)
            with open(name, "wb") as pipe:
                for shard in shards:
                    with open(os.path.join(self.set, shard), "rb") as file:
                        pipe.write(file.read())

    def run_ranks(self, ranks, workers):
        """[rank][epoch][batch] of keys."""
        root = self.path("ml-%d-%d" % (ranks, workers))
        os.makedirs(os.path.join(root, "input", "data"))
        os.makedirs(os.path.join(root, "input", "config"))
        with open(os.path.join(root, "input", "config", "inputdataconfig.json"), "w",
                  encoding="ascii") as file:
            json.dump({"train": {"TrainingInputMode": "Pipe"}}, file)
        feeder = threading.Thread(target=self.feed, args=(root,))
        feeder.start()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        programs = [subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", RANK, root, str(workers),
             self.path("out-%d" % rank)], stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                     LOCAL_WORLD_SIZE=str(ranks), MASTER_PORT=port)) for rank in range(ranks)]
        read = []
        for rank, program in enumerate(programs):
            errors = program.communicate()[1]
            self.assertEqual(program.returncode, 0, errors)
            with open(self.path("out-%d" % rank), encoding="ascii") as file:
                read.append(json.load(file))
        feeder.join()
        return read

    def test_any_number_of_ranks_and_workers_share_it(self):
        (alone,) = self.run_ranks(1, 0)
        for epoch in range(2):
            self.assertEqual(sorted(sum(alone[epoch], [])), self.keys)
        for ranks, workers in ((1, 3), (2, 0), (2, 2), (3, 1)):
            read = self.run_ranks(ranks, workers)
            for epoch in range(2):      # they take batch after batch in turn
                for rank in range(ranks):
                    self.assertEqual(read[rank][epoch], alone[epoch][rank::ranks])

    def test_ranks_that_do_not_follow_one_another(self):
        with self.assertRaisesRegex(ValueError, "must follow one another"):
            from sheaf._member import local_rank_of
            os.environ.update(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
            self.addCleanup(os.environ.pop, "LOCAL_RANK")
            self.addCleanup(os.environ.pop, "LOCAL_WORLD_SIZE")
            local_rank_of(2, 4)


if __name__ == "__main__":
    unittest.main()
