# SPDX-License-Identifier: MIT
"""Steps that append to a data set. Its earlier samples must stay as they were, the new ones must follow, and
positions in the data set and views over it must notice the change."""

import json
import os

import model
import peers
import pictures
import readers
import sources
import steps_pack
import steps_union
import steps_view
import views
from chain import Foreseen, Shards, Source

APPENDED = (r"appended (\d+) samples? \((\d+) payload bytes?\) in (\d+) shards? "
            r"\((\d+) bytes?\)(?:, \d+ of them kept)?" + steps_pack.FILES)


class Growth:
    """Files that are appended to a data set, and the expected result."""

    def __init__(self, chain, shards):
        chance = chain.chance
        self.chain, self.shards = chain, shards
        self.before = readers.data_set(chain.local(shards.folder))
        own = [thing for thing in chain.things if isinstance(thing, Source)]
        self.source = chance.choice(own) if own and chance.random() < 0.3 else sources.make(chain)
        self.seed, self.shuffle = chance.choice([0, 7]), chance.random() < 0.7
        self.skip = chance.random() < 0.8
        self.cut = chance.choice([[], ["--shard-count", chance.choice([1, 2, 5])],
                                  ["--shard-size", chance.choice([500, 5000])]])
        options = self.before.manifest["options"] or {}
        self.given = pictures.choose(chance, 0.8 if steps_pack.has_odd_images(self.source)
                                     else 0.1)
        self.images = self.given.grown(options)
        self.index = options.get("index")
        depth = options.get("class_depth", 0)
        if depth and self.source.kind not in steps_pack.Naming.KINDS:
            raise Foreseen("a list beside directories that are classes")
        self.entries = model.at_depth(self.source.entries, depth)

    def plan(self):
        shards = self.shards
        keys = {sample.key for sample in shards.samples}
        self.planned = model.plan(self.source.files, self.entries, shards.container,
                                  shards.base, (shards.classes, keys, self.other_keys()),
                                  self.images)
        self.samples = model.pack_order(self.planned.samples, self.seed, self.shuffle)

    def other_keys(self):
        """Returns the keys of the other splits of the data, if they still exist."""
        options = self.before.manifest["options"] or {}
        keys, folder = set(), self.chain.local(self.shards.folder).rstrip("/")
        for part in (options.get("split") or "").split(","):
            other = os.path.join(os.path.dirname(folder), part.partition("=")[0])
            if part and other != folder and os.path.exists(os.path.join(other, "dataset.json")):
                keys |= {sample.key for shard in readers.data_set(other).shards
                         for sample in shard}
        return keys

    def words(self, *more):
        words = ["append", *self.source.arguments, self.shards.folder, *self.source.options]
        words += ["--seed", self.seed] + ([] if self.shuffle else ["--no-shuffle"]) + self.cut
        words += self.given.words()
        return words + (["--on-error", "skip"] if self.skip else []) + list(more)

    def refused(self):
        """Returns words of which the error must contain one, or None if the command must succeed."""
        if self.shards.foreign:
            return ["another program"]
        words = []
        try:
            self.plan()
        except model.Unlike as why:
            words, self.skip = [str(why)], True
            self.planned = model.plan(self.source.files, self.entries,
                                      self.shards.container, images=self.images)
        if not self.skip:
            words += map(model.printable, self.planned.skipped)
        if not words and not self.samples and not self.has_nothing_new():
            words = ["no file", "no sample", "nothing"]
        if not words and peers.refuses(self.index, self.shards.container, self.samples):
            words = ["index: "]
        return words or None

    def has_nothing_new(self):
        """Returns whether the data set already has everything that can be packed. Appending then succeeds."""
        return not self.samples and self.planned.known.total() != 0

    def killed(self):
        """Kills the append. A reader must then find either the earlier data set or all of it."""
        for _ in range(self.chain.chance.choice([1, 1, 2])):
            self.chain.kill(*self.words("--resume"))
            self.chain.sheaf("verify", self.shards.folder)
            held = self.chain.read_set(self.shards.folder, "after a kill")
            found = [sample for shard in held.shards for sample in shard]
            if len(found) != len(self.shards.samples):
                self.chain.equal(len(found), len(self.shards.samples) + len(self.samples),
                                 "the samples after a kill")
                return "--resume"
        return self.chain.chance.choice(["--resume", "--overwrite"])

    def check(self, numbers):
        chain, shards, before = self.chain, self.shards, self.before
        held = chain.read_set(shards.folder, "append")
        count = len(before.shards)
        renamed = [[sample._replace(name=model.class_of(sample.labels, held.classes, held.base))
                    for sample in shard] for shard in before.shards]
        chain.equal(held.shards[:count] == renamed, True, "the samples of before")
        chain.equal(held.manifest["shards"][:count], before.manifest["shards"],
                    "the shards of before")
        new = [sample for shard in held.shards[count:] for sample in shard]
        chain.same(new, self.samples, "appended samples")
        chain.equal(held.classes, self.planned.classes, "classes")
        chain.equal(numbers, [len(new), model.payload(new), len(held.shards) - count,
                              sum(shard["bytes"] for shard in held.manifest["shards"][count:]),
                              sum(len(sample.fields) for sample in new),
                              len(self.source.entries), self.planned.skipped.total(),
                              len(self.planned.converted)],
                    "the sums that were printed")
        steps_pack.check_lists(chain, shards.folder, self.planned,
                               "-%d" % len(held.manifest["grown"]))
        steps_pack.check_peers(chain, shards.folder, held, self.index, self.split())
        return held

    def split(self):
        """Returns the name of the split in the files of a reader that knows splits."""
        if "energon" not in (self.index or ""):
            return None
        text = readers.read(os.path.join(self.chain.local(self.shards.folder), ".nv-meta",
                                         "split.yaml"))
        return next(iter(json.loads(text)["split_parts"]))


def append(chain, shards):
    for _ in range(chain.chance.choice([1, 3, 3])):      # most sources have labels of another kind
        growth = Growth(chain, shards)
        refused = growth.refused()
        if refused is None:
            break
    else:
        chain.sheaf(*growth.words("--overwrite"), status=1, says=refused)
        held = chain.read_set(shards.folder, "after a refusal")
        chain.equal(held.manifest, growth.before.manifest, "the manifest after a refusal")
        raise Foreseen(refused[0])
    if growth.has_nothing_new():
        done = chain.sheaf(*growth.words(*chain.chance.choice([[], ["--resume"], ["--overwrite"]])))
        all_known = growth.planned.known == growth.planned.skipped
        said = b"nothing to append" if all_known else b"nothing was appended"
        chain.equal(said in done.stderr, True, "that there is nothing new")
        held = chain.read_set(shards.folder, "after nothing was appended")
        chain.equal(held.manifest, growth.before.manifest, "the manifest of what has not grown")
        raise Foreseen("nothing new")
    place = chain.new("position")
    chain.sheaf("cat", shards.folder, "--null", "--limit", len(shards.samples) // 2,
                "--save-position", place)
    more = [growth.killed()] if chain.chance.random() < 0.3 else ["--overwrite"]
    done = chain.sheaf(*growth.words(*more))
    held = growth.check(chain.numbers(done, APPENDED))
    chain.sheaf("cat", shards.folder, "--null", "--resume-from", place, status=1,
                says=["has grown"])
    chain.sheaf(*growth.words("--resume"))      # the samples are already there
    follow(chain, shards, held)


def follow(chain, old, held):
    """Replaces the old data set in the chain by the new one, and the views over it by their present state."""
    chain.things = [thing for thing in chain.things if thing is not old]
    steps_pack.give(chain, old.folder, held)
    new = chain.things[-1]
    for thing in list(chain.things):
        if not isinstance(thing, Shards) or thing is new or \
                old not in (thing.sources or ()) and thing.folder != old.folder:
            continue
        chain.things.remove(thing)
        if thing.is_view:
            again(chain, thing, old, new)


def again(chain, view, old, new):
    """Adds a view with the same document over the grown data set to the chain, if it can be read."""
    if any(part.numbers is not None for part in view.parts):
        return
    parts = [part._replace(shards=new if part.shards is old else part.shards)
             for part in view.parts]
    try:
        made = views.View(view.arguments[0], parts, view.rest)
    except (steps_union.Refused, views.Unknown):
        return
    if all(made.chosen) and 0 < made.total <= steps_view.MOST and \
            not any(isinstance(sample, str) for sample in made.samples):
        done = chain.sheaf("info", view.arguments[0])
        chain.equal(chain.numbers(done, r"(?m)^epoch +(\d+)$"), [made.total],
                    "the epoch of a view over what has grown")
        chain.things.append(made)
