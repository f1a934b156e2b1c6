import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from flockwise.pictures.fonts import room_for
from flockwise.pictures.picture import Polyline, Rect, Text
from flockwise.studies.cells import cells_of
from flockwise.studies.curves import curves_in
from flockwise.studies.figures import figures_of, highlighted
from flockwise.studies.tabulating import tables_of
from tests.studies.made_up import result_of, study_of

HOSTILE = "<svg onload=alert(1)>&\"'\x1b[2J"


def grid(methods=3, attacks=2, seeds=3, names=None, **more):
    """Methods that get worse from the first to the last, with curves of five rounds."""
    names = names or [f"method {number}" for number in range(methods)]
    study = study_of({"method": names, "attack": [f"attack {n}" for n in range(attacks)]}, seeds, **more)
    cells = cells_of(study)
    results = []
    for cell in cells:
        noise = np.random.default_rng([len(cell.name), cell.seed]).normal() / 1000
        end = 0.95 - 0.03 * names.index(cell.labels["method"]) + noise
        curve = [end * (1 - math.exp(-at)) for at in range(1, 5)] + [end]
        results.append(result_of(cell, {}, curves={"accuracy": curve}))
    return tables_of(study, cells, results)[0]


def words(figure):
    return [shape.words for panel in figure.panels for shape in panel.shapes if isinstance(shape, Text)]


def test_there_is_every_figure_that_was_asked_for():
    assert list(figures_of(grid())) == ["heat", "curves", "seeds", "when"]
    assert list(figures_of(grid(show={"figures": ["seeds"]}))) == ["seeds"]


def test_a_table_without_results_has_only_the_question_which_one_when():
    study = study_of({"method": ["a", "b"]})
    table = tables_of(study, cells_of(study), [])[0]
    assert list(figures_of(table)) == ["when"]
    assert "nothing measured yet" in words(figures_of(table)["when"])


def test_a_number_without_curves_has_no_picture_of_them():
    study = study_of({"method": ["a", "b"]}, 2, show={"numbers": ["bytes_sent"]})
    cells = cells_of(study)
    table = tables_of(study, cells, [result_of(cell, {"bytes_sent": 5.0 + cell.seed}) for cell in cells])[0]
    assert list(figures_of(table)) == ["heat", "seeds", "when"]


def test_of_many_methods_the_best_are_in_colour_and_named_and_all_others_grey():
    table = grid(20)
    bright = highlighted(table)
    assert len(bright) == 6 and 0 in bright
    panel = figures_of(table)["curves"].panels[0]
    named = {shape.words for shape in panel.shapes if isinstance(shape, Text)}
    assert {f"method {row}" for row in bright} <= named and "method 19" not in named
    lines = {shape.tip: shape.stroke for shape in panel.shapes if isinstance(shape, Polyline) and shape.tip}
    assert len(lines) == 20 and len(set(lines.values())) == 7
    assert highlighted(grid(8)) == list(range(8))


def test_where_lower_is_better_the_lowest_are_in_colour():
    table = grid(20, numbers={"accuracy": {"of": "accuracy", "better": "lower"}})
    assert 19 in highlighted(table) and 0 not in highlighted(table)


def test_bands_are_the_intervals_over_seeds_and_one_seed_has_none():
    curve = curves_in(grid(seeds=3))[0][0]
    assert list(curve.x) == [1, 2, 3, 4, 5] and all(half > 0 for half in curve.half)
    assert all(half is None for half in curves_in(grid(seeds=1))[0][0].half)


def test_a_curve_is_drawn_where_every_seed_was_measured():
    study = study_of({"method": ["a"]}, 2)
    cells = cells_of(study)
    curves = [{"accuracy": [0.1, None, 0.3]}, {"accuracy": [0.3, 0.4, 0.5, 0.6]}]
    results = [result_of(cell, {}, curves=curve) for cell, curve in zip(cells, curves, strict=True)]
    curve = curves_in(tables_of(study, cells, results)[0])[0][0]
    assert list(curve.x) == [1, 3] and curve.y == pytest.approx([0.2, 0.4])


def test_which_one_when_names_the_best_of_every_setting():
    said = words(figures_of(grid(show={"worst": "attack"}))["when"])
    assert sum(one.startswith("method 0 0.9") for one in said) == 3
    assert "worst attack" in said
    assert words(figures_of(grid(seeds=1))["when"]).count("one seed: nothing can be told") == 2


LONG = ["a very long name of a method that goes on and on and on, to the end", "WIDE IN CAPITALS, " * 6, "c"]


@pytest.mark.parametrize("kind", ["heat", "curves", "seeds", "when"])
def test_long_names_stay_in_the_picture_whatever_font_a_browser_takes(kind):
    picture = figures_of(grid(names=LONG, title="A title of many words, " * 20))[kind].picture()
    for text in (shape for shape in picture.shapes if isinstance(shape, Text)):
        wide = room_for(text.words, text.size, text.bold)
        left = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * wide
        assert left >= 0 and left + wide <= picture.width, text.words


def test_which_one_when_shortens_names_and_never_their_numbers():
    picture = figures_of(grid(names=["a method of many words, " * 10, "b", "c"]))["when"].picture()
    boxes = [shape for shape in picture.shapes if isinstance(shape, Rect) and shape.fill]
    for text in (
        shape for shape in picture.shapes if isinstance(shape, Text) and shape.bold and shape.size == 10
    ):
        assert re.fullmatch(r"a method of many words, .*\.\.\. 0\.9\d\d ± 0\.\d{3}", text.words)
        assert any(
            box.x < text.x and text.x + room_for(text.words, 10, True) < box.x + box.wide for box in boxes
        )


def test_several_axes_branch():
    study = study_of({"method": ["a", "b"], "split": ["x", "y"], "attack": ["p", "q"]}, 2)
    cells = cells_of(study)
    results = [result_of(cell, {"accuracy": 0.5 + 0.01 * cell.seed}) for cell in cells]
    said = words(figures_of(tables_of(study, cells, results)[0])["when"])
    assert [said.count(label) for label in "xypq"] == [1, 1, 2, 2]


def test_more_settings_than_can_be_read_are_left_to_the_table():
    figures = figures_of(grid(2, 15))
    assert len(figures["curves"].panels) == len(figures["seeds"].panels) == 12
    assert any("3 more settings" in note for note in figures["seeds"].notes)


def test_labels_are_words_and_nothing_else():
    for figure in figures_of(grid(names=[HOSTILE, "=b"])).values():
        drawing = figure.picture().svg()
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()}
        assert tags <= {"svg", "title", "rect", "line", "polyline", "polygon", "circle", "text"}
        assert "\x1b" not in drawing
        figure.picture().pdf()
