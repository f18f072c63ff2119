# SPDX-License-Identifier: MIT
"""Archives as sources: the shards of an archive equal those of the tree that it would unpack to, and an error names
the archive and its member."""

import bz2
import gzip
import io
import os
import random
import signal
import subprocess
import tarfile
import threading
import time
import zipfile

import decoders
import fake_s3
from jpegs import jpeg
import servers
from support import SHEAF, Case, image_tree, make_tree, pack, read, seed, sheaf, shards_of, tree_of, \
    write

FILES = dict(image_tree(classes=4, images=10, size=3000), **{
    "cls/%02d.cls" % i: b"%d" % i for i in range(5)})
FILES.update({"cls/%02d.jpg" % i: jpeg(seed=900 + i) for i in range(5)})
FILES.update({"%s/%s.jpg" % ("ü" * 60, "é" * 70): jpeg(seed=7), "a b/empty.txt": b"",
              "large/1.bin": bytes(300000), "top.jpg": jpeg(seed=8)})

COMPRESSORS = {".tar": None, ".tar.gz": "gzip", ".tgz": "gzip", ".tar.xz": "xz",
               ".tar.bz2": "bzip2", ".tar.zst": "zstd", ".tar.lz4": "lz4"}


def tar_of(files, form=tarfile.PAX_FORMAT):
    """Returns a tar of {path: bytes, or a TarInfo}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for path, data in files.items():
            info = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(path)
            if info is data:
                tar.addfile(info)
            else:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return out.getvalue()


def members_end(data):
    return (len(data.rstrip(b"\0")) + 511) // 512 * 512


def special(path, kind, target=""):
    info = tarfile.TarInfo(path)
    info.type, info.linkname = kind, target
    return info


class Archive(Case):
    OPTIONS = ("--shard-size", "40kB")

    @classmethod
    def share(cls):
        cls.tree = make_tree(os.path.join(cls.shared, "tree"), FILES)
        cls.wanted = os.path.join(cls.shared, "wanted")
        pack(cls.tree, cls.wanted, "webdataset", "none", *cls.OPTIONS)

    def archive(self, name, data):
        write(self.path(name), data)
        return self.path(name)

    def same_shards(self, one, other):
        """Compares shards. Only the manifest, which states the kind of source, and files that name it may differ."""
        one, other = tree_of(one), tree_of(other)
        for tree in (one, other):
            del tree["dataset.json"], tree["dataset.keys"]
        self.assertEqual(one, other)

    def check(self, archive, *options, **how):
        dest = self.path("out-" + os.path.basename(archive))
        pack(archive, dest, "webdataset", "none", *self.OPTIONS, *options, **how)
        self.same_shards(self.wanted, dest)
        sheaf("verify", dest)
        return dest

    def refuse(self, archive, *words, **how):
        done = pack(archive, self.path("none"), status=1, **how)
        self.assert_error(done, os.path.basename(archive), *words)
        self.assert_nothing(self.path("none"))


class WithoutLibarchive(Archive):
    """libarchive is loaded only for tars. Here a file with its name cannot be loaded."""

    def setUp(self):
        super().setUp()
        write(self.path("lib/libarchive.so.13"), b"no library")
        self.env = dict(os.environ, LD_LIBRARY_PATH=self.path("lib"))

    def test_trees_and_zips_are_packed(self):
        pack(self.tree, self.path("of-tree"), env=self.env)
        pack(self.archive("x.zip", zip_of(FILES)), self.path("of-zip"), env=self.env)

    def test_tars_are_refused(self):
        self.refuse(self.archive("x.tar", tar_of(FILES)), "libarchive", env=self.env)


class Tars(Archive):
    def test_dialects_and_locales(self):
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            for locale in ("C", "C.UTF-8"):
                path = self.archive("%d-%s.tar" % (form, locale), tar_of(FILES, form))
                self.check(path, env={"LC_ALL": locale})

    def test_written_by_tar(self):
        for form in ("gnu", "pax"):
            subprocess.run(["tar", "cf", self.path(form + ".tar"), "--format=" + form, "-C",
                            self.tree, "."], check=True)
            self.check(self.path(form + ".tar"))

    def test_containers(self):
        path = self.archive("a.tar", tar_of(FILES))
        for container in ("tfrecord", "recordio"):
            pack(self.tree, self.path("t" + container), container, "gzip")
            pack(path, self.path("a" + container), container, "gzip")
            self.same_shards(self.path("t" + container), self.path("a" + container))

    def test_compressed(self):
        scratch = self.path("scratch")
        os.mkdir(scratch)
        for suffix, program in COMPRESSORS.items():
            data = tar_of(FILES)
            if program is not None:
                data = subprocess.run([program, "-c"], input=data, check=True,
                                      stdout=subprocess.PIPE).stdout
            self.check(self.archive("a" + suffix, data), env={"TMPDIR": scratch})
        self.assertEqual(os.listdir(scratch), [])
        done = pack(self.path("a.tar.xz"), self.path("none"), status=1,
                    env={"TMPDIR": self.path("missing")})
        self.assert_error(done, "a.tar.xz", "TMPDIR", "No such file")

    def test_tars_within_a_tar(self):
        """As in ImageNet's archive, each tar is a directory with its name."""
        groups = {}
        for path, data in FILES.items():
            folder, _, name = path.rpartition("/")
            groups.setdefault(folder, {})[name] = data
        outer = {(folder + ".tar" if folder else name): (tar_of(files) if folder else data)
                 for folder, files in groups.items() for name, data in files.items()}
        self.check(self.archive("nested.tar", tar_of(outer)))
        gz = subprocess.run(["gzip", "-c"], input=tar_of(outer), stdout=subprocess.PIPE, check=True)
        self.check(self.archive("nested.tar.gz", gz.stdout))
        self.refuse(self.archive("bad.tar", tar_of({"x/y.tar": b"no tar" * 1000})), "x/y.tar")
        cut = tar_of({"a/1.jpg": jpeg(seed=1), "a/2.jpg": jpeg(seed=2)})[:1536]
        self.refuse(self.archive("cut.tar", tar_of({"x/y.tar": cut})), "x/y.tar")
        deep = jpeg(seed=1)
        for _ in range(7):
            deep = tar_of({"d.tar" if deep[:2] != b"\xff\xd8" else "x.jpg": deep})
        self.refuse(self.archive("deep.tar", deep), "d/d/d", "too many")

    def test_root(self):
        """Members outside the root are skipped and counted."""
        files = dict({"down/" + path: data for path, data in FILES.items()}, **{"up.jpg": b"no"})
        path = self.archive("a.tar", tar_of(files))
        dest = self.check(path, "--root", "down")
        self.assertEqual(len(decoders.DataSet(dest).classes), len({
            p.rpartition("/")[0] for p in FILES} - {""}))
        done = pack(path, self.path("none"), "webdataset", "none", "--root", "elsewhere", status=1)
        self.assert_error(done, "no file can be packed")

    def test_dry_run_and_parts(self):
        path = self.archive("a.tar.gz", subprocess.run(
            ["gzip", "-c"], input=tar_of(FILES), stdout=subprocess.PIPE, check=True).stdout)
        for archive in (path, self.archive("a.tar", tar_of(FILES))):
            dry = pack(archive, self.path("dry"), "webdataset", "none", *self.OPTIONS, "--dry-run")
            self.assertIn(b"total\t%d\t" % len(shards_of(self.wanted)), dry.stdout + dry.stderr)
            self.assertFalse(os.path.exists(self.path("dry")))
            dest, plan = archive + "-out", archive + ".plan"
            sheaf("plan", archive, dest, "-o", plan, "--format", "webdataset", *self.OPTIONS)
            for part in (2, 0, 1):
                sheaf("pack", "--plan", plan, "--part", "%d/3" % part)
            sheaf("commit", plan)
            self.same_shards(self.wanted, dest)

    def test_an_archive_that_has_changed_since_its_plan(self):
        """A changed archive does not count as a bad file, so it cannot be skipped."""
        for how in ("fail", "skip"):
            path, plan = self.archive("a.tar", tar_of(FILES)), self.path(how + ".plan")
            sheaf("plan", path, self.path(how), "-o", plan, "--format", "webdataset",
                  "--on-error", how)
            self.archive("a.tar", tar_of(FILES))
            done = sheaf("pack", "--plan", plan, "--part", "0/1", status=1)
            self.assert_error(done, "a.tar", "changed since the scan")

    def test_kill_and_resume(self):
        chance = random.Random(seed())
        path = self.archive("a.tar", tar_of(FILES))
        words = ["--format", "webdataset", *self.OPTIONS]
        for number in range(6):
            dest = self.path("killed-%d" % number)
            run = subprocess.Popen([SHEAF, "pack", path, dest, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * 0.1)
            run.kill()
            run.wait()
            if number % 2 == 1:     # shards of the earlier archive are not kept
                self.archive("a.tar", tar_of(FILES))
            sheaf("pack", path, dest, *words, "--resume")
            self.same_shards(self.wanted, dest)

    # ---- What is wrong -----------------------------------------------------------------------

    def test_members_that_are_no_files(self):
        good = {"a/1.jpg": jpeg(seed=1)}
        for name, member, word in (
                ("symlink", special("a/2.jpg", tarfile.SYMTYPE, "1.jpg"), "link"),
                ("outside", special("a/2.jpg", tarfile.SYMTYPE, "/etc/passwd"), "link"),
                ("hardlink", special("a/2.jpg", tarfile.LNKTYPE, "a/1.jpg"), "link"),
                ("device", special("a/2.jpg", tarfile.CHRTYPE), "device"),
                ("pipe", special("a/2.jpg", tarfile.FIFOTYPE), "pipe")):
            path = self.archive(name + ".tar", tar_of(dict(good, **{"a/2.jpg": member})))
            self.refuse(path, "a/2.jpg", word)
            dest = self.path("skip-" + name)
            pack(path, dest, "webdataset", "none", "--on-error", "skip")
            self.assertEqual(len(list(decoders.DataSet(dest).samples())), 1)
            self.assertIn(b"a/2.jpg", read(os.path.join(dest, "skipped.tsv")))

    def test_hostile_names(self):
        for name in ("../a/1.jpg", "a/../../1.jpg", "/../1.jpg", "a\n/1.jpg"):
            self.refuse(self.archive("a.tar", tar_of({name: jpeg(seed=1)})), "1.jpg")

    def test_a_name_twice(self):
        """The second file is in the same archive, or in an archive after its end. Neither is lost silently."""
        one, other = (tar_of({"a/1.jpg": jpeg(seed=i)}) for i in (1, 2))
        for data in (one + other, one[:members_end(one)] + other):
            done = pack(self.archive("a.tar", data), self.path("none"), status=1)
            self.assert_error(done, "a/1.jpg", "two inputs")

    def test_what_is_no_data(self):
        """Members that are not data are left out as in a tree, and counted, even if they could not be packed."""
        clutter = {".git/HEAD.jpg": b"", "a/.DS_Store": b"", "a/._1.jpg": b"",
                   ".git/link.jpg": special(".git/link.jpg", tarfile.SYMTYPE, "x"),
                   "__MACOSX/a/._1.jpg": b""}
        path = self.archive("a.tar", tar_of(dict(FILES, **clutter)))
        done = pack(path, self.path("said"), "webdataset", "none", *self.OPTIONS)
        self.same_shards(self.wanted, self.path("said"))
        self.assertIn(b"5 ignored", done.stderr)

    def test_every_cut(self):
        """No truncated archive is accepted as a whole one, at any length."""
        data = tar_of({"a/%d.jpg" % i: jpeg(seed=i) for i in range(4)})
        content = members_end(data)
        for size in [0, 1, 100] + list(range(512, content + 1, 512)) + [content - 100, 700]:
            self.refuse(self.archive("cut.tar", data[:size]))
        empty = tar_of({"a/1.bin": bytes(4096)})        # every part of it ends with zeros
        self.refuse(self.archive("zeros.tar", empty[:512 + 4096]))
        packed = subprocess.run(["gzip", "-c"], input=data, stdout=subprocess.PIPE,
                                check=True).stdout
        for size in (1, 5, 20, len(packed) // 2, len(packed) - 9, len(packed) - 1):
            self.refuse(self.archive("cut.tar.gz", packed[:size]))

    def test_damage(self):
        data = bytearray(tar_of({"a/%d.jpg" % i: jpeg(seed=i) for i in range(4)}))
        data[1024 + 600] ^= 0x55
        second = next(i for i in range(512, len(data), 512) if data[i:i + 7] == b"a/1.jpg")
        header = bytearray(data)
        header[second + 3] ^= 1
        self.refuse(self.archive("header.tar", bytes(header)))
        packed = bytearray(subprocess.run(["gzip", "-c"], input=bytes(data),
                                          stdout=subprocess.PIPE, check=True).stdout)
        packed[len(packed) // 2] ^= 0xff
        self.refuse(self.archive("flipped.tar.gz", bytes(packed)))
        self.refuse(self.archive("noise.tar", random.Random(seed()).randbytes(20000)))
        self.refuse(self.archive("noise.tar.xz", b"no xz at all" * 100))
        self.refuse(self.archive("zeros.tar", bytes(10240)), "no file")

    def test_damage_of_every_compression(self):
        """If a byte is flipped or missing anywhere, the archive is refused, or the content is right. The tar's own
        checksums cannot detect this, because the flips are in a member's content."""
        data = tar_of({"a/1.txt": random.Random(1).randbytes(3000) + b"12345" * 200})
        chance = random.Random(seed())
        for program, options in (("gzip", "-1"), ("bzip2", "-1"), ("xz", "-0"), ("zstd", "--check"),
                                 ("lz4", "-BX")):
            packed = subprocess.run([program, "-c", options], input=data, check=True,
                                    stdout=subprocess.PIPE).stdout
            flips = [chance.randrange(len(packed)) for _ in range(12)]
            cuts = [len(packed) - 1, len(packed) - 4, chance.randrange(1, len(packed))]
            for number, at in enumerate(flips + list(range(len(packed) - 8, len(packed))) + cuts):
                damaged = packed[:at] + bytes([packed[at] ^ 0x10]) + packed[at + 1:] \
                    if number < len(flips) + 8 else packed[:at]
                with self.subTest(program=program, at=at, cut=number >= len(flips) + 8):
                    dest = self.path("d-%s-%d" % (program, number))
                    done = pack(self.archive("damaged.tar", damaged), dest, "webdataset", "none",
                                status=None)
                    if done.returncode == 0:
                        decoded = [s.fields["txt"] for s in decoders.DataSet(dest).samples()]
                        self.assertEqual(decoded, [data[512:512 + 4000]])
                    else:
                        self.assert_error(done, "damaged.tar")
                        self.assert_nothing(dest)

    def test_other_bytes_after_the_end(self):
        """Zeros may follow the compressed data where tape padding is usual. No compression allows other bytes."""
        data = tar_of(FILES)
        for suffix, program in COMPRESSORS.items():
            if program is None:
                continue
            packed = subprocess.run([program, "-c"], input=data, check=True, stdout=subprocess.PIPE).stdout
            for rest in b"rubbish", b"x", bytes(1000) + b"rubbish", packed[:2]:
                self.refuse(self.archive("rubbish" + suffix, packed + rest))
        packed = subprocess.run(["bzip2", "-c"], input=data, check=True, stdout=subprocess.PIPE).stdout
        self.check(self.archive("padded.tar.bz2", packed + bytes(1000)))
        two = bz2.compress(data[:51200]) + bz2.compress(data[51200:])
        self.check(self.archive("two-streams.tar.bz2", two))

    def test_a_wrong_checksum_of_gzip(self):
        packed = gzip.compress(tar_of({"a/1.txt": b"A" * 600 + b"12345" + b"B" * 600}), 0)
        self.refuse(self.archive("s.tar.gz", packed.replace(b"12345", b"99999")),
                    "incorrect data check")
        two = gzip.compress(tar_of(FILES)[:51200]) + gzip.compress(tar_of(FILES)[51200:])
        self.check(self.archive("two-members.tar.gz", two + bytes(100)))

    def test_what_cannot_be_read_at_many_places(self):
        os.mkfifo(self.path("pipe.tar"))
        self.refuse(self.path("pipe.tar"), "not a regular file")

    def test_sparse_members(self):
        with open(self.path("holes.bin"), "wb") as file:
            file.truncate(1 << 20)
            file.seek(1 << 19)
            file.write(b"data")
        subprocess.run(["tar", "cSf", self.path("a.tar"), "-C", self.path(""), "holes.bin"],
                       check=True)
        self.refuse(self.path("a.tar"), "holes.bin", "sparse")


class FromS3(Archive, servers.S3Case):
    """An archive in S3 is copied to a temporary file, of which nothing is left."""

    def setUp(self):
        super().setUp()
        self.env["TMPDIR"] = self.path("scratch")
        os.mkdir(self.env["TMPDIR"])

    def tearDown(self):
        self.assertEqual(os.listdir(self.env["TMPDIR"]), [])
        super().tearDown()

    def put(self, name, data):
        self.client.put(self.bucket, name, data)
        return self.url(name)

    def words(self, source, dest):
        return "pack", source, dest, "--format", "webdataset", *self.OPTIONS

    def test_every_kind(self):
        for name, data in (("a.tar", tar_of(FILES)), ("a.tar.gz", gzip.compress(tar_of(FILES))),
                           ("a.zip", zip_of(FILES))):
            self.sheaf(*self.words(self.put(name, data), self.path("out-" + name)))
            self.same_shards(self.wanted, self.path("out-" + name))
            sheaf("verify", self.path("out-" + name))

    def test_large_and_to_s3(self):
        """The archive needs several reads, the last one short."""
        chance = random.Random(seed())
        files = {"c/%d.bin" % i: chance.randbytes(5 << 20) for i in range(7)}
        source = self.put("a.tar", tar_of(files))
        self.sheaf("pack", source, self.url("out"), "--format", "tfrecord", "--dry-run")
        self.sheaf("pack", source, self.url("out"), "--format", "tfrecord")
        pack(make_tree(self.path("tree"), files), self.path("local"), "tfrecord")
        self.assert_same_objects("out", self.path("local"), ("dataset.json", "dataset.keys"))
        self.sheaf("verify", self.url("out"))

    def test_parts_and_root(self):
        source = self.put("a.tar", tar_of({"down/" + path: data for path, data in FILES.items()}))
        dest, plan = self.path("many"), self.path("plan")
        self.sheaf("plan", source, dest, "-o", plan, "--format", "webdataset", "--root", "down",
                   *self.OPTIONS)
        for part in (1, 0):
            self.sheaf("pack", "--plan", plan, "--part", "%d/2" % part)
        self.sheaf("commit", plan)
        self.same_shards(self.wanted, dest)

    def test_an_archive_that_has_changed_since_its_plan(self):
        source = self.put("a.tar", tar_of(FILES))
        for how in ("fail", "skip"):
            self.sheaf("plan", source, self.path(how), "-o", self.path(how + ".plan"), "--format",
                       "webdataset", "--on-error", how)
        self.put("a.tar", tar_of({**FILES, "top.jpg": jpeg(seed=9)}))
        for how in ("fail", "skip"):
            done = self.sheaf("pack", "--plan", self.path(how + ".plan"), status=1)
            self.assert_error(done, source, "changed since the scan")

    def test_kill_and_resume(self):
        chance, source = random.Random(seed()), self.put("a.tar", tar_of(FILES))
        for number in range(6):
            dest = self.path("killed-%d" % number)
            run = subprocess.Popen([SHEAF, *self.words(source, dest)], env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * 0.2)
            run.kill()
            run.wait()
            if number % 2 == 1:     # shards of the earlier archive are not kept
                self.put("a.tar", tar_of(FILES, (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)[number % 4 == 3]))
            self.sheaf(*self.words(source, dest), "--resume")
            self.same_shards(self.wanted, dest)

    def test_what_is_wrong(self):
        whole = tar_of(FILES)
        for data, word in ((b"", "empty"), (whole[:members_end(whole) // 2], "ends"),
                           (whole[:members_end(whole)], "without the blocks of zeros"),
                           (b"no tar" * 1000, "no tar")):
            done = self.sheaf(*self.words(self.put("a.tar", data), self.path("none")), status=1)
            self.assert_error(done, self.url("a.tar"), word)
            self.assert_nothing(self.path("none"))
        done = self.sheaf(*self.words(self.put("a.tar", whole), self.path("none")), status=1,
                          env=dict(self.env, TMPDIR=self.path("missing")))
        self.assert_error(done, self.url("a.tar"), "TMPDIR", "No such file")


class Copied(Archive):
    """Events while an archive is copied."""

    def setUp(self):
        super().setUp()
        servers.start_fake(self)

    def test_it_becomes_another_one(self):
        one, other = (tar_of({"c/%d.bin" % i: random.Random(i + first).randbytes(4 << 20)
                              for i in range(8)}) for first in (0, 100))

        replaced = set()

        def served(method, key, _query):
            if method == "GET" and key not in replaced:
                replaced.add(key)
                self.objects[key] = fake_s3.Object(other)
        self.server.served = served
        for how in ("fail", "skip"):
            self.objects[how + ".tar"] = fake_s3.Object(one)
            done = sheaf("pack", "s3://bucket/%s.tar" % how, self.path("none"), "--format",
                         "webdataset", "--on-error", how, env=self.env, status=1)
            self.assert_error(done, "s3://bucket/%s.tar" % how, "was replaced while it was in use")
            self.assert_nothing(self.path("none"))


    def test_interrupt(self):
        """An interrupt while the service does not answer, also while a part copies the archive again."""
        self.objects["a.tar"] = fake_s3.Object(tar_of(FILES))
        words, plan = ("--format", "webdataset"), self.path("plan")
        sheaf("plan", "s3://bucket/a.tar", self.path("parts"), "-o", plan, *words, env=self.env)
        asked, answer = threading.Event(), threading.Event()
        self.addCleanup(answer.set)

        def served(method, _key, _query):
            if method == "GET":
                asked.set()
                answer.wait()
        self.server.served = served
        for command in (("s3://bucket/a.tar", self.path("out"), *words), ("--plan", plan)):
            run = subprocess.Popen([SHEAF, "pack", *command], env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.assertTrue(asked.wait(60))
            run.send_signal(signal.SIGINT)
            self.assertIn(b"interrupted", run.communicate(timeout=60)[1])
            answer.set()
            asked.clear()
            answer.clear()
        self.assert_nothing(self.path("out"))


class Zips(Archive):
    def test_stored_and_deflated(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            data = zip_of(FILES, method)
            self.check(self.archive("%d.zip" % method, data))
            self.check(self.archive("%d-shifted.zip" % method, b"PK\3\4 a program" + data))

    def test_large_zip_and_comment(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.comment = b"PK " * 1000
            for path, data in FILES.items():
                with archive.open(path, "w", force_zip64=True) as file:
                    file.write(data)
        self.check(self.archive("large.zip", out.getvalue()))
        many = zip_of({"d/%06d.txt" % i: b"%d" % i for i in range(66000)}, zipfile.ZIP_STORED)
        done = pack(self.archive("many.zip", many), self.path("none"), "webdataset", "none",
                    "--dry-run")
        self.assertIn(b"\t66000\t", done.stdout)

    def test_root_parts_and_containers(self):
        path = self.archive("a.zip", zip_of({"down/" + p: d for p, d in FILES.items()}))
        self.check(path, "--root", "down/")
        path, dest, plan = self.archive("b.zip", zip_of(FILES)), self.path("o"), self.path("p.plan")
        sheaf("plan", path, dest, "-o", plan, "--format", "webdataset", *self.OPTIONS)
        for part in (1, 0):
            sheaf("pack", "--plan", plan, "--part", "%d/2" % part)
        sheaf("commit", plan)
        self.same_shards(self.wanted, dest)

    def with_entry(self, change):
        """Changes the directory's second entry, at an offset in it."""
        data = bytearray(zip_of({"a/%d.jpg" % i: jpeg(seed=i) for i in range(3)}))
        at = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
        change(data, at)
        return self.archive("x.zip", bytes(data))

    def put(self, offset, value):
        def change(data, at):
            data[at + offset:at + offset + len(value)] = value
        return self.with_entry(change)

    def test_members_that_cannot_be_packed(self):
        for offset, value, word in (
                (8, b"\1", "encrypted"), (10, b"\x0c", "another method"),
                (24, b"\xff\xff\xff\x7f", "more bytes"),
                (38, bytes((0, 0, 0xff, 0xa1)), "link"), (38, bytes((0, 0, 0xa4, 0x11)), "pipe"),
                (16, b"crc!", "CRC-32"), (46, b"../1", "..")):
            self.refuse(self.put(offset, value), "x.zip", word)

    def test_damage(self):
        self.refuse(self.put(0, b"XX"), "its directory")
        self.refuse(self.put(42, b"\x10\0\0\0"), "a/1.jpg")
        self.refuse(self.put(20, b"\xff\xff\xff\x7f"), "overlap")
        self.refuse(self.put(24, b"\x03\0\0\0"), "a/1.jpg", "compressed bytes")
        data = zip_of({"a/%d.jpg" % i: jpeg(seed=i) for i in range(3)})
        self.refuse(self.archive("x.zip", data[:-12] + b"\2\0\2\0" + data[-8:-4] + data[-8:]))
        stored = zipfile.ZipFile(io.BytesIO(data)).infolist()[0].compress_size
        for at in range(37, 37 + stored - 1, 5):        # bytes of the first member's content
            flipped = bytearray(data)
            flipped[at] ^= 0x10
            pack(self.archive("x.zip", bytes(flipped)), self.path("none"), status=1)

    def test_every_cut(self):
        data = zip_of({"a/%d.jpg" % i: jpeg(seed=i) for i in range(3)})
        for size in range(0, len(data), 41):
            self.refuse(self.archive("x.zip", data[:size]))
