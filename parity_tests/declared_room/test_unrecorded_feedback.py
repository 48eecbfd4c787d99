"""A network or a filter hands its own history on, and the engine does not record it: what it gives is judged, where it can be."""

import numpy as np
import pytest

from ..models import floats, saved
from .samples_of_files import sample

CONTRACT = sample("memory.toml")


def _decaying(h, x):
    return np.float32(np.float32(0.5) * h + x)


def _chaotic(h, _x):
    return np.float32(np.float32(4) * h - np.float32(4) * h * h)


def _files(folder, operators, start):
    """x, h -> h_out by these operators, y = h_out + h_out."""
    numbers = {name: np.array([value], np.float32) for name, value in {"k": 0.5, "four": 4.0, "one": 1.0}.items()}
    takes, gives = (", ".join(floats(name, 1, 1) for name in names) for names in (("x", "h_in"), ("h_out", "y")))
    graph = f"({takes}) => ({gives}) {{ {operators} y = Add(h_out, h_out) }}"
    saved(folder / "memory.onnx", graph, opset=17, **numbers)
    (folder / "contract.toml").write_text(CONTRACT.replace('start = "half"', f"start = {start}"), encoding="utf-8")


DECAYING = "kept = Mul(h_in, k) h_out = Add(kept, x)"
CHAOTIC = (
    "rest = Sub(one, h_in) grown = Mul(four, h_in) bounded = Mul(grown, rest) unused = Mul(x, k)"
    " nothing = Sub(unused, unused) h_out = Add(bounded, nothing)"
)


def _engine(folder, step, start, frames=60, first=0):
    """What an engine records: its input and what it moves by, not its memory."""
    x, h = np.random.default_rng(6).normal(size=frames).astype("f"), np.float32(start)
    y = []
    for value in x:
        h = step(h, value)
        y.append(h + h)
    rows = {"x": x[first:, None], "y": np.array(y, "f")[first:, None], "frame": np.arange(first, frames)}
    np.savez(folder / "engine.npz", **rows)
    return folder / "engine.npz"


def _explained(command, folder):
    return command("explain", folder / "engine.npz", "--contract", folder / "contract.toml")


def test_an_answer_is_judged_though_its_memory_is_not_recorded(tmp_path, command):
    """The memory follows from the start and the inputs; 60 frames of it must not be 60 frames without a verdict."""
    _files(tmp_path, DECAYING, '"half"')
    _engine(tmp_path, _decaying, 0.5)
    answer = _explained(command, tmp_path)
    assert answer.status == 0, answer.out
    assert "AGREES" in answer.out


def test_an_engine_that_starts_from_another_memory_differs(tmp_path, command):
    """A runtime takes zeros where the file of initial values is missing: the first steps are another character's."""
    _files(tmp_path, DECAYING, '"half"')
    _engine(tmp_path, _decaying, 0.0)
    answer = _explained(command, tmp_path)
    assert answer.status == 1
    assert "First divergence: frame 0, stage y" in answer.out


def test_a_memory_that_is_never_handed_on_is_said(tmp_path, command):
    """An export whose caller gives the first memory in every step: the character forgets, and only its answers are recorded."""
    _files(tmp_path, DECAYING, '"half"')
    _engine(tmp_path, lambda _, x: _decaying(np.float32(0.5), x), 0.5)
    answer = _explained(command, tmp_path)
    assert answer.status == 1
    assert "EXPLAINED: supposing that h_in is never carried: every frame has what the first one has" in answer.out


FILTER = sample("filter.toml")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda h, x: 0.8 * h + 0.2 * x, "AGREES"),
        (lambda h, x: h + np.float32(0.2) * (x - h), "AGREES"),
        (lambda _, x: x, "EXPLAINED: kept.weights = last_only"),
        (lambda h, x: 0.2 * h + 0.8 * x, "EXPLAINED: kept.weights = reversed"),
        (lambda _, x: 0.2 * x, "EXPLAINED: supposing that was is never carried"),
    ],
)
def test_a_filter_runs_from_its_start(step, said, tmp_path, command):
    """Nothing of it is recorded: neither rounding of another order nor of float64 is a difference."""
    (tmp_path / "contract.toml").write_text(FILTER, encoding="utf-8")
    x, h, y = np.random.default_rng(7).normal(size=(200, 2)).astype("f"), np.zeros(2, "f"), []
    for row in x:
        h = step(h, row).astype("f")
        y.append(h * np.float32(0.25))
    np.savez(tmp_path / "engine.npz", x=x, y=np.array(y))
    assert said in _explained(command, tmp_path).out
    rows = [",".join(f"{value:.4f}" for value in (*one, *other)) for one, other in zip(x, y, strict=True)]
    (tmp_path / "engine.csv").write_text("\n".join(("x[0],x[1],y[0],y[1]", *rows)), encoding="utf-8")
    printed = command("explain", tmp_path / "engine.csv", "--contract", tmp_path / "contract.toml")
    assert said in printed.out, "four decimals are lost in each step of the filter"


@pytest.mark.parametrize("first", [0, 10])
def test_what_cannot_be_known_stays_undetermined(tmp_path, command, first):
    """A chaotic memory doubles each rounding; a recording from the middle has another start. Neither is a difference."""
    _files(tmp_path, CHAOTIC if first == 0 else DECAYING, '"third"' if first == 0 else '"half"')
    _engine(tmp_path, _chaotic if first == 0 else _decaying, 0.3 if first == 0 else 0.5, first=first)
    answer = _explained(command, tmp_path)
    assert answer.status == 2, answer.out
    assert "UNDETERMINED" in answer.out
