"""Three impostors at a deployment: a key nobody registered, another node's id, and plain text."""

import contextlib

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.flower import Flocks
from flockwise.flower import flocks as flocks_module
from flockwise.flower.certificates import make_node_key
from flockwise.flower.command import NODES, PLAIN_TEXT, flwr, is_insecure, program
from flockwise.flower.deployment import HOST, NAME, Deployment, _free_port
from flockwise.flower.internals import is_plain
from tests.flower import client_apps as apps
from tests.flower.fake_grid import FakeGrid, FakeNode


def check_a_key_that_nobody_registered_is_refused(deployment, folder):
    make_node_key(folder / "stranger")
    deployment._spawn("stranger", [
        program("flower-supernode"), "--superlink", f"{HOST}:{deployment.address_port()}", "--root-certificates",
        str(deployment.folder / "ca.crt"), "--auth-supernode-private-key", str(folder / "stranger"), "--host", HOST,
        "--port", str(_free_port()),
    ])  # fmt: skip
    code = deployment._children[-1].wait(timeout=300)
    told = (deployment.folder / "logs" / "stranger.log").read_text(errors="replace")
    assert code != 0 and "Failed to" in told, told
    assert deployment.online() == 1


def fleet_client(deployment, number):
    """Flower's own client of the interface for nodes, with the key of a registered node."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    key = load_ssh_private_key((deployment.folder / "keys" / f"node-{number}").read_bytes(), None)
    return FleetHttpClient.from_server_address(
        server_address=f"{HOST}:{deployment.address_port()}",
        insecure=False,
        root_certificates=(deployment.folder / "ca.crt").read_bytes(),
        interceptors=[NodeAuthHttpInterceptor(key, key.public_key())],
    )


def check_another_nodes_id_is_refused(deployment, folder):
    from flwr.proto.fleet_pb2 import PullMessagesRequest
    from flwr.proto.node_pb2 import Node

    def numbers():
        return {int(node["node-id"]) for node in flwr("supernode", "list", NAME, home=deployment.home)[NODES]}

    def asks(client, number):
        with contextlib.closing(fleet_client(deployment, client)) as asking:
            return asking.PullMessages(PullMessagesRequest(node=Node(node_id=number)))

    (own,), key = numbers(), deployment.folder / "keys" / "node-1"
    make_node_key(key)
    flwr("supernode", "register", f"{key}.pub", NAME, "--name", "node-1", home=deployment.home)
    (other,) = numbers() - {own}
    asks(0, own)  # with its own number it is let in
    for client, number in ((0, other), (1, own)):
        with pytest.raises(Exception, match=r"(?i)unauth|permission|denied|forbidden|401|403"):
            asks(client, number)


@pytest.mark.slow
def test_two_impostors_are_kept_out_of_a_deployment(tmp_path):
    deployment = Deployment(tmp_path / "deployment")
    deployment.up(1, wait=300)
    try:
        check_a_key_that_nobody_registered_is_refused(deployment, tmp_path)
        check_another_nodes_id_is_refused(deployment, tmp_path)
    finally:
        deployment.down()


def test_plain_text_in_the_config_of_whoever_submits_is_a_loud_warning(tmp_path, monkeypatch):
    from flockwise.errors import EngineError
    from flockwise.flower import supervise, supervisor

    (tmp_path / "config.toml").write_text(
        '[superlink.bare]\naddress = "127.0.0.1:8000"\ninsecure = true\n[superlink.safe]\naddress = "127.0.0.1:8000"\n'
        'root-certificates = "/etc/flower/ca.crt"\n'
    )
    assert (
        is_insecure("bare", tmp_path)
        and not is_insecure("safe", tmp_path)
        and not is_insecure("other", tmp_path)
    )
    assert not is_insecure("bare", tmp_path / "nowhere")

    def nobody(*words, home=None):
        raise EngineError("flwr: no connection")

    monkeypatch.setattr(supervisor, "flwr", nobody)
    for superlink, warned in (("bare", [PLAIN_TEXT]), ("safe", [])):
        said = []
        with pytest.raises(EngineError):
            supervise(tmp_path, superlink, tmp_path / "run", home=tmp_path, say=said.append)
        assert said == warned
    assert PLAIN_TEXT.startswith("WARNING") and "\n" not in PLAIN_TEXT


def test_plain_text_between_server_and_superlink_is_a_loud_warning(tmp_path, monkeypatch):
    from flwr.superlink.grid.http_grid import HttpGrid

    assert is_plain(HttpGrid("127.0.0.1:1", insecure=True, token="x"))
    assert not is_plain(HttpGrid("127.0.0.1:1", root_certificates=b"x", token="x"))
    lines = []
    monkeypatch.setattr(flocks_module, "log", lambda level, text, *parts: lines.append(text % parts))
    for plain in (True, False):
        grid = FakeGrid([FakeNode(p, apps.numpy_app) for p in range(2)])
        grid._insecure = plain
        lines.clear()
        Flocks("fedavg", clients=2, run=tmp_path / str(plain), evaluate_every=0).start(
            grid, apps.numpy_start(), 1
        )
        assert any(PLAIN_TEXT in line for line in lines) == plain
