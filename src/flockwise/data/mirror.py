"""Downloads files from the canonical mirrors over https."""

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from flockwise.data.archives import LIMIT
from flockwise.data.spec import Download
from flockwise.errors import DataError

Progress = Callable[[str], None]  # gets a line of text
BLOCK = 1 << 18
PATIENCE = 30.0  # seconds without a byte


def download(files: tuple[Download, ...], folder: Path, progress: Progress) -> None:
    """Get every file into the folder; a file that is not required may be missing afterwards."""
    for file in files:
        problems = []
        for address in file.addresses:
            try:
                _get(address, folder / file.name, progress)
                break
            except (OSError, HTTPException, ValueError) as problem:
                (folder / file.name).unlink(missing_ok=True)
                problems.append(f"{urllib.parse.urlsplit(address).hostname}: {_reason(problem)}")
        else:
            if file.required:
                raise DataError(f"web: {file.name} cannot be downloaded ({', '.join(problems)})")


def _get(address: str, target: Path, progress: Progress) -> None:
    if not address.startswith("https://"):
        raise ValueError("not an https address")
    request = urllib.request.Request(address, headers={"User-Agent": "flockwise"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply, target.open("wb") as stream:
        if not reply.url.startswith("https://"):
            raise ValueError("redirected away from https")
        length = reply.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() and len(length) < 19 else None
        done, told = 0, 0
        while block := reply.read(BLOCK):
            done += len(block)
            if done > LIMIT:
                raise ValueError(f"more than {LIMIT:,} bytes")
            stream.write(block)
            if total and done * 10 // total > told:  # a line for every tenth
                told = done * 10 // total
                progress(f"{target.name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB")
        if total is not None and done != total:
            raise ValueError(f"connection ended after {done:,} of {total:,} bytes")


def _reason(problem: Exception) -> str:
    reason = getattr(problem, "reason", None)
    return str(reason or problem or type(problem).__name__)
