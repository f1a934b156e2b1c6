"""What is not reached in training on one core, and what stands in the way: every number is computed from the results."""

from statistics import median
from typing import Any

from machine import mobilenet_left, peak
from tables import NATIVE, times_faster

PRODUCTS = "matrix products of 1x1 convolutions"
LISTS, LAYOUT = "lists of gradients that are left", "weights in the kernels' layout"
MOBILENET, CNN = 2.5, 4.5  # times the plain loop
PROFILED = 24  # batches of MobileNet that where.py looks at


def limits_part(
    kernels: dict[str, Any], engine: dict[str, Any], where: dict[str, Any], bounds: dict[str, Any]
) -> list[str]:
    """What of the bars is not reached, beside profiles."""
    mobilenet, cnn = (where["results"][model] for model in ("mobilenet", "cnn"))
    speedup = kernels["W4"]["ways"]["generic"]["speedup_median"]
    share, speed = mobilenet["shares"][PRODUCTS], mobilenet["products_gflops"]
    left = max(speedup / MOBILENET - share, 0)
    books = cnn["shares"][LISTS] + cnn["shares"][LAYOUT]
    rows = engine["results"]["A"]
    reached = times_faster(rows[NATIVE], rows["plain loop"])
    return [
        "## What stands in the way\n",
        f"`{where['command']}`, {where['date']}, load of the machine {where['load']:.0f}: samples of the CPU clock.\n",
        f"MobileNetV1 has {speedup:.2f}x of the usual loop where {MOBILENET}x is wanted. "
        f"{100 * share:.0f} % of its compiled step are matrix products, which do {speed:.0f} GFLOP/s, where a product of "
        f"768 does {mobilenet['peak_gflops']:.0f} in the same run and a bare loop of multiplications {peak(bounds):.0f}. "
        f"With them as they are, {MOBILENET}x would leave everything else {100 * left:.0f} % of today's time; it takes "
        f"{100 * (1 - share):.0f} %. "
        + mobilenet_left(bounds, mobilenet, PROFILED, share, speedup / MOBILENET)
        + f"A step of nothing but such products would have {speedup / (share * speed / peak(bounds)):.1f}x.\n",
        shares_table(mobilenet["shares"]) + "\n",
        f"The papers' CNN has {reached:.2f}x of the plain loop in whole rounds where {CNN}x is wanted: "
        f"{100 * max(1 - reached / CNN, 0):.0f} % less time, all of it from these parts. Without any of the bookkeeping "
        f"(lists, weights laid out anew: {100 * books:.0f} %) it would have {reached / (1 - books):.2f}x. Alone, the "
        "large linear layer does not wait for memory (measured below). Convolutions take fewer products than are "
        f"counted: one client already does {kernels['W1']['ways']['native']['peak_fraction']:.1f} times the counted "
        "arithmetic that a plain matrix product of this machine does in the same time.\n",
        shares_table(cnn["shares"]) + "\n",
    ]


def optimisers_part(optimisers: dict[str, Any]) -> list[str]:
    """What momentum and Adam cost."""
    low, high = sorted(optimisers["load"])
    return [
        "### Momentum and Adam beside plain SGD\n",
        f"`{optimisers['command']}`, {optimisers['date']}, load of the machine between {low:.0f} and {high:.0f}: CPU "
        "time over that of plain SGD in the same turn, batches of 10, the median. The bar is 1, as fast. What they "
        "remember is as large as the model, Adam's twice, and goes through memory in every step; Adam takes a root "
        "and a quotient for every weight.\n",
        optimisers_table(optimisers["results"]) + "\n",
    ]


def shares_table(shares: dict[str, float]) -> str:
    """Parts of a step."""
    lines = [f"| {part} | {100 * value:.0f} % |" for part, value in shares.items() if value >= 0.005]
    return "\n".join(["| part | of the time |", "|---|---|", *lines])


def optimisers_table(found: dict[str, dict[str, Any]]) -> str:
    """Every model and optimiser."""
    lines = [
        "| model | optimiser | CPU ms, median | x plain SGD | as fast |",
        "|---|---|---|---|---|",
    ]
    for model, rows in found.items():
        for name, row in rows.items():
            fast = "-" if name == "sgd" else "yes" if row["over_sgd"] <= 1 else "no"
            took = 1000 * median(row["seconds"]["now"])
            lines.append(f"| {model} | {name} | {took:.1f} | {row['over_sgd']:.2f} | {fast} |")
    return "\n".join(lines)
