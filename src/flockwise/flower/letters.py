"""Letters to clients, and those that must be written again because their node went away."""

from collections import Counter
from dataclasses import dataclass, field, replace

from flwr.app import Message
from flwr.serverapp import Grid

from flockwise.flower.internals import NODE_GONE, nodes_of
from flockwise.messages import Event

_TRIES = 5  # letters to one client in one exchange


@dataclass(frozen=True)
class Letter:
    """A message to a client; `number` says which of several it is."""

    client: int
    message: Message
    number: int = 0

    def again(self) -> "Letter":
        """The same letter as a new message."""
        old = self.message.metadata
        message = Message(
            self.message.content, old.dst_node_id, old.message_type, group_id=old.group_id, ttl=old.ttl
        )
        return replace(self, message=message)


@dataclass
class Lost:
    """Letters whose node died with them; where everybody is waited for, that costs time and not a reply."""

    letters: list[Letter] = field(default_factory=list)
    _tries: Counter[tuple[int, int]] = field(default_factory=Counter)

    def takes(self, letter: Letter, code: int | None) -> Event | None:
        """What is told of a letter that is kept for its node's return; None: its client failed, and not its node."""
        self._tries[letter.client, letter.number] += 1
        if (code is not None and code not in NODE_GONE) or self._tries[
            letter.client, letter.number
        ] >= _TRIES:
            return None
        self.letters.append(letter)
        return Event("asked again", "its node went away; it is asked again when it is back", letter.client)

    def due(self, grid: Grid) -> list[Letter]:
        """Those whose node is online, to be sent now."""
        online = {node.number for node in nodes_of(grid)} if self.letters else set()
        back = [letter for letter in self.letters if letter.message.metadata.dst_node_id in online]
        self.letters = [letter for letter in self.letters if letter not in back]
        return [letter.again() for letter in back]
