"""Studies: one file, one command, an honest table; cells are ordinary runs."""

from flockwise.studies.cells import Cell
from flockwise.studies.file import StudyFile, read_study
from flockwise.studies.handle import Study, study
from flockwise.studies.results import Result

__all__ = ["Cell", "Result", "Study", "StudyFile", "read_study", "study"]
