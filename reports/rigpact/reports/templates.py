"""The templates of answers: words stand in them, numbers come from Python."""

import re
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from rigpact.contract.errors import printable


def template(path: Path, *, is_page: bool = False, **filters: Callable[..., str]) -> Template:
    """A template of its folder; a name that it is not given is an error.

    is_page: what it is given is escaped for HTML, its control characters too.
    """
    environment = Environment(loader=FileSystemLoader(path.parent), autoescape=is_page, undefined=StrictUndefined)  # noqa: S701
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters |= {"cell": markdown_cell, "code_cell": _code} | filters
    if is_page:
        environment.finalize = lambda value: printable(value) if type(value) is str else value
    return environment.get_template(path.name)


def markdown_cell(text: str) -> str:
    """Text of a file as a table cell: it ends no cell and no line, and is not a tag, link, picture or mention of anybody."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", _code(text))


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|(?<=\])\(|:(?=//)|(?<=www)\.|@(?=\w)", re.IGNORECASE)
"""Signs that begin a tag, an entity, a link or a mention: `[0, 3)` and `det < 0` stay as they are."""


def _code(text: str) -> str:
    """Text in a code span in a table: it ends neither."""
    return printable(text).replace("|", "\\|").replace("`", "'")
