"""The report in a real browser."""

import csv
import io
import re
import sqlite3

import fake_run
import pytest
from browsing import colours, opened, points

from flockwise.report import write_report

HOSTILE = "</script><img src=x onerror=alert(1)>{{data}}"
CHARTS = {
    "flic": ["accuracy", "flow", "map", "quality", "others"],
    "cfl": ["accuracy", "flow", "alpha", "others"],
    "fl-hc": ["accuracy", "flow", "map", "dendrogram", "quality"],
    "communities": ["accuracy", "flow", "map", "quality"],
    "mini-fl": ["accuracy", "others"],
    "byzantine": ["accuracy", "flow", "map", "alpha", "detection"],
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {name: write_report([make(folder / name)]).as_uri() for name, make in fake_run.ALL.items()}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_appears_with_data(chromium, reports, name):
    with opened(chromium, reports[name]) as page:
        for card in CHARTS[name]:
            assert page.locator(f"#{card}").is_visible(), card
            assert points(page, card) > 0, card
            assert colours(page, card) > 20, card
        assert colours(page, "strip") >= 2
        assert page.locator("#clients tbody tr").count() > 0
        assert page.locator(".number").count() >= 6


def test_what_a_run_has_not_is_not_shown(chromium, reports):
    with opened(chromium, reports["cfl"]) as page:
        for card in ("similarity", "map", "dendrogram", "groups", "apart"):
            assert page.locator(f"#{card}").count() == 0


def test_the_slider_shows_the_similarities_of_another_round(chromium, reports):
    with opened(chromium, reports["flic"]) as page:
        card = page.locator("#similarity")
        assert "round 15" in card.locator("output").inner_text()
        late = page.evaluate("document.querySelector('#similarity canvas').toDataURL()")
        card.locator("input[type=range]").focus()
        page.keyboard.press("Home")
        assert "round 5" in card.locator("output").inner_text()
        assert page.evaluate("document.querySelector('#similarity canvas').toDataURL()") != late


def test_the_map_can_be_coloured_by_truth_and_accuracy(chromium, reports):
    with opened(chromium, reports["flic"]) as page:

        def names():
            return page.evaluate("flockwise.cards.get('map').chart.getModel().getSeries().map(s => s.name)")

        assert "flock 0" in names()
        page.locator("#map").get_by_role("button", name="truth").click()
        assert "group 0" in names()
        page.locator("#map").get_by_role("button", name="accuracy").click()
        assert names() == ["accuracy"]


def test_sort_and_search_of_clients(chromium, reports):
    with opened(chromium, reports["communities"]) as page:
        column = page.locator("#clients tbody td:nth-child(5)")
        page.locator("#clients thead").get_by_role("button", name="accuracy").click()
        values = [float(text) for text in column.all_inner_texts()]
        assert values == sorted(values, reverse=True)
        page.locator("#clients thead").get_by_role("button", name="accuracy").click()
        assert [float(text) for text in column.all_inner_texts()] == sorted(values)
        page.locator("#clients input[type=search]").fill("flock 2")
        assert {
            text.strip() for text in page.locator("#clients tbody td:nth-child(3)").all_inner_texts()
        } == {"flock 2"}
        page.locator("#clients input[type=search]").fill("nobody at all")
        assert "No client fits" in page.locator("#clients").inner_text()


def test_a_click_on_a_client_tells_its_history_in_words(chromium, reports):
    with opened(chromium, reports["communities"]) as page:
        page.locator("#clients thead").get_by_role("button", name="moves").click()
        page.locator("#clients tbody button.link").first.click()
        told = page.locator("dialog .history").inner_text()
        assert "moved from flock" in told
        assert "its update agreed with flock" in told
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()


def test_a_client_set_apart_is_told_since_when(chromium, reports):
    with opened(chromium, reports["byzantine"]) as page:
        page.locator("#apart tbody button.link").last.click()
        told = page.locator("dialog").inner_text()
        assert "set apart from flock 0 at round 12" in told
        assert "confirmed hostile at round 22" in told
        assert "one of the simulated attackers" in told


def test_the_pictures_of_cells_work_by_keyboard(chromium, reports):
    with opened(chromium, reports["flic"]) as page:
        page.locator("#strip canvas").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert "round 2" in page.locator("#strip .hint").inner_text()
        page.keyboard.press("Enter")
        assert page.locator("dialog h2").inner_text().startswith("client")


def test_groups_are_told_with_their_boundaries(chromium, reports):
    with opened(chromium, reports["mini-fl"]) as page:
        told = page.locator("#groups").inner_text()
        assert "Grouped by address" in told
        assert " to 10.40." in told


def test_events_can_be_chosen_by_kind(chromium, reports):
    with opened(chromium, reports["byzantine"]) as page:
        page.locator("#events").get_by_role("button", name="no reply").click()
        kinds = page.locator("#events tbody td:nth-child(2)").all_inner_texts()
        assert kinds and {kind.strip() for kind in kinds} == {"no reply"}


def test_theme_follows_the_system_and_can_be_switched(chromium, reports):
    with opened(chromium, reports["flic"], dark=True) as page:
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(ground)
        page.locator("#theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert page.evaluate(ground) != dark


@pytest.mark.parametrize("name", ["flic", "byzantine", "fl-hc"])
def test_a_phone_needs_no_sideways_scrolling(chromium, reports, name):
    with opened(chromium, reports[name], width=360) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_downloads_are_csv_svg_and_png(chromium, reports):
    with opened(chromium, reports["flic"]) as page:
        content = {}
        for kind in ("CSV", "SVG", "PNG"):
            with page.expect_download() as waiting:
                page.locator("#accuracy .downloads").get_by_role("button", name=kind).click()
            content[kind] = waiting.value.path().read_bytes()
        rows = list(csv.DictReader(io.StringIO(content["CSV"].decode())))
        assert len(rows) == 40 and 0 <= float(rows[-1]["accuracy"]) <= 1
        assert content["SVG"].startswith(b"<svg") and b"<path" in content["SVG"]
        assert content["PNG"].startswith(b"\x89PNG")


def test_hostile_names_are_only_ever_text(chromium, tmp_path):
    names = [HOSTILE, "=cmd|' /C calc'!A0", '"><svg onload=alert(1)>', "{a|b}", "", "__proto__", "\u202eevil"]
    run = fake_run.flic(tmp_path / "run", clients=28, rounds=20, names=names * 4)
    with opened(chromium, write_report([run]).as_uri()) as page:
        assert page.locator("#clients tbody button.link").first.inner_text() == HOSTILE
        page.locator("#clients tbody button.link").first.click()
        assert page.locator("dialog h2").inner_text() == HOSTILE
        assert page.locator("img").count() == 0
        page.keyboard.press("Escape")
        with page.expect_download() as waiting:
            page.locator("#clients .downloads").get_by_role("button", name="CSV").click()
        cells = [
            cell
            for row in csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8")))
            for cell in row
        ]
        assert "'" + names[1] in cells and names[1] not in cells


def test_several_runs_side_by_side(chromium, tmp_path):
    runs = [
        fake_run.byzantine(tmp_path / f"{rule}-{attack}-{seed}", seed=seed, aggregation__name=rule, attack={"name": attack})
        for rule in ("mean", "median") for attack in ("none", "gaussian") for seed in (0, 1)
    ]  # fmt: skip
    with opened(chromium, write_report(runs, tmp_path / "all.html").as_uri()) as page:
        assert points(page, "compared") >= 4 * 30
        assert points(page, "heat") == 4
        assert page.locator("#final tbody tr").count() == 4
        page.locator("#compared select").select_option("loss")
        assert points(page, "compared") >= 4 * 30
        assert "attack.name" in page.locator("#differences").inner_text()


def test_a_run_without_rounds_says_so(chromium, tmp_path):
    run = fake_run.flic(tmp_path / "run", stop=1)
    with sqlite3.connect(run / "run.sqlite") as database:
        for table in ("rounds", "facts", "arrays", "events"):
            database.execute(f"DELETE FROM {table}")
    database.close()
    with opened(chromium, write_report([run]).as_uri()) as page:
        assert "No round has been closed yet" in page.inner_text("body")


def test_what_was_told_before_the_first_round_makes_no_empty_lane(chromium, tmp_path):
    run = fake_run.flic(tmp_path / "run", clients=8, rounds=16)
    with sqlite3.connect(run / "run.sqlite") as database:
        database.execute("UPDATE events SET round = 0 WHERE kind = 'placed'")
    database.close()
    with opened(chromium, write_report([run]).as_uri()) as page:
        lanes = "flockwise.cards.get('accuracy').option.yAxis.flatMap((axis) => axis.data || [])"
        assert page.evaluate(lanes) == ["flocks found"]


def test_prints_all_cards_two_beside_each_other(chromium, reports):
    with opened(chromium, reports["flic"]) as page:
        printed = page.pdf(format="A4")
        assert printed.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 7  # 11 when cards lay one below the other


def test_of_many_curves_the_best_are_in_colour_and_one_can_be_chosen(chromium, tmp_path):
    runs = [
        fake_run.byzantine(tmp_path / f"run-{number:02d}", clients=8, rounds=4, training__epochs=number)
        for number in range(1, 14)
    ]
    with opened(chromium, write_report(runs, tmp_path / "many.html").as_uri()) as page:
        legend = "flockwise.cards.get('compared').option.legend.data"
        best = page.evaluate(legend)
        assert len(best) == 8
        chosen = page.locator("#compared select").nth(1)
        others = [name for name in chosen.locator("option").all_inner_texts()[1:] if name not in best]
        assert len(others) == 5
        chosen.select_option(others[0])
        assert page.evaluate(legend) == [*best, others[0]]


@pytest.mark.slow
def test_a_thousand_clients_and_five_hundred_rounds_stay_quick(chromium, tmp_path):
    report = write_report([fake_run.big(tmp_path / "big")])
    assert report.stat().st_size < 5_000_000
    with opened(chromium, report.as_uri()) as page:
        ready = page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
        assert ready < 10_000  # 2 s on an idle machine; this bound only catches the hopeless
        assert page.locator("#clients tbody tr").count() == 150
        page.locator("#clients input[type=search]").fill("client 777")
        page.locator("#clients tbody button.link").first.click()
        assert "flock" in page.locator("dialog .history").inner_text()
