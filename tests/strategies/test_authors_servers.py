"""What servers do, held to the authors' public code: `published/` has what it gave for small inputs, and whose it is."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.server.methods import make_server
from tests.strategies.small_inputs import (
    KINDS,
    LAYERS,
    SIZE,
    accuracy,
    drawn,
    latents_of_kinds,
    losses_of_two_levels,
    models_of_kinds,
    updates_of_kinds,
)

from flockwise.clustering import agglomerative, louvain
from flockwise.messages import Reply, Scores, bound
from flockwise.metrics import adjusted_rand
from flockwise.similarity import one_plus_cosine, trusted
from flockwise.stages.centres import kmeans, nearest
from flockwise.stages.descriptors import descriptor, whole
from flockwise.stages.evidence import Known
from flockwise.stages.grouping import SplitInTwo, as_kind
from flockwise.stages.loss_weights import affinity, spectral
from flockwise.stages.neighbours import NearestCommunities
from flockwise.stages.reconsider import reconsider
from flockwise.stages.stage import Admitted, Round
from flockwise.stages.state import UNPLACED, State
from flockwise.stages.timing import Every

FOLDER = Path(__file__).parent / "published"


def published(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def one_round(server, present, updates, samples=None, losses=None):
    """A round in which those who are present send what is given for them."""
    plan = server.ask(present)
    told = [
        Reply(
            client, plan.round, updates[client],
            10 if samples is None else int(samples[client]),
            loss=0.5 if losses is None else losses[client],
        )
        for client in (task.client for task in plan.tasks)
    ]  # fmt: skip
    return server.tell(bound(told))


def parts_of(labels):
    """Who is together, however parts are numbered; those without one left out."""
    labels = np.asarray(labels)
    return sorted(np.flatnonzero(labels == one).tolist() for one in np.unique(labels[labels != UNPLACED]))


def known(rows):
    return Known(np.arange(len(rows)), lambda: rows)


def state_of(labels, flocks):
    """Model i is the number i."""
    models = np.arange(flocks, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
    return State(0, models, np.array(labels), np.zeros(len(labels), dtype=np.int8))


# Clustered federated learning (Sattler et al.)


def test_cfl_ends_in_the_authors_flocks_and_means_though_its_first_cut_is_another():
    """Complete linkage keeps another pair of kinds together at first: what is alike across its cut is more alike."""
    theirs, rows = published("cfl"), updates_of_kinds()
    server = make_server("cfl", 9, 20, options={"threshold": 0.5, "cohesion": -1.0})
    one_round(server, None, rows)
    square, first = np.array(theirs["similarities"]), server.state.labels
    kept, left = theirs["parts"][0]
    assert square[np.ix_(first == 0, first != 0)].max() < square[np.ix_(kept, left)].max()
    sent, which = server.assignment()
    one_round(server, None, rows)
    assert parts_of(server.state.labels) == theirs["parts"][1]
    now, mine = server.assignment()
    moved = [now[mine[part[0]]] - sent[which[part[0]]] for part in theirs["parts"][1]]
    np.testing.assert_allclose(moved, theirs["models"], atol=1e-5)


def test_cfls_similarities_and_gate_are_the_authors():
    theirs, rows = published("cfl"), updates_of_kinds()
    np.testing.assert_allclose(one_plus_cosine.function(rows) - 1.0, theirs["similarities"], atol=1e-5)
    mean, longest = theirs["norms"][0]
    for eps1, eps2, opens in (
        (mean - 1e-4, longest - 1e-4, False), (mean + 1e-4, longest + 1e-4, False), (mean + 1e-4, longest - 1e-4, True),
    ):  # fmt: skip
        found = SplitInTwo(0.5, eps1=eps1, eps2=eps2).find(known(rows), Round(state_of(np.zeros(9, int), 1)))
        assert len(parts_of(found.labels)) == 1 + opens


# FLIC (Espinoza Castellon et al.)


AS_THEIRS = {"min_separation": 0.0, "refine": None, "self_loops": True}


@pytest.mark.parametrize("options", [AS_THEIRS, {}], ids=["as theirs", "our defaults"])
def test_flics_similarities_and_flocks_are_the_authors(options):
    """Theirs has a diagonal of 2 in its graph, which `self_loops` keeps."""
    theirs, rows = published("flic"), updates_of_kinds(clients=12, noise=0.7, seed=45)
    server = make_server("flic", 12, 20, options={"warmup": 2, **options})
    for heard in (range(6), range(4, 10)):
        record = one_round(server, np.isin(np.arange(12), heard), rows)
    np.testing.assert_allclose(one_plus_cosine.function(rows[:10]), theirs["similarities"], atol=1e-5)
    assert parts_of(server.state.labels) == theirs["flocks"]
    assert np.flatnonzero(server.state.labels == UNPLACED).tolist() == theirs["never"]
    assert record.facts["flocks"] == 3


# Communities


def test_communities_distances_similarities_and_parts_are_the_authors():
    """Theirs goes from the earlier client to the later one, and mirrors it; ours takes the mean of both directions."""
    theirs, rows = published("communities"), models_of_kinds()
    upper = trusted.function(rows, LAYERS, symmetrize="upper")
    np.testing.assert_allclose(upper, theirs["distances"], rtol=1e-4)
    graph = as_kind(upper, trusted, "similarity", 3.0)
    away = ~np.eye(9, dtype=bool)
    np.testing.assert_allclose(graph[away], np.array(theirs["similarities"])[away], atol=1e-4)
    for square in (upper, trusted.function(rows, LAYERS)):
        found = louvain(as_kind(square, trusted, "similarity", 3.0), 1.0, 0)
        assert parts_of(found) == theirs["communities"]


def test_communities_nearest_models_are_mixed_by_the_authors_weights():
    theirs, rows = published("communities"), models_of_kinds()
    means = np.array([rows[part].mean(axis=0) for part in theirs["communities"]])
    away = np.array(theirs["away"])
    np.testing.assert_allclose(NearestCommunities("wnn")._mixed(away, means), theirs["mixed"], atol=1e-5)
    one_way = trusted.function(np.concatenate([rows, means]), LAYERS, symmetrize="upper")[:9, 9:]
    np.testing.assert_allclose(one_way, away, rtol=1e-4)
    both = trusted.function(np.concatenate([rows, means]), LAYERS)[:9, 9:]
    assert both.argmin(axis=1).tolist() == away.argmin(axis=1).tolist()


# FeSEM (Xie et al.)


def test_fesems_two_steps_are_the_authors():
    theirs, rows = published("fesem"), models_of_kinds()
    assert kmeans(rows, 3, seed=0).tolist() == theirs["labels"]
    for label, centre in enumerate(theirs["centres"]):
        np.testing.assert_allclose(rows[np.array(theirs["labels"]) == label].mean(axis=0), centre, atol=1e-5)
    moved = (rows + 0.3 * drawn(47).normal(size=rows.shape)).astype(np.float32)
    assert nearest(moved, np.array(theirs["centres"], np.float32))[0].tolist() == theirs["labels_moved"]
    server = make_server("fesem", 9, SIZE, options={"flocks": 3})
    for models in (rows, moved):
        sent, which = server.assignment()
        one_round(server, None, models - sent[which])
    assert parts_of(server.state.labels) == parts_of(theirs["labels_moved"])
    for client, label in enumerate(theirs["labels_moved"]):
        ours = server.state.models[server.state.labels[client]]
        np.testing.assert_allclose(ours, theirs["centres_moved"][label], atol=1e-5)


# FedGWC (Licciardi et al.)


def test_fedgwc_weighs_settles_and_clusters_as_the_authors_code():
    theirs = published("fedgwc")
    who, losses, samples = losses_of_two_levels()
    server = make_server("fedgwc", 16, 3, options={"gamma": 4.0, "eps": 1e-9})
    moved = []
    for round, clients in enumerate(who):
        told = dict(zip(clients.tolist(), losses[round], strict=True))
        one_round(server, np.isin(np.arange(16), clients), np.zeros((16, 3), np.float32), samples, told)
        moved.append(server.state.to_arrays()["memory/loss weights/moved"][0])
    weights = server.state.to_arrays()["memory/loss weights/weights"]
    np.testing.assert_allclose(weights, theirs["weights"], atol=1e-6)
    np.testing.assert_allclose(moved, theirs["moved"], atol=1e-8)
    np.testing.assert_allclose(affinity(weights, 4.0), theirs["kernel"], atol=1e-5)
    tried = [spectral(affinity(weights, 4.0), flocks, seed=0) for flocks in (2, 3, 4)]
    np.testing.assert_allclose([score for score, _ in tried], theirs["scores"], atol=1e-3)
    assert parts_of(tried[theirs["flocks"] - 2][1]) == parts_of(theirs["labels"])


def test_fedgwc_looks_for_the_first_time_when_the_authors_code_does():
    looked = published("fedgwc")["looked"]
    who, losses, samples = losses_of_two_levels()
    server = make_server("fedgwc", 16, 3, options={"gamma": 4.0, "eps": 1.5e-3})
    for round in range(looked):
        told = dict(zip(who[round].tolist(), losses[round], strict=True))
        one_round(server, np.isin(np.arange(16), who[round]), np.zeros((16, 3), np.float32), samples, told)
        calm = server.state.to_arrays()["memory/loss weights/calm"]
        assert (calm.max() == 4) == (round + 1 == looked), "as many calm rounds as it takes to draw everybody"


# FedDrift (Jothimurugesan et al.)


def test_feddrift_parts_and_merges_as_the_authors_code():
    theirs, learned = published("feddrift"), dict(enumerate(KINDS[0]))
    state = state_of(np.arange(6), 6)
    for look, kinds in enumerate(KINDS):
        flocks = np.unique(state.labels)
        losses = [
            [1.0 - accuracy(learned[f], kind, look) - 0.05 * (look == 0 and f == c) for f in flocks.tolist()]
            for c, kind in enumerate(kinds)
        ]
        state = looked(state, losses, delta=0.3)
        assert parts_of(state.labels) == parts_of(theirs["looks"][look])
        for client, flock in enumerate(state.labels.tolist()):
            learned.setdefault(flock, kinds[client])
            if flock not in flocks:
                learned[flock] = kinds[client]
        began = sorted(state.models[np.unique(state.labels), 0].tolist())
        if look < 3:
            np.testing.assert_allclose(began, sorted(theirs["models"][look]))
    # Theirs weighs by clients and time steps, ten and seven; ours by who is there now, two and one.
    assert 3.323529 in theirs["models"][3] and began == pytest.approx([0.5, 0.5, (2 * 2.5 + 4.5) / 3])


def looked(state, losses, delta):
    """The state after a look at which all clients say what they lose with each model."""
    steps = reconsider(Every(), delta, delta).run(Round(state))
    plan = next(steps)
    scores = [Scores(c, plan.round, (0.5,) * len(row), 9, tuple(row)) for c, row in enumerate(losses)]
    with pytest.raises(StopIteration) as done:
        steps.send(Admitted(scores))
    return done.value.value.state


# FLUX (Fenoglio et al.)


def test_flux_describes_clients_by_the_authors_moments():
    theirs, (x, y) = published("flux"), latents_of_kinds()
    ours = np.array([descriptor(5, 4).make(x[c], y[c], 4)["descriptor"] for c in range(9)])
    for part, name in ((ours[:, 0, 0], "mean"), (ours[:, 0, 1], "std")):
        np.testing.assert_allclose(part, theirs[name], atol=1e-6)
    np.testing.assert_allclose(ours[:, 1:, 0], theirs["mean_by_label"], atol=1e-6)
    np.testing.assert_allclose(ours[:, 1:, 1], theirs["std_by_label"], atol=1e-6)


def test_flux_with_the_authors_radius_finds_their_flocks_and_with_its_own_the_kinds():
    """The elbow of nine clients leaves one of them alone; the automatic cut finds the three kinds."""
    theirs, (x, y) = published("flux"), latents_of_kinds()
    told = np.array([descriptor(5, 4).make(x[c], y[c], 4)["descriptor"] for c in range(9)])
    away = whole.function(told)
    assert parts_of(agglomerative(away, "single", theirs["radius"])) == parts_of(theirs["flocks"])
    assert (
        adjusted_rand(agglomerative(away, "single", "auto"), np.arange(9) % 3)
        == 1.0
        > adjusted_rand(np.array(theirs["flocks"]), np.arange(9) % 3)
    )


# FedOpt (Reddi et al.)


@pytest.mark.parametrize("optimizer", ["yogi", "adagrad", "momentum"])
def test_fedopts_steps_are_the_authors_but_for_their_correction_of_the_first_rounds(optimizer):
    """Their Yogi lengthens or shortens step t by a factor of t alone, which Algorithm 2 does not have."""
    theirs = published("fedopt")
    beta1, beta2 = 0.0 if optimizer == "adagrad" else theirs["beta1"], theirs["beta2"]
    options = {"optimizer": optimizer, "server_rate": theirs["rate"], "beta1": beta1, "beta2": beta2}
    server = make_server("fedopt", 1, 5, options={**options, "tau": theirs["tau"]})
    for number, update in enumerate(drawn(49).normal(size=(8, 5)).astype(np.float32), start=1):
        before = server.state.models[0].astype(np.float64)
        one_round(server, None, [update])
        moved = server.state.models[0] - before
        factor = np.sqrt(1 - beta2**number) / (1 - beta1**number) if optimizer == "yogi" else 1.0
        np.testing.assert_allclose(factor * moved, theirs[optimizer][number - 1], atol=5e-6)
