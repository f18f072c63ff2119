# SPDX-License-Identifier: MIT
"""sheaf convert --field-map: other names for fields, and a field that becomes the label."""

import os

import decoders
import support
import writers
from jpegs import jpeg
from support import Case, listing, read, sheaf, write

COUNT = 6


class FieldMap(Case):
    def tfds(self, name="x.tfrecord", **more):
        """Returns records as TensorFlow Datasets writes them."""
        records = [dict({"image": [jpeg(seed=i)], "Objects/Text": [b"t%d" % i], "label": [i % 3]},
                        **{name: values[i] for name, values in more.items()})
                   for i in range(COUNT)]
        path = self.path(name)
        write(path, writers.tfrecord(map(writers.example, records)))
        return path

    def convert(self, source, field_map, *more, to="webdataset", dest="d", **how):
        return sheaf("convert", source, self.path(dest), "--format", to, "--field-map", field_map,
                     *more, **how)

    def samples(self, to, dest="d"):
        """Returns (label, {suffix: bytes}) of each sample, from an independent decoder."""
        for name in support.shards_of(self.path(dest)):
            data = read(os.path.join(self.path(dest), name))
            if to == "tfrecord":
                found = [decoders.tfrecord_sample(p) for _, p in decoders.tfrecord_frames(data)]
            elif to == "webdataset":
                found = [decoders.tar_sample(key, members, True)
                         for _, key, members in decoders.tar_frames(data)]
            else:
                lines = read(os.path.join(self.path(dest), name[:-3] + "lst")).splitlines()
                found = [decoders.recordio_sample(payload, line) for (_, _, payload), line
                         in zip(decoders.recordio_frames(data), lines)]
            yield from ((sample.labels, sample.fields) for sample in found)

    def test_each_container(self):
        source = self.tfds()
        for to in support.CONTAINERS:
            done = self.convert(source, "IMAGE=jpg,label=label,objects/text=Name.txt", to=to,
                                dest=to)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(list(self.samples(to, to)),
                             [([i % 3], {"jpg": jpeg(seed=i), "Name.txt": b"t%d" % i})
                              for i in range(COUNT)])
            sheaf("verify", self.path(to))
            self.convert(self.path(to), "jpg=image.jpg", to=to, dest=to + "2")  # from each container
            self.assertEqual(list(self.samples(to, to + "2")),
                             [([i % 3], {"image.jpg": jpeg(seed=i), "Name.txt": b"t%d" % i})
                              for i in range(COUNT)])

    def test_two_are_exchanged(self):
        self.convert(self.tfds(a=[[b"a"]] * COUNT, b=[[b"b"]] * COUNT), "a=b,b=a")
        for _, fields in self.samples("webdataset"):
            self.assertEqual((fields["a"], fields["b"]), (b"b", b"a"))

    def test_samples_without_the_field_stay(self):
        records = [{"__key__": [b"k%d" % i], "x" if i == 4 else "z": [b"%d" % i]}
                   for i in range(COUNT)]
        write(self.path("x.tfrecord"), writers.tfrecord(map(writers.example, records)))
        self.convert(self.path("x.tfrecord"), "x=label")
        self.assertEqual([line.split("\t")[:2] for line in listing(self.path("d"), "--no-shuffle")],
                         [["k%d" % i, "4" if i == 4 else ""] for i in range(COUNT)])

    def test_refused_before_reading(self):
        source = self.tfds()
        for field_map, said in (
                ("image", 'invalid field map "image": expected FROM=TO'),
                ("a=b,", 'invalid field map "": expected FROM=TO'),
                ("=b", 'invalid field map "=b"'), ("a=", 'invalid field map "a="'),
                ("a=b=c", 'invalid field map "a=b=c"'),
                ("a=b,A=c", 'the field "a" is named twice'),
                ("a=x,b=X", '"a" and "b" both become "x"'),
                ("a=label,b=label", '"a" and "b" both become "label"'),
                ("a=b/c", '"b/c": it is no name of a field'),
                ("a=__b__", "are reserved")):
            self.assert_error(self.convert(source, field_map, status=2), said)
            self.assertFalse(os.path.exists(self.path("d")))

    def test_no_sample_has_the_field(self):
        source = self.tfds()
        done = self.convert(source, "image=jpg,imaeg=x", status=2)
        self.assert_error(done, 'no sample has the field "imaeg"; the first fields that there '
                                'are: objects.text, image, label')
        self.assertFalse(os.path.exists(os.path.join(self.path("d"), "dataset.json")))
        self.convert(source, "image=jpg")
        done = self.convert(self.path("d"), "image=jpg", dest="e", status=2)
        self.assert_error(done, 'no sample has the field "image"')
        # refused because of the manifest, before anything is written
        self.assertFalse(os.path.exists(self.path("e")))

    def test_what_is_no_label(self):
        for values, said in (([[b"cat"]] * COUNT, 'expected an integer, found "cat"'),
                             ([[1]] * 3 + [[1.5]] * 3, 'expected an integer, found "1.5"'),
                             ([[1, 2]] * COUNT, 'expected an integer, found "1 2"'),
                             ([[b""]] * COUNT, 'expected an integer, found ""'),
                             ([[1 << 60 | 1]] * COUNT, "expected an integer")):
            done = self.convert(self.tfds(y=values), "y=label", status=1)
            self.assert_error(done, 'the field "y" cannot become the label: ' + said)
            self.assertIn(b"x/00000", done.stderr)          # the key
        source = self.tfds(**{"image/class/label": [[1]] * COUNT})
        self.assert_error(self.convert(source, "label=label", status=1), "the sample has one")

    def test_two_fields_of_one_name(self):
        done = self.convert(self.tfds(jpg=[[b"x"]] * COUNT), "image=jpg", status=1)
        self.assert_error(done, "jpg")
        self.assert_error(done, "x/00000")

    def test_resumed_only_with_the_same_map(self):
        source = self.tfds()
        self.convert(source, "image=jpg")
        self.assertIn(b"converted 6", self.convert(source, "image=jpg", "--resume").stdout)
        self.convert(source, "image=png", "--resume", status=1)

    def test_not_with_a_plan(self):
        self.assert_error(sheaf("convert", "--plan", "p", "--field-map", "a=b", status=2),
                          "--plan replaces DATASET")


if __name__ == "__main__":
    support.unittest.main()
