# SPDX-License-Identifier: MIT
"""An option has one name: what a command takes, its function takes under the same name."""

import inspect
import os
import re
import subprocess
import unittest

import sheaf
from support import Case, pack, samples_of

# Of whoever reads a command's output, or what is a class or a function of its own in Python.
FOR_PROGRAMS = {"metrics", "help", "json", "quiet", "verbose"}
ELSEWHERE = {
    "pack": {"part"},                                       # pack_part
    "plan": {"output"},                                     # the argument `plan`
    "fetch": {"warm", "distribution"},                      # distribution: host and hosts
    "pipe": {"distribution"},
    "repair": {"from"},                                     # the argument `source`
    "cat": {"channel", "channel_root", "channel_wait", "attributes", "manifest",    # sheaf.Channel
            "to", "list", "null", "save_position", "resume_from", "from",   # methods of Reader
            "limit", "step", "batch",
            "pixels", "output"},                            # sheaf.Pixels, and pixels= of loaders
}
FUNCTIONS = {"pack": sheaf.pack, "append": sheaf.append, "plan": sheaf.plan,
             "verify": sheaf.verify, "index": sheaf.index,
             "convert": sheaf.convert, "unpack": sheaf.unpack, "fetch": sheaf.fetch,
             "pipe": sheaf.pipe, "commit": sheaf.commit, "cat": sheaf.Reader, "edit": sheaf.edit,
             "repair": sheaf.repair}


def options_of(command):
    text = subprocess.run([os.path.join(os.environ["BUILD"], "sheaf"), command, "--help"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name.replace("-", "_") for name in re.findall(r"^  --([a-z0-9-]+)", text, re.M)}


class Options(Case):
    def test_names(self):
        for command, function in FUNCTIONS.items():
            lacking = options_of(command) - set(inspect.signature(function).parameters)
            self.assertEqual(lacking, FOR_PROGRAMS & options_of(command)
                             | ELSEWHERE.get(command, set()), command)

    def test_sizes_and_cache_of_a_reader(self):
        samples = samples_of(20)
        folder = pack(self.path("set"), samples)
        cache = self.path("cache")
        with sheaf.Reader(folder, memory="64MiB", cache=cache, cache_size="1GB") as reader:
            self.assertEqual(len(list(reader)), 20)
        for name in ("memory", "cache_size"):
            with self.assertRaisesRegex(ValueError, name + "='20megs': invalid size"):
                sheaf.Reader(folder, **{name: "20megs"})

    def test_those_of_pytorch_s_loader(self):
        try:
            import sheaf.torch
        except ImportError as error:
            self.skipTest(str(error))
        folder = pack(self.path("set"), samples_of(20))
        loader = sheaf.torch.DataLoader(folder, batch_size=4, memory="64MiB",
                                        cache=self.path("cache"), cache_size="1GB",
                                        decode=lambda sample: sample.label)
        self.assertEqual(sum(map(len, loader)), 20)


if __name__ == "__main__":
    unittest.main()
