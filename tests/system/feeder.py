# SPDX-License-Identifier: MIT
"""The platform's side of Pipe mode: a thread that makes a channel's pipes and writes to them."""

import os
import threading
import time


class Feeder:
    """Writes `epochs`, each the bytes of one pipe, from number `first` on. A pipe is removed after it was read. As on
    the platform, the next pipe is made before the end of the one before it.

    self.closed_early has the numbers of the pipes whose reader went away."""

    def __init__(self, root, channel, epochs, first=0, late=0.0, piece=65536):
        self.folder = os.path.join(root, "input", "data")
        os.makedirs(self.folder, exist_ok=True)
        self.channel, self.epochs, self.first = channel, epochs, first
        self.late, self.piece, self.closed_early = late, piece, []
        self.stopped = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def path(self, number):
        return os.path.join(self.folder, "%s_%d" % (self.channel, number))

    def _make(self, number):
        if number < self.first + len(self.epochs) and not os.path.exists(self.path(number)):
            os.mkfifo(self.path(number))

    def _open(self, number):
        """Waits for the reader, but not for ever."""
        while not self.stopped:
            try:
                return os.open(self.path(number), os.O_WRONLY | os.O_NONBLOCK)
            except OSError:     # no process has the pipe open for reading
                time.sleep(0.005)
        return None

    def _feed(self, number, data):
        pipe = self._open(number)
        if pipe is None:
            return
        os.set_blocking(pipe, True)
        try:
            for at in range(0, len(data), self.piece):
                os.write(pipe, data[at:at + self.piece])
        except BrokenPipeError:
            self.closed_early.append(number)
        os.close(pipe)

    def _run(self):
        time.sleep(self.late)
        for number, data in enumerate(self.epochs, self.first):
            self._make(number)
            self._make(number + 1)
            self._feed(number, data)
            os.unlink(self.path(number))

    def wait(self):
        """Waits until everything has been read."""
        self.thread.join(60)
        assert not self.thread.is_alive(), "the feeder was not read to its end"

    def stop(self):
        self.stopped = True
        self.thread.join(60)
        for number in range(self.first, self.first + len(self.epochs) + 1):
            if os.path.exists(self.path(number)):
                os.unlink(self.path(number))
