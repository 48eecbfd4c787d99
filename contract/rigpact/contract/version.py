"""The version that outputs carry."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache  # looking through the installed packages costs more than many a frame
def rigpact_version() -> str:
    """Version of the installed distribution; `0+uninstalled` when the checkout runs without one."""
    try:
        return version("rigpact")
    except PackageNotFoundError:
        return "0+uninstalled"
