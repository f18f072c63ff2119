# SPDX-License-Identifier: MIT
"""Compares the case study with the figures of AWS's post.

The post, "Choose the best data source for your Amazon SageMaker training job" (2022), has twelve combinations: four
scenarios, A to D, each with FSx for Lustre, File and FastFile. Its charts do not show figures. The figures here come
from a repetition by its authors, each as the mean of three jobs (github.com/aws-samples/sagemaker-bencher,
experiments/blog-benchmarks-all.yml and result_analysis/). They are the seconds of downloading and of training, for
one epoch of ResNet-50 on an ml.p3.2xlarge. The start of a job is left out on both sides, because it does not depend
on the data.

The consumer of the case study is thirty times as fast as that GPU, so that a run does not take too long. Its waiting
time shows how fast the data came. From this follows how long the GPU would have taken."""

GPU_RATE = 330              # images a second that the post's GPU takes
IMAGES = 30607              # number of images in Caltech-256
IMAGE_BYTES = 39200
COPIES = {"small": 1, "large": 50}      # copies of each image in the post

SCENARIOS = {               # (data set, files) in the case study: name in the post
    ("small", "JPEGs"): "A",
    ("small", "TFRecord"): "B",
    ("large", "JPEGs"): "C",
    ("large", "TFRecord"): "D",
}
MODES = {"mounted": "FSx", "File": "File", "FastFile": "FastFile"}
SECONDS = {                 # (scenario, mode): seconds of downloading and of training
    ("A", "FSx"): (10.4, 111.8), ("A", "File"): (255.2, 113.8), ("A", "FastFile"): (18.8, 181.9),
    ("B", "FSx"): (13.7, 113.6), ("B", "File"): (22.1, 113.1), ("B", "FastFile"): (15.9, 112.9),
    ("C", "FSx"): (12.1, 4660.4), ("C", "File"): (10954.7, 4645.1),
    ("C", "FastFile"): (169.4, 9245.1),
    ("D", "FSx"): (12.1, 4690.3), ("D", "File"): (357.3, 4676.2), ("D", "FastFile"): (17.1, 4697.4),
}
ALIKE = 0.1                 # ratios that differ by less count as equal


class Row:
    """One of the post's combinations, and the cell of the case study that repeats it, with `images` in each of
    `epochs`."""

    def __init__(self, cell, images, epochs):
        self.cell, self.images = cell, images
        self.scenario, self.mode = SCENARIOS[cell.size, cell.form], MODES[cell.way]
        self.there = SECONDS[self.scenario, self.mode]
        self.epoch = cell.first + (cell.train + cell.stall) / epochs

    @property
    def at_pace(self):
        """The seconds that one epoch of the post's GPU would take here, including the download before it."""
        return self.cell.download + max(self.images / GPU_RATE, self.epoch)

    def reason(self, there, here):
        """Returns why the two ratios differ. If the speed of the data decides, it is named."""
        if abs(here / there - 1) <= ALIKE:
            return "as there"
        images = IMAGES * COPIES[self.cell.size]
        if self.mode == "File":
            rates = images / self.there[0], self.images / self.cell.download
            if self.cell.form == "JPEGs":
                return "%.0f files a second there, %.0f here" % rates
            return "%.0f MB/s there, %.0f here" % tuple(r * IMAGE_BYTES / 1e6 for r in rates)
        rates = images / self.there[1], self.images / self.epoch
        return "%.0f images a second there, %.0f could have come here" % rates


def rows_of(cells, sizes):
    """Returns the rows that the cells fill, in the order of the post. `sizes` is {size: (images, epochs)}."""
    found = [Row(c, *sizes[c.size]) for c in cells
             if not c.missing and c.way in MODES and (c.size, c.form) in SCENARIOS]
    return sorted(found, key=lambda row: (row.scenario, list(SECONDS).index((row.scenario,
                                                                             row.mode))))


def table(cells, sizes):
    """Returns the table as lines of Markdown."""
    rows = rows_of(cells, sizes)
    best_here = {name: min(row.at_pace for row in rows if row.scenario == name)
                 for name in {row.scenario for row in rows}}
    lines = ["| scenario | mode | AWS: download | training | of the best | here by | download | "
             "an epoch's data | of the best, at the GPU's pace | why |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        best = min(sum(SECONDS[row.scenario, mode]) for mode in MODES.values())
        there, here = sum(row.there) / best, row.at_pace / best_here[row.scenario]
        lines.append("| %s | %s | %.0f s | %.0f s | %.2f | %s | %.1f s | %.1f s | %.2f | %s |" % (
            row.scenario, row.mode, *row.there, there, row.cell.by, row.cell.download, row.epoch,
            here, row.reason(there, here)))
    return lines
