"""The nearest neighbours of very many points, approximately: no point is compared with all others.

Points are put into about sqrt(2 points) buckets around centres (k-means on a sample). Each point is compared with all in
its own bucket and in the next nearest one; products of whole buckets are matrix products, which is what processors do
best. Measured against libraries in docs/sketches.md.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.clustering import native
from flockwise.kernels.checks import as_updates
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.rng import generator
from flockwise.types import Updates

PROBES = 2  # buckets in which a point's neighbours are looked for
SAMPLED = 40  # points for each bucket that its centre is found among
SWEEPS = 6  # of k-means
CROWDED = 4  # times the mean: a larger bucket is cut, or equal points would be compared all with all
AT_ONCE = 4096  # points that are given their buckets together
ALONE = -1  # in place of a neighbour that was not found


class Neighbours(NamedTuple):
    """For each point the numbers of its nearest, ALONE where there are fewer, and how alike they are (products)."""

    ids: NDArray[np.int32]
    values: NDArray[np.float32]


def nearest(
    points: Updates, count: int, seed: int = 0, probes: int = PROBES, answers: Updates | None = None
) -> Neighbours:
    """The points with the largest inner products with each; give rows of one length for the most alike by cosine.

    `answers` are rows that stand for the points where they are compared with, if not they themselves.
    """
    points = as_updates(points, "points")
    answers = points if answers is None else as_updates(answers, "answers")
    ids = np.full((len(points), count), ALONE, dtype=np.int32)
    values = np.full((len(points), count), -np.inf, dtype=np.float32)
    centres = _centres(points, seed)
    homes = _homes(points, centres, min(probes, len(centres)))
    members, bucket = _members(homes[:, 0], len(centres))
    asking = members  # first each point asks those beside it
    for probe in range(homes.shape[1]):  # one after the other, so that no list is written to by two threads
        if probe:
            asking = _askers(homes[:, probe], len(centres), bucket)
        _search(points, answers, members, asking, ids, values)
    return Neighbours(ids, values)


def _search(
    points: Updates, answers: Updates, members: list[NDArray[np.int32]], asking: list[NDArray[np.int32]],
    ids: NDArray[np.int32], values: NDArray[np.float32],
) -> None:  # fmt: skip
    def work(pieces: list[slice]) -> None:
        for bucket in range(pieces[0].start, pieces[-1].stop):
            near, askers = members[bucket], asking[bucket]
            for piece in blocks(len(askers), AT_ONCE):
                products = points[askers[piece]] @ answers[near].T
                if not native.keep_nearest(products, askers[piece], near, ids, values):
                    _keep_plainly(products, askers[piece], near, ids, values)

    each_chunk(work, blocks(len(members), 1), points.size * 100)


def _keep_plainly(
    products: NDArray[np.float32], query: NDArray[np.int32], candidate: NDArray[np.int32], ids: NDArray[np.int32],
    values: NDArray[np.float32],
) -> None:  # fmt: skip
    """The same as the compiled code: the largest first, of equal ones the first that came."""
    products = np.where(query[:, None] == candidate[None, :], -np.inf, products)
    both = np.concatenate([values[query], products], axis=1)
    names = np.concatenate([ids[query], np.broadcast_to(candidate, products.shape)], axis=1)
    best = np.argsort(-both, axis=1, kind="stable")[:, : ids.shape[1]]
    values[query] = np.take_along_axis(both, best, axis=1)
    ids[query] = np.where(np.isneginf(values[query]), ALONE, np.take_along_axis(names, best, axis=1))


def _centres(points: Updates, seed: int) -> Updates:
    rng = generator(seed, "buckets")
    count = max(1, int(np.sqrt(2 * len(points))) if len(points) > 2 * SAMPLED else 1)
    drawn = rng.choice(len(points), min(len(points), SAMPLED * count), replace=False)
    sample = points[np.sort(drawn)]
    centres = sample[np.sort(rng.choice(len(sample), count, replace=False))]
    for _ in range(SWEEPS):
        home = _homes(sample, centres, 1)[:, 0]
        order = np.argsort(home, kind="stable")
        sizes = np.bincount(home, minlength=count)
        sums = np.add.reduceat(sample[order], np.minimum(np.cumsum(sizes) - sizes, len(sample) - 1), axis=0)
        lengths = np.linalg.norm(sums, axis=1)
        kept = (sizes > 0) & (lengths > 0)
        centres = centres.copy()
        centres[kept] = sums[kept] / lengths[kept, None]
    return centres


def _homes(points: Updates, centres: Updates, count: int) -> NDArray[np.int32]:
    """The buckets whose centres each point is nearest to."""
    homes = np.empty((len(points), count), dtype=np.int32)

    def work(pieces: list[slice]) -> None:
        for piece in pieces:
            toward = points[piece] @ centres.T
            rows = np.arange(len(toward))
            for place in range(count):
                best = toward.argmax(axis=1)
                homes[piece, place] = best
                toward[rows, best] = -np.inf

    each_chunk(work, blocks(len(points), AT_ONCE), points.size * 100)
    return homes


def _members(home: NDArray[np.int32], count: int) -> tuple[list[NDArray[np.int32]], NDArray[np.intp]]:
    """Who is in each bucket, and which bucket that is; crowded buckets are cut into several."""
    most = max(CROWDED * len(home) // count, 64)
    parts = [np.array_split(found, -(-len(found) // most) or 1) for found in _grouped(home, count)]
    bucket = np.repeat(np.arange(count), [len(several) for several in parts])
    return [part for several in parts for part in several], bucket


def _askers(home: NDArray[np.int32], count: int, bucket: NDArray[np.intp]) -> list[NDArray[np.int32]]:
    """Who asks in each part of a bucket: those that have it as their next home share its parts."""
    pieces = np.bincount(bucket, minlength=count).tolist()
    shared = [np.array_split(found, pieces[place]) for place, found in enumerate(_grouped(home, count))]
    return [part for several in shared for part in several]


def _grouped(home: NDArray[np.int32], count: int) -> list[NDArray[np.int32]]:
    order = np.argsort(home, kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(home, minlength=count))[:-1])
