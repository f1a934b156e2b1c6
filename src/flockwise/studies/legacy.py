"""Results of an older format, which carry a hash of what their config said in place of the config itself.

One stands for a cell if what the study says of the cell has the same hash. Such results name no commit: it is "unknown".
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flockwise.config import Config
from flockwise.options import validated
from flockwise.studies.cells import Cell
from flockwise.studies.finished import own_reader
from flockwise.studies.results import Result

_NEEDED = {"config_hash", "table", "cell", "scale", "seed"}
_KEPT = ("seed", "scale", "values", "curves", "arrays", "seconds", "date", "command", "twin", "decided",
         "versions", "machine", "forked_at")  # fmt: skip


def said_hashes(content: Mapping[str, Any], seed: int, forked_at: int | None) -> set[str]:
    """The hash of the older format: only what a cell says itself, where data lie and how it is trained left out.

    A test every round was the default then and is not any more: a study that says so now may not have said it then.
    """
    said = validated(Config, {**content, "seed": seed})
    told = said.model_dump(mode="json", exclude={"engine", "checkpoint", "name"}, exclude_unset=True)
    told["data"].pop("directory", None)
    unsaid = {name: value for name, value in told.items() if (name, value) != ("evaluation", {"every": 1})}
    return {_hash([one, forked_at]) for one in (told, unsaid)}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def older_results(
    folder: Path, cells: Iterable[Cell], names: Mapping[str, str] | None = None, directory: Path | None = None
) -> Iterator[Result]:
    """The results of the older format below `folder` that stand for one of these cells, as results of today.

    `names` are numbers that went by another name. A cell that was moved to another table is found by its hash.
    """
    known: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        known.setdefault((cell.scale, cell.name), {}).setdefault(cell.table, cell)
    for _, content in older_files(folder):
        same = known.get((content["scale"], content["cell"]), {}).values()
        for cell in sorted(same, key=lambda cell: cell.table != content["table"]):
            if _stands(content, cell, content["seed"], directory):
                yield _as_today(content, cell, names or {})
                break


def older_files(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What lies below a folder in the older format."""
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict) and content.keys() >= _NEEDED:
            yield path, content


def _stands(content: Mapping[str, Any], cell: Cell, seed: int, directory: Path | None) -> bool:
    """By its config; what takes no time is computed again and compared."""
    if cell.spec.compute:
        again = own_reader(cell.spec.compute, directory)(cell.labels, seed)
        curves = content.get("curves") or {}
        return bool(curves) and all(again.get(name) == curve for name, curve in curves.items())
    at = cell.beginning.at if cell.beginning else None
    return content["config_hash"] in said_hashes(cell.content, seed, at)


def _as_today(content: Mapping[str, Any], cell: Cell, names: Mapping[str, str]) -> Result:
    kept = {name: content[name] for name in _KEPT if content.get(name) is not None}
    kept["values"] = {names.get(name, name): value for name, value in content.get("values", {}).items()}
    config = {**cell.config.written(), "seed": content["seed"]} if cell.config else {}
    return Result(study=content.get("paper", ""), table=cell.table, cell=cell.name, labels=dict(cell.labels),
                  config=config, commit="unknown", **kept)  # fmt: skip
