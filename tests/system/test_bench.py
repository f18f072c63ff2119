# SPDX-License-Identifier: MIT
"""The arithmetic and the charts of the benchmark tools. Nothing is measured here."""

import os
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))
import bench                                            # pylint: disable=wrong-import-position
import casestudy                                        # pylint: disable=wrong-import-position
import charts                                           # pylint: disable=wrong-import-position
import post                                             # pylint: disable=wrong-import-position
import results                                          # pylint: disable=wrong-import-position
from rows import CHECKS, TITLES, Check                  # pylint: disable=wrong-import-position
from run import Contender, Measure, Results, take_turns  # pylint: disable=wrong-import-position


def measures(*seconds):
    return [Measure(s, 2 * s, 10**9, 1000, 2**20) for s in seconds]


class Judging(unittest.TestCase):
    def judge(self, ours, theirs, **target):
        results = Results({"ours": measures(*ours), "theirs": measures(*theirs)})
        return bench.judge(Check(1, "", "ours", "GB/s", "theirs", **target), results)

    def test_ratios_are_taken_round_by_round(self):
        verdict = self.judge([1, 2, 8], [2, 4, 8], least=1.5)
        self.assertEqual((verdict["median"], verdict["low"], verdict["high"]), (2, 1, 2))
        self.assertTrue(verdict["met"])

    def test_a_target_is_missed(self):
        self.assertFalse(self.judge([2], [1], least=0.6)["met"])
        self.assertTrue(self.judge([2], [1], most=0.6)["met"])

    def test_what_is_absent_is_said_to_be(self):
        results = Results({"ours": measures(1)}, {"theirs": "not installed"})
        verdict = bench.judge(Check(1, "", "ours", "GB/s", "theirs", least=1), results)
        self.assertEqual(verdict["missing"], "theirs: not installed")
        self.assertNotIn("met", verdict)

    def test_every_row_has_checks_and_a_measurement(self):
        self.assertEqual({check.row for check in CHECKS}, set(TITLES))
        self.assertEqual(set(bench.ROWS), set(TITLES))


class Turns(unittest.TestCase):
    LINE = ('{"seconds": 1, "cpu_seconds": 1, "first_seconds": 0, "bytes": 5, "items": 7, '
            '"peak_bytes": 1}')

    def contender(self, name, items):
        return Contender(name, ["echo", self.LINE], items=items)

    def test_a_loss_is_no_result(self):
        results = Results()
        take_turns([self.contender("right", 7), self.contender("lost", 8)], results, least=2,
                   most=2)
        self.assertEqual(len(results.measures["right"]), 2)
        self.assertNotIn("lost", results.measures)
        self.assertIn("7 items, not 8", results.missing["lost"])


class Drawing(unittest.TestCase):
    def test_charts_are_small_and_well_formed(self):
        for text in (charts.bars("A & B", "GB/s", [("x < y", (1.0, 0.5, 2.0), True)] * 20),
                     charts.stacked("t", "seconds", casestudy.PARTS,
                                    [("way", [1.0, 0, 2.0, 3.0])] * 20)):
            ElementTree.fromstring(text)
            self.assertLess(len(text), 30000)

    def test_only_what_is_between_the_marks_is_replaced(self):
        text = "before\n<!-- m: begin -->\nold\n<!-- m: end -->\nafter\n"
        new = results.replace(text, "m", ["a", "b"])
        self.assertEqual(new, "before\n<!-- m: begin -->\na\nb\n<!-- m: end -->\nafter\n")
        self.assertEqual(results.replace(new, "m", ["a", "b"]), new)


class Page(unittest.TestCase):
    """Rows that were measured alone, merged into the page of all rows."""
    ABOUT = {"processor": "P", "memory": "M", "kernel": "K", "date": "D", "commit": "C", "load": 0}

    def report(self, *numbers):
        return {"machine": self.ABOUT, "rows": {str(n): {"title": "new", "checks": []}
                                                for n in numbers}}

    def test_they_take_the_place_of_the_old_ones(self):
        page = ["`make bench` on X.", "", *results.HEAD, "| **2** | **old** | | | | |", "| | two |",
                "| **3** | **old** | | | | |", "| | three |"]
        page = results.merged(page, self.report(1, 3))
        self.assertEqual(page, [
            "`make bench` on X.", "Rows 1, 3 on P, M, Linux K, D, commit C.", "", *results.HEAD,
            "| **1** | **new** | | | | |", "| **2** | **old** | | | | |", "| | two |",
            "| **3** | **new** | | | | |"])
        page = results.merged(page, self.report(3))
        self.assertEqual(page[:4], [
            "`make bench` on X.", "Row 1 on P, M, Linux K, D, commit C.",
            "Row 3 on P, M, Linux K, D, commit C.", ""])
        self.assertEqual(results.merged(page, self.report(1))[1:3], [
            "Row 3 on P, M, Linux K, D, commit C.", "Row 1 on P, M, Linux K, D, commit C."])


class Post(unittest.TestCase):
    """The case study compared with AWS's figures."""
    SIZES = {"small": (1000, 2)}

    def rows(self, *cells):
        lines = post.table([casestudy.Cell("small", *words, **times) for words, times in cells],
                           self.SIZES)
        return [[field.strip() for field in line.split("|")[1:-1]] for line in lines[2:]]

    def test_a_row_is_an_epoch_at_the_pace_of_the_post(self):
        rows = self.rows((("File", "JPEGs", "a tool"), {"download": 100, "train": 1, "stall": 3}),
                         (("mounted", "JPEGs", "a disk"), {"train": 1}))
        # 1,000 images take 1000 / 330 = 3.03 s, even if the data came faster.
        self.assertEqual([row[:2] for row in rows], [["A", "FSx"], ["A", "File"]])
        self.assertEqual([row[8] for row in rows], ["1.00", "34.00"])
        self.assertEqual(rows[0][9], "as there")
        self.assertEqual(rows[1][6:8], ["100.0 s", "2.0 s"])
        self.assertEqual(rows[1][9], "120 files a second there, 10 here")

    def test_what_the_post_does_not_have_is_no_row(self):
        self.assertEqual(self.rows((("Pipe", "TFRecord", "p"), {"train": 1}),
                                   (("File", "WebDataset", "p"), {"train": 1}),
                                   (("File", "TFRecord", "p"), {"missing": "no disk"})), [])


if __name__ == "__main__":
    unittest.main()
