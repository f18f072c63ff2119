# SPDX-License-Identifier: MIT
"""The campaign: random trees, packed and processed by random chains of commands, and compared with an independent
model.

    run.py                  CAMPAIGN_CHAINS chains (default 5000) of SEED (default: a new one)
    SEED=7 CAMPAIGN_FIRST=123 CAMPAIGN_CHAINS=1 run.py      chain 123 of that seed once more

Each chain makes a tree, packs it, and takes some steps of steps.py with what it has. Its choices follow from the seed
and its number. (The moments of kills do not, so such a chain may have to be run several times.) A chain that differs
from the model is printed with its commands, and its files stay in BUILD/campaign. CAMPAIGN_S3=N: one chain in N uses
S3 (default 10; 0: none)."""

import collections
import multiprocessing
import os
import random
import shutil
import stat
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), "system")]

import steps                                            # noqa: E402
import sources                                          # noqa: E402
from chain import BUILD, Chain, Difference, Foreseen    # noqa: E402

AT_ONCE = os.cpu_count() or 2
TELL = 250          # number of chains between two lines of progress


def setting(name, default):
    return int(os.environ.get(name) or default)


def scratch():
    """Returns a directory in memory if there is plenty, because fsync would take most of the time otherwise."""
    memory = "/dev/shm"
    if "TMPDIR" not in os.environ and os.path.isdir(memory) and \
            shutil.disk_usage(memory).free > 4 << 30:
        return memory
    return None


def walk(chain, taken):
    """Takes the steps of a chain. taken: how often each step was taken."""
    source = sources.make(chain)
    chain.things.append(source)
    taken["from " + source.kind] += 1
    count = chain.chance.choice([2, 3, 4, 5, 6])
    for number in range(count + 4):
        if number == 0:
            step, thing = steps.first(chain), source
        else:
            step, thing = steps.next_step(chain)
        if number >= count and len(chain.things) > 1:
            break
        chain.lines.append("# " + step.function.__name__)
        try:
            step.function(chain, thing)
            taken[step.function.__name__] += 1
        except Foreseen as why:
            chain.lines.append("# refused, as foreseen: %s" % why)
            taken[step.function.__name__ + ", refused"] += 1


def run_chain(job):
    """Runs one chain. Returns its report, which is empty if nothing differs."""
    seed, number, said = job
    name = "%d:%d" % (seed, number)
    folder = os.path.join(tempfile.mkdtemp(prefix="sheaf-chain-", dir=scratch()), "chain")
    taken, report, s3 = collections.Counter(), "", None
    try:
        if said:
            import s3 as service
            s3 = service.Bucket(said, "chain-%d" % number)
        chain = Chain(name, folder, s3)
        try:
            walk(chain, taken)
        except Difference as difference:
            report = tell(chain, seed, number, str(difference))
        except Exception:                               # pylint: disable=broad-except
            report = tell(chain, seed, number, traceback.format_exc())
    finally:
        if s3 is not None and not report:
            s3.remove()
        shutil.rmtree(os.path.dirname(folder), ignore_errors=True)
    return number, report, taken


def pipes(folder, names):
    """Returns files that cannot be kept: a named pipe has no content."""
    return [name for name in names if stat.S_ISFIFO(os.lstat(os.path.join(folder, name)).st_mode)]


def tell(chain, seed, number, text):
    """Prints the report of a chain that differs, and keeps its files."""
    kept = os.path.join(BUILD, "campaign", "%d-%d" % (seed, number))
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(chain.folder, kept, symlinks=True, ignore_dangling_symlinks=True, ignore=pipes)
    return "\n".join([
        "chain %d differs: %s" % (number, text),
        "  again: SEED=%d CAMPAIGN_FIRST=%d CAMPAIGN_CHAINS=1 CAMPAIGN_S3=%d make campaign" % (
            seed, number, setting("CAMPAIGN_S3", 10)),
        "  files: %s; its commands:" % kept, *("    " + line for line in chain.lines), ""])


def start_s3(every):
    """Starts a radosgw for the chains that use S3. Returns None if it is not installed."""
    if every == 0:
        return None
    import servers
    import unittest
    try:
        return servers.Radosgw()
    except unittest.SkipTest as why:
        print("campaign: no S3: %s" % why, flush=True)
        return None


def main():
    seed = setting("SEED", random.SystemRandom().randrange(1 << 32))
    first, count = setting("CAMPAIGN_FIRST", 0), setting("CAMPAIGN_CHAINS", 5000)
    every = setting("CAMPAIGN_S3", 10)
    chosen = range(first, first + count)
    uses_s3 = [every != 0 and number % every == every - 1 for number in chosen]
    if not steps.steps_python.has_torch():
        print("campaign: no Python package, or no PyTorch: `make python`", flush=True)
    server = start_s3(every) if any(uses_s3) else None
    said = server.said if server else None
    print("SEED=%d: %d chains from %d on" % (seed, count, first), flush=True)
    started, failed, taken = time.monotonic(), 0, collections.Counter()
    jobs = [(seed, number, said if remote else None)
            for number, remote in zip(chosen, uses_s3) if said or not remote]
    try:
        with multiprocessing.Pool(AT_ONCE) as pool:
            for done, (_, report, steps_taken) in enumerate(
                    pool.imap_unordered(run_chain, jobs, 4), 1):
                taken += steps_taken
                if done % TELL == 0:
                    print("  %d chains, %d not clean" % (done, failed + bool(report)), flush=True)
                if report:
                    failed += 1
                    print(report, flush=True)
    finally:
        if server:
            server.stop()
    print("steps: " + ", ".join("%s %d" % pair for pair in sorted(taken.items())))
    print("campaign: %d chains in %.0f s, %d of them not clean (SEED=%d)" %
          (len(jobs), time.monotonic() - started, failed, seed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
