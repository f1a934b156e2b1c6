from html.parser import HTMLParser

from browsing import opened

from flockwise.studies.cells import cells_of
from flockwise.studies.outputs import write_outputs
from flockwise.studies.page import study_page
from flockwise.studies.tabulating import tables_of
from tests.studies.made_up import result_of, study_of
from tests.studies.test_figures import grid

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{style}}",
    "' onclick='alert(1)",
    "a\x1b[2J\nb",
]


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def hostile():
    study = study_of({"method": HOSTILE, "attack": HOSTILE[:2]}, 2, title=HOSTILE[0])
    cells = cells_of(study)
    results = [
        result_of(
            cell, HOSTILE[1] if cell.seed and "{{" in cell.name else {"accuracy": 0.5}, commit=HOSTILE[0]
        )
        for cell in cells[:-2]
    ]
    return study, cells, results


def test_labels_errors_and_files_are_text_and_nothing_else():
    study, cells, results = hostile()
    page = study_page(study, tables_of(study, cells, results), text=HOSTILE[0], command=HOSTILE[1])
    tags = Tags(page).seen
    assert sum(tag == "script" for tag, _ in tags) == 1 and not any(tag == "img" for tag, _ in tags)
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    assert "\x1b" not in page
    policy = next(attributes["content"] for tag, attributes in tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_the_page_says_what_was_measured_where_and_how_to_do_it_again():
    study, cells, results = hostile()
    page = study_page(study, tables_of(study, cells, results), command="flockwise study my.toml")
    assert "flockwise study my.toml" in page and "2 cells failed" in page and "Not run yet: 2 cells" in page
    assert "mean over all honest clients" in page


def test_everything_is_written(tmp_path):
    study, cells, results = hostile()
    names = {path.name for path in write_outputs(study, cells, results, tmp_path)}
    assert {"page.html", "table.md", "table.tex", "table.csv", "table-heat.svg", "table-heat.pdf"} <= names


def test_a_browser_shows_it_on_any_screen_without_a_word_of_complaint(tmp_path, chromium):
    study, cells, results = hostile()
    write_outputs(study, cells, results, tmp_path)
    for width in (1300, 390):
        with opened(chromium, (tmp_path / "page.html").as_uri(), width=width, ready=False) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("tbody th button").count() == len(HOSTILE)


def test_choosing_a_row_marks_its_curves(tmp_path, chromium):
    table = grid(12, 2)
    (tmp_path / "page.html").write_text(study_page(study_of({"method": ["a"]}), [table]))
    with opened(chromium, (tmp_path / "page.html").as_uri(), ready=False) as page:
        page.click("tbody th button >> text=method 11")
        assert page.locator("polyline.chosen").count() == 2
        page.click("tbody th button >> text=method 11")
        assert page.locator("polyline.chosen").count() == 0
