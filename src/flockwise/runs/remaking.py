"""The clients' work made anew elsewhere, from what a config says of it."""

from pathlib import Path

from flockwise.config import Config
from flockwise.config.resolving import method_of
from flockwise.engine.client_work import ClientWork
from flockwise.registry import OWN
from flockwise.runs.assembly import make_adversary
from flockwise.runs.federating import for_federation, make_federation, make_work, report_of
from flockwise.stages.method import Method


def work_of(config: Config, directory: Path | None, data: Path | None) -> ClientWork:
    """The work of a config's clients, as the run itself makes it."""
    federation = make_federation(config, directory, data)
    adversary = make_adversary(config, federation.clients, directory)
    method = known_method(config, directory)
    method = method and for_federation(method, federation)
    return make_work(
        config, directory, data, federation=federation, adversary=adversary,
        report=report_of(method) if method else None, personal=method.personal if method else None,
    )  # fmt: skip


def known_method(config: Config, directory: Path | None) -> Method | None:
    """The method, unless only Python knows it."""
    return None if OWN in (config.strategy.name, config.aggregation.name) else method_of(config, directory)


def only_in_python(config: Config) -> list[str]:
    """The fields of a config that stand for an object which clients' work needs and no config can name."""
    named = [f"{section}.name" for section in ("data", "model", "task", "attack")]
    fields = [*named, "training.augment", "training.optimizer"]
    return [field for field in fields if _value(config, field) == OWN]


def _value(config: Config, field: str) -> object:
    section, _, name = field.partition(".")
    return getattr(getattr(config, section), name)
