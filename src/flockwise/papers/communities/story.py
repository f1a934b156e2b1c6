"""What the communities paper claims, how its figures are drawn, and how we read what it leaves open."""

from collections.abc import Sequence

from flockwise.papers.cells import Claim, Figure, Means
from flockwise.papers.pictures import heat_map, line_chart
from flockwise.papers.results import Result

_ARI, _SILHOUETTE, _ACCURACY = "adjusted Rand index", "silhouette", "accuracy on the official test part"


def _both_find_them(means: Means) -> bool | None:
    found = [means("Figure 4", f"{name}, 100%", _ARI) for name in ("avg", "1nn")]
    return None if None in found else all(value is not None and value > 0.9 for value in found)


def _nearest_separates_more(means: Means) -> bool | None:
    nearest, mean = (means("Figure 4", f"{name}, 100%", _SILHOUETTE) for name in ("1nn", "avg"))
    return None if nearest is None or mean is None else nearest > mean


def _ifca_is_worst(means: Means) -> bool | None:
    ifca = means("Figure 4", "ifca, 100%", _ACCURACY)
    others = [means("Figure 4", f"{name}, 100%", _ACCURACY) for name in ("avg", "1nn", "wnn", "late")]
    if ifca is None or None in others:
        return None
    return all(value is not None and ifca < value for value in others)


def _half_is_not_enough(means: Means) -> bool | None:
    value = means("Figure 4", "1nn, 50%", _ARI)
    return None if value is None else value < 0.5


CLAIMS = (
    Claim("with all clients, AVG and 1NN find animals and vehicles", _both_find_them),
    Claim("1NN separates communities more than AVG (silhouette)", _nearest_separates_more),
    Claim("IFCA is less accurate than every attribution", _ifca_is_worst),
    Claim("1NN fails to find the communities at 50 % participation", _half_is_not_enough),
)


def _figure_3(results: Sequence[Result]) -> str | None:
    from flockwise.papers.communities.paper import MAJORITIES, RESOLUTIONS

    held = {r.cell: r.values.get(_ARI) for r in results if r.table == "Figure 3" and r.seed == 0}
    if not held:
        return None
    values = [[held.get(f"m_k {m}, resolution {r}") for r in RESOLUTIONS] for m in MAJORITIES]
    names = [str(r) for r in RESOLUTIONS]
    return heat_map("Adjusted Rand index", "resolution", "m_k", values, names, [str(m) for m in MAJORITIES])


def _figure_4(results: Sequence[Result]) -> str | None:
    lines = []
    for name in ("avg", "1nn", "wnn", "late"):
        found = [(float(r.cell.split()[-1].rstrip("%")), r.values.get(_ARI)) for r in results
                 if r.table == "Figure 4" and r.seed == 0 and r.cell.startswith(f"{name},")]  # fmt: skip
        if found:
            lines.append((name, sorted((x, y) for x, y in found if y is not None)))
    return line_chart("Communities found", "clients a round, %", _ARI, lines, (-0.3, 1.05)) if lines else None


def _figure_5(results: Sequence[Result]) -> str | None:
    lines = []
    for r in results:
        if r.table == "Figure 4" and r.seed == 0 and r.cell in ("avg, 100%", "1nn, 100%", "1nn, 50%"):
            values = r.curves.get("silhouette", [])
            lines.append((r.cell, [(i + 1.0, v) for i, v in enumerate(values) if v is not None]))
    return line_chart("Silhouette by round", "round", "silhouette", lines) if lines else None


def _figure_6(results: Sequence[Result]) -> str | None:
    result = next((r for r in results if (r.table, r.cell, r.seed) == ("Figure 4", "1nn, 100%", 0)), None)
    if result is None:
        return None
    points = [(i + 1.0, v) for i, v in enumerate(result.curves.get("accuracy", [])) if v is not None]
    return line_chart("Community models on their clients' test data", "round", "accuracy", [("1nn", points)])


FIGURES = (
    Figure("figure-3", "Figure 3b: communities found, by resolution and m_k", _figure_3),
    Figure("figure-4", "Figure 4b: communities found, by attribution and selection rate", _figure_4),
    Figure("figure-5", "Figure 5b: silhouette by round", _figure_5),
    Figure("figure-6", "Figure 6: community models by round", _figure_6),
)

READING = """
- The paper gives neither local epochs nor batch size nor learning rate: 1 epoch, batches of 32, learning rate 0.05.
- Its resolution r grows with the size of communities; ours is 1 / r. Figure 3's axis values are not printed: 0.8, 0.9
  and 1.0, with m_k of 0.3, 0.5, 0.7 and 1.0.
- Almost all numbers are shown as drawings only, so cells have no published value; the claims are judged instead.
"""
SCALES = """
- `smoke`: embedded digits, softmax regression, 40 samples a client, 2 rounds.
- `short`: CIFAR-10 with 400 samples a client, a small CNN in place of MobileNet, 8 rounds.
"""
NOTES = """
- Figure 2, top row (similarities that are not normalised) is not an option of the method here; the bottom row is.
"""
