"""Every task learns a small problem, from one run to the report."""

import json

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

import flockwise as fw
from flockwise.data import Dataset
from flockwise.errors import ConfigError, InputError
from flockwise.report.numbers import describe_run
from tests.tasks import problems


class PerStep(nn.Module):
    """Class scores of each step, from a window around it; with something else beside them."""

    def __init__(self, outputs, embed=0):
        super().__init__()
        self.embed = nn.Embedding(embed, 16) if embed else None
        self.mix = nn.Conv1d(16 if embed else 1, 32, 3, padding=2)
        self.out = nn.Linear(32, outputs)

    def forward(self, x):
        x = self.embed(x).transpose(1, 2) if self.embed is not None else x[:, None]
        hidden = torch.relu(self.mix(x))[..., : x.shape[-1]].transpose(1, 2)  # sees no step that comes later
        return self.out(hidden), hidden


def _run(tmp_path, clients, task, model, rounds=8, rate=0.1, **more):
    training = more.pop("training", fw.SGD(epochs=3, batch_size=16, learning_rate=rate))
    return fw.run(
        fw.fedavg(), clients, model=model, task=task, training=training, rounds=rounds, out=tmp_path / "run",
        **more,
    )  # fmt: skip


def _last(run, fact):
    return float(run.facts[fact][-1])


def test_regression_comes_as_close_as_ridge_on_all_the_data(tmp_path):
    clients = problems.diabetes()
    run = _run(tmp_path, clients, "regression", fw.models.softmax, rate=0.01)
    parts = [[clients.arrays(k, part) for k in range(clients.clients)] for part in ("train", "test")]
    (x, y), (test_x, test_y) = (tuple(map(np.concatenate, zip(*part, strict=True))) for part in parts)
    ridge = np.abs(Ridge().fit(x, y).predict(test_x) - test_y).mean()
    assert _last(run, "mae") < 1.1 * ridge < np.abs(test_y - y.mean()).mean()
    assert _last(run, "mae_worst") >= _last(run, "mae_p90") >= _last(run, "mae") >= _last(run, "mae_p10") > 0
    assert _last(run, "rmse") >= _last(run, "mae") and 0 < _last(run, "r2") < 1
    assert "accuracy" not in run.facts and run.scoring.better == "lower"
    np.testing.assert_allclose(run.array("mae")[1][-1].mean(), _last(run, "mae"), rtol=1e-5)
    assert "MAE" in repr(run) and "task regression" in run.about["trainer"]


def test_a_report_shows_the_name_and_direction_of_the_score(tmp_path):
    run = _run(tmp_path, problems.diabetes(), "regression", fw.models.softmax, rounds=2, rate=0.01)
    shown = describe_run(run)
    assert shown["score"] == {"name": "mae", "title": "MAE", "better": "lower", "share": False}
    assert "MAE is" in shown["headline"]["story"] and "lower is better" in shown["headline"]["story"]
    assert shown["headline"]["score"] == pytest.approx(_last(run, "mae"), rel=1e-3) and not shown["problems"]
    assert shown["scores"]["values"]["high"] > shown["scores"]["values"]["low"] > 0
    json.dumps(shown["score"])


def test_binary_labels_are_learned_from_one_output(tmp_path):
    run = _run(tmp_path, problems.breast_cancer(), fw.tasks.binary(score="auc"), fw.models.softmax)
    assert _last(run, "auc") > 0.97 and _last(run, "accuracy") > 0.9 and _last(run, "f1") > 0.9
    assert run.scoring.name == "auc" and _last(run, "auc_worst") <= _last(run, "auc")
    layer = run.model(module=nn.Sequential(nn.Flatten(), nn.Linear(30, 1)))[1]
    assert layer.out_features == 1


def test_several_labels_a_sample_are_learned(tmp_path):
    run = _run(tmp_path, problems.several_labels(), "multi-label", fw.models.mlp, rounds=12)
    assert _last(run, "f1") > 0.75 and _last(run, "auc") > 0.8 and 0 < _last(run, "exact") < 1


def test_a_class_for_every_step_is_learned_and_padding_does_not_count(tmp_path):
    run = _run(tmp_path, problems.parity_of_steps(), "sequence-labelling", PerStep(2), rate=0.3)
    assert _last(run, "accuracy") > 0.95 and _last(run, "f1") > 0.95
    assert "a class for every step" in run.about["trainer"]


def test_the_next_character_is_learned(tmp_path):
    model = PerStep(len(problems.SIGNS), embed=len(problems.SIGNS))
    run = _run(
        tmp_path, problems.next_character(), "next-token", model, rounds=6,
        training=fw.AdamW(epochs=2, batch_size=16, learning_rate=0.01),
    )  # fmt: skip
    assert run.facts["perplexity"][0] > _last(run, "perplexity") and _last(run, "perplexity") < 4
    assert _last(run, "accuracy") > 0.5
    assert _last(run, "perplexity") >= 1


def test_a_task_of_your_own_with_several_outputs_and_own_loss(tmp_path):
    def pinball(outputs, targets):
        low, high = outputs
        errors = [(0.1, targets - low[:, 0]), (0.9, targets - high[:, 0])]
        return sum(torch.maximum(q * e, (q - 1) * e).mean() for q, e in errors)

    def between(predicted, targets):
        return float(((predicted[:, 0] <= targets) & (targets <= predicted[:, 1])).mean())

    class Quantiles(nn.Module):
        def __init__(self):
            super().__init__()
            self.low, self.high = nn.Linear(10, 1), nn.Linear(10, 1)

        def forward(self, x):
            return self.low(x), self.high(x)

    task = fw.Task(
        pinball, {"coverage": between}, "coverage", "higher", 0.0, 1.0,
        predict=lambda outputs: torch.cat(outputs, 1), targets="numbers", whole=True,
    )  # fmt: skip
    run = _run(tmp_path, problems.diabetes(), task, Quantiles(), rounds=10, rate=0.05)
    assert 0.6 < _last(run, "coverage") < 0.95
    assert run.config["task"] == {"name": "own"}
    with pytest.raises(ConfigError, match=r"task\.name = 'own'.*task=\.\.\."):
        fw.resume(run.path, clients=problems.diabetes(), model=Quantiles(), rounds=11)
    again = fw.resume(run.path, clients=problems.diabetes(), model=Quantiles(), rounds=11, task=task)
    assert len(again.facts["coverage"]) == 11


def test_any_number_of_workers_gives_the_same_bits(tmp_path):
    models = []
    for workers in (1, 2):
        run = _run(
            tmp_path / str(workers), problems.diabetes(), "regression", fw.models.mlp, rounds=3, rate=0.02,
            engine=fw.Local(workers),
        )  # fmt: skip
        models.append((run.checkpoint()["models"], run.array("mae")[1]))
    np.testing.assert_array_equal(models[0][0], models[1][0])
    np.testing.assert_array_equal(models[0][1], models[1][1])


def test_flocks_are_found_and_judged_by_an_error(tmp_path):
    """Half of the clients want the opposite numbers, and two come late: placing and judging go by the error."""
    rng = np.random.default_rng(0)
    wish = rng.normal(size=8)
    samples = []
    for client in range(10):
        x = rng.normal(size=(120, 8)).astype(np.float32)
        y = (x @ wish * (1 if client % 2 else -1) + 0.1 * rng.normal(size=120)).astype(np.float32)
        samples.append(((x[:90], y[:90]), (x[90:], y[90:])))
    clients = fw.Federation.from_arrays(
        samples, labels="numbers", groups=[k % 2 for k in range(10)], validation=0.2
    )
    run = fw.run(
        fw.flic(warmup=4, judge="validation", rollback=True), clients, model=fw.models.softmax, task="regression",
        training=fw.SGD(epochs=2, learning_rate=0.02), rounds=14, out=tmp_path / "run",
        faults={"late_clients": 2, "late_round": 6},
    )  # fmt: skip
    assert _last(run, "purity") == 1.0 and not run.apart and sum(map(len, run.flocks.values())) == 10
    assert any(event.kind == "placed" for event in run.events)
    assert _last(run, "mae") < 0.3 < run.facts["mae"][3]


@pytest.mark.parametrize(
    "task, clients, match",
    [
        ("classification", problems.diabetes, "numbers to predict; name the task, such as regression"),
        ("regression", problems.breast_cancer, "labels='numbers'"),
        ("multi-label", problems.diabetes, "must be rows of 0 and 1"),
        ("next-token", problems.breast_cancer, r"must be \(samples, steps\)"),
        ("classification", problems.parity_of_steps, "6 labels a sample; name the task"),
    ],
)
def test_labels_that_a_task_cannot_learn_are_told_in_a_line(task, clients, match, tmp_path):
    with pytest.raises(ConfigError, match=match) as told:
        _run(tmp_path, clients(), task, fw.models.softmax)
    assert "\n" not in str(told.value)


def test_a_model_of_the_wrong_outputs_is_told_before_anybody_trains(tmp_path):
    with pytest.raises(InputError, match=r"needs \(1, steps, classes\)"):
        _run(tmp_path, problems.parity_of_steps(), "sequence-labelling", nn.Linear(6, 2))
    with pytest.raises(InputError, match="give the model 1 output"):
        _run(tmp_path, problems.breast_cancer(), "binary", nn.Linear(30, 2))


@pytest.mark.parametrize("path", ["auto", "generic"])
def test_a_model_with_fewer_outputs_than_classes_is_told_how_many_it_needs(path, tmp_path):
    with pytest.raises(
        InputError, match=r"give it 2 outputs; for yes or no from one output say task='binary'"
    ):
        _run(tmp_path, problems.breast_cancer(), None, nn.Linear(30, 1), overrides=[f"engine.path={path}"])


def test_attacks_and_splits_that_need_classes_say_so(tmp_path):
    with pytest.raises(ConfigError, match="'label-flip': gives samples another class, but task 'regression'"):
        _run(
            tmp_path,
            problems.diabetes(),
            "regression",
            fw.models.softmax,
            attack=fw.attacks.label_flip(clients=1),
        )
    federation = problems.diabetes()
    for split in (fw.splits.dirichlet, fw.splits.label_swap, fw.splits.pathological):
        with pytest.raises(InputError, match="deals by class, but own has numbers to predict"):
            split(federation.dataset, clients=12)
    assert fw.splits.iid(federation.dataset, clients=4).clients == 4
    noisy = _run(
        tmp_path, problems.diabetes(), "regression", fw.models.softmax, rounds=1, rate=0.01,
        attack=fw.attacks.noise(clients=1),
    )  # fmt: skip
    assert noisy.state == "finished"


def made_numbers():
    """Numbers to predict, as a data set that a config can name."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)).astype(np.float32)
    return Dataset("made", x, (x @ rng.normal(size=6)).astype(np.float32), 160, 1.0, 0)


def test_a_study_compares_by_an_error_and_marks_the_lowest(tmp_path):
    rates = {"slow": {"training": {"learning_rate": 0.001}}, "quick": {"training": {"learning_rate": 0.05}}}
    base = {
        "rounds": 2, "split": {"clients": 4}, "task": {"name": "regression"}, "data": {"name": f"{__name__}:made_numbers"},
    }  # fmt: skip
    study = fw.study(
        {
            "name": "rates",
            "seeds": 3,
            "base": base,
            "vary": {"rate": rates},
            "show": {"numbers": ["mae", "mae_worst"]},
        },
        out=tmp_path,
    )
    (slow, quick) = (row[0] for row in study.tables()[0].entries)
    assert quick.mean < slow.mean and quick.mark is not None and str(quick.mark) != str(slow.mark)


def test_tokens_that_a_model_has_no_place_for_are_refused(tmp_path):
    x = np.arange(80).reshape(20, 4) % 7
    clients = fw.Federation.from_arrays([(x, x % 3)] * 3, inputs="tokens", classes=3)
    config = {"rounds": 1, "task": {"name": "sequence-labelling"}}
    model = {"name": "transformer", "width": 8, "depth": 1}
    with pytest.raises(
        InputError, match=r"^model: its embedding has 3 rows, .* reach to 6; .* model.tokens = 7$"
    ):
        fw.run({**config, "model": model}, clients, out=tmp_path / "refused")
    run = fw.run({**config, "model": {**model, "tokens": 7}}, clients, out=tmp_path / "run")
    assert run.state == "finished"
