import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "report")]

from browsing import chromium  # noqa: E402, F401
