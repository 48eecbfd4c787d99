"""Where a declaration's numbers come from: written inline, or in a file beside it, with a path inside.

Files: JSON, YAML, .npz, .npy, .safetensors, and the metadata of an ONNX model. A path never leaves the declaration's folder.
The training's processed clip is such a file too: it holds the rows of a teacher batch under other names, and is judged as one.
"""

import io
import struct
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import Misdeclared, UnusableInput, Wrong, shown, unknown
from rigpact.contract.files import JsonFile, bytes_to_json, is_file, read_bytes, refuse_bomb
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray

Place = tuple[Token, ...]


@dataclass(eq=False)
class Sources:
    """The files beside a declaration, each read once. read: the bytes of every file that was read, by its name."""

    folder: Path
    read: dict[str, bytes] = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)

    def find(self, name: Any, place: Place) -> Path:
        """The file of that name; Misdeclared where it lies outside the folder, or is not there."""
        if not isinstance(name, str) or not name:
            raise Misdeclared(Wrong.SOURCE, place, shown(name), "the name of a file beside this one")
        inside = PurePosixPath(name.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0] or "\0" in name:
            hint = "copy the file, or put the contract in the folder that holds both"
            raise Misdeclared(Wrong.SOURCE, place, shown(name), "a path inside this file's folder", hint)
        path = self.folder / inside
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise Misdeclared(Wrong.SOURCE, place, f"{name}, a link that leads out of the folder", "a file inside it")
        if not is_file(path):
            raise Misdeclared(Wrong.SOURCE, place, f"no file {name}", "a file beside this one", _near_file(path))
        return path

    def value(self, name: Any, inside: Any, place: Place) -> Any:
        """What stands in a file at a path like /actions/scale, or under a name."""
        path = self.find(name, place)
        if name not in self._values:
            self._values[name] = self._parsed(name, path, place)
        return _at(self._values[name], inside, (*place, "at"), name)

    def _parsed(self, name: str, path: Path, place: Place) -> Any:
        reader = next((read for ending, read in _READERS.items() if name.lower().endswith(ending)), None)
        if reader is None:
            raise Misdeclared(Wrong.SOURCE, place, name, f"a file that ends in {', '.join(_READERS)}")
        try:
            content = self.read.setdefault(name, read_bytes(path))
            return reader(content, path)
        except UnusableInput as error:
            raise Misdeclared(Wrong.SOURCE, place, error.found, error.expected, error.place) from None


def _near_file(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    names = sorted(child.name for child in folder.iterdir())[:6] if folder else []
    return f"{folder.name or 'the folder'} holds {', '.join(names)}" if names and folder else ""


def _at(value: Any, inside: Any, place: Place, name: str) -> Any:
    """Follow a path of keys and places; a name of an array or of metadata is a path of one key."""
    if inside is None:
        if isinstance(value, Mapping):
            expected = f"the part of {name} to take: {', '.join(list(value)[:8])}"
            raise Misdeclared(Wrong.SOURCE, place, "nothing", expected)
        return value
    tokens = [str(inside)] if isinstance(value, Mapping) and inside in value else str(inside).strip("/").split("/")
    for token in tokens:
        if isinstance(value, Mapping):
            if token not in value:
                raise unknown(place, inside, [str(key) for key in value], f"a key of {name}")
            value = value[token]
        elif isinstance(value, Sequence) and not isinstance(value, str) and token in map(str, range(len(value))):
            value = value[int(token)]
        else:
            raise Misdeclared(Wrong.SOURCE, place, shown(inside), f"a path inside {name}", f"{token} is not there")
    return value


def read_arrays(content: bytes, path: Path) -> Mapping[str, Any]:
    """The arrays of a .npz or .safetensors file by name, without pickle; UnusableInput for other bytes."""
    arrays: Mapping[str, Any] = (_safetensors if path.name.lower().endswith(".safetensors") else _npz)(content, path)
    return arrays


def _npz(content: bytes, path: Path, names: Collection[str] | None = None) -> Any:
    try:
        _refuse_archive(content, path)
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        if not hasattr(loaded, "files"):
            return loaded
        return {key: loaded[key] for key in loaded.files if names is None or key in names}
    except DAMAGED as error:
        raise UnusableInput(path, f"bytes that numpy does not read ({error})", "plain arrays without pickle") from None


DAMAGED = (
    ValueError, TypeError, OSError, EOFError, LookupError, SyntaxError, OverflowError, MemoryError, RuntimeError,
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError,
)  # fmt: skip
"""What zipfile and numpy raise for bytes that were damaged, or made to look like an archive."""


def _refuse_archive(content: bytes, path: Path) -> None:
    """UnusableInput for an archive that holds a name twice, of which numpy reads one, or that unpacks beyond all bounds."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
    counts = Counter(entry.filename for entry in entries)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UnusableInput(path, f"two arrays {twice.removesuffix('.npy')!r}", "each name once")
    refuse_bomb(path, len(content), sum(entry.file_size for entry in entries))


def _safetensors(content: bytes, path: Path) -> Any:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(sorted(load(content).items()))  # the library hands them over in an order of chance
    except SafetensorError as error:
        raise UnusableInput(path, f"bytes that safetensors does not read ({error})", "a safetensors file") from None


def _onnx_metadata(_content: bytes, path: Path) -> Any:
    """Metadata is text: `1.000,2.500` are numbers, `hip,knee` are names."""
    from rigpact.contract.model.signature import open_session

    metadata = open_session(path).get_modelmeta().custom_metadata_map
    return {key: _split(text) for key, text in sorted(metadata.items())}


def _split(text: str) -> Any:
    words = [word.strip() for word in text.split(",")]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return words if len(words) > 1 else text
    return numbers if len(numbers) > 1 else numbers[0]


def _yaml(data: bytes, path: Path) -> Any:
    from rigpact.contract.declared.yaml_text import parse_yaml  # a library that most contracts need not

    return parse_yaml(data, path)


_READERS: Mapping[str, Callable[[bytes, Path], Any]] = {
    ".json": lambda content, path: bytes_to_json(content, path).data,
    ".yaml": _yaml, ".yml": _yaml, ".npz": _npz, ".npy": _npz, ".safetensors": _safetensors,
    ".onnx": _onnx_metadata,
}  # fmt: skip


def numbers_inside(content: bytes, path: Path) -> dict[str, FloatArray]:
    """Every array of numbers in a file by the name, or the path inside, that takes it; none in a file of another kind."""
    reader = next((read for ending, read in _READERS.items() if path.name.lower().endswith(ending)), None)
    found: dict[str, FloatArray] = {}
    waiting = [] if reader is None else [("", reader(content, path))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{place}/{key}" if place else str(key), each) for key, each in value.items()]
            continue
        try:
            found[place] = to_numbers(value, ())
        except Misdeclared:
            continue  # words, or a list of objects
    return dict(sorted(found.items()))


def to_numbers(value: Any, place: tuple[Token, ...]) -> FloatArray:
    """Numbers of a file as float64; Misdeclared for words, truth values, rows of several lengths, NaN and infinity."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = np.array("")
    if array.dtype.kind not in "iuf" or not array.size:
        raise Misdeclared(Wrong.NUMBERS, place, shown(value), "a number or a list of numbers")
    if not np.isfinite(array).all():
        raise Misdeclared(Wrong.NUMBERS, place, shown(value), "finite numbers")
    return array.astype(np.float64)


_ROWS: Mapping[str, tuple[str, str]] = {
    "X_norm": ("state_norm", "Dx"),
    "cond_in": ("cond", "Dc"),
    "Y_norm": ("target_norm", "Dy"),
}
"""By its name in a processed clip: the array's name under `teacher`, and the entry of `dims` that is its width."""
_MARKS = ("X_norm", "Y_norm")


def is_processed_clip(path: str | Path) -> bool:
    """Whether a file is an archive of arrays that holds the normalised rows of both sides; only its list of names is read."""
    place = Path(path)
    if place.suffix.lower() != ".npz" or not zipfile.is_zipfile(place):
        return False
    try:
        with zipfile.ZipFile(place) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
    except zipfile.BadZipFile:
        return False  # the reader of recordings says what is wrong with it
    return names.issuperset(_MARKS)


def read_processed_clip(path: Path) -> Document:
    """The rows of a processed clip as a teacher batch; UnusableInput for arrays that are not rows of numbers."""
    content = read_bytes(path)
    arrays = _npz(content, path, _ROWS)  # what lies beside them is not unpacked
    held = {name: _rows(arrays[name], f"{path}#{name}") for name in _ROWS if name in arrays}
    dims = {_ROWS[name][1]: rows.shape[1] for name, rows in held.items()}
    teacher = {_ROWS[name][0]: rows.tolist() for name, rows in held.items()}
    return Document(Kind.TEACHER_BATCH, JsonFile(path, content, {"dims": dims, "teacher": teacher}, standard=True))


def _rows(values: Any, place: str) -> Any:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        found = f"an array {array.shape} of the type {array.dtype}"
        raise UnusableInput(place, found, "real numbers, one row for each frame")
    return array
