# SPDX-License-Identifier: MIT
"""Bar charts as SVG, without a library, readable on a light and on a dark background."""

import os
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, STEP, TOP = 760, 250, 110, 24, 44
STYLE = """<style>
text { font: 13px sans-serif; fill: #1f2328 } .title { font-weight: bold; font-size: 15px }
.ours { fill: #2f6fd0 } .theirs { fill: #9aa4af } .range { stroke: #1f2328; opacity: .65 }
.c0 { fill: #9aa4af } .c1 { fill: #e0912f } .c2 { fill: #2f6fd0 } .c3 { fill: #c8443c }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .range { stroke: #e6edf3 } .ours, .c2 { fill: #5b96ea }
.theirs, .c0 { fill: #6b7580 } }
</style>"""


def _page(height, body):
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d">\n%s\n%s\n'
            "</svg>\n" % (WIDTH, height, WIDTH, STYLE, "\n".join(body)))


def _text(x, y, text, anchor="start", css=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x, y, anchor, ' class="%s"' % css if css else "", escape(text))


def _rect(x, y, width, css):
    return '<rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="%s"/>' % (
        x, y, max(width, 0.5), STEP - 8, css)


def bars(title, unit, rows):
    """Draws rows of (label, (median, low, high), whether it is Sheaf)."""
    top = max(high for _, (_, _, high), _ in rows)
    scale = (WIDTH - LEFT - RIGHT) / top
    body = [_text(8, 22, "%s (%s)" % (title, unit), css="title")]
    for i, (label, (median, low, high), ours) in enumerate(rows):
        y = TOP + i * STEP
        middle = y + (STEP - 8) / 2
        body += [_text(LEFT - 8, y + 13, label, "end"),
                 _rect(LEFT, y, median * scale, "ours" if ours else "theirs"),
                 '<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="range"/>' % (
                     LEFT + low * scale, LEFT + high * scale, middle, middle),
                 _text(LEFT + high * scale + 6, y + 13, "{:,.3g}".format(median)
                       if median < 1000 else "{:,.0f}".format(median))]
    return _page(TOP + len(rows) * STEP + 8, body)


def stacked(title, unit, parts, rows):
    """Draws rows of (label, [value of each part])."""
    top = max(sum(values) for _, values in rows)
    scale = (WIDTH - LEFT - RIGHT) / top
    body = [_text(8, 22, "%s (%s)" % (title, unit), css="title")]
    x = LEFT
    for i, part in enumerate(parts):
        body += [_rect(x, TOP - 8, 14, "c%d" % i), _text(x + 19, TOP + 5, part)]
        x += 40 + 8 * len(part)
    for i, (label, values) in enumerate(rows):
        y, x = TOP + (i + 1) * STEP, LEFT
        body.append(_text(LEFT - 8, y + 13, label, "end"))
        for j, value in enumerate(values):
            if value > 0:
                body.append(_rect(x, y, value * scale, "c%d" % j))
                x += value * scale
        body.append(_text(x + 6, y + 13, "%.1f" % sum(values)))
    return _page(TOP + (len(rows) + 1) * STEP + 8, body)


# ---- Charts of a report --------------------------------------------------------------------------

CHARTS = {      # file: title, quantity, [(row, contenders)]
    "read.svg": ("Reading 1.2 GB, page cache warm", "GB/s", [
        (1, ["read(2) tfrecord", "read(2) and CRC-32C tfrecord", "sheaf tfrecord", "sheaf webdataset", "sheaf recordio",
             "InputSplit recordio"]),
        (2, ["sheaf tfrecord shuffled", "sheaf webdataset shuffled", "sheaf recordio shuffled",
             "tf.data shuffled", "webdataset shuffled", "mosaicml-streaming shuffled",
             "litdata shuffled"])]),
    "pack.svg": ("Packing 30,607 files", "items/s", [
        (4, ["sheaf pack tfrecord", "sheaf pack webdataset", "sheaf pack recordio",
             "pack_files", "tar", "tar, synced", "im2rec", "webdataset ShardWriter"]),
        (5, ["sheaf pack webdataset, cold", "pack_files, cold", "tar, cold"])]),
    "remote.svg": ("HTTP and S3 on loopback", "GB/s", [
        (6, ["curl http", "sheaf http"]),
        (7, ["curl s3", "sheaf s3", "s3torchconnector", "curl s3, TLS", "sheaf s3, TLS"]),
        (8, ["multipart limit", "multipart limit, signed", "sheaf pack to s3", "aws s3 cp"])]),
}


def draw(report, folder):
    """Writes the charts for which the report has figures."""
    for name, (title, quantity, choices) in CHARTS.items():
        rows = [(contender, report["rows"][row]["contenders"][contender][quantity],
                 contender.startswith("sheaf"))
                for row, contenders in choices if row in report["rows"]
                for contender in contenders if contender in report["rows"][row]["contenders"]]
        if rows:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(bars(title, "files/s" if quantity == "items/s" else quantity, rows))
