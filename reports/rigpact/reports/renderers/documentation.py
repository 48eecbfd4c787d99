"""The web address of the pages under docs/, for links in reports.

The address is the project URL named Documentation of the installed distribution: `[project.urls]` in pyproject.toml.
`RIGPACT_DOCS_URL` replaces it; the GitHub action sets it to the docs of the revision that runs. Without either, reports have
no links.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, metadata

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Rule

ENVIRONMENT = "RIGPACT_DOCS_URL"
_SCHEMES = ("https://", "http://")
_PLACEHOLDER = "/OWNER/"
"""Stands in pyproject.toml until somebody publishes a copy; a link to it would lead nowhere."""


def documentation_url() -> str | None:
    """The address of the docs folder without a final slash; UnusableInput for a wrong environment variable."""
    given = os.environ.get(ENVIRONMENT, "").strip() or _project_url()
    if given is None:
        return None
    if not given.startswith(_SCHEMES) or not given.isprintable() or " " in given:
        raise UnusableInput(ENVIRONMENT, repr(given), "an address that begins with https://")
    return given.rstrip("/")


def rule_url(rule: Rule, base: str | None) -> str | None:
    """The address of a rule's section in docs/rules.md under `base`."""
    return None if base is None else f"{base}/rules.md#{rule.code.lower()}-{rule.name}"


def _project_url() -> str | None:
    try:
        urls = metadata("rigpact").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(entry.split(", ", 1) for entry in urls if ", " in entry)
    address = named.get("Documentation")
    return None if address is None or _PLACEHOLDER in address else address
