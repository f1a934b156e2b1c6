"""What the communities paper claims, how its figures are drawn, and how we read what it leaves open."""

import math
from collections.abc import Callable, Sequence

from flockwise.papers.cells import Claim, Figure, Means
from flockwise.papers.results import Result
from flockwise.pictures import heat_map, line_chart

_ARI, _SILHOUETTE, _ACCURACY = "adjusted Rand index", "silhouette", "accuracy on the official test part"
_GLOBAL = "accuracy of the global model"
_ATTRIBUTIONS = ("avg", "1nn", "wnn", "late")


def _judged(measure: str, cells: Sequence[str], holds: Callable[..., bool]) -> Callable[[Means], bool | None]:
    """Judges these cells of Figure 4 by one number each, once all of them have been run."""

    def judge(means: Means) -> bool | None:
        found = [means("Figure 4", cell, measure) for cell in cells]
        return None if None in found else holds(*found)

    return judge


_EVERYONE = ("ifca, 100%", *(f"{name}, 100%" for name in _ATTRIBUTIONS))

CLAIMS = (
    Claim("with all clients, AVG and 1NN find animals and vehicles",
          _judged(_ARI, ("avg, 100%", "1nn, 100%"), lambda *both: min(both) > 0.9)),
    Claim("1NN separates communities more than AVG (silhouette)",
          _judged(_SILHOUETTE, ("avg, 100%", "1nn, 100%"), lambda mean, nearest: nearest > mean)),
    Claim("1NN is more accurate than WNN",
          _judged(_ACCURACY, ("1nn, 100%", "wnn, 100%"), lambda nearest, weighted: nearest > weighted)),
    Claim("IFCA's global model is less accurate than that of every attribution (Figure 4a)",
          _judged(_GLOBAL, _EVERYONE, lambda ifca, *others: ifca < min(others))),
    Claim("IFCA's communities are further from animals and vehicles than those of every attribution (Figure 4b)",
          _judged(_ARI, _EVERYONE, lambda ifca, *others: ifca < min(others))),
    Claim("AVG has the best global model, then 1NN, then IFCA (Figure 5a)",
          _judged(_GLOBAL, ("avg, 100%", "1nn, 100%", "ifca, 100%"), lambda mean, nearest, ifca: mean > nearest > ifca)),
    Claim("AVG and Late find the communities at 50 % participation (Figure 5c)",
          _judged(_ARI, ("avg, 50%", "late, 50%"), lambda *both: min(both) > 0.9)),
    Claim("1NN fails to find the communities at 50 % participation",
          _judged(_ARI, ("1nn, 50%",), lambda nearest: nearest < 0.5)),
)  # fmt: skip


Draw = Callable[[Sequence[Result]], str | None]


def _by_distribution(measure: str) -> Draw:
    """Figure 3: a number for each resolution and each share of the majority class."""

    def draw(results: Sequence[Result]) -> str | None:
        from flockwise.papers.communities.paper import MAJORITIES, RESOLUTIONS

        held = {r.cell: r.values.get(measure) for r in results if r.table == "Figure 3" and r.seed == 0}
        if not held:
            return None
        values = [[held.get(f"m_k {m}, resolution {r}") for r in RESOLUTIONS] for m in MAJORITIES]
        names = [str(r) for r in RESOLUTIONS], [str(m) for m in MAJORITIES]
        return heat_map(measure, "resolution", "m_k", values, *names)

    return draw


def _by_rate(measure: str) -> Draw:
    """Figure 4: a number for each attribution and each selection rate."""

    def draw(results: Sequence[Result]) -> str | None:
        lines = []
        for name in (*_ATTRIBUTIONS, "ifca"):
            found = [(float(r.cell.split()[-1].rstrip("%")), r.values.get(measure)) for r in results
                     if r.table == "Figure 4" and r.seed == 0 and r.cell.startswith(f"{name},")]  # fmt: skip
            points = sorted((x, y) for x, y in found if y is not None)
            if points:
                lines.append((name, points))
        return line_chart(measure, "clients a round, %", measure, lines) if lines else None

    return draw


def _by_round(curve: str, cells: Sequence[str], title: str) -> Draw:
    """Figures 5 and 6: a number round by round."""

    def draw(results: Sequence[Result]) -> str | None:
        held = {r.cell: r.curves.get(curve, []) for r in results if r.table == "Figure 4" and r.seed == 0}
        lines = [
            (cell, [(i + 1.0, v) for i, v in enumerate(held[cell]) if v is not None])
            for cell in cells if cell in held
        ]  # fmt: skip
        lines = [(cell, points) for cell, points in lines if points]
        return line_chart(title, "round", curve, lines) if lines else None

    return draw


def _global_models(results: Sequence[Result]) -> str | None:
    """Figure 5a: the mean of all models on the official test part."""
    lines = _global_lines(results, ("avg, 100%", "1nn, 100%", "ifca, 100%"))
    return line_chart("Global models", "round", "percent", lines) if lines else None


def _community_and_global(results: Sequence[Result]) -> str | None:
    """Figure 6: community models on their clients' test data, the global one on the whole test part."""
    result = next(
        (r for r in results if r.table == "Figure 4" and r.cell == "1nn, 100%" and r.seed == 0), None
    )
    if result is None:
        return None
    own = [(i + 1.0, 100.0 * v) for i, v in enumerate(result.curves.get("accuracy", [])) if v is not None]
    lines = [
        ("community models", own),
        *(("global model", line) for _, line in _global_lines(results, (result.cell,))),
    ]
    return line_chart("1NN, all clients", "round", "percent", lines)


def _global_lines(
    results: Sequence[Result], cells: Sequence[str]
) -> list[tuple[str, list[tuple[float, float]]]]:
    held = {r.cell: r.arrays["global model"] for r in results
            if r.table == "Figure 4" and r.seed == 0 and "global model" in r.arrays}  # fmt: skip
    return [(cell, list(zip(*held[cell], strict=True))) for cell in cells if cell in held]


def _histogram(row: str) -> Draw:
    """Figure 2: how many pairs of clients are how similar, round by round."""

    def draw(results: Sequence[Result]) -> str | None:
        result = next((r for r in results if r.table == "Figure 2" and r.seed == 0), None)
        if result is None or row not in result.arrays:
            return None
        top = 1.0 if row == "normalised" else result.arrays["raw range"][0][1]
        power = math.floor(math.log10(top)) if top > 0 else 0
        bins = [f"{(i + 1) * top / 10 / 10.0**power:.2g}" for i in range(10)]
        rounds = [f"{r:.0f}" for r in result.arrays["rounds"][0]]
        axis = f"similarity up to, times 1e{power}" if power else "similarity up to"
        return heat_map(
            f"Pairs of clients by similarity, {row}", axis, "round", result.arrays[row], bins, rounds
        )

    return draw


FIGURES = (
    Figure("figure-2-top", "Figure 2, top: similarities, raw", _histogram("raw")),
    Figure("figure-2-bottom", "Figure 2, bottom: similarities, normalised", _histogram("normalised")),
    Figure("figure-3a", "Figure 3a: accuracy, by resolution and m_k", _by_distribution(_ACCURACY)),
    Figure("figure-3b", "Figure 3b: communities found, by resolution and m_k", _by_distribution(_ARI)),
    Figure("figure-3c", "Figure 3c: silhouette, by resolution and m_k", _by_distribution(_SILHOUETTE)),
    Figure("figure-4a", "Figure 4a: accuracy of the global model, by attribution and selection rate", _by_rate(_GLOBAL)),
    Figure("figure-4a-communities", "Figure 4a, with the models of the communities", _by_rate(_ACCURACY)),
    Figure("figure-4b", "Figure 4b: communities found, by attribution and selection rate", _by_rate(_ARI)),
    Figure("figure-4c", "Figure 4c: silhouette, by attribution and selection rate", _by_rate(_SILHOUETTE)),
    Figure("figure-5a", "Figure 5a: global models by round", _global_models),
    Figure("figure-5b", "Figure 5b: silhouette by round",
           _by_round("silhouette", ("avg, 100%", "1nn, 100%", "1nn, 50%"), "Silhouette by round")),
    Figure("figure-5c", "Figure 5c: communities found by round, half of the clients a round",
           _by_round("ari", ("avg, 50%", "1nn, 50%", "late, 50%"), "Adjusted Rand index by round")),
    Figure("figure-6", "Figure 6: community models and the global model by round", _community_and_global),
)  # fmt: skip

READING = """
- The paper gives neither local epochs nor batch size nor optimiser nor learning rate: 1 epoch, batches of 32 and Adam with
  0.0001, as in the examples of the authors' framework. Tried before, seed 0, all clients: gradient descent with 0.05. AVG is
  at chance in round 5, takes off around round 10 and ends at 54.4 % with the communities found, but 1NN never leaves the
  meaningless ones of its first round (adjusted Rand index -0.07 to the end, 51.4 %). With Adam and more than
  0.0001 the first round does not name the communities either (0.0003: 0.29; 0.0005: -0.07), and 1NN keeps to that round.
- A layer is a module's weight and bias; each running mean and variance of batch normalisation is one of its own. The
  authors' code counts every array of the model. After the first round of seeds 0, 1 and 2 the adjusted Rand index is 1.00,
  0.13 and 1.00 with our layers and with every array, and -0.07, 0.27 and 0.32 without the statistics
  (`benchmarks/communities/layers.py`). With every array as a layer 1NN no longer finds the groups of label-swapped digits,
  which it does with ours (`tests/strategies/test_communities.py`).
- The published silhouettes are computed with a client, at distance 0, among its own neighbours. We record the usual one,
  and at the end also theirs.
- MobileNet is the one of the paper it cites, and of Keras, which the authors use: its first layer halves the 32x32 image,
  so that 1x1 is left of it in the end (`mobilenet-original`).
- Its resolution r grows with the size of communities; ours is 1 / r. Figure 3's axis values are not printed: 0.8, 0.9
  and 1.0, with m_k of 0.3, 0.5, 0.7 and 1.0.
- Late fixes the communities in round 10 (`short`: 4). IFCA has two models; the paper ran it with all clients only.
- Almost all numbers are shown as drawings only, so cells have no published value; the claims are judged instead.
"""
SCALES = """
- `smoke`: embedded digits, softmax regression, 40 samples a client, 2 rounds.
- `short`: LeNet in place of MobileNet, batches of 10, 12 rounds; all of CIFAR-10.
"""
NOTES = """
- Figure 2 compares a trial with raw similarities, (max - distance)^3, to one with normalised ones. These are the same
  numbers times a factor, which modularity does not see: both trials are one run, and only the axis differs.
- Our WNN is 1NN at full, to the last digit of every number: its weights, exp(-distance), sum to one, and the
  other communities are so much further than a client's own that theirs are nothing. The paper's eq. 4 divides by the number
  of communities once more, which makes the model smaller every round; that may be why its WNN is worse than 1NN.
- The paper compares IFCA by its global model. The two models of IFCA start from different random weights, and their mean
  has learnt nothing, though each of them is worth as much as a community's model (accuracy on the official test part).
- Figures 5a and 6 judge the global model every five rounds (`short`: three), on the official test part.
"""
