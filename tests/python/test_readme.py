# SPDX-License-Identifier: MIT
"""The Python examples of README.md, doc/ and python/README.md run as they stand, one after another, in
a directory with a tree of images.  An example for a framework that is not installed is left to the
interoperability tests, which have all of them."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

import sheaf
from programs import Program
from support import Case

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FRAMEWORKS = ("PIL", "accelerate", "composer", "grain", "ignite", "jax", "lightning", "numpy", "pyarrow", "ray",
              "tensorflow", "torch", "torchdata", "transformers", "webdataset")


def examples(readme, language="python"):
    with open(os.path.join(TREE, readme), encoding="utf-8") as file:
        return re.findall(r"```%s\n(.*?)```" % language, file.read(), re.S)


FORKSERVER = """import multiprocessing
if __name__ == "__main__":
    multiprocessing.set_start_method("forkserver")
"""


def missing(example):
    """The first framework that it needs and that is not there."""
    for name in FRAMEWORKS:
        if re.search(r"^(import|from) (sheaf\.)?%s\b" % name, example, re.M) \
                and importlib.util.find_spec(name) is None:
            return name
    return None


class ReadmeTest(Case):
    def setUp(self):
        super().setUp()
        make = os.path.join(os.environ["BUILD"], "make_jpegs")
        subprocess.run([make, self.path("images"), "--images", "120", "--classes", "6",
                        "--mean-bytes", "6000"], check=True)
        first = sorted(os.listdir(self.path("images")))[0]
        os.rename(self.path("images", first), self.path("images", "cat"))
        first = sorted(os.listdir(self.path("images", "cat")))[0]
        os.rename(self.path("images", "cat", first), self.path("images", "cat", "1.jpg"))

        for name in ("photos-set", "drawings-set", "easy", "hard"):
            sheaf.pack(self.path("images"), self.path(name))

    def run_example(self, example):
        # As a file: workers import it, which Python 3.14's default way to start them does, too.
        if "__main__" in example:
            example = FORKSERVER + example
        with open(self.path("example.py"), "w", encoding="utf-8") as file:
            file.write(example)
        if "torch" in example:
            program = Program(self.path("example.py"), cwd=self.path())
        else:
            program = subprocess.Popen([sys.executable, "-W", "ignore", "example.py"], cwd=self.path(),
                                       stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.kill)
        errors = program.communicate(timeout=300)[1]
        return program.returncode, errors

    def check(self, readme, least):
        found = examples(readme)
        for example in found:
            if re.search(r"num_workers=[1-9]|DataLoader\([^)]*\d, [1-9]", example):
                self.assertIn('if __name__ == "__main__":', example)
        self.assertGreaterEqual(len(found), least)
        for number, example in enumerate(found, 1):
            compile(example, "%s, example %d" % (readme, number), "exec")
            if missing(example):
                print("example %d of %s: no %s" % (number, readme, missing(example)))
                continue
            with self.subTest("example %d of %s" % (number, readme)):
                status, errors = self.run_example(example)
                self.assertEqual(status, 0, errors[-2000:])

    def test_the_readme(self):
        self.check("README.md", 2)

    def test_the_guides(self):
        pages = [name for name in os.listdir(os.path.join(TREE, "doc")) if name.endswith(".md")]
        for page in sorted(pages):
            self.check(os.path.join("doc", page), 3 if page == "train.md" else 0)

    def test_the_views(self):
        """Documents of views that guides show open, and give the samples that they say."""
        found = examples("doc/views.md", "json")
        self.assertGreaterEqual(len(found), 2)
        for document in found:
            with open(self.path("hand.view"), "w", encoding="utf-8") as file:
                file.write(document)
            view = sheaf.Dataset(self.path("hand.view"))
            reader = sheaf.Reader(view, rank=0, world_size=1)
            taken = sum(1 for _, _ in zip(range(1000), reader))
            self.assertEqual(taken, min(view.epoch_samples, 1000))

    def test_the_python_readme(self):
        self.check("python/README.md", 6)


if __name__ == "__main__":
    unittest.main()
