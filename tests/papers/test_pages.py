"""Pages, drawings and the command, from results made up or computed."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.papers import NAMES, publication
from flockwise.studies.published.claims import ORDER
from flockwise.studies.published.overview import one_screen, overview
from flockwise.studies.published.page import RULE, write_page
from flockwise.studies.published.publication import Publication

RESULTS = Path(__file__).parents[2] / "papers"


@pytest.fixture(scope="module")
def papers() -> dict[str, Publication]:
    return {name: publication(name, RESULTS) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_the_rule_before_any_number_and_the_claims_against_first(
    name: str, papers: dict[str, Publication], tmp_path: Path
) -> None:
    text = write_page(papers[name], tmp_path).read_text()
    assert text.index(RULE) < text.index("## What the paper says") < text.index("## Every number at full")
    verdicts = re.findall(r"^\| \*\*([^*]+)\*\* \|", text, re.MULTILINE)
    assert len(verdicts) == len(papers[name].written_claims)
    assert [ORDER.index(verdict) for verdict in verdicts] == sorted(map(ORDER.index, verdicts))
    for image in re.findall(r"\]\(([^)]+\.svg)\)", text):
        ElementTree.parse(tmp_path / image)
    assert "](" + name + "/" in text.partition("## What the paper says")[0]  # one figure first


@pytest.mark.parametrize("name", NAMES)
def test_results_without_a_commit_say_so(name: str, papers: dict[str, Publication], tmp_path: Path) -> None:
    count = sum(result.commit == "unknown" for result in papers[name].full.results)
    assert count
    assert (
        f"{count} of them are from before results named their commit"
        in write_page(papers[name], tmp_path).read_text()
    )


def test_which_results_have_no_commit_is_told_by_table(
    papers: dict[str, Publication], tmp_path: Path
) -> None:
    text = write_page(papers["flic"], tmp_path).read_text().partition("## Results whose commit is unknown")[2]
    older = [result for result in papers["flic"].full.results if result.commit == "unknown"]
    told = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(told) == len({(result.table, result.seed) for result in older})
    everything = {(cell.table, cell.name) for cell in papers["flic"].full.cells}
    for result in older:
        (line,) = (one for one in told if one.startswith(f"- {result.table}, seed {result.seed}:"))
        whole = {cell for table, cell in everything if table == result.table}
        assert result.cell in line or f"all {len(whole)} cells" in line


def test_nothing_with_fewer_than_three_seeds_is_settled(papers: dict[str, Publication]) -> None:
    for paper in papers.values():
        for row in paper.rows:
            if 0 < len(row.values) < 3 and row.bar and row.bar.block.judged:
                assert row.verdict in ("open", "tells nothing")
        for one in paper.claims:
            assert one.verdict != "supported" or all(i.seeds >= 3 for i in one.instances)
            assert one.verdict != "contradicted" or any(
                i.state == "fails" and i.seeds >= 3 for i in one.instances
            )


def test_one_run_in_many_rows_counts_once(papers: dict[str, Publication]) -> None:
    rows = [row for row in papers["fl-hc"].rows if row.table == "V" and row.bar and row.values]
    assert len({row.outcome for row in rows}) == 2  # the four groups, and L1 with single linkage
    krum = [row for row in papers["mini-fl"].rows if "1.0 " in row.cell and row.cell.endswith(" mini-krum")]
    attacked = {row.values[0] for row in krum if "no attack" not in row.cell}
    assert len(attacked) == 1 < len(krum)  # it keeps the same update whatever the attackers do


def test_table_4_of_fl_hc_is_passed_by_everyone_alone(papers: dict[str, Publication]) -> None:
    rows = [row for row in papers["fl-hc"].rows if row.table == "IV" and row.side in ("near", "above")]
    assert rows and {row.verdict for row in rows if row.bar and row.bar.block.judged} == {"tells nothing"}


def test_what_was_replaced_is_on_the_page(papers: dict[str, Publication], tmp_path: Path) -> None:
    text = write_page(papers["flic"], tmp_path).read_text()
    assert "| I | label swap | accuracy before | 0.7143 | 1525cb2 | 0.7458 | 1 |" in text
    assert (
        "| 1 | mnist, byzantine, FL | test accuracy | 82.29 | 1525cb2 | 56.03 | 1 |"
        in write_page(papers["byzantine-cfl"], tmp_path).read_text()
    )


def test_the_overview_has_every_paper_and_every_claim(papers: dict[str, Publication]) -> None:
    text = overview(list(papers.values()))
    for paper in papers.values():
        assert f"[{paper.title.partition(' (')[0]}](papers/{paper.name}.md)" in text
    told = sum(line.startswith("| **") for line in text.splitlines())
    assert told == sum(len(paper.written_claims) for paper in papers.values())
    first = text.partition("**How verdicts are made**")[0]  # in one screen, what goes against a paper or us
    for paper in papers.values():
        against = [
            one
            for one in paper.claims
            if ORDER.index(one.verdict) <= ORDER.index("open") or "against" in one.verdict
        ]
        assert all(f"\n  - {one.headline}\n" in first for one in against)


def test_one_screen_counts_every_claim_and_names_those_that_are_contradicted(
    papers: dict[str, Publication],
) -> None:
    lines = one_screen(list(papers.values()))
    counts = [cell for line in lines[2 : 2 + len(papers)] for cell in line.split("|")[2:-1]]
    claims = [one for paper in papers.values() for one in paper.claims]
    said = [{one.claim.says for one in paper.claims} for paper in papers.values()]
    assert sum(int(cell) for cell in counts if cell.strip()) == sum(map(len, said))
    told = "\n".join(lines[2 + len(papers) :])
    against = [one for one in claims if one.verdict == "contradicted"]
    assert against and all((one.claim.short or one.claim.says) in told for one in against)
    settled = [one for one in claims if one.verdict in ("contradicted", "supported")]
    unknown = any(r.commit == "unknown" for paper in papers.values() for r in paper.full.results)
    assert ("are so only with results whose commit is unknown" in told) <= bool(settled and unknown)
    assert len("\n".join(lines)) < 2500


def test_pages_can_be_made_of_nothing(tmp_path: Path) -> None:
    empty = publication("communities", tmp_path)
    text = write_page(empty, tmp_path / "pages").read_text()
    assert "0 at full" in text and {one.verdict for one in empty.claims} == {"not run"}


def test_the_command_runs_a_table_writes_its_page_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    arguments = ["paper", "flic", "--scale", "smoke", "--table", "Figure 1", "--seeds", "1", "--workers", "1"]
    arguments += ["--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments, catch_exceptions=False)
    again = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert first.exit_code == again.exit_code == 0
    assert "[2/2]" in first.output and "[1/" not in again.output
    assert (tmp_path / "pages" / "flic.md").is_file() and (tmp_path / "papers.md").is_file()
    assert len(list((tmp_path / "flic" / "results").rglob("*.json"))) == 2
    once_more = CliRunner().invoke(app, [*arguments, "--again", "--cell", "non-IID"], catch_exceptions=False)
    assert once_more.exit_code == 0 and "[1/1]" in once_more.output
    assert len(list((tmp_path / "flic" / "results").rglob("*.json"))) == 3  # both stay on record


def test_an_unknown_table_is_named_with_the_known_ones(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["paper", "flic", "--table", "9", "--out", str(tmp_path)])
    assert "there are I, II" in str(outcome.exception)
