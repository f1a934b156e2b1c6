"""Runs whose learning rate changes, stopped and resumed."""

import numpy as np
import pytest
import torch

import flockwise as fw
from flockwise.config import parse_config
from flockwise.errors import ConfigError

CLIENTS = fw.splits.iid(fw.data.digits(), clients=4, samples=60, test=20)


def _recipe(**more):
    return fw.SGD(learning_rate=0.1, schedule=["cosine", fw.schedules.warmup(2)], **more)


def _models(run):
    return run.checkpoint()["models"]


def test_a_run_that_was_stopped_goes_on_with_the_rates_it_would_have_had(tmp_path):
    def training(where, **more):
        return fw.run(
            fw.fedavg(), CLIENTS, model=fw.models.softmax, training=_recipe(), rounds=6, out=where, **more
        )

    whole = training(tmp_path / "whole")
    turns = iter([False, False, True])
    training(tmp_path / "stopped", stop=lambda: next(turns))
    again = fw.resume(tmp_path / "stopped")
    np.testing.assert_array_equal(_models(whole), _models(again))


def test_more_rounds_later_do_not_change_the_rates_of_those_before(tmp_path):
    run = fw.run(
        fw.fedavg(), CLIENTS, model=fw.models.softmax, training=_recipe(), rounds=4, out=tmp_path / "a"
    )
    assert run.config["training"]["schedule"][0] == {"name": "cosine", "floor": 0.0, "over": 4}
    assert run.facts["learning_rate"][0] == 0.05 and run.facts["learning_rate"][2] == pytest.approx(0.05)
    before = _models(run)
    longer = fw.resume(tmp_path / "a", rounds=6)  # after its end a cosine leaves nothing to learn with
    assert len(longer.rounds) == 6
    np.testing.assert_array_equal(_models(longer), before)


def test_a_config_says_the_same(tmp_path):
    content = {
        "rounds": 3,
        "split": {"clients": 4, "samples": 60, "test": 20},
        "training": {"learning_rate": 0.1, "schedule": {"name": "exponential", "factor": 0.5}},
    }
    said = fw.run(content, out=tmp_path / "said")
    recipe = fw.SGD(learning_rate=0.1, schedule=fw.schedules.exponential(0.5))
    made = fw.run(
        fw.fedavg(), CLIENTS, model=fw.models.softmax, training=recipe, rounds=3, out=tmp_path / "made"
    )
    np.testing.assert_array_equal(_models(said), _models(made))


def test_an_optimiser_that_only_python_can_make_is_given_again(tmp_path):
    recipe = fw.Optimizer(lambda parameters: torch.optim.Adagrad(parameters, lr=0.01), batch_size=20)
    run = fw.run(fw.fedavg(), CLIENTS, model=fw.models.softmax, training=recipe, rounds=2, out=tmp_path / "a")
    with pytest.raises(ConfigError, match=r"training\.optimizer = 'own'.*training=\.\.\."):
        fw.resume(run.path, rounds=3)
    assert len(fw.resume(run.path, rounds=3, training=recipe).rounds) == 3


def test_an_optimiser_beside_the_config_is_found_by_name(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n\ndef slow(parameters, learning_rate):\n"
        "    return torch.optim.SGD(parameters, lr=learning_rate)\n"
    )
    content = {"rounds": 2, "split": {"clients": 4, "samples": 60}, "training": {"optimizer": "mine:slow"}}
    run = fw.run(content, directory=tmp_path, out=tmp_path / "a")
    plain = fw.run({**content, "training": {}}, out=tmp_path / "b")
    np.testing.assert_allclose(_models(run), _models(plain), atol=1e-5)


@pytest.mark.parametrize(
    "training, match",
    [
        ({"schedule": "cosin"}, r"training\.schedule: .*did you mean 'cosine'"),
        ({"schedule": {"name": "step", "every": 0}}, r"training\.schedule\.every = 0: must be at least 1"),
        ({"step_schedule": 3}, r"training\.step_schedule = 3: must be a list"),
        ({"optimizer": "nobody:knows"}, "cannot import 'nobody'"),
        ({"clip": -1}, r"training\.clip = -1: must be above 0"),
    ],
)
def test_what_cannot_be_meant_is_told_before_anything_starts(training, match):
    with pytest.raises(ConfigError, match=match):
        parse_config({"training": training})
