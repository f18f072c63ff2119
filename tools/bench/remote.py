# SPDX-License-Identifier: MIT
"""Rows 6 to 8, 13, 15 to 17, 21 and the second half of 11: nginx and radosgw on loopback, compared with curl making
the same requests. The servers are those of the tests (tests/system/servers.py)."""

import contextlib
import datetime
import hashlib
import hmac
import os
import random
import shutil
import struct
import subprocess
import sys
import unittest
import urllib.parse

import data
import local
import peers
from run import Contender, take_turns

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests",
                                "system"))
import servers                                          # pylint: disable=wrong-import-position

PART = 8 << 20          # bytes of a range and of a part, as the library requests them
CONNECTIONS = 32        # largest number of connections of the library for reading
NEAR_CONNECTIONS = 8    # enough for a near server; the library begins with 4 and adds more if they help
UPLOADS = 8             # number of concurrent parts that is enough for this server
BUCKET = "bench"
OBJECTS = 1000          # number of objects in row 17
PACE_MB = 20            # MB per second of each connection in rows 16 and 21
S5CMD = os.path.join(os.environ.get("BUILD", "build"), "interop-s3", "bin", "s5cmd")
LATENCY_MS = 15         # latency of the shaped server of row 11
FAR_MS = 50             # latency of the shaped server of row 21
NUMBERS = 256           # samples of a batch in row 13
BATCHES = 20            # measured batches; one more batch before them is not measured
GAP = 1 << 20           # largest gap that the library reads across, and largest range (sheaf.h)


# ---- curl --------------------------------------------------------------------------------------

def presigned(client, endpoint, method, path, query=()):
    """Returns a URL that anyone may use for an hour."""
    host = urllib.parse.urlsplit(endpoint).netloc
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = "%s/%s/s3/aws4_request" % (now[:8], client.region)
    query = sorted([*query, ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Date", now),
                    ("X-Amz-Credential", client.access + "/" + scope),
                    ("X-Amz-Expires", "3600"), ("X-Amz-SignedHeaders", "host")])
    text = urllib.parse.urlencode(query, quote_via=urllib.parse.quote, safe="~")
    canonical = "\n".join([method, path, text, "host:%s\n" % host, "host", "UNSIGNED-PAYLOAD"])
    key = ("AWS4" + client.secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    to_sign = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (
        now, scope, hashlib.sha256(canonical.encode()).hexdigest())
    return "%s%s?%s&X-Amz-Signature=%s" % (
        endpoint, path, text, hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest())


def curl(path, transfers, connections=CONNECTIONS):
    """Returns the command that makes all transfers in parallel. Each transfer is a list of lines of curl's
    configuration."""
    with open(path, "w", encoding="ascii") as file:
        file.write("\nnext\n".join("\n".join(["silent", "fail", *lines]) for lines in transfers))
    return ["curl", "--noproxy", "*", "-Z", "--parallel-max", str(connections), "-K", path]


def ranges(urls):
    """Returns transfers of whole objects [(URL, bytes)], in ranges."""
    return [['url = "%s"' % url, 'range = "%d-%d"' % (at, min(at + PART, size) - 1),
             'output = "/dev/null"', *more]
            for url, size, *more in urls for at in range(0, size, PART)]


def bare_loop(bench, name, urls, cacert=None, connections=CONNECTIONS, items=1):
    """Returns the contender that reads whole objects [(URL, bytes)] in the same ranges over libcurl. It uses the same
    number of connections and makes the same checks (curl_loop.c)."""
    path = os.path.join(bench.folder, "ranges-" + "".join(c for c in name if c.isalnum()))
    with open(path, "w", encoding="ascii") as file:
        file.write("\n")                # the time covers all requests
        for url, size in urls:
            for at in range(0, size, PART):
                file.write("%d %d %s\n" % (at, min(at + PART, size) - 1, url))
    return Contender(name, [bench.data.program("curl_loop"), str(connections), str(items), path,
                            "--check", *([cacert] if cacert else [])],
                     bytes=sum(size for _, size in urls), items=items)


# ---- Servers -----------------------------------------------------------------------------------

@contextlib.contextmanager
def server(make, results, names):
    """Yields a server of the tests, or None if it is not installed."""
    try:
        found = make()
    except unittest.SkipTest as why:
        for name in names:
            results.missing[name] = str(why)
        yield None
        return
    try:
        yield found
    finally:
        found.stop()


@contextlib.contextmanager
def shaped(bench, endpoint, latency_ms, all_mb=0, each_mb=0):
    """Makes the same server appear distant, and returns its endpoint."""
    process = subprocess.Popen([bench.data.program("shape"), endpoint.rpartition(":")[2],
                                str(latency_ms), str(all_mb), str(each_mb)],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield "http://127.0.0.1:" + process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def upload(bench, rgw, folder, prefix):
    subprocess.run([bench.data.sheaf, "convert", folder, "s3://%s/%s" % (BUCKET, prefix),
                    "--format", "tfrecord"], check=True, env=rgw.environment(),
                   stdout=subprocess.DEVNULL)


def objects(rgw, prefix):
    """Returns [(key, bytes)] of the shards in the bucket."""
    return [(key, size) for key, size in sorted(rgw.client.list(BUCKET, prefix).items())
            if key.endswith(".tfrecord")]


# ---- Rows --------------------------------------------------------------------------------------

def read_http(bench, results):
    folder = bench.data.shards("tfrecord")
    files = data.shard_files(folder)
    size = data.size_of(files)
    with server(lambda: servers.Nginx(folder), results, ["sheaf http", "curl http"]) as nginx:
        if not nginx:
            return
        urls = [(nginx.url + "/" + os.path.basename(f), os.path.getsize(f)) for f in files]
        turns = [Contender("sheaf http", [bench.data.program("read_sheaf"), "1", "--no-shuffle",
                                          nginx.url + "/dataset.json"],
                           bytes=size, items=bench.data.images)]
        for name, connections in (("curl http", CONNECTIONS),
                                  ("curl http, 8 connections", NEAR_CONNECTIONS)):
            turns.append(Contender(name, curl(os.path.join(bench.folder, "curl-%d" % connections),
                                              ranges(urls), connections), bytes=size, whole=True))
        for name, connections in (("bare loop http", CONNECTIONS),
                                  ("bare loop http, 8 connections", NEAR_CONNECTIONS)):
            turns.append(bare_loop(bench, name, urls, connections=connections))
        take_turns(turns, results, most=11, seconds=15)


def read_s3(bench, results):
    with radosgw(bench, results, ["sheaf s3", "curl s3"]) as rgw:
        if not rgw:
            return
        found = objects(rgw, "data/")
        size = sum(s for _, s in found)
        for kind, endpoint in (("s3", rgw.plain), ("s3, TLS", rgw.tls)):
            urls = [(presigned(rgw.client, endpoint, "GET", "/%s/%s" % (BUCKET, key)), s)
                    for key, s in found]
            turns = [Contender("sheaf " + kind, [
                bench.data.program("read_sheaf"), "1", "--no-shuffle", "s3://%s/data/" % BUCKET],
                bytes=size, items=bench.data.images, env=rgw.environment(endpoint)),
                Contender("curl " + kind, curl(os.path.join(bench.folder, "curl-s3"), ranges(
                    (*url, 'cacert = "%s"' % rgw.ca) for url in urls)), bytes=size, whole=True),
                bare_loop(bench, "bare loop " + kind, urls, rgw.ca, NEAR_CONNECTIONS)]
            if kind == "s3":
                turns += peers.found(bench, results, [("s3torchconnector", [
                    "s3torch_read", BUCKET, "data",
                    ",".join(os.path.basename(key) for key, _ in found)])],
                    size=size, env=rgw.environment())
            take_turns(turns, results, most=7, seconds=20)


def read_columns_s3(bench, results):
    """A far server, because what counts is the number of requests."""
    folder = bench.data.column_shards("webdataset")
    size = data.size_of(data.shard_files(folder))
    names = ["sheaf base alone, from S3", "sheaf with a column, from S3"]
    with server(servers.Radosgw, results, names) as rgw:
        if not rgw:
            return
        rgw.client.make_bucket(BUCKET)
        for path in data.files_of(folder):
            with open(path, "rb") as file:
                rgw.client.put(BUCKET, "data/" + os.path.relpath(path, folder), file.read())
        with shaped(bench, rgw.plain, LATENCY_MS) as endpoint:
            take_turns([Contender(name, [bench.data.program("read_sheaf"), "4", "--skip-passes", "1",
                                         *more, "s3://%s/data/" % BUCKET],
                                  bytes=3 * size, items=3 * bench.data.images,
                                  env=rgw.environment(endpoint))
                        for name, more in zip(names, ([], ["--column", "cap"]))],
                       results, most=15, seconds=80)


@contextlib.contextmanager
def radosgw(bench, results, names):
    """Starts radosgw with the data set at s3://bench/data/."""
    with server(servers.Radosgw, results, names) as rgw:
        if rgw:
            rgw.client.make_bucket(BUCKET)
            upload(bench, rgw, bench.data.shards("tfrecord"), "data/")
        yield rgw


def parts_of(bench, files):
    """Returns files with the shards' parts, cut once: [(shard, [path])]."""
    folder = os.path.join(bench.data.folder, "parts")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    cut = []
    for path in files:
        subprocess.run(["split", "-b", str(PART), "-d", "-a", "4", path,
                        os.path.join(folder, os.path.basename(path) + ".")], check=True)
        cut.append((os.path.basename(path), sorted(
            os.path.join(folder, f) for f in os.listdir(folder)
            if f.startswith(os.path.basename(path) + "."))))
    return cut


def presigned_part(client, path, query, part):
    """Returns curl's lines for the PUT of a part whose bytes the server does not check."""
    return ['url = "%s"' % presigned(client, client.endpoint, "PUT", path, query),
            'upload-file = "%s"' % part]


def signed_part(client, path, query, part):
    """Returns curl's lines for the PUT of a part with its SHA-256 in the signature, which the server checks."""
    with open(part, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    url, headers = client.signed_put(path, query, digest)
    return ['url = "%s"' % url, 'upload-file = "%s"' % part,
            *('header = "%s: %s"' % header for header in headers)]


class Multipart:
    """Uploads the parts of the shards with curl, each shard as an upload of its own. `put` makes the request."""

    def __init__(self, rgw, cut, config, put):
        self.rgw, self.cut, self.config, self.put, self.uploads = rgw, cut, config, put, []

    def begin(self):
        curl(self.config, [[*self.put(self.rgw.client, path, query, part),
                            'output = "/dev/null"', 'header = "Expect:"']
                           for path, query, part in self.begin_uploads()], UPLOADS)

    def begin_uploads(self):
        """Begins an upload of each shard, and returns (path of the key, query, file) of each part."""
        for name, parts in self.cut:
            path = "/%s/limit/%s" % (BUCKET, name)
            answer = self.rgw.client.request("POST", path, [("uploads", "")])[0].decode()
            upload = answer.partition("<UploadId>")[2].partition("</UploadId>")[0]
            self.uploads.append((path, upload))
            for number, part in enumerate(parts, 1):
                yield path, [("partNumber", str(number)), ("uploadId", upload)], part

    def command(self):
        return curl(self.config, [], UPLOADS)

    def abort(self):
        for path, upload in self.uploads:
            self.rgw.client.request("DELETE", path, [("uploadId", upload)])
        self.uploads = []
        collect(self.rgw)


class BareMultipart(Multipart):
    """Uploads the same parts with the bare loop, over TLS with pre-signed URLs that do not sign the bytes. It
    computes the CRC-64/NVME of each part, and completes each upload."""

    def __init__(self, bench, rgw, cut):
        super().__init__(rgw, cut, os.path.join(bench.folder, "bare-parts"), None)
        self.program = bench.data.program("curl_loop")

    def begin(self):
        parts = list(self.begin_uploads())
        with open(self.config, "w", encoding="ascii") as file:
            for path, query, part in parts:
                file.write("\nPUT %s %s" % (part, self.presigned("PUT", path, query)))
            file.write("\n\n")
            for number, (path, upload) in enumerate(self.uploads):
                files = [part for other, _, part in parts if other == path]
                file.write("POST %s %s\n" % (self.completion(number, files), self.presigned(
                    "POST", path, [("uploadId", upload)])))

    def presigned(self, method, path, query):
        return presigned(self.rgw.client, self.rgw.tls, method, path, query)

    def completion(self, number, parts):
        """Returns the file with the body of the request that completes an upload of these parts."""
        name = "%s-complete-%d" % (self.config, number)
        with open(name, "w", encoding="ascii") as file:
            file.write("<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % "".join(
                "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % (at, md5_of(part))
                for at, part in enumerate(parts, 1)))
        return name

    def abort(self):
        self.uploads = []
        forget(self.rgw, "limit/")

    def command(self):
        return [self.program, str(UPLOADS), "1", self.config, "--check", self.rgw.ca]


def md5_of(path):
    with open(path, "rb") as file:
        return hashlib.md5(file.read()).hexdigest()


def collect(rgw):
    """Makes the server free the memory of deleted objects now."""
    subprocess.run(["radosgw-admin", "-c", os.path.join(rgw.folder, "ceph.conf"), "gc", "process",
                    "--include-all"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def forget(rgw, prefix):
    for key in rgw.client.list(BUCKET, prefix):
        rgw.client.delete(BUCKET, key)
    collect(rgw)


def pack_s3(bench, results):
    folder = bench.data.shards("tfrecord")
    size = data.size_of(data.shard_files(folder))
    limits = {"multipart limit": presigned_part, "multipart limit, signed": signed_part}
    with radosgw(bench, results, ["sheaf pack to s3", *limits, "aws s3 cp"]) as rgw:
        if not rgw:
            return
        cut = parts_of(bench, data.shard_files(folder))
        env = rgw.environment()
        turns = [Contender("sheaf pack to s3", [
            bench.data.sheaf, "pack", bench.data.tree(), "s3://%s/packed/" % BUCKET, "--format",
            "tfrecord"], bytes=size, whole=True, env=env, after=lambda: forget(rgw, "packed/"))]
        for number, (name, put) in enumerate(limits.items()):
            limit = Multipart(rgw, cut, os.path.join(bench.folder, "curl-parts-%d" % number), put)
            turns.append(Contender(name, limit.command(), bytes=size, whole=True,
                                   before=limit.begin, after=limit.abort))
        turns += copiers(results, {"aws s3 cp": "aws s3 cp"}, folder, "s3://%s/copied/" % BUCKET,
                         bytes=size, env=env, after=lambda: forget(rgw, "copied/"))
        take_turns(turns, results, most=5, seconds=40)
        shutil.rmtree(os.path.join(bench.data.folder, "parts"), ignore_errors=True)


def copiers(results, names, source, dest, env, **how):
    """Returns the contenders {tool: name} that copy everything in a directory or prefix. This radosgw does not
    support the trailing checksums that newer versions of aws send by default."""
    env = {**env, "S3_ENDPOINT_URL": env["AWS_ENDPOINT_URL"],
           "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}
    tools = {
        "aws s3 cp": ["aws", "s3", "cp", "--recursive", "--only-show-errors", source, dest],
        "s5cmd": [S5CMD, "--log", "error", "cp", source.rstrip("/") + "/*",
                  dest.rstrip("/") + "/"],
    }
    found = []
    for tool, name in names.items():
        if shutil.which(tools[tool][0]):
            found.append(Contender(name, tools[tool], whole=True, env=env, **how))
        else:
            results.missing[name] = "no %s here" % tool
    return found


def pack_s3_tls(bench, results):
    """Packs as people do: over TLS, without signing the bytes, and with a checksum of them."""
    folder = bench.data.shards("tfrecord")
    size = data.size_of(data.shard_files(folder))
    names = ["sheaf pack, TLS", "bare loop parts, TLS", "aws s3 cp, TLS", "s5cmd, TLS"]
    with radosgw(bench, results, names) as rgw:
        if not rgw:
            return
        env = rgw.environment(rgw.tls, SHEAF_S3_CHECKSUM="crc64nvme")
        limit = BareMultipart(bench, rgw, parts_of(bench, data.shard_files(folder)))
        take_turns([
            Contender(names[0], [bench.data.sheaf, "pack", bench.data.tree(),
                                 "s3://%s/packed/" % BUCKET, "--format", "tfrecord"], bytes=size,
                      whole=True, env=env, after=lambda: forget(rgw, "packed/")),
            Contender(names[1], limit.command(), bytes=size, before=limit.begin,
                      after=limit.abort),
            *copiers(results, {"aws s3 cp": names[2], "s5cmd": names[3]}, folder,
                     "s3://%s/copied/" % BUCKET, bytes=size, env=env,
                     after=lambda: forget(rgw, "copied/"))], results, most=5, seconds=40)
        shutil.rmtree(os.path.join(bench.data.folder, "parts"), ignore_errors=True)


def pack_far(bench, results):
    """Packs to a distant server with a low rate per connection."""
    folder = bench.data.shards("tfrecord")
    size = data.size_of(data.shard_files(folder))
    names = ["sheaf pack, far", "aws s3 cp, far", "s5cmd, far"]
    with radosgw(bench, results, names) as rgw:
        if not rgw:
            return
        with shaped(bench, rgw.plain, FAR_MS, 0, PACE_MB) as endpoint:
            env = rgw.environment(endpoint)
            take_turns([
                Contender(names[0], [bench.data.sheaf, "pack", bench.data.tree(),
                                     "s3://%s/packed/" % BUCKET, "--format", "tfrecord"],
                          bytes=size, whole=True, env=env, after=lambda: forget(rgw, "packed/")),
                *copiers(results, {"aws s3 cp": names[1], "s5cmd": names[2]}, folder,
                         "s3://%s/copied/" % BUCKET, bytes=size, env=env,
                         after=lambda: forget(rgw, "copied/"))], results, most=5, seconds=60)


def read_paced(bench, results):
    """Measures the first pass, which includes opening, and the second pass of a warm reader. `sheaf verify` also
    opens the data set and reads it once."""
    names = ["sheaf, first pass", "sheaf, second pass", "bare loop, paced", "sheaf verify, paced"]
    with radosgw(bench, results, names) as rgw:
        if not rgw:
            return
        found = objects(rgw, "data/")
        size = sum(s for _, s in found)
        with shaped(bench, rgw.plain, LATENCY_MS, 0, PACE_MB) as endpoint:
            urls = [(presigned(rgw.client, endpoint, "GET", "/%s/%s" % (BUCKET, key)), s)
                    for key, s in found]
            words = ["--no-shuffle", "s3://%s/data/" % BUCKET]
            program, env = bench.data.program("read_sheaf"), rgw.environment(endpoint)
            take_turns([
                Contender(names[0], [program, "1", *words], bytes=size, env=env,
                          items=bench.data.images),
                Contender(names[1], [program, "2", "--skip-passes", "1", *words], bytes=size,
                          env=env, items=bench.data.images),
                bare_loop(bench, names[2], urls),
                Contender(names[3], [bench.data.sheaf, "verify", words[1]], bytes=size, env=env,
                          whole=True)], results, most=7, seconds=40)


def small_objects(bench, results):
    """Packs the objects of a prefix, each as a sample. The other programs copy them to the disk."""
    names = ["sheaf pack of a prefix", "aws s3 cp of a prefix", "s5cmd of a prefix",
             "bare loop of a prefix"]
    with server(servers.Radosgw, results, names) as rgw:
        if not rgw:
            return
        rgw.client.make_bucket(BUCKET)
        tree, dest = bench.data.tree(), os.path.join(bench.folder, "small")
        files = sorted(os.path.join(at, name) for at, _, found in os.walk(tree)
                       for name in found)[:OBJECTS]
        urls = []
        for path in files:
            key = "small/" + os.path.relpath(path, tree)
            with open(path, "rb") as file:
                rgw.client.put(BUCKET, key, file.read())
            urls.append((presigned(rgw.client, rgw.plain, "GET", "/%s/%s" % (BUCKET, key)),
                         os.path.getsize(path)))
        how = {"items": len(files), "env": rgw.environment(),
               "after": lambda: shutil.rmtree(dest, ignore_errors=True)}
        source = "s3://%s/small/" % BUCKET
        take_turns([
            Contender(names[0], [bench.data.sheaf, "pack", source, dest, "--format", "tfrecord"],
                      whole=True, **how),
            *copiers(results, {"aws s3 cp": names[1], "s5cmd": names[2]}, source, dest, **how),
            bare_loop(bench, names[3], urls, connections=CONNECTIONS, items=len(files))],
            results, most=9, seconds=30)


def first_sample_s3(bench, results):
    """Measures the limit: three small requests, one after another, and then a part, from the same server."""
    with server(servers.Radosgw, results, ["three round trips and a part"]) as rgw:
        if not rgw:
            return
        rgw.client.make_bucket(BUCKET)
        turns = []
        with shaped(bench, rgw.plain, LATENCY_MS) as endpoint:
            for count in (8, 400):
                upload(bench, rgw, bench.data.shards("tfrecord", count=count), "%d/" % count)
                turns += local.first_sample_of(bench, "s3", count, "s3://%s/%d/" % (BUCKET, count),
                                               env=rgw.environment(endpoint))
            key = objects(rgw, "8/")[0][0]
            url = presigned(rgw.client, endpoint, "GET", "/%s/%s" % (BUCKET, key))
            turns.append(Contender("three round trips and a part", [
                sys.executable, os.path.join(peers.HERE, "first.py"), url, str(PART)]))
            take_turns(turns, results, most=9, seconds=10)


def frames(path):
    """Returns [(first, end)] of the records of a TFRecord file."""
    found, at = [], 0
    with open(path, "rb") as file:
        while head := file.read(12):
            end = at + 16 + struct.unpack_from("<Q", head)[0]
            found.append((at, end))
            file.seek(end)
            at = end
    return found


def joined(wanted):
    """Returns the ranges of a batch, with near ranges merged. The input is a sorted list of (shard, (first, end))."""
    ranges_found = []
    for shard, (first, end) in wanted:
        if ranges_found and ranges_found[-1][0] == shard and first - ranges_found[-1][2] <= GAP \
                and end - ranges_found[-1][1] <= PART:
            ranges_found[-1][2] = end
        else:
            ranges_found.append([shard, first, end])
    return ranges_found


def read_numbers(bench, results):
    """Reads samples by number. The bare loop requests the same ranges on the same number of connections."""
    with radosgw(bench, results, ["sheaf numbers", "libcurl ranges"]) as rgw:
        if not rgw:
            return
        found = objects(rgw, "data/")
        folder = bench.data.shards("tfrecord")
        samples = [(shard, frame) for shard, (key, _) in enumerate(found)
                   for frame in frames(os.path.join(folder, os.path.basename(key)))]
        urls = [presigned(rgw.client, rgw.plain, "GET", "/%s/%s" % (BUCKET, key))
                for key, _ in found]
        chance = random.Random(1)
        lists = [os.path.join(bench.folder, name) for name in ("numbers", "ranges")]
        with open(lists[0], "w", encoding="ascii") as numbers, \
                open(lists[1], "w", encoding="ascii") as asked:
            for _ in range(1 + BATCHES):
                batch = chance.sample(range(len(samples)), NUMBERS)
                numbers.write(" ".join(map(str, batch)) + "\n")
                for shard, first, end in joined(samples[n] for n in sorted(batch)):
                    asked.write("%d %d %s\n" % (first, end - 1, urls[shard]))
                asked.write("\n")
        take_turns([
            Contender("sheaf numbers", [bench.data.program("read_numbers"), lists[0],
                                        "s3://%s/data/" % BUCKET], items=BATCHES * NUMBERS,
                      env=rgw.environment()),
            Contender("libcurl ranges", [bench.data.program("curl_loop"), str(CONNECTIONS),
                                         str(BATCHES * NUMBERS), lists[1]],
                      items=BATCHES * NUMBERS)], results, least=5, most=11, seconds=30)
