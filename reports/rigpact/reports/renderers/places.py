"""The places of findings, for tools that show a repository: paths from its root, lines and columns in JSON files.

The repository is the nearest folder with a `.git`, upward from the working directory; without one, it is the working
directory. A path inside it is relative with forward slashes, so it is the same on every machine. A path outside stays
absolute. Models, traces and other files that are not a single JSON value have no lines; a deleted file has none either.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, read_bytes
from rigpact.contract.findings import Finding
from rigpact.reports.renderers.positions import Position, positions

_HEAD_BYTES = 512
_JSON_BEGINS = (b"{", b"[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_URI_SAFE = "/!$&'()*+,;=@-._~"  # a colon would mark a scheme in a relative reference


@dataclass(frozen=True)
class Place:
    """A file, and a position in it if there is one. path: from the repository's root if `inside`, else absolute."""

    path: str
    inside: bool
    position: Position | None = None

    @property
    def uri(self) -> str:
        """A reference relative to the repository, or a file URI."""
        if self.inside:
            return quote(self.path, safe=_URI_SAFE, errors="surrogatepass")
        return file_uri(self.path)

    @property
    def line(self) -> int:
        """The line to show; the first where there is none."""
        return self.position.line if self.position else 1


def file_uri(path: str) -> str:
    """The file URI of an absolute path with forward slashes; `C:/x` and `//server/x` are Windows paths."""
    rooted = path if path.startswith("/") else f"/{path}"
    scheme = "file:" if path.startswith("//") else "file://"
    return scheme + quote(rooted, safe=_URI_SAFE + ":", errors="surrogatepass")


def places_of(findings: Iterable[Finding]) -> Mapping[tuple[str, str], Place]:
    """The place of every finding by (file, pointer); each file is read once."""
    pointers: dict[str, list[str]] = {}
    for finding in findings:
        pointers.setdefault(finding.file, []).append(finding.pointer)
    root = repository_root(Path.cwd())
    located: dict[tuple[str, str], Place] = {}
    for file, wanted in pointers.items():
        path, inside = path_from(root, Path(file))
        found = positions_in(Path(file), [pointer for pointer in wanted if pointer])
        located |= {(file, pointer): Place(path, inside, found.get(pointer)) for pointer in wanted}
    return located


def repository_root(start: Path) -> Path:
    """The nearest folder with a `.git`, from `start` upward; `start` itself if there is none."""
    folder = start.resolve()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def path_from(root: PurePath, file: Path) -> tuple[str, bool]:
    """(path, whether it is inside `root`): relative to `root` if inside, else absolute; with forward slashes."""
    whole = PurePath(os.path.abspath(file))  # noqa: PTH100 - links are kept: the repository knows the link, not its target
    for path in (whole, _without_links(whole)):
        within = path_within(root, path)
        if within is not None:
            return within, True
    return whole.as_posix(), False


def _without_links(path: PurePath) -> PurePath:
    try:
        return PurePath(os.path.realpath(path))
    except ValueError:  # not a possible file name
        return path


def path_within(root: PurePath, path: PurePath) -> str | None:
    """`path` relative to `root` with forward slashes, None if it is not below; both absolute, POSIX or Windows."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


def positions_in(file: Path, pointers: Iterable[str]) -> Mapping[str, Position]:
    """Positions in a JSON file; none for other files and for unreadable files."""
    wanted = list(pointers)
    if wanted and _begins_as_json(file):
        with suppress(UnusableInput):
            return positions(read_bytes(file).decode("utf-8", "replace"), wanted)
    return {}


def _begins_as_json(file: Path) -> bool:
    """Whether the file begins like JSON; other files are not read, because a model or trace can have gigabytes."""
    try:
        with opened(file) as stream:
            head = stream.read(_HEAD_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()
    except (UnusableInput, OSError):
        return False
    return head.startswith(_JSON_BEGINS) and b"\0" not in head
