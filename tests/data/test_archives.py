import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import archives
from flockwise.data.archives import read_archive
from flockwise.errors import DataError

WANTED = frozenset({"a.bin", "b.bin"})


def debian(**members: bytes) -> bytes:
    content = b"!<arch>\n"
    for name, body in members.items():
        name = name.replace("_", ".")
        content += (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n".encode()
            + body
            + b"\n" * (len(body) % 2)
        )
    return content


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_wanted_files_are_found_in_any_folder_of_the_archive(tmp_path: Path, pack: Callable) -> None:
    path = tmp_path / "package.tgz"
    path.write_bytes(pack({"package/data/a.bin": b"1", "b.bin": b"22", "package/run.js": b"evil()"}))
    assert read_archive(path, WANTED) == {"a.bin": b"1", "b.bin": b"22"}
    assert list(tmp_path.iterdir()) == [path]  # nothing is ever unpacked to the disk


@pytest.mark.parametrize("member", ["data_tar", "data_tar_gz", "data_tar_xz"])
def test_debian_packages_are_read(member: str, tmp_path: Path, pack: Callable) -> None:
    content = pack({"./usr/share/a.bin": b"123"})
    if member.endswith("xz"):
        content = lzma.compress(content)
    path = tmp_path / "package.deb"
    path.write_bytes(debian(debian_binary=b"2.0", control_tar_xz=b"c", **{member: content}))
    assert read_archive(path, WANTED) == {"a.bin": b"123"}


@pytest.mark.parametrize(
    "content", [b"", b"!<arch>\n", debian(control_tar_gz=b"x"), b"!<arch>\n" + b"?" * 70]
)
def test_a_debian_package_without_data_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "package.deb").write_bytes(content)
    with pytest.raises(DataError, match=r"package\.deb: "):
        read_archive(tmp_path / "package.deb", WANTED)


@pytest.mark.parametrize("name", ["../a.bin", "data/../../a.bin", "/../etc/a.bin"])
def test_a_path_that_leaves_the_archive_is_refused(name: str, tmp_path: Path, pack: Callable) -> None:
    path = tmp_path / "package.tgz"
    path.write_bytes(pack({name: b"1"}))
    with pytest.raises(DataError, match="damaged or unsafe archive"):
        read_archive(path, WANTED)


@pytest.mark.parametrize(
    "member",
    [
        special("a.bin", tarfile.SYMTYPE, "/etc/passwd"),
        special("a.bin", tarfile.SYMTYPE, "../../secret"),
        special("a.bin", tarfile.SYMTYPE, "b.bin"),
        special("a.bin", tarfile.LNKTYPE, "b.bin"),
        special("a.bin", tarfile.CHRTYPE),
        special("a.bin", tarfile.FIFOTYPE),
        special("other", tarfile.SYMTYPE, "/etc"),
    ],
)
def test_links_and_devices_are_refused(member: tarfile.TarInfo, tmp_path: Path, pack: Callable) -> None:
    path = tmp_path / "package.tgz"
    path.write_bytes(pack({"b.bin": b"1"}, extra=(member,)))
    with pytest.raises(DataError, match=r"package\.tgz: "):
        read_archive(path, WANTED)


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path, pack: Callable) -> None:
    path = tmp_path / "package.tgz"
    path.write_bytes(pack({"one/a.bin": b"1", "two/a.bin": b"2"}))
    with pytest.raises(DataError, match=r"holds a\.bin twice"):
        read_archive(path, WANTED)


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, pack: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LIMIT", 5000)
    path = tmp_path / "package.tgz"
    path.write_bytes(pack({"unwanted": bytes(4000), "a.bin": bytes(2000)}))
    with pytest.raises(DataError, match="unpacks to more than 5,000 bytes"):
        read_archive(path, WANTED)
    path.write_bytes(bytes(5001))
    with pytest.raises(DataError, match="is larger than 5,000 bytes"):
        read_archive(path, WANTED)


def test_a_truncated_archive_is_refused(tmp_path: Path, pack: Callable) -> None:
    path = tmp_path / "package.tgz"
    content = pack({"a.bin": np.random.default_rng(0).bytes(5000)})
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="damaged or unsafe archive"):
        read_archive(path, WANTED)
