"""What a paper's tables and figures are made of: cells, each an ordinary run and the numbers read from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from flockwise.papers.finished import Finished
from flockwise.papers.results import Result

SCALES = ("smoke", "short", "full")
Kind = Literal["percent", "share", "number", "fact"]


@dataclass(frozen=True)
class Measure:
    """One number of a cell: what was published, and how ours is read from the finished run.

    `percent` and `share` are accuracies (0 to 100, 0 to 1) and are judged within one point; a `number` is
    shown beside the published one without a verdict; a `fact` must be exactly the published one.
    `published` is None where the paper shows the number only in a drawing, or not at all.
    """

    name: str
    read: Callable[[Finished], float]
    published: float | None = None
    kind: Kind = "percent"


@dataclass(frozen=True)
class Prefix:
    """Rounds that several cells have in common: run once, each cell forks from the end of round `at`."""

    config: str
    overrides: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Twin:
    """A cell of the same table that another equals as long as a measure of it is 0: what it adds never came to pass."""

    cell: str
    measure: str


@dataclass(frozen=True)
class Cell:
    """One run of a table or figure.

    `config` names a TOML file of the paper; `overrides` are what `flockwise run --set` takes.
    `curves` are kept round by round, for figures. `compute` replaces the run where the experiment is not
    one that a config can say; it is given the cell's name and a seed, and gives curves by name.
    `twin` is run first, and may answer for this cell too.
    `decides_at` is the only round in which a cell's own options matter: cells of a table that share a beginning
    and find the same flocks in it have the same numbers.
    """

    table: str
    name: str
    config: str
    overrides: tuple[str, ...]
    measures: tuple[Measure, ...]
    prefix: Prefix | None = None
    curves: tuple[str, ...] = ()
    arrays: Callable[[Finished], dict[str, list[list[float]]]] | None = None  # small matrices, for figures
    compute: Callable[[str, int], dict[str, list[float]]] | None = None
    decides_at: int | None = None
    twin: Twin | None = None


@dataclass(frozen=True)
class Claim:
    """What a paper says in words, judged on the means of our cells: None while cells are missing."""

    text: str
    holds: Callable[["Means"], bool | None]


@dataclass(frozen=True)
class Figure:
    """A drawing made from the results of one scale; `draw` gives SVG, or None while cells are missing."""

    name: str
    title: str
    draw: Callable[[Sequence[Result]], str | None]


Means = Callable[[str, str, str], float | None]  # table, cell, measure: our mean over seeds
CellsAt = Callable[[str], Sequence[Cell]]


@dataclass(frozen=True)
class Paper:
    """A paper: its cells at each scale, what it claims, and how we read what it leaves open."""

    name: str
    title: str
    folder: str  # of its configs, in this package
    cells: CellsAt
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    reading: str = ""  # Markdown: how open settings were read, and what was tried
    scales: str = ""  # Markdown: what smoke and short reduce
    notes: str = ""  # Markdown: where ours is not the paper's, known before any run
