"""Fail if the wheel lacks a file of the package, or a kind of file that only a wheel could lose unnoticed.

python .ci/wheel_content.py dist/flockwise-*.whl
"""

import sys
from collections import Counter
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

SOURCE = Path(__file__).parents[1] / "src"
KINDS = (".py", ".js", ".html", ".css", ".toml", ".cpp", ".h", ".typed", ".json")
PRODUCTS = ("__pycache__", ".so")


def main(wheel: Path) -> None:
    """Compare the wheel with the tree it was made from."""
    inside = {name for name in ZipFile(wheel).namelist() if not name.endswith("/")}
    files = (
        file.relative_to(SOURCE).as_posix() for file in (SOURCE / "flockwise").rglob("*") if file.is_file()
    )
    missing = sorted(
        name for name in files if not any(one in name for one in PRODUCTS) and name not in inside
    )
    counts = Counter(PurePosixPath(name).suffix for name in inside if name.startswith("flockwise/"))
    missing += [f"any {kind} file" for kind in KINDS if not counts[kind]]
    if missing:
        raise SystemExit("the wheel lacks " + ", ".join(missing))
    told = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
    sys.stdout.write(f"{wheel.name} holds every file of the package: {told}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
