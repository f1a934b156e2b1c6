"""What a node needs to do any client's work, and which runs it cannot have."""

from pathlib import Path

from flockwise.config import Config, parse_config
from flockwise.config.resolving import method_of
from flockwise.data import Federation
from flockwise.engine import ClientWork
from flockwise.errors import ConfigError
from flockwise.registry import OWN
from flockwise.runs.assembly import make_adversary
from flockwise.runs.federating import for_federation, make_federation, make_work, report_of
from flockwise.stages.personal import AS_USUAL
from flockwise.stages.report import Report


def work_of(config: Config, directory: Path | None, data: Path | None) -> ClientWork:
    """The work of a config's clients, as the run itself makes it."""
    federation = make_federation(config, directory, data)
    adversary = make_adversary(config, federation.clients, directory)
    report = _report(config, directory, federation)
    return make_work(config, directory, data, federation=federation, adversary=adversary, report=report)


def check_nodes_can(work: ClientWork) -> None:
    """Refuse a run that nodes could not do the work of; they only know what its config says."""
    if work.travel.own_size and work.personal == AS_USUAL:
        raise ConfigError(
            "model.travels: a Flower node keeps nothing between rounds, so all of the model must travel; in a ClientApp "
            "of your own, clients keep the arrays that they do not send"
        )
    if work.personal != AS_USUAL:
        raise ConfigError(
            "strategy.name: a Flower node keeps nothing between rounds, so clients cannot keep models of their own; run it "
            "with engine.name = 'local'"
        )
    if work.source is None:
        raise ConfigError("engine: nodes need a config that names data and model")
    config = parse_config(work.source.config, directory=work.source.directory)
    for section in ("data", "model", "task", "attack"):
        if getattr(config, section).name == OWN:
            raise ConfigError(
                f"{section}.name = 'own': Flower nodes need it by name, such as module:function"
            )
    if config.training.augment == OWN:
        raise ConfigError("training.augment = 'own': Flower nodes need it by name, such as module:function")
    if config.training.optimizer == OWN:
        raise ConfigError("training.optimizer = 'own': Flower nodes need it by name, such as module:function")
    if work.report is not None:
        known = _report(config, work.source.directory, work.federation)
        if known is None or known.shapes != work.report.shapes:
            raise ConfigError("strategy.name = 'own': it asks for reports, so Flower nodes need it by name, such as "
                              "module:function")  # fmt: skip


def _report(config: Config, directory: Path | None, federation: Federation) -> Report | None:
    """What clients are asked to tell; nothing, if only Python knows the method."""
    if OWN in (config.strategy.name, config.aggregation.name):
        return None
    return report_of(for_federation(method_of(config, directory), federation))
