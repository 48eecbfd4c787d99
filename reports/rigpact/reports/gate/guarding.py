"""Who guards the settings: those of the base revision, against what the judged change would narrow.

A pull request brings its own rigpact.toml. It may ask for more. What it asks less than the base revision does is a finding, which
no setting of the change can lower; `settings = "may-change"` in [gate] of the base makes it information. Nothing is judged where
the settings of the base cannot be read.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json
from rigpact.contract.files.reach import is_pattern
from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.baseline import Waiver, read_baseline, waivers_of
from rigpact.contract.settings.configuration import FILE_NAMES, Configuration, text_to_configuration
from rigpact.contract.settings.narrowing import narrowings, newly_known
from rigpact.reports.file_lists import meant_names
from rigpact.reports.gate.project import clip_endings
from rigpact.reports.git_revision import is_at, knows_revision, names_at, own_repository, read_bytes_at

OWN_BASE = "the judged settings name the base themselves; --base REV names it from outside"


def about_settings(now: Configuration, base: str | None) -> Iterator[Finding]:
    """What the change narrows, and why nobody guards it where that is so. `now` holds the base revision, `base` is --base."""
    revision = now.gate.base if now.gate is not None else None
    if revision is None:
        return
    if base is None:
        yield _unguarded(now, OWN_BASE)
    if not knows_revision(revision):
        yield _unguarded(now, f"the settings of {revision} cannot be read: no such revision, or no git")
        return
    was = settings_at(now.path, revision)
    if was is None:
        yield _unguarded(now, f"{revision} has no settings")
        return
    yield from _narrowed(was, now, revision)


def is_first_change(now: Configuration, revision: str) -> bool:
    """Whether a revision has neither settings nor the bundle: a change that brings both breaks nothing."""
    if now.gate is None or now.gate.bundle is None or not knows_revision(revision):
        return False
    return settings_at(now.path, revision) is None and not is_at(Path(now.gate.bundle), revision)


def settings_at(path: Path, revision: str) -> Configuration | None:
    """The settings of a known revision, in the folder of today's or above it; None where it has none."""
    root, folder = own_repository(), path.resolve().parent
    for each in (folder, *folder.parents):
        for place in (each / name for name in FILE_NAMES):
            found = _read_at(place, revision) if is_at(place, revision) else None
            if found is not None and found.says_anything:
                return found
        if root is None or each == root:
            break
    return None


def _read_at(place: Path, revision: str) -> Configuration:
    try:
        return text_to_configuration(read_bytes_at(place, revision), place)
    except UnusableInput as error:
        where = error.place.replace(str(place), place.name)
        raise UnusableInput(
            f"{revision}: {where}", error.found, error.expected, "mend the settings of the base first"
        ) from None


def _narrowed(was: Configuration, now: Configuration, revision: str) -> Iterator[Finding]:
    may_change = was.gate is not None and was.gate.settings is not None
    rule = replace(rules.SETTINGS_NARROWED, severity=Severity.INFO) if may_change else rules.SETTINGS_NARROWED
    if was.path.resolve() != now.path.resolve():
        yield rule.at(now.path, "", base=revision, key="the file", was=was.path.name, now=f"another {now.path.name}")
    for name in _clips_gone(was, revision):
        yield rule.at(now.path, "", base=revision, key="gate.clips", was=name, now="absent")
    known = read_baseline(now.baseline) if now.baseline else ()
    for each in (*narrowings(was, now), *newly_known(_known_at(was, revision), known)):
        yield rule.at(now.path, "", base=revision, key=each.key, was=each.was, now=each.now)


def _clips_gone(was: Configuration, revision: str) -> Iterator[str]:
    """The clips that a folder or a pattern of the base meant there and that are no more: no error names them."""
    for word in was.gate.clips if was.gate is not None else ():
        fixed = (
            Path(word)
            if not is_pattern(word)
            else Path(*takewhile(lambda part: not is_pattern(part), Path(word).parts))
        )
        for name in meant_names(word, names_at(fixed, revision), clip_endings()):
            if not name.is_file():
                yield name.name


def _known_at(was: Configuration, revision: str) -> tuple[Waiver, ...]:
    if was.baseline is None or not is_at(was.baseline, revision):
        return ()
    return waivers_of(bytes_to_json(read_bytes_at(was.baseline, revision), was.baseline), was.baseline)


def _unguarded(now: Configuration, reason: str) -> Finding:
    return rules.SETTINGS_UNGUARDED.at(now.path, "", reason=reason)
