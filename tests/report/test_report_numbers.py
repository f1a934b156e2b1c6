"""What goes into the page, against slow or simple ways to work it out."""

import base64

import fake_run
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram as scipy_dendrogram

import flockwise as fw
from flockwise.report import describe_comparison, describe_run, write_report
from flockwise.report.dendrograms import dendrograms
from flockwise.report.encoding import bits, number, packed, quantised
from flockwise.report.evidence import _averaged, spread_rounds
from flockwise.report.places import Places, flow, read_places, some_rows
from flockwise.store import open_run


def unpacked(code: dict) -> np.ndarray:
    kind = {1: np.uint8, 2: "<u2", 4: "<u4"}[code["bytes"]]
    return np.frombuffer(base64.b64decode(code["data"]), dtype=kind)


@given(
    st.lists(
        st.one_of(st.floats(-3, 5), st.just(float("nan")), st.just(float("inf"))), min_size=1, max_size=40
    )
)
def test_quantised_values_come_back_within_half_a_step(values):
    code = quantised(np.array(values), -3.0, 5.0)
    for value, step in zip(values, unpacked(code), strict=True):
        assert (step == 255) == (not np.isfinite(value))
        if np.isfinite(value):
            assert abs(code["low"] + (code["high"] - code["low"]) * int(step) / 250 - value) <= 8 / 500 + 1e-9


@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**31))
def test_bits_hold_every_client(rounds, clients, seed):
    wanted = np.random.Generator(np.random.Philox(seed)).random((rounds, clients)) < 0.5
    rows = unpacked(bits(wanted)).reshape(rounds, -1)
    assert np.array_equal(np.unpackbits(rows, axis=1, bitorder="little")[:, :clients].astype(bool), wanted)


def test_wide_codes_keep_their_width():
    assert unpacked(packed(np.array([1, 300, 65_535], np.uint16))).tolist() == [1, 300, 65_535]


@pytest.mark.parametrize(
    ("value", "short"), [(0.123456789, 0.12346), (3.0, 3), (float("nan"), None), (None, None)]
)
def test_numbers_are_short(value, short):
    assert number(value) == short


@settings(max_examples=30)
@given(st.integers(2, 30), st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**31))
def test_the_flow_loses_nobody(rounds, clients, flocks, seed):
    rng = np.random.Generator(np.random.Philox(seed))
    found = flow(Places(np.arange(1, rounds + 1), rng.integers(-3, flocks, (rounds, clients))))
    columns, links = found["columns"], found["links"]
    assert columns[0]["round"] == 1 and columns[-1]["round"] == rounds
    for i, column in enumerate(columns):
        assert sum(column["counts"]) == clients
        for place, count in zip(column["places"], column["counts"], strict=True):
            if i:
                assert sum(n for at, _, to, n in links if at == i - 1 and to == place) == count
            if i < len(columns) - 1:
                assert sum(n for at, start, _, n in links if at == i and start == place) == count


def test_places_put_quarantine_before_flocks(tmp_path):
    known = read_places(open_run(fake_run.byzantine(tmp_path / "run")))
    assert known.places[0].tolist() == [0] * 40
    assert known.places[-1, -1] == -3 and known.places[-1, -2] == -2 and known.places[-1, 0] == 0


def test_agreement_is_the_mean_over_the_other_members(tmp_path):
    run = open_run(fake_run.flic(tmp_path / "run", clients=12, rounds=16))
    page = next(page for page in describe_run(run)["similarity"] if page["round"] == 15)
    square, places = run.array_at("similarity", 15).astype(float), read_places(run).at(15)
    code = page["agreement"]["values"]
    found = (code["low"] + (code["high"] - code["low"]) * unpacked(code) / 250).reshape(12, -1)
    for client in range(12):
        for column, flock in enumerate(page["agreement"]["flocks"]):
            others = [square[client, j] for j in range(12) if places[j] == flock and j != client]
            assert found[client, column] == pytest.approx(np.mean(others), abs=0.01)


def test_a_large_matrix_is_averaged_over_what_was_compared():
    square = np.array([[1.0, 3.0, 5.0], [np.nan, 5.0, np.nan], [7.0, 9.0, np.nan]])
    small = _averaged(square, np.array([0, 2]))
    assert small[0].tolist() == [3.0, 5.0]
    assert small[1, 0] == 8.0 and np.isnan(small[1, 1])


def test_distances_are_told_from_similarities(tmp_path):
    kinds = {
        name: describe_run(open_run(fake_run.ALL[name](tmp_path / name)))["similarity"][-1]["kind"]
        for name in ("flic", "fl-hc")
    }
    assert kinds == {"flic": "similarity", "fl-hc": "distance"}


def test_the_dendrogram_is_scipys(tmp_path):
    run = open_run(fake_run.fl_hc(tmp_path / "run"))
    drawn = dendrograms(run, read_places(run))[0]
    wanted = scipy_dendrogram(run.array_at("dendrogram", 8), no_plot=True)
    assert sorted(leaf["client"] for leaf in drawn["leaves"]) == list(range(32))
    assert sorted(line[4] for line in drawn["lines"]) == pytest.approx(
        sorted(top[1] for top in wanted["dcoord"]), rel=1e-4
    )
    assert sum(line[4] > drawn["cut"] for line in drawn["lines"]) == 3  # four flocks below the cut
    assert all(line[5] is not None for line in drawn["lines"] if line[4] < drawn["cut"])


def test_low_branches_of_a_large_dendrogram_are_folded(tmp_path):
    run = open_run(fake_run.fl_hc(tmp_path / "run", clients=400, rounds=9))
    drawn = dendrograms(run, read_places(run))[0]
    assert len(drawn["leaves"]) == 150 and len(drawn["lines"]) == 149
    assert sum(leaf["count"] for leaf in drawn["leaves"]) == 400


def test_groups_have_boundaries_in_words(tmp_path):
    groups = describe_run(open_run(fake_run.mini_fl(tmp_path / "run")))["groups"]
    assert groups["chosen"] == "geo"
    assert [group["clients"] for group in groups["groups"]] == [10, 10, 10]
    assert groups["groups"][1]["words"].startswith("10.40.")


def test_rounds_that_matter_are_kept_first():
    assert spread_rounds([1, 2, 3], {2}, 6) == [1, 2, 3]
    kept = spread_rounds(list(range(1, 101)), {37, 64}, 6)
    assert len(kept) == 6 and {37, 64, 100} <= set(kept)


def test_many_clients_are_shown_at_fewer_rounds():
    assert len(some_rows(np.arange(500), 1000)) == 500
    rows = some_rows(np.arange(500), 10_000)
    assert len(rows) == 60 and rows[0] == 0 and rows[-1] == 499


def test_runs_that_differ_in_the_seed_alone_are_one_experiment(tmp_path):
    runs = [
        fake_run.flic(tmp_path / f"{i}", seed=i % 2, rounds=16, aggregation__name=["mean", "median"][i // 2])
        for i in range(4)
    ]
    shown = describe_comparison([open_run(run) for run in runs])
    assert [run["group"] for run in shown["runs"]] == ["mean", "mean", "median", "median"]
    assert {one["key"] for one in shown["differences"]} == {"aggregation.name", "seed"}
    assert shown["heat"] is None


def test_time_a_round_is_over_the_rounds_that_a_continued_run_trained_itself(tmp_path):
    config = {"rounds": 3, "split": {"clients": 3}}
    first = fw.run(config, out=tmp_path / "first")
    later = fw.continue_run(tmp_path / "first", more=2, out=tmp_path / "later")
    assert describe_run(first)["headline"]["timed"] == 3
    told = describe_run(later)["headline"]
    assert (told["rounds"], told["timed"]) == (5, 2)


def test_an_experiment_of_one_run_is_called_as_its_directory(tmp_path):
    rules = {"as it is": "mean", "careful": "median", "2026-01-02_030405_flic_digits": "krum"}
    runs = [
        fake_run.flic(tmp_path / name, rounds=16, aggregation__name=rule, data__features=["Größe", rule])
        for name, rule in rules.items()
    ]
    shown = describe_comparison([open_run(run) for run in runs])
    assert [run["group"] for run in shown["runs"]] == ["as it is", "careful", "krum"]
    (features,) = [one for one in shown["differences"] if one["key"] == "data.features"]
    assert features["values"][0] == '["Größe", "mean"]'


def test_directories_of_the_same_name_are_told_apart_by_what_differs(tmp_path):
    runs = [
        fake_run.flic(tmp_path / rule / "run", rounds=16, aggregation__name=rule)
        for rule in ("mean", "median")
    ]
    shown = describe_comparison([open_run(run) for run in runs])
    assert [run["group"] for run in shown["runs"]] == ["mean", "median"]


def test_a_run_without_a_name_is_headed_by_its_directory(tmp_path):
    run = open_run(fake_run.flic(tmp_path / "hospital", rounds=16, name="run"))
    assert describe_run(run)["name"] == "hospital"
    assert "<title>hospital · Flockwise</title>" in write_report([run.path]).read_text(encoding="utf-8")


def test_the_same_config_and_seed_run_twice_counts_once(tmp_path):
    runs = [
        fake_run.flic(tmp_path / name, seed=seed, rounds=16) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    shown = describe_comparison([open_run(run) for run in runs])
    assert sorted(run["seed"] for run in shown["runs"] if run["counts"]) == [0, 1]


def test_configs_that_rely_on_defaults_are_the_same_experiment(tmp_path):
    runs = [
        fake_run.flic(tmp_path / "said", seed=0, rounds=16, training__momentum=0.0, strategy__patience=5),
        fake_run.flic(tmp_path / "left out", seed=1, rounds=16),
        fake_run.flic(tmp_path / "another", seed=1, rounds=16, training__momentum=0.9),
    ]
    groups = [run["group"] for run in describe_comparison([open_run(run) for run in runs])["runs"]]
    assert groups[0] == groups[1] != groups[2]


def test_methods_are_compared_under_the_same_attack_only(tmp_path):
    runs = [
        fake_run.byzantine(tmp_path / f"{rule}{attack}", aggregation__name=rule, attack={"name": attack, "clients": 3})
        for rule in ("mean", "median") for attack in ("reverse", "gaussian")
    ]  # fmt: skip
    settings = [run["setting"] for run in describe_comparison([open_run(run) for run in runs])["runs"]]
    assert settings[0] == settings[2] != settings[1] == settings[3]


def test_attack_by_rule(tmp_path):
    runs = [
        fake_run.byzantine(tmp_path / f"{rule}{attack}", aggregation__name=rule, attack={"name": attack})
        for rule in ("mean", "krum") for attack in ("sign", "none")
    ]  # fmt: skip
    heat = describe_comparison([open_run(run) for run in runs])["heat"]
    assert heat["attacks"] == ["none", "sign"] and heat["rules"] == ["krum", "mean"]
    assert len(heat["cells"]) == 4 and all(0 < cell[2] < 1 for cell in heat["cells"])


def test_of_very_many_clients_some_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr("flockwise.report.evidence.MOST_COMPARED", 10)
    run = open_run(fake_run.flic(tmp_path / "run", clients=40, rounds=16))
    page = describe_run(run)["similarity"][-1]
    assert sorted(unpacked(page["order"]).tolist()) == list(range(0, 40, 4))
    values = unpacked(page["agreement"]["values"]).reshape(40, -1)
    assert (values[1] == 255).all() and (values[0] != 255).any()
