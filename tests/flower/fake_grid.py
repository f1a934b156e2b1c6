"""A Flower grid in this process: real messages and real ClientApps, no network, and any fault on demand."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

# What becomes of a reply on its way: any number of messages, or None for "never comes".
Fault = Callable[[Message, Message], Iterable[Message] | None]


@dataclass
class FakeNode:
    partition: int
    app: ClientApp
    key: bytes = b""
    name: str = ""
    location: str = ""
    online: bool = True
    node_id: int = 0
    fault: Fault | None = None

    def __post_init__(self):
        self.node_id = self.node_id or 1000 + self.partition
        self.key = self.key or f"public key {self.partition}".encode()
        self.context = Context(
            7, self.node_id, {"partition-id": self.partition, "num-partitions": 4}, RecordDict(), {}
        )

    def info(self):
        info = NodeInfo(
            node_id=self.node_id, public_key=self.key, registered_at=f"2026-01-01T00:00:{self.partition:02d}"
        )
        if self.name:
            info.name = self.name
        if self.location:
            info.location = self.location
        return info


@dataclass
class FakeGrid(Grid):
    nodes: list[FakeNode]
    now: float = 0.0
    sent: list[Message] = field(default_factory=list)

    def __post_init__(self):
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 7, 1, 1
        self.waiting: dict[str, list[Message]] = {}
        self.count = 0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += max(seconds, 0.01)

    def set_run(self, run):
        raise NotImplementedError

    @property
    def run(self) -> Run:
        raise NotImplementedError

    def create_message(self, *args, **kwargs):
        raise NotImplementedError

    def get_nodes(self):
        return [node.info() for node in self.nodes if node.online]

    def get_node_ids(self):
        return [node.node_id for node in self.nodes if node.online]

    def push_messages(self, messages):
        ids = []
        for message in messages:
            self.count += 1
            message.metadata.__dict__["_message_id"] = f"message {self.count}"
            self.sent.append(message)
            ids.append(message.metadata.message_id)
            node = next(n for n in self.nodes if n.node_id == message.metadata.dst_node_id)
            if not node.online:
                continue
            try:
                reply = node.app(message, node.context)
            except Exception as error:
                reply = Message(Error(code=3, reason=f"{type(error).__name__}: {error}"), reply_to=message)
            replies = [reply] if node.fault is None else node.fault(message, reply)
            self.waiting[message.metadata.message_id] = list(replies or [])
        return ids

    def pull_messages(self, message_ids):
        found = []
        for identity in message_ids:
            for reply in self.waiting.pop(identity, []):
                if isinstance(reply, Exception):
                    raise reply
                found.append(reply)
        return found

    def send_and_receive(self, messages, *, timeout=None):
        return self.pull_messages(self.push_messages(messages))
