"""The tables and figures of five papers as studies: data files, and hardly any code."""

from flockwise.papers.paper import NAMES, PaperStudy, publication

__all__ = ["NAMES", "PaperStudy", "publication"]
