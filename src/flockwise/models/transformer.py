"""A small transformer for tokens that looks back only, with low-rank updates where asked for.

Attention as in Vaswani et al. (NeurIPS 2017), normalised before each block; low-rank updates as in Hu et al. (LoRA,
ICLR 2022): the weights stay as they are, and only the two thin matrices beside each of attention's projections train and
travel.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from flockwise.errors import InputError
from flockwise.models.contract import ImageShape, model
from flockwise.options import Count, Natural

if TYPE_CHECKING:
    from torch import nn


@model(
    "a small transformer for tokens: a row of scores for every step; LoRA",
    paper="Hu et al., LoRA, ICLR 2022",
    example=None,  # it takes tokens, not images
)
def transformer(
    input_shape: ImageShape,
    classes: int,
    tokens: Annotated[Count | None, "different tokens; none: as many as classes"] = None,
    width: Annotated[Count, "numbers that stand for a token"] = 64,
    depth: Annotated[Count, "blocks of attention and a perceptron"] = 2,
    heads: Annotated[Count, "of attention"] = 4,
    lora: Annotated[
        Natural, "rank of low-rank updates, which alone train and travel; 0: everything trains"
    ] = 0,
    weights: Annotated[
        str | None, "a .safetensors file (run.save_model) to start from, beside the config"
    ] = None,
) -> "nn.Module":
    """Samples are (steps,) tokens, outputs (steps, classes): for the tasks next-token and sequence-labelling.

    With `lora`, start from `weights` that were trained before: low-rank updates of random weights learn little.
    """
    from flockwise.models.layers.attention import Transformer

    if width % heads:
        raise InputError(f"model.width = {width}: must be a multiple of model.heads = {heads}")
    made = Transformer(input_shape[-1], tokens or classes, classes, width, depth, heads)
    if weights is not None:
        _load(made, Path(weights))
    if lora:
        made.add_low_rank(lora)
    return made


def _load(module: Any, path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        held = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"model.weights = {str(path)!r}: cannot be read: {error}") from error
    own = module.state_dict()
    odd = [name for name in own if name not in held or held[name].shape != own[name].shape]
    if odd:
        raise InputError(
            f"model.weights = {str(path)!r}: does not fit: {odd[0]} is missing or of another shape"
        )
    module.load_state_dict({name: held[name] for name in own})
