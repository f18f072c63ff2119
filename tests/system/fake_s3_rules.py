# SPDX-License-Identifier: MIT
"""The rules of S3 (tests/s3/rules.def), the requirements of a bucket, and the checksums that it checks, for fake_s3.py.

The CRCs are computed here, directly from the bytes, with a table; nothing is combined."""

import array
import base64
import functools
import hashlib
import os
import re
import sys

with open(os.path.join(os.path.dirname(__file__), "..", "s3", "rules.def"), encoding="ascii") as _file:
    _rules = _file.read()
STATUS = {code: int(status) for code, status in re.findall(r'^S3_ERROR\("(\w+)", (\d+)\)$', _rules, re.M)}
CONDITIONS = re.findall(r'^S3_CONDITION\("(.+)", "(.+)", "(.+)", "(.+)"\)$', _rules, re.M)
PART_BYTES_LEAST = int(re.search(r"^S3_LEAST_PART\((\d+)\)$", _rules, re.M)[1])

POLYNOMIALS = {"crc64nvme": (64, 0x9A6C9329AC4BC9B5), "crc32c": (32, 0x82F63B78)}
HEADER = "x-amz-checksum-"


@functools.lru_cache(maxsize=None)
def _table(kind):
    """Returns a table for two bytes at a time."""
    table = []
    for value in range(1 << 16):
        for _ in range(16):
            value = value >> 1 ^ (POLYNOMIALS[kind][1] if value & 1 else 0)
        table.append(value)
    return table


_known = {}


def crc(kind, data):
    """Returns the CRC in base64, as in headers."""
    place = kind, len(data), hashlib.md5(data).digest()
    if place in _known:
        return _known[place]
    bits, polynomial = POLYNOMIALS[kind]
    table, value = _table(kind), (1 << bits) - 1
    words = array.array("H", data[:len(data) & ~1])
    if sys.byteorder == "big":
        words.byteswap()
    for word in words:
        value = value >> 16 ^ table[(value ^ word) & 0xFFFF]
    for byte in data[len(data) & ~1:]:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
    value ^= (1 << bits) - 1
    _known[place] = base64.b64encode(value.to_bytes(bits // 8, "big")).decode()
    return _known[place]


assert crc("crc64nvme", b"123456789") == base64.b64encode(
    bytes.fromhex("AE8B14860A799888")).decode()
assert crc("crc32c", b"123456789") == base64.b64encode(bytes.fromhex("E3069283")).decode()


def sent(headers):
    """Returns {kind: value} of the checksums in a request."""
    return {kind: headers[HEADER + kind] for kind in POLYNOMIALS if HEADER + kind in headers}


def operation(method, key, query):
    if key == "":
        return "ListMultipartUploads" if "uploads" in query else "ListObjectsV2"
    if "uploads" in query:
        return "CreateMultipartUpload"
    if "uploadId" in query:
        return {"PUT": "UploadPart", "POST": "CompleteMultipartUpload",
                "DELETE": "AbortMultipartUpload"}[method]
    return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject",
            "DELETE": "DeleteObject"}[method]


def refusals(method, headers, found):
    """Returns the codes with which services refuse the conditions of a request, or [] if the conditions hold."""
    def state(etag):
        return "absent" if found is None else "same" if found.etag == etag else "other"
    return [code for own, name, wrong, code in CONDITIONS
            if own == method and name in headers and state(headers[name]) == wrong]


class Rules:
    """`new` has headers that requests must have if they create an object, and `every` has headers for all requests.
    lock: as with Object Lock, bytes need a checksum or a Content-MD5. md5: they need a Content-MD5. whole: the bucket
    keeps checksums of whole objects, otherwise of the parts' checksums. opaque: ETags are not MD5s, as with
    encryption by KMS."""

    def __init__(self, new=None, every=None, lock=False, md5=False, whole=True,
                 opaque=False):
        self.new, self.every, self.lock, self.md5 = new or {}, every or {}, lock, md5
        self.whole, self.opaque = whole, opaque
        self.lies = False       # whether faults may give wrong checksums in responses
        self.seen = []          # (operation, key, headers) of all requests
        self.refused = []       # the requests that were refused

    def check(self, method, key, query, headers, body):
        """Returns the code and the message with which a request is refused, or None."""
        what = operation(method, key, query)
        demanded = dict(self.every)
        if what in ("PutObject", "CreateMultipartUpload"):
            demanded.update(self.new)
        self.seen.append((what, key, headers))
        answer = None
        if any(headers.get(name) != value for name, value in demanded.items()):
            answer = "AccessDenied", "explicit deny in a resource-based policy"
        elif (what in ("PutObject", "UploadPart") and "content-md5" not in headers
              and (self.md5 or (self.lock and not sent(headers)))):
            answer = "InvalidRequest", ("Content-MD5 OR x-amz-checksum- HTTP header is "
                                        "required for Put requests with Object Lock parameters")
        elif "content-md5" in headers and headers["content-md5"] != base64.b64encode(
                hashlib.md5(body).digest()).decode():
            answer = "BadDigest", "the MD5 is another one"
        if answer is not None:
            self.refused.append((what, key, headers))
        return answer
