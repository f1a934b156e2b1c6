"""The tables and figures of the papers, as ordinary runs: what was published, and what we measure."""

from flockwise.papers.cells import SCALES, Cell, Claim, Figure, Measure, Paper, Prefix
from flockwise.papers.pages import overview, write_page
from flockwise.papers.registry import PAPERS
from flockwise.papers.results import Result, results_of
from flockwise.papers.running import Plan, missing, run_cells
from flockwise.papers.verdicts import rows_of

__all__ = [
    "PAPERS", "SCALES", "Cell", "Claim", "Figure", "Measure", "Paper", "Plan", "Prefix", "Result",
    "missing", "overview", "results_of", "rows_of", "run_cells", "write_page",
]  # fmt: skip
