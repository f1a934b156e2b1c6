"""Several sets of models, tried one after the other (IFCA)."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.stages import Setting
from flockwise.stages.restarts import _TRIED, Restarts, Tried
from tests.stages.states import a_round, after, batch, state

SETS = Restarts(flocks=2, restarts=3, probe=2, warm_start=1)


def offered(round, **tried):
    before = state([0] * 4, models=6, round=round, memory=[(_TRIED, Tried(**tried))] if tried else [])
    return SETS.offer(a_round(before), np.array([0, 1]))[1]


def test_sets_are_tried_in_turn_after_a_warm_start_of_one_model():
    assert offered(0) == [(0,), (0,)], "the warm start"
    assert [offered(round)[0] for round in (1, 2, 3, 4, 5, 6)] == [
        (0, 1),
        (0, 1),
        (2, 3),
        (2, 3),
        (4, 5),
        (4, 5),
    ]


def test_the_best_set_goes_on():
    assert offered(9, losses=np.array([3.0, 1.0, 2.0]), best=1) == [(2, 3), (2, 3)]


def test_a_clients_model_is_within_the_set_at_hand():
    before = state([0, 1, 5, -1], models=6, memory=[(_TRIED, Tried(np.zeros(3), 1))])
    assert SETS.assign(before, Setting())[1].tolist() == [2, 2, 3, 2]


def test_the_median_loss_of_each_sets_last_probe_decides_and_liars_do_not():
    now, losses = state([0] * 3, models=6), {1: 9.0, 2: 5.0, 3: 4.0, 4: 8.0, 5: 2.0, 6: 7.0, 7: 6.0}
    for number in range(1, 8):
        told = [losses[number], losses[number], -1e9 if number % 2 else np.nan]
        begun = a_round(replace(now, round=number - 1), batch([0, 1, 2], np.zeros((3, 3)), losses=told))
        now = after(SETS.keep_score, begun).state
        if number == 1:
            assert _TRIED.get(now) is None, "the warm start is no probe"
    tried = _TRIED.get(now)
    assert tried.losses.tolist() == [4.0, 2.0, 6.0] and tried.best == 1
    later = after(SETS.keep_score, a_round(replace(now, round=8), batch([0], np.zeros((1, 3)), losses=[0.0])))
    assert _TRIED.get(later.state) is tried


@pytest.mark.parametrize("told", [[np.nan, np.nan], [np.inf, np.nan]])
def test_a_set_whose_losses_nobody_tells_is_the_worst(told):
    begun = a_round(state([0] * 2, models=6, round=1), batch([0, 1], np.zeros((2, 3)), losses=told))
    assert _TRIED.get(after(SETS.keep_score, begun).state).losses.tolist() == [np.inf] * 3


def test_when_the_warm_start_is_over_every_model_is_its_model_with_a_little_noise():
    models = np.repeat(np.arange(1.0, 7.0, dtype=np.float32)[:, None], 500, axis=1)
    before = replace(state([0] * 2, models=6, dimension=500), models=models)
    begun = a_round(before, batch([0], np.zeros((1, 500))), seed=3)
    spread = after(SETS.spread, begun).state.models
    assert np.abs(spread - 1.0).max() < 0.06 and np.std(spread - 1.0) == pytest.approx(0.01, rel=0.05)
    assert len({model.tobytes() for model in spread}) == 6
    assert after(SETS.spread, a_round(replace(before, round=1), begun.batch)).state.models is models


def test_the_models_part_when_the_warm_start_is_over_whoever_answered():
    before = replace(state([0] * 4, models=6), models=np.tile(np.arange(6, dtype=np.float32)[:, None], 3))
    before.models[0] = 7.0
    silent = after(SETS.spread, a_round(before))
    assert len(np.unique(silent.state.models, axis=0)) == 6 and not SETS.spread.needs
    assert np.abs(silent.state.models - 7.0).max() < 0.5


def test_flocks_on_record_are_those_of_the_set_at_hand():
    """Who has not been heard since another set was tried was counted there, and a set had more flocks than models."""
    before = state([0, 1, 5, -1], models=6, round=9, memory=[(_TRIED, Tried(np.zeros(3), 1))])
    picked = SETS.relabel(before, batch([0], np.zeros((1, 3), np.float32)), [(2, 3)])
    assert picked.tolist() == [2, 2, 3, -1]
