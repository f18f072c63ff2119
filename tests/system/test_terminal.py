# SPDX-License-Identifier: MIT
"""Tests that no command prints C0 or C1 controls, or characters that change the direction of text. Names, classes,
servers, manifests and plans may contain them, and a terminal would obey them or show text in another order."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time

import writers
from support import SHEAF, Case, make_tree, pack, read, sheaf, write

CSI = "\x9b31m"                         # C1
EVIL = "e" + CSI + "\u202egpj\u2066\x85\u200f"
ORDINARY = "ordinary \u05d0\u00e9\u6f22"       # which is shown as it is
# What may come out besides: tabs and ends of lines.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                    "\ufeff]")


class Words(http.server.BaseHTTPRequestHandler):
    """A server that answers every request with an error whose text contains all such characters."""

    def do_GET(self):
        text = ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>Evil%s</Code><Message>%s"
                "</Message><RequestId>%s</RequestId></Error>" % ("\u202e", EVIL, EVIL)).encode()
        self.send_response_only(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("x-amz-request-id", "evil\x9b31m")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, format, *args):      # pylint: disable=redefined-builtin
        pass


def fixed(path, change):
    """Changes a JSON document, whose fingerprint is then wrong, so that the error message is examined."""
    document = json.loads(read(path))
    change(document)
    write(path, json.dumps(document, ensure_ascii=False).encode())


def piped(*words, env=None):
    """Feeds one epoch to a reader that discards it, because the command waits for a reader of the pipe."""
    pipe = os.path.join(words[2], "train_0")
    os.makedirs(words[2], exist_ok=True)
    with subprocess.Popen([SHEAF, *words, "--epochs", "1"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as feeder:
        stream = None
        while feeder.poll() is None:
            try:
                if stream is None:
                    stream = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                if os.read(stream, 65536):
                    continue
            except (FileNotFoundError, BlockingIOError):
                pass
            time.sleep(0.002)
        if stream is not None:
            os.close(stream)
        return subprocess.CompletedProcess(words, feeder.returncode, feeder.stdout.read(),
                                           feeder.stderr.read())


class Terminal(Case):
    def run_all(self, *commands, **how):
        for words in commands:
            with self.subTest(words=words):
                done = piped(*words, **how) if words[0] == "pipe" else \
                    sheaf(*words, status=None, **how)
                self.shown(done, words)

    def shown(self, done, words):
        """Returns both outputs. Leaves out standard output if it has the bytes of a container or file."""
        texts = [done.stderr]
        if words[0] != "cat" or "--list" in words or "--null" in words:
            texts.append(done.stdout)
        for text in texts:
            found = UNSAFE.search(text.decode("utf-8"))
            self.assertIsNone(found, text)

    def evil(self, *names):
        path = self.path(EVIL, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def readers(self, source):
        out = self.evil("out")
        shutil.rmtree(out, ignore_errors=True)
        return (("cat", source, "--list"), ("cat", source, "--null"), ("cat", source),
                ("cat", source, "--list", "--on-corrupt", "skip"), ("verify", source),
                ("verify", source, "--json"), ("info", source), ("info", source, "--json"),
                ("info", source, "--lineage"), ("info", source, "--mixing"),
                ("info", source, source), ("index", source),
                ("unpack", source, out + "1"), ("advise", source), ("advise", source, "--json"),
                ("convert", source, out + "2", "--format", "tfrecord"),
                ("convert", source, out + "3", "--format", "webdataset", "--on-corrupt", "skip"),
                ("fetch", source, out + "4"),
                ("pipe", source, out + "5"), ("pipe", source, out + "5", "--channel", EVIL),
                ("pipe", source, out + "5", "--compression", "gzip"),
                ("pipe", source, out + "5", "--attributes", EVIL),
                ("pack", source, out + "6"), ("commit", source),
                ("cat", source, "--list", "--resume-from", os.path.join(source, "none")))

    def test_names_of_files_and_directories(self):
        """Also tests the names of DEST, of the plan, and in options."""
        tree = make_tree(self.evil("tree"), {
            ORDINARY + "/1.txt": b"1", ORDINARY + "/2.txt": b"2", EVIL + "/3.txt": b"3",
            "c/" + EVIL + ".txt": b"4", "c/5." + EVIL: b"5", "c/empty" + EVIL + ".jpg": b""})
        dest, plan = self.evil("set"), self.evil("x.plan")
        options = ("--format", "webdataset")
        self.run_all(*[("pack", tree, dest, *options, *more) for more in (
                         (), ("--dry-run", "--on-error", "skip"), ("--on-error", "skip"), (),
                         ("--resume",), ("--prefix", EVIL), ("--split", EVIL + "=1"),
                         ("--overwrite", "--on-error", "skip"))],
                     ("plan", tree, dest + "2", "-o", plan, *options),
                     ("plan", tree, dest + "2", "-o", plan, *options, "--on-error", "skip"),
                     ("info", plan), ("info", plan, "--json"),
                     ("pack", "--plan", plan, "--part", "0/1"), ("commit", plan),
                     ("pack", "--plan", plan, "--part", EVIL), (EVIL,), ("cat", "--" + EVIL),
                     ("cat", dest, "--epoch", EVIL), ("cat", "--channel", EVIL, "--list"))
        self.run_all(*self.readers(dest), *self.readers(self.evil("nothing")),
                     *self.readers(tree))
        self.assertIn(ORDINARY, sheaf("cat", dest, "--list").stdout.decode())
        self.assertEqual(piped("pipe", dest, self.evil("fed")).returncode, 0)
        write(self.evil("list.csv"), ("%s.txt,1\n%s\n" % (EVIL, EVIL)).encode())
        self.run_all(("pack", self.evil("list.csv"), dest + "3", "--root", tree, *options))

    def test_names_of_members_and_fields(self):
        members = [("a/%s.txt" % EVIL, b"1"), ("a/2." + EVIL, b"2"), (EVIL + "/3.cls", b"1"),
                   (EVIL, b"no suffix")]
        write(self.evil("in", EVIL + ".tar"), writers.tar(members, form=writers.tarfile.PAX_FORMAT))
        examples = [writers.example({"__key__": [EVIL.encode()], EVIL: [b"x"], "label": [1]}),
                    writers.example({"image/class/text": [EVIL.encode()],
                                     "image/class/label": [1], "image/encoded": [b"x"]})]
        write(self.evil("in2", EVIL + ".tfrecord"), writers.tfrecord(examples))
        write(self.evil("in3", EVIL + ".rec"), writers.recordio([EVIL.encode()] * 2)[:-1])
        for folder in ("in", "in2", "in3"):
            self.run_all(*self.readers(self.evil(folder)))

    def test_texts_of_lists_of_objects(self):
        """Tests the lists' entries, attributes, classes and URLs, and objects that do not exist."""
        entries = [{"prefix": "file://" + EVIL + "/"}, "1.txt", EVIL]
        lines = [{EVIL: 1, "x-ref": "s3://" + EVIL + "/1.txt", "label": EVIL},
                 {EVIL + "-ref": EVIL}, {"x-ref": 1, "label": {EVIL: EVIL}}]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        report = {"fileFormat": "CSV", "sourceBucket": EVIL, "destinationBucket": EVIL,
                  "fileSchema": "Key, Size", "files": [{"key": EVIL}]}
        write(self.evil("1.manifest"), json.dumps(entries, ensure_ascii=False).encode())
        write(self.evil("2.manifest"), text.encode())
        write(self.evil("3.manifest"), (EVIL + "{\n" + text).encode())
        write(self.evil("4", "manifest.json"), json.dumps(report, ensure_ascii=False).encode())
        environment = dict(os.environ, AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_REGION="x",
                           AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_MAX_ATTEMPTS="1")
        for name in ("1.manifest", "2.manifest", "3.manifest", "4/manifest.json"):
            source, out = self.evil(name), self.evil("out")
            self.run_all(("pack", source, out, "--format", "webdataset"),
                         ("pack", source, out, "--format", "webdataset", "--on-error", "skip"),
                         ("fetch", source, out), ("pipe", source, out),
                         ("pipe", source, out, "--attributes", "x-ref"),
                         ("pipe", source, out, "--attributes", EVIL), ("advise", source),
                         env=environment)

    def test_texts_of_manifests_and_plans(self):
        tree = make_tree(self.path("tree"), {"k/%d.txt" % i: b"%d" % i for i in range(4)})

        def classes(document):
            document["classes"] = [EVIL]

        def shard(document):
            document["shards"][0]["name"] = EVIL

        def option(document):
            document["options"]["prefix"] = EVIL

        def key(document):
            document[EVIL] = 1

        def container(document):
            document["container"] = document["codec"] = EVIL
        for change in (classes, shard, option, key, container):
            folder = self.path("set")
            shutil.rmtree(folder, ignore_errors=True)
            pack(tree, folder, "recordio")
            fixed(os.path.join(folder, "dataset.json"), change)
            self.run_all(*self.readers(folder))
        source = self.path("set")
        shutil.rmtree(source, ignore_errors=True)
        sheaf("plan", tree, source, "-o", self.path("x.plan"), "--format", "tfrecord")
        data = read(self.path("x.plan"))
        for at in range(0, len(data), 7):
            write(self.path("bad.plan"), data[:at] + EVIL.encode() + data[at + len(EVIL.encode()):])
            self.run_all(("info", self.path("bad.plan")))
        write(self.path("position"), EVIL.encode())
        self.run_all(("cat", self.shared, "--list", "--resume-from", self.path("position")))

    def test_words_of_servers(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Words)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d" % server.server_port
        tree = make_tree(self.path("tree"), {"k/1.txt": b"1"})
        environment = dict(os.environ, AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="a",
                           AWS_SECRET_ACCESS_KEY="b", AWS_REGION="us-east-1",
                           SHEAF_TIMEOUT="1", AWS_MAX_ATTEMPTS="1")
        try:
            for source in ("s3://bucket/" + EVIL, url + "/x.tar"):
                self.run_all(*self.readers(source), env=environment)
            self.run_all(("pack", tree, "s3://bucket/out"), ("pack", "s3://bucket/x", "out"),
                         env=environment)
        finally:
            server.shutdown()
            server.server_close()
