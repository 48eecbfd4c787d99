"""Tables that a command writes into a page that people write."""

from __future__ import annotations

import re


def replaced(page: str, name: str, text: str) -> str:
    """The page with what stands between the marks of a name replaced; ValueError where it has no such marks."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    made, count = re.subn(f"{begin}.*?{end}", lambda _: begin + text.rstrip() + "\n" + end, page, flags=re.DOTALL)
    if not count:
        raise ValueError(f"the page has no <!-- {name} -->")
    return made
