"""`flockwise list KIND` and `flockwise list KIND NAME`."""

import json

import pytest
from click.testing import CliRunner

from flockwise.cli.list import list_pieces
from flockwise.cli.pieces import KINDS, parameters, pieces_of, summaries
from flockwise.errors import ConfigError


def listed(*arguments: str) -> str:
    done = CliRunner().invoke(list_pieces, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("kind", KINDS)
def test_every_piece_of_every_kind_has_a_line_and_a_page(kind: str) -> None:
    lines = listed(kind)
    assert summaries(kind).keys() == pieces_of(kind).keys()
    for name, summary in summaries(kind).items():
        assert summary and "\n" not in summary
        assert any(line.startswith(f"{name} ") and line.endswith(summary) for line in lines.splitlines())
        assert listed(kind, name).startswith(f"{name}: {summary}\n")
        page = json.loads(listed(kind, name, "--json"))
        assert [row["option"] for row in page["options"]] == list(
            getattr(pieces_of(kind)[name], "defaults", {})
        )


def test_lists_of_lists_are_told_in_plain_words() -> None:
    assert "list of lists of numbers" in listed("datasets", "folder")
    assert "numberss" not in listed("datasets", "folder")


def test_without_a_kind_all_names_are_listed() -> None:
    names = json.loads(listed("--json"))
    assert names == {kind: list(pieces_of(kind)) for kind in KINDS}
    told = " ".join(listed().split())
    assert all(name in told for kind in KINDS for name in pieces_of(kind)) and "krum, " in told


def test_parameters_are_told_as_a_config_writes_them() -> None:
    assert parameters("attacks")["reverse"] == "scale = 1.0"
    assert parameters("attacks")["mimic"] == "target, epsilon = 0.0"
    assert "label-flip" not in parameters("attacks")
    assert parameters("splits")["rotation"] == 'groups = 4, sizes = "equal", samples, test, shared = false'
    assert parameters("datasets").keys() == {"folder"}


def test_a_page_has_the_options_with_type_default_and_purpose() -> None:
    page = listed("attacks", "backdoor")
    assert "paper: Gu, Dolan-Gavitt and Garg, BadNets, 2017" in page
    assert 'pattern  "square" or "cross" or "stripes"' in page
    assert "number, above 0, at most 1" in page and "share of the samples that get a trigger" in page
    assert "takes: distance" in listed("clusterers", "agglomerative")
    assert "licence: CC BY 4.0" in listed("datasets", "digits")
    assert ">>>" not in listed("splits", "iid")


def test_either_spelling_of_a_name_will_do_and_a_wrong_one_gets_a_hint() -> None:
    assert listed("splits", "label-swap") == listed("splits", "label_swap")
    with pytest.raises(ConfigError, match="attacks: no 'revers'; did you mean 'reverse'"):
        listed("attacks", "revers")
