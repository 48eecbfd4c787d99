"""The rules: what can be wrong with an artefact, one family of rules a module. The catalogue says how to add one.

Names are imported when first used: a module that reads one family does not load the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rigpact.contract.rules.catalogue import ALL_RULES, FAMILIES, MEASURED, RETIRED, check, check_bundle
    from rigpact.contract.rules.family import Artefacts

__all__ = ["ALL_RULES", "FAMILIES", "MEASURED", "RETIRED", "Artefacts", "check", "check_bundle"]


def __getattr__(name: str) -> Any:
    """Import a public name from the catalogue."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.catalogue"), name)
