"""Every kind of file that rigpact reads, with the commands that are asked about it and the sound files from which it is fuzzed.

To add one: a row in `all_readers`. Sound files that are only text stand in the folder `files`.
"""

import io
import json
import os
import shutil
import struct
import tomllib
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import safetensors.numpy
import yaml

from rigpact.contract.bundle import load_contract
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.recordings.opened import open_file, write_recording
from rigpact.reference_runtime.systems.neurarig import PACKET, Refused, decode
from rigpact.reports.command_line import run_command_line
from rigpact.reports.diagnosing.engine_log import read_engine_log

from ...contract_room import small_character
from ...declared_room import foreign_files
from ...readers_room import samples
from ...trust_room import infinity_models
from ..pages.generated_docs import SAMPLES, sample_text
from .mutations import revalued
from .seeds import Seed, framed, packed, rewired, tensors, zipped

FILES = Path(__file__).with_name("files")
SYSTEMS = ("blender_ik/blender_ik.json", "imu_pose/imu_pose.json", "neurarig/neurarig.json", "neurarig/neurarig_plugin.toml",
           "rig_inversion/rig_inversion_approximation.toml")  # fmt: skip
TABLES = {"deploy.yaml": foreign_files.DEPLOY, "io.yaml": foreign_files.DESCRIPTOR}
CONFIGURATIONS = {
    "walker.py": foreign_files.CLASSES, "config.yaml": foreign_files.ROBOT_POLICY, "env.yaml": foreign_files.ENV,
}  # fmt: skip
COLUMNS = {
    "mcap": ("obs", 2, "obs"), "json": ("state.imu.gyro", 3, "state.imu.gyro"), "plain": ("obs", 2, "obs"),
    "parquet": ("observation.state", 3, "observation.state"),
}  # fmt: skip
BUNDLE = "--contract sound_bundle.json"
RUN = f"{BUNDLE} --onnx sound.onnx --frames 3 --out made.trace.jsonl"
RUNS = (f"run FILE {RUN}", f"run FILE {RUN} --mode free")
PROBED = (
    "run --probe made_probe.trace.jsonl --contract",
    "run made_probe.trace.jsonl --frames 3 --out made.trace.jsonl --contract",
)
DRAFTED = ("init --force --out made.toml --from FILE", "check made.toml")


@dataclass(frozen=True)
class Reader:
    """A reader and its seeds. pace: how many files it gets of a total, beside the others: a quick one gets more."""

    name: str
    read: Callable[[Path], object]
    seeds: Sequence[Seed]
    pace: int = 120


def said_by(words: Sequence[str]) -> str:
    """What a command says on stderr; a defect of rigpact is raised."""
    err = io.StringIO()
    with patch.dict(os.environ, RIGPACT_DEBUG="1"), redirect_stdout(io.StringIO()), redirect_stderr(err):
        run_command_line(words)
    if "more memory than there is" in err.getvalue():
        raise MemoryError
    return err.getvalue()


def asked(*lines: str) -> Callable[[Path], None]:
    """Command lines, FILE and SUFFIX in place of the file's name and ending; UnusableInput where one of them refuses.

    What stands behind a `?` may be refused: a sound file need not have an answer to it.
    """

    def read(path: Path) -> None:
        refused = ""
        with chdir(path.parent):
            for line in lines:
                words = line.removeprefix("? ").replace("FILE", path.name).replace("SUFFIX", path.suffix).split()
                said = said_by(words)
                refused = refused or ("" if line.startswith("? ") or "rigpact: error:" not in said else said)
        if refused:
            raise UnusableInput(path, refused, "a sound file")

    return read


class _Character:
    """The small character's files in a folder, for readers that need others beside their own."""

    def __init__(self, folder: Path) -> None:
        bundle = small_character.bundle_document()
        batch = small_character.batch_document(bundle)
        self.documents = {
            "bundle": bundle, "companion": small_character.companion_document(bundle),
            "clip": small_character.clip_document(), "batch": batch,
            "prediction": small_character.prediction_document(batch),
        }  # fmt: skip
        self.folder = folder
        for name, document in {**self.documents, "other": {**bundle, "fps": 0}}.items():
            (folder / f"sound_{name}.json").write_text(json.dumps(document), encoding="utf-8")
        contract = load_contract(folder / "sound_bundle.json")
        self.model = infinity_models.write_model(folder / "sound.onnx", contract, [], "x").read_bytes()
        clip = read_clip(folder / "sound_clip.json")
        opened = open_run(contract, OnnxNetwork(folder / "sound.onnx", contract), clip, "teacher")
        trace = run_frames(opened, range(5), "c", "teacher")
        self.trace = replace(trace, header=replace(trace.header, producer="game"))
        wrong = {**trace.stages, "y_out": trace.stages["y_out"] * np.float32(1.5)}
        write_recording(self.trace, folder / "sound.trace.jsonl")
        write_recording(replace(self.trace, stages=wrong), folder / "engine.trace.jsonl")
        settings = (FILES / "rigpact.toml").read_text(encoding="utf-8")
        for name, more in (("gate", ""), ("known", 'baseline = "known.json"\n')):
            (folder / f"{name}.toml").write_text(more + settings, encoding="utf-8")

    def seed(self, kind: str) -> Seed:
        return Seed(f"{kind}.json", json.dumps(self.documents[kind]).encode())

    def written(self, ending: str) -> bytes:
        """The recording of an engine as a file of some format."""
        path = self.folder / f"sound_engine.{ending}"
        write_recording(self.trace, path)
        return path.read_bytes()

    def made(self, name: str, *words: str) -> bytes:
        """A file that a command makes."""
        with chdir(self.folder):
            said_by([*words, name])
        return (self.folder / name).read_bytes()


def all_readers(folder: Path) -> list[Reader]:
    """Every reader; its files lie in the folder."""
    own, soon = _Character(folder), str(date.today() + timedelta(30))
    known = own.made(
        "known_sound.json", *f"check sound_other.json --owner a --reason b --expires {soon} --write-baseline".split(" ")
    )
    text = own.written("trace.jsonl")
    jsonl, csv = Seed("a.trace.jsonl", text), Seed("a.csv", own.written("csv"))
    lines = Seed("lines.jsonl", b"\n".join(text.split(b"\n")[1:]))
    log = _text("engine.log")
    model = [Seed("model.onnx", own.model, own=rewired)]
    doubled = [Seed(f"segments.trace.{each}", 2 * own.written(f"trace.{each}")) for each in ("jsonl", "bin")]
    clip = asked("check sound_bundle.json FILE", *RUNS)
    compare = asked(f"diff sound.trace.jsonl FILE {BUNDLE}")
    explain = asked(f"explain FILE {BUNDLE} --mode teacher --budget 1")
    rounding = f"? explain sound.trace.jsonl {BUNDLE} --clip sound_clip.json --onnx FILE --budget 1"
    return [
        Reader("bundle", asked("check FILE", "show FILE", *(f"run sound_clip.json {each[9:].replace('sound_bundle.json', 'FILE')}"
                                                           for each in RUNS)), [own.seed("bundle")], 20),
        Reader("companion", asked("check sound_bundle.json FILE", "show sound_bundle.json --companion FILE"),
               [own.seed("companion")], 20),
        Reader("clip", clip, [own.seed("clip")], 20),
        Reader("teacher batch", clip, [own.seed("batch")], 20),
        Reader("prediction", clip, [own.seed("prediction")], 20),
        Reader("trace .jsonl", compare, [jsonl]),
        Reader("trace .jsonl.gz", compare, [packed("a.trace.jsonl.gz", text)], 60),
        Reader("trace .jsonl.zst", compare, [packed("a.trace.jsonl.zst", text)]),
        Reader("trace .bin", compare, [framed("a.trace.bin", own.written("trace.bin"))]),
        Reader("trace .safetensors", compare, [tensors("a.trace.safetensors", own.written("trace.safetensors"))]),
        Reader("table .csv", compare, [csv], 60),
        Reader("table .npz", compare, [zipped("a.npz", own.written("npz"))], 60),
        Reader("table .json", compare, [Seed("a.json", own.written("json")), lines], 60),
        Reader("evidence", explain, [jsonl, lines, csv], 20),
        Reader("pasted log", _read_log, [log, Seed("utf16.log", log.content.decode().encode("utf-16"))]),
        Reader("explained log", explain, [log], 1),
        Reader("ONNX model", asked("check FILE", "check sound_bundle.json FILE", f"run sound_clip.json {BUNDLE} --onnx FILE "
                                   "--frames 3 --out made.trace.jsonl"), model, 20),
        Reader("model compared", asked("? diff sound.onnx FILE", rounding), model),
        Reader("configuration", asked("gate --config FILE"), [_text("rigpact.toml", "settings.toml", own=revalued)], 20),
        Reader("conventions", asked(f"run sound_clip.json {RUN} --conventions FILE"), [_text("set.toml", own=revalued)]),
        Reader("known findings", asked("gate --config known.toml"), [Seed("known.json", known)], 20),
        Reader("numbers", asked("check ofSUFFIX.toml", *(f"{each} ofSUFFIX.toml" for each in PROBED)), _numbers(folder), 20),
        Reader("declared contract", asked("check FILE", "show FILE", *(f"{each} FILE" for each in PROBED),
                                          f"? {PROBED[1]} FILE --mode free"), _declared(folder), 20),
        Reader("importers", _read_foreign, _foreign(folder), 60),
        Reader("configurations", _read_configuration, _configurations(folder), 60),
        _folders(folder),
        Reader("other formats", partial(_read_other_format, folder), _other_formats(folder / "samples"), 20),
        Reader("segments", asked(*(f"convert FILE --out made.npz {BUNDLE} --segment {each}" for each in (1, 2))), doubled),
        Reader("datagrams", _read_datagram, _datagrams()),
    ]  # fmt: skip


def _text(name: str, other: str = "", **changes: Any) -> Seed:
    return Seed(other or name, (FILES / name).read_bytes(), **changes)


def _read_log(path: Path) -> None:
    if open_file(path).kind is Kind.ENGINE_LOG:
        read_engine_log(path)


def _datagrams() -> list[Seed]:
    frame = b"\x02" + np.random.default_rng(0).normal(size=PACKET.width).astype("<f4").tobytes()
    return [Seed("frame.datagram", frame), Seed("handshake.datagram", b"\x01" + struct.pack("<ii6s", 0, 6, b"pelvis"))]


def _read_datagram(path: Path) -> None:
    try:
        decode(path.read_bytes())
    except Refused as refusal:
        raise UnusableInput(path, str(refusal), "a message") from None


def _declared(folder: Path) -> list[Seed]:
    bundles = demo_bundle().parent
    for name in ("model.onnx", "approximation.onnx"):
        shutil.copy(bundles / "rig_inversion" / name, folder / name)
    contents = {Path(name).name: (bundles / name).read_bytes() for name in SYSTEMS}
    for name in SAMPLES:
        contents[f"{name}.toml"] = sample_text(name).encode()
        contents[f"{name}.json"] = json.dumps(tomllib.loads(sample_text(name)), default=str).encode()
    return [Seed(name, each, own=revalued if name.endswith(".toml") else None) for name, each in contents.items()]


def _numbers(folder: Path) -> list[Seed]:
    """Files with the numbers of a declared contract, and a contract for each."""
    rows = {"mean": np.arange(3.0), "std": np.ones(3), "name": np.array(["hip", "knee"])}
    np.savez(folder / "sound_numbers.npz", **rows)
    np.save(folder / "sound_numbers.npy", rows["mean"])
    plain = {name: each.tolist() for name, each in rows.items()}
    seeds = [
        zipped("numbers.npz", (folder / "sound_numbers.npz").read_bytes()),
        Seed("numbers.npy", (folder / "sound_numbers.npy").read_bytes()),
        tensors("numbers.safetensors", safetensors.numpy.save({name: rows[name] for name in ("mean", "std")})),
        Seed("numbers.json", json.dumps(plain).encode()), Seed("numbers.yaml", yaml.safe_dump(plain).encode(), own=revalued),
    ]  # fmt: skip
    for ending in (Path(seed.name).suffix for seed in seeds):
        source = f'file = "numbers{ending}"' + ("" if ending == ".npy" else ', at = "mean"')
        text = _text("of_numbers.toml").content.replace(b"SOURCE", source.encode())
        (folder / f"of{ending}.toml").write_bytes(text)
    return seeds


def _foreign(folder: Path) -> list[Seed]:
    foreign_files.write_model(folder / "mjlab.onnx", 45, 2, foreign_files.METADATA)
    np.savez(folder / "sound_arrays.npz", W1=np.eye(3, dtype=np.float32), b1=np.zeros(3, np.float32))
    texts = {name: yaml.safe_dump(table, sort_keys=False).encode() for name, table in TABLES.items()}
    return [
        *(Seed(name, text, own=own) for name, text in texts.items() for own in (revalued, None)),
        Seed("mjlab.onnx", (folder / "mjlab.onnx").read_bytes()),
        zipped("arrays.npz", (folder / "sound_arrays.npz").read_bytes()),
        Seed("arrays.json", json.dumps({"sequences": [{"imu": [[1.0, 2.0], [3.0, 4.0]]}], "fps": 60}).encode()),
    ]


def _read_foreign(path: Path) -> None:
    asked(*(("convert FILE --out made.npz",) if path.suffix in (".json", ".npz") else DRAFTED))(path)


def _configurations(folder: Path) -> list[Seed]:
    """Configurations of trainings and of robots."""
    (folder / "base_walker.py").write_text(foreign_files.BASE, encoding="utf-8")
    (folder / "base_config.yaml").write_text(foreign_files.ROBOT_BASE, encoding="utf-8")
    seeds = [Seed(name, text.encode(), own=revalued) for name, text in CONFIGURATIONS.items()]
    seeds += [Seed(name, text.encode()) for name, text in CONFIGURATIONS.items() if name.endswith(".yaml")]
    return [*seeds, _text("g1.yaml")]


def _read_configuration(path: Path) -> None:
    base = path.with_name(f"base_{path.name}")
    asked(DRAFTED[0] + (f" --builds-on {base.name}" if base.is_file() else ""), DRAFTED[1])(path)


def _folders(folder: Path) -> Reader:
    """A LeRobot data set: one file of the folder is changed, the others are sound."""
    samples.write_data_set(folder / "set")
    of = {path.name: path for path in (folder / "set").rglob("*") if path.is_file()}
    sound = {name: path.read_bytes() for name, path in of.items()}

    def read(path: Path) -> None:
        of[path.name].write_bytes(path.read_bytes())
        try:
            asked("convert set/meta/info.json --out made.npz --episode 0")(path)
        finally:
            of[path.name].write_bytes(sound[path.name])

    seeds = [Seed(name, content) for name, content in sound.items()]
    return Reader("folders", read, seeds, 20)


def _other_formats(folder: Path) -> list[Seed]:
    """Recordings of other programs."""
    folder.mkdir()
    paths = ((name, make(folder)) for name, make in samples.MAKERS.items())  # some write over the file of another
    return [Seed(f"{name}_{path.name}", path.read_bytes()) for name, path in paths]


def _read_other_format(folder: Path, path: Path) -> None:
    """As columns and under a contract."""
    text = (FILES / "of_columns.toml").read_text(encoding="utf-8")
    for word, value in zip(("TAKEN", "WIDTH", "GIVEN"), COLUMNS[path.name.partition("_")[0]], strict=True):
        text = text.replace(word, str(value))
    (folder / "of_columns.toml").write_text(text, encoding="utf-8")
    under, made = "--contract of_columns.toml", "made_columns.trace.jsonl"
    lines = [f"convert FILE --out {made} {under}", f"diff FILE {made} {under}", f"diff FILE {made}",
             f"explain FILE {under} --budget 1"]  # fmt: skip
    asked("convert FILE --out made.npz", *lines)(path)
