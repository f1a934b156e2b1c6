"""The checks of the battery (tests/testing runs it) with more examples than it ships with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flockwise.aggregation import (
    bucketing,
    bulyan,
    geometric_median,
    krum,
    mean,
    median,
    multi_krum,
    nearest_neighbor_mixing,
    trimmed_mean,
)
from flockwise.testing.aggregators import AggregatorBattery, PreAggregationBattery
from flockwise.testing.examples import ordinary

ALL = [*AggregatorBattery.each(), *PreAggregationBattery.each()]
each = pytest.mark.parametrize("battery", ALL, ids=lambda battery: battery.__name__)


@each
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_order_of_clients_does_not_matter(battery, data):
    rows = data.draw(arrays(np.float32, (9, 5), elements=st.integers(-3, 3).map(float)))
    battery().check_order(rows, np.array(data.draw(st.permutations(range(9)))))


@each
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_translation_and_scale_pass_through(battery, data):
    rows = data.draw(arrays(np.float32, (9, 4), elements=st.integers(-8, 8).map(float)))
    shift = data.draw(arrays(np.float32, (4,), elements=st.integers(-8, 8).map(float)))
    battery().check_moved_and_scaled(rows, shift, 4.0)


@each
@pytest.mark.parametrize(("clients", "size"), [(9, 70001), (30, 200003), (251, 20001)])
def test_the_same_bits_for_any_number_of_threads(battery, clients, size):
    battery().check_threads(ordinary(clients, size))


def test_what_rules_say_of_themselves_does_not_quietly_become_nothing():
    said = {
        name: [piece for piece in (bulyan, geometric_median, krum, median, multi_krum, trimmed_mean)
               if getattr(piece, name)]
        for name in ("bounded", "within", "translates", "scales")
    }  # fmt: skip
    assert {name: len(pieces) for name, pieces in said.items()} == dict.fromkeys(said, 6)
    assert median.exact_order and krum.exact_order and bucketing.exact_order
    assert all(
        piece.mean_with is not None
        for piece in (mean, trimmed_mean, multi_krum, bulyan, nearest_neighbor_mixing)
    )


def test_a_reversed_client_turns_the_mean():
    rows = np.ones((10, 4), np.float32)
    rows[0] *= -100
    assert (mean(rows) < 0).all()
