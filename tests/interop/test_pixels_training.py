# SPDX-License-Identifier: MIT
"""Training on batches of pixels: a small network learns as it does from Pillow's crops, the same seed
gives the same batches twice, and a run that was killed goes on with the rest.

    test_pixels_training.py SET HASHES STATE [STOP_AT]

as a program: writes a line with the hash of each batch of two epochs into HASHES, goes on from STATE if
that file is there, and at step STOP_AT writes STATE and kills itself."""

import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import unittest

import sheaf
from peers import Case

try:
    import numpy
    import PIL.Image
    import torch
    import sheaf.torch
except ImportError as absent:
    raise unittest.SkipTest("no torch: %s" % absent)

SIDE, BATCH, EPOCHS, SEEDS, CLASSES = 24, 16, 5, (1, 2, 3), 4
PICTURES = 240


def picture(chance, label):
    """A JPEG whose class is the direction of its stripes, in noise."""
    width, height = int(chance.integers(60, 110)), int(chance.integers(60, 110))
    y, x = numpy.mgrid[:height, :width]
    across, down = ((1, 0), (0, 1), (1, 1), (1, -1))[label]
    waves = numpy.sin((x * across + y * down) * chance.uniform(0.35, 0.5) + chance.uniform(0, 6))
    values = 128 + 14 * waves[..., None] + chance.normal(0, 60, (height, width, 3))
    file = io.BytesIO()
    PIL.Image.fromarray(values.clip(0, 255).astype("u1")).save(file, "JPEG", quality=90)
    return file.getvalue()


def pack(path, count, seed):
    chance = numpy.random.default_rng(seed)
    with sheaf.Packer(path) as packer:
        for number in range(count):
            packer.append("%04d" % number, {"jpg": picture(chance, number % CLASSES)},
                          labels=number % CLASSES)


def opened(data):
    return PIL.Image.open(io.BytesIO(data)).convert("RGB")


def cropped(image, box):
    """By Pillow, as torchvision crops a picture."""
    top, left, height, width, flipped = box
    result = image.crop((left, top, left + width, top + height)).resize(
        (SIDE, SIDE), PIL.Image.BILINEAR)
    return result.transpose(PIL.Image.FLIP_LEFT_RIGHT) if flipped else result


def drawn(image, chance):
    """A box as RandomResizedCrop draws it, from another generator than Sheaf's."""
    for _ in range(10):
        area = image.width * image.height * chance.uniform(0.3, 1)
        ratio = 2 ** chance.uniform(-0.4, 0.4)
        width, height = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if width <= image.width and height <= image.height:
            return (chance.randint(0, image.height - height), chance.randint(0, image.width - width),
                    height, width, chance.random() < 0.5)
    return (0, 0, image.height, image.width, False)


def pixels_of(crop="random"):
    if crop == "center":
        return sheaf.Pixels(SIDE, crop="center")
    return sheaf.Pixels(SIDE, scale=(0.3, 1), ratio=(2 ** -0.4, 2 ** 0.4), flip=0)


def of_sheaf(folder, seed):
    for batch in sheaf.torch.DataLoader(folder, BATCH, seed=seed, pixels=pixels_of()):
        yield batch.pixels, batch.labels


def of_pillow(folder, seed, epoch):
    chance = random.Random("%d %d" % (seed, epoch))
    with sheaf.Reader(folder, no_shuffle=True, rank=0, world_size=1) as reader:
        samples = [(bytes(sample["jpg"]), sample.label) for sample in reader]
    chance.shuffle(samples)
    for i in range(0, len(samples), BATCH):
        images = []
        for data, _ in samples[i:i + BATCH]:
            image = opened(data)
            images.append(numpy.asarray(cropped(image, (*drawn(image, chance)[:4], False))))
        yield (torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2),
               torch.tensor([label for _, label in samples[i:i + BATCH]]))


def network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 7, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(16, CLASSES))


def scaled(images):
    return images.float().sub(128).div(48)


def trained(seed, batches_of):
    """The network after EPOCHS of batches_of(epoch), and its loss in the last of them."""
    net, total = network(seed), 0.0
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(EPOCHS):
        total = 0.0
        for images, labels in batches_of(epoch):
            loss = torch.nn.functional.cross_entropy(net(scaled(images)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
    return net, total / PICTURES


def correct(net, folder):
    """The part of the pictures of a set that a network tells right."""
    right = count = 0
    with torch.no_grad():
        for batch in sheaf.torch.DataLoader(folder, 64, seed=0, pixels=pixels_of("center")):
            right += int((net(scaled(batch.pixels)).argmax(1) == batch.labels).sum())
            count += len(batch)
    return right / count


def hashed(batch):
    parts = (batch.pixels.numpy(), batch.crops.numpy(), batch.labels.numpy())
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def write_hashes(folder, hashes_path, state_path, stop_at=None):
    loader = sheaf.torch.DataLoader(folder, BATCH, seed=9, pixels=pixels_of())
    first = step = 0
    if os.path.exists(state_path):
        with open(state_path) as file:
            step, state = json.load(file)
        loader.load_state_dict(state)
        first = state["epoch"]
    with open(hashes_path, "a") as hashes:
        for _ in range(first, 2):
            for batch in loader:
                print(hashed(batch), file=hashes, flush=True)
                step += 1
                if stop_at is not None and step == int(stop_at):
                    with open(state_path, "w") as file:
                        json.dump((step, loader.state_dict()), file)
                    os.kill(os.getpid(), signal.SIGKILL)


class PixelsTraining(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.set_num_threads(1)
        cls.stripes, cls.unseen = cls.shared + "/stripes", cls.shared + "/unseen"
        pack(cls.stripes, PICTURES, 1)
        pack(cls.unseen, 200, 2)

    def test_batches_are_pillows(self):
        with sheaf.Reader(self.stripes, no_shuffle=True, rank=0, world_size=1) as reader:
            files = {sample.key: bytes(sample["jpg"]) for sample in reader}
        for batch in sheaf.torch.DataLoader(self.stripes, BATCH, seed=4, pixels=sheaf.Pixels(SIDE)):
            for image, box, key in zip(batch.pixels, batch.crops.tolist(), batch.keys):
                expected = numpy.asarray(cropped(opened(files[key]), box))
                if int(PIL.__version__.split(".", 1)[0]) >= 13:     # some in another order
                    near = numpy.abs(expected.astype(int) - image.permute(1, 2, 0).numpy())
                    self.assertLessEqual(near.max(), 1, (key, box))
                else:
                    self.assertTrue((expected == image.permute(1, 2, 0).numpy()).all(), (key, box))

    def test_learns_as_from_pillow(self):
        ours, theirs = [], []
        for seed in SEEDS:
            for found, batches_of in (
                    (ours, lambda epoch, s=seed: of_sheaf(self.stripes, 100 * s + epoch)),
                    (theirs, lambda epoch, s=seed: of_pillow(self.stripes, s, epoch))):
                net, loss = trained(seed, batches_of)
                found.append((loss, correct(net, self.unseen)))
        for i, name in enumerate(("loss", "part that is told right")):
            a, b = [run[i] for run in ours], [run[i] for run in theirs]
            noise = max(numpy.std(a, ddof=1), numpy.std(b, ddof=1), 0.02)
            print("%s: %s of ours, %s of Pillow's" % (
                name, *(" ".join("%.3f" % value for value in run) for run in (a, b))))
            self.assertLess(abs(numpy.mean(a) - numpy.mean(b)), 3 * noise, name)
        self.assertGreater(min(run[1] for run in ours + theirs), 1.6 / CLASSES)

    def test_same_seed_and_resumed(self):
        def run(name, *words):
            path = self.path(name)
            done = subprocess.run([sys.executable, "-W", "ignore", os.path.abspath(__file__),
                                   self.stripes, path, *words], timeout=600, check=False)
            with open(path) as file:
                return done.returncode, file.read().split()
        code, whole = run("whole", self.path("none"))
        self.assertEqual((code, len(whole)), (0, 2 * -(-PICTURES // BATCH)))
        self.assertEqual(len(set(whole)), len(whole))
        self.assertEqual(run("again", self.path("none")), (0, whole))
        for stop in (7, len(whole) // 2):
            name, state = "parts-%d" % stop, self.path("state-%d" % stop)
            self.assertEqual(run(name, state, str(stop)), (-signal.SIGKILL, whole[:stop]))
            self.assertEqual(run(name, state), (0, whole))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        write_hashes(*sys.argv[1:])
    else:
        unittest.main()
