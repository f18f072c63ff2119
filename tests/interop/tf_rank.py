# SPDX-License-Identifier: MIT
"""One rank of a tf.distribute strategy, for test_tensorflow.py: prints the keys that it was given.

    tf_rank.py SET      (with TF_CONFIG)"""

import sys

import tensorflow as tf

import sheaf.tf


def main(folder):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    dataset = sheaf.tf.dataset(folder, seed=3, batch_size=8)
    total = 0
    for batch in strategy.experimental_distribute_dataset(dataset):
        for keys in strategy.experimental_local_results(batch["__key__"]):
            print("\n".join(key.decode() for key in keys.numpy()))
        counts = strategy.run(lambda b: tf.size(b["__label__"]), args=(batch,))
        total += int(strategy.reduce(tf.distribute.ReduceOp.SUM, counts, axis=None))
    if total != len(sheaf.Dataset(folder)):
        sys.exit("over both ranks %d samples came" % total)


if __name__ == "__main__":
    main(*sys.argv[1:])
