"""Print a constraints file that holds every dependency to the lowest version pyproject.toml allows.

    python .ci/lowest_versions.py > lowest.txt

torch alone keeps the pin of constraints.txt: its old CPU builds are not where packages come from by default, and the
ordinary ones of that age bring gigabytes of CUDA.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ("torch",)
REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)(\[[\w,-]+\])?\s*>=\s*(?P<lowest>[\w.]+)")


def main() -> None:
    """Print one line for each dependency, of the package and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    lines = {_line(one) for one in wanted if not one.startswith("flockwise[")}
    sys.stdout.write("".join(f"{line}\n" for line in sorted(lines)))


def _line(requirement: str) -> str:
    found = REQUIREMENT.match(requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r}: has no lower bound; write name>=version")
    name, lowest = found["name"], found["lowest"]
    if name not in KEPT:
        return f"{name}=={lowest}"
    sys.stderr.write(f"{name}: the lower bound {lowest} is not tried; constraints.txt's pin is used\n")
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    return next(pin for pin in pins if pin.startswith(f"{name}=="))


if __name__ == "__main__":
    main()
