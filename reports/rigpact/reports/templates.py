"""Jinja's templates of a folder: an unknown name is an error, and HTML is escaped."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def environment_of(folder: Path) -> Environment:
    """The templates of a folder; those of HTML escape what they are given."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=select_autoescape(("html", "html.j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
