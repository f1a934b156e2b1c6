"""How long the parts of a round take: clients at work, the server thinking; neither tests nor what attackers work out."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Who = Literal["clients", "server"]


class Stopwatch:
    """Seconds by who took them. No two runs have the same: they go on record beside the facts, never among them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"clients": 0.0, "server": 0.0}

    @contextmanager
    def of(self, who: Who) -> Iterator[None]:
        """What is done meanwhile counts as theirs."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[who] += time.perf_counter() - started
