"""Who trains: the local engine, and the interface any other engine fills."""

from flockwise.engine.base import Engine, Evaluation
from flockwise.engine.local import LocalEngine
from flockwise.engine.workbench import Workbench

__all__ = ["Engine", "Evaluation", "LocalEngine", "Workbench"]
