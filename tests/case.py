# SPDX-License-Identifier: MIT
"""What every Python test has: a directory of its own, and a seed that is printed."""

import os
import random
import shutil
import tempfile
import unittest


def seed():
    """The seed of a random test: SEED, or a new one; printed, so that a failure can be repeated."""
    value = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print("SEED=%d" % value, flush=True)
    return value


class Case(unittest.TestCase):
    """A test with a directory of its own (self.path), in one shared by the class (cls.shared)."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="sheaf-test-", dir=cls.place())
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.share()

    @classmethod
    def place(cls):
        """Where the files of the test go; None: where temporary files do."""
        return None

    @classmethod
    def share(cls):
        """What the tests of the class have in common."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)
