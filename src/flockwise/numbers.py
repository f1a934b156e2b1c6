"""The numbers of a run: one definition each, used by runs, reports, comparisons, studies and the dashboard."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Number:
    """A number on record of every round (or, `of_run`, of the whole run), and what it means."""

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower", "neither"] = "neither"
    share: bool = False  # lies between 0 and 1
    of_run: bool = False


# What a task may compare models by: name, title, in a sentence, which way is better, whether it lies between 0 and 1.
_SCORES: tuple[tuple[str, str, str, Literal["higher", "lower"], bool], ...] = (
    ("accuracy", "accuracy", "accuracy", "higher", True),
    ("f1", "F1", "F1 (the harmonic mean of precision and recall, averaged over labels)", "higher", True),
    ("auc", "AUC", "area under the ROC curve", "higher", True),
    ("exact", "exact matches", "share of samples whose labels are all right", "higher", True),
    ("mae", "MAE", "mean absolute error", "lower", False),
    ("rmse", "RMSE", "root of the mean squared error", "lower", False),
    ("r2", "R²", "share of the targets' variance that is explained", "higher", False),
    ("perplexity", "perplexity", "perplexity (exp of the mean loss of a token)", "lower", False),
)


def _of_score(
    name: str, title: str, words: str, better: Literal["higher", "lower"], share: bool
) -> Iterator[Number]:
    """A score over the clients: the mean, and what it hides."""
    bad = "lowest" if better == "higher" else "highest"
    yield Number(
        name, title,
        f"mean over all honest clients of the {words} of the model each has, on its own test data; one that was set "
        "apart by mistake counts with the model it is left with", better, share,
    )  # fmt: skip
    yield Number(
        f"{name}_taking_part", f"{title} of those that take part",
        "the same over the honest clients that are not set apart: it does not see whom a defence has hurt", better, share,
    )  # fmt: skip
    of = "" if name == "accuracy" else f" by {title}"
    yield Number(
        f"{name}_worst", f"worst client{of}", f"the {bad} {title} of any honest client", better, share
    )
    yield Number(
        f"{name}_worst_group", f"worst group{of}",
        f"the {bad} mean {title} of the honest clients of one group, where the groups are known", better, share,
    )  # fmt: skip
    yield Number(
        f"{name}_p10", f"{title}, 10 %", "a tenth of the honest clients is at or below it", better, share
    )
    yield Number(
        f"{name}_p90", f"{title}, 90 %", "nine tenths of the honest clients are at or below it", better, share
    )
    yield Number(
        f"{name}_low", f"{title}, at least", "the mean over all is above it in 39 of 40 cases; if a sample is tested",
        better, share,
    )  # fmt: skip
    yield Number(
        f"{name}_high", f"{title}, at most", "the mean over all is below it in 39 of 40 cases; if a sample is tested",
        better, share,
    )  # fmt: skip
    yield Number(f"{name}_std", f"spread of {title}", "standard deviation over the honest clients", "lower")


def _catalogue() -> Iterator[Number]:
    for score in _SCORES:
        whole = list(_of_score(*score))
        yield from whole if score[0] == "accuracy" else whole[:1]  # the others' are like accuracy's
    yield Number(
        "tested", "clients tested", "honest clients, drawn at random, that were tested instead of all"
    )
    yield Number("test_loss", "test loss", "mean over all honest clients, on their own test data", "lower")
    yield Number(
        "train_loss",
        "training loss",
        "mean over the clients that trained in the round, on their own data",
        "lower",
    )
    yield Number("flocks", "flocks", "how many flocks there are")
    yield Number(
        "ari", "ARI",
        "adjusted Rand index of flocks and groups over the clients that take part: 1 if they are the same, about 0 for "
        "flocks at random", "higher",
    )  # fmt: skip
    yield Number(
        "purity", "purity", "share of the clients whose flock's most frequent group is their own", "higher", True,
    )  # fmt: skip
    yield Number(
        "pairs_merged", "pairs merged",
        "of all pairs of honest clients of different groups, the share that ends in one flock", "lower", True, True,
    )  # fmt: skip
    yield Number(
        "silhouette", "silhouette",
        "how much nearer a client's own flock is than the next one, on average, from -1 to 1; needs no truth", "higher",
    )  # fmt: skip
    yield Number(
        "modularity",
        "modularity",
        "how much more weight lies inside flocks than chance would put there",
        "higher",
    )
    yield Number(
        "separation", "separation",
        "how much more alike clients are inside flocks than across, in standard deviations of what is left", "higher",
    )  # fmt: skip
    yield Number(
        "own_models", "own models", "clients that have a model of their own in place of their flock's"
    )
    yield Number("apart", "set apart", "clients that are set apart, rightly or not")
    yield Number("false_alarms", "false alarms", "honest clients that are set apart", "lower")
    yield Number("missed", "missed attackers", "attackers that are not set apart", "lower")
    yield Number(
        "detection_precision", "detection precision", "share of those set apart that are attackers", "higher", True,
    )  # fmt: skip
    yield Number(
        "detection_recall", "detection recall", "share of the attackers that are set apart", "higher", True
    )
    yield Number(
        "attack_success", "attack success",
        "share of the honest clients' test samples with the attackers' trigger that get the attackers' label", "lower", True,
    )  # fmt: skip
    yield Number("participants", "participants", "clients whose reply was used in the round")
    yield Number("rejected", "rejected", "replies that the gate turned away in the round", "lower")
    yield Number(
        "bytes", "bytes sent", "models to clients and updates back, four bytes a parameter, in the round", "lower",
    )  # fmt: skip
    yield Number("bytes_sent", "bytes sent", "`bytes` added up over the run", "lower", of_run=True)
    yield Number(
        "rounds_to_target", "rounds to target", "the first round whose accuracy is at least the target", "lower",
        of_run=True,
    )  # fmt: skip
    yield Number(
        "clients_at_target", "clients at target",
        "share of the clients whose own test accuracy is at least the target", "higher", True, True,
    )  # fmt: skip
    yield Number(
        "official_accuracy", "accuracy of the global model",
        "accuracy of the one global model (of several: of their mean) on the data set's whole official test part",
        "higher", True, True,
    )  # fmt: skip
    yield Number(
        "seconds",
        "seconds",
        "how long the rounds took, on the machine named in the result",
        "lower",
        of_run=True,
    )
    yield Number(
        "client_seconds", "clients' seconds", "how long training and answering questions took, all rounds together",
        "lower", of_run=True,
    )  # fmt: skip
    yield Number(
        "server_seconds", "server's seconds",
        "how long the server's own work took, all rounds together: planning, comparing, averaging, judging", "lower",
        of_run=True,
    )  # fmt: skip


NUMBERS: dict[str, Number] = {number.name: number for number in _catalogue()}


def shown(value: float) -> str:
    """A number for people: three digits behind the point, and where it is small, three that say something."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-5:
        return f"{value:.3g}"
    places = 3 if size >= 0.1 or not size or not math.isfinite(size) else 2 - math.floor(math.log10(size))
    return f"{value:.{places}f}"


def number_of(name: str) -> Number:
    """What is known of a number; one that is not in the catalogue goes by its own name."""
    if name in NUMBERS:
        return NUMBERS[name]
    derived = (number for score in _SCORES for number in _of_score(*score) if number.name == name)
    return next(derived, Number(name, name.replace("_", " "), ""))
