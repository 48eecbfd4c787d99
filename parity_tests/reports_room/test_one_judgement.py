"""Every command that judges says the same of a recording: no alarm over honest variants, an alarm beside each kind."""

import json
from collections.abc import Callable
from dataclasses import dataclass
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


def down_of(w, x, y, z):
    """(0, 0, -1) in the frame of unit quaternions: the third row of their matrix, negated; (T, 3)."""
    return -np.stack((2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)), axis=-1)


def drawn_turns(rng):
    """Unit quaternions of a body that sways, (T, 4), the scalar part first."""
    lean = 0.4 * np.sin(np.linspace(0.0, 5.0, FRAMES))[:, None] * rng.normal(size=3)
    rows = np.hstack((np.ones((FRAMES, 1)), lean))
    return np.float32(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def tiny_run(kind=np.float32):
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


QUATERNIONS, WRONG = {"turn": slice(4), "body": slice(3, 7)}, "target"
"""Where the contract holds quaternions; the vector of which one number is wrong in a variant with a mistake."""
SIGNS: dict[str, Callable[[int], Array]] = {
    "all": lambda _: np.full(FRAMES, -1.0), "every other": lambda number: (-1.0) ** (np.arange(FRAMES) + number),
    "from the middle": lambda _: np.where(np.arange(FRAMES) < 20, 1.0, -1.0),
    "drawn": lambda number: np.random.default_rng(number).choice((-1.0, 1.0), FRAMES),
}  # fmt: skip
"""Frames of the other quaternion of the same rotation; number: of the vector that holds it."""


@dataclass(frozen=True)
class Variant:
    """A way to compute and to write.

    form: the ending, of a table with the format of its numbers behind it. how: of the arrays' type, or a seed for the order of
    columns. mistake: how far one number is off, a little more than this way of writing loses. resolution: as it is declared.
    """

    name: str
    form: str = ".npz"
    how: Any = np.float32
    kind: Any = np.float32
    signs: str = ""
    resolution: str | None = None
    mistake: float = 0.0
    frames: int = FRAMES

    def stages(self):
        """What the engine computed, and how it holds it."""
        found = tiny_run(self.kind)
        for number, (name, place) in enumerate(QUATERNIONS.items() if self.signs else ()):
            found[name] = found[name].copy()
            found[name][:, place] *= np.float32(SIGNS[self.signs](number))[:, None]
        if self.how == "bfloat16":
            found = {name: bfloat16(rows) for name, rows in found.items()}
        if self.mistake:
            found[WRONG] = np.array(found[WRONG])
            found[WRONG][20, 1] += self.mistake
        return {name: rows[: self.frames] for name, rows in found.items()}

    def written(self, path):
        """The file that the engine writes."""
        stages, (ending, _, text) = self.stages(), self.form.partition(" ")
        file = path.with_name(path.name + ending)
        if ending == ".npz":
            kind = self.how if isinstance(self.how, type) else np.float32
            np.savez(
                file,
                **{name: stages[name].astype(kind) for name in (reversed(stages) if self.how == "back" else stages)},
            )
        elif ending in (".csv", ".parquet"):
            names = {
                f"{name}[{place}]": rows[:, place] for name, rows in stages.items() for place in range(rows.shape[1])
            }
            frame = pd.DataFrame({name: np.float32(values) for name, values in names.items()})
            if self.how == "another order":
                frame = frame[[*np.random.default_rng(1).permutation(frame.columns)]]
            if ending == ".parquet":
                frame.to_parquet(file)
            else:
                frame.map(lambda value: text % value if text else repr(float(value))).to_csv(file, index=False)
        else:  # our own formats, under the engine's name
            frames, header = np.arange(self.frames), TraceHeader(FPS, "teacher", producer=ENGINE, system="tiny")
            rows = {name: np.float32(each) for name, each in stages.items()}
            write_recording(Trace(header, frames, frames / FPS, rows), file)
        return file


def bfloat16(rows):
    """The nearest numbers of eight bits."""
    mantissa, exponent = np.frexp(np.float32(rows))
    return np.float32(np.ldexp(np.rint(mantissa * 256) / 256, exponent))


ORDER = "another order"
VARIANTS = (
    *(Variant(f"signs: {name}", signs=name) for name in SIGNS), Variant("signs", signs="every other", mistake=1e-4),
    Variant("sums: double", kind=np.float64), Variant("sums", kind=np.float64, mistake=1e-4),
    *(Variant(f"format: {form}", form) for form in (".trace.jsonl", ".trace.bin", ".trace.safetensors", ".json")),
    *(Variant(f"format: {form} {how}", form, how) for form in (".csv", ".parquet") for how in ("", ORDER)),
    Variant("format: float64", how=np.float64, kind=np.float64), Variant("order of vectors", how="back"),
    Variant("order of columns", ".csv", ORDER, mistake=1e-4), Variant("format", ".parquet", mistake=1e-4),
    *(Variant(f"decimals: {places}", f".csv %.{places}f") for places in (4, 5, 6)),
    *(Variant(f"decimals: {n}, declared", f".csv %.{n}f", resolution=f"{n} decimals") for n in (4, 5, 6)),
    Variant("decimals", ".csv %.4f", mistake=0.02),
    *(Variant(f"digits: {places}", f".csv %.{places}g") for places in (5, 6)), Variant("digits", ".csv %.6g", mistake=0.001),
    Variant("halves", how=np.float16), Variant("halves, declared", how=np.float16, resolution="float16"),
    Variant("halves and signs", how=np.float16, signs="every other"), Variant("eight bits", how="bfloat16"),
    Variant("eight bits, declared", how="bfloat16", resolution="bfloat16"), Variant("halves", how=np.float16, mistake=0.3),
    Variant("first frames", frames=30), Variant("first frames", frames=30, mistake=1e-4),
)  # fmt: skip
"""Every honest variant, and beside each kind one with a mistake."""
RIGHT = tiny_run()


def rows_of(name, folder, frames=FRAMES):
    """The right run as arrays, every bit of it."""
    np.savez(folder / name, **{stage: rows[:frames] for stage, rows in RIGHT.items()})
    return folder / name


@pytest.fixture
def contract(tmp_path):
    """The tiny contract; beside it the engine's clip, with every bit."""
    (tmp_path / "contract.toml").write_text(TINY, encoding="utf-8")
    rows_of("clip.npz", tmp_path)
    return tmp_path / "contract.toml"


def said(command, contract, written):
    """Each command, each variant, and whether it raised an alarm."""
    folder, own = contract.parent, ("--contract", contract)
    for number, (variant, path) in enumerate(written):
        how = ("--resolution", variant.resolution) if variant.resolution else ()
        right = rows_of("right.npz", folder, variant.frames)
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
    assert sum(not variant.mistake for variant in VARIANTS) >= 27
    written = [(each, each.written(contract.with_name(f"v{number}"))) for number, each in enumerate(VARIANTS)]
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
        rate = contract.with_name("rate.npz")
        np.savez(rate, rate=RIGHT["rate"] + np.float32(moved))
        assert command("explain", rate, *asked).status == status
