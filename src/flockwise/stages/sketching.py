"""When clients are compared on sketches of their updates instead of the updates themselves.

Whole updates of all clients, and the comparison of all with all, end near ten thousand clients. A sketch keeps a few
hundred numbers of an update, taken when it arrives; see `kernels/fold.py` for what is lost.
"""

from dataclasses import dataclass

from flockwise.errors import ConfigError
from flockwise.kernels.fold import Fold, fold_of
from flockwise.kernels.stored import by_rows
from flockwise.similarity.sketches import Kind
from flockwise.stages.batch import Batch
from flockwise.stages.stage import Setting, Stage
from flockwise.types import Updates

# Up to here clients are compared exactly unless a config says otherwise (docs/sketches.md has what both cost): the
# comparison of 5,000 with 5,000 takes 200 MB, and what is kept of the updates stays below 2 GiB.
MOST_EXACT_CLIENTS = 5_000
MOST_EXACT_BYTES = 2**31
WIDEST, USUAL_WIDTH, LEAST_WIDTH = 8192, 512, 128  # numbers; errors of cosines 0.011, 0.044 and 0.088
# Of all clients' sketches: what is spent on wide ones, and what at most; with many clients each is shorter.
WIDE_BYTES, USUAL_BYTES = 2**26, 2**30


@dataclass(frozen=True)
class Sketcher:
    """Turns updates into sketches of what training moved."""

    fold: Fold
    spans: tuple[tuple[int, int], ...]  # the columns that training moves

    @property
    def width(self) -> int:
        """How many numbers a sketch has."""
        return self.fold.width

    @property
    def kind(self) -> Kind:
        """Sketches of one kind can be compared."""
        return Kind(self.fold.size, self.fold.width, self.fold.seed)

    def __call__(self, updates: Updates) -> Updates:
        """(rows, parameters) to (rows, width); any blocks of rows give the same bits."""
        if len(self.spans) == 1:
            return self.fold(updates[:, slice(*self.spans[0])])
        total, before = self.fold(updates[:, :0]), 0
        for start, stop in self.spans:
            self.fold.add(updates[:, start:stop], before, total)
            before += stop - start
        return total


def sketcher_of(setting: Setting, clients: int, parameters: int) -> Sketcher | None:
    """How updates of so many parameters are sketched; None if they are kept as they are."""
    spans = setting.learned or ((0, parameters),)
    size = sum(stop - start for start, stop in spans)
    width = automatic_width(clients, size) if setting.sketch == "auto" else setting.sketch
    return None if width is None else Sketcher(fold_of(size, width, setting.seed), spans)


def automatic_width(clients: int, parameters: int) -> int | None:
    """How wide sketches are if nobody says: None, no sketches, while all updates can be kept and compared."""
    if clients <= MOST_EXACT_CLIENTS and 4 * clients * parameters <= MOST_EXACT_BYTES:
        return None
    width = WIDEST
    while width > max(parameters, LEAST_WIDTH):
        width //= 2
    for least, most in ((USUAL_WIDTH, WIDE_BYTES), (LEAST_WIDTH, USUAL_BYTES)):
        while width > least and 4 * clients * width > most:
            width //= 2
    return width


def width_for(setting: Setting, round: Stage, clients: int, parameters: int) -> int | None:
    """How wide sketches are in rounds like this, if there are any; refuses them where a stage cannot work on them."""
    if not round.compares or setting.sketch is None:
        return None
    if not round.exact:
        sketcher = sketcher_of(setting, clients, parameters)
        return sketcher.width if sketcher else None
    if setting.sketch == "auto":
        return None
    raise ConfigError(
        f'evidence.sketch = {setting.sketch}: {round.exact}; say "none", or compare by cosine, one-plus-cosine or l2'
    )


def sketched(batch: Batch, sketcher: Sketcher) -> Updates:
    """The sketches of a round's updates: those taken as they arrived, or taken now."""
    return by_rows(sketcher, batch.replies.updates) if batch.sketches is None else batch.sketches
