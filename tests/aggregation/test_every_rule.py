"""One battery for all rules: what they refuse, keep and do not depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.errors import InputError
from flockwise.kernels import set_threads

ALL = {**RULES, **PRE_AGGREGATIONS}
ARGUMENTS = {
    "krum": {"f": 1},
    "multi-krum": {"f": 1},
    "bulyan": {"f": 1},
    "centered-clipping": {"radius": 2.0},
    "norm-bound": {"radius": 2.0},
    "nearest-neighbor-mixing": {"f": 1},
    "bucketing": {"s": 2, "seed": 3},
}
EQUIVARIANT = ("mean", "median", "trimmed-mean", "krum", "multi-krum", "bulyan", "geometric-median")
# Rules whose result is chosen or sorted: the same bits in every order. The others average in float32.
EXACT = ("median", "krum", "bucketing")


def apply(name, rows, **changes):
    arguments = {**ARGUMENTS.get(name, {}), **changes}
    if ALL[name].contract.needs_root:
        arguments.setdefault("root", np.ones(np.shape(rows)[1], np.float32))
    return ALL[name].function(rows, **arguments)


def updates(clients=9, size=40, seed=0):
    return np.random.default_rng(seed).standard_normal((clients, size)).astype(np.float32)


@pytest.mark.parametrize("name", ALL)
def test_returns_finite_float32_and_leaves_the_input_alone(name):
    rows = updates()
    before = rows.copy()
    rows.setflags(write=False)
    result = apply(name, rows)
    assert result.dtype == np.float32 and np.isfinite(result).all()
    assert result.shape[-1] == rows.shape[1]
    assert np.array_equal(rows, before)
    assert not np.shares_memory(result, rows)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("client", "place"), [(0, 0), (4, 17), (8, 39)])
def test_one_bad_number_is_refused_and_named(name, value, client, place):
    rows = updates()
    rows[client, place] = value
    with pytest.raises(InputError, match=rf"updates\[{client}, {place}\]"):
        apply(name, rows)


@pytest.mark.parametrize("name", ALL)
def test_a_bad_number_in_a_large_matrix_is_refused(name):
    rows = updates(20, 40000)
    rows[13, 39999] = np.inf
    with pytest.raises(InputError, match=r"updates\[13, 39999\]"):
        apply(name, rows)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "rows",
    [np.zeros((0, 4)), np.zeros((9, 0)), np.zeros(9), np.zeros((3, 3, 3)), [["a"] * 3] * 9, [[1], [1, 2]]],
)
def test_wrong_shapes_and_kinds_are_refused(name, rows):
    with pytest.raises(InputError):
        ALL[name].function(
            rows, **{**ARGUMENTS.get(name, {}), **({"root": [1.0]} if name == "fltrust" else {})}
        )


@pytest.mark.parametrize("name", ALL)
def test_lists_float64_and_other_layouts_give_the_same_bits(name):
    rows = updates()
    expected = apply(name, rows)
    for same in (
        rows.tolist(),
        rows.astype(np.float64),
        np.asfortranarray(rows),
        np.repeat(rows, 2, axis=1)[:, ::2],
    ):
        assert np.array_equal(apply(name, same), expected)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_order_of_clients_does_not_matter(name, data):
    rows = data.draw(arrays(np.float32, (9, 5), elements=st.integers(-3, 3).map(float)))
    order = data.draw(st.permutations(range(9)))
    first, second = apply(name, rows), apply(name, rows[order])
    if name == "nearest-neighbor-mixing":
        first = first[order]
    if name in EXACT:
        assert np.array_equal(first, second)
    else:
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EQUIVARIANT)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_translation_and_scale_pass_through(name, data):
    rows = data.draw(arrays(np.float32, (9, 4), elements=st.integers(-8, 8).map(float)))
    shift = data.draw(arrays(np.float32, (4,), elements=st.integers(-8, 8).map(float)))
    result = apply(name, rows)
    np.testing.assert_allclose(apply(name, rows * 4 + shift), result * 4 + shift, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("name", EQUIVARIANT)
@pytest.mark.parametrize("size", [1, 7, 20000])
def test_equal_updates_are_returned(name, size):
    row = updates(1, size)[0]
    np.testing.assert_allclose(apply(name, np.tile(row, (9, 1))), row, rtol=3e-7)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"krum", "multi-krum", "bulyan"}))
@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 5])
def test_few_clients_and_few_parameters(name, clients, size):
    rows = np.abs(updates(clients, size)) * 0.1
    result = apply(name, rows)
    assert result.shape == (size,)
    if name not in ("fltrust",):
        assert (result >= rows.min(axis=0) - 1e-6).all() and (result <= rows.max(axis=0) + 1e-6).all()


@pytest.mark.parametrize("name", ["mean", "trimmed-mean", "multi-krum", "bulyan", "nearest-neighbor-mixing"])
def test_without_attackers_it_is_the_mean(name):
    rows = updates()
    changes = {"trim": 0.0} if name == "trimmed-mean" else {"f": 0} if "f" in ARGUMENTS.get(name, {}) else {}
    expected = rows.astype(float).mean(axis=0)
    np.testing.assert_allclose(np.atleast_2d(apply(name, rows, **changes))[0], expected, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"mean", "fltrust"}))
@pytest.mark.parametrize("value", [1e30, -1e30, 3e38, 1e-40])
def test_a_huge_or_tiny_client_gives_a_finite_result(name, value):
    rows = updates()
    rows[3, 2] = value
    result = apply(name, rows)
    assert np.isfinite(result).all()
    if name not in ("trimmed-mean",):
        honest = np.delete(rows, 3, axis=0)
        assert np.abs(result).max() <= np.abs(honest).max() + 1.0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("clients", "size"), [(9, 70001), (30, 200003), (251, 20001)])
def test_the_same_bits_for_any_number_of_threads(name, clients, size):
    rows = updates(clients, size)
    results = []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            results.append(apply(name, rows))
    finally:
        set_threads(None)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


@pytest.mark.parametrize("name", sorted(set(RULES) - {"mean", "norm-bound", "centered-clipping"}))
def test_reversed_clients_up_to_the_contract_do_not_turn_the_result(name):
    rng = np.random.default_rng(5)
    rows = (1 + 0.3 * rng.standard_normal((23, 200))).astype(np.float32)
    rows[:2] *= -100
    assert ALL[name].minimum(2) <= 23
    result = apply(name, rows, **({"f": 2} if "f" in ARGUMENTS.get(name, {}) else {}))
    assert np.dot(result, np.ones(200)) > 0.9 * 200 * 0.9


def test_a_reversed_client_turns_the_mean():
    rows = np.ones((10, 4), np.float32)
    rows[0] *= -100
    assert (apply("mean", rows) < 0).all()


@pytest.mark.parametrize("name", ALL)
def test_the_contract_matches_the_function(name):
    rule = ALL[name]
    assert rule.name == name and rule.summary and "\n" not in rule.summary
    import inspect

    known = inspect.signature(rule.function).parameters
    for parameter in rule.parameters:
        assert parameter.name in known
        default = known[parameter.name].default
        if parameter.required:
            assert default is inspect.Parameter.empty
        else:
            assert default == parameter.default
    assert not rule.contract.weighted or "weights" in known
    assert rule.contract.needs_root == ("root" in known)
    assert rule.contract.random == ("seed" in known)


@pytest.mark.parametrize("name", ["krum", "multi-krum", "bulyan", "nearest-neighbor-mixing"])
@pytest.mark.parametrize("f", [0, 1, 2, 3])
def test_the_minimum_is_enough_and_one_fewer_is_refused(name, f):
    needed = ALL[name].minimum(f)
    assert np.isfinite(apply(name, updates(needed), f=f)).all()
    if needed > 1:
        with pytest.raises(InputError, match="f = "):
            apply(name, updates(needed - 1), f=f)


@pytest.mark.parametrize("name", ["krum", "multi-krum", "bulyan", "nearest-neighbor-mixing"])
@pytest.mark.parametrize("f", [-1, 1.5, True])
def test_an_impossible_number_of_attackers_is_refused(name, f):
    with pytest.raises(InputError, match="f = "):
        apply(name, updates(), f=f)
