"""FedSoft: clients that belong to several flocks at once."""

import numpy as np
import pytest
import torch
from tests.runs.small import fingerprint
from tests.strategies.playing import BASE, play
from torch.nn import functional

import flockwise
from flockwise.config import parse_config
from flockwise.data import Federation
from flockwise.messages import Scores, bound
from flockwise.runs.assembly import assemble
from flockwise.stages.shares import shares_of

TURNED = {"name": "rotation", "clients": 12, "groups": 2}


@pytest.mark.parametrize("seed", [1, 2])
def test_clients_of_one_kind_have_most_of_one_centre(seed):
    game = play(rounds=12, seed=seed, split=TURNED, strategy={"name": "fedsoft"})
    shares = shares_of(game.server.state)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert game.ari == 1.0 and shares.max(axis=1).min() > 0.8 and game.mean_accuracy > 0.75


def half_and_half():
    """Clients 0 and 1 see digits upright, 2 and 3 turned, 4 and 5 half of each."""
    clients = flockwise.splits.rotation(flockwise.data.digits(), clients=6, groups=2, seed=4)
    arrays = [[clients.arrays(c, part) for part in ("train", "test")] for c in range(6)]
    upright, turned = [0, 2, 4], [1, 3, 5]
    pure = [arrays[c] for c in (upright[0], upright[1], turned[0], turned[1])]
    half = [
        [tuple(np.concatenate([a[half::2], b[half::2]]) for a, b in zip(one, other, strict=True))
         for one, other in zip(arrays[upright[2]], arrays[turned[2]], strict=True)]
        for half in (0, 1)
    ]  # fmt: skip
    return Federation.from_arrays([*pure, *half], classes=10)


def test_clients_with_samples_of_two_kinds_have_shares_in_two_centres(tmp_path):
    run = flockwise.run(
        flockwise.strategies.fedsoft(), half_and_half(), model=flockwise.models.mlp, rounds=12, seed=1,
        training=flockwise.SGD(epochs=3, learning_rate=0.1), engine=flockwise.Local(1), out=tmp_path / "run",
    )  # fmt: skip
    shares = run.checkpoint()["memory/shares/shares"]
    largest = shares.max(axis=1)
    assert largest[:4].min() > largest[4:].max() + 0.1, "clients of one kind, and of half and half"


def test_shares_are_counted_sample_by_sample():
    game = play(rounds=3, split=TURNED, strategy={"name": "fedsoft"})
    work, models = game.parts.work, game.server.state.models
    x, y = work.data(3, "train", 3)
    losses = []
    for model in models:
        work.travel.layout.write(work.module, model)
        with torch.no_grad():
            scores = work.module(torch.from_numpy(x).permute(0, 3, 1, 2))
        losses.append(functional.cross_entropy(scores, torch.from_numpy(y), reduction="none").numpy())
    counted = np.bincount(np.argmin(losses, axis=0), minlength=2) / len(y)
    np.testing.assert_allclose(work.shares(3, 3, models), counted)


def test_a_centre_is_the_mean_of_own_models_by_shares_and_samples():
    parts = assemble(parse_config({**BASE, "split": TURNED, "strategy": {"name": "fedsoft", "every": 9}}))
    server, engine = parts.server, parts.engine
    server.tell(engine.train(server.ask()))
    server.tell(bound(engine.validate(server.ask())))
    shares, plan = shares_of(server.state), server.ask()
    replies = engine.train(plan)
    server.tell(replies)
    own = engine.kept()["own"][:, 1:]
    engine.close()
    np.testing.assert_allclose(plan.models + replies.updates, own, atol=1e-5)
    for centre in (0, 1):
        weights = shares[:, centre] * replies.samples
        np.testing.assert_allclose(server.state.models[centre], weights / weights.sum() @ own, atol=1e-5)


def test_wrong_shares_are_rejected_and_silence_changes_nothing():
    parts = assemble(parse_config({**BASE, "split": TURNED, "strategy": {"name": "fedsoft"}}))
    server, engine = parts.server, parts.engine
    server.tell(engine.train(server.ask()))
    told = {s.client: s for s in engine.validate(server.ask())}
    engine.close()
    wrong = {0: (2.0, -1.0), 1: (0.5,), 2: ("a", "b"), 3: [0.5, 0.5], 4: (float("nan"), 0.0)}
    answers = [
        Scores(c, 1, s.values, s.samples, s.losses, wrong.get(c, s.shares)) for c, s in told.items() if c != 5
    ]
    record = server.tell(bound(answers))
    assert sorted(e.client for e in record.events if e.kind == "rejected") == [0, 1, 2, 3, 4]
    assert all("shares" in e.message for e in record.events)
    assert (
        shares_of(server.state)[:6].tolist() == [[0.5, 0.5]] * 6
        and (shares_of(server.state)[6:] != 0.5).all()
    )


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    content = {**BASE, "rounds": 5, "split": TURNED, "strategy": {"name": "fedsoft"}, "checkpoint": {"every": 1},
               "sampling": {"fraction": 0.5}}  # fmt: skip
    flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, False, True])
    flockwise.run({**content, "engine": {"workers": 2}}, out=tmp_path / "run", stop=lambda: next(answers))
    flockwise.resume(tmp_path / "run")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")
