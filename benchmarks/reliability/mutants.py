"""Mutants of a Python file: each is the file with one small fault in it, of the kinds that people make.

Comparisons moved by one or turned round, sums and products changed, `and` for `or`, a `not` left out, numbers off by one,
conditions turned round, results forgotten. Texts, annotations and names are left alone.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
_SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed file: where, what stood there and what stands there now."""

    line: int
    before: str
    after: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The change in a line."""
        return f"{self.before} -> {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a file, in order of their lines."""
    whole = ast.parse(source)
    for number, node in enumerate(_places(whole)):
        for change in _changes(node):
            tree = copy.deepcopy(whole)
            place = list(_places(tree))[number]
            before = ast.unparse(place)
            after = change(place)
            ast.fix_missing_locations(tree)
            yield Mutant(place.lineno, _short(before), _short(after), tree)


def _places(tree: ast.Module) -> list[ast.expr | ast.stmt]:
    """What may be changed: what is worked out, not what is said or annotated."""
    found: list[ast.expr | ast.stmt] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                visit(node.value)
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body):
                visit(part)
            return
        if isinstance(node, ast.expr | ast.stmt):
            found.append(node)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in tree.body:
        visit(statement)
    return found


def _changes(node: ast.AST) -> Iterator["Change"]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield Change("ops", other(), place)
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        if type(node.op) in _SUMS:
            yield Change("op", _SUMS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield Change("op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield Change("op", ast.UAdd() if not isinstance(node.op, ast.Not) else ast.Not(), drop=True)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield Change("value", not node.value)
        elif isinstance(node.value, int | float):
            yield Change("value", node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.5)
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield Change("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and node.value is not None and not _says_no(node.value):
        yield Change("value", ast.Constant(None))
    elif isinstance(node, ast.Break | ast.Continue):
        yield Change("", None, swap=True)


@dataclass(frozen=True)
class Change:
    """One change of a node; called, it makes it and says what stands there now."""

    part: str
    other: object
    place: int | None = None
    drop: bool = False  # what an operator does to its operand is left out
    swap: bool = False  # break for continue

    def __call__(self, node: ast.AST) -> str:
        """Change the node where it stands."""
        if self.swap:
            node.__class__ = ast.Continue if isinstance(node, ast.Break) else ast.Break  # type: ignore[assignment]
        elif self.drop:
            assert isinstance(node, ast.UnaryOp)
            operand = node.operand
            node.__dict__.clear()
            node.__class__ = type(operand)  # type: ignore[assignment]
            node.__dict__.update(operand.__dict__)
        elif self.place is not None:
            getattr(node, self.part)[self.place] = self.other
        else:
            setattr(node, self.part, self.other)
        ast.fix_missing_locations(node)
        return ast.unparse(node)


def _says_no(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value  # whoever asks takes None for it


def _short(text: str) -> str:
    return " ".join(text.split())[:160]
