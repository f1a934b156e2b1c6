"""Mini-FL, robust aggregation inside groups of similar reports (mini-fl paper, section 4).

Before training, reports are collected for a few rounds; of the place, hour and user they come from, the one
that clusters best gives the groups and their boundaries. Then, each round, a robust rule runs inside each
group, and the weighted mean of the groups moves the one global model. It assumes that reports of a kind
share a place, an hour or a user, and that attackers do not know the groups.

Where the paper is open: groups weigh the same (that fits its numbers; "size" is the other reading); a
rule's number of attackers is its share of the group, rounded down; a group too small for the rule uses the
rule's form for small groups (Krum: at least one neighbour; a group of one or two: the mean), since dropping
the group would lose its labels altogether. `groups_from = "updates"` clusters the updates instead.
"""

from typing import Literal

from pydantic import Field

from flockwise.clustering import louvain
from flockwise.pieces.aggregation import Merged
from flockwise.pieces.attribution import OneModel
from flockwise.pieces.evidence import LatestUpdates
from flockwise.pieces.grouping import Clustered
from flockwise.pieces.measures import MEASURES
from flockwise.pieces.metadata import ByFeature, Metadata, OneModelByBoundaries
from flockwise.pieces.schedule import Every
from flockwise.server.method import Method
from flockwise.strategies.options import Options, Setting


class MiniFlOptions(Options):
    """Options of Mini-FL."""

    collect: int = Field(3, ge=1, description="rounds of reports before groups are made; the model waits")
    most_groups: int = Field(10, ge=2, description="the elbow is looked for up to here")
    group_weights: Literal["equal", "size"] = "equal"
    groups_from: Literal["metadata", "updates"] = "metadata"


def mini_fl(options: MiniFlOptions, setting: Setting) -> Method:
    """Groups once, then a robust rule per group and one global model."""
    by_metadata = options.groups_from == "metadata"
    by_updates = Clustered(
        MEASURES["one-plus-cosine"], lambda graph: louvain(graph, seed=setting.seed), takes="similarity"
    )
    return Method(
        name="mini-fl",
        sampler=setting.sampler(per_flock=False),
        evidence=Metadata() if by_metadata else LatestUpdates(layers=setting.layers),
        grouping=ByFeature(options.most_groups, setting.seed) if by_metadata else by_updates,
        when=Every(options.collect, every=None),
        start="own",
        attribution=OneModelByBoundaries() if by_metadata else OneModel(),
        aggregation=Merged(setting.rule, options.group_weights),
        place="largest",
        needs_root=setting.rule.wants_root,
    )
