"""Sealing what is written, in the transaction that writes it."""

import contextlib
from collections.abc import Iterator, Mapping

from flockwise.store.checkpoint import checkpoint_name
from flockwise.store.ledger import Ledger
from flockwise.store.schema import BY_ROUND
from flockwise.store.seals import CLIENTS, record_digests, round_seal, rows_digest, whole_seal


class Sealer:
    """Keeps the seals of a database that is being written (see `seals.py`)."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.clients: str | None = None  # their digest, if they have not changed since

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """A transaction, sealed at its end."""
        try:
            with self._ledger.transaction():
                yield
                self._seal_whole()
        except BaseException:
            self.clients = None  # what it was made of may have been rolled back
            raise

    def seal(
        self, round: int, checkpoint: str | None = None, digests: Mapping[str, str] | None = None
    ) -> None:
        """Seal a round anew, and those after it, whose seals hang on it; without a checkpoint, the one it had.

        `digests` are those of tables of this round that were just made.
        """
        known: dict[int, str | None] = dict(
            self._ledger.rows("SELECT round, checkpoint FROM seals WHERE round >= ?", (round,))
        )
        before = self._ledger.rows(
            "SELECT seal FROM seals WHERE round < ? ORDER BY round DESC LIMIT 1", (round,)
        )
        seal = before[0][0] if before else ""
        for at in sorted({round, *known}):
            mark = checkpoint if at == round and checkpoint is not None else known.get(at)
            seal = self._seal_round(at, mark, seal, digests if at == round else None)

    def seal_all(self) -> None:
        """Seal everything as it is. What can be of no round goes, as do names of checkpoints that are none."""
        for table in BY_ROUND:
            self._ledger.rows(f"DELETE FROM {table} WHERE typeof(round) != 'integer'")
        self._ledger.rows("DELETE FROM seals")
        marks = {}
        for round, name, mark in self._ledger.rows("SELECT round, checkpoint, digest FROM rounds"):
            if name == checkpoint_name(round) and isinstance(mark, str):
                marks[round] = mark
            else:
                query = "UPDATE rounds SET checkpoint = NULL, digest = NULL WHERE round = ?"
                self._ledger.rows(query, (round,))
        seal = ""
        on_record = " UNION ".join(f"SELECT round FROM {table}" for table in BY_ROUND)
        for (round,) in self._ledger.rows(f"SELECT round FROM ({on_record}) ORDER BY round"):
            seal = self._seal_round(round, marks.get(round), seal)

    def _seal_round(
        self, round: int, checkpoint: str | None, before: str, digests: Mapping[str, str] | None = None
    ) -> str:
        seal = round_seal(before, round, checkpoint, record_digests(self._ledger.rows, round, digests))
        self._ledger.rows("INSERT OR REPLACE INTO seals VALUES (?, ?, ?)", (round, checkpoint, seal))
        return seal

    def _seal_whole(self) -> None:
        if self.clients is None:
            self.clients = rows_digest(self._ledger.rows(CLIENTS))
        about = {str(key): str(value) for key, value in self._ledger.rows("SELECT key, value FROM about")}
        last = self._ledger.rows("SELECT seal FROM seals ORDER BY round DESC LIMIT 1")
        seal = whole_seal(about, self.clients, last[0][0] if last else "")
        self._ledger.rows("INSERT OR REPLACE INTO about VALUES ('seal', ?)", (seal,))
