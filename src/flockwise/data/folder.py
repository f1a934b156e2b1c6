"""The files of a data set in a folder: loose, or inside the archives they are published in."""

from pathlib import Path

from flockwise.data.archives import ENDINGS, LIMIT, read_archive, read_limited
from flockwise.errors import DataError


class Folder:
    """Reads files by base name; a loose file wins over one in an archive."""

    def __init__(self, path: Path, wanted: frozenset[str]) -> None:
        """Look at what is there; archives are opened only when a wanted file is not loose."""
        self.path = path
        self._loose = {name: path / name for name in wanted if (path / name).is_file()}
        self._packed: dict[str, bytes] = {}
        for archive in archives(path):
            if wanted - self.names:
                self._packed = {**read_archive(archive, wanted - frozenset(self._loose)), **self._packed}

    @property
    def names(self) -> frozenset[str]:
        """The wanted files that are here."""
        return frozenset(self._loose) | frozenset(self._packed)

    def read(self, name: str) -> bytes:
        """The content of one file."""
        if name in self._loose:
            return read_limited(self._loose[name], LIMIT)
        if name in self._packed:
            return self._packed[name]
        raise DataError(f"{self.path / name}: no such file; run flockwise data get, or complete the folder")


def archives(path: Path) -> list[Path]:
    """The archives in a folder that may hold a data set, in alphabetical order."""
    if not path.is_dir():
        return []
    return sorted(entry for entry in path.iterdir() if entry.name.endswith(ENDINGS) and entry.is_file())
