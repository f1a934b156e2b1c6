"""A paper's page: what can be said first, how it is said before any number, then everything behind it."""

from pathlib import Path

from flockwise.studies.origin import cpu_told
from flockwise.studies.published import history, readings, tables
from flockwise.studies.published.figures import Figure, draw
from flockwise.studies.published.publication import Publication

RULE = (Path(__file__).parent / "rule.md").read_text(encoding="utf-8").strip()
_OLDER = "They were made before results named their commit, and not all of them at one."


def write_page(publication: Publication, pages: Path) -> Path:
    """Write the page, its figures, and what was measured at the reduced scale as an appendix of its own."""
    drawn = {figure.name: _drawn(figure, publication, pages) for figure in publication.figures}
    path = pages / f"{publication.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(publication, drawn), encoding="utf-8")
    if publication.short_rows:
        reduced = [figure for figure in publication.figures if drawn[figure.name] == "short"]
        (pages / publication.name).mkdir(exist_ok=True)
        (pages / publication.name / "short.md").write_text(appendix(publication, reduced), encoding="utf-8")
    return path


def page(publication: Publication, drawn: dict[str, str]) -> str:
    """The page as Markdown; `drawn` are figures that exist, and of which scale."""
    first = next((figure for figure in publication.figures if drawn.get(figure.name) == "full"), None)
    parts = [
        f"# {publication.title}",
        "",
        _made(publication),
        "",
        RULE,
        "",
        *tables.summary(publication.rows),
        "",
    ]
    parts += [_image(first, publication), ""] if first else []
    parts += ["## What the paper says", "", *tables.claims(publication.claims), ""]
    parts += [_with_history(publication), ""]
    told = readings.told(publication.readings)
    parts += ["## How open settings were read", "", *told, ""] if told else []
    full = [f for f in publication.figures if drawn.get(f.name) == "full" and f is not first]
    parts += ["## Figures", "", *(f"{_image(f, publication)}\n" for f in full)] if full else []
    parts += [f"## Every number{_scale(publication)}", "", *tables.details(publication.rows)]
    older = history.without_commit(publication.full)
    parts += ["## Results whose commit is unknown", "", _OLDER, "", *older, ""] if older else []
    if publication.short_rows:
        parts += [f"Appendix: [reduced scale]({publication.name}/short.md), without verdicts."]
    return "\n".join(parts).rstrip() + "\n"


def _made(publication: Publication) -> str:
    results = publication.full.results
    unknown = sum(result.commit == "unknown" for result in results)
    seeds = sorted({result.seed for result in results})
    told = ", ".join(map(str, seeds)) or "none"
    older = (
        f"; {unknown} of them are from before results named their commit (commit unknown)" if unknown else ""
    )
    return (
        f"Made by `{publication.command}` from the files in `{publication.where}`, which are never edited: "
        f"{len(results)}{_scale(publication)}, seeds {told}{older}. Processor time on record: {cpu_told(results)}."
    )


def _scale(publication: Publication) -> str:
    return f" at {publication.scale}" if publication.scale else ""


def _with_history(publication: Publication) -> str:
    """The prose, and below its first part the numbers that changed."""
    changed = history.told(publication.made, publication.scale, publication.full)
    again = history.again(publication.full)
    told = ["", "Results at full that were overwritten, from `replaced`:", "", *changed] if changed else []
    told += (
        ["", "Measured again with the same seed; both are on record, the newest counts:", "", *again]
        if again
        else []
    )
    first, heading, rest = publication.prose.partition("\n\n## ")
    return "\n".join([first, *told]) + heading + rest


def appendix(publication: Publication, figures: list[Figure]) -> str:
    """What was measured at the reduced scale."""
    parts = [
        f"# {publication.title}: reduced scale (`--scale short`)", "",
        f"An appendix of [the paper's page](../{publication.name}.md). Another model, fewer rounds: what is published "
        "stands beside it for orientation only, and nothing is judged.", "",
        *(f"![{figure.title}]({figure.name}.svg)\n" for figure in figures),
        *tables.details(publication.short_rows, verdicts=False),
    ]  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def _drawn(figure: Figure, publication: Publication, pages: Path) -> str:
    """The scale it was drawn from: full, or short where there is nothing at full; empty if it was not drawn."""
    reduced = figure.model_copy(update={"title": f"{figure.title} (reduced scale)"})
    for scale, drawing, measured, rows in (
        ("full", figure, publication.full, publication.rows),
        ("short", reduced, publication.short, []),  # what was published is not of this scale
    ):
        content = draw(drawing, measured, rows)
        if content is not None:
            file = pages / publication.name / f"{figure.name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
            return scale
    return ""


def _image(figure: Figure, publication: Publication) -> str:
    return f"![{figure.title}]({publication.name}/{figure.name}.svg)"
