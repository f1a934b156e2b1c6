"""What a run would need of this machine's memory, told before it starts."""

import os
from pathlib import Path

from flockwise.errors import ConfigError
from flockwise.stages.method import Method

_NUMBER, _PRODUCT = 4, 8  # bytes of a parameter, and of an entry of a square
_GROUPS = Path("/sys/fs/cgroup")  # where a container is told its limit


def memory_needed(method: Method, clients: int, parameters: int) -> int:
    """The bytes that a method's models and memories take at most, once it has heard from everybody."""
    held = method.round.holds
    rows = (method.models + held.rows * clients) * parameters * _NUMBER
    return rows + held.squares * clients**2 * _PRODUCT


def refuse_too_large(method: Method, clients: int, parameters: int) -> None:
    """One line instead of an error in mid-run, or of a machine that swaps for ever."""
    needed, free = memory_needed(method, clients, parameters), free_memory()
    if free is None or needed <= free:
        return
    held, why = method.round.holds, []
    why += [f"{method.models} models"] if method.models > 1 else []
    why += ["each client's newest update"] if held.rows else []
    why += ["the comparison of all clients with all"] if held.squares else []
    told = f" ({', '.join(why)})" if why else ""
    fewer = "fewer clients, " if held.rows or held.squares else "fewer flocks, " if method.models > 1 else ""
    raise ConfigError(
        f"strategy.name = {method.name!r}: with {clients} clients and {parameters} parameters it needs about "
        f"{in_words(needed)} of memory{told}, and {in_words(free)} are free; choose {fewer}a smaller model, "
        "or a strategy that keeps less, such as fedavg"
    )


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
