"""An attack by name: its options, who attacks, and what a wrong option gives."""

import inspect
import pydoc

import numpy as np
import pytest

from flockwise import attacks
from flockwise.attacks import ATTACKS, DataAttack, UpdateAttack, View, attack, reverse
from flockwise.errors import ConfigError, PluginError
from flockwise.options import written


def test_an_attack_says_who_attacks_and_from_when_on():
    made = reverse(clients=8, first_round=5, scale=2.0)
    assert (made.name, made.clients, made.first_round, made.options) == ("reverse", 8, 5, {"scale": 2.0})
    assert made.section() == {"name": "reverse", "clients": 8, "first_round": 5, "scale": 2.0}
    assert (reverse().clients, reverse().first_round) == (0, 1)
    assert reverse(clients=0.2).clients == 0.2 and reverse(clients=np.array([1, 4])).clients == [1, 4]


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_its_name_its_kind_and_a_config_that_makes_it_again(name):
    piece = ATTACKS[name]
    made = piece(clients=3, **(piece.example or {}))
    assert isinstance(made, UpdateAttack if piece.kind == "update" else DataAttack)
    assert made.name == name and made.summary == piece.summary and "\n" not in piece.summary
    section = {key: written(value) for key, value in made.section().items() if key != "name"}
    assert piece(**section).options == made.options


@pytest.mark.parametrize("name", ATTACKS)
def test_help_and_completion_show_all_options(name):
    shown = list(inspect.signature(ATTACKS[name]).parameters)
    assert shown == [*ATTACKS[name].defaults, "clients", "first_round"]
    assert "first_round" in pydoc.render_doc(ATTACKS[name])
    assert getattr(attacks, name.replace("-", "_")) is ATTACKS[name]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"scal": 2}, "attack.scal = 2: unknown key; did you mean 'scale'?"),
        ({"scale": "fast"}, "attack.scale = 'fast': must be a number"),
        ({"first_round": 0}, "attack.first_round = 0: must be at least 1"),
        (
            {"clients": "all"},
            "attack.clients = 'all': must be a whole number, or must be a number, or must be a list",
        ),
        ({"clients": -1}, "attack.clients = -1: must be at least 0, or must be a list"),
    ],
)
def test_a_wrong_option_is_one_line(options, line):
    with pytest.raises(ConfigError) as caught:
        reverse(**options)
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


def test_an_attack_of_ones_own_goes_by_its_function_and_takes_no_place():
    @attack("nothing at all", kind="update")
    def gaussian(value: float = 0.0) -> UpdateAttack:
        return UpdateAttack(lambda view, rng: view.own * np.float32(value), frozenset({"own"}))

    own = gaussian(value=2, clients=[1])
    assert own.craft(View(np.ones((1, 2), np.float32)), np.random.default_rng(0)).tolist() == [[2, 2]]
    assert ATTACKS["gaussian"] is attacks.gaussian is not gaussian
    assert "own" not in ATTACKS and own.name == "own"


def test_something_that_is_no_attack_is_refused():
    @attack("wrong", kind="data")
    def nothing():
        return 7

    with pytest.raises(PluginError, match="made a int: must be an UpdateAttack or DataAttack"):
        nothing()
