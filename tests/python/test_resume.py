# SPDX-License-Identifier: MIT
"""States of sheaf.torch.DataLoader: what stops after any batch goes on with exactly the rest, with
other workers and in another world."""

import json
import os
import socket
import unittest

import sheaf
from loading import LoaderCase, key_of, marked, number_of
from programs import Program
from support import pack, samples_of


RANK = """
import json, os, sys
import torch
import torch.distributed
import sheaf.torch

folder, state, stop, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
torch.distributed.init_process_group("gloo")
loader = sheaf.torch.DataLoader(folder, 8, 2, seed=3, shuffle_buffer=50, elastic=4,
                                decode=lambda s: (s.number, s.repeated), collate_fn=list)
if os.path.exists(state):
    loader.load_state_dict(torch.load(state))
read = []
for step, batch in enumerate(loader, 1):
    torch.distributed.all_reduce(torch.ones(1))     # a rank with fewer batches would hang here
    read += batch
    if step == stop:
        break
torch.distributed.barrier()
if torch.distributed.get_rank() == 0:
    torch.save(loader.state_dict(), state)
with open(out, "w", encoding="ascii") as file:
    json.dump(read, file)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ResumeTest(LoaderCase):
    def test_any_world_goes_on_from_any_batch(self):
        for world, after in ((1, 1), (1, 4), (2, 1), (2, 4), (4, 2)):
            for batches in range(0, -(-200 // (6 * world)) + 1, 1 if world > 1 else 3):
                before, state = self.consume(None, world, batches, lanes=4)
                if state["epoch"] != 0 or len(before) >= 200:
                    continue            # it is over
                rest, _ = self.consume(state, after, 1000, batch_size=5)
                self.check_rest(before, rest, after)

    def test_any_number_of_workers_goes_on(self):
        whole = list(self.loader(6, decode=marked))
        for batches, workers, then in ((1, 2, 3), (7, 3, 0), (33, 0, 2)):
            before, state = self.consume(None, 1, batches, workers)
            self.assertEqual(before, sum(whole[:batches], []))
            self.assertEqual(state["batches"], batches)
            rest, _ = self.consume(state, 1, 1000, then)
            self.assertEqual(rest, sum(whole[batches:], []))

    def test_other_lanes_and_workers(self):
        before, state = self.consume(None, 2, 5, 2, lanes=4)
        for persistent in (False, True):
            loader = self.loader(6, 2, decode=marked, persistent_workers=persistent)
            if persistent:
                next(iter(loader))      # its workers know the reader of one lane
            loader.load_state_dict(state)
            self.check_rest(before, sum(loader, []), 1)

    def test_twice_resumed_in_other_worlds(self):
        one, state = self.consume(None, 2, 5, lanes=4)
        two, state = self.consume(state, 4, 2)
        three, _ = self.consume(state, 1, 1000)
        self.check_rest(one + two, three, 1)

    def test_the_state_of_an_epoch_that_is_over_is_the_next_one(self):
        loader = self.loader(8)
        for _ in loader:
            pass
        self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (1, 0))
        other = self.loader(8)
        other.load_state_dict(loader.state_dict())
        self.assertEqual(list(other), list(loader))

    def test_an_epoch_is_over_with_its_last_batch(self):
        """Also where samples are left out behind it, which are no pass of their own."""
        for options in ({"drop_last": True}, {"remainder": "drop", "rank": 0, "world_size": 3}):
            loader = self.loader(11, **options)
            batches = iter(loader)
            for _ in range(len(loader)):
                next(batches)
            self.assertEqual(loader.state_dict()["epoch"], 1)
            other = self.loader(11, **options)
            other.load_state_dict(loader.state_dict())
            self.assertEqual(other.state_dict()["epoch"], 1)
            self.assertEqual(len(list(other)), len(loader))

    def test_all_ranks_have_one_state_where_some_have_a_batch_more(self):
        """200 samples are 67, 67 and 66 of three ranks: 12, 12 and 11 batches of 6."""
        for workers, options in ((0, {}), (2, {}), (0, {"drop_last": True})):
            loaders = [self.loader(6, workers, rank=rank, world_size=3, remainder="keep",
                                   decode=marked, **options) for rank in range(3)]
            passes, read, states = [iter(loader) for loader in loaders], [], []
            for step in range(14):
                read.append(sum((next(batches, []) for batches in passes), []))
                states.append([loader.state_dict() for loader in loaders])
                self.assertEqual(states[step][1:], states[step][:-1], "step %d" % step)
            lengths = [len(samples) for samples in read]
            self.assertEqual(lengths, [18] * 11 + ([0] * 3 if options else [2, 0, 0]))
            for step in range(0 if options else 11):
                rest, _ = self.consume(states[step][0], 3, 1000, workers, remainder="keep")
                self.check_rest(sum(read[:step + 1], []), rest, 1)
            last = 10 if options else 11
            self.assertEqual([(state[2]["epoch"], state[2]["batches"]) for state in states[8:13]],
                             [(0, 9), (0, 10), (0, 11), (1, 0), (1, 0)] if last == 11 else
                             [(0, 9), (0, 10), (1, 0), (1, 0), (1, 0)])
            for loader in loaders:
                loader.close()

    def test_the_state_before_the_first_batch_is_where_the_pass_begins(self):
        """Workers have numbers of the pass by then."""
        whole = list(self.loader(8))
        _, third = self.consume(None, 1, 3, batch_size=8)
        for workers, persistent in ((0, False), (2, False), (2, True)):
            loader = self.loader(8, workers, persistent_workers=persistent)
            iter(loader)
            self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (0, 0))
            loader = self.loader(8, workers, persistent_workers=persistent)
            loader.load_state_dict(third)
            given = iter(loader)
            other = self.loader(8)
            other.load_state_dict(loader.state_dict())
            self.assertEqual(list(other), whole[3:])
            self.assertEqual(list(given), whole[3:])
            self.assertEqual(loader.state_dict()["epoch"], 1)

    def test_the_state_after_an_error_is_where_the_batch_was_due(self):
        def fail(sample):
            raise KeyError("no %d" % sample.number)

        for workers in (0, 2):
            loader = self.loader(8, workers, decode=fail)
            with self.assertRaises(KeyError):
                next(iter(loader))
            self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["batches"]), (0, 0))

    def test_set_epoch_keeps_a_loaded_place(self):
        whole = list(self.loader(8))
        _, state = self.consume(None, 1, 3, batch_size=8)
        loader = self.loader(8)
        loader.load_state_dict(state)
        loader.set_epoch(0)
        self.assertEqual(list(loader), whole[3:])

    def test_what_was_read_is_not_read_again(self):
        _, state = self.consume(None, 1, 20, batch_size=8)
        loader = self.loader(8)
        loader.load_state_dict(state)
        self.assertEqual(len(list(loader)), 5)
        self.assertEqual(loader.stats().samples, 40)

    def test_a_state_of_something_else_is_refused(self):
        state = self.loader(8).state_dict()
        with self.assertRaisesRegex(sheaf.ArgumentError, "seed of this loader is 6"):
            self.loader(8, seed=6).load_state_dict(state)
        other = pack(self.path("other"), samples_of(50, number=2))
        loader = sheaf.torch.DataLoader(other, 8, seed=5, shuffle_buffer=60)
        with self.assertRaises(sheaf.ChangedError):
            loader.load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ArgumentError, "lanes, which do not divide"):
            self.loader(8, rank=0, world_size=3).load_state_dict(state)
        with self.assertRaisesRegex(sheaf.ArgumentError, "not a state"):
            self.loader(8).load_state_dict({"epoch": 3})

    def test_a_damaged_state_is_refused(self):
        state = self.loader(8).state_dict()
        for name in set(state) - {"sheaf", "skipped"}:
            with self.assertRaisesRegex(sheaf.ArgumentError, "the state is damaged: it has no '%s'" % name):
                self.loader(8).load_state_dict({key: value for key, value in state.items() if key != name})
        for name in ("lanes", "epoch", "start", "batches", "batch_size", "world_size"):
            for value in (-1, "x", None, 0.5):
                with self.assertRaisesRegex(sheaf.ArgumentError, "the state is damaged: '%s' is" % name):
                    self.loader(8).load_state_dict({**state, name: value})
        self.loader(8).load_state_dict(state)

    def test_a_state_from_before_samples_were_appended_says_so(self):
        for name in ("old/cat/a.txt", "old/cat/b.txt", "one/cat/c.txt", "two/cat/d.txt"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(name)
        grown = self.path("grown")
        sheaf.pack(self.path("old"), grown)
        sheaf.View(grown).save(self.path("of.view"))
        states = []
        for more in ("one", "two"):
            states.append([sheaf.torch.DataLoader(source, 1).state_dict()
                           for source in (grown, self.path("of.view"))])
            sheaf.append(self.path(more), grown)
        for samples, (of_set, of_view) in zip((2, 3), states):
            for source, state in ((grown, of_set), (self.path("of.view"), of_view)):
                with self.assertRaisesRegex(sheaf.ChangedError, "grown: the data set has grown since"
                                            " the state was taken, from %d to 4" % samples):
                    sheaf.torch.DataLoader(source, 1).load_state_dict(state)

    def view(self, name, stages):
        other = self.path("other")
        if not os.path.exists(other):
            pack(other, samples_of(50, number=2))
        path = self.path(name + ".view")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"sheaf_view": 1, "samples": 90, "sources": [
                {"source": self.set, "weight": 3}, {"source": other, "weight": 1}],
                       "stages": [{"samples": at, "weights": w} for at, w in stages]}, file)
        return path

    def test_a_stage_of_a_view_is_appended(self):
        """States before it stay valid, and what follows is mixed as the longer view says; one
        behind it is of another view."""
        def loader(path, state=None, world=1, rank=0):
            made = sheaf.torch.DataLoader(path, 7, seed=5, shuffle_buffer=30, decode=key_of,
                                          collate_fn=list, lanes=2, rank=rank, world_size=world)
            self.addCleanup(made.close)
            if state is not None:
                made.load_state_dict(state)
            return made
        first = [(31, [1, 1])]
        short = self.view("short", first)
        for at in (91, 91 + 42, 91 + 60, 500):      # in the second epoch, and long after
            longer = self.view("longer%d" % at, first + [(at, [0, 1])])
            wholes = {path: [list(made), list(made)] for path in (short, longer)
                      for made in [loader(path)]}
            for epoch, batches in ((0, 0), (0, 3), (1, 0), (1, 1), (1, 6), (1, 8), (1, 12)):
                with self.subTest(at=at, epoch=epoch, batches=batches):
                    for one, other in ((short, longer), (longer, short)):
                        made = loader(one)
                        made.set_epoch(epoch)
                        given = iter(made)
                        for _ in range(batches):
                            next(given)
                        state = made.state_dict()
                        if 90 * epoch + 7 * batches <= at:
                            rest = list(loader(other, state))
                            self.assertEqual(rest, wholes[other][epoch][batches:])
                        elif 90 * epoch + 7 * batches > at + 1:
                            self.assertRaises(sheaf.ChangedError, loader, other, state)
                    state["fingerprint"] = sheaf.Dataset(longer).fingerprint    # as it was once
                    loader(longer, state)
        states = [self.after_two_batches(loader(short, None, 2, rank)) for rank in (0, 1)]
        self.assertEqual(*states)
        halves = [sum(loader(longer, states[0], 2, rank), []) for rank in (0, 1)]
        whole = sum(wholes[longer][0], [])[28:]
        self.assertEqual([key for pair in zip(*halves) for key in pair], whole)

    def after_two_batches(self, loader):
        given = iter(loader)
        next(given)
        next(given)
        return loader.state_dict()

    def test_a_sampler_that_has_told_its_end_is_at_the_next_epoch(self):
        """Also where another rank has a sample more."""
        dataset = sheaf.torch.Dataset(self.set, rank=2, world_size=3, remainder="keep")
        self.addCleanup(dataset.close)
        sampler = dataset.sampler()
        numbers = iter(sampler)
        for _ in range(66):
            next(numbers)
        self.assertEqual((numbers.state_dict()["epoch"], sampler.state_dict()["batches"]), (0, 66))
        self.assertRaises(StopIteration, next, numbers)
        self.assertEqual((numbers.state_dict()["epoch"], sampler.state_dict()["epoch"]), (1, 1))

    def test_the_sampler_s_iterator_has_a_state(self):
        dataset = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        numbers = iter(dataset.sampler())
        before = [next(numbers) for _ in range(30)]
        state = numbers.state_dict()
        other = sheaf.torch.Dataset(self.set, seed=5, shuffle_buffer=60, decode=number_of)
        again = iter(other.sampler())
        again.load_state_dict(state)
        read = [dataset[number] for number in before] + other.__getitems__(list(again))
        self.assertEqual(read, sum(self.loader(), []))

    # ---- Ranks --------------------------------------------------------------------------------

    def run_ranks(self, world, stop, state):
        """What each of them read, over gloo."""
        port, programs, read = str(free_port()), [], []
        with open(self.path("rank.py"), "w", encoding="ascii") as file:
            file.write(RANK)
        for rank in range(world):
            programs.append(Program(self.path("rank.py"), self.set, state, str(stop), self.path("out-%d" % rank),
                                    env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world),
                                             MASTER_ADDR="127.0.0.1", MASTER_PORT=port)))
            self.addCleanup(programs[-1].kill)      # The ranks wait for one that has failed.
        for rank, program in enumerate(programs):
            errors = program.communicate()[1]
            self.assertEqual(program.returncode, 0, errors)
            with open(self.path("out-%d" % rank), encoding="ascii") as file:
                read.append([tuple(sample) for sample in json.load(file)])
        return read

    def test_two_ranks_stop_and_four_go_on(self):
        state = self.path("state.pt")
        before = self.run_ranks(2, 5, state)
        self.assertEqual([len(part) for part in before], [40, 40])
        after = self.run_ranks(4, 1000, state)
        self.assertEqual([len(part) for part in after], [30] * 4)
        self.check_rest(sum(before, []), sum(after, []), 4)


if __name__ == "__main__":
    unittest.main()
