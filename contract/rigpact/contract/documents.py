"""The kinds of file that the two halves exchange, and how artefacts in JSON and TOML are recognised.

The content of a file shows its kind; its name does not count. To add an artefact: a row in `_MARKS`, a schema in schemas/.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile, bytes_to_json, bytes_to_toml, read_bytes
from rigpact.contract.files.reading import set_within

T = TypeVar("T")


class Kind(StrEnum):
    """What a file is: artefacts in JSON or TOML, then what no document holds."""

    BUNDLE = "bundle"
    COMPANION = "companion"
    RAW_CLIP = "raw_clip"
    TEACHER_BATCH = "teacher_batch"
    TEACHER_PREDICTION = "teacher_prediction"
    SYSTEM_CONTRACT = "system_contract"
    DECLARATION = "declaration"
    TRACE = "trace"
    COLUMNS = "file of named columns"
    ENGINE_LOG = "engine log"
    MODEL = "model"
    SETTINGS = "settings file"
    CONFIGURATION = "configuration in YAML"
    SCRIPT = "Python file"

    @property
    def words(self) -> str:
        """The kind in words."""
        return "declared contract" if self is Kind.DECLARATION else self.value.replace("_", " ")

    @property
    def is_document(self) -> bool:
        """Whether it is an artefact in JSON or TOML."""
        return any(self is kind for kind, _ in _MARKS)

    @property
    def is_of_a_system(self) -> bool:
        """Whether it is the contract of a system that its stages declare: every one but a schema bundle's."""
        return self in {Kind.SYSTEM_CONTRACT, Kind.DECLARATION}


@dataclass(frozen=True, eq=False)
class Document:
    """A JSON artefact of a known kind. It does not change after it was read."""

    kind: Kind
    file: JsonFile
    _made: dict[Callable[[Document], Any], Any] = field(init=False, default_factory=dict, repr=False)

    @property
    def path(self) -> Path:
        """Where the document was read from."""
        return self.file.path

    @property
    def data(self) -> dict[str, Any]:
        """The document's root object."""
        return self.file.data  # type: ignore[no-any-return]

    def once(self, make: Callable[[Document], T]) -> T:
        """What a function makes of this document alone, such as a view or findings; made when first asked for."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])


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
_OWN_SCHEMA = re.compile(rb'\s*\{\s*"\$schema"\s*:\s*"[^"]*"\s*,\s*"\$id"\s*:\s*"urn:rigpact:schema:')
"""How a JSON Schema of rigpact begins, which names the keys of artefacts and is none."""


def is_marked_text(content: bytes) -> bool:
    """Whether text that is not JSON holds a key of an artefact, in UTF-8 or UTF-16: an artefact that was damaged."""
    text = content.replace(b"\0", b"")
    return any(f'"{key}"'.encode() in text for key in _MARKING_KEYS)


def has_marking_key(content: bytes) -> bool:
    """Whether JSON holds an artefact's key as a key: then it is one, whole or damaged, and no table of numbers."""
    return _AS_KEY.search(content.replace(b"\0", b"")) is not None and _OWN_SCHEMA.match(content) is None


def read_document(path: str | Path, expected: Kind | None = None) -> Document:
    """Read a JSON artefact; UnusableInput if its kind is unknown or not the expected one."""
    return content_to_document(read_bytes(path), path, expected)


def content_to_document(content: bytes, path: str | Path, expected: Kind | None = None) -> Document:
    """The artefact that these bytes are; errors call it `path`."""
    remembered = _REMEMBERED.get()
    known = None if remembered is None else remembered.get(str(path))
    if known is not None and known.file.content == content and expected in (None, known.kind):
        return known
    parsed = bytes_to_toml if Path(path).suffix.lower() == ".toml" else bytes_to_json
    document = file_to_document(parsed(content, path), expected)
    if remembered is not None:
        remembered.setdefault(str(path), document)
    return document


_REMEMBERED: ContextVar[dict[str, Document] | None] = ContextVar("remembered", default=None)


def documents_remembered(remembered: dict[str, Document] | None = None) -> AbstractContextManager[None]:
    """Within this, a file that is read again and holds the same bytes under the same name is the same `Document`.

    remembered: by name, what was read before and what is read now; empty where none is given.
    """
    return set_within(_REMEMBERED, {} if remembered is None else remembered)


def file_to_document(file: JsonFile, expected: Kind | None = None) -> Document:
    """Find the kind of a parsed file; UnusableInput if it is unknown or not the expected one."""
    path = file.path
    wanted = (
        expected.words
        if expected
        else "a bundle, companion, raw clip, teacher batch, teacher prediction, system contract or declaration"
    )
    if not isinstance(file.data, dict):
        names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
        found = f"a JSON {names.get(type(file.data), 'value')} at the top"
        raise UnusableInput(f"{path}#", found, f"an object: {wanted}")
    kind = kind_of(file.data)
    if kind is None:
        keys = "unknown keys" if file.data else "no keys"
        raise UnusableInput(f"{path}#", f"an object with {keys}", wanted)
    if expected and kind is not expected:
        raise UnusableInput(f"{path}#", f"a {kind.words}", f"a {wanted}")
    return Document(kind, file)
