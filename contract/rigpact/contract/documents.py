"""The kinds of file that the two halves exchange, and how to recognise them.

The content of a file shows its kind; its name does not count. To add a kind: a row in `_MARKS`, a schema in schemas/.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile, read_json, read_toml


class Kind(StrEnum):
    """What a JSON artefact is."""

    BUNDLE = "bundle"
    COMPANION = "companion"
    RAW_CLIP = "raw_clip"
    TEACHER_BATCH = "teacher_batch"
    TEACHER_PREDICTION = "teacher_prediction"
    SYSTEM_CONTRACT = "system_contract"
    DECLARATION = "declaration"

    @property
    def words(self) -> str:
        """The kind in words."""
        return "contract of one's own" if self is Kind.DECLARATION else self.value.replace("_", " ")

    @property
    def is_of_a_system(self) -> bool:
        """Whether it is the contract of a system that its stages declare: every one but a schema bundle's."""
        return self in {Kind.SYSTEM_CONTRACT, Kind.DECLARATION}


@dataclass(frozen=True)
class Document:
    """A JSON artefact of a known kind."""

    kind: Kind
    file: JsonFile

    @property
    def path(self) -> Path:
        """Where the document was read from."""
        return self.file.path

    @property
    def data(self) -> dict[str, Any]:
        """The document's root object."""
        return self.file.data  # type: ignore[no-any-return]


_MARKS: tuple[tuple[Kind, Callable[[dict[str, Any]], bool]], ...] = (
    (Kind.SYSTEM_CONTRACT, lambda root: root.get("format") == "rigpact-system"),
    (Kind.DECLARATION, lambda root: root.get("format") == "rigpact-contract"),
    (Kind.RAW_CLIP, lambda root: "Frames" in root),
    (Kind.TEACHER_PREDICTION, lambda root: "prediction" in root),
    (Kind.TEACHER_BATCH, lambda root: "teacher" in root),
    (Kind.BUNDLE, lambda root: "MuX" in root or "MuY" in root or _has_layout(root.get("meta"))),
    (Kind.COMPANION, lambda root: "MuPoseHist" in root or "MuAngVel" in root or "pose_hist_len" in root),
)


def _has_layout(meta: Any) -> bool:
    return isinstance(meta, dict) and ("state_layout" in meta or "output_layout" in meta)


def kind_of(root: dict[str, Any]) -> Kind | None:
    """Find the kind of a JSON object by its keys; None if rigpact knows no such kind."""
    return next((kind for kind, is_marked in _MARKS if is_marked(root)), None)


_MARKING_KEYS = (
    "rigpact-system", "Frames", "prediction", "teacher", "MuX", "MuY", "state_layout", "output_layout", "MuPoseHist",
    "MuAngVel", "pose_hist_len",
)  # fmt: skip
"""What the marks above look for, as text."""
_AS_KEY = re.compile(rf'"({"|".join(_MARKING_KEYS)})"\s*:'.encode())


def is_marked_text(content: bytes) -> bool:
    """Whether text that is no JSON holds a key of an artefact, in UTF-8 or UTF-16: an artefact that was damaged."""
    text = content.replace(b"\0", b"")
    return any(f'"{key}"'.encode() in text for key in _MARKING_KEYS)


def has_marking_key(content: bytes) -> bool:
    """Whether JSON holds an artefact's key as a key: then it is one, whole or damaged, and no table of numbers."""
    return _AS_KEY.search(content.replace(b"\0", b"")) is not None


def read_document(path: str | Path, expected: Kind | None = None) -> Document:
    """Read a JSON artefact; UnusableInput if its kind is unknown or not the expected one."""
    reads = read_toml if Path(path).suffix.lower() == ".toml" else read_json
    return file_to_document(reads(path), expected)


def file_to_document(file: JsonFile, expected: Kind | None = None) -> Document:
    """Find the kind of a parsed file; UnusableInput if it is unknown or not the expected one."""
    path = file.path
    wanted = (
        expected.words
        if expected
        else "a bundle, companion, raw clip, teacher batch, teacher prediction, system contract or declaration"
    )
    if not isinstance(file.data, dict):
        raise UnusableInput(f"{path}#", f"a JSON {_json_type(file.data)} at the top", f"an object: {wanted}")
    kind = kind_of(file.data)
    if kind is None:
        keys = ", ".join(list(file.data)[:6]) or "no keys"
        raise UnusableInput(f"{path}#", f"an object with {keys}", wanted)
    if expected and kind is not expected:
        raise UnusableInput(f"{path}#", f"a {kind.words}", f"a {wanted}")
    return Document(kind, file)


def _json_type(value: Any) -> str:
    names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), "value")
