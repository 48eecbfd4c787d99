"""The templates of answers: words stand in them, numbers come from Python."""

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


def template(path: Path, *, is_page: bool = False, **filters: Callable[..., str]) -> Template:
    """A template of its folder; a name that it is not given is an error. is_page: what it is given is escaped for HTML."""
    environment = Environment(loader=FileSystemLoader(path.parent), autoescape=is_page, undefined=StrictUndefined)  # noqa: S701
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters |= filters
    return environment.get_template(path.name)
