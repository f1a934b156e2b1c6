import csv
import io
import re
import shutil
import subprocess

import pytest
from rich.console import Console

from flockwise.studies.cells import cells_of
from flockwise.studies.entry import Entry
from flockwise.studies.outputs import write_outputs
from flockwise.studies.showing import mean_text
from flockwise.studies.writers.csv import csv_table
from flockwise.studies.writers.latex import latex_table
from flockwise.studies.writers.latex import plain as latex_plain
from flockwise.studies.writers.markdown import markdown_table
from flockwise.studies.writers.terminal import terminal_table
from tests.studies.made_up import by_method, result_of, study_of, table_of

HOSTILE = [
    "<script>alert(1)</script>", "\\input{/etc/passwd}", "=1+1", "\x1b[2Jgone", "[red]red[/red]", "a|b", "$x_1^2$ & 5 % #",
    "[a](javascript:alert(1))", "**bold**", "’ünï©ødé 雪", "line\nbreak", "~~{}~~",
]  # fmt: skip


def hostile():
    study = study_of({"method": HOSTILE, "attack": HOSTILE[:3]}, 2, title=HOSTILE[0] + HOSTILE[1])
    return table_of(
        study,
        lambda labels, seed: (
            HOSTILE[1] + HOSTILE[3]
            if labels["method"] == "a|b"
            else {"accuracy": len(labels["method"]) / 50 + seed / 100}
        ),
    )


def terminal(table, width=200):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard")
    console.print(terminal_table(table))
    return console.file.getvalue()


def test_the_terminal_shows_means_marks_and_notes():
    shown = terminal(by_method({"a": [0.9, 0.91, 0.9], "b": [0.89, 0.92, 0.88], "c": [0.1, 0.1, 0.12]}))
    assert "0.903 ± 0.014*" in shown and "~" in shown and "best mean of its column" in shown


NUMBERS = ["accuracy", "accuracy_worst_group", "ari"]


def wide_table(settings=3, **more):
    study = study_of(
        {"method": ["FedAvg", "a method with a name that is much too long for any column of a table"],
         "attack": [f"attack {number}" for number in range(settings)]},
        show={"numbers": NUMBERS, **more},
    )  # fmt: skip
    return table_of(study, lambda labels, seed: dict.fromkeys(NUMBERS, 0.539 + seed / 1000))


@pytest.mark.parametrize(("width", "numbers"), [(40, 1), (60, 1), (80, 3), (120, 3), (200, 3)])
def test_no_number_is_broken_however_narrow_the_terminal(width, numbers):
    shown = terminal(wide_table(), width)
    assert shown.count("0.540 ± 0.002") == 2 * 3 * numbers  # every entry, whole
    assert all(len(line) <= width for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines())


def test_numbers_of_one_setting_stay_together():
    lines = terminal(wide_table(), 80).splitlines()
    heads = [line for line in lines if "attack" in line and "ARI" in line]
    assert len(heads) == 3  # a part for each attack


def test_of_too_many_columns_the_first_number_is_shown_and_the_page_named():
    shown = terminal(wide_table(30), 80)
    assert "attack 0" in shown and "columns are too many for here: the page has them all" in shown
    assert shown.count("0.540 ± 0.002") > 20 and "ARI" not in shown.partition("too many")[0]


def test_a_mean_of_millions_and_its_interval_have_the_same_power_of_ten():
    entry = Entry({0: 391_400_000.0, 1: 396_100_000.0, 2: 400_800_000.0})
    assert mean_text(entry, 0) == "3.961e+08 ± 0.117e+08"
    assert mean_text(Entry({0: 396_100_000.0}), 0) == "3.961e+08"
    assert mean_text(Entry({0: 1.5, 1: 1.5}), 1) == "1.5 ± 0.0"


def test_labels_cannot_command_the_terminal():
    shown = terminal(hostile(), width=400)
    assert "\x1b[2J" not in shown and "\\x1b[2Jgone" in shown and "[red]red[/red]" in shown


def test_markdown_has_a_row_a_line_and_the_marks():
    text = markdown_table(by_method({"a": [0.9, 0.91, 0.9], "b": [0.89, 0.92, 0.88], "c": [0.1, 0.1, 0.12]}))
    assert "| a | **0.903 ± 0.014** |" in text
    assert "| b | *0.897 ± 0.052* |" in text
    assert "| c | 0.107 ± 0.029 |" in text


def test_labels_cannot_become_markdown():
    text = markdown_table(hostile())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(HOSTILE) + 2
    assert all(line.replace("\\|", "").count("|") == 5 for line in rows)
    assert "<script" not in text and "[a](" not in text and "\x1b" not in text


def test_latex_marks_spans_and_escapes():
    study = study_of(
        {"method": ["a", "b"], "split": ["x", "y"], "attack": ["p", "q"]}, show={"worst": "attack"}
    )
    text = latex_table(table_of(study, lambda labels, seed: {"accuracy": 0.5 + seed / 100}))
    assert r"\multicolumn{2}{c}{x} & \multicolumn{2}{c}{y}" in text and r"\cmidrule(lr){2-3}" in text
    assert "worst attack" in text and r"\textbf{0.510 $\pm$ 0.025}" in text


def test_labels_cannot_become_latex():
    assert latex_plain(HOSTILE[1]) == r"\textbackslash{}input\{/etc/passwd\}"
    text = latex_table(hostile())
    assert r"\input" not in text and "<script" not in text
    assert all(
        line.count(" & ") == 3 for line in text.splitlines() if line.endswith(r"\\") and "textbf" in line
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_latex_compiles(tmp_path):
    (tmp_path / "table.tex").write_text(latex_table(hostile()))
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{textcomp,booktabs}"
        r"\begin{document}\input{table.tex}\end{document}"
    )
    subprocess.run(["pdflatex", "-halt-on-error", "paper.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_csv_has_a_line_for_each_entry_and_seed():
    text = csv_table(by_method({"a": [0.9, 0.91], "b": [0.1]}))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["method"], row["seed"], row["value"], row["error"]) for row in rows] == [
        ("a", "0", "0.9", ""), ("a", "1", "0.91", ""), ("b", "0", "0.1", ""), ("b", "1", "", "not run"),
    ]  # fmt: skip
    assert float(rows[0]["mean"]) == pytest.approx(0.905) and rows[2]["half_width_95"] == ""


def test_labels_cannot_become_formulas():
    rows = list(csv.reader(io.StringIO(csv_table(hostile()), newline="")))
    assert len(rows) == 1 + 2 * 3 * len(HOSTILE)
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)


def test_everything_is_written_and_tables_with_like_names_have_files_of_their_own(tmp_path):
    axes = {"method": {"a": {}, "b": {}}}
    tables = {name: {"compute": "nobody:nothing", "vary": axes} for name in ("one table", "one_table")}
    study = study_of({}, 2, tables=tables)
    cells = cells_of(study)
    results = [result_of(cell, {"accuracy": 0.5 + cell.seed / 10}) for cell in cells]
    written = write_outputs(study, cells, results, tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    assert {"one_table.md", "one_table.tex", "one_table.csv", "one_table-2.md"} <= names
    assert all(path.stat().st_size for path in written)
