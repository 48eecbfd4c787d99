"""Who guards the settings: those of the base revision, against what the judged change would narrow.

A pull request brings its own rigpact.toml. It may ask for more. What it asks less than the base revision does is a finding, which
no setting of the change can lower; `settings = "may-change"` in [gate] of the base makes it information. So are recordings and
clips that have fewer frames than there: one that is cut together with its clip agrees with it. The base says which file
governs: one that the change removes, moves, shadows or reaches over a link is narrower. Nothing is judged where the settings of
the base cannot be read, or where the base is the judged commit itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from rigpact.contract.compatibility import Compatibility, Consumer, compare_contracts
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.files.reading import is_pattern
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Rule, Severity
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.configuration import FILE_NAMES, Configuration, read_configuration
from rigpact.contract.settings.exceptions import read_baseline
from rigpact.contract.settings.gate import GateSettings
from rigpact.contract.settings.narrowing import narrowings, newly_known
from rigpact.reference_runtime.recordings.clip import RawClip, document_to_clip
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reports.file_lists import Revision, meant_names, opened_revision, refuse_judged_commit
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project, clip_endings

OWN_BASE = "the judged settings name the base themselves; --base REV names it from outside"
NO_BASE = "no base revision is given"


@dataclass(frozen=True)
class Guarded:
    """What the base revision says of the settings. is_first: it has neither a contract nor settings that name one."""

    findings: tuple[Finding, ...] = ()
    is_first: bool = False


def guarded(now: Configuration, found: Path, asked: Path, base: str | None) -> Guarded:
    """What the change narrows, and why nobody guards it where that is so.

    now: the judged settings, which hold the base revision; found: their file; asked: the file that was named, else the nearest
    that could be; base: of the command line. UnusableInput for a base that is not there, is the judged commit, or has settings
    that nobody can read.
    """
    revision = now.gate.base if now.gate is not None else None
    own = None if base is not None else OWN_BASE if revision is not None else NO_BASE
    is_strict = now.gate is not None and now.gate.strict
    unguarded = () if own is None or (revision is None and not is_strict) else (_unguarded(now, own),)
    if revision is None or now.gate is None:
        return Guarded(unguarded)
    with opened_revision(revision) as base_files:
        was = governing(base_files, asked)
        named = was.gate.bundle if was is not None and was.gate is not None else None
        bundle = Path(now.gate.bundle) if now.gate.bundle is not None else None
        is_first = named is None and bundle is not None and not base_files.has(bundle)
        if was is None:
            first = replace(rules.SETTINGS_UNGUARDED, severity=Severity.INFO)
            return Guarded((*unguarded, _unguarded(now, f"{revision} has no settings", first)), is_first)
        refuse_judged_commit(base_files)
        return Guarded((*unguarded, *_narrowed(was, now, base_files, found)), is_first)


def _in(root: Path, place: Path) -> Path:
    """A place as the user reached it, below the root of the repository; UnusableInput where a link led there from outside."""
    top = next((folder for folder in place.parents if folder.samefile(root)), None)
    if top is None:
        raise UnusableInput(place, "a link that leads into another repository", "settings of this repository")
    return root / place.relative_to(top)


def governing(base: Revision, asked: Path) -> Configuration | None:
    """The settings that a revision has for a file that is asked for: those there, in its folder or above; None without any."""
    place = _in(base.root, asked)
    folders = [folder for folder in place.parents if folder.is_relative_to(base.root)]
    for path in (place, *(folder / name for folder in folders for name in FILE_NAMES)):
        if base.has(path):
            try:
                found = read_configuration(base.file(path))
            except UnusableInput as error:
                hint = "fix the settings of the base first"
                raise UnusableInput(error.place, error.found, error.expected, hint) from None
            if found.says_anything:
                return found
    return None


def _narrowed(was: Configuration, now: Configuration, base: Revision, found: Path) -> Iterator[Finding]:
    may_change = was.gate is not None and was.gate.settings is not None
    rule = replace(rules.SETTINGS_NARROWED, severity=Severity.INFO) if may_change else rules.SETTINGS_NARROWED

    def narrower(key: str, before: object, after: object) -> Finding:
        return rule.at(now.path, "", base=base.name, key=key, was=before, now=after)

    place, file = _in(base.root, found), was.path.relative_to(base.folder)
    if base.root / file != place:
        yield narrower("the file", file.as_posix(), place.relative_to(base.root).as_posix())
    for folder in place.parents:
        if folder.is_relative_to(base.root) and folder.is_symlink() and base.link(folder) != str(folder.readlink()):
            name = folder.relative_to(base.root).as_posix()
            yield narrower("the folder", base.link(folder) or name, f"a link to {folder.readlink()}")
    folder = (base.root / file).parent
    clips = list(_clips_meant(was, base, folder))
    for path in clips:
        if not path.is_file():  # a folder or a pattern meant it: no error names it
            yield narrower("gate.clips", path.name, "absent")
    settings = was.gate or GateSettings()
    runs = [name for run in (*settings.traces, *settings.teacher) for name in (run.file, run.clip)]
    named = [folder / name for name in (*runs, settings.free_run) if name is not None]
    for path in list(dict.fromkeys((*named, *clips))):
        if path.is_file() and base.has(path) and (cut := _cut(base.file(path), path)):
            yield narrower(path.name, *(f"{count} frames" for count in cut))
    known = read_baseline(now.baseline) if now.baseline else ()
    listed = base.root / was.baseline.relative_to(base.folder) if was.baseline is not None else None
    before = read_baseline(base.file(listed)) if listed is not None and base.has(listed) else ()
    for each in (*narrowings(was, now), *newly_known(before, known)):
        yield narrower(each.key, each.was, each.now)


def _clips_meant(was: Configuration, base: Revision, folder: Path) -> Iterator[Path]:
    for word in was.gate.clips if was.gate is not None else ():
        fixed = Path(*takewhile(lambda part: not is_pattern(part), Path(word).parts))
        yield from meant_names(word, folder, base.names(folder / fixed), clip_endings())


def _cut(was: Path, now: Path) -> tuple[int, int] | None:
    """How many frames a recording or a clip had and has, where those are fewer; a file that cannot be read, its part names."""
    if read_bytes(was) == read_bytes(now):
        return None
    try:
        before, after = _lengths(was), _lengths(now)
    except UnusableInput:
        return None
    return next(((count, after[name]) for name, count in before.items() if after.get(name, count) < count), None)


def _lengths(path: Path) -> dict[str, int]:
    """The frames of each column of a recording, or of a clip as a whole; nothing of an engine's log, which has no rows."""
    found = open_file(path)
    if found.kind is Kind.COLUMNS:
        return {name: len(column) for name, column in found.table.columns.items() if column.ndim}
    if found.kind is Kind.TRACE:
        return {"frame": len(found.trace.frame)}
    if found.kind in (Kind.RAW_CLIP, Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION):
        clip = document_to_clip(found.document)
        return {"frame": clip.frame_count if isinstance(clip, RawClip) else clip.step_count}
    return {}


def _unguarded(now: Configuration, reason: str, rule: Rule = rules.SETTINGS_UNGUARDED) -> Finding:
    return rule.at(now.path, "", reason=reason)


# Find what the change breaks for the engine's code, its numbers, training and recordings: `rigpact diff`.
BREAKING = "breaking"


def ask_breaking(project: Project) -> Iterator[NotAsked | Question]:
    """Compare the bundle or contract file, and the companion, with the base revision's."""
    if project.settings.base is None:
        yield NotAsked(BREAKING, "set `base` in [gate] or pass --base to check for breaking changes")
        return
    measure, opens = (
        partial(_measure, project, project.settings.base),
        partial(_compared, project, project.settings.base),
    )
    yield Question(BREAKING, "Changes since the base revision", project.bundle_path, measure, opens)


def _compared(project: Project, base: str) -> Compatibility:
    """Against the contract, and the companion, that the settings of the base name there."""
    with opened_revision(base) as files:
        was, named, folder = governing(files, Path.cwd() / project.asked), project.settings, Path.cwd()
        if was is not None and was.gate is not None and was.gate.bundle is not None:
            named, folder = was.gate, files.root / was.path.relative_to(files.folder).parent
        old = files.document(folder / str(named.bundle), project.document.kind)
        companions = None
        if project.companion is not None and named.companion is not None:
            companions = (files.document(folder / named.companion, Kind.COMPANION), project.companion)
        return compare_contracts(old, project.document, companions)


def _measure(project: Project, base: str) -> Measured:
    """A breaking change fails, unless the change record has an entry for exactly this change."""
    found, record, bundle = _compared(project, base), project.settings.change_record, project.bundle_path
    findings = tuple(
        rules.BREAKING_CHANGE.at(
            bundle, each.pointer, base=base, message=each.message, kind=each.kind.name,
            classes=", ".join(consumer.value for consumer in each.classes),
        )
        for each in found.changes
        if set(each.classes) - {Consumer.COSMETIC}
    )  # fmt: skip
    if findings and record is not None and found.record_key in _text(Path(record)):
        said = {"count": len(findings), "record": record, "base": base, "step": found.version_step}
        findings = (rules.CHANGE_ACKNOWLEDGED.at(bundle, "", **said),)
    summary = {
        "base": base,
        "semver": {"step": found.version_step, "reason": found.version_reason},
        "classes": [consumer.value for consumer in found.classes],
        "changes": len(found.changes),
        "duties": found.duties,
    }
    return Measured(FindingsReport(findings, Ledger(1, 1), summary))


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise UnusableInput(path, "bytes that are not text", "a change record in Markdown") from None
