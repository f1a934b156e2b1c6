import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.kernels.fold import Fold
from flockwise.kernels.native import status


def rows(count: int, size: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((count, size)).astype(np.float32)


def one_by_one(fold: Fold, row: np.ndarray) -> np.ndarray:
    total = np.zeros(fold.width, dtype=np.float32)
    for place, value in enumerate(row):
        block, inside = divmod(place, fold.width)
        total[(inside + fold.turns[block]) % fold.width] += fold.signs[place] * value
    return total


@pytest.mark.parametrize("size", [1, 16, 40, 333])
def test_each_number_is_added_with_its_sign_in_its_place(size: int) -> None:
    fold, given = Fold(size, 16, seed=3), rows(5, size)
    assert np.array_equal(fold(given), np.stack([one_by_one(fold, row) for row in given]))


def test_compiled_and_plain_sketches_have_the_same_bits() -> None:
    fold, given = Fold(30_011, 64, seed=1), rows(80, 30_011)
    plain = np.zeros((80, 64), dtype=np.float32)
    fold._plainly(given, 0, plain)
    assert np.array_equal(fold(given), plain), status()


def test_blocks_of_rows_and_spans_of_columns_change_no_bit() -> None:
    fold, given = Fold(1_003, 32, seed=1), rows(10, 1_003)
    whole = fold(given)
    assert np.array_equal(np.concatenate([fold(given[:3]), fold(given[3:])]), whole)
    total = np.zeros_like(whole)
    for start, stop in ((0, 17), (17, 64), (64, 1_003)):
        fold.add(given[:, start:stop], start, total)
    assert np.array_equal(total, whole)


def test_another_seed_gives_another_sketch_and_the_same_seed_the_same() -> None:
    given = rows(2, 100)
    assert np.array_equal(Fold(100, 16, 5)(given), Fold(100, 16, 5)(given))
    assert not np.array_equal(Fold(100, 16, 5)(given), Fold(100, 16, 6)(given))


def test_rows_no_longer_than_the_sketch_keep_their_products() -> None:
    given = rows(6, 50)
    short = Fold(50, 64, 0)(given)
    assert np.allclose(short @ short.T, given @ given.T, atol=1e-4)


@pytest.mark.parametrize("heavy", [False, True], ids=["even", "a few large numbers"])
def test_cosines_are_off_by_about_one_over_the_root_of_the_width(heavy: bool) -> None:
    given = rows(200, 5_000)
    if heavy:
        given[:, :20] *= 30
    unit = given / np.linalg.norm(given, axis=1, keepdims=True)
    for width in (64, 1024):
        short = Fold(5_000, width, 7)(given)
        short /= np.linalg.norm(short, axis=1, keepdims=True)
        wrong = (short @ short.T - unit @ unit.T)[np.triu_indices(200, 1)]
        assert 0.5 < np.sqrt(np.mean(wrong**2)) * np.sqrt(width) < 1.3
        assert abs(wrong.mean()) < 0.2 / np.sqrt(width)


@pytest.mark.parametrize("width", [0, 8, 70_000, 3.5])
def test_a_width_that_makes_no_sense_is_refused(width: int) -> None:
    with pytest.raises(InputError, match="sketch = "):
        Fold(100, width)


@pytest.mark.parametrize("smallest", [0, 1 << 62])
def test_columns_of_any_layout_and_type_give_the_same_sketch(
    smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flockwise.kernels.native.loading.SMALLEST", smallest)
    fold, given = Fold(100, 16), rows(6, 100)
    whole = fold(given)
    for other in (np.asfortranarray(given), given.astype(np.float64), np.repeat(given, 2, axis=1)[:, ::2]):
        assert np.array_equal(fold(other), whole)
    assert fold.seed == 0 and set(fold.signs.tolist()) == {1.0, -1.0} and len(fold.turns) == 7


def test_a_sketch_has_between_16_and_65536_numbers() -> None:
    assert Fold(1, 16).width == 16 and Fold(1, 65_536).width == 65_536
    for width in (15, 65_537):
        with pytest.raises(InputError, match="sketch"):
            Fold(1, width)


def test_blocks_are_turned_by_anything_from_nothing_on() -> None:
    assert set(Fold(16 * 400, 16).turns.tolist()) == set(range(16))
