"""Clustered federated learning, and its use against Byzantine clients (Sattler et al., ICASSP 2020, Algorithm 1).

Every round, in every cluster, the updates of the clients that took part are split in two where the largest
cosine similarity across is smallest; if that similarity is below a threshold the split is made. `cfl` keeps
both parts; `byzantine_cfl` keeps the larger one and sets the rest apart, which assumes that the honest are
the majority and of one kind.

Where we differ from published code: the split is the exact optimum (a cut of the maximum spanning tree, not
complete linkage), parts keep true client numbers at every depth, and clients that did not take part are
never compared; `cfl` places them by their own validation data. A split also needs `cohesion`: the paper itself
saw benign clients split off late in training, when nobody's updates agree any more.
"""

from dataclasses import replace

from pydantic import Field

from flockwise.pieces.aggregation import PerFlock
from flockwise.pieces.evidence import ThisRound
from flockwise.pieces.grouping import Bipartition
from flockwise.pieces.schedule import Every
from flockwise.server.method import Method
from flockwise.strategies.options import Options, Setting


class CflOptions(Options):
    """Options of CFL, in both uses."""

    threshold: float = Field(0.02, ge=-1, lt=1, description="split when alpha_cross is below")
    decay: float = Field(
        0.0, ge=0, description="threshold / (1 + decay * (round - 1)), as the paper suggests"
    )
    eps1: float | None = Field(None, gt=0, description="split only if the mean update is shorter than this")
    eps2: float | None = Field(None, gt=0, description="and the longest update is longer than this")
    cohesion: float = Field(
        0.1, ge=-1, le=1, description="least mean similarity in the larger part; -1: no such test"
    )
    first: int = Field(1, ge=1, description="the first round in which a split is allowed")


def cfl(options: CflOptions, setting: Setting) -> Method:
    """Recursive splits; both parts go on."""
    return _cfl("cfl", options, setting, keep_largest=False)


def byzantine_cfl(options: CflOptions, setting: Setting) -> Method:
    """Recursive splits; only the larger part goes on."""
    return _cfl("byzantine-cfl", options, setting, keep_largest=True)


def _cfl(name: str, options: CflOptions, setting: Setting, keep_largest: bool) -> Method:
    return Method(
        name=name,
        sampler=setting.sampler(),
        evidence=ThisRound(setting.layers),
        grouping=Bipartition(
            options.threshold, options.decay, options.eps1, options.eps2, options.cohesion
        ),  # l.12-15
        when=Every(options.first, every=1),  # l.4
        scope="within",  # l.11: for each cluster
        start="own",  # l.23: the parts are averaged apart in the same round
        keep_largest=keep_largest,  # l.17 or l.19
        aggregation=PerFlock(replace(setting.rule, weighted=False)),  # l.23: everyone counts the same
        needs_root=setting.rule.wants_root,
    )
