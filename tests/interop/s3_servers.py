# SPDX-License-Identifier: MIT
"""S3 servers of other projects, on loopback: started where install_servers.sh has installed them.

    server = s3_servers.Moto()      its client, and the environment for the command
    server.stop()

What a server differs in from S3 is a flag of its class."""

import contextlib
import http.client
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import servers

INSTALLED = os.path.join(os.environ["BUILD"], "interop-s3")
ACCESS, SECRET = "sheaf-access-key", "sheaf/secret+key/of-forty-characters-abc"
READY_SECONDS = 120         # of a Java program on a busy machine


class Server:
    """One process with its state in a directory of its own."""

    access, secret = ACCESS, SECRET
    checks_signatures = True
    lists_uploads = True
    lists_uploads_below = True      # not only those of an exact key
    encodes_keys = True             # in listings, where it says so
    lists_etags = True
    lists_pages = True
    keeps_slashes = True            # "a//b" is not "a/b", which is listed in its place
    needs_buckets = True            # a PUT does not make them
    lists_directories = False       # an upload makes one, which is listed as "set/sub/"
    refuses = ()                    # settings of test_s3_servers.SETTINGS

    program = ""                    # below INSTALLED

    def __init__(self):
        if not os.path.exists(self.installed(self.program)):
            raise unittest.SkipTest("no %s here (see tests/interop/install_servers.sh)" %
                                    type(self).__name__)
        self.folder = tempfile.mkdtemp(prefix="sheaf-s3-")
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        self.client = servers.Client(self.url, self.access, self.secret)

    @staticmethod
    def installed(*parts):
        return os.path.join(INSTALLED, *parts)

    def command(self, port):
        """The words that start it, and its variables."""
        raise NotImplementedError

    def _start(self):
        port = servers.free_port()
        self.url = "http://127.0.0.1:%d" % port
        os.mkdir(os.path.join(self.folder, "data"))
        words, variables = self.command(port)
        self.said = open(os.path.join(self.folder, "said"), "wb")
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self.said, stderr=subprocess.STDOUT,
            cwd=self.folder, env={**servers.clean_environment(), **variables},
            preexec_fn=servers.die_with_parent)
        until = time.monotonic() + READY_SECONDS
        while not self._answers(port):
            if self.process.poll() is not None or time.monotonic() > until:
                with open(self.said.name, encoding="utf-8", errors="replace") as file:
                    raise RuntimeError("%s does not start: %s" % (self.program,
                                                                  file.read()[-2000:]))
            time.sleep(0.05)

    @staticmethod
    def _answers(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/")
                return connection.getresponse().status != 503
            return False
        finally:
            connection.close()

    def stop(self):
        if hasattr(self, "client") and self.client.connection is not None:
            self.client.connection.close()
        if hasattr(self, "process"):
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.said.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, secret=None):
        return {**servers.clean_environment(), "AWS_ACCESS_KEY_ID": self.access,
                "AWS_SECRET_ACCESS_KEY": secret or self.secret, "AWS_ENDPOINT_URL": self.url,
                "AWS_REGION": "us-east-1"}


class Moto(Server):
    program = "moto/bin/moto_server"
    checks_signatures = False

    def command(self, port):
        return [self.installed(self.program), "-H", "127.0.0.1", "-p", str(port)], {}


class S3Proxy(Server):
    program = "s3proxy"
    refuses = ("acl=bucket-owner-full-control", "tags=team=vision&stage=raw%20data",
               "encryption=aws:kms", "owner=123456789012", "requester-pays=true")

    def command(self, port):
        path = os.path.join(self.folder, "properties")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join([
                "s3proxy.endpoint=" + self.url, "s3proxy.authorization=aws-v2-or-v4",
                "s3proxy.identity=" + ACCESS, "s3proxy.credential=" + SECRET,
                "jclouds.provider=transient-nio2", "jclouds.identity=x", "jclouds.credential=y",
                "jclouds.filesystem.basedir=" + os.path.join(self.folder, "data"), ""]))
        quiet = os.path.join(self.folder, "logback.xml")
        with open(quiet, "w", encoding="ascii") as file:
            file.write('<configuration><root level="ERROR"/></configuration>')
        return ["java", "-Dlogback.configurationFile=" + quiet, "-cp",
                self.installed(self.program, "*"), "org.gaul.s3proxy.Main", "--properties",
                path], {}


class VersityGateway(Server):
    program = "bin/versitygw"
    keeps_slashes = False
    refuses = ("owner=123456789012",)       # it compares

    def command(self, port):
        return [self.installed(self.program), "--access", ACCESS, "--secret", SECRET, "--port",
                "127.0.0.1:%d" % port, "posix", os.path.join(self.folder, "data")], {}


class S3sFs(Server):
    program = "bin/s3s-fs"
    lists_uploads = False
    encodes_keys = False
    lists_etags = False
    keeps_slashes = False
    needs_buckets = False
    refuses = ("storage-class=STANDARD_IA", "storage-class=EXPRESS_ONEZONE")

    def command(self, port):
        return [self.installed(self.program), "--host", "127.0.0.1", "--port", str(port),
                "--access-key", ACCESS, "--secret-key", SECRET,
                os.path.join(self.folder, "data")], {}


class MinIO(Server):
    program = "bin/minio"
    lists_uploads_below = False
    refuses = ("storage-class=STANDARD_IA", "storage-class=EXPRESS_ONEZONE", "encryption=AES256",
               "encryption=aws:kms")

    def command(self, port):
        return [self.installed(self.program), "server", "--quiet", "--address",
                "127.0.0.1:%d" % port, os.path.join(self.folder, "data")], {
                    "MINIO_ROOT_USER": ACCESS, "MINIO_ROOT_PASSWORD": SECRET,
                    "MINIO_BROWSER": "off", "MINIO_UPDATE": "off"}


class Rclone(Server):
    program = "bin/rclone"
    lists_directories = True
    refuses = ("encryption=aws:kms",)

    def command(self, port):
        return [self.installed(self.program), "serve", "s3", "--addr", "127.0.0.1:%d" % port,
                "--auth-key", "%s,%s" % (ACCESS, SECRET), "--config", os.devnull,
                "--cache-dir", os.path.join(self.folder, "cache"),
                os.path.join(self.folder, "data")], {}


class S3rver(Server):
    """Knows one pair of keys only, ignores conditions on writes, and has no listing of uploads. It cannot list a
    thousand objects."""

    program = "s3rver/node_modules/s3rver/bin/s3rver.js"
    access = secret = "S3RVER"
    checks_signatures = False
    lists_uploads = False
    lists_pages = False
    refuses = ("storage-class=EXPRESS_ONEZONE",)

    def command(self, port):
        return ["node", self.installed(self.program), "--silent", "--no-vhost-buckets",
                "--address", "127.0.0.1", "--port", str(port),
                "--directory", os.path.join(self.folder, "data")], {}


ALL = (Moto, S3Proxy, VersityGateway, S3sFs, MinIO, Rclone, S3rver)
