"""Whatever a config says, it is taken, or every line of the refusal names a field; soon, and without a traceback."""

import time
from typing import Any

import numpy as np
import pytest

from flockwise.config import parse_config, schema
from flockwise.errors import ConfigError
from flockwise.options import named
from flockwise.rng import generator
from tests.config.from_schema import Drawing
from tests.conftest import Cases

SCHEMA = schema()
SECTIONS = set(SCHEMA["properties"])
SOON = 0.05  # seconds of the processor, the median config


@pytest.mark.parametrize("wrong", [0.0, 0.02, 0.2])
def test_configs_drawn_from_the_schema_are_taken_or_refused_by_field(wrong: float, cases: Cases) -> None:
    drawing, took, taken = Drawing(SCHEMA, generator(0, f"configs {wrong}"), wrong), [], 0
    for _ in range(cases.many(100)):
        content = drawing.config()
        began = time.process_time()
        try:
            parse_config(content)
            taken += 1
        except ConfigError as error:
            known = tuple({*SECTIONS, *map(named, content)})
            for line in str(error).splitlines():
                assert line.startswith(known), (line, content)
        took.append(time.process_time() - began)
    cases.measure("milliseconds of the processor a config", 1000 * float(np.median(took)))
    assert float(np.median(took)) < SOON
    assert taken or wrong


def keys() -> list[tuple[str, str]]:
    """Every key of every section, by the section's name."""
    found = [("", name) for name in SECTIONS]
    for section, part in SCHEMA["properties"].items():
        node: dict[str, Any] = SCHEMA["$defs"].get(str(part.get("$ref", "")).rpartition("/")[2], {})
        found += [(section, name) for name in node.get("properties", {})]
    return sorted(found)


@pytest.mark.parametrize(("section", "key"), keys())
def test_a_slip_of_a_key_is_told_with_the_key_it_may_have_been(section: str, key: str) -> None:
    slip = key[:-1] + "q" if len(key) > 2 else key + "q"
    with pytest.raises(ConfigError) as error:
        parse_config({section: {slip: 1}} if section else {slip: 1})
    where = f"{section}.{slip}" if section else slip
    told = [line for line in str(error.value).splitlines() if line.startswith(where)]
    assert len(told) == 1 and "unknown key" in told[0], str(error.value)
    assert "did you mean" in told[0] or len(key) < 5, told[0]
