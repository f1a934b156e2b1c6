"""The data sets as functions: `fw.data.mnist()` is `fw.data.load("mnist")`."""

from pathlib import Path

from flockwise.data.dataset import Dataset
from flockwise.data.loading import load


def digits() -> Dataset:
    """1,797 handwritten digits of 8 x 8 pixels; embedded, so nothing is read or downloaded."""
    return load("digits")


def mnist(directory: str | Path | None = None) -> Dataset:
    """70,000 handwritten digits of 28 x 28 pixels, with their writers where QMNIST's labels are there too.

    Here and below, `directory` is the folder that holds the data set's own; None takes it from the cache, where
    `flockwise data get` puts it.
    """
    return load("mnist", directory)


def fashion_mnist(directory: str | Path | None = None) -> Dataset:
    """70,000 pictures of clothes, 28 x 28 pixels, ten kinds."""
    return load("fashion-mnist", directory)


def cifar10(directory: str | Path | None = None) -> Dataset:
    """60,000 colour pictures of animals and vehicles, 32 x 32 pixels, ten kinds."""
    return load("cifar-10", directory)


def femnist(directory: str | Path | None = None) -> Dataset:
    """71,212 digits and letters of 732 writers (LEAF): the natural federation."""
    return load("femnist", directory)


def keyboards(directory: str | Path | None = None) -> Dataset:
    """30 clients that type in six languages: the next character from the last five; split it by `natural`."""
    return load("keyboards", directory)


def arms(directory: str | Path | None = None) -> Dataset:
    """20 arms of ten people with a smart watch, doing seven exercises; split it by `natural`."""
    return load("arms", directory)


def meters(directory: str | Path | None = None) -> Dataset:
    """30 electricity meters of households, shops and farms: the next hour's load; split it by `natural`."""
    return load("meters", directory)
