"""Saved models in the runtimes they are for: ONNX Runtime, and libtorch without Flockwise."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import flockwise as fw

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: .ci/extended extras")
pytest.importorskip("onnx", reason="onnx is not installed: .ci/extended extras")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: .ci/extended extras")

SHAPES = {
    "softmax": (8, 8, 1), "mlp": (8, 8, 1), "cnn": (28, 28, 1), "series-cnn": (50, 6), "token-mlp": (5,),
    "transformer": (5,), "mobilenet": (32, 32, 3),
}  # fmt: skip


def trained(name: str, out: Path) -> tuple[fw.Run, Any]:
    """A run of one round, and new samples as its module takes them."""
    shape, rng = SHAPES[name], np.random.default_rng(0)
    words = len(shape) == 1

    def samples(count: int) -> Any:
        return rng.integers(0, 20, (count, *shape)) if words else rng.random((count, *shape), np.float32)

    def labels(count: int) -> Any:
        return rng.integers(0, 3, (count, *shape) if name == "transformer" else count)

    federation = fw.Federation.from_arrays(
        [(samples(12), labels(12)) for _ in range(2)], inputs="tokens" if words else "auto", classes=3
    )
    config = {
        "rounds": 1, "model": {"name": name, **({"tokens": 20} if words else {})},
        "task": {"name": "sequence-labelling" if name == "transformer" else "classification"},
    }  # fmt: skip
    run = fw.run(config, federation, out=out)
    new = samples(7)
    return run, np.moveaxis(new, -1, 1).copy() if len(shape) == 3 else new


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHAPES)
def test_onnx_runtime_gives_what_torch_gives(name: str, tmp_path: Path) -> None:
    run, x = trained(name, tmp_path / "run")
    run.save_model(tmp_path / "model.onnx", flock=0)
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    model = run.model(flock=0).eval()
    for count in (1, 7):  # any number of samples
        (found,) = session.run(["outputs"], {"samples": x[:count]})
        with torch.inference_mode():
            expected = model(torch.from_numpy(x[:count])).numpy()
        assert found.shape == expected.shape and np.abs(found - expected).max() < 1e-4


@pytest.mark.parametrize("name", SHAPES)
def test_torchscript_runs_where_flockwise_is_not_known(name: str, tmp_path: Path) -> None:
    run, x = trained(name, tmp_path / "run")
    run.save_model(tmp_path / "model.pt", flock=0)
    np.save(tmp_path / "x.npy", x)
    program = (
        "import sys, warnings; warnings.simplefilter('ignore'); sys.modules['flockwise'] = None\n"
        "import numpy, torch\n"
        "model, x = torch.jit.load('model.pt'), torch.from_numpy(numpy.load('x.npy'))\n"
        "numpy.save('y.npy', model(x).detach().numpy())\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    with torch.inference_mode():
        expected = run.model(flock=0).eval()(torch.from_numpy(x)).numpy()
    assert np.abs(np.load(tmp_path / "y.npy") - expected).max() < 1e-5
