"""The data check: what it finds, whom it names, and that clean data is left alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.data import Federation, check_data
from flockwise.errors import DataError, EngineError
from flockwise.runs import open_run

RANDOM = np.random.default_rng(1)


def clean(
    clients: int = 3, rows: int = 40
) -> list[tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]]:
    def part(size: int) -> tuple[np.ndarray, np.ndarray]:
        x = RANDOM.normal(size=(size, 3))
        return x, (x[:, 0] > 0).astype(int)

    return [(part(rows), part(10)) for _ in range(clients)]


def found(entries: Any, **options: Any) -> list[tuple[str, int | None, bool]]:
    federation = Federation.from_arrays(entries, **options)
    return [(each.kind, each.client, each.bad) for each in check_data(federation).findings]


def test_clean_data_has_no_findings() -> None:
    assert found(clean()) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [0, 1])
def test_values_that_are_not_finite_are_bad_and_named_by_client_and_column(value: float, part: int) -> None:
    entries = clean()
    entries[1][part][0][4, 2] = value
    federation = Federation.from_arrays(entries, validation=0)
    (bad,) = check_data(federation).bad
    assert (
        bad.client == 1 and f"1 of {40 if part == 0 else 10} " in bad.message and "(feature 2)" in bad.message
    )


def test_labels_to_predict_that_are_not_finite_are_bad() -> None:
    entries = [(x, y.astype(float)) for (x, y), _ in clean()]
    entries[2][1][0] = np.nan
    assert ("not finite", 2, True) in found(entries, labels="numbers", validation=0)


def test_one_class_clients_and_classes_of_nobody_are_named() -> None:
    entries = clean()
    entries[0][0][1][:] = 1
    assert found(entries) == [("one class", 0, False)]
    assert ("labels", None, False) in found(clean(), classes=4)
    alike = [(x, np.zeros(len(x), int)) for (x, _), _ in clean()]
    assert ("labels", None, True) in found(alike)


def test_classes_that_differ_only_in_case_or_in_spaces_are_told() -> None:
    entries = [((x, np.where(y, "ill", "well")), test) for (x, y), test in clean()]
    entries = [(train, (x, np.where(y, "ill", "well"))) for train, (x, y) in entries]
    assert found(entries) == []
    labels = entries[1][0][1].astype(object)
    labels[:2] = ["Ill ", "ill"]
    entries[1] = ((entries[1][0][0], labels), entries[1][1])
    told = check_data(Federation.from_arrays(entries, validation=0)).findings
    assert [(each.kind, each.bad) for each in told] == [("labels", False)]
    assert told[0].message.startswith("classes 'Ill ' and 'ill' differ only in case or in spaces")


def test_what_impute_never_fills_in_is_not_said_to_be() -> None:
    for value, fix in ((np.nan, "data.impute = true"), (np.inf, "infinity is never filled in")):
        entries = clean()
        entries[1][0][0][4, 2] = value
        (bad,) = check_data(Federation.from_arrays(entries, validation=0)).bad
        assert fix in bad.message


def test_constant_features_are_told_once_for_all_or_for_the_client() -> None:
    entries = clean()
    entries[2][0][0][:, 1] = 7.0
    assert found(entries, validation=0) == [("constant", 2, False)]
    for (x, _), (test, _) in entries:
        x[:, 1] = test[:, 1] = 7.0
    assert found(entries) == [("constant", None, False)]


def test_features_of_very_different_scale_are_told() -> None:
    entries = clean()
    for (x, _), _ in entries:
        x[:, 0] *= 1e6
    assert found(entries) == [("scale", None, False)]


def test_test_samples_that_are_trained_on_are_counted_whoever_trains_on_them() -> None:
    entries = clean()
    entries[0][1][0][:3], entries[0][1][1][:3] = entries[2][0][0][:3], entries[2][0][1][:3]
    federation = Federation.from_arrays(entries, validation=0)
    (copy,) = check_data(federation).findings
    assert copy.kind == "copies" and copy.client == 0 and copy.message.startswith("3 of 10 test samples")


def test_clients_without_anything_to_be_tested_on_are_told() -> None:
    assert found([train for train, _ in clean(2)], validation=0) == [
        ("untested", 0, False),
        ("untested", 1, False),
    ]


def test_published_data_is_not_looked_at_in_a_run(tmp_path: Path) -> None:
    run = fw.run({"rounds": 1, "split": {"clients": 2}}, out=tmp_path / "run")
    assert not [event for event in run.events if event.kind == "data"]


def test_bad_data_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    entries = dict(zip(["Oslo", "Bergen", "Bodø"], clean(), strict=True))
    entries["Bergen"][0][0][:] = np.nan
    federation = Federation.from_arrays(entries)
    with pytest.raises(
        DataError, match=r"^data: Bergen \(client 1\): 36 of 36 train and 4 of 4 validation samples hold NaN"
    ):
        fw.run(fw.fedavg(), federation, model=fw.models.softmax, rounds=2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = fw.run(
        fw.fedavg(),
        federation,
        model=fw.models.softmax,
        rounds=2,
        out=tmp_path / "run",
        overrides=["data.check=warn"],
    )
    told = [(event.round, event.client) for event in run.events if event.kind == "data"]
    assert (
        (0, 1) in told
        and run.facts["rejected"].tolist() == [1.0, 1.0]
        and run.facts["participants"].tolist() == [2, 2]
    )


def test_data_that_is_bad_everywhere_fails_the_run_even_if_asked_for(tmp_path: Path) -> None:
    entries = clean()
    for (x, _), _ in entries:
        x[:] = np.nan
    federation = Federation.from_arrays(entries)
    with pytest.raises(EngineError, match="no reply could be used"):
        fw.run(
            fw.fedavg(), federation, model=fw.models.softmax, rounds=9, out=tmp_path / "run",
            overrides=["data.check=warn"],
        )  # fmt: skip
    assert open_run(tmp_path / "run").state == "failed"


def test_skew_is_nought_for_equals_and_grows_with_what_differs() -> None:
    x, y = RANDOM.normal(size=(400, 2)), np.arange(400) % 4
    same = check_data(Federation.from_arrays([(x, y), (x.copy(), y)], validation=0)).skew
    assert (
        np.allclose(same.label_entropy, 1)
        and np.allclose(same.label_distance, 0)
        and np.allclose(same.feature_shift, 0)
    )
    apart = check_data(Federation.from_arrays([(x, y % 2), (x + 10, y % 2 + 2)], validation=0)).skew
    assert np.allclose(apart.label_distance, 0.5) and np.allclose(apart.label_entropy, 0.5)
    assert (apart.feature_shift > 0.9).all()  # two far clusters lie one standard deviation from their middle
    numbers = Federation.from_arrays([(x, y * 1.0), (x, y + 100.0)], labels="numbers", validation=0)
    skew = check_data(numbers).skew
    assert np.isnan(skew.label_entropy).all() and (skew.label_distance > 0.9).all()
    words = Federation.from_arrays([(y[:, None], y), (y[:, None] + 4, y)], inputs="tokens", validation=0)
    assert np.allclose(check_data(words).skew.feature_shift, 0.5)


def test_it_is_told_where_copies_were_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = fw.Federation.from_arrays([(np.eye(4), [0, 1, 0, 1])] * 2)
    assert not [each for each in fw.data.check_data(clients).findings if "not looked at" in each.message]
    monkeypatch.setattr("flockwise.data.checking.MOST_COMPARED", 7)
    (told,) = [each for each in fw.data.check_data(clients).findings if "not looked at" in each.message]
    assert told.kind == "copies" and not told.bad and "8 samples are more than the 7" in told.message
