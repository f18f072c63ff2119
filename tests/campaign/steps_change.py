# SPDX-License-Identifier: MIT
"""Steps in which a source changes during a run: between a kill and its resume, and between a plan and its parts; and
two plans of one source whose parts are packed in turn."""

import os

import model
import steps_pack
from chain import Foreseen
from steps_pack import Job


def plain_job(chain, source):
    """Returns a job that succeeds."""
    job = Job(chain, source)
    if job.refused() is not None or job.may_refuse():
        raise Foreseen("a job that may fail")
    return job


def plan_of(chain, job):
    plan = chain.new("plan")
    chain.sheaf("plan", *job.source.arguments, job.dest, "-o", plan, *job.options())
    return plan


def touched(chain, source):
    """Changes the content of one file of the source, or removes it. Returns the path and the new content."""
    chance = chain.chance
    paths = sorted({path for path, _ in source.entries if source.files.get(path) is not None})
    if source.folder is None or not paths:
        raise Foreseen("no file to change")
    path = chance.choice(paths)
    data, kind = source.files[path], chance.choice(["same size", "longer", "gone"])
    if kind == "gone":
        return path, None
    return path, bytes(byte ^ 0x55 for byte in data) + (b"more" if kind == "longer" else b"")


def put(chain, source, path, data):
    """Writes a file in place, as an editor does. If the size stays the same, so does the inode."""
    full = os.path.join(os.fsencode(chain.path(source.folder)), os.fsencode(path))
    chain.lines.append("# %s is %s now" % (ascii(path), "gone" if data is None else "%d bytes" %
                                           len(data)))
    if data is None:
        os.unlink(full)
        return
    with open(full, "wb") as file:
        file.write(data)


def killed_and_changed(chain, source):
    """A run is killed, a file changes, and the run is resumed. The result must contain nothing of the old file."""
    job = plain_job(chain, source)
    path, data = touched(chain, source)
    for _ in range(chain.chance.choice([1, 1, 2])):
        chain.kill(*job.words("--resume"))
    if chain.sheaf("info", job.dest, status=None).returncode == 0:
        raise Foreseen("finished: of its files only names and sizes are compared")
    old = source.files[path]
    put(chain, source, path, data)
    source.files[path] = data
    listed = source.entries
    if data is None and source.is_tree:
        source.entries = [entry for entry in listed if entry[0] != path]
    try:
        now = Job(chain, source, job.dest, job.settings)
        if now.refused() is not None:
            chain.sheaf(*now.words("--resume"), status=1, says=["another plan", *now.refused()])
            raise Foreseen("the changed file is bad")
        # If sizes have changed, the plan has changed, so only a new run is possible.
        done = chain.sheaf(*now.words("--resume"), status=None, says=["another plan"])
        if done.returncode != 0:
            done = chain.sheaf(*now.words("--overwrite"))
        now.check(chain.numbers(done, steps_pack.PACKED))
    finally:
        put(chain, source, path, old)
        source.files[path], source.entries = old, listed


def changed_since_plan(chain, source):
    """A file changes before its part is packed. This ends the run, or, only with the option, the file is skipped and
    named. A file that is skipped for another reason may be noticed as changed first."""
    job = plain_job(chain, source)
    path, data = touched(chain, source)
    plan, count, old = plan_of(chain, job), chain.chance.choice([1, 2, 3]), source.files[path]
    put(chain, source, path, data)
    try:
        gone = next((sample for sample in job.samples if path in job.paths(sample)), None)
        if gone is not None:
            job.samples.remove(gone)
            job.planned.skipped.update(job.paths(gone))
            for own in job.paths(gone):
                job.planned.converted.pop(own, None)
        says = [model.printable(path)]
        may_end = not job.settings.skip_changed and (gone is not None or path in job.planned.skipped)
        good = True
        for part in chain.chance.sample(range(count), count):
            done = chain.sheaf("pack", "--plan", plan, "--part", "%d/%d" % (part, count),
                               status=None if may_end else 0, says=says)
            good = good and done.returncode == 0
        if not good or not job.samples:
            chain.sheaf("commit", plan, status=1)
            raise Foreseen("a changed file")
        done = chain.sheaf("commit", plan, status=0 if job.settings.skip_changed or gone is None else 1)
        job.check(chain.numbers(done, steps_pack.COMMITTED + steps_pack.FILES))
    finally:
        put(chain, source, path, old)


def changed_archive(chain, source):
    """An archive that was written again no longer fits its plan, until the planned archive is restored."""
    job = plain_job(chain, source)
    plan, place = plan_of(chain, job), chain.path(source.argument)
    stamp = os.stat(place)
    os.utime(place, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    chain.lines.append("# the archive has another time")
    chain.sheaf("pack", "--plan", plan, "--part", "0/1", status=1, says=["changed since the scan"])
    os.utime(place, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    chain.lines.append("# and its own again")
    chain.sheaf("pack", "--plan", plan, "--part", "0/1")
    steps_pack.commit(chain, job, plan)


def two_plans(chain, source):
    """The parts of two plans of one source are packed in a random order."""
    jobs = [plain_job(chain, source) for _ in range(2)]
    plans = [plan_of(chain, job) for job in jobs]
    count = chain.chance.choice([1, 2])
    rest = [(plan, part) for plan in plans for part in range(count)]
    for plan, part in chain.chance.sample(rest, len(rest)):
        chain.sheaf("pack", "--plan", plan, "--part", "%d/%d" % (part, count))
    for job, plan in zip(jobs, plans):
        steps_pack.commit(chain, job, plan)


def joined(chain, source):
    """Some directories of a tree are the sources. Files keep their paths in the tree, and get the classes that they
    have in their own source."""
    tops = sorted({path.partition("/")[0] for path, _ in source.entries if "/" in path})
    if not source.is_tree or len(tops) < 2:
        raise Foreseen("no two directories")
    tops = chain.chance.sample(tops, chain.chance.randrange(2, len(tops) + 1))
    entries = []
    for path, _ in source.entries:
        top, _, rest = path.partition("/")
        if top in tops:
            entries.append((path, os.path.dirname(rest) or top))
    part = source.with_entries([os.path.join(source.folder, top) for top in tops], entries)
    job = plain_job(chain, part)
    plan = plan_of(chain, job)
    chain.sheaf("pack", "--plan", plan)
    steps_pack.commit(chain, job, plan)
