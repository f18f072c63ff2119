# SPDX-License-Identifier: MIT
"""An option has one name: what a command takes, its function takes under the same name."""

import importlib
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


# Members of the structs that are no options in Python: sizes, contexts of functions, and what the binding sets itself.
NO_OPTIONS = {
    "pack": {"sizeof_options", "context", "interrupt", "filter_count", "class_count"},
    "reader": {"sizeof_options", "report_context", "column_count", "memory", "memory_needed", "memory_context"},
}
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def members_of(kind):
    """Returns the members of an options struct in sheaf.h."""
    with open(os.path.join(ROOT, "sheaf.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    body = text.split("struct sheaf_%s_options {" % kind)[1].split("}")[0]
    return {name for line in body.split(";") for name in re.findall(r"(\w+)\s*(?:,|$)", line.strip())}


def table_of(kind):
    """Returns the members that the binding's table of options names."""
    with open(os.path.join(ROOT, "python", "src", "options.c"), encoding="utf-8") as file:
        table = file.read().split("%s_options_table[] = {" % kind)[1].split("{ NULL,")[0]
    return set(re.findall(r"(?:READER\(|PACK\(|_options, )(\w+)[,)]", table))


class Options(Case):
    def test_each_member_of_a_struct_is_an_option(self):
        for kind, others in NO_OPTIONS.items():
            self.assertEqual(members_of(kind) - table_of(kind), others, kind)
            self.assertLessEqual(table_of(kind), members_of(kind), kind)

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

    def test_an_option_under_two_names(self):
        folder = pack(self.path("set"), samples_of(20))
        to = self.path("to")
        memory = {"memory": "64MB", "memory_bytes": 1 << 26}
        shard = {"shard_size": "1MB", "shard_bytes": 1000000}
        cache = {"cache": to, "cache_directory": to}
        kept = {"cache_size": "1GB", "cache_bytes": 1 << 30}
        calls = [(sheaf.Reader, (folder,), (memory, cache, kept)), (sheaf.Packer, (to,), (memory, shard)),
                 (sheaf.pack, (folder, to), (memory, shard)), (sheaf.plan, (folder, to, to + ".plan"), (memory, shard)),
                 (sheaf.pack_part, (to, 0, 1), (memory,)), (sheaf.commit, (to,), (memory,)),
                 (sheaf.verify, (folder,), (memory,)), (sheaf.index, (folder,), (memory,)),
                 (sheaf.fetch, (folder, to), (memory,))]
        try:
            calls.append((importlib.import_module("sheaf.torch").Dataset, (folder,), (memory, cache, kept)))
        except ImportError:
            pass
        for function, arguments, pairs in calls:
            for pair in pairs:
                with self.assertRaisesRegex(ValueError, "%s=.* and %s=.* same option" % tuple(pair)):
                    function(*arguments, **pair)
        self.assertFalse(os.path.exists(to))

    def test_options_without_effect(self):
        folder, to = pack(self.path("set"), samples_of(20)), self.path("to")
        tree = self.path("tree")
        os.mkdir(tree)
        with open(os.path.join(tree, "a.txt"), "wb") as file:
            file.write(b"text")
        corrupt = dict(max_corrupt=3), "max_corrupt=3 requires on_corrupt='skip'"
        missing = dict(missing="none"), "missing='none' requires columns"
        cache = dict(cache_size="1GB"), "cache_size='1GB' requires cache"
        skipped = dict(max_skipped=3), "max_skipped=3 requires on_error='skip'"
        changed = dict(on_change="skip"), "on_change='skip' requires on_error='skip'"
        mode = dict(resize_mode="longer"), "resize_mode='longer' requires resize"
        quality = dict(quality=80), "quality=80 requires fix_images or resize"
        shards = dict(shard_size="1MB", shard_count=2), "shard_size='1MB' and shard_count=2 exclude each other"
        calls = [(sheaf.Reader, (folder,), (corrupt, missing, cache)),
                 (sheaf.Dataset(folder).get, ([0],), (missing,)),
                 (sheaf.convert, (folder, to, ), (corrupt, missing, cache, mode, quality, shards,
                                                  (dict(seed=3), "seed=3 requires shuffle or split"))),
                 (sheaf.unpack, (folder, to), (corrupt, missing, cache)),
                 (sheaf.pack, (tree, to), (skipped, changed, mode, quality, shards)),
                 (sheaf.plan, (tree, to, to + ".plan"), (skipped, changed, mode, quality, shards)),
                 (sheaf.append, (tree, folder), (skipped, changed, shards)),
                 (sheaf.pipe, (tree, to), ((dict(seed=3), "seed=3 requires shuffle=True"),)),
                 (sheaf.index, (folder,), ((dict(keys=True, overwrite=True), "keys=True writes dataset.keys only"),)),
                 (sheaf.edit, (folder,), ((dict(purge=True, unknown_keys="skip"), "unknown_keys='skip' requires"),))]
        try:
            calls.append((importlib.import_module("sheaf.torch").Dataset, (folder,), (corrupt, missing)))
        except ImportError:
            pass
        for function, arguments, options in calls:
            for option, says in options:
                more = {"format": "tfrecord"} if function is sheaf.convert else {}
                with self.assertRaisesRegex(sheaf.ArgumentError, says):
                    function(*arguments, **option, **more)
        self.assertFalse(os.path.exists(to))
        sheaf.append(tree, folder, quality=80)      # the data set may have the option that this one needs

    def test_tens_of_thousands_of_threads(self):
        """A process with that many threads would run out of memory mappings and crash."""
        folder = pack(self.path("set"), samples_of(20))
        self.assertEqual(len(list(sheaf.Reader(folder, threads=1024))), 20)
        for call in (lambda: sheaf.Reader(folder, threads=40000),
                     lambda: sheaf.verify(folder, threads=40000),
                     lambda: sheaf.pack(folder, self.path("to"), jobs=40000),
                     lambda: sheaf.edit(folder, delete=["a"], jobs=40000)):
            with self.assertRaisesRegex(sheaf.ArgumentError, "=40000: expected an integer from 0 to 1024"):
                call()
        self.assertFalse(os.path.exists(self.path("to")))

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
        self.assertIn("bin", sheaf.torch.Dataset(folder, on_corrupt="skip", threads=1)[3])
        for name in ("workers", "epoch", "no_such_option"):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument '%s'" % name):
                sheaf.torch.Dataset(folder, **{name: 2})


if __name__ == "__main__":
    unittest.main()
