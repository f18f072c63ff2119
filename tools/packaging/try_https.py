#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads shards from an HTTPS server with the command sheaf, in a system that may be changed: with the certificates
where this system has them, where Fedora has them, and without certificates."""

import functools
import http.server
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading

OWN = "/etc/ssl/certs/ca-certificates.crt"
OTHERS = "/etc/pki/tls/certs/ca-bundle.crt"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files with byte ranges."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            with open(self.translate_path(self.path), "rb") as file:
                data = file.read()
        except OSError:
            self.send_error(404)
            return
        size = len(data)
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range", ""))
        if wanted:
            first = int(wanted.group(1))
            data = data[first:int(wanted.group(2)) + 1 if wanted.group(2) else size]
            self.send_response(206)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, first + len(data) - 1, size))
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def make_certificate(folder):
    """Makes a self-signed certificate of localhost for this system to trust."""
    paths = os.path.join(folder, "key"), os.path.join(folder, "cert")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", paths[0], "-out", paths[1]], check=True, stderr=subprocess.DEVNULL)
    shutil.copy(paths[1], "/usr/local/share/ca-certificates/try.crt")
    subprocess.run(["update-ca-certificates"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return paths


def main():
    folder = tempfile.mkdtemp()
    key, certificate = make_certificate(folder)
    os.makedirs(os.path.join(folder, "tree"))
    with open(os.path.join(folder, "tree", "a.txt"), "w", encoding="utf-8") as file:
        file.write("text")
    subprocess.run(["sheaf", "pack", folder + "/tree", folder + "/set", "--format", "tfrecord"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = http.server.ThreadingHTTPServer(
        ("localhost", 0), functools.partial(Handler, directory=folder))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def listed():
        return subprocess.run(
            ["sheaf", "cat", "https://localhost:%d/set" % server.server_port, "--list"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)

    done = listed()
    assert done.returncode == 0, done.stdout
    os.makedirs(os.path.dirname(OTHERS))
    shutil.move(OWN, OTHERS)
    done = listed()
    assert done.returncode == 0, done.stdout
    os.remove(OTHERS)
    done = listed()
    assert done.returncode == 1 and "install the system's CA certificates" in done.stdout, done.stdout


if __name__ == "__main__":
    main()
