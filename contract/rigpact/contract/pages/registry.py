"""The systems that this installation knows: entry points of the group `rigpact.systems`.

A package brings a system by naming it in its own pyproject.toml; rigpact's own stand in rigpact's. Only installed packages are
loaded here: a contract file names a system, it never brings code.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.page import Page
from rigpact.contract.declared.vocabulary import package_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.system import System

GROUP = "rigpact.systems"
ENEMY_ANIMATION = "enemy_animation"
"""The system of a schema bundle, which does not name one."""


@cache
def known_systems() -> Mapping[str, EntryPoint]:
    """Where each system is loaded from, by name; rigpact's own first. UnusableInput where two packages bring one name."""
    found: dict[str, EntryPoint] = {}
    own_first = sorted(entry_points(group=GROUP), key=lambda entry: (package_of(entry) != "rigpact", entry.name))
    for entry in own_first:
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            found_two = f"two packages that bring it, {package_of(other)} and {package_of(entry)}"
            raise UnusableInput(f"the system {entry.name}", found_two, "one", "uninstall one of them")
    return found


@cache
def _loaded(name: str) -> System:
    entry = known_systems()[name]
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise UnusableInput(
            f"the system {name}", f"{entry.value}, which cannot be imported ({error})", "a Page or a System"
        ) from None
    system = found.system() if isinstance(found, Page) else found
    if not isinstance(system, System):
        raise UnusableInput(f"the system {name}", f"{type(system).__name__} at {entry.value}", "a Page or a System")
    return system


def canonical_name(name: str) -> str:
    """A system's name as files have it; `rig-inversion` is `rig_inversion`."""
    return name.strip().lower().replace("-", "_")


def find_system(name: str, place: object = "NAME") -> System:
    """The system of that name; UnusableInput, with the nearest name, where there is none."""
    wanted = canonical_name(name)
    if wanted not in known_systems():
        near = get_close_matches(wanted, known_systems(), 1)
        hint = f"did you mean {near[0]}?" if near else "`rigpact show` lists them"
        raise UnusableInput(place, repr(name)[:60], f"one of {', '.join(known_systems())}", hint)
    return _loaded(wanted)


def every_system() -> list[System]:
    """Every system of this installation, rigpact's own first."""
    return [_loaded(name) for name in known_systems()]


def meaning_of(shared: Knob) -> str:
    """What a convention decides that operations share: what it says itself, else the page of a character's system."""
    return shared.meaning or find_system(ENEMY_ANIMATION).knobs[shared.name].meaning
