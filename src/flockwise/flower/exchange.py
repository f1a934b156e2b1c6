"""Messages out, answers in, until all are there or the time is up."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from flockwise.flower.roster import is_simulation
from flockwise.messages import Event


@dataclass(frozen=True)
class Letter:
    """A message to a client; `number` says which of several it is."""

    client: int
    message: Message
    number: int = 0


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
    _late: dict[str, tuple[int, str]] = field(default_factory=dict)  # given up, to notice late answers

    def ask(self, letters: Sequence[Letter], timeout: float) -> tuple[list[Answer], list[Event]]:
        """Answers in order of client and number, and what went wrong."""
        events = self._collect_late()
        if not letters:
            return [], events
        end = self.clock() + timeout
        waiting = self._push(letters, end, events)
        answers: dict[str, Answer] = {}
        together = is_simulation(self.grid)
        while waiting:
            started = self.clock()
            # One at a time: an answer that cannot even be unpacked must not take others with it.
            for ids in [set(waiting)] if together else [{one} for one in waiting]:
                for reply in self._pull(ids, waiting, events):
                    self._take(reply, waiting, answers, events)
            if not waiting or self.clock() >= end:
                break
            self.sleep(min(max(self.pause, self.clock() - started), max(end - self.clock(), 0.0)))
        for identity, letter in waiting.items():
            events.append(Event("late", f"no answer within {timeout:g} s", letter.client))
            self._late[identity] = (letter.client, letter.message.metadata.group_id)
        found = sorted(answers.values(), key=lambda answer: (answer.client, answer.number))
        return found, events

    def _push(self, letters: Sequence[Letter], end: float, events: list[Event]) -> dict[str, Letter]:
        while True:
            try:
                self.grid.push_messages([letter.message for letter in letters])
                break
            except Exception as error:  # the SuperLink is away: try until the time is up
                if not _is_transport(error) or self.clock() >= end:
                    raise
                self.sleep(1.0)
        sent = {letter.message.metadata.message_id: letter for letter in letters}
        lost = sent.pop("", None)
        if lost is not None:
            events.append(Event("dropout", "the message could not be handed over", lost.client))
        return sent

    def _pull(self, ids: set[str], waiting: dict[str, Letter], events: list[Event]) -> list[Message]:
        try:
            return list(self.grid.pull_messages(ids))
        except Exception as error:
            if _is_transport(error):
                return []  # the SuperLink is away for a moment
            for identity in ids:
                letter = waiting.pop(identity)
                why = f"reply rejected: cannot be unpacked ({type(error).__name__})"
                events.append(Event("rejected", why, letter.client))
            return []

    def _take(
        self, reply: Message, waiting: dict[str, Letter], answers: dict[str, Answer], events: list[Event]
    ) -> None:
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
        elif reply.has_error():
            reason = (reply.error.reason or "").strip().splitlines()
            events.append(Event("dropout", f"could not answer: {reason[-1][:200] if reason else 'no reason'}",
                                letter.client, {"code": reply.error.code}))  # fmt: skip
        elif reply.metadata.src_node_id != letter.message.metadata.dst_node_id:
            events.append(Event("rejected", "reply rejected: it comes from another node", letter.client))
        else:
            answers[identity] = Answer(letter.client, reply, letter.number, self.clock())

    def _collect_late(self) -> list[Event]:
        """Take answers to earlier letters off the SuperLink's hands; they are noted, never used."""
        events = []
        for identity, (client, round) in list(self._late.items()):
            try:
                came = list(self.grid.pull_messages({identity}))
            except Exception:
                came = []
                del self._late[identity]
            if came:
                del self._late[identity]
                if not came[0].has_error():
                    events.append(Event("late", f"its answer to round {round} came too late", client))
        return events


def _is_transport(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.HTTPError | ConnectionError | TimeoutError)
