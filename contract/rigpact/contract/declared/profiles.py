"""Profiles: the conventions of a stack, which a declaration takes over with `profile = "NAME"`.

They are data, in profiles.toml. To add one: a table there, with the source of every statement.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from rigpact.contract.systems.contract import Contract


@dataclass(frozen=True)
class Profile:
    """A stack's conventions: what is said of it, and the values of choices that a declaration leaves open."""

    name: str
    title: str
    source: str
    says: Mapping[str, Any]
    choices: Mapping[str, str] = field(default_factory=dict)

    def choice(self, operation: str, parameter: str) -> str | None:
        """The value of a parameter of an operation; None where the profile says nothing of it."""
        own = self.choices.get(f"{operation}.{parameter}")
        return self.choices.get(parameter.removeprefix("second_")) if own is None else own


@cache
def known_profiles() -> Mapping[str, Profile]:
    """Every profile, by name."""
    root = tomllib.loads(files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8"))
    return {name: Profile(name, **table) for name, table in root.items()}


def profile_facts(_contract: Contract, root: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What `rigpact show` says of a declared contract before its tables: its profile."""
    profile = known_profiles().get(root.get("profile", ""))
    if profile is None:
        return []
    says = ", ".join(f"{key} {value}" for key, value in profile.says.items())
    return [("profile", f"{profile.name}: {says}")]
