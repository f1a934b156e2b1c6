"""A strategy of your own: newcomers join the flock whose updates theirs resembles, without validation data."""

from dataclasses import replace

import numpy as np

import flockwise as fw
from flockwise.clustering import louvain
from flockwise.similarity import cosine, one_plus_cosine
from flockwise.stages import UNPLACED, Clustered, LatestUpdates, Method, average, chain, find_flocks, once, sample
from flockwise.stages import stage, train


def _joined(round):
    """Each newcomer of the round joins the flock that its update points with, on the mean."""
    batch, labels = round.replies, round.state.labels.copy()
    known = labels[batch.clients] != UNPLACED
    alike = cosine(batch.updates)[:, known]
    flocks = np.unique(labels[batch.clients[known]])
    for row in np.flatnonzero(~known) if len(flocks) else ():
        nearness = [alike[row, labels[batch.clients[known]] == flock].mean() for flock in flocks]
        labels[batch.clients[row]] = flocks[int(np.argmax(nearness))]
    return round.to(replace(round.state, labels=labels))


@fw.strategy("FLIC with a cold start for newcomers")
def cold_start(*, rule: fw.Rule = fw.mean(), warmup: int = 4) -> Method:  # noqa: B008
    """As FLIC; a client never compared is placed by its first update."""
    newest = LatestUpdates()
    flocks = Clustered(one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity")
    join = stage("cold start", _joined, ["replies"])
    return Method(chain(train(sample), newest.remember, join, average(rule), find_flocks(newest, flocks, once(warmup))))


if __name__ == "__main__":
    clients = fw.splits.label_swap(fw.data.digits(), clients=12, groups=2)
    late = {"late_clients": 3, "late_round": 7}
    print(fw.run(cold_start(), clients, model=fw.models.mlp, training=fw.SGD(3, 10, 0.1), rounds=10, faults=late))
