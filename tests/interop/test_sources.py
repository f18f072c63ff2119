# SPDX-License-Identifier: MIT
"""sheaf.sources: what other libraries' own writers have written is packed, and read back equal."""

import importlib.util
import io
import json
import os
import shutil
import sys
import unittest
import unittest.mock

import numpy
import PIL.Image

import sheaf
from peers import Case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from support import FileServer     # pylint: disable=wrong-import-position


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), "there is no " + package)


def array_of(data):
    return numpy.load(io.BytesIO(data))


class Sources(Case):
    """A table of the images, with a column of each type."""

    def setUp(self):
        super().setUp()
        self.rows = [{"image": data, "label": label, "caption": "a %s \u00e9" % key,
                      "vector": numpy.arange(label, label + 4, dtype="float32"),
                      "meta": {"key": key, "n": [label, None]}}
                     for key, (data, label) in sorted(self.images.items())]

    def read_back(self, source, name="set", **options):
        sheaf.pack(source, self.path(name), shard_size="200kB", **options)
        self.assertEqual(list(sheaf.verify(self.path(name)).problems), [])
        found = [(s.key, s.to_bytes(), s.label, s.class_name)
                 for s in sheaf.Reader(self.path(name), no_shuffle=True)]
        self.assertGreater(len(sheaf.Dataset(self.path(name)).shards), 2)
        return found

    def assert_rows(self, found, without=(), named=False):
        self.assertEqual(len(found), len(self.rows))
        for number, ((key, fields, label, class_name), row) in enumerate(zip(found, self.rows)):
            self.assertEqual(key, "%09d" % number)
            self.assertTrue(fields["jpg"] == row["image"])
            self.assertEqual((label, class_name),
                             (row["label"], self.classes[row["label"]] if named else None))
            if "caption" not in without:
                self.assertEqual(fields["caption.txt"].decode(), row["caption"])
            if "vector" not in without:
                self.assertEqual(array_of(fields["vector.npy"]).tolist(), row["vector"].tolist())
            if "meta" not in without:
                self.assertEqual(json.loads(fields["meta.json"]), row["meta"])

    FIELDS = {"image": "jpg", "caption": "caption", "vector": "vector", "meta": "meta"}

    def assert_random_access(self, source):
        self.assertEqual(len(source), len(self.rows))
        for number in (0, 77, len(source) - 1, -1):
            self.assertEqual(source[number].key, "%09d" % (number % len(source)))
            self.assertEqual(next(source.begin(number % len(source))).label, source[number].label)
        self.assertEqual([s.key for s in source[5:8]], ["%09d" % n for n in (5, 6, 7)])
        self.assertRaises(IndexError, source.__getitem__, len(self.rows))

    def picture(self, number):
        """An image of a file, whose bytes writers take as they are."""
        os.makedirs(self.path("files"), exist_ok=True)
        path = self.path("files", "%03d.jpg" % number)
        with open(path, "wb") as file:
            file.write(self.rows[number]["image"])
        return PIL.Image.open(path)

    # ---- Parquet --------------------------------------------------------------------------------

    def write_parquet(self):
        import pyarrow
        import pyarrow.parquet
        os.makedirs(self.path("parquet"))
        for part in range(3):
            rows = [dict(row, vector=row["vector"].tolist()) for row in self.rows[40 * part:][:40]]
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), row_group_size=7,
                                        where=self.path("parquet", "%d.parquet" % part))
        return self.path("parquet")

    @needs("pyarrow")
    def test_parquet(self):
        source = sheaf.sources.parquet(self.write_parquet(), fields=self.FIELDS)
        found = self.read_back(source)
        self.assert_rows(found, without=("vector",))
        self.assertEqual([json.loads(fields["vector.json"]) for _, fields, *_ in found],
                         [row["vector"].tolist() for row in self.rows])
        self.assert_random_access(source)
        found = self.read_back(sheaf.sources.parquet(self.write_parquet_of_keys(), key="id",
                                                     label="name"), "keys", classes=["a", "b"])
        self.assertEqual(found[:2], [("k0", {"x": b"0"}, 0, "a"), ("k1", {"x": b"1" * 3000}, 1, "b")])

    def write_parquet_of_keys(self):
        import pyarrow
        import pyarrow.parquet
        rows = [{"id": "k%d" % n, "x": b"%d" % n * (3000 if n else 1), "name": "ab"[n % 2],
                 "empty": None} for n in range(200)]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), self.path("keys.parquet"))
        return self.path("keys.parquet")

    @needs("pyarrow")
    def test_a_remote_table_of_files(self):
        """The files that a remote table names are copied with it, whichever of table and directory is given."""
        import pyarrow
        import pyarrow.parquet
        for name in ("a/1.jpg", "b/2.jpg"):
            os.makedirs(os.path.dirname(self.path("far", name)), exist_ok=True)
            with open(self.path("far", name), "wb") as file:
                file.write(self.rows[0]["image"])
        rows = [{"file_name": "a/1.jpg", "label": 1}, {"file_name": "b/2.jpg", "label": 0}]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), self.path("far", "list.parquet"))

        def fetch(url, folder):
            """Copies what is below self.path("far") instead of the objects."""
            from_ = self.path("far", url.partition("/set/")[2])
            if os.path.isdir(from_):
                shutil.copytree(from_, folder, dirs_exist_ok=True)
            else:
                os.makedirs(folder, exist_ok=True)
                shutil.copy(from_, folder)
        expected = [("a/1", {"jpg": self.rows[0]["image"]}, 1), ("b/2", {"jpg": self.rows[0]["image"]}, 0)]
        with unittest.mock.patch.object(sheaf, "fetch", fetch):
            for number, url in enumerate(("s3://b/set/list.parquet", "s3://b/set/", "https://h/set/list.parquet")):
                out = self.path("set%d" % number)
                sheaf.pack(sheaf.sources.parquet(url), out)
                self.assertEqual([(s.key, s.to_bytes(), s.label) for s in sheaf.Reader(out, no_shuffle=True)],
                                 expected, url)

    @needs("pyarrow")
    def test_a_table_of_files_is_a_list(self):
        """As Hugging Face's metadata.parquet: the names of columns are those of CSV, in any case."""
        import pyarrow
        import pyarrow.parquet
        jpg = self.rows[0]["image"]
        for name in ("a/1.jpg", "a/2.jpg", "b/3.seg.jpg"):
            os.makedirs(os.path.dirname(self.path("list", name)), exist_ok=True)
            with open(self.path("list", name), "wb") as file:
                file.write(jpg)
        rows = [{"File_Name": "a/1.jpg", "Label": 1, "caption": "x"},
                {"File_Name": "./a//2.jpg", "Label": 0, "caption": None},
                {"File_Name": "b/3.seg.jpg", "Label": None, "caption": "z"}]
        table = self.path("list", "metadata.parquet")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), table)
        sheaf.pack(sheaf.sources.parquet(table), self.path("set"))
        found = {s.key: (s.to_bytes(), s.label) for s in sheaf.Dataset(self.path("set"))}
        self.assertEqual(found, {"a/1": ({"jpg": jpg, "caption.txt": b"x"}, 1),
                                 "a/2": ({"jpg": jpg}, 0),
                                 "b/3": ({"seg.jpg": jpg, "caption.txt": b"z"}, None)})
        rows[0]["File_Name"] = "../x.jpg"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), table)
        with self.assertRaisesRegex(sheaf.ArgumentError, "not below"):
            sheaf.pack(sheaf.sources.parquet(table), self.path("other"))

    @needs("pyarrow")
    def test_it_resumes(self):
        """A transform fails in the middle; what was finished is not asked for again."""
        folder = self.write_parquet()
        log = self.path("log")

        def pack(name, fails, resume):
            def change(sample):
                with open(log, "a") as file:
                    file.write(sample.key + "\n")
                if fails and sample.number == 100:
                    raise ValueError("here")
                return {"jpg": sample["image"], "txt": sample.key}

            change.__qualname__ = "change"
            sheaf.pack(sheaf.sources.parquet(folder), self.path(name), transform=change, jobs=2,
                       shard_size="60kB", resume=resume)

        with self.assertRaisesRegex(sheaf.TransformError, "sample '000000100'.*here"):
            pack("set", True, False)
        os.unlink(log)
        pack("set", False, True)
        with open(log) as file:
            self.assertLess(len(file.readlines()), 80)
        pack("whole", False, False)
        for file in os.listdir(self.path("whole")):
            with open(self.path("whole", file), "rb") as a, open(self.path("set", file), "rb") as b:
                self.assertTrue(a.read() == b.read(), file)

    @needs("pyarrow")
    def test_parquet_of_a_server(self):
        folder = self.write_parquet()
        server = FileServer(self, folder)
        found = self.read_back(sheaf.sources.parquet(
            [server.url + name for name in sorted(os.listdir(folder))], fields=self.FIELDS))
        self.assert_rows(found, without=("vector",))

    # ---- Hugging Face ---------------------------------------------------------------------------

    @needs("datasets")
    def test_classes_and_images_of_features(self):
        import datasets
        jpg = self.rows[0]["image"]
        features = datasets.Features({"image": datasets.Image(),
                                      "kind": datasets.ClassLabel(names=["cat", "dog"])})
        dataset = datasets.Dataset.from_dict({
            "image": [{"bytes": data, "path": None} for data in (jpg, jpg, jpg[:len(jpg) // 2], b"")],
            "kind": [1, -1, 0, 0]}, features=features)
        dataset.to_parquet(self.path("features.parquet"))
        for source in (dataset, sheaf.sources.parquet(self.path("features.parquet"))):
            with self.assertRaises(sheaf.CorruptError):
                sheaf.pack(source, self.path("set"), overwrite=True)
            result = sheaf.pack(source, self.path("set"), on_error="skip", overwrite=True)
            self.assertEqual((result.samples, result.skipped), (2, 2))
            found = [(s.to_bytes(), s.label, s.class_name) for s in sheaf.Dataset(self.path("set"))]
            self.assertEqual(found, [({"jpg": jpg}, 1, "dog"), ({"jpg": jpg}, None, None)])
            self.assertEqual(sheaf.Dataset(self.path("set")).classes, ["cat", "dog"])

    @needs("datasets")
    def test_huggingface(self):
        import datasets
        features = datasets.Features({
            "image": datasets.Image(), "label": datasets.ClassLabel(names=self.classes),
            "caption": datasets.Value("string"), "vector": datasets.Array2D((1, 4), "float32"),
            "meta": {"key": datasets.Value("string"), "n": datasets.List(datasets.Value("int64"))}})
        rows = [dict(row, vector=[row["vector"].tolist()],
                     image={"bytes": row["image"], "path": None}) for row in self.rows]
        dataset = datasets.Dataset.from_list(rows, features=features)
        source = sheaf.sources.huggingface(dataset, fields=self.FIELDS)
        found = self.read_back(source)
        self.assert_rows(found, without=("vector",), named=True)
        self.assertEqual([array_of(fields["vector.npy"]).tolist() for _, fields, *_ in found],
                         [[row["vector"].tolist()] for row in self.rows])
        self.assert_random_access(source)
        self.assertEqual(source.classes, self.classes)
        with self.subTest("as it is, in processes"):
            found = self.read_back(dataset.with_format("numpy"), "other", jobs=2,
                                   transform=lambda s: {"jpg": s["image"]})
            self.assert_rows(found, without=("vector", "caption", "meta"), named=True)
        with self.subTest("a stream"):
            found = self.read_back(dataset.to_iterable_dataset().select_columns(["image", "label"]),
                                   "stream", transform=lambda s: {"jpg": s["image"]})
            self.assert_rows(found, without=("vector", "caption", "meta"), named=True)
        with self.subTest("image files of a folder"):
            dataset = datasets.load_dataset("imagefolder", data_dir=self.tree, split="train",
                                            cache_dir=self.path("cache"))
            found = self.read_back(sheaf.sources.huggingface(dataset, fields={"image": "jpg"}),
                                   "folder")
            self.assertEqual(sorted((fields["jpg"], label) for _, fields, label, _ in found),
                             sorted(self.images.values()))
        with self.assertRaisesRegex(sheaf.ArgumentError, "several splits.*dataset\\['train'\\]"):
            sheaf.sources.huggingface(datasets.DatasetDict({"train": dataset}))

    # ---- Mosaic Streaming -----------------------------------------------------------------------

    @needs("streaming")
    def test_mds(self):
        import streaming
        columns = {"image": "bytes", "label": "int", "caption": "str", "vector": "ndarray",
                   "meta": "json", "small": "uint8", "picture": "jpeg", "dots": "pil"}
        dots = PIL.Image.new("L", (3, 2), 77)
        for compression in (None, "zstd"):
            out = self.path("mds-%s" % compression)
            with streaming.MDSWriter(out=out, columns=columns, compression=compression,
                                     size_limit=150000) as writer:
                for number, row in enumerate(self.rows):
                    writer.write(dict(row, small=7, dots=dots, picture=self.picture(number)))
            source = sheaf.sources.mds(out, fields={**self.FIELDS, "picture": "picture.jpg",
                                                    "small": "small", "dots": "dots"})
            found = self.read_back(source, "set-%s" % compression)
            self.assert_rows(found)
            self.assertGreater(len(os.listdir(out)), 3)
            for (_, fields, *_), row in zip(found, self.rows):
                self.assertTrue(fields["picture.jpg"] == row["image"])      # not encoded again
                self.assertEqual(fields["small.json"], b"7")
                self.assertEqual(PIL.Image.open(io.BytesIO(fields["dots.png"])).getpixel((2, 1)), 77)
            self.assert_random_access(source)
        with streaming.MDSWriter(out=self.path("bad"), columns={"x": "pkl"}) as writer:
            writer.write({"x": 1})
        self.assertRaisesRegex(ValueError, "unsafe", sheaf.sources.mds, self.path("bad"))

    # ---- litData --------------------------------------------------------------------------------

    @needs("litdata")
    def test_litdata(self):
        import litdata
        import torch
        def item(number):
            row = self.rows[number]
            return {"image": row["image"], "label": row["label"], "caption": row["caption"],
                    "vector": row["vector"], "tensor": torch.arange(3) + number,
                    "picture": self.picture(number)}

        litdata.optimize(item, list(range(len(self.rows))), self.path("lit"), chunk_bytes=300000, num_workers=1,
                         start_method="fork", verbose=False)
        source = sheaf.sources.litdata(self.path("lit"), fields={
            "image": "jpg", "caption": "caption", "vector": "vector", "tensor": "tensor",
            "picture": "picture.jpg"})
        found = self.read_back(source)
        self.assert_rows(found, without=("meta",))
        for number, (_, fields, *_) in enumerate(found):
            self.assertTrue(fields["picture.jpg"] == self.rows[number]["image"])
            self.assertEqual(array_of(fields["tensor.npy"]).tolist(), [number, number + 1, number + 2])
        self.assert_random_access(source)

    # ---- ArrayRecord ----------------------------------------------------------------------------

    @needs("array_record")
    def test_arrayrecord(self):
        from array_record.python import array_record_module
        os.makedirs(self.path("records"))
        for part in range(2):
            writer = array_record_module.ArrayRecordWriter(
                self.path("records", "train.array_record-%05d-of-00002" % part), "group_size:1")
            for row in self.rows[60 * part:][:60]:
                writer.write(row["image"])
            writer.close()
        source = sheaf.sources.arrayrecord(self.path("records"), field="jpg")
        found = self.read_back(source)
        self.assertTrue([fields for _, fields, *_ in found] ==
                        [{"jpg": row["image"]} for row in self.rows])
        self.assert_random_access(source)


if __name__ == "__main__":
    unittest.main()
