"""Every error Flockwise raises on purpose.

Our exception hierarchy:

    FlockwiseError
    ├── ConfigError      a field of a config is unknown, of the wrong type or impossible
    ├── InputError       an argument of a function is (also a ValueError)
    ├── DataError        a data set is missing, damaged or not what it claims to be
    ├── PluginError      a name is not registered, or a user's piece does not do what its kind must
    ├── EngineError      a worker died or could not be started
    └── RunError         a run directory is missing, damaged or of a newer version
        └── BusyError    another process is writing it

A message is one line: the field, the value, the rule, the fix. Only the command line prints.
"""


class FlockwiseError(Exception):
    """Base of all errors that a user can cause and mend."""


class ConfigError(FlockwiseError):
    """A config that cannot be run."""


class InputError(FlockwiseError, ValueError):
    """A function was given something it cannot work with."""


class DataError(FlockwiseError):
    """A data set that is missing, damaged or not what it claims to be."""


class PluginError(FlockwiseError):
    """A piece that is not registered or does not keep its contract."""


class EngineError(FlockwiseError):
    """The engine could not do the work."""


class RunError(FlockwiseError):
    """A run directory that cannot be used."""


class BusyError(RunError):
    """A run directory that another process is writing."""
