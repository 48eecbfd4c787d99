"""Every reader of rigpact, with the sound files from which it is fuzzed. To add one: a row in `all_readers`.

Sound files that are only text stand in the folder `files`.
"""

import json
import shutil
import struct
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import yaml

from rigpact.contract.bundle import load_contract
from rigpact.contract.conventions import conventions_table
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.exceptions import write_baseline
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.recordings.opened import open_file, read_trace, write_recording, write_trace
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.trace_bytes import segments
from rigpact.reference_runtime.systems.neurarig import PACKET, Refusal, decode
from rigpact.reports.checking.bare_model import facts_of
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.describing.description import describe_contract
from rigpact.reports.diagnosing.logs.engine_log import read_engine_log
from rigpact.reports.diagnosing.two_files import TwoFilesRequest
from rigpact.reports.importing.formats import import_contract
from rigpact.reports.importing.values import ImportRequest
from rigpact.reports.running import write_arrays
from rigpact.reports.two_models import compare_models

from ...contract_room import small_character
from ...declared_room import foreign_files
from ...readers_room import policies, samples, stores
from ...trust_room import infinity_models
from ..pages.operations_page import SAMPLES, sample_text
from .mutations import revalued
from .seeds import Seed, archived, framed, packed, rewired, tensors, zipped
from .uses import SoundGate, compared, drafted, explained, log_explained, ran, run, used_contract, used_recording

FILES = Path(__file__).with_name("files")
SYSTEMS = ("blender_ik/blender_ik.json", "imu_pose/imu_pose.json", "neurarig/neurarig.json", "neurarig/neurarig_plugin.toml",
           "rig_inversion/rig_inversion_approximation.toml")  # fmt: skip
TABLES = {"deploy.yaml": foreign_files.DEPLOY, "io.yaml": foreign_files.DESCRIPTOR}
CONFIGURATIONS = {
    "walker.py": foreign_files.CLASSES,
    "config.yaml": foreign_files.ROBOT_POLICY,
    "env.yaml": foreign_files.ENV,
}
COLUMNS = {
    "mcap": ("obs", 2, "obs"), "json": ("state.imu.gyro", 3, "state.imu.gyro"), "plain": ("obs", 2, "obs"),
    "hdf5": ("observations.qpos", 3, "action"), "parquet": ("observation.state", 3, "observation.state"),
    "bvh": ("rotation.Hips", 3, "position.Hips"),
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader and its seeds. pace: how many files it gets of a total, beside the others: a quick one gets more."""

    name: str
    read: Callable[[Path], object]
    seeds: Sequence[Seed]
    pace: int = 120


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
        for name, document in self.documents.items():
            (folder / f"sound_{name}.json").write_text(json.dumps(document), encoding="utf-8")
        self.bundle, self.sound_clip, self.onnx = (
            folder / f"sound{each}" for each in ("_bundle.json", "_clip.json", ".onnx")
        )
        self.contract = load_contract(self.bundle)
        self.model = infinity_models.write_model(self.onnx, self.contract, [], "x").read_bytes()
        opened = open_run(self.contract, OnnxNetwork(self.onnx, self.contract), read_clip(self.sound_clip), "teacher")
        self.trace = run_frames(opened, range(5), "c", "teacher")
        self.engine_trace = replace(self.trace, header=replace(self.trace.header, producer="game"))
        write_trace(self.engine_trace, folder / "sound.trace.jsonl")
        self.recording = read_recording(folder / "sound.trace.jsonl", self.contract)

    def seed(self, kind: str) -> Seed:
        """One of the character's documents."""
        return Seed(f"{kind}.json", json.dumps(self.documents[kind]).encode())

    def written(self, ending: str) -> bytes:
        """The recording of an engine as a file of some format."""
        path = self.folder / f"sound_engine.{ending}"
        write_recording(self.engine_trace, path)
        return path.read_bytes()

    def read_bundle(self, path: Path) -> None:
        document = read_document(path)
        check_files(CheckRequest([document]))
        contract = load_contract(path)
        describe_contract(contract, document.data)
        run(contract, self.onnx, self.sound_clip)

    def read_companion(self, path: Path) -> None:
        check_files(CheckRequest([read_document(self.bundle), read_document(path)]))
        load_contract(self.bundle, path)

    def read_clip(self, path: Path) -> None:
        check_files(CheckRequest([read_document(self.bundle), read_document(path)]))
        run(self.contract, self.onnx, path)

    def read_model(self, path: Path) -> None:
        """A model is read, judged, and run on three frames; and described as one of which nothing is known."""
        facts_of(path)
        check_files(CheckRequest([read_document(self.bundle)], model=path))
        run(self.contract, path, self.sound_clip)

    def compare_model(self, path: Path) -> None:
        """A model is evaluated operation by operation, with its rounding, and compared with a sound one value by value."""
        rows = [np.asarray(self.trace.stages[name]) for name in self.contract.system.inputs]
        with suppress(UnusableInput):
            compare_models(TwoFilesRequest(self.onnx, path, millions=1.0))
        answer = OnnxNetwork(path, self.contract).bounded(rows, [np.zeros_like(each) for each in rows])
        assert len(answer.bound) == len(answer.exact)

    def read_conventions(self, path: Path) -> None:
        run(self.contract.with_conventions(conventions_table(path)), self.onnx, self.sound_clip)

    def known_findings(self) -> bytes:
        changed = self.folder / "other.json"
        changed.write_text(json.dumps({**self.documents["bundle"], "fps": 0}), encoding="utf-8")
        report = check_files(CheckRequest([read_document(changed)]))
        write_baseline(self.folder / "known_sound.json", report.findings, "a", "b", "2027-01-01")
        return (self.folder / "known_sound.json").read_bytes()


def all_readers(folder: Path) -> list[Reader]:
    """Every reader; its files lie in the folder."""
    own = _Character(folder)
    gate = SoundGate.of(folder, own.trace)
    text = own.written("trace.jsonl")
    jsonl, csv = Seed("a.trace.jsonl", text), Seed("a.csv", own.written("csv"))
    lines = Seed("lines.jsonl", b"\n".join(text.split(b"\n")[1:]))
    log = _text("engine.log")
    model = [Seed("model.onnx", own.model, own=rewired)]
    doubled = [Seed(f"segments.trace.{each}", 2 * own.written(f"trace.{each}")) for each in ("jsonl", "bin")]
    compare = partial(compared, sound=own.recording, contract=own.contract)
    return [
        Reader("bundle", own.read_bundle, [own.seed("bundle")], 20),
        Reader("companion", own.read_companion, [own.seed("companion")], 20),
        Reader("clip", own.read_clip, [own.seed("clip")], 20),
        Reader("teacher batch", own.read_clip, [own.seed("batch")], 20),
        Reader("prediction", own.read_clip, [own.seed("prediction")], 20),
        Reader("trace .jsonl", compare, [jsonl]),
        Reader("trace .jsonl.gz", compare, [packed("a.trace.jsonl.gz", text)], 60),
        Reader("trace .jsonl.zst", compare, [packed("a.trace.jsonl.zst", text)]),
        Reader("trace .bin", compare, [framed("a.trace.bin", own.written("trace.bin"))]),
        Reader("trace .safetensors", compare, [tensors("a.trace.safetensors", own.written("trace.safetensors"))]),
        Reader("table .csv", compare, [csv], 60),
        Reader("table .npz", compare, [zipped("a.npz", own.written("npz"))], 60),
        Reader("table .json", compare, [Seed("a.json", own.written("json")), lines], 60),
        Reader("evidence", partial(explained, contract=own.contract), [jsonl, lines, csv], 20),
        Reader("pasted log", _read_log, [log, Seed("utf16.log", log.content.decode().encode("utf-16"))]),
        Reader("explained log", partial(log_explained, contract=own.contract), [log], 1),
        Reader("ONNX model", own.read_model, model, 20),
        Reader("model compared", own.compare_model, model),
        Reader("archive", gate.judge, [archived("a.rigpact.zip", gate.archive)], 60),
        Reader("configuration", gate.configured, [_text("rigpact.toml", own=revalued)]),
        Reader("conventions", own.read_conventions, [_text("set.toml", own=revalued)]),
        Reader("known findings", gate.known, [Seed("known.json", own.known_findings())]),
        Reader("numbers", partial(_read_numbers, folder), _numbers(folder), 20),
        Reader("declared contract", _read_declared, _declared(folder), 20),
        Reader("importers", partial(_read_foreign, folder), _foreign(folder), 60),
        Reader("configurations", partial(_read_configuration, folder), _configurations(folder), 60),
        _folders(folder),
        Reader("other formats", partial(_read_other_format, folder), _other_formats(folder / "samples"), 20),
        Reader("segments", _read_segments, doubled),
        Reader("datagrams", _read_datagram, _datagrams()),
    ]  # fmt: skip


def _text(name: str, **changes: Any) -> Seed:
    return Seed(name, (FILES / name).read_bytes(), **changes)


def _read_log(path: Path) -> None:
    if open_file(path).kind is Kind.ENGINE_LOG:
        read_engine_log(path)


def _read_segments(path: Path) -> None:
    """Several recordings one behind the other: each is a trace."""
    with segments(path) as parts:
        for part in parts.paths:
            read_trace(part)


def _datagrams() -> list[Seed]:
    frame = b"\x02" + np.random.default_rng(0).normal(size=PACKET.width).astype("<f4").tobytes()
    return [Seed("frame.datagram", frame), Seed("handshake.datagram", b"\x01" + struct.pack("<ii6s", 0, 6, b"pelvis"))]


def _read_datagram(path: Path) -> None:
    answer = decode(path.read_bytes())
    if isinstance(answer, Refusal):
        raise UnusableInput(path, f"{answer.reason}: {answer.detail}", "a message")


def _declared(folder: Path) -> list[Seed]:
    bundles = demo_bundle().parent
    for name in ("model.onnx", "approximation.onnx"):
        shutil.copy(bundles / "rig_inversion" / name, folder / name)
    contents = {Path(name).name: (bundles / name).read_bytes() for name in SYSTEMS}
    for name in SAMPLES:
        contents[f"{name}.toml"] = sample_text(name).encode()
        contents[f"{name}.json"] = json.dumps(tomllib.loads(sample_text(name)), default=str).encode()
    return [Seed(name, each, own=revalued if name.endswith(".toml") else None) for name, each in contents.items()]


def _read_declared(path: Path) -> None:
    document = read_document(path)
    check_files(CheckRequest([document], with_own_models=False))
    used_contract(path, document.data)


def _numbers(folder: Path) -> list[Seed]:
    """Files with the numbers of a declared contract."""
    rows = {"mean": np.arange(3.0), "std": np.ones(3), "name": np.array(["hip", "knee"])}
    np.savez(folder / "sound_numbers.npz", **rows)
    np.save(folder / "sound_numbers.npy", rows["mean"])
    plain = {name: each.tolist() for name, each in rows.items()}
    return [
        zipped("numbers.npz", (folder / "sound_numbers.npz").read_bytes()),
        Seed("numbers.npy", (folder / "sound_numbers.npy").read_bytes()),
        tensors("numbers.safetensors", safetensors.numpy.save({name: rows[name] for name in ("mean", "std")})),
        Seed("numbers.json", json.dumps(plain).encode()), Seed("numbers.yaml", yaml.safe_dump(plain).encode(), own=revalued),
    ]  # fmt: skip


def _read_numbers(folder: Path, path: Path) -> None:
    """Each file of numbers is read to its last value."""
    source = f'file = "{path.name}"' + ("" if path.suffix == ".npy" else ', at = "mean"')
    contract = folder / "of_numbers.toml"
    contract.write_bytes(_text(contract.name).content.replace(b"SOURCE", source.encode()))
    check_files(CheckRequest([read_document(contract)], with_own_models=False))
    ran(contract)


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


def _read_foreign(folder: Path, path: Path) -> None:
    _made_of(path, folder / ("made.npz" if path.suffix in (".json", ".npz") else "made.toml"))


def _made_of(path: Path, out: Path, *, episode: int | None = None, base: Path | None = None) -> None:
    """The arrays or the contract of a foreign file, read again."""
    if out.suffix == ".npz":
        write_arrays(path, out, episode=episode)
    else:
        out.write_bytes(import_contract(ImportRequest(path, out, base=base)).content)
    drafted(out)


def _configurations(folder: Path) -> list[Seed]:
    """Configurations of trainings and of robots."""
    (folder / "base_walker.py").write_text(foreign_files.BASE, encoding="utf-8")
    (folder / "base_config.yaml").write_text(foreign_files.ROBOT_BASE, encoding="utf-8")
    seeds = [Seed(name, text.encode(), own=revalued) for name, text in CONFIGURATIONS.items()]
    seeds += [Seed(name, text.encode()) for name, text in CONFIGURATIONS.items() if name.endswith(".yaml")]
    return [*seeds, _text("g1.yaml")]


def _read_configuration(folder: Path, path: Path) -> None:
    base = folder / f"base_{path.name}"
    _made_of(path, folder / "made.toml", base=base if base.is_file() else None)


def _folders(folder: Path) -> Reader:
    """A LeRobot policy and a LeRobot data set: one file of the folder is changed, the others are sound."""
    policies.write_policy(folder / "policy")
    stores.write_data_set(folder / "set")
    wholes = {"policy": ("config.json", "made.toml", None), "set": ("meta/info.json", "made.npz", 0)}
    of = {path.name: path for name in wholes for path in (folder / name).rglob("*") if path.is_file()}
    sound = {name: path.read_bytes() for name, path in of.items()}

    def read(path: Path) -> None:
        whole = of[path.name].relative_to(folder).parts[0]
        source, out, episode = wholes[whole]
        of[path.name].write_bytes(path.read_bytes())
        try:
            _made_of(folder / whole / source, folder / out, episode=episode)
        finally:
            of[path.name].write_bytes(sound[path.name])

    seeds = [Seed(name, content) for name, content in sound.items() if not name.endswith(".onnx")]
    return Reader("folders", read, seeds, 20)


def _other_formats(folder: Path) -> list[Seed]:
    """Recordings of other programs, and animations."""
    folder.mkdir()
    paths = ((name, make(folder)) for name, make in samples.MAKERS.items())  # some write over the file of another
    return [Seed(f"{name}_{path.name}", path.read_bytes()) for name, path in paths]


def _read_other_format(folder: Path, path: Path) -> None:
    """As columns; animations as contracts too."""
    for out in (folder / "made.npz", folder / "made.toml")[: 1 + (path.suffix == ".bvh")]:
        _made_of(path, out)
    text = (FILES / "of_columns.toml").read_text(encoding="utf-8")
    for word, value in zip(("TAKEN", "WIDTH", "GIVEN"), COLUMNS[path.name.partition("_")[0]], strict=True):
        text = text.replace(word, str(value))
    (folder / "of_columns.toml").write_text(text, encoding="utf-8")
    used_recording(path, folder / "of_columns.toml")
