"""The cells of Mini-FL: seven rules, no attack and seven attacks, three degrees."""

from flockwise.papers.cells import Cell, Measure, Paper
from flockwise.papers.finished import global_accuracy
from flockwise.papers.mini_fl import claims
from flockwise.papers.mini_fl.tables import ATTACKS, RULES, TABLE_4, TABLE_5, TABLE_NAMES

ATTACKERS = 5
SIZES = {
    "full": (),
    "short": ("rounds=30",),
    "smoke": ("rounds=2", "data.name=digits", "split.samples=60", "training.batch_size=20"),
}
CRAFTED = {  # the paper crafts gradients: as updates of weights they have the opposite sign
    "little-2.035": ("attack.name=little-is-enough", "attack.z=-2.035"),
    "little-1.035": ("attack.name=little-is-enough", "attack.z=-1.035"),
    "fall-10": ("attack.name=fall-of-empires", "attack.z=10.0"),
    "fall-1": ("attack.name=fall-of-empires", "attack.z=1.0"),
    "random": ("attack.name=random-update", "attack.low=-1.0", "attack.high=0.0"),
    "partial-drop": ("attack.name=partial-drop", "attack.p=0.8", "attack.value=1.0"),
    "local": ("attack.name=local-model-poisoning",),
}


def cells(scale: str) -> list[Cell]:
    """Every cell, the tables in the paper's order."""
    found = [
        _cell(scale, "4", degree, None, rule, published)
        for degree, row in TABLE_4.items()
        for rule, published in zip(RULES, row, strict=True)
    ]
    for degree, rows in TABLE_5.items():
        for attack in ATTACKS:
            found += [
                _cell(scale, TABLE_NAMES[degree], degree, attack, rule, published)
                for rule, published in zip(RULES, rows[attack], strict=True)
            ]
    return found


def _cell(
    scale: str, table: str, degree: str, attack: str | None, rule: str, published: float | None
) -> Cell:
    attackers = ATTACKERS if attack else 0  # "the server knows the exact number of all malicious clients"
    overrides = [f"split.degree={degree}", *SIZES[scale], *_rule(scale, rule, attackers)]
    if attack:
        # Table 3: C1 and C11, C2 and C12, C3; the paper counts from 1
        overrides += [*CRAFTED[attack], "attack.clients=[0, 1, 2, 10, 11]"]
        if attack == "local":
            overrides.append(f"attack.target={_target(rule)}")
    name = f"{degree} {attack or 'no attack'} {rule}"
    return Cell(
        table, name, "base", tuple(overrides), (Measure("test accuracy", global_accuracy, published),)
    )


def _rule(scale: str, rule: str, attackers: int) -> tuple[str, ...]:
    mini, plain = rule.startswith("mini-"), rule.removeprefix("mini-")
    grouped: tuple[str, ...] = ("strategy.name=mini-fl", "strategy.collect=1") if mini else ()
    if mini and scale == "smoke":
        grouped = (*grouped, "strategy.most_groups=3")  # the search for the elbow would take most of the time
    if plain == "krum" and not mini:
        # Classic Krum (one update) gives 20 % here; keeping n - f - 2 of them is what fits (see the page).
        kept = 20 - attackers - 2
        return ("aggregation.name=multi-krum", f"aggregation.m={kept}", f"aggregation.attackers={attackers}")
    if plain == "krum":
        return (*grouped, "aggregation.name=krum", f"aggregation.attackers={attackers}")
    if plain == "trimmed-mean":
        return (*grouped, "aggregation.name=trimmed-mean", "aggregation.trim=0.1")
    return (*grouped, f"aggregation.name={'mean' if plain == 'avg' else plain}")


def _target(rule: str) -> str:
    plain = rule.removeprefix("mini-")
    return {"avg": "trimmed-mean"}.get(plain, plain)


PAPER = Paper(
    "mini-fl", "Mini-FL (Li, Sani, Yuan and Bao)", "mini_fl", cells, claims.CLAIMS, claims.FIGURES, claims.READING,
    claims.SCALES, claims.NOTES,
)  # fmt: skip
