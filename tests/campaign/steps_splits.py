# SPDX-License-Identifier: MIT
"""Steps about several splits of the same data. An append divides new samples among all splits, in the proportions of
the data, and no sample may be in two of them."""

import collections

import model
import readers
import steps_append
import steps_pack
import xxhash
from chain import Foreseen

WHOLE = 10 ** 9     # the unit of fractions


def parse(spec, value):
    """Returns [(name, number)] of a definition. `rest` has the fraction that the others leave, or None if the others
    are numbers of samples of each class."""
    parts = [part.split("=") for part in spec.split(",")]
    if "/class" in spec:
        return [(name, None if text == "rest" else int(text.split("/")[0])) for name, text in parts]
    given = {name: value(text) for name, text in parts if text != "rest"}
    return [(name, given.get(name, WHOLE - sum(given.values()))) for name, _ in parts]


def deal(samples, spec, seed, before):
    """Returns {split: samples} for an append. It goes through the classes in the order of their names, although the
    numbers of new classes come last. Each sample must have a class. before: {split: samples that it had}."""
    numbers = parse(spec, lambda text: round(float(text) * WHOLE))
    seed = xxhash.xxh3_64_intdigest(b"split", seed=seed)
    classes, found = collections.defaultdict(list), {name: [] for name, _ in numbers}
    for sample in samples:
        classes[sample.labels[0]].append(sample)
    had = {name: collections.Counter(s.labels for s in before.get(name, ())) for name, _ in numbers}
    total = sum(len(each) for each in before.values())
    owed = {} if "/class" in spec else {
        name: total * number - len(before.get(name, ())) * WHOLE for name, number in numbers}
    for label in sorted(classes, key=lambda label: classes[label][0].name.encode()):
        group = sorted(classes[label], key=lambda s: (
            xxhash.xxh3_64_intdigest(s.key.encode(), seed=seed), s.key.encode()))
        counts = shares(numbers, len(group), owed) if owed else {
            name: number if number is None else max(number - had[name][(label,)], 0)
            for name, number in numbers}
        if not owed:
            left = len(group)
            for name, number in numbers:
                if number is not None:
                    counts[name] = min(counts[name], left)
                    left -= counts[name]
            counts = {name: left if count is None else count for name, count in counts.items()}
        for name, _ in numbers:
            found[name] += group[:counts[name]]
            group = group[counts[name]:]
    return found


def shares(numbers, size, owed):
    """Returns the number of samples of a class for each split, and notes in `owed` what rounding took or gave."""
    counts = {name: size * number // WHOLE for name, number in numbers}
    over = {name: size * number % WHOLE for name, number in numbers}
    for name, _ in numbers:
        owed[name] += over[name]
    open_to = [name for name, _ in numbers if over[name]]
    for _ in range(size - sum(counts.values())):
        most = max(open_to, key=lambda name: owed[name])
        open_to.remove(most)
        counts[most] += 1
        owed[most] -= WHOLE
    return counts


class SplitGrowth(steps_append.Growth):
    """Files that are appended to all splits of a job."""

    def __init__(self, chain, job, parts):
        super().__init__(chain, parts[0])
        self.job, self.parts = job, parts
        self.given_split = chain.chance.choice([True, False])
        self.names = job.settings.splits()
        self.had = {name: [s for shard in part.shards for s in shard]
                    for name, part in zip(self.names, parts)}
        self.manifests = [readers.data_set(chain.local(part.folder)).manifest for part in parts]

    def plan(self):
        keys = {sample.key for had in self.had.values() for sample in had}
        self.planned = model.plan(self.source.files, self.entries, self.shards.container,
                                  self.shards.base, (self.shards.classes, keys, set()), self.images)
        self.samples = model.pack_order(self.planned.samples, self.seed or self.job.settings.seed,
                                        self.shuffle)

    def words(self, *more):
        words = super().words(*more)
        words[words.index(self.shards.folder)] = self.job.dest
        return words + (["--split", self.job.settings.split] if self.given_split else [])

    def is_exact(self):
        """Returns whether the model knows the split of each sample: all have a class, and no bad file took part."""
        return self.planned.skipped == self.planned.known and \
            all(sample.name is not None for sample in self.planned.samples)

    def check(self, numbers):
        chain, new, shards, stored = self.chain, {}, 0, 0
        order = {sample: number for number, sample in enumerate(self.samples)}
        grown = []
        for name, part, manifest in zip(self.names, self.parts, self.manifests):
            held = chain.read_set(part.folder, "append to splits")
            count = len(part.shards)
            chain.equal(held.manifest["shards"][:count], manifest["shards"], "the shards of before")
            renamed = [[sample._replace(name=model.class_of(sample.labels, held.classes, held.base))
                        for sample in shard] for shard in part.shards]
            chain.equal(held.shards[:count] == renamed, True, "the samples of before")
            new[name] = [sample for shard in held.shards[count:] for sample in shard]
            numbered = [order.get(sample, -1) for sample in new[name]]
            chain.equal(numbered, sorted(numbered), "the order in a split")
            if new[name]:
                chain.equal(held.classes, self.planned.classes, "classes")
                grown.append((part, held))
            else:
                chain.equal(held.manifest, manifest, "the manifest of a split that has not grown")
            shards += len(held.shards) - count
            stored += sum(shard["bytes"] for shard in held.manifest["shards"][count:])
        every = [sample for name in self.names for sample in new[name]]
        chain.same(every, self.samples, "appended samples", ordered=False)
        if self.is_exact():
            seed = self.seed or self.job.settings.seed
            expected = deal(self.samples, self.job.settings.split, seed, self.had)
            for name in self.names:
                chain.equal(sorted(s.key for s in new[name]), sorted(s.key for s in expected[name]),
                            "the new samples of " + name)
        chain.equal(numbers, [len(every), model.payload(every), shards, stored,
                              sum(len(sample.fields) for sample in every),
                              len(self.source.entries), self.planned.skipped.total(),
                              len(self.planned.converted)], "the sums that were printed")
        return grown


def unchanged(chain, growth, why):
    for part, manifest in zip(growth.parts, growth.manifests):
        chain.equal(chain.read_set(part.folder, why).manifest, manifest, "the manifest " + why)


def append_to_all(chain, source):
    """Packs the source into splits, and appends other files to all of them."""
    settings = steps_pack.Settings(chain, source)
    settings.split = chain.chance.choice(["train=0.8,val=rest", "a=0.5,b=0.5", "a=0.5,b=0.2,c=rest",
                                          "t=1/class,v=2/class,r=rest"])
    settings.peers = None
    job = steps_pack.Job(chain, source, settings=settings)
    done = job.run()
    known = len(chain.things)
    job.check(chain.numbers(done, steps_pack.PACKED))
    parts = chain.things[known:]
    for _ in range(3):                  # most sources have labels of another kind
        growth = SplitGrowth(chain, job, parts)
        refused = growth.refused()
        if refused is None:
            break
    else:
        chain.sheaf(*growth.words("--overwrite"), status=1, says=refused)
        unchanged(chain, growth, "after a refusal")
        raise Foreseen(refused[0])
    if growth.has_nothing_new():
        chain.sheaf(*growth.words())
        unchanged(chain, growth, "after nothing was appended")
        raise Foreseen("nothing new")
    done = chain.sheaf(*growth.words("--overwrite"),
                       status=None if "/class" in settings.split else 0)
    if done.returncode != 0:            # the labels that the splits have are not counted by class
        chain.equal(b"labels have no names" in done.stderr, True, "why an append was refused")
        unchanged(chain, growth, "after a refusal")
        raise Foreseen("labels have no names")
    grown = growth.check(chain.numbers(done, steps_append.APPENDED))
    chain.sheaf(*growth.words("--resume"))          # the samples are already there
    for part, held in grown:
        steps_append.follow(chain, part, held)
    leak(chain, job, growth)


def leak(chain, job, growth):
    """Appends the files of all splits to one split. It must refuse the samples of the others."""
    name = chain.chance.choice(job.settings.splits())
    others = [s for other in growth.names if other != name for s in growth.had[other]]
    words = ["append", *job.source.arguments, job.dest.rstrip("/") + "/" + name, *job.source.options]
    if others:
        chain.sheaf(*words, status=1, says=["has a sample with this key", *map(
            model.printable, job.planned.skipped), "labels have names", "have no names"])
