"""A paper as a study: its files come with the package, its results lie below papers/NAME."""

from collections.abc import Iterable
from functools import cached_property
from importlib import resources
from pathlib import Path

from flockwise.studies.cells import cells_of
from flockwise.studies.handle import Study
from flockwise.studies.legacy import older_files, older_results
from flockwise.studies.published.bars import former_names
from flockwise.studies.published.measured import Measured
from flockwise.studies.published.publication import Publication
from flockwise.studies.results import Result, current, results_in, superseded

NAMES = ("flic", "fl-hc", "byzantine-cfl", "mini-fl", "communities")


def folder_of(name: str) -> Path:
    """Where a paper's files are."""
    return Path(str(resources.files("flockwise.papers"))) / name.replace("-", "_")


class PaperStudy(Study):
    """The study of a paper; results from before they carried their config count where their hash is the cell's."""

    def __init__(
        self, name: str, *, scale: str = "full", out: Path = Path("papers"), data: Path | None = None,
        tables: Iterable[str] = (), seeds: int | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        super().__init__(
            folder_of(name) / "study.toml", scale=scale, out=out / name, data=data, tables=tables, seeds=seeds
        )

    @cached_property
    def _older(self) -> list[Result]:
        """They are never written again."""
        names = former_names(self.directory)
        every = cells_of(self.file, self.scale, self.directory)
        return list(older_results(self.folder / "results", every, names, self.directory))

    def every_result(self) -> list[Result]:
        """All results on disk of this scale, older ones that stand too."""
        return [*self._older, *super().every_result()]

    @property
    def command(self) -> str:
        """How to do the same by hand."""
        return f"flockwise paper {self.name} --scale {self.scale}"


def publication(name: str, out: Path = Path("papers")) -> Publication:
    """A paper beside what there is of it on disk, with all the seeds there are."""
    seeds = _seeds(out / name / "results")
    studies = {scale: PaperStudy(name, scale=scale, out=out, seeds=seeds) for scale in ("full", "short")}
    full, short = (_measured(study) for study in studies.values())
    study = studies["full"]
    return Publication(
        name, study.file.title, study.directory, study.folder, full, short, "full", f"flockwise paper {name}",
        f"papers/{name}/results",
    )  # fmt: skip


def _seeds(folder: Path) -> int:
    """As many as the highest seed on disk needs."""
    found = [result.seed for result in results_in(folder)] + [
        content["seed"] for _, content in older_files(folder)
    ]
    return max(found, default=0) + 1


def _measured(study: Study) -> Measured:
    every, cells = study.every_result(), study.cells
    return Measured(
        tuple(cells),
        tuple(current(every, cells, study.directory)),
        tuple(superseded(every, cells, study.directory)),
    )
