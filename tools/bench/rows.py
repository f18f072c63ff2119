# SPDX-License-Identifier: MIT
"""The table of the benchmark: quantities, what they are compared with, and the figures to reach.

Contenders have the names that local.py, packing.py and remote.py give them. A check without `base` has an absolute
target. A check with `base` is a ratio of two contenders, computed in each round."""

from dataclasses import dataclass

from data import CONTAINERS


@dataclass
class Check:
    row: int
    label: str
    subject: str            # name of a contender
    quantity: str           # argument of Measure.get
    base: str = ""          # name of a contender, or "" to use the quantity itself
    least: float = None     # smallest value that meets the target
    most: float = None      # largest value that meets the target
    scale: float = 1        # factor for the ratio


TITLES = {
    1: "read in order, page cache warm, every checksum verified",
    2: "read shuffled, buffer of 10,000 samples, warm",
    3: "small records: 100 bytes in TFRecord, one core",
    4: "pack, warm, to the same disk",
    5: "pack, page cache dropped",
    6: "read from nginx over HTTP, ranges of 8 MiB",
    7: "read from radosgw, plain and over TLS",
    8: "pack straight to radosgw",
    9: "read gzip and LZ4 shards",
    10: "peak memory, budget of 512 MiB",
    11: "time to the first sample",
    12: "pack small files of 1 KB",
    13: "256 samples at random from radosgw, by number",
    14: "views: 8 sets mixed by weight, and every 10th run of 1,000 samples",
    15: "pack to radosgw over TLS, with the CRC-64/NVME of each part",
    16: "read from 20 MB/s a connection, 15 ms away",
    17: "pack a prefix of 1,000 small objects",
    18: "pack photos, their shorter side made 256 pixels",
    19: "read photos, decoded and cropped at random to 224 pixels",
    20: "read with a column of texts of 200 bytes, beside the base alone",
    21: "pack to 20 MB/s a connection, 50 ms away",
}

CHECKS = []


def _check(row, label, subject, quantity, base="", **target):
    CHECKS.append(Check(row, label, subject, quantity, base, **target))


for _c in CONTAINERS:
    _check(1, _c + ": rate", "sheaf " + _c, "GB/s", "read(2) " + _c, least=1.0)
    _check(1, _c + ": CPU a GB", "sheaf " + _c, "CPU s/GB", "read(2) and CRC-32C " + _c, most=1.3)
_check(1, "recordio: rate, InputSplit", "sheaf recordio", "GB/s", "InputSplit recordio", least=1.5)

for _c in CONTAINERS:
    _name = "sheaf %s shuffled" % _c
    _check(2, _c + ": rate", _name, "GB/s", "read(2) " + _c, least=0.6)
    _check(2, _c + ": samples", _name, "items/s", "webdataset shuffled", least=20)
    _check(2, _c + ": samples", _name, "items/s", "tf.data shuffled", least=10)

for _order, _least in (("in order", 10e6), ("shuffled", 6e6)):
    _name = "sheaf " + _order
    _check(3, _order, _name, "items/s", least=_least)
    _check(3, _order, _name, "items/s", "tf.data " + _order, least=10)

for _c in CONTAINERS:
    _name = "sheaf pack " + _c
    _check(4, _c + ": time", _name, "seconds", "pack_files", most=1.5)
    _check(4, _c, _name, "items/s", "tar, synced", least=1.8)
    _check(4, _c, _name, "items/s", "webdataset ShardWriter", least=6)
    _check(4, _c, _name, "items/s", "im2rec", least=3)

for _c in CONTAINERS:
    _check(5, _c, "sheaf pack %s, cold" % _c, "items/s", "pack_files, cold", least=0.95)

for _row, _kind, _least in ((6, "http", 0.95), (7, "s3", 0.95), (7, "s3, TLS", 0.97)):
    _check(_row, _kind + ": rate", "sheaf " + _kind, "GB/s", "bare loop " + _kind, least=_least)
    _check(_row, _kind + ": rate", "sheaf " + _kind, "GB/s", "curl " + _kind, least=0.9)
    _check(_row, _kind + ": CPU a GB", "sheaf " + _kind, "CPU s/GB", "bare loop " + _kind, most=1.1)
_check(6, "rate", "sheaf http", "GB/s", "bare loop http, 8 connections", least=0.95)
for _limit in ("multipart limit", "multipart limit, signed"):
    _check(8, "rate", "sheaf pack to s3", "GB/s", _limit, least=0.95)
_check(8, "rate", "sheaf pack to s3", "GB/s", "aws s3 cp", least=3)

for _codec in ("gzip", "lz4"):
    _check(9, _codec + ": rate", "sheaf " + _codec, "GB/s", _codec + " -dc", least=1.8)
    _check(9, _codec + ": CPU a GB", "sheaf " + _codec, "CPU s/GB", _codec + " -dc", most=1.2)

for _what in ("read", "pack"):
    _name = "%s, %%s" % _what
    _check(10, _what + ", 1.2 GB", _name % "small", "peak MiB", most=512 + 32)
    _check(10, _what + ", 12 GB", _name % "large", "peak MiB", most=512 + 32)
    _check(10, _what + ", 12 GB beside 1.2 GB", _name % "large", "peak MiB", _name % "small",
           most=1.1)

for _order in ("in order", "shuffled"):
    for _count in (8, 400):
        _check(11, "local, %d shards, %s" % (_count, _order),
               "local, %d shards, %s" % (_count, _order), "first ms", most=50)
        _check(11, "S3, %d shards, %s" % (_count, _order),
               "s3, %d shards, %s" % (_count, _order), "first ms",
               "three round trips and a part", most=1)

_check(12, "1,500,000 beside ten times 150,000", "1,500,000 files", "seconds/item",
       "150,000 files", most=1.2)
_check(12, "peak memory", "1,500,000 files", "peak MiB", most=350)

_check(13, "rate", "sheaf numbers", "items/s", "libcurl ranges", least=0.9)

_check(14, "mix of 8 beside one set", "sheaf mix", "GB/s", "sheaf one set", least=0.9)
_check(14, "every 10th run beside one set", "sheaf runs", "GB/s", "sheaf one set", least=0.8)
for _peer in ("webdataset mix", "tf.data mix", "mosaicml-streaming mix", "litdata mix"):
    _check(14, "mix", "sheaf mix", "items/s", _peer, least=1)

_check(15, "rate", "sheaf pack, TLS", "GB/s", "bare loop parts, TLS", least=0.9)
for _peer in ("aws s3 cp, TLS", "s5cmd, TLS"):
    _check(15, "rate", "sheaf pack, TLS", "GB/s", _peer, least=1.7)

_check(16, "first pass", "sheaf, first pass", "GB/s", "sheaf, second pass", least=0.95)
_check(16, "rate", "sheaf, first pass", "GB/s", "bare loop, paced", least=0.95)
_check(16, "verify", "sheaf verify, paced", "GB/s", "sheaf, first pass", least=0.7)

for _peer in ("aws s3 cp of a prefix", "s5cmd of a prefix"):
    _check(17, "objects", "sheaf pack of a prefix", "items/s", _peer, least=2)

for _kind in ("photos", "large photos"):
    _name = "sheaf pack --resize 256, " + _kind
    _check(18, _kind, _name, "items/s", "im2rec --resize 256, " + _kind, least=2)
    _check(18, _kind, _name, "items/s", "Pillow, " + _kind, least=3)

for _kind, _pillow, _torchvision in (("photos", 1.9, 1.45), ("large photos", 1.8, 1.4)):
    _name = "sheaf crops, " + _kind
    _check(19, _kind, _name, "items/CPU s", "Pillow crops, " + _kind, least=_pillow)
    _check(19, _kind, _name, "items/CPU s", "torchvision crops, " + _kind, least=_torchvision)

for _order in ("in order", "shuffled", "from S3"):
    _check(20, _order, "sheaf with a column, " + _order, "items/s", "sheaf base alone, " + _order,
           least=0.95)

for _peer in ("s5cmd, far", "aws s3 cp, far"):
    _check(21, "rate", "sheaf pack, far", "GB/s", _peer, least=1)
