"""Digests over everything a run has on record, so that a change is noticed, be it a bit or a removed round.

Each round's seal is made of its record and of the seal before it; the seal of the whole is made of the last of them,
of what is known about the run and of its clients. Whoever can write the directory can seal it anew: this finds
damage, not forgery.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from flockwise.store.files import digest
from flockwise.store.looking import Row

CLIENTS = "SELECT * FROM clients ORDER BY client"
RECORD = {  # what belongs to a round, in an order that is the same every time
    "rounds": "SELECT round, seconds FROM rounds {} ORDER BY round",
    "facts": "SELECT round, name, value FROM facts {} ORDER BY round, name",
    "arrays": "SELECT round, name, dtype, shape, data FROM arrays {} ORDER BY round, name",
    "events": "SELECT round, kind, client, message, detail FROM events {} ORDER BY round, id",
}


def rows_digest(rows: Iterable[Row]) -> str:
    """A digest over rows, each value with its type."""
    mark = hashlib.blake2b(digest_size=32)
    for row in rows:
        if isinstance(row[-1], bytes):  # an array may be long: it is not made a text
            mark.update(repr((row[:-1], len(row[-1]))).encode("utf-8", "backslashreplace"))
            mark.update(row[-1])
        else:
            mark.update(repr(row).encode("utf-8", "backslashreplace"))
    return mark.hexdigest()


NOTHING = rows_digest([])


def round_seal(before: str, round: int, checkpoint: object, record: Sequence[str]) -> str:
    """The seal of a round: digests of what is on record of it, its checkpoint's, and the seal of the round before."""
    return digest(repr((before, round, checkpoint, *record)).encode("utf-8", "backslashreplace"))


def whole_seal(about: Mapping[str, str], clients: str, last: str) -> str:
    """The seal of the run as a whole: what is known about it, the digest of its clients, the last round's seal."""
    known = sorted((key, value) for key, value in about.items() if key != "seal")
    return digest(repr((known, clients, last)).encode("utf-8", "backslashreplace"))


def record_digests(
    rows: Callable[[str, Row], Iterable[Row]], round: int, known: Mapping[str, str] | None = None
) -> list[str]:
    """The digests of what is on record of one round; `rows` asks the database for tables whose digest is not known."""
    known = known or {}
    return [
        known[table] if table in known else rows_digest(rows(query.format("WHERE round = ?"), (round,)))
        for table, query in RECORD.items()
    ]
