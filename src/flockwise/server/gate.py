"""The only door for replies: each is admitted, or rejected with a reason; the round goes on either way."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flockwise.messages import Plan, Reply, Scores

LONGEST = 1e15  # squares of such updates still fit in float32, and so do sums of many


@dataclass(frozen=True)
class Verdict:
    """The replies that may enter, in order of client id, and why the others may not."""

    admitted: tuple[Any, ...]
    rejected: tuple[tuple[int | None, str], ...]


@dataclass(frozen=True)
class Gate:
    """What a reply must look like.

    `max_norm` bounds an update's Euclidean length (None: no bound, as in the papers, but for what is no
    result of training and would overflow where updates are added and squared);
    `max_samples` is the largest sample count a client may claim.
    """

    dimension: int
    max_norm: float | None = None
    max_samples: int = 10_000_000

    def admit(self, plan: Plan, replies: Iterable[object]) -> Verdict:
        """Sort replies to a plan into admitted and rejected."""
        asked = {task.client: task for task in plan.tasks}
        check: Callable[[Any, Sequence[int]], str | None] = self._scores_fault
        if plan.kind == "train":
            check = self._training_fault
        wanted = Reply if plan.kind == "train" else Scores
        admitted: dict[int, Any] = {}
        rejected: list[tuple[int | None, str]] = []
        for reply in replies:
            client = getattr(reply, "client", None)
            if not isinstance(reply, wanted):
                rejected.append((_id(client), f"not a {wanted.__name__}"))
            elif not _is_whole(client) or client not in asked:
                rejected.append((_id(client), "was not asked"))
            elif not _is_whole(reply.round) or reply.round != plan.round:
                rejected.append((client, f"answers round {reply.round!s:.20}, this is round {plan.round}"))
            elif client in admitted:
                rejected.append((client, "answered twice; the first answer counts"))
            elif fault := check(reply, asked[client].models):
                rejected.append((client, fault))
            else:
                admitted[client] = reply
        ordered = tuple(admitted[client] for client in sorted(admitted))
        return Verdict(ordered, tuple(rejected))

    def _training_fault(self, reply: Reply, models: Sequence[int]) -> str | None:
        update = reply.update
        if not isinstance(update, np.ndarray):
            return f"update is {type(update).__name__}, not an array"
        if update.dtype != np.float32:
            return f"update has dtype {update.dtype}, not float32"
        if update.shape != (self.dimension,):
            return f"update has shape {update.shape}, not ({self.dimension},)"
        if not _is_whole(reply.samples) or not 0 < reply.samples <= self.max_samples:
            return f"claims {reply.samples!s:.20} samples; 1 to {self.max_samples} are allowed"
        if not _is_whole(reply.chosen) or not 0 <= reply.chosen < len(models):
            return f"trained candidate {reply.chosen!s:.20} of {len(models)}"
        # One pass in float64 finds NaN, Inf and the norm together.
        length = _norm(update)
        if not np.isfinite(length):
            return "update holds NaN or infinite values"
        longest = LONGEST if self.max_norm is None else min(self.max_norm, LONGEST)
        if length > longest:
            return f"update has norm {length:.4g}; at most {longest:.4g} is allowed"
        return None

    def _scores_fault(self, reply: Scores, models: Sequence[int]) -> str | None:
        if not isinstance(reply.accuracies, tuple) or len(reply.accuracies) != len(models):
            return f"scores must be a tuple of {len(models)} accuracies"
        if not all(isinstance(a, float) and (0.0 <= a <= 1.0 or np.isnan(a)) for a in reply.accuracies):
            return "accuracies must lie between 0 and 1"
        if 0 < sum(map(np.isnan, reply.accuracies)) < len(models):
            return "accuracies are missing for some models only"
        if not isinstance(reply.losses, tuple) or len(reply.losses) not in (0, len(models)):
            return f"losses must be a tuple of {len(models)} numbers, or empty"
        if not all(isinstance(loss, float) for loss in reply.losses):
            return "losses must be numbers"
        if not _is_whole(reply.samples) or not 0 <= reply.samples <= self.max_samples:
            return f"claims {reply.samples!s:.20} samples"
        return None


def _norm(update: np.ndarray) -> float:
    # Blocks keep the float64 copy small; a single NaN or Inf anywhere makes the sum non-finite.
    total = 0.0
    for start in range(0, update.size, 1 << 16):
        block = update[start : start + (1 << 16)].astype(np.float64)
        total += float(block @ block)
    return float(np.sqrt(total))


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _id(client: object) -> int | None:
    return int(client) if _is_whole(client) else None  # type: ignore[call-overload,no-any-return]
