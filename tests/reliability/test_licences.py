"""What is installed with Flockwise may be used with it: no copyleft among the packages that the core needs."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires

from packaging.requirements import Requirement

from tests.conftest import Cases

COPYLEFT = re.compile(r"\b(A?GPL|GNU (Affero )?General Public|SSPL|EUPL|CC[- ]BY[- ]NC)", re.IGNORECASE)
LESSER = re.compile(r"\b(LGPL|Lesser General Public)", re.IGNORECASE)  # may be linked with


def core() -> dict[str, Distribution]:
    """The packages that an installation without extras needs, as far as they are here."""
    found: dict[str, Distribution] = {}
    waiting = ["flockwise"]
    while waiting:
        for line in requires(waiting.pop()) or []:
            need = Requirement(line)
            if need.marker is not None and not need.marker.evaluate({"extra": ""}):
                continue
            try:
                package = distribution(need.name)
            except PackageNotFoundError:
                continue  # torch's own build for processors has none of those for graphics cards
            if need.name not in found:
                found[need.name] = package
                waiting.append(need.name)
    return found


def licence(package: Distribution) -> str:
    """What a package says of its licence: its field, its classifiers, the first lines of its text."""
    about = package.metadata
    said = [about.get("License-Expression") or "", (about.get("License") or "")[:200]]
    said += [line for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    return "\n".join(filter(None, said))


def test_no_package_of_the_core_is_copyleft(cases: Cases) -> None:
    found = core()
    cases.count(len(found))
    assert {"numpy", "torch", "scipy", "pydantic", "click"} <= set(found)
    for name, package in found.items():
        said = licence(package)
        assert said, f"{name} does not say what its licence is"
        assert not COPYLEFT.search(LESSER.sub("", said)), f"{name}: {said}"


def test_a_copyleft_licence_would_be_seen() -> None:
    for text in (
        "GPL-3.0-only",
        "License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
        "AGPL-3.0",
    ):
        assert COPYLEFT.search(LESSER.sub("", text))
    assert not COPYLEFT.search(LESSER.sub("", "LGPL-2.1")) and not COPYLEFT.search("Apache-2.0")
