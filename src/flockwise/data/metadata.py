"""Names of clients and what is known of them: places, kinds, anything. Shown, never learned from."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flockwise.errors import InputError

LONGEST_NAME = 200  # signs
LONGEST_VALUE = 500
MOST_KEYS = 50
ORIGIN = ("address", "hour", "user")  # where replies come from: what Mini-FL groups by


def client_entries(clients: Any) -> tuple[list[Any], list[str] | None]:
    """The entries of clients that were brought, and their names if they are a mapping from names."""
    if isinstance(clients, Mapping):
        return list(clients.values()), [str(name) for name in clients]
    if isinstance(clients, str | bytes) or not (hasattr(clients, "__len__") and hasattr(clients, "__iter__")):
        raise InputError(
            f"clients = {type(clients).__name__}: must be a list with an entry for each client, or a mapping from "
            "names to entries"
        )
    entries = list(clients)
    if not entries:
        raise InputError("clients = []: give at least one client, as (x, y) or ((x, y), (x, y))")
    return entries, None


def checked_names(names: Sequence[str] | None, clients: int) -> list[str | None]:
    """A name for each client, all different; None where there are none."""
    if names is None:
        return [None] * clients
    if isinstance(names, str) or len(names) != clients:
        raise InputError(f"names = {len(names)} entries: must be {clients}, one per client")
    found = [check_name(name, f"names[{number}]") for number, name in enumerate(names)]
    twice = (
        next((name for name in found if found.count(name) > 1), None) if len(set(found)) < clients else None
    )
    if twice is not None:
        raise InputError(f"names = {twice!r} twice: every client needs a name of its own")
    return list(found)


def check_name(name: Any, field: str) -> str:
    """A name that people can read: some text, not too long."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{field} = {name!r:.60}: must be some text")
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"{field} = {name[:30]!r}...: has {len(name)} signs, at most {LONGEST_NAME} are shown"
        )
    return name


def checked_about(
    about: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, names: Sequence[str | None]
) -> list[dict[str, Any]]:
    """What is known of each client: by name, or one entry a client in their order."""
    if about is None:
        return [{} for _ in names]
    if isinstance(about, Mapping):
        strangers = [str(name) for name in about if name not in names]
        if strangers:
            raise InputError(f"about[{strangers[0]!r}]: no client has this name")
        return [check_about(about.get(str(name), {}), f"about[{name!r}]") for name in names]
    if len(about) != len(names):
        raise InputError(f"about = {len(about)} entries: must be {len(names)}, one per client")
    return [check_about(each, f"about[{number}]") for number, each in enumerate(about)]


def check_about(about: Any, field: str) -> dict[str, Any]:
    """Short values by short names: text, numbers, true or false."""
    if not isinstance(about, Mapping) or len(about) > MOST_KEYS:
        raise InputError(
            f"{field} = {type(about).__name__}: must be a mapping of at most {MOST_KEYS} values by name"
        )
    found = {}
    for key, value in about.items():
        check_name(key, f"{field} key")
        plain = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
        if plain is None or (isinstance(plain, float) and math.isnan(plain)):
            continue  # not known
        if not isinstance(plain, str | int | float | bool) or len(str(plain)) > LONGEST_VALUE:
            raise InputError(
                f"{field}[{key!r}] = {value!r:.60}: must be a short text, a number, true or false"
            )
        found[key] = str(plain) if isinstance(plain, float) and math.isinf(plain) else plain
    return found


def origin_of(about: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Address, hour and user, where they are among what is known of a client."""
    found = {key: about[key] for key in ORIGIN if key in about}
    for key, kinds in (("address", str), ("hour", int | float), ("user", int)):
        if key in found and (not isinstance(found[key], kinds) or isinstance(found[key], bool)):
            wanted = {
                "address": "an address such as '10.0.0.1'",
                "hour": "hours from 0 to 24",
                "user": "a whole number",
            }
            raise InputError(f"{field}[{key!r}] = {found[key]!r:.60}: must be {wanted[key]}")
    return found
