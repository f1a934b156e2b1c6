"""What a task may be, and what is refused."""

import numpy as np
import pytest
import torch

import flockwise as fw
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.tasks import TASKS, find_task, shifted


def squared(outputs, targets):
    return ((outputs.reshape(targets.shape) - targets) ** 2).mean()


def off(predicted, targets):
    return float(np.abs(predicted - targets).max())


MINE = fw.Task(squared, {"off": off}, "off", "lower")


def made(power: int = 2):
    """A task of a user's own, with an option."""
    return fw.Task(lambda outputs, targets: ((outputs - targets) ** power).mean())


def test_every_task_by_name_says_what_is_better_and_how_it_trains():
    for name, piece in TASKS.items():
        task = piece()
        assert task.name == name and task.scoring.name == task.score
        width = 1 if name in ("binary", "regression") else 4
        outputs = torch.zeros(2, 3, width) if task.targets == "classes" else torch.zeros(2, width)
        whole = {"classes": torch.zeros(2, 3, dtype=torch.int64), "class": torch.zeros(2, dtype=torch.int64)}
        targets = whole.get(task.targets, torch.zeros(2) if name == "regression" else torch.zeros(2, 4))
        outputs.requires_grad_()
        loss = task.loss(outputs, targets)
        assert loss.dim() == 0 and torch.autograd.grad(loss, outputs)[0].shape == outputs.shape


def test_options_choose_the_score_and_its_direction():
    assert fw.tasks.regression(score="r2").scoring.better == "higher"
    assert fw.tasks.regression().scoring.better == "lower"
    assert fw.tasks.next_token().scoring.low == 1.0
    assert fw.tasks.binary("auc").scoring.name == "auc"
    with pytest.raises(ConfigError, match=r"task\.score = 'best': must be"):
        fw.tasks.binary("best")


def test_only_plain_classification_is_for_the_kernels():
    plain = [name for name, piece in TASKS.items() if piece().kernels is None]
    assert plain == ["classification"]
    assert fw.tasks.classification(weights=[1.0, 2.0]).kernels == "class weights"


def test_class_weights_count():
    outputs, targets = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    even, uneven = (
        fw.tasks.classification(weights=w).loss(outputs, targets) for w in ([1.0, 1.0], [1.0, 9.0])
    )
    assert uneven.item() > even.item()


def test_steps_that_are_ignored_have_no_loss_and_none_at_all_is_no_nan():
    outputs = torch.randn(1, 3, 5, requires_grad=True)
    task, known = fw.tasks.sequence_labelling(), torch.tensor([[1, -100, -100]])
    alone = torch.nn.functional.cross_entropy(outputs[:, 0], known[:, 0])
    assert task.loss(outputs, known).item() == pytest.approx(alone.item())
    nothing = task.loss(outputs, torch.full((1, 3), -100))
    assert nothing.item() == 0 and not torch.autograd.grad(nothing, outputs)[0].any()


@pytest.mark.parametrize(
    "arguments, match",
    [
        ({"loss": 3}, "must be functions"),
        ({"loss": squared, "metrics": {"Off": off}}, "must be a word of small letters"),
        ({"loss": squared, "metrics": {"flock": off}}, "no other number has"),
        ({"loss": squared, "metrics": {"off": lambda x: 1.0}}, "function of predicted, targets or loss"),
        ({"loss": squared, "metrics": {"off": off}, "score": "of"}, "must be one of the metrics, off"),
        ({"loss": squared, "metrics": {"off": off}, "score": "off"}, "say whether a higher or a lower off"),
        ({"loss": squared, "targets": "words"}, "targets = 'words'"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(arguments, match):
    with pytest.raises(InputError, match=match):
        fw.Task(**arguments)


def test_a_model_that_has_diverged_is_as_bad_as_can_be():
    row = MINE.measured(np.array([np.nan, 1.0]), np.zeros(2), 0.5)
    assert row[0] == 1e30
    assert fw.tasks.classification().measured(np.array([0]), np.array([0]), float("nan"))[0] == 0.0


def test_a_metric_that_cannot_be_computed_is_named():
    task = fw.Task(squared, {"broken": lambda predicted: predicted[99]}, "broken", "lower")
    with pytest.raises(PluginError, match=r"task\.metrics\.broken: cannot be computed: IndexError"):
        task.measured(np.zeros(2), np.zeros(2), 0.0)


def test_tasks_are_found_by_name_and_by_module():
    assert find_task("multi_label", {}).name == "multi-label"
    assert find_task(f"{__name__}:MINE", {}) is MINE
    assert find_task(f"{__name__}:made", {"power": 4}).score == "test_loss"
    with pytest.raises(PluginError, match="did you mean 'regression'"):
        find_task("regresion", {})
    with pytest.raises(ConfigError, match="takes no options"):
        find_task(f"{__name__}:MINE", {"power": 4})
    with pytest.raises(PluginError, match=r"must be a flockwise\.Task"):
        find_task(f"{__name__}:pytest", {})


def test_shifted_tokens_are_samples_and_what_comes_next():
    x, y = shifted([[5, 6, 7], [8, 9, -100]])
    assert x.tolist() == [[5, 6], [8, 9]] and y.tolist() == [[6, 7], [9, -100]]
