"""Spans of a vector: where the wanted ones of parts that lie end to end are."""

from collections.abc import Iterable


def joined_spans(parts: Iterable[tuple[int, bool]]) -> tuple[tuple[int, int], ...]:
    """(start, stop) of the wanted parts, given the length of each and whether it is; () if all or none of them are.

    >>> joined_spans([(2, True), (3, True), (4, False), (1, True)])
    ((0, 5), (9, 10))
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for length, wanted in parts:
        stop = start + length
        if wanted and spans and spans[-1][1] == start:
            spans[-1] = (spans[-1][0], stop)
        elif wanted:
            spans.append((start, stop))
        start = stop
    return () if spans in ([], [(0, start)]) else tuple(spans)
