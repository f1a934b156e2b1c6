"""What dropout draws from is seeded on whatever device; a GPU's generator by stand-ins, since there is none here."""

from contextlib import contextmanager
from typing import Any

import pytest
import torch

from flockwise.training.seeding import seeded


def test_the_processors_generator_is_seeded_and_given_back() -> None:
    before = torch.get_rng_state()
    drawn = []
    for _ in range(2):
        with seeded(7, torch.device("cpu")):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn) and torch.equal(torch.get_rng_state(), before)


def test_a_gpus_generator_is_seeded_with_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    @contextmanager
    def remembered(**options: Any) -> Any:
        told.append(options)
        yield

    @contextmanager
    def chosen(device: torch.device) -> Any:
        told.append(device)
        yield

    monkeypatch.setattr(torch.random, "fork_rng", remembered)
    monkeypatch.setattr(torch.cuda, "device", chosen)
    monkeypatch.setattr(torch.cuda, "manual_seed", told.append)
    with seeded(7, torch.device("cuda", 1)):
        pass
    assert told == [{"devices": [torch.device("cuda", 1)]}, torch.device("cuda", 1), 7]
