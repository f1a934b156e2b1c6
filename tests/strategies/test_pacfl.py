"""PACFL: flocks from the angles between the subspaces that clients' data lie in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.clustering import agglomerative
from flockwise.config import parse_config
from flockwise.errors import InputError
from flockwise.metrics import adjusted_rand
from flockwise.runs.assembly import assemble
from flockwise.server import Server
from flockwise.stages.subspaces import angles, directions
from flockwise.strategies import STRATEGIES

PUBLISHED = json.loads((Path(__file__).parent / "published" / "pacfl.json").read_text())
TURNED = {"name": "rotation", "clients": 12, "groups": 2}


def told():
    """The directions of the clients that the published code was run on."""
    clients = flockwise.splits.rotation(flockwise.data.digits(), clients=8, groups=4, seed=3)
    report = directions(3, True, 64, 10)
    return np.stack([report.make(*clients.arrays(c, "train"), 10)["directions"] for c in range(8)])


def test_the_smallest_angles_are_those_of_the_authors_code():
    np.testing.assert_allclose(angles("smallest").function(told()), PUBLISHED["angles"], atol=2e-4)


@pytest.mark.parametrize("setting", PUBLISHED["clusters"])
def test_flocks_are_those_of_the_authors_code_for_the_same_threshold(setting):
    linkage, threshold = setting.split()
    ours = {"maximum": "complete", "minimum": "single"}[linkage]
    found = agglomerative(angles("smallest").function(told()), ours, float(threshold))
    assert found.tolist() == PUBLISHED["clusters"][setting]


def test_directions_have_no_sign_and_missing_classes_do_not_count():
    rows = told()
    flipped = rows * np.where(np.arange(3) == 1, -1.0, 1.0)[None, None, :, None]
    for kind in ("smallest", "ordered"):
        np.testing.assert_allclose(angles(kind).function(rows), angles(kind).function(flipped), atol=1e-6)
    alone = np.zeros_like(rows)
    alone[0, 0], alone[1:, 1] = rows[0, 0], rows[1:, 1]
    assert (angles("ordered").function(alone)[0, 1:] == 90.0).all(), "nothing in common"
    with_zeros = directions(3, True, 64, 10).make(np.ones((2, 8, 8, 1)), np.array([4, 4]), 10)["directions"]
    assert with_zeros[[0, 9]].any() is np.False_ and with_zeros[4, 0].any()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_turned_clients_are_found_before_anything_is_averaged(seed):
    game = play(rounds=4, seed=seed, split=TURNED, strategy={"name": "pacfl"})
    assert game.ari == 1.0 and [round for round, _ in game.events("flocks")] == [1]


def test_swapped_labels_show_class_by_class_alone():
    assert play(rounds=2, strategy={"name": "pacfl"}).server.state.flocks == 1
    assert play(rounds=2, strategy={"name": "pacfl", "angle": "ordered"}).ari == 1.0


def test_alike_clients_stay_together():
    game = play(rounds=2, split={"name": "iid", "clients": 12}, strategy={"name": "pacfl"})
    assert game.server.state.flocks == 1


def test_a_newcomer_joins_the_flock_it_resembles_with_its_first_reply():
    late = {"late_clients": 3, "late_round": 3}
    game = play(rounds=4, split=TURNED, strategy={"name": "pacfl"}, faults=late)
    placed = {event.client: round for round, event in game.events("placed")}
    absent = set(np.flatnonzero(~game.records[0].arrays["trained"]).tolist())
    assert len(absent) == 3 and game.ari == 1.0
    assert all(placed.get(client, 0) <= 3 for client in absent)


def test_a_server_must_know_how_large_reports_are():
    with pytest.raises(
        InputError, match=r"^pacfl: what clients tell depends on their data; say method.for_data"
    ):
        Server(STRATEGIES["pacfl"](), np.zeros(4), 3)
    with pytest.raises(
        InputError,
        match=r"^strategy.by_class = true: samples of this data do not have one class each; set it to false$",
    ):
        STRATEGIES["pacfl"]().for_data(4, 0)
    sized = STRATEGIES["pacfl"](features=64, classes=10).report
    assert sized.shapes == {"directions": (10, 3, 64)}
    assert STRATEGIES["pacfl"](by_class=False, features=64).report.shapes == {"directions": (1, 3, 64)}


@pytest.mark.parametrize("name", ["pacfl", "flux"])
@pytest.mark.parametrize("size", [1e300, 1e20, -1e9])
def test_a_liars_report_neither_ends_the_run_nor_moves_the_others(name, size):
    options = {"warmup": 1} if name == "flux" else {}
    parts = assemble(parse_config({**BASE, "split": TURNED, "strategy": {"name": name, **options}}))
    server, engine = parts.server, parts.engine
    for _ in range(3):
        replies = engine.train(server.ask())
        told = {key: array.copy() for key, array in replies.reports.items()}
        for array in told.values():
            array[4] = size
        server.tell(replace(replies, reports=told))
    engine.close()
    honest = np.arange(12) != 4
    assert adjusted_rand(server.state.labels[honest], parts.federation.groups[honest]) == 1.0
    assert np.isfinite(server.state.models).all()


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    content = {**BASE, "rounds": 4, "split": TURNED, "strategy": {"name": "pacfl"}, "checkpoint": {"every": 1},
               "faults": {"late_clients": 2, "late_round": 3}}  # fmt: skip
    assert parse_config(content).strategy.parameters["features"] is None
    whole = flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, True])
    flockwise.run(content, out=tmp_path / "run", stop=lambda: next(answers))
    again = flockwise.resume(tmp_path / "run")
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys() and "memory/told/rows" in ours
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
