# SPDX-License-Identifier: MIT
"""Real servers on loopback, and a small client of S3 that shares no code with Sheaf.

    server = servers.Radosgw(folder)    Ceph's S3 service, tests/s3/radosgw.sh
    server = servers.Nginx(folder)      a web server with ranges, for one directory"""

import contextlib
import ctypes
import datetime
import fcntl
import hashlib
import hmac
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

import fake_s3
import support

RADOSGW = os.path.join(support.ROOT, "tests", "s3", "radosgw.sh")
AMAZON = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class Refused(Exception):
    """The response of a request that failed."""

    def __init__(self, status, body):
        super().__init__("%d %s" % (status, body[:500]))
        self.status, self.body = status, body


# ---- A client ----------------------------------------------------------------------------------

class Client:
    """Sends signed requests with bucket names in the path."""

    def __init__(self, endpoint, access, secret, token=None, region="us-east-1"):
        self.endpoint, self.access, self.secret = endpoint, access, secret
        self.token, self.region = token, region
        self.connection = None

    def request(self, method, path, query=(), body=b"", headers=(), service="s3"):
        host = urllib.parse.urlsplit(self.endpoint).netloc
        path = urllib.parse.quote(path, safe="/~")
        query = "&".join("%s=%s" % (urllib.parse.quote(k, safe="~"),
                                    urllib.parse.quote(v, safe="~"))
                         for k, v in sorted(query))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        all_headers = {"host": host, "x-amz-date": now,
                       "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), **dict(headers)}
        if self.token:
            all_headers["x-amz-security-token"] = self.token
        all_headers["authorization"] = self._sign(method, path, query, all_headers, now, service)
        for attempt in range(3):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(host, timeout=60)
            try:
                self.connection.request(method, path + ("?" + query if query else ""), body,
                                        all_headers)
                answer = self.connection.getresponse()
                data = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise
        if answer.status // 100 != 2:
            raise Refused(answer.status, data.decode(errors="replace"))
        return data, answer

    def _sign(self, method, path, query, headers, now, service):
        signed = ";".join(sorted(headers))
        canonical = "\n".join([method, path, query, "".join(
            "%s:%s\n" % (k, headers[k].strip()) for k in sorted(headers)), signed,
            headers["x-amz-content-sha256"]])
        scope = "%s/%s/%s/aws4_request" % (now[:8], self.region, service)
        text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (
            now, scope, hashlib.sha256(canonical.encode()).hexdigest())
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
            self.access, scope, signed, hmac.new(key, text.encode(), hashlib.sha256).hexdigest())

    def signed_put(self, path, query, digest):
        """Returns the URL and the headers [(name, value)] of a PUT of bytes with this SHA-256."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        query = "&".join("%s=%s" % (urllib.parse.quote(k, safe="~"),
                                    urllib.parse.quote(v, safe="~"))
                         for k, v in sorted(query))
        headers = {"host": urllib.parse.urlsplit(self.endpoint).netloc, "x-amz-date": now,
                   "x-amz-content-sha256": digest}
        headers["authorization"] = self._sign("PUT", path, query, headers, now, "s3")
        return self.endpoint + path + "?" + query, list(headers.items())

    def make_bucket(self, bucket):
        self.request("PUT", "/" + bucket)

    def put(self, bucket, key, data):
        self.request("PUT", "/%s/%s" % (bucket, key), body=data)

    def get(self, bucket, key):
        return self.request("GET", "/%s/%s" % (bucket, key))[0]

    def delete(self, bucket, key):
        self.request("DELETE", "/%s/%s" % (bucket, key))

    def list(self, bucket, prefix=""):
        """Returns {key: size}."""
        found, token = {}, None
        while True:
            query = [("list-type", "2"), ("prefix", prefix), ("encoding-type", "url")]
            if token:
                query.append(("continuation-token", token))
            tree = ElementTree.fromstring(self.request("GET", "/" + bucket, query)[0])
            for entry in tree.iterfind(".//{*}Contents"):
                key = urllib.parse.unquote_plus(entry.findtext("{*}Key"))
                found[key] = int(entry.findtext("{*}Size"))
            token = tree.findtext("{*}NextContinuationToken")
            if not token:
                return found

    def uploads(self, bucket):
        """Returns the keys of multipart uploads that were never completed."""
        tree = ElementTree.fromstring(self.request("GET", "/" + bucket, [("uploads", "")])[0])
        return [u.findtext(AMAZON + "Key") for u in tree.iter(AMAZON + "Upload")]

    def put_tree(self, bucket, prefix, files):
        for path, data in files.items():
            self.put(bucket, prefix + path, data)

    def get_tree(self, bucket, prefix):
        return {key[len(prefix):]: self.get(bucket, key) for key in self.list(bucket, prefix)}

    def assume_role(self, role, seconds):
        """Returns temporary keys: (access, secret, token)."""
        body = urllib.parse.urlencode({
            "Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": role,
            "RoleSessionName": "tests", "DurationSeconds": str(seconds)}).encode()
        data, _ = self.request("POST", "/", body=body, service="sts",
                               headers=[("content-type", "application/x-www-form-urlencoded")])
        found = {e.tag.rpartition("}")[2]: e.text for e in ElementTree.fromstring(data).iter()}
        return found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"]


# ---- Servers -----------------------------------------------------------------------------------

def _state_folder():
    """Returns a directory with a short path, because sockets are in it."""
    return tempfile.mkdtemp(prefix="sheaf-rgw-", dir="/tmp")


class Radosgw:
    """One server for many tests, which use different bucket names. `file`: its objects are in this file instead of
    memory. `shared`: the directory of a server that several processes use. The first of them starts it. It ends with
    the process whose number is in the file `owner` of that directory."""

    def __init__(self, file=None, shared=None):
        self.shared, self.folder = shared, shared or _state_folder()
        with open(os.path.join(self.folder, "lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(os.path.join(self.folder, "env")):
                self._start({**os.environ, **({"RADOSGW_FILE": file} if file else {})})
        self.said = {}
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            for line in file:
                name, _, value = line.strip().partition("=")
                self.said[name] = value
        self.plain, self.tls, self.ca = (self.said[n] for n in ("S3_PLAIN", "S3_TLS", "S3_CA"))
        self.client = Client(self.plain, self.said["S3_ACCESS"], self.said["S3_SECRET"])

    def _start(self, env):
        owner = support.read(os.path.join(self.shared, "owner")).decode().strip() if self.shared else str(os.getpid())
        failed = os.path.join(self.folder, "failed")    # Left behind if an earlier start failed or was killed.
        if os.path.exists(failed):
            raise RuntimeError("the server did not start for an earlier test")
        if self.shared:
            support.write(failed, b"")
        done = subprocess.run([RADOSGW, "start", self.folder, owner], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=900)
        if done.returncode != 0 and not self.shared:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.shared and done.returncode in (0, 77):
            os.unlink(failed)
        if done.returncode == 77:
            raise unittest.SkipTest(done.stdout.decode().strip())
        if done.returncode != 0:
            raise RuntimeError(done.stdout.decode())

    def stop(self):
        if self.client.connection is not None:
            self.client.connection.close()
        if not self.shared:
            subprocess.run([RADOSGW, "stop", self.folder], check=True)
            shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, endpoint=None, keys=None, **more):
        """Returns the environment for the command, without any configuration of the machine itself."""
        access, secret, token = keys or (self.client.access, self.client.secret, None)
        endpoint = endpoint or self.plain
        env = clean_environment()
        env.update(AWS_ACCESS_KEY_ID=access, AWS_SECRET_ACCESS_KEY=secret,
                   AWS_ENDPOINT_URL=endpoint, AWS_REGION="us-east-1", **more)
        if token:
            env["AWS_SESSION_TOKEN"] = token
        if endpoint.startswith("https"):
            env["AWS_CA_BUNDLE"] = self.ca
        return env


def clean_environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "SHEAF_S3")) and
           not k.lower().endswith("_proxy")}
    env.update(AWS_CONFIG_FILE="/nonexistent", AWS_SHARED_CREDENTIALS_FILE="/nonexistent",
               AWS_EC2_METADATA_DISABLED="true")
    return env


def free_port():
    """Returns a port on which no program listens. It is below the ports that the kernel gives to connections, because
    a connection could otherwise take it before the server does."""
    while True:
        port = random.SystemRandom().randrange(10000, 32000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent():
    """Makes a server end when its test is killed."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Nginx:
    """Serves `root` at self.url."""

    def __init__(self, root):
        self.program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not self.program:
            raise unittest.SkipTest("no nginx here (Debian package nginx-light)")
        self.folder = tempfile.mkdtemp(prefix="sheaf-nginx-")
        self.marks = 0
        while not self._start(root, free_port()):
            pass            # another program took the port meanwhile

    def _start(self, root, port):
        """Returns whether the server answers. Raises an error that has nothing to do with ports."""
        self.url = "http://127.0.0.1:%d" % port
        with open(os.path.join(self.folder, "conf"), "w", encoding="utf-8") as file:
            file.write("""
                daemon off; master_process off; pid %(folder)s/pid; error_log %(folder)s/errors;
                events { worker_connections 512; }
                http {
                    access_log %(folder)s/access; client_body_temp_path %(folder)s/t1;
                    proxy_temp_path %(folder)s/t2; fastcgi_temp_path %(folder)s/t3;
                    uwsgi_temp_path %(folder)s/t4; scgi_temp_path %(folder)s/t5;
                    server { listen 127.0.0.1:%(port)d; root "%(root)s"; }
                }""" % {"folder": self.folder, "port": port, "root": root})
        errors = os.path.join(self.folder, "errors")
        self.process = subprocess.Popen(
            [self.program, "-c", os.path.join(self.folder, "conf"), "-e", errors],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                self._get("/")
                if self.process.poll() is None:
                    return True
            time.sleep(0.01)
        with open(errors, encoding="utf-8") as file:
            text = file.read()
        if "Address already in use" not in text:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise RuntimeError("nginx does not run: " + text)
        return False

    def _get(self, path):
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request("GET", path)
            connection.getresponse().read()
        finally:
            connection.close()

    def requests(self):
        """Returns the lines of the server's log. It first makes a request of its own, so that the lines of all
        earlier requests are there."""
        self.marks += 1
        mark = "/mark-%d " % self.marks
        self._get(mark.strip())
        while True:
            with open(os.path.join(self.folder, "access"), encoding="utf-8") as file:
                lines = file.read().splitlines()
            if any(mark in line for line in lines):
                return [line for line in lines if "/mark-" not in line]
            time.sleep(0.005)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- Tests -------------------------------------------------------------------------------------

numbers = iter(range(1, 1 << 30))
process = "%08x" % random.SystemRandom().getrandbits(32)       # differs from that of other processes with this server


def start_fake(case):
    """Starts a service that fails (case.server). Also sets the environment for the command (case.env), and the
    objects of the bucket `bucket` (case.objects)."""
    case.server = fake_s3.Server(support.seed())
    case.addCleanup(case.server.stop)
    case.env = {**clean_environment(), "AWS_ENDPOINT_URL": case.server.url,
                "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x",
                "AWS_SECRET_ACCESS_KEY": "y"}
    case.objects = case.server.buckets["bucket"].objects


class BucketCase(support.Case):
    """A test with a bucket of its own on some server (self.client, self.bucket, self.env)."""

    def url(self, path=""):
        return "s3://%s/%s" % (self.bucket, path)

    def sheaf(self, *words, **how):
        how.setdefault("env", self.env)
        return support.sheaf(*words, **how)

    def stored(self, prefix):
        """Returns {name: bytes} of a data set in the bucket."""
        return self.client.get_tree(self.bucket, prefix.rstrip("/") + "/")

    def local(self, folder):
        return {name: data for name, data in support.tree_of(folder).items()}

    def assert_same_objects(self, prefix, folder, but=()):
        """Checks that the objects below the prefix are the files in the folder."""
        objects, files = self.stored(prefix), self.local(folder)
        self.assertEqual(sorted(objects), sorted(files))
        for name, data in files.items():
            if name not in but:
                self.assertTrue(objects[name] == data, "%s differs" % name)


class S3Case(BucketCase):
    """A test with a radosgw (self.server) and a bucket of its own. The server is that of tests/run_system.sh, or one of
    this process."""

    server = None

    @classmethod
    def setUpClass(cls):
        if S3Case.server is None:       # once per process; it ends with the process
            S3Case.server = Radosgw(shared=os.environ.get("SHARED_RADOSGW"))
            unittest.addModuleCleanup(S3Case._stop)
        super().setUpClass()

    @staticmethod
    def _stop():
        S3Case.server.stop()
        S3Case.server = None

    def setUp(self):
        super().setUp()
        self.client = self.server.client
        self.bucket = "bucket-%s-%d" % (process, next(numbers))
        self.client.make_bucket(self.bucket)
        self.env = self.server.environment()

    def assert_clean(self, prefix=""):
        """Checks that nothing is left of an upload or of a run."""
        self.assertEqual(self.client.uploads(self.bucket), [])
        self.assertEqual([k for k in self.client.list(self.bucket, prefix)
                          if ".sheaf-partial" in k], [])
