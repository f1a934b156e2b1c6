"""Whatever results there are, a table says what they say and every format can be written."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.studies.figures import figures_of
from flockwise.studies.html_table import safe
from flockwise.studies.notes import notes_of
from flockwise.studies.page import study_page
from flockwise.studies.writers.csv import csv_table
from flockwise.studies.writers.latex import latex_table
from flockwise.studies.writers.markdown import markdown_table
from flockwise.studies.writers.terminal import terminal_table
from tests.studies.made_up import study_of, table_of

METHODS, ATTACKS, SEEDS = ["a", "b", "c"], ["x", "y"], 3
value = st.floats(0, 1).map(lambda number: round(number, 2))
state = st.one_of(value, value, st.sampled_from([None, "it failed", math.nan, math.inf]))
grids = st.lists(state, min_size=18, max_size=18)


def tabled(states, **more):
    study = study_of({"method": METHODS, "attack": ATTACKS}, SEEDS, show={"worst": "attack"}, **more)

    def values(labels, seed):
        found = states[
            (METHODS.index(labels["method"]) * len(ATTACKS) + ATTACKS.index(labels["attack"])) * SEEDS + seed
        ]
        return found if found is None or isinstance(found, str) else {"accuracy": found}

    return study, table_of(study, values)


@given(grids, st.sampled_from(["higher", "lower", "neither"]))
def test_entries_are_the_results_and_marks_are_earned(states, better):
    _, table = tabled(states, numbers={"accuracy": {"of": "accuracy", "better": better}})
    for m, row in enumerate(table.entries):
        for a, entry in enumerate(row[:2]):
            here = states[(m * 2 + a) * 3 :][:3]
            known = [one for one in here if isinstance(one, float) and math.isfinite(one)]
            assert entry.wanted == 3 and entry.seeds == len(known)
            assert len(entry.failed) == here.count("it failed") and len(entry.missing) == here.count(None)
            if known:
                assert entry.mean == pytest.approx(np.mean(known), abs=1e-12)
            if entry.mark:
                assert len(known) >= 2 and not entry.failed and not entry.unmeasured and better != "neither"
    for place in range(len(table.columns)):
        column = table.column(place)
        compared = [entry for entry in column if entry.compared is not None and entry.seeds >= 2]
        best = [entry for entry in column if entry.mark == "best"]
        if better == "neither" or len(compared) < 2:
            assert not any(entry.mark for entry in column)
        else:
            sign = 1 if better == "higher" else -1
            assert best and all(sign * best[0].mean >= sign * entry.mean - 1e-9 for entry in compared)


@given(grids)
def test_the_worst_is_never_better_than_any_setting(states):
    _, table = tabled(states)
    for row in table.entries:
        worst = row[-1]
        for seed, found in worst.values.items():
            assert found == min(entry.values[seed] for entry in row[:-1])
        assert set(worst.values) == set(row[0].values) & set(row[1].values)


@settings(max_examples=25)
@given(grids)
def test_every_format_can_be_written(states):
    study, table = tabled(states)
    terminal_table(table)
    text = markdown_table(table)
    assert len(re.findall(r"^\| [abc] \|", text, flags=re.MULTILINE)) == 3
    assert latex_table(table).count(r"\\") >= 4
    assert csv_table(table).count("\n") >= 18
    for figure in figures_of(table).values():
        assert figure.picture().svg() and figure.picture().pdf()
    page = study_page(study, [table])
    assert all(safe(note) in page for note in notes_of(table))
