import numpy as np
import pytest

from flockwise.attacks import ATTACKS, backdoor, label_flip, label_to, noise, stamp
from flockwise.errors import ConfigError, InputError

DATA_ATTACKS = [name for name, entry in ATTACKS.items() if entry.kind == "data"]


def samples(count=40):
    rng = np.random.default_rng(0)
    return rng.random((count, 8, 8, 1), dtype=np.float32), rng.integers(0, 10, count)


@pytest.mark.parametrize("name", DATA_ATTACKS)
def test_every_attack_returns_new_arrays_of_the_same_kind(name):
    x, y = samples()
    before = x.copy(), y.copy()
    new_x, new_y = ATTACKS[name]().poison(x, y, 10, np.random.default_rng(0))
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])
    assert new_x.shape == x.shape and new_x.dtype == np.float32 and not np.shares_memory(new_x, x)
    assert new_y.shape == y.shape and new_y.dtype == np.int64 and not np.shares_memory(new_y, y)
    assert new_y.min() >= 0 and new_y.max() < 10


def test_label_to_gives_every_sample_one_label():
    x, y = samples()
    new_x, new_y = label_to(3).poison(x, y, 10, np.random.default_rng(0))
    assert np.array_equal(new_x, x) and set(new_y) == {3}


def test_label_flip_mirrors_the_classes():
    x, y = samples()
    assert np.array_equal(label_flip().poison(x, y, 10, np.random.default_rng(0))[1], 9 - y)


def test_noise_is_added_and_not_clipped():
    x, y = samples()
    new_x, new_y = noise(-10, 10).poison(x, y, 10, np.random.default_rng(0))
    added = new_x - x
    assert added.min() < -9 and added.max() > 9 and abs(added.mean()) < 1
    assert np.array_equal(new_y, y)


@pytest.mark.parametrize("pattern", ["square", "cross", "stripes"])
def test_a_backdoor_stamps_its_share_and_relabels_it(pattern):
    x, y = samples()
    new_x, new_y = backdoor(pattern, target=7, share=0.25).poison(x, y, 10, np.random.default_rng(0))
    changed = (new_x != x).any(axis=(1, 2, 3))
    assert changed.sum() == 10
    assert set(new_y[changed]) == {7}
    assert np.array_equal(new_x[changed], stamp(x[changed], pattern))
    assert np.array_equal(new_y[~changed], y[~changed])
    assert new_x.max() <= 1


def test_the_triggers_are_different_and_in_the_last_rows():
    blank = np.zeros((1, 6, 6, 3), np.float32)
    images = [stamp(blank, pattern, 3)[0, :, :, 0] for pattern in ("square", "cross", "stripes")]
    assert [int(image.sum()) for image in images] == [9, 5, 9]
    assert all(image[:3].sum() == 0 for image in images)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: label_to(-1), "label"),
        (lambda: noise(1, 0), "low"),
        (lambda: backdoor("dog"), "pattern"),
        (lambda: backdoor(share=0), "share"),
        (lambda: backdoor(target=-1), "target"),
        (lambda: backdoor(size=0), "size"),
    ],
)
def test_impossible_parameters_are_refused_with_the_reason(make, told):
    with pytest.raises((ConfigError, InputError), match=told):
        make()


@pytest.mark.parametrize("make", [lambda: label_to(10), lambda: backdoor(target=10)])
def test_a_label_that_the_data_do_not_have_is_refused(make):
    with pytest.raises(InputError, match="below 10"):
        make().poison(*samples(), 10, np.random.default_rng(0))


def test_a_trigger_larger_than_the_image_is_refused():
    with pytest.raises(InputError, match="images"):
        stamp(np.zeros((1, 2, 2, 1), np.float32), size=3)
