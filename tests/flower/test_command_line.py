"""flockwise flower, and what happens where Flower is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.errors import EngineError, InputError


def test_the_command_line_loads_no_flower_before_it_is_asked_for():
    code = (
        "import sys; import flockwise.cli.flower, flockwise.flower, flockwise.runs; "
        "sys.exit('flwr' in sys.modules or 'ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_flower_the_message_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['flwr'] = None\n"
        "import flockwise.flower\n"
        "try: flockwise.flower.Flocks\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("EngineError") and "flockwise[flower]" in done.stdout


def test_down_without_up_is_no_error(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    shown = CliRunner().invoke(app, ["flower", "down", "--folder", str(tmp_path / "nothing")])
    assert shown.exit_code == 0 and "nothing was running" in shown.output


def test_up_does_not_overwrite_a_folder_that_is_not_its_own(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    (tmp_path / "precious").write_text("mine")
    shown = CliRunner().invoke(app, ["flower", "up", "--folder", str(tmp_path)])
    assert isinstance(shown.exception, InputError) and (tmp_path / "precious").read_text() == "mine"


def test_up_removes_only_what_it_made(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    from flockwise.flower.deployment import Deployment

    for name in ("flwr", "keys", "logs", "runs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    for name in ("ca.crt", "server.key", "state.db", "state.db-wal", "processes.json"):
        (tmp_path / name).write_text("{}")
    Deployment(tmp_path)._clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys", "runs"]


def test_options_that_a_superlink_cannot_heed_are_refused(tmp_path):
    (tmp_path / "my.toml").write_text('[engine]\nname = "flower"\nsuperlink = "far-away"\n')
    shown = CliRunner().invoke(
        app, ["run", str(tmp_path / "my.toml"), "--quiet"], env={"FLOCKWISE_DATA": "x"}
    )
    assert shown.exit_code == 2 and "--quiet has no meaning on a SuperLink" in shown.output


def test_a_config_of_a_superlink_is_not_simulated_by_mistake(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    import flockwise

    config = {"engine": {"name": "flower", "superlink": "far-away"}, "split": {"clients": 2}}
    with pytest.raises(EngineError, match="--superlink far-away"):
        flockwise.run(config, out=tmp_path / "run")


def test_certificates_are_for_loopback_and_secrets_for_their_owner(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    import ssl

    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

    from flockwise.flower.certificates import make_certificates, make_node_key

    make_certificates(tmp_path)
    make_node_key(tmp_path / "node")
    authority, server = (
        x509.load_pem_x509_certificate((tmp_path / n).read_bytes()) for n in ("ca.crt", "server.pem")
    )
    server.verify_directly_issued_by(authority)
    ssl.create_default_context().load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert str(names.get_values_for_type(x509.IPAddress)[0]) == "127.0.0.1"
    private = load_ssh_private_key((tmp_path / "node").read_bytes(), None)
    public = load_ssh_public_key((tmp_path / "node.pub").read_bytes())
    assert private.public_key().public_numbers() == public.public_numbers()
    assert all(path.stat().st_mode & 0o077 == 0 for path in Path(tmp_path).iterdir())
    with pytest.raises(FileExistsError):
        make_node_key(tmp_path / "node")


def test_certificates_are_made_for_the_names_that_nodes_use_and_never_overwritten(tmp_path):
    pytest.importorskip("flwr", reason="needs flockwise[flower]")
    from cryptography import x509

    words = [
        "flower",
        "certificates",
        str(tmp_path / "etc"),
        "--name",
        "fl.example.org",
        "--name",
        "10.0.0.7",
    ]
    assert CliRunner().invoke(app, [*words, "--days", "90"]).exit_code == 0
    server = x509.load_pem_x509_certificate((tmp_path / "etc" / "server.pem").read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "fl.example.org"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "10.0.0.7"]
    assert (server.not_valid_after_utc - server.not_valid_before_utc).days == 90
    assert sorted(path.name for path in (tmp_path / "etc").iterdir()) == [
        "ca.crt",
        "server.key",
        "server.pem",
    ]
    before = (tmp_path / "etc" / "server.key").read_bytes()
    again = CliRunner().invoke(app, words)
    assert isinstance(again.exception, InputError) and "would be overwritten" in str(again.exception)
    assert (tmp_path / "etc" / "server.key").read_bytes() == before
