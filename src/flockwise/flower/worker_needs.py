"""What a node needs to do any client's work, and which runs it cannot have."""

from pathlib import Path

from flockwise.config import Config, parse_config
from flockwise.data import Federation
from flockwise.engine import ClientWork
from flockwise.errors import ConfigError
from flockwise.runs.federating import for_federation, report_of
from flockwise.runs.remaking import known_method, only_in_python
from flockwise.stages.personal import AS_USUAL
from flockwise.stages.report import Report


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
    for field in only_in_python(config):
        raise ConfigError(f"{field} = 'own': Flower nodes need it by name, such as module:function")
    if work.report is not None:
        known = _report(config, work.source.directory, work.federation)
        if known is None or known.shapes != work.report.shapes:
            raise ConfigError("strategy.name = 'own': it asks for reports, so Flower nodes need it by name, such as "
                              "module:function")  # fmt: skip


def _report(config: Config, directory: Path | None, federation: Federation) -> Report | None:
    """What clients are asked to tell; nothing, if only Python knows the method."""
    method = known_method(config, directory)
    return report_of(for_federation(method, federation)) if method else None
