"""The config of a run: read, checked as a whole before anything starts, written back in full."""

from flockwise.config.reading import load_config, parse_config
from flockwise.config.schema import schema
from flockwise.config.sections import Config

__all__ = ["Config", "load_config", "parse_config", "schema"]
