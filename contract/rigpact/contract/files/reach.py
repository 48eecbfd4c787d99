"""How far the files of a project reach: a path that a setting names lies in the repository, after every link is followed.

A stranger's pull request writes settings. A path in them, or a link that is committed, must not show a file of the machine.
"""

import os
from os.path import normpath
from pathlib import Path

from rigpact.contract.errors import UnusableInput

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
