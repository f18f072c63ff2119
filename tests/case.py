# SPDX-License-Identifier: MIT
"""The base of every Python test: a directory of its own, and a seed that is printed."""

import os
import random
import shutil
import tempfile
import unittest


def seed():
    """Returns the seed of a random test: SEED, or a new one. It is printed, so that a failure can be repeated."""
    value = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print("SEED=%d" % value, flush=True)
    return value


class Case(unittest.TestCase):
    """A test with a directory of its own (self.path), inside one that the class shares (cls.shared)."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="sheaf-test-", dir=cls.place())
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.share()

    @classmethod
    def place(cls):
        """Returns the directory for the files of the test, or None to use the one for temporary files."""
        return None

    @classmethod
    def share(cls):
        """Makes the things that the tests of the class share."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)
