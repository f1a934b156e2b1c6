"""Messages out, answers in, until all are there or the time is up."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from flockwise.flower.internals import TooLarge, capped, is_simulation, size_of
from flockwise.flower.letters import Letter, Lost
from flockwise.flower.pace import Pace
from flockwise.messages import Event

KEPT = 60.0  # seconds that an answer is kept by the SuperLink after its time


@dataclass(frozen=True)
class Answer:
    """The answer to a letter, and when it came (seconds since 1970, by our own clock)."""

    client: int
    message: Message
    number: int
    received: float


@dataclass
class Exchange:
    """Sends letters and collects answers; a node that is dead, late or broken costs its own answer only."""

    grid: Grid
    pause: float = 0.25
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    pace: Pace = field(default_factory=Pace)
    check: Callable[[], None] = lambda: None  # raises an error when no answer can come any more
    insists: bool = False  # who dies and comes back within the time is asked again
    # Given up, to notice late answers: the client, the round, and until when an answer may come.
    _late: dict[str, tuple[int, str, float]] = field(default_factory=dict)

    def ask(
        self, letters: Sequence[Letter], timeout: float, most: int | None = None
    ) -> tuple[list[Answer], list[Event]]:
        """Answers in order of client and number, and what went wrong; an answer of more than `most` bytes is refused.

        Clients that have fallen silent are left out until it is their turn again. In a simulation all are waited for,
        so that its result does not depend on how busy the machine is. Who `insists` waits for nodes that die, too.
        """
        events = self._collect_late(most)
        letters = [letter for letter in letters if not self.pace.resting(letter.client)]
        if not letters:
            return [], events
        events += filter(None, map(self.pace.due, sorted({letter.client for letter in letters})))
        kind, began = letters[0].message.metadata.message_type, self.clock()
        end = began + timeout
        lost = Lost() if self.insists else None
        waiting = self._push(letters, end, events, lost)
        answers: dict[str, Answer] = {}
        together = is_simulation(self.grid)
        while waiting or (lost and lost.letters):
            self.check()
            started = self.clock()
            if lost and (back := self._back(lost)):
                waiting |= self._push(back, end, events, lost)
            # One at a time: an answer that cannot even be unpacked must not take others with it.
            for ids in [set(waiting)] if together else [{one} for one in waiting]:
                for reply in self._pull(ids, waiting, events, most):
                    self._take(reply, waiting, answers, events, most, lost)
            took = [answer.received - began for answer in answers.values()]
            early = not together and self.pace.enough(
                kind, len(answers) + len(waiting), took, self.clock() - began
            )
            if not (waiting or (lost and lost.letters)) or early or self.clock() >= end:
                break
            self.sleep(min(max(self.pause, self.clock() - started), max(end - self.clock(), 0.0)))
        self.pace.note(kind, [answer.received - began for answer in answers.values()])
        waited = min(self.clock(), end) - began
        for identity, letter in waiting.items():
            events.append(Event("late", f"no answer within {waited:.3g} s", letter.client))
            self._late[identity] = (letter.client, letter.message.metadata.group_id, end + KEPT)
        silent = {letter.client for letter in [*waiting.values(), *(lost.letters if lost else ())]}
        events += map(self.pace.missed, sorted(silent))
        events += filter(None, map(self.pace.heard, sorted({letter.client for letter in letters} - silent)))
        found = sorted(answers.values(), key=lambda answer: (answer.client, answer.number))
        return found, events

    def _back(self, lost: Lost) -> list[Letter]:
        try:
            return lost.due(self.grid)
        except Exception as error:
            if not _is_transport(error):
                raise
            return []  # the SuperLink is away, too

    def _push(
        self, letters: Sequence[Letter], end: float, events: list[Event], lost: Lost | None
    ) -> dict[str, Letter]:
        while True:
            try:
                self.grid.push_messages([letter.message for letter in letters])
                break
            except Exception as error:  # the SuperLink is away: try until the time is up
                if not _is_transport(error) or self.clock() >= end:
                    raise
                self.sleep(1.0)
        for letter in letters:
            if not letter.message.metadata.message_id:
                told = lost.takes(letter, None) if lost else None
                events.append(told or Event("dropout", "the message could not be handed over", letter.client))
        return {
            letter.message.metadata.message_id: letter
            for letter in letters
            if letter.message.metadata.message_id
        }

    def _pull(
        self, ids: set[str], waiting: dict[str, Letter], events: list[Event], most: int | None
    ) -> list[Message]:
        try:
            with capped(self.grid, most):
                return list(self.grid.pull_messages(ids))
        except Exception as error:
            if _is_transport(error):
                return []  # the SuperLink is away for a moment
            large = isinstance(error, TooLarge)
            why = str(error) if large else f"cannot be unpacked ({type(error).__name__})"
            for identity in ids:
                letter = waiting.pop(identity)
                events.append(Event("rejected", f"reply rejected: {why}", letter.client))
            return []

    def _take(
        self, reply: Message, waiting: dict[str, Letter], answers: dict[str, Answer], events: list[Event],
        most: int | None, lost: Lost | None,
    ) -> None:  # fmt: skip
        identity = reply.metadata.reply_to_message_id
        if identity in answers:
            client = answers[identity].client
            events.append(
                Event("rejected", "reply rejected: answered twice; the first answer counts", client)
            )
            return
        letter = waiting.pop(identity, None)
        if letter is None:
            events.append(Event("rejected", "reply rejected: answers nothing that was asked"))
        elif reply.has_error() and lost and (told := lost.takes(letter, reply.error.code)):
            events.append(told)
        elif reply.has_error():
            reason = (reply.error.reason or "").strip().splitlines()
            events.append(Event("dropout", f"could not answer: {reason[-1][:200] if reason else 'no reason'}",
                                letter.client, {"code": reply.error.code}))  # fmt: skip
        elif reply.metadata.src_node_id != letter.message.metadata.dst_node_id:
            events.append(Event("rejected", "reply rejected: it comes from another node", letter.client))
        elif most is not None and (size := size_of(reply)) > most:
            why = f"reply rejected: takes {size} bytes; at most {most} can be right"
            events.append(Event("rejected", why, letter.client))
        else:
            answers[identity] = Answer(letter.client, reply, letter.number, self.clock())

    def _collect_late(self, most: int | None) -> list[Event]:
        """Take answers to earlier letters off the SuperLink's hands; they are noted, never used."""
        events = []
        for identity, (client, round, until) in list(self._late.items()):
            came, broken = False, False
            try:
                with capped(self.grid, most):
                    found = list(self.grid.pull_messages({identity}))
                came, broken = any(not reply.has_error() for reply in found), bool(found)
            except Exception as error:
                came, broken = isinstance(error, TooLarge), not _is_transport(error)
            if came:
                events.append(Event("late", f"its answer to round {round} came too late", client))
            if came or broken or self.clock() > until:
                del self._late[identity]
        return events


def _is_transport(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.HTTPError | ConnectionError | TimeoutError)
