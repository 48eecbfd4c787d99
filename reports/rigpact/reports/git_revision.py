"""Read a file from a git revision, without changes to the working tree.

A pull request can contain any file, also a bare repository with its own configuration, and git runs programs that a
configuration names. So rigpact lets git read only the user's own repository: the one around the working directory.
This module finds its `.git`, which no commit can contain, and passes it to git explicitly. Git does not search from any
folder of the project, and fetches nothing.
"""

import os
import subprocess
from pathlib import Path

from rigpact.contract.documents import Document, Kind, file_to_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, bytes_to_json

_TIMEOUT_S = 60
_LFS_POINTER = b"version https://git-lfs"
_SETTINGS = (
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
)
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def read_document_at(path: Path, revision: str, expected: Kind | None = None) -> Document:
    """Read `path` at a revision; UnusableInput outside a repository, or for an unknown revision or file."""
    place = f"{revision}:{path.name}"
    return file_to_document(bytes_to_json(read_bytes_at(path, revision), place), expected)


def read_bytes_at(path: Path, revision: str) -> bytes:
    """The bytes of `path` at a revision."""
    if not path.parent.is_dir():
        raise UnusableInput(path, "no such folder", "a file in a git repository")
    root = own_repository()
    place = path.parent.resolve() / path.name
    if root is None or not place.is_relative_to(root):
        found, hint = (
            "no git repository of the working directory around it",
            "run rigpact in the repository that has the file",
        )
        raise UnusableInput(path, found, "a file in that repository", hint)
    commit = _commit(root, revision)
    if not commit:
        raise UnusableInput(f"--base {revision}", "no such revision", "a branch, tag or commit of the repository")
    blob = f"{commit}:{place.relative_to(root).as_posix()}"
    size = _git(root, "cat-file", "-s", blob)
    if not size:
        raise UnusableInput(f"--base {revision}", f"no {path.name} there", "a revision that has the file")
    if int(size) > MAX_FILE_BYTES:
        raise UnusableInput(f"{revision}:{path.name}", f"{int(size)} bytes", f"at most {MAX_FILE_BYTES} bytes")
    content = _git(root, "cat-file", "blob", blob)
    there = f"{revision}:{path.name}"
    if content.startswith(_LFS_POINTER):
        raise UnusableInput(there, "a Git LFS pointer", "the file itself", "check that revision out")
    if not content:
        raise UnusableInput(there, "an empty file", "a file with content")
    return content


def is_at(path: Path, revision: str) -> bool:
    """Whether a file can be read at a revision; False without a repository or without git."""
    try:
        return bool(read_bytes_at(path, revision))
    except UnusableInput:
        return False


def names_at(folder: Path, revision: str) -> list[Path]:
    """Every file below a folder at a known revision; none outside of the repository of the working directory."""
    root, place = own_repository(), folder.resolve()
    if root is None or not place.is_relative_to(root):
        return []
    inside = place.relative_to(root).as_posix()
    found = _git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", _commit(root, revision), "--", inside)
    return [root / os.fsdecode(name) for name in found.split(b"\0") if name]


def knows_revision(revision: str) -> bool:
    """Whether the repository of the working directory has a revision; False without git."""
    root = own_repository()
    try:
        return root is not None and bool(_commit(root, revision))
    except UnusableInput:
        return False


def own_repository() -> Path | None:
    """The root of the repository around the working directory: the nearest folder with a `.git`."""
    here = Path.cwd().resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def _commit(root: Path, revision: str) -> str:
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return found.decode("ascii").strip()


def _git(root: Path, *words: str) -> bytes:
    """The output of git in the repository at `root`; empty if git fails."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        done = subprocess.run(  # noqa: S603 - words, no shell; a revision cannot be read as an option
            ["git", f"--git-dir={root / '.git'}", *settings, *words],  # noqa: S607 - the user's own git
            check=False, capture_output=True, timeout=_TIMEOUT_S, cwd=root, env={**os.environ, **_NO_FETCH},
        )  # fmt: skip
    except FileNotFoundError:
        raise UnusableInput("--base", "no program called git", "git on the PATH") from None
    except subprocess.TimeoutExpired:
        raise UnusableInput("--base", f"git silent for {_TIMEOUT_S} s", "an answer from git") from None
    return done.stdout if done.returncode == 0 else b""
