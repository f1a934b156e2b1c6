"""The shares of clients at FL+HC's targets, round by round, for its figures."""

from flockwise.studies.finished import Finished
from flockwise.studies.readers import at_target_by_round


def at_99_percent(finished: Finished) -> dict[str, list[list[float]]]:
    """MNIST: 99 % of a client's own test digits."""
    return at_target_by_round(finished, 0.99)


def at_80_percent(finished: Finished) -> dict[str, list[list[float]]]:
    """FEMNIST: 80 %."""
    return at_target_by_round(finished, 0.8)


def at_the_target(finished: Finished) -> dict[str, list[list[float]]]:
    """Whichever of the two the data have."""
    return at_target_by_round(finished, 0.8 if finished.run.config["data"]["name"] == "femnist" else 0.99)
