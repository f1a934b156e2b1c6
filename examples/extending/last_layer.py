"""A strategy of your own: one look at the last layer's weights, after the first round (as FedClust does)."""

from dataclasses import dataclass

import flockwise as fw
from flockwise import stages as do
from flockwise.clustering import agglomerative
from flockwise.similarity import l2


@dataclass(frozen=True)
class LastLayer:
    """What clients are compared on: the last layer of the models they send back in this round."""

    needs: frozenset = frozenset({"replies"})

    def known(self, round):
        """Everyone who answered."""
        batch, (start, stop) = round.replies, round.setting.layers[-1]
        return do.Known(batch.clients, lambda: (batch.sent + batch.updates)[:, start:stop])


@fw.strategy("one-shot clustering by the last layer's weights")
def last_layer(*, rule: fw.Rule = fw.mean()) -> fw.Method:  # noqa: B008
    """All clients train once; then FedAvg inside the flocks that their last layers show."""
    clusters = do.Clustered(l2, lambda away, seed: agglomerative(away, "average", "auto"), takes="distance")
    look = do.once(1)
    first = do.chain(do.train(do.everyone), do.find_flocks(LastLayer(), clusters, look), do.average(rule))
    usual = do.chain(do.train(do.sample), do.average(rule))
    return fw.Method(do.chain(do.when(look.looks, first, otherwise=usual), do.place()))


if __name__ == "__main__":
    clients = fw.splits.label_swap(fw.data.digits(), clients=12, groups=3)
    training = fw.SGD(epochs=8, learning_rate=0.2)
    print(fw.run(last_layer(), clients, model=fw.models.softmax, training=training, rounds=8))
