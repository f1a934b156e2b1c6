"""A strategy of your own: FL+HC again and again, with the median inside flocks."""

from typing import Annotated

import flockwise as fw
from flockwise import stages as do
from flockwise.clustering import agglomerative
from flockwise.options import Count
from flockwise.similarity import l1


@fw.strategy("FL+HC every few rounds, the median inside flocks")
def repeated_median(*, repeat: Annotated[Count, "rounds from one look to the next"] = 5) -> fw.Method:
    """Every few rounds all clients train one model and are clustered anew."""
    clusters = do.Clustered(
        l1,
        lambda away, seed: agglomerative(away, "complete", "auto"),
        takes="distance",
        min_separation=3.0,  # flocks no further apart than noise are not acted on
    )
    look = do.Every(repeat, repeat)
    census = do.chain(do.train(do.everyone, do.joint), do.find_flocks(do.this_round, clusters, look))
    usual = do.chain(do.train(do.sample), do.average(fw.median()))
    return fw.Method(do.chain(do.when(look.looks, census, otherwise=usual), do.place()))


if __name__ == "__main__":
    clients = fw.splits.label_swap(fw.data.digits(), clients=12, groups=3)
    training = fw.SGD(epochs=3, learning_rate=0.1)
    print(fw.run(repeated_median(repeat=4), clients, model=fw.models.mlp, training=training, rounds=10))
