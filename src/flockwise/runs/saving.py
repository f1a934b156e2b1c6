"""A trained model as a file for other programs, with a card that says what it is."""

import io
import json
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from flockwise.errors import InputError, PluginError
from flockwise.runs.model_card import card_of, markdown
from flockwise.runs.sample_shape import samples_on_record
from flockwise.store import Run
from flockwise.store.files import write_atomically


def save(
    run: Run,
    model: nn.Module,
    path: str | Path,
    which: str,
    client: int | None,
    flock: int | None,
    at: int | None,
) -> Path:
    """Write the model in the format that the file's ending names, and its card beside it as .md and .json."""
    target = Path(path)
    if target.suffix not in FORMATS:
        raise InputError(f"path = {str(path)!r}: must end in {', '.join(FORMATS)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    FORMATS[target.suffix](run, model.eval(), target, which)
    card = card_of(run, which, client, flock, at)
    told = {".md": markdown(card), ".json": json.dumps(card, indent=2, allow_nan=False)}
    for ending, text in told.items():
        beside = target.with_name(f"{target.name}.card{ending}")
        write_atomically(beside, text.encode("utf-8", "surrogatepass"))
    return target


def _safetensors(run: Run, model: nn.Module, target: Path, which: str) -> None:
    """Any language reads it, and nothing can hide in it."""
    from safetensors.torch import save as as_bytes

    about = {"format": "pt", "flockwise": which, "run": run.path.name}
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    write_atomically(target, as_bytes(tensors, about))


def _torchscript(run: Run, model: nn.Module, target: Path, which: str) -> None:
    """A traced program for libtorch, checked against the module on other samples than it was traced with."""
    traced_with, tried_with = _example(run, 2), _example(run, 3)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # tracing is no longer where torch is going, but libtorch still reads it
        try:
            with torch.inference_mode():
                traced = torch.jit.trace(model, traced_with)  # type: ignore[no-untyped-call]
                same = torch.allclose(_first(traced(tried_with)), _first(model(tried_with)), atol=1e-5)
            if not same:
                raise InputError(
                    f"path = {str(target)!r}: this model does other things for other samples; save it as .safetensors"
                )
            program = io.BytesIO()
            torch.jit.save(traced, program)
        except (RuntimeError, TypeError, ValueError) as error:
            raise _cannot(target, "TorchScript", error) from error
    write_atomically(target, program.getvalue())


def _onnx(run: Run, model: nn.Module, target: Path, which: str) -> None:
    """A graph for any ONNX runtime; any number of samples may be given to it."""
    try:
        for name in ("onnx", "onnxscript"):
            import_module(name)
    except ImportError as error:
        raise PluginError(
            f"path = {str(target)!r}: {error.name} is missing; pip install 'flockwise[onnx]', or save it as .safetensors"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                model, (_example(run, 2),), str(target), input_names=["samples"], output_names=["outputs"],
                dynamo=True, dynamic_shapes=({0: torch.export.Dim("n")},), verbose=False,
            )  # fmt: skip
        except Exception as error:  # torch raises many kinds for what it cannot turn into a graph
            raise _cannot(target, "ONNX", error) from error


FORMATS: dict[str, Callable[[Run, nn.Module, Path, str], None]] = {
    ".safetensors": _safetensors,
    ".pt": _torchscript,
    ".onnx": _onnx,
}


def _example(run: Run, count: int) -> torch.Tensor:
    """Samples of the run's kind, as the module takes them."""
    told = samples_on_record(run)
    if told is None:
        raise InputError(
            f"{run.path}: does not say what its samples are like, which this format needs; use .safetensors"
        )
    shape = (told.shape[2], told.shape[0], told.shape[1]) if len(told.shape) == 3 else tuple(told.shape)
    if told.tokens:
        return torch.zeros((count, *shape), dtype=torch.int64)
    return torch.linspace(0, 1, count * int(torch.Size(shape).numel())).reshape(count, *shape)


def _first(returned: Any) -> torch.Tensor:
    from flockwise.training.modules import first_output

    found: torch.Tensor = first_output(returned)
    return found


def _cannot(target: Path, kind: str, error: Exception) -> InputError:
    why = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(
        f"path = {str(target)!r}: torch cannot make {kind} of this model ({why[:200]}); save it as .safetensors"
    )
