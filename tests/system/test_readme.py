# SPDX-License-Identifier: MIT
"""Runs the README and the guides: compiles the C programs, and checks that the commands do what the pages say."""

import glob
import os
import re
import shutil
import subprocess
import unittest

from support import BUILD, MAKE_JPEGS, ROOT, Case, read, write

README = os.path.join(ROOT, "README.md")
PAGES = [README] + sorted(glob.glob(os.path.join(ROOT, "doc", "*.md")))
COMMANDS = ("pack", "plan", "commit", "cat", "info", "verify", "index", "view", "unpack",
            "convert", "fetch", "pipe", "advise", "get", "locate", "edit",
            "repair")


def blocks(language, page=README):
    text = read(page).decode()
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.S | re.M)


@unittest.skipUnless(os.path.exists(README), "no README.md")
class Readme(Case):
    @classmethod
    def share(cls):
        cls.environment = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], LC_ALL="C")
        cls.images = os.path.join(cls.shared, "images")
        subprocess.run([MAKE_JPEGS, cls.images, "--images", "300"], check=True, stdout=subprocess.DEVNULL)

    def test_programs_compile_and_run(self):
        programs = [b for b in blocks("c") if "main(" in b]
        self.assertNotEqual(programs, [])
        subprocess.run(["sheaf", "pack", self.images, self.path("shards"), "--format", "tfrecord"],
                       check=True, stdout=subprocess.DEVNULL, env=self.environment)
        for program in programs:
            write(self.path("program.c"), program.encode())
            subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-I" + ROOT, "-o",
                            self.path("program"), self.path("program.c"), "-L" + BUILD,
                            "-lsheaf", "-Wl,-rpath," + BUILD], check=True)
            done = subprocess.run([self.path("program"), self.path("shards")], check=True,
                                  stdout=subprocess.PIPE, cwd=self.folder)
            self.assertNotEqual(done.stdout, b"")

    def test_commands_run(self):
        for page in PAGES:
            with self.subTest(os.path.relpath(page, ROOT)):
                self.run_commands(page)

    def run_commands(self, page):
        """Runs every line of a page's shell blocks that begins with `sheaf` or `tar`. The lines run in order in one
        directory, which has the tree that the page assumes."""
        lines = [line for block in blocks("sh", page)
                 for line in block.replace("\\\n", " ").splitlines()
                 if re.match(r"(\$ )?(sheaf|build/sheaf|tar) ", line)]
        work = self.path("work-" + os.path.basename(page))
        os.makedirs(work)
        trees = {m for line in lines for m in re.findall(r"sheaf (?:pack|plan) ([^-\s]\S*)", line)}
        for tree in trees:
            if not os.path.splitext(tree)[1]:
                shutil.copytree(self.images, os.path.join(work, tree), dirs_exist_ok=True)
        for line in lines:
            command = re.sub(r"^(\$ )?(build/)?", "", line)
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=work,
                                  env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
            # `... | head` ends the writer by a broken pipe
            self.assertIn(done.returncode, (0, 141), "%s\n%s" % (command, done.stderr.decode()))

    def test_options_they_speak_of_exist(self):
        known = {command: set(re.findall(r"--[a-z][a-z0-9-]+", subprocess.run(
            [os.path.join(BUILD, "sheaf"), command, "--help"], check=True,
            stdout=subprocess.PIPE).stdout.decode())) for command in COMMANDS}
        for page in PAGES:
            for command, rest in re.findall(r"sheaf (%s)\b([^`\n#|]*)" % "|".join(COMMANDS),
                                            read(page).decode()):
                for option in re.findall(r"(?<!\S)--[a-z][a-z0-9-]+", rest):
                    self.assertIn(option, known[command], page + ": sheaf " + command + rest)

    def test_links_lead_somewhere(self):
        for page in PAGES + [os.path.join(ROOT, "CONTRIBUTING.md")]:
            for link in re.findall(r"\]\(([^)#:]+)\)", read(page).decode()):
                self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), link)),
                                page + ": " + link)
