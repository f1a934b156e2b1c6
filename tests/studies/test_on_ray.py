"""A study on a Ray cluster of several nodes on this machine, one of which is killed in the middle."""

import pytest

from flockwise.errors import ConfigError
from flockwise.studies import Study

from ..machines.clusters import ended, started

ray = pytest.importorskip("ray")

FILE = {
    "name": "far", "seeds": 3,
    "base": {"rounds": 3, "split": {"name": "label_swap", "clients": 6, "groups": 2}},
    "vary": {"rule": {"mean": {}, "median": {"aggregation": {"name": "median"}}}},
}  # fmt: skip


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    made = started(2)
    yield made, list(made.worker_nodes)
    ended(made)


@pytest.mark.extended
@pytest.mark.filterwarnings(
    "ignore"
)  # Ray leaves files open when it starts nodes, and warns of its own future
def test_a_node_that_dies_in_the_middle_loses_nothing(cluster, tmp_path):
    made, nodes = cluster
    here, there = Study(FILE, out=tmp_path / "here"), Study(FILE, out=tmp_path / "there")
    here.carry_out(jobs=1)
    killed: list[object] = []

    def kill_one(told) -> None:
        if not killed:
            killed.append(nodes[0])
            made.remove_node(nodes[0], allow_graceful=False)

    assert there.carry_out(ray=made.address, watch=kill_one)
    assert killed and not there.missing and not there.failed
    assert {r.key: r.curves for r in there.results} == {r.key: r.curves for r in here.results}


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^--ray 127\.0\.0\.1:1: no cluster answers there: Connection refused$"
    ):
        Study(FILE, out=tmp_path).carry_out(ray="127.0.0.1:1")
