# SPDX-License-Identifier: MIT
"""The case study: one training program, and every way in which its data can come from S3.

    BUILD=build python3 tools/bench/casestudy.py [WAY|SIZE|FILES]...        (all)

It repeats AWS's "Choose the best data source for your Amazon SageMaker training job" on one machine: {File, FastFile,
mounted file system, direct S3, Pipe} x {small, large data set} x {JPEGs of 39 kB, WebDataset, TFRecord in shards of
about 150 MB}. post.py compares the results with the figures of the post.

The small data set is Caltech-256's 30,607 images (1.2 GB) in three epochs. The large data set has each image
CASESTUDY_REPLICATE times (10: 12 GB; 50 is the post's 54 GB) in one epoch. The consumer takes 10,000 samples a
second, about the rate of the link. The server is radosgw, slowed down to respond 15 ms after each request, at 400
MB/s in total and 80 MB/s per connection. It stores one form of one data set at a time, because all forms would not
fit on most disks.

A download or training that takes longer than CASESTUDY_SECONDS (12) is ended. Its time is then extrapolated to all
its bytes or samples, at the rate since the first one; such a figure is printed with "~". CASESTUDY_IMAGES makes the
data sets smaller, to try the case study.

Prints the table, and writes it to BUILD/bench/casestudy.json and casestudy.svg. If arguments are given, only the
cells that they name are measured, and replace those cells in BUILD/bench/casestudy.json."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

import bench
import charts
import data
import nfs
import post
import remote
import servers

RATE = 10000            # samples a second that the consumer takes
IMAGES = int(os.environ.get("CASESTUDY_IMAGES", "30607"))
REPLICATE = int(os.environ.get("CASESTUDY_REPLICATE", "10"))
SECONDS = int(os.environ.get("CASESTUDY_SECONDS", "12"))
WORKERS = 8             # workers of the consumer, if a sample is a file
LATENCY_MS, LINK_MB, CONNECTION_MB = 15, 400, 80
SIZES = {"small": (1, 3), "large": (REPLICATE, 1)}     # copies of each image, epochs
FORMS = {"JPEGs": None, "WebDataset": "webdataset", "TFRecord": "tfrecord"}
SHARD_SIZE = "150MB"
PUTS = 500              # objects that one curl puts
PARTS = ("download", "first sample", "training", "stall")
MOUNTED = "the disk" if nfs.lacking() else "NFS"


@dataclass
class Cell:
    """The seconds that one way took."""
    size: str
    way: str
    form: str               # a key of FORMS
    by: str                 # the tool that brings the data
    download: float = 0
    first: float = 0
    train: float = 0
    stall: float = 0
    missing: str = ""
    is_partial: bool = False    # the run was ended early

    @property
    def parts(self):
        return [self.download, self.first, self.train, self.stall]


class Study:
    """The data, in the bucket and on the disk, and the programs."""

    def __init__(self, bench_, folder):
        self.bench, self.build, self.folder = bench_, bench_.build, folder
        self.sheaf = os.path.join(self.build, "sheaf")
        self.rgw = self.endpoint = self.env = None      # set while a form is stored

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def url(self, size, form):
        return "s3://%s/%s-%s/" % (remote.BUCKET, size, form)

    def folder_of(self, size, form):
        return self.path("%s-%s" % (size, form))

    def make(self, size, form):
        """Makes the tree, or its shards, on the disk."""
        folder, tree = self.folder_of(size, form), self.folder_of(size, "JPEGs")
        if os.path.exists(folder):
            return folder
        if form == "JPEGs":
            _run([os.path.join(self.build, "make_jpegs"), folder, "--images", IMAGES,
                  "--replicate", SIZES[size][0]])
        else:
            _run([self.sheaf, "pack", tree, folder, "--format", FORMS[form], "--shard-size",
                  SHARD_SIZE])
        return folder

    @contextlib.contextmanager
    def stored(self, size, form):
        """Stores a form of the data set on the disk, and in the bucket of a server of its own."""
        folder, objects = self.make(size, form), self.path("objects")
        self.rgw = servers.Radosgw(objects)
        try:
            self.rgw.client.make_bucket(remote.BUCKET)
            self.put(folder)
            with remote.shaped(self.bench, self.rgw.plain, LATENCY_MS, LINK_MB,
                               CONNECTION_MB) as self.endpoint:
                self.env = self.rgw.environment(self.endpoint)
                yield
        finally:
            self.rgw.stop()
            os.remove(objects)
            if form != "JPEGs":
                shutil.rmtree(folder)

    def put(self, folder):
        files = _files(folder)
        for at in range(0, len(files), PUTS):
            transfers = []
            for path in files[at:at + PUTS]:
                key = "/%s/%s/%s" % (remote.BUCKET, os.path.basename(folder),
                                     os.path.relpath(path, folder))
                transfers.append([
                    'url = "%s"' % remote.presigned(self.rgw.client, self.rgw.plain, "PUT", key),
                    'upload-file = "%s"' % path, 'output = "/dev/null"', 'header = "Expect:"'])
            _run(remote.curl(self.path("put"), transfers))

    def consume(self, cell, *words):
        """Trains, and stores the times in the cell."""
        done = subprocess.run([os.path.join(self.build, "bench", "consume"), str(RATE),
                               str(SIZES[cell.size][1]), str(SECONDS), *words], check=False, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS + 120)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode(errors="replace").strip()[-300:])
        said = json.loads(done.stdout)
        expected = IMAGES * SIZES[cell.size][0] * SIZES[cell.size][1]
        if said["samples"] != expected and not said["ended"]:
            raise RuntimeError("%d samples, not %d" % (said["samples"], expected))
        share = said["samples"] / expected
        cell.is_partial |= share < 1
        cell.first, cell.train, cell.stall = (said["first"], said["train"] / share,
                                              said["stall"] / share)

    @contextlib.contextmanager
    def channel(self, config=None):
        """Makes a directory like a job's /opt/ml. Returns it, and the place of its channels."""
        root = self.path("ml")
        for part in ("data", "config"):
            os.makedirs(os.path.join(root, "input", part))
        with open(os.path.join(root, "input", "config", "inputdataconfig.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"train": config or {}}, file)
        try:
            yield root, os.path.join(root, "input", "data")
        finally:
            shutil.rmtree(root)

    def list_of(self, names):
        path = self.path("list")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in names)
        return path


def _run(words, **how):
    done = subprocess.run([str(w) for w in words], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **how)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (words[0], done.stderr.decode(errors="replace")[-300:]))


def _files(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def _train_on_folder(study, cell, folder):
    """Trains on a directory. For JPEGs, the program gets a list of names, because s3fs would make a request for each
    object to list them."""
    made = study.folder_of(cell.size, cell.form)
    if cell.form == "JPEGs":
        study.consume(cell, "files", str(WORKERS), study.list_of(
            os.path.join(folder, os.path.relpath(path, made)) for path in _files(made)))
        return
    with study.channel() as (root, at):
        os.symlink(folder, os.path.join(at, "train"))
        study.consume(cell, "channel", root)


# ---- The ways ----------------------------------------------------------------------------------

def _download(words, env, dest):
    """Returns the seconds until the first file was there, and until all files were there, or None if the download was
    ended early."""
    begin = time.monotonic()
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while process.poll() is None and not any(names for _, _, names in os.walk(dest)):
            time.sleep(0.01)
        first = time.monotonic() - begin
        error = process.communicate(timeout=max(SECONDS - first, 1))[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return first, None
    if process.returncode != 0:
        raise RuntimeError("%s: %s" % (words[0], error.decode(errors="replace")[-300:]))
    return first, time.monotonic() - begin


def file_mode(study, cell):
    """Downloads everything to the disk before training begins."""
    dest, folder = study.path("downloaded"), study.folder_of(cell.size, cell.form)
    shutil.rmtree(dest, ignore_errors=True)
    words = [study.sheaf, "fetch", study.url(cell.size, cell.form), dest]
    if cell.by == "aws s3 cp":
        words = ["aws", "s3", "cp", "--recursive", "--only-show-errors", *words[2:]]
    begin = time.monotonic()
    first, took = _download(words, study.env, dest)
    if took is not None:
        cell.download, folder = took, dest
    else:       # training reads the same bytes from the place where they were made
        share = data.size_of(_files(dest)) / data.size_of(_files(folder))
        cell.is_partial = True
        cell.download = first + (time.monotonic() - begin - first) / max(share, 1e-6)
    _train_on_folder(study, cell, folder)
    shutil.rmtree(dest, ignore_errors=True)


def fast_file(study, cell):
    """Trains on a file system over the bucket. s3fs takes the place of SageMaker's own."""
    mount = study.path("mount")
    os.makedirs(mount, exist_ok=True)
    with open(study.path("keys"), "w", encoding="ascii", opener=lambda p, f: os.open(
            p, f, 0o600)) as file:
        file.write("%s:%s" % (study.rgw.client.access, study.rgw.client.secret))
    _run(["s3fs", "%s:/%s-%s" % (remote.BUCKET, cell.size, cell.form), mount, "-o",
          "url=%s,use_path_request_style,passwd_file=%s,ro,listobjectsv2" % (
              study.endpoint, study.path("keys"))], env=servers.clean_environment())
    try:
        _train_on_folder(study, cell, mount)
    finally:
        _run(["fusermount", "-u", "-z", mount])


def mounted(study, cell):
    """Trains on a file system that holds the data, with an empty page cache: NFS if the kernel supports it, otherwise
    this machine's disk. It takes the place of EFS and FSx for Lustre."""
    if bench.Bench.can_drop_caches():
        bench.Bench.drop_caches()
    folder = study.folder_of(cell.size, cell.form)
    if nfs.lacking():
        _train_on_folder(study, cell, folder)
        return
    with nfs.mounted(folder, study.path("nfs")) as mount:
        _train_on_folder(study, cell, mount)


def direct(study, cell):
    """Trains without a file system: one request per sample, or the library's own reading of shards."""
    if cell.form != "JPEGs":
        source = {"S3DataSource": {"S3Uri": study.url(cell.size, cell.form)}}
        with study.channel({"DataSource": source}) as (root, _):
            study.consume(cell, "channel", root)
        return
    prefix = "%s-%s/" % (cell.size, cell.form)
    study.consume(cell, "urls", str(WORKERS), study.list_of(
        remote.presigned(study.rgw.client, study.endpoint, "GET", "/%s/%s" % (remote.BUCKET, key))
        for key in study.rgw.client.list(remote.BUCKET, prefix)))


def manifest(study, cell):
    """Returns SageMaker's manifest file of the shards, because a pipe must contain only shards."""
    folder = study.folder_of(cell.size, cell.form)
    path = study.path("manifest.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"prefix": study.url(cell.size, cell.form)}] + [
            os.path.basename(name) for name in data.shard_files(folder)], file)
    return path


def pipe(study, cell):
    """Trains on named pipes, one for each epoch, which `sheaf pipe` writes as SageMaker does. Each JPEG becomes a
    record (RecordWrapperType RecordIO)."""
    if cell.form != "JPEGs":
        words = [manifest(study, cell)]
    else:
        words = [study.url(cell.size, cell.form), "--record-wrapper", "recordio"]
    with study.channel({"TrainingInputMode": "Pipe"}) as (root, at):
        feeder = subprocess.Popen([study.sheaf, "pipe", words[0], at, "--epochs",
                                   str(SIZES[cell.size][1]), *words[1:]], env=study.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            while feeder.poll() is None and not os.path.exists(os.path.join(at, "train_0")):
                time.sleep(0.01)
            if feeder.poll() is None:
                study.consume(cell, "channel", root)
            if not cell.is_partial and feeder.wait(timeout=60) != 0:
                raise RuntimeError(feeder.stderr.read().decode(errors="replace")[-300:])
        finally:
            feeder.kill()
            feeder.wait()
            feeder.stderr.close()


WAYS = (                # name, function, the program that brings JPEGs, the program that brings shards
    ("File", file_mode, ("aws s3 cp", "sheaf fetch"), ("aws s3 cp", "sheaf fetch")),
    ("FastFile", fast_file, ("s3fs",), ("s3fs, sheaf",)),
    ("mounted", mounted, (MOUNTED,), (MOUNTED + ", sheaf",)),
    ("direct S3", direct, ("a GET each",), ("sheaf",)),
    ("Pipe", pipe, ("sheaf pipe",), ("sheaf pipe, sheaf",)),
)

# ---- The report --------------------------------------------------------------------------------

def seconds(cell, value):
    return "%s%.1f s" % ("~" if cell.is_partial else "", value)


def table(report):
    cells = [Cell(**c) for c in report["cells"]]
    lines = [report["about"], "", "| data set | way | files | brought by | download | first sample "
             "| training | stall | total |", "|---|---|---|---|---|---|---|---|---|"]
    for c in cells:
        lines.append("| %s | %s | %s | %s | %s |" % (
            c.size, c.way, c.form, c.by, c.missing or " | ".join(
                seconds(c, v) for v in [*c.parts, sum(c.parts)])))
    return [*lines, "", "The post's combinations, an epoch each:", "",
            *post.table(cells, report["sizes"])]


def about():
    """Describes the table in words."""
    text = ["%s images in %d epochs, and %s in %d, for a consumer of %s samples a second." % (
        "{:,}".format(IMAGES), SIZES["small"][1], "{:,}".format(IMAGES * REPLICATE),
        SIZES["large"][1], "{:,}".format(RATE))]
    text.append("~: ended after %d s, and reckoned for the whole." % SECONDS)
    if nfs.lacking():
        text.append("The disk stands for mounted file systems: %s." % nfs.lacking())
    return "  ".join(text)


def show(cell):
    name = "%-6s %-10s %-10s %-18s" % (cell.size, cell.way, cell.form, cell.by)
    print("  %s %s" % (name, "not measured: " + cell.missing if cell.missing else "  ".join(
        "%s %s" % (part, seconds(cell, v)) for part, v in zip(
            (*PARTS, "total"), [*cell.parts, sum(cell.parts)]))), flush=True)


def draw(report, folder):
    for size, (copies, epochs) in SIZES.items():
        rows = [("%s, %s: %s" % (c["way"], c["form"], c["by"]), Cell(**c).parts)
                for c in report["cells"] if c["size"] == size and not c["missing"]]
        if rows:
            with open(os.path.join(folder, "casestudy-%s.svg" % size), "w",
                      encoding="utf-8") as file:
                file.write(charts.stacked("%s images, %d epoch%s" % (
                    "{:,}".format(IMAGES * copies), epochs, "s" if epochs > 1 else ""), "seconds", PARTS,
                    rows))


def chosen(names, wanted):
    """Returns the requested names, or all names if none was requested."""
    return [name for name in names if name in wanted] or list(names)


def measure(study, wanted):
    ways = chosen([way[0] for way in WAYS], wanted)
    for size in chosen(SIZES, wanted):
        study.make(size, "JPEGs")
        for form in chosen(FORMS, wanted):
            with study.stored(size, form):
                yield from measure_form(study, ways, size, form)
        shutil.rmtree(study.folder_of(size, "JPEGs"))


def measure_form(study, ways, size, form):
    for way, run, by_jpegs, by_shards in WAYS:
        for by in by_jpegs if form == "JPEGs" else by_shards:
            if way not in ways:
                continue
            cell = Cell(size, way, form, by)
            try:
                run(study, cell)
            except (RuntimeError, OSError, subprocess.SubprocessError) as why:
                cell.missing = str(why).strip().splitlines()[-1]
            show(cell)
            yield cell


def kept(path, cells):
    """Returns the cells of an earlier run that were not measured again."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        earlier = [Cell(**c) for c in json.load(file)["cells"]]
    return [c for c in earlier if all((c.size, c.way, c.form) != (n.size, n.way, n.form)
                                      for n in cells)]


def in_order(cell):
    return (list(SIZES).index(cell.size), list(FORMS).index(cell.form),
            [way[0] for way in WAYS].index(cell.way))


def main(wanted):
    here = bench.Bench("quick")
    os.makedirs(here.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="casestudy-", dir=here.folder)
    path = os.path.join(here.folder, "casestudy.json")
    report = {"machine": bench.machine(), "about": about(),
              "sizes": {size: (IMAGES * copies, epochs) for size, (copies, epochs) in SIZES.items()}}
    begin = time.monotonic()
    print(report["about"], flush=True)
    try:
        cells = list(measure(Study(here, folder), wanted))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if wanted:
        cells += kept(path, cells)
    report["cells"] = [asdict(cell) for cell in sorted(cells, key=in_order)]
    report["seconds"] = time.monotonic() - begin
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    draw(report, here.folder)
    print("%.0f s" % report["seconds"])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, bench.end_orderly)
    main(sys.argv[1:])
