# SPDX-License-Identifier: MIT
"""Checks `sheaf report` of any thing: the page refers to nothing else, and has the counts of the model."""

import os

import counts
import readers
from test_report import Page

FIELDS_MOST = 24


def count_text(count):
    return "{:,}".format(count)


def some(count, what):
    """Returns the text of a card."""
    return "%s %s%s" % (count_text(count), what, "" if count == 1 else "s")


def size_text(size):
    """Returns a size as people read it, with three digits."""
    unit, units = 0, ["B", "kB", "MB", "GB"]
    while size >= 999.5:
        size, unit = size / 1000, unit + 1
    return "%.*f %s" % (unit > 0 and size < 99.95, size, units[unit])


def of(chain, *words):
    """Makes the page of a data set."""
    name = chain.new("report") + ".html"
    chain.sheaf("report", *words, "-o", name)
    data = readers.read(chain.path(name))
    try:
        page = Page(data)
    except (AssertionError, KeyError, UnicodeDecodeError) as error:
        chain.fail("%s is no page: %r" % (name, error))
    for tag, attributes in page.elements:       # nothing runs, and nothing comes from elsewhere
        outside = [value for key, value in attributes.items() if key.startswith("on") or
                   key in ("src", "href") and not value.startswith("data:image/")]
        if outside or tag in ("script", "link", "iframe", "object", "embed", "base", "form"):
            chain.fail("%s does not stand alone: %s %s" % (name, tag, outside[:1]))
    if b"url(" in data or [n for n in os.listdir(chain.folder) if n.startswith(name + ".")]:
        chain.fail("%s does not stand alone" % name)
    return page


def has(chain, page, section, text):
    if text not in page.text(section):
        chain.fail("the report's %s lack %r:" % (section, text), page.text(section)[:2000])


def report(chain, shards):
    """Makes the report of a data set, a view, shards or a union."""
    verify = chain.chance.random() < 0.3 and not shards.is_view
    page = of(chain, *shards.arguments, *(["--verify"] if verify else []))
    if shards.is_stream:
        has(chain, page, "head", "counts are not known")
        return
    has(chain, page, "head", some(shards.epoch_length, "sample"))
    if shards.classes:
        has(chain, page, "head", "%d class%s" % (len(shards.classes),
                                                 "" if len(shards.classes) == 1 else "es"))
    if shards.is_set:
        has(chain, page, "head", some(len(shards.shards), "shard"))
        classes_and_fields(chain, page, shards)
    if verify:
        has(chain, page, "checked", "Sound. All %d samples" % len(shards.samples))
    elif shards.samples:
        has(chain, page, "checked", "all of them are sound")


def classes_and_fields(chain, page, shards):
    own = counts.class_samples(shards.shards, shards.classes, shards.base) \
        if shards.classes and not shards.foreign else None
    if own:
        ordered = sorted(own)
        has(chain, page, "classes", "%d class%s of %s to %s samples" % (
            len(own), "" if len(own) == 1 else "es", *map(count_text, (ordered[0], ordered[-1]))))
    fields = counts.fields(shards.samples)
    for field in (fields or [])[:FIELDS_MOST]:
        if len(field["name"]) > 60 or field["name"] != field["name"].strip():
            continue
        has(chain, page, "fields", "%s %s %s %s" % (field["name"], count_text(field["samples"]),
                                                    size_text(field["bytes"]),
                                                    size_text(field["least"])))


def damaged(chain, copy):
    """Makes the report of a data set with a damaged shard, with --verify."""
    page = of(chain, copy, "--verify")
    has(chain, page, "head", "damaged")
    if " problem" not in page.text("checked") and "could not be made" not in page.text("checked"):
        chain.fail("the report does not say what is damaged:", page.text("checked")[:1000])
