"""A paper beside our study of it: all that its folder says, and what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from flockwise.studies.handle import Study
from flockwise.studies.published.bars import Bar, Printed, read_bars
from flockwise.studies.published.claims import ORDER, Claim, Judged, judge, read_claims
from flockwise.studies.published.figures import Figure, read_figures
from flockwise.studies.published.measured import Measured
from flockwise.studies.published.readings import Reading, read_readings
from flockwise.studies.published.verdicts import Row, rows_of
from flockwise.studies.results import superseded


@dataclass(frozen=True)
class Publication:
    """What a paper published, and what we measured: at its own scale, and at a reduced one for an appendix."""

    name: str
    title: str
    said: Path  # the folder of its study file
    made: Path  # the folder of its results
    full: Measured
    short: Measured = field(default_factory=lambda: Measured((), ()))
    scale: str = ""  # of `full`, as the study calls it
    command: str = ""  # what makes it
    where: str = "results"  # the results lie, as the page says it

    @cached_property
    def bars(self) -> list[Bar]:
        """The published numbers."""
        return read_bars(self.said)

    @cached_property
    def rows(self) -> list[Row]:
        """Published and ours at full."""
        return rows_of(self.full, self.bars)

    @cached_property
    def short_rows(self) -> list[Row]:
        """Ours at the reduced scale, beside numbers that are not its own: no verdicts."""
        return [row for row in rows_of(self.short, self.bars) if row.values]

    @cached_property
    def claims(self) -> list[Judged]:
        """Every claim with its verdict, what goes against it first."""
        printed = Printed(self.bars)
        found = [judge(claim, self.full, printed) for claim in self.written_claims]
        return sorted(found, key=lambda judged: ORDER.index(judged.verdict))

    @cached_property
    def named(self) -> "Publication":
        """The same with those results alone that name the commit they were made with."""
        kept = tuple(result for result in self.full.results if result.commit != "unknown")
        return replace(self, full=Measured(self.full.cells, kept))

    @property
    def written_claims(self) -> Sequence[Claim]:
        """The claims as the file has them."""
        return read_claims(self.said)

    @property
    def readings(self) -> list[Reading]:
        """How open settings were read."""
        return read_readings(self.said)

    @cached_property
    def figures(self) -> list[Figure]:
        """What is drawn; the first stands at the top of the page."""
        return read_figures(self.said)

    @property
    def prose(self) -> str:
        """What a person wrote about it, as Markdown."""
        path = self.said / "page.md"
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def publication_of(study: Study) -> Publication | None:
    """A study beside what its folder says was published; None where it says nothing."""
    if not any((study.directory / name).is_file() for name in ("published.toml", "claims.toml")):
        return None
    earlier = superseded(study.every_result(), study.cells, study.directory)
    measured = Measured(tuple(study.cells), tuple(study.results), tuple(earlier))
    title = study.file.title or study.file.name
    return Publication(study.file.name, title, study.directory, study.folder, measured, scale=study.scale,
                       command=study.command, where=f"{study.folder.name}/results")  # fmt: skip
