"""A strategy of your own: newcomers join the flock whose updates theirs resembles, without validation data."""

from dataclasses import replace

import numpy as np

import flockwise as fw
from flockwise import stages as do
from flockwise.clustering import louvain
from flockwise.similarity import cosine, one_plus_cosine


def joined(round):
    """Each newcomer of the round joins the flock that its update points with, on the mean."""
    batch, labels = round.replies, round.state.labels.copy()
    known = labels[batch.clients] != do.UNPLACED
    homes, alike = labels[batch.clients[known]], cosine(batch.updates)[:, known]
    for row in np.flatnonzero(~known) if known.any() else ():
        nearness = {flock: alike[row, homes == flock].mean() for flock in np.unique(homes)}
        labels[batch.clients[row]] = max(nearness, key=nearness.get)
    return round.to(replace(round.state, labels=labels))


@fw.strategy("FLIC with a cold start for newcomers")
def cold_start(*, rule: fw.Rule = fw.mean(), warmup: int = 4) -> fw.Method:  # noqa: B008
    """As FLIC; a client never compared is placed by its first update."""
    newest = do.LatestUpdates()
    flocks = do.Clustered(one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity")
    join = do.stage("cold start", joined, ["replies"])
    find = do.find_flocks(newest, flocks, do.once(warmup))
    return fw.Method(do.chain(do.train(do.sample), newest.remember, join, do.average(rule), find))


if __name__ == "__main__":
    clients = fw.splits.label_swap(fw.data.digits(), clients=12, groups=2)
    late, training = {"late_clients": 3, "late_round": 7}, fw.SGD(epochs=3, learning_rate=0.1)
    print(fw.run(cold_start(), clients, model=fw.models.mlp, training=training, rounds=10, faults=late))
