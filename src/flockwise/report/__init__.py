"""See a run: one HTML file that opens anywhere, offline."""

from flockwise.report.comparison import describe_comparison
from flockwise.report.numbers import describe_run
from flockwise.report.page import build_page, write_report

__all__ = ["build_page", "describe_comparison", "describe_run", "write_report"]
