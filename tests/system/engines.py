# SPDX-License-Identifier: MIT
"""Shared by the tests of tools/engines: a tree, the data set that one machine makes of it, and a worker that stops in
the middle of its part."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import servers
import support
from support import BUILD, QUICK, ROOT, pack, read

ENGINES = os.path.join(ROOT, "tools", "engines")
IMAGES = 600 if QUICK else 3000
SHARDS = 24
PARTS = 4


def poll(what, condition, seconds=300):
    """Returns the condition's value as soon as it is true. The time limit is generous, because machines may be slow.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("%s: not within %d s" % (what, seconds))


def environment_of(pid):
    pairs = read("/proc/%d/environ" % pid).decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def text_of(path):
    return read(path).decode() if os.path.exists(path) else ""


class Engine(servers.S3Case):
    """A tree, and the data set that one machine makes of it."""

    common = None

    @classmethod
    def share(cls):
        if Engine.common is None:       # once per process
            Engine.common = tempfile.mkdtemp(prefix="sheaf-test-", dir=cls.place())
            unittest.addModuleCleanup(shutil.rmtree, Engine.common, ignore_errors=True)
            cls.make(*(os.path.join(Engine.common, name) for name in (
                "tree", "single", "stall.so")))

    @staticmethod
    def make(tree, single, library):
        support.photo_tree(tree, IMAGES, mean=8000)
        pack(tree, single, "webdataset", "none", "--shard-count", SHARDS)
        subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                        os.path.join(support.HERE, "stall.c"), "-ldl"], check=True)
        Engine.tree, Engine.single, Engine.library = tree, single, library

    def setUp(self):
        super().setUp()
        self.env["PATH"] = BUILD + ":" + self.env["PATH"]

    def plan(self, dest, plan):
        self.sheaf("plan", self.tree, dest, "-o", plan, "--format", "webdataset",
                   "--shard-count", SHARDS)

    def plan_in_bucket(self):
        self.plan(self.url("set"), self.url("plan"))
        return self.url("plan")

    def plan_in_directory(self):
        self.plan(self.path("set"), self.path("plan"))
        return self.path("plan")

    def stalling(self, after=IMAGES // PARTS // 2):
        """Returns the environment in which one worker stops in the middle of its part."""
        self.mark = self.path("stalled")
        return dict(self.env, LD_PRELOAD=self.library, SHEAF_STALL=self.mark,
                    SHEAF_STALL_AFTER=str(after))

    def stalled(self):
        """Returns the number of the worker that has stopped."""
        pid = int(poll("a worker in the middle of its part",
                       lambda: re.fullmatch(r"(\d+)\n", text_of(self.mark))).group(1))
        self.addCleanup(self.end, pid)
        return pid

    @staticmethod
    def end(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def assert_unfinished(self, plan):
        """Checks that nothing can be committed while a part is under way."""
        self.assert_error(self.sheaf("commit", plan, status=None))
        self.assertNotEqual(self.sheaf("info", plan).stdout, b"")
        self.assert_nothing(self.path("set"))
        self.assertNotIn("set/dataset.json", self.client.list(self.bucket))

    def run_again(self, plan, part):
        self.sheaf("pack", "--plan", plan, "--part", "%d/%d" % (part, PARTS))

    def assert_done(self, plan):
        if plan.startswith("s3:"):
            self.assert_same_objects("set", self.single)
            self.assert_clean("set")
        else:
            self.assert_same_tree(self.path("set"), self.single)
