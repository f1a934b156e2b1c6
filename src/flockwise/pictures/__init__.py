"""Pictures as SVG and PDF, without a plotting library"""

from flockwise.pictures.charts import heat_map, line_chart
from flockwise.pictures.picture import Picture

__all__ = ["Picture", "heat_map", "line_chart"]
