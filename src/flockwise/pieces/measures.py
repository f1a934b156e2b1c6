"""The ways to compare clients, by name."""

from flockwise.pieces.evidence import Known
from flockwise.pieces.grouping import Measure
from flockwise.similarity import l1, l2, trusted
from flockwise.types import Square


def _one_plus_cosine(known: Known) -> Square:
    return 1.0 + known.cosine()


def _trusted(known: Known) -> Square:
    return trusted(known.rows, known.layers or ((0, known.rows.shape[1]),), center=known.center)


MEASURES: dict[str, Measure] = {
    "cosine": Measure("cosine", "similarity", Known.cosine, bottom=-1.0),
    "one-plus-cosine": Measure("one-plus-cosine", "similarity", _one_plus_cosine, top=2.0, bottom=0.0),
    "l1": Measure("l1", "distance", lambda known: l1(known.rows)),
    "l2": Measure("l2", "distance", lambda known: l2(known.rows)),
    "trusted": Measure("trusted", "distance", _trusted),
}

SUMMARIES = {
    "cosine": "cosine of the angle between updates",
    "one-plus-cosine": "1 + cosine, never negative: FLIC",
    "l1": "sum of absolute differences",
    "l2": "Euclidean distance",
    "trusted": "deep relative trust, layer by layer: communities",
}
