"""The sources of the compiled loop, and its file's name. The build imports this module alone."""

import hashlib
import os
from pathlib import Path

STEM = "rigpact_native"
ENDING = ".dll" if os.name == "nt" else ".so"


def sources(cpp: Path) -> list[Path]:
    """The files that are compiled."""
    return sorted((cpp / "native").glob("*.cpp"))


def sources_sha256(cpp: Path) -> str:
    """The hash of what the library is compiled from, headers and sources; line endings do not count."""
    headers = (*(cpp / "include" / "rigpact").rglob("*.hpp"), *(cpp / "native").glob("*.hpp"))
    files = [*sorted(headers), *sources(cpp)]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()
