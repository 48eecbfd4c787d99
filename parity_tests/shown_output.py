"""A page followed: its files written, its commands run in their order, the output that it shows compared with what they print.

A block `console` holds commands, `$ COMMAND`, each above its output. A block of any language with `path=FILE` is a file:
written, or added to (`at=end`), or one line of it replaced (`replace="LINE"`). All other blocks are for reading.
RIGPACT_REGENERATE=1 writes the outputs into the page and its translations anew.
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
FENCES = re.compile(r"^```.*?\n```\n", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```(?P<language>\w+)(?P<words>[^\n]*)\n(?P<text>(?:.*\n)*?)```\n", re.MULTILINE)
_COMMAND = re.compile(r"\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)")
_OF_THE_READERS_MACHINE = ("python -m pip install", "git ")
"""What a page tells its reader to do once, before or beside rigpact; it is not run here."""
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))


@dataclass(frozen=True)
class Ran:
    """A command of a page and its answer."""

    words: tuple[str, ...]
    status: int
    out: str

    @property
    def name(self) -> str:
        """The command of rigpact, the script of Python, or the program."""
        return self.words[1 if self.words[0] in {"rigpact", "python"} else 0]


def masked(text: str) -> str:
    """Digits that another CPU may print differently do not count, nor the column widths they make."""
    return re.sub(r"\s+", " ", _NUMBER.sub("#", text))


def follow(page: Path, command: Callable[..., Any], *translations: Path) -> list[Ran]:
    """Every command of a page, run in the working directory, each with the output that the page shows."""
    text = page.read_text(encoding="utf-8")
    outputs: list[tuple[tuple[int, int], str]] = []
    ran: list[Ran] = []
    with contextlib.chdir(Path.cwd()):  # a page may go into a folder
        for block in _BLOCK.finditer(text):
            if "path=" in block["words"]:
                _write(dict(word.split("=", 1) for word in shlex.split(block["words"])), block["text"])
            elif block["language"] == "console":
                answers = list(_answers(block["text"], command))
                outputs.append((block.span("text"), "".join(answer for _, answer in answers)))
                ran += [each for each, _ in answers if each is not None]
    if REGENERATE:
        for (start, stop), shown in reversed(outputs):
            text = text[:start] + shown + text[stop:]
        page.write_text(text, encoding="utf-8", newline="\n")
        for translation in translations:
            with_blocks_of(page, translation)
    return ran


def with_blocks_of(page: Path, translation: Path) -> None:
    """Write the blocks of a page into its translation."""
    current = iter(FENCES.findall(page.read_text(encoding="utf-8")))
    new = FENCES.sub(lambda _: next(current), translation.read_text(encoding="utf-8"))
    translation.write_text(new, encoding="utf-8", newline="\n")


def _write(words: dict[str, str], text: str) -> None:
    path = Path(words["path"])
    if "replace" in words:
        before = path.read_text(encoding="utf-8")
        assert before.count(words["replace"] + "\n") == 1, words["replace"]
        text = before.replace(words["replace"] + "\n", text)
    elif words.get("at") == "end":
        text = path.read_text(encoding="utf-8") + "\n" + text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _answers(block: str, command: Callable[..., Any]) -> Iterator[tuple[Ran | None, str]]:
    """Each command's answer, and the lines that the page is to show of it."""
    commands = list(_COMMAND.finditer(block))
    assert "".join(each[0] for each in commands) == block, block
    for each in commands:
        words = tuple(shlex.split(each["command"]))
        if each["command"].startswith(_OF_THE_READERS_MACHINE):
            yield None, each[0]
            continue
        if words[0] == "cd":
            os.chdir(words[1])
            yield None, each[0]
            continue
        status, out = _answered(words, command)
        assert REGENERATE or masked(each["output"]) == masked(out), each["command"]
        yield Ran(words, status, out), f"$ {each['command']}\n{out}"


def _answered(words: tuple[str, ...], command: Callable[..., Any]) -> tuple[int, str]:
    if words[0] == "rigpact":
        answer = command(*words[1:])
        return answer.status, answer.out or answer.err
    assert words[0] in {"python", "c++"} or words[0].startswith("./"), words
    program = sys.executable if words[0] == "python" else words[0]
    ran = subprocess.run([program, *words[1:]], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr
