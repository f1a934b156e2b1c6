"""Records of any layout become one vector and come back as they were."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord

from flockwise.errors import InputError
from flockwise.flower.records import RecordLayout, as_score, read_array
from flockwise.models.initial_models import initial_models
from flockwise.rng import generator

SHAPES = some.lists(
    some.tuples(
        some.lists(some.integers(0, 4), max_size=3).map(tuple),
        some.sampled_from(["float16", "float32", "float64", "int64", "uint8", "bool"]),
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@given(SHAPES, some.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_record_comes_back_with_its_names_shapes_dtypes_and_values(shapes, seed):
    rng = np.random.default_rng(seed)
    arrays = {
        f"layer{i}.weight": (rng.integers(-9, 9, size=s) / 2).astype(d) for i, (s, d) in enumerate(shapes)
    }
    arrays["last"] = np.array([1.5, -2.0], dtype=np.float32)
    record = ArrayRecord({name: Array(np.asarray(array)) for name, array in arrays.items()})
    layout = RecordLayout.of(record)
    vector = layout.vector(record)
    assert vector.dtype == np.float32 and vector.shape == (layout.size,)
    back = layout.record(vector)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].numpy().dtype == array.dtype and back[name].numpy().shape == array.shape
        np.testing.assert_array_equal(back[name].numpy(), array)


def test_weight_and_bias_are_one_layer_and_running_statistics_each_one():
    names = ["a.weight", "a.bias", "bn.weight", "bn.running_mean", "0", "1"]
    layout = RecordLayout.of(ArrayRecord({name: Array(np.zeros(2, np.float32)) for name in names}))
    assert layout.layers == ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12))


def test_arrays_of_other_order_and_dtype_are_read_right():
    values = np.arange(6, dtype=np.float64).reshape(2, 3)
    np.testing.assert_array_equal(read_array(Array(np.asfortranarray(values)), (2, 3), "x"), values)
    np.testing.assert_array_equal(read_array(Array(values.astype(">f4")), (2, 3), "x"), values)
    assert read_array(Array(values), (2, 3), "x").dtype == np.float32


@given(some.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_are_read_as_an_array_that_is_not_one(junk):
    for data in (junk, Array(np.zeros((2, 2))).data[:-32] + junk):
        try:
            found = read_array(Array("float64", (2, 2), "numpy.ndarray", data), (2, 2), "x")
        except InputError:
            continue
        assert found.shape == (2, 2) and len(junk) == 32


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InputError, match="nothing to train"):
        RecordLayout.of(ArrayRecord([np.zeros(3, dtype=np.int64)]))
    with pytest.raises(InputError, match="only numbers"):
        RecordLayout.of(ArrayRecord([np.array(["a", "b"])]))


@pytest.mark.parametrize("first", [np.zeros(6), np.arange(6.0)])
def test_beginnings_differ_and_repeat(first):
    layout = RecordLayout.of(ArrayRecord([first.reshape(2, 3)]))
    start = first.astype(np.float32)
    one, other = (list(initial_models(layout.entries, start, 3, generator(1, "x"))) for _ in range(2))
    assert len({model.tobytes() for model in one}) == 3
    assert [a.tobytes() for a in one] == [b.tobytes() for b in other]


@pytest.mark.parametrize("value", [-0.1, 1.5, 1e300, float("inf")])
def test_an_accuracy_lies_between_0_and_1(value):
    assert as_score(0.5) == 0.5 and np.isnan(as_score(None)) and np.isnan(as_score(float("nan")))
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        as_score(value)
