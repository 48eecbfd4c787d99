"""Formats that need a library of the extra `readers`, or a reader of their own: bags, stores of arrays, animations."""

from importlib import import_module
from typing import Any

from rigpact.contract.errors import UnusableInput


def library(name: str, path: object) -> Any:
    """A module of a library; UnusableInput that names the extra where it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # the library is there, and is itself broken
        package = name.partition(".")[0].replace("_", "-")
        hint = "pip install 'rigpact[readers]'"
        raise UnusableInput(path, f"no library {package}", f"{package}, which reads this format", hint) from None
