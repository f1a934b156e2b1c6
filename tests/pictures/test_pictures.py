import itertools
import re
import shutil
import subprocess
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flockwise.data.png import read_png
from flockwise.pictures.fonts import fitted, width_of
from flockwise.pictures.panels import Figure, wrapped
from flockwise.pictures.picture import Circle, Line, Picture, Polyline, Rect, Text
from flockwise.pictures.scales import reach, shade, spread_out, ticks

NOT_HERE = pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="no pdftoppm here (poppler-utils)")


def everything(words="Words (a\\b) & ±1") -> Picture:
    picture = Picture(300, 200, words)
    picture.add(
        Rect(10, 10, 80, 40, "#1f6fb4", "#d1602b", 3), Line(10, 80, 290, 80, "#2f8f5b", 2),
        Polyline([(10, 150), (60, 100), (110, 150)], "#8a4fa3", 2),
        Polyline([(120, 150), (170, 100), (220, 150)], fill="#b0413e", opacity=0.3),
        Circle(250, 40, 20, "#b38a1d", "#222222"), Text(150, 30, words, "middle"), Text(290, 190, words, "end", bold=True),
        Text(20, 190, "up", turned=True),
    )  # fmt: skip
    return picture


@given(st.text())
def test_any_words_make_a_well_formed_svg_and_a_pdf(words):
    picture = everything(words)
    texts = [element.text for element in ElementTree.fromstring(picture.svg()).iter() if element.text]
    assert words.isprintable() <= (not words.strip() or any(words == text for text in texts))
    assert picture.pdf().startswith(b"%PDF-1.4")


def test_a_pdf_says_where_its_objects_are():
    written = everything().pdf()
    start = int(re.search(rb"startxref\n(\d+)", written)[1])
    assert written[start : start + 4] == b"xref"
    places = re.findall(rb"(\d{10}) 00000 n", written)
    for number, place in enumerate(places, 1):
        assert written[int(place) :].startswith(b"%d 0 obj" % number)
    content = re.search(rb"stream\n(.*)\nendstream", written, re.DOTALL)[1]
    assert b"(Words \\(a\\\\b\\) & \xb11) Tj" in zlib.decompress(content)


@NOT_HERE
def test_the_words_of_a_pdf_can_be_found(tmp_path):
    everything("Straße (a\\b) ±1").save(tmp_path / "a.pdf")
    found = subprocess.run(["pdftotext", tmp_path / "a.pdf", "-"], capture_output=True, check=True, text=True)
    assert "Straße (a\\b) ±1" in found.stdout


@NOT_HERE
def test_the_pdf_looks_like_the_svg(tmp_path, chromium):
    picture = everything("Words")
    picture.save(tmp_path / "a.pdf")
    picture.save(tmp_path / "a.svg")
    subprocess.run(["pdftoppm", "-r", "96", "-png", "-singlefile", "a.pdf", "pdf"], cwd=tmp_path, check=True)
    page = chromium.new_page(viewport={"width": 300, "height": 200})
    page.goto((tmp_path / "a.svg").as_uri())
    page.screenshot(path=tmp_path / "svg.png")
    page.close()
    one, other = (
        read_png((tmp_path / f"{name}.png").read_bytes(), name).astype(float) for name in ("pdf", "svg")
    )
    assert one.shape == other.shape == (200, 300, 3)
    # Edges and letters are smoothed in their own ways: what must agree is the ink of each small block.
    blocks = np.abs(one - other).reshape(20, 10, 30, 10, 3).mean(axis=(1, 3, 4))
    assert blocks.max() < 40 and blocks.mean() < 3
    assert np.abs(other - 255).mean() > 8


def test_panels_stand_side_by_side_below_the_title():
    panels = [Picture(100, 50, shapes=[Circle(0, 0, number)]) for number in range(1, 4)]
    whole = Figure("title", panels, 2, ["a note"]).picture()
    places = {shape.r: (shape.x, shape.y) for shape in whole.shapes if isinstance(shape, Circle)}
    assert places[1][1] == places[2][1] < places[3][1] and places[1][0] == places[3][0] < places[2][0]
    assert [shape.words for shape in whole.shapes if isinstance(shape, Text)] == ["title", "a note"]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 8))
def test_ticks_are_few_and_inside(low, size, most):
    found = ticks(low, low + size, most)
    assert 1 <= len(found) <= most + 1
    assert all(low - 1e-6 * size <= tick <= low + size * (1 + 1e-6) for tick in found)


def test_one_value_has_a_tick_and_none_has_a_reach():
    assert ticks(3.0, 3.0) == [3.0]
    assert reach([]) == (0.0, 1.0) and reach([float("nan"), 2.0]) == (1.5, 2.5)


@given(st.lists(st.floats(0, 100), max_size=9))
def test_names_are_moved_apart_and_keep_their_order(places):
    found = spread_out(places, 10, 0, 100)
    pairs = sorted(zip(places, found, strict=True), key=lambda pair: pair[1])
    assert [place for place, _ in pairs] == sorted(places)
    assert all(b - a >= 10 - 1e-9 for (_, a), (_, b) in itertools.pairwise(pairs))
    assert all(-1e-9 <= place <= 100 for place in found)


@given(st.text(max_size=60), st.floats(20, 200))
def test_fitted_words_fit(words, room):
    assert width_of(fitted(words, room), 11) <= max(room, width_of("..."))
    assert all(width_of(line) <= room for line in wrapped(words, room))


def test_shades_go_from_light_to_dark():
    light, dark = shade(0), shade(1)
    assert int(light[1:3], 16) > int(dark[1:3], 16) and shade(-1) == light and shade(2) == dark
