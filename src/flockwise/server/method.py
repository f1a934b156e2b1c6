"""A method is a few independent choices."""

from dataclasses import dataclass, field
from typing import Literal

from flockwise.pieces.aggregation import Aggregation
from flockwise.pieces.attribution import Attribution, OwnFlock
from flockwise.pieces.evidence import LatestModels, LatestUpdates, ThisRound
from flockwise.pieces.grouping import Grouping
from flockwise.pieces.judges import Judge, Recovery
from flockwise.pieces.metadata import Metadata
from flockwise.pieces.sampling import Sampler
from flockwise.pieces.schedule import Never, Schedule

Evidence = ThisRound | LatestUpdates | LatestModels | Metadata


@dataclass(frozen=True)
class Method:
    """The choices that make a clustered or robust method; every paper is one of these."""

    name: str
    aggregation: Aggregation
    sampler: Sampler = field(default_factory=Sampler)
    evidence: Evidence = field(default_factory=ThisRound)
    grouping: Grouping | None = None
    when: Schedule = field(default_factory=Never)
    attribution: Attribution = field(default_factory=OwnFlock)
    scope: Literal["all", "within"] = "all"  # compare all clients anew, or split inside each flock
    start: Literal["joint", "own"] = "joint"  # new flocks start after, or before, this round is aggregated
    skip_census: bool = False  # the round in which everyone trains serves only to find flocks
    keep_largest: bool = False  # after a split, set the smaller part apart
    place: Literal["validation", "largest"] = "validation"  # how a client without a flock finds one
    follow: float | None = None  # move a client whose validation accuracy is this much better elsewhere
    judge: Judge | None = None
    recovery: Recovery | None = None
    models: int = 1  # how many models there are at the start
    needs_root: bool = False  # whether the server's own clean data trains along (FLTrust)
