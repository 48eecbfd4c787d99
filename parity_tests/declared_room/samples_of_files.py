"""The files in samples/: contracts, pages, and what other stacks write, by hand after their formats."""

from pathlib import Path


def sample(name: str) -> str:
    """The text of one."""
    return (Path(__file__).with_name("samples") / name).read_text(encoding="utf-8")
