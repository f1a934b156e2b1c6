"""What a config would understand, `run` understands too; anything else is one line."""

import numpy as np
import pytest

import flockwise as fw
from flockwise.errors import FlockwiseError, InputError


def clients() -> fw.Federation:
    rng = np.random.default_rng(0)
    shards = [(rng.normal(size=(20, 3)), np.arange(20) % 2) for _ in range(4)]
    return fw.Federation.from_arrays(shards, names=["north", "south", "east", "west"])


def run(tmp_path, **said) -> fw.Run:
    return fw.run(
        fw.fedavg(), clients(), **{"model": "softmax", "rounds": 1, "out": tmp_path / "run", **said}
    )


def test_model_training_and_attack_may_be_said_as_in_a_config(tmp_path):
    done = run(tmp_path, training={"epochs": 2}, attack={"name": "reverse", "clients": 1})
    assert done.config["model"]["name"] == "softmax" and done.config["training"]["epochs"] == 2
    assert done.config["attack"]["name"] == "reverse" and done.client_column("attacker").sum() == 1


def test_a_config_takes_them_too(tmp_path):
    content = {"rounds": 1, "split": {"clients": 4}, "training": {"epochs": 3, "learning_rate": 0.2}}
    done = fw.run(content, model="softmax", training={"epochs": 2}, out=tmp_path / "run")
    assert done.config["training"]["epochs"] == 2 and done.config["training"]["learning_rate"] == 0.2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"attack": "reverse"}, "attack.clients = 0: nobody would attack; say how many do"),
        ({"attack": 3}, r"attack = 3: must be an attack such as fw.attacks.reverse\(clients=2\)"),
        ({"training": 5}, r"training = 5: must be a recipe such as fw.SGD\(epochs=2\)"),
        ({"training": "sgd"}, "training = 'sgd': must be a recipe such as"),
        ({"training": {"epoch": 2}}, "training.epoch = 2: unknown key; did you mean 'epochs'"),
        ({"model": "softmx"}, "no 'softmx'; did you mean 'softmax'"),
        ({"model": 7}, "model = 7: must be a module, a function that makes one, or a name"),
    ],
)
def test_what_nobody_understands_is_a_line(tmp_path, said, told):
    with pytest.raises(FlockwiseError, match=told) as error:
        run(tmp_path, **said)
    assert len(str(error.value).splitlines()) == 1


def test_a_method_by_name_says_how_it_is_called():
    with pytest.raises(
        InputError, match=r"there is no file of that name; for the method say fw.strategies.fedavg\(\)"
    ):
        fw.run("fedavg", clients())


def test_a_client_may_be_said_by_its_name(tmp_path):
    done = run(tmp_path, rounds=1)
    for said in ("south", 1, np.int64(1), "1"):
        assert all(map(np.array_equal, *(
            [tensor.numpy() for tensor in done.model(client=one).state_dict().values()] for one in (said, 1)
        )))  # fmt: skip
    assert len(done.predict(np.zeros((2, 3), np.float32), client="south").labels) == 2
    assert done.save_model(tmp_path / "model.safetensors", client="south").exists()
    with pytest.raises(InputError, match="sowth: no client is called so; did you mean 'south'"):
        done.model(client="sowth")


@pytest.mark.parametrize("make", [fw.SGD, fw.Adam, fw.AdamW])
def test_a_recipe_knows_all_of_its_options(make):
    with pytest.raises(InputError, match="lr: unknown; did you mean 'learning_rate'"):
        make(lr=0.1)
    with pytest.raises(InputError, match="epoch: unknown; did you mean 'epochs'"):
        make(epoch=1)
    with pytest.raises(InputError, match=r"known are .*learning_rate.*weight_decay"):
        make(zzzzzz=1)
