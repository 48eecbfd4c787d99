"""Constants of two contract files: which were added, removed or changed, and by what share of their size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.compatibility.values import UNDECLARED, same, short_of, text_of
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.rules.bundle.view import json_to_array
from rigpact.contract.statistics import FloatArray


def compare_constants(old: Any, new: Any, path: tuple[Token, ...] = ("constants",)) -> Iterator[Change]:
    """Yield what changed in two JSON values: objects member by member, tables of numbers by their worst number."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from compare_constants(old.get(key, UNDECLARED), new.get(key, UNDECLARED), (*path, key))
    elif not same(old, new):
        yield _compare_value(old, new, path)


def _compare_value(old: Any, new: Any, path: tuple[Token, ...]) -> Change:
    pointer, name = json_pointer(*path), ".".join(map(str, path[1:]))
    if old is UNDECLARED or new is UNDECLARED:
        kind, what = ("constant-added", "is new") if old is UNDECLARED else ("constant-removed", "is gone")
        return change(kind, pointer, short_of(old), short_of(new), f"{name} {what}")
    a, b = json_to_array(old), json_to_array(new)
    if a is None or b is None or a.shape != b.shape:
        message = f"{name}: {text_of(old)} → {text_of(new)}"
        return change("constant-changed", pointer, short_of(old), short_of(new), message)
    return _compare_numbers(path, name, a, b, are_whole=_is_whole(old) and _is_whole(new))


def _is_whole(value: Any) -> bool:
    """Whether a JSON value holds nothing but whole numbers: indices and counts, of which no difference is a rounding."""
    return all(map(_is_whole, value)) if isinstance(value, list) else isinstance(value, int)


def _compare_numbers(path: tuple[Token, ...], name: str, a: FloatArray, b: FloatArray, *, are_whole: bool) -> Change:
    with np.errstate(all="ignore"):
        differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
        share = np.where(differs, np.abs(a - b) / np.maximum(np.abs(a), np.abs(b)), 0.0)
        share = np.where(np.isnan(share), np.inf, share)
        step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(np.float32)).astype(np.float64)
        is_rounding = bool((np.abs(a - b)[differs] <= step[differs]).all()) and not are_whole
    worst = tuple(int(place) for place in np.unravel_index(int(np.argmax(share)), share.shape))
    values = float(a[worst]), float(b[worst])
    where = f"{name}{list(worst) if worst else ''}"
    message = f"{where} goes from {values[0]:.7g} to {values[1]:.7g}, by {share[worst]:.3%} of its size"
    if differs.sum() > 1:
        message += f"; {int(differs.sum())} of {a.size} numbers changed"
    kind = "constant-rounded" if is_rounding else "constant-changed"
    return change(kind, json_pointer(*path, *worst), values[0], values[1], message)
