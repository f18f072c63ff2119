# SPDX-License-Identifier: MIT
"""What MXNet does for the tests, in its own interpreter: its NumPy is an old one.

    mxnet_peer.py read REC IDX      prints id, label, and the image's hash, a line a record
    mxnet_peer.py write REC IDX     from lines "label path" of standard input
    mxnet_peer.py iterate REC IDX   ImageRecordIter: prints each image's label
    mxnet_peer.py decode REC IDX    decodes each image: prints id, label, width, height, channels, and
                                    the file's hash"""

import hashlib
import sys

import mxnet


def read(rec, idx):
    records = mxnet.recordio.MXIndexedRecordIO(idx, rec, "r")
    for key in records.keys:
        header, image = mxnet.recordio.unpack(records.read_idx(key))
        print(header.id, header.label, hashlib.sha256(image).hexdigest())


def decode(rec, idx):
    records = mxnet.recordio.MXIndexedRecordIO(idx, rec, "r")
    for key in records.keys:
        header, image = mxnet.recordio.unpack(records.read_idx(key))
        height, width, channels = mxnet.image.imdecode(image).shape
        print(header.id, header.label, width, height, channels, hashlib.sha256(image).hexdigest())


def write(rec, idx):
    records = mxnet.recordio.MXIndexedRecordIO(idx, rec, "w")
    for number, line in enumerate(sys.stdin):
        label, path = line.rstrip("\n").split(" ", 1)
        with open(path, "rb") as file:
            header = mxnet.recordio.IRHeader(0, float(label), number, 0)
            records.write_idx(number, mxnet.recordio.pack(header, file.read()))
    records.close()


def iterate(rec, idx):
    for batch in mxnet.io.ImageRecordIter(path_imgrec=rec, path_imgidx=idx, data_shape=(3, 8, 8),
                                          batch_size=1, resize=8, shuffle=False,
                                          preprocess_threads=1):
        print(batch.label[0].asscalar())


if __name__ == "__main__":
    {"read": read, "write": write, "iterate": iterate,
     "decode": decode}[sys.argv[1]](*sys.argv[2:])
