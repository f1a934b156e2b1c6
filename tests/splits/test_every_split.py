"""Properties that every split has, on small synthetic data sets of many shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.data import PARTS, Dataset, Federation
from flockwise.splits import SPLITS

quick = settings(max_examples=30, deadline=None)


def small_dataset(seed: int, classes: int = 10, train: int = 400, test: int = 120) -> Dataset:
    random = np.random.default_rng(seed)
    count = train + test
    y = random.integers(0, classes, count)
    y[:classes], y[-classes:] = np.arange(classes), np.arange(classes)  # every class in both parts
    writer = random.integers(0, 12, count)
    return Dataset(
        name="small",
        x=random.integers(0, 256, (count, 4, 4, 1), dtype=np.uint8),
        y=y.astype(np.int64),
        train=train,
        maximum=255.0,
        classes=classes,
        writer=writer.astype(np.int64),
        writer_group=(writer % 3).astype(np.int64),
    )


datasets = st.builds(small_dataset, seed=st.integers(0, 50), classes=st.integers(4, 12))
seeds = st.integers(0, 2**32)
SIZED = [name for name in SPLITS if "sizes" in SPLITS[name].defaults]
OWN = {  # options to vary; a split that is not here is tried with its defaults
    "iid": {},
    "pathological": {"labels": st.integers(1, 4)},
    "label_swap": {"groups": st.integers(1, 2)},
    "kinds": {"swaps": st.just(1), "turns": st.integers(1, 3)},
    "rotation": {"groups": st.integers(1, 3)},
    "dirichlet": {
        "alpha": st.floats(0.01, 100.0),
        "sizes": st.sampled_from(["natural", "equal", "lognormal", "zipf"]),
        "minimum": st.integers(1, 10),
    },
    "by_writer": {"clients": st.none() | st.integers(1, 8), "samples": st.none() | st.integers(1, 40)},
    "feature_shift": {
        "groups": st.integers(1, 3),
        "change": st.sampled_from(["noise", "brightness", "contrast"]),
    },
    "feature_dirichlet": {"alpha": st.floats(0.01, 100.0), "bins": st.integers(2, 12)},
    "quantity": {"beta": st.floats(0.05, 100.0)},
    "natural": {"clients": st.none() | st.integers(1, 8), "latest": st.booleans()},
    "majority_class": {"majority": st.floats(0.0, 1.0)},
    "noniid_degree": {
        "degree": st.floats(0.0, 1.0),
        "groups": st.integers(1, 3),
        "visible": st.sampled_from(["geo", "time", "user"]),
    },
}


@st.composite
def dealt(draw: st.DrawFn, name: str) -> tuple[Dataset, dict]:
    options = {
        "clients": draw(st.integers(3, 20)),
        "validation": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "test": draw(st.none() | st.integers(0, 3)),
    }
    if name in SIZED:
        options["sizes"] = draw(st.sampled_from(["equal", "lognormal", "zipf"]))
    options |= {key: draw(values) for key, values in OWN.get(name, {}).items()}
    return draw(datasets), options


def same(first: Federation, second: Federation) -> bool:
    return all(
        np.array_equal(getattr(a, part), getattr(b, part))
        for a, b in zip(first.shards, second.shards, strict=True)
        for part in PARTS
    ) and all(
        (a.relabel, a.turns, a.group, a.address, a.hour, a.user)
        == (b.relabel, b.turns, b.group, b.address, b.hour, b.user)
        for a, b in zip(first.shards, second.shards, strict=True)
    )


@pytest.mark.parametrize("name", SPLITS)
@given(data=st.data(), seed=seeds)
@quick
def test_every_sample_is_dealt_at_most_once_over_all_clients_and_parts(
    name: str, data: st.DataObject, seed: int
) -> None:
    dataset, options = data.draw(dealt(name))
    federation = SPLITS[name].function(dataset, seed=seed, **options)
    everything = np.concatenate([getattr(shard, part) for shard in federation.shards for part in PARTS])
    assert everything.dtype == np.int64
    assert len(np.unique(everything)) == len(everything)
    assert everything.min() >= 0 and everything.max() < dataset.samples


@pytest.mark.parametrize("name", SPLITS)
@given(data=st.data(), seed=seeds)
@quick
def test_training_and_validation_come_from_the_training_part_and_everyone_can_train(
    name: str, data: st.DataObject, seed: int
) -> None:
    dataset, options = data.draw(dealt(name))
    federation = SPLITS[name].function(dataset, seed=seed, **options)
    assert federation.sizes("train").min() >= 1
    for shard in federation.shards:
        assert (shard.train < dataset.train).all() and (shard.validation < dataset.train).all()
        assert (shard.test >= dataset.train).all()
        whole = len(shard.train) + len(shard.validation)
        assert len(shard.validation) == min(round(whole * options["validation"]), whole - 1)


@pytest.mark.parametrize("name", SPLITS)
@given(data=st.data(), seed=seeds)
@quick
def test_the_same_seed_gives_the_same_federation(name: str, data: st.DataObject, seed: int) -> None:
    dataset, options = data.draw(dealt(name))
    function = SPLITS[name].function
    assert same(function(dataset, seed=seed, **options), function(dataset, seed=seed, **options))


@pytest.mark.parametrize("name", SPLITS)
def test_another_seed_gives_another_federation(name: str) -> None:
    dataset, function = small_dataset(1), SPLITS[name].function
    federations = [function(dataset, seed=seed, clients=10) for seed in range(5)]
    assert not any(same(federations[0], other) for other in federations[1:])


@pytest.mark.parametrize("name", SPLITS)
@given(data=st.data(), seed=seeds)
@quick
def test_groups_are_for_all_clients_or_for_none(name: str, data: st.DataObject, seed: int) -> None:
    dataset, options = data.draw(dealt(name))
    federation = SPLITS[name].function(dataset, seed=seed, **options)
    groups = federation.groups
    assert name not in OWN or (groups is None) == (name in ("pathological", "dirichlet", "feature_dirichlet"))
    if groups is not None:
        assert groups.shape == (federation.clients,) and groups.min() >= 0


@pytest.mark.parametrize("name", [name for name in SIZED if name != "dirichlet"])
@given(data=st.data(), seed=seeds)
@quick
def test_equal_sizes_are_as_asked(name: str, data: st.DataObject, seed: int) -> None:
    dataset, options = data.draw(dealt(name))
    options |= {"sizes": "equal", "samples": 4, "validation": 0.0, "test": 2}
    if name == "pathological":
        options["labels"] = 4  # four labels always have four samples left for each of 20 clients
    federation = SPLITS[name].function(dataset, seed=seed, **options)
    assert federation.sizes("train").tolist() == [4] * options["clients"]
    assert federation.sizes("test").max() <= 2
    if name in ("iid", "label_swap", "rotation"):
        assert federation.sizes("test").tolist() == [2] * options["clients"]


@pytest.mark.parametrize("name", ["iid", "label_swap", "rotation", "dirichlet"])
@given(dataset=datasets, seed=seeds, sizes=st.lists(st.integers(10, 40), min_size=5, max_size=10))
@quick
def test_a_list_of_sizes_is_kept_exactly(name: str, dataset: Dataset, seed: int, sizes: list[int]) -> None:
    own = {"groups": 2} if name in ("label_swap", "rotation") else {}
    function = SPLITS[name].function
    federation = function(dataset, clients=len(sizes), seed=seed, sizes=sizes, validation=0, **own)
    assert federation.sizes("train").tolist() == sizes


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("sizes", ["lognormal", "zipf"])
def test_unequal_sizes_differ(name: str, sizes: str) -> None:
    federation = SPLITS[name].function(small_dataset(3), clients=8, sizes=sizes, validation=0)
    assert len(set(federation.sizes("train").tolist())) > 3


@pytest.mark.parametrize("name", ["pathological", "dirichlet", "majority_class", "noniid_degree"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_test_part_of_a_client_has_the_mix_of_its_training_part(name: str, seed: int) -> None:
    dataset = small_dataset(5, train=4000, test=2000)
    federation = SPLITS[name].function(dataset, clients=5, seed=seed, validation=0)
    train, test = federation.label_counts("train"), federation.label_counts("test")
    difference = np.abs(train / train.sum(1, keepdims=True) - test / test.sum(1, keepdims=True)).sum(1) / 2
    assert difference.max() < 0.12


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"clients": 0}, "clients"),
        ({"clients": 10**6}, "clients"),
        ({"clients": 10, "validation": 1.0}, "validation"),
    ],
)
def test_impossible_requests_name_the_field(name: str, options: dict, field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field} = "):
        SPLITS[name].function(small_dataset(1), **options)


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"test": -1}, "test"),
        ({"test": 100}, "test"),
        ({"samples": 0}, "samples"),
        ({"samples": 10**6}, "samples"),
        ({"sizes": "huge"}, "sizes"),
        ({"sizes": [5, 5]}, "sizes"),
        ({"sizes": [0] * 10}, "sizes"),
        ({"sizes": [10**6] * 10}, "sizes"),
        ({"sizes": [5] * 10, "samples": 5}, "samples"),
    ],
)
def test_impossible_sizes_name_the_field(name: str, options: dict, field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field} = "):
        SPLITS[name].function(small_dataset(1), clients=10, **options)
