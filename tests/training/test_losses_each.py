import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.models import Layout, build
from flockwise.training import Recipe, choose_trainer


@pytest.mark.parametrize("path", ["native", "generic"])
@pytest.mark.parametrize("model", ["softmax", "cnn"])
def test_clients_tested_together_get_the_same_bits_as_alone(model: str, path: str) -> None:
    module = build(model, (1, 12, 12), 4, seed=0)
    trainer, _ = choose_trainer(module, (1, 12, 12), Recipe(1, 8, 0.1), prefer=path)
    rng = np.random.default_rng(0)
    lengths = np.array([3, 0, 70, 64, 1])
    x = rng.random((lengths.sum(), 12, 12, 1)).astype(np.float32)
    y = rng.integers(0, 4, lengths.sum())
    vector = Layout.of(module).read(module)
    losses, correct = trainer.losses_each(vector, x, y, lengths)
    start = 0
    for client, length in enumerate(lengths):
        if length:
            alone = trainer.losses(vector, x[start : start + length], y[start : start + length])
            assert (losses[client], correct[client]) == alone
        start += length
    assert (losses[1], correct[1]) == (0.0, 0)


def test_lengths_must_add_up() -> None:
    module = build("softmax", (1, 4, 4), 2, seed=0)
    trainer, _ = choose_trainer(module, (1, 4, 4), Recipe(1, 8, 0.1))
    with pytest.raises(InputError, match="add up to 5"):
        trainer.losses_each(
            Layout.of(module).read(module),
            np.zeros((5, 4, 4, 1), np.float32),
            np.zeros(5, np.int64),
            np.array([2, 2]),
        )
