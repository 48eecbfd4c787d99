"""Lists of files on the command line and in settings: files, folders, patterns with `*` and `**`."""

import re
from collections.abc import Iterable
from fnmatch import translate
from os.path import normpath
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import refuse_unread_folder, spelling_of
from rigpact.contract.files.reading import is_pattern, refuse_outside, repository_of


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
