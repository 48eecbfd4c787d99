"""Opening files of a user. What would never end is refused before a byte is read: devices, pipes, too large a file.

The files that a command reads are remembered while it runs: writing.py refuses to write over them, and a second look at one must
find what the first one found. How far the files of a project reach stands here too: a stranger's pull request writes settings,
and a path in them, or a link that is committed, must not show a file of the machine.
"""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from io import BufferedReader
from os.path import normpath
from pathlib import Path
from typing import Any, TypeVar

from rigpact.contract.errors import UnusableInput, near


@dataclass(frozen=True)
class UnreadFormat:
    """A format that rigpact does not read, and what to do instead: a table of unread.toml."""

    what: str
    instead: str
    hint: str
    ending: str = "(?!)"
    member: str = "(?!)"
    mark: str = "(?!)"
    folder: tuple[str, ...] = ()

    @property
    def marks(self) -> bytes:
        """An archive with such a member, in its head or in the list at the end, or a file that is marked so."""
        return rf"PK(?:\x03\x04.{{26}}|\x01\x02.{{42}})[^\0]{{0,200}}?{self.member}|{self.mark}".encode()


@cache
def _unread() -> Sequence[UnreadFormat]:
    root = tomllib.loads(files(__package__).joinpath("unread.toml").read_text(encoding="utf-8"))
    return [UnreadFormat(**table) for table in root["format"]]


def refuse_unread(path: Path, stream: BufferedReader) -> None:
    """UnusableInput for a file of a format that is not read, by its name or its content; the stream is at its start again."""
    try:
        start = stream.read(_START)
        if start[:2] == b"PK":  # an archive: the names of its members stand at its end
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _END))
            start += stream.read(_END)
        stream.seek(0)
    except OSError as error:
        raise UnusableInput(path, f"a file that cannot be read ({error})", "a readable file") from None
    for each in _unread():
        if re.search(each.ending, path.name.lower()) or re.search(each.marks, start, re.DOTALL):
            raise UnusableInput(path, each.what, each.instead, each.hint)


def refuse_unread_folder(path: Path) -> None:
    """UnusableInput for a folder that is a store of a format that is not read."""
    for each in _unread():
        if re.search(each.ending, path.name.lower()) or any((path / name).is_file() for name in each.folder):
            raise UnusableInput(path, each.what, each.instead, each.hint)


_START, _END = 512, 1 << 16
MAX_FILE_BYTES = 2 << 30
"""Larger inputs are refused before anything is allocated; a 100 000-frame trace in safetensors stays below."""

_UNPACKED_BYTES, _UNPACKED_TIMES = 512 << 20, 100
"""A compressed file may hold so many bytes, and so many times its own. Recorded motion packs less than 20 times; one pose held
for minutes packs hundreds of times, and stays below the first number."""


@contextmanager
def opened(path: str | Path, *, is_updated: bool = False) -> Iterator[BufferedReader]:
    """Open a regular file for reading; UnusableInput for anything else, and for a file that somebody writes meanwhile.

    is_updated: the command writes this file again.
    """
    place = Path(path)
    if place.is_dir():
        refuse_unread_folder(place)
        raise UnusableInput(path, "a directory", "a file", directory_hint(place))
    try:
        stream = open(place, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    except FileNotFoundError:
        raise UnusableInput(path, "nothing", "an existing file", spelling_of(place)) from None
    except (OSError, ValueError) as error:
        raise UnusableInput(path, f"a file that cannot be read ({error})", "a readable file") from None
    with stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            hint = "it may have no end: copy its content into a file"
            raise UnusableInput(path, kind_of_place(status), "a regular file", hint)
        refuse_unread(place, stream)
        if not is_updated:
            remember_input(place, status)
        with _unchanged(place, status):
            yield stream


def spelling_of(place: Path) -> str:
    """A hint for a file that is not there: the one of its folder whose name is nearest."""
    folder = place.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    return near(place.name, (each.name for each in folder.iterdir())) or "check the spelling of the path"


@contextmanager
def _unchanged(place: Path, before: os.stat_result) -> Iterator[None]:
    """UnusableInput where the file was written meanwhile: half of it is old and half is new, so whatever is said of it is wrong.

    A file that took the name meanwhile is another one: what is open stays whole.
    """
    try:
        yield
    except Exception:
        _refuse_change(place, before)  # that is why; what else was found follows from it
        raise
    _refuse_change(place, before)


def _refuse_change(place: Path, before: os.stat_result) -> None:
    with suppress(OSError):  # its name is gone: what is open stays whole
        after = place.stat()
        if os.path.samestat(before, after) and state_of(before) != state_of(after):
            raise changed_meanwhile(place)


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def kind_of_place(status: os.stat_result) -> str:
    """What is not a regular file, in words."""
    kinds = {
        stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
        stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(status.st_mode), "no regular file")


def read_bytes(path: str | Path, *, is_updated: bool = False) -> bytes:
    """Return the bytes of a regular, non-empty file; raise UnusableInput otherwise. is_updated: the command writes it again."""
    with opened(path, is_updated=is_updated) as stream:
        size = os.fstat(stream.fileno()).st_size
        refuse_too_large(path, size)
        try:
            content = stream.read(size)  # no more, though it grows meanwhile
        except OSError as error:
            raise UnusableInput(path, f"a file that cannot be read ({error})", "a readable file") from None
    if not content:
        raise UnusableInput(path, "an empty file", "a file with content", "was the export interrupted?")
    return content


def is_file(path: Path) -> bool:
    """Whether a file is there. A name that no file can have (too long, with a zero in it) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def refuse_too_large(path: object, size: int, what: str = "bytes") -> None:
    """UnusableInput for more than `MAX_FILE_BYTES`: of a file, or of what a compressed one holds."""
    if size > MAX_FILE_BYTES:
        raise UnusableInput(path, f"{size} {what}", f"at most {MAX_FILE_BYTES} {what}", "a part of it")


def refuse_bomb(path: object, packed: int, unpacked: int) -> None:
    """UnusableInput for a compressed file that unpacks beyond all bounds: a few bytes must not fill the memory."""
    refuse_too_large(path, unpacked, "unpacked bytes")
    most = _UNPACKED_BYTES + _UNPACKED_TIMES * packed
    if unpacked > most:
        found, hint = f"{packed} bytes that unpack to {unpacked} or more", "unpack it yourself, if it is meant so"
        raise UnusableInput(path, found, f"at most {most} unpacked bytes from so few", hint)


def directory_hint(folder: Path) -> str:
    """What a folder holds that could have been meant."""
    with suppress(OSError):
        names = sorted(child.name for child in folder.iterdir() if child.suffix in {".json", ".onnx"})
        if names:
            return f"it holds {', '.join(names[:4])}"
    return ""


_WILD = frozenset("*?[")
_HINT = "copy the file into the repository; a link that leads out of it counts as its target"


def is_pattern(word: str) -> bool:
    """Whether a name has a wildcard."""
    return not _WILD.isdisjoint(word)


def repository_of(folder: Path) -> Path:
    """The git top level around a folder, else the folder itself. No commit can contain a `.git`."""
    whole = folder.resolve()
    return next((each for each in (whole, *whole.parents) if (each / ".git").exists()), whole)


def working_directory() -> Path:
    """The working directory as the user reached it: a shell keeps the links on the way."""
    named, here = Path(os.environ.get("PWD", "")), Path.cwd()
    return named if named.is_absolute() and named.is_dir() and named.samefile(here) else here


def as_reached(path: Path) -> Path:
    """The whole path of a file that is there, with the links on the way to it."""
    whole = Path(normpath(working_directory() / path))
    return whole if whole.exists() and whole.samefile(path) else path.resolve()


def refuse_outside(path: Path, root: Path, place: object, word: str) -> None:
    """UnusableInput for a path outside the root after its links are followed; the error shows the word, never the target."""
    try:
        is_inside = path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no file can have
        is_inside = False
    if not is_inside:
        raise UnusableInput(place, f"{word}, outside of the repository", "a file inside its folder", _HINT)


def refuse_word_outside(word: str, folder: Path, place: object) -> None:
    """The same for a word of the settings in a folder: a name, or a pattern, whose fixed part is followed."""
    parts = Path(word).parts
    fixed = next((index for index, part in enumerate(parts) if is_pattern(part)), len(parts))
    if ".." in parts[fixed:]:
        raise UnusableInput(place, f"{word}, with .. behind a wildcard", "a pattern inside the repository", _HINT)
    refuse_outside(folder / Path(*parts[:fixed]), repository_of(folder), place, word)


T = TypeVar("T")
_Identity = tuple[int, int]
"""Device and inode: a file by whatever name."""
State = tuple[int, int, int, int]
"""Device, inode, size and time of the last change: what differs after somebody writes."""


@dataclass
class _Inputs:
    names: dict[_Identity, set[Path]] = field(default_factory=dict)
    """Of each file: a file system gives the inode of a removed file to the next one that is written."""
    states: dict[str, State] = field(default_factory=dict)
    made: dict[tuple[str, Any], tuple[State, Any]] = field(default_factory=dict)
    """What was made of the small files that were looked at last."""


_INPUTS: ContextVar[_Inputs | None] = ContextVar("inputs", default=None)


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Within this, a variable has a value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def inputs_remembered() -> AbstractContextManager[None]:
    """Within this, every file that is read is an input: no output takes its place, and it must stay as it is."""
    return set_within(_INPUTS, _Inputs())


def inputs_may_be_replaced() -> AbstractContextManager[None]:
    """Within this, files that were read may be written: copies that a command damages on purpose."""
    return set_within(_INPUTS, None)


def remember_input(path: Path, status: os.stat_result) -> None:
    """Say that the running command reads this file; UnusableInput where it read something else by this name before."""
    inputs = _INPUTS.get()
    if inputs is None:
        return
    inputs.names.setdefault((status.st_dev, status.st_ino), set()).add(path.absolute())
    if inputs.states.setdefault(str(path.absolute()), state_of(status)) != state_of(status):
        raise changed_meanwhile(path)


_MADE, _SMALL_BYTES = 8, 1 << 25


def remembered(path: Path, make: Callable[[Path], T]) -> T:
    """What a function makes of a file: the same for the running command, which looks twice, as long as nobody writes the file."""
    inputs = _INPUTS.get()
    try:
        status = None if inputs is None else path.stat()
    except (OSError, ValueError):  # not there, or not to be read: what is made of it says so
        status = None
    if inputs is None or status is None or status.st_size > _SMALL_BYTES:
        return make(path)
    key = (str(path.absolute()), make)
    held = inputs.made.pop(key, None)
    found: T = held[1] if held is not None and held[0] == state_of(status) else make(path)
    inputs.made[key] = state_of(status), found
    if len(inputs.made) > _MADE:
        del inputs.made[next(iter(inputs.made))]
    return found


def is_input(status: os.stat_result) -> bool:
    """Whether the running command has read this file, and it still stands where it was read."""
    inputs, identity = _INPUTS.get(), (status.st_dev, status.st_ino)
    return inputs is not None and any(_identity(name) == identity for name in inputs.names.get(identity, ()))


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def state_of(status: os.stat_result) -> State:
    """What of a file differs after somebody writes it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def changed_meanwhile(path: Path) -> UnusableInput:
    """The error for a file that somebody else writes."""
    found, hint = "a file that changed while it was read", "wait until it is written, and run again"
    return UnusableInput(path, found, "a file that nobody writes meanwhile", hint)
