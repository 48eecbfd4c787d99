"""Every command that judges says the same of a recording: no alarm over honest variants, an alarm beside each kind."""

import json

import numpy as np
import pytest

from rigpact.testing.checks import judgements
from rigpact.testing.files import NotJudged, Paths, Refuted, UserFiles

from .honest_variants import TINY, Arithmetic, npz_as, tiny_run, variants

RIGHT = tiny_run(Arithmetic())


@pytest.fixture
def contract(tmp_path):
    """The tiny contract; beside it the engine's clip, with every bit."""
    (tmp_path / "contract.toml").write_text(TINY, encoding="utf-8")
    npz_as()(RIGHT, tmp_path / "clip")
    return tmp_path / "contract.toml"


def recorded(variant, path):
    """What the engine records of a variant."""
    stages = variant.change(tiny_run(variant.arithmetic))
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
    assert sum(not variant.mistake for variant in tried) >= 28
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
