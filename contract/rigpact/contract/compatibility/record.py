"""The entry for the change record that section 6 of the contract document asks for, as Markdown.

It says what changed, from which version to which, whom it concerns, and who must do what before it ships.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import PurePath

from rigpact.contract.compatibility.change import Compatibility
from rigpact.contract.compatibility.kinds import ADVICE, MEANING, Consumer
from rigpact.contract.errors import printable

TITLE = "# Change record\n"
OWNERS = {
    Consumer.ENGINE_LAYOUT: "engine programmers",
    Consumer.ENGINE_MATH: "whoever ships the assets",
    Consumer.RETRAIN: "training",
    Consumer.TRACE: "whoever keeps recordings",
}
_ALWAYS = "everybody: describe the change in the contract document (`rigpact show CONTRACT --format markdown` writes the tables)"
_HASH_CHARACTERS = 12


def record_key(found: Compatibility) -> str:
    """The identity of an entry: the hashes of both versions."""
    return f"{found.old_sha256[:_HASH_CHARACTERS]} → {found.new_sha256[:_HASH_CHARACTERS]}"


def record_entry(found: Compatibility, day: date) -> str:
    """One entry: heading, impact, table of changes, list of duties."""
    return "\n".join((*_head(found, day), "", *_table(found), "", *_duties(found), ""))


def _head(found: Compatibility, day: date) -> Iterator[str]:
    name = PurePath(found.new).name
    yield f"## {day.isoformat()} {markdown_cell(name)} {record_key(found)} ({found.version_step})"
    yield ""
    yield f"{found.version_reason[:1].upper()}{found.version_reason[1:]}."
    for consumer in found.classes:
        if consumer is not Consumer.COSMETIC:
            yield f"- **{consumer.value}**: {MEANING[consumer]}."


def _table(found: Compatibility) -> Iterator[str]:
    yield "| change | where | what | for whom |"
    yield "|---|---|---|---|"
    for each in found.changes:
        if Consumer.COSMETIC not in each.classes:
            whom = ", ".join(consumer.value for consumer in each.classes)
            yield f"| {each.kind.name} | `{_code(each.pointer)}` | {markdown_cell(each.message)} | {whom} |"
    cosmetic = sum(Consumer.COSMETIC in each.classes for each in found.changes)
    if cosmetic:
        yield f"| {cosmetic} cosmetic | | notes, spelling, rounding | nobody |"


def _duties(found: Compatibility) -> Iterator[str]:
    owned = [consumer for consumer in found.classes if consumer in OWNERS]
    if not owned:
        yield "Nothing to do."
        return
    yield "To do:"
    for consumer in owned:
        yield f"- [ ] {OWNERS[consumer]}: {ADVICE[consumer]}"
    yield f"- [ ] {_ALWAYS}"


def markdown_cell(text: str) -> str:
    """Text of a file as a table cell: it ends no cell and no line, and is not a tag, link, picture or mention of anybody."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", _code(text))


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|(?<=\])\(|:(?=//)|(?<=www)\.|@(?=\w)", re.IGNORECASE)
"""Signs that begin a tag, an entity, a link or a mention: `[0, 3)` and `det < 0` stay as they are."""


def _code(text: str) -> str:
    """Text in a code span in a table: it ends neither."""
    return printable(text).replace("|", "\\|").replace("`", "'")
