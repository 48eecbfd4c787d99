"""The rules: what can be wrong with an artefact, one family a file."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding


def check_bundle(document: Document, companion: Document | None = None) -> Iterator[Finding]:
    """Yield every finding about a bundle (and its companion)."""
    yield from ()
