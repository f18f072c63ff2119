# SPDX-License-Identifier: MIT
"""Augmented manifests as sources. Each line is a sample, with objects, with values that become fields as they are,
and with a label. Without S3, the lines have no objects."""

import collections
import json
import os

import decoders
import model
import sources
import trees
from chain import Source

VALUES = ['2.50', '"a text"', '""', '[ [1, 2.50] ]', '{"a": "}\\"]", "b": [1,2]}', 'null', 'true',
          '"caf\\u00e9 \u65e5\\n"', '-0', '1e3', '"\\""', '[]', '7', '"cat"']
NAMES = ["boxes", "boxes-metadata", "caption", "Meta", "a.b", "\u00fc", "-ref", "bin", "cls",
         "source", "jpg", "a b"]
BAD_LINES = ["{", '{"a-ref": "no url"}', '{"a-ref": 7}', "[]", '{"x": 1, "x": 2}', "7",
             '{"a-ref": "s3://bucket/"}', '{"x": 1} {}']
# Lines that are not samples. A reader that looks only at objects accepts them.
BAD_SAMPLES = ["{}", '{"x": 1, "label": {}}', '{"x": 1, "label": ["a"]}', '{"x": 1, "label": ""}',
               '{"x": 1, "label": 9007199254740993}']

# An attribute of a line: kind is "object" (value: its key), "text" (its JSON) or "label" (the same).
Attribute = collections.namedtuple("Attribute", "name kind value")


class Augmented(Source):
    """lines: [(text, attributes)] of the lines that are objects with attributes. raw: the bytes of the manifest.
    has_bad: whether there are other lines. objects: {key: bytes}."""

    def __init__(self, argument, files, entries, **more):
        super().__init__(argument, files, entries, None, (), "augmented")
        self.lines, self.raw, self.has_bad = more["lines"], more["raw"], more["has_bad"]
        self.objects = more["objects"]


def make(chain, tree, folder):
    objects = {}
    if chain.s3 is not None:
        objects = {folder + "/" + path: data for path, data in tree.files.items()
                   if data is not None and model.is_text(path)}
        chain.s3.put("", objects)
    return Writer(chain, tree.bad, objects).write()


class Writer:
    """Chooses the lines, and describes them in the terms of the model."""

    def __init__(self, chain, bad, objects):
        self.chain, self.chance, self.bad, self.objects = chain, chain.chance, bad, objects
        self.label_kind = self.chance.choice(["label", "class", "truth", "none"])
        self.choose = sources.label_chooser(self.chance, "jsonl")
        self.texts, self.lines, self.files, self.entries = [], [], {}, []
        self.has_bad = False

    def write(self):
        chain, chance = self.chain, self.chance
        name = chain.new("list") + chance.choice([".manifest", ".json"])
        in_bucket = chain.s3 is not None and chance.random() < 0.4
        argument = chain.s3.url + name if in_bucket else name
        groups = self.groups()
        for keys in groups:
            if self.texts:
                self.add_other(argument)
            self.add_line(keys)
        text = "\n".join(self.texts) + chance.choice(["\n", "", "\n\n"])
        raw = (b"\xef\xbb\xbf" if chance.random() < 0.05 else b"") + text.encode()
        if in_bucket:
            chain.s3.put("", {name: raw})
            chain.lines.append("# an object %s" % name)
        else:
            trees.write(chain.folder, {name: raw})
        return Augmented(argument, self.files, self.entries, lines=self.lines, raw=raw,
                         has_bad=self.has_bad,
                         objects=self.objects)

    def groups(self):
        """Returns the keys of each line, which mostly belong to one sample."""
        chance, by_key = self.chance, collections.defaultdict(list)
        for key in sorted(self.objects, key=os.fsencode):
            by_key[model.key_of(key)[0]].append(key)
        groups = [chance.sample(keys, min(len(keys), chance.choice([1, 2, 3])))
                  for keys in by_key.values()] or [[] for _ in range(chance.choice([1, 3, 10]))]
        chance.shuffle(groups)
        for group in groups:
            if group and chance.random() < 0.05:
                group.append(chance.choice(sorted(self.objects)))
            if chance.random() < 0.05:
                group.clear()
        return groups

    def add_other(self, argument):
        """Adds lines that are not samples."""
        if self.chance.random() < 0.05:
            self.texts.append(self.chance.choice(["", " \t"]))
        if self.bad and self.chance.random() < 0.05:
            self.texts.append(self.chance.choice(BAD_LINES + BAD_SAMPLES))
            self.entries.append(("%s:%d" % (argument, len(self.texts)), model.BAD_LINE))
            self.has_bad |= self.texts[-1] in BAD_LINES
            if self.texts[-1] in BAD_SAMPLES:
                self.lines.append((self.texts[-1], [
                    Attribute(name, "text", json.dumps(value))
                    for name, value in json.loads(self.texts[-1]).items()]))

    def add_line(self, keys):
        attributes = self.attributes(keys)
        self.texts.append(self.as_json(attributes))
        self.lines.append((self.texts[-1], attributes))
        label = label_of(attributes)
        for path, attribute in fields(attributes, len(self.texts)):
            data = attribute.value.encode()
            if attribute.kind == "object":
                data = self.objects.get(attribute.value)
            self.files.setdefault(path, data)
            self.entries.append((path, label))

    def attributes(self, keys):
        chance = self.chance
        names = chance.sample(["source-ref", "mask-ref", "x-ref", "Other-ref", "a.b-ref"], len(keys))
        found = [Attribute(name, "object", key) for name, key in zip(names, keys)]
        if self.bad and found and chance.random() < 0.05:
            found[0] = found[0]._replace(value="missing/%d.bin" % chance.randrange(1000))
        for name in chance.sample(NAMES, chance.choice([0, 0, 1, 2, 4])):
            found.append(Attribute(name, "text", chance.choice(VALUES)))
        found += self.label()
        if any(a.name == "label" for a in found) and chance.random() < 0.1:
            found.append(Attribute("class", "text", chance.choice(VALUES)))     # an ordinary field
        if not any(attribute.kind != "label" for attribute in found):
            found.append(Attribute("only", "text", "1"))
        chance.shuffle(found)
        return found

    def label(self):
        """Returns the attributes that contain the label."""
        words = self.choose("%d.x" % len(self.texts)) if self.label_kind != "none" else []
        value = sources.json_label(words).get("label")
        if value is None:
            return []
        if self.label_kind != "truth":
            return [Attribute(self.label_kind, "label", json.dumps(value))]
        if not isinstance(value, int):              # there, only a whole number is a class
            return []
        return [Attribute("animal", "label", json.dumps(value)),
                Attribute("animal-metadata", "text", json.dumps(
                    {"type": "groundtruth/image-classification", "class-name": "x"}))]

    def as_json(self, attributes):
        """Returns a line as JSON, with blanks in any legal place."""
        chance, members = self.chance, []
        blank = chance.choice(["", "", " ", "  ", "\t"])
        for name, kind, value in attributes:
            if kind == "object":
                value = json.dumps(self.chain.s3.url + value, ensure_ascii=chance.random() < 0.5)
            members.append("%s%s:%s%s" % (json.dumps(name, ensure_ascii=chance.random() < 0.5),
                                          blank, blank, value))
        return "{%s%s%s}" % (blank, ("," + blank).join(members), blank)


def label_of(attributes):
    """Returns the label in the form of the model."""
    value = next((json.loads(a.value) for a in attributes if a.kind == "label"), None)
    if value is None or isinstance(value, str):
        return value
    numbers = value if isinstance(value, list) else [value]
    return tuple(float(number) + 0.0 for number in
                 decoders.parse_labels(" ".join(map(repr, numbers)).encode()))


def fields(attributes, number):
    """Returns [(path, attribute)]. A field has the suffix of its object, or the name of its attribute. The key is
    that of the first object."""
    objects = [attribute.value for attribute in attributes if attribute.kind == "object"]
    key = split(objects[0])[0] if objects else "%08d" % number
    found, taken = [], set()
    for attribute in attributes:
        name = attribute.name
        if attribute.kind == "label":
            continue
        if attribute.kind == "object":
            name, suffix = name[:-len("-ref")], split(attribute.value)[1]
            if suffix is not None:          # a second field with this suffix also gets the name of its attribute
                name = suffix if trees.lower(suffix) not in taken else name + "." + suffix
        taken.add(trees.lower(name))
        found.append((key + "." + name, attribute))
    return found


def split(path):
    """Returns (key, suffix) of an object's name. The suffix is None if the name has none."""
    key, suffix = model.key_of(path)
    stem, _, _ = path.rpartition("/")[2].partition(".")
    return (key, suffix) if stem and suffix else (path, None)
