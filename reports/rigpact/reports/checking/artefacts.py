"""Which files of a folder are judged: those that rigpact knows by their content. A file that is named is judged in any case."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rigpact.contract.documents import Document, has_marking_key, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.reference_runtime.recordings.named_columns import is_recording_path
from rigpact.reference_runtime.recordings.trace import TRACE_ENDINGS
from rigpact.reports.file_lists import named_files

_ENDINGS = (".json", ".toml", ".onnx", *TRACE_ENDINGS)


def artefacts_of(words: Iterable[Path]) -> list[Path]:
    """The files that are meant; of a folder only artefacts, and its traces beside the contract of a system that has them."""
    named, inside = list[Path](), list[Path]()
    for word in words:
        (inside if word.is_dir() else named).extend(named_files([word], _ENDINGS, "PATH"))
    others = [path for path in inside if path.suffix != ".onnx" and not is_recording_path(path)]
    # an artefact, whole or damaged
    ours = {path for path in others if has_marking_key(read_bytes(path)) or any(True for _ in _documents([path]))}
    found = [path for path in inside if path.suffix == ".onnx" or path in ours]
    if any(document.kind.is_of_a_system for document in _documents([*named, *found])):
        found += [path for path in inside if path.name.endswith(TRACE_ENDINGS)]
    if inside and not (named or found):
        expected = "a bundle, a contract, clips, teacher files or a model in it"
        raise UnusableInput(inside[0].parent, "no artefact", expected)
    return [*named, *(path for path in dict.fromkeys(found) if path not in named)]


def _documents(paths: Iterable[Path]) -> Iterator[Document]:
    for path in paths:
        try:
            if path.suffix.lower() in {".json", ".toml"} and not is_recording_path(path):
                yield read_document(path)
        except UnusableInput:
            continue  # `check` itself says what is wrong with it, or it is none of rigpact's files
