# SPDX-License-Identifier: MIT
"""Shared by the tests of the Python package: data sets to read, and a server that has them."""

import faulthandler
import http.server
import os
import random
import re
import sys
import threading
from unittest import mock

import sheaf

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from case import Case, seed     # pylint: disable=unused-import,wrong-import-position

faulthandler.dump_traceback_later(1800, exit=True)      # a test that hangs prints where

CONTAINERS = ("webdataset", "tfrecord", "recordio")


def samples_of(count, number=1, size=400):
    """Returns [(key, {name: bytes}, label)] with fields of all sizes. Some samples have two fields."""
    chance = random.Random(number)
    made = []
    for i in range(count):
        fields = {"bin": chance.randbytes(chance.randrange(size))}
        if i % 3 == 0:
            fields["seg.txt"] = b"%d" % i
        made.append(("c%d/%05d" % (i % 7, i), fields, i % 7))
    return made


def pack(dest, samples, **options):
    """Packs the samples into several shards."""
    options.setdefault("classes", ["class %d" % i for i in range(7)])
    with sheaf.Packer(dest, **options) as packer:
        for number, (key, fields, label) in enumerate(samples):
            if number % max(1, len(samples) // 4) == 0:
                packer.cut()
            packer.append(key, fields, labels=label)
    return dest


def to_reach(server):
    """Sets the environment so that a fake S3 server is used: the context of mock.patch.dict()."""
    return mock.patch.dict(os.environ, {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": server.url, "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull})


def share_server(case, server):
    """Makes `server` the S3 service of all tests of the class `case`, and stops it after them."""
    case.addClassCleanup(server.stop)
    environment = to_reach(server)
    environment.start()
    case.addClassCleanup(environment.stop)
    return server


def flip(path, at):
    """Changes one bit of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


class Files(http.server.BaseHTTPRequestHandler):
    """Answers with the files of the server's folder, and ranges of them."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        path = os.path.join(self.server.folder, self.path.lstrip("/"))
        if body and os.path.basename(path).startswith(self.server.silent):
            self.server.asked.set()
            self.server.goes_on.wait(120)
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        self.send_response(206 if wanted else 200)
        if wanted:
            first, total = int(wanted[1]), len(data)
            data = data[first:int(wanted[2]) + 1 if wanted[2] else total]
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, first + len(data) - 1,
                                                                  total))
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"%s"' % os.path.basename(path))
        self.end_headers()
        self.server.sent_bytes += len(data) if body else 0
        try:
            self.wfile.write(data if body else b"")
        except OSError:
            pass                        # the client has gone

    def log_message(self, *_):
        pass


class FileServer(http.server.ThreadingHTTPServer):
    """Serves the files of a folder until the test case ends. Files whose names begin with `silent` are not sent until
    `goes_on` is set."""

    daemon_threads = True

    def __init__(self, case, folder, silent=()):
        super().__init__(("127.0.0.1", 0), Files)
        self.folder, self.silent, self.sent_bytes = folder, silent, 0
        self.asked, self.goes_on = threading.Event(), threading.Event()
        self.url = "http://127.0.0.1:%d/" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()
        case.addCleanup(self.server_close)
        case.addCleanup(self.shutdown)
        case.addCleanup(self.goes_on.set)
