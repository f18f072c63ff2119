# SPDX-License-Identifier: MIT
"""Finds the peers of the Python registry: in BUILD/bench-peers and BUILD/bench-peers-mxnet, which `make bench-peers`
makes, or in the interpreters that BENCH_PYTHON and BENCH_PYTHON_MXNET name."""

import os
import shutil
import subprocess

from run import Contender

HERE = os.path.dirname(os.path.abspath(__file__))


def interpreter(bench, mxnet=False):
    named = os.environ.get("BENCH_PYTHON" + ("_MXNET" if mxnet else ""))
    return named or os.path.join(bench.build, "bench-peers" + ("-mxnet" if mxnet else ""), "bin",
                                 "python")


def environment():
    return dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="",
                PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")


def found(bench, results, works, items=0, size=0, mxnet=False, **how):
    """Returns the contenders among (name, words of peer.py) that can run here."""
    python = interpreter(bench, mxnet)
    if not os.path.exists(python):
        for name, _ in works:
            results.missing[name] = "no %s (make bench-peers)" % os.path.relpath(python)
        return []
    env = how.pop("env", None)
    return [Contender(name, [python, os.path.join(HERE, "peer.py"), *words], bytes=size,
                      items=items, env={**environment(), **(env or {})}, **how)
            for name, words in works if all(words)]


def mds(bench, tree=None):
    return _converted(bench, "mds", "mds_write", tree)


def litdata(bench, tree=None):
    return _converted(bench, "litdata", "litdata_write", tree)


def _converted(bench, name, work, tree):
    """Converts the tree to a peer's own format. Returns its directory, or None if the peer is not installed."""
    path = os.path.join(bench.data.folder, name + ("-" + os.path.basename(tree) if tree else ""))
    python = interpreter(bench)
    if os.path.exists(path):
        return path
    if not os.path.exists(python):
        return None
    half = path + ".half"
    shutil.rmtree(half, ignore_errors=True)
    print("  making %s" % name, flush=True)
    done = subprocess.run([python, os.path.join(HERE, "peer.py"), work,
                           tree or bench.data.tree(), half],
                          env=environment(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        print("  left out: %s: %s" % (name, done.stderr.decode(errors="replace")[-300:].strip()))
        return None
    os.rename(half, path)
    return path
