from flockwise.studies.cells import cells_of
from flockwise.studies.estimate import estimate
from flockwise.studies.file import read_study


def _disk(rounds):
    """What a study of one cell of FLIC, whose checkpoints hold every client's update, is said to take."""
    content = {
        "base": {
            "rounds": rounds, "split": {"clients": 10}, "model": {"name": "mlp", "hidden": 64},
            "strategy": {"name": "flic", "warmup": 5000},
        },
        "vary": {"rule": {"mean": {}}},
    }  # fmt: skip
    return estimate(cells_of(read_study(content)), [], 1, None).disk


def test_checkpoints_take_no_more_disk_in_a_longer_run():
    few, many = _disk(10), _disk(1000)
    checkpoint = few / 4  # two are kept, one is being written, and there is the record
    assert checkpoint > 300_000
    assert many - few < 990 * checkpoint / 4  # the record alone grows, not a checkpoint for each round
