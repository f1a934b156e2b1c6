"""Several models of one kind whose predictions are mixed; how much each counts are numbers of the model too."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from flockwise.errors import ConfigError
from flockwise.models.contract import MODELS, ImageShape, model
from flockwise.notes import Around, OptionsOf
from flockwise.options import Count

if TYPE_CHECKING:
    from torch import nn


def _in_full(of: dict[str, Any] | str, around: Around) -> dict[str, Any]:
    """The model that is named, with all of its options."""
    options = {"name": of} if isinstance(of, str) else dict(of)
    name = options.pop("name", "")
    if not isinstance(name, str) or name not in MODELS or name == "mixture":
        known = ", ".join(other for other in MODELS if other != "mixture")
        raise ConfigError(f"{around.name} = {name!r}: must be the name of another model; there are {known}")
    return {"name": name, **MODELS[name].resolved(options, f"{around.name}.")}


@model("several models of one kind, their predictions mixed by shares", paper="Marfoq et al., NeurIPS 2021")
def mixture(
    input_shape: ImageShape,
    classes: int,
    parts: Annotated[Count, Field(ge=2), "how many models are mixed"] = 3,
    of: Annotated[
        dict[str, Any] | str,
        OptionsOf("models", _in_full),
        "the model of each part, such as {name = 'mlp', hidden = 32}",
    ] = "mlp",
) -> "nn.Module":
    """The log of the mean of the parts' probabilities by shares; its cross-entropy is the mixture's likelihood."""
    from flockwise.models.layers.mixture import Mixture

    options = {"name": of} if isinstance(of, str) else dict(of)
    part = MODELS[options.pop("name")]
    return Mixture([part(input_shape, classes, **options) for _ in range(parts)])
