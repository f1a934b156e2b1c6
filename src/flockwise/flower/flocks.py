"""A Flockwise method inside a user's own Flower ServerApp."""

from collections.abc import Mapping, Sequence
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid

from flockwise.engine import Evaluation
from flockwise.errors import InputError
from flockwise.flower.command import PLAIN_TEXT
from flockwise.flower.continuing import counted_from
from flockwise.flower.exchange import Exchange
from flockwise.flower.internals import is_plain, log
from flockwise.flower.logs import log_round
from flockwise.flower.pace import Pace
from flockwise.flower.record_keys import RecordKeys
from flockwise.flower.records import RecordLayout
from flockwise.flower.result import FlocksResult, StoppedEarly, collect, largest_model
from flockwise.flower.roster import Identity, Roster
from flockwise.flower.run_directory import EvaluateFunction, RunDirectory
from flockwise.flower.setup import Choices, make_server, refuse_flowers_names
from flockwise.flower.user_apps import UserApps
from flockwise.flower.user_messages import Settings, UserMessages
from flockwise.flower.wrappers import NotWrapped
from flockwise.messages import Event, RoundRecord
from flockwise.runs.capacity import in_words, memory_needed, refuse_too_large
from flockwise.runs.continuing import FOLLOW
from flockwise.runs.federating import report_of
from flockwise.runs.loop import Loop, Record
from flockwise.runs.recording import recorded
from flockwise.server import Server
from flockwise.stages.method import Method
from flockwise.stages.sketching import width_for
from flockwise.stages.stage import Setting
from flockwise.terminal import printable

_LARGE = 100_000_000  # bytes of memory that are worth a word


class Flocks(NotWrapped):
    """Any method over any ClientApp that answers train and evaluate messages.

        flocks = Flocks("flic", clients=10, warmup=5, run="runs/mine")     # or Flocks(fw.flic(warmup=5), ...)
        result = flocks.start(grid, ArrayRecord(model.state_dict()), num_rounds=30)

    A strategy is given by its name (`flockwise list strategies`), with its options as further keywords and its rule as
    `aggregation`; a method has them already. `clients` is how many the federation has at most; the first round begins
    once `start_with` of them (all, by default) are online. `run` is the directory that keeps everything: a ServerApp
    that is started again with the same directory goes on after the last closed round.

    `continues` is the directory of another run, last month's: this one begins with its flock models and memory. Nodes are
    known again by their keys, newcomers join the flock whose model does best on their evaluation data, and a known
    client that does better by `follow` in another flock moves there (None: all stay). Rounds are counted on.
    """

    def __init__(
        self, strategy: str | Method = "flic", *, clients: int, run: str | Path, fraction: float = 1.0,
        aggregation: str | Mapping[str, Any] | None = None, seed: int = 0, start_with: int | None = None,
        start_timeout: float = 600.0, retries: int = 3, max_norm: float | None = None,
        weight_cap: float | None = 5.0, evaluate_every: int = 1, identity: Identity = "auto",
        quorum: float = 0.5, patience: float = 3.0, checkpoint_every: int = 1,
        continues: str | Path | None = None, follow: float | None = FOLLOW,
        keys: RecordKeys | None = None, terms: RecordKeys | None = None, **options: Any,
    ) -> None:  # fmt: skip
        refuse_flowers_names(options)
        if not isinstance(clients, int) or isinstance(clients, bool):
            raise InputError(f"clients = {clients!r}: must be a whole number")
        self._choices = Choices(
            strategy,
            clients,
            options,
            fraction,
            aggregation,
            seed,
            max_norm,
            weight_cap,
            evaluate_every,
            checkpoint_every,
        )
        self._path = Path(run).absolute()
        self._continues = None if continues is None else Path(continues).absolute()
        self._follow = follow
        self._start_with = clients if start_with is None else start_with
        if not 1 <= self._start_with <= clients:
            raise InputError(f"start_with = {start_with}: must lie between 1 and clients = {clients}")
        for name, value, kind, least in (
            ("start_timeout", start_timeout, (int, float), 0), ("retries", retries, int, 0),
            ("evaluate_every", evaluate_every, int, 0), ("patience", patience, (int, float), 1),
            ("checkpoint_every", checkpoint_every, int, 1),
        ):  # fmt: skip
            if not isinstance(value, kind) or isinstance(value, bool) or not value >= least:
                raise InputError(f"{name} = {value!r}: must be a number of at least {least}")
        if not isinstance(quorum, int | float) or not 0 < quorum <= 1:
            raise InputError(f"quorum = {quorum!r}: must be a share of the clients, above 0 and up to 1")
        # A mistake is told here, before anything waits for nodes.
        self._choices.method(self._choices.config(1))
        self._keys = keys or terms or RecordKeys()  # `terms` is the older name
        if not isinstance(self._keys, RecordKeys):
            raise InputError(f"keys = {self._keys!r}: must be RecordKeys(...)")
        self._start_timeout, self._retries = start_timeout, retries
        self._quorum, self._patience = quorum, patience
        self._roster = Roster(clients, identity)

    def start(
        self, grid: Grid, initial_arrays: ArrayRecord | Sequence[ArrayRecord], num_rounds: int = 3,
        timeout: float = 3600.0, train_config: ConfigRecord | Settings | None = None,
        evaluate_config: ConfigRecord | Settings | None = None, evaluate_fn: EvaluateFunction | None = None,
    ) -> FlocksResult:  # fmt: skip
        """Run `num_rounds` rounds, or go on to the last of them; the same arguments as Flower's own `Strategy.start`.

        `timeout` is how long a round waits for answers at most. Methods that start from several models take a
        list of records, or make the others from the one they are given. `train_config` and `evaluate_config` may be
        functions of the round. `evaluate_fn` is shown the model of the largest flock. A round that nobody answers
        is tried `retries` times more; then the run stops, with everything saved: `StoppedEarly`.
        """
        given = [initial_arrays] if isinstance(initial_arrays, ArrayRecord) else list(initial_arrays)
        layout = RecordLayout.of(given[0])
        num_rounds += counted_from(self._path, self._continues)
        config = self._choices.config(num_rounds)
        method = self._choices.method(config)
        setting = Setting(learned=layout.learned, sketch=config.evidence.sketch)
        width = width_for(setting, method.round, self._choices.clients, layout.size)
        refuse_too_large(method, self._choices.clients, layout.size, width)
        if is_plain(grid):
            log(WARNING, "flockwise: %s", PLAIN_TEXT)
        messages = UserMessages(
            self._roster, layout, self._keys, report_of(method), timeout, _settings(train_config),
            _settings(evaluate_config),
        )  # fmt: skip
        with RunDirectory.open(self._path, config, self._continues) as directory:
            if directory.identities:
                self._roster.restore(directory.identities)
            vectors = [layout.vector(record) for record in given]
            server = make_server(config, method, layout, vectors, directory.state)
            exchange = Exchange(grid)
            exchange.pace = Pace(self._quorum, self._patience)
            exchange.insists = self._quorum >= 1
            apps = UserApps(exchange, messages, self._retries, directory.samples)
            loop = Loop(server, apps, directory.writer, _recorder(server, layout, directory, evaluate_fn))
            loop.evaluate_every, loop.on_round = self._choices.evaluate_every, log_round
            start = directory.continuation
            self._begin(
                server, apps, num_rounds, self._start_with if start or not server.round else 1
            )  # later, who left costs its own reply only
            if start:
                start.begin(loop, apps, self._follow)
            _say_what_is_kept(server, layout)
            why = loop.run(num_rounds)
            if loop.note:
                log(WARNING, "flockwise: %s", printable(loop.note))
            result = collect(server, layout, self._roster, directory, why)
        if why != "finished":  # Flower must not call it completed
            raise StoppedEarly(printable(why), result)
        return result

    def _begin(self, server: Server, apps: UserApps, rounds: int, wanted: int) -> None:
        """Wait for clients, if there is anything left for them to do."""
        if server.round >= rounds:
            log(WARNING, "flockwise: %s: this run is finished (round %d of %d), so nothing is trained; raise num_rounds "
                "to go on, or choose another run directory", self._path, server.round, rounds)  # fmt: skip
            return
        log(INFO, "flockwise: %s, round %d of %d; waiting for %d clients; run: %s", server.method.name,
            server.round + 1, rounds, wanted, self._path)  # fmt: skip
        apps.begin(wanted, self._start_timeout)


def _say_what_is_kept(server: Server, layout: RecordLayout) -> None:
    """How large the memory of a method is: it is in every checkpoint, too."""
    sketch = server.setting.sketch
    kept = memory_needed(
        server.method, server.state.clients, layout.size, None if sketch == "auto" else sketch
    )
    if server.method.round.holds.rows and kept > _LARGE:
        log(WARNING, "flockwise: %s keeps what each client sent last: up to %s, in memory and in every checkpoint; "
            "checkpoint_every=... writes fewer of them", server.method.name, in_words(kept))  # fmt: skip


def _settings(given: ConfigRecord | Settings | None) -> Settings:
    return given if callable(given) else dict(given or {})


def _recorder(
    server: Server, layout: RecordLayout, directory: RunDirectory, evaluate_fn: EvaluateFunction | None
) -> Record:
    """What goes on the record of a round; `evaluate_fn` is asked on the way."""

    def record(closed: RoundRecord, tested: Evaluation | None, events: list[Event]) -> RoundRecord:
        if evaluate_fn:
            try:
                directory.measured(closed.round, evaluate_fn(closed.round, largest_model(server, layout)))
            except Exception as error:  # what it would have measured is not worth the run
                why = f"evaluate_fn raised {type(error).__name__}: {str(error)[:200]}"
                log(WARNING, "flockwise: round %d: %s", closed.round, printable(why))
                events = [*events, Event("unmeasured", why)]
        return recorded(closed, tested, None, frozenset(), events)

    return record
