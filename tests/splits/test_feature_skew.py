"""Splits whose clients differ in features or in amounts, and what the data check measures of that."""

import numpy as np
import pytest

import flockwise as fw
from flockwise.data import Dataset, check_data, digits
from flockwise.errors import InputError
from flockwise.splits import feature_dirichlet, feature_shift, iid, quantity


def test_noise_is_of_the_asked_strength_and_the_same_every_time() -> None:
    federation = feature_shift(digits(), clients=4, groups=2, strength=0.5, validation=0)
    plain, noisy = iid(digits(), clients=4, validation=0), federation
    for client in range(4):
        before, after = plain.arrays(client, "train")[0], noisy.arrays(client, "train")[0]
        spread = float((after - before).std())
        assert spread == pytest.approx(0.5, rel=0.02) if client % 2 else np.array_equal(before, after)
        assert np.array_equal(after, noisy.arrays(client, "train")[0])
    first, second = (noisy.arrays(1, part)[0][0] for part in ("train", "test"))
    assert not np.allclose(first - plain.arrays(1, "train")[0][0], second - plain.arrays(1, "test")[0][0])


@pytest.mark.parametrize(
    ("change", "expected"), [("brightness", lambda x: x + 1.0), ("contrast", lambda x: x / 2.0)]
)
def test_brightness_is_added_and_contrast_divides(change: str, expected: object) -> None:
    federation = feature_shift(digits(), clients=2, groups=2, change=change, strength=1.0, validation=0)
    plain = iid(digits(), clients=2, validation=0).arrays(1, "train")[0]
    np.testing.assert_allclose(federation.arrays(1, "train")[0], expected(plain), rtol=1e-6)  # type: ignore[operator]


def test_the_data_check_sees_shifted_features_and_not_others() -> None:
    even = check_data(iid(digits(), clients=6)).skew.feature_shift
    shifted = check_data(feature_shift(digits(), clients=6, groups=2, change="brightness", strength=1.0)).skew
    regions = check_data(feature_dirichlet(digits(), clients=6, alpha=0.1)).skew
    assert shifted.feature_shift.min() > 3 * even.max()
    assert regions.feature_shift.mean() > 2 * even.mean()
    assert shifted.label_distance.max() < 0.2


def test_features_drift_to_the_next_group(tmp_path: object) -> None:
    from flockwise.data.scenario import drifted

    before = feature_shift(digits(), clients=4, groups=2)
    after = drifted(before, 4, seed=0)
    assert [shard.view for shard in after.shards] == [before.shards[1].view, before.shards[0].view] * 2


def test_sizes_are_as_unequal_as_beta_says_and_never_too_small() -> None:
    even = quantity(digits(), clients=10, beta=1000.0, validation=0).sizes()
    uneven = quantity(digits(), clients=10, beta=0.2, validation=0, minimum=3).sizes()
    assert even.max() < 1.2 * even.min() and uneven.max() > 5 * np.median(uneven) and uneven.min() >= 3
    assert even.sum() == uneven.sum() == 1437
    with pytest.raises(
        InputError, match="clients = 1000: 1437 of 1437 training samples must give each at least 2"
    ):
        quantity(digits(), clients=1000)


def test_data_without_classes_is_dealt_only_by_what_it_has() -> None:
    random = np.random.default_rng(0)
    numbers = Dataset(
        "numbers",
        random.normal(size=(60, 3)).astype(np.float32),
        random.normal(size=60).astype(np.float32),
        40,
        1.0,
        0,
    )
    assert iid(numbers, clients=3).arrays(0, "train")[1].dtype == np.float32
    assert feature_dirichlet(numbers, clients=3).clients == 3
    words = Dataset("words", np.zeros((60, 3), np.int64), np.arange(60) % 2, 40, 1.0, 2, tokens=True)
    for deal in (feature_shift, feature_dirichlet):
        with pytest.raises(InputError, match="dataset = words: tokens"):
            deal(words, clients=4)


def test_a_run_on_shifted_features_trains(tmp_path: object) -> None:
    run = fw.run(
        {"rounds": 3, "split": {"name": "feature_shift", "clients": 4, "groups": 2, "change": "contrast"}},
        out=f"{tmp_path}/run",
    )
    assert run.state == "finished" and run.facts["accuracy"][-1] > run.facts["accuracy"][0]
