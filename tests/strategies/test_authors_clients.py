"""What clients do, held to the authors' public code: `published/` has what it gave for small inputs, and whose it is."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.server.methods import make_server
from tests.strategies.small_inputs import SIZE, models, two_kinds
from tests.strategies.test_authors_servers import published
from tests.strategies.test_personal import BODY, NOTHING, close, problem
from torch import nn

from flockwise.config import parse_config
from flockwise.data import Federation
from flockwise.engine.local_training import ClientTraining, Trainers
from flockwise.messages import Reply, Scores, bound
from flockwise.models import Layout
from flockwise.models.layers.mixture import Mixture
from flockwise.models.travel import Travel
from flockwise.runs.assembly import Brought, assemble
from flockwise.runs.loop import one_round
from flockwise.stages.own_beside import Mixed, Pulled
from flockwise.stages.own_heads import BodyFirst, HeadThenBody
from flockwise.stages.own_mix import OwnMix
from flockwise.stages.personal import Personal
from flockwise.stages.shares import shares_of
from flockwise.training import Recipe, choose_trainer


def small():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def assembled(x, y, **sections):
    """A run of these clients. Everything is for training: the authors' code keeps nothing for validation."""
    clients = Federation.from_arrays(list(zip(x, y, strict=True)), classes=3, validation=0.0)
    config = parse_config({"engine": {"workers": 1}, **sections})
    return assemble(config, brought=Brought(clients, small()))


def in_one_batch(module, x, y, rate=0.1, epochs=2, round=1, **travel):
    """A client whose steps are over all of its samples, so that no order of them matters."""
    recipe = Recipe(epochs, len(y), rate)
    make = lambda part: choose_trainer(part, (6,), recipe)[0]  # noqa: E731
    trainers = Trainers(make(module), module, Travel.of(Layout.of(module), **travel), make)
    return ClientTraining(trainers, recipe, round, x, y, np.random.Generator(np.random.Philox(7)))


# IFCA (Ghosh et al.)


def test_ifcas_clients_choose_and_its_models_move_as_in_the_authors_code():
    theirs, (x, y) = published("ifca"), two_kinds()
    training = {"epochs": theirs["steps"], "batch_size": 12, "learning_rate": theirs["rate"]}
    parts = assembled(x, y, strategy={"name": "ifca", "flocks": 2}, training=training)
    parts.server.state = replace(parts.server.state, models=models())
    try:
        for chosen in theirs["chosen"]:
            one_round(parts.server, parts.engine, parts.hazards)
            assert parts.server.state.labels.tolist() == chosen
    finally:
        parts.engine.close()
    np.testing.assert_allclose(parts.server.state.models, theirs["models"], atol=1e-4)


# FedEM (Marfoq et al.)


def test_fedems_shares_are_the_authors_and_its_step_is_theirs_with_responsibilities_made_anew():
    """Theirs makes them once a round, before the shares move: its step is up to a tenth another one here."""
    theirs, (x, y) = published("fedem"), two_kinds()
    local = in_one_batch(Mixture([small(), small()]), x[0], y[0], theirs["rate"], epochs=1, layer="mix")
    start = np.concatenate([*models(), np.log(theirs["shares_before"])]).astype(np.float32)
    trained, _, _ = OwnMix().train(local, start, NOTHING)
    told = torch.softmax(torch.from_numpy(trained[-2:]), 0).numpy()
    np.testing.assert_allclose(told, theirs["shares"], atol=1e-5)
    np.testing.assert_allclose(trained[:-2].reshape(2, SIZE), theirs["trained_anew"], atol=1e-5)
    once, anew = np.array(theirs["trained"]), np.array(theirs["trained_anew"])
    off = np.linalg.norm(once - anew, axis=1) / np.linalg.norm(once - models(), axis=1)
    np.testing.assert_allclose(off, [0.053, 0.095], atol=1e-3)


# FedSoft (Ruan and Joe-Wong)


def mixed_kinds():
    x, y = two_kinds()
    y[4, :5] = (y[4, :5] + 1) % 3
    return x, y


def test_fedsofts_shares_are_the_authors_but_for_their_sum():
    """A centre that fits nothing gets sigma on top of the whole there; here shares sum to one in the end."""
    theirs, (x, y) = published("fedsoft"), mixed_kinds()
    parts = assembled(x, y, strategy={"name": "fedsoft", "flocks": 2})
    centres = np.array(theirs["centres_before"], np.float32)
    counted = np.array([parts.work.shares(client, 1, centres) for client in range(6)])
    parts.engine.close()
    np.testing.assert_allclose(np.maximum(counted, theirs["least"]), theirs["shares"], atol=1e-6)


def test_fedsofts_own_models_are_pulled_as_in_the_authors_code():
    """Where its shares sum to more than one its pull is stronger by as much."""
    theirs, (x, y), own = published("fedsoft"), mixed_kinds(), models(6, seed=53)
    shares, centres = np.array(theirs["shares"]), np.array(theirs["centres_before"])
    for client in range(6):
        local = in_one_batch(small(), x[client], y[client], theirs["rate"], theirs["steps"])
        whole = shares[client].sum()
        sent = (shares[client] / whole @ centres).astype(np.float32)
        memory = np.concatenate([[np.float32(1)], own[client]])
        trained, _, _ = Pulled(pull=theirs["pull"] * whole, sends_own=True).train(local, sent, memory)
        close(trained, theirs["trained"][client])


def test_fedsofts_centres_are_the_authors_mean_by_shares_and_samples():
    theirs = published("fedsoft")
    server = make_server("fedsoft", 6, SIZE, options={"flocks": 2, "least": theirs["least"]})
    plan, trained = server.ask(), np.array(theirs["trained"], np.float32)
    sent = plan.models[[task.models[0] for task in plan.tasks]]
    server.tell(bound(Reply(c, 1, trained[c] - sent[c], 12) for c in range(6)))
    told = np.where(np.array(theirs["shares"]) > 1e-3, theirs["shares"], 0.0)
    server.tell(bound(Scores(c, 1, (0.5, 0.5), 0, (1.0, 1.0), tuple(told[c])) for c in range(6)))
    np.testing.assert_allclose(shares_of(server.state).sum(axis=1), 1.0)
    np.testing.assert_allclose(server.state.models, theirs["centres"], atol=1e-4)


# FedRep (Collins et al.), FedBABU (Oh et al.), Ditto (Li et al.); FedPer as FedRep's authors train it


def test_heads_are_trained_as_in_the_authors_code():
    theirs, (x, y, sent, other) = published("personal_authors")["numbers"], problem()
    whole = np.concatenate([sent[:BODY], other[BODY:]])
    local = lambda round=1: in_one_batch(small(), x, y, round=round, head=1)  # noqa: E731
    close(Personal(1).train(local(), whole, NOTHING)[0], theirs["fedper"])
    close(HeadThenBody(1, 3).train(local(), whole, NOTHING)[0], theirs["fedrep"])
    close(BodyFirst(1, 4).train(local(round=4), sent, NOTHING)[0], theirs["fedbabu"])
    close(BodyFirst(1, 4).train(local(round=5), sent, NOTHING)[0], theirs["fedbabu, fine-tuned"])


def test_dittos_own_and_shared_models_are_trained_as_in_the_authors_code():
    theirs, (x, y, sent, other) = published("personal_authors")["numbers"], problem()
    memory = np.concatenate([[np.float32(1)], other])
    shared, memory, _ = Pulled(pull=0.5).train(in_one_batch(small(), x, y), sent, memory)
    close(memory[1:], theirs["ditto, own"])
    close(shared, theirs["ditto, shared"])
    with pytest.raises(AssertionError):
        close(shared, theirs["ditto, own"])


# APFL (Deng et al.)


def test_apfls_mix_learns_as_in_the_authors_code_where_mixed_outputs_are_those_of_mixed_models():
    """Of a linear model they are. What moves their alpha is ours times alpha^2 + (1 - alpha)^2, and 0.02 alpha."""
    theirs, (x, y) = published("apfl"), two_kinds()
    sent, own = models(2, seed=54, size=6 * 3 + 3)
    alpha, rate = theirs["alpha_before"], theirs["rate"]
    memory = np.concatenate([[1, alpha], own]).astype(np.float32)
    local = in_one_batch(nn.Sequential(nn.Linear(6, 3)), x[0], y[0], rate, epochs=1)
    shared, memory, _ = Mixed(alpha=alpha).train(local, sent, memory)
    close(shared, theirs["shared"])
    close(memory[2:], theirs["own"])
    along = (alpha - theirs["alpha"]) / rate - 0.02 * alpha
    assert memory[1] == pytest.approx(alpha - rate * along / (alpha**2 + (1 - alpha) ** 2), abs=1e-5)
