"""CONTRIBUTING.md as a program: its code blocks, applied to a copy of the repository.

The first line of a block says where its text goes: `path=FILE` alone is a new file; `before="LINE"`, `after="LINE"` and
`replace="LINE"` name one line of the file; `after="LINE" at=end` is the end of the table that the line opens.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```\w+ (path=.*)\n((?:.*\n)*?)```$", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """A block of text and its place."""

    path: str
    place: str
    line: str
    text: str
    at_end: bool = False

    def apply(self, root: Path) -> None:
        """Make the edit."""
        path = root / self.path
        if not self.place:
            assert not path.exists(), f"{path} is not a new file"
            path.write_text(self.text, encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        first, last = self._range(lines)
        path.write_text("".join([*lines[:first], self.text, *lines[last:]]), encoding="utf-8")

    def _range(self, lines: list[str]) -> tuple[int, int]:
        """The lines that the text takes the place of; none where it is inserted."""
        found = [number for number, line in enumerate(lines) if line.rstrip("\n") == self.line]
        assert len(found) == 1, f"{self.path}: {len(found)} lines are {self.line!r}"
        (number,) = found
        if self.at_end:
            number = next(after for after in range(number, len(lines)) if lines[after][:1] in {")", "}", "]"})
        elif self.place == "after":
            number += 1
        return number, number + (self.place == "replace")


def recipe(page: str, heading: str) -> tuple[Edit, ...]:
    """The edits of a recipe, in the order of the page."""
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")}
    return tuple(_edits(sections[heading]))


def _edits(section: str) -> Iterator[Edit]:
    for said, text in _BLOCK.findall(section):
        words = dict(word.split("=", 1) for word in shlex.split(said))
        path, at_end = words.pop("path"), words.pop("at", "") == "end"
        ((place, line),) = words.items() or {"": ""}.items()
        yield Edit(path, place, line, text, at_end)


def copied(checkout: Path, folder: Path) -> Path:
    """The files that git knows or would take, copied, with a history of their own."""
    names = _git(checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        if (checkout / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(checkout / name, folder / name)
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    return folder


def changed(folder: Path) -> set[str]:
    """The files that are not as they were copied."""
    return set(filter(None, _git(folder, "ls-files", "-z", "--modified", "--others", "--exclude-standard").split("\0")))


def _git(folder: Path, *words: str) -> str:
    settings = ("-c", "core.autocrlf=false", "-c", "safe.directory=*")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout
