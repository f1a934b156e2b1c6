"""What a process and those below it use, as Linux tells: memory and CPU time."""

import os
from collections.abc import Iterator
from pathlib import Path


def family(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in file.read_text().split()]
        except OSError:  # it has ended
            continue
        for child in children:
            yield from family(child)


def memory_of(pid: int) -> dict[str, float]:
    """Pss and Rss of a process in bytes; nothing if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return {}
    found = [line.split() for line in lines if line.startswith(("Pss:", "Rss:"))]
    return {name.rstrip(":"): 1024.0 * int(kilobytes) for name, kilobytes, _ in found}


def cpu_seconds(pid: int) -> float:
    """CPU time so far of a process and all below it."""
    ticks = 0
    for member in family(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK")
