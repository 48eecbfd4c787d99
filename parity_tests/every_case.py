"""Many small cases of one behaviour in one test: pytest's own work around a test is done once, not for each of them."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]
SHOWN = 5
"""So many failures are shown with their lines; the others with their messages."""


def every_case(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], str] | Iterable[str] = str, by: str = ""
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, in one test: it tries every case, and its failure names each case that failed.

    by: the parameter of which each value gets a test of its own, named by its `name` or its text.
    A case has its own `tmp_path` and `monkeypatch`, an empty `caplog`, and its own `anew(number)` of a fixture with that method;
    other fixtures are shared: they must not be changed. A case that skips fails, so that it does not hide the others.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [(case,) if isinstance(names, str) and len(parameters) == 1 else tuple(case) for case in cases]
    labels = ["-".join(map(ids, row)) for row in rows] if callable(ids) else list(ids)
    assert rows, f"there is no case of {names}"
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for number, (label, row) in enumerate(zip(labels, rows, strict=True)):
        case = dict(zip(parameters, row, strict=True))
        groups.setdefault(str(getattr(case[by], "name", case[by])) if by else "", {})[f"{number}: {label}"] = case

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            chosen, failures = groups[fixtures.pop("of", "")], {}
            for number, (name, case) in enumerate(chosen.items()):
                try:
                    with _own(fixtures, number) as own:
                        test(**own, **case)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - all are told
                    failures[name] = error
            if failures:
                pytest.fail(_told(failures, len(chosen)), pytrace=False)

        own = [each for each in inspect.signature(test).parameters.values() if each.name not in parameters]
        of = [inspect.Parameter("of", inspect.Parameter.KEYWORD_ONLY)] if by else []
        tried.__signature__ = inspect.Signature([*own, *of])  # type: ignore[attr-defined]  # pytest reads fixtures from it
        return pytest.mark.parametrize("of", list(groups))(tried) if by else tried

    return decorated


@contextmanager
def _own(fixtures: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The fixtures as one case gets them."""
    own = {name: value.anew(number) if hasattr(value, "anew") else value for name, value in fixtures.items()}
    if "tmp_path" in own:
        own["tmp_path"] = Path(own["tmp_path"], f"case{number}")
        own["tmp_path"].mkdir()
    if "caplog" in own:
        own["caplog"].clear()
    if "monkeypatch" not in own:
        yield own
        return
    with own["monkeypatch"].context() as patch:
        yield own | {"monkeypatch": patch}


def _told(failures: Mapping[str, BaseException], count: int) -> str:
    parts = [f"{len(failures)} of {count} cases failed", *failures]
    for number, (name, error) in enumerate(failures.items()):
        whole = "".join(traceback.format_exception(error)) if number < SHOWN else f"{type(error).__name__}: {error}"
        parts.append(f"--- {name}\n{whole}")
    return "\n".join(parts)
