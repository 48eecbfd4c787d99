"""What a page shows of a command's output, compared with what the command prints."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def masked(text: str) -> str:
    """Digits that another CPU may print differently do not count, nor the column widths they make."""
    return re.sub(r"\s+", " ", _NUMBER.sub("#", text))
