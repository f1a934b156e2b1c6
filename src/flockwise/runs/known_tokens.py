"""Whether a model knows every token of the data, told before training: an embedding has a row for each."""

from torch import nn

from flockwise.data import Dataset
from flockwise.errors import InputError


def refuse_unknown_tokens(module: nn.Module, dataset: Dataset) -> None:
    """Refuse a model none of whose embeddings is large enough for the tokens that clients hold."""
    sizes = [part.num_embeddings for part in module.modules() if isinstance(part, nn.Embedding)]
    if sizes:
        refuse_tokens_beyond(max(sizes), dataset)


def refuse_tokens_beyond(rows: int, dataset: Dataset) -> None:
    """Refuse tokens that an embedding of so many rows has none for."""
    if not dataset.tokens or not dataset.x.size:
        return
    least, most = int(dataset.x.min()), int(dataset.x.max())
    if least < 0:
        raise InputError(
            f"data: tokens reach from {least} to {most}: must be at least 0, the number of a row of an embedding"
        )
    if most >= rows:
        raise InputError(
            f"model: its embedding has {rows} rows, and tokens of the data reach to {most}; give it at least "
            f"{most + 1}, as with model.tokens = {most + 1}"
        )
