"""What every strategy is given, and the base of their options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from flockwise.pieces.evidence import Layers
from flockwise.pieces.judges import Judge, Recovery
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.sampling import Sampler


class Options(BaseModel):
    """Base of every strategy's options: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Setting:
    """What a strategy may know of the federation when it is put together."""

    clients: int
    rule: BoundRule
    fraction: float = 1.0
    seed: int = 0
    layers: Layers = ()
    directory: Path | None = None  # where a user's own pieces are looked for

    def sampler(self, per_flock: bool = True) -> Sampler:
        """The sampler of this federation."""
        return Sampler(self.fraction, per_flock, self.seed)


class JudgeOptions(Options):
    """Who is hostile, and whether healthy flocks go back to before the damage."""

    judge: Literal["none", "largest", "root", "validation"] = "none"
    judge_after: int | None = Field(
        None, ge=0, description="judge flocks every so many rounds after finding them"
    )
    judge_ratio: float = Field(
        0.5, gt=0, le=1, description="hostile below this share of the best flock's accuracy"
    )
    rollback: bool = Field(
        False, description="flocks may start from a past joint model that suits them better"
    )
    snapshot_every: int = Field(5, ge=1, description="rollback: rounds between past models that are kept")

    def judging(self) -> Judge | None:
        """The judge, if any; one that looks at accuracy waits until flocks have trained apart for a while."""
        if self.judge == "none":
            return None
        wait = self.judge_after if self.judge_after is not None else (0 if self.judge == "largest" else 5)
        return Judge(self.judge, wait, self.judge_ratio)

    def recovery(self) -> Recovery | None:
        """How to go back, if asked to."""
        return Recovery(self.snapshot_every) if self.rollback else None
