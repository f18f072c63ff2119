# SPDX-License-Identifier: MIT
"""Builds sheaf._sheaf with the library inside: the Makefile of the tree that this directory is in
makes libsheaf.a, which the extension links.  SHEAF_LIBRARY names one that is made already."""

import glob
import os
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(HERE)
LIMITED_API = 0x030B0000        # the first stable one with the buffer protocol: Python 3.11


def make(*words):
    return subprocess.run(["make", "--no-print-directory", "-C", TREE, *words], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def version():
    with open(os.path.join(TREE, "sheaf.h"), encoding="utf-8") as file:
        text = file.read()
    return ".".join(re.search(r"^#define SHEAF_VERSION_%s (\d+)" % part, text, re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


class Build(build_ext):
    """Makes the library first, in the build directory of the extension."""

    def build_extension(self, extension):
        library = os.environ.get("SHEAF_LIBRARY")
        if not library:
            folder = os.path.abspath(os.path.join(self.build_temp, "library"))
            library = os.path.join(folder, "libsheaf.a")
            make("-j%d" % (os.cpu_count() or 1), "BUILD=" + folder, library)
        extension.extra_objects = [os.path.abspath(library)]
        extension.extra_link_args = ["-pthread", *make("-s", "libs").split()]
        extension.depends = [os.path.abspath(library)] + glob.glob("src/*.h")
        super().build_extension(extension)


# What is made on the way goes where the tree's own build goes.
made = os.path.join(TREE, "build", "pip")
os.makedirs(made, exist_ok=True)
options = {"build": {"build_base": made}, "egg_info": {"egg_base": made}}
limited = sys.version_info >= (3, 11)
os.chdir(HERE)
setup(
    version=version(),
    cmdclass={"build_ext": Build},
    ext_modules=[Extension(
        "sheaf._sheaf",
        sorted(glob.glob("src/*.c")),
        include_dirs=[TREE],
        define_macros=[("Py_LIMITED_API", hex(LIMITED_API))] if limited else [],
        extra_compile_args=["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fvisibility=hidden", "-Wall",
                            "-Wextra", "-Wshadow", "-Wno-cast-function-type", "-Werror",
                            "-Werror=implicit-function-declaration"],
        py_limited_api=limited,
    )],
    options=dict(options, bdist_wheel={"py_limited_api": "cp311"}) if limited else options,
)
