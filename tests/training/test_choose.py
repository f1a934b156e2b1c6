import shutil
import subprocess
import sys

import numpy as np
import pytest
from torch import nn

from flockwise.errors import InputError
from flockwise.models import build
from flockwise.native import compiler
from flockwise.training import Recipe, choose_trainer
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer
from tests.training.networks import orders_of, samples, seeded, vector_of

RECIPE = Recipe(1, 4, 0.1)
has_compiler = pytest.mark.skipif(compiler.find_compiler() is None, reason="needs a C++ compiler")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler.forget()
    yield tmp_path / "flockwise" / "native"
    compiler.forget()


def fake_compiler(folder, monkeypatch, script):
    path = folder / "fake-c++"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))


def assert_falls_back(reason):
    module = build("softmax", (1, 8, 8), 3, seed=0)
    trainer, why = choose_trainer(module, (1, 8, 8), RECIPE)
    assert isinstance(trainer, GenericTrainer)
    assert why.startswith("generic path: ") and reason in why
    x, y = samples((1, 8, 8), 6)
    vector, _ = trainer.train(vector_of(module), x, y, orders_of(6, 1), RECIPE)
    assert (vector != vector_of(module)).any()


@has_compiler
@pytest.mark.parametrize("name", ["softmax", "mlp", "cnn", "cifar-cnn"])
def test_our_small_models_get_the_kernels(name):
    trainer, why = choose_trainer(build(name, (3, 32, 32), 10, seed=0), (3, 32, 32), RECIPE)
    assert isinstance(trainer, NativeTrainer)
    assert why in ("native kernels (AVX-512)", "native kernels (AVX2)", "native kernels (128-bit)")


def test_the_generic_path_can_be_asked_for():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    trainer, why = choose_trainer(module, (1, 8, 8), RECIPE, prefer="generic")
    assert isinstance(trainer, GenericTrainer)
    assert why == "generic path: as asked"


def test_without_a_compiler_torch_trains(empty_cache, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert_falls_back("no C++ compiler found")


def test_with_a_broken_compiler_torch_trains(empty_cache, tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, "exit 1")
    assert_falls_back("cannot compile the kernels")
    assert not list(empty_cache.iterdir())


def test_with_a_compiler_that_writes_rubbish_torch_trains(empty_cache, tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, 'while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"')
    assert_falls_back("cannot be loaded")


def test_with_a_cache_that_cannot_be_written_torch_trains(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a file where the cache directory should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compiler.forget()
    monkeypatch.setenv("CXX", sys.executable)
    assert_falls_back("cannot write to the cache")


@has_compiler
def test_processes_that_compile_at_once_all_get_the_kernels(empty_cache):
    # Without optimisation, which is all that takes long.
    program = (
        "from flockwise.training.native import loading\nloading.FLAGS = ()\nprint(loading.load_kernels()[1])"
    )
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = {process.communicate(timeout=300)[0].strip() for process in processes}
    assert len(answers) == 1 and answers <= {"AVX-512", "AVX2", "128-bit"}
    assert [file.suffix for file in empty_cache.iterdir()] == [".so"]


UNSUPPORTED = {
    "batch normalisation": (nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.Flatten(), nn.Linear(576, 3)),
    "stride": (nn.Conv2d(1, 16, 3, stride=2), nn.Flatten(), nn.Linear(144, 3)),
    "groups": (nn.Conv2d(1, 16, 3), nn.Conv2d(16, 16, 3, groups=2), nn.Flatten(), nn.Linear(256, 3)),
    "reflected border": (
        nn.Conv2d(1, 16, 3, padding=1, padding_mode="reflect"),
        nn.Flatten(),
        nn.Linear(1024, 3),
    ),
    "even kernel": (nn.Conv2d(1, 16, 2), nn.Flatten(), nn.Linear(784, 3)),
    "pooling of 3": (nn.Conv2d(1, 16, 3), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(64, 3)),
    "pooling that rounds up": (
        nn.Conv2d(1, 16, 4),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(),
        nn.Linear(144, 3),
    ),
    "pooling twice": (nn.Conv2d(1, 16, 3), nn.MaxPool2d(2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)),
    "pooling of pixels": (nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)),
    "rectified logits": (nn.Flatten(), nn.Linear(64, 3), nn.ReLU()),
    "rectified pixels": (nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)),
    "other activation": (nn.Flatten(), nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 3)),
    "dropout": (nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 3)),
    "no linear layer": (nn.Conv2d(1, 3, 7), nn.ReLU(), nn.Conv2d(3, 3, 1), nn.MaxPool2d(2), nn.Flatten()),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_the_kernels_cannot_do_goes_to_torch_with_the_same_result(name):
    module = seeded(*UNSUPPORTED[name])
    trainer, why = choose_trainer(module, (1, 8, 8), RECIPE)
    assert isinstance(trainer, GenericTrainer)
    assert why.startswith("generic path: ") and "\n" not in why
    x, y = samples((1, 8, 8), 6)
    trainer.train(vector_of(module), x, y, orders_of(6, 1), RECIPE)


class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))

    def forward(self, images):
        return 2 * self.layers(images)


def test_modules_with_a_forward_of_their_own_go_to_torch():
    _, why = choose_trainer(Doubled(), (1, 8, 8), RECIPE)
    assert why == "generic path: Doubled is not among the supported layers"


def test_frozen_shared_or_hooked_layers_go_to_torch():
    frozen = seeded(nn.Flatten(), nn.Linear(64, 64), nn.Linear(64, 3))
    frozen[1].requires_grad_(False)
    assert "frozen" in choose_trainer(frozen, (1, 8, 8), RECIPE)[1]
    layer = nn.Linear(64, 64)
    shared = nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer, nn.Linear(64, 3))
    assert "share parameters" in choose_trainer(shared, (1, 8, 8), RECIPE)[1]
    hooked = seeded(nn.Flatten(), nn.Linear(64, 3))
    hooked[1].register_forward_hook(lambda *_: None)
    assert "hooks" in choose_trainer(hooked, (1, 8, 8), RECIPE)[1]
    listening = seeded(nn.Flatten(), nn.Linear(64, 3))
    listening[1].register_full_backward_pre_hook(lambda *_: None)
    assert "hooks" in choose_trainer(listening, (1, 8, 8), RECIPE)[1]
    with pytest.warns(UserWarning, match="zero-element"):
        empty = nn.Sequential(nn.Flatten(), nn.Linear(64, 0), nn.Linear(0, 3))
    assert "width 0" in choose_trainer(empty, (1, 8, 8), RECIPE)[1]


@has_compiler
def test_nested_sequences_get_the_kernels_and_train_alike():
    layers = (nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 3))
    flat = seeded(*layers)
    nested = nn.Sequential(nn.Sequential(*layers[:2]), nn.Identity(), nn.Sequential(*layers[2:]))
    x, y = samples((1, 8, 8), 6)
    results = []
    for module in (flat, nested):
        trainer, why = choose_trainer(module, (1, 8, 8), RECIPE)
        assert why.startswith("native")
        results.append(trainer.train(vector_of(module), x, y, orders_of(6, 1), RECIPE)[0])
    np.testing.assert_array_equal(*results)


def test_unknown_wishes_and_shapes_are_refused():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    with pytest.raises(InputError, match="prefer = 'fast'"):
        choose_trainer(module, (1, 8, 8), RECIPE, prefer="fast")
    with pytest.raises(InputError, match="sample_shape"):
        choose_trainer(module, (1, 1, 8, 8), RECIPE)
