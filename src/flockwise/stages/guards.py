"""What may come at the end of a round, whatever the method: healthy flocks go back to before the damage, hostile ones
are set apart, clients without a flock find one.

The options are the same for every strategy that has them.
"""

from flockwise.stages.judging import JudgeAfter, JudgeName, JudgeRatio, judge_flocks, watch_flocks
from flockwise.stages.place import Follow, place
from flockwise.stages.rollback import RollBack, SnapshotEvery, keep_snapshots, roll_back
from flockwise.stages.stage import Stage, chain

__all__ = [
    "Follow",
    "JudgeAfter",
    "JudgeName",
    "JudgeRatio",
    "RollBack",
    "SnapshotEvery",
    "at_the_end",
    "watch_flocks",
]


def at_the_end(
    follow: Follow, judge: JudgeName, judge_after: JudgeAfter, judge_ratio: JudgeRatio, rollback: RollBack,
    snapshot_every: SnapshotEvery, placing: Stage | None = None,
) -> Stage:  # fmt: skip
    """Snapshots, roll-back, the judge, and placing (by validation data unless another way is given), in this order."""
    return chain(
        keep_snapshots(rollback, snapshot_every),
        roll_back(rollback),
        judge_flocks(judge, judge_after, judge_ratio),
        place(follow) if placing is None else placing,
    )
