"""A round is a chain of stages.

    chain(train(sample), average(rule))                                    # FedAvg
    chain(train(sample), latest.remember, average(rule), find_flocks(latest, louvain, once(10)), place())

A stage takes the round as the stages before it have made it and returns it changed; one that needs the clients yields
a plan and is sent what the gate let in. The order of stages is the method. A stage says what it needs and what it
gives, so that a chain that makes no sense is refused when it is put together.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from flockwise.errors import InputError
from flockwise.messages import Event, Plan, Scores
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages.batch import Batch
from flockwise.stages.state import State
from flockwise.types import Labels, Mask, Vector

Layers = tuple[tuple[int, int], ...]  # first and last parameter of each layer
REPLIES = "replies"  # what `train` gives
AVERAGED = "averaged models"  # what `average` and its kin give


@dataclass(frozen=True)
class Setting:
    """What a method may know of the federation it works in."""

    seed: int = 0
    fraction: float = 1.0  # of the clients, or of each flock, that trains in a round
    layers: Layers = ()
    learned: Layers = ()  # the numbers that training moves, as spans; (): all. Statistics of batches are not learned
    weight_cap: float | None = 5.0  # of a flock's median sample count: no client counts for more
    # The true groups in a round: given to a method that says it reads them (`Method.reads_truth`) and to no other.
    truth: Callable[[int], Labels] | None = None
    scoring: Scoring = ACCURACY  # how models are compared
    # Clients are compared on so many numbers of each update (`stages/sketching.py`); None: on whole updates.
    sketch: int | Literal["auto"] | None = "auto"


@dataclass(frozen=True)
class Admitted:
    """What the gate let in of the answers to a plan, and what it rejected."""

    replies: Any  # Replies to a training plan, a sequence of Scores to a validation plan
    rejected: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Round:
    """A round as the stages so far have made it; nothing in it is ever changed in place."""

    state: State
    setting: Setting = field(default_factory=Setting)
    present: Mask | None = None  # who can be reached; None: everyone
    with_root: bool = False  # the server's own data trains along
    batch: Batch | None = None  # None: nobody has trained yet, or no reply could be used
    before: State | None = None  # the state before the round; None: that of now
    roots: Mapping[int, Vector] = field(default_factory=dict)  # the server's own updates, by row of the plan
    facts: Mapping[str, float] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def number(self) -> int:
        """The number of this round, from 1."""
        return self.state.round + 1

    @property
    def start(self) -> State:
        """The state before this round."""
        return self.before or self.state

    @property
    def replies(self) -> Batch:
        """The admitted replies; a stage that uses them says that it needs them."""
        assert self.batch is not None
        return self.batch

    def to(self, state: State, **changes: Any) -> "Round":
        """The round with another state."""
        return self._changed(state=state, **changes)

    def noted(
        self, facts: Mapping[str, float] | None = None, arrays: Mapping[str, np.ndarray] | None = None,
        events: Sequence[Event] = (),
    ) -> "Round":  # fmt: skip
        """The round with more on its record."""
        return self._changed(
            facts={**self.facts, **facts} if facts else self.facts,
            arrays={**self.arrays, **arrays} if arrays else self.arrays,
            events=(*self.events, *events),
        )

    def _changed(self, **changes: Any) -> "Round":
        """As `dataclasses.replace`, which takes ten times as long: a light round has a dozen of these."""
        made = object.__new__(Round)
        made.__dict__.update(self.__dict__, **changes)
        return made


Steps = Generator[Plan, Admitted, Round]


class Holds(NamedTuple):
    """What a stage holds of all clients at once: rows of parameters for each, and squares, clients by clients."""

    rows: int = 0
    squares: int = 0
    sketched: int = 0  # of the rows, those that a sketch can take the place of


NOTHING_HELD = Holds()
# What there is to say of a run to this many rounds, seen from a state of it, before its first round or after its last; ""
# if nothing. A method that has not come to do what it is for should not be silent about it.
Remark = Callable[[State, int], str]


@dataclass(frozen=True)
class Stage:
    """One step of a round. `needs` and `gives` are names and slots of memories that stages hand on."""

    name: str
    run: Callable[[Round], Steps]
    needs: frozenset[object] = frozenset()
    gives: frozenset[object] = frozenset()
    wants_root: bool = False  # uses the server's own updates
    holds: Holds = NOTHING_HELD
    remarks: tuple[Remark, ...] = ()
    compares: bool = False  # clients by their updates, whole or sketched
    exact: str = ""  # why it needs whole updates for that, if it does
    whole: str = ""  # why it needs all updates of a round in memory at once, if it does
    spends: frozenset[object] = (
        frozenset()
    )  # what it uses up, of what is given before it: replies move models once
    spent: frozenset[object] = frozenset()  # what is used up when it is done
    relabels: bool = True  # it may put clients into flocks of models that the method starts from

    def __repr__(self) -> str:
        return self.name


def stage(
    name: str, function: Callable[[Round], Round], needs: Sequence[object] = (), gives: Sequence[object] = (),
    wants_root: bool = False, holds: Holds = NOTHING_HELD, remarks: Sequence[Remark] = (), compares: bool = False,
    exact: str = "", whole: str | None = None, spends: Sequence[object] = (), relabels: bool = True,
) -> Stage:  # fmt: skip
    """A stage that asks clients nothing. One that needs replies is taken to need all updates of a round at once unless it
    says otherwise (`whole=""`): a round that does not fit into memory is refused before it is begun. One that moves models
    by the replies spends them: no other may do so again before somebody trains."""
    if whole is None:
        whole = f"the stage {name!r} needs all of them at once" if REPLIES in needs else ""

    def run(round: Round) -> Steps:
        return function(round)
        yield  # makes it a generator like the others

    return Stage(
        name,
        run,
        frozenset(needs),
        frozenset(gives),
        wants_root,
        holds,
        tuple(remarks),
        compares,
        exact,
        whole,
        frozenset(spends),
        frozenset(spends),
        relabels,
    )


def chain(*stages: Stage) -> Stage:
    """One after the other; in a round without a usable reply, those that need replies are passed over."""

    def run(round: Round) -> Steps:
        for each in stages:
            if round.batch is not None or REPLIES not in each.needs:
                round = yield from each.run(round)
        return round

    needs: set[object] = set()
    gives: set[object] = set()
    spends: set[object] = set()
    spent: set[object] = set()
    for each in stages:
        if not isinstance(each, Stage):
            raise InputError(f"chain: {each!r} is not a stage")
        for missing in sorted(each.needs - gives, key=str):
            if any(missing in later.gives for later in stages):
                raise InputError(f"{each}: needs {missing}, which comes only after it; change their order")
        for twice in sorted(each.spends & spent, key=str):
            raise InputError(
                f"{each}: the same {twice} moved the models before it; put train(...) between them"
            )
        needs |= each.needs - gives
        spends |= each.spends - gives
        gives |= each.gives
        spent = spent - each.gives | each.spent
    return Stage(
        " > ".join(each.name for each in stages if each.name), run, frozenset(needs), frozenset(gives),
        any(each.wants_root for each in stages),
        Holds(*(sum(counts) for counts in zip(NOTHING_HELD, *(each.holds for each in stages), strict=True))),
        tuple(remark for each in stages for remark in each.remarks),
        any(each.compares for each in stages), next((each.exact for each in stages if each.exact), ""),
        next((each.whole for each in stages if each.whole), ""), frozenset(spends), frozenset(spent),
        any(each.relabels for each in stages),
    )  # fmt: skip


nothing = chain()


def when(condition: Callable[[Round], bool], then: Stage, otherwise: Stage = nothing) -> Stage:
    """One stage or the other, as the round says when it comes to it."""

    def run(round: Round) -> Steps:
        return (yield from (then if condition(round) else otherwise).run(round))

    return Stage(
        f"when({then.name}, otherwise {otherwise.name})", run, then.needs | otherwise.needs,
        then.gives & otherwise.gives, then.wants_root or otherwise.wants_root,
        Holds(*map(max, then.holds, otherwise.holds)), (*then.remarks, *otherwise.remarks),
        then.compares or otherwise.compares, then.exact or otherwise.exact, then.whole or otherwise.whole,
        then.spends | otherwise.spends, then.spent & otherwise.spent, then.relabels or otherwise.relabels,
    )  # fmt: skip


def ask(round: Round, plan: Plan) -> Generator[Plan, Admitted, tuple[Round, Sequence[Scores]]]:
    """Hand a plan out; the round with what was rejected on its record, and what came back."""
    admitted = yield plan
    return round.noted(events=admitted.rejected), admitted.replies
