"""Public threads about conventions, as small cases: what people searched for by hand is named from one recording."""

import ast
from pathlib import Path

import pytest

from ..measuring.scores.declared import public_threads
from ..measuring.scores.declared.public_threads import THREADS, answer_to, is_named
from ..measuring.scores.declared.threads.thread import Thread

FEWEST_NAMED = 20
EVERY_THREAD = pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.where.replace(" ", "_"))


@EVERY_THREAD
@pytest.mark.parametrize("seed", [0, 1])
def test_the_mistake_of_a_thread_is_named(thread: Thread, seed: int) -> None:
    """Each of these cost a team days: the character or robot fell, and nothing said which convention differed."""
    answer = answer_to(thread, seed)
    if thread.unnamed:
        assert answer.verdict in {"unexplained", "refused"}, "what cannot be named is never named as something else"
    else:
        assert is_named(thread, answer), answer


@EVERY_THREAD
def test_a_thread_without_its_mistake_agrees(thread: Thread) -> None:
    """An alarm on the mended engine would send its team on a second search."""
    assert answer_to(thread, is_wrong=False).verdict == "agrees"


def test_twenty_threads_and_more_are_named() -> None:
    """What is said about public threads holds for many, not for the ones that were easy."""
    assert len({thread.where for thread in THREADS if is_named(thread, answer_to(thread))}) >= FEWEST_NAMED


def test_no_engine_of_a_thread_knows_rigpact() -> None:
    """An engine that shared code with the judge would agree with it for the wrong reason."""
    folder = Path(public_threads.__file__).parent / "threads"
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("rigpact") for name in names), module.name
