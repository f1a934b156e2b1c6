"""What a run would need of this machine's memory, told before it starts."""

import os
from pathlib import Path

from flockwise.attacks import DataAttack, UpdateAttack
from flockwise.engine import Local, LocalEngine
from flockwise.engine.scratch import folder_for
from flockwise.errors import ConfigError
from flockwise.stages.method import Method
from flockwise.stages.sketching import LEAST_WIDTH, USUAL_WIDTH

_NUMBER, _PRODUCT = 4, 8  # bytes of a parameter, and of an entry of a square
_EDGES = 400  # bytes a client of the graph of nearest neighbours, while flocks are looked for
_GROUPS = Path("/sys/fs/cgroup")  # where a container is told its limit


def memory_needed(method: Method, clients: int, parameters: int, sketch: int | None = None) -> int:
    """The bytes that a method's models and memories take at most, once it has heard from everybody.

    With sketches of this width instead of whole updates, nothing is compared all with all, but sketches are copied once.
    """
    held = method.round.holds
    if sketch is None:
        rows = (method.models + held.rows * clients) * parameters
        return rows * _NUMBER + held.squares * clients**2 * _PRODUCT
    whole = (method.models + (held.rows - held.sketched) * clients) * parameters
    return (whole + (held.sketched + 1) * clients * sketch) * _NUMBER + clients * _EDGES


def refuse_too_large(method: Method, clients: int, parameters: int, sketch: int | None = None) -> None:
    """One line instead of an error in mid-run, or of a machine that swaps for ever."""
    needed, free = memory_needed(method, clients, parameters, sketch), free_memory()
    if free is None or needed <= free:
        return
    held, why = method.round.holds, []
    why += [f"{method.models} models"] if method.models > 1 else []
    why += ["each client's newest update"] if held.rows > (held.sketched if sketch else 0) else []
    why += ["sketches of all updates"] if sketch else []
    why += ["the comparison of all clients with all"] if held.squares and not sketch else []
    told = f" ({', '.join(why)})" if why else ""
    fewer = "fewer clients, " if held.rows or held.squares else "fewer flocks, " if method.models > 1 else ""
    if method.round.compares and not method.round.exact:
        smaller = min(sketch // 2 if sketch else USUAL_WIDTH, USUAL_WIDTH)
        instead = memory_needed(method, clients, parameters, smaller)
        if smaller >= LEAST_WIDTH and instead <= free:
            fewer = f"evidence.sketch = {smaller}, which needs {in_words(instead)}, {fewer}"
    raise ConfigError(
        f"strategy.name = {method.name!r}: with {clients} clients and {parameters} parameters it needs about "
        f"{in_words(needed)} of memory{told}, and {in_words(free)} are free; choose {fewer}a smaller model, "
        "or a strategy that keeps less, such as fedavg"
    )


def refuse_large_round(clients: int, parameters: int, fraction: float, whole: str) -> None:
    """The same of what a round's clients send, if all of it must be in memory at once; `whole` says why, or is empty."""
    needed, free = clients * parameters * _NUMBER, free_memory()
    if not whole and folder_for(needed) is None:
        whole = "no disk has room for them (TMPDIR may name another)"
    if free is not None and needed > free and whole:
        fits = fraction * free / needed
        raise ConfigError(
            f"sampling.fraction = {fraction:g}: the updates of {clients} clients a round take {in_words(needed)} of memory, "
            f"{in_words(free)} are free, and {whole}; choose at most {fits:.1g}, a smaller model, or what works in blocks "
            "(docs/million.md)"
        )


def kept_whole(
    method: Method, sketch: int | None, attack: UpdateAttack | DataAttack | None, engine: object
) -> str:
    """Why the updates of a round must all be in memory at once; "" if the run can do with a block of them."""
    if not isinstance(engine, Local | LocalEngine):
        return "only the local engine puts them on disk"
    if attack is not None and attack.craft is not None:
        return f"attack.name = {attack.name!r} looks at all of them at once"
    if method.round.compares and sketch is None:
        return "clients are compared on whole updates"
    return method.round.whole


def free_memory() -> int | None:
    """The bytes that this process could still be given, if anybody knows."""
    found = [known for known in (_system(), _container()) if known is not None]
    return min(found, default=None)


def in_words(size: int) -> str:
    """Bytes as a person reads them.

    >>> in_words(80_000_000_000)
    '80 GB'
    """
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.3g} {unit}"


def _system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf(
            "SC_PAGE_SIZE"
        )  # all there is, where nobody says what is free
    except (OSError, ValueError, AttributeError):
        return None


def _container() -> int | None:
    try:
        limit = int((_GROUPS / "memory.max").read_text(encoding="ascii"))
        return max(limit - int((_GROUPS / "memory.current").read_text(encoding="ascii")), 0)
    except (OSError, ValueError):  # "max": no limit
        return None
