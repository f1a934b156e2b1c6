"""Models of which only a part trains: the rest is the same everywhere, is not sent, and is on record."""

import numpy as np
import pytest
import torch
from torch import nn

import flockwise as fw
from flockwise.errors import InputError

CLIENTS = fw.splits.iid(fw.data.digits(), clients=4, samples=80, test=20)


def _net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10)
    )  # fmt: skip


def _run(tmp_path, net, name="run", **more):
    training = fw.SGD(epochs=2, learning_rate=0.1)
    return fw.run(fw.fedavg(), CLIENTS, model=net, training=training, rounds=3, out=tmp_path / name, **more)


def test_only_what_trains_is_sent_and_the_rest_never_moves(tmp_path):
    net = _net()
    run = _run(tmp_path, net, trains=["4.*"])
    assert run.checkpoint()["models"].shape == (1, 330)
    assert run.config["model"]["trains"] == ["4.*"]
    trained = run.model(module=_net(seed=1))  # of the architecture; what is fixed comes from the record
    for name, tensor in net.state_dict().items():
        assert torch.equal(trained.state_dict()[name], tensor) == (not name.startswith("4."))
    assert run.facts["accuracy"][-1] > run.facts["accuracy"][0]
    x, y = (torch.from_numpy(part) for part in CLIENTS.arrays(0, "test"))
    guessed = trained.eval()(x.permute(0, 3, 1, 2)).argmax(1)
    assert float((guessed == y).float().mean()) == pytest.approx(run.array("accuracy")[1][-1][0])


def test_what_is_fixed_must_be_the_same_to_go_on(tmp_path):
    run = _run(tmp_path, _net(), trains=["4.*"])
    with pytest.raises(InputError, match="are not those that this run began with"):
        fw.resume(run.path, clients=CLIENTS, model=_net(seed=1), rounds=4)
    again = fw.resume(run.path, clients=CLIENTS, model=_net(), rounds=4)
    assert len(again.rounds) == 4


def test_a_frozen_body_a_shared_middle_and_own_heads_go_together(tmp_path):
    net = _net()
    run = _run(tmp_path, net, trains=["2.*", "4.*"], travels=["2.*"])
    assert run.checkpoint()["models"].shape == (1, 4 * 32)
    heads = [run.model(client, module=_net()).state_dict()["4.weight"] for client in (0, 1)]
    assert not torch.equal(*heads)
    one = run.model(0, module=_net(seed=1)).state_dict()
    assert torch.equal(one["1.weight"], net.state_dict()["1.weight"])


def test_any_number_of_workers_gives_the_same_bits(tmp_path):
    runs = [
        _run(tmp_path, _net(), str(workers), trains=["4.*"], engine=fw.Local(workers)) for workers in (1, 2)
    ]
    np.testing.assert_array_equal(*(run.checkpoint()["models"] for run in runs))


@pytest.mark.parametrize(
    "more, match",
    [
        ({"trains": ["5.*"]}, r"model\.trains = '5\.\*': no tensor is called so"),
        ({"trains": ["2.running_mean"]}, "no parameter that can be trained"),
    ],
)
def test_masks_that_leave_nothing_to_learn_are_refused(more, match, tmp_path):
    with pytest.raises(InputError, match=match):
        _run(tmp_path, _net(), **more)
