# SPDX-License-Identifier: MIT
"""Starts Python programs that need torch. Importing torch takes more than a second, so one process imports it, and
each program is a fork of that process."""

import multiprocessing
import os
import runpy
import sys
import threading
import warnings

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["sheaf.torch"])


def _run(errors, path, words, folder, env):
    os.dup2(errors.fileno(), 2)
    errors.close()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    multiprocessing.set_start_method(None, force=True)      # the default
    warnings.simplefilter("ignore")
    sys.argv = [path, *words]
    sys.path.insert(0, os.path.dirname(path))
    runpy.run_path(path, run_name="__main__")


class Program:
    """The process of the program in the file `path`, with the interface of subprocess.Popen. Standard error is a
    pipe of text."""

    def __init__(self, path, *words, cwd=None, env=None):
        ours, errors = _context.Pipe(duplex=False)
        self._process = _context.Process(target=_run, args=(errors, path, words, cwd or os.getcwd(),
                                                            dict(env or os.environ)))
        self._process.start()
        errors.close()
        self.stderr = open(os.dup(ours.fileno()), encoding="utf-8")
        ours.close()

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self.returncode

    def kill(self):
        self._process.kill()

    def wait(self, timeout=None):
        self._process.join(timeout)
        return self.returncode

    def communicate(self, timeout=300):
        """Returns (None, standard error). Kills the program if it has not ended after `timeout` seconds."""
        timer = threading.Timer(timeout, self.kill)
        timer.start()
        with self.stderr:
            errors = self.stderr.read()
        self.wait()
        timer.cancel()
        return None, errors
