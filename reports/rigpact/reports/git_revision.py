"""A file as it stands in a git revision, without touching the working tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rigpact.contract.documents import Document, Kind, file_to_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, bytes_to_json

_TIMEOUT_S = 60
_LFS_POINTER = b"version https://git-lfs"


def read_document_at(path: Path, revision: str, expected: Kind | None = None) -> Document:
    """Read `path` as it was at a revision; UnusableInput outside a repository, for an unknown revision or file."""
    place = f"{revision}:{path.name}"
    return file_to_document(bytes_to_json(read_bytes_at(path, revision), place), expected)


def read_bytes_at(path: Path, revision: str) -> bytes:
    """The bytes of `path` at a revision."""
    folder = path.parent
    if not folder.is_dir():
        raise UnusableInput(path, "no such folder", "a file in a git repository")
    if not _git(folder, "rev-parse", "--is-inside-work-tree"):
        raise UnusableInput(path, "no git repository around it", "a file in a git repository", "--against needs one")
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise UnusableInput(f"--against {revision}", "no such revision", "a branch, tag or commit of the repository")
    blob = f"{commit.decode('ascii').strip()}:./{path.name}"
    size = _git(folder, "cat-file", "-s", blob)
    if not size:
        raise UnusableInput(f"--against {revision}", f"no {path.name} there", "a revision that has the file")
    if int(size) > MAX_FILE_BYTES:
        raise UnusableInput(f"{revision}:{path.name}", f"{int(size)} bytes", f"at most {MAX_FILE_BYTES} bytes")
    content = _git(folder, "cat-file", "blob", blob)
    if content.startswith(_LFS_POINTER):
        raise UnusableInput(
            f"{revision}:{path.name}", "a Git LFS pointer", "the file itself", "check that revision out"
        )
    if not content:
        raise UnusableInput(f"{revision}:{path.name}", "an empty file", "a file with content")
    return content


def known_revision(folder: Path, revision: str) -> bool:
    """Whether a folder lies in a repository that knows a revision; False without git."""
    try:
        return bool(_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
    except UnusableInput:
        return False


def _git(folder: Path, *words: str) -> bytes:
    """What git prints; nothing where it refuses."""
    try:
        done = subprocess.run(  # noqa: S603 - words, no shell; a revision cannot be read as an option
            ["git", "-C", str(folder), *words],  # noqa: S607 - the user's own git
            check=False, capture_output=True, timeout=_TIMEOUT_S,
        )  # fmt: skip
    except FileNotFoundError:
        raise UnusableInput("--against", "no program called git", "git on the PATH") from None
    except subprocess.TimeoutExpired:
        raise UnusableInput("--against", f"git silent for {_TIMEOUT_S} s", "an answer from git") from None
    return done.stdout if done.returncode == 0 else b""
