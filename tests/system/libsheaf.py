# SPDX-License-Identifier: MIT
"""libsheaf.so through ctypes, for tests that open thousands of damaged data sets and cannot start a process for each.
The structs are a copy of those in sheaf.h, so these tests also detect a change of their layout."""

import collections
import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int,
                    c_size_t, c_uint, c_uint32, c_uint64, c_void_p, sizeof)
import os

from support import BUILD

END, OK = 1, 0
FAIL, SKIP = 0, 1
NAMES = {-1: "MEMORY", -2: "ARGUMENT", -3: "STATE", -4: "IO", -5: "NETWORK", -6: "ACCESS",
         -7: "NOT_FOUND", -8: "EXISTS", -9: "CORRUPT", -10: "TRUNCATED", -11: "UNSUPPORTED",
         -12: "LIMIT", -13: "INTERRUPTED", -14: "CHANGED",
         -15: "MISMATCH"}

Sample = collections.namedtuple("Sample", "key fields labels class_name number shard record")


class ErrorStruct(Structure):
    _fields_ = [("code", c_int), ("message", c_char * 1016), ("reason", c_int)]


class FieldStruct(Structure):
    _fields_ = [("name", c_char_p), ("suffix", c_char_p), ("data", c_void_p), ("size", c_size_t)]


class SampleStruct(Structure):
    _fields_ = [("key", c_char_p), ("fields", POINTER(FieldStruct)), ("field_count", c_size_t),
                ("labels", POINTER(c_double)), ("label_count", c_size_t),
                ("class_name", c_char_p), ("number", c_uint64), ("shard", c_uint32),
                ("record", c_uint64)]


ReportFn = CFUNCTYPE(None, c_void_p, c_char_p, POINTER(ErrorStruct))


class ReaderOptions(Structure):
    _fields_ = [("sizeof_options", c_size_t), ("seed", c_uint64), ("epoch", c_uint64),
                ("no_shuffle", c_int), ("shuffle_buffer", c_uint64), ("lanes", c_uint32),
                ("rank", c_uint32), ("world_size", c_uint32), ("worker", c_uint32),
                ("workers", c_uint32), ("remainder", c_int), ("memory_bytes", c_uint64),
                ("threads", c_uint), ("on_corrupt", c_int), ("max_corrupt", c_uint64),
                ("report", ReportFn), ("report_context", c_void_p)]


class ShortReaderOptions(Structure):
    """The options of a program that was compiled with an older sheaf.h. Other bytes of the program follow them."""
    _fields_ = [("options", ReaderOptions), ("beyond", c_uint64 * 16)]


class VerifyOptions(Structure):
    _fields_ = [("sizeof_options", c_size_t), ("memory_bytes", c_uint64), ("threads", c_uint),
                ("progress", c_void_p), ("report", ReportFn), ("context", c_void_p),
                ("interrupt", c_void_p)]


class VerifyResult(Structure):
    _fields_ = [("shards", c_uint64), ("samples", c_uint64), ("bytes", c_uint64),
                ("problems", c_uint64), ("passed_over", c_uint64), ("unused_classes", c_uint64),
                ("labelled", c_uint64), ("unread_labels", c_uint64),
                ("unlabelled", ctypes.c_char * 512), ("repeated_keys", c_uint64),
                ("repeated_key", ctypes.c_char * 512)]


class ReaderStats(Structure):
    _fields_ = [(name, c_uint64) for name in (
        "samples", "payload_bytes", "read_bytes", "corrupt", "stall_ns", "first_sample_ns",
        "memory_bytes", "memory_peak_bytes", "cached_bytes", "epoch",
        "uncached_objects", "passed_over", "repeated", "lost_bytes",
        "chosen_bytes")]


# Some tests open thousands of readers. With these settings, glibc does not return the memory of each reader to the
# kernel, and all threads share one heap.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
for _setting, _value in ((M_TRIM_THRESHOLD, 1 << 30), (M_MMAP_THRESHOLD, 32 << 20), (M_ARENA_MAX, 1)):
    ctypes.CDLL(None).mallopt(_setting, _value)

_library = ctypes.CDLL(os.path.join(BUILD, "libsheaf.so"))
_library.sheaf_reader_error.restype = POINTER(ErrorStruct)
_library.sheaf_reader_epoch_samples.restype = c_uint64
for _name in ("dataset_free", "reader_free", "reader_epoch_samples", "reader_error"):
    getattr(_library, "sheaf_" + _name).argtypes = [c_void_p]
_library.sheaf_reader_get_stats.argtypes = [c_void_p, POINTER(ReaderStats), c_size_t]
_library.sheaf_reader_next.argtypes = [c_void_p, POINTER(POINTER(SampleStruct))]
_library.sheaf_reader_position.argtypes = [c_void_p, c_char_p]
_library.sheaf_reader_resume.argtypes = [c_void_p, c_char_p]
_library.sheaf_reader_begin_epoch.argtypes = [c_void_p, c_uint64]


class Error(Exception):
    def __init__(self, code, message):
        super().__init__(NAMES.get(code, code), message)
        self.code, self.name, self.message = code, NAMES.get(code), message


def text(message):
    """Checks that a message is one line of text, whatever bytes it mentions."""
    decoded = message.decode(errors="replace")
    assert decoded.replace("\t", " ").isprintable() and "\ufffd" not in decoded, message
    return decoded


def _problem(where, code, message):
    return where.decode(), NAMES[code], text(message)


def _raise(error):
    raise Error(error.code, text(error.message))


class DataSet:
    def __init__(self, *sources):
        self._pointer, error = c_void_p(), ErrorStruct()
        array = (c_char_p * len(sources))(*[os.fsencode(s) for s in sources])
        if _library.sheaf_dataset_open(array, c_size_t(len(sources)), byref(self._pointer),
                                       byref(error)) != OK:
            _raise(error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _library.sheaf_dataset_free(self._pointer)

    def unpack(self, directory):
        """Unpacks with the options of an older sheaf.h, and returns the number of samples."""
        reading, result, error = ShortReaderOptions(beyond=(1,) * 16), (c_uint64 * 4)(), ErrorStruct()
        _library.sheaf_reader_options_init(byref(reading), c_size_t(sizeof(ReaderOptions)))
        if _library.sheaf_unpack(self._pointer, os.fsencode(directory), None, byref(reading), result, None,
                                 byref(error)) != OK:
            _raise(error)
        return result[0]

    def verify(self):
        """Returns the problems as (where, code name, message)."""
        options, result, error, found = VerifyOptions(), VerifyResult(), ErrorStruct(), []

        def report(_, where, problem):
            problem = problem.contents
            found.append((where, problem.code, bytes(problem.message)))
        _library.sheaf_verify_options_init(byref(options), c_size_t(sizeof(options)))
        options.report = ReportFn(report)
        if _library.sheaf_verify(self._pointer, byref(options), byref(result),
                                 byref(error)) != OK:
            _raise(error)
        assert result.problems == len(found), (result.problems, found)
        return [_problem(*item) for item in found]


class ChannelOptions(Structure):
    _fields_ = [("sizeof_options", c_size_t), ("root", c_char_p), ("wait_seconds", c_uint64),
                ("attributes", c_char_p)]


class Channel(DataSet):
    """A channel of a platform as a data set."""

    def __init__(self, name, root, wait_seconds=60, attributes=None):
        channel, error, options = c_void_p(), ErrorStruct(), ChannelOptions()
        self._pointer = c_void_p()
        _library.sheaf_channel_options_init(byref(options), c_size_t(sizeof(options)))
        assert options.sizeof_options == sizeof(options) and options.root == b"/opt/ml"
        options.root, options.wait_seconds = os.fsencode(root), wait_seconds
        options.attributes = attributes and attributes.encode()
        if _library.sheaf_channel_open(name.encode(), byref(options), byref(channel),
                                       byref(error)) != OK:
            _raise(error)
        code = _library.sheaf_channel_dataset(channel, byref(self._pointer), byref(error))
        _library.sheaf_channel_free(channel)
        if code != OK:
            _raise(error)


class Reader:
    """Iterates over an epoch."""

    def __init__(self, data_set, **options):
        self._pointer, error, self._reported = c_void_p(), ErrorStruct(), []
        filled = ReaderOptions()
        _library.sheaf_reader_options_init(byref(filled), c_size_t(sizeof(filled)))
        assert filled.sizeof_options == sizeof(filled)

        def report(_, where, problem):
            problem = problem.contents
            self._reported.append((where, problem.code, bytes(problem.message)))
        self._report = filled.report = ReportFn(report)
        for name, value in options.items():
            setattr(filled, name, value)
        if _library.sheaf_reader_open(data_set._pointer, byref(filled), byref(self._pointer),
                                      byref(error)) != OK:
            _raise(error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _library.sheaf_reader_free(self._pointer)

    def _check(self, code):
        if code < 0:
            error = _library.sheaf_reader_error(self._pointer).contents
            assert error.code == code
            _raise(error)
        return code

    def __iter__(self):
        return self

    def __next__(self):
        found = POINTER(SampleStruct)()
        if self._check(_library.sheaf_reader_next(self._pointer, byref(found))) == END:
            raise StopIteration
        s = found.contents
        fields = {}
        for i in range(s.field_count):
            field = s.fields[i]
            assert field.suffix.lower() == field.name
            fields[field.suffix.decode()] = ctypes.string_at(field.data, field.size)
        return Sample(s.key.decode(), fields, s.labels[:s.label_count],
                      s.class_name and s.class_name.decode(), s.number, s.shard, s.record)

    def begin_epoch(self, epoch):
        self._check(_library.sheaf_reader_begin_epoch(self._pointer, epoch))

    def position(self):
        text = ctypes.create_string_buffer(257)
        self._check(_library.sheaf_reader_position(self._pointer, text))
        return text.value.decode()

    def resume(self, position):
        self._check(_library.sheaf_reader_resume(self._pointer, position.encode()))

    def reported(self):
        """Returns the skipped samples as (where, code name, message)."""
        return [_problem(*item) for item in self._reported]

    def epoch_samples(self):
        return _library.sheaf_reader_epoch_samples(self._pointer)

    def stats(self):
        stats = ReaderStats()
        _library.sheaf_reader_get_stats(self._pointer, byref(stats), sizeof(stats))
        return stats


def samples(*sources, **options):
    """Returns every sample of one epoch."""
    with DataSet(*sources) as data_set, Reader(data_set, **options) as reader:
        return list(reader)


def problems(source):
    """Returns the problems that verification finds."""
    with DataSet(source) as data_set:
        return data_set.verify()
