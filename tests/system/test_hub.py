# SPDX-License-Identifier: MIT
"""Data sets of the Hugging Face hub, from a hub of the test's own. It requires a token, names commits, and redirects
requests for shards to another host."""

import http.server
import json
import os
import shutil
import threading
import urllib.parse

import servers
import support
from support import make_tree, pack, read

COMMIT = "0123456789abcdef0123456789abcdef01234567"
API, FILES = "/api/datasets/me/set/", "/datasets/me/set/resolve/%s/" % COMMIT


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self, path):
        data = read(path)
        first, last = self.headers["Range"].split("=")[1].split("-")
        last = min(int(last), len(data) - 1)
        self.answer(206, data[int(first):last + 1],
                    Content_Range="bytes %s-%d/%d" % (first, last, len(data)))

    def tree(self, path, recursive):
        found = []
        for name in sorted(os.listdir(os.path.join(self.server.root, path))):
            inside = os.path.join(path, name) if path else name
            full = os.path.join(self.server.root, inside)
            is_directory = os.path.isdir(full)
            found.append({"type": "directory" if is_directory else "file", "path": inside,
                          "size": 0 if is_directory else os.path.getsize(full), "oid": inside})
            if is_directory and recursive:
                found += self.tree(inside, True)
        return found

    def do_GET(self):
        server, url = self.server, urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        if server.hub is None:              # the other host
            server.leaks += "Authorization" in self.headers
            self.file(os.path.join(server.root, path[1:]))
        elif self.headers["Authorization"] != "Bearer hf_word":
            self.answer(401)
        elif path == API + "revision/main":
            self.answer(200, json.dumps({"sha": COMMIT}).encode())
        elif path.startswith(API + "tree/" + COMMIT):
            below = path[len(API + "tree/" + COMMIT):].strip("/")
            if not os.path.isdir(os.path.join(server.root, below)):
                return self.answer(404)
            self.answer(200, json.dumps(self.tree(below, "recursive=true" in url.query)).encode())
        elif not path.startswith(FILES) or not os.path.isfile(
                os.path.join(server.root, path[len(FILES):])):
            self.answer(404)
        elif path.endswith(".tar"):
            self.answer(302, Location="%s/%s" % (server.hub, url.path[len(FILES):]))
        else:
            self.file(os.path.join(server.root, path[len(FILES):]))


def serve(root, hub):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.root, server.hub, server.leaks = root, hub, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, "http://127.0.0.1:%d" % server.server_port


class Hub(support.Case):
    @classmethod
    def share(cls):
        cls.root = os.path.join(cls.shared, "www")
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), support.image_tree(4, 40))
        pack(cls.tree, os.path.join(cls.root, "set"), "webdataset", "none", "--shard-size", "150kB")
        os.makedirs(os.path.join(cls.root, "foreign/two words"))
        for name in support.shards_of(os.path.join(cls.root, "set")):
            shutil.copy(os.path.join(cls.root, "set", name), os.path.join(cls.root, "foreign/two words"))
        cls.other, elsewhere = serve(cls.root, None)
        cls.hub, url = serve(cls.root, elsewhere)
        for server in (cls.other, cls.hub):
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
        cls.env = dict(servers.clean_environment(), HF_ENDPOINT=url, HF_TOKEN="hf_word")

    def same(self, remote, local, *options):
        self.assertTrue(support.sheaf("cat", "hf://datasets/me/set" + remote, *options,
                                      env=self.env).stdout ==
                        support.sheaf("cat", os.path.join(self.root, local), *options).stdout)

    def test_a_data_set(self):
        self.same("/set", "set", "--seed", "3")
        self.same("@main/set/", "set", "--seed", "3", "--cache", self.path("cache"))
        self.same("@%s/set" % COMMIT, "set", "--seed", "3", "--cache", self.path("cache"))
        support.sheaf("verify", "hf://datasets/me/set/set", env=self.env)
        support.sheaf("fetch", "hf://datasets/me/set/set", self.path("copy"), env=self.env)
        support.sheaf("verify", self.path("copy"))
        self.assertEqual(self.other.leaks, 0)

    def test_foreign_shards(self):
        names = support.shards_of(os.path.join(self.root, "set"))
        self.same("/foreign/two words", "foreign/two words", "--no-shuffle")
        self.same("/foreign/two words/shard-{000000..%06d}.tar" % (len(names) - 1),
                  "foreign/two words", "--no-shuffle")

    def test_what_is_not_there(self):
        for url, text in (("hf://datasets/me/set/none", b"none"), ("hf://datasets/me/other/x", b"404"),
                          ("hf://me/set", b"hf://datasets/OWNER/NAME")):
            done = support.sheaf("cat", url, env=self.env, status=1)
            self.assertIn(text, done.stderr)
            self.assertNotIn(b"hf_word", done.stderr)
        done = support.sheaf("cat", "hf://datasets/me/set/set", status=1,
                             env=dict(self.env, HF_TOKEN="", HF_TOKEN_PATH="/nonexistent"))
        self.assertIn(b"set HF_TOKEN", done.stderr)
        done = support.sheaf("pack", self.tree, "hf://datasets/me/set/new", "--format", "tfrecord",
                             env=self.env, status=1)
        self.assertIn(b"can only be read", done.stderr)
