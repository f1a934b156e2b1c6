"""The sections of a config and what each field may be."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from flockwise.kernels.fold import LEAST_WIDTH, MOST_WIDTH
from flockwise.options import NOT_SET, may_be_none, written

Fraction = Annotated[float, Field(gt=0, le=1)]


class Section(BaseModel):
    """Base of the sections whose fields are all known here."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _none_in_words(cls, values: Any) -> Any:
        """A field that may be left unset can say so: TOML has no word for it."""
        if not isinstance(values, Mapping):
            return values
        unset = _may_be_unset(cls)
        return {key: None if key in unset and value == NOT_SET else value for key, value in values.items()}


@cache
def _may_be_unset(section: type[Section]) -> frozenset[str]:
    """The fields that may be None, looked for once: a config has many sections, and a study many configs."""
    return frozenset(name for name, field in section.model_fields.items() if may_be_none(field.annotation))


class OpenSection(Section):
    """Base of the sections that name a piece: the other fields are the piece's own and are checked with it."""

    model_config = ConfigDict(extra="allow")

    @property
    def parameters(self) -> dict[str, Any]:
        """The piece's own fields."""
        return dict(self.model_extra or {})


class Data(OpenSection):
    """Which data set, and where; options of what reads it (a folder of tables, a function) stand beside these."""

    name: str = Field("digits", description="see `flockwise data list`, or module:function")
    directory: str | None = Field(
        None, description="where its files are; default: FLOCKWISE_DATA, then the cache"
    )
    check: Literal["refuse", "warn", "off"] = Field(
        "refuse",
        description="data that nothing can be learned from: refuse it, train all the same, or never look",
    )


class Split(OpenSection):
    """Who holds which data; the split's own parameters stand beside these."""

    name: str = Field("iid", description="see `flockwise list splits`")
    clients: int | None = Field(20, ge=1, le=1_000_000)
    validation: float = Field(0.1, ge=0, lt=1, description="share of a client's training data set aside")


class Model(OpenSection):
    """What clients train; the model's own options stand beside these."""

    name: str = Field(
        "softmax", description="see `flockwise list models`, or module:function(input_shape, classes)"
    )
    trains: list[str] = Field(
        ["*"],
        description="tensors that train, such as 'head.*'; others stay as they are, the same everywhere, and are not sent",
    )
    travels: list[str] = Field(
        ["*"],
        description="tensors that are sent and averaged, such as 'features.*'; others stay with the client",
    )


class TaskSection(OpenSection):
    """What models are to learn, and how good they are at it; the task's own options stand beside the name."""

    name: str = Field("classification", description="see `flockwise list tasks`, or module:name")


class ScheduleSection(OpenSection):
    """How the learning rate changes; the schedule's own parameters stand beside the name."""

    name: str


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | Mapping) else value


Schedules = Annotated[list[str | ScheduleSection], BeforeValidator(_as_list)]


class Training(Section):
    """What a client does with a model it is sent."""

    epochs: int = Field(1, ge=1)
    batch_size: int = Field(10, ge=1)
    learning_rate: float = Field(0.05, gt=0)
    momentum: float = Field(0.0, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    proximal: float = Field(0.0, ge=0, description="mu of FedProx")
    optimizer: str = Field(
        "sgd",
        description="sgd, adam or adamw, or module:function of (parameters, learning_rate); anew in every round",
    )
    clip: float | None = Field(None, gt=0, description="longest gradient of a step")
    schedule: Schedules = Field(
        default_factory=list,
        description='how the learning rate changes over the rounds: see `flockwise list schedules`; "cosine", '
        '{name = "exponential", factor = 0.99}, or a list, whose factors are multiplied',
    )
    step_schedule: Schedules = Field(
        default_factory=list, description="the same over a client's steps inside a round"
    )
    augment: str | None = Field(
        None,
        description="module:function of a batch of samples and a generator, which returns the samples changed",
    )
    precision: Literal["full", "mixed"] = Field("full", description="mixed: bfloat16 where a GPU is")


class Sampling(Section):
    """Who trains in a round."""

    fraction: Fraction = Field(1.0, description="share of the clients (of each flock, once there are flocks)")


class EvidenceSection(Section):
    """What is kept of updates to compare clients on."""

    sketch: Annotated[int, Field(ge=LEAST_WIDTH, le=MOST_WIDTH)] | Literal["auto"] | None = Field(
        "auto",
        description="numbers kept of each update, for cosine and l2; errors shrink with their root. "
        "none: whole updates; auto: whole ones up to 5,000 clients and 2 GiB",
    )


class StrategySection(OpenSection):
    """The method; its own options stand beside the name."""

    name: str = Field("fedavg", description="see `flockwise list strategies`")


class PreAggregation(OpenSection):
    """What is done to the updates before the rule sees them; its own parameters stand beside the name."""

    name: str


class Aggregation(OpenSection):
    """The rule inside each flock; its own parameters stand beside these."""

    name: str = Field("mean", description="see `flockwise list aggregators`, or module:function")
    attackers: float = Field(0, ge=0, description="how many clients may lie: a count, or a share below 1")
    before: list[str | PreAggregation] = Field(
        default_factory=list,
        description='pre-aggregations, in order, such as "bucketing" or {name = "bucketing", s = 4}',
    )

    @property
    def steps_before(self) -> list[PreAggregation]:
        """The pre-aggregations with their parameters."""
        return [PreAggregation(name=step) if isinstance(step, str) else step for step in self.before]


class Attack(OpenSection):
    """Who lies, and how; the attack's own parameters stand beside these."""

    name: str = Field("none", description="see `flockwise list attacks`")
    clients: int | float | list[int] = Field(
        0, description="how many, which share (below 1), or exactly which"
    )
    first_round: int = Field(1, ge=1, description="honest before this round")


class Faults(Section):
    """What goes wrong on the way, in simulation."""

    dropout: float = Field(0.0, ge=0, le=1, description="chance that a client's reply never comes")
    late_clients: Annotated[int, Field(ge=0)] | list[Annotated[int, Field(ge=0)]] = Field(
        0, description="how many clients join late, or exactly which"
    )
    late_round: int = Field(1, ge=1, description="the round in which they join")
    slow_clients: int = Field(
        0, ge=0, description="how many clients are slow, by a clock that nobody waits for"
    )
    slowness: float = Field(10.0, ge=1, description="how many times longer they take")
    deadline: float | None = Field(
        None,
        gt=0,
        description="a round closes after so many times what a client of median size takes; later replies are not used",
    )
    drift_clients: int = Field(
        0, ge=0, description="how many clients change to another group's data (label_swap, rotation)"
    )
    drift_round: int = Field(1, ge=1, description="the round from which their data is different")


class GateSection(Section):
    """What a reply must look like."""

    max_norm: float | None = Field(None, gt=0, description="longest update that is let in; 1e15 if not given")
    weight_cap: float | None = Field(
        5.0, gt=0, description="a sample count above this many of the flock's medians counts as that"
    )


class Root(Section):
    """Clean data the server holds itself (for FLTrust and the `root` judge)."""

    samples: int = Field(0, ge=0, description="taken out of the clients' training data")


class EvaluationSection(Section):
    """When clients' models are tested, and on what."""

    every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="rounds between tests, or as many as make testing a tenth of training (at least 20 tests a run, and "
        "one whenever flocks change); the last round is always tested",
    )
    clients: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="how many are tested, drawn once for the run; auto: everyone up to 10,000 clients, of more 2,000",
    )
    on: Literal["test", "validation"] = Field(
        "test", description="validation: test data is never looked at, for tuning"
    )


class Checkpoint(Section):
    """When the state is saved."""

    every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="rounds, or as often as costs a twentieth of the time, at least every two minutes"
    )
    keep: int = Field(2, ge=1)
    at: list[int] = Field(default_factory=list, description="rounds to save and keep, to fork from")


class EngineSection(Section):
    """Who trains."""

    name: Literal["local", "flower", "ray"] = "local"
    workers: int = Field(
        0,
        ge=0,
        description="processes; 0: one per core. flower: nodes used at most; ray: cores of each node; 0: all",
    )
    device: str = Field("cpu", description="cpu, cuda or mps")
    path: Literal["auto", "native", "generic"] = Field("auto", description="training kernels")
    superlink: str | None = Field(
        None, description="flower: a SuperLink connection of Flower's config; default: simulate here"
    )
    address: str = Field(
        "auto",
        description="ray: the cluster: auto (this machine's), local (one for this run), HOST:PORT, ray://HOST:PORT",
    )
    timeout: float = Field(3600.0, gt=0, description="flower, ray: seconds that nodes have to answer")
    retries: int = Field(
        3,
        ge=0,
        description="flower: how often a round that nobody answers is tried again; "
        "any engine: after so many rounds in a row with nothing but rejected replies, the next ends the run",
    )


class Config(Section):
    """A whole run."""

    name: str = Field("run", min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")
    seed: int = Field(0, ge=0)
    rounds: int = Field(20, ge=1)
    data: Data = Field(default_factory=Data)
    split: Split = Field(default_factory=Split)
    model: Model = Field(default_factory=Model)
    task: TaskSection = Field(default_factory=TaskSection)
    training: Training = Field(default_factory=Training)
    sampling: Sampling = Field(default_factory=Sampling)
    evidence: EvidenceSection = Field(default_factory=EvidenceSection)
    strategy: StrategySection = Field(default_factory=StrategySection)
    aggregation: Aggregation = Field(default_factory=Aggregation)
    attack: Attack = Field(default_factory=Attack)
    faults: Faults = Field(default_factory=Faults)
    gate: GateSection = Field(default_factory=GateSection)
    root: Root = Field(default_factory=Root)
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection)
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    engine: EngineSection = Field(default_factory=EngineSection)

    def written(self) -> dict[str, Any]:
        """Every resolved value, as a file has it."""
        content: dict[str, Any] = written(self.model_dump())
        return content
