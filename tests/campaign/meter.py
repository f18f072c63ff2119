# SPDX-License-Identifier: MIT
"""--metrics FILE of a command: the file is whole whenever it exists, and its last totals are what the command did."""

import os

import readers
from test_metrics import parse


class Meter:
    """The metrics of one command, or of none, by chance."""

    def __init__(self, chain, share=0.3):
        self.chain = chain
        self.name = chain.new("metrics") if chain.chance.random() < share else None

    def words(self):
        return [] if self.name is None else ["--metrics", self.name]

    def read(self):
        """Reads the file as Prometheus does. Returns None if there is no file."""
        place = self.chain.path(self.name)
        if not os.path.exists(place):
            return None
        data = readers.read(place)
        try:
            return parse(data)
        except (AssertionError, AttributeError, ValueError) as error:
            self.chain.fail("%s is not in Prometheus' format: %r" % (self.name, error), data)

    def total(self, name):
        return self.read().get("sheaf_" + name)

    def check_killed(self):
        """Checks after a kill at any moment that the file is whole."""
        if self.name is not None:
            self.read()

    def check(self, status=0, **totals):
        """Checks the totals when the command has ended. A total of None may be any number."""
        if self.name is None:
            return
        found = self.read() or {}
        expected = {"running": 0, "exit_status": status, **totals}
        self.chain.equal({name: found.get("sheaf_" + name) if expected[name] is not None else None
                          for name in expected}, expected, self.name)
        left = [name for name in os.listdir(self.chain.folder)
                if name.startswith(self.name + ".")]
        self.chain.equal(left, [], "what is left beside " + self.name)
