"""The stages that rounds are made of; each file holds one kind. `flockwise.strategies` has chains of them."""

from flockwise.stages.attribution import Attribution, Choice, Joint, SendsOne, joint, one_model, own_flock
from flockwise.stages.average import (
    average,
    average_groups,
    average_known,
    one_model_goes_on,
    restart_from_sent,
)
from flockwise.stages.evidence import Known, LatestModels, LatestUpdates, latest_models, this_round
from flockwise.stages.grouping import Clustered, Found, Grouping, SplitInTwo
from flockwise.stages.judging import judge_flocks
from flockwise.stages.method import Method
from flockwise.stages.place import place
from flockwise.stages.regroup import all_go_on, find_flocks, largest_goes_on, split_flocks
from flockwise.stages.report import Report
from flockwise.stages.rollback import keep_snapshots, roll_back
from flockwise.stages.sampling import everyone, sample, sample_from_all
from flockwise.stages.server_step import ServerStep, server_step
from flockwise.stages.stage import Round, Setting, Stage, chain, nothing, stage, when
from flockwise.stages.state import FREE, QUARANTINED, UNPLACED, Slot, State
from flockwise.stages.timing import Every, WhenStable, once
from flockwise.stages.train import train
from flockwise.stages.trial import Trial

__all__ = [
    "FREE",
    "QUARANTINED",
    "UNPLACED",
    "Attribution",
    "Choice",
    "Clustered",
    "Every",
    "Found",
    "Grouping",
    "Joint",
    "Known",
    "LatestModels",
    "LatestUpdates",
    "Method",
    "Report",
    "Round",
    "SendsOne",
    "ServerStep",
    "Setting",
    "Slot",
    "SplitInTwo",
    "Stage",
    "State",
    "Trial",
    "WhenStable",
    "all_go_on",
    "average",
    "average_groups",
    "average_known",
    "chain",
    "everyone",
    "find_flocks",
    "joint",
    "judge_flocks",
    "keep_snapshots",
    "largest_goes_on",
    "latest_models",
    "nothing",
    "once",
    "one_model",
    "one_model_goes_on",
    "own_flock",
    "place",
    "restart_from_sent",
    "roll_back",
    "sample",
    "sample_from_all",
    "server_step",
    "split_flocks",
    "stage",
    "this_round",
    "train",
    "when",
]  # fmt: skip
