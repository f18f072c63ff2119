# SPDX-License-Identifier: MIT
"""An S3 service that fails: objects in memory, and faults by chance.

It keeps what a client could find out (sizes, ETags, checksums, conditions, parts, listings), signs
nothing and checks no signature but that of the body, and fails `percent` of all requests in one of
the ways of FAULTS.  `rules` says what else it demands.  Each bucket comes into being by being used."""

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
    ("503", 12), ("500", 6), ("502", 4), ("429", 4),    # statuses that pass
    ("reset", 10),              # nothing is done, and the connection is reset
    ("lose", 16),               # it is done, but instead of the answer comes a reset
    ("cut", 16),                # a body that ends early, with a reset or without
    ("short", 8),               # a range that is shorter than asked for, and says so
    ("range", 6),               # a Content-Range that begins elsewhere
    ("etag", 1),                # another ETag than the object's
    ("sent", 6),                # a byte of the body changes on its way, before it is checked
    ("digest", 4),              # Garage's word for a body that was damaged on its way
    ("stray", 4),               # the body has one byte more than its Content-Length says
    ("store", 8),               # what is stored is not what was sent
    ("tag", 1),                 # the ETag in the answer to what writes is another one
    ("twice", 6),               # it is done twice, as where a proxy repeats it; the second answers
    ("409", 4),                 # a condition cannot be decided now
    ("412", 0.2),               # a condition is said not to hold, though it does
    ("torn", 10),               # an answer's XML ends early or is damaged, and all else is right
    ("page", 10),               # a page of a listing that has fewer entries, and says so
    ("pause", 2),               # half of the body comes a second later
    ("storm", 0.5),             # this request and the next ones are to come more slowly
    ("lie", 4),                 # the checksum in the answer is another one
    ("in200", 200),             # complete: status 200, and then an error
    ("bytes", 1),               # a byte of the body is wrong (shards only: they have checksums)
    ("denied", 0.2),            # a status that does not pass
    ("silence", 0.25),          # no answer at all
)


STORM = 40          # requests, at most


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
    def __init__(self, status, code, message="by chance"):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class Server:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.percent = 0
        self.rules = fake_s3_rules.Rules()
        self.dialects = ()      # names of fake_s3_dialects
        self.continues = True   # says 100 Continue to those who wait for it
        self.buckets = collections.defaultdict(Bucket)
        self.counts = collections.Counter()         # of faults, by name
        self.times = {}         # {name: so many times the weight of FAULTS}
        self.has_checks = None  # key -> whether a reader can know its bytes; None: of shards alone
        self.storm = 0          # so many requests more are refused
        self.current = {}, b""  # headers and body of the request for which _fault is called
        self.served = None      # a test's own: called when it is done and not yet answered
        self.requests = 0
        self.upload_number = self.tag_number = 0
        self.hold = 0           # ranges of shards are not sent before so many are asked for
        self.asked = set()      # which, while they are held
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
        """False: the connection is over."""
        if target.startswith("http://"):        # as to a proxy
            target = "/" + target.split("/", 3)[3]
        path, _, text = target.partition("?")
        _, bucket, key = (urllib.parse.unquote(path) + "/").split("/", 2)
        key = key[:-1]
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        self.current = headers, body
        fault = self._fault(method, key, query)
        self.requests += 1
        if (self.hold and "range" in headers and "shard-" in key
                and key in self.buckets[bucket].objects):
            self.asked.add((key, headers["range"]))
            if len(self.asked) >= self.hold:
                self.enough.set()
            await self.enough.wait()
        if fault == "storm":
            return await self._send(writer, method, 503, {}, self._error("SlowDown"))
        if fault in ("503", "500", "502", "429", "409", "412"):
            code = {"503": "SlowDown", "500": "InternalError", "409": "ConditionalRequestConflict",
                    "412": "PreconditionFailed"}.get(fault, "")
            return await self._send(writer, method, int(fault), {}, self._error(code))
        if fault == "digest":
            return await self._send(writer, method, 400, {}, self._error("InvalidDigest"))
        if fault == "denied":
            return await self._send(writer, method, 403, {}, self._error("AccessDenied"))
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
        if not code:
            return b""
        return ("<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>"
                % (code, message)).encode()

    # ---- Requests ------------------------------------------------------------------------------

    def _serve(self, method, bucket, key, query, headers, body, fault):
        digest = headers.get("x-amz-content-sha256", "")
        if len(digest) == 64 and hashlib.sha256(body).hexdigest() != digest:
            raise Failed(400, "XAmzContentSHA256Mismatch")
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
                    raise Failed(404, "NoSuchUpload")
            else:
                self._require(bucket, key, headers)
                bucket.objects.pop(key, None)
            return 204, {}, b""
        return self._get(bucket, key, headers, fault)

    def _require(self, bucket, key, headers):
        """What a request that writes or removes demands of what is there."""
        found = bucket.objects.get(key)
        if "no_conditions" in self.dialects:
            return
        if "no_if_match" in self.dialects:
            headers = {name: value for name, value in headers.items() if name != "if-match"}
        if headers.get("if-none-match") == "*" and found is not None:
            raise Failed(412, "PreconditionFailed")
        if "if-match" in headers and found is None:
            raise Failed(404, "NoSuchKey")
        if "if-match" in headers and found.etag != headers["if-match"]:
            raise Failed(412, "PreconditionFailed")

    def _etag(self, data):
        """None: its MD5.  As with KMS: as long, and no MD5 of anything."""
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
            raise Failed(404, "NoSuchKey")
        if headers.get("if-match", found.etag) != found.etag:
            raise Failed(412, "PreconditionFailed")
        more, size = self._answers(found.etag, found.meta), len(found.data)
        more["accept-ranges"] = "bytes"
        if headers.get("x-amz-checksum-mode") == "ENABLED":
            more.update(self._say(found.checksums))
        if "range" not in headers:
            return 200, more, found.data
        first, _, last = headers["range"].removeprefix("bytes=").partition("-")
        first, last = int(first), min(int(last), size - 1)
        if first >= size:
            raise Failed(416, "InvalidRange")
        if fault == "short":
            last = first + self.chance.randrange(last - first + 1)
        data = found.data[first:last + 1]
        if fault == "range":
            first, last = first + 1, last + 1
        more["content-range"] = "bytes %d-%d/%d" % (first, last, size)
        return 206, more, data

    def _put(self, bucket, key, query, headers, body, fault):
        checksums = fake_s3_rules.sent(headers)
        if fault == "store" and body:
            body = self._changed(body)
            if checksums:                       # no CRC is the same with one bit changed
                raise Failed(400, "BadDigest")
        if any(fake_s3_rules.crc(kind, body) != value for kind, value in checksums.items()):
            raise Failed(400, "BadDigest")
        new = Object(body, self._etag(body), checksums, _meta(headers))
        answers = self._answers(new.etag)
        answers.update(self._say(checksums))
        if "uploadId" in query:
            upload = bucket.uploads.get(query["uploadId"])
            if upload is None or upload[0] != key:
                raise Failed(404, "NoSuchUpload")
            if upload[2] is not None and upload[2] not in checksums:
                raise Failed(400, "InvalidRequest", "the upload has the checksum %s" % upload[2])
            upload[1][int(query["partNumber"])] = new
            return 200, answers, b""
        self._require(bucket, key, headers)
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
            raise Failed(400, "InvalidRequest")
        upload = bucket.uploads.get(query["uploadId"])
        if upload is None:
            raise Failed(404, "NoSuchUpload")
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
                raise Failed(400, "InvalidPart")
            parts.append(found)
        md5 = hashlib.md5(b"".join(bytes.fromhex(p.etag.strip('"')) for p in parts)).hexdigest()
        done = Object(b"".join(p.data for p in parts), '"%s-%d"' % (md5, len(parts)),
                      meta=upload[3])
        done.checksums = self._whole(upload[2], parts, done.data)
        wanted = fake_s3_rules.sent(headers)
        if any(done.checksums.get(kind) != value for kind, value in wanted.items()):
            raise Failed(400, "BadDigest")
        self._require(bucket, key, headers)
        bucket.objects[key] = done
        del bucket.uploads[query["uploadId"]]
        return 200, {}, ("<CompleteMultipartUploadResult><ETag>%s</ETag>"
                         "</CompleteMultipartUploadResult>" % escape(done.etag)).encode()

    def _whole(self, kind, parts, data):
        """The checksums of an object of several parts."""
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
