"""How long the parts of a round take: clients at work, the server thinking; neither tests nor what attackers work out."""

import time
from collections.abc import Callable
from typing import Literal, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
Who = Literal["clients", "server"]


class Stopwatch:
    """Seconds by who took them. No two runs have the same: they go on record beside the facts, never among them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"clients": 0.0, "server": 0.0}

    def time(self, who: Who, work: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made:
        """Have the work done, and count it as theirs."""
        started = time.perf_counter()
        try:
            return work(*given, **named)
        finally:
            self.seconds[who] += time.perf_counter() - started
