"""What every task must do."""

from typing import Any, ClassVar

import numpy as np

from flockwise.tasks import IGNORED, TASKS, Task
from flockwise.testing.each import one_each

_SAMPLES, _STEPS, _CLASSES = 12, 5, 3


class TaskBattery:
    """Give it `task`; `outputs` and `targets` of a few samples too, if its module returns something unusual."""

    task: ClassVar[Task]
    outputs: ClassVar[Any] = None  # arrays, one row a sample
    targets: ClassVar[Any] = None

    @classmethod
    def each(cls) -> "list[type[TaskBattery]]":
        """A battery for every registered task."""
        return one_each(
            cls, {name: {"task": piece()} for name, piece in TASKS.items() if piece.example is not None}
        )

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """What a module returned for a few samples, and what would have been right."""
        if self.outputs is not None:
            return np.asarray(self.outputs), np.asarray(self.targets)
        rng, task = np.random.default_rng(0), self.task
        if task.targets == "classes":
            targets = rng.integers(0, _CLASSES, (_SAMPLES, _STEPS))
            targets[::2, 3:] = IGNORED
            return rng.normal(size=(_SAMPLES, _STEPS, _CLASSES)), targets
        if task.targets == "class":
            classes = 2 if task.outputs == 1 else _CLASSES
            targets = np.arange(_SAMPLES) % classes
            return rng.normal(size=(_SAMPLES, task.outputs or classes)), targets
        width = task.outputs or (_CLASSES if task.name == "multi-label" else 1)
        numbers = rng.integers(0, 2, (_SAMPLES, width)) if width > 1 else rng.normal(size=_SAMPLES)
        return rng.normal(size=(_SAMPLES, width)), numbers

    def _tensors(self, rows: Any = slice(None)) -> tuple[Any, Any]:
        import torch

        outputs, targets = self.samples()
        kind = np.float32 if targets.dtype.kind == "f" else np.int64
        return (
            torch.from_numpy(outputs[rows].astype(np.float32)).requires_grad_(),
            torch.from_numpy(targets[rows].astype(kind)),
        )

    def _measured(self, rows: Any = slice(None)) -> list[float]:
        outputs, targets = self._tensors(rows)
        loss = float(self.task.loss(outputs, targets).detach())
        return self.task.measured(self.task.predict(outputs.detach()).numpy(), targets.numpy(), loss)

    def test_the_loss_is_one_finite_number_that_can_be_differentiated(self) -> None:
        """What training needs."""
        import torch

        outputs, targets = self._tensors()
        loss = self.task.loss(outputs, targets)
        assert loss.shape == () and bool(torch.isfinite(loss))
        (gradient,) = torch.autograd.grad(loss, outputs)
        assert bool(torch.isfinite(gradient).all()) and bool(gradient.any())

    def test_a_step_along_the_gradient_makes_the_loss_smaller(self) -> None:
        """It points the right way."""
        import torch

        outputs, targets = self._tensors()
        loss = self.task.loss(outputs, targets)
        (gradient,) = torch.autograd.grad(loss, outputs)
        assert float(self.task.loss(outputs.detach() - 0.01 * gradient, targets)) < float(loss.detach())

    def test_scores_lie_within_their_bounds(self) -> None:
        """Or the gate would turn them away."""
        score, loss, *others = self._measured()
        assert self.task.scoring.fault(score) is None and np.isfinite(score) and np.isfinite(loss)
        assert len(others) == len(self.task.others)

    def test_the_order_of_samples_does_not_matter(self) -> None:
        """A score is of the samples, not of their order."""
        shuffled = np.random.default_rng(1).permutation(len(self.samples()[1]))
        np.testing.assert_allclose(self._measured(), self._measured(shuffled), rtol=1e-5, atol=1e-6)

    def test_a_model_that_has_diverged_scores_as_badly_as_can_be(self) -> None:
        """And is not taken for one that was never measured."""
        outputs, targets = self._tensors()
        predicted = self.task.predict(outputs.detach()).numpy()
        score, *_ = self.task.measured(predicted, targets.numpy(), float("nan"))
        assert score == self.task.scoring.worst
