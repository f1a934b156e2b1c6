"""FedEM, federated learning under a mixture of distributions (Marfoq et al., NeurIPS 2021, Algorithm 1).

Every client's data is a mix of M unknown kinds. The server keeps M models; a client mixes their predictions by shares of
its own (`model.name = "mixture"`: its `parts` are M). In a round a client

    E-step: q(m | sample) ~ share_m * exp(-loss of model m on it)           for every sample and model
    M-step: share_m <- mean of q(m | sample); model m <- steps on its loss, samples weighted by q(m | sample)

and sends all M models back, which are averaged. The gradient of the mixture's own loss is exactly that weighted one, so
clients train the mixture as one model and keep its shares. With `flocks` all of it happens inside flocks.

Where we differ: q is made anew for every batch of the M-step, by the new shares; the authors' code makes it once a round,
by the old ones.
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method
from flockwise.stages.own_mix import OwnMix
from flockwise.strategies.inside import Flocks, personal_inside
from flockwise.strategies.strategy import MEAN, strategy


@strategy("several models, each client's own mix of them", "Marfoq et al., NeurIPS 2021",
          start={"model": {"name": "mixture"}})  # fmt: skip
def fedem(*, rule: Rule = MEAN, flocks: Flocks = None) -> Method:
    """Shared models, own shares."""
    return personal_inside(flocks, rule, OwnMix())
