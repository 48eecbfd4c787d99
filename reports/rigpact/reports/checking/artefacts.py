"""Which files of a folder are judged: those that rigpact knows by their content. A file that is named is judged in any case."""

from collections.abc import Iterable
from pathlib import Path

from rigpact.contract.documents import Kind, has_marking_key
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, Opened, open_file
from rigpact.reports.file_lists import named_files

_ENDINGS = (".json", ".toml", ".onnx", *TRACE_ENDINGS)


def artefacts_of(words: Iterable[Path]) -> list[Path]:
    """The files that are meant; of a folder only artefacts, and its traces beside the contract of a system that has them."""
    named, inside = list[Path](), list[Path]()
    for word in words:
        (inside if word.is_dir() else named).extend(named_files([word], _ENDINGS, "PATH"))
    found = [path for path in inside if _is_artefact(open_file(path))]
    kinds = {open_file(path).kind for path in (*named, *found)}
    if kinds & {Kind.SYSTEM_CONTRACT, Kind.DECLARATION}:
        found += [path for path in inside if path.name.endswith(TRACE_ENDINGS)]
    if inside and not (named or found):
        expected = "a bundle, a contract, clips, teacher files or a model in it"
        raise UnusableInput(inside[0].parent, "no artefact", expected)
    return [*named, *(path for path in dict.fromkeys(found) if path not in named)]


def _is_artefact(file: Opened) -> bool:
    """Whether it is a model, or an artefact, whole or damaged: `check` says what is wrong with it."""
    is_damaged = file.kind is None and has_marking_key(file.content)
    return is_damaged or (file.kind is not None and (file.kind is Kind.MODEL or file.kind.is_document))
