# SPDX-License-Identifier: MIT
"""The fake S3 service (tests/fake_s3.c) for tests in Python.

A Server starts the program, and sends it commands. The program keeps everything that a client can observe (sizes,
ETags, checksums, conditions, parts, listings), and can fail at random (`percent` of all requests, in the ways of
tests/common_fake_faults.c), have the requirements of a bucket (`rules`), and behave like other servers (`dialects`, of
tests/common_fake_dialects.c). A bucket exists as soon as it is used."""

import collections
import collections.abc
import contextlib
import os
import random
import socket
import subprocess
import threading
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, os.environ.get("BUILD", "build"), "tests", "fake_s3")
SUMS = ("crc64nvme", "crc32c")
HEADER = "x-amz-checksum-"


def _word(text):
    return urllib.parse.quote(text, safe="/") or "-"


def _text(word):
    return "" if word == "-" else urllib.parse.unquote(word)


class Object:
    """etag: with quotes; None for the MD5 of the data."""

    def __init__(self, data, etag=None, checksums=(), meta=""):
        self.data, self.etag = data, etag
        self.checksums = dict(checksums)        # {kind: value}
        self.meta = meta                        # lines of headers


class Objects(collections.abc.MutableMapping):
    """The objects of a bucket by key. What it returns are copies."""

    def __init__(self, server, prefix):
        self.server, self.prefix = server, prefix

    def __getitem__(self, key):
        data, etag, meta, *sums = self.server.get(self.prefix + key)
        return Object(data, etag, {kind: value for kind, value in zip(SUMS, sums) if value}, meta)

    def __setitem__(self, key, new):
        self.server.ask("put", self.prefix + key, str(len(new.data)), new.etag or "", new.meta,
                        *(new.checksums.get(kind, "") for kind in SUMS), data=new.data)

    def __delitem__(self, key):
        if self.server.ask("remove", self.prefix + key) != "1":
            raise KeyError(key)

    def __iter__(self):
        return iter([_text(word)[len(self.prefix):] for word in self.server.lines("list", self.prefix)])

    def __len__(self):
        return len(self.server.lines("list", self.prefix))

    def clear(self):
        self.server.ask("clear", self.prefix)


class Bucket:
    def __init__(self, server, prefix):
        self.server, self.prefix = server, prefix
        self.objects = Objects(server, prefix)

    @property
    def uploads(self):
        """{id: (key, number of parts)} of the unfinished uploads."""
        found = {}
        for line in self.server.lines("uploads"):
            name, path, parts = line.split(" ")
            if _text(path).startswith(self.prefix):
                found[name] = _text(path)[len(self.prefix):], int(parts)
        return found


class Buckets:
    def __init__(self, server):
        self.server = server

    def __getitem__(self, name):
        return Bucket(self.server, "/%s/" % name)

    def __delitem__(self, name):
        self.server.ask("clear", "/%s/" % name)

    def clear(self):
        self.server.ask("clear", "/")
        self.server.ask("clear-uploads")


class Rules:
    """`new` has headers that requests must have if they create an object, and `every` has headers for all requests.
    lock: as with Object Lock, bytes need a checksum or a Content-MD5. md5: they need a Content-MD5. whole: the bucket
    keeps checksums of whole objects, otherwise of the parts' checksums. opaque: ETags are not MD5s, as with
    encryption by KMS. lies: faults may give wrong checksums in responses."""

    def __init__(self, new=None, every=None, lock=False, md5=False, whole=True, opaque=False, lies=False):
        def lines(headers):
            return "".join("%s: %s\n" % item for item in (headers or {}).items())
        self.switches = {"new": lines(new), "every": lines(every), "lock": lock, "needs_md5": md5,
                         "sums_of_parts": not whole, "kms": opaque, "lies": lies}
        self.server = None

    def _requests(self):
        """Returns (refused, (operation, key, headers)) of all requests since the rules were set."""
        found = []
        for text in self.server.block("requests").decode("latin-1").split("\n\n")[:-1]:
            first, *lines = text.split("\n")
            what, path, refused = first.split(" ")
            _, key = (urllib.parse.unquote(path[1:]) + "/").split("/", 1)
            found.append((refused == "1", (what, key[:-1], dict(line.split(": ", 1) for line in lines))))
        return found

    @property
    def seen(self):
        return [request for _, request in self._requests()]

    @property
    def refused(self):
        return [request for refused, request in self._requests() if refused]

    def forget(self):
        self.server.ask("forget")


def sent(headers):
    """Returns {kind: value} of the checksums in a request."""
    return {kind: headers[HEADER + kind] for kind in SUMS if HEADER + kind in headers}


def _switch(name):
    """A property that sets a switch of the program."""
    def put(self, value):
        self._values[name] = value
        self.set(name, value)
    return property(lambda self: self._values.get(name), put)


def _question(name):
    """A property with a function that the program calls for each request, or None."""
    def put(self, function):
        self._values[name] = function
        self.set(name, function is not None)
    return property(lambda self: self._values.get(name), put)


def _count(name):
    return property(lambda self: int(self.ask("count", name)))


class Server:
    """fault(method, key, query) returns the name of a fault for a request, or None; while it is set, no fault occurs at
    random. served(method, key, query) is called after a request is executed and before its response. In both
    functions, `current` has the headers of the request and `target` its path and query. If a function fails, the
    program ends, and the next command or stop() raises the exception."""

    percent = _switch("percent")
    checked = _switch("checked")        # a regular expression for keys of objects whose bytes a reader can check
    continues = _switch("continues")    # whether it sends 100 Continue to clients that wait for it
    hold = _switch("hold")              # ranges of shards are held back until this number has been requested
    held_name = _switch("held_name")    # what the keys of these objects have
    fault, served = _question("choose"), _question("served")
    requests, asked, most_slow = _count("requests"), _count("asked"), _count("slow")

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self._values, self._lock = {}, threading.Lock()
        self.current, self.target = {}, ""
        self._failure = None        # the exception of a function
        self._questions, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [PROGRAM, str(theirs.fileno())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                pass_fds=[theirs.fileno()])
        self.url = "http://127.0.0.1:%d" % int(self._process.stdout.readline())
        self.set("seed", self.chance.getrandbits(63))
        self.buckets = Buckets(self)
        self.rules = Rules()
        self._thread = threading.Thread(target=self._answer_questions, daemon=True)
        self._thread.start()

    def stop(self):
        try:
            self._raise_failure()
        finally:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(BrokenPipeError):      # if a command could not be sent
                self._process.stdin.close()
            self._process.stdout.close()
            self._questions.close()

    # ---- Commands ------------------------------------------------------------------------------

    def _raise_failure(self):
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _command(self, *words, data=b""):
        """Sends a command, and returns the first line of the answer. The lock must be held."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write((" ".join(map(_word, words)) + "\n").encode() + data)
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        self._raise_failure()
        if not line:
            raise RuntimeError("the fake S3 service has ended")
        return line.decode().rstrip("\n")

    def ask(self, *words, data=b""):
        with self._lock:
            return self._command(*words, data=data)

    def lines(self, *words):
        with self._lock:
            return [self._process.stdout.readline().decode().rstrip("\n") for _ in range(int(self._command(*words)))]

    def block(self, *words):
        with self._lock:
            return self._process.stdout.read(int(self._command(*words)))

    def get(self, path):
        with self._lock:
            size, *words = self._command("get", path).split(" ")
            if size == "none":
                raise KeyError(path)
            return (self._process.stdout.read(int(size)), *map(_text, words))

    def set(self, name, value):
        self.ask("set", name, str(int(value)) if isinstance(value, bool) else str(value))

    @property
    def dialects(self):
        return self._values["dialects"]

    @dialects.setter
    def dialects(self, names):
        self._values["dialects"] = names
        self.set("dialects", ",".join(names))

    @property
    def all_dialects(self):
        return self.lines("dialects")

    @property
    def rules(self):
        return self._values["rules"]

    @rules.setter
    def rules(self, rules):
        """Sets the rules, and forgets the requests that were seen."""
        self._values["rules"], rules.server = rules, self
        for name, value in rules.switches.items():
            self.set(name, value)
        rules.forget()

    def weigh(self, factors):
        """Multiplies the weights of faults, {name: factor}."""
        for name, factor in factors.items():
            self.ask("factor", name, str(float(factor)))

    @property
    def all_faults(self):
        return {_text(line.split(" ")[0]) for line in self.lines("counts")}

    @property
    def counts(self):
        """The number of random faults, by name."""
        found = collections.Counter()
        for line in self.lines("counts"):
            name, count = line.split(" ")
            found[_text(name)] += int(count)
        return +found

    @property
    def faults(self):
        return sum(self.counts.values())

    def sum(self, kind, data):
        """Returns the checksum of the data in base64, as in headers."""
        return self.ask("sum", kind, str(len(data)), data=data)

    def clear_uploads(self):
        self.ask("clear-uploads")

    # ---- Questions -----------------------------------------------------------------------------

    def _answer_questions(self):
        try:
            with self._questions.makefile("rw", encoding="latin-1", newline="\n") as file:
                for line in file:
                    what, method, self.target = line.rstrip("\n").split(" ")
                    self.current = dict(line.rstrip("\n").split(": ", 1) for line in iter(file.readline, "\n"))
                    reply = self._reply(self._values[what], method)
                    if reply is None:
                        break
                    file.write("%s\n" % reply)
                    file.flush()
        except (OSError, ValueError):
            pass            # the program has ended
        finally:
            self._questions.close()     # if a function has failed, so that the program ends

    def _reply(self, function, method):
        """Calls a function of the test. Returns None if the function raises an exception, which is kept."""
        path, _, text = self.target.partition("?")
        _, _, key = (urllib.parse.unquote(path) + "/").split("/", 2)
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        try:
            return function is not None and function(method, key[:-1], query) or ""
        except Exception as failure:            # pylint: disable=broad-except
            self._failure = failure
            return None
