"""Numbers of a run on their way elsewhere while it goes: MLflow, Weights & Biases, TensorBoard.

with fw.trackers.MLflow("http://tracking:5000") as track:
    fw.run(method, clients, on_round=track)
"""

from flockwise.trackers.contract import Tracker, several, tracker_from
from flockwise.trackers.mlflow import MLflow
from flockwise.trackers.tensorboard import TensorBoard
from flockwise.trackers.wandb import WandB

__all__ = ["MLflow", "TensorBoard", "Tracker", "WandB", "several", "tracker_from"]
