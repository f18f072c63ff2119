# SPDX-License-Identifier: MIT
"""The functions that copy existing data, as commands of the same names do: convert, unpack, pipe; and info."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Union

from . import (Dataset, Path, Problem, Progress, Size, Source, _check_reading, _needs, _opened, _sheaf, _size, _text,
               _told, _warn)
from ._types import CACHE_BYTES, S3, Note, _check_images, _check_shards, _noted, _s3


class ConvertResult(NamedTuple):
    """The result of a conversion.

    `corrupt` is the number of bad records that were skipped (on_corrupt="skip"). `lost_bytes` is the number of bytes
    of foreign shards that were lost after damage. `passed_over` is the number of members of tars that belong to no
    sample. `skipped` is the number of samples that DEST/skipped.tsv lists. `converted` is the number of images that
    were converted, and `resized` the number of images that were only made smaller. `duplicates` is the number of
    samples with a repeated key."""
    samples: int
    payload_bytes: int
    stored_bytes: int
    shards: int
    shards_kept: int
    corrupt: int
    lost_bytes: int
    passed_over: int
    skipped: int = 0
    converted: int = 0
    resized: int = 0
    duplicates: int = 0


class UnpackResult(NamedTuple):
    """The result of unpacking: the number of samples, the number of files, and the bytes of the files. The other
    fields are those of ConvertResult."""
    samples: int
    files: int
    bytes: int
    corrupt: int
    lost_bytes: int
    passed_over: int
    duplicates: int = 0


class PipeResult(NamedTuple):
    """The result of feeding pipes. `epochs` is the number of epochs that had a reader, and `closed_early` the
    number of these that the reader closed early. `objects` and `bytes` are counted over all epochs. `left_out` is the number of
    files in the data set's directory that are not its shards."""
    epochs: int
    closed_early: int
    objects: int
    bytes: int
    left_out: int
    memory_peak_bytes: int


def _reading(on_corrupt: str, max_corrupt: Optional[int], cache: Optional[Path],
             cache_size: Optional[Size], columns: Optional[Sequence[str]], missing: str) -> Dict[str, Any]:
    _check_reading(on_corrupt, max_corrupt, columns, missing)
    _needs("cache", cache is not None, cache_size=cache_size)
    return {"columns": columns, "missing": missing, "on_corrupt": on_corrupt, "max_corrupt": max_corrupt,
            "cache_directory": _text(cache), "cache_bytes": _size(CACHE_BYTES, cache_size=cache_size)}


def convert(source: Union[None, Source, Dataset] = None, dest: Optional[Path] = None, *,
            format: Optional[str] = None, codec: str = "none", resume: bool = False,
            overwrite: bool = False, index: Optional[str] = None, on_corrupt: str = "fail",
            max_corrupt: Optional[int] = None, cache: Optional[Path] = None,
            cache_size: Optional[Size] = None, jobs: int = 0, memory: Size = "512MiB",
            plan: Optional[Path] = None, part: int = 0, parts: int = 1,
            progress: Optional[Callable[[Progress], Any]] = None,
            report: Optional[Callable[[Problem], Any]] = None,
            s3: S3 = None, shard_size: Optional[Size] = None, shard_count: int = 0,
            shuffle: bool = False, seed: int = 0,
            field_map: Optional[Mapping[str, str]] = None, fix_images: bool = False,
            check_images: str = "none", quality: int = 90, resize: int = 0,
            resize_mode: str = "shorter", duplicate_keys: str = "fail",
            columns: Optional[Sequence[str]] = None, missing: str = "fail",
            join: bool = False, split: Optional[str] = None,
            note: Optional[Callable[[Note], Any]] = None) -> ConvertResult:
    """Writes the samples of a data set, in its order, as a data set in another container (`format`) or codec at
    `dest`, as `sheaf convert` does. Keys, fields, labels and class names stay the same. Each shard keeps its samples,
    unless shard_size or shard_count cuts new shards, or `shuffle` gives the samples a new order from `seed`.
    field_map={"image": "jpg", "y": "label"} renames a field, or makes the label of its number. split="train=0.8,val=0.2"
    divides the samples among the data sets dest/train and dest/val, with new shards, as pack() divides files. With
    `split`, resume=True and duplicate_keys are refused: if keys are repeated, first convert with duplicate_keys, and
    then divide the result. A view cannot be divided.

    `memory` is a size in bytes or a text such as "512MiB"; half of it is used for reading. Images are copied without
    a check unless fix_images, resize or check_images ("markers", "decode") is given, as in pack(). columns and
    missing are as in Reader.

    If a key is repeated, duplicate_keys="number" gives the later sample a free key such as KEY-2, and "drop" leaves
    it out. With `join`, all files with one key in a shard are one sample, wherever they are in the shard. The shards
    must then be foreign tars, local and not compressed.

    With `plan`, the call converts part number `part`, counted from 0, of `parts` of a stored plan. sheaf.commit then
    publishes the result.

    Raises UnsupportedError if a sample does not fit the container; the message names the sample. Raises CorruptError
    for a bad record or image. With on_corrupt="skip", it instead calls `report` for each, or gives a warning. Notices
    of `sheaf convert` are passed to `note`; without it, a warning is given. Raises
    ExistsError if `dest` is not empty or a key is repeated.

        sheaf.convert("shards/", "tfrecords/", format="tfrecord", codec="gzip")"""
    reading = _reading(on_corrupt, max_corrupt, cache, cache_size, columns, missing)
    calls = {"progress": _told(progress, Progress),
             "report": _told(_warn if report is None else report, Problem), "s3": _s3(s3),
             "note": _noted(note)}
    size = _size(0, memory=memory)
    if plan is not None:
        if source is not None or dest is not None or format is not None:
            raise TypeError("plan takes the place of source, dest and format")
        return ConvertResult(**_sheaf.convert_part(plan, part, parts, reading, jobs=jobs,
                                                   memory_bytes=size, **calls))
    if source is None or dest is None or format is None:
        raise TypeError("convert() needs source, dest and format, or plan")
    _check_images(fix_images, resize, resize_mode, quality)
    _check_shards(shard_size, shard_count)
    _needs("shuffle or split", shuffle or split, seed=seed or None)
    if join and isinstance(source, Dataset):
        raise TypeError("join= needs a source that is not open yet")
    opened = Dataset(source, _join=True) if join else _opened(source)       # type: ignore[arg-type]
    return ConvertResult(**_sheaf.convert(
        opened, dest, reading, format=format, codec=codec, resume=resume,
        overwrite=overwrite, index=index, jobs=jobs, memory_bytes=size, shard_count=shard_count,
        shard_bytes=_size(150000000, shard_size=shard_size), reshuffle=shuffle, seed=seed,
        reshard=shard_size is not None or shard_count != 0, fix_images=fix_images,
        check_images=check_images, quality=quality, resize=resize, resize_mode=resize_mode,
        duplicate_keys=duplicate_keys, split=split,
        field_map=",".join(map("=".join, field_map.items())) if field_map else None, **calls))


def unpack(source: Union[Source, Dataset], directory: Path, *, resume: bool = False,
           memory: Size = "1GiB", on_corrupt: str = "fail", max_corrupt: Optional[int] = None,
           cache: Optional[Path] = None, cache_size: Optional[Size] = None, threads: int = 0,
           progress: Optional[Callable[[Progress], Any]] = None,
           report: Optional[Callable[[Problem], Any]] = None,
           duplicate_keys: str = "fail", columns: Optional[Sequence[str]] = None,
           missing: str = "fail") -> UnpackResult:
    """Writes each field of each sample to directory/KEY.SUFFIX, byte for byte as it was packed, as `sheaf unpack`
    does. Nothing is written outside of the directory. Raises ExistsError if a file already exists. With `resume`, an
    existing file is kept if it is identical. duplicate_keys is as in convert(). columns and missing are as in Reader.

        sheaf.unpack("shards/", "files/")"""
    reading = _reading(on_corrupt, max_corrupt, cache, cache_size, columns, missing)
    reading.update(memory_bytes=_size(0, memory=memory), threads=threads)
    return UnpackResult(**_sheaf.unpack_files(
        _opened(source), directory, reading, resume=resume, duplicate_keys=duplicate_keys,
        progress=_told(progress, Progress), report=_told(_warn if report is None else report, Problem)))


def pipe(source: Path, directory: Path, *, channel: str = "train", epochs: int = 0,
         first_epoch: int = 0, shuffle: bool = False, seed: int = 0, host: int = 0, hosts: int = 1,
         record_wrapper: str = "none", compression: str = "none",
         attributes: Optional[str] = None, memory: Size = "256MiB",
         progress: Optional[Callable[[Progress], Any]] = None) -> PipeResult:
    """Writes to the named pipes directory/CHANNEL_0, CHANNEL_1, ..., one epoch to each pipe, as SageMaker's Pipe mode
    and `sheaf pipe` do. epochs=0 continues until a KeyboardInterrupt. record_wrapper is "none" or "recordio".
    compression is "none" or "gzip"; gzip objects are decompressed. Raises ExistsError if another process writes to
    the pipes of the channel.

        sheaf.pipe("s3://bucket/train/", "/opt/ml/input/data", epochs=2)"""
    for name, value, words in (("record_wrapper", record_wrapper, ("none", "recordio")),
                               ("compression", compression, ("none", "gzip"))):
        if value not in words:
            raise _sheaf.ArgumentError("%s=%r: expected %s or %s" % (name, value, *words))
    _needs("shuffle=True", shuffle, seed=seed or None)
    return PipeResult(**_sheaf.pipe(
        source, directory, channel=channel, epochs=epochs, first_epoch=first_epoch,
        shuffle=shuffle, seed=seed, host=host, hosts=hosts,
        record_wrapper=record_wrapper == "recordio", gunzip=compression == "gzip",
        attributes=attributes, memory_bytes=_size(0, memory=memory),
        progress=_told(progress, Progress)))


def info(source: Union[Source, Dataset]) -> Dict[str, Any]:
    """Describes a data set, or a plan that sheaf.plan has stored and its progress. Returns a dict with the keys of
    `sheaf info --json`, without the shards that each rank reads. A count that is not known is None.

        sheaf.info("s3://bucket/train/")["samples"]"""
    if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__"):
        found = _sheaf.plan_info(source)
        if found is not None:
            return found
    dataset = _opened(source)
    stream = dataset.is_stream
    counts = dataset._info()
    container = dataset.container or ("several" if len(dataset.sources) > 1 else "unknown")
    return {
        "url": dataset.url, "container": container, "codec": dataset.codec,
        "manifest": dataset.has_manifest, "stream": stream, "samples": dataset.samples,
        "bytes": None if stream else dataset.bytes, "payload_bytes": dataset.payload_bytes or None,
        "fingerprint": None if stream else dataset.fingerprint, "label_base": dataset.label_base,
        "classes": dataset.classes, "class_samples": dataset.class_samples,
        "fields": None if dataset.fields is None else [f._asdict() for f in dataset.fields],
        "sources": [source._asdict() for source in dataset.sources],
        "shards": [shard._asdict() for shard in dataset.shards],
        **({} if dataset.is_view else {"repeated_keys": None if stream else counts["repeated_keys"]}),
        **(counts["packing"] if dataset.has_manifest and not dataset.is_view else {}),
    }
