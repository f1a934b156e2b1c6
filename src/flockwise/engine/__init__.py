"""Who trains: the local engine, and what any other engine must do."""

from flockwise.engine.base import Engine, Evaluation, Opener
from flockwise.engine.client_work import ClientWork
from flockwise.engine.local import Local, LocalEngine

__all__ = ["ClientWork", "Engine", "Evaluation", "Local", "LocalEngine", "Opener"]
