"""A study's file: a base config, what is varied, how often, and what to show; checked before anything runs."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.errors import ConfigError
from flockwise.numbers import number_of
from flockwise.options import validated

Scalar = str | int | float | bool
Settings = dict[str, Any]  # a part of a config, such as {"aggregation": {"name": "median"}}
Where = dict[str, Scalar | list[Scalar]]  # axis: the label, or labels, that are meant
RoundOf = int | str  # a round, or a field of the cell's config that holds one: "strategy.warmup - 1"
Axis = list[Scalar | list[Scalar]] | dict[str, Settings]


class Fork(Section):
    """Rounds that cells have in common: trained once, each cell goes on from there."""

    at: RoundOf = Field(description="the last common round")
    where: Where = Field(default_factory=dict, description="only these cells; default: all")
    before: Settings = Field(default_factory=dict, description="what is different in the common rounds")
    settled: RoundOf | None = Field(
        None,
        description="after this round a cell's own settings no longer matter: equal states share the rest",
    )


class Adjust(Section):
    """Settings for the cells that `where` means, on top of what their axes say."""

    where: Where = Field(description="axis = label, or a list of labels")
    set: Settings = Field(description="a part of a config")


class NumberSpec(Section):
    """How a number is read from a run: which one, and when."""

    of: str = Field("accuracy", description="a number of runs, or module:function of a finished run")
    at: RoundOf | None = Field(None, description="the round; default: the last")
    over: list[RoundOf] | None = Field(None, min_length=2, max_length=2, description="first and last round")
    last: Annotated[int, Field(ge=1)] | None = Field(None, description="over the last so many rounds")
    statistic: Literal["mean", "best", "worst", "rises"] = Field(
        "mean", description="of `over` or `last`; rises: in how many rounds it went up"
    )
    target: float | None = Field(None, description="for numbers that compare with a target")
    percent: bool = Field(False, description="show a share as percent")
    better: Literal["higher", "lower", "neither"] | None = Field(
        None, description="which direction is better; default: as the number's definition says"
    )
    title: str = Field("", description="what it is called; default: as its definition says")

    @property
    def direction(self) -> Literal["higher", "lower", "neither"]:
        """Which direction is better."""
        return self.better or number_of(self.of).better


class Show(Section):
    """The table: what its rows and columns are, which numbers, which pictures."""

    rows: list[str] | str | None = Field(None, description="axes down the side; default: the first")
    columns: list[str] | str | None = Field(
        None, description="axes across; those that are named nowhere come after them"
    )
    numbers: list[str] = Field(["accuracy"], min_length=1, description="the first is what is compared")
    bounds: list[str] = Field(
        default_factory=list,
        description="rows that are bounds and no contestants, by label: never marked as the best",
    )
    worst: str | None = Field(None, description="add a column with the worst over this axis")
    figures: list[Literal["heat", "curves", "seeds", "when"]] = Field(
        ["heat", "curves", "seeds", "when"], description="which pictures"
    )


class Range(Section):
    """Values from low to high."""

    low: float = Field(description="the lowest value")
    high: float = Field(description="the highest value")
    log: bool = Field(False, description="search by factors instead of steps")
    whole: bool = Field(False, description="whole numbers only")


class Tune(Section):
    """A fair search: every method gets the same number of tries, judged on validation data alone."""

    search: dict[str, list[Scalar] | Range] = Field(
        description="fields and what to try: a list, or {low = 0.001, high = 1.0, log = true}"
    )
    tries: int = Field(10, ge=1, description="of each method; a grid that is smaller is tried whole")
    number: str = Field("accuracy", description="what is judged: a number of rounds, on validation data")
    by: list[str] = Field(
        default_factory=list, description="axes whose labels are tuned apart; default: rows"
    )
    seed: int = Field(0, ge=0, description="of the tries and of the search")
    rounds: int | None = Field(None, ge=1, description="of a try; default: the cell's own")
    table: str | None = Field(
        None, description="methods are tuned in this table, for all tables that have them; default: in each"
    )


class Table(Section):
    """One table: its cells are all combinations of what is varied."""

    title: str = Field("", description="what stands above it")
    cell: str | None = Field(None, description='how cells are called, such as "{method}, {attack}"')
    base: Settings = Field(
        default_factory=dict, description="what all cells have in common, a part of a config"
    )
    vary: dict[str, Axis] = Field(
        default_factory=dict, description="axes: named settings, or a field with a list of values"
    )
    skip: list[Where] = Field(default_factory=list, description="cells to leave out")
    adjust: list[Adjust] = Field(default_factory=list, description="settings for some cells only")
    fork: Fork | list[Fork] | None = Field(
        None, description="rounds that cells share; of several the first that means a cell counts"
    )
    compute: str | None = Field(None, description="module:function(labels, seed) instead of runs")
    seeds: int | list[int] | None = Field(None, description="how many, or which")
    numbers: dict[str, NumberSpec] = Field(default_factory=dict, description="how numbers are read, by name")
    curves: list[str] = Field(default_factory=list, description="further numbers to keep round by round")
    arrays: str | None = Field(None, description="module:function of a finished run: small matrices to keep")
    show: Show = Field(default_factory=Show, description="rows, columns, numbers, pictures")
    tune: Tune | None = Field(None, description="a fair search before anything is compared")

    def forks(self) -> list[Fork]:
        """What cells have in common, one or several."""
        return self.fork if isinstance(self.fork, list) else [self.fork] if self.fork else []


class StudyFile(Table):
    """A whole study: one table, or several that share a base."""

    name: str = Field(
        "study", min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$",
        description="default: the file's name",
    )  # fmt: skip
    seeds: int | list[int] | None = Field(1, description="how many, or which")
    scales: dict[str, Settings] = Field(
        default_factory=dict, description="named changes of the base, chosen by --scale"
    )
    tables: dict[str, Table] = Field(
        default_factory=dict, description="several tables that share base, axes, seeds, numbers and tuning"
    )

    def every_table(self) -> dict[str, Table]:
        """The tables by name; a study without any is one itself."""
        if not self.tables:
            return {"": self}
        return {name: self._inherited(table) for name, table in self.tables.items()}

    def _inherited(self, table: Table) -> Table:
        from flockwise.config.reading import with_settings

        return table.model_copy(
            update={
                "base": with_settings(self.base, table.base),
                "vary": {**self.vary, **table.vary},
                "numbers": {**self.numbers, **table.numbers},
                "seeds": self.seeds if table.seeds is None else table.seeds,
                "adjust": [*self.adjust, *table.adjust],
                "curves": [*self.curves, *table.curves],
                "tune": table.tune or self.tune,
            }
        )


def read_study(what: str | Path | Mapping[str, Any]) -> StudyFile:
    """A study from a TOML file or a mapping; ConfigError with a line per fault."""
    if isinstance(what, Mapping):
        return _checked(what)
    path = Path(what)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    return _checked({"name": path.stem, **content})


def _checked(content: Mapping[str, Any]) -> StudyFile:
    from flockwise.studies.faults import faults_of

    study = validated(StudyFile, content)
    faults = [
        f"tables.{name}.{fault}" if name else fault
        for name, table in study.every_table().items()
        for fault in faults_of(table)
    ]
    at = study.tune.table if study.tune else None
    if at is not None and at not in study.tables:
        faults.append(f"tune.table = {at!r}: no such table; there are {', '.join(study.tables) or 'none'}")
    if faults:
        raise ConfigError("\n".join(faults))
    return study


def sides(table: Table) -> tuple[list[str], list[str]]:
    """The axes of the rows and of the columns; every axis is in one of them, so that no cell hides another."""
    rows, columns = listed(table.show.rows), listed(table.show.columns)
    if not rows:
        rows = [axis for axis in table.vary if axis not in columns][:1]
    return rows, columns + [axis for axis in table.vary if axis not in (*rows, *columns)]


def listed(axes: list[str] | str | None) -> list[str]:
    """Axes that may be given as one."""
    return [axes] if isinstance(axes, str) else list(axes or [])
