# SPDX-License-Identifier: MIT
"""Builds sheaf._sheaf with the library inside, and puts the command, the header and the library
beside it.  The Makefile of the tree that this directory is in makes them; in a source distribution
that tree is in library/.  SHEAF_BUILD names a build directory where they are made already,
SHEAF_LIBRARY the shared library there to link, and SHEAF_MAKE further words for make; those who
make packages (tools/packaging) set them."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.build_scripts import build_scripts
except ImportError:
    from distutils.command.build_scripts import build_scripts

HERE = os.path.dirname(os.path.abspath(__file__))
COPY = os.path.join(HERE, "library")
TREE = COPY if os.path.isdir(COPY) else os.path.dirname(HERE)
TREE_FILES = ("Makefile", "LICENSE", "sheaf.h", "sheaf.map", "sheaf.pc.in", "tools/packages.sh")
MADE = os.path.join(TREE, "build", "pip")       # where the tree's own build goes
LIMITED_API = 0x030B0000        # the first stable one with the buffer protocol: Python 3.11


def make(*words):
    return subprocess.run(["make", "--no-print-directory", "-C", TREE,
                           *shlex.split(os.environ.get("SHEAF_MAKE", "")), *words], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def made(name):
    """The path of a file of the tree's build directory, which is made first."""
    folder = os.environ.get("SHEAF_BUILD")
    if not folder:
        folder = os.path.join(MADE, "library")
        make("-j%d" % (os.cpu_count() or 1), "BUILD=" + folder, os.path.join(folder, name))
    return os.path.abspath(os.path.join(folder, name))


def version():
    with open(os.path.join(TREE, "sheaf.h"), encoding="utf-8") as file:
        text = file.read()
    return ".".join(re.search(r"^#define SHEAF_VERSION_%s (\d+)" % part, text, re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


class BuildExtension(build_ext):
    def build_extension(self, extension):
        library = made(os.environ.get("SHEAF_LIBRARY", "libsheaf.a"))
        extension.extra_objects = [library]
        extension.extra_link_args = ["-pthread", *make("-s", "libs").split()]
        extension.depends = [library] + glob.glob("src/*.h")
        super().build_extension(extension)


class BuildPackage(build_py):
    """For programs in C: sheaf/include/sheaf.h and sheaf/lib/libsheaf.a."""

    def run(self):
        super().run()
        for path, folder in (os.path.join(TREE, "sheaf.h"), "include"), (made("libsheaf.a"), "lib"):
            to = os.path.join(self.build_lib, "sheaf", folder)
            self.mkpath(to)
            self.copy_file(path, to)


class BuildCommand(build_scripts):
    """The command is a program, not a script, but it is installed like one."""

    def run(self):
        self.mkpath(self.build_dir)
        self.copy_file(made("sheaf"), self.build_dir)

    def get_source_files(self):
        return []


class SourceDistribution(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        rooms = sorted({os.path.dirname(path) for path in make("-s", "sources").split()})
        for pattern in TREE_FILES + tuple(room + "/*.[ch]" for room in rooms):
            for path in glob.glob(os.path.join(TREE, pattern)):
                to = os.path.join(base_dir, "library", os.path.relpath(path, TREE))
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy2(path, to)
        shutil.copy2(os.path.join(TREE, "LICENSE"), base_dir)


os.makedirs(MADE, exist_ok=True)
options = {"build": {"build_base": MADE}, "egg_info": {"egg_base": MADE}}
limited = sys.version_info >= (3, 11)
os.chdir(HERE)
setup(
    version=version(),
    cmdclass={"build_ext": BuildExtension, "build_py": BuildPackage,
              "build_scripts": BuildCommand, "sdist": SourceDistribution},
    scripts=["sheaf"],
    ext_modules=[Extension(
        "sheaf._sheaf",
        sorted(glob.glob("src/*.c")),
        include_dirs=[TREE],
        define_macros=[("Py_LIMITED_API", hex(LIMITED_API))] if limited else [],
        depends=sorted(glob.glob("src/*.h")),
        extra_compile_args=["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fvisibility=hidden", "-Wall",
                            "-Wextra", "-Wshadow", "-Wno-cast-function-type",
                            *os.environ.get("WERROR", "").split(),
                            "-Werror=implicit-function-declaration"],
        py_limited_api=limited,
    )],
    options=dict(options, bdist_wheel={"py_limited_api": "cp311"}) if limited else options,
)
