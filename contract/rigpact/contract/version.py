"""The version that outputs carry."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache  # the search through the installed packages takes longer than some frames
def rigpact_version() -> str:
    """Version of the installed distribution; `0+uninstalled` when the checkout runs without one."""
    try:
        return version("rigpact")
    except PackageNotFoundError:
        return "0+uninstalled"
