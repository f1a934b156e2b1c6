"""Finding a piece by name: built in, from an installed package's entry point, or `module:name`."""

import hashlib
import importlib
import re
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from flockwise.errors import FlockwiseError, PluginError

_OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")  # module:name
_READ: dict[
    Path, str
] = {}  # digests of files as they were when this Python imported them: that is the code that runs


def find(kind: str, name: str, builtin: Mapping[str, Any], directory: Path | None = None) -> Any:
    """The piece of this kind and name.

    `kind` is the plural used for entry points, such as `aggregators` (group `flockwise.aggregators`).
    `module:name` is looked for beside the config (`directory`) first, then on the ordinary path.
    """
    if name in builtin:
        return builtin[name]
    if ":" in name:
        return _imported(kind, name, directory)
    offered = {point.name: point for point in entry_points(group=f"flockwise.{kind}")}
    if name in offered:
        return offered[name].load()
    raise PluginError(f"{kind}: no {name!r}; {nearest(name, [*builtin, *offered])}")


@contextmanager
def running(piece: str, function: Callable[..., Any] | None = None) -> Iterator[None]:
    """While a user's own piece runs: whatever it raises becomes one line that names the piece, the file and the line.

    `function` is what is called, for errors of the call itself: it takes other arguments than it is given.
    """
    try:
        yield
    except FlockwiseError:
        raise
    except Exception as error:
        raise PluginError(f"{piece}: raised {_told(error, function)}") from error


def _told(error: BaseException, function: Callable[..., Any] | None = None) -> str:
    """An error in one line, with where in the user's own code it arose."""
    words = getattr(error, "msg", "") if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {(words.splitlines() or [''])[0][:300]}{_place(error, function)}"


def _place(error: BaseException, function: Callable[..., Any] | None) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    others = (str(Path(__file__).parent), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<")
    mine = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(others)
    ]
    if mine:
        return f" ({mine[-1].filename}:{mine[-1].lineno})"
    code = getattr(getattr(function, "function", function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def own_digests(content: Any, directory: Path | None = None) -> dict[str, str]:
    """A digest of the file of every user's own `module:name` in some content, by module, once they have been found."""
    return {module: _read_digest(path) for module, path in sorted(own_files(content, directory).items())}


def own_files(content: Any, directory: Path | None = None) -> dict[str, Path]:
    """The files of every user's own `module:name` in some content, by module; without those that have no file."""
    if isinstance(content, Mapping):
        return own_files(list(content.values()), directory)
    if isinstance(content, list | tuple):
        return {module: path for part in content for module, path in own_files(part, directory).items()}
    if not isinstance(content, str) or not _OWN.fullmatch(content):
        return {}
    module = content.partition(":")[0]
    if module.partition(".")[0] in (
        "flockwise",
        "__main__",
    ):  # its release is on record; another program's is another
        return {}
    path = _beside(module, directory.resolve()) if directory else None
    if path is None:
        path = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return {module: path} if path.is_file() else {}


def _read_digest(path: Path) -> str:
    now = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    if _READ.setdefault(path, now) != now:
        warnings.warn(
            f"{path}: changed since this Python imported it; start Python again to run it", stacklevel=2
        )
    return _READ[path]


def nearest(name: str, known: list[str]) -> str:
    """The hint that follows an unknown name."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"


def _module(name: str, folder: Path | None) -> ModuleType:
    if folder and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # also for what the module itself imports
    module = importlib.import_module(name)
    beside = _beside(name, folder) if folder else None
    if beside is None or Path(module.__file__ or "").resolve() == beside:
        return module
    # Another config's folder has a module of the same name: this one goes by its path.
    unique = f"{name} in {folder}"
    if unique not in sys.modules:
        spec = spec_from_file_location(unique, beside)
        assert spec is not None and spec.loader is not None
        sys.modules[unique] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[unique])
        except BaseException:
            del sys.modules[unique]
            raise
    return sys.modules[unique]


def _beside(name: str, folder: Path) -> Path | None:
    """The file of a module that lies in a folder."""
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    return path if path.is_file() else None


def _imported(kind: str, name: str, directory: Path | None) -> Any:
    module_name, _, attribute = name.partition(":")
    try:
        module = _module(module_name, directory.resolve() if directory else None)
    except (Exception, SystemExit) as error:  # whatever a file does when it is read
        missing = isinstance(error, ModuleNotFoundError) and error.name == module_name
        told = str(error) if missing else _told(error)
        raise PluginError(f"{kind}: cannot import {module_name!r} for {name!r}: {told}") from error
    if not hasattr(module, attribute):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise PluginError(f"{kind}: {module_name!r} has no {attribute!r}; {nearest(attribute, public)}")
    return getattr(module, attribute)
