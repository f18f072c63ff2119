# SPDX-License-Identifier: MIT
"""What a terminal would obey, or show in another order than it is, never reaches it: whatever names,
classes, servers, manifests and plans say, no command prints C0 or C1 controls, or overrides of the
direction of text."""

import http.server
import json
import os
import re
import shutil
import threading

import writers
from support import Case, make_tree, pack, read, sheaf, write

CSI = "\x9b31m"                         # C1
EVIL = "e" + CSI + "\u202egpj\u2066\x85\u200f"
ORDINARY = "ordinary \u05d0\u00e9\u6f22"       # which is shown as it is
# What may come out besides: tabs and ends of lines.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                    "\ufeff]")


class Words(http.server.BaseHTTPRequestHandler):
    """A server that answers whatever it is asked with an error that has everything in it."""

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
    """Changes a JSON document, whose fingerprint then is wrong: what is said of it is looked at."""
    document = json.loads(read(path))
    change(document)
    write(path, json.dumps(document, ensure_ascii=False).encode())


class Terminal(Case):
    def run_all(self, *commands, **how):
        for words in commands:
            with self.subTest(words=words):
                self.shown(sheaf(*words, status=None, **how), words)

    def shown(self, done, words):
        """Both outputs, unless the standard one is a container's or a file's bytes."""
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
                ("pack", source, out + "6"), ("commit", source),
                ("cat", source, "--list", "--resume-from", os.path.join(source, "none")))

    def test_names_of_files_and_directories(self):
        """Also of DEST, of the plan, and of options."""
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
