"""Claims: by the interval of paired differences, split into parts, with what is missing said, and statement by statement."""

from pathlib import Path
from typing import Any

import pytest

from flockwise.errors import ConfigError
from flockwise.studies.cells import cells_of
from flockwise.studies.published.bars import Printed
from flockwise.studies.published.claims import Claim, judge, parts_of, read_claims
from flockwise.studies.published.measured import Measured
from flockwise.studies.published.overview import statements
from flockwise.studies.published.verdicts import rows_of
from tests.studies.made_up import bar_of, measured_of, result_of, study_of


def _claim(tests: list[dict[str, Any]], **more: Any) -> Claim:
    return Claim.model_validate({"says": "so", "place": "here", "tests": tests, **more})


def _of(cell: str) -> dict[str, str]:
    return {"table": "", "cell": cell, "number": "accuracy"}


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([3.0], [2.0], "open: few seeds, for"),
        ([2.0], [2.0], "open: few seeds, against"),
        ([3.0, 3.1, 3.0], [2.0, 2.1, 2.1], "supported"),
        ([1.0, 1.1, 1.0], [2.0, 2.1, 2.1], "contradicted"),
        ([9.0, 1.0, 5.0], [2.0, 2.1, 2.1], "open"),
        ([3.0, 3.0], [2.0, 2.0], "open: few seeds, for"),
        ([1.0, 1.0], [2.0, 2.0], "open: few seeds, against"),
        (
            [2.0, *[9.0, 9.1] * 8],
            [2.1, *[2.0] * 16],
            "open",
        ),  # the interval is clear, one seed says the opposite
        ([], [2.0], "not run"),
        ([10.0, 20.0, 30.0], [9.0, 19.0, 28.9], "supported"),  # paired: what seeds share cancels out
    ],
)
def test_a_claim_goes_by_the_interval_of_the_difference(
    ours: list[float], theirs: list[float], expected: str
) -> None:
    claim = _claim([{"left": _of("ours"), "right": _of("theirs")}])
    assert judge(claim, measured_of({"ours": ours, "theirs": theirs})).verdict == expected


def test_a_comparison_with_enough_seeds_contradicts_whatever_others_lack() -> None:
    measured = measured_of({"a": [1.0, 1.1, 1.0], "b": [3.0], "c": [1.0]})
    test = {"left": _of("{name}"), "relation": ">", "right": 2.0, "over": {"name": ["a", "b"]}, "how": "all"}
    assert judge(_claim([test]), measured).verdict == "contradicted"
    few = {**test, "over": {"name": ["b", "c"]}}
    assert judge(_claim([few]), measured).verdict == "open: few seeds, against"


def test_all_any_and_most_of_several() -> None:
    measured = measured_of({"a": [3.0], "b": [3.0], "c": [1.0], "d": []})

    def verdict(how: str, names: list[str]) -> str:
        test = {"left": _of("{name}"), "relation": ">", "right": 2.0, "over": {"name": names}, "how": how}
        return judge(_claim([test]), measured).verdict

    assert verdict("all", ["a", "b"]) == verdict("any", ["a", "c"]) == "open: few seeds, for"
    assert verdict("all", ["a", "c"]) == verdict("any", ["c"]) == "open: few seeds, against"
    assert verdict("most", ["a", "b", "c"]) == "open: few seeds, for"
    assert verdict("most", ["a", "c"]) == "open: few seeds, against"
    assert verdict("all", ["a", "d"]) == "open: run in part, so far for"
    assert verdict("all", ["c", "d"]) == "open: few seeds, against"  # what is missing cannot mend it
    assert verdict("any", ["a", "d"]) == "open: few seeds, for"
    assert verdict("all", ["d"]) == "not run"


def test_what_fails_as_far_as_it_was_run_is_not_called_not_run() -> None:
    measured = measured_of({"bad": [1.0], "good": [3.0], "x": [], "y": []})

    def verdict(how: str, names: list[str]) -> str:
        test = {"left": _of("{name}"), "relation": ">", "right": 2.0, "over": {"name": names}, "how": how}
        return judge(_claim([test]), measured).verdict

    assert verdict("any", ["bad", "x"]) == "open: run in part, so far against"
    assert verdict("most", ["bad", "x", "y"]) == "open: run in part, so far against"
    assert verdict("most", ["bad", "good", "x", "y"]) == "open: run in part, so far for"


def test_a_seed_that_has_no_such_number_is_not_left_out_as_if_it_had_not_been_run() -> None:
    """Flocks that are never right have no first round of being right: what holds of the other seeds is not all."""
    study = study_of({"method": ["ours"]}, 4, show={"numbers": ["accuracy"]})
    cells = cells_of(study)

    def measured(*values: float | None) -> Measured:
        made = [result_of(cell, {"accuracy": value}) for cell, value in zip(cells, values, strict=False)]
        return Measured(tuple(cells), tuple(made))

    claim = _claim([{"left": _of("ours"), "relation": "<=", "right": 49.0}])
    assert judge(claim, measured(40.0, 40.0, 40.0)).verdict == "supported"
    assert judge(claim, measured(40.0, 40.0, 40.0, None)).verdict == "open"
    assert judge(claim, measured(50.0, 50.0, 50.0, None)).verdict == "contradicted"
    assert judge(claim, measured(None)).verdict == "open"
    (row,) = rows_of(measured(40.0, 40.0, 40.0, None), [bar_of(40.0)])
    assert row.told == "open: within the margin, but a seed has no such number"
    assert rows_of(measured(40.0, 40.0, 40.0), [bar_of(40.0)])[0].told == "agrees"


def test_the_numbers_told_are_those_of_the_seeds_that_were_compared() -> None:
    claim = _claim([{"left": _of("ours"), "right": _of("theirs")}])
    told = judge(claim, measured_of({"ours": [1.0, 90.0, 90.0], "theirs": [2.0]})).told
    assert told.endswith("not ours, accuracy > theirs, accuracy (1, 2; seeds: 1)")


def test_a_paper_whose_own_numbers_do_not_pass_is_told_so_and_judged_all_the_same() -> None:
    over = {"left": _of("{name}"), "right": 2.0, "over": {"name": ["a", "b"]}}
    printed = Printed([bar_of(3.0, "a"), bar_of(1.0, "b")])
    claim, measured = _claim([over]), measured_of({"a": [3.0, 3.1, 3.2], "b": [3.0, 3.1, 3.2]})
    one = judge(claim, measured, printed)
    assert one.verdict == judge(claim, measured).verdict == "supported"
    assert one.in_print == "of the paper's own printed numbers 1 of 2 fail"
    assert judge(_claim([{**over, "how": "any"}]), measured, printed).in_print == ""
    assert (
        judge(claim, measured, Printed([bar_of(3.0, "a")])).in_print == ""
    )  # what is not printed is not known


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[3.0, 3.1, 3.2], [1.0, 1.1, 1.2]], "contradicted"),
        ([[3.0, 3.1, 3.2], [3.0, 3.1, 3.2]], "supported"),
        ([[3.0, 3.1, 3.2], []], "open: few seeds, for"),
        ([[1.0], []], "open: few seeds, against"),
        ([[], []], "not run"),
    ],
)
def test_a_statement_has_the_worst_verdict_of_its_readings_and_only_what_is_whole_is_supported(
    values: list[list[float]], expected: str
) -> None:
    measured = measured_of({"a": values[0], "b": values[1]})
    judged = [judge(_claim([{"left": _of(name), "right": 2.0}]), measured) for name in ("a", "b")]
    assert statements(judged) == {"so": expected}


def test_a_reading_that_the_papers_own_numbers_fail_does_not_count_where_there_is_another() -> None:
    measured, printed = measured_of({"a": [1.0, 1.1, 1.2]}), Printed([bar_of(1.5, "a")])
    strict, fair = (
        judge(_claim([{"left": _of("a"), "right": right}]), measured, printed) for right in (2.0, 0.5)
    )
    assert statements([strict, fair]) == {"so": "supported"}
    assert statements([strict]) == {"so": "contradicted"}


def test_relations_margins_and_factors() -> None:
    measured = measured_of({"ours": [2.0], "theirs": [1.0]})

    def holds(**more: Any) -> bool:
        test = {"left": _of("ours"), "right": _of("theirs"), **more}
        return judge(_claim([test]), measured).verdict == "open: few seeds, for"

    assert holds(relation=">=", times=2.0) and not holds(relation=">", times=2.0)
    assert holds(relation=">", times=2.0, margin=0.1) and holds(relation="==", times=2.0)
    assert holds(relation="about", margin=1.0) and not holds(relation="about", margin=0.9)
    assert holds(relation="<=", right=2.0) and not holds(relation="<", right=2.0)


def test_a_claim_is_split_into_parts_that_are_settled_by_themselves_and_nothing_is_lost() -> None:
    over = {"data": ["a", "b", "dear"], "fault": ["x", "y"]}
    more = {"left": _of("{data} {fault}"), "right": 0.5, "over": {**over, "data": ["a", "b"]}}
    claim = _claim(
        [{"left": _of("{data} {fault}"), "right": 1.0, "over": over}, more], split="data", short="s"
    )
    cells = {"a x": [2.0, 2.1, 2.2], "a y": [3.0, 3.1, 3.0], "b x": [0.0, 0.1, 0.2], "b y": [2.0, 2.0, 2.1]}
    measured = measured_of({**cells, "dear x": [], "dear y": []})
    assert judge(claim, measured).verdict == "contradicted"  # as a whole
    parts = [judge(part, measured) for part in parts_of(claim)]
    assert [part.verdict for part in parts] == ["supported", "contradicted", "not run"]
    assert [part.claim.part for part in parts] == ["data a", "data b", "data dear"]
    assert parts[1].headline.startswith("s, data b (")
    few = measured_of(
        {**cells, "a x": [0.3], "dear x": [], "dear y": []}
    )  # what three seeds say is shown, not the first
    assert judge(claim, few).told.endswith("not b x, accuracy > 1 (0.1, 1; seeds: 3)")
    whole = sorted(one.words for one in judge(claim, measured).instances)
    assert sorted(one.words for part in parts for one in part.instances) == whole
    assert list(parts_of(_claim([more]))) == [_claim([more])]


@pytest.mark.parametrize("change", [{"how": "most"}, {"over": {"fault": ["x"]}}])
def test_what_most_of_is_said_or_has_no_such_name_is_not_split(
    change: dict[str, Any], tmp_path: Path
) -> None:
    test = {"left": _of("{data} x"), "right": 1.0, "over": {"data": ["a", "b"]}, **change}
    with pytest.raises(ConfigError, match=r"split = 'data': must be a name that `over` of every test has"):
        list(parts_of(_claim([test], split="data")))
    (tmp_path / "claims.toml").write_text(
        '[[claims]]\nsays = "so"\nplace = "here"\nsplit = "x"\n[[claims.tests]]\n'
        'left = { table = "", cell = "a", number = "b" }\nright = 1.0\n'
    )
    with pytest.raises(ConfigError, match=r"claims\.toml: claims, split = 'x'"):
        read_claims(tmp_path)


def test_a_vacuous_claim_tells_nothing_but_can_still_fail() -> None:
    test = {"left": _of("ours"), "right": 1.0}
    assert judge(_claim([test], vacuous="why"), measured_of({"ours": [2.0]})).verdict == "tells nothing"
    assert (
        judge(_claim([test], vacuous="why"), measured_of({"ours": [0.0]})).verdict
        == "open: few seeds, against"
    )
