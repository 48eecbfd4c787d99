"""Every command that judges says the same of a recording: no alarm over honest variants, an alarm beside each kind."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rigpact.reference_runtime.recordings.opened import write_recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader
from rigpact.testing.checks import judgements
from rigpact.testing.files import NotJudged, Paths, Refuted, UserFiles

Array = NDArray[Any]
Stages = dict[str, Array]
FRAMES, FPS, ENGINE = 40, 50.0, "MyEngine"
TINY = """
format = "rigpact-contract"
version = 1
name = "tiny"
fps = 50
given = [
    { name = "turn", kind = "quaternion_xyzw" },
    { name = "body", fields = [{ name = "at", size = 3, kind = "position" }, { name = "facing", kind = "quaternion_wxyz" }] },
    { name = "rate", size = 3 },
]
stages = [
    { name = "down", operation = "rotate", of = "turn", vector = [0, 0, -1], direction = "inverse" },
    { name = "rates", operation = "affine", of = "rate", scale = [0.25, 0.5, 2.0], offset = [0.1, 0.2, 0.3] },
    { name = "obs", operation = "concatenate", of = ["rates", "down"] },
    { name = "target", operation = "affine", of = "rates", scale = 1.5 },
]
"""


def down_of(w: Array, x: Array, y: Array, z: Array) -> Array:
    """(0, 0, -1) in the frame of unit quaternions: the third row of their matrix, negated; (T, 3)."""
    return -np.stack((2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)), axis=-1)


def drawn_turns(rng: np.random.Generator) -> Array:
    """Unit quaternions of a body that sways, (T, 4), the scalar part first."""
    lean = 0.4 * np.sin(np.linspace(0.0, 5.0, FRAMES))[:, None] * rng.normal(size=3)
    rows = np.hstack((np.ones((FRAMES, 1)), lean))
    return np.float32(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def tiny_run(kind: Any = np.float32) -> Stages:
    """Every vector of the tiny contract, computed in numbers of a kind."""
    rng = np.random.default_rng(3)
    turn = drawn_turns(rng)[:, [1, 2, 3, 0]]
    body = np.float32(np.hstack((rng.normal(size=(FRAMES, 3)), drawn_turns(rng))))
    rate = np.float32(rng.normal(size=(FRAMES, 3)))
    x, y, z, w = turn.T.astype(kind)
    down = down_of(w, x, y, z)
    rates = rate.astype(kind) * np.array([0.25, 0.5, 2.0], kind) + np.array([0.1, 0.2, 0.3], kind)
    obs = np.hstack((rates, down))
    return {
        "turn": turn, "body": body, "rate": rate, "down": down, "rates": rates, "obs": obs,
        "target": rates * kind(1.5),
    }  # fmt: skip


Change = Callable[[Stages], Stages]
Write = Callable[[Stages, Path], Path]


@dataclass(frozen=True)
class Variant:
    """A way to compute and to write. resolution: as it is declared. frames: how many of them."""

    name: str
    write: Write
    kind: Any = np.float32
    change: Change = lambda stages: stages
    resolution: str | None = None
    frames: int = FRAMES
    mistake: str = ""
    """The vector of which one number is wrong, by a little more than this way of writing loses."""
    size: float = 0.0


def trace_as(ending: str) -> Write:
    """Our own formats, under the engine's name."""

    def write(stages: Stages, path: Path) -> Path:
        frame = np.arange(len(next(iter(stages.values()))))
        header = TraceHeader(FPS, "teacher", producer=ENGINE, system="tiny")
        trace = Trace(header, frame, frame / FPS, {name: np.float32(rows) for name, rows in stages.items()})
        file = path.with_name(path.name + ending)
        write_recording(trace, file)
        return file

    return write


def npz_as(kind: Any = np.float32, *, backwards: bool = False) -> Write:
    """Arrays by name."""

    def write(stages: Stages, path: Path) -> Path:
        file, order = path.with_suffix(".npz"), list(stages)[:: -1 if backwards else 1]
        np.savez(file, **{name: stages[name].astype(kind) for name in order})
        return file

    return write


def table_as(ending: str, text: str = "", seed: int | None = None) -> Write:
    """A column for each number: as text in a format, or as Parquet; with a seed in another order."""

    def write(stages: Stages, path: Path) -> Path:
        columns = {
            f"{name}[{place}]": rows[:, place] for name, rows in stages.items() for place in range(rows.shape[1])
        }
        frame = pd.DataFrame({name: np.float32(values) for name, values in columns.items()})
        if seed is not None:
            frame = frame[[*np.random.default_rng(seed).permutation(frame.columns)]]
        file = path.with_suffix(ending)
        if ending == ".parquet":
            frame.to_parquet(file)
        else:
            frame.map(lambda value: text % value if text else repr(float(value))).to_csv(file, index=False)
        return file

    return write


def other_signs(quaternions: Mapping[str, slice], signs: Callable[[int], Array]) -> Change:
    """The other quaternion of the same rotation, in some frames."""

    def change(stages: Stages) -> Stages:
        found = dict(stages)
        for number, (name, place) in enumerate(quaternions.items()):
            found[name] = stages[name].copy()
            found[name][:, place] *= np.float32(signs(number))[:, None]
        return found

    return change


def bfloat16(rows: Array) -> Array:
    """The nearest numbers of eight bits."""
    mantissa, exponent = np.frexp(np.float32(rows))
    return np.float32(np.ldexp(np.rint(mantissa * 256) / 256, exponent))


def variants(quaternions: Mapping[str, slice], wrong: str) -> Iterator[Variant]:
    """Every honest variant, and beside each kind one with a mistake. wrong: the vector that then holds a wrong number."""
    plain = npz_as()
    alternate = lambda number: (-1.0) ** (np.arange(FRAMES) + number)  # noqa: E731
    signs: dict[str, Callable[[int], Array]] = {
        "all": lambda _: np.full(FRAMES, -1.0), "every other": alternate,
        "from the middle": lambda _: np.where(np.arange(FRAMES) < 20, 1.0, -1.0),
        "drawn": lambda number: np.random.default_rng(number).choice((-1.0, 1.0), FRAMES),
    }  # fmt: skip
    for name, chosen in signs.items():
        yield Variant(f"signs: {name}", plain, change=other_signs(quaternions, chosen))
    yield Variant("signs", plain, change=other_signs(quaternions, alternate), mistake=wrong, size=1e-4)
    yield Variant("sums: double", plain, np.float64)
    yield Variant("sums", plain, np.float64, mistake=wrong, size=1e-4)
    for ending in (".trace.jsonl", ".trace.bin", ".trace.safetensors", ".json"):
        yield Variant(f"format: {ending}", trace_as(ending))
    for ending in (".csv", ".parquet"):
        yield Variant(f"format: {ending}", table_as(ending))
        yield Variant(f"order of columns: {ending}", table_as(ending, seed=1))
    yield Variant("format: float64", npz_as(np.float64), np.float64)
    yield Variant("order of vectors", npz_as(backwards=True))
    yield Variant("order of columns", table_as(".csv", seed=1), mistake=wrong, size=1e-4)
    yield Variant("format", table_as(".parquet"), mistake=wrong, size=1e-4)
    for places in (4, 5, 6):
        write = table_as(".csv", f"%.{places}f")
        yield Variant(f"decimals: {places}", write)
        yield Variant(f"decimals: {places}, declared", write, resolution=f"{places} decimals")
    yield Variant("decimals", table_as(".csv", "%.4f"), mistake=wrong, size=0.02)
    for places in (5, 6):
        yield Variant(f"digits: {places}", table_as(".csv", f"%.{places}g"))
    yield Variant("digits", table_as(".csv", "%.6g"), mistake=wrong, size=0.001)
    halves, eight = npz_as(np.float16), lambda stages: {name: bfloat16(rows) for name, rows in stages.items()}
    yield Variant("halves", halves)
    yield Variant("halves, declared", halves, resolution="float16")
    yield Variant("halves and signs", halves, change=other_signs(quaternions, alternate))
    yield Variant("eight bits", plain, change=eight)
    yield Variant("eight bits, declared", plain, change=eight, resolution="bfloat16")
    yield Variant("halves", halves, mistake=wrong, size=0.3)
    yield Variant("first frames", plain, frames=30)
    yield Variant("first frames", plain, frames=30, mistake=wrong, size=1e-4)


RIGHT = tiny_run()


@pytest.fixture
def contract(tmp_path):
    """The tiny contract; beside it the engine's clip, with every bit."""
    (tmp_path / "contract.toml").write_text(TINY, encoding="utf-8")
    npz_as()(RIGHT, tmp_path / "clip")
    return tmp_path / "contract.toml"


def recorded(variant, path):
    """What the engine records of a variant."""
    stages = variant.change(tiny_run(variant.kind))
    if variant.mistake:
        stages[variant.mistake] = np.array(stages[variant.mistake])
        stages[variant.mistake][20, 1] += variant.size
    return variant.write({name: rows[: variant.frames] for name, rows in stages.items()}, path)


def said(command, contract, written):
    """Each command, each variant, and whether it raised an alarm."""
    folder, own = contract.parent, ("--contract", contract)
    for number, (variant, path) in enumerate(written):
        how = ("--resolution", variant.resolution) if variant.resolution else ()
        right = npz_as()({name: rows[: variant.frames] for name, rows in RIGHT.items()}, folder / "right")
        asked = {
            "diff": ("diff", right, path, *own, *how),
            "explain": ("explain", path, *own, *how, "--clip", folder / "clip.npz", "--mode", "teacher"),
        }
        if not variant.mistake:  # what these look at is in order all the same
            asked |= {"check": ("check", contract, path), "nan": ("nan", *own, path)}
        if not (variant.mistake or number % 3):
            asked["run"] = ("run", *own, path, "--mode", "teacher", "-o", folder / "out.trace.jsonl")
        for name, words in asked.items():
            yield name, variant, command(*words).status != 0


def said_by_the_gate(command, contract, written):
    """As its settings ask for each variant."""
    settings = ["[gate]", 'bundle = "contract.toml"']
    for number, (variant, path) in enumerate(written):
        producer = "MyEngine" if ".trace." in path.name else "unknown"  # other formats do not say who wrote them
        settings += [
            "[[gate.trace]]", f'name = "{number}"', f'file = "{path.name}"', 'clip = "clip.npz"', 'mode = "teacher"',
            f"frames = {variant.frames}", f'producer = "{producer}"',
            *([f'resolution = "{variant.resolution}"'] if variant.resolution else []),
        ]  # fmt: skip
    file = contract.with_name("rigpact.toml")
    file.write_text("\n".join(settings), encoding="utf-8")
    parts = json.loads(command("gate", "--config", file, "--format", "json").out)["parts"]
    verdicts = {part["name"]: part["verdict"] for part in parts}
    for number, (variant, _path) in enumerate(written):
        yield "gate", variant, verdicts[f"engine-trace/{number}"] != "pass"


def said_by_the_plugin(contract, written):
    """A trace of which any judgement is refuted."""
    paths = Paths(
        contract, onnx=None, clips=(contract.with_name("clip.npz"),), traces=tuple(path for _, path in written)
    )
    refuted = set()
    for each in judgements(UserFiles(paths), strict=False, examples=1, seed=0):
        if each.name[0] == "engine-trace":
            try:
                each.judge()
            except NotJudged:
                continue
            except Refuted:
                refuted.add(each.name[1])
    for variant, path in written:
        yield "plugin", variant, path.name in refuted


def test_every_command_says_the_same_of_every_variant(command, no_search, contract):
    """Four decimals passed `explain` and failed the gate: who is told two things of one file believes neither."""
    tried = [*variants({"turn": slice(4), "body": slice(3, 7)}, "target")]
    assert sum(not variant.mistake for variant in tried) >= 27
    written = [(each, recorded(each, contract.with_name(f"v{number}"))) for number, each in enumerate(tried)]
    told = [
        *said(command, contract, written), *said_by_the_gate(command, contract, written),
        *said_by_the_plugin(contract, written),
    ]  # fmt: skip
    assert [f"{who}: {variant.name}" for who, variant, alarms in told if alarms and not variant.mistake] == []
    assert [f"{who}: {variant.name}" for who, variant, alarms in told if variant.mistake and not alarms] == []


def test_inputs_alone_are_never_an_agreement(command, contract):
    """The gyro of a log is that of its clip: "AGREES, 0 of 13 stages judged", exit 0."""
    asked = ("--contract", contract, "--clip", contract.with_name("clip.npz"), "--mode", "teacher")
    for moved, status in ((0.0, 2), (0.1, 1)):
        rate = npz_as()({"rate": RIGHT["rate"] + np.float32(moved)}, contract.with_name("rate"))
        assert command("explain", rate, *asked).status == status
