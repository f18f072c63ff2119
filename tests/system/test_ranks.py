# SPDX-License-Identifier: MIT
"""Tests ranks, workers, lanes and positions through the command. The parts together must form one order, for any world
size, container and memory. Reading that was stopped must continue exactly."""

import gzip
import json
import os
import random
import signal
import subprocess
import time
import xml.etree.ElementTree

from support import MAKE_JPEGS, SHEAF, Case, seed

IMAGES = 700
CONTAINERS = ("tfrecord", "recordio", "webdataset")


class Ranks(Case):
    @classmethod
    def share(cls):
        cls.tree = os.path.join(cls.shared, "tree")
        subprocess.run([MAKE_JPEGS, cls.tree, "--images", str(IMAGES), "--mean-bytes", "4000"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.sets = {}
        for container in CONTAINERS:
            cls.sets[container] = os.path.join(cls.shared, container)
            subprocess.run([SHEAF, "pack", cls.tree, cls.sets[container], "--format", container,
                            "--shard-count", "5"], check=True, stdout=subprocess.DEVNULL)

    def listing(self, *options, container="tfrecord", check=True, env=None):
        done = subprocess.run([SHEAF, "cat", self.sets[container], "--list", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.decode().splitlines()
        return done

    def test_ranks_interleaved_are_one_order(self):
        for world in (1, 2, 3, 4, 6, 12):
            whole = self.listing("--lanes", "12", "--seed", "3", "--shuffle-buffer", "100")
            ranks = [self.listing("--lanes", "12", "--seed", "3", "--shuffle-buffer", "100",
                                  "--rank", str(r), "--world-size", str(world), "--remainder",
                                  "keep", container=CONTAINERS[r % 3], )
                     for r in range(world)]
            merged = [ranks[t % 12 % world][t // world] for t in range(12 * (IMAGES // 12))]
            self.assertEqual(merged, whole[:len(merged)])
            self.assertEqual(sorted(sum(ranks, [])), sorted(whole))

    def test_workers_share_a_rank(self):
        rank = self.listing("--lanes", "12", "--rank", "1", "--world-size", "3")
        parts = [self.listing("--lanes", "12", "--rank", "1", "--world-size", "3", "--worker",
                              str(k), "--workers", "2") for k in range(2)]
        self.assertEqual([parts[t % 2][t // 2] for t in range(len(rank))], rank)

    def test_pad_makes_ranks_equal_and_drop_too(self):
        for remainder, expected in (("pad", -(-IMAGES // 9)), ("drop", IMAGES // 9)):
            ranks = [self.listing("--rank", str(r), "--world-size", "9", "--remainder",
                                  remainder) for r in range(9)]
            self.assertEqual([len(r) for r in ranks], [expected] * 9)

    def test_the_environment_says_the_rank(self):
        expected = self.listing("--rank", "1", "--world-size", "4")
        for rank, size in (("RANK", "WORLD_SIZE"),
                           ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                           ("SLURM_PROCID", "SLURM_NTASKS")):
            self.assertEqual(self.listing(env=dict(os.environ, SLURM_STEP_ID="0",
                                                   **{rank: "1", size: "4"})), expected)
        hosts = dict(os.environ, SM_HOSTS='["algo-1","algo-10","algo-2","algo-3"]',
                     SM_CURRENT_HOST="algo-10")
        self.assertEqual(self.listing(env=hosts), expected)
        bad = dict(os.environ, RANK="4", WORLD_SIZE="4")
        self.assertEqual(self.listing(env=bad, check=False).returncode, 1)
        for name, missing in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK"),
                              ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
            done = self.listing(env=dict(os.environ, **{name: "1"}), check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(missing.encode(), done.stderr)
        for name in ("SLURM_PROCID", "SLURM_NTASKS"):   # a job without ranks has one of them
            self.assertEqual(self.listing(env=dict(os.environ, SLURM_STEP_ID="0", **{name: "0"})),
                             self.listing())
        script = dict(os.environ, SLURM_JOB_ID="1", SLURM_PROCID="0", SLURM_NTASKS="4")
        self.assertEqual(self.listing(env=script), self.listing())  # sbatch's, before srun

    def test_what_does_not_fit_is_misuse(self):
        for options in (["--rank", "0"], ["--world-size", "2"],
                        ["--rank", "2", "--world-size", "2"], ["--worker", "1"],
                        ["--lanes", "3", "--rank", "0", "--world-size", "2"]):
            done = self.listing(*options, check=False)
            self.assertEqual(done.returncode, 2, options)
            self.assertNotEqual(done.stderr, b"")

    def test_the_plan_is_what_is_read(self):
        plan = json.loads(subprocess.check_output(
            [SHEAF, "info", self.sets["recordio"], "--json", "--rank", "0", "--world-size", "2",
             "--workers", "3", "--lanes", "12"]))["plan"]
        self.assertEqual([(p["rank"], p["worker"]) for p in plan],
                         [(r, k) for r in range(2) for k in range(3)])
        for member in plan:
            lines = self.listing("--rank", str(member["rank"]), "--world-size", "2", "--worker",
                                 str(member["worker"]), "--workers", "3", "--lanes", "12",
                                 container="recordio")
            self.assertEqual(len(lines), member["samples"])
            self.assertEqual(sum(s["samples"] for s in member["stretches"]), member["samples"])

    def test_stopped_anywhere_and_resumed_in_any_world(self):
        randomness = random.Random(seed())
        position = self.path("position")
        whole = self.listing("--lanes", "6", "--seed", "8", "--shuffle-buffer", "90")
        for number in range(100 if not os.environ.get("QUICK") else 20):
            # Only a position at a multiple of the number of lanes can be resumed by several ranks.
            stop = randomness.randrange(0, IMAGES + 1, 1 if number % 2 else 6)
            done = self.listing("--lanes", "6", "--seed", "8", "--shuffle-buffer", "90",
                                "--limit", str(stop), "--save-position", position,
                                container=randomness.choice(CONTAINERS[:1]))
            self.assertEqual(done, whole[:stop])
            with open(position) as f:
                text = f.read()
            self.assertLessEqual(len(text), 257)
            self.assertEqual(self.listing("--resume-from", position, "--memory", "64MiB"),
                             whole[stop:])
            if stop % 6 != 0:
                refused = self.listing("--resume-from", position, "--rank", "0", "--world-size",
                                       "2", check=False)
                self.assertNotEqual(refused.returncode, 0)
                continue
            world = randomness.choice((1, 2, 3, 6))
            rank = randomness.randrange(world)
            rest = self.listing("--resume-from", position, "--rank", str(rank), "--world-size",
                                str(world))
            self.assertEqual(rest, [whole[t] for t in range(stop, IMAGES)
                                    if t % 6 % world == rank])

    def test_resuming_reads_no_more_than_the_rest_and_the_buffer(self):
        position = self.path("position")
        self.listing("--shuffle-buffer", "50", "--limit", "600", "--save-position", position)
        stats = dict(line.split(" ", 1) for line in subprocess.check_output(
            [SHEAF, "cat", self.sets["tfrecord"], "--null", "--resume-from",
             position]).decode().splitlines())
        largest = 3 * 4000 * 4      # of such an image, generously
        self.assertEqual(int(stats["samples"]), IMAGES - 600)
        self.assertLess(int(stats["read_bytes"]), int(stats["payload_bytes"]) + 50 * 300
                        + largest)

    def test_options_that_contradict_a_position(self):
        position = self.path("position")
        self.listing("--seed", "3", "--epoch", "2", "--lanes", "2", "--limit", "4",
                     "--save-position", position)
        rest = self.listing("--resume-from", position)
        self.assertEqual(self.listing("--resume-from", position, "--seed", "3", "--epoch", "2",
                                      "--lanes", "2", "--shuffle-buffer", "10000",
                                      "--remainder", "keep"), rest)
        for option, value in (("--seed", "0"), ("--epoch", "3"), ("--lanes", "4"),
                              ("--shuffle-buffer", "9"), ("--no-shuffle", None),
                              ("--remainder", "drop")):
            done = self.listing("--resume-from", position, option, *([value] if value else []),
                                check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(option.encode(), done.stderr)

    def test_a_position_that_cannot_be_saved_is_said_at_once(self):
        for path in (self.path("nowhere", "position"), self.path()):
            done = self.listing("--save-position", path, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(path.encode(), done.stderr)

    def test_another_data_set_is_refused(self):
        position = self.path("position")
        self.listing("--limit", "5", "--save-position", position)
        done = self.listing("--resume-from", position, container="webdataset", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"data set", done.stderr)

    def test_a_signal_saves_the_position(self):
        position = self.path("position")
        whole = self.listing("--seed", "2")
        reader = subprocess.Popen([SHEAF, "cat", self.sets["tfrecord"], "--seed", "2",
                                   "--save-position", position], stdout=subprocess.PIPE)
        out = reader.stdout.read(10000)     # it is in the middle, and the pipe is full
        time.sleep(0.2)
        reader.send_signal(signal.SIGTERM)
        out += reader.stdout.read()
        reader.stdout.close()
        self.assertEqual(reader.wait(), -signal.SIGTERM)
        rest = self.listing("--resume-from", position)
        with open(self.path("part.tar"), "wb") as f:
            f.write(out)
        part = subprocess.check_output([SHEAF, "cat", self.path("part.tar"), "--list",
                                        "--no-shuffle"]).decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in part + rest],
                         [line.split("\t")[0] for line in whole])


class Streams(Case):
    """Tests foreign shards that are compressed as a whole, whose counts are unknown before their end."""

    @classmethod
    def share(cls):
        tree = os.path.join(cls.shared, "tree")
        data = os.path.join(cls.shared, "data")
        subprocess.run([MAKE_JPEGS, tree, "--images", "300", "--mean-bytes", "4000"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([SHEAF, "pack", tree, data, "--format", "webdataset", "--shard-count", "5"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.foreign = os.path.join(cls.shared, "foreign")
        os.mkdir(cls.foreign)
        for i in range(5):
            with open(os.path.join(data, "shard-%06d.tar" % i), "rb") as f:
                with gzip.open(os.path.join(cls.foreign, "s-%d.tar.gz" % i), "wb") as out:
                    out.write(f.read())

    def listing(self, *options, status=0):
        done = subprocess.run([SHEAF, "cat", self.foreign, "--list", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode().splitlines()

    def test_whole_shards_go_to_lanes(self):
        whole = self.listing("--lanes", "4", "--shuffle-buffer", "40")
        self.assertEqual(len(set(whole)), 300)
        ranks = [self.listing("--lanes", "4", "--shuffle-buffer", "40", "--rank", str(r),
                              "--world-size", "2") for r in range(2)]
        self.assertEqual(sorted(sum(ranks, [])), sorted(whole))
        rounds = min(len(r) for r in ranks) // 4
        self.assertEqual([ranks[t % 4 % 2][t // 4 * 2 + t % 4 // 2] for t in range(4 * rounds)],
                         whole[:4 * rounds])

    def test_resumed_by_reading_forward(self):
        position = self.path("position")
        for lanes in ("1", "3", "5"):
            whole = self.listing("--lanes", lanes, "--shuffle-buffer", "40")
            for stop in (0, 1, 100, 233, 299, 300):
                start = self.listing("--lanes", lanes, "--shuffle-buffer", "40", "--limit",
                                     str(stop), "--save-position", position)
                self.assertEqual(start + self.listing("--resume-from", position), whole)

    def test_what_is_not_possible_is_said_at_open(self):
        self.assertEqual(self.listing("--lanes", "6", status=1), [])
        self.assertEqual(self.listing("--remainder", "pad", status=1), [])


class Quality(Case):
    def test_a_sorted_data_set_needs_a_buffer(self):
        tree, data = self.path("tree"), self.path("data")
        subprocess.run([MAKE_JPEGS, tree, "--images", "2000", "--mean-bytes", "1500"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([SHEAF, "pack", tree, data, "--format", "webdataset", "--no-shuffle",
                        "--shard-count", "4"], check=True, stdout=subprocess.DEVNULL)

        def quality(*options):
            done = subprocess.check_output([SHEAF, "info", data, "--json", "--shuffle-quality",
                                            *options])
            return json.loads(done)["shuffle_quality"]

        small, large = quality("--shuffle-buffer", "5"), quality("--shuffle-buffer", "2000")
        self.assertGreater(small["label_run"], 1.5 * small["ideal_label_run"])
        self.assertLess(large["label_run"], 1.05 * large["ideal_label_run"])
        self.assertGreater(small["neighbours_kept"], 0.9)
        self.assertLess(large["neighbours_kept"], 2 * large["ideal_neighbours_kept"])
        self.assertAlmostEqual(large["displacement"] / large["ideal_displacement"], 1, delta=0.1)
        plot = self.path("plot.svg")
        quality("--plot", plot)
        drawn = xml.etree.ElementTree.parse(plot).getroot()
        self.assertGreater(len(drawn.findall(".//{http://www.w3.org/2000/svg}circle")), 500)
