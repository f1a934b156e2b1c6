import inspect

import pytest

from flockwise import splits
from flockwise.data import digits
from flockwise.errors import ConfigError, PluginError
from flockwise.splits import SPLITS, find_split, rotation


def test_the_splits_of_the_papers_are_there() -> None:
    names = {"iid", "pathological", "label_swap", "rotation", "dirichlet", "by_writer"}
    assert SPLITS.keys() >= names | {"majority_class", "noniid_degree"}


@pytest.mark.parametrize("name", SPLITS)
def test_every_split_takes_the_common_parameters_and_has_defaults(name: str) -> None:
    piece = SPLITS[name]
    assert getattr(splits, name) is piece
    shown = inspect.signature(piece).parameters
    assert {"clients", "seed", "validation", "test", "samples"} <= shown.keys()
    assert shown["validation"].default == 0.1 and shown["seed"].default == 0
    assert piece.defaults.keys() == shown.keys() - {"dataset", "clients", "seed", "validation"}
    assert all(field.description for field in piece.options.model_fields.values())
    assert piece.summary and "\n" not in piece.summary


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"group": 2}, "split.group = 2: unknown key; did you mean 'groups'?"),
        ({"groups": 0}, "split.groups = 0: must be at least 1"),
        ({"sizes": "huge"}, "split.sizes = 'huge': must be 'equal', 'lognormal' or 'zipf'"),
    ],
)
def test_a_config_with_a_wrong_option_gets_one_line(options: dict, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SPLITS["rotation"].resolved(options, "split.")
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


def test_an_unknown_option_from_python_is_named() -> None:
    with pytest.raises(ConfigError, match=r"split\.group = 2: unknown key; did you mean 'groups'"):
        rotation(digits(), group=2)  # type: ignore[call-arg]


def test_hyphens_are_fine_and_typing_errors_get_a_hint() -> None:
    assert find_split("label-swap") is SPLITS["label_swap"]
    with pytest.raises(PluginError, match="did you mean dirichlet"):
        find_split("dirichlt")
