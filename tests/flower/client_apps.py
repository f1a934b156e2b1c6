"""ClientApps as users write them; none of them knows Flockwise.

Clients of odd partitions call class 0 "1", class 1 "2" and so on, so that one model cannot suit all.
"""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

CLASSES, FEATURES = 3, 5


def data(partition: int, part: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([partition, part == "train"])
    centers = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)) * 2
    y = rng.integers(CLASSES, size=60)
    x = centers[y] + rng.normal(size=(60, FEATURES))
    return x.astype(np.float32), (y + partition % 2) % CLASSES


def probabilities(weights: np.ndarray, bias: np.ndarray, x: np.ndarray) -> np.ndarray:
    scores = x @ weights + bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


numpy_app = ClientApp()


@numpy_app.train()
def train_numpy(message: Message, context: Context) -> Message:
    x, y = data(int(context.node_config["partition-id"]), "train")
    weights, bias = message.content["arrays"].to_numpy_ndarrays()
    weights, bias = weights.copy(), bias.copy()
    for _ in range(5):
        error = probabilities(weights, bias, x) - np.eye(CLASSES)[y]
        weights -= 0.2 * x.T @ error / len(y)
        bias -= 0.2 * error.mean(axis=0)
    loss = float(-np.log(probabilities(weights, bias, x)[np.arange(len(y)), y]).mean())
    metrics = MetricRecord({"num-examples": len(y), "train_loss": loss})
    return Message(RecordDict({"arrays": ArrayRecord([weights, bias]), "metrics": metrics}), reply_to=message)


@numpy_app.evaluate()
def evaluate_numpy(message: Message, context: Context) -> Message:
    x, y = data(int(context.node_config["partition-id"]), "validation")
    found = probabilities(*message.content["arrays"].to_numpy_ndarrays(), x)
    metrics = MetricRecord({
        "num-examples": len(y), "accuracy": float((found.argmax(axis=1) == y).mean()),
        "loss": float(-np.log(found[np.arange(len(y)), y] + 1e-9).mean()),
    })  # fmt: skip
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


def numpy_start() -> ArrayRecord:
    return ArrayRecord([np.zeros((FEATURES, CLASSES)), np.zeros(CLASSES)])


torch_app = ClientApp()


def torch_model():
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.ReLU(),
            torch.nn.Linear(8, CLASSES),
        )


@torch_app.train()
def train_torch(message: Message, context: Context) -> Message:
    import torch

    model = torch_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    x, y = (torch.from_numpy(a) for a in data(int(context.node_config["partition-id"]), "train"))
    optimizer = torch.optim.SGD(model.parameters(), lr=message.content["config"]["lr"])
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    content = RecordDict({
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"train_loss": loss.item(), "num-examples": len(y)}),
    })  # fmt: skip
    return Message(content=content, reply_to=message)


@torch_app.evaluate()
def evaluate_torch(message: Message, context: Context) -> Message:
    import torch

    model = torch_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    model.eval()
    x, y = (torch.from_numpy(a) for a in data(int(context.node_config["partition-id"]), "validation"))
    with torch.no_grad():
        scores = model(x)
    metrics = MetricRecord({
        "eval_loss": torch.nn.functional.cross_entropy(scores, y).item(),
        "eval_acc": (scores.argmax(1) == y).float().mean().item(), "num-examples": len(y),
    })  # fmt: skip
    return Message(content=RecordDict({"metrics": metrics}), reply_to=message)


def torch_start() -> ArrayRecord:
    return ArrayRecord(torch_model().state_dict())


sklearn_app = ClientApp()


def _classifier(message: Message):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", random_state=0, learning_rate="constant", eta0=0.01)
    model.classes_ = np.arange(CLASSES)
    arrays = message.content["arrays"].to_numpy_ndarrays()
    model.coef_, model.intercept_ = arrays[0].astype(float), arrays[1].astype(float)
    return model


@sklearn_app.train()
def train_sklearn(message: Message, context: Context) -> Message:
    x, y = data(int(context.node_config["partition-id"]), "train")
    model = _classifier(message)
    model.partial_fit(x.astype(float), y)
    arrays = ArrayRecord([model.coef_, model.intercept_])
    content = RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": len(y)})})
    return Message(content=content, reply_to=message)


@sklearn_app.evaluate()
def evaluate_sklearn(message: Message, context: Context) -> Message:
    from sklearn.metrics import log_loss

    x, y = data(int(context.node_config["partition-id"]), "validation")
    found = _classifier(message).predict_proba(x.astype(float))
    loss = log_loss(y, found, labels=np.arange(CLASSES))
    content = RecordDict({"metrics": MetricRecord({"num-examples": len(y), "test_logloss": float(loss)})})
    return Message(content=content, reply_to=message)


def sklearn_start() -> ArrayRecord:
    return ArrayRecord([np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)])
