"""A ClientApp as one writes it for Flower; NumPy only, and it knows nothing of Flockwise."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

CLASSES, FEATURES = 3, 5
app = ClientApp()


def load(clinic: int, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Measurements and diagnoses; every second clinic numbers the diagnoses differently."""
    rng = np.random.default_rng([clinic, part == "train"])
    centers = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)) * 2
    diagnosis = rng.integers(CLASSES, size=60)
    return centers[diagnosis] + rng.normal(size=(60, FEATURES)), (diagnosis + clinic % 2) % CLASSES


def predict(weights: np.ndarray, bias: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Probabilities of a softmax regression."""
    scores = x @ weights + bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


@app.train()
def train(message: Message, context: Context) -> Message:
    """A few steps of gradient descent."""
    x, y = load(int(context.node_config["partition-id"]), "train")
    weights, bias = (array.copy() for array in message.content["arrays"].to_numpy_ndarrays())
    for _ in range(5):
        error = predict(weights, bias, x) - np.eye(CLASSES)[y]
        weights -= 0.2 * x.T @ error / len(y)
        bias -= 0.2 * error.mean(axis=0)
    metrics = MetricRecord({"num-examples": len(y)})
    return Message(RecordDict({"arrays": ArrayRecord([weights, bias]), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Accuracy and loss on data of the clinic that it does not train on."""
    x, y = load(int(context.node_config["partition-id"]), "validation")
    found = predict(*message.content["arrays"].to_numpy_ndarrays(), x)
    metrics = MetricRecord(
        {
            "num-examples": len(y),
            "accuracy": float((found.argmax(axis=1) == y).mean()),
            "loss": float(-np.log(found[np.arange(len(y)), y] + 1e-9).mean()),
        }
    )
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
