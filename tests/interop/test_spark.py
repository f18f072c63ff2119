# SPDX-License-Identifier: MIT
"""tools/engines/spark.py under the real Spark: a cluster of two executors on this machine."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "system"))

from engines import ENGINES, PARTS, Engine, text_of

if importlib.util.find_spec("pyspark") is None:
    raise unittest.SkipTest("no pyspark (Python registry)")
if not shutil.which("java"):
    raise unittest.SkipTest("no java here (Debian package openjdk-17-jre-headless)")


def parent_of(pid):
    for line in text_of("/proc/%d/status" % pid).splitlines():
        if line.startswith("PPid:"):
            return int(line.split()[1])
    return 0


class Spark(Engine):
    def submit(self, plan):
        """spark-submit under way, with a task that has stopped in the middle of its part."""
        programs = os.path.dirname(sys.executable)
        env = dict(self.stalling(), SPARK_WORKER_DIR=self.path("work"),
                   SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
        env["PATH"] = programs + ":" + env["PATH"]
        with open(self.path("log"), "wb") as log:
            process = subprocess.Popen(
                [os.path.join(programs, "spark-submit"), "--master", "local-cluster[2,1,1024]",
                 os.path.join(ENGINES, "spark.py"), plan, str(PARTS)],
                env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, self.stalled()

    def executor_of(self, pid):
        """The worker's ancestors up to the executor, which is the last."""
        found = [pid]
        while "CoarseGrainedExecutorBackend" not in text_of("/proc/%d/cmdline" % found[-1]):
            self.assertGreater(parent_of(found[-1]), 1)
            found.append(parent_of(found[-1]))
        return found

    def check(self, plan, twins):
        """An executor is lost in the middle of a part; `twins` of the parts are run a second time
        while it is at work.  (Speculation marks the part that does not go on, but asks for
        another host to run it on.)"""
        process, pid = self.submit(plan)
        for part in twins:
            self.run_again(plan, part)
        for victim in self.executor_of(pid):
            self.end(victim)
        status = process.wait(timeout=500)
        log = text_of(self.path("log"))
        self.assertEqual(status, 0, log[-20000:])
        self.assertIn("Lost executor", log)
        self.assert_done(plan)

    def test_in_a_bucket(self):
        self.check(self.plan_in_bucket(), [1])

    def test_in_a_directory(self):
        self.check(self.plan_in_directory(), range(PARTS))
