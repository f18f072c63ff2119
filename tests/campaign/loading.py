# SPDX-License-Identifier: MIT
"""A program that reads with the Python package as the campaign tells it, and prints what it reads: one line of JSON
for each batch.

    PYTHONPATH=build/python loading.py '{"how": "random", "sources": ["set"], "numbers": [1, 2]}'

loader: reads in `phases`. Each phase is read by all ranks of a world, one after another, from the state of the phase
before or from `state`. The line has the state after each batch of a single rank, and at the end of each phase. After
the program was killed, it continues from the last state."""

import hashlib
import json
import os
import sys
import warnings


def describe(sample):
    """Returns [number, key, labels, class name, whether it is repeated, suffixes, digest of the fields]."""
    return [sample.number, sample.key, list(sample.labels), sample.class_name, sample.repeated,
            list(sample.suffixes), digest(sample.to_bytes().values())]


def digest(contents):
    """Returns a digest of the bytes of fields, in their order."""
    found = hashlib.md5()
    for content in contents:
        found.update(b"%d:" % len(content))
        found.update(content)
    return found.hexdigest()


def tell(**line):
    print(json.dumps(line), flush=True)


# ---- By number -------------------------------------------------------------------------------

def random(task):
    """Reads samples one by one, many at once, as a slice, and in a child that was forked while the data set was open.
    """
    import sheaf
    opened = sheaf.Dataset(task["sources"])
    numbers = task["numbers"]
    tell(count=len(opened))
    tell(batch=[describe(opened[number]) for number in numbers])
    tell(batch=[describe(sample) for sample in opened.get(
        [range(len(opened))[number] for number in numbers])])
    tell(batch=[describe(sample) for sample in opened[slice(*task["slice"])]])
    child = os.fork()
    if child == 0:
        tell(batch=[describe(opened[number]) for number in numbers])
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the child failed")


def keys(task):
    """Reads samples by key, one by one and many at once, and a key that no sample has."""
    import sheaf
    opened = sheaf.Dataset(task["sources"])
    tell(batch=[describe(opened[key]) for key in task["keys"]])
    tell(batch=[describe(sample) for sample in opened.get(task["keys"])])
    try:
        opened[task["missing"]]
    except KeyError as error:
        tell(missing=error.args[0])


# ---- By a loader -----------------------------------------------------------------------------

def loader(task):
    import sheaf.torch              # the import takes a second
    state = task["state"]
    for phase in task["phases"]:
        states = [of_rank(sheaf.torch, task, phase, state, rank) for rank in range(phase["world"])]
        if any({**one, "skipped": 0} != {**states[0], "skipped": 0} for one in states):
            sys.exit("the states of the ranks differ: %r" % states)
        state = states[0]


def of_rank(torch, task, phase, state, rank):
    """Reads a number of batches, and returns the state after them."""
    how = {} if phase["raw"] else {"decode": describe, "collate_fn": list}
    made = torch.DataLoader(task["sources"], phase["batch"], phase["workers"], rank=rank,
                            world_size=phase["world"], **how, **task["options"])
    if state is not None:
        made.load_state_dict(state)
    passing, alone = iter(made), phase["world"] == 1
    for count in range(phase["steps"]):
        batch = next(passing, None)
        if batch is None:
            break
        tell(rank=rank, batch=[describe(sample) for sample in batch] if phase["raw"] else batch,
             state=made.state_dict() if alone else None)
    state = made.state_dict()
    tell(rank=rank, batch=None, state=state)
    del passing
    made.close()
    return state


def epoch(task):
    """Reads a pass of each rank, also over a stream."""
    import sheaf.torch
    for rank in range(task["world"]):
        made = sheaf.torch.DataLoader(task["sources"], task["batch"], task["workers"], rank=rank,
                                      world_size=task["world"], remainder="keep", decode=describe,
                                      collate_fn=list, **task["options"])
        for batch in made:
            tell(rank=rank, batch=batch)
        made.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    TASK = json.loads(sys.argv[1])
    {"random": random, "keys": keys, "loader": loader, "epoch": epoch}[TASK["how"]](TASK)
