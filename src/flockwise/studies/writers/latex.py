"""A table as LaTeX with booktabs, ready to be put into a paper by \\input."""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from flockwise.studies.notes import notes_of
from flockwise.studies.showing import digits_of, mean_text, row_name, shortfall
from flockwise.studies.table import Column, StudyTable
from flockwise.terminal import printable

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "±": r"$\pm$",
    "[": "{[}", "*": "{*}",  # at the start of a row they would belong to the row before
}  # fmt: skip
_WRAPS = {"best": r"\textbf{%s}", "tied": r"\textit{%s}", "": "%s"}


def latex_table(table: StudyTable) -> str:
    """A table environment with caption, label and the notes below."""
    digits = [digits_of(table, place) for place in range(len(table.columns))]
    body = []
    for labels, row in zip(table.rows, table.entries, strict=True):
        texts = []
        for place, entry in enumerate(row):
            mean, lacks = plain(mean_text(entry, digits[place])), plain(shortfall(entry))
            texts.append((_WRAPS[entry.mark] % mean if mean else "") + (rf" \tiny({lacks})" if lacks else ""))
        body.append(" & ".join([plain(row_name(labels)), *texts]) + r" \\")
    notes = [rf"  \par\footnotesize {plain(note)}" for note in notes_of(table)]
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in table.called.lower())
    return "\n".join([
        r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}, \usepackage{textcomp}", r"\begin{table}",
        r"  \centering", rf"  \caption{{{plain(table.called)}}}", rf"  \label{{tab:{label}}}",
        rf"  \begin{{tabular}}{{l{'r' * len(table.columns)}}}", r"    \toprule", *(f"    {line}" for line in _head(table)),
        r"    \midrule", *(f"    {line}" for line in body), r"    \bottomrule", r"  \end{tabular}", *notes,
        r"\end{table}", "",
    ])  # fmt: skip


def _head(table: StudyTable) -> list[str]:
    """A line for each column axis, with neighbours of one label under a common rule, and one for the numbers."""
    depth = len(table.column_axes)
    lines = []
    for level in range(depth):
        lines += _spanned(
            [(*column.labels[: level + 1], column.worst) for column in table.columns], level, table
        )
    if len(table.numbers) > 1 or not depth:
        lines.append(" & ".join(["", *(plain(column.title) for column in table.columns)]) + r" \\")
    first = plain(", ".join(table.row_axes))
    lines[-1] = first + lines[-1]
    return lines


def _spanned(keys: Sequence[tuple[str, ...]], level: int, table: StudyTable) -> list[str]:
    parts, rules, start = [], [], 2
    for _, group in groupby(range(len(keys)), key=lambda place: keys[place]):
        places = list(group)
        said = plain(_said(table.columns[places[0]], level, table))
        parts.append(said if len(places) == 1 else rf"\multicolumn{{{len(places)}}}{{c}}{{{said}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + len(places) - 1}}}" if len(places) > 1 else "")
        start += len(places)
    line = " & ".join(["", *parts]) + r" \\"
    return [line + "".join(rules)]


def _said(column: Column, level: int, table: StudyTable) -> str:
    here = column.worst and table.column_axes[level] == column.worst
    return f"worst {column.worst}" if here else column.labels[level]


def plain(words: str) -> str:
    """A text that LaTeX sets as it is: nothing in it is a command. What pdfLaTeX cannot set is spelled by its name."""
    return "".join(_ESCAPES.get(sign) or _known(sign) for sign in printable(words))


def _known(sign: str) -> str:
    if ord(sign) < 0x17F or sign in "‘’“”–—…€":
        return sign
    return "{[}" + unicodedata.name(sign, f"U+{ord(sign):04X}").lower() + "]"
