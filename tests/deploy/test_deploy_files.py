"""The files under deploy/ name programs, flags, folders and ports that exist, and leave nothing open."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .templates import rendered

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
pytest.importorskip("flwr", reason="needs flockwise[flower]")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
CHART = DEPLOY / "helm" / "flockwise"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSED = {
    name: yaml.safe_load((DEPLOY / name).read_text()) for name in ("compose.yaml", "compose.node.yaml")
}
PAGE = (ROOT / "docs" / "flower.md").read_text(encoding="utf-8")


def charted(**changes):
    """All objects that the chart makes."""
    values = {
        name: {**part, **changes.get(name, {})} if isinstance(part, dict) else part
        for name, part in VALUES.items()
    }
    files = sorted((CHART / "templates").glob("*.yaml"))
    texts = [rendered(file.read_text(), values) for file in files]
    return [found for text in texts for found in yaml.safe_load_all(text) if found]


def containers(objects):
    pods = [
        found["spec"]["template"]["spec"]
        for found in objects
        if found["kind"] in ("StatefulSet", "Deployment")
    ]
    return [(pod, container) for pod in pods for container in pod["containers"]]


def unit_command(path):
    text = path.read_text().replace("\\\n", " ")
    return shlex.split(re.search(r"^ExecStart=(.*)$", text, flags=re.M)[1])


def commands():
    """Every command that starts something of ours or Flower's, wherever it stands."""
    for path in UNITS:
        yield path.name, unit_command(path)
    for file, content in COMPOSED.items():
        for name, service in content["services"].items():
            if "command" in service:
                yield f"{file} {name}", service["command"]
    for _, container in containers(charted(node={"enabled": True, "data": "site"}, run={"app": "clinics"})):
        words = container.get("args", [])
        if container.get("command") == ["sh", "-c"]:
            words = shlex.split(words[0].partition("&&")[0])
        if words:
            yield f"chart {container['name']}", words


COMMANDS = dict(commands())


def told_flags(program, *words):
    done = subprocess.run([BIN / program, *words, "--help"], capture_output=True, text=True, timeout=120)
    return set(re.findall(r"--[a-z][a-z-]*", done.stdout + done.stderr))


@pytest.mark.parametrize("where", COMMANDS)
def test_every_program_and_every_flag_exists(where):
    program, *words = COMMANDS[where]
    program = Path(program).name
    assert (BIN / program).exists()
    sub = [word for word in words[: 2 if words[:1] == ["flower"] else 1] if program == "flockwise"]
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags and flags <= told_flags(program, *sub), where


def test_all_parts_are_there_in_each_way_to_run_them():
    starts = {
        where: " ".join([Path(words[0]).name, *(words[1:2] if words[0].endswith("flockwise") else [])])
        for where, words in COMMANDS.items()
    }
    for way in (".service", "compose", "chart"):
        found = {start for where, start in starts.items() if way in where}
        assert {"flower-superlink", "flower-supernode", "flockwise flower", "flockwise serve"} <= found


@pytest.mark.parametrize(
    "where", [where for where, words in COMMANDS.items() if words[0].endswith("flower-superlink")]
)
def test_a_superlink_is_on_loopback_with_tls_keys_and_a_database(where):
    line = " ".join(COMMANDS[where]).replace("=", " ")
    for word in (
        "--host 127.0.0.1", "--port 8000", "--enable-supernode-auth", "--disable-runtime-dependency-installation",
        "--ssl-certfile /etc/flower/server.pem", "--ssl-keyfile /etc/flower/server.key",
        "--ssl-ca-certfile /etc/flower/ca.crt", "--database /srv/flower/state.db",
    ):  # fmt: skip
        assert word in line, word


@pytest.mark.parametrize(
    "where", [where for where, words in COMMANDS.items() if words[0].endswith("flower-supernode")]
)
def test_a_node_knows_the_server_and_shows_its_key(where):
    line = " ".join(COMMANDS[where]).replace("=", " ")
    assert "--root-certificates /etc/flower/ca.crt" in line
    assert "--auth-supernode-private-key /etc/flower/node" in line and "--host 127.0.0.1" in line


def test_nothing_is_insecure_anywhere():
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert "--insecure" not in text and "insecure = true" not in text, path
            assert "--trusted-entities" not in text and "privileged: true" not in text, path


@pytest.mark.parametrize("unit", ["flower-superlink", "flower-supernode"])
def test_units_start_what_the_page_says(unit):
    block = PAGE.partition(f"# /etc/systemd/system/{unit}.service")[2].replace("\\\n", " ")
    said = shlex.split(re.search(r"^    ExecStart=(.*)$", block, flags=re.M)[1])
    ours = [{"${SUPERLINK}": "fl.example.org:443", "${NODE_CONFIG}": "partition-id=12"}.get(w, w)
            for w in unit_command(DEPLOY / "systemd" / f"{unit}.service")]  # fmt: skip
    assert ours == said


def test_the_proxy_passes_on_what_the_page_says():
    def plain(text):
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        return [
            " ".join(line.split())
            for line in lines
            if line and not line.startswith(("listen", "server_name"))
        ]

    page = plain(
        re.sub(r"^    ", "", re.search(r"^    server \{\n(?:    .*\n)+", PAGE, flags=re.M)[0], flags=re.M)
    )
    ours = plain((DEPLOY / "nginx.conf").read_text())
    (settings,) = [found for found in charted() if found["kind"] == "ConfigMap"]
    assert ours == page == plain(settings["data"]["nginx.conf"])
    assert tomllib.loads((DEPLOY / "superlink.toml").read_text()) == tomllib.loads(
        settings["data"]["superlink.toml"]
    )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_takes_the_units(unit, tmp_path):
    for path in UNITS:  # units name each other; programs are where they are on this machine
        text = path.read_text().replace("/opt/flower/bin/f", f"{BIN}/f").replace("User=flower", "User=root")
        (tmp_path / path.name).write_text(text)
    target = tmp_path / unit.name.replace("@", "@clinics")
    if target.name != unit.name:
        shutil.copy(tmp_path / unit.name, target)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", target],
        capture_output=True,
        text=True,
        timeout=60,
    )
    about_us = [line for line in done.stderr.splitlines() if unit.name.partition("@")[0] in line]
    assert done.returncode == 0 and not about_us, done.stderr


@pytest.mark.parametrize("name", COMPOSED)
def test_compose_files_hold_together(name):
    content = COMPOSED[name]
    services, volumes = content["services"], set(content.get("volumes", {}))
    for service in services.values():
        for volume in service.get("volumes", []):
            source = re.match(r"\$\{[^}]*\}|[^:]+", volume)[0]
            assert source.startswith(("./", "${")) or source in volumes, volume
            if source.startswith("./"):
                assert (DEPLOY / source).exists(), volume
        mode = service.get("network_mode", "")
        assert not mode or mode.removeprefix("service:") in services
        assert set(service.get("depends_on", [])) <= set(services)
        if "flockwise" in service["image"]:
            assert service["read_only"] and service["cap_drop"] == ["ALL"]


def test_only_the_proxy_is_reached_from_outside():
    services = COMPOSED["compose.yaml"]["services"]
    assert services["superlink"]["ports"] == ["443:8443", "127.0.0.1:8080:8080"]
    assert not any("ports" in service for name, service in services.items() if name != "superlink")
    outside = {port["targetPort"]: found["spec"]["type"] for found in charted() if found["kind"] == "Service"
               for port in found["spec"]["ports"]}  # fmt: skip
    assert outside == {8443: "LoadBalancer", 8080: "ClusterIP"}


def test_the_chart_holds_together():
    for changes in (
        {},
        {"run": {"app": "clinics"}},
        {"node": {"enabled": True, "data": "site"}},
        {"server": {"enabled": False}},
    ):
        objects = charted(**changes)
        labels = [
            found["spec"]["template"]["metadata"]["labels"]
            for found in objects
            if "template" in found.get("spec", {})
        ]
        for found in objects:
            assert found["apiVersion"] and found["metadata"]["name"].startswith("fl-")
            if found["kind"] == "Service":
                assert found["spec"]["selector"] in labels
            if "template" in found.get("spec", {}):
                assert found["spec"]["selector"]["matchLabels"] in labels
        claims = {
            c["metadata"]["name"] for o in objects for c in o.get("spec", {}).get("volumeClaimTemplates", [])
        }
        for pod, container in containers(objects):
            volumes = {volume["name"] for volume in pod["volumes"]} | claims
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert pod["securityContext"]["runAsNonRoot"] and pod["automountServiceAccountToken"] is False
            probe = container.get("livenessProbe", container.get("readinessProbe"))
            if probe:
                (action,) = probe.values()
                assert {"containerPort": action["port"]} in container["ports"]


def test_the_chart_uses_every_value_and_has_every_value_it_uses():
    text = "".join(file.read_text() for file in (CHART / "templates").glob("*.yaml"))
    used = set(re.findall(r"\.Values\.([A-Za-z.]+)", text))
    there = {f"{name}.{key}" for name, part in VALUES.items() if isinstance(part, dict) for key in part}
    assert used == there | {name for name, part in VALUES.items() if not isinstance(part, dict)}


def test_the_chart_is_of_this_release():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version and VALUES["image"].endswith(f":{version}")


def test_the_image_is_made_of_what_is_there_and_not_run_by_root():
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith(("#", " "))]
    for _, copied in (step for step in steps if step[0] == "COPY" and not step[1].startswith("--from")):
        for source in copied.split()[:-1]:
            assert (ROOT / source).exists(), source
    extras = set(re.search(r"\.\[([a-z,]+)\]", " ".join(lines))[1].split(","))
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras <= set(known)
    users = [words for name, words in steps if name == "USER"]
    assert users == ["10001"] and steps[-1][0] == "CMD"


def test_what_this_renders_is_all_that_the_chart_needs():
    with pytest.raises(AssertionError):
        rendered("{{ .Values.a | nindent 4 }}", {"a": 1})
    with pytest.raises(KeyError):
        rendered("{{ .Values.b }}", {"a": 1})
    assert rendered("x{{- if .Values.a }} y {{ .Values.a | quote }}{{- end }}", {"a": "1"}) == 'x y "1"'
