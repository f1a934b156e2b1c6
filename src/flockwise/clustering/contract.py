"""What a clustering by name is: an estimator of scikit-learn's shape, and what it must be given.

Ours have all that scikit-learn asks of an estimator (get_params, set_params, clone, tags, fit_predict) without
inheriting from it: importing scikit-learn takes more than a second, which every command of Flockwise would pay.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar

from flockwise.errors import InputError
from flockwise.plugins import nearest
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name
from flockwise.types import Labels

Takes = Literal["similarity", "distance", "points"]
C = TypeVar("C", bound=type)


class Clusterer:
    """Base of our estimators: `__init__` stores keyword options as they are, `fit` finds `labels_`."""

    name: ClassVar[str] = ""
    takes: ClassVar[Takes] = "similarity"
    _estimator_type: ClassVar[str] = "clusterer"
    labels_: Labels  # flocks 0..C-1 in order of each flock's first client

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the flocks in what it takes: similarities, distances (clients x clients) or points."""
        raise NotImplementedError

    def fit_predict(self, X: Any, y: None = None) -> Labels:
        """Find the flocks and return their labels."""
        return self.fit(X).labels_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every option by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change some options."""
        for name, value in params.items():
            if name not in (known := list(self.get_params())):
                hint = nearest(name, known) if known else "it takes none"
                raise InputError(f"{name} = {value!r}: not an option of {type(self).__name__}; {hint}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: item.default for name, item in inspect.signature(type(self)).parameters.items()}
        changed = {name: value for name, value in self.get_params().items() if value != defaults[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        pairwise = InputTags(pairwise=self.takes != "points")
        return Tags(estimator_type="clusterer", target_tags=TargetTags(required=False), input_tags=pairwise)


@dataclass(frozen=True, eq=False, repr=False)
class ClustererPiece(Piece):
    """A clustering that can be named in a config: calling it with options gives the estimator."""

    takes: Takes = "similarity"
    most_flocks: int | None = None  # it never finds more

    def __call__(self, **options: Any) -> Any:
        """The estimator with these options, checked."""
        return self.function(**self.resolved(options, f"{self.name}."))


CLUSTERERS: Registry[ClustererPiece] = Registry("flockwise.clustering")


def clusterer(
    summary: str,
    *,
    takes: Takes,
    paper: str = "",
    example: Mapping[str, Any] | None = NO_OPTIONS,
    most_flocks: int | None = None,
) -> Callable[[C], C]:
    """Makes a class with `fit_predict` a clustering by name: KMeansElbow is kmeans-elbow."""

    def named(kind: C) -> C:
        name = config_name(kind)
        if ":" not in name:  # one of ours
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
        CLUSTERERS.add(
            ClustererPiece(
                name, summary, kind, paper=paper, example=example, takes=takes, most_flocks=most_flocks
            )
        )
        for field, value in (("name", name), ("takes", takes)):  # also for who is handed an instance
            setattr(kind, field, value)
        return kind

    return named
