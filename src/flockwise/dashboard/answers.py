"""What the dashboard answers with, in ASCII."""

import json
from typing import Any

from starlette.responses import JSONResponse


class Answer(JSONResponse):
    """JSON in which every other letter is escaped: a folder's name or a request may hold what is no UTF-8."""

    def render(self, content: Any) -> bytes:
        """The bytes that are sent."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
