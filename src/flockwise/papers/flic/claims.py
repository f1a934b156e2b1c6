"""What FLIC claims, how its figures are drawn, and how we read what it leaves open."""

from collections.abc import Callable, Sequence

from flockwise.papers.cells import Claim, Figure, Means
from flockwise.papers.results import Result
from flockwise.pictures import heat_map, line_chart


def _stands_where_the_median_falls(means: Means) -> bool | None:
    loyal = means("II", "60 attackers, FLIC", "accuracy of loyal clients")
    median = means("II", "60 attackers, median", "accuracy")
    return None if loyal is None or median is None else loyal > 0.9 and median < 0.2


def _median_better_at_30(means: Means) -> bool | None:
    loyal = means("II", "30 attackers, FLIC", "accuracy of loyal clients")
    median = means("II", "30 attackers, median", "accuracy")
    return None if loyal is None or median is None else median > loyal


def _always_pure(means: Means) -> bool | None:
    found = [means("II", f"{n} attackers, FLIC", "purity") for n in (30, 40, 50, 60)]
    return None if None in found else all(value == 1.0 for value in found)


def _as_good_as_iid(means: Means) -> bool | None:
    iid = means("I", "IID", "accuracy")
    found = [means("I", name, "accuracy after") for name in ("label swap", "rotation")]
    return None if iid is None or None in found else all(value >= iid - 0.011 for value in found if value)


def _pulled_to_the_middle(means: Means) -> bool | None:
    name = "global weight after 10 rounds"
    alike, different = means("Figure 1", "IID", name), means("Figure 1", "non-IID", name)
    apart = means("Figure 1", "non-IID", "distance of the clients' own weights")
    if alike is None or different is None or apart is None:
        return None
    return abs(alike - 45) < 5 and abs(different - 45) < 5 and apart > 5


CLAIMS = (
    Claim("IID clients converge to one weight; non-IID clients pull the global weight to the middle (Fig. 1)",
          _pulled_to_the_middle),
    Claim("inside flocks accuracy is that of IID data (Table I)", _as_good_as_iid),
    Claim("FLIC stands at 60 attackers where the median falls", _stands_where_the_median_falls),
    Claim("with 30 attackers the median is slightly better than FLIC", _median_better_at_30),
    Claim("loyal and malicious clients never share a flock", _always_pure),
)  # fmt: skip


def _curves(result: Result, names: Sequence[str]) -> list[tuple[str, list[tuple[float, float]]]]:
    return [
        (name, [(i + 1.0, v) for i, v in enumerate(result.curves.get(name, [])) if v is not None])
        for name in names
    ]


def _pick(results: Sequence[Result], table: str, cell: str) -> Result | None:
    return next((r for r in results if (r.table, r.cell, r.seed) == (table, cell, 0)), None)


def _figure_1(results: Sequence[Result]) -> str | None:
    found = [(case, _pick(results, "Figure 1", case)) for case in ("IID", "non-IID")]
    lines = [
        (f"{case}: {name}", points)
        for case, result in found if result
        for name, points in _curves(result, ("first", "second", "global"))
    ]  # fmt: skip
    return line_chart("Weights of two clients", "round", "weight", lines) if lines else None


def _figure_3(which: int) -> Callable[[Sequence[Result]], str | None]:
    """The matrix of the first, tenth or last round."""

    def draw(results: Sequence[Result]) -> str | None:
        result = _pick(results, "Figure 3", "rotation")
        if result is None or len(result.arrays) <= which:
            return None
        round, matrix = list(result.arrays.items())[which]
        return heat_map(f"Similarity after {round}, clients in order of group", "client", "client", matrix)

    return draw


def _figure_5(results: Sequence[Result]) -> str | None:
    result = _pick(results, "Figure 5", "label swap")
    if result is None:
        return None
    lines = _curves(result, ("purity", "accuracy"))
    flocks = [(x, y / 10) for x, y in _curves(result, ("flocks",))[0][1]]
    return line_chart(
        "Flocks and purity by round", "round", "", [("flocks / 10", flocks), *lines], (0.0, 1.05)
    )


def _figure_6(results: Sequence[Result]) -> str | None:
    lines = []
    for attackers in (30, 40, 50, 60):
        for rule in ("median", "FLIC"):
            result = _pick(results, "II", f"{attackers} attackers, {rule}")
            if result:
                lines.append((f"{attackers}, {rule}", _curves(result, ("accuracy",))[0][1]))
    return (
        line_chart("Minus-grad attack", "round", "accuracy of loyal clients", lines, (0.0, 1.0))
        if lines
        else None
    )


FIGURES = (
    Figure("figure-1", "Figure 1: two clients' linear regression", _figure_1),
    Figure("figure-3-first", "Figure 3, left: similarity matrix after the first round", _figure_3(0)),
    Figure("figure-3-tenth", "Figure 3, middle: after ten rounds", _figure_3(1)),
    Figure("figure-3-last", "Figure 3, right: after the last round", _figure_3(2)),
    Figure("figure-5", "Figure 5: flocks and purity by round", _figure_5),
    Figure("figure-6", "Figure 6: minus-grad attack", _figure_6),
)

READING = """
- Inputs in [0, 1], PyTorch's default initialisation, 5x5 convolutions with 32 and 64 channels and 512 hidden units
  (the paper cites McMahan et al. for the network).
- The graph keeps each client's similarity with itself: Figure 3 speaks of 10 x 10 entries for 10 clients.
- Table II with 60 attackers clusters after 50 of 300 rounds; the paper does not say how many rounds follow.
- Figure 1 gives neither inputs nor learning rate: standard normal inputs, noise of standard deviation 1, ten full-batch
  steps of 0.03 a round. The first try, 0.01, was too slow: weights had not settled after 10 rounds (38.9 and 39.4 over 5
  seeds, where 45 is the goal), and the paper says that they do around round 8. The weights are shown without a verdict;
  the claim is what is judged.
- Accuracy before and after is the mean over clients of their accuracy on their own test digits, tested every 5 rounds.
- Accuracy before clustering moves by several points from test to test (label swap: from 0.67 to 0.79 in the last 100
  rounds, 0.71 in round 200), where the paper has the mean of 20 runs. With few seeds the mean of the second half of the
  rounds before clustering takes its place.
"""
SCALES = """
- `smoke`: embedded digits, softmax regression, 20 clients, a handful of rounds.
- `short`: a perceptron in place of the CNN, and fewer rounds. Table I: flocks after 30 of 35 rounds. Figure 5: 40 rounds.
  Figure 3: 20 rounds. Table II: 60 rounds, flocks after 40 (60 attackers: 20).
"""
NOTES = """
- The pilot found no singletons after round 1 under any reading (paper: 10): Louvain merges some of ten similar clients.
- Purity in Figure 5 is judged on majority purity being 1, which is the same as no flock mixing groups.
"""
