# SPDX-License-Identifier: MIT
"""Reports of S3 Inventory as sources: a bucket, or a part below a root, as lists of rows that are written here. The
report is in the bucket, or copied to a directory."""

import gzip
import hashlib
import json
import os
import urllib.parse

import model
import trees
from chain import Source

COLUMNS = ["ETag", "IsLatest", "IsDeleteMarker", "LastModifiedDate", "VersionId"]


def make(chain, tree, folder):
    chance = chain.chance
    files = {path: data for path, data in tree.files.items()
             if data is not None and model.is_text(path)}
    chain.s3.put(folder + "/", files)
    columns = ["Bucket", "Key", "Size"] + chance.sample(COLUMNS, chance.choice([0, 1, 3, 5]))
    chance.shuffle(columns)
    listed = sorted(files, key=os.fsencode)
    if listed and chance.random() < 0.2:
        listed = listed[:chance.randrange(len(listed)) + 1]
    gone = ["gone/%d.bin" % n for n in range(2) if tree.bad and chance.random() < 0.2]
    rows = [row(columns, folder + "/" + path, files.get(path, b"not there"))
            for path in listed + gone]
    below = chance.choice([None, folder + "/", folder])
    rows += no_objects(chance, columns, folder, below is not None)
    chance.shuffle(rows)
    cut = folder + "/" if below is None else ""
    found = {cut + path: files.get(path, model.LATE) for path in listed + gone}
    return Source(report(chain, columns, rows), found,
                  [(path, os.path.dirname(path) or None) for path in found
                   if not model.is_clutter(path)], None,
                  [] if below is None else ["--root", chain.s3.url + below], "inventory")


def row(columns, key, data, **more):
    values = {"Bucket": "b", "Key": urllib.parse.quote_plus(key, safe="/"), "Size": str(len(data)),
              "ETag": hashlib.md5(data).hexdigest(), "IsLatest": "true", "IsDeleteMarker": "false",
              "LastModifiedDate": "2026-01-01T00:00:00.000Z", "VersionId": "", **more}
    return ",".join('"%s"' % values[column] for column in columns)


def no_objects(chance, columns, folder, has_root):
    """Returns rows that are ignored: directory markers, older versions, deletions, other prefixes."""
    rows = [row(columns, folder + "/c1/", b"")]
    if has_root:
        rows += [row(columns, "elsewhere/x.bin", b"x"), row(columns, folder + ".bin", b"x")]
    if "IsLatest" in columns:
        rows.append(row(columns, folder + "/old.bin", b"old", IsLatest="false"))
    if "IsDeleteMarker" in columns:
        rows.append(row(columns, folder + "/deleted.bin", b"", IsDeleteMarker="true"))
    return chance.sample(rows, chance.randrange(len(rows) + 1))


def report(chain, columns, rows):
    """Writes the files of the report. Returns the argument that names its manifest.json."""
    chance, place, parts = chain.chance, chain.new("inventory"), chain.chance.choice([1, 1, 2, 3])
    in_bucket = chance.random() < 0.4
    data, keys = {}, []
    for number in range(parts):
        text = "".join(line + "\n" for line in rows[number::parts])
        keys.append("%s/data/%d.csv.gz" % (place, number))
        data[keys[-1]] = gzip.compress(text.encode(), 1)
    name = place + "/2026-01-01T00-00Z/manifest.json"
    manifest = {"sourceBucket": chain.s3.name, "version": "2016-11-30", "fileFormat": "CSV",
                "destinationBucket": "arn:aws:s3:::" + chain.s3.name,
                "fileSchema": ", ".join(columns), "files": [
                    {"key": key, "size": len(data[key])} for key in keys]}
    data[name] = json.dumps(manifest).encode()
    if in_bucket:
        chain.s3.put("", data)
        chain.lines.append("# objects %s" % " ".join(data))
        return chain.s3.url + name
    trees.write(chain.folder, data)
    return name
