"""Data of a user's own: what may be brought, and what is refused in a line that names the client."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import flockwise as fw
from flockwise.data import Federation
from flockwise.data.sequences import IGNORED
from flockwise.engine import ClientWork
from flockwise.errors import InputError
from flockwise.training import Recipe

RANDOM = np.random.default_rng(0)
TABLE = (RANDOM.integers(0, 200, (6, 4)).astype(np.uint8), np.arange(6) % 2)


def work(federation: Federation, module: nn.Module) -> ClientWork:
    return ClientWork(federation, module, Recipe(epochs=3, learning_rate=0.5))


def test_bytes_of_a_table_are_numbers_and_bytes_of_a_picture_are_scaled() -> None:
    table = Federation.from_arrays([TABLE], validation=0)
    assert np.array_equal(table.arrays(0, "train")[0], TABLE[0].astype(np.float32))
    picture = Federation.from_arrays([(TABLE[0].reshape(6, 2, 2), TABLE[1])], validation=0)
    assert picture.dataset.shape == (2, 2, 1)
    np.testing.assert_allclose(picture.arrays(0, "train")[0].reshape(6, 4), TABLE[0] / 255, rtol=1e-6)
    flat = Federation.from_arrays([TABLE], validation=0, inputs="images")
    np.testing.assert_allclose(flat.arrays(0, "train")[0], TABLE[0] / 255, rtol=1e-6)


def test_an_embedding_sees_whole_tokens_and_learns_from_them() -> None:
    """The label is the token: only who sees the very token can learn it."""
    tokens = np.arange(40).reshape(40, 1) % 10
    federation = Federation.from_arrays(
        [(tokens.astype(np.uint8), tokens[:, 0])], inputs="tokens", validation=0
    )
    module = nn.Sequential(nn.Embedding(10, 8), nn.Flatten(), nn.Linear(8, 10))
    done = work(federation, module)
    trained = done.train(0, 1, done.first[None])
    assert done.data(0, "train", 1)[0].dtype == np.int64
    assert trained is not None and done.score(0, "train", 1, trained[0])[0] == 1.0


def test_an_embedding_of_numbers_is_told_what_to_say() -> None:
    module = nn.Sequential(nn.Embedding(256, 8), nn.Flatten(), nn.Linear(32, 2))
    with pytest.raises(InputError, match="inputs='tokens'"):
        work(Federation.from_arrays([TABLE]), module)


def test_sequences_are_padded_and_labels_of_no_step_are_ignored() -> None:
    clients = [([[1, 2, 3], [4]], [[0, 1, 0], [2]]), ([[5, 6]], [[1, 1]])]
    federation = Federation.from_arrays(clients, validation=0)
    assert federation.dataset.tokens and federation.dataset.classes == 3
    x, y = federation.arrays(0, "train")
    assert x.tolist() == [[1, 2, 3], [4, 0, 0]] and y.tolist() == [[0, 1, 0], [2, IGNORED, IGNORED]]
    assert federation.arrays(1, "train")[1].tolist() == [[1, 1, IGNORED]]
    assert federation.label_counts().tolist() == [[2, 1, 1], [0, 2, 0]]


def test_series_of_different_lengths_may_have_one_label_each() -> None:
    series = [np.ones((3, 2)), np.full((5, 2), 2.0)]
    federation = Federation.from_arrays([(series, [0, 1])], validation=0)
    x, y = federation.arrays(0, "train")
    assert x.shape == (2, 5, 2) and x.dtype == np.float32 and not federation.dataset.tokens
    assert x[0, 3:].sum() == 0 and x[1].min() == 2.0 and y.tolist() == [0, 1]


def test_a_torch_dataset_is_read_whole_and_two_of_them_are_training_and_test() -> None:
    whole = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6) % 3)
    alone = Federation.from_arrays([whole], validation=0)
    assert np.array_equal(alone.arrays(0, "train")[0], np.arange(12.0).reshape(6, 2))
    both = Federation.from_arrays({"a": (whole, whole), "b": {"train": whole, "test": whole}}, validation=0)
    assert both.sizes("test").tolist() == [6, 6] and both.names == ["a", "b"]


def test_a_data_frame_has_a_target_and_features() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": [30, 41, 52], "kind": ["ill", "well", "ill"], "beats": [61.5, None, 70.0]}
    )
    federation = Federation.from_arrays(
        {"north": frame, "south": (frame, frame)}, target="kind", validation=0
    )
    x, y = federation.arrays(0, "train")
    assert x[:, 0].tolist() == [30.0, 41.0, 52.0] and np.isnan(x[1, 1]) and y.tolist() == [0, 1, 0]
    assert federation.dataset.columns == ("age", "beats") and federation.dataset.class_names == (
        "ill",
        "well",
    )
    assert federation.sizes("test").tolist() == [0, 3]
    one = Federation.from_arrays([frame], target="kind", features=["age"], validation=0)
    assert one.dataset.shape == (1,)


def test_numbers_to_predict_stay_numbers() -> None:
    federation = Federation.from_arrays([(TABLE[0], np.linspace(0, 1, 6))], labels="numbers", validation=0)
    assert federation.dataset.classes == 0 and federation.arrays(0, "train")[1].dtype == np.float32


def test_labels_that_are_names_are_numbered_alike_for_all_clients() -> None:
    clients = [(np.zeros((2, 1)), ["b", "a"]), (np.zeros((2, 1)), ["c", "b"])]
    federation = Federation.from_arrays(clients, validation=0)
    assert [federation.arrays(client, "train")[1].tolist() for client in (0, 1)] == [[1, 0], [2, 1]]
    assert federation.dataset.class_names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("clients", "options", "message"),
    [
        (None, {}, "clients = NoneType: must be a list"),
        ("north", {}, "clients = str: must be a list"),
        ([(np.array([["a", "1"]] * 2), [0, 1])], {}, r"clients\[0\] x = str 'a': must be numbers"),
        ([(np.array([[1, "x"], [2, 3]], object), [0, 1])], {}, r"clients\[0\] x = str 'x': must be numbers"),
        ({"north": ([[1, 2], [None, 3]], [0, 1])}, {}, r"clients\['north'\] x = NoneType 'None'"),
        ({"north": (np.zeros((2, 2)), None)}, {}, r"clients\['north'\] y = NoneType"),
        ([(np.zeros((2, 2)), [0, 1])], {"inputs": "words"}, "inputs = 'words'"),
        ([(np.zeros((2, 2)), [0, 1])], {"inputs": "tokens"}, "inputs = 'tokens': must be whole numbers"),
        ([(np.zeros((2, 2)), [0, 1])], {"labels": "ranks"}, "labels = 'ranks'"),
        ([{"train": TABLE, "tset": TABLE}], {}, "a mapping with 'tset'"),
        ([(["one", "two"], [0, 1])], {}, r"clients\[0\] x = str 'one'"),
        ([([["a", "b"], ["c"]], [0, 1])], {}, r"clients\[0\] = sequences of .*: must be numbers"),
        ([TABLE], {"names": ["a", "b"]}, "names = 2 entries: must be 1"),
        ([TABLE, TABLE], {"names": ["a", "a"]}, "names = 'a' twice"),
        ([TABLE], {"names": [" "]}, r"names\[0\] = ' ': must be some text"),
        ([TABLE], {"names": ["x" * 201]}, "has 201 signs, at most 200"),
        ({"a": TABLE}, {"about": {"b": {}}}, r"about\['b'\]: no client has this name"),
        ({"a": TABLE}, {"about": {"a": {"place": ["Oslo"]}}}, r"about\['a'\]\['place'\] = \['Oslo'\]: must be a short"),
        ({"a": TABLE}, {"about": {"a": {"hour": "noon"}}}, r"clients\['a'\]\['hour'\] = 'noon': must be hours"),
        ([1], {}, r"clients\[0\] = int: must be \(x, y\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_client_and_the_fix(
    clients: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as refused:
        Federation.from_arrays(clients, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "labels", [["x", None, "y"], ["x", "", "y"], ["x", " ", "y"], [1, None, 0], [1.0, float("nan"), 0.0], [b"x", b"", b"y"]]
)  # fmt: skip
def test_a_label_that_is_missing_is_refused_by_its_place(labels: list[Any]) -> None:
    with pytest.raises(InputError, match=r"clients\[0\] y\[1\]: the label is missing; fill it in, or leave"):
        Federation.from_arrays([(np.zeros((3, 2)), labels)])
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1, 2, 3], "kind": labels})
    with pytest.raises(InputError, match=r"clients\[0\] column 'kind'\[1\]: the label is missing"):
        Federation.from_arrays([frame], target="kind")
    if labels[0] == "x":
        frame["kind"] = frame["kind"].replace("", None).replace(" ", None).astype("category")
        with pytest.raises(InputError, match=r"column 'kind'\[1\]: the label is missing"):
            Federation.from_arrays([frame], target="kind")


def test_a_row_of_labels_is_refused_by_the_row() -> None:
    rows = [[0.0, 1.0], [1.0, 1.0], [0.0, float("nan")]]
    with pytest.raises(InputError, match=r"clients\[0\] y\[2\]: the label is missing"):
        Federation.from_arrays([(np.zeros((3, 2)), rows)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say which column is to be learned, as target"),
        ({"target": "kin"}, "a table without 'kin': did you mean"),
        ({"target": "kind", "features": ["aeg"]}, "a table without 'aeg': did you mean"),
        ({"target": "kind"}, r"clients\['north'\] column 'sex'\[0\] = 'm': must be numbers"),
        ({"target": "kind", "features": ["kind"]}, "must be other columns than the target"),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit_is_refused_by_its_column(options: dict[str, Any], message: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1, 2], "sex": ["m", "f"], "kind": [0, 1]})
    with pytest.raises(InputError, match=message):
        Federation.from_arrays({"north": frame}, **options)


def test_tables_of_other_columns_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    first = pandas.DataFrame({"age": [1, 2], "kind": [0, 1]})
    other = pandas.DataFrame({"years": [1, 2], "kind": [0, 1]})
    with pytest.raises(
        InputError, match=r"clients\['b'\] = columns unlike those of clients\['a'\] \(age, years\)"
    ):
        Federation.from_arrays({"a": first, "b": other}, target="kind")


def test_what_is_known_of_clients_goes_with_them(tmp_path: Any) -> None:
    about = {"north": {"place": "Oslo", "beds": np.int64(900), "address": "10.0.0.1", "hour": 3.5, "user": 7}}
    federation = Federation.from_arrays({"north": TABLE, "south": TABLE}, about=about)
    assert federation.shards[0].about["beds"] == 900 and federation.shards[0].address == "10.0.0.1"
    assert federation.shards[0].user == 7 and federation.shards[1].about == {}
    run = fw.run(fw.fedavg(), federation, model=fw.models.softmax, rounds=1, out=tmp_path / "run")
    assert [client["name"] for client in run.clients] == ["north", "south"]
    assert run.clients[0]["about"] == about["north"] and run.clients[1]["about"] == {}
