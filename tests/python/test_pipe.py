# SPDX-License-Identifier: MIT
"""Pipe mode under sheaf.torch.DataLoader: one process of a host reads the pipe, whichever asks, and an
epoch is one pipe for all ranks of the host.  Needs torch (Debian: python3-torch)."""

import json
import os
import socket
import threading
import unittest

import sheaf
from programs import Program
from support import Case, pack, samples_of

try:
    import sheaf.torch
except ImportError as error:
    raise unittest.SkipTest("no torch: %s" % error)

# The passes of a rank: batches until it breaks one off, None for all; the epoch, None for the next.
RANK = """
import json, os, sys, time
import sheaf, sheaf._rank, sheaf._served, sheaf.torch
root, out, plan = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sheaf._rank.PATIENCE_SECONDS = sheaf._served.PATIENCE_SECONDS = 0.5
while "after" in plan and not os.path.exists(plan["after"]):
    time.sleep(0.05)
loader = sheaf.torch.DataLoader(sheaf.Channel("train", root, plan.get("wait", 100)), 8,
                                plan.get("workers", 0), seed=3, shuffle_buffer=50,
                                decode=lambda s: s.key, collate_fn=list)
read, error = [], None
try:
    for stop, epoch in plan["passes"]:
        if epoch is not None:
            loader.set_epoch(epoch)
        read.append([])
        for batch in loader:
            read[-1].append(batch)
            if len(read[-1]) == stop:
                break
    while "stays" in plan and not os.path.exists(plan["stays"]):
        time.sleep(0.05)
    if plan.get("asks"):                # behind the end, and before it
        number, reader = loader.sampler.latest.number, loader.dataset.reader
        read.append(reader.get(number, 1000, 8))
        reader.get(number, 0, 8)
except sheaf.StateError as raised:
    error = str(raised)
with open(out, "w", encoding="ascii") as file:
    json.dump([read, error], file)
"""

EPOCH = [None, None]


class PipeTest(Case):
    read_alone = None

    @classmethod
    def share(cls):
        cls.samples = samples_of(203)
        cls.keys = sorted(key for key, _, _ in cls.samples)
        cls.set = pack(os.path.join(cls.shared, "set"), cls.samples)

    def setUp(self):
        super().setUp()
        self.pipes, self.runs = [], 0

    # ---- Feeding ------------------------------------------------------------------------------

    def feed(self, root, epochs, pipes, is_over):
        """Epochs, each a pipe that is made when the one before was read."""
        shards = sorted(name for name in os.listdir(self.set) if name.endswith(".tar"))
        for epoch in range(epochs):
            name = os.path.join(root, "input", "data", "train_%d" % epoch)
            os.mkfifo(name)
            pipes.append(name)
            try:
                with open(name, "wb") as pipe:
                    for shard in shards:
                        with open(os.path.join(self.set, shard), "rb") as file:
                            pipe.write(file.read())
            except BrokenPipeError:
                pass                    # a reader that breaks off
            if is_over.is_set():
                return

    def begin_feeding(self, epochs):
        """The root of a channel "train" in Pipe mode."""
        root = self.path("ml-%d" % self.runs)
        os.makedirs(os.path.join(root, "input", "data"))
        os.makedirs(os.path.join(root, "input", "config"))
        with open(os.path.join(root, "input", "config", "inputdataconfig.json"), "w",
                  encoding="ascii") as file:
            json.dump({"train": {"TrainingInputMode": "Pipe"}}, file)
        is_over, pipes = threading.Event(), []
        feeder = threading.Thread(target=self.feed, args=(root, epochs, pipes, is_over))

        def end():
            is_over.set()
            while feeder.is_alive():    # a pipe that nobody has read: let it go
                for name in pipes[-1:]:
                    os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK))
                feeder.join(0.05)

        feeder.start()
        self.addCleanup(end)
        self.pipes = pipes
        return root

    # ---- Ranks --------------------------------------------------------------------------------

    def begin(self, plans, epochs, are_known=True):
        """A program for each plan."""
        self.runs += 1
        root = self.begin_feeding(epochs)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        programs = []
        with open(self.path("rank.py"), "w", encoding="ascii") as file:
            file.write(RANK)
        for rank, plan in enumerate(plans):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(len(plans)), MASTER_PORT=port)
            if are_known:
                env.update(LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(len(plans)))
            program = Program(self.path("rank.py"), root, self.out(rank), json.dumps(plan), env=env)
            self.addCleanup(program.stderr.close)
            self.addCleanup(program.wait)
            self.addCleanup(program.kill)
            programs.append(program)
        return programs

    def out(self, rank):
        return self.path("out-%d-%d" % (self.runs, rank))

    def end(self, rank, program):
        """What it has read, the error that it had, and what it wrote to standard error."""
        told = program.communicate(timeout=300)[1]
        self.assertEqual(program.returncode, 0, told)
        with open(self.out(rank), encoding="ascii") as file:
            read, error = json.load(file)
        return read, error, told

    def run_ranks(self, plans, epochs=2, are_known=True):
        programs = self.begin(plans, epochs, are_known)
        return [self.end(rank, program) for rank, program in enumerate(programs)]

    def alone(self):
        """[epoch][batch] of keys, as one rank reads them without workers."""
        if self.read_alone is None:
            ((read, error, _),) = self.run_ranks([{"passes": [EPOCH] * 2}])
            self.assertIsNone(error)
            for epoch in read:
                self.assertEqual(sorted(sum(epoch, [])), self.keys)
            type(self).read_alone = read
        return self.read_alone

    # ---- An epoch is one pipe -----------------------------------------------------------------

    def test_any_number_of_ranks_and_workers_share_it(self):
        alone = self.alone()
        for ranks, workers in ((1, 3), (2, 0), (2, 2), (3, 1)):
            read = self.run_ranks([{"passes": [EPOCH] * 2, "workers": workers}] * ranks)
            for epoch in range(2):      # they take batch after batch in turn
                for rank in range(ranks):
                    self.assertEqual(read[rank][0][epoch], alone[epoch][rank::ranks])

    def test_a_rank_that_breaks_off_takes_nothing_from_the_others(self):
        """Whichever it is; the epoch that it begins then is the others' next one."""
        alone = self.alone()
        for breaks, workers in ((0, 0), (1, 2), (2, 1)):
            plans = [{"passes": [[2, None] if rank == breaks else EPOCH, EPOCH],
                      "workers": workers} for rank in range(3)]
            for rank, (read, error, _) in enumerate(self.run_ranks(plans)):
                self.assertIsNone(error)
                stop = 2 if rank == breaks else None
                self.assertEqual(read, [alone[0][rank::3][:stop], alone[1][rank::3]])

    def test_ranks_that_all_break_off(self):
        alone = self.alone()
        plans = [{"passes": [[3, None], EPOCH], "workers": workers} for workers in (0, 2)]
        for rank, (read, error, _) in enumerate(self.run_ranks(plans)):
            self.assertIsNone(error)
            self.assertEqual(read, [alone[0][rank::2][:3], alone[1][rank::2]])

    def test_ranks_that_do_not_agree_are_told(self):
        plans = [{"passes": [EPOCH]}, {"passes": [[None, 4]], "workers": 1}]
        plans[0]["wait"] = 2            # the other one does not come to this epoch
        first, second = self.run_ranks(plans, 1)
        self.assertRegex(second[1], "must be at the same place")
        self.assertRegex(first[1], "1 of the 2 ranks of this host")

    def test_ranks_that_do_not_know_of_each_other(self):
        """Without what says that they are on one host, the second would take the next epoch."""
        marks = self.path("read"), self.path("ended")
        programs = self.begin([{"passes": [EPOCH], "stays": marks[1]},
                               {"passes": [EPOCH], "after": marks[0]}], 2, are_known=False)
        while len(self.pipes) < 2:      # one was read to its end
            self.assertIsNone(programs[0].poll())
            threading.Event().wait(0.05)
        with open(marks[0], "w", encoding="ascii"):
            pass
        read, error, _ = self.end(1, programs[1])
        self.assertEqual(read, [[]])
        self.assertRegex(error, "another process of this host reads the pipe .*LOCAL_RANK")
        with open(marks[1], "w", encoding="ascii"):
            pass
        self.end(0, programs[0])

    # ---- Waiting ------------------------------------------------------------------------------

    def test_behind_the_end_nobody_is_needed(self):
        mark = self.path("gone")
        programs = self.begin([{"passes": [EPOCH]}, {"passes": [EPOCH], "stays": mark,
                                                 "asks": True}], 1)
        read, error, _ = self.end(0, programs[0])
        self.assertIsNone(error)
        with open(mark, "w", encoding="ascii"):
            pass
        read, error, _ = self.end(1, programs[1])
        self.assertEqual(read[1], [None, 203])
        self.assertRegex(error, "the first rank of this host, which reads the pipe .*, has ended")

    def test_who_goes_on_alone_is_told(self):
        """The first rank has one epoch, the second wants another one."""
        for workers in (0, 2):
            _, (read, error, _) = self.run_ranks(
                [{"passes": [EPOCH], "workers": workers},
                 {"passes": [EPOCH] * 2, "workers": workers}])
            self.assertEqual([len(batches) for batches in read], [13, 0])
            self.assertRegex(error, "the first rank of this host, which reads the pipe")

    def test_a_rank_that_is_late_is_waited_for_and_that_is_told(self):
        alone = self.alone()
        for late in range(2):
            mark = self.path("late-%d" % late)
            plans = [{"passes": [EPOCH]}, {"passes": [EPOCH]}]
            plans[late]["after"] = mark
            programs = self.begin(plans, 1)
            line = programs[1 - late].stderr.readline()
            if "reads only its part of the samples" in line:        # this is said first
                line = programs[1 - late].stderr.readline()
            self.assertRegex(line, "rank 1 waits for the first rank of this host" if late == 0 else
                             "waiting for the (pipe .*, or the ranks|other ranks) of this host")
            with open(mark, "w", encoding="ascii"):
                pass
            for rank, program in enumerate(programs):
                read, error, told = self.end(rank, program)
                self.assertIsNone(error)
                self.assertEqual(read, [alone[0][rank::2]])
                self.assertNotIn(line, told)    # it was said once

    def test_a_rank_that_does_not_come_is_not_waited_for_for_ever(self):
        mark = self.path("never")
        for absent in range(2):
            plans = [{"passes": [EPOCH], "wait": 1}, {"passes": [EPOCH], "wait": 1}]
            plans[absent]["after"] = mark
            programs = self.begin(plans, 1)
            _, error, _ = self.end(1 - absent, programs[1 - absent])
            self.assertRegex(error, "1 of the 2 ranks of this host" if absent == 1 else
                             "the first rank of this host, which reads the pipe")

    def test_ranks_that_do_not_follow_one_another(self):
        with self.assertRaisesRegex(ValueError, "must follow one another"):
            from sheaf._member import local_rank_of
            os.environ.update(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
            self.addCleanup(os.environ.pop, "LOCAL_RANK")
            self.addCleanup(os.environ.pop, "LOCAL_WORLD_SIZE")
            local_rank_of(2, 4)


if __name__ == "__main__":
    unittest.main()
