"""What stands of a row: the newest result of all its tests, with those of its tests that were tried again since."""

from typing import Any


def standing(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of a row's results, in the order they were made; None if the whole row was never run."""
    found: dict[str, Any] | None = None
    for result in results:
        if not result.get("only"):
            found = result
        elif (
            found is not None and "cases" in found
        ):  # the first results do not say which test has which cases
            found = _after(found, result)
    return found


def held(result: dict[str, Any]) -> dict[str, int]:
    """The cases of each test in which the promise held; of a test that failed with any parameters, none."""
    failed = {_test(name) for name in result["failed"]}
    return {test: 0 if test in failed else number for test, number in result["cases"].items()}


def _after(before: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """The tests that were tried again stand in place of what they were."""
    cases = {**before["cases"], **again["cases"]}
    failed = [name for name in before["failed"] if _test(name) not in again["cases"]] + again["failed"]
    found = {
        **before, "cases": cases, "failed": sorted(failed), "measured": {**before["measured"], **again["measured"]},
        "total": sum(cases.values()), "again": [*before.get("again", ()), again],
    }  # fmt: skip
    return {**found, "passed": sum(held(found).values())}


def _test(name: str) -> str:
    return name.partition("[")[0]
