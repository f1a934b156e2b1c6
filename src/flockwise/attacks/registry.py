"""The attacks by name, for configs and documentation."""

import inspect
from collections.abc import Callable

from flockwise.attacks.contract import AttackEntry, DataAttack, UpdateAttack
from flockwise.attacks.data import backdoor, label_flip, label_to, noise
from flockwise.attacks.local_model_poisoning import local_model_poisoning
from flockwise.attacks.mimic import mimic
from flockwise.attacks.optimised import min_max, min_sum
from flockwise.attacks.simple import gaussian, partial_drop, random_update, reverse
from flockwise.attacks.statistical import fall_of_empires, little_is_enough

_FACTORIES: tuple[Callable[..., UpdateAttack | DataAttack], ...] = (
    reverse,
    random_update,
    gaussian,
    partial_drop,
    little_is_enough,
    fall_of_empires,
    local_model_poisoning,
    min_max,
    min_sum,
    mimic,
    label_to,
    label_flip,
    noise,
    backdoor,
)


def _entry(factory: Callable[..., UpdateAttack | DataAttack]) -> AttackEntry:
    attack = factory()
    parameters = inspect.signature(factory).parameters.values()
    return AttackEntry(
        attack.name,
        attack.summary,
        "update" if isinstance(attack, UpdateAttack) else "data",
        factory,
        {parameter.name: parameter.default for parameter in parameters},
    )


ATTACKS: dict[str, AttackEntry] = {entry.name: entry for entry in map(_entry, _FACTORIES)}
