# SPDX-License-Identifier: MIT
"""A program that packs with a transform, for tests that kill it; and the transforms of tests, which processes that
are not forked import from this module.

    making.py SOURCE DEST LOG [OPTION=VALUE ...]

Each call of the transform adds a line to LOG: its process and the sample's key. With the option stop=N, the N-th line
of the log ends the program, by the signal `how`."""

import os
import signal
import sys

import sheaf


def twice(sample):
    """Returns none, one or several samples, so that each kind of result occurs."""
    number = int(sample.key[-3:])
    if number % 7 == 0:
        return None
    if number % 5 == 0:
        return ((sample.key + "-%d" % i, {"bin": bytes(sample["bin"])[i:], "n": i}) for i in (0, 1))
    return {"bin": bytes(sample["bin"])[::-1], "txt": sample.class_name}


def bad(sample):
    if int(sample.key[-3:]) % 10 == 3:
        raise ValueError("too blue")
    return sample


def killed(sample):
    if sample.key.endswith("007"):
        os.kill(os.getpid(), signal.SIGKILL)
    return sample


class Logged:
    """Calls twice() and writes a log."""

    def __init__(self, log, stop, how):
        self.log, self.stop, self.how = log, stop, how

    def __call__(self, sample):
        with open(self.log, "a+") as log:
            log.write("%d %s\n" % (os.getpid(), sample.key))
            log.flush()
            log.seek(0)
            if len(log.readlines()) == self.stop:
                os.kill(os.getppid(), self.how)
        return twice(sample)


if __name__ == "__main__":
    given = dict(word.split("=") for word in sys.argv[4:])
    sheaf.pack(sys.argv[1], sys.argv[2], shard_size="50kB", version=given.get("version", "1"),
               jobs=int(given.get("jobs", 1)), resume="resume" in given,
               start_method=given.get("start_method"),
               transform=Logged(sys.argv[3], int(given.get("stop", 0)),
                                signal.Signals[given.get("how", "SIGKILL")]))
