# SPDX-License-Identifier: MIT
"""spark-submit spark.py PLAN PARTS

Packs PLAN with one Spark partition for each part, and commits. A task that fails, or whose executor is lost, is tried
again. A slow task is started a second time elsewhere, and the first result counts."""

import subprocess
import sys

from pyspark.sql import SparkSession


def sheaf(*words):
    done = subprocess.run(["sheaf", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError("sheaf %s: %s" % (" ".join(words), done.stderr.strip()))


def main(plan, parts):
    spark = (SparkSession.builder.appName("sheaf")
             .config("spark.speculation", "true")
             .config("spark.task.maxFailures", "4")
             .getOrCreate())
    try:
        spark.sparkContext.range(parts, numSlices=parts).foreach(
            lambda part: sheaf("pack", "--plan", plan, "--part", "%d/%d" % (part, parts)))
        sheaf("commit", plan)
    finally:
        spark.stop()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
