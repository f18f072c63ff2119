# SPDX-License-Identifier: MIT
"""Independent decoders of everything that sheaf writes, made from the specifications alone: a file for each
container, for codecs, and for the index.

They share no code with the library. Framing, CRC-32C and protobuf are implemented here, tar and gzip are Python's
own, LZ4 and zstd are their commands, and XXH3 is python3-xxhash. The decoders are strict: everything that
formats/FORMATS.md does not allow is an error."""

from .codec import decompress, zstd_frames
from .common import Bad, crc32c, image_field, masked, need, parse_labels, split_name
from .data_set import DataSet
from .recordio import MAGIC, recordio_fields, recordio_frames, recordio_sample
from .tfrecord import example, feature, protobuf, tfrecord_frames, tfrecord_sample
from .webdataset import tar_frames, tar_header_offsets, tar_sample
