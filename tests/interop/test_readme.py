# SPDX-License-Identifier: MIT
"""The examples of the Python README run as they stand."""

import os
import re
import subprocess
import sys
import unittest

from peers import Case

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "..", "..", "python", "README.md")


class ReadmeTest(Case):
    def test_every_example_runs(self):
        os.makedirs(self.path("images"))
        for i, name in enumerate(self.classes):
            os.rename(os.path.join(self.tree, name),
                      self.path("images", "cat" if i == 0 else name))
        first = sorted(os.listdir(self.path("images", "cat")))[0]
        os.rename(self.path("images", "cat", first), self.path("images", "cat", "1.jpg"))
        with open(README, encoding="utf-8") as file:
            examples = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(examples), 6)
        for example in examples:
            with self.subTest(example.splitlines()[0]):
                # As a file: workers that are spawned import it.
                with open(self.path("example.py"), "w", encoding="utf-8") as file:
                    file.write(example)
                done = subprocess.run([sys.executable, "-W", "ignore", "example.py"],
                                      cwd=self.path(), stderr=subprocess.PIPE, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])


if __name__ == "__main__":
    unittest.main()
