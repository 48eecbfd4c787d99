"""`every_case`: many cases in one test lose none, name each that failed, and do not share what a test may change."""

from pathlib import Path

import pytest

from ..every_case import every_case


def told(test: object, **fixtures: object) -> str:
    with pytest.raises(pytest.fail.Exception) as failure:
        test(**fixtures)  # type: ignore[operator]
    return str(failure.value)


def test_every_case_is_tried_and_each_that_fails_is_named() -> None:
    """A loop that stops at its first failure hides the others; one that skips hides a case for ever."""
    tried = []

    @every_case(("name", "number"), [("sound", 0), ("wrong", 1), ("broken", 2), ("left out", 3), ("late", 1)])
    def test(name: str, number: int) -> None:
        tried.append(name)
        assert number != 1, "one is wrong"
        if number == 2:
            raise KeyError(name)
        if number == 3:
            pytest.skip("not today")

    said = told(test)
    assert tried == ["sound", "wrong", "broken", "left out", "late"]
    assert said.startswith("4 of 5 cases failed\n1: wrong-1\n2: broken-2\n3: left out-3\n4: late-1\n")
    assert all(words in said for words in ("one is wrong", "KeyError", "not today"))


def test_what_a_case_changes_is_not_there_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a working directory that one case leaves would let the next pass for another's sake."""
    before = Path.cwd()

    @every_case("number", [1, 2])
    def test(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert Path.cwd() == before
        assert list(tmp_path.iterdir()) == []
        monkeypatch.chdir(tmp_path)
        Path("left.txt").write_text("", encoding="utf-8")

    test(tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert sorted(path.parent.name for path in tmp_path.rglob("left.txt")) == ["case0", "case1"]


@every_case(("letter", "number"), [("a", 1), ("b", 2), ("a", 3)], by="letter")
def test_the_values_of_one_parameter_are_tests_of_their_own(letter: str, number: int, request: object) -> None:
    """All cases in one test leave all but one processor idle."""
    assert request.node.name.endswith(f"[{letter}]")  # type: ignore[attr-defined]
    assert number in {"a": (1, 3), "b": (2,)}[letter]


def test_no_case_is_an_error() -> None:
    """A table that a rename emptied would pass without a word."""
    with pytest.raises(AssertionError, match="no case of number"):
        every_case("number", [])
