"""Using the result: predictions, and models as files with cards."""

import csv
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import DataError, InputError, PluginError

HOSTILE = "<b>|[x](javascript:1)`\x1b[31m"


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> fw.Run:
    config = {
        "rounds": 6, "seed": 1, "split": {"name": "label_swap", "clients": 6, "groups": 2}, "model": {"name": "mlp"},
        "strategy": {"name": "flic", "warmup": 4, "min_separation": 0.0}, "training": {"epochs": 3, "learning_rate": 0.2},
    }  # fmt: skip
    return fw.run(config, out=tmp_path_factory.mktemp("runs") / "digits")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> fw.Run:
    """Two hospitals with tables: the outcome is whether a + b > 0."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "in").mkdir()
    random = np.random.default_rng(0)
    for name in ("north", "south"):
        rows = random.normal(size=(80, 2))
        lines = [f"{a:.3f},{b:.3f},{'ill' if a + b > 0 else 'well'}" for a, b in rows]
        (folder / "in" / f"{name}.csv").write_text("\n".join(["age,beats,outcome", *lines]) + "\n")
    config = {
        "rounds": 8, "data": {"name": "folder", "path": "in", "target": "outcome"}, "split": {"name": "natural"},
        "training": {"epochs": 3, "learning_rate": 0.5},
    }  # fmt: skip
    return fw.run(config, directory=folder, out=folder / "run")


def invoke(*words: str) -> str:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_predictions_are_those_that_were_scored(digits: fw.Run) -> None:
    clients = fw.splits.label_swap(fw.data.digits(), clients=6, groups=2, seed=1)
    for client in range(3):
        x, y = clients.arrays(client, "test")
        told = digits.predict(x, client)
        accuracy = float(np.mean(told.values == y))
        assert accuracy == pytest.approx(digits.summary[client]["accuracy"], abs=1e-6)
        assert told.labels == [str(value) for value in told.values] and 0.1 <= told.probability.min() <= 1


def test_whole_numbers_are_scaled_as_in_training_and_rows_of_pixels_are_images(digits: fw.Run) -> None:
    data = fw.data.digits()
    raw = data.x[:20]
    scaled = digits.predict(data.scaled(np.arange(20)), flock=0).values
    assert np.array_equal(digits.predict(raw.astype(np.int64), flock=0).values, scaled)
    assert np.array_equal(digits.predict(raw.reshape(20, -1).astype(np.int64), flock=0).values, scaled)


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (np.zeros((3, 5)), r"x = \(3, 5\): must be \(samples, 8, 8, 1\)"),
        (np.full((2, 8, 8, 1), np.nan), "x: holds NaN"),
        ("abc", "x = str of"),
        (None, "x = NoneType"),
        ([[1], [1, 2]], "x = list of object"),
    ],
)
def test_samples_of_another_kind_are_refused(x: object, told: str, digits: fw.Run) -> None:
    with pytest.raises(InputError, match=told):
        digits.predict(x, flock=0)


def test_a_table_is_predicted_by_the_names_of_its_columns(table: fw.Run, tmp_path: Path) -> None:
    rows = "beats,note,age\n2.0,7,1.5\n-2.0,7,-1.0\n0.4,7,0.5\n"
    (tmp_path / "new.csv").write_text(rows)
    out = tmp_path / "out.csv"
    invoke(
        "predict",
        str(table.path),
        "--client",
        "north",
        "--data",
        str(tmp_path / "new.csv"),
        "--out",
        str(out),
    )
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["prediction"] for row in found] == ["ill", "well", "ill"]
    assert all(0.5 <= float(row["probability"]) <= 1 for row in found)
    printed = invoke("predict", str(table.path), "--flock", "0", "--data", str(tmp_path / "new.csv"))
    assert printed.splitlines()[0] == "prediction,probability" and len(printed.splitlines()) == 4


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "beats\n1\n", "has no column 'age'"),
        ("a.csv", "age,beats\n1,x\n", "column 'beats' holds something else than numbers"),
        ("a.txt", "", "must end in .npy, .csv"),
        ("a.npy", "no array", "cannot be read as an array"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    name: str, content: str, told: str, table: fw.Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    done = CliRunner().invoke(
        app, ["predict", str(table.path), "--flock", "0", "--data", str(tmp_path / name)]
    )
    assert (
        isinstance(done.exception, DataError) and told in str(done.exception) and name in str(done.exception)
    )


def test_arrays_that_would_be_unpickled_are_refused(table: fw.Run, tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read as an array"):
        CliRunner().invoke(
            app, ["predict", str(table.path), "--flock", "0", "--data", str(tmp_path / "bad.npy")],
            catch_exceptions=False, standalone_mode=False,
        )  # fmt: skip


def test_which_model_is_said_by_flock_name_or_number(table: fw.Run, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age,beats\n1,1\n")
    for words in (["--client", "north"], ["--client", "0"], []):
        invoke("predict", str(table.path), *words, "--data", str(tmp_path / "new.csv"))
    for words, told in (
        (["--client", "noth"], "did you mean 'north'?"),
        (["--client", "0", "--flock", "0"], "say one or the other"),
    ):
        done = CliRunner().invoke(
            app, ["predict", str(table.path), *words, "--data", str(tmp_path / "new.csv")]
        )
        assert done.exit_code == 2 and told in done.output


def test_one_client_is_shown_by_name_or_number(table: fw.Run) -> None:
    by_name = invoke("clients", str(table.path), "--client", "south")
    assert by_name == invoke("clients", str(table.path), "--client", "1") and "south" in by_name
    done = CliRunner().invoke(app, ["clients", str(table.path), "--client", "soth"])
    assert done.exit_code == 2 and "did you mean 'south'?" in done.output


def test_numbers_are_predicted_as_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    clients = []
    for _ in range(3):
        x = random.normal(size=(60, 2)).astype(np.float32)
        clients.append((x, x @ np.array([1.0, -1.0], dtype=np.float32)))
    federation = fw.Federation.from_arrays(clients, labels="numbers")
    run = fw.run(
        fw.fedavg(), federation, model=torch.nn.Linear(2, 1), task=fw.tasks.regression(), rounds=8,
        training=fw.SGD(epochs=3, learning_rate=0.1), out=tmp_path / "run",
    )  # fmt: skip
    told = run.predict([[1.0, 0.0], [0.0, 1.0]], module=torch.nn.Linear(2, 1))
    assert told.labels is None and np.allclose(told.values, [1, -1], atol=0.2)
    assert list(told.columns()) == ["prediction"]


def test_a_model_is_saved_with_a_card(table: fw.Run, tmp_path: Path) -> None:
    target = tmp_path / "north.safetensors"
    told = invoke("save-model", str(table.path), "--flock", "0", "--out", str(target)).splitlines()
    assert told == [str(target), f"{target}.card.md", f"{target}.card.json"]
    assert {name: tuple(t.shape) for name, t in load_file(target).items()} == {
        "1.weight": (2, 2),
        "1.bias": (2,),
    }
    card = json.loads((tmp_path / "north.safetensors.card.json").read_text())
    assert card["clients"]["names"] == ["north", "south"] and card["data"]["columns"] == ["age", "beats"]
    assert card["score"]["mean"] == pytest.approx(float(table.facts["accuracy"][-1]), abs=1e-4)
    assert card["privacy"]["epsilon"] is None and card["config"] == table.config
    text = (tmp_path / "north.safetensors.card.md").read_text()
    assert "| clients | 2: north, south |" in text and "no noise was added, so there is no epsilon" in text
    assert card["flock"] == 0 and "| flock | 0 |" in text


def test_a_card_has_all_that_the_task_measures_and_the_loss(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2)).astype(np.float32)
    federation = fw.Federation.from_arrays(
        [((x[:40], x[:40, 0] / 1000), (x[40:], x[40:, 0] / 1000))] * 2, labels="numbers"
    )
    run = fw.run(
        fw.fedavg(), federation, model=fw.models.softmax, task=fw.tasks.regression(), rounds=3,
        training=fw.SGD(epochs=3, learning_rate=0.1), out=tmp_path / "run",
    )  # fmt: skip
    run.save_model(tmp_path / "m.safetensors", flock=0)
    card = json.loads((tmp_path / "m.safetensors.card.json").read_text())
    assert set(card["metrics"]) == {"mae", "rmse", "r2", "test_loss"}
    assert card["score"] == {"name": "mae", **card["metrics"]["mae"]} and card["score"]["better"] == "lower"
    for name, told in card["metrics"].items():
        assert told["mean"] == pytest.approx(float(run.facts[name][-1]), rel=1e-4) and told["of_round"] == 3
    text = (tmp_path / "m.safetensors.card.md").read_text()
    assert (
        f"| mae (lower is better) | mean {card['score']['mean']:.4g}, worst" in text
        and "| test\\_loss (lower" in text
    )


def test_the_card_of_an_earlier_round_is_of_that_round(tmp_path: Path) -> None:
    config = {
        "rounds": 6, "seed": 1, "split": {"name": "label_swap", "clients": 6, "groups": 2}, "model": {"name": "mlp"},
        "strategy": {"name": "flic", "warmup": 4, "min_separation": 0.0}, "training": {"epochs": 3, "learning_rate": 0.2},
        "checkpoint": {"at": [2]}, "evaluation": {"every": 1},
    }  # fmt: skip
    run = fw.run(config, out=tmp_path / "run")
    assert len(run.flocks) > 1
    run.save_model(tmp_path / "early.safetensors", flock=0, at=2)
    early = json.loads((tmp_path / "early.safetensors.card.json").read_text())
    assert early["round"] == early["score"]["of_round"] == 2 and early["clients"]["count"] == 6
    assert early["score"]["mean"] == pytest.approx(float(run.facts["accuracy"][1]), abs=1e-4)
    run.save_model(tmp_path / "one.safetensors", client=3)
    one = json.loads((tmp_path / "one.safetensors.card.json").read_text())
    assert one["flock"] == run.summary[3]["flock"] and one["clients"]["names"] == ["client 3"]


def test_a_card_says_what_a_method_of_ones_own_says_of_its_noise(table: fw.Run, tmp_path: Path) -> None:
    run = fw.open_run(table.path)
    run.facts["epsilon"] = np.array([np.nan, 0.5, 1.25] + [np.nan] * (len(run.rounds) - 3))
    run.save_model(tmp_path / "m.safetensors", flock=0)
    card = json.loads((tmp_path / "m.safetensors.card.json").read_text())
    assert card["privacy"]["epsilon"] == 1.25 and "epsilon 1.25 as of round 3" in card["privacy"]["words"]


def test_names_on_a_card_stay_text(tmp_path: Path) -> None:
    rows = (np.arange(24.0).reshape(12, 2) / 24, np.arange(12) % 2)
    federation = fw.Federation.from_arrays({HOSTILE: rows, "plain": rows})
    run = fw.run(fw.fedavg(), federation, model=fw.models.softmax, rounds=1, out=tmp_path / "run")
    run.save_model(tmp_path / "m.safetensors", flock=0)
    (line,) = [
        line for line in (tmp_path / "m.safetensors.card.md").read_text().splitlines() if "clients |" in line
    ]
    assert "\x1b" not in line and "<b>" not in line.replace("\\<b\\>", "") and "](java" not in line
    assert line.count("|") - line.count("\\|") == 3


def test_torchscript_gives_the_same_outputs(digits: fw.Run, tmp_path: Path) -> None:
    digits.save_model(tmp_path / "flock.pt", flock=0)
    x = torch.from_numpy(fw.data.digits().scaled(np.arange(7))).permute(0, 3, 1, 2)
    traced = torch.jit.load(str(tmp_path / "flock.pt"))
    with torch.inference_mode():
        assert torch.allclose(traced(x), digits.model(flock=0).eval()(x), atol=1e-6)


def test_onnx_without_its_library_is_one_line(
    digits: fw.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PluginError, match=r"onnx is missing; pip install 'flockwise\[onnx\]'"):
        digits.save_model(tmp_path / "flock.onnx", flock=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not (find_spec("onnx") and find_spec("onnxscript")), reason="onnx is not installed")
def test_onnx_gives_the_same_outputs(digits: fw.Run, tmp_path: Path) -> None:
    import onnx
    from onnx.reference import ReferenceEvaluator

    digits.save_model(tmp_path / "flock.onnx", flock=0)
    x = np.moveaxis(fw.data.digits().scaled(np.arange(7)), -1, 1)
    (found,) = ReferenceEvaluator(onnx.load(tmp_path / "flock.onnx")).run(None, {"samples": x})
    with torch.inference_mode():
        expected = digits.model(flock=0).eval()(torch.from_numpy(x.copy())).numpy()
    assert np.allclose(found, expected, atol=1e-5)


def test_another_ending_is_refused(digits: fw.Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.safetensors, \.pt, \.onnx"):
        digits.save_model(tmp_path / "flock.pkl", flock=0)


@pytest.mark.parametrize("ending", ["safetensors", "pt"])
def test_a_model_is_written_into_a_folder_that_was_not_there(
    table: fw.Run, ending: str, tmp_path: Path
) -> None:
    target = tmp_path / "made" / "for it" / f"model.{ending}"
    invoke("save-model", str(table.path), "--out", str(target))
    assert target.is_file() and target.with_name(f"{target.name}.card.md").is_file()
    assert not list(target.parent.glob(".*"))
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(
        app, ["save-model", str(table.path), "--out", str(tmp_path / "file" / f"m.{ending}")]
    )
    assert isinstance(done.exception, OSError) and done.exception.filename == str(tmp_path / "file")


def test_predictions_are_written_into_a_folder_that_was_not_there(table: fw.Run, tmp_path: Path) -> None:
    (tmp_path / "new.CSV").write_text("beats,age\n2,2\n-2,-2\n")
    target = tmp_path / "made" / "out.csv"
    invoke("predict", str(table.path), "--data", str(tmp_path / "new.CSV"), "--out", str(target))
    assert [row["prediction"] for row in csv.DictReader(target.read_text().splitlines())] == ["ill", "well"]
