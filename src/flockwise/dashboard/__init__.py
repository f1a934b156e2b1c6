"""See runs live: a small server that reads run directories and shows the report's pictures."""

from importlib.util import find_spec

from flockwise.errors import PluginError

for library in ("starlette", "uvicorn"):
    if find_spec(library) is None:
        raise PluginError(f"dashboard: {library} is not installed; pip install 'flockwise[dashboard]'")

from flockwise.dashboard.app import create_app  # noqa: E402  the check above says what is missing
from flockwise.dashboard.server import Dashboard, serve, start  # noqa: E402

__all__ = ["Dashboard", "create_app", "serve", "start"]
