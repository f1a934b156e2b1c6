"""The only door for replies: each is admitted, or rejected with a reason; the round goes on either way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flockwise.errors import InputError
from flockwise.kernels.combine import squared_lengths
from flockwise.messages import Plan, Replies, Reply, Scores, Vouched
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages.report import PLAIN_ARRAYS, Report

LONGEST = 1e15  # squares of such updates still fit in float32, and so do sums of many


# What clients answered: an engine's columns, or pairs of the number of the client, as whoever drives the server has
# made sure of it, and what that client sent.
Answers = Replies | Iterable[tuple[int, object]]


@dataclass(frozen=True)
class Verdict:
    """What may enter, in order of client id (columns for a training plan), and why the others may not."""

    admitted: Any
    rejected: tuple[tuple[int | None, str], ...]


@dataclass(frozen=True)
class Gate:
    """What a reply must look like.

    `max_norm` bounds an update's Euclidean length (None: no bound, as in the papers, but for what is no
    result of training and would overflow where updates are added and squared);
    `max_samples` is the largest sample count a client may claim; `report` is what the method asks clients to tell;
    `scoring` says what scores may be.
    """

    dimension: int
    max_norm: float | None = None
    max_samples: int = 10_000_000
    report: Report | None = None
    scoring: Scoring = ACCURACY

    def admit(self, plan: Plan, replies: Answers) -> Verdict:
        """Sort replies to a plan into admitted and rejected."""
        if isinstance(replies, Replies) and plan.kind == "train":
            return self._admit_columns(plan, replies)
        admitted: dict[int, Any] = {}
        rejected: list[tuple[int | None, str]] = []
        for answer in [replies] if isinstance(replies, Replies) else replies:
            client: Any
            client, reply = answer if isinstance(answer, tuple) and len(answer) == 2 else (None, answer)
            why = _unbound(client, answer, replies) or self._fault(plan, reply, client, admitted)
            if why:
                rejected.append((_id(client), why))
            else:
                admitted[client] = reply
        ordered = tuple(admitted[client] for client in sorted(admitted))
        if plan.kind == "validate":
            return Verdict(ordered, tuple(rejected))
        names = self.report.shapes if self.report else ()
        return Verdict(Replies.stack(plan.round, ordered, self.dimension, names), tuple(rejected))

    def _admit_columns(self, plan: Plan, replies: Replies) -> Verdict:
        """The same for replies that an engine hands over as columns: not copied if all may enter."""
        if replies.updates.dtype != np.float32 or replies.updates.shape != (len(replies), self.dimension):
            why = f"updates are {replies.updates.dtype} {replies.updates.shape}, not float32 (.., {self.dimension})"
            return Verdict(Replies.stack(plan.round, (), self.dimension), ((None, why),))
        if self._all_may_enter(plan, replies):
            return Verdict(replies, ())
        rejected: list[tuple[int | None, str]] = []
        rows: dict[int, int] = {}
        for row, client in enumerate(replies.clients.tolist()):
            reply = Reply(client, replies.round, replies.updates[row], int(replies.samples[row]), int(replies.chosen[row]),
                          report={name: column[row] for name, column in replies.reports.items()})  # fmt: skip
            fault = self._fault(plan, reply, client, rows)
            if fault:
                rejected.append((client, fault))
            else:
                rows[client] = row
        order = np.array([rows[client] for client in sorted(rows)], dtype=np.int64)
        untouched = np.array_equal(order, np.arange(len(replies)))
        return Verdict(replies if untouched else replies.rows(order), tuple(rejected))

    def _all_may_enter(self, plan: Plan, replies: Replies) -> bool:
        """Whether nothing at all is wrong, told at once; if not, each reply is looked at for the reason."""
        clients, samples = replies.clients, replies.samples
        if self.report or not len(clients) or replies.round != plan.round or (np.diff(clients) <= 0).any():
            return False
        offered = [len(plan.offers.get(client, ())) for client in clients.tolist()]
        if not (replies.chosen < offered).all() or (replies.chosen < 0).any():
            return False
        if samples.dtype.kind not in "iu" or samples.min() < 1 or samples.max() > self.max_samples:
            return False
        try:
            lengths = np.sqrt(squared_lengths(replies.updates))
        except InputError:  # not finite
            return False
        # Near the bound the exact sum of the single check decides.
        return bool((lengths < 0.999 * self._longest).all())

    @property
    def _longest(self) -> float:
        return LONGEST if self.max_norm is None else min(self.max_norm, LONGEST)

    def _fault(self, plan: Plan, reply: Any, client: Any, admitted: Mapping[int, Any]) -> str | None:
        """Why a reply may not enter; None if it may."""
        stranger = self._stranger(plan, reply, client)
        if stranger or client in admitted:
            return stranger or "answered twice; the first answer counts"
        check = self._training_fault if plan.kind == "train" else self._scores_fault
        return check(reply, plan.offers[client])

    def _stranger(self, plan: Plan, reply: object, client: Any) -> str | None:
        """Why a reply is no answer to this plan at all."""
        wanted = Reply if plan.kind == "train" else Scores
        if not isinstance(reply, wanted):
            return f"not a {wanted.__name__}"
        if not _is_whole(client) or client not in plan.offers:
            return "was not asked"
        if not _is_whole(reply.client) or reply.client != client:
            return f"says that it comes from client {_short(reply.client)}"
        if not _is_whole(reply.round) or reply.round != plan.round:
            return f"answers round {_short(reply.round)}, this is round {plan.round}"
        return None

    def _training_fault(self, reply: Reply, models: Sequence[int]) -> str | None:
        update = reply.update
        if type(update) not in PLAIN_ARRAYS:  # others, such as masked ones, reckon in ways of their own
            return f"update is {type(update).__name__}, not an array"
        if update.dtype != np.float32:
            return f"update has dtype {update.dtype}, not float32"
        if update.shape != (self.dimension,):
            return f"update has shape {update.shape}, not ({self.dimension},)"
        if not _is_whole(reply.samples) or not 0 < reply.samples <= self.max_samples:
            return f"claims {_short(reply.samples)} samples; 1 to {self.max_samples} are allowed"
        if not _is_whole(reply.chosen) or not 0 <= reply.chosen < len(models):
            return f"trained candidate {_short(reply.chosen)} of {len(models)}"
        # One pass in float64 finds NaN, Inf and the norm together.
        length = _norm(update)
        if not np.isfinite(length):
            return "update holds NaN or infinite values"
        longest = self._longest
        if length > longest:
            return f"update has norm {length:.4g}; at most {longest:.4g} is allowed"
        return self.report.fault(reply.report) if self.report else None

    def _scores_fault(self, reply: Scores, models: Sequence[int]) -> str | None:
        if not isinstance(reply.values, tuple) or len(reply.values) != len(models):
            return f"scores must be a tuple of {len(models)} numbers"
        faults = [fault for value in reply.values if (fault := self.scoring.fault(value))]
        if faults:
            return faults[0]
        if 0 < sum(map(np.isnan, reply.values)) < len(models):
            return "scores are missing for some models only"
        if not isinstance(reply.losses, tuple) or len(reply.losses) not in (0, len(models)):
            return f"losses must be a tuple of {len(models)} numbers, or empty"
        if not all(isinstance(loss, float) for loss in reply.losses):
            return "losses must be numbers"
        if not isinstance(reply.shares, tuple) or len(reply.shares) not in (0, len(models)):
            return f"shares must be a tuple of {len(models)} numbers, or empty"
        if not all(isinstance(share, float) and 0.0 <= share <= 1.0 for share in reply.shares):
            return "shares must lie between 0 and 1"
        if not _is_whole(reply.samples) or not 0 <= reply.samples <= self.max_samples:
            return f"claims {_short(reply.samples)} samples"
        return None


def _unbound(client: object, answer: object, answers: object) -> str | None:
    """Whether nobody vouches for who sent this; the server's own data comes from an engine or not at all."""
    if not isinstance(answer, tuple):
        return "nobody says whose it is: tell pairs of a client and its reply"
    own = _is_whole(client) and client < 0  # type: ignore[operator]
    return "was not asked" if own and not isinstance(answers, Vouched) else None


def _norm(update: np.ndarray) -> float:
    # Blocks keep the float64 copy small; a single NaN or Inf anywhere makes the sum non-finite.
    total = 0.0
    for first in range(0, update.size, 1 << 16):
        block = update[first : first + (1 << 16)].astype(np.float64)
        total += float(block @ block)
    return float(np.sqrt(total))


def _short(value: object) -> str:
    """What was said, as far as it fits into a line; Python refuses to write out very long numbers."""
    try:
        return f"{value!s:.20}"
    except ValueError:
        return "a number of thousands of digits"


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def _id(client: object) -> int | None:
    return int(client) if _is_whole(client) else None  # type: ignore[call-overload,no-any-return]
