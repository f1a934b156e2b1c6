"""A method: what happens in a round, and which model each client has."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flockwise.errors import InputError
from flockwise.stages.attribution import Attribution, own_flock, serves_one, starts_as_one
from flockwise.stages.personal import Personal
from flockwise.stages.report import Report, ReportOf
from flockwise.stages.stage import AVERAGED, REPLIES, Stage
from flockwise.stages.state import State

_GIVERS: dict[object, str] = {REPLIES: "train(...)", AVERAGED: "average(...)"}


@dataclass(frozen=True)
class Method:
    """A clustered or robust method, ready for a Server: `fw.flic(warmup=10)` makes one.

    `round` is its chain of stages, `serve` which model each client has between rounds, `models` how many it starts
    from, `report` what clients tell besides their updates, `personal` what they keep to themselves. `reads_truth` asks for
    the split's groups, for upper bounds. A report whose shapes follow from the data is a function of the numbers in a
    sample and of the classes; whoever knows the data makes it with `for_data`. `options` are
    what it was made with, for the record.
    """

    round: Stage
    serve: Attribution = own_flock
    models: int = 1
    report: Report | ReportOf | None = None
    personal: Personal | None = None
    reads_truth: bool = False
    name: str = "own"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for missing in sorted(self.round.needs, key=str):
            before = _GIVERS.get(missing, f"a stage that remembers {missing}")
            raise InputError(f"{self.name}: {self.round} needs {missing}; put {before} before it")
        if REPLIES not in self.round.gives:
            raise InputError(f"{self.name}: {self.round} never trains; put train(...) into every branch")
        idle = serves_one(self.serve) or (starts_as_one(self.serve) and not self.round.relabels)
        if self.models > 1 and idle:
            raise InputError(
                f"{self.name}: models = {self.models}: everybody begins with the first and nothing gives anybody another; "
                "leave models out, or serve with Choice()"
            )

    @property
    def needs_root(self) -> bool:
        """Whether the server's own clean data trains along (FLTrust)."""
        return self.round.wants_root

    def for_data(self, features: int, classes: int) -> "Method":
        """The same method, for samples of so many numbers, of so many classes."""
        if self.report is None or isinstance(self.report, Report):
            return self
        return replace(self, report=self.report(features, classes))

    def remarks(self, state: State, rounds: int) -> list[str]:
        """What a person should know of a run to this many rounds: what will not happen, or has not."""
        return [told for remark in self.round.remarks if (told := remark(state, rounds))]

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.name.replace('-', '_')}({told})"
