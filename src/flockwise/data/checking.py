"""Looks at the data of all clients before anybody trains: what cannot be trained on, and what one should know."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flockwise.data.federation import PARTS, Federation
from flockwise.data.skew import Skew, skew_of
from flockwise.rng import generator

MOST_CLIENTS = 10_000  # of more, a sample is looked at
MOST_COMPARED = 2_000_000  # samples; of more, none are looked up among the others
FAR_APART = 1e4  # between the spreads of two features


@dataclass(frozen=True)
class Finding:
    """Something about the data: of one client, or (None) of all."""

    kind: str
    message: str
    client: int | None = None
    bad: bool = False  # nothing could be learned from it: it is not trained on in silence


@dataclass(frozen=True)
class DataCheck:
    """What was found, and the numbers of each client."""

    names: dict[int, str]  # of the clients that were looked at
    sizes: dict[str, list[int]]  # by part
    classes: list[int]  # that a client holds, each in the order of names
    skew: Skew
    findings: list[Finding]

    @property
    def bad(self) -> list[Finding]:
        """Findings that are no mere warnings."""
        return [finding for finding in self.findings if finding.bad]


def check_data(federation: Federation, most: int = MOST_CLIENTS) -> DataCheck:
    """Look at everything once: missing values, constant features, labels, one-class clients, copies, empty parts.

    Of more than `most` clients, so many drawn at random are looked at, which is told as a finding.
    """
    if federation.clients <= most:
        return _checked(federation)
    drawn = np.sort(generator(0, "data check").choice(federation.clients, size=most, replace=False)).tolist()
    found = _checked(Federation(federation.dataset, tuple(federation.shards[client] for client in drawn)))
    told = f"{most:,} of {federation.clients:,} clients were looked at, drawn at random"
    findings = [
        each if each.client is None else replace(each, client=drawn[each.client]) for each in found.findings
    ]
    names = {client: federation.name(client) for client in drawn}
    return replace(found, names=names, findings=[Finding("sample", told), *findings])


def _checked(federation: Federation) -> DataCheck:
    findings = [
        *_left_out(federation), *_not_finite(federation),
        *_empty(federation), *_labels(federation), *_columns(federation), *_copies(federation),
    ]  # fmt: skip
    sizes = {part: federation.sizes(part).tolist() for part in PARTS}
    held = (federation.label_counts() > 0).sum(axis=1).tolist()
    order = sorted(findings, key=lambda found: (not found.bad, -1 if found.client is None else found.client))
    return DataCheck(dict(enumerate(federation.names)), sizes, held, skew_of(federation), order)


def _left_out(federation: Federation) -> Iterator[Finding]:
    names = federation.dataset.left_out
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        told = f"not read, since clients are the .csv and .parquet files of the folder itself: {', '.join(names[:5])}"
        yield Finding("left out", f"{told}{more}")


def _not_finite(federation: Federation) -> Iterator[Finding]:
    """NaN and infinity, by client and column: whatever is trained on them is NaN, too."""
    if federation.dataset.x.dtype.kind != "f" and federation.dataset.y.dtype.kind != "f":
        return
    for client in range(federation.clients):
        counts, columns, labels, infinite = [], np.zeros(1, bool), [], False
        for part in PARTS:
            x, y = federation.arrays(client, part)
            broken = ~np.isfinite(x.reshape(len(x), -1)) if len(x) else np.zeros((0, 1), bool)
            if broken.any():
                counts.append(f"{int(broken.any(axis=1).sum())} of {len(x)} {part}")
                columns = columns | broken.any(axis=0)
                infinite |= bool(np.isinf(x).any())
            if y.dtype.kind == "f" and not np.isfinite(y).all():
                labels.append(part)
        if counts:
            told = f"{' and '.join(counts)} samples hold NaN or infinite values{_places(federation, columns)}"
            fix = (
                "infinity is never filled in: mend these cells, or leave the rows out"
                if infinite
                else "fill them in (a folder: data.impute = true) or leave them out"
            )
            yield Finding("not finite", f"{told}; {fix}", client, bad=True)
        if labels:
            told = f"{' and '.join(labels)} labels hold NaN or infinite values; leave them out"
            yield Finding("not finite", told, client, bad=True)


def _places(federation: Federation, columns: NDArray[np.bool_]) -> str:
    names = federation.dataset.columns
    chosen = np.flatnonzero(columns)
    if not names:
        return "" if len(chosen) > 8 else f" (feature {', '.join(map(str, chosen))})"
    more = f" and {len(chosen) - 5} more" if len(chosen) > 5 else ""
    return f" ({', '.join(names[number] for number in chosen[:5])}{more})"


def _empty(federation: Federation) -> Iterator[Finding]:
    for client, shard in enumerate(federation.shards):
        if not len(shard.train):
            yield Finding(
                "empty", "has no training samples, so it can never train; leave it out", client, bad=True
            )
        elif not len(shard.test) and not len(shard.validation):
            yield Finding(
                "untested", "has neither test nor validation samples: nobody will know how it does", client
            )


def _labels(federation: Federation) -> Iterator[Finding]:
    dataset = federation.dataset
    if not dataset.classes:
        values = np.unique(dataset.y)
        if len(values) <= 10 and np.array_equal(values, np.round(values)):
            yield Finding(
                "labels", f"numbers to predict are only {len(values)} whole ones: are they classes?"
            )
        return
    counts = federation.label_counts()
    if dataset.classes < 2:
        yield Finding("labels", "all samples are of one class: there is nothing to tell apart", bad=True)
        return
    for names in _alike(dataset.class_names):
        told = " and ".join(repr(name[:40]) for name in names)
        yield Finding(
            "labels", f"classes {told} differ only in case or in spaces: write one class in one way"
        )
    for client in np.flatnonzero(((counts > 0).sum(axis=1) == 1) & (counts.sum(axis=1) > 0)):
        label = int(np.argmax(counts[client]))
        name = dataset.class_names[label] if label < len(dataset.class_names) else str(label)
        yield Finding("one class", f"all its training samples are of class {name}", int(client))
    absent = np.flatnonzero(counts.sum(axis=0) == 0)
    if len(absent):
        some = ", ".join(
            dataset.class_names[a] if a < len(dataset.class_names) else str(a) for a in absent[:8]
        )
        yield Finding(
            "labels", f"nobody has a training sample of {len(absent)} of {dataset.classes} classes ({some})"
        )


def _alike(names: Sequence[str]) -> list[list[str]]:
    """Names that one might have meant to be the same."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(" ".join(name.split()).casefold(), []).append(name)
    return [same for same in found.values() if len(same) > 1]


def _columns(federation: Federation) -> Iterator[Finding]:
    """Features that tell nothing, or drown the others: of tables alone, since pictures have black borders."""
    dataset = federation.dataset
    if dataset.x.ndim != 2 or dataset.tokens or dataset.x.dtype.kind != "f":
        return
    train = np.concatenate([shard.train for shard in federation.shards])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a feature that nobody has is told of above
        spread = np.nanstd(np.where(np.isfinite(dataset.x[train]), dataset.x[train], np.nan), axis=0)
    constant = spread == 0
    if constant.any():
        yield Finding(
            "constant", f"{_features(constant)} the same for all samples{_places(federation, constant)}"
        )
    told = spread[np.isfinite(spread) & ~constant]
    if len(told) and told.max() > FAR_APART * told.min():
        large = _places(federation, spread == told.max())
        yield Finding(
            "scale", f"spreads of features reach from {told.min():.3g} to {told.max():.3g}{large}: scale them"
        )
    for client in range(federation.clients):
        x = federation.dataset.x[federation.shards[client].train]
        own = (x == x[:1]).all(axis=0) & ~constant if len(x) > 1 else np.zeros(0, bool)
        if own.any():
            where = _places(federation, own)
            yield Finding("constant", f"{_features(own)} the same for all its samples{where}", client)


def _features(chosen: NDArray[np.bool_]) -> str:
    count = int(chosen.sum())
    return "1 feature is" if count == 1 else f"{count} features are"


def _copies(federation: Federation) -> Iterator[Finding]:
    """Test samples that somebody trains on, which make tests look better than they are."""
    samples = federation.dataset.samples
    if samples > MOST_COMPARED:
        yield Finding(
            "copies",
            f"whether test samples are training samples, too, was not looked at: {samples:,} samples are more than the "
            f"{MOST_COMPARED:,} that are compared",
        )
        return
    x, y = federation.dataset.x, federation.dataset.y
    owners: dict[bytes, int] = {}
    for client, shard in enumerate(federation.shards):
        for index in shard.train.tolist():
            owners.setdefault(_digest(x[index], y[index]), client)
    for client, shard in enumerate(federation.shards):
        seen = Counter(owners.get(_digest(x[index], y[index])) for index in shard.test.tolist())
        seen.pop(None, None)
        copies = sum(seen.values())
        if copies:
            whose = "its own" if seen.get(client) else "other clients'"
            share = f"{copies} of {len(shard.test)} test samples"
            yield Finding(
                "copies",
                f"{share} are training samples, too ({whose}, label and all): leave them out",
                client,
            )


def _digest(x: NDArray[np.generic], y: NDArray[np.generic]) -> bytes:
    return hashlib.blake2b(
        np.ascontiguousarray(x).tobytes() + np.asarray(y).tobytes(), digest_size=16
    ).digest()
