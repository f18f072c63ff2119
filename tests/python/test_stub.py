# SPDX-License-Identifier: MIT
"""The stub of the binding (_sheaf.pyi) has the names that the binding has."""

import ast
import collections.abc
import os
import unittest

import sheaf
from sheaf import _sheaf

STUB = os.path.join(os.path.dirname(sheaf.__file__), "_sheaf.pyi")


def names_in(body):
    """Returns the names of the functions, classes and variables in a part of the stub, in order."""
    names = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.append(node.target.id)
    return names


def public(names):
    return {name for name in names if not name.startswith("__")}


class Stub(unittest.TestCase):
    def setUp(self):
        with open(STUB, encoding="utf-8") as file:
            self.stub = ast.parse(file.read())

    def check(self, names, own, where):
        self.assertEqual(len(names), len(set(names)), where)
        self.assertEqual(public(names), public(own), where)

    def test_functions_and_classes(self):
        self.check(names_in(self.stub.body), vars(_sheaf), "_sheaf")

    def test_members_of_classes(self):
        for node in self.stub.body:
            found = getattr(_sheaf, getattr(node, "name", ""), None)
            if isinstance(node, ast.ClassDef) and not issubclass(found, Exception):
                inherited = dir(collections.abc.Mapping) if node.name == "Sample" else ()
                self.check(names_in(node.body), set(vars(found)) - set(inherited), node.name)


if __name__ == "__main__":
    unittest.main()
