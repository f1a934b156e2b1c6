"""What the machine can do at most beside what the kernels take of it: every number is computed from bounds.py's results."""

from typing import Any

ALONE, TOGETHER = "1 cores, large pages", "2 cores, large pages"
OWN = ", from the core's own cache"
STEPS = {"sgd": "plain SGD", "momentum": "momentum", "adam": "Adam"}
BATCHES = 60  # of 10 samples in one turn of optimisers.py's CNN
SMALL_SET, LARGE_SET = 0.5e6, 64e6


def peak(bounds: dict[str, Any], how: str = ALONE) -> float:
    """GFLOP/s of multiplications with addition."""
    return 2 / float(bounds["results"][how]["multiplication"]["best"]) / 1e9


def machine_part(bounds: dict[str, Any], optimisers: dict[str, Any]) -> list[str]:
    """Bare loops, and the large linear layer of the papers' CNN beside them."""
    low, high = sorted(bounds["load"])
    rows = bounds["results"][ALONE]
    forward, backward = rows["layer forward"], rows["layer backward, sgd"]
    passes = rows["read the weights"]["best"] + rows["add to what sgd moves"]["best"]
    own = rows[f"layer forward{OWN}"]["best"] + rows[f"layer backward, sgd{OWN}"]["best"]
    both = forward["best"] + backward["best"]
    return [
        "### What this machine can do at most\n",
        f"`{bounds['command']}`, {bounds['date']}, load of the machine between {low:.0f} and {high:.0f}: CPU time of loops "
        "that do nothing else, the best of all turns, in large pages; bytes that are added to count once.\n",
        loops_table(bounds) + "\n",
        "Beside them the large linear layer of the papers' CNN, 3136 to 512 with a batch of 10, half of its gradients "
        "stopped by the rectifier. Its own cache: with so few outputs, over and over, that nothing leaves the core.\n",
        layer_table(bounds) + "\n",
        "Alone, over and over with plain SGD, the layer does not wait for memory: bare passes take "
        f"{100 * passes / both:.0f} % of its time, and from the core's own cache it takes {100 * own / both:.0f} % of it. "
        "In training, what lies between two of its passes, and other programs, may push weights out of the cache that the "
        f"cores share (not measured). {floors(bounds, optimisers)}\n",
    ]


def loops_table(bounds: dict[str, Any]) -> str:
    """One core, and both at once."""
    alone, together = (bounds["results"][how] for how in (ALONE, TOGETHER))
    lines = ["| bare loop | one core | each of two at once |", "|---|---|---|"]
    lines.append(
        f"| multiplications with addition | {peak(bounds):.0f} GFLOP/s | {peak(bounds, TOGETHER):.0f} GFLOP/s |"
    )
    name = "root and quotient"
    told = [f"{1e-9 / rows[name]['best']:.1f} a nanosecond" for rows in (alone, together)]
    lines.append(f"| roots with a quotient each | {' | '.join(told)} |")
    weights = bounds["weight_bytes"]
    passes = {
        "reading 0.5 MB": ("read 0.5 MB", SMALL_SET),
        f"reading {weights / 1e6:.1f} MB, the layer's weights": ("read the weights", weights),
        "reading 64 MB": ("read 64 MB", LARGE_SET),
        "adding to 0.5 MB in place": ("add to 0.5 MB", SMALL_SET),
        "adding to the weights": ("add to what sgd moves", weights),
        "to weights and what momentum remembers": ("add to what momentum moves", 2 * weights),
        "to weights and what Adam remembers": ("add to what adam moves", 3 * weights),
        "adding to 64 MB": ("add to 64 MB", LARGE_SET),
    }
    for words, (name, size) in passes.items():
        told = [f"{size / rows[name]['best'] / 1e9:.0f} GB/s" for rows in (alone, together)]
        lines.append(f"| {words} | {' | '.join(told)} |")
    return "\n".join(lines)


def layer_table(bounds: dict[str, Any]) -> str:
    """What each pass of the layer takes beside what its arithmetic and its memory would take alone."""
    rows, layer = bounds["results"][ALONE], bounds["layer"]
    weights = layer["inputs"] * layer["outputs"]
    dense = weights * layer["batch"] * rows["multiplication"]["best"]
    lines = [
        "| us | best | median | own cache | products alone | bare pass |",
        "|---|---|---|---|---|---|",
    ]

    def add(words: str, name: str, products: float, passed: str) -> None:
        own, told = rows[f"{name}{OWN}"]["best"], rows[name]
        numbers = (told["best"], told["median"], own, products, rows[passed]["best"])
        lines.append(f"| {words} | {' | '.join(f'{1e6 * number:.0f}' for number in numbers)} |")

    add("forward", "layer forward", dense, "read the weights")
    for name, words in STEPS.items():
        roots = weights * rows["root and quotient"]["best"] if name == "adam" else 0.0
        told = f"backward and step, {words}" + (", roots among the products" if roots else "")
        add(told, f"layer backward, {name}", 2 * layer["live"] * dense + roots, f"add to what {name} moves")
    return "\n".join(lines)


def floors(bounds: dict[str, Any], optimisers: dict[str, Any]) -> str:
    """What the steps of momentum and Adam cost at least, had memory cost nothing."""
    rows, turns = bounds["results"][ALONE], sorted(optimisers["results"]["cnn"]["sgd"]["seconds"]["now"])
    batch = turns[len(turns) // 2] / BATCHES
    more = {
        name: rows[f"layer backward, {name}{OWN}"]["best"] - rows[f"layer backward, sgd{OWN}"]["best"]
        for name in ("momentum", "adam")
    }
    told = " and ".join(f"{STEPS[name]}'s {1e6 * extra:.0f} us" for name, extra in more.items())
    ratios = " and ".join(f"{1 + extra / batch:.2f}x" for extra in more.values())
    idle = bounds["idle_outputs"]
    return (
        f"From the core's own cache, too, {told} come on top for that layer alone, in a batch that takes "
        f"{1e6 * batch:.0f} us with plain SGD: {ratios} of its time is the least that these loops can take, and the bar of "
        f"1 is out of their reach however memory is laid out. Besides, {100 * idle['sgd']:.0f} % of its outputs get no "
        "gradient from a batch of the next table: plain SGD passes over their weights, and what has a momentum must move "
        f"them. (Adam leaves fewer gradients alive there, {100 * idle['adam']:.0f} % of outputs without any, which makes "
        "its convolutions cheaper than plain SGD's and its ratio look better than its step is.)"
    )


def mobilenet_left(
    bounds: dict[str, Any], where: dict[str, Any], batches: int, share: float, whole: float
) -> str:
    """What a step that fast would leave for all but products, beside what their memory takes by bare loops."""
    rows, size = bounds["results"][ALONE], bounds["value_bytes"]
    step = where["seconds"] / batches
    beyond = size / LARGE_SET * (rows["add to 64 MB"]["best"] + rows["read 64 MB"]["best"])
    within = 4 * size / bounds["weight_bytes"] * rows["read the weights"]["best"]
    best = share * where["products_gflops"] / peak(bounds)
    left, most = 1e3 * step * max(whole - share, 0), 1e3 * step * max(whole - best, 0)
    return (
        f"A step takes {1e3 * step:.0f} ms, so that would be {left:.1f} ms: the {size / 1e6:.0f} MB that its convolutions "
        "give go to memory and back once, and four times more through the caches, which takes bare loops "
        f"{1e3 * (beyond + within):.1f} ms. With products at a bare loop's speed, {peak(bounds):.0f} GFLOP/s, everything "
        f"else would have {most:.0f} ms and takes {1e3 * step * (1 - share):.0f} ms. "
    )
