"""Downloads files from the canonical mirrors over https."""

import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

from flockwise.data.archives import LIMIT
from flockwise.data.spec import Download
from flockwise.errors import DataError

Progress = Callable[[str], None]  # gets a line of text
BLOCK = 1 << 18
PATIENCE = 30.0  # seconds without a byte
CONNECT = 5.0  # seconds for a connection: who is offline should know it soon


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
    with opened(request) as reply, target.open("wb") as stream:
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


class Connection(HTTPSConnection):
    """Waits less for a connection than, once it is there, for the next byte."""

    def connect(self) -> None:
        """Connect, or give up soon."""
        self.timeout = CONNECT
        super().connect()
        self.sock.settimeout(PATIENCE)


class _Handler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(Connection, request, context=ssl.create_default_context())


def opened(request: urllib.request.Request) -> Any:
    """The answer to a request; proxies count as for any other program."""
    return urllib.request.build_opener(_Handler()).open(request)


def _reason(problem: Exception) -> str:
    reason = getattr(problem, "reason", None)
    return str(reason or problem or type(problem).__name__)
