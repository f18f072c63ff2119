# SPDX-License-Identifier: MIT
"""Passes a tree to the packer: as the directory, or by one of the lists, with labels of every kind that the list
allows."""

import json
import os

import archives
import augmented
import decoders
import inventory
import model
import steps_foreign
import trees
from chain import Source

CLASSES = ["cat", "dog", "Dog", "d\u00f6g", "do\u0308g", "tabby, striped", "a b", "\u65e5", "-",
           "1x", "x" * 300]
NUMBERS = ["0", "1", "2", "7", "0.5", "-1", "-0", "1e3", "0.1", "16777216", "4294967294",
           "4294967295"]
WIDE = ["16777217", "9007199254740992", "1e38", "-0.25"]


def make(chain):
    """Makes a source of the chain, in its folder."""
    chance = chain.chance
    tree = trees.Tree(chance, chance.random() < 0.35)
    folder = chain.new("tree")
    if chain.s3 is not None and chance.random() < 0.7:
        return in_s3(chain, tree, folder)
    kind = chance.choice(["tree", "tree", "tree", "txt", "csv", "jsonl", "lst", "archive",
                          "augmented"])
    if kind == "augmented":
        return augmented.make(chain, tree, folder)
    if kind == "archive" and tree.files:
        return archives.make(chain, tree.files)
    trees.write(chain.path(folder), tree.files)
    if kind in ("tree", "archive"):
        return Source(folder, tree.files, tree_entries(tree.files), folder)
    return listed(chain, tree, folder, kind)


def tree_entries(files):
    """Returns each file, with its directory as its class."""
    return [(path, os.path.dirname(path) or None) for path in files if not model.is_clutter(path)]


def in_s3(chain, tree, folder):
    """Stores the files as objects with any name that a URL can express. No object is a link that leads nowhere."""
    kind = chain.chance.choice(["prefix", "prefix", "manifest", "augmented", "inventory"])
    if kind == "augmented":
        return augmented.make(chain, tree, folder)
    if kind == "inventory":
        return inventory.make(chain, tree, folder)
    files = {path: data for path, data in tree.files.items()
             if data is not None and model.is_text(path)}
    chain.s3.put(folder + "/", files)
    if kind == "manifest":
        return manifest(chain, tree, folder, files)
    return Source(chain.s3.url + folder + "/", files, tree_entries(files), None, (), "prefix")


def manifest(chain, tree, folder, files):
    """Makes a manifest file that lists all or some objects of a prefix."""
    chance, paths = chain.chance, sorted(files)
    chance.shuffle(paths)
    if paths and chance.random() < 0.3:
        paths = paths[:chance.randrange(len(paths)) + 1]
    if tree.bad and chance.random() < 0.3:
        paths.append("missing/x.bin")
    name = chain.new("list") + ".manifest"
    lines = [{"prefix": chain.s3.url + folder + "/"}, *paths]
    trees.write(chain.folder, {name: json.dumps(lines, ensure_ascii=chance.random() < 0.5).encode()})
    return Source(name, files, [(path, os.path.dirname(path) or None) for path in paths], None, (),
                  "manifest")


def listed(chain, tree, folder, kind):
    chance = chain.chance
    paths = [path for path in tree.files if model.is_text(path)]
    chance.shuffle(paths)
    if paths and chance.random() < 0.3:
        paths = paths[:chance.randrange(len(paths)) + 1]
    if tree.bad and chance.random() < 0.3:
        paths.append("missing/x.bin")
    if tree.bad and paths and chance.random() < 0.1:
        paths.append(chance.choice(paths))
    by_key = label_chooser(chance, kind)
    entries, lines = [], []
    for number, path in enumerate(paths):
        text = by_key(path)
        entries.append((path, label_of(path, text, kind)))
        lines.append(line(kind, number, path, text))
    if kind == "csv" and by_key.header:
        lines.insert(0, "no/field,label,path")
        lines[1:] = ["%d,%s" % (i, with_label_first(entry, by_key(entry[0])))
                     for i, entry in enumerate(entries)]
    text = "".join(line + "\n" for line in lines).encode()
    how, suffix = chance.choice([("none", "")] * 7 + [("gzip", ".gz"), ("lz4", ".lz4"),
                                                      ("zstd", ".zst")])
    beside = chance.random() < 0.2
    place = chain.new("lists") if beside else folder
    name = os.path.join(place, "list." + kind + suffix)
    trees.write(chain.folder, {name: steps_foreign.compressed(text, how)})
    return Source(name, tree.files, entries, folder, ["--root", folder] if beside else [], "list")


def label_chooser(chance, kind):
    """Returns a function from the path to the label's text. All files of a sample get the same label."""
    sort = chance.choice(["names", "numbers", "wide", "several", "none"])
    chosen = {}

    def choose(path):
        key = model.key_of(path)[0]
        if key not in chosen:
            chosen[key] = one_label(chance, sort)
        return chosen[key]
    choose.header = kind == "csv" and sort != "several" and chance.random() < 0.5
    return choose


def one_label(chance, sort):
    """Returns a list of words: none, one, or several numbers."""
    if sort == "none":
        return []
    if sort == "names":
        return [chance.choice(CLASSES)]
    if sort == "several":
        return [chance.choice(NUMBERS) for _ in range(chance.choice([2, 3, 3, 40]))]
    return [chance.choice(NUMBERS + (WIDE if sort == "wide" else []))]


def label_of(path, words, kind):
    """Returns a label in the form of the model: a class, numbers, or None."""
    if kind == "txt":
        return os.path.dirname(path) or None
    if not words:
        return (0.0,) if kind == "lst" else None
    numbers = decoders.parse_labels(" ".join(words).encode())
    return words[0] if numbers is None else tuple(float(n) + 0.0 for n in numbers)


def quoted(text):
    return '"%s"' % text.replace('"', '""') if '"' in text or "," in text else text


def with_label_first(entry, words):
    return "%s,%s" % (quoted(" ".join(words)), quoted(entry[0]))


def line(kind, number, path, words):
    if kind == "txt":
        return path
    if kind == "csv":
        return ",".join([quoted(path), *map(quoted, words)])
    if kind == "lst":
        return "\t".join([str(number), *(words or ["0"]), path])
    return json.dumps({"path": path, **json_label(words)}, ensure_ascii=number % 2 == 0)


def json_label(words):
    if not words:
        return {}
    if decoders.parse_labels(words[0].encode()) is None:
        return {"label": words[0]}
    numbers = [json.loads(word) for word in words]
    return {"label": numbers[0] if len(numbers) == 1 else numbers}
