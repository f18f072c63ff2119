# SPDX-License-Identifier: MIT
"""An S3 service that fails: it keeps objects in memory and injects random faults.

It keeps everything that a client can observe (sizes, ETags, checksums, conditions, parts, listings). It signs
nothing, and checks no signature except that of the body. `percent` of all requests fail in one of the ways of FAULTS.
`rules` has further requirements. A bucket exists as soon as it is used."""

import asyncio
import base64
import collections
import hashlib
import random
import threading
import urllib.parse
from xml.sax.saxutils import escape

import fake_s3_dialects
import fake_s3_rules

# (name, weight)
FAULTS = (
    # statuses that are temporary
    ("503", 12), ("500", 6), ("502", 4), ("429", 4), ("417", 1), ("425", 1), ("520", 1), ("524", 1),
    ("reset", 10),              # nothing is done, and the connection is reset
    ("lose", 16),               # the request is executed, but the connection is reset instead of a response
    ("cut", 16),                # the body ends early, with or without a reset
    ("short", 8),               # the range is shorter than requested, as the headers say
    ("range", 6),               # Content-Range begins at another offset
    ("total", 2),               # Content-Range has another size of the object
    ("no range", 2),            # there is no Content-Range
    ("whole", 2),               # the response is the whole object, with status 200
    ("long", 2),                # the body is longer than the range
    ("etag", 1),                # the ETag is not that of the object
    ("sent", 6),                # a byte of the body changes on its way, before the server checks it
    ("digest", 4),              # Garage's status for a body that was damaged on its way
    ("stray", 4),               # the body has one byte more than its Content-Length
    ("store", 8),               # other bytes are stored than were sent
    ("tag", 1),                 # the response to a write has another ETag
    ("twice", 6),  # the request is executed twice, as by a proxy that repeats it; the second execution responds
    ("409", 4),                 # the server cannot evaluate a condition now
    ("412", 0.2),               # the server says that a condition does not hold, although it does
    ("torn", 10),               # the XML of a response ends early or is damaged, and everything else is right
    ("page", 10),               # a page of a listing has fewer entries, and says so
    ("pause", 2),               # half of the body comes a second later
    ("storm", 0.5),             # this request and the next ones are refused, and the client must slow down
    ("lie", 4),                 # the checksum in the response is wrong
    ("in200", 200),             # the response to a completion has status 200, and then an error
    ("bytes", 1),               # a byte of the body is wrong (only shards, because they have checksums)
    ("denied", 0.2),            # a status that is permanent
    ("silence", 0.25),          # no response at all
)


STORM = 40          # largest number of refused requests


class Object:
    def __init__(self, data, etag=None, checksums=(), meta=()):
        self.data = data
        self.checksums = dict(checksums)        # {kind: value}
        self.meta = dict(meta)                  # {header: value}
        self.etag = etag or '"%s"' % hashlib.md5(data).hexdigest()


def _meta(headers):
    return {name: value for name, value in headers.items() if name.startswith("x-amz-meta-")}


class Bucket:
    def __init__(self):
        self.objects, self.uploads = {}, {}


class Failed(Exception):
    def __init__(self, code, message="by chance"):
        super().__init__(code)
        self.status, self.code, self.message = fake_s3_rules.STATUS[code], code, message


class Server:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.percent = 0
        self.rules = fake_s3_rules.Rules()
        self.dialects = ()      # names of dialects in fake_s3_dialects
        self.continues = True   # whether it sends 100 Continue to clients that wait for it
        self.buckets = collections.defaultdict(Bucket)
        self.counts = collections.Counter()         # number of faults, by name
        self.times = {}         # {name: factor for the weight in FAULTS}
        self.has_checks = None  # function of a key: whether a reader can check its bytes; None: only shards
        self.storm = 0          # number of further requests that are refused
        self.current = {}, b""  # headers and body of the request for which _fault is called
        self.served = None      # a function of a test, called after the request is executed and before the response
        self.requests = 0
        self.upload_number = self.tag_number = 0
        self.hold = 0           # ranges of shards are held back until this number has been requested
        self.held_name = "shard-"       # what the keys of these objects have
        self.asked = set()      # the ranges that have been requested meanwhile
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.ready.wait()
        self.url = "http://127.0.0.1:%d" % self.port

    def _run(self):
        asyncio.set_event_loop(self.loop)

        async def start():
            self.server = await asyncio.start_server(self._connection, "127.0.0.1", 0,
                                                     limit=1 << 20)
            self.enough = asyncio.Event()
            self.port = self.server.sockets[0].getsockname()[1]
            self.ready.set()
        self.loop.run_until_complete(start())
        self.loop.run_forever()
        self.server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.01))
        self.loop.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    @property
    def faults(self):
        return sum(self.counts.values())

    # ---- Connections ---------------------------------------------------------------------------

    async def _connection(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = {}
                for line in lines[1:]:
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                if headers.get("expect") == "100-continue" and self.continues:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self._answer(writer, method, target, headers, body):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer, method, target, headers, body):
        """Returns False if the connection is over."""
        if target.startswith("http://"):        # the form of requests to a proxy
            target = "/" + target.split("/", 3)[3]
        path, _, text = target.partition("?")
        _, bucket, key = (urllib.parse.unquote(path) + "/").split("/", 2)
        key = key[:-1]
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        self.current = headers, body
        fault = self._fault(method, key, query)
        self.requests += 1
        if (self.hold and "range" in headers and self.held_name in key
                and key in self.buckets[bucket].objects):
            self.asked.add((key, headers["range"]))
            if len(self.asked) >= self.hold:
                self.enough.set()
            await self.enough.wait()
        code = {"storm": "SlowDown", "503": "SlowDown", "500": "InternalError", "409": "ConditionalRequestConflict",
                "412": "PreconditionFailed", "digest": "InvalidDigest", "denied": "AccessDenied"}.get(fault)
        if code is not None:
            return await self._send(writer, method, fake_s3_rules.STATUS[code], {}, self._error(code))
        if fault is not None and fault.isdigit():
            return await self._send(writer, method, int(fault), {}, b"")
        if fault == "reset":
            return self._reset(writer)
        if fault == "silence":
            await asyncio.sleep(60)
            return False
        if fault == "sent":
            body = self._changed(body)
        for _ in range(2 if fault == "twice" else 1):
            try:
                status, more, data = self._serve(method, self.buckets[bucket], key, query, headers,
                                                 body, fault)
            except Failed as failed:
                status, more, data = failed.status, {}, self._error(failed.code, failed.message)
        if self.served is not None:
            self.served(method, key, query)
        request = fake_s3_dialects.Request(
            fake_s3_rules.operation(method, key, query), method, key, headers,
            self.buckets[bucket].objects.get(key), len(self.buckets[bucket].uploads))
        status, more, data = fake_s3_dialects.speak(self.dialects, request, status, more, data)
        if fault == "lose":
            return self._reset(writer)
        if fault in ("etag", "tag") and "etag" in more:
            more["etag"] = '"another"'
        for name in more:
            if fault == "lie" and name.startswith(fake_s3_rules.HEADER):
                more[name] = "AAAA" + more[name][4:]
        if fault == "stray" and data:
            more["content-length"] = str(len(data) - 1)
        if fault == "bytes" and status // 100 == 2:
            data = self._changed(data)
        if fault == "torn" and status == 200:
            at = self.chance.randrange(len(data))
            data = data[:at] + self.chance.choice((b"", b"\0" + data[at + 1:]))
        cut = self.chance.randrange(len(data)) if fault == "cut" and data else None
        return await self._send(writer, method, status, more, data, cut, fault == "pause")

    def _changed(self, data):
        at = self.chance.randrange(len(data)) if data else 0
        bit = 1 << self.chance.randrange(8)
        return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:] if data else data

    def _fault(self, method, key, query):
        headers, body = self.current
        if self.storm:
            self.storm -= 1
            self.counts["storm"] += 1
            return "storm"
        if self.chance.random() * 100 >= self.percent:
            return None
        is_get, is_data = method == "GET" and key != "", "shard-" in key and \
            key.endswith((".tar", ".rec", ".tfrecord"))
        is_list, is_put = key == "", method == "PUT"
        on_terms = method != "GET" and ("if-match" in headers or "if-none-match" in headers)
        fits = {"short": is_get, "range": is_get, "etag": is_get and is_data,
                "total": is_get, "no range": is_get, "whole": is_get, "long": is_get,
                "bytes": is_get and (is_data if self.has_checks is None else self.has_checks(key)),
                "store": is_put, "lie": method in ("PUT", "HEAD") and self.rules.lies,
                "in200": method == "POST" and "uploadId" in query, "cut": method == "GET",
                "sent": body != b"", "digest": body != b"", "stray": method == "GET",
                "tag": is_put, "409": on_terms, "412": on_terms,
                "torn": is_list or method == "POST", "page": is_list and "uploads" not in query, "pause": is_get}
        able = [(n, w * self.times.get(n, 1)) for n, w in FAULTS if fits.get(n, True)]
        name = self.chance.choices([n for n, _ in able], [w for _, w in able])[0]
        self.counts[name] += 1
        if name == "storm":
            self.storm = self.chance.randrange(STORM)
        return name

    def _reset(self, writer):
        writer.transport.abort()
        return False

    async def _send(self, writer, method, status, headers, data, cut=None, pause=False):
        lines = ["HTTP/1.1 %d X" % status]
        if "transfer-encoding" not in headers:
            headers.setdefault("content-length", str(len(data)))
        lines += ["%s: %s" % item for item in headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        if method == "HEAD":
            data = b""
        half = len(data) // 2 if pause else 0
        if half:
            writer.write(data[:half])
            await writer.drain()
            await asyncio.sleep(1)
        writer.write(data[half:] if cut is None else data[:cut])
        await writer.drain()
        if cut is None:
            return True
        if self.chance.random() < 0.5:
            return self._reset(writer)
        return False

    @staticmethod
    def _error(code, message="by chance"):
        return ("<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>"
                % (code, message)).encode()

    # ---- Requests ------------------------------------------------------------------------------

    def _serve(self, method, bucket, key, query, headers, body, fault):
        digest = headers.get("x-amz-content-sha256", "")
        if len(digest) == 64 and hashlib.sha256(body).hexdigest() != digest:
            raise Failed("XAmzContentSHA256Mismatch")
        refusal = self.rules.check(method, key, query, headers, body)
        if refusal is not None:
            raise Failed(*refusal)
        if key == "":
            return self._list(bucket, query, fault)
        if method == "POST":
            return self._post(bucket, key, query, headers, body, fault)
        if method == "PUT":
            return self._put(bucket, key, query, headers, body, fault)
        if method == "DELETE":
            if "uploadId" in query:
                if bucket.uploads.pop(query["uploadId"], None) is None:
                    raise Failed("NoSuchUpload")
            else:
                self._require(method, bucket, key, headers)
                bucket.objects.pop(key, None)
            return 204, {}, b""
        return self._get(bucket, key, headers, fault)

    def _require(self, method, bucket, key, headers):
        """Checks the conditions of a request that writes or removes against the existing object."""
        found = bucket.objects.get(key)
        if "no_conditions" in self.dialects:
            return
        if "no_if_match" in self.dialects:
            headers = {name: value for name, value in headers.items() if name != "if-match"}
        if "bare_etags" in self.dialects and "if-match" in headers:
            headers = dict(headers, **{"if-match": '"%s"' % headers["if-match"]})
        codes = fake_s3_rules.refusals(method, headers, found)
        if codes:
            raise Failed(self.chance.choice(codes))

    def _etag(self, data):
        """Returns an ETag: the MD5 of the bytes, or, as with KMS, a text of the same length that is not an MD5."""
        if not self.rules.opaque:
            return None
        self.tag_number += 1
        return '"%s"' % hashlib.md5(b"%d %d" % (self.tag_number, len(data))).hexdigest()

    def _answers(self, etag, meta=()):
        more = dict(meta, etag=etag)
        if self.rules.opaque:
            more["x-amz-server-side-encryption"] = "aws:kms"
        return more

    def _get(self, bucket, key, headers, fault):
        found = bucket.objects.get(key)
        if found is None:
            raise Failed("NoSuchKey")
        if fake_s3_rules.refusals("GET", headers, found):
            raise Failed("PreconditionFailed")
        more, size = self._answers(found.etag, found.meta), len(found.data)
        more["accept-ranges"] = "bytes"
        if headers.get("x-amz-checksum-mode") == "ENABLED":
            more.update(self._say(found.checksums))
        if "range" not in headers:
            return 200, more, found.data
        first, _, last = headers["range"].removeprefix("bytes=").partition("-")
        if first == "":         # the last bytes
            first, last = max(size - int(last), 0), size - 1
        first, last = int(first), min(int(last), size - 1)
        if first >= size:
            raise Failed("InvalidRange")
        if fault == "short":
            last = first + self.chance.randrange(last - first + 1)
        data = found.data[first:last + 1]
        if fault == "range":
            first, last = first + 1, last + 1
        if fault == "total" and headers["range"] != "bytes=0-0":     # there it is all that a client learns
            size += 1
        if fault == "whole":
            return 200, more, found.data
        more["content-range"] = "bytes %d-%d/%d" % (first, last, size)
        if fault == "long":
            data += b"x"
        if fault == "no range":
            del more["content-range"]
        return 206, more, data

    def _put(self, bucket, key, query, headers, body, fault):
        checksums = fake_s3_rules.sent(headers)
        if fault == "store" and body:
            body = self._changed(body)
            if checksums:                       # no CRC stays the same if one bit changes
                raise Failed("BadDigest")
        if any(fake_s3_rules.crc(kind, body) != value for kind, value in checksums.items()):
            raise Failed("BadDigest")
        new = Object(body, self._etag(body), checksums, _meta(headers))
        answers = self._answers(new.etag)
        answers.update(self._say(checksums))
        if "uploadId" in query:
            upload = bucket.uploads.get(query["uploadId"])
            if upload is None or upload[0] != key:
                raise Failed("NoSuchUpload")
            if upload[2] is not None and upload[2] not in checksums:
                raise Failed("InvalidRequest", "the upload has the checksum %s" % upload[2])
            upload[1][int(query["partNumber"])] = new
            return 200, answers, b""
        self._require("PUT", bucket, key, headers)
        bucket.objects[key] = new
        return 200, answers, b""

    @staticmethod
    def _say(checksums):
        return {fake_s3_rules.HEADER + kind: value for kind, value in checksums.items()}

    def _post(self, bucket, key, query, headers, body, fault):
        if "uploads" in query:
            self.upload_number += 1
            name = "upload-%d" % self.upload_number
            kind = headers.get("x-amz-checksum-algorithm", "").lower() or None
            bucket.uploads[name] = (key, {}, kind, _meta(headers))
            more = {"x-amz-checksum-type": "FULL_OBJECT"} if kind and self.rules.whole else {}
            return 200, more, ("<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
                             "</InitiateMultipartUploadResult>" % name).encode()
        if "uploadId" not in query:
            raise Failed("InvalidRequest")
        upload = bucket.uploads.get(query["uploadId"])
        if upload is None:
            raise Failed("NoSuchUpload")
        if fault == "in200":
            return 200, {}, b"  \n" + self._error("InternalError")
        import xml.etree.ElementTree as ElementTree
        parts = []
        for part in ElementTree.fromstring(body):
            values = {e.tag.rpartition("}")[2]: e.text for e in part}
            found = upload[1].get(int(values["PartNumber"]))
            if found is None or found.etag.strip('"') != values["ETag"].strip('"') or any(
                    values.get("Checksum" + kind.upper()) != value
                    for kind, value in found.checksums.items()):
                raise Failed("InvalidPart")
            parts.append(found)
        if any(len(part.data) < fake_s3_rules.PART_BYTES_LEAST for part in parts[:-1]):
            raise Failed("EntityTooSmall")
        md5 = hashlib.md5(b"".join(bytes.fromhex(p.etag.strip('"')) for p in parts)).hexdigest()
        done = Object(b"".join(p.data for p in parts), '"%s-%d"' % (md5, len(parts)),
                      meta=upload[3])
        done.checksums = self._whole(upload[2], parts, done.data)
        wanted = fake_s3_rules.sent(headers)
        if any(done.checksums.get(kind) != value for kind, value in wanted.items()):
            raise Failed("BadDigest")
        self._require("POST", bucket, key, headers)
        bucket.objects[key] = done
        del bucket.uploads[query["uploadId"]]
        return 200, {}, ("<CompleteMultipartUploadResult><ETag>%s</ETag>"
                         "</CompleteMultipartUploadResult>" % escape(done.etag)).encode()

    def _whole(self, kind, parts, data):
        """Returns the checksums of an object that consists of several parts."""
        if kind is None:
            return {}
        if self.rules.whole or kind == "crc64nvme":
            return {kind: fake_s3_rules.crc(kind, data)}
        all_of_them = b"".join(base64.b64decode(p.checksums[kind]) for p in parts)
        return {kind: "%s-%d" % (fake_s3_rules.crc(kind, all_of_them), len(parts))}

    def _list(self, bucket, query, fault):
        prefix, entries = query.get("prefix", ""), []
        if "uploads" in query:
            for name, (key, *_) in sorted(bucket.uploads.items())[:1000]:
                if key.startswith(prefix):
                    entries.append("<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>" % (
                        escape(key), name))
            return 200, {}, ("<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>%s"
                             "</ListMultipartUploadsResult>" % "".join(entries)).encode()
        after, common = query.get("continuation-token", ""), set()
        token, most = "", 1 + self.chance.randrange(3) if fault == "page" else 50
        for key in sorted(bucket.objects):
            if not key.startswith(prefix) or key < after:
                continue
            rest = key[len(prefix):]
            if query.get("delimiter") and "/" in rest:
                common.add(prefix + rest.partition("/")[0] + "/")
                continue
            if len(entries) == most:
                token = key
                break
            found = bucket.objects[key]
            entries.append("<Contents><Key>%s</Key><Size>%d</Size><ETag>%s</ETag></Contents>" % (
                urllib.parse.quote(key), len(found.data), escape(found.etag)))
        entries += ["<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" %
                    urllib.parse.quote(p) for p in sorted(common)]
        return 200, {}, (
            "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%s</IsTruncated>%s%s"
            "</ListBucketResult>" % ("true" if token else "false", "".join(entries),
                                     "<NextContinuationToken>%s</NextContinuationToken>" %
                                     token if token else "")).encode()
