# SPDX-License-Identifier: MIT
"""s3=: what is written to S3 has what a bucket's policy demands; each packer has its own."""

import concurrent.futures
import os
import sys
from unittest import main

import sheaf
from support import Case, samples_of, share_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "system"))
import fake_s3                          # pylint: disable=wrong-import-position

SETTINGS = {"storage_class": "STANDARD_IA", "requester_pays": True, "checksum": "crc64nvme"}
HEADERS = {"x-amz-storage-class": "STANDARD_IA", "x-amz-request-payer": "requester"}


class Settings(Case):
    @classmethod
    def share(cls):
        # A process keeps to the first that it is told of.
        cls.server = share_server(cls, fake_s3.Server(1))

    def setUp(self):
        super().setUp()
        self.rules = self.server.rules
        self.rules.forget()
        self.server.buckets.clear()

    def written(self, place):
        """The headers of all that was written below it."""
        return [headers for what, key, headers in self.rules.seen
                if what == "PutObject" and key.startswith(place + "/")]

    def check(self, place):
        self.assertTrue(self.written(place))
        for headers in self.written(place):
            self.assertEqual({name: headers.get(name) for name in HEADERS}, HEADERS)
            self.assertIn("x-amz-checksum-crc64nvme", headers)

    def test_every_call_that_writes(self):
        files = self.path("files/class")
        os.makedirs(files)
        for number in range(6):
            with open(os.path.join(files, "%d.txt" % number), "wb") as file:
                file.write(b"%d" % number)
        files = os.path.dirname(files)
        sheaf.pack(files, "s3://bucket/pack/", s3=SETTINGS)
        self.check("pack")
        sheaf.pack(files, "s3://bucket/made/", transform=dict, version="1", s3=SETTINGS,
                   start_method="spawn")
        self.check("made")
        sheaf.plan(files, "s3://bucket/plan/", self.path("plan"), s3=SETTINGS)
        sheaf.pack_part(self.path("plan"), 0, 1, s3=SETTINGS)
        sheaf.commit(self.path("plan"), s3=SETTINGS)
        self.check("plan")
        sheaf.convert("s3://bucket/pack/", "s3://bucket/convert/", format="tfrecord", s3=SETTINGS)
        self.check("convert")

    def test_packers_at_once(self):
        kinds = {"one": {"acl": "private"}, "two": {"acl": "public-read"}, "one/deep": {}}

        def run(place):
            with sheaf.Packer("s3://bucket/%s/" % place, s3=kinds[place]) as packer:
                for key, fields, labels in samples_of(50):
                    packer.append(key, fields, labels)

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            list(pool.map(run, ["one", "two"]))
        run("one/deep")                 # the settings of what has ended are no longer in force
        for what, key, headers in self.rules.seen:
            if what == "PutObject":
                place = key.rpartition("/")[0].replace("/.sheaf-partial", "")
                self.assertEqual(headers.get("x-amz-acl"), kinds[place].get("acl"), key)

    def test_what_is_no_setting(self):
        for settings, word in (({"storageclass": "STANDARD"}, "storageclass"),
                               ({"acl": "mine"}, "acl"), ({"requester_pays": "yes"}, "true|false")):
            with self.assertRaises(sheaf.ArgumentError) as caught:
                sheaf.Packer("s3://bucket/no/", s3=settings)
            self.assertIn(word, str(caught.exception))
        with self.assertRaises(sheaf.ArgumentError):
            sheaf.Packer(self.path("local"), s3={"acl": "private"})
        self.assertEqual(self.rules.seen, [])


if __name__ == "__main__":
    main()
