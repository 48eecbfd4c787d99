"""For any behaviour of a user's function, the answer is a findings report: not a pass, not an error of rigpact."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rigpact.reports.geometry_parity.roles import ROLES

from ..every_case import every_case
from .subjects import sound_numpy

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def _changed(change: Callable[[Any], Any]) -> Wrap:
    return lambda sound: lambda *arrays: change(sound(*arrays))


def _only(dtype: type) -> Wrap:
    def wrap(sound: Any) -> Any:
        def function(*arrays: Any) -> Any:
            if arrays[0].dtype != dtype:
                raise ValueError("another type")
            return sound(*arrays)

        return function

    return wrap


def _dies_later(sound: Any) -> Any:
    calls: list[int] = []

    def function(*arrays: Any) -> Any:
        calls.append(1)
        if len(calls) > 3:
            raise RuntimeError("out of memory")
        return sound(*arrays)

    return function


def _endless(sound: Any) -> Any:
    def function(*arrays: Any) -> Any:
        return function(*arrays)

    return function


WRONG: dict[str, Wrap] = {
    "NaN": _changed(lambda value: value * np.nan),
    "zeros": _changed(lambda value: value * 0),
    "ones": _changed(lambda value: value * 0 + 1),
    "infinity": _changed(lambda value: value * 0 + np.inf),
    "beyond float32": _changed(lambda value: value * 1e300),
    "truth values": _changed(lambda value: value > 0),
    "whole numbers": _changed(lambda value: np.asarray(value).astype(int)),
    "bytes": _changed(lambda value: np.abs(value).astype(np.uint8)),
    "Python objects": _changed(lambda value: np.asarray(value).astype(object)),
    "one row": _changed(lambda value: value[0]),
    "no row": _changed(lambda value: value[:0]),
    "an axis more": _changed(lambda value: value[None]),
    "a list": _changed(lambda value: [value]),
    "a pair": _changed(lambda value: (value, value)),
    "nothing": _changed(lambda value: None),
    "a number": _changed(lambda value: 3.0),
    "its input": lambda sound: lambda *arrays: arrays[0] + 0,
    "noise": lambda sound: lambda *arrays: np.random.default_rng().normal(size=np.shape(sound(*arrays))),
    "float64 only": _only(np.float64),
    "float32 only": _only(np.float32),
    "dies later": _dies_later,
    "endless recursion": _endless,
    "no parameter": lambda sound: lambda: 1,
}
PAIRS = [(role, name) for role in ROLES for name in WRONG]


@every_case(("role", "name"), PAIRS, ids=[f"{role}-{name}" for role, name in PAIRS], by="role")
def test_a_wrong_function_is_a_finding(examined: Any, role: str, name: str) -> None:
    """A broken function must not stop the checks of the other functions, and must not pass: 2 where no call of it answers."""
    wrong = WRONG[name](getattr(sound_numpy, role))
    if ROLES[role].timed and name != "no parameter":
        plain = wrong

        def wrong(R_seq: Any, fps: float) -> Any:
            return plain(R_seq, fps)

    report = examined(wrong, role)

    assert report.exit_code(strict=True) in (1, 2)
    assert report.findings
    assert all(finding.message for finding in report.findings)
    report.to_json()
