# SPDX-License-Identifier: MIT
"""Measures batches of crops beside the peers: processor time for an image of 500 x 375 pixels at quality 90 to 95,
cropped at random to 224.

    make bench-python                   (PHOTOS=240 ROUNDS=5)

Alone: one thread with the files in memory. Peers that can crop at a given place use the same places. Loader: all
processor time of a process with sheaf.torch.DataLoader and pixels, compared with the same threads without a loader;
and the time of the program's thread, in microseconds for a batch of 256.

Peers that are not installed are named. Each run is a process of its own, and runs take turns. Prints the results, and
a line of JSON at the end."""

import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from python_loader import verdict

SIDE, BATCH, PASSES, SMALL = 224, 64, 3, 5120


# ---- Photos ---------------------------------------------------------------------------------------

def photo(chance, number):
    """Returns an image with the entropy of a photograph: noise in several octaves."""
    import numpy
    from PIL import Image
    width, height = (500, 375) if number % 4 else (375, 500)
    values = numpy.zeros((height, width, 3))
    for octave in range(1, 8):
        grid = height // (256 >> octave) + 2, width // (256 >> octave) + 2
        noise = chance.normal(0, 1, (*grid, 3)).astype("f4")
        values += numpy.stack([numpy.asarray(Image.fromarray(noise[..., c]).resize(
            (width, height), Image.BICUBIC)) for c in range(3)], -1) * (60 / octave ** 1.1)
    values = 128 + values + chance.normal(0, 6, (height, width, 1))
    file = io.BytesIO()
    Image.fromarray(values.clip(0, 255).astype("u1")).save(file, "JPEG",
                                                           quality=(90, 92, 95)[number % 3])
    return file.getvalue()


def make(folder, count):
    import numpy
    import sheaf
    from PIL import Image
    chance = numpy.random.RandomState(1)
    photos = [photo(chance, number) for number in range(count)]
    with sheaf.Packer(folder + "/set") as packer:
        for number, data in enumerate(photos):
            packer.append("%06d" % number, {"jpg": data}, labels=number % 7)
    small = io.BytesIO()
    Image.open(io.BytesIO(photos[0])).resize((40, 30)).save(small, "JPEG")
    with sheaf.Packer(folder + "/small") as packer:         # to measure the cost of a batch, not of an image
        for number in range(SMALL):
            packer.append("%06d" % number, {"jpg": small.getvalue()}, labels=number % 7)
    return sum(map(len, photos)) / count


def files_of(folder):
    import sheaf
    with sheaf.Reader(folder + "/set", no_shuffle=True, rank=0, world_size=1) as reader:
        return [(sample["jpg"].tobytes(), sample.seed) for sample in reader]


def boxes_of(folder):
    """Returns [(bytes, top, left, height, width, flipped)]."""
    import sheaf
    import sheaf.numpy
    with sheaf.Reader(folder + "/set", no_shuffle=True, rank=0, world_size=1) as reader:
        boxes = [tuple(map(int, crop)) for batch in sheaf.numpy.batches(
            reader, BATCH, pixels=sheaf.Pixels(SIDE)) for crop in batch["__crops__"]]
    return [(data, *box) for (data, _), box in zip(files_of(folder), boxes)]


# ---- Contenders: each returns seconds of processor time for an image ------------------------------

def best_of(items, work):
    """Returns the least time of some passes over all images."""
    least = float("inf")
    for _ in range(PASSES):
        begin = time.process_time()
        for item in items:
            work(*item)
        least = min(least, time.process_time() - begin)
    return least / len(items)


def pool_alone(folder, layout="nchw"):
    """Measures the threads of the library, on samples in memory."""
    import numpy
    import sheaf
    pixels = sheaf.Pixels(SIDE, threads=1, layout=layout)
    pool = pixels.open(1, 1 << 28)
    with sheaf.Reader(folder + "/set", no_shuffle=True, rank=0, world_size=1) as reader:
        batches = list(reader.batches(BATCH))
    memory = [(numpy.empty(len(batch) * pixels.bytes, numpy.uint8),
               numpy.empty((len(batch), 1, 5), numpy.int32)) for batch in batches]
    least = float("inf")
    for _ in range(PASSES):
        begin = time.process_time()
        for batch, places in zip(batches, memory):
            if pool.begin(batch, None, list(places)).wait():
                raise SystemExit("images are missing")
        least = min(least, time.process_time() - begin)
    return least / sum(map(len, batches))


def run_alone(folder):
    return pool_alone(folder)


def run_alone_nhwc(folder):
    return pool_alone(folder, "nhwc")


def run_pillow(folder):
    import numpy
    from PIL import Image

    def work(data, top, left, height, width, flipped):
        image = Image.open(io.BytesIO(data)).convert("RGB").crop(
            (left, top, left + width, top + height)).resize((SIDE, SIDE), Image.BILINEAR)
        return numpy.asarray(image.transpose(Image.FLIP_LEFT_RIGHT) if flipped else image)
    return best_of(boxes_of(folder), work)


def _of_tensors(folder, decode):
    import torch
    from torchvision.transforms.v2 import functional
    torch.set_num_threads(1)

    def work(data, top, left, height, width, flipped):
        image = decode(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        image = functional.resized_crop(image, top, left, height, width, [SIDE, SIDE], antialias=True)
        return functional.horizontal_flip(image) if flipped else image
    return best_of(boxes_of(folder), work)


def run_torchvision(folder):
    from torchvision.io import decode_jpeg
    return _of_tensors(folder, decode_jpeg)


def run_torchcodec(folder):
    from torchcodec.decoders import decode_jpeg
    return _of_tensors(folder, decode_jpeg)


def run_tf(folder):
    """Measures decode_and_crop_jpeg and a resize without antialiasing, as people use them."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string), tf.TensorSpec([4], tf.int32)])
    def crop(data, box):
        image = tf.io.decode_and_crop_jpeg(data, box, channels=3)
        return tf.cast(tf.image.resize(image, (SIDE, SIDE)), tf.uint8)
    return best_of([(tf.constant(data), tf.constant(box, tf.int32))
                    for data, *box, _ in boxes_of(folder)], crop)


def run_dali(folder):
    from nvidia.dali import fn, pipeline_def, types
    import numpy
    files = [numpy.frombuffer(data, numpy.uint8) for data, _ in files_of(folder)]

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=1, prefetch_queue_depth=1)
    def pipeline():
        data = fn.external_source(lambda info: files[info.idx_in_epoch % len(files)], batch=False,
                                  dtype=types.UINT8)
        image = fn.decoders.image_random_crop(data, random_area=[0.08, 1.0],
                                              random_aspect_ratio=[3 / 4, 4 / 3])
        return fn.resize(image, size=[SIDE, SIDE], interp_type=types.INTERP_LINEAR, antialias=True)
    pipe = pipeline()
    pipe.build()
    pipe.run()
    steps = -(-len(files) // BATCH)
    least = float("inf")
    for _ in range(PASSES):
        begin = time.process_time()
        for _ in range(steps):
            pipe.run()
        least = min(least, time.process_time() - begin)
    return least / (steps * BATCH)


def run_loader(folder):
    """Measures the whole process with the loader."""
    import sheaf
    import sheaf.torch
    loader = sheaf.torch.DataLoader(folder + "/set", BATCH, seed=1,
                                    pixels=sheaf.Pixels(SIDE, threads=1))
    sum(len(batch) for batch in loader)
    least = float("inf")
    for _ in range(PASSES):
        begin = time.process_time()
        count = sum(len(batch) for batch in loader)
        least = min(least, time.process_time() - begin)
    return least / count


def run_step(folder):
    """Returns microseconds of processor time of the program's thread for a batch of 256."""
    import sheaf
    import sheaf.torch
    loader = sheaf.torch.DataLoader(folder + "/small", 256, seed=1, drop_last=True,
                                    pixels=sheaf.Pixels(32, threads=1))
    sum(len(batch) for batch in loader)
    begin, batches = time.thread_time(), 0
    for _ in range(PASSES):
        for _ in loader:
            batches += 1
    return (time.thread_time() - begin) / batches * 1e6


PEERS = {           # module, contender, least ratio
    "Pillow": ("PIL", "run_pillow", 1.9), "torchvision tensors": ("torchvision", "run_torchvision", 1.45),
    "torchcodec": ("torchcodec", "run_torchcodec", 1.45), "tf.data": ("tensorflow", "run_tf", 1.1),
    "DALI, CPU": ("nvidia.dali", "run_dali", 1.8),
}


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def run(name, folder):
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--run", name, folder],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    if done.returncode != 0:
        print("  %s: %s" % (name, done.stderr.decode(errors="replace").splitlines()[-1]))
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    count, rounds = int(os.environ.get("PHOTOS", 240)), int(os.environ.get("ROUNDS", 5))
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=build)
    names = ["run_alone", "run_alone_nhwc", "run_loader", "run_step"]
    for peer, (module, name, _) in PEERS.items():
        if is_there(module):
            names.append(name)
        else:
            print("  %s: not measured, it is not installed" % peer)
    found = {name: [] for name in names}
    try:
        print("  %d photos of %.0f kB" % (count, make(folder, count) / 1e3), flush=True)
        for number in range(rounds):
            for name in names[number % len(names):] + names[:number % len(names)]:
                found[name].append(run(name, folder))
    finally:
        shutil.rmtree(folder)
    own = found["run_alone"]
    checks = [verdict("pixels, images a core second", [1 / each for each in own], 1000, True),
              verdict("pixels, nhwc, cost / nchw", [
                  a / b for a, b in zip(found["run_alone_nhwc"], own)], 1.1, False),
              verdict("pixels in the loader, rate / threads alone", [
                  a / b for a, b in zip(own, found["run_loader"])], 0.95, True),
              verdict("pixels, program's thread, us a batch of 256",
                      found["run_step"], 60, False)]
    for peer, (_, name, least) in PEERS.items():
        if name in found and None not in found[name]:
            checks.append(verdict("pixels, rate / %s" % peer,
                                  [b / a for a, b in zip(own, found[name])], least, True))
    print(json.dumps({"photos": count, "rounds": rounds, "checks": checks}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(globals()[sys.argv[2]](sys.argv[3])))
    else:
        main()
