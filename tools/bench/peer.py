# SPDX-License-Identifier: MIT
"""The alternatives to Sheaf from the Python registry, which run in the environment of `make bench-peers`. Each
function does the work of one peer as the peer's documentation shows it.

    peer.py WORK ARGUMENT...        prints a line of JSON, as meter.h does

The time does not include importing."""

import json
import os
import random
import resource
import sys
import time

BATCH = 256
BUFFER = 10000


class Meter:
    def __init__(self):
        self.begin, self.begin_cpu, self.first = time.perf_counter(), self._cpu(), 0
        self.items = self.bytes = 0

    @staticmethod
    def _cpu():
        return sum(u.ru_utime + u.ru_stime for u in (
            resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))

    def add(self, items, size):
        self.first = self.first or time.perf_counter() - self.begin
        self.items += items
        self.bytes += size

    def print(self):
        print(json.dumps({
            "seconds": time.perf_counter() - self.begin, "cpu_seconds": self._cpu() - self.begin_cpu,
            "first_seconds": self.first, "bytes": self.bytes, "items": self.items,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def tree(folder):
    """Returns (path, label) of every file, in a shuffled order."""
    classes = sorted(os.listdir(folder))
    files = [(os.path.join(folder, name, file), label) for label, name in enumerate(classes)
             for file in sorted(os.listdir(os.path.join(folder, name)))]
    random.Random(0).shuffle(files)
    return files


# ---- Reading -----------------------------------------------------------------------------------

def webdataset_read(shuffle, *shards):
    import webdataset
    meter = Meter()
    data = webdataset.WebDataset(list(shards), shardshuffle=len(shards) if shuffle == "1" else
                                 False)
    for sample in data.shuffle(BUFFER) if shuffle == "1" else data:
        meter.add(1, len(sample.get("jpg", b"")))
    return meter


def tf_data_read(shuffle, *shards):
    import tensorflow as tf
    tf.constant(0)
    meter = Meter()
    if shuffle == "1":
        names = tf.data.Dataset.from_tensor_slices(list(shards)).shuffle(len(shards))
        records = names.interleave(tf.data.TFRecordDataset, cycle_length=2,
                                   num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        records = records.shuffle(BUFFER)
    else:
        records = tf.data.TFRecordDataset(list(shards))
    for batch in records.batch(BATCH).prefetch(tf.data.AUTOTUNE):
        meter.add(int(batch.shape[0]), 0)
    return meter


def mds_read(folder):
    from streaming import StreamingDataset
    meter = Meter()
    for sample in StreamingDataset(local=folder, shuffle=True, batch_size=BATCH):
        meter.add(1, len(sample["jpg"]))
    return meter


def litdata_read(folder):
    from litdata import StreamingDataset
    meter = Meter()
    for sample in StreamingDataset(folder, shuffle=True):
        meter.add(1, len(sample["jpg"]))
    return meter


# A mix of several data sets with equal shares.

def webdataset_mix(*shards):
    import webdataset
    meter = Meter()
    parts = [webdataset.WebDataset(shard, shardshuffle=False).shuffle(BUFFER // len(shards))
             for shard in shards]
    for sample in webdataset.RandomMix(parts, [1] * len(parts), longest=True):
        meter.add(1, len(sample.get("jpg", b"")))
    return meter


def tf_data_mix(*shards):
    import tensorflow as tf
    tf.constant(0)
    meter = Meter()
    parts = [tf.data.TFRecordDataset(shard).shuffle(BUFFER // len(shards)) for shard in shards]
    records = tf.data.Dataset.sample_from_datasets(parts, [1 / len(parts)] * len(parts), seed=0)
    for batch in records.batch(BATCH).prefetch(tf.data.AUTOTUNE):
        meter.add(int(batch.shape[0]), 0)
    return meter


def mds_mix(*folders):
    from streaming import Stream, StreamingDataset
    meter = Meter()
    streams = [Stream(local=folder, proportion=1 / len(folders)) for folder in folders]
    for sample in StreamingDataset(streams=streams, shuffle=True, batch_size=BATCH):
        meter.add(1, len(sample["jpg"]))
    return meter


def litdata_mix(*folders):
    from litdata import CombinedStreamingDataset, StreamingDataset
    meter = Meter()
    parts = [StreamingDataset(folder, shuffle=True) for folder in folders]
    for sample in CombinedStreamingDataset(parts, seed=0, weights=[1 / len(parts)] * len(parts),
                                           iterate_over_all=False):
        meter.add(1, len(sample["jpg"]))
    return meter


def s3torch_read(bucket, prefix, names):
    """Reads whole shards, one after another, as bytes."""
    from s3torchconnector import S3ClientConfig, S3IterableDataset
    meter = Meter()
    data = S3IterableDataset.from_objects(
        ["s3://%s/%s/%s" % (bucket, prefix, name) for name in names.split(",")],
        region="us-east-1", endpoint=os.environ["AWS_ENDPOINT_URL"],
        s3client_config=S3ClientConfig(force_path_style=True))
    for item in data:
        meter.add(1, len(item.read()))
    return meter


# ---- Writing -----------------------------------------------------------------------------------

def webdataset_write(source, dest):
    import webdataset
    files = tree(source)
    os.makedirs(dest)
    meter = Meter()
    with webdataset.ShardWriter(os.path.join(dest, "shard-%06d.tar"), maxsize=150e6,
                                verbose=0) as writer:
        for path, label in files:
            with open(path, "rb") as file:
                data = file.read()
            writer.write({"__key__": os.path.splitext(os.path.relpath(path, source))[0],
                          "jpg": data, "cls": label})
            meter.add(1, len(data))
    return meter


def mds_write(source, dest):
    from streaming import MDSWriter
    meter = Meter()
    with MDSWriter(out=dest, columns={"jpg": "bytes", "cls": "int"}, size_limit=150 << 20) as out:
        for path, label in tree(source):
            with open(path, "rb") as file:
                data = file.read()
            out.write({"jpg": data, "cls": label})
            meter.add(1, len(data))
    return meter


def litdata_item(item):
    with open(item[0], "rb") as file:
        return {"jpg": file.read(), "cls": item[1]}


def litdata_write(source, dest):
    from litdata import optimize
    files = tree(source)
    meter = Meter()
    optimize(fn=litdata_item, inputs=files, output_dir=dest, chunk_bytes="150MB", num_workers=2)
    meter.add(len(files), 0)
    return meter


def im2rec(source, dest):
    """Packs the files as MXNet's own tools/im2rec.py with --pass-through does for each line of its list."""
    import mxnet
    files = tree(source)
    os.makedirs(dest)
    meter = Meter()
    record = mxnet.recordio.MXIndexedRecordIO(os.path.join(dest, "all.idx"),
                                              os.path.join(dest, "all.rec"), "w")
    for number, (path, label) in enumerate(files):
        with open(path, "rb") as file:
            data = file.read()
        header = mxnet.recordio.IRHeader(0, label, number, 0)
        record.write_idx(number, mxnet.recordio.pack(header, data))
        meter.add(1, len(data))
    record.close()
    return meter


def _resized(work, source, dest):
    """Passes the files through `work` in a process for each core, and writes the results to one file, in order."""
    import multiprocessing
    files = [path for path, _ in tree(source)]
    meter = Meter()
    with multiprocessing.Pool() as pool, open(dest, "wb") as out:
        for data in pool.imap(work, files, chunksize=16):
            out.write(data)
            meter.add(1, len(data))
    return meter


def cv2_smaller(path):
    """Makes an image smaller as im2rec.py --resize 256 does: with a bilinear filter, quality 95."""
    import cv2
    image = cv2.imread(path, 1)
    height, width = image.shape[:2]
    size = (width * 256 // height, 256) if width > height else (256, height * 256 // width)
    if min(width, height) > 256:
        image = cv2.resize(image, size)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()


def im2rec_resize(source, dest):
    import cv2      # so that the processes have it as well
    cv2.setNumThreads(1)
    return _resized(cv2_smaller, source, dest)


def pillow_smaller(path):
    import io
    from PIL import Image
    with Image.open(path) as image:
        width, height = image.size
        size = (width * 256 // height, 256) if width > height else (256, height * 256 // width)
        image = image.convert("RGB")
    if min(width, height) > 256:
        image = image.resize(size, Image.LANCZOS)
    to = io.BytesIO()
    image.save(to, "JPEG", quality=90)
    return to.getvalue()


def pillow_resize(source, dest):
    import PIL.Image
    PIL.Image.preinit()
    return _resized(pillow_smaller, source, dest)


def _cropped(crop, source):
    """Crops each file at random to 224 pixels as torchvision's RandomResizedCrop does, in one thread."""
    import random
    import torch
    from torchvision.transforms import RandomResizedCrop
    torch.set_num_threads(1)
    files = [path for path, _ in tree(source)]
    meter = Meter()
    for path in files:
        with open(path, "rb") as file:
            data = file.read()
        crop(data, lambda image: RandomResizedCrop.get_params(image, (0.08, 1), (3 / 4, 4 / 3)),
             random.random() < 0.5)
        meter.add(1, len(data))
    return meter


def pillow_crops(source):
    import io
    import numpy
    from PIL import Image

    def crop(data, draw, flipped):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        top, left, height, width = draw(image)
        image = image.crop((left, top, left + width, top + height)).resize((224, 224),
                                                                           Image.BILINEAR)
        numpy.asarray(image.transpose(Image.FLIP_LEFT_RIGHT) if flipped else image)
    return _cropped(crop, source)


def torchvision_crops(source):
    import torch
    from torchvision.io import decode_jpeg
    from torchvision.transforms.v2 import functional

    def crop(data, draw, flipped):
        image = decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        image = functional.resized_crop(image, *draw(image), [224, 224], antialias=True)
        if flipped:
            functional.horizontal_flip(image)
    return _cropped(crop, source)


WORKS = {f.__name__: f for f in (
    webdataset_read, tf_data_read, mds_read, litdata_read, webdataset_mix, tf_data_mix, mds_mix,
    litdata_mix, s3torch_read, webdataset_write,
    mds_write, litdata_write, im2rec, im2rec_resize, pillow_resize, pillow_crops,
    torchvision_crops)}

if __name__ == "__main__":
    WORKS[sys.argv[1]](*sys.argv[2:]).print()
