"""One input after the other: what came out of the decoder, and whether that is as promised."""

import contextlib
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.reliability.fuzz.target import Target

SLOW = 1.0  # seconds of the processor that one input may take
HANGS = 10.0  # after these it is ended
MOST_FINDINGS = 20
LONG = 4096  # bytes of an input
MEMORY = Path("/dev/shm")  # files that need no disk, where there is such a place
_WATCHED = frozenset({"open", "os.remove", "os.rename", "os.mkdir", "os.system", "subprocess.Popen"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Hangs(BaseException):
    """An input took too long; no decoder catches this."""


@dataclass
class Trying:
    """Inputs for one decoder, in a folder of its own; what breaks the promise is kept."""

    target: Target
    folder: Path
    inputs: int = 0
    broken: int = 0
    findings: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # what happened: the first input that did it
    _inside: bool = False
    _outside: str = ""

    def __call__(self, data: bytes) -> None:
        """Try one input."""
        self.inputs += 1
        began, self._outside = time.process_time(), ""
        signal.setitimer(signal.ITIMER_PROF, HANGS)
        self._inside = True
        try:
            self.target.decode(data, self.folder)
        except self.target.refuses as error:
            text = str(error)
            if not text.strip() or ("\n" in text and not self.target.lines):
                self._note(f"{type(error).__name__} of {len(text.splitlines())} lines", data, text[:120])
        except (Exception, Hangs) as error:
            self._note(f"{type(error).__name__} {_place(error)}", data, str(error)[:120])
        finally:
            self._inside = False
            signal.setitimer(signal.ITIMER_PROF, 0)
        if time.process_time() - began > SLOW:
            self._note("slow: more than a second", data)
        if self._outside:
            self._note(f"wrote outside: {self._outside}", data)

    def _note(self, what: str, data: bytes, message: str = "") -> None:
        self.broken += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.setdefault(what, {"message": message, **_kept(data)})

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Notice a file that is opened for writing, removed or renamed outside the folder."""
        if not self._inside or event not in _WATCHED:
            return
        path = arguments[0] if arguments else None
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITES):
            return
        if isinstance(path, int):
            return  # a file that is open already
        where = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None
        if where is None or not f"{where}/".startswith(f"{self.folder}/"):
            self._outside = f"{event} {str(path)[:80]}"


def _kept(data: bytes) -> dict[str, str]:
    """An input as it goes on record; a long one deflated, and whole: a part of it would not do the same again."""
    return {"input": data.hex()} if len(data) <= LONG else {"deflated": zlib.compress(data, 9).hex()}


def _place(error: BaseException) -> str:
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "flockwise" in f.filename and "/tests/" not in f.filename
    ]
    return f"at {Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""


@contextlib.contextmanager
def trying(target: Target) -> Iterator[Trying]:
    """The decoder in a temporary folder, watched."""
    with tempfile.TemporaryDirectory(
        prefix="flockwise-fuzz-", dir=MEMORY if MEMORY.is_dir() else None
    ) as folder:
        tried = Trying(target, Path(folder))
        sys.addaudithook(tried._audit)

        def end(number: int, frame: FrameType | None) -> None:
            if tried._inside:
                raise Hangs(f"more than {HANGS:.0f} s")

        before = signal.signal(signal.SIGPROF, end)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield tried
        finally:
            signal.signal(signal.SIGPROF, before)
