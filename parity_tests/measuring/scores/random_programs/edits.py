"""Mistakes as edits of a program: rows that are moved behind an operation or before it, or an operation that is another one.

`MOVES` says what each kind does to a row. Row edits hold in some channels and frames only, if they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .program import Operation, Program, Rows

Move = Callable[[int, Rows, Rows, tuple[float, ...]], Rows]
"""(frame, rows before up to it, rows after up to the one before it, numbers) -> the row after."""


@dataclass(frozen=True)
class Edit:
    """One mistake.

    kind: a key of `MOVES`, or what an operation is replaced for; at: the operation; source: the input before which it stands,
    empty behind it; numbers: of the move; channels: () for all; frames: the first, and the step or 0 for that frame alone;
    program: the program with the operation replaced; words: what an answer has to hold besides the kind's own words; knob: the
    convention that says it, where the vocabulary has one.
    """

    kind: str
    at: str
    source: str = ""
    numbers: tuple[float, ...] = ()
    channels: tuple[int, ...] = ()
    frames: tuple[int, int] = (0, 1)
    program: Program | None = None
    words: tuple[str, ...] = ()
    knob: str = ""

    @property
    def shown(self) -> str:
        """For people."""
        where = f"before {self.at}({self.source})" if self.source else f"at {self.at}"
        parts = [self.kind, where, *(f"{number:.6g}" for number in self.numbers[:6]), *self.words]
        parts += [f"channels {', '.join(map(str, self.channels))}"] if self.channels else []
        if self.frames != (0, 1):
            parts.append(f"frame {self.frames[0]} only" if not self.frames[1] else f"from frame {self.frames[0]} on")
        return " ".join(parts)


def moved_row(edit: Edit, frame: int, x: Rows, y: Rows) -> Rows:
    """One row behind the edit, float32."""
    first, step = edit.frames
    if frame < first or (step == 0 and frame > first):
        return x[frame, :]
    moved = np.asarray(MOVES[edit.kind](frame, x, y, edit.numbers), np.float32)
    if not edit.channels:
        return moved
    row = x[frame, :].copy()
    row[list(edit.channels)] = moved[list(edit.channels)]
    return row


def _turned(frame: int, x: Rows, _y: Rows, numbers: tuple[float, ...]) -> Rows:
    """A vector, or a quaternion w, x, y, z, turned about an axis of the world; numbers: the axis and degrees."""
    axis, half = np.eye(3)[int(numbers[0])], np.radians(numbers[1]) / 2.0
    cosine, along, row = np.cos(half), np.sin(half) * axis, x[frame].astype(np.float64)
    if len(row) == 3:
        across = 2.0 * np.cross(along, row)
        return np.asarray(row + cosine * across + np.cross(along, across))
    w, v = row[0], row[1:]
    return np.concatenate(([cosine * w - along @ v], cosine * v + w * along + np.cross(along, v)))


def _towards(change: Callable[[Rows, float], Rows]) -> Move:
    """From the row after of the frame before, by what is made of the way to the row before."""
    return lambda t, x, y, n: x[t] if t == 0 else y[t - 1] + change(x[t].astype(np.float64) - y[t - 1], n[0])


MOVES: Mapping[str, Move] = {
    **dict.fromkeys(("exchanged", "permuted"), lambda t, x, _y, n: x[t][[int(each) for each in n]]),
    "signed_axes": lambda t, x, _y, n: x[t][[int(each) for each in n[: len(n) // 2]]] * n[len(n) // 2 :],
    "sign": lambda t, x, _y, _n: -x[t],
    "scale": lambda t, x, _y, n: x[t].astype(float) * n[0],
    "offset": lambda t, x, _y, n: x[t].astype(float) + n[0],
    "delay": lambda t, x, _y, n: x[max(t - int(n[0]), 0)],
    # n[1:]: the first frame, if it is not 0
    "hold": lambda t, x, _y, n: x[max(t - (t - int(sum(n[1:]))) % int(n[0]), 0)],
    "clip": lambda t, x, _y, n: np.clip(x[t].astype(float), n[0], n[1]),
    "tanh": lambda t, x, _y, _n: np.tanh(x[t].astype(float)),
    "smoothed": _towards(lambda way, share: np.float64(share) * way),
    "half": lambda t, x, _y, _n: x[t].astype(np.float16),
    "deadband": lambda t, x, _y, n: np.where(np.abs(x[t]) < n[0], 0.0, x[t]),
    "rate_limit": _towards(lambda way, most: np.clip(way, -most, most)),
    "stuck": lambda t, x, _y, n: np.full_like(x[t], n[0]),
    "frozen": lambda _t, x, _y, n: x[int(n[0])],
    "glitch": lambda t, x, _y, n: x[t].astype(float) * n[0] + n[1],
    "high_pass": lambda t, x, y, n: n[0] * (y[t - 1] + (x[t].astype(float) - x[t - 1])) if t else 0.0 * x[t],
    "summed": lambda t, x, y, n: n[0] * x[t].astype(float) + (y[t - 1] if t else 0.0),
    "changes": lambda t, x, _y, _n: x[t].astype(float) - x[max(t - 1, 0)],
    "averaged": lambda t, x, _y, _n: 0.5 * (x[t].astype(float) + x[max(t - 1, 0)]),
    "steps": lambda t, x, _y, n: np.trunc(x[t].astype(float) / n[0]) * n[0],
    "turned": _turned,
    "uncarried": lambda t, x, _y, _n: 0.0 * x[t],
}


def replaced_numbers(program: Program, own: Operation, key: str, numbers: tuple[float, ...]) -> Program:
    """The program in which one parameter of an operation has other numbers, in the operation's own order."""
    return program.with_operation(replace(own, params={**own.params, key: numbers}))
