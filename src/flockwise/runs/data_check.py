"""The data check of a run: what is wrong with the clients' data is refused or told, never trained on in silence."""

from collections.abc import Mapping

from flockwise.data import DataCheck, Federation, Finding, check_data
from flockwise.errors import DataError
from flockwise.messages import Event
from flockwise.store.client_notes import called

MOST_TOLD = 5


def checked_data(federation: Federation, how: str) -> list[Event]:
    """Events of what was found in data that is not a published data set; DataError if it must be refused.

    `how` is `data.check`: "refuse", "warn" (train all the same) or "off".
    """
    if how == "off" or federation.dataset.registered is not None:
        return []
    found = check_data(federation)
    if found.bad and how == "refuse":
        raise DataError(refusal(found))
    return [Event("data", f"{each.kind}: {each.message}", each.client) for each in found.findings]


def refusal(found: DataCheck) -> str:
    """Why data is refused, in one line: the first faults, and what can be done."""
    told = "; ".join(sentence(finding, found.names) for finding in found.bad[:MOST_TOLD])
    more = f"; and {len(found.bad) - MOST_TOLD} more" if len(found.bad) > MOST_TOLD else ""
    return f"data: {told}{more}. Mend the data, or set data.check = 'warn' to train on what is left"


def sentence(finding: Finding, names: Mapping[int, str]) -> str:
    """A finding with the client that it is about."""
    who = "" if finding.client is None else f"{called(finding.client, names[finding.client])}: "
    return f"{who}{finding.message}"
