"""Which files are meant: lists of files, folders and patterns (`*`, `**`); the files of a git revision."""

import hashlib
import os
import posixpath
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import translate
from os.path import normpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, read_bytes, refuse_unread_folder, spelling_of, write_bytes
from rigpact.contract.files.reading import is_pattern, refuse_outside, repository_of
from rigpact.contract.model.graph import open_model


def listed_files(words: Iterable[str | Path], endings: tuple[str, ...], option: str) -> list[Path]:
    """The files that are meant, each once, in the order in which they are named; UnusableInput where a word means none.

    endings: of the names that are taken from a folder. option: what errors call a word.
    """
    return list(dict.fromkeys(path for word in words for path in _matches(str(word), endings, option)))


def named_files(words: Iterable[str | Path], endings: tuple[str, ...], option: str) -> list[Path]:
    """The same; a name that is not a pattern is itself, even where no such file is: its reader says so. It may be said twice."""
    found: list[Path] = []
    for word in words:
        is_plain = not is_pattern(str(word)) and not Path(word).is_dir()
        found += [Path(word)] if is_plain else listed_files([word], endings, option)
    return found


def files_of_settings(words: Iterable[str], endings: tuple[str, ...], option: str) -> list[Path]:
    """The same for words of a stranger's settings: what they give lies in the repository around the working directory."""
    root = repository_of(Path.cwd())
    found = named_files(words, endings, option)
    for path in found:
        refuse_outside(path, root, option, "a file")
    return found


def meant_names(word: str, folder: Path, names: Iterable[Path], endings: tuple[str, ...]) -> list[Path]:
    """Of whole names, whose files need not be there, those that a word means in a folder."""
    place = Path(normpath(folder / word))
    if is_pattern(word):
        pattern = re.compile("".join(map(_expression, place.parts[1:])))
        return [name for name in names if pattern.fullmatch("".join(f"{part}/" for part in name.parts[1:]))]
    return [name for name in names if name == place or (name.parent == place and name.name.lower().endswith(endings))]


def _expression(part: str) -> str:
    """One part of a pattern, with the slash behind it: `**` is any number of folders, `*` stays inside a name."""
    if part == "**":
        return "(?:[^/]+/)*"
    return translate(part).replace(".*", "[^/]*").removesuffix(r"\Z") + "/"


def _matches(word: str, endings: tuple[str, ...], option: str) -> list[Path]:
    """The files of one word, sorted by name: the file itself, a folder's files, or a pattern's matches."""
    place = Path(word)
    if place.is_file():
        return [place]
    if place.is_dir():
        refuse_unread_folder(place)
        found = sorted(path for path in place.iterdir() if path.is_file() and path.name.lower().endswith(endings))
        missing, expected = "a directory without one", f"{', '.join(endings)} files in it"
    else:
        base = Path(place.anchor)
        pattern = place.relative_to(base).as_posix() if place.parts else ""
        found = sorted(path for path in base.glob(pattern) if path.is_file()) if pattern else []
        missing, expected = "no such file", "a file, a folder or a pattern"
    if not found:
        raise UnusableInput(f"{option} {word}".strip(), missing, expected, "" if place.is_dir() else spelling_of(place))
    return found


# The files of a git revision, where every ordinary reader opens them.
_TIMEOUT_S = 60
_LFS, _LFS_OBJECT = b"version https://git-lfs", re.compile(rb"\noid sha256:([0-9a-f]{64})\n")
_SETTINGS = (
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
)
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_LINK, _SUBMODULE = "120000", "160000"
_MOST_LINKS = 40
"""As many as an operating system follows before it calls them a loop."""


class _Entry(NamedTuple):
    mode: str
    blob: str
    size: int


@dataclass(frozen=True)
class Revision:
    """A commit of the user's own repository. Paths are those of the working tree; `folder` holds what was asked for."""

    name: str
    root: Path
    commit: str
    folder: Path
    entries: Mapping[str, _Entry]

    def has(self, path: Path) -> bool:
        """Whether the revision has a file there."""
        return self._followed(path) is not None

    def file(self, path: Path) -> Path:
        """The file of the revision, for any reader; UnusableInput where it has none, or holds a pointer in its place."""
        found, name = self._followed(path), self._name(path)
        if name is None:
            missing, hint = "no git repository of the working directory around it", "run rigpact in the repository"
            raise UnusableInput(path, missing, "a file in that repository", hint)
        if found is None:
            raise UnusableInput(f"--base {self.name}", f"no {path.name} there", "a revision that has the file")
        target = self.folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, self._content(found, target))
        return target

    def document(self, path: Path, expected: Kind | None = None) -> Document:
        """The document of the revision, with every file that it names beside it."""
        document = read_document(self.file(path), expected)
        if document.kind is Kind.DECLARATION:
            for word in _words(document.data):
                beside = path.parent / word.replace("\\", "/")
                if self.has(beside) and beside.suffix == ".onnx":
                    found = open_model(self.file(beside)).beside
                    for each in filter(self.has, (beside.parent / name for name in found)):
                        self.file(each)
                elif self.has(beside):
                    self.file(beside)
        return document

    def names(self, folder: Path) -> list[Path]:
        """Every file below a folder."""
        inside = self._name(folder)
        below = "" if inside in ("", ".") else f"{inside}/"
        return [self.root / name for name in self.entries if name.startswith(below)]

    def link(self, path: Path) -> str | None:
        """Where the link leads that the revision has at a place; None where it has none."""
        entry = self.entries.get(self._name(path) or "")
        return None if entry is None or entry.mode != _LINK else os.fsdecode(self._blob(entry, path))

    def _name(self, path: Path) -> str | None:
        """The place of a path of the working tree in the repository; None outside. `..` is taken back, no link is followed."""
        whole = Path(posixpath.normpath((Path.cwd() / path).as_posix()))
        return whole.relative_to(self.root).as_posix() if whole.is_relative_to(self.root) else None

    def _followed(self, path: Path) -> _Entry | None:
        """The file at a place, after every link of the revision."""
        name = self._name(path)
        for _ in range(_MOST_LINKS):
            parts = name.split("/") if name else []
            beginnings = ("/".join(parts[: end + 1]) for end in range(len(parts)))
            link = next((each for each in beginnings if each in self.entries), None)
            if link is None or name is None:
                return None
            entry = self.entries[link]
            if entry.mode == _SUBMODULE:
                return None
            if entry.mode != _LINK:
                return entry if link == name else None
            target = Path(link).parent / os.fsdecode(self._blob(entry, link)) / name[len(link) :].lstrip("/")
            name = None if target.is_absolute() else self._name(self.root / target)
        return None

    def _content(self, entry: _Entry, target: Path) -> bytes:
        if entry.size > MAX_FILE_BYTES:
            raise UnusableInput(target, f"{entry.size} bytes", f"at most {MAX_FILE_BYTES} bytes")
        content = self._blob(entry, target)
        if not content.startswith(_LFS):
            return content
        pointer = _LFS_OBJECT.search(content)
        digest = pointer[1].decode() if pointer is not None else ""
        common = Path(os.fsdecode(_git(self.root, "rev-parse", "--git-common-dir")).strip())
        kept = self.root / common / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
        if not kept.is_file() or hashlib.sha256(content := read_bytes(kept)).hexdigest() != digest:
            hint = f"`git lfs fetch origin {self.name}` brings it"
            raise UnusableInput(target, "a Git LFS pointer, and no such object here", "the file itself", hint)
        return content

    def _blob(self, entry: _Entry, place: object) -> bytes:
        content = _git(self.root, "cat-file", "blob", entry.blob)
        if len(content) != entry.size:
            raise UnusableInput(
                place, "a file that is not here", "all files of the revision", "fetch it with its files"
            )
        return content


@contextmanager
def opened_revision(name: str) -> Iterator[Revision]:
    """A revision of the repository around the working directory; its files are gone afterwards.

    UnusableInput outside a repository, for an unknown revision, and for all that a reader has against a file of it.
    """
    root = _repository_around(Path.cwd().resolve())
    if root is None:
        found, hint = "no git repository of the working directory around it", "run rigpact in the repository"
        raise UnusableInput(f"--base {name}", found, "a revision of that repository", hint)
    commit = _commit(root, name)
    if not commit:
        raise UnusableInput(f"--base {name}", "no such revision", "a branch, tag or commit of the repository")
    _refuse_in_place_of_a_folder(root, name)
    with TemporaryDirectory(prefix="rigpact-") as private:
        folder = Path(private).resolve()
        (folder / ".git").mkdir()  # a root for the readers, as that of the repository is
        try:
            yield Revision(name, root, commit, folder, _entries(root, commit))
        except UnusableInput as error:
            for field in ("place", "found", "expected", "hint"):
                setattr(error, field, getattr(error, field).replace(f"{folder}{os.sep}", f"{name}:"))
            raise


def refuse_judged_commit(was: Revision) -> None:
    """UnusableInput for a revision that is the judged commit itself: nothing changed since it."""
    if was.commit != _commit(was.root, "HEAD"):
        return
    if not _git(was.root, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"):
        found, hint = "the judged commit itself", "for the last commit of a branch that is HEAD~1"
        raise UnusableInput(f"base {was.name}", found, "the revision that the change is merged into", hint)


def _repository_around(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _refuse_in_place_of_a_folder(root: Path, name: str) -> None:
    """UnusableInput for a submodule that a change puts where the revision of the repository around it has a folder."""
    outer = _repository_around(root.parent)
    while outer is not None:
        commit = _commit(outer, name)
        if commit and _git(outer, "ls-tree", commit, "--", root.relative_to(outer).as_posix()).startswith(b"04"):
            found = f"a repository of its own, where {name} of the one around it has a folder"
            raise UnusableInput(root.name, found, "the folder", "judge such a change by hand")
        outer = _repository_around(outer.parent)


def _entries(root: Path, commit: str) -> dict[str, _Entry]:
    entries = {}
    for line in _git(root, "ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        about, name = line.split(b"\t", 1)
        mode, _, blob, size = about.decode("ascii").split()
        entries[os.fsdecode(name)] = _Entry(mode, blob, 0 if size == "-" else int(size))
    return entries


def _words(value: Any) -> Iterator[str]:
    """Every text in a value of TOML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _words(each)


def _commit(root: Path, revision: str) -> str:
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return found.decode("ascii").strip()


def _git(root: Path, *words: str) -> bytes:
    """The output of git in the repository at `root`; empty if git fails."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        own = [f"--git-dir={root / '.git'}", f"--work-tree={root}", "--no-replace-objects"]
        done = subprocess.run(  # noqa: S603 - words, no shell; a revision cannot be read as an option
            ["git", *own, *settings, *words],  # noqa: S607 - the user's own git
            check=False, capture_output=True, timeout=_TIMEOUT_S, cwd=root, env={**os.environ, **_NO_FETCH},
        )  # fmt: skip
    except FileNotFoundError:
        raise UnusableInput("--base", "no program called git", "git on the PATH") from None
    except subprocess.TimeoutExpired:
        raise UnusableInput("--base", f"git silent for {_TIMEOUT_S} s", "an answer from git") from None
    return done.stdout if done.returncode == 0 else b""
