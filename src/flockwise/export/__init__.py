"""Take the numbers of a run elsewhere: CSV, JSON lines, Parquet, TensorBoard, MLflow."""

from flockwise.export.formats import FORMATS, export_run

__all__ = ["FORMATS", "export_run"]
