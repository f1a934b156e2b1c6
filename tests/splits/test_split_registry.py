import pytest

from flockwise import splits
from flockwise.errors import PluginError
from flockwise.splits import SPLITS, find_split


def test_the_splits_of_the_papers_are_there_and_exported() -> None:
    names = {"iid", "pathological", "label_swap", "rotation", "dirichlet", "by_writer"}
    assert SPLITS.keys() == names | {"majority_class", "noniid_degree"}
    assert SPLITS.keys() <= set(splits.__all__)


@pytest.mark.parametrize("name", SPLITS)
def test_every_split_takes_the_common_parameters_and_has_defaults(name: str) -> None:
    split = SPLITS[name]
    assert {"clients", "seed", "validation", "test", "samples"} <= split.defaults.keys()
    assert split.summary and "\n" not in split.summary
    assert split.defaults["validation"] == 0.1 and split.defaults["seed"] == 0


def test_hyphens_are_fine_and_typing_errors_get_a_hint() -> None:
    assert find_split("label-swap") is SPLITS["label_swap"]
    with pytest.raises(PluginError, match="did you mean dirichlet"):
        find_split("dirichlt")
