# SPDX-License-Identifier: MIT
"""Tests tools/release.sh in a clone: its commits and tags, its archives, and what it refuses."""

import os
import re
import shutil
import subprocess
import unittest

from support import BUILD, ROOT, Case, read, write

NEWS = b"release 9.8 (not yet released)\ntool:   something new\n\n"


@unittest.skipUnless(shutil.which("git") and os.path.exists(os.path.join(ROOT, ".git")),
                     "not a clone of the repository")
class Release(Case):
    def setUp(self):
        super().setUp()
        self.clone = self.path("clone")
        subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
        self.git("config", "user.name", "Somebody")
        self.git("config", "user.email", "somebody@example.com")
        shutil.copy(os.path.join(ROOT, "tools/release.sh"), os.path.join(self.clone, "tools"))
        write(os.path.join(self.clone, "NEWS"), NEWS + read(os.path.join(ROOT, "NEWS")))
        for name in set(os.listdir(self.clone)) - {".git", ".gitignore", "NEWS", "sheaf.h", "tools"}:
            self.git("rm", "-r", "-q", name)        # making the archives would take long
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "something new")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.clone, *words], check=True,
                              stdout=subprocess.PIPE).stdout.decode()

    def release(self, version, status=0, clone=None):
        clone = clone or self.clone
        done = subprocess.run(["tools/release.sh", version], cwd=clone, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, BUILD="build"))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode() if status else read(os.path.join(
            clone, "build/release/sheaf-%s.sha256" % version))

    def test_what_is_made(self):
        sums = self.release("9.8.0")
        self.assertEqual(self.git("describe", "--exact-match").strip(), "v9.8.0")
        self.assertEqual(self.git("status", "--porcelain"), "")
        header = self.git("show", "v9.8.0:sheaf.h")
        self.assertEqual(re.findall(r"^#define SHEAF_VERSION_\w+ (\d+)", header, re.M),
                         ["9", "8", "0"])
        self.assertRegex(self.git("show", "v9.8.0:NEWS"), r"\Arelease 9\.8 \(\d{4}-\d\d-\d\d\)\n")
        folder = os.path.join(self.clone, "build/release")
        subprocess.run(["sha256sum", "--quiet", "-c", "sheaf-9.8.0.sha256"], cwd=folder, check=True)
        for suffix in ("gz", "xz"):
            names = subprocess.run(["tar", "-tf", os.path.join(folder, "sheaf-9.8.0.tar." + suffix)],
                                   check=True, stdout=subprocess.PIPE).stdout.decode().split()
            self.assertIn("sheaf-9.8.0/sheaf.h", names)
            self.assertTrue(all(name.startswith("sheaf-9.8.0/") for name in names))

        elsewhere = self.path("another/place")
        subprocess.run(["git", "clone", "-q", self.clone, elsewhere], check=True)
        self.assertEqual(self.release("9.8.0", clone=elsewhere), sums)

    def test_refusals(self):
        for version in ("9.8", "9.8.x", "v9.8.0", "9..8", "9.8.0.1"):
            self.assertIn("expected three numbers", self.release(version, status=1))
        self.assertIn('expected "release 9.8.1 (not yet released)"',
                      self.release("9.8.1", status=1))
        write(os.path.join(self.clone, "sheaf.h"), b"")
        self.assertIn("not committed", self.release("9.8.0", status=1))
        self.assertEqual(self.git("tag", "--list", "v9.8.*"), "")

    def test_another_version_is_not_kept(self):
        done = subprocess.run(["tools/release.sh", "--keep", "9.8.0"], cwd=self.clone,
                              stderr=subprocess.PIPE, env=dict(os.environ, BUILD=BUILD))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r'has "sheaf [\d.]+", expected version 9\.8\.0')
