"""FedAvg on MNIST as the papers run it: the measured curve as a page.

    flockwise run examples/fedavg_mnist.toml --out RUN
    python benchmarks/fedavg_mnist/page.py RUN

writes docs/fedavg-mnist.md and docs/images/fedavg-mnist.svg from the finished run.
"""

import sys
from pathlib import Path

from flockwise.pictures import line_chart
from flockwise.store import open_run

DOCS = Path(__file__).parents[2] / "docs"


def main(path: str) -> None:
    """Write the page."""
    run = open_run(path)
    mean, worst = run.facts["accuracy"], run.facts["accuracy_worst"]
    lines = [("mean over clients", list(zip(run.rounds.tolist(), mean.tolist(), strict=True))),
             ("worst client", list(zip(run.rounds.tolist(), worst.tolist(), strict=True)))]  # fmt: skip
    (DOCS / "images").mkdir(exist_ok=True)
    picture = line_chart("FedAvg on MNIST", "round", "test accuracy", lines, (0.5, 1.0))
    (DOCS / "images" / "fedavg-mnist.svg").write_text(picture)
    reached = [int(r) for r, a in zip(run.rounds, mean, strict=True) if a >= 0.98]
    verdict = (
        f"0.98 is reached in round {reached[0]}"
        if reached
        else f"0.98 is not reached: {mean.max():.4f} at best"
    )
    about = run.environment
    rows = "\n".join(f"| {r} | {a:.4f} | {w:.2f} |" for r, a, w in zip(run.rounds, mean, worst, strict=True))
    (DOCS / "fedavg-mnist.md").write_text(
        f"""# FedAvg on MNIST

100 clients with 600 digits each (IID), a tenth of them a round, 5 epochs, batches of 10, learning rate 0.01, the
papers' CNN, seed {about["seed"]}: **{verdict}**. Each client is tested on 100 digits of its own.

```
flockwise data get mnist
flockwise run examples/fedavg_mnist.toml --out RUN
python benchmarks/fedavg_mnist/page.py RUN
```

Measured {run.about["created"][:10]} with Flockwise {about["flockwise"]}, torch {about["torch"]}, {about["cores"]} cores
({about["machine"]}), {run.seconds.sum():.0f} s for {len(run.rounds)} rounds while the machine did other work too.

![accuracy by round](images/fedavg-mnist.svg)

| round | accuracy | worst client |
|---|---|---|
{rows}
"""
    )


if __name__ == "__main__":
    main(sys.argv[1])
