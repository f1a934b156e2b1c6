"""A small transformer for tokens, and low-rank updates of one."""

import numpy as np
import pytest
import torch

import flockwise as fw
from flockwise.errors import InputError
from flockwise.models import build
from tests.tasks import problems

SIGNS = len(problems.SIGNS)
SMALL = {"width": 32, "depth": 1, "heads": 2}


def _made(**options):
    return build("transformer", (1, 1, 8), SIGNS, seed=0, **{**SMALL, **options})


def test_no_step_sees_what_comes_after_it():
    module, tokens = _made(depth=2).eval(), torch.randint(0, SIGNS, (2, 8))
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % SIGNS
    with torch.no_grad():
        before, after = module(tokens), module(changed)
    assert before.shape == (2, 8, SIGNS)
    assert torch.equal(before[:, :5], after[:, :5]) and not torch.equal(before[:, 5:], after[:, 5:])


def test_low_rank_updates_add_nothing_at_first_and_are_all_that_trains():
    plain, thin = _made().eval(), _made(lora=2).eval()
    tokens = torch.randint(0, SIGNS, (2, 8))
    with torch.no_grad():
        assert torch.equal(plain(tokens), thin(tokens))
    trained = {name for name, parameter in thin.named_parameters() if parameter.requires_grad}
    assert trained and all(name.endswith((".down", ".up")) for name in trained)


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    """A small model that has learned the text."""
    folder = tmp_path_factory.mktemp("text")
    run = fw.run(
        fw.fedavg(), problems.next_character(), model=_made(), task="next-token", rounds=3,
        training=fw.Adam(epochs=4, batch_size=16, learning_rate=0.01), out=folder / "run",
    )  # fmt: skip
    return run, run.save_model(folder / "text.safetensors", module=_made())


def test_it_learns_the_next_character(text_model):
    run, _ = text_model
    assert run.facts["perplexity"][-1] < 2 < run.facts["perplexity"][0] < SIGNS


def _reversed_alphabet():
    """The same text in another writing, where every sign stands for another one."""
    clients = problems.next_character()
    x, y = clients.dataset.x, clients.dataset.y
    pairs = [
        tuple((SIGNS - 1 - x[part], SIGNS - 1 - y[part]) for part in (shard.train, shard.test))
        for shard in clients.shards
    ]
    return fw.Federation.from_arrays(pairs, classes=SIGNS, inputs="tokens")


def test_only_low_rank_updates_train_and_travel(text_model, tmp_path):
    learned, weights = text_model
    clients = _reversed_alphabet()
    thin = _made(lora=4, weights=str(weights))
    run = fw.run(
        fw.fedavg(), clients, model=thin, task="next-token", rounds=3,
        training=fw.Adam(epochs=4, batch_size=16, learning_rate=0.03), out=tmp_path / "thin",
    )  # fmt: skip
    sent = run.checkpoint()["models"].shape[1]
    whole = sum(parameter.numel() for parameter in thin.parameters())
    assert sent == sum(p.numel() for p in thin.parameters() if p.requires_grad) < whole / 10
    assert run.facts["perplexity"][-1] < run.facts["perplexity"][0]
    back = run.model(module=_made(lora=4))  # what never changed comes from the record, not from this module
    base = learned.model(module=_made())
    assert torch.equal(back.blocks[0].asked.layer.weight, base.blocks[0].asked.weight)
    assert back.blocks[0].asked.up.any()
    np.testing.assert_array_equal(
        fw.resume(run.path, clients=clients, model=_made(lora=4, weights=str(weights)), rounds=4).rounds,
        [1, 2, 3, 4],
    )


def test_a_config_says_the_same(text_model, tmp_path):
    _, weights = text_model
    run = fw.run(
        {
            "rounds": 1, "task": {"name": "next-token"}, "training": {"optimizer": "adamw", "learning_rate": 0.01},
            "model": {"name": "transformer", "lora": 2, "weights": str(weights), **SMALL},
        },
        problems.next_character(), out=tmp_path / "run",
    )  # fmt: skip
    assert run.config["model"]["lora"] == 2 and run.facts["perplexity"][-1] < 6


def test_weights_lie_beside_the_config_wherever_the_run_is_started(text_model, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = {
        "rounds": 1, "task": {"name": "next-token"},
        "model": {"name": "transformer", "lora": 2, "weights": text_model[1].name, **SMALL},
    }  # fmt: skip
    run = fw.run(config, problems.next_character(), directory=text_model[1].parent, out=tmp_path / "run")
    assert run.config["model"]["weights"] == text_model[1].name
    run.model(flock=0)  # made anew from there, too


@pytest.mark.parametrize(
    "options, match",
    [
        ({"width": 30, "heads": 4}, r"must be a multiple of model\.heads = 4"),
        ({"weights": "nowhere.safetensors"}, "cannot be read"),
    ],
)
def test_what_cannot_be_made_is_told_in_a_line(options, match):
    with pytest.raises(InputError, match=match):
        _made(**options)


def test_weights_of_another_model_are_refused(text_model):
    with pytest.raises(InputError, match="does not fit"):
        _made(width=16, weights=str(text_model[1]))
