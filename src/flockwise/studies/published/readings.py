"""How settings that a paper leaves open were read: `readings.toml` beside a study's file."""

from pathlib import Path

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.studies.published.bars import read_items


class Try(Section):
    """A reading that was tried, and every number it gave."""

    reading: str
    gave: str


class Reading(Section):
    """One open setting: what the paper says, what was chosen, and after seeing which numbers."""

    setting: str
    paper: str
    chosen: str
    after: str = Field("", description="which numbers had been seen; empty: none")
    tried: list[Try] = Field(default_factory=list)


def read_readings(folder: Path) -> list[Reading]:
    """The readings of a study's folder; none where it has no readings.toml."""
    return read_items(Reading, folder / "readings.toml", "readings")


def told(readings: list[Reading]) -> list[str]:
    """As Markdown: a list, what was tried below each."""
    lines = []
    for reading in readings:
        alone = "Chosen before those below." if reading.tried else "No other reading is on record."
        when = f"Chosen after seeing {reading.after}." if reading.after else alone
        lines.append(
            f"- **{reading.setting}**. The paper: {reading.paper.rstrip('.')}. Ours: {reading.chosen}. *{when}*"
        )
        lines += [f"  - tried: {one.reading}: {one.gave}" for one in reading.tried]
    return lines
