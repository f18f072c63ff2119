# SPDX-License-Identifier: MIT
"""Steps that read a channel as the platform describes it: a directory, a prefix or a manifest file in S3 that is read
directly, or the part of one host; in the order that the job's hyperparameters specify."""

import json
import os

import steps_copy
import steps_fetch
import steps_read
import trees
from chain import Foreseen, Shards


def configure(chain, root, name="train", **entry):
    """Writes the platform's description of a channel. Returns the directory for its data."""
    write(chain, root, "inputdataconfig.json", {name: entry})
    data = os.path.join(root, "input", "data")
    os.makedirs(chain.path(data), exist_ok=True)
    chain.note("mkdir", "-p", data)
    return data


def write(chain, root, name, document):
    folder, text = os.path.join(root, "input", "config"), json.dumps(document)
    trees.write(chain.folder, {os.path.join(folder, name): text.encode()})
    chain.lines.append("mkdir -p %s; echo '%s' >%s" % (folder, text, os.path.join(folder, name)))


def read(chain, root, shards, what, name="train", more=()):
    """Reads the channel in an order that options, or hyperparameters, or both specify."""
    chance, order = chain.chance, steps_read.Order(chain, shards)
    options = {"sheaf_seed": order.seed, "sheaf_epoch": order.epoch, "sheaf_lanes": order.lanes,
               "sheaf_shuffle_buffer": order.buffer}
    words, how = order.options(), chance.choice(["options", "both", "hyperparameters"])
    if how == "hyperparameters":
        words = [] if order.shuffle else ["--no-shuffle"]
        if shards.is_stream:
            del options["sheaf_lanes"]
        else:
            words += ["--remainder", order.remainder]
        write(chain, root, "hyperparameters.json", {"lr": "0.1", **{
            name: as_text(chance, value) for name, value in options.items()}})
    elif how == "both" and order.shuffle and not shards.is_stream:
        write(chain, root, "hyperparameters.json", {"sheaf_seed": "5", "sheaf_shuffle_buffer": "2",
                                                    "sheaf_epoch": "9", "sheaf_lanes": "3"})
    done = chain.sheaf("cat", "--channel", name, "--channel-root", root, "--list", *words, *more)
    steps_read.same_lines(chain, done, order.samples(), what)


def as_text(chance, number):
    """Returns a value in the form of the platform, or of its toolkits."""
    ways = [str(number), '"%d"' % number]
    return chance.choice(ways + ([number] if number < 1 << 63 else []))


def directory(chain, shards):
    """Reads the data set as a channel in File mode."""
    root, name = chain.new("ml"), chain.chance.choice(["train", "val-1"])
    data = os.path.join(root, "input", "data")
    if chain.chance.random() < 0.5:
        configure(chain, root, name, TrainingInputMode="File")
    os.makedirs(chain.path(data), exist_ok=True)
    os.symlink(chain.path(shards.folder), chain.path(os.path.join(data, name)))
    chain.note("ln", "-s", "../../../" + shards.folder, os.path.join(data, name))
    read(chain, root, shards, "a channel", name)


def alone(shards, place, chosen=None):
    """Reads some or all shards without their manifest."""
    pairs = [(name, found) for name, found in zip(shards.names, steps_copy.as_bare(shards))
             if chosen is None or name in chosen]
    return Shards([place], [found for _, found in pairs], container=shards.container,
                  codec=shards.codec, is_set=False, names=[name for name, _ in pairs])


def direct(chain, shards):
    """Reads directly from S3: a prefix, or a manifest file of objects or shards."""
    chance, root, found = chain.chance, chain.new("ml"), shards
    uri, kind = shards.folder + chance.choice(["", "/"]), "S3Prefix"
    if chance.random() < 0.6:
        names = sorted(chain.s3.objects(shards.folder))
        if chance.random() < 0.5 and shards.container != "recordio":
            names, found = list(shards.names), alone(shards, uri)
        chance.shuffle(names)
        name, kind = chain.new("channel") + ".manifest", "ManifestFile"
        chain.s3.put("", {name: json.dumps([{"prefix": shards.folder + "/"}, *names]).encode()})
        chain.lines.append("# an object %s, which lists %s" % (name, " ".join(names)))
        uri = chain.s3.url + name
    source = {"S3DataType": kind, "S3Uri": uri}
    if chance.random() < 0.5:
        source["S3DataDistributionType"] = "FullyReplicated"
    configure(chain, root, TrainingInputMode=chance.choice(["File", "FastFile"]),
              DataSource={"S3DataSource": source})
    read(chain, root, found, "a channel in S3",
         more=chance.choice([[], ["--cache", chain.new("cache")]]))


def distributed(chain, shards):
    """Each host gets a part of the objects from `sheaf fetch`, and reads its shards with the manifest. Together, the
    hosts must read each sample once."""
    hosts, every = chain.chance.choice([2, 3]), sorted(chain.s3.objects(shards.folder),
                                                        key=os.fsencode)
    names = ["algo-%d" % host for host in range(hosts)]
    for host in range(hosts):
        root = chain.new("ml")
        data = configure(chain, root, TrainingInputMode="File", S3DistributionType="ShardedByS3Key")
        write(chain, root, "resourceconfig.json", {"current_host": names[host], "hosts": names})
        folder = os.path.join(data, "train")
        steps_fetch.run(chain, shards.folder + "/", folder, "--distribution", "sharded", "--host",
                        host, "--hosts", hosts)
        own = [name for name in shards.names if name in every[host::hosts]]
        part = Shards([folder], [found for name, found in zip(shards.names, shards.shards)
                                 if name in own], container=shards.container, codec=shards.codec,
                      names=own, dealt=(hosts, shards.counts))
        more = ["--manifest", shards.folder + "/dataset.json"]
        if part.samples:
            read(chain, root, part, "host %d of %d" % (host, hosts), more=more)
        for remainder in ("pad", "drop"):
            if not part.samples or part.length(remainder, 1) == -1:
                chain.sheaf("cat", "--channel", "train", "--channel-root", root, "--list",
                            "--remainder", remainder, *more, status=1,
                            says=("of %d" % hosts,) if own else ())
