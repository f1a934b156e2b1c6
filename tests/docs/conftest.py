"""A browser for the pages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from browsing import chromium  # noqa: F401
