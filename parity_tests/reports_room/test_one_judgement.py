"""Every command that judges says the same of a recording: no alarm over honest variants, an alarm beside each kind."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.testing.checks import judgements
from rigpact.testing.files import Paths, UserFiles
from rigpact.testing.judgement import NotJudged, Refuted

from .honest_variants import TINY, Arithmetic, Robot, Stages, Variant, npz_as, tiny_run, variants

ROBOT = Path(__file__).parents[2] / "fixtures" / "bundles" / "robot"
ONLY_ONCE = (".trace.bin", ".trace.safetensors", ".json", ".parquet")
"""Formats that say nothing of a network: the tiny contract tries them."""
Engine = Callable[[Arithmetic], Stages]
Written = list[tuple[Variant, Path]]


class Side:
    """A contract, how its engine runs, and the recordings of all variants; the clip is the engine's, with every bit."""

    def __init__(self, name: str, folder: Path) -> None:
        """Run the engine for each variant."""
        self.folder, self.contract, self.model = folder, folder / "contract.toml", None
        if name == "tiny":
            self.contract.write_text(TINY, encoding="utf-8")
            engine: Engine = tiny_run
            self.mode, quaternions, wrong = "teacher", {"turn": slice(4), "body": slice(3, 7)}, "target"
        else:
            self.model = folder / "policy.onnx"
            for file in (self.contract, self.model):
                file.write_bytes((ROBOT / file.name).read_bytes())
            engine, self.mode, quaternions, wrong = Robot(ROBOT).run, "free", {"imu_quat": slice(4)}, "motor_targets"
        tried = [each for each in variants(quaternions, wrong) if name == "tiny" or not each.name.endswith(ONLY_ONCE)]
        self.written = [(each, self._write(each, engine, number)) for number, each in enumerate(tried)]
        right = engine(Arithmetic())
        self.clip = npz_as()(right, folder / "clip")
        self.right = {
            count: npz_as()({name: rows[:count] for name, rows in right.items()}, folder / f"right{count}")
            for count in {each.frames for each in tried}
        }

    def _write(self, variant: Variant, engine: Engine, number: int) -> Path:
        stages = variant.change(engine(variant.arithmetic))
        if variant.mistake:
            stages[variant.mistake] = np.array(stages[variant.mistake])
            stages[variant.mistake][20, 1] += variant.size
        return variant.write(
            {name: rows[: variant.frames] for name, rows in stages.items()}, self.folder / f"v{number}"
        )

    def said(self, command: Any) -> Iterator[tuple[str, Variant, bool]]:
        """Each command, each variant, and whether it raised an alarm."""
        own = ("--contract", self.contract)
        for number, (variant, path) in enumerate(self.written):
            written = ("--resolution", variant.resolution) if variant.resolution else ()
            asked: dict[str, tuple[object, ...]] = {
                "diff": ("diff", self.right[variant.frames], path, *own, *written),
                "explain": ("explain", path, *own, *written, "--clip", self.clip, "--mode", self.mode),
            }
            if not variant.mistake:  # what these look at is in order all the same
                asked["check"] = ("check", self.contract, path)
                asked["nan"] = ("nan", "--contract", self.contract, path)
            if not (variant.mistake or number % 3):
                out = self.folder / "out.trace.jsonl"
                asked["run"] = ("run", "--contract", self.contract, path, "--mode", self.mode, "-o", out)
            for name, words in asked.items():
                yield name, variant, command(*words).status != 0
        yield from self._of_the_gate(command)
        yield from self._of_the_plugin()

    def _of_the_gate(self, command: Any) -> Iterator[tuple[str, Variant, bool]]:
        settings = ["[gate]", 'bundle = "contract.toml"', *(['model = "policy.onnx"'] if self.model else [])]
        for number, (variant, path) in enumerate(self.written):
            producer = "MyEngine" if ".trace." in path.name else "unknown"  # other formats do not say who wrote them
            settings += [
                "[[gate.trace]]", f'name = "{number}"', f'file = "{path.name}"', 'clip = "clip.npz"',
                f'mode = "{self.mode}"', f"frames = {variant.frames}", f'producer = "{producer}"',
                *([f'resolution = "{variant.resolution}"'] if variant.resolution else []),
            ]  # fmt: skip
        file = self.folder / "rigpact.toml"
        file.write_text("\n".join(settings), encoding="utf-8")
        parts = json.loads(command("gate", "--config", file, "--format", "json").out)["parts"]
        verdicts = {part["name"]: part["verdict"] for part in parts}
        for number, (variant, _path) in enumerate(self.written):
            yield "gate", variant, verdicts[f"engine-trace/{number}"] != "pass"

    def _of_the_plugin(self) -> Iterator[tuple[str, Variant, bool]]:
        traces = tuple(path for _, path in self.written)
        files = UserFiles(Paths(self.contract, onnx=self.model, clips=(self.clip,), traces=traces))
        refuted: dict[str, bool] = {}
        for each in judgements(files, strict=False, examples=1, seed=0):
            if each.name[0] == "engine-trace":
                try:
                    each.judge()
                except NotJudged:
                    continue
                except Refuted:
                    refuted[each.name[1]] = True
        for variant, path in self.written:
            yield "plugin", variant, refuted.get(path.name, False)


@pytest.mark.parametrize("name", ["tiny", "robot"])
def test_every_command_says_the_same_of_every_variant(name: str, command: Any, no_search: None, tmp_path: Path) -> None:
    """Four decimals passed `explain` and failed the gate: who is told two things of one file believes neither."""
    side = Side(name, tmp_path)
    honest = sum(not variant.mistake for variant, _ in side.written)
    assert honest >= 28
    said = list(side.said(command))
    assert [f"{who}: {variant.name}" for who, variant, alarms in said if alarms and not variant.mistake] == []
    assert [f"{who}: {variant.name}" for who, variant, alarms in said if variant.mistake and not alarms] == []


def test_inputs_alone_are_never_an_agreement(command: Any, tmp_path: Path) -> None:
    """The gyro of a log is that of its clip: "AGREES, 0 of 13 stages judged", exit 0."""
    run = Robot(ROBOT).run(Arithmetic())
    clip, gyro = npz_as()(run, tmp_path / "clip"), npz_as()({"gyro": run["gyro"]}, tmp_path / "gyro")
    answer = command("explain", gyro, "--contract", ROBOT / "contract.toml", "--clip", clip, "--mode", "free")
    assert (answer.status, "only what comes from outside was recorded" in answer.out) == (2, True)
    moved = npz_as()({"gyro": run["gyro"] + np.float32(0.1)}, tmp_path / "moved")
    assert (
        command("explain", moved, "--contract", ROBOT / "contract.toml", "--clip", clip, "--mode", "free").status == 1
    )
