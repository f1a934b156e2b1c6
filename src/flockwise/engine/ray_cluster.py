"""Getting to a Ray cluster, or one clear line that says why not; nobody waits in vain."""

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flockwise.errors import ConfigError
from flockwise.kernels.parallel import available_cores

_REACHABLE = 5.0  # seconds that an address has to accept a connection
_START = 90.0  # seconds that Ray may take from there
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def connected(address: str, said: str, cores: int = 0) -> tuple[Any, Callable[[], None]]:
    """Ray at this address, and how to leave it: one that this process is part of already is used as it is, and stays.

    "auto" is the cluster that this machine belongs to, "local" one of `cores` (0: all) on this machine that ends with
    the process. `said` is how the user put the address, for errors.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError(
            f"{said}: Ray is not installed; pip install -c constraints.txt 'flockwise[ray]'"
        ) from None
    if ray.is_initialized():
        return ray, lambda: None
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    where, hint = _meant(address)
    if where == "local":
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # ours alone: as worthy as worker processes of this machine
    _check_reachable(where, f"{said}{hint}")
    _start(ray, where, f"{said}{hint}", cores)
    tell = _hushed(ray)

    def leave() -> None:
        ray.shutdown()
        tell()

    return ray, leave


def _meant(address: str) -> tuple[str, str]:
    """The address that counts, and what a user may not know of it: Ray lets a variable say what "auto" is."""
    other = os.environ.get("RAY_ADDRESS")
    return (other, f" (RAY_ADDRESS is {other!r})") if address == "auto" and other else (address, "")


def _check_reachable(address: str, said: str) -> None:
    """Refuse what is no address, and one that nothing listens at: Ray would try for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise ConfigError(f"{said}: must be auto, local, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHABLE).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{said}: no cluster answers there: {why}") from error


def _start(ray: Any, address: str, said: str, cores: int) -> None:
    """One of our own in this thread, whose end would end it; another in a thread of its own, for what listens may be no
    Ray at all, and would be waited for without end."""
    failed: list[BaseException] = []

    def start(**options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Ray's own future
                ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
        except Exception as error:  # told by the thread that waits
            failed.append(error)

    with _our_signals(), _silent(logging.getLogger("ray")):
        if address == "local":
            start(include_dashboard=False, num_cpus=cores or available_cores())
        else:
            thread = threading.Thread(target=start, daemon=True)
            thread.start()
            thread.join(_START)
            if thread.is_alive():
                raise ConfigError(f"{said}: Ray did not answer there within {_START:g} s")
    if failed:
        raise ConfigError(f"{said}: {_why(address, failed[0])}") from failed[0]


def _hushed(ray: Any) -> Callable[[], None]:
    """Keep Ray's news of nodes off standard output, where a program may read ours; returns how to undo it."""
    worker = ray._private.worker  # Ray has no public switch for it
    before = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    return lambda: setattr(worker, "_worker_logs_enabled", before)


@contextmanager
def _our_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; who asks a run to stop is to be heard."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Why it does not start is ours to say, in one line."""
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _why(address: str, error: BaseException) -> str:
    told = " ".join(str(error).split())[:300]
    if address == "auto" and isinstance(error, ConnectionError):
        return (
            "no Ray cluster runs on this machine; ray start --head, or say 'local' to have one for this run"
        )
    return f"{'Ray did not start' if address == 'local' else 'no cluster answers there'}: {told}"
