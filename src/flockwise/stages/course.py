"""The course of each client: the mean direction of its updates so far, as evidence and as its own past.

One update says little: most of it is the noise of a few batches, the more so the higher the learning rate. What a client
pulls towards round after round stays, and the noise averages out. So clients of different kinds are told apart within two or
three rounds, and a client that turns is told from its own past, however little it has in common with others.
"""

from dataclasses import dataclass

import numpy as np

from flockwise.messages import Event
from flockwise.similarity import ClientTable
from flockwise.stages.evidence import Known, OfUpdates, learned, learned_layers
from flockwise.stages.grouping import Found
from flockwise.stages.regroup import all_go_on
from flockwise.stages.sketching import sketched, sketcher_of
from flockwise.stages.stage import REPLIES, Holds, Round, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in
from flockwise.types import Clients, Mask, Updates

LONGEST = 5  # rounds that a course is the mean of; then older ones fade
PAST = 3  # rounds that make a past
PATIENCE = 3  # rounds in a row against its past after which a client goes its own way


class _Courses:
    """By client: its course, the rounds that are in it, how long its updates were in them, the flock it was in, how often in
    a row it went against its course, and how often clearly."""

    def __init__(self, table: ClientTable) -> None:
        self.table = table

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table[name]

    def arrays(self) -> dict[str, np.ndarray]:
        return self.table.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "_Courses":
        known = {name: np.require(a, requirements=["C", "W"]) for name, a in arrays.items()}
        clients = len(known["rounds"])
        added = {"length": np.zeros(clients), "clearly": np.zeros(clients, dtype=np.int64)}
        return cls(ClientTable({**added, **known}))  # runs of older releases have none of what was added


COURSES = Slot(
    "courses",
    _Courses,
    {"course": 0.0, "rounds": 0, "length": 0.0, "home": UNPLACED, "against": 0, "clearly": 0},
)


@dataclass(frozen=True)
class Courses(OfUpdates):
    """Keeps the courses, and hands them out as evidence."""

    needs: frozenset[object] = frozenset({REPLIES, COURSES})

    @property
    def keep(self) -> Stage:
        """The stage that takes this round's updates into the courses; those against their client's past do not count.

        A client that does so in three rounds in a row begins a new course, as does who came from another flock. If each of
        the three took back half of its course or more, it has changed, or lies: it goes on in a flock of its own. Less is
        what noise makes of a client that has little left to learn. If all of a flock turn, the flock has turned: all count.
        """

        def run(round: Round) -> Round:
            directions, lengths = _directions(round)
            state = round.state
            held = COURSES.get(state)
            if held is None or held["course"].shape != (state.clients, directions.shape[1]):
                held = _nothing_yet(state, directions.shape[1])
            clients, before = round.replies.clients, held
            rounds, home = _at_home(state, held)
            against, clearly, begins = _against(state, clients, directions, before["course"], rounds)
            streak = np.where(against, before["against"][clients] + 1, 0)
            clear = np.where(clearly, before["clearly"][clients] + 1, 0)
            over, leave = streak >= PATIENCE, clear >= PATIENCE
            rounds[clients[over | begins]] = 0
            taken = ~against | over
            table = before.table
            table = table.changed(np.arange(state.clients), rounds=rounds, home=home)
            table = table.changed(
                clients, against=np.where(over, 0, streak), clearly=np.where(over, 0, clear)
            )
            table = _moved(table, clients[taken], directions[taken], lengths[taken])
            round = round.to(COURSES.put(state, _Courses(table)))
            if against.any():
                round = _told(round, clients[against & ~over])
                round = _part(round, clients[leave])
                round = round.to(round.state, batch=round.replies.of(taken))
            return round

        held = Holds(rows=1, sketched=1)
        return stage("keep courses", run, [REPLIES], [COURSES], holds=held, compares=True)

    def known(self, round: Round) -> Known:
        """Every free client with a course."""
        held = COURSES.get(round.state)
        assert held is not None
        clients = np.flatnonzero((held["rounds"] > 0) & round.state.free)
        sketch = sketcher_of(round.setting, round.state.clients, round.state.models.shape[1])
        pick = lambda some: held["course"][clients[some]]  # noqa: E731
        layers = () if sketch else learned_layers(round.setting)
        rows, lost = lambda: held["course"][clients], sketch.kind.lost if sketch else 0.0
        return Known(clients, rows, layers, sketched=bool(sketch), lost=lost, pick=pick)


def _directions(round: Round) -> tuple[Updates, np.ndarray]:
    """This round's updates, or their sketches, with length one, so that nobody is louder than others; and their lengths."""
    batch = round.replies
    sketcher = sketcher_of(round.setting, round.state.clients, round.state.models.shape[1])
    rows = sketched(batch, sketcher) if sketcher else learned(batch.updates, round.setting)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None], dtype=np.float32), lengths


def _nothing_yet(state: State, width: int) -> _Courses:
    zeros = np.zeros(state.clients, dtype=np.int64)
    return _Courses(
        ClientTable(
            {"course": np.zeros((state.clients, width), np.float32), "rounds": zeros, "length": np.zeros(state.clients),
             "home": zeros + UNPLACED, "against": zeros.copy(), "clearly": zeros.copy()}
        )
    )  # fmt: skip


def _at_home(state: State, held: _Courses) -> tuple[np.ndarray, np.ndarray]:
    """The rounds in each course, none for who came from elsewhere; and where everybody is now.

    Courses of different models cannot be compared. A flock's members had their courses in that flock, or, if it is new, in
    the one that most come from: who moves in must not make those forget who were there, however many move.
    """
    rounds, home = held["rounds"].copy(), held["home"]
    for flock in flocks_in(state.labels):
        members = np.flatnonzero((state.labels == flock) & (rounds > 0))
        if len(members):
            stays = (home[members] == flock).any()
            origin = flock if stays else np.bincount(home[members] + 1).argmax() - 1
            rounds[members[home[members] != origin]] = 0
    return rounds, state.labels.copy()


def _against(
    state: State, clients: Clients, directions: Updates, courses: Updates, rounds: np.ndarray
) -> tuple[Mask, Mask, Mask]:
    """Whose update points against its own past, whose clearly; and who begins anew, since all of its flock did."""
    old = rounds[clients] >= PAST
    against, clearly = np.zeros((2, len(clients)), dtype=bool)
    past = courses[clients[old]]
    along = np.einsum("ij,ij->i", directions[old], past, dtype=np.float64)
    against[old] = along < 0
    half = np.einsum("ij,ij->i", past, past, dtype=np.float64) / 2
    clearly[old] = along < -half  # nearer to its course turned round than to nothing
    begins = np.zeros_like(against)
    for flock in flocks_in(state.labels[clients[against]]):
        mine = state.labels[clients] == flock
        alone = np.sum((state.labels == flock) & state.free) == 1
        if against[mine].all() and (mine.sum() > 1 or alone):  # one of many speaks for itself
            begins |= mine
    return against & ~begins, clearly & ~begins, begins


def _moved(table: ClientTable, clients: Clients, directions: Updates, lengths: np.ndarray) -> ClientTable:
    rounds = table["rounds"][clients] + 1
    before = np.where(rounds[:, None] > 1, table["course"][clients], 0.0)
    after = before + (directions - before) / np.minimum(rounds, LONGEST)[:, None]
    length = np.where(rounds > 1, table["length"][clients], 0.0)
    length = length + (lengths - length) / np.minimum(rounds, LONGEST)
    return table.changed(clients, course=after.astype(np.float32), length=length, rounds=rounds)


def _told(round: Round, clients: Clients) -> Round:
    if not len(clients):
        return round
    told = f"{len(clients)} clients point against their own past: what they sent does not count"
    return round.noted(events=[Event("turned", told, detail={"clients": clients.tolist()})])


def _part(round: Round, leave: Clients) -> Round:
    """Those who leave are a flock of their own, with the others who leave the same flock."""
    for flock in flocks_in(round.state.labels[leave]):
        members = np.flatnonzero((round.state.labels == flock) & round.state.free)
        found = Found(members, np.isin(members, leave).astype(np.int64))
        round = all_go_on(round, int(flock), found)
    return round
