"""Every rule in many small cases: what its twin says, in any order, moved and scaled, with liars among them.

Every change is tried with 200 cases of each rule, half beside its twin, half moved; `--times 50` tries 10,000. Cases are
drawn without Hypothesis, which takes longer to draw one than most rules take to answer; they have what breaks rules: ties,
duplicates, one client, one parameter, as few clients as the rule takes.
"""

import math

import numpy as np
import pytest
from tests.conftest import Cases
from tests.oracles import every_rule, reach
from tests.oracles.robust_rules import sum_of_distances

from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.rng import generator
from flockwise.testing.aggregators import AggregatorBattery, PreAggregationBattery

PIECES = {**RULES, **PRE_AGGREGATIONS}
SMOOTH = {
    "caf",
    "dnc",
    "flame",
    "foolsgold",
    "geometric-median",
    "smea",
}  # ties of theirs are in the last bit
each = pytest.mark.parametrize("name", list(PIECES))


def options_of(name, random, f, count, size):
    """Options of one case, as the twin has them."""
    vector, radius = random.integers(-320, 321, size) / 64, float(random.uniform(0.1, 20))
    return {
        "mean": {"weights": random.integers(1, 50, count)},
        "geometric-median": {"weights": random.integers(1, 9, count)},
        "trimmed-mean": {"trim": float(random.uniform(0, 0.499))},
        "multi-krum": {"m": int(random.integers(1, count - f + 1)) if random.random() < 0.5 else None},
        "monna": {"root": vector}, "fltrust": {"root": vector},
        "centered-clipping": {"radius": radius, "start": vector, "steps": int(random.integers(1, 5))},
        "norm-bound": {"radius": radius}, "clipping": {"radius": radius},
        "bucketing": {"s": int(random.integers(1, count + 2)), "seed": int(random.integers(99))},
        "flame": {"noise": 0.0}, "signguard": {"share": 1.0},
        "foolsgold": {"before": random.standard_normal((count, size)).astype(np.float32)},
        "momentum": {"before": vector + random.integers(-9, 9, (count, size)), "beta": float(random.uniform(0, 0.99))},
    }.get(name, {})  # fmt: skip


def fewest(name, f, options):
    known = {key: value for key, value in options.items() if key in ("trim", "m", "radius", "s")}
    return int(PIECES[name].minimum(f, **known)) if "f" in PIECES[name].wants else 2 * f + 1


def drawn(name, random, whole=None):
    """Updates with ties and duplicates, how many may lie, and options; `whole` numbers or sixty-fourths are both exact."""
    f = int(random.integers(0, 3))
    least = 4 * f + 3 if name == "bulyan" else 2 * f + 3
    few = fewest(name, f, {})
    count, size = int(random.integers(few, max(least, few) + 4)), int(random.integers(1, 6))
    if name in SMOOTH and whole is None:
        rows = random.standard_normal((count, size)) * 10 ** random.uniform(-1, 1)
    elif whole or (whole is None and random.random() < 0.5):
        rows = random.integers(-3, 4, (count, size)).astype(float)
    else:
        rows = random.integers(-640, 641, (count, size)) / 64
    if name not in SMOOTH and random.random() < 0.3:
        rows[random.integers(count)] = rows[random.integers(count)]
    return rows.astype(np.float32), f, options_of(name, random, f, count, size)


def call(name, rows, f, options):
    """The rule on one case; what it was told before is its memory."""
    piece, given = PIECES[name], dict(options)
    if "before" in given:
        before = given.pop("before").astype(np.float32)
        given["memory"] = {"history": before, "history_clients": np.arange(len(rows))}
    if "f" in piece.wants:
        given["f"] = f
    found = piece.function(rows, **given)
    return found[0] if isinstance(found, tuple) else found


@each
def test_a_rule_is_what_its_definition_says(name: str, cases: Cases) -> None:
    twin, random = getattr(every_rule, name.replace("-", "_")), generator(0, f"cases of {name}")
    for number in range(cases.many(100)):
        expected = None
        while expected is None:  # it may be that the case does not tell
            rows, f, options = drawn(name, random)
            expected = twin(rows.astype(float), f, **options)
        found = call(name, rows, f, options)
        if (
            name == "geometric-median"
        ):  # near an update the sum of distances hardly changes: that is what it promises
            found, expected = (
                sum_of_distances(rows, point, options["weights"]) for point in (found, expected)
            )
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=f"case {number}, f = {f}")


@each
def test_order_place_and_scale_do_not_matter(name: str, cases: Cases) -> None:
    """As far as the rule says so, of whole numbers, which are exact wherever they are moved; and it stays among them."""
    random = generator(0, f"cases of {name}, moved")
    kind = AggregatorBattery if name in RULES else PreAggregationBattery
    for number in range(cases.many(100)):
        rows, f, _ = drawn(name, random, whole=True)
        battery = type("One", (kind,), {"rule": PIECES[name], "parameters": _parameters(name, f)})()
        if number % 3 == 0:
            battery.check_order(rows, random.permutation(len(rows)))
        elif number % 3 == 1:
            battery.check_moved_and_scaled(
                rows, random.integers(-8, 9, rows.shape[1]).astype(np.float32), 4.0
            )
        else:
            check_mean_and_range(battery, rows)


def check_mean_and_range(battery: AggregatorBattery, rows: np.ndarray) -> None:
    """Without liars it is the mean, where it says so; and no number leaves the range of the updates'."""
    options = battery.says("mean_with")
    if options is not None:
        found = battery.call(rows, **options)
        np.testing.assert_allclose(found, np.broadcast_to(rows.mean(axis=0), found.shape), atol=1e-5)
    if battery.says("within"):
        low, high = rows.min(axis=0), rows.max(axis=0)
        if not battery.says("translates"):
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        found = battery.call(rows)
        assert (found >= low - 1e-5).all() and (found <= high + 1e-5).all()


def _parameters(name, f):
    """A piece's own example, with this many liars."""
    given = dict(PIECES[name].example)
    return {**given, "f": f} if "f" in PIECES[name].wants else given


@pytest.mark.parametrize("name", [name for name in RULES if hasattr(reach, name.replace("-", "_"))])
def test_as_many_liars_as_allowed_carry_the_result_no_farther_than_is_proved(name: str, cases: Cases) -> None:
    random, bound = generator(0, f"liars against {name}"), getattr(reach, name.replace("-", "_"))
    for _ in range(cases.many(100)):
        f = int(random.integers(1, 4))
        options = {"trim": float(random.uniform(0.1, 0.499))} if name == "trimmed-mean" else {}
        least = math.ceil(f / options["trim"]) if options else fewest(name, f, {})
        rows = liars_among(random, int(random.integers(least, least + 5)), f)
        found = call(name, rows, f, options).astype(float)
        honest = rows[f:].astype(float)
        allowed = bound(honest, len(rows), f)
        if isinstance(allowed, tuple):
            slack = 1e-4 * (1 + np.abs(honest).max())
            assert (found >= allowed[0] - slack).all() and (found <= allowed[1] + slack).all(), (f, rows)
        else:
            away = np.linalg.norm(found - honest.mean(axis=0))
            assert away <= allowed * (1 + 1e-4) + 1e-4 * np.abs(honest).max(), (f, rows)


def liars_among(random, count, f):
    """Honest updates, and before them f that lie: far away, just outside, all in one place, or each in its own."""
    size = int(random.integers(1, 6))
    rows = random.standard_normal((count, size)) * 10 ** random.uniform(-2, 1)
    if random.random() < 0.3:
        rows = np.round(rows)
    strength = 10 ** random.uniform(-0.5, float(random.choice([1, 4, 12])))
    together = random.standard_normal((1 if random.random() < 0.5 else f, size))
    rows[:f] = rows[f:].mean(axis=0) + strength * together
    return rows.astype(np.float32)


@pytest.mark.parametrize("name", ["norm-bound", "centered-clipping"])
def test_each_liar_pulls_at_most_its_share_of_the_radius(name: str, cases: Cases) -> None:
    """Two lies differ by at most twice the radius in a step, and no step widens what came before."""
    random = generator(0, f"pull of {name}")
    for _ in range(cases.many(100)):
        f, steps = (
            int(random.integers(1, 4)),
            int(random.integers(1, 5)) if name == "centered-clipping" else 1,
        )
        rows = liars_among(random, int(random.integers(f + 1, f + 9)), f)
        radius, others = float(random.uniform(0.1, 9)), rows.copy()
        others[:f] = random.standard_normal((f, rows.shape[1])) * 10 ** random.uniform(-1, 6)
        options = {"radius": radius, **({"steps": steps} if name == "centered-clipping" else {})}
        moved = call(name, rows, f, options).astype(float) - call(name, others, f, options)
        assert np.linalg.norm(moved) <= (2 * steps * f * radius / len(rows)) * (1 + 1e-4) + 1e-5


@pytest.mark.parametrize("name", ["fltrust", "flame", "signguard", "monna"])
def test_no_lie_carries_the_result_away_from_what_the_server_knows(name: str, cases: Cases) -> None:
    """Of its own update, or of the length that most updates have."""
    random = generator(0, f"lies to {name}")
    for _ in range(cases.many(100)):
        f = int(random.integers(1, 4))
        rows = liars_among(random, int(random.integers(2 * f + 1, 2 * f + 6)), f)
        options = options_of(name, random, f, *rows.shape)
        found = call(name, rows, f, options).astype(float)
        if name == "monna":  # as near as the farthest of the honest
            away, most = found - options["root"], np.linalg.norm(rows[f:] - options["root"], axis=1).max()
        elif name == "fltrust":
            away, most = found, np.linalg.norm(options["root"])
        else:
            away, most = found, np.median(np.linalg.norm(rows.astype(float), axis=1))
        assert np.linalg.norm(away) <= most * (1 + 1e-4) + 1e-6
