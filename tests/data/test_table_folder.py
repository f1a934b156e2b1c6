"""A folder of tables, one a client: from a config to a run, and what is refused by file, column and row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.config import load_config
from flockwise.data import folder
from flockwise.errors import ConfigError, DataError
from flockwise.runs.federating import make_federation

CONFIG: dict[str, Any] = {
    "rounds": 2,
    "data": {"name": "folder", "path": "hospitals", "target": "outcome", "about": "who.csv"},
    "split": {"name": "natural"},
}


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    random, where = np.random.default_rng(0), tmp_path / "hospitals"
    where.mkdir()
    for number, name in enumerate(["Oslo", "Bergen", "=Bodø"]):
        lines = ["age,beats,outcome"]
        for _ in range(30):
            age, beats = random.normal(50, 10), random.normal(70 + number, 8)
            lines.append(f"{age:.2f},{beats:.2f},{'ill' if age > 50 else 'well'}")
        (where / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (where / "who.csv").write_text("name,place,beds\nOslo,south,900\n=Bodø,north,\n", encoding="utf-8")
    (tmp_path / "config.toml").write_text(tomli_w.dumps(CONFIG))
    return tmp_path


def test_each_file_is_a_client_with_its_name_and_what_is_known_of_it(hospitals: Path) -> None:
    federation = make_federation(load_config(hospitals / "config.toml"), hospitals, None)
    assert federation.names == ["=Bodø", "Bergen", "Oslo"]
    assert [shard.about for shard in federation.shards] == [
        {"place": "north"},
        {},
        {"place": "south", "beds": 900},
    ]
    assert federation.sizes("train").tolist() == [22, 22, 22] and federation.sizes("test").tolist() == [
        6,
        6,
        6,
    ]
    assert federation.dataset.columns == ("age", "beats") and federation.dataset.class_names == (
        "ill",
        "well",
    )
    own = np.concatenate([federation.arrays(2, part)[0] for part in ("train", "validation", "test")])
    rows = np.loadtxt(hospitals / "hospitals" / "Oslo.csv", delimiter=",", skiprows=1, usecols=(0, 1))
    assert np.allclose(np.sort(own, axis=0), np.sort(rows, axis=0), atol=1e-4)


def test_a_run_says_whose_data_it_was_and_resumes_from_its_own_config(hospitals: Path) -> None:
    rounds: list[int] = []
    run = fw.run(
        hospitals / "config.toml", out=hospitals / "run", on_round=lambda told: rounds.append(told.round),
        stop=lambda: len(rounds) == 0,
    )  # fmt: skip
    assert run.about["data"] == "hospitals" and run.config["split"]["clients"] == "none"
    assert [client["name"] for client in run.clients] == ["=Bodø", "Bergen", "Oslo"]
    assert fw.resume(hospitals / "run", rounds=3).rounds.tolist() == [1, 2, 3]
    shown = CliRunner().invoke(app, ["show", str(hospitals / "run")]).output
    assert "data        hospitals" in shown


def test_data_check_shows_a_table_and_fails_where_something_is_bad(hospitals: Path) -> None:
    config = str(hospitals / "config.toml")
    good = CliRunner().invoke(app, ["data", "check", config])
    assert good.exit_code == 0 and "label_distance" in good.output and "0 faults" in good.output
    file = hospitals / "hospitals" / "Oslo.csv"
    file.write_text(file.read_text().replace("\n", "\nNA,60,ill\n", 1))
    bad = CliRunner().invoke(
        app, ["data", "check", config, "--set", "split.test_share=0", "--set", "split.validation=0"]
    )
    assert bad.exit_code == 1
    assert (
        "bad: not finite: Oslo (client 2): 1 of 31 train samples hold NaN or infinite values (age)"
        in bad.output
    )


def test_parquet_files_and_a_column_of_parts_are_read(hospitals: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for file in sorted((hospitals / "hospitals").glob("[!w]*.csv")):
        frame = pandas.read_csv(file).assign(part=["train"] * 20 + ["test"] * 10)
        frame.to_parquet(file.with_suffix(".parquet"))
        file.unlink()
    dataset = folder("hospitals", "outcome", part="part", about="who.csv", beside=hospitals)
    federation = fw.splits.natural(dataset, validation=0)
    assert federation.sizes("train").tolist() == [20] * 3 and federation.sizes("test").tolist() == [10] * 3
    assert dataset.columns == ("age", "beats")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("age,outcome\n1\n", {}, r"Oslo\.csv, row 2: has 1 cells where 2 columns are named"),
        ("age,age\n1,2\n", {}, r"Oslo\.csv: its first line must name every column, each once"),
        ("", {}, r"Oslo\.csv: its first line must name"),
        ("age,beats,outcome\n1,2,ill\n", {"target": "outcom"}, r"without 'outcom': did you mean 'outcome'"),
        ("age,beats,outcome\nold,2,ill\n", {}, r"hospitals/Oslo\.csv, row 2, column 'age' = 'old': must be numbers"),
        ("age,beats,outcome\n0.1,2,ill\n\nNA,2,ill\nabc,2,ill\n", {}, r"Oslo\.csv, row 5, column 'age' = 'abc'"),
        ('age,beats,outcome\n1.5,2,ill\n"1,234.5",2,ill\n', {}, r"row 3, column 'age' = '1,234\.5': must be numbers"),
        ("age,pulse,outcome\n1,2,ill\n", {}, r"Oslo\.csv = columns unlike those of hospitals/=Bodø\.csv \(beats, pulse\)"),
        ("age,beats,outcome\n", {}, r"hospitals/Oslo\.csv = no training samples"),
        ("age,beats,outcome\n1,2,ill\n1,2,\n", {}, r"Oslo\.csv, row 3, column 'outcome': the label is missing; fill"),
        ("age,beats,outcome\n1,2, \n", {"classes": ["ill", "well"]}, r"Oslo\.csv, row 2, column 'outcome': the label is"),
        ("age,beats,outcome\n1,2,0\n\n1,2,NA\n", {}, r"hospitals/Oslo\.csv, row 4, column 'outcome': the label is missing"),
        ("age,beats,outcome,p\n1,2,0,train\n1,2,,test\n", {"part": "p"}, r"Oslo\.csv test, row 3, column 'outcome': the"),
        ("age,beats,outcome\n1,2,0.5\n", {}, r"Bodø\.csv y = '\w+': other clients' labels are numbers; must be of one kind"),
        ("age;beats;outcome\n1,5;2;ill\n", {}, r"Oslo\.csv: has semicolons between its columns; write it with commas"),
        ("age\tbeats\toutcome\n1\t2\till\n", {}, r"Oslo\.csv: has tabs between its columns"),
        ("age,beats,outcome\n1,2,ill\n", {"part": "part"}, r"data\.part = 'part' is no column"),
        ("age,beats,outcome\n1,2,ill\n", {"path": "nowhere"}, r"data\.path = 'nowhere': .* is no folder"),
        ("age,beats,outcome\n1,2,ill\n", {"about": "them.csv"}, r"data\.about = 'them\.csv': .* has no such file"),
        ("\xff".encode("latin-1"), {}, r"Oslo\.csv: cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_file(
    hospitals: Path, content: str | bytes, options: dict[str, Any], message: str
) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    if "part" in options and b",p\n" in raw:  # of them all, or another file is told of first
        for other in ("Bergen", "=Bodø"):
            (hospitals / "hospitals" / f"{other}.csv").write_bytes(b"age,beats,outcome,p\n1,2,0,train\n")
    (hospitals / "hospitals" / "Oslo.csv").write_bytes(raw)
    with pytest.raises(DataError, match=message) as refused:
        folder(
            **{"path": "hospitals", "target": "outcome", "about": "who.csv", **options, "beside": hospitals}
        )
    assert "\n" not in str(refused.value)


def test_endings_of_any_case_are_read_and_what_is_not_is_told(hospitals: Path) -> None:
    where = hospitals / "hospitals"
    (where / "Oslo.csv").rename(where / "Oslo.CSV")
    (where / "north").mkdir()
    (where / "north" / "Alta.csv").write_text("age,beats,outcome\n1,2,ill\n")
    (where / "Moss.xlsx").write_text("")
    (where / ".hidden.txt").write_text("")
    dataset = folder("hospitals", "outcome", about="who.csv", beside=hospitals)
    assert [holder.name for holder in dataset.holders] == ["=Bodø", "Bergen", "Oslo"]
    found = [each.message for each in fw.data.check_data(fw.splits.natural(dataset)).findings]
    assert found[0].endswith("files of the folder itself: Moss.xlsx, north/Alta.csv")
    for file in ("north/Alta.csv", "Moss.xlsx"):
        (where / file).unlink()
    dataset = folder("hospitals", "outcome", about="who.csv", beside=hospitals)
    assert dataset.left_out == ()


def test_columns_are_known_by_their_names_wherever_they_stand(hospitals: Path) -> None:
    first = folder("hospitals", "outcome", about="who.csv", beside=hospitals)
    file = hospitals / "hospitals" / "Oslo.csv"
    rows = [line.split(",") for line in file.read_text().splitlines()]
    file.write_text("\n".join(",".join((row[2], row[1], row[0])) for row in rows) + "\n")
    again = folder("hospitals", "outcome", about="who.csv", beside=hospitals)
    assert again.columns == first.columns and np.array_equal(again.x, first.x)


def test_regression_from_a_folder_names_the_field_that_it_needs(hospitals: Path) -> None:
    for number, file in enumerate(sorted((hospitals / "hospitals").glob("[!w]*.csv"))):
        file.write_text("age,beats\n" + "".join(f"{row % 7}.5,{60 + row + number}\n" for row in range(30)))
    data = {"name": "folder", "path": "hospitals", "target": "beats", "about": "who.csv"}
    with pytest.raises(DataError, match=r"y = float64: must be .*data\.labels = \"numbers\""):
        fw.run(_changed(hospitals, data={**data, "target": "age"}), out=hospitals / "run")
    whole = _changed(hospitals, data=data, task={"name": "regression"})
    with pytest.raises(
        ConfigError, match=r"regression': learns numbers, .* needs data\.labels = \"numbers\""
    ):
        fw.run(whole, out=hospitals / "run")
    whole = _changed(hospitals, data={**data, "labels": "numbers"}, task={"name": "regression"})
    assert fw.run(whole, out=hospitals / "run").scoring.name == "mae"


def test_a_config_of_a_folder_is_checked_as_a_whole(hospitals: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.target: is needed by folder"):
        load_config(_changed(hospitals, data={"name": "folder", "path": "hospitals"}))
    with pytest.raises(ConfigError, match=r"data.pth = 'x': unknown key; did you mean 'path'"):
        load_config(_changed(hospitals, data={**CONFIG["data"], "pth": "x"}))
    with pytest.raises(ConfigError, match=r"data.path = 'x': unknown key; digits takes none"):
        load_config(_changed(hospitals, data={"name": "digits", "path": "x"}))
    with pytest.raises(ConfigError, match=r"split.clients = 9: must be 1 to 3"):
        make_federation(
            load_config(_changed(hospitals, split={"name": "natural", "clients": 9})), hospitals, None
        )


def _changed(where: Path, **sections: Any) -> Path:
    (where / "changed.toml").write_text(tomli_w.dumps({**CONFIG, **sections}))
    return where / "changed.toml"


def test_an_own_split_that_makes_another_number_of_clients_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "pairs_of.py").write_text(
        "import flockwise as fw\n"
        "def halves(dataset, clients=20, seed=0, validation=0.1):\n"
        "    return fw.splits.iid(dataset, clients=2, seed=seed, validation=validation)\n"
        "def two(dataset, seed=0, validation=0.1):\n"
        "    import numpy as np\n"
        "    rows = (np.arange(20.0).reshape(10, 2), np.arange(10) % 2)\n"
        "    return fw.Federation.from_arrays([rows, rows], name='mine')\n"
    )
    (tmp_path / "config.toml").write_text('rounds = 1\n[split]\nname = "pairs_of:halves"\n')
    with pytest.raises(
        ConfigError, match=r'split.clients = 20: pairs_of:halves made 2 clients; say as many, or "none"'
    ):
        fw.run(tmp_path / "config.toml", out=tmp_path / "run")
    (tmp_path / "config.toml").write_text('rounds = 1\n[split]\nname = "pairs_of:two"\n')
    run = fw.run(tmp_path / "config.toml", out=tmp_path / "run")
    assert run.about["data"] == "mine" and len(run.clients) == 2 and run.config["split"]["clients"] == "none"


def test_classes_may_be_said_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,well\n2,ill\n3,well\n")
    said = folder(str(tmp_path), "y", classes=["well", "rare", "ill"])
    assert said.y.tolist() == [0, 2, 0] and said.classes == 3 and said.class_names == ("well", "rare", "ill")
    (tmp_path / "a.csv").write_text("x,y\n1,7\n2,3\n")  # whole numbers go by how they are written
    assert folder(str(tmp_path), "y", classes=["3", "5", "7"]).y.tolist() == [2, 0]
    with pytest.raises(DataError, match="y = '7': must be one of the classes, 3, 5"):
        folder(str(tmp_path), "y", classes=["3", "5"])
    with pytest.raises(
        DataError, match=r"classes = .*: must be the names of all classes, each once, at least two"
    ):
        folder(str(tmp_path), "y", classes=["3", "3"])


@pytest.mark.parametrize(("labels", "task"), [("classes", "multi-label"), ("numbers", "regression")])
def test_several_columns_may_be_learned_at_once(labels: str, task: str, tmp_path: Path) -> None:
    random, where = np.random.default_rng(0), tmp_path / "wards"
    where.mkdir()
    for name in ("north", "south"):
        rows = random.normal(size=(60, 2))
        ends = (rows > 0).astype(int) if labels == "classes" else rows.round(2)
        lines = [f"{a:.3f},{b:.3f},{c},{d}" for (a, b), (c, d) in zip(rows, ends, strict=True)]
        (where / f"{name}.csv").write_text("\n".join(["age,beats,fever,cough", *lines]) + "\n")
    config = {
        "rounds": 8, "data": {"name": "folder", "path": "wards", "target": ["fever", "cough"], "labels": labels},
        "split": {"name": "natural"}, "task": {"name": task}, "training": {"epochs": 3, "learning_rate": 0.3},
    }  # fmt: skip
    (tmp_path / "my.toml").write_text(tomli_w.dumps(config))
    run = fw.run(tmp_path / "my.toml", out=tmp_path / "run")
    assert run.environment["samples"]["columns"] == ["age", "beats"] and run.environment["samples"][
        "labels"
    ] == [2]
    (tmp_path / "new.csv").write_text("age,beats\n2,-2\n-2,2\n")
    done = CliRunner().invoke(
        app, ["predict", str(run.path), "--flock", "0", "--data", str(tmp_path / "new.csv")]
    )
    assert done.exit_code == 0, done.output
    head, first, second = done.output.splitlines()
    assert head == "prediction_fever,prediction_cough"
    for line, sign in ((first, 1), (second, -1)):
        fever, cough = map(float, line.split(","))
        assert (fever - cough) * sign > 0.3


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (["a", "a"], "must be a column, or several, each once"), ([], "must be a column, or several, each once"),
        (["a", "nothing"], "a table without 'nothing'"), (["a", "b", "c"], "must be other columns than the target"),
        (["a", "c"], "column 'c' = 'x': must be numbers"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_are_named(target: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b,c\n0,1,x\n1,0,y\n")
    with pytest.raises(DataError, match=told):
        folder(str(tmp_path), target)
