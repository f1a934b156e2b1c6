"""Imports point one way: each layer knows only the layers before it."""

import ast
from pathlib import Path

import flockwise

# From the bottom; what lies side by side does not know each other. docs/architecture.md shows this table.
LAYERS = [
    {"errors"},
    {"rng", "types", "native", "terminal", "numbers", "scoring"},
    {"plugins", "kernels", "pictures", "notes"},
    {"options"},
    {"registry", "messages"},
    {"aggregation", "similarity", "clustering", "attacks", "metrics", "models", "data", "schedules", "tasks"},
    {"splits", "stages", "training"},
    {"server"},
    {"strategies"},
    {"config"},
    {"store"},
    {"engine"},
    {"report", "export"},
    {"runs"},
    {"flower", "machines", "dashboard", "trackers", "studies"},
    {"papers", "testing"},
    {"cli"},
    {"__main__", "__init__"},
]
PURE = {"errors", "rng", "types", "numbers", "scoring", "messages", "notes", "options", "registry", "plugins", "kernels",
        "aggregation", "similarity", "clustering", "attacks", "metrics", "schedules", "stages", "server",
        "strategies"}  # fmt: skip
SOURCE = Path(flockwise.__file__).parent


def _part(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def _imports() -> list[tuple[str, str, str]]:
    """(file, its part, imported module) for every import that runs when the file is imported or used."""
    found = []
    for file in SOURCE.rglob("*.py"):
        relative = file.relative_to(SOURCE)
        part = relative.parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.append((str(relative), part, node.module))
            elif isinstance(node, ast.Import):
                found += [(str(relative), part, alias.name) for alias in node.names]
    return found


def test_every_part_has_a_layer() -> None:
    known = set().union(*LAYERS)
    parts = {part for _, part, _ in _imports()}
    assert parts <= known


def test_no_part_imports_upwards_or_sideways() -> None:
    height = {part: level for level, layer in enumerate(LAYERS) for part in layer}
    wrong = [
        f"{file} imports {module}"
        for file, part, module in _imports()
        if module.startswith("flockwise.") and _part(module) != part and height[_part(module)] >= height[part]
    ]
    assert not wrong


def test_the_methods_know_no_engine() -> None:
    outside = {"torch", "flwr", "sqlite3", "time", "os", "pathlib", "click", "rich", "safetensors"}
    allowed = {
        ("plugins.py", "pathlib"),
        ("schedules/contract.py", "pathlib"),
        ("strategies/finding.py", "pathlib"),
        ("kernels/parallel.py", "os"),
    }
    wrong = [
        f"{file} imports {module}"
        for file, part, module in _imports()
        if part in PURE and module.split(".")[0] in outside and (file, module.split(".")[0]) not in allowed
    ]
    assert not wrong


def test_nothing_is_unpickled_or_evaluated() -> None:
    banned = {"pickle", "dill", "marshal", "shelve"}
    wrong = [f"{file} imports {module}" for file, _, module in _imports() if module.split(".")[0] in banned]
    calls = {"eval", "exec"}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                if name in calls or ast.unparse(node.func) == "torch.load":
                    wrong.append(f"{file.name} calls {ast.unparse(node.func)}")
    assert not wrong


def test_everything_public_is_there() -> None:
    for name in flockwise.__all__:
        assert getattr(flockwise, name) is not None
