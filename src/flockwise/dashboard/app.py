"""The dashboard as an ASGI app: pages, data and metrics to read, and one action that needs the token."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from flockwise.dashboard.answers import Answer
from flockwise.dashboard.guard import MISSING, Guard, is_token, token_of
from flockwise.dashboard.prometheus import CONTENT_TYPE, exposition
from flockwise.dashboard.watching import Watch
from flockwise.errors import FlockwiseError
from flockwise.report.page import charts_library, page_script, page_style
from flockwise.store.requests import file_request

MOST_BYTES = 4096  # of a request's body
MOST_COMPARED = 200


def create_app(
    folder: Path, token: str, host: str = "127.0.0.1", names: Sequence[str] = (), private: bool = False
) -> Starlette:
    """The app that shows the runs in a folder; `host` is the name it will be bound to, `names` are others it is known by.

    With `private`, nothing of a run is shown without the token.
    """
    watch = Watch(Path(folder))

    def page(request: Request) -> Response:
        return HTMLResponse(_own("live.html"))

    def static(request: Request) -> Response:
        makers = {"charts.js": charts_library, "page.js": page_script, "page.css": page_style}
        name = request.path_params["name"]
        if name == "live.js":
            content = _own("live.js")
        elif name in makers:
            content = makers[name]()
        else:
            return _problem("no such file", 404)
        return Response(content, media_type="text/css" if name.endswith("css") else "text/javascript")

    def runs(request: Request) -> Response:
        return Answer({"runs": watch.summaries()})

    def run(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in watch.paths():
            return _problem("no such run", 404)
        return Response(watch.description(name), media_type="application/json")

    def compare(request: Request) -> Response:
        return Answer(watch.comparison(request.query_params.getlist("run")[:MOST_COMPARED]))

    async def changes(request: Request) -> Response:
        return StreamingResponse(
            _changes(watch, request.query_params.get("run"), request.app), media_type="text/event-stream"
        )

    def health(request: Request) -> Response:
        return Answer({"status": "ok"})

    def metrics(request: Request) -> Response:
        return Response(exposition(watch.summaries()), media_type=CONTENT_TYPE)

    async def wish(request: Request) -> Response:
        if not is_token(token_of(request.headers), token):
            return _problem(MISSING, 403)
        name = request.path_params["name"]
        paths = await run_in_threadpool(watch.paths)
        if name not in paths:
            return _problem("no such run", 404)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _problem("content-type: must be application/json", 415)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _problem(f"body: must be at most {MOST_BYTES} bytes", 413)
        try:
            await run_in_threadpool(file_request, paths[name], json.loads(body))
        except (FlockwiseError, ValueError, RecursionError) as error:
            return _problem(str(error)[:300], 400)
        return Answer({"asked": True}, 202)

    routes = [
        Route("/", page),
        Route("/run/{name}", page),
        Route("/compare", page),
        Route("/static/{name}", static),
        Route("/health", health),
        Route("/metrics", metrics),
        Route("/api/runs", runs),
        Route("/api/runs/{name}", run),
        Route("/api/compare", compare),
        Route("/api/changes", changes),
        Route("/api/runs/{name}/requests", wish, methods=["POST"]),
    ]
    known = frozenset(name.lower() for name in names)
    guard = Middleware(Guard, bound=host, names=known, private=token if private else None)
    app = Starlette(routes=routes, middleware=[guard])
    app.state.stopping = lambda: False  # whoever runs the server says when it stops
    return app


async def _changes(watch: Watch, name: str | None, app: Starlette) -> AsyncIterator[str]:
    """A line whenever the run (or any run) changed, and a sign of life in between; ends when the server does."""
    last, quiet = None, 0.0
    while not app.state.stopping():
        stamp = await run_in_threadpool(watch.stamp, name)
        if stamp != last:
            last, quiet = stamp, 0.0
            yield "event: changed\ndata: {}\n\n"
        elif quiet >= 15:
            quiet = 0.0
            yield ": still here\n\n"
        pause = watch.pause(name)
        quiet += pause
        while pause > 0 and not app.state.stopping():
            await asyncio.sleep(min(pause, 0.25))
            pause -= 0.25


def _problem(message: str, status: int) -> Response:
    return Answer({"error": message}, status)


def _own(name: str) -> str:
    return files("flockwise.dashboard").joinpath(f"page/{name}").read_text(encoding="utf-8")
