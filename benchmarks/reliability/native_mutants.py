"""Mutants of C++: the text with one operator or number changed, and the library that is compiled from it."""

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flockwise.native.compiler import FLAGS, _machine_flags, find_compiler

# With blanks around them, as the sources are written: so neither templates nor pointers are taken for operators.
_OTHERS = {
    " < ": (" <= ", " >= "), " <= ": (" < ", " > "), " > ": (" >= ", " <= "), " >= ": (" > ", " < "), " == ": (" != ",),
    " != ": (" == ",), " + ": (" - ",), " - ": (" + ",), " * ": (" + ",), " / ": (" * ",), " % ": (" * ",),
    " += ": (" -= ",), " -= ": (" += ",), " *= ": (" += ",), " && ": (" || ",), " || ": (" && ",), " & ": (" | ",),
    " | ": (" & ",), " << ": (" >> ",), " >> ": (" << ",), "break;": ("continue;",), "continue;": ("break;",),
}  # fmt: skip
_PLACES = re.compile("|".join(re.escape(sign) for sign in sorted(_OTHERS, key=len, reverse=True)))
_NUMBERS = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
# What is only said: comments, texts, orders to the compiler, templates.
_SAID = re.compile(r'//.*|"(?:\\.|[^"\\\n])*"|^\s*#.*$|^.*\b(?:static_assert|template)\b.*$', re.MULTILINE)


class NoProgram(Exception):
    """The change is one that the compiler refuses: no mutant."""


@dataclass(frozen=True)
class NativeMutant:
    """A changed file of a folder of sources."""

    file: Path
    start: int
    before: str
    after: str

    @property
    def line(self) -> int:
        """Where it is."""
        return self.file.read_text().count("\n", 0, self.start) + 1

    @property
    def name(self) -> str:
        """The file, what stands in the line, and the change."""
        text = self.file.read_text().splitlines()[self.line - 1].strip()
        return f"{self.file.name}: `{self.before.strip()} -> {self.after.strip()}` in {text[:100]}"

    def compiled(self, program: str, flags: tuple[str, ...]) -> ctypes.CDLL:
        """The library with this change in it."""
        with tempfile.TemporaryDirectory() as scratch:
            for source in [*self.file.parent.glob("*.h"), *self.file.parent.glob("*.cpp")]:
                text = source.read_text()
                if source == self.file:
                    text = text[: self.start] + self.after + text[self.start + len(self.before) :]
                (Path(scratch) / source.name).write_text(text)
            output = Path(scratch) / "mutant.so"
            command = [
                str(find_compiler()),
                *FLAGS,
                *flags,
                *_machine_flags(),
                f"{scratch}/{program}.cpp",
                "-o",
                str(output),
            ]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                raise NoProgram
            return ctypes.CDLL(str(output))


def native_mutants(folder: Path) -> Iterator[NativeMutant]:
    """Every mutant of the sources in a folder, in order of files and lines."""
    for file in sorted([*folder.glob("*.h"), *folder.glob("*.cpp")]):
        text = _without(file.read_text())
        for found in sorted(
            [*_PLACES.finditer(text), *_NUMBERS.finditer(text)], key=lambda match: match.start()
        ):
            sign = found.group()
            for other in _OTHERS.get(sign) or (str(int(sign) + 1),):
                yield NativeMutant(file, found.start(), sign, other)


def _without(text: str) -> str:
    """The text with blanks for what is only said, so that places stay where they are."""
    return _SAID.sub(lambda found: " " * len(found.group()), text)
