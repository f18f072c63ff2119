# SPDX-License-Identifier: MIT
"""Measures batches of crops beside the peers: processor time for an image at quality 90 to 95, cropped at random to
224.

    make bench-python                   (PHOTOS=240 LARGE=40 ROUNDS=5)

MXNET_PYTHON, FFCV_PYTHON, TF_PYTHON and DALI_PYTHON name the Pythons that have these peers, if the Python that runs
the benchmark lacks them. MXNet and FFCV need an older NumPy, for example.

Alone: one thread with the files in memory. Peers that can crop at a given place use the same places. Photos have
500 x 375 pixels, large ones 1500 x 1000. Loader: all processor time of a process with sheaf.torch.DataLoader and
pixels, compared with the same threads without a loader; the processor time of the program's thread for a batch of 256, in
microseconds; and the part that reading alone would take. By the clock, so only useful on an idle machine: two threads
compared with one, and the loader with two threads compared with PyTorch's loader with two workers.

Rows that need a module which is not installed are named, and not measured. Each run is a process of its own, and runs
take turns. Prints the results, and a line of JSON at the end."""

import functools
import importlib.util
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from python_loader import verdict

SIDE, BATCH, PASSES, SMALL, WORKERS, STEPS = 224, 64, 3, 5120, 2, 300
PYTHONS = {name: shutil.which(os.environ.get(name + "_PYTHON", "")) for name in ("MXNET", "FFCV", "TF", "DALI")}


# ---- Photos ---------------------------------------------------------------------------------------

def photo(chance, number, sides=(500, 375)):
    """Returns an image with the entropy of a photograph: noise in several octaves."""
    import numpy
    from PIL import Image
    width, height = sides if number % 4 else sides[::-1]
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


def pack(path, files, **options):
    import sheaf
    with sheaf.Packer(path, **options) as packer:
        for number, data in enumerate(files):
            packer.append("%06d" % number, {"jpg": data}, labels=number % 7)


def make(folder, count, large):
    """Makes the data sets. Returns the mean number of bytes of a photo."""
    import numpy
    from PIL import Image
    chance = numpy.random.RandomState(1)
    photos = [photo(chance, number) for number in range(count)]
    pack(folder + "/set", photos)
    pack(folder + "/large", (photo(chance, number, (1500, 1000)) for number in range(large)))
    if lacks("run_mxnet") is None:
        pack(folder + "/set-mxnet", photos, format="recordio", index="mxnet")
    small = io.BytesIO()
    Image.open(io.BytesIO(photos[0])).resize((40, 30)).save(small, "JPEG")
    pack(folder + "/small", [small.getvalue()] * SMALL)     # to measure the cost of a batch, not of an image
    return sum(map(len, photos)) / count


def reader_of(path):
    import sheaf
    return sheaf.Reader(path, no_shuffle=True, rank=0, world_size=1)


def files_of(path):
    with reader_of(path) as reader:
        return [(sample["jpg"].tobytes(), sample.seed) for sample in reader]


def boxes_of(path):
    """Returns [(bytes, top, left, height, width, flipped)]."""
    import sheaf
    import sheaf.numpy
    with reader_of(path) as reader:
        boxes = [tuple(map(int, crop)) for batch in sheaf.numpy.batches(
            reader, BATCH, pixels=sheaf.Pixels(SIDE)) for crop in batch["__crops__"]]
    return [(data, *box) for (data, _), box in zip(files_of(path), boxes)]


# ---- Contenders: each returns seconds of an image, of the processor if nothing else is said --------

def best_of(items, work):
    """Returns the least time of some passes over all images."""
    def once():
        for item in items:
            work(*item)
    return least_of(once, len(items))


def least_of(once, count, clock=time.process_time):
    least = float("inf")
    for _ in range(PASSES):
        begin = clock()
        once()
        least = min(least, clock() - begin)
    return least / count


def pool_alone(path, layout="nchw", threads=1, clock=time.process_time):
    """Measures the threads of the library, on samples in memory."""
    import numpy
    import sheaf
    from sheaf._pixel_stage import as_array, parts_of_batches
    pixels = sheaf.Pixels(SIDE, threads=threads, layout=layout)
    pool = pixels.open(threads, 1 << 28)
    with reader_of(path) as reader:
        batches = list(reader.batches(BATCH))
    for _ in batches:
        parts = functools.partial(parts_of_batches, pixels, BATCH, as_array, [])
        pool.add(sheaf._sheaf.PixelSlot(
            pool, [numpy.empty((BATCH, *pixels.shape(pixels.views[0])), numpy.uint8)], BATCH, parts, False))

    def once():
        made = [pool.begin(batch, None) for batch in batches]
        if any(batch._wait() for batch in made):
            raise SystemExit("images are missing")
    return least_of(once, sum(map(len, batches)), clock)


def run_alone(path):
    return pool_alone(path)


def run_alone_nhwc(path):
    return pool_alone(path, "nhwc")


def run_one_clock(path):
    return pool_alone(path, clock=time.perf_counter)


def run_two_clock(path):
    return pool_alone(path, threads=2, clock=time.perf_counter)


def run_read(path):
    """Measures reading alone."""
    import sheaf
    with sheaf.Reader(path, seed=1, rank=0, world_size=1) as reader:
        def once():
            count[0] = sum(len(batch) for batch in reader.batches(BATCH))
        count = [0]
        once()
        return least_of(once, count[0])


def run_pillow(path):
    import numpy
    from PIL import Image

    def work(data, top, left, height, width, flipped):
        image = Image.open(io.BytesIO(data)).convert("RGB").crop(
            (left, top, left + width, top + height)).resize((SIDE, SIDE), Image.BILINEAR)
        return numpy.asarray(image.transpose(Image.FLIP_LEFT_RIGHT) if flipped else image)
    return best_of(boxes_of(path), work)


def _of_tensors(path, decode):
    import torch
    from torchvision.transforms.v2 import functional
    torch.set_num_threads(1)

    def work(data, top, left, height, width, flipped):
        image = decode(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        image = functional.resized_crop(image, top, left, height, width, [SIDE, SIDE], antialias=True)
        return functional.horizontal_flip(image) if flipped else image
    return best_of(boxes_of(path), work)


def run_torchvision(path):
    from torchvision.io import decode_jpeg
    return _of_tensors(path, decode_jpeg)


def run_torchcodec(path):
    from torchcodec.decoders import decode_jpeg
    return _of_tensors(path, decode_jpeg)


def run_tf(path):
    """Measures decode_and_crop_jpeg and a resize without antialiasing, as people use them."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string), tf.TensorSpec([4], tf.int32)])
    def crop(data, box):
        image = tf.io.decode_and_crop_jpeg(data, box, channels=3)
        return tf.cast(tf.image.resize(image, (SIDE, SIDE)), tf.uint8)
    return best_of([(tf.constant(data), tf.constant(box, tf.int32))
                    for data, *box, _ in boxes_of(path)], crop)


def run_dali(path):
    from nvidia.dali import fn, pipeline_def, types
    import numpy
    files = [numpy.frombuffer(data, numpy.uint8) for data, _ in files_of(path)]

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


def run_mxnet(path):
    """Measures MXNet's ImageRecordIter, which draws its own crops, and begins to decode when it is made."""
    import mxnet

    def once():
        batches = mxnet.io.ImageRecordIter(
            path_imgrec=stem + ".rec", path_imgidx=stem + ".idx", data_shape=(3, SIDE, SIDE),
            batch_size=BATCH, preprocess_threads=1, prefetch_buffer=1, random_resized_crop=True,
            min_random_area=0.08, max_random_area=1.0, min_aspect_ratio=3 / 4,
            max_aspect_ratio=4 / 3, rand_mirror=True, round_batch=False, seed_aug=1)
        for batch in batches:
            batch.data[0].wait_to_read()
    folder = path + "-mxnet"
    stem = os.path.join(folder, next(name for name in sorted(os.listdir(folder))
                                     if name.endswith(".rec")))[:-4]
    with open(stem + ".idx", encoding="ascii") as index:
        return least_of(once, sum(1 for _ in index))


def run_ffcv(path):
    """Measures FFCV's loader, which draws its own crops. It encodes the images again when they are written. With
    quality 92, its files have about the same size as the photos."""
    from ffcv.fields import RGBImageField
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip
    from ffcv.writer import DatasetWriter
    images = [(open_pillow(data),) for data, _ in files_of(path)]
    written = "%s-%d.beton" % (path, os.getpid())
    try:
        DatasetWriter(written, {"image": RGBImageField(write_mode="jpg", jpeg_quality=92)},
                      num_workers=1).from_indexed_dataset(images)
        loader = Loader(written, batch_size=BATCH, num_workers=1, order=OrderOption.SEQUENTIAL, os_cache=True,
                        pipelines={"image": [RandomResizedCropRGBImageDecoder((SIDE, SIDE)), RandomHorizontalFlip()]})

        def once():
            for _ in loader:
                pass
        once()                  # compiles the pipeline
        return least_of(once, len(images))
    finally:
        if os.path.exists(written):
            os.unlink(written)


def of_loader(loader, clock):
    """Measures a loader after an epoch that is not counted."""
    def once():
        count[0] = sum(len(batch) for batch in loader)
    count = [0]
    once()
    return least_of(once, count[0], clock)


def sheaf_loader(path, threads, **options):
    import sheaf
    import sheaf.torch
    return sheaf.torch.DataLoader(path, BATCH, seed=1,
                                  pixels=sheaf.Pixels(SIDE, threads=threads), **options)


def run_loader(path):
    """Measures the whole process with the loader."""
    return of_loader(sheaf_loader(path, 1), time.process_time)


def run_loader_clock(path):
    return of_loader(sheaf_loader(path, WORKERS), time.perf_counter)


class InMemory:
    """Files that are decoded and cropped by a transform."""

    def __init__(self, path, transform):
        self.files = [data for data, _ in files_of(path)]
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        return self.transform(self.files[number])


def torch_loader(path, first, last=None):
    """Returns PyTorch's loader, with torchvision's crop between the two steps."""
    import torch.utils.data
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    steps = [first, v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()]
    transform = v2.Compose(steps + ([last] if last else []))
    return torch.utils.data.DataLoader(InMemory(path, transform), BATCH, shuffle=True,
                                       num_workers=WORKERS, persistent_workers=True)


def open_pillow(data):
    from PIL import Image
    return Image.open(io.BytesIO(data)).convert("RGB")


def decode_tensor(data):
    import torch
    from torchvision.io import decode_jpeg
    return decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8))


def run_torch_pillow_clock(path):
    from torchvision.transforms import v2
    return of_loader(torch_loader(path, open_pillow, v2.PILToTensor()), time.perf_counter)


def run_torch_tensors_clock(path):
    return of_loader(torch_loader(path, decode_tensor), time.perf_counter)


def run_step(path):
    """Returns the microseconds of processor time that the program's thread takes for a batch of 256: the median of
    STEPS batches."""
    import sheaf
    import sheaf.torch
    loader = sheaf.torch.DataLoader(path, 256, seed=1, drop_last=True,
                                    pixels=sheaf.Pixels(32, threads=1))
    times = []
    while len(times) < 2 * STEPS:
        begin = time.thread_time()
        for batch in loader:
            shown = batch.pixels, batch.labels, batch.crops
            now = time.thread_time()
            times.append(now - begin)
            begin = now
    del shown
    return statistics.median(times[STEPS:]) * 1e6


# ---- All of them ----------------------------------------------------------------------------------

class Row:
    """A ratio of two runs, or one run, and the limit of its median."""

    def __init__(self, label, run, beside=None, least=None, most=None, data="set"):
        self.label, self.limit, self.is_least = label, least or most, least is not None
        self.runs = [(name, data) for name in (run, beside) if name]

    def value(self, times):
        return times[0] if len(times) == 1 else times[1] / times[0]


ROWS = [
    Row("rate / Pillow", "run_alone", "run_pillow", 1.9),
    Row("rate / torchvision tensors", "run_alone", "run_torchvision", 1.45),
    Row("rate / torchcodec", "run_alone", "run_torchcodec", 1.45),
    Row("rate / tf.data", "run_alone", "run_tf", 1.1),
    Row("rate / DALI, CPU", "run_alone", "run_dali", 1.8),
    Row("rate / MXNet's ImageRecordIter", "run_alone", "run_mxnet", 1.8),
    Row("rate / FFCV", "run_alone", "run_ffcv", 1.8),
    Row("large, rate / Pillow", "run_alone", "run_pillow", 1.8, data="large"),
    Row("large, rate / torchvision tensors", "run_alone", "run_torchvision", 1.4, data="large"),
    Row("large, rate / DALI, CPU", "run_alone", "run_dali", 1.35, data="large"),
    Row("nhwc, rate / nchw", "run_alone_nhwc", "run_alone", 0.9),
    Row("in the loader, rate / threads alone", "run_loader", "run_alone", 0.95),
    Row("program's thread, us a batch of 256", "run_step", most=60, data="small"),
    Row("reading / in the loader, time", "run_loader", "run_read", most=0.03),
    Row("by the clock, two threads / one", "run_two_clock", "run_one_clock", 1.85),
    Row("by the clock, loader / PyTorch's with Pillow", "run_loader_clock",
        "run_torch_pillow_clock", 2.4),
    Row("by the clock, loader / PyTorch's with tensors", "run_loader_clock",
        "run_torch_tensors_clock", 1.8),
]
OF_OTHER_PYTHONS = {"run_mxnet": "MXNET", "run_ffcv": "FFCV", "run_tf": "TF", "run_dali": "DALI"}
NEEDS = {
    "run_torchvision": ("torchvision",), "run_torchcodec": ("torchcodec", "torchvision"),
    "run_tf": ("tensorflow",), "run_dali": ("nvidia.dali",), "run_mxnet": ("mxnet",), "run_ffcv": ("ffcv",),
    "run_loader": ("torch",),
    "run_step": ("torch",), "run_loader_clock": ("torch",),
    "run_torch_pillow_clock": ("torchvision",), "run_torch_tensors_clock": ("torchvision",),
}


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def lacks(name):
    """Returns why a run cannot be made, or None."""
    if PYTHONS.get(OF_OTHER_PYTHONS.get(name)):
        return None
    return next(("%s is not installed" % module for module in NEEDS.get(name, ())
                 if not is_there(module)), None)


def run(name, path):
    python = PYTHONS.get(OF_OTHER_PYTHONS.get(name)) or sys.executable
    done = subprocess.run([python, "-W", "ignore", __file__, "--run", name, path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    if done.returncode != 0:
        return None, "%s: %s" % (name, (done.stderr.decode(errors="replace").splitlines() or
                                        ["it failed"])[-1])
    return json.loads(done.stdout.splitlines()[-1]), None


def rows_that_can_be():
    """Returns the rows whose modules are installed, and names the others."""
    rows = []
    for row in ROWS:
        why = next(filter(None, (lacks(name) for name, _ in row.runs)), None)
        if why is None:
            rows.append(row)
        else:
            print("  pixels, %s: not measured, %s" % (row.label, why))
    return rows


def measure(folder, rows, rounds):
    """Returns {run: a time for each round}, and {run: why it failed}."""
    runs = list(dict.fromkeys(each for row in rows for each in row.runs))
    found, failed = {each: [] for each in runs}, {}
    for number in range(rounds):
        at = number % len(runs)
        for each in runs[at:] + runs[:at]:
            if each in failed:
                continue
            seconds, why = run(each[0], "%s/%s" % (folder, each[1]))
            found[each].append(seconds)
            if why is not None:
                failed[each] = why
    return found, failed


def main():
    count, rounds = int(os.environ.get("PHOTOS", 240)), int(os.environ.get("ROUNDS", 5))
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    lacking = [module for module in ("numpy", "PIL") if not is_there(module)]
    if lacking:
        print("  pixels: not measured, %s is not installed" % lacking[0])
        print(json.dumps({"photos": 0, "rounds": 0, "checks": []}))
        return
    rows, checks = rows_that_can_be(), []
    folder = tempfile.mkdtemp(prefix="sheaf-bench-", dir=build)
    try:
        print("  %d photos of %.0f kB" % (
            count, make(folder, count, int(os.environ.get("LARGE", 40))) / 1e3), flush=True)
        found, failed = measure(folder, rows, rounds)
    finally:
        shutil.rmtree(folder)
    if ("run_alone", "set") in failed:
        raise SystemExit(failed["run_alone", "set"])
    own = found["run_alone", "set"]
    checks.append(verdict("pixels, images a core second", [1 / each for each in own], 1000, True))
    for row in rows:
        why = next((failed[each] for each in row.runs if each in failed), None)
        if why is not None:
            print("  pixels, %s: not measured, %s" % (row.label, why))
            continue
        values = [row.value(times) for times in zip(*(found[each] for each in row.runs))]
        checks.append(verdict("pixels, " + row.label, values, row.limit, row.is_least))
    print(json.dumps({"photos": count, "rounds": rounds, "checks": checks}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(globals()[sys.argv[2]](sys.argv[3])))
    else:
        main()
